"""SciPy: sparse matrices and arrays of any layout."""

from __future__ import annotations

from typing import Any

from distkern.core.typing import Array
from distkern.io.blocks import Reader, Rows
from distkern.io.format import Container, Opened


class SparseReader(Reader):
    """Rows of a SciPy sparse matrix; only one block at a time is dense."""

    kind = "sparse matrix"
    sparse = True

    def __init__(self, matrix: Any) -> None:
        self.shape = matrix.shape
        self.dtypes = (matrix.dtype,)
        self.matrix = matrix.tocsr() if len(matrix.shape) == 2 else matrix

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.matrix[rows].toarray()

    def take_sparse(self, rows: Rows) -> Any:
        """Read sparse rows."""
        return self.matrix[rows]


def _open_sparse(matrix: Any) -> Opened:
    return Opened(SparseReader(matrix))


CONTAINERS = (Container("scipy.sparse", ("sparray", "spmatrix"), _open_sparse),)
