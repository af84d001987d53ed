"""The total rankings compatible with a partial one, all or at random, and means over the pairs of two sets of them.

A compatible ranking follows from n choices, one at each place of the sample's *order* (`distkern.compiled.partial`): at
an observed item, which of those left in its tie group comes next; at one that is not observed, which of the free ranks
it takes. Each sequence of choices gives another ranking, so that uniform choices give uniform rankings, and the digits
of a number, in a base that changes with the place, run through all of them.
"""

from __future__ import annotations

import math

import numpy as np

from distkern.core.jit import compiled
from distkern.core.random import fill_uniform


@compiled
def count_options(balance, k, last, options):  # type: ignore[no-untyped-def]
    """Fill the number of choices at each place (n,): of the items left in a tie group, or of the free places."""
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
    """Fill the number of compatible rankings of each sample (m,), or limit + 1 where there are more than ``limit``."""
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
    """Fill the choices (n,) of ranking ``number``: its digits where all are gone through, else those of a draw."""
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
    """Fill the rank of each item (n,), 0 = least preferred, of the compatible ranking that the choices make.

    ``items`` and ``slots`` (n,) are scratch, and the choices are used up.
    """
    n = order.shape[0]
    for p in range(n):
        items[p] = order[p]
        slots[p] = p
    for p in range(k):
        other = p + choices[p]
        items[p], items[other] = items[other], items[p]
    for p in range(k, n):
        place = p - k
        other = place + choices[p]
        slots[place], slots[other] = slots[other], slots[place]
        ranks[items[p]] = slots[place]
    if last:
        for p in range(k):
            ranks[items[p]] = n - k + p
        return
    taken = choices
    taken[:] = 0
    for place in range(n - k):
        taken[slots[place]] = 1
    p = 0
    for rank in range(n):  # the observed items keep their order in the ranks that are left
        if not taken[rank]:
            ranks[items[p]] = rank
            p += 1


@compiled
def extend_rows(  # type: ignore[no-untyped-def]
    order, balance, observed, last, keys, whole, borders, orders, codes
):
    """Fill the rankings of all samples: those of sample i in the rows from borders[i] up to borders[i + 1].

    Parameters
    ----------
    order, balance, observed, last
        Of the samples (m, n) and (m,), as `distkern.compiled.partial.arrange` gives them.
    keys, whole
        (m, 4) keys of the random streams, and (m,) whether all rankings of the sample are gone through.
    borders
        (m + 1,): numbers of rankings, added up.
    orders, codes
        (rows, n), filled: the items from the least preferred to the most, and the rank of each item.
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
    """Fill the mean of exp(−λ n_d) over the rankings of each sample of A and each of B, and its standard error.

    Parameters
    ----------
    S
        (rows, cols): n_c − n_d of every ranking of A with every one of B.
    borders_a, borders_b, keys_a, keys_b, whole_a, whole_b
        Of the samples of A and B, as in `extend_rows`.
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
            # the two samples are summed in an order of their own, so that k(x, y) and k(y, x) are the same bits
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
    """Sum exp(−λ n_d) and its square over a block of S, by rows or, swapped, by columns; fill the sums of both."""
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
    """Standard error of a double mean over draws from the variances of its row means, column means and remainder."""
    a, b = rows.shape[0], cols.shape[0]
    if whole_rows and whole_cols:
        return 0.0
    mean = np.sum(rows) / (a * b)
    by_rows = np.sum((rows / b - mean) ** 2)
    by_cols = np.sum((cols / a - mean) ** 2)
    # what of the spread neither side explains by itself; each variance of means below holds a part of it
    remainder = squares - a * b * mean**2 - b * by_rows - a * by_cols
    if same:  # one set of draws on both sides, whose chance enters twice; a draw meets itself with value 1
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
