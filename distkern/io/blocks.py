"""Base classes of readers, which take blocks of rows out of containers; each format defines its own readers."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from distkern.core.errors import DistkernError, InputError
from distkern.core.typing import Array, Indices

Rows = slice | Indices
"""A slice of step 1 within the cohort, or an array of valid positions."""


@contextmanager
def refuse_damage(file: str, kind: str) -> Iterator[None]:
    """Turn any error of a container library inside the block into one that names the file.

    Raises
    ------
    InputError
        If the file cannot be read as a container of this kind.
    """
    try:
        yield
    except (DistkernError, ImportError, MemoryError):
        raise
    except Exception as error:  # damaged files end in errors of any type
        reason = str(error) or type(error).__name__
        raise InputError(f"{file!r} cannot be read as {kind} ({reason}): if it is damaged, get it again") from error


def refuse_masked(values: Any) -> None:
    """Refuse an array with a mask, since a mask may mean that values are unobserved, wrong, or of no interest.

    Raises
    ------
    InputError
        If the array is masked.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(
            "the array is masked: write X.filled(numpy.nan), or dask.array.ma.filled(X, numpy.nan), to say that masked "
            "values are unobserved"
        )


class Reader(ABC):
    """Reads rows of one container, as a dense array with the dtype of the container. It does not know names."""

    dtypes: tuple[Any, ...]
    """Dtype of the whole container, or one dtype per column."""
    shape: Any
    """Number of samples and of features."""
    portable = False
    """Whether a pickle of the reader is small and reads the samples by path in another process."""
    sparse = False
    """Whether the container does not store zeros, so that ``take_sparse`` needs memory for the other values only."""
    ragged = False
    """Whether the samples are bags, padded to rows of the length of the largest bag."""
    kind: str
    """Name of the container in messages."""

    @abstractmethod
    def take(self, rows: Rows) -> Array:
        """Read rows."""

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows as a SciPy sparse matrix with the dtype of the container."""
        from scipy import sparse

        return sparse.csr_matrix(self.take(rows))


class ArrayReader(Reader):
    """Rows of an array in memory."""

    def __init__(self, values: Array, kind: str = "NumPy array") -> None:
        self.values, self.kind = values, kind
        self.shape = values.shape
        self.dtypes = (values.dtype,)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.values[rows]


class ReopenedReader(Reader):
    """A reader whose pickle is a path: it opens its file again in the process that uses it."""

    portable = True
    path: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: Any = None

    @abstractmethod
    def _open(self) -> Any:
        """Open the file, which exists."""

    def opened(self) -> Any:
        """Open the file.

        Raises
        ------
        InputError
            If it does not exist.
        """
        if not os.path.exists(self.path):
            raise InputError(
                f"the cohort's file {self.path!r} does not exist on this machine: put it where every worker can read "
                "it under the same path"
            )
        return self._open()

    def handle(self) -> Any:
        """Return the open file, which is opened once per process."""
        with self._lock:
            if self._opened is None:
                self._opened = self.opened()
            return self._opened

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_opened")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._opened = threading.Lock(), None


class PartReader(Reader):
    """Selected rows of another reader, and selected columns, or all."""

    def __init__(self, whole: Reader, rows: Indices, columns: Indices | None = None) -> None:
        self.whole, self.rows, self.columns = whole, rows, columns
        self.kind, self.portable, self.dtypes = whole.kind, whole.portable, whole.dtypes
        self.sparse, self.ragged = whole.sparse, whole.ragged
        self.shape = len(rows), whole.shape[1] if columns is None else len(columns)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        values = self.whole.take(self.rows[rows])
        return values if self.columns is None else values[:, self.columns]

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows, and select the columns."""
        values = self.whole.take_sparse(self.rows[rows])
        return values if self.columns is None else values[:, self.columns]


class GapReader(Reader):
    """Columns of another reader in an order, and columns of NaN, where the position of the column is −1."""

    def __init__(self, whole: Reader, columns: Indices) -> None:
        self.whole, self.columns = whole, columns
        self.kind, self.portable = whole.kind, whole.portable
        self.dtypes = (np.dtype(np.float64),)
        self.shape = whole.shape[0], len(columns)

    def take(self, rows: Rows) -> Array:
        """Read rows, and fill the gaps."""
        values = self.whole.take(rows)[:, self.columns].astype(np.float64)
        values[:, self.columns < 0] = np.nan
        return values
