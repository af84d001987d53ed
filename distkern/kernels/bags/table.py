"""Table of base kernel values between the points of bags: points that many bags share are compared once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distkern.compiled.bags import sums_of_rows
from distkern.core.typing import Floats, Indices
from distkern.kernels.base import Kernel, Prepared

SHARED = 4
"""The table of distinct points is used where it has at most this fraction, one in so many, of all pairs of points."""

TABLE_BYTES = 2**25
"""Most bytes of a table of base kernel values between the distinct points of a tile."""

POINTS = "points."
"""Prefix of the arrays that the base kernel prepared for each point; the coordinates are in ``coordinates``."""


class PointTable:
    """Values κ of the base kernel between the points of the bags of A and the points of the bags of B.

    Where bags share points, such as pixels on one grid, a table has κ between the distinct points of the tile. A sum
    over the points of a bag of A is then computed once for each distinct point of B rather than once for each bag.
    With and without the table the bits are the same.

    Parameters
    ----------
    base
        κ.
    A, B
        Prepared bags of at most L and L' points, with the arrays that κ prepared for the points. Points after the last
        one with a nonzero weight are padding, and κ is not defined there.
    """

    def __init__(self, base: Kernel, A: Prepared, B: Prepared) -> None:
        self._base, self._A, self._B = base, A, B
        self._left, self._right = A.under(POINTS), B.under(POINTS)
        self._length, self._other = (block.arrays["coordinates"].shape[1] for block in (A, B))
        self._sizes, self._other_sizes = (_sizes(block.arrays["shares"]) for block in (A, B))
        self._table: Floats | None = None
        blocks = (A,) if A is B else (A, B)
        points = np.concatenate(
            [block.arrays["coordinates"].reshape(-1, *block.arrays["coordinates"].shape[2:]) for block in blocks]
        )
        distinct, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
        pairs = len(A) * self._length * len(B) * self._other
        if SHARED * len(distinct) ** 2 <= pairs and 8 * len(distinct) ** 2 <= TABLE_BYTES:
            self._fill(first, which.ravel(), len(blocks))

    def _fill(self, first: Indices, which: Indices, blocks: int) -> None:
        """Compute κ between the distinct points: their first positions, and the distinct point of each point."""
        based = (self._left, self._right)[:blocks]
        flat = {
            name: np.concatenate([one.arrays[name].reshape(-1, *one.arrays[name].shape[2:]) for one in based])[first]
            for name in self._left.arrays
        }
        rows, cols = Prepared(flat), Prepared(flat)  # not one object: a tile on the diagonal may round differently
        self._rows = which[: len(self._A) * self._length].reshape(-1, self._length)
        used, columns = np.unique(which[-len(self._B) * self._other :], return_inverse=True)
        self._cols = columns.reshape(-1, self._other)
        self._table = np.ascontiguousarray(self._base.tile(rows, cols)[:, used])

    def between(self, i: int) -> Floats:
        """κ between the points of bag i of A and the points of bag i of B, (L, L')."""
        if self._table is not None:
            return self._table[self._rows[i]].take(self._cols[i], axis=1)
        values = np.zeros((self._length, self._other))
        values[: self._sizes[i], : self._other_sizes[i]] = self._values(i, slice(i, i + 1))
        return values

    def _values(self, i: int, js: slice) -> Floats:
        """κ between the points of bag i of A and the points of bags js of B; without the padding if js is one bag."""
        length, other, size = self._length, self._other, self._sizes[i]
        one = Prepared(
            {name: array[i, :size] for name, array in self._left.arrays.items()}, (self._A.start + i) * length
        )
        widest = self._other_sizes[js.start] if js.stop - js.start == 1 else other
        some = {name: array[js, :widest].reshape(-1, *array.shape[2:]) for name, array in self._right.arrays.items()}
        return np.ascontiguousarray(self._base.tile(one, Prepared(some, (self._B.start + js.start) * other)))

    def sums(self, i: int, factors: Floats) -> Callable[[slice], Floats]:
        """Return a function of bags js that computes Σ_l factors[a, l] κ(x_l, y), shape (J, L', q).

        The sum is over the points x_l of bag i of A, y is a point of a bag of B, and a = 1 … q.
        """
        if self._table is not None:
            of_each = np.ascontiguousarray(sums_of_rows(factors, self._table, self._rows[i]).T)
            return lambda js: of_each.take(self._cols[js], axis=0)
        positions = np.arange(self._sizes[i])
        factors = np.ascontiguousarray(factors[:, : len(positions)])

        def computed(js: slice) -> Floats:
            bags = js.stop - js.start
            summed = sums_of_rows(factors, self._values(i, js), positions).reshape(len(factors), bags, -1)
            crossed = np.zeros((bags, self._other, len(factors)))
            crossed[:, : summed.shape[2]] = summed.transpose(1, 2, 0)
            return crossed

        return computed


def _sizes(shares: Floats) -> Indices:
    """Number of points of each bag, up to the last one with a nonzero weight."""
    return shares.shape[1] - np.argmax(shares[:, ::-1] != 0, axis=1)
