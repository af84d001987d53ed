r"""Orders with ties of least cost: any ties (bucket orders), or k ordered items and all others tied (top-k lists).

``before[a, b]`` is the cost of a before b and ``tied[a, b]`` that of a tie; an order costs the sum over all pairs.
Few items are solved by dynamic programmes over sets. For more items, a local search finds an order, and an integer
programme bounds the cost, or finds the optimum: x_ij = 1 where i is before j or tied with it, so x_ij + x_ji ≥ 1 and
x_ij + x_jk − x_ik ≤ 1. For top-k lists z_i = 1 where i is among the k items; two items are tied where both are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from distkern.compiled.consensus import (
    EXACT_ITEMS,
    best_buckets,
    best_top,
    cost_of_buckets,
    improve_buckets,
    split_order,
    violated_chains,
)
from distkern.core.typing import Floats, Indices
from distkern.solvers.cutting_planes import FEASIBLE, CuttingPlanes, Rows, common_step
from distkern.solvers.linear_ordering import searched

EXACT_BUCKETS = 13
"""Maximum number of items of the dynamic programme for bucket orders, which takes O(3ⁿ n)."""


@dataclass(frozen=True)
class Buckets:
    """An order with ties: the bucket of each item, from 0 for the best, (n,), its cost, and a proven lower bound."""

    numbers: Indices
    cost: float
    lower_bound: float


class WeakOrders:
    """The integer programme above, for `CuttingPlanes`; ``k`` is None for bucket orders."""

    def __init__(self, before: Floats, tied: Floats, k: int | None) -> None:
        n = len(before)
        self._before, self._tied, self._k = before, tied, k
        self._column = np.full((n, n), -1, dtype=np.int64)
        self._pairs = ~np.eye(n, dtype=bool)
        self._column[self._pairs] = np.arange(n * (n - 1))
        chosen = np.zeros(0 if k is None else n)
        self.costs = np.concatenate([(tied - before.T)[self._pairs], chosen])
        upper = np.triu_indices(n, 1)
        self.constant = float((before + before.T - tied)[upper].sum())
        self.always = self._always(n, *upper)

    def _always(self, n: int, i: Indices, j: Indices) -> tuple[sp.csr_matrix, Floats]:
        one, other = self._column[i, j], self._column[j, i]
        parts = [([one, other], [-1, -1], -1)]
        if self._k is not None:
            z_i, z_j = n * (n - 1) + i, n * (n - 1) + j
            parts += [([one, other, z], [1, 1, 1], 2) for z in (z_i, z_j)]  # none of the k is tied
            parts += [([one, other, z_i, z_j], [-1] * 4, -2)]  # all others are
            parts += [([one, z_i, z_j], [-1, 1, -1], 0), ([other, z_j, z_i], [-1, 1, -1], 0)]
        blocks, limits = [], []
        for columns, signs, limit in parts:
            rows = np.tile(np.arange(len(i)), len(columns))
            values = np.repeat(np.array(signs, dtype=np.float64), len(i))
            blocks.append(sp.csr_matrix((values, (rows, np.concatenate(columns))), shape=(len(i), len(self.costs))))
            limits.append(np.full(len(i), float(limit)))
        if self._k is not None:
            total = np.concatenate([np.zeros(n * (n - 1)), np.ones(n)])
            blocks += [sp.csr_matrix(total), sp.csr_matrix(-total)]
            limits += [np.array([float(self._k)]), np.array([-float(self._k)])]
        return sp.vstack(blocks, format="csr"), np.concatenate(limits)

    def point(self, numbers: Indices) -> Floats:
        """The point of an order."""
        x = (numbers[:, None] <= numbers)[self._pairs].astype(np.float64)
        return x if self._k is None else np.concatenate([x, numbers < self._k])

    def _matrix(self, x: Floats) -> Floats:
        n = len(self._before)
        full = np.zeros((n, n))
        full[self._pairs] = x[: n * (n - 1)]
        return full

    def violated(self, x: Floats, whole: bool = False) -> Indices:
        """Chains of three items that a point violates."""
        return np.asarray(violated_chains(self._matrix(x), FEASIBLE), dtype=np.int64)

    def rows(self, keys: Indices) -> Rows:
        """The constraints of some chains."""
        i, j, k = keys.T
        columns = np.stack([self._column[i, j], self._column[j, k], self._column[i, k]], axis=1)
        return Rows(columns, np.tile([1.0, 1.0, -1.0], (len(keys), 1)), np.ones(len(keys)))

    def rounded(self, x: Floats) -> tuple[float, Indices]:
        """The order by Σ_j x_ij − x_ji, with the best ties for it, improved by a local search."""
        full = self._matrix(x)
        order = np.argsort((full.T - full).sum(axis=1), kind="stable")
        return _improved(order, self._before, self._tied, self._k)


def bucket_order(before: Floats, tied: Floats, *, deadline: float = np.inf) -> Buckets:
    """Find an order with ties of least cost, or the best one and a bound until a deadline of `time.monotonic`.

    Examples
    --------
    >>> before = np.array([[0, 1, 1], [1, 0, 1], [5, 5, 0.0]])
    >>> bucket_order(before, np.full((3, 3), 0.5))
    Buckets(numbers=array([0, 0, 0]), cost=1.5, lower_bound=1.5)
    """
    if len(before) <= EXACT_BUCKETS:
        numbers, cost = best_buckets(before, tied)
        return Buckets(np.asarray(numbers, dtype=np.intp), float(cost), float(cost))
    return _by_programme(before, tied, None, deadline)


def top_order(before: Floats, tied: Floats, k: int, *, deadline: float = np.inf) -> Buckets:
    """Find the order of k items before all others, which are tied, of least cost, or the best one and a bound.

    Examples
    --------
    >>> before = np.array([[0, 1, 2], [3, 0, 1], [2, 3, 0.0]])
    >>> top_order(before, np.full((3, 3), 2.0), 1)
    Buckets(numbers=array([0, 1, 1]), cost=5.0, lower_bound=5.0)
    """
    n = len(before)
    if n <= EXACT_ITEMS:
        first, cost = best_top(before, tied, k)
        numbers = np.full(n, k, dtype=np.intp)
        numbers[first] = np.arange(k)
        return Buckets(numbers, float(cost), float(cost))
    return _by_programme(before, tied, k, deadline)


def _by_programme(before: Floats, tied: Floats, k: int | None, deadline: float) -> Buckets:
    program = WeakOrders(before, tied, k)
    cost, numbers = _improved(searched(np.maximum(before.T - before, 0), deadline), before, tied, k)
    planes: CuttingPlanes[Indices] = CuttingPlanes(program, cost, numbers, common_step(before, tied), deadline)
    upper = np.triu_indices(len(before), 1)
    planes.bound = min(cost, float(np.minimum(np.minimum(before, before.T), tied)[upper].sum()))
    planes.run(program.point(numbers))
    assert planes.solution is not None
    return Buckets(planes.solution, planes.value, planes.value if planes.is_proven else planes.bound)


def _improved(order: Indices, before: Floats, tied: Floats, k: int | None) -> tuple[float, Indices]:
    """Put ties into an order, and improve it by a local search."""
    n = len(order)
    numbers = np.empty(n, dtype=np.int64)
    if k is None:
        numbers, _ = split_order(order, before, tied)
    else:
        numbers[order] = np.minimum(np.arange(n), k)
    improve_buckets(numbers, before, tied, -1 if k is None else k)
    return float(cost_of_buckets(numbers, before, tied)), np.asarray(numbers, dtype=np.intp)
