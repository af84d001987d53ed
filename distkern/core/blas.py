"""Limits on the threads of numerical libraries: one thread each while tiles and matrix products are computed.

BLAS splits a product by the number of its threads. That may change the last bits of the result, and it oversubscribes
the cores when several tiles run in parallel. The limit applies to the whole process, so concurrent users share it: the
first one sets it, and the last one restores the previous limit.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
_limiter: Any = None


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block, for all threads of this process."""
    global _users, _limiter
    with _lock:
        if _users == 0:
            _limiter = _controller().limit(limits=1, user_api="blas")
            _limiter.__enter__()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limiter.__exit__(None, None, None)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit BLAS, OpenMP and Numba to one thread for the calling thread inside the block.

    Tasks run in parallel on as many threads as there are cores, so libraries must not start threads of their own.
    OpenMP and Numba limit the calling thread, BLAS the process. Numba's thread pool is limited only if it is running:
    distkern compiles no parallel routine and does not start it.
    """
    with one_blas_thread(), _controller().limit(limits=1, user_api="openmp"), _one_numba_thread():
        yield


@contextmanager
def _one_numba_thread() -> Iterator[None]:
    pool = sys.modules.get("numba.np.ufunc.parallel")
    if pool is None or not pool._is_initialized:
        yield
        return
    before = pool.get_num_threads()
    pool.set_num_threads(1)
    try:
        yield
    finally:
        pool.set_num_threads(before)
