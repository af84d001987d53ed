"""Vectors that a chunk of a stored matrix is multiplied by, some of them together, and what has come of it so far."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from distkern.compiled.products import add_sparse_rows
from distkern.core.typing import Floats

PANEL = 32
"""Vectors that are multiplied together. BLAS rounds by the shape of its operands, so a pass over some of the vectors
has the bits of one over all of them only where it cuts them between the same panels."""

SPARSE = 8
"""A panel of which at most one number in so many is not zero, as where each sample belongs to one cluster of some, is
multiplied number by number, which is faster then."""


class Panel(Protocol):
    """Some vectors, (length, vectors), and sums of products with them."""

    sparse: bool
    """Whether it wants the transpose of values contiguous."""

    def sums(self, length: int) -> Floats:
        """Zeros to add products to, for as many rows of a matrix."""

    def add(self, sums: Floats, rows: slice, values: Floats, turned: Floats, cols: slice) -> None:
        """Add the product of values (rows, cols), which come transposed too, with the rows ``cols`` of the vectors."""

    def product(self, sums: Floats) -> Floats:
        """The sums as a column for every vector."""


def panels_of(vectors: Floats) -> list[Panel]:
    """Cut vectors into panels.

    Examples
    --------
    >>> [panel] = panels_of(np.eye(10))
    >>> sums = panel.sums(1)
    >>> row = np.arange(10.0)[None]
    >>> panel.add(sums, slice(0, 1), row, np.ascontiguousarray(row.T), slice(0, 10))
    >>> panel.product(sums)
    array([[0., 1., 2., 3., 4., 5., 6., 7., 8., 9.]])
    """
    parts = [vectors[:, first : first + PANEL] for first in range(0, vectors.shape[1], PANEL)]
    return [_Sparse(part) if SPARSE * np.count_nonzero(part) <= part.size else _Dense(part) for part in parts]


class _Dense:
    sparse = False

    def __init__(self, vectors: Floats) -> None:
        self._vectors = np.ascontiguousarray(vectors)

    def sums(self, length: int) -> Floats:
        return np.zeros((length, self._vectors.shape[1]))

    def add(self, sums: Floats, rows: slice, values: Floats, turned: Floats, cols: slice) -> None:
        sums[rows] += values @ self._vectors[cols]

    def product(self, sums: Floats) -> Floats:
        return sums


class _Sparse:
    sparse = True

    def __init__(self, vectors: Floats) -> None:
        self._vectors = csr_array(vectors)

    def sums(self, length: int) -> Floats:
        return np.zeros((self._vectors.shape[1], length))

    def add(self, sums: Floats, rows: slice, values: Floats, turned: Floats, cols: slice) -> None:
        held, starts = self._vectors, self._vectors.indptr[cols.start : cols.stop + 1]
        add_sparse_rows(sums, rows.start, turned, starts, held.indices, held.data)

    def product(self, sums: Floats) -> Floats:
        return sums.T
