"""The only module that calls numba's jit: one policy for every compiled routine.

The policy is ``nogil``, so that threads run in parallel; no ``fastmath``, so that floating-point sums keep one order
and do not depend on the vector width of the machine; and a cache on disk wherever a safe folder exists.

Numba's own cache compares the file of a routine, and not the files of the routines that it calls. So the folder of the
cache is named by a digest of all sources of compiled routines: machine code of other sources is never found.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config

_PACKAGE = Path(__file__).parent.parent

CALLED_FROM_CORE = ("core/jit", "core/random")
"""Modules outside ``compiled/`` whose text decides on machine code: this policy, and what routines call."""

CACHES = 3
"""Number of caches kept in a folder: the present one, and the two that were used last before it."""


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba under the package's policy; with ``NUMBA_DISABLE_JIT=1`` it stays Python.

    Machine code is kept on disk where a safe folder exists. It is not kept once the sources of this package have
    changed under the running process, nor where they lie in an archive: there every process compiles anew.

    Examples
    --------
    >>> @compiled
    ... def add_one(x):
    ...     return x + 1
    >>> add_one(2)
    3
    """
    if _SOURCES.unchanged() and (folder := cache_folder()) is not None:
        with suppress(RuntimeError), _cached_in(folder):  # numba finds no writable folder
            dispatcher = numba.njit(nogil=True, cache=True, fastmath=False)(function)
            if _caches_in(folder, dispatcher):
                return cast(Function, dispatcher)
    return cast(Function, numba.njit(nogil=True, cache=False, fastmath=False)(function))


# The sources ----------------------------------------------------------------------------------------------------------


class Sources:
    """The sources of all compiled routines, as they were when this module was imported.

    Parameters
    ----------
    package
        Folder of the package.

    Attributes
    ----------
    digest
        Digest of their text, and of the versions of what compiles them; empty where they are not files.
    """

    def __init__(self, package: Path) -> None:
        self._package = package
        self._stamps = self._stamped()
        self.digest = ""
        with suppress(OSError):  # a file that changes from here on has another stamp
            files = [Path(path) for path, *_ in self._stamps]
            parts = [f"{file.relative_to(package)}\0".encode() + file.read_bytes() for file in files]
            if parts:
                versions = f"numba {numba.__version__}, numpy {np.__version__}".encode()
                self.digest = blake2b(b"\0".join([versions, *parts]), digest_size=8).hexdigest()

    def unchanged(self) -> bool:
        """Whether no file has changed since the digest was computed."""
        return bool(self.digest) and self._stamped() == self._stamps

    def _stamped(self) -> list[tuple[Any, ...]]:
        """Path, size and times of each file; nobody can set the time of the last change of a file back."""
        with suppress(OSError):
            core = (found for name in CALLED_FROM_CORE for found in self._package.glob(f"{name}.py*"))
            files = sorted(file for file in (*(self._package / "compiled").iterdir(), *core) if _is_source(file))
            status = [(file, file.stat()) for file in files]
            return [(str(file), found.st_size, found.st_mtime_ns, found.st_ctime_ns) for file, found in status]
        return []


def _is_source(file: Path) -> bool:
    return file.stem.isidentifier() and file.suffix in (".py", ".pyc")  # the latter in an installation without sources


_SOURCES = Sources(_PACKAGE)


# The folder -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the folder for machine code of the present sources; None if there is no safe one.

    It lies in ``NUMBA_CACHE_DIR`` or, without it, in the package; where that cannot be written, in a private folder on
    this machine. Code from a cache runs unchecked, so a folder that others can write is never chosen. Neither is the
    home folder, which many machines may share. A process without a safe folder warns once.
    """
    folders: list[Path | None] = []
    if _config.CACHE_DIR:
        folders.append(Path(_config.CACHE_DIR).absolute())
    elif os.access(_PACKAGE / "compiled", os.W_OK):
        folders.append(_PACKAGE / "compiled" / "__pycache__")
    with suppress(FileNotFoundError):  # no temporary folder at all
        folders.append(private_folder(Path(tempfile.gettempdir()) / f"distkern-numba-{os.getuid()}"))
    usable = (_used(folder / f"distkern-{_SOURCES.digest}") for folder in folders if folder is not None)
    found = next((folder for folder in usable if folder is not None), None)
    if found is None:
        warnings.warn(
            "no folder for compiled routines can be written, so that each process compiles them again: set "
            "NUMBA_CACHE_DIR to a folder that only you can write to",
            stacklevel=2,
        )
    return found


def private_folder(folder: Path) -> Path | None:
    """Make a folder that only this user can write; None if that fails or the folder belongs to another user."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if ours else None


def _used(folder: Path) -> Path | None:
    """Make a cache, or note that it is used now; a new one replaces those that have not been used for longest.

    None if it cannot be written.
    """
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    if is_new:
        with suppress(OSError):  # another process removes the same ones
            caches = [one for one in folder.parent.glob("distkern-" + "[0-9a-f]" * 16) if one != folder]
            for old in sorted(caches, key=lambda one: one.stat().st_mtime, reverse=True)[CACHES - 1 :]:
                shutil.rmtree(old, ignore_errors=True)
    return folder


def _caches_in(folder: Path, dispatcher: Any) -> bool:
    """Whether numba took the folder; where it cannot write there, it looks for another one on its own."""
    stats = getattr(dispatcher, "stats", None)  # a plain function if the compiler is off
    return stats is None or Path(stats.cache_path).is_relative_to(folder)


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Make numba cache the functions that are declared inside the block in this folder."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before
