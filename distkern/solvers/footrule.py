r"""The median rank: the order of least total footrule distance to the ballots, an assignment of items to places.

.. math:: F(\sigma) = \sum_i w_i \sum_a |\sigma(a) - r_i(a)|

σ(a) is the place of item a in the order, r_i(a) its place on ballot i. Each item adds a cost of its own for each place,
so the minimum is an assignment problem (Dwork, Kumar, Naor and Sivakumar 2001, "Rank aggregation methods for the web").
Tied items have their mean place (Fagin et al. 2006). Where a ballot ranks r of n items and the ranks of the others are
unknown, its j-th item has the place j (n + 1) / (r + 1), the mean over all complete rankings that agree with it; items
of unknown rank cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from distkern.core.typing import Floats, Indices

BLOCK = 1 << 22
"""Number of places that are computed at once."""


def median_rank(scores: Floats, weights: Floats) -> tuple[Indices, float, bool]:
    """Find the order of least footrule distance: the order, best first, the distance, and if the winner is unique.

    Parameters
    ----------
    scores
        Larger = preferred, −infinity = ranked last, NaN = unknown rank, (m, n).
    weights
        (m,).

    Examples
    --------
    >>> median_rank(np.array([[3, 2, 1], [3, 1, 2], [2, 3, 1.0]]), np.ones(3))
    (array([0, 1, 2]), 4.0, True)
    """
    costs = footrule_costs(scores, weights)
    items, found = linear_sum_assignment(costs)
    total = float(costs[items, found].sum())
    order = np.empty(len(costs), dtype=np.intp)
    order[found] = items
    other = costs.copy()
    other[order[0], 0] += costs.sum() + 1  # another winner
    cheapest = float(other[linear_sum_assignment(other)].sum())
    return order, total, bool(cheapest > total + 1e-9 * (1 + total))


def footrule_costs(scores: Floats, weights: Floats) -> Floats:
    """Σ_i w_i |p − r_i(a)| for each item a and place p = 1 … n, (n, n).

    Examples
    --------
    >>> footrule_costs(np.array([[2, 1.0], [1, 1]]), np.array([1.0, 4]))
    array([[2., 3.],
           [3., 2.]])
    """
    n = scores.shape[1]
    costs, numbers = np.zeros((n, n)), np.arange(1, n + 1)
    for places, counts in _places(scores, weights):
        for item in range(n):
            seen = ~np.isnan(places[:, item])
            values, which = np.unique(places[seen, item], return_inverse=True)
            voters = np.bincount(which, weights=counts[seen], minlength=len(values))
            costs[item] += np.abs(numbers[:, None] - values) @ voters
    return costs


def _places(scores: Floats, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
    """r_i(a) of some ballots at a time, NaN where unknown, and their weights."""
    m, n = scores.shape
    rows = max(1, BLOCK // n)
    for start in range(0, m, rows):
        part = scores[start : start + rows]
        unknown = np.isnan(part)
        missing = unknown.sum(axis=1, keepdims=True)
        places = rankdata(np.where(unknown, np.inf, -part), axis=1)
        places -= np.where(np.isneginf(part), missing / 2, 0)  # those ranked last were tied with the unknown ones
        places[unknown] = np.nan
        yield places * ((n + 1) / (n - missing + 1)), weights[start : start + rows]
