"""Validation of prepared arrays that were read from a file, before compiled code uses them as indices.

Compiled code does not check bounds, so arrays from an untrusted file must be validated. The checks cover all properties
that the routines rely on, not only the range of values, and take a few nanoseconds a value.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def are_rankings(order, codes, tied, untied):  # type: ignore[no-untyped-def]
    """Whether order, codes and tie flags (m, n) are an output of `inversions.rank`; fills the untied pairs (m,).

    Features of a tie group must be in ascending order and have the code of the group, so no feature can occur twice.

    Examples
    --------
    >>> order, untied = np.array([[1, 0, 2]]), np.empty(1, np.int64)
    >>> are_rankings(order, np.array([[1, 0, 1]]), np.array([[0, 0, 1]]), untied), untied.tolist()
    (True, [2])
    >>> are_rankings(order, np.array([[1, 0, 9]]), np.array([[0, 0, 1]]), untied)
    False
    """
    m, n = order.shape
    for i in range(m):
        code, run, ties, previous = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for k in range(n):
            feature, same = np.int64(order[i, k]), np.int64(tied[i, k])
            if feature < 0 or feature >= n or same < 0 or same > np.int64(k > 0):
                return False
            if same == 1 and feature <= previous:
                return False
            code += np.int64(k > 0) - same
            if np.int64(codes[i, feature]) != code:
                return False
            run = run + 1 if same == 1 else np.int64(0)
            ties += run
            previous = feature
        untied[i] = np.int64(n) * (n - 1) // 2 - ties
    return True


@compiled
def are_sparse_rankings(places, scores, nonzeros, balance, n, untied):  # type: ignore[no-untyped-def]
    """Whether places and scores (m, width) are an output of `sparse.rank_sparse`; fills the untied pairs (m,)."""
    m, width = places.shape
    seen = np.full(n, -1, np.int64)
    for i in range(m):
        k = np.int64(nonzeros[i])
        if k < 0 or k > width or k > n or not -k <= balance[i] <= k or (k - balance[i]) % 2 != 0:
            return False
        negative = (k - balance[i]) // 2
        ties, start = (n - k) * (n - k - 1) // 2, 0
        for stop in range(1, k + 1):
            if stop < k and scores[i, stop] == scores[i, start]:
                continue
            if start < negative < stop or scores[i, start] != start + stop - 2 * negative:
                return False
            ties += (stop - start) * (stop - start - 1) // 2
            start = stop
        for p in range(k):
            place = np.int64(places[i, p])
            if place < 0 or place >= n or seen[place] == i:
                return False
            seen[place] = i
        untied[i] = np.int64(n) * (n - 1) // 2 - ties
    return True


@compiled
def are_arranged(order, balance, observed, last):  # type: ignore[no-untyped-def]
    """Whether order and balance (m, n), observed and last (m,) are an output of `partial.arrange`."""
    m, n = order.shape
    seen = np.zeros(n, np.uint8)
    for i in range(m):
        k = np.int64(observed[i])
        if k < 0 or k > n or last[i] > 1:
            return False
        start = 0
        for stop in range(1, k + 1):
            if stop < k and balance[i, stop] == balance[i, start]:
                continue
            if balance[i, start] != start + stop - k:
                return False
            start = stop
        seen[:] = 0
        for p in range(n):
            item = np.int64(order[i, p])
            if item < 0 or item >= n or seen[item] or (p >= k and balance[i, p] != 0):
                return False
            seen[item] = 1
    return True
