"""NumPy: arrays, memory maps and lists of numbers in memory, ``.npy`` and ``.npz`` files."""

from __future__ import annotations

import math
import mmap
import os
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib.format import MAGIC_PREFIX, read_array_header_1_0, read_array_header_2_0, read_magic

from distkern.core.containers import plain_values
from distkern.core.errors import InputError
from distkern.core.typing import Array
from distkern.io.blocks import ArrayReader, Reader, ReopenedReader, Rows, refuse_damage, refuse_masked
from distkern.io.format import Container, Format, Opened, ReadOptions

ZIP_PREFIX = b"PK\x03\x04"
ZIP_NAME = slice(26, 28)
"""Bytes of the first entry of a zip file that hold the length of its name, which begins at byte 30."""


class MappedReader(ReopenedReader):
    """Rows of an array in a file, which begins at ``offset`` bytes and has these strides."""

    kind = "memory-mapped array"

    def __init__(
        self, path: str, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, strides: tuple[int, ...]
    ) -> None:
        super().__init__()
        self.path = os.path.abspath(path)
        self.shape = shape
        self.dtypes = (dtype,)
        self.offset, self.strides = offset, strides

    @classmethod
    def of(cls, mapped: np.memmap[Any, Any]) -> MappedReader | None:
        """Find the position of a memory-mapped array in its file; None if it is not certain."""
        memory = getattr(mapped, "_mmap", None)
        if memory is None or mapped.filename is None or mapped.mode == "c" or min(mapped.strides, default=-1) < 0:
            return None
        if not os.path.isfile(mapped.filename):
            return None
        if mapped.mode != "r":
            mapped.flush()
        origin = np.frombuffer(memory, dtype=np.uint8)
        inside = mapped.__array_interface__["data"][0] - origin.__array_interface__["data"][0]
        start = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
        return cls(str(mapped.filename), mapped.dtype, mapped.shape, start + inside, mapped.strides)

    def _open(self) -> Array:
        raw = np.memmap(self.path, dtype=np.uint8, mode="r")
        try:
            return np.ndarray(self.shape, self.dtypes[0], buffer=raw, offset=self.offset, strides=self.strides)
        except (TypeError, ValueError) as error:
            raise InputError(f"the file {self.path!r} is shorter than the cohort that was opened from it") from error

    def take(self, rows: Rows) -> Array:
        """Read rows: those in a row of the file from there, others through a map of it.

        The file is mapped only meanwhile, because mapped pages count as memory of the process.
        """
        width = self.shape[1] * self.dtypes[0].itemsize if len(self.shape) == 2 else 0
        if isinstance(rows, slice) and width and self.strides == (width, self.dtypes[0].itemsize):
            start, stop, step = rows.indices(self.shape[0])
            if step == 1 and start < stop and os.path.exists(self.path):
                count, offset = (stop - start) * self.shape[1], self.offset + start * width
                found = np.fromfile(self.path, self.dtypes[0], count, offset=offset)
                if len(found) == count:
                    return found.reshape(stop - start, self.shape[1])
        return np.array(self.opened()[rows])


@dataclass(frozen=True)
class Archive:
    """The arrays of an ``.npz`` file by their meaning."""

    X: Any
    ids: Array | None = None
    features: Array | None = None
    others: dict[str, Array] = field(default_factory=dict)


def read_npy(path: Path, *, mapped: bool = False) -> Array:
    """Read the array of a ``.npy`` file, without loading pickled objects."""
    try:
        with path.open("rb") as raw:
            if raw.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
                raise ValueError("not the beginning of an array")
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (
        ValueError,
        EOFError,
        SyntaxError,
        TokenError,
    ) as error:  # the message of NumPy advises to unpickle the file
        raise InputError(
            f"{path.name!r} cannot be read as an array of numbers; it is damaged or holds Python objects: get the "
            "file again, or write numbers with numpy.save"
        ) from error
    except OSError as error:
        raise InputError(f"{path.name!r} cannot be read: {error.strerror or error}; check the file") from error


