"""Consensus rankings, from the weights of the pairwise preferences of the voters."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled

EXACT_ITEMS = 20
"""Maximum number of items for `kemeny_order`, which takes O(2ⁿ n²) and a table of 2ⁿ sets."""


@compiled
def preferences(scores, weights):  # type: ignore[no-untyped-def]
    """Σ_i w_ic 1[s_ia > s_ib], (c, a, b): weight of the samples that prefer a to b, for each set c of weights.

    ``scores`` (m, n) are −infinity for items ranked last and NaN for items of unknown rank; ``weights`` are (m, c).
    """
    m, n = scores.shape
    sets = weights.shape[1]
    out = np.zeros((sets, n, n))
    for i in range(m):
        for a in range(n):
            for b in range(n):
                if scores[i, a] > scores[i, b]:
                    for c in range(sets):
                        out[c, a, b] += weights[i, c]
    return out


@compiled
def kemeny_order(preferred):  # type: ignore[no-untyped-def]
    """Kemeny's order of the items, best first: it contradicts the least weight of preferences; ties go to the first.

    Dynamic programme of Held and Karp: the remaining cost after a set of items is placed does not depend on their
    order. ``preferred`` (n, n) is an output of `preferences`, with n ≤ EXACT_ITEMS.
    """
    n = preferred.shape[0]
    full = (1 << n) - 1
    left = np.zeros(full + 1)
    choice = np.zeros(full + 1, dtype=np.uint8)
    for placed in range(full - 1, -1, -1):
        least = np.inf
        for item in range(n):
            if not placed >> item & 1:
                cost = left[placed | 1 << item]
                for other in range(n):
                    if other != item and not placed >> other & 1:
                        cost += preferred[other, item]
                if cost < least:
                    least = cost
                    choice[placed] = item
        left[placed] = least
    order = np.empty(n, dtype=np.int64)
    placed = 0
    for place in range(n):
        order[place] = choice[placed]
        placed |= 1 << order[place]
    return order


@compiled
def improve_order(order, preferred):  # type: ignore[no-untyped-def]
    """Local search: move single items in place until no move reduces the contradicted weight."""
    n = order.shape[0]
    moved = True
    while moved:
        moved = False
        for start in range(n):
            item = order[start]
            best, target = 0.0, start
            change = 0.0
            for place in range(start - 1, -1, -1):  # before the item at this position
                other = order[place]
                change += preferred[other, item] - preferred[item, other]
                if change < best - 1e-12 * (preferred[other, item] + preferred[item, other]):
                    best, target = change, place
            change = 0.0
            for place in range(start + 1, n):  # after it
                other = order[place]
                change += preferred[item, other] - preferred[other, item]
                if change < best - 1e-12 * (preferred[other, item] + preferred[item, other]):
                    best, target = change, place
            if target != start:
                step = 1 if target > start else -1
                for place in range(start, target, step):
                    order[place] = order[place + step]
                order[target] = item
                moved = True


@compiled
def contradicted(order, preferred):  # type: ignore[no-untyped-def]
    """Weight of the preferences that an order contradicts, which is the total number of discordant pairs."""
    total = 0.0
    for place in range(order.shape[0]):
        for before in range(place):
            total += preferred[order[place], order[before]]
    return total
