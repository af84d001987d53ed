"""How rows are taken out of each kind of container: one small reader a kind, which knows nothing of names."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from typing import Any

from distkern.core.errors import InputError
from distkern.core.typing import Array, Indices

Rows = slice | Indices
"""A slice of step 1 within the cohort, or an array of valid positions."""


class Reader(ABC):
    """Takes rows out of one container, as a dense array of the container's own dtype."""

    dtypes: tuple[Any, ...]
    """One for the whole container, or one per column."""
    shape: Any
    portable = False
    """Whether a pickle of the reader is cheap and reads the samples by path elsewhere."""
    sparse = False
    """Whether the container leaves zeros out, so that ``take_sparse`` never writes them down."""
    ragged = False
    """Whether the samples are bags, whose rows are as long as the largest of them asks for."""
    kind: str
    """What the container is called in messages."""

    @abstractmethod
    def take(self, rows: Rows) -> Array:
        """Read rows."""

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows as a SciPy sparse matrix of the container's dtype."""
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
    """A reader that carries a path when pickled and opens its file again where it is used."""

    portable = True
    path: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: Any = None

    @abstractmethod
    def _open(self) -> Any:
        """Open the file, which is there."""

    def opened(self) -> Any:
        """Open the file.

        Raises
        ------
        InputError
            If it is not there.
        """
        if not os.path.exists(self.path):
            raise InputError(
                f"the cohort's file {self.path!r} does not exist on this machine: put it where every worker can read "
                "it under the same path"
            )
        return self._open()

    def handle(self) -> Any:
        """Return the open file, opened once a process."""
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
    """Some rows and columns of what another reader reads."""

    def __init__(self, whole: Reader, rows: Indices, columns: Indices) -> None:
        self.whole, self.rows, self.columns = whole, rows, columns
        self.kind, self.portable, self.dtypes = whole.kind, whole.portable, whole.dtypes
        self.sparse, self.ragged = whole.sparse, whole.ragged
        self.shape = len(rows), len(columns)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.whole.take(self.rows[rows])[:, self.columns]

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows, and select the columns."""
        return self.whole.take_sparse(self.rows[rows])[:, self.columns]
