"""The only module that calls numba's jit: one policy for every compiled routine.

The policy is ``nogil``, so that threads run in parallel; no ``fastmath``, so that floating-point sums keep one order
and do not depend on the vector width of the machine; and a cache on disk wherever a safe folder exists.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba under the package's policy; with ``NUMBA_DISABLE_JIT=1`` it stays Python.

    Examples
    --------
    >>> @compiled
    ... def add_one(x):
    ...     return x + 1
    >>> add_one(2)
    3
    """
    try:
        with _cached_in(cache_folder()):
            return cast(Function, numba.njit(nogil=True, cache=True, fastmath=False)(function))
    except RuntimeError:  # numba finds no writable folder for its cache
        return cast(Function, numba.njit(nogil=True, cache=False, fastmath=False)(function))


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return a private folder for compiled code, on this machine, if the package folder is not writable.

    None leaves the choice to numba: beside the package, or in ``NUMBA_CACHE_DIR``. Code from a cache runs unchecked, so
    a folder that others can write is never used. Neither is the home folder, which many machines may share.
    """
    if _config.CACHE_DIR or os.access(Path(__file__).parent.parent / "compiled", os.W_OK):
        return None
    return private_folder(Path(tempfile.gettempdir()) / f"distkern-numba-{os.getuid()}")


def private_folder(folder: Path) -> Path | None:
    """Make a folder that only this user can write; None if that fails or the folder belongs to another user."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if ours else None


@contextmanager
def _cached_in(folder: Path | None) -> Iterator[None]:
    """Make numba cache the functions that are declared inside the block in this folder."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = before if folder is None else str(folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before
