"""Convolution Kendall kernel of two partial rankings in closed form: O(k + m + q log q) a pair, exact with any ties.

k and m are the numbers of observed items of the two samples, and q is the number of items that both observe. A sample
is stored as

- its *order*: the observed items by ascending preference, then the others by position;
- the *balance* of each position in the order: the number of observed items below minus the number above. It equals
  k + 1 − 2a for mid-rank a (1 = best), is equal for tied items, and increases with preference;
- *last*: whether unobserved items rank after all others (a top-k ranking) or have unknown ranks (an interleaving).

A complete sample is also a top-k ranking: its lowest tie group can be treated as unobserved and last. Total rankings,
orderings with ties and counts with many zeros therefore become short lists, and only these two forms remain.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.inversions import count_inversions, place_dtype
from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled
from distkern.core.typing import Array

ABSENT = np.int32(-(2**31))
"""Balance of items that the other sample does not observe."""


# Once per sample ---------------------------------------------------------------------------------------------------


@compiled
def arrange_rows(X, unobserved_last, order, balance, observed, last):  # type: ignore[no-untyped-def]
    """Fill order and balance (m, n), observed and last (m,) for the rows of X; see `arrange`."""
    m, n = X.shape
    items = np.empty(n, dtype=np.int64)
    values, scratch = np.empty(n, dtype=X.dtype), order_scratch(n)
    for i in range(m):
        k, missing = 0, 0
        for item in range(n):
            if np.isnan(X[i, item]):
                items[n - 1 - missing] = item
                missing += 1
            else:
                items[k] = item
                values[k] = X[i, item]
                k += 1
        ascending = stable_order(values[:k], scratch)
        bottom = 0
        if missing == 0:
            bottom = 1
            while bottom < n and values[ascending[bottom]] == values[ascending[0]]:
                bottom += 1
        k -= bottom
        for p in range(k):
            order[i, p] = items[ascending[bottom + p]]
        for p in range(bottom):  # the sort is stable, so tied items are in the order of their positions
            order[i, k + p] = items[ascending[p]]
        for p in range(missing):
            order[i, k + p] = items[n - 1 - p]
        _fill_balance(values, ascending[bottom:], k, balance[i])
        observed[i] = k
        last[i] = missing == 0 or unobserved_last


@compiled
def _fill_balance(values, ascending, k, balance):  # type: ignore[no-untyped-def]
    """Fill the balance of the first k positions, start + stop − k in a tie group [start, stop), and 0 after them."""
    start = 0
    while start < k:
        stop = start + 1
        while stop < k and values[ascending[stop]] == values[ascending[start]]:
            stop += 1
        for p in range(start, stop):
            balance[p] = start + stop - k
        start = stop
    balance[k:] = 0


def arrange(X: Array, unobserved_last: bool) -> tuple[Array, Array, Array, Array]:
    """Order and balance (m, n), number of observed items (m,) and flag "last" (m,) of the rows of ``X``.

    Parameters
    ----------
    X
        (m, n); larger = preferred, NaN = not observed.
    unobserved_last
        Whether unobserved items rank after all others; otherwise their ranks are unknown.

    Examples
    --------
    >>> order, balance, observed, last = arrange(np.array([[5.0, np.nan, 7.0, 7.0]]), False)
    >>> order.tolist(), balance.tolist(), observed.tolist(), last.tolist()
    ([[0, 2, 3, 1]], [[-2, 1, 1, 0]], [3], [0])
    """
    m, n = X.shape
    order = np.empty((m, n), dtype=place_dtype(n))
    balance = np.empty((m, n), dtype=np.int16 if n <= 2**15 else np.int32)
    observed, last = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.uint8)
    arrange_rows(np.ascontiguousarray(X, dtype=np.float64), unobserved_last, order, balance, observed, last)
    return order, balance, observed, last


@compiled
def self_sums(balance, observed, last, out):  # type: ignore[no-untyped-def]
    """Fill S(R, R) = Σ s² of each sample, with k observed items.

    The number of untied observed pairs, plus (n − k) k if unobserved items are last, else (n − k) Σ t² / (k + 1)²,
    where t are the balances.
    """
    m, n = balance.shape
    for i in range(m):
        k = np.int64(observed[i])
        untied, squares, run = k * (k - 1) // 2, np.int64(0), np.int64(0)
        for p in range(k):
            run = run + 1 if p > 0 and balance[i, p] == balance[i, p - 1] else np.int64(0)
            untied -= run
            squares += np.int64(balance[i, p]) ** 2
        if last[i]:
            out[i] = untied + (n - k) * k
        else:
            out[i] = untied + np.float64((n - k) * squares) / np.float64((k + 1) ** 2)


# Per pair ----------------------------------------------------------------------------------------------------------


@compiled
def _walk_second(order, balance, m, place, balance_a, at):  # type: ignore[no-untyped-def]
    """Walk the second sample by ascending preference; store its balance u of each common item in ``at``.

    ``place`` is the position of each item in the order of the first sample, −1 if unobserved, and ``at`` is indexed by
    these positions. Returns q, Σt, Σu, Σtu, Σ t·(balance among the common items) and the number of tied pairs, where t
    and u are the balances of the first and the second sample.
    """
    q, t_sum, u_sum, product = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    inner, tied, start, group = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    current = np.int64(ABSENT)
    for s in range(m):
        p = place[order[s]]
        if p < 0:
            continue
        u, t = np.int64(balance[s]), np.int64(balance_a[p])
        if u != current:
            inner += group * (start + q)  # balance start + stop − q; −q t_sum is added at the end
            start, group, current = q, np.int64(0), u
        tied += q - start
        at[p] = u
        group += t
        q += 1
        t_sum += t
        u_sum += u
        product += t * u
    inner += group * (start + q) - q * t_sum
    return q, t_sum, u_sum, product, inner, tied


@compiled
def _walk_first(balance, k, q, u_sum, at, values, buffer):  # type: ignore[no-untyped-def]
    """Walk the first sample by ascending preference; fill ``values`` with the balances u of the common items.

    Returns Σ u·(balance among the common items), and the numbers of pairs tied in the first sample and in both; clears
    ``at``.
    """
    inner, tied, joint = np.int64(0), np.int64(0), np.int64(0)
    group, start, count = np.int64(0), np.int64(0), np.int64(0)
    current = np.int64(ABSENT)
    for p in range(k):
        u = at[p]
        if u == ABSENT:
            continue
        at[p] = ABSENT
        t = np.int64(balance[p])
        if t != current:
            inner += group * (start + count)
            joint += _sorted_ties(values[start:count], buffer)
            start, group, current = count, np.int64(0), t
        tied += count - start
        values[count] = u
        count += 1
        group += u
    inner += group * (start + count) - q * u_sum
    joint += _sorted_ties(values[start:count], buffer)
    return inner, tied, joint


@compiled
def _sorted_ties(values, buffer):  # type: ignore[no-untyped-def]
    """Sort the values of a tie group of the first sample, so that they have no inversions; return the equal pairs."""
    size = values.shape[0]
    joint = np.int64(0)
    if size > 1:
        count_inversions(values, buffer[:size])
        run = np.int64(0)
        for s in range(1, size):
            run = run + 1 if values[s] == values[s - 1] else np.int64(0)
            joint += run
    return joint


@compiled
def _closed_form(n, k, m, last_a, last_b, q, C, T, U, product, inner_a, inner_b):  # type: ignore[no-untyped-def]
    """S of two partial rankings from integer sums over their q common items.

    T, U and product are Σt, Σu and Σtu of the balances. inner_a is Σ u·(balance in the first sample among the common
    items), and inner_b the same with the samples exchanged. The result is symmetric to the last bit, because it
    consists of integers and sums of two terms.
    """
    e = n - k - m + q
    if last_a and last_b:
        return np.float64(C + T + U + q * e - (k - q) * (m - q))
    if last_b:
        return C + np.float64((n + 1) * T + product - inner_b) / np.float64(k + 1)
    if last_a:
        return C + np.float64((n + 1) * U + product - inner_a) / np.float64(m + 1)
    first, second = np.float64(product - inner_a) / np.float64(m + 1), np.float64(product - inner_b) / np.float64(k + 1)
    # float64, because n⁴ overflows 64-bit integers; exact below 2⁵³
    outside = np.float64(e) * np.float64(product) - np.float64(T) * np.float64(U)
    return C + (first + second) + outside / (np.float64(k + 1) * np.float64(m + 1))


@compiled
def partial_tile(  # type: ignore[no-untyped-def]
    order_a, balance_a, observed_a, last_a, order_b, balance_b, observed_b, last_b, symmetric, out
):
    """Fill S = Σ_{i<j} s_ij s'_ij for all pairs of samples of blocks A and B.

    Parameters
    ----------
    order_a, balance_a, observed_a, last_a
        Output of `arrange` for A; the same for B.
    symmetric
        Whether A and B are the same block; then only i ≤ j is computed and mirrored.
    out
        float64 (a, b), filled.
    """
    a, n = order_a.shape
    place = np.full(n, -1, dtype=np.int32)
    at = np.full(n, ABSENT, dtype=np.int32)
    values = np.empty(n, dtype=np.int32)
    buffer = np.empty(n, dtype=np.int32)
    for i in range(a):
        k = np.int64(observed_a[i])
        for p in range(k):
            place[order_a[i, p]] = p
        for j in range(i if symmetric else 0, order_b.shape[0]):
            m = np.int64(observed_b[j])
            q, T, U, product, inner_b, tied_b = _walk_second(order_b[j], balance_b[j], m, place, balance_a[i], at)
            inner_a, tied_a, joint = _walk_first(balance_a[i], k, q, U, at, values, buffer)
            discordant = count_inversions(values[:q], buffer[:q])
            C = q * (q - 1) // 2 - tied_a - tied_b + joint - 2 * discordant
            out[i, j] = _closed_form(n, k, m, last_a[i], last_b[j], q, C, T, U, product, inner_a, inner_b)
            if symmetric:
                out[j, i] = out[i, j]
        for p in range(k):
            place[order_a[i, p]] = -1
