"""Atomic writing of files and folders, which never replaces an existing one unless asked to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from distkern.core.errors import InputError, InputTypeError
from distkern.core.sentences import Argument


def as_path(path: str | os.PathLike[str]) -> Path:
    """Convert to a path; a leading ``~`` or ``~user`` becomes the home folder.

    Examples
    --------
    >>> as_path("~/cohort.csv") == Path.home() / "cohort.csv"
    True
    >>> as_path("nobody~/cohort.csv").as_posix()
    'nobody~/cohort.csv'

    Raises
    ------
    InputTypeError
        If it is no text and no path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(f"a path is text or a pathlib.Path, not {path!r}")
    return Path(os.path.expanduser(path))


def behind_links(path: Path) -> Path:
    """The file or folder that a path names: a symbolic link stays, and what it points to is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     link = Path(folder, "link.txt")
    ...     link.symlink_to(Path(folder, "notes.txt"))
    ...     behind_links(link).name
    'notes.txt'
    """
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse a path that is taken, so that no file can be written there.

    Raises
    ------
    InputError
        If the path is a folder, or a file that may not be replaced.
    """
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: give the path of a file")
    if path.exists():
        refuse_occupied(path, overwrite)


def refuse_occupied(path: Path, overwrite: bool) -> None:
    """Raise InputError if a path exists and may not be replaced."""
    if os.path.lexists(path) and not overwrite:
        raise InputError(
            "{path!r} exists: give another path, or {overwrite} to replace it",
            path=str(path),
            overwrite=Argument("overwrite", True),
        )


@contextmanager
def written_whole(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing; it appears at its path when the block succeeds, and is discarded when it fails.

    Where the path is a symbolic link, the file that it points to is written, and the link stays.

    Raises
    ------
    InputError
        If a file exists there before or after the block and may not be replaced, or if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.txt")
    ...     with written_whole(path) as file:
    ...         _ = file.write(b"first")
    ...         existed = path.exists()
    ...     existed, path.read_bytes(), len(list(Path(folder).iterdir()))
    (False, b'first', 1)
    """
    refuse_existing(path, overwrite)
    target = behind_links(path)
    building = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with building.open("xb") as file:
            yield file
        refuse_existing(path, overwrite)
        os.replace(building, target)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}; give another path") from error
    finally:
        with suppress(OSError):
            building.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a folder to fill; it appears at its path when the block succeeds, and is discarded when it fails.

    Where the path is a symbolic link, the folder that it points to is replaced, and the link stays.

    Raises
    ------
    InputError
        If something exists there before or after the block and may not be replaced, or if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes")
    ...     with folder_written_whole(path) as building:
    ...         _ = (building / "one.txt").write_text("first")
    ...         existed = path.exists()
    ...     existed, (path / "one.txt").read_text(), len(list(Path(folder).iterdir()))
    (False, 'first', 1)
    """
    target = behind_links(path)
    building, old = (target.with_name(f".{target.name}.{uuid4().hex}.{end}") for end in ("part", "old"))
    try:
        refuse_occupied(path, overwrite)
        building.mkdir(parents=True)
        yield building
        refuse_occupied(path, overwrite)
        if os.path.lexists(target):
            os.rename(target, old)
        os.rename(building, target)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}; give another path") from error
    finally:
        if old.exists() and not target.exists():
            os.rename(old, target)
        for left in (building, old):
            shutil.rmtree(left, ignore_errors=True)


def write_text(path: Path, text: str, *, overwrite: bool = True) -> None:
    """Write a text file atomically, in UTF-8 and without changing its line ends."""
    with written_whole(path, overwrite=overwrite) as file:
        file.write(text.encode("utf-8"))
