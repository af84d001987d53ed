"""Linear extensions of partial rankings, all or at random, and means over pairs of linear extensions.

A linear extension is a total ranking that is compatible with a partial one. It is determined by n choices, one for each
position of the sample's *order* (`distkern.compiled.partial`): for an observed item, which of the remaining items of
its tie group comes next; for an unobserved item, which of the free ranks it gets. Choices and extensions correspond one
to one. Uniform choices therefore give uniform extensions, and the mixed-radix digits of the numbers 0, 1, … enumerate
all.
"""

from __future__ import annotations

import math

import numpy as np

from distkern.core.jit import compiled
from distkern.core.random import fill_uniform


@compiled
def count_options(balance, k, last, options):  # type: ignore[no-untyped-def]
    """Fill the number of options at each position (n,): the remaining items of a tie group, or the free ranks."""
    n = options.shape[0]
    start = 0
    while start < k:
        stop = start + 1
        while stop < k and balance[stop] == balance[start]:
            stop += 1
        for p in range(start, stop):
            options[p] = stop - p
        start = stop
    free = n - k if last else n
    for p in range(k, n):
        options[p] = free - (p - k)


@compiled
def count_extensions(balance, observed, last, limit, out):  # type: ignore[no-untyped-def]
    """Fill the number of linear extensions of each sample (m,), or limit + 1 if there are more than ``limit``."""
    m, n = balance.shape
    options = np.empty(n, dtype=np.int64)
    for i in range(m):
        count_options(balance[i], observed[i], last[i], options)
        count = np.int64(1)
        for p in range(n):
            count = min(count * options[p], np.int64(limit) + 1)
        out[i] = count


@compiled
def choose(options, number, key, whole, uniform, choices):  # type: ignore[no-untyped-def]
    """Fill the choices (n,) of extension ``number``: its digits if ``whole`` (all are enumerated), else a draw."""
    n = options.shape[0]
    if whole:
        for p in range(n):
            choices[p] = number % options[p]
            number //= options[p]
    else:
        fill_uniform(key, number, uniform)
        for p in range(n):
            choices[p] = int(uniform[p] * options[p])


@compiled
def extend(order, k, last, choices, items, slots, ranks):  # type: ignore[no-untyped-def]
    """Fill the rank of each item (n,), 0 = least preferred, in the linear extension of the given choices.

    ``items`` and ``slots`` (n,) are scratch arrays; ``choices`` is overwritten.
    """
    n = order.shape[0]
    for p in range(n):
        items[p] = order[p]
        slots[p] = p
    for p in range(k):
        other = p + choices[p]
        items[p], items[other] = items[other], items[p]
    for p in range(k, n):
        slot = p - k
        other = slot + choices[p]
        slots[slot], slots[other] = slots[other], slots[slot]
        ranks[items[p]] = slots[slot]
    if last:
        for p in range(k):
            ranks[items[p]] = n - k + p
        return
    taken = choices
    taken[:] = 0
    for slot in range(n - k):
        taken[slots[slot]] = 1
    p = 0
    for rank in range(n):  # observed items take the remaining ranks in their order
        if not taken[rank]:
            ranks[items[p]] = rank
            p += 1


@compiled
def extend_rows(  # type: ignore[no-untyped-def]
    order, balance, observed, last, keys, whole, borders, orders, codes
):
    """Fill the linear extensions of all samples; those of sample i are the rows borders[i] to borders[i + 1] − 1.

    Parameters
    ----------
    order, balance, observed, last
        Output of `distkern.compiled.partial.arrange`, (m, n) and (m,).
    keys, whole
        Keys of the random streams, (m, 4), and whether all extensions of a sample are enumerated, (m,).
    borders
        Cumulative numbers of extensions, (m + 1,).
    orders, codes
        (rows, n), filled: the items by ascending preference, and the rank of each item.
    """
    m, n = order.shape
    options, choices = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    items, slots = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    uniform = np.empty(n)
    for i in range(m):
        k = observed[i]
        count_options(balance[i], k, last[i], options)
        for row in range(borders[i], borders[i + 1]):
            choose(options, row - borders[i], keys[i], whole[i], uniform, choices)
            extend(order[i], k, last[i], choices, items, slots, codes[row])
            for item in range(n):
                orders[row, codes[row, item]] = item


