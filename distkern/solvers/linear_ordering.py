r"""The linear ordering problem: the order of n items that contradicts the least weight of majorities.

With d(i, j) = Q(i, j) − Q(j, i), the margin by which voters prefer i to j, an order costs
:math:`\sum_{i \text{ before } j} \max(d(j, i), 0)`. As an integer programme (Grötschel, Jünger and Reinelt 1984, "A
cutting plane algorithm for the linear ordering problem", Operations Research 32:1195-1220) it has x_ij = 1 where i is
before j, for i < j, and x_ij + x_jk + x_ki ≤ 2 for all cycles of three items, with x_ji = 1 − x_ij.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from distkern.compiled.consensus import all_cycles, contradicted, improve_order, violated_cycles
from distkern.core.typing import Floats, Indices
from distkern.solvers.cutting_planes import FEASIBLE, CuttingPlanes, Rows, common_step

RESTARTS = 20
"""Largest number of restarts of the local search, for each item."""

SEARCHED = 2e7
"""Restarts of the local search times the number of pairs of items, at most: a restart takes O(n²)."""


@dataclass(frozen=True)
class Ordering:
    """An order, best first, (n,), its cost, and a proven lower bound of the cost of all orders."""

    order: Indices
    cost: float
    lower_bound: float


class Orders:
    """The integer programme above, for `CuttingPlanes`.

    Parameters
    ----------
    margins
        d, (n, n), antisymmetric.
    excluded
        An order that is no solution.
    not_first
        An item that comes first in no solution.
    """

    def __init__(self, margins: Floats, *, excluded: Indices | None = None, not_first: int | None = None) -> None:
        n = len(margins)
        self.plus = np.maximum(margins, 0)
        self._excluded, self._not_first = excluded, not_first
        self._upper = np.triu_indices(n, 1)
        self._column = np.zeros((n, n), dtype=np.int64)
        self._column[self._upper] = np.arange(len(self._upper[0]))
        self._column += self._column.T
        self.costs = -margins[self._upper]
        self.constant = float(self.plus[self._upper].sum())
        self.always = self._always(n)

    def _always(self, n: int) -> tuple[sp.csr_matrix, Floats]:
        count = len(self.costs)
        signs, places = np.zeros(count), None
        if self._excluded is not None:  # at least one pair is the other way round
            places = np.empty(n, dtype=np.int64)
            places[self._excluded] = np.arange(n)
            signs = np.where(places[self._upper[0]] < places[self._upper[1]], 1.0, -1.0)
        elif self._not_first is not None:  # at least one item comes before it
            first = self._not_first
            signs = np.where(self._upper[0] == first, 1.0, np.where(self._upper[1] == first, -1.0, 0.0))
        if not signs.any():
            return sp.csr_matrix((0, count)), np.zeros(0)
        return sp.csr_matrix(signs), np.array([(signs > 0).sum() - 1.0])

    def point(self, order: Indices) -> Floats:
        """The point of an order."""
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return (places[self._upper[0]] < places[self._upper[1]]).astype(np.float64)

    def _matrix(self, x: Floats) -> Floats:
        n = len(self.plus)
        full = np.zeros((n, n))
        full[self._upper] = x
        full.T[self._upper] = 1 - x
        return full

    def violated(self, x: Floats, whole: bool = False) -> Indices:
        """Cycles of three items that a point violates."""
        full = self._matrix(x)
        found = all_cycles(full, 2 * len(x)) if whole else violated_cycles(full, FEASIBLE)
        return np.asarray(found, dtype=np.int64)

    def rows(self, keys: Indices) -> Rows:
        """The constraints of some cycles."""
        ends = np.roll(keys, -1, axis=1)
        signs = np.where(keys < ends, 1.0, -1.0)
        return Rows(self._column[keys, ends], signs, 2.0 - (signs < 0).sum(axis=1))

    def rounded(self, x: Floats) -> tuple[float, Indices] | None:
        """The order by Σ_j x_ij, improved by a local search."""
        order = np.argsort(-self._matrix(x).sum(axis=1), kind="stable")
        restricted = self._excluded is not None or self._not_first is not None
        if not restricted:
            improve_order(order, self.plus)
        elif order[0] == self._not_first or (self._excluded is not None and np.array_equal(order, self._excluded)):
            return None
        return float(contradicted(order, self.plus)), order


def linear_ordering(margins: Floats, *, deadline: float = np.inf) -> Ordering:
    """Find an order of least cost, or the best order and bound until a deadline of `time.monotonic`.

    Examples
    --------
    >>> margins = np.array([[0, 3, -1], [-3, 0, 5], [1, -5, 0.0]])  # 0 beats 1, 1 beats 2, 2 beats 0
    >>> linear_ordering(margins)
    Ordering(order=array([0, 1, 2]), cost=1.0, lower_bound=1.0)
    """
    program = Orders(margins)
    order = searched(program.plus, deadline)
    cost = float(contradicted(order, program.plus))
    planes: CuttingPlanes[Indices] = CuttingPlanes(program, cost, order, common_step(margins), deadline)
    planes.bound = 0.0
    majority = np.where(program.costs < 0, 1.0, np.where(program.costs > 0, 0.0, 0.5))
    planes.run(majority)
    assert planes.solution is not None
    proven = planes.value if planes.is_proven else planes.bound
    return Ordering(planes.solution, planes.value, proven)


def is_unique(margins: Floats, best: Ordering, *, winner: bool, deadline: float) -> bool | None:
    """Whether all optimal orders are equal, or have the same first item; None if the deadline came first.

    Parameters
    ----------
    best
        An optimal order.
    winner
        Whether to ask for the first item only.
    """
    program = Orders(margins, not_first=int(best.order[0])) if winner else Orders(margins, excluded=best.order)
    step = common_step(margins)
    further = step or 1e-6 * float(program.plus.max()) or 1.0
    planes: CuttingPlanes[Indices] = CuttingPlanes(program, best.cost + further, None, step, deadline)
    other = np.append(best.order[1:], best.order[0])
    planes.run(program.point(other))
    if planes.solution is not None:
        return False
    return True if planes.is_proven else None


def searched(plus: Floats, deadline: float = np.inf) -> Indices:
    """Iterated local search: Borda's order, improved; then again and again with a few items moved at random.

    ``plus`` (n, n) holds the positive margins. The random numbers are the same in every call.
    """
    n = len(plus)
    order = np.argsort((plus.T - plus).sum(axis=1), kind="stable")
    improve_order(order, plus)
    least = contradicted(order, plus)
    random = np.random.default_rng(0)
    for _ in range(int(min(RESTARTS * n, SEARCHED / n**2))):
        if least == 0 or time.monotonic() > deadline:
            break
        moved = order.tolist()
        for _ in range(3):
            item = moved.pop(int(random.integers(n)))
            moved.insert(int(random.integers(n)), item)
        other = np.array(moved)
        improve_order(other, plus)
        cost = contradicted(other, plus)
        if cost <= least:
            order, least = other, cost
    return order
