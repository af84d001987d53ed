"""Quantile normalisation of samples: the value of rank r becomes f_r, for a target f of ascending numbers.

With x_j the value of feature j, Φ_f(x)_j = f[rank(x)_j], ranks from 0. The matrix Π_x with Π_jr = 1 where feature j has
rank r gives Φ_f(x) = Π_x f. Equal values share the ranks a … b − 1, and one value: the mean of f over these ranks,
which is the expectation of Φ_f(x) over all ways of breaking the ties (``"mean"``), or f at the middle rank, linear
between two ranks (``"mid"``).

A sample of q observed values and a target of p numbers: f is interpolated at the positions r (p − 1) / (q − 1). Missing
values stay missing.

Only non-zeros are sorted; all zeros are one tie group. The sum of f over a tie group is a difference of two prefix
sums. Each prefix sum is kept with its rounding error, so that no digits are lost where the difference is small.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), "Standard full quantile normalization"; their
definition of Π_x is the transpose of the matrix in their example, which is the one above.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats


def put_on_target(X: Any, target: Floats, ties: str = "mean") -> tuple[Floats, Array]:
    """Put samples on a target.

    Parameters
    ----------
    X
        Samples (m, n), float64, as an array or as a canonical SciPy CSR array. NaN stays NaN.
    target
        f, finite numbers in ascending order, (p,).
    ties
        ``"mean"`` or ``"mid"``.

    Returns
    -------
    Φ_f of each sample, (m, n), and the number of distinct values of each sample, (m,).

    Examples
    --------
    >>> values, distinct = put_on_target(np.array([[2.0, 3.0, 1.0], [7.0, 0.0, 7.0]]), np.array([10.0, 20.0, 30.0]))
    >>> values, distinct
    (array([[20., 30., 10.],
           [25., 10., 25.]]), array([3, 2]))
    """
    out, distinct = np.empty(X.shape), np.empty(X.shape[0], dtype=np.int64)
    f, mid = np.ascontiguousarray(target, dtype=np.float64), ties == "mid"
    if hasattr(X, "indptr"):
        _sparse_on_target(X.data, X.indices, X.indptr, f, mid, out, distinct)
    else:
        _dense_on_target(np.ascontiguousarray(X, dtype=np.float64), f, mid, out, distinct)
    return out, distinct


@compiled
def _scratch(p, n):  # type: ignore[no-untyped-def]
    """Non-zeros and their features; the interpolated target, and its prefix sums."""
    values, places = np.empty(n), np.empty(n, np.int64)
    width = max(p, n)
    return values, places, order_scratch(n), np.empty(width), np.empty(width + 1), np.empty(width + 1)


@compiled
def _dense_on_target(X, target, mid, out, distinct):  # type: ignore[no-untyped-def]
    n = X.shape[1]
    values, places, scratch, spread, sums, errors = _scratch(len(target), n)
    length = -1
    for i in range(X.shape[0]):
        k, observed = 0, 0
        for j in range(n):
            value = X[i, j]
            observed += value == value
            if value != 0 and value == value:
                values[k], places[k] = value, j
                k += 1
        if observed != length:
            _spread(target, observed, spread, sums, errors)
            length = observed
        zero = n - k
        distinct[i], zero_value = _group_values(
            values[:k], places[:k], observed - k, scratch, target, spread, sums, errors, observed, mid, out[i]
        )
        if zero:
            for j in range(n):
                value = X[i, j]
                if value == 0:
                    out[i, j] = zero_value
                elif value != value:
                    out[i, j] = np.nan


@compiled
def _sparse_on_target(data, indices, indptr, target, mid, out, distinct):  # type: ignore[no-untyped-def]
    n = out.shape[1]
    values, places, scratch, spread, sums, errors = _scratch(len(target), n)
    own = np.empty(n)
    length = -1
    for i in range(out.shape[0]):
        k, first, stop = 0, indptr[i], indptr[i + 1]
        for entry in range(first, stop):
            if data[entry] == data[entry]:
                values[k], places[k] = data[entry], indices[entry]
                k += 1
        observed = n - (stop - first) + k
        if observed != length:
            _spread(target, observed, spread, sums, errors)
            length = observed
        distinct[i], zero_value = _group_values(
            values[:k], places[:k], observed - k, scratch, target, spread, sums, errors, observed, mid, own
        )
        for j in range(n):
            out[i, j] = zero_value
        for entry in range(first, stop):
            out[i, indices[entry]] = np.nan
        for entry in range(k):
            out[i, places[entry]] = own[places[entry]]


@compiled
def _spread(target, length, spread, sums, errors):  # type: ignore[no-untyped-def]
    """Interpolate the target at ``length`` ranks, and fill its prefix sums and their rounding errors."""
    for r in range(length):
        spread[r] = _between(target, r, length)
    total = error = 0.0
    sums[0] = errors[0] = 0.0
    for r in range(length):
        value = spread[r]
        added = total + value
        back = added - total
        error += (total - (added - back)) + (value - back)
        total = added
        sums[r + 1], errors[r + 1] = total, error


@compiled
def _between(target, rank, length):  # type: ignore[no-untyped-def]
    """The target at a rank among ``length``, linear between its numbers; its middle for a single rank."""
    p = len(target)
    if length == p:
        place = rank * 1.0
    elif length > 1:
        place = rank * (p - 1) / (length - 1)
    else:
        place = 0.5 * (p - 1)
    low = np.int64(place)
    part = place - low
    if part == 0 or low >= p - 1:
        return target[low]
    step = target[low + 1] - target[low]
    if step == np.inf:  # beyond float64
        return (1 - part) * target[low] + part * target[low + 1]
    return min(target[low] + part * step, target[low + 1])  # ascends with the rank, unlike a sum of two products


@compiled
def _group_value(first, stop, target, spread, sums, errors, length, mid):  # type: ignore[no-untyped-def]
    """The value of a tie group at the ranks from ``first`` to before ``stop``, never outside of their targets."""
    if stop - first == 1:
        return spread[first]
    low, high = spread[first], spread[stop - 1]
    if mid:
        value = _between(target, 0.5 * (first + stop - 1), length)
    else:
        value = ((sums[stop] - sums[first]) + (errors[stop] - errors[first])) / (stop - first)
    return min(max(value, low), high)


@compiled
def _group_values(  # type: ignore[no-untyped-def]
    values, places, zeros, scratch, target, spread, sums, errors, length, mid, out
):
    """Fill the values of the non-zeros of a sample; return the number of distinct values, and the value of zeros."""
    order = stable_order(values, scratch)
    k, start, shift, groups = len(values), 0, 0, np.int64(zeros > 0)
    negative = 0
    while negative < k and values[order[negative]] < 0:
        negative += 1
    while start < k:
        if start == negative:
            shift = zeros
        value = values[order[start]]
        stop = start + 1
        while stop < k and values[order[stop]] == value:
            stop += 1
        found = _group_value(start + shift, stop + shift, target, spread, sums, errors, length, mid)
        for position in range(start, stop):
            out[places[order[position]]] = found
        groups += 1
        start = stop
    zero_value = np.nan
    if zeros:
        zero_value = _group_value(negative, negative + zeros, target, spread, sums, errors, length, mid)
    return groups, zero_value


# Learning the target --------------------------------------------------------------------------------------------------


@compiled
def add_rows(rows, sums, errors):  # type: ignore[no-untyped-def]
    """Add rows (k, p) to sums (p,), one after another; ``errors`` (p,) collects what rounding leaves out.

    The order of the additions is that of the rows, so the blocks in which rows come do not change a bit.
    """
    for i in range(rows.shape[0]):
        for r in range(rows.shape[1]):
            total, value = sums[r], rows[i, r]
            added = total + value
            back = added - total
            errors[r] += (total - (added - back)) + (value - back)
            sums[r] = added
