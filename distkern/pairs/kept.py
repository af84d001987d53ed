"""Finished parts of work on pairs in a folder: each file appears whole, and a part is done if its file is there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from distkern.core.errors import InputError, StoreMismatchError
from distkern.core.files import as_path, written_whole
from distkern.core.typing import Array


class Kept:
    """A folder of finished parts of one piece of work.

    Parameters
    ----------
    folder
        The folder; it is made where it is not there.
    kind
        Name of the kind of work. The file ``kind.json`` holds the digest, and the sizes that the first run chose.
    holds
        What the folder holds, for messages.

    Raises
    ------
    InputError
        If the folder cannot be written.
    StoreMismatchError
        If it holds other files.
    """

    def __init__(self, folder: str | os.PathLike[str], kind: str, holds: str) -> None:
        self.folder, self._holds = as_path(folder), holds
        self._head = self.folder / f"{kind}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write {str(self.folder)!r}: {error.strerror or error}; give another path"
            ) from error
        # a run that was killed may have left hidden files before it wrote the head
        if self._known() is None and any(not one.name.startswith(".") for one in self.folder.iterdir()):
            raise StoreMismatchError(
                f"{str(self.folder)!r} holds other files, and no {holds}: give the path of a new folder"
            )

    def claim(self, digest: str) -> None:
        """Say which work the parts belong to, by a digest of all that decides about them, as from `digest_of`.

        Raises
        ------
        StoreMismatchError
            If the parts in the folder belong to other work.
        """
        known = self._known()
        if known is None:
            self._write({"digest": digest})
        elif known["digest"] != digest:
            raise StoreMismatchError(
                f"{str(self.folder)!r} holds {self._holds} of another cohort, or with other parameters: give the path "
                "of a new folder"
            )

    def size(self, name: str, chosen: int) -> int:
        """Return a size that the first run chose, so that the parts of later runs are the same; else keep this one."""
        known = self._known() or {}
        if name not in known:
            known[name] = chosen
            self._write(known)
        return int(known[name])

    def file(self, name: str) -> Path:
        """Path of a part."""
        return self.folder / f"{name}.npz"

    def _known(self) -> dict[str, str | int] | None:
        try:
            return dict(json.loads(self._head.read_text()))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StoreMismatchError(f"{str(self._head)!r} is damaged: give the path of a new folder") from error

    def _write(self, known: dict[str, str | int]) -> None:
        with written_whole(self._head, overwrite=True) as file:
            file.write(json.dumps(known).encode())


def write_part(file: Path, arrays: dict[str, Array]) -> None:
    """Write arrays to a file that appears whole."""
    with written_whole(file, overwrite=True) as out:
        np.savez(out, **arrays)  # type: ignore[arg-type]


def read_part(file: Path) -> dict[str, Array] | None:
    """Read the arrays of a part; None if it is not there, or damaged."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def digest_of(arrays: Iterable[Array], about: str) -> str:
    """Digest of arrays, with their types and shapes, and of a text."""
    digest = blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy
    digest.update(about.encode())
    return digest.hexdigest()
