"""Concordance of two orderings by counting inversions: O(n log n) a pair, exact in 64-bit integers with any ties.

A sample is stored as its *order* (features by ascending value), its *codes* (dense rank of each feature, equal for tied
features) and its flags *tied* (whether a feature in the order is tied with the one before it). In the codes of y in the
order of x, a discordant pair is an inversion. Sorting y within each tie group of x removes the pairs tied in x, and
counts the pairs tied in both.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled
from distkern.core.typing import Array

RUN = 16
"""Length of the runs that are sorted by insertion before merging."""


@compiled
def count_inversions(values, buffer):  # type: ignore[no-untyped-def]
    """Sort ``values`` in place and return the number of pairs i < j with values[i] > values[j]."""
    n = values.shape[0]
    count = np.int64(0)
    for start in range(0, n, RUN):
        for i in range(start + 1, min(start + RUN, n)):
            value = values[i]
            j = i
            while j > start and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
            count += i - j
    source, target = values, buffer
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            count += _merge(source, target, start, middle, min(start + 2 * width, n))
        source, target = target, source
        width *= 2
    if source is not values:
        for i in range(n):
            values[i] = source[i]
    return count


@compiled
def _merge(source, target, start, middle, stop):  # type: ignore[no-untyped-def]
    """Merge two sorted runs of ``source`` into ``target``; return the number of inversions between them."""
    count = np.int64(0)
    left, right, k = start, middle, start
    while left < middle and right < stop:
        a, b = source[left], source[right]
        later_first = np.int64(b < a)  # branch-free: the outcome is unpredictable on random data
        target[k] = b if later_first else a
        count += later_first * (middle - left)
        right += later_first
        left += 1 - later_first
        k += 1
    while left < middle:
        target[k] = source[left]
        left += 1
        k += 1
    while right < stop:
        target[k] = source[right]
        right += 1
        k += 1
    return count


@compiled
def _joint_ties(values, buffer, tied):  # type: ignore[no-untyped-def]
    """Sort ``values`` within each tie group; return the number of pairs tied in both samples."""
    n = values.shape[0]
    joint = np.int64(0)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and tied[stop]:
            stop += 1
        if stop - start > 1:
            count_inversions(values[start:stop], buffer[start:stop])
            run = np.int64(1)
            for k in range(start + 1, stop):
                if values[k] == values[k - 1]:
                    joint += run
                    run += 1
                else:
                    run = np.int64(1)
        start = stop
    return joint


def concordance(arrays_a: tuple[Array, ...], arrays_b: tuple[Array, ...], symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of samples of blocks A and B.

    Parameters
    ----------
    arrays_a, arrays_b
        Order, codes and tie flags (samples, n), and untied pairs (samples,), of each block.
    symmetric
        Whether A and B are the same block; then only i ≤ j is filled.
    """
    order, _, tied, untied = arrays_a
    counts = np.zeros((len(order), len(arrays_b[0])), dtype=np.int64)
    joint = np.zeros_like(counts)
    _fill(order, tied, untied, arrays_b[1], arrays_b[3], symmetric, counts, joint)
    return counts, joint


@compiled
def _fill(order, tied, untied_a, codes, untied_b, symmetric, counts, joint):  # type: ignore[no-untyped-def]
    a, n = order.shape
    pairs = np.int64(n) * (n - 1) // 2
    values = np.empty(n, dtype=codes.dtype)
    buffer = np.empty(n, dtype=codes.dtype)
    for i in range(a):
        for j in range(i if symmetric else 0, codes.shape[0]):
            for k in range(n):
                values[k] = codes[j, order[i, k]]
            both = np.int64(0)
            if untied_a[i] < pairs:
                both = _joint_ties(values, buffer, tied[i])
            discordant = count_inversions(values, buffer)
            counts[i, j] = untied_a[i] + untied_b[j] - pairs + both - 2 * discordant
            joint[i, j] = both


@compiled
def rank_rows(X, order, codes, tied, untied):  # type: ignore[no-untyped-def]
    """Fill the order, dense ranks, tie flags and number of untied pairs of each row of ``X`` (m, n), without NaN."""
    m, n = X.shape
    scratch = order_scratch(n)
    for i in range(m):
        ascending = stable_order(X[i], scratch)
        code, run = 0, np.int64(0)
        ties = np.int64(0)
        for k in range(n):
            feature = ascending[k]
            same = k > 0 and X[i, feature] == X[i, ascending[k - 1]]
            run = run + 1 if same else np.int64(0)
            ties += run
            if k > 0 and not same:
                code += 1
            order[i, k] = feature
            codes[i, feature] = code
            tied[i, k] = same
        untied[i] = np.int64(n) * (n - 1) // 2 - ties


def place_dtype(n: int) -> type[np.generic]:
    """Smallest integer type for the positions and ranks of ``n`` features."""
    return np.uint16 if n <= 2**16 else np.int32


def rank(X: Array) -> tuple[Array, Array, Array, Array]:
    """Order, dense ranks, tie flags (m, n) and number of untied pairs (m,) of the rows of ``X`` (m, n).

    Examples
    --------
    >>> order, codes, tied, untied = rank(np.array([[30.0, 10.0, 30.0]]))
    >>> codes.tolist(), untied.tolist()
    ([[1, 0, 1]], [2])
    """
    m, n = X.shape
    kind = place_dtype(n)
    order, codes = np.empty((m, n), dtype=kind), np.empty((m, n), dtype=kind)
    tied, untied = np.empty((m, n), dtype=np.uint8), np.empty(m, dtype=np.int64)
    rank_rows(np.ascontiguousarray(X, dtype=np.float64), order, codes, tied, untied)
    return order, codes, tied, untied
