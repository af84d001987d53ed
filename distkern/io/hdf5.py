"""Helpers for formats that are HDF5 files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import MissingExtraError
from distkern.io.blocks import refuse_damage

PREFIX = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file."""


@contextmanager
def open_hdf5(path: Path, kind: str) -> Iterator[Any]:
    """Open an HDF5 file for reading; errors of the library inside the block name the file and its kind.

    Raises
    ------
    InputError
        If it cannot be read.
    MissingExtraError
        If h5py is not installed.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError.of(f"reading {kind}", "io") from error
    with refuse_damage(path.name, kind), h5py.File(path, "r") as file:
        yield file


def holds(path: Path, head: bytes, test: Callable[[Any], bool]) -> bool:
    """Whether a file is HDF5 and passes a test of its contents; False where h5py is not installed."""
    if not head.startswith(PREFIX):
        return False
    try:
        import h5py

        with h5py.File(path, "r") as file:
            return test(file)
    except (ImportError, OSError):
        return False


def read_column(dataset: Any) -> Any:
    """Read a dataset of one value for each row: texts as str, numbers as they are."""
    values = np.asarray(dataset[()])
    if values.dtype.kind not in "OS":
        return values
    texts = [text.decode("utf-8") if isinstance(text, bytes) else str(text) for text in values.ravel().tolist()]
    return np.array(texts, dtype=object).reshape(values.shape)