def read_npz(path: Path) -> Archive:
    """Read an ``.npz`` file: ``X`` or its only matrix, names in ``ids`` or ``samples`` and ``features``, other arrays.

    Files of ``scipy.sparse.save_npz`` are read too.

    Raises
    ------
    InputError
        If the file has no matrix, or several and none is named ``X``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/cohort.npz", X=np.eye(2), samples=["a", "b"], y=[0, 1])
    ...     archive = read_npz(Path(folder, "cohort.npz"))
    >>> archive.ids, archive.others
    (array(['a', 'b'], dtype='<U1'), {'y': array([0, 1])})
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            _refuse_false_sizes(file.zip)
            arrays = {name: file[name] for name in file.files}
    except (ValueError, TypeError, EOFError, SyntaxError, TokenError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path.name!r} cannot be read as arrays of numbers and text; it is damaged or holds Python objects: "
            "get the file again, or write plain arrays with numpy.savez"
        ) from error
    except OSError as error:
        raise InputError(f"{path.name!r} cannot be read: {error.strerror or error}; check the file") from error
    if {"format", "shape", "data"} <= arrays.keys():
        from scipy import sparse

        with refuse_damage(path.name, "a sparse matrix"):
            matrix = sparse.load_npz(path)
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # an index outside the matrix would be written outside its memory
        return Archive(matrix)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" not in arrays and len(matrices) != 1:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise InputError(f"{path.name!r} must hold the cohort as an array X or as its only matrix; it holds {found}")
    X = arrays.pop("X" if "X" in arrays else matrices[0])
    ids = arrays.pop("ids", None)
    if ids is None:
        ids = arrays.pop("samples", None)
    return Archive(X, ids, arrays.pop("features", None), arrays)


def _refuse_false_sizes(archive: zipfile.ZipFile) -> None:
    """Raise ValueError at an array whose header claims more bytes than there are, before memory is taken for it."""
    for entry in archive.infolist():
        with archive.open(entry) as member:
            if member.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
                continue
            member.seek(0)
            read = read_array_header_1_0 if read_magic(member) == (1, 0) else read_array_header_2_0
            shape, _, dtype = read(member)
        if math.prod(shape) * dtype.itemsize > entry.file_size:
            raise ValueError(f"{entry.filename} claims the shape {shape}")


# Formats -----------------------------------------------------------------------------------------------------------


def _open_npy(path: Path, options: ReadOptions) -> Opened:
    return Opened(read_npy(path, mapped=True))


def _open_npz(path: Path, options: ReadOptions) -> Opened:
    archive = read_npz(path)
    return Opened(archive.X, archive.ids, archive.features, archive.others, "y" if "y" in archive.others else None)


def _is_npy(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC_PREFIX)


def _is_npz(path: Path, head: bytes) -> bool:
    length = int.from_bytes(head[ZIP_NAME], "little")
    return head.startswith(ZIP_PREFIX) and head[30 : 30 + length].endswith(b".npy")


# Containers --------------------------------------------------------------------------------------------------------


def _open_array(X: Array) -> Opened:
    return Opened(_reader(X))


def _reader(X: Array) -> Reader:
    refuse_masked(X)
    if isinstance(X, np.memmap):
        return MappedReader.of(X) or ArrayReader(np.asarray(X), "memory-mapped array")
    return ArrayReader(np.asarray(X))


def _open_lists(X: Any) -> Opened:
    for sample in X:
        refuse_masked(sample)
    return Opened(ArrayReader(plain_values(X, "the cohort")))


FORMATS = (
    Format("NumPy array", (".npy",), _open_npy, _is_npy),
    Format("NumPy archive", (".npz",), _open_npz, _is_npz),
)
CONTAINERS = (
    Container("numpy", ("ndarray",), _open_array),
    Container("builtins", ("list", "tuple"), _open_lists),
)
