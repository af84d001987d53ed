"""Writing files whole or not at all, and never over another one unasked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from distkern.core.errors import InputError
from distkern.core.sentences import Argument


def as_path(path: str | os.PathLike[str]) -> Path:
    """Take a path as people write it: a ``~`` at its beginning is somebody's home.

    Examples
    --------
    >>> as_path("~/cohort.csv") == Path.home() / "cohort.csv"
    True
    >>> as_path("nobody~/cohort.csv").as_posix()
    'nobody~/cohort.csv'
    """
    return Path(os.path.expanduser(path))


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse a path that cannot become a file, because something lies there.

    Raises
    ------
    InputError
        If a folder lies there, or a file that may not be replaced.
    """
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: give the path of a file")
    if path.exists() and not overwrite:
        raise _occupied(path)


@contextmanager
def written_whole(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file to write; it comes to its place when the block ends well, and leaves nothing when it does not.

    Raises
    ------
    InputError
        If a file lies there, or came to lie there meanwhile, and may not be replaced; or if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "notes.txt")
    ...     with written_whole(place) as file:
    ...         _ = file.write(b"first")
    ...         held = place.exists()
    ...     held, place.read_bytes(), len(list(Path(folder).iterdir()))
    (False, b'first', 1)
    """
    refuse_existing(path, overwrite)
    building = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with building.open("xb") as file:
            yield file
        refuse_existing(path, overwrite)
        os.replace(building, path)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}; give another path") from error
    finally:
        with suppress(OSError):
            building.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a folder to fill; it comes to its place when the block ends well, and leaves nothing when it does not.

    Raises
    ------
    InputError
        If something lies there, or came to lie there meanwhile, and may not be replaced; or if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "notes")
    ...     with folder_written_whole(place) as building:
    ...         _ = (building / "one.txt").write_text("first")
    ...         held = place.exists()
    ...     held, (place / "one.txt").read_text(), len(list(Path(folder).iterdir()))
    (False, 'first', 1)
    """
    building, old = (path.with_name(f".{path.name}.{uuid4().hex}.{end}") for end in ("part", "old"))
    try:
        _refuse_occupied(path, overwrite)
        building.mkdir(parents=True)
        yield building
        _refuse_occupied(path, overwrite)
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(building, path)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}; give another path") from error
    finally:
        if old.exists() and not path.exists():
            os.rename(old, path)
        for left in (building, old):
            shutil.rmtree(left, ignore_errors=True)


def _occupied(path: Path) -> InputError:
    return InputError(
        "{file!r} exists: give another path, or {overwrite} to replace it",
        file=str(path),
        overwrite=Argument("overwrite", True),
    )


def _refuse_occupied(path: Path, overwrite: bool) -> None:
    if os.path.lexists(path) and not overwrite:
        raise _occupied(path)


def write_text(path: Path, text: str, *, overwrite: bool = True) -> None:
    """Write a text file whole or not at all, in UTF-8 and with the ends of lines as they are."""
    with written_whole(path, overwrite=overwrite) as file:
        file.write(text.encode("utf-8"))
