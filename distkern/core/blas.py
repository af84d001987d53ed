"""One BLAS thread while reproducible matrix products run.

BLAS splits a product by the number of its threads, which may change the last bits and oversubscribes the cores when
several tiles run side by side. The limit is a property of the process, so concurrent users share it: the first one in
sets it, the last one out restores it.
"""

from __future__ import annotations

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
    """Hold BLAS to one thread inside the block, for all threads of this process."""
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
