"""The only place that calls numba's jit: one policy for every compiled routine.

``nogil`` so that threads run side by side, no ``fastmath`` so that floating point sums keep one order (the result must
not depend on the machine's vector width), and compiled code cached on disk where any safe place exists.
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
    """Folder of this user on this machine for compiled code, where the package itself cannot be written.

    None where numba chooses: beside the package, or where ``NUMBA_CACHE_DIR`` says. A cache holds code that is run
    without question, so a folder that anybody else could write is never used; and a home that many machines share
    is not either.
    """
    if _config.CACHE_DIR or os.access(Path(__file__).parent.parent / "compiled", os.W_OK):
        return None
    return private_folder(Path(tempfile.gettempdir()) / f"distkern-numba-{os.getuid()}")


def private_folder(folder: Path) -> Path | None:
    """Make a folder that only this user can write; None if it cannot be made, or is somebody else's."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if ours else None


@contextmanager
def _cached_in(folder: Path | None) -> Iterator[None]:
    """Let numba cache what is declared inside the block in a folder, and nothing else."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = before if folder is None else str(folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before