# Means over pairs --------------------------------------------------------------------------------------------------


@compiled
def means_tile(S, borders_a, borders_b, keys_a, keys_b, whole_a, whole_b, lam, pairs, means, errors):  # type: ignore[no-untyped-def]
    """Fill the mean of exp(−λ n_d) over all pairs of extensions of two samples, and its standard error.

    Parameters
    ----------
    S
        n_c − n_d of all extensions of A with all extensions of B, (rows, cols).
    borders_a, borders_b, keys_a, keys_b, whole_a, whole_b
        See `extend_rows`.
    means, errors
        float64 (a, b), filled.
    """
    row_sums, col_sums = np.empty(S.shape[0]), np.empty(S.shape[1])
    for i in range(means.shape[0]):
        for j in range(means.shape[1]):
            top, left = borders_a[i], borders_b[j]
            a, b = borders_a[i + 1] - top, borders_b[j + 1] - left
            rows, cols = row_sums[:a], col_sums[:b]
            order = _compare(keys_a[i], keys_b[j])
            # the order of summation is determined by the keys, so that k(x, y) and k(y, x) have the same bits
            total, squares = _sums(S, top, left, order > 0, lam, pairs, rows, cols)
            means[i, j] = total / (a * b)
            errors[i, j] = _error(rows, cols, squares, whole_a[i], whole_b[j], order == 0)


@compiled
def _compare(key_a, key_b):  # type: ignore[no-untyped-def]
    for word in range(key_a.shape[0]):
        if key_a[word] != key_b[word]:
            return 1 if key_a[word] > key_b[word] else -1
    return 0


@compiled
def _sums(S, top, left, swapped, lam, pairs, rows, cols):  # type: ignore[no-untyped-def]
    """Sum exp(−λ n_d) and its square over a block of S, by rows, or by columns if swapped; fill row and column sums."""
    rows[:] = 0.0
    cols[:] = 0.0
    total, squares = 0.0, 0.0
    outer, inner = (cols.shape[0], rows.shape[0]) if swapped else (rows.shape[0], cols.shape[0])
    for first in range(outer):
        for second in range(inner):
            r, c = (second, first) if swapped else (first, second)
            discordant = (pairs - S[top + r, left + c]) // 2
            value = math.exp(-lam * discordant)
            rows[r] += value
            cols[c] += value
            total += value
            squares += value * value
    return total, squares


@compiled
def _error(rows, cols, squares, whole_rows, whole_cols, same):  # type: ignore[no-untyped-def]
    """Standard error of a mean over pairs of draws, from the variances of row means, column means and interaction."""
    a, b = rows.shape[0], cols.shape[0]
    if whole_rows and whole_cols:
        return 0.0
    mean = np.sum(rows) / (a * b)
    by_rows = np.sum((rows / b - mean) ** 2)
    by_cols = np.sum((cols / a - mean) ** 2)
    # sum of squares of the interaction; each variance of means below contains a part of it
    remainder = squares - a * b * mean**2 - b * by_rows - a * by_cols
    if same:  # rows and columns are the same draws, which count twice; the diagonal is 1
        remainder -= np.sum((1 - 2 * rows / b + mean) ** 2)
        variance = 4 * by_rows / ((a - 1) * a) - 2 * max(remainder, 0.0) / ((a - 1) * a) / a**2
        return math.sqrt(max(variance, 0.0))
    variance = 0.0
    if not whole_rows:
        variance += by_rows / ((a - 1) * a)
    if not whole_cols:
        variance += by_cols / ((b - 1) * b)
    if not whole_rows and not whole_cols:
        variance -= max(remainder, 0.0) / ((a - 1) * (b - 1)) / (a * b)
    return math.sqrt(max(variance, 0.0))
