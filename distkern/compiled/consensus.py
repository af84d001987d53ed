"""Consensus rankings, from the weights of the pairwise preferences of the voters."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled

EXACT_ITEMS = 20
"""Maximum number of items for `kemeny_table`, which takes O(2ⁿ n²) and tables of 2ⁿ sets."""


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
def kemeny_table(margins, tolerance):  # type: ignore[no-untyped-def]
    """For each set of items placed first: the least cost of the rest, and the number of its orders that attain it.

    Dynamic programme of Held and Karp: the remaining cost after a set of items is placed does not depend on their
    order. ``margins`` (n, n) are weights that an order with the second item first contradicts, n ≤ EXACT_ITEMS. Costs
    that differ by the tolerance or less are equal.
    """
    n = margins.shape[0]
    full = (1 << n) - 1
    left = np.zeros(full + 1)
    count = np.zeros(full + 1, dtype=np.int64)
    count[full] = 1
    for placed in range(full - 1, -1, -1):
        least = np.inf
        for item in range(n):
            if not placed >> item & 1:
                cost = left[placed | 1 << item] + cost_of_next(margins, placed, item)
                if cost < least - tolerance:
                    least = cost
                    count[placed] = count[placed | 1 << item]
                elif cost <= least + tolerance:
                    count[placed] += count[placed | 1 << item]
        left[placed] = least
    return left, count


@compiled
def cost_of_next(margins, placed, item):  # type: ignore[no-untyped-def]
    """Weight that is contradicted where an item comes before all other items that are not yet placed."""
    cost = 0.0
    for other in range(margins.shape[0]):
        if other != item and not placed >> other & 1:
            cost += margins[other, item]
    return cost


@compiled
def optimal_orders(margins, left, tolerance, most):  # type: ignore[no-untyped-def]
    """The first orders, in lexicographic order, that attain the minimum of `kemeny_table`, (at most ``most``, n)."""
    n = margins.shape[0]
    out = np.empty((most, n), dtype=np.int64)
    found, place, placed, item = 0, 0, 0, 0
    order = np.empty(n, dtype=np.int64)
    while found < most:
        while item < n:
            after = placed | 1 << item
            if after != placed and left[after] + cost_of_next(margins, placed, item) <= left[placed] + tolerance:
                break
            item += 1
        if item < n:
            order[place] = item
            placed |= 1 << item
            place += 1
            item = 0
            if place < n:
                continue
            out[found] = order
            found += 1
        if place == 0:
            break
        place -= 1  # try the next item at the last place
        placed ^= 1 << order[place]
        item = order[place] + 1
    return out[:found]


@compiled
def violated_cycles(before, slack):  # type: ignore[no-untyped-def]
    """Cycles i → j → k → i with x_ij + x_jk + x_ki > 2 + slack: for each ordered pair (i, j) the worst one, (c, 3).

    ``before`` (n, n) holds x_ij, with x_ji = 1 − x_ij; a cycle that is the worst of several pairs occurs as often, with
    its smallest item first.
    """
    n = before.shape[0]
    out = np.empty((n * (n - 1), 3), dtype=np.int64)
    found = 0
    for i in range(n):
        for j in range(n):
            if i == j or before[i, j] <= slack:
                continue
            worst, third = 2 + slack - before[i, j], -1
            for k in range(n):
                if k != i and k != j and before[j, k] + before[k, i] > worst:
                    worst, third = before[j, k] + before[k, i], k
            if third >= 0:
                if i < j and i < third:
                    out[found, 0], out[found, 1], out[found, 2] = i, j, third
                elif j < i and j < third:
                    out[found, 0], out[found, 1], out[found, 2] = j, third, i
                else:
                    out[found, 0], out[found, 1], out[found, 2] = third, i, j
                found += 1
    return out[:found]


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


@compiled
def all_cycles(before, most):  # type: ignore[no-untyped-def]
    """The first cycles i → j → k → i of an order in which x_ij is 0 or 1, with their smallest item first, (c, 3)."""
    n = before.shape[0]
    out = np.empty((most, 3), dtype=np.int64)
    found = 0
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(i + 1, n):
                if k != j and before[i, j] + before[j, k] + before[k, i] > 2.5:
                    if found == most:
                        return out
                    out[found, 0], out[found, 1], out[found, 2] = i, j, k
                    found += 1
    return out[:found]


@compiled
def ties_of(scores, weights):  # type: ignore[no-untyped-def]
    """Σ_i w_i 1[s_ia = s_ib], (a, b): weight of the samples that tie a and b; the diagonal is zero."""
    m, n = scores.shape
    out = np.zeros((n, n))
    for i in range(m):
        for a in range(n):
            for b in range(n):
                if a != b and scores[i, a] == scores[i, b]:
                    out[a, b] += weights[i]
    return out


# Orders with ties ----------------------------------------------------------------------------------------------------


@compiled
def tied_costs(tied):  # type: ignore[no-untyped-def]
    """Σ of ``tied[a, b]`` over all pairs a < b of each set of items, (2ⁿ,)."""
    n = tied.shape[0]
    out = np.zeros(1 << n)
    for items in range(1, 1 << n):
        last = 0
        while items >> (last + 1):
            last += 1
        rest = items ^ 1 << last
        total = out[rest]
        for other in range(last):
            if rest >> other & 1:
                total += tied[other, last]
        out[items] = total
    return out


@compiled
def best_buckets(before, tied):  # type: ignore[no-untyped-def]
    """Optimal order with ties: the number of the bucket of each item, from 0 for the best, (n,), and its cost.

    ``before[a, b]`` is the cost of a before b, ``tied[a, b]`` that of a tie. A dynamic programme over all sets of items
    and all first buckets of the others takes O(3ⁿ n); of equal costs, the one with fewer items in the first bucket
    is taken.
    """
    n = before.shape[0]
    full = (1 << n) - 1
    inside = tied_costs(tied)
    after = np.zeros((n, full + 1))  # Σ_b before[a, b] over the items b of a set
    for a in range(n):
        for items in range(1, full + 1):
            last = 0
            while items >> (last + 1):
                last += 1
            after[a, items] = after[a, items ^ 1 << last] + before[a, last]
    size = np.zeros(full + 1, dtype=np.int64)
    for items in range(1, full + 1):
        size[items] = size[items >> 1] + (items & 1)
    least = np.zeros(full + 1)  # of the items of a set
    first = np.zeros(full + 1, dtype=np.int64)
    for items in range(1, full + 1):
        best = np.inf
        bucket = items
        while bucket:
            rest = items ^ bucket
            cost = inside[bucket] + least[rest]
            for a in range(n):
                if bucket >> a & 1:
                    cost += after[a, rest]
            if cost < best or (cost == best and size[bucket] < size[first[items]]):
                best = cost
                first[items] = bucket
            bucket = (bucket - 1) & items
        least[items] = best
    numbers = np.empty(n, dtype=np.int64)
    items, number = full, 0
    while items:
        for a in range(n):
            if first[items] >> a & 1:
                numbers[a] = number
        items ^= first[items]
        number += 1
    return numbers, least[full]


@compiled
def best_top(before, tied, k):  # type: ignore[no-untyped-def]
    """Optimal order of k items before all others, which are tied: the k items, best first, and the cost.

    The costs are those of `best_buckets`; of equal costs, the first order is taken. It takes O(2ⁿ n²).
    """
    n = before.shape[0]
    full = (1 << n) - 1
    left = tied_costs(tied)[::-1].copy()  # by the set of the items that are placed: the others are tied
    size = np.zeros(full + 1, dtype=np.int64)
    for items in range(1, full + 1):
        size[items] = size[items >> 1] + (items & 1)
    choice = np.zeros(full + 1, dtype=np.int64)
    for placed in range(full - 1, -1, -1):
        if size[placed] < k:
            least = np.inf
            for item in range(n):
                if not placed >> item & 1:
                    cost = left[placed | 1 << item]
                    for other in range(n):
                        if other != item and not placed >> other & 1:
                            cost += before[item, other]
                    if cost < least:
                        least = cost
                        choice[placed] = item
            left[placed] = least
    order = np.empty(k, dtype=np.int64)
    placed = 0
    for place in range(k):
        order[place] = choice[placed]
        placed |= 1 << order[place]
    return order, left[0]


@compiled
def split_order(order, before, tied):  # type: ignore[no-untyped-def]
    """Optimal order with ties that keeps an order: the number of the bucket of each item, and its cost, in O(n³)."""
    n = order.shape[0]
    least = np.zeros(n + 1)  # of the items from a place on
    end = np.full(n + 1, n)
    for start in range(n - 1, -1, -1):
        best, inside, across = np.inf, 0.0, 0.0
        for stop in range(start + 1, n + 1):  # a bucket of the places start … stop − 1
            item = order[stop - 1]
            for place in range(start, stop - 1):
                inside += tied[order[place], item]
                across -= before[order[place], item]
            for place in range(stop, n):
                across += before[item, order[place]]
            if inside + across + least[stop] < best:
                best = inside + across + least[stop]
                end[start] = stop
        least[start] = best
    numbers = np.empty(n, dtype=np.int64)
    start, number = 0, 0
    while start < n:
        for place in range(start, end[start]):
            numbers[order[place]] = number
        start = end[start]
        number += 1
    return numbers, least[0]


@compiled
def improve_buckets(numbers, before, tied, k):  # type: ignore[no-untyped-def]
    """Local search over orders with ties: move single items to any bucket or between two, until no move helps.

    With k ≥ 0 the first k buckets have one item, and the last one has all others: two items are swapped instead.
    ``numbers`` (n,) are changed in place.
    """
    n = numbers.shape[0]
    moved = True
    while moved:
        moved = False
        for item in range(n):
            if k < 0:
                moved = _best_move(numbers, before, tied, item) or moved
                continue
            for other in range(item):
                if numbers[item] != numbers[other]:
                    old = _cost_of_two(numbers, before, tied, item, other)
                    numbers[item], numbers[other] = numbers[other], numbers[item]
                    if _cost_of_two(numbers, before, tied, item, other) < old - 1e-12 * abs(old):
                        moved = True
                    else:
                        numbers[item], numbers[other] = numbers[other], numbers[item]


@compiled
def _best_move(numbers, before, tied, item):  # type: ignore[no-untyped-def]
    """Move an item to the bucket, or between the buckets, where it costs least; tell whether it costs less there."""
    n = numbers.shape[0]
    buckets = 0
    for other in range(n):
        buckets = max(buckets, numbers[other] + 1)
    ahead, same, behind = np.zeros(buckets), np.zeros(buckets), np.zeros(buckets)
    for other in range(n):
        if other != item:
            number = numbers[other]
            ahead[number] += before[item, other]
            same[number] += tied[item, other]
            behind[number] += before[other, item]
    cost = ahead.sum()  # the item before all
    best, target, alone = cost, 0, True
    scale = ahead.sum() + behind.sum()
    current = np.inf
    for number in range(buckets):
        within = cost - ahead[number] + same[number]
        if number == numbers[item]:
            current = within
        if within < best:
            best, target, alone = within, number, False
        cost += behind[number] - ahead[number]
        if cost < best:
            best, target, alone = cost, number + 1, True
    if best >= current - 1e-12 * scale:
        return False
    own, lone = numbers[item], True
    for other in range(n):
        lone = lone and (other == item or numbers[other] != own)
    if alone:
        for other in range(n):
            if other != item and numbers[other] >= target:
                numbers[other] += 1
        own += own >= target
    numbers[item] = target
    if lone:
        for other in range(n):
            if numbers[other] > own:
                numbers[other] -= 1
    return True


@compiled
def _cost_of_two(numbers, before, tied, one, two):  # type: ignore[no-untyped-def]
    """Cost of all pairs of items that one of two items is in."""
    total = 0.0
    for other in range(numbers.shape[0]):
        if other != one:
            total += _cost_of_pair(numbers, before, tied, one, other)
        if other != two and other != one:
            total += _cost_of_pair(numbers, before, tied, two, other)
    return total


@compiled
def _cost_of_pair(numbers, before, tied, a, b):  # type: ignore[no-untyped-def]
    if numbers[a] == numbers[b]:
        return tied[a, b]
    return before[a, b] if numbers[a] < numbers[b] else before[b, a]


@compiled
def cost_of_buckets(numbers, before, tied):  # type: ignore[no-untyped-def]
    """Cost of an order with ties."""
    total = 0.0
    for a in range(numbers.shape[0]):
        for b in range(a):
            total += _cost_of_pair(numbers, before, tied, a, b)
    return total


@compiled
def violated_chains(at_least, slack):  # type: ignore[no-untyped-def]
    """Chains with x_ij + x_jk − x_ik > 1 + slack: for each ordered pair (i, k) the worst j, as rows (i, j, k)."""
    n = at_least.shape[0]
    out = np.empty((n * (n - 1), 3), dtype=np.int64)
    found = 0
    for i in range(n):
        for k in range(n):
            if i == k:
                continue
            worst, middle = 1 + slack + at_least[i, k], -1
            for j in range(n):
                if j != i and j != k and at_least[i, j] + at_least[j, k] > worst:
                    worst, middle = at_least[i, j] + at_least[j, k], j
            if middle >= 0:
                out[found, 0], out[found, 1], out[found, 2] = i, middle, k
                found += 1
    return out[:found]
