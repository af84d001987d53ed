"""Batches of vectors: a tile group is multiplied by a batch at a time, each in the way that is fastest for it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from distkern.compiled.products import add_sparse_rows
from distkern.core.typing import Floats

BATCH = 32
"""Vectors in a batch. The rounding of BLAS depends on the shapes of its operands. All passes use the same batches, so
that a pass over some of the vectors gives the same bits as one over all of them."""

SPARSE = 8
"""A batch with at most one nonzero in this many numbers is multiplied nonzero by nonzero, which is then faster: cluster
indicators, for example."""


class Batch(Protocol):
    """Some vectors, (length, vectors), and sums of products with them."""

    sparse: bool
    """Whether the transpose of the values must be contiguous."""

    def zeros(self, length: int) -> Floats:
        """Make the sums for a number of rows of a matrix."""

    def add(self, sums: Floats, rows: slice, values: Floats, transpose: Floats, cols: slice) -> None:
        """Add to the sums of ``rows`` the product of values (rows, cols) and the rows ``cols`` of the vectors."""

    def product(self, sums: Floats) -> Floats:
        """Arrange the sums as (length, vectors)."""


def batches_of(vectors: Floats) -> list[Batch]:
    """Split vectors, (length, vectors), into batches.

    Examples
    --------
    >>> [batch] = batches_of(np.eye(10))
    >>> sums = batch.zeros(1)
    >>> row = np.arange(10.0)[None]
    >>> batch.add(sums, slice(0, 1), row, np.ascontiguousarray(row.T), slice(0, 10))
    >>> batch.product(sums)
    array([[0., 1., 2., 3., 4., 5., 6., 7., 8., 9.]])
    """
    parts = [vectors[:, first : first + BATCH] for first in range(0, vectors.shape[1], BATCH)]
    return [_Sparse(part) if SPARSE * np.count_nonzero(part) <= part.size else _Dense(part) for part in parts]


class _Dense:
    sparse = False

    def __init__(self, vectors: Floats) -> None:
        self._vectors = np.ascontiguousarray(vectors)

    def zeros(self, length: int) -> Floats:
        return np.zeros((length, self._vectors.shape[1]))

    def add(self, sums: Floats, rows: slice, values: Floats, transpose: Floats, cols: slice) -> None:
        sums[rows] += values @ self._vectors[cols]

    def product(self, sums: Floats) -> Floats:
        return sums


class _Sparse:
    sparse = True

    def __init__(self, vectors: Floats) -> None:
        self._vectors = csr_array(vectors)

    def zeros(self, length: int) -> Floats:
        return np.zeros((self._vectors.shape[1], length))

    def add(self, sums: Floats, rows: slice, values: Floats, transpose: Floats, cols: slice) -> None:
        vectors, starts = self._vectors, self._vectors.indptr[cols.start : cols.stop + 1]
        add_sparse_rows(sums, rows.start, transpose, starts, vectors.indices, vectors.data)

    def product(self, sums: Floats) -> Floats:
        return sums.T
