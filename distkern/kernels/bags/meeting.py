"""Base kernel values between the points of bags: points that many bags share meet once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distkern.compiled.bags import sums_of_rows
from distkern.core.typing import Floats, Indices
from distkern.kernels.base import Kernel, Prepared

SHARED = 4
"""The distinct points of a tile meet once where that is at most one part in so many of all meetings."""

TABLE_BYTES = 2**25
"""Most bytes of base kernel values between the distinct points of a tile."""

POINTS = "points."
"""Prefix of what the base kernel prepared of each point; their coordinates are ``coordinates``."""


class Meeting:
    """Values κ of the base kernel between the points of bags of A and those of bags of B.

    Where points are shared, as pixels on one grid are, a table holds κ of the distinct ones. Sums over the points of a
    bag of A are then made once for each distinct point of B, and not for each bag. Both roads give the same bits.

    Parameters
    ----------
    base
        κ.
    A, B
        Prepared bags, with what κ prepared of their points, L and L' a bag; those after the last one with a share are
        none, and what κ is there does not matter.
    """

    def __init__(self, base: Kernel, A: Prepared, B: Prepared) -> None:
        self._base, self._A, self._B = base, A, B
        self._left, self._right = A.under(POINTS), B.under(POINTS)
        self._length, self._other = (block.arrays["coordinates"].shape[1] for block in (A, B))
        self._held, self._others_held = (_held(block.arrays["shares"]) for block in (A, B))
        self._table: Floats | None = None
        blocks = (A,) if A is B else (A, B)
        points = np.concatenate(
            [block.arrays["coordinates"].reshape(-1, *block.arrays["coordinates"].shape[2:]) for block in blocks]
        )
        few, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
        meetings = len(A) * self._length * len(B) * self._other
        if SHARED * len(few) ** 2 <= meetings and 8 * len(few) ** 2 <= TABLE_BYTES:
            self._look_up(first, which.ravel(), len(blocks))

    def _look_up(self, first: Indices, which: Indices, blocks: int) -> None:
        based = (self._left, self._right)[:blocks]
        flat = {
            name: np.concatenate([one.arrays[name].reshape(-1, *one.arrays[name].shape[2:]) for one in based])[first]
            for name in self._left.arrays
        }
        some, same = Prepared(flat), Prepared(flat)  # two: a kernel may go another way where a block meets itself
        self._rows = which[: len(self._A) * self._length].reshape(-1, self._length)
        used, cols = np.unique(which[-len(self._B) * self._other :], return_inverse=True)
        self._cols = cols.reshape(-1, self._other)
        self._table = np.ascontiguousarray(self._base.tile(some, same)[:, used])

    def own(self, i: int) -> Floats:
        """κ between the points of bag i of A and those of bag i of B, (L, L')."""
        if self._table is not None:
            return self._table[self._rows[i]].take(self._cols[i], axis=1)
        values = np.zeros((self._length, self._other))
        values[: self._held[i], : self._others_held[i]] = self._values(i, slice(i, i + 1))
        return values

    def _values(self, i: int, js: slice) -> Floats:
        """κ between the points of bag i of A and those of bags js of B: all of them, or what a single bag holds."""
        length, other, held = self._length, self._other, self._held[i]
        one = Prepared(
            {name: array[i, :held] for name, array in self._left.arrays.items()}, (self._A.start + i) * length
        )
        size = self._others_held[js.start] if js.stop - js.start == 1 else other
        some = {name: array[js, :size].reshape(-1, *array.shape[2:]) for name, array in self._right.arrays.items()}
        return np.ascontiguousarray(self._base.tile(one, Prepared(some, (self._B.start + js.start) * other)))

    def sums(self, i: int, factors: Floats) -> Callable[[slice], Floats]:
        """Say how Σ_l factors[a, l] κ(x_l, y), over the points x_l of bag i of A, is found: for bags js, (J, L', q)."""
        if self._table is not None:
            of_each = np.ascontiguousarray(sums_of_rows(factors, self._table, self._rows[i]).T)
            return lambda js: of_each.take(self._cols[js], axis=0)
        held = np.arange(self._held[i])
        factors = np.ascontiguousarray(factors[:, : len(held)])

        def computed(js: slice) -> Floats:
            bags = js.stop - js.start
            summed = sums_of_rows(factors, self._values(i, js), held).reshape(len(factors), bags, -1)
            crossed = np.zeros((bags, self._other, len(factors)))
            crossed[:, : summed.shape[2]] = summed.transpose(1, 2, 0)
            return crossed

        return computed


def _held(shares: Floats) -> Indices:
    """Number of points of each bag up to the last one with a share."""
    return shares.shape[1] - np.argmax(shares[:, ::-1] != 0, axis=1)
