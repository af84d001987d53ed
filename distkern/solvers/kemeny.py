r"""Kemeny's order of the items, from parts that can be ordered alone.

With d(i, j) = Q(i, j) − Q(j, i) an order costs :math:`\sum_{i<j} \min(Q(i, j), Q(j, i))`, which no order avoids, and
:math:`\sum_{i \text{ before } j} \max(d(j, i), 0)`, the margins that it contradicts.

1. *Weak parts.* Draw an arc i → j where d(i, j) ≥ 0. Between two strongly connected components all arcs go one way,
   else they would be one component; a tie is an arc both ways, so each of these margins is strict. The components are
   thus in one sequence, A before B before …, and each item of A beats each item of B. Listing the components in that
   sequence, and each in its order so far, contradicts the same margins within them and none between them. So every
   optimal order lists them in that sequence, and the number of optimal orders is the product of the numbers of the
   components. (The extended Condorcet criterion: Truchon 1998; Betzler, Bredereck and Niedermeier 2014, "Theoretical
   and empirical evaluation of data reduction for exact Kemeny rank aggregation", JAAMAS 28:721-748.)
2. *Strict parts.* Within a component draw only the arcs with d(i, j) > 0. Between two strongly connected components of
   these the margins go one way or are ties, and the components have no cycle. An order that lists them in a topological
   order contradicts no margin between them. So an order is optimal if and only if it is optimal within each strict
   component and contradicts no margin between two. Because of ties, items of different components may mix in it.

Components of up to `EXACT_ITEMS` items are solved by a dynamic programme, which also counts the optimal orders. Larger
ones are split into strict parts, and those with still more items are solved as integer programmes
(`distkern.solvers.linear_ordering`).
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from scipy.sparse.csgraph import connected_components

from distkern.compiled.consensus import EXACT_ITEMS, contradicted, cost_of_next, kemeny_table, optimal_orders
from distkern.core.typing import Floats, Indices
from distkern.solvers.linear_ordering import Ordering, is_unique, linear_ordering

TIED = 1e-12
"""Margins of at most this share of the weight of both preferences are ties: they are rounding."""


@dataclass(frozen=True)
class Optimum:
    """Kemeny's order.

    Parameters
    ----------
    order
        Items, best first, (n,). Where all weak components have at most `EXACT_ITEMS` items it is the first of all
        optimal orders, compared item by item.
    cost, lower_bound
        Σ of the weights of the contradicted preferences, and a proven lower bound of its minimum.
    optimal
        Whether the two are equal.
    count, counted
        Number of optimal orders; ``counted`` is False where it is only a lower bound.
    orders
        The first optimal orders, as many as asked for or known, (s, n).
    winners
        Items that come first in an optimal order, as far as known.
    unique_winner
        Whether that is one item; None if not known.
    """

    order: Indices
    cost: float
    lower_bound: float
    optimal: bool
    count: int
    counted: bool
    orders: Indices
    winners: Indices
    unique_winner: bool | None


@dataclass(frozen=True)
class _Part:
    """The solution of one weak component; the fields are those of `Optimum`, cost and bound those of the margins."""

    order: Indices
    cost: float
    lower_bound: float
    count: int
    counted: bool
    orders: Indices
    winners: Indices
    unique_winner: bool | None


def kemeny(preferred: Floats, *, deadline: float = np.inf, most: int = 1, certain: bool = True) -> Optimum:
    """Find Kemeny's order, or the best order and bound until a deadline of `time.monotonic`.

    Parameters
    ----------
    preferred
        Q, (n, n).
    most
        Number of optimal orders to return at most.
    certain
        Whether to find out if the winner and the order are unique, where that takes another integer programme.

    Examples
    --------
    >>> found = kemeny(np.array([[0, 2, 1], [1, 0, 1], [2, 2, 0.0]]))
    >>> found.order, found.cost, found.optimal, found.count
    (array([2, 0, 1]), 3.0, True, 1)
    """
    margins = margins_of(preferred)
    parts: list[tuple[Indices, _Part]] = []
    for items in weak_components(margins):
        within = margins[np.ix_(items, items)]
        exact = len(items) <= EXACT_ITEMS
        part = _by_table(within, most) if exact else _by_parts(within, deadline, certain, first=not parts)
        parts.append((items, part))
    order = np.concatenate([items[part.order] for items, part in parts])
    bound = sum(part.lower_bound for _, part in parts)
    avoided = float(np.minimum(preferred, preferred.T)[np.triu_indices(len(preferred), 1)].sum())
    optimal = all(part.lower_bound == part.cost for _, part in parts)
    value = float(contradicted(order, preferred))
    items, first = parts[0]
    return Optimum(
        order,
        value,
        value if optimal else min(value, avoided + bound),
        optimal,
        math.prod(part.count for _, part in parts),
        all(part.counted for _, part in parts),
        np.array(list(islice(_joined(parts), most)), dtype=np.intp),
        items[first.winners],
        first.unique_winner,
    )


def _joined(parts: list[tuple[Indices, _Part]]) -> Iterator[Indices]:
    """Optimal orders of all items, in lexicographic order, from those of the components."""
    for chosen in product(*(part.orders for _, part in parts)):
        yield np.concatenate([items[order] for (items, _), order in zip(parts, chosen, strict=True)])


def margins_of(preferred: Floats) -> Floats:
    """Q − Qᵀ, with 0 for what is only rounding, (n, n)."""
    margins = preferred - preferred.T
    margins[np.abs(margins) <= TIED * (preferred + preferred.T)] = 0.0
    return margins


# Components ----------------------------------------------------------------------------------------------------------


def weak_components(margins: Floats) -> list[Indices]:
    """Strongly connected components of d ≥ 0, each sorted, in the sequence that all optimal orders have.

    Examples
    --------
    >>> weak_components(np.array([[0, 0, -1], [0, 0, -2], [1, 2, 0.0]]))
    [array([2]), array([0, 1])]
    """
    labels = connected_components(margins >= 0, directed=True, connection="strong")[1]
    beaten = ((margins >= 0) & (labels[:, None] != labels)).sum(axis=1)  # equal within a component
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return sorted(groups, key=lambda items: -beaten[items[0]])


def strict_components(margins: Floats) -> list[Indices]:
    """Strongly connected components of d > 0, each sorted, in topological order, then by their first items.

    Examples
    --------
    >>> strict_components(np.array([[0, 0, -1], [0, 0, 0], [1, 0, 0.0]]))
    [array([1]), array([2]), array([0])]
    """
    count, labels = connected_components(margins > 0, directed=True, connection="strong")
    groups = [np.flatnonzero(labels == label) for label in range(count)]
    members = np.zeros((count, len(margins)))
    members[labels, np.arange(len(margins))] = 1
    arcs = (members @ (margins > 0) @ members.T) > 0
    np.fill_diagonal(arcs, False)
    waiting = arcs.sum(axis=0)
    ready = [(int(groups[label][0]), int(label)) for label in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    ordered = []
    while ready:
        label = heapq.heappop(ready)[1]
        ordered.append(groups[label])
        for after in np.flatnonzero(arcs[label]):
            waiting[after] -= 1
            if waiting[after] == 0:
                heapq.heappush(ready, (int(groups[after][0]), int(after)))
    return ordered


def _by_table(margins: Floats, most: int) -> _Part:
    """Solve up to `EXACT_ITEMS` items by the dynamic programme over sets."""
    n = len(margins)
    if n == 1:
        alone = np.zeros(1, dtype=np.intp)
        return _Part(alone, 0.0, 0.0, 1, True, alone[None], alone, True)
    plus = np.maximum(margins, 0)
    near = _rounding(plus)
    left, count = kemeny_table(plus, near)
    orders = np.asarray(optimal_orders(plus, left, near, most), dtype=np.intp)
    costs = np.array([left[1 << item] + cost_of_next(plus, 0, item) for item in range(n)])
    winners = np.flatnonzero(costs <= left[0] + near)
    cost = float(contradicted(orders[0], plus))
    return _Part(orders[0], cost, cost, int(count[0]), True, orders, winners, len(winners) == 1)


def _rounding(plus: Floats) -> float:
    """Costs of orders that differ by this are equal: 0 for whole numbers."""
    return 0.0 if np.array_equal(plus, np.rint(plus)) else 1e-10 * float(plus.sum())


def _by_parts(margins: Floats, deadline: float, certain: bool, first: bool) -> _Part:
    """Solve a large weak component by its strict components."""
    groups = strict_components(margins)
    parts: list[_Part] = []
    sizes = [len(items) for items in groups]
    for number, items in enumerate(groups):
        within = margins[np.ix_(items, items)]
        if len(items) <= EXACT_ITEMS:
            parts.append(_by_table(within, 1))
            continue
        large = sum(size for size in sizes[number:] if size > EXACT_ITEMS)
        until = _share(deadline, len(items) / large)
        parts.append(_as_part(linear_ordering(within, deadline=until)))
    order = np.concatenate([items[part.order] for items, part in zip(groups, parts, strict=True)])
    solved = all(part.cost == part.lower_bound for part in parts)
    if certain and solved and len(groups) == 1:
        parts[0] = _with_uniqueness(margins, parts[0], deadline)
    winners, unique = _winners(margins, groups, parts, deadline) if certain and first and solved else (order[:1], None)
    return _Part(
        order,
        sum(part.cost for part in parts),
        sum(part.lower_bound for part in parts),
        math.prod(part.count for part in parts),
        len(groups) == 1 and parts[0].counted,
        order[None],
        winners,
        unique,
    )


def _as_part(found: Ordering) -> _Part:
    return _Part(found.order, found.cost, found.lower_bound, 1, False, found.order[None], found.order[:1], None)


def _with_uniqueness(margins: Floats, part: _Part, deadline: float) -> _Part:
    """Find out whether the order of one strict component is the only optimal one."""
    best = Ordering(part.order, part.cost, part.lower_bound)
    alone = is_unique(margins, best, winner=False, deadline=deadline)
    if alone is None:
        return part
    count, winner = (1, True) if alone else (2, None)
    return _Part(part.order, part.cost, part.lower_bound, count, alone, part.orders, part.winners, winner)


def _winners(
    margins: Floats, groups: list[Indices], parts: list[_Part], deadline: float
) -> tuple[Indices, bool | None]:
    """Items of the first weak component that come first in an optimal order, and whether there is only one.

    An item is such a winner if it comes first in an optimal order of its strict component and no item of another
    component beats it. Of components that the table does not solve, one winner is known.
    """
    winners: list[int] = []
    unique: bool | None = True
    for items, part in zip(groups, parts, strict=True):
        others = np.setdiff1d(np.arange(len(margins)), items)
        free = np.asarray((margins[np.ix_(others, items)] <= 0).all(axis=0))
        found = part.winners[free[part.winners]]
        winners.extend(items[found].tolist())
        if len(items) <= EXACT_ITEMS or part.unique_winner or not free.any():
            continue
        within = margins[np.ix_(items, items)]
        best = Ordering(part.order, part.cost, part.lower_bound)
        alone = is_unique(within, best, winner=True, deadline=deadline)
        if alone is not True:  # another one may win; whether it is free is not known unless all are
            known = alone is False and free.all()
            unique = False if known or unique is False else None
    if len(winners) > 1:
        return np.array(winners, dtype=np.intp), False
    return np.array(winners, dtype=np.intp), unique


def _share(deadline: float, share: float) -> float:
    """A deadline after a share of the time that is left."""
    now = time.monotonic()
    return deadline if not np.isfinite(deadline) else now + max(0.0, deadline - now) * share
