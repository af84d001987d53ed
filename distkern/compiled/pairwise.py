"""Concordance of features with missing values, on pairwise complete observations: O(n log n) a pair, exact.

A feature is stored as its *order* (its observed samples by ascending value) and its *codes* (dense rank of each sample,
``MISSING`` for a missing value). Walking the order of x and skipping samples without y gives the complete observations
of the pair, sorted by x. Ties are counted again for each pair, because a tie group may lose samples.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.inversions import count_inversions
from distkern.compiled.radix import order_scratch, stable_order
from distkern.compiled.significance import null_variance
from distkern.core.jit import compiled
from distkern.core.typing import Array

MISSING = -1
"""Code of a missing value."""


@compiled
def _runs(values, n):  # type: ignore[no-untyped-def]
    """Σt(t−1)/2, Σt(t−1)(t−2) and Σt(t−1)(2t+5), where t are the lengths of runs of equal values among the first n."""
    tied = third = fifth = 0.0
    start = 0
    for k in range(1, n + 1):
        if k == n or values[k] != values[start]:
            t = np.float64(k - start)
            tied += t * (t - 1.0) / 2.0
            third += t * (t - 1.0) * (t - 2.0)
            fifth += t * (t - 1.0) * (2.0 * t + 5.0)
            start = k
    return tied, third, fifth


@compiled
def _sort_within(xs, ys, buffer, n):  # type: ignore[no-untyped-def]
    """Sort y within each run of equal x, so that pairs tied in x are not inversions; return the pairs tied in both."""
    joint = np.int64(0)
    start = 0
    for k in range(1, n + 1):
        if k == n or xs[k] != xs[start]:
            if k - start > 1:
                count_inversions(ys[start:k], buffer[start:k])
                tied, _, _ = _runs(ys[start:k], k - start)
                joint += np.int64(tied)
            start = k
    return joint


@compiled
def pairwise_tile(  # type: ignore[no-untyped-def]
    order_a, observed_a, codes_a, codes_b, symmetric, concordance, untied_a, untied_b, sizes, variances
):
    """Fill S = n_c − n_d and the inputs of tau-b and its p-value, for all pairs of features of blocks A and B.

    Parameters
    ----------
    order_a, observed_a, codes_a
        Order (a, n), number of observed samples (a,), and codes (a, n) of the features of A.
    codes_b
        Codes (b, n) of the features of B.
    symmetric
        Whether A and B are the same block; then only i ≤ j is computed and mirrored.
    concordance, untied_a, untied_b, sizes
        int64 (a, b), filled: S, the pairs not tied in each feature, and the number of complete observations.
    variances
        float64 (a, b), filled: variance of S for independent features; 0 if there is no pair of samples.
    """
    a, n = order_a.shape
    b = codes_b.shape[0]
    xs, ys, buffer = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(a):
        for j in range(i if symmetric else 0, b):
            q = np.int64(0)
            for k in range(observed_a[i]):
                sample = order_a[i, k]
                xs[q], ys[q] = codes_a[i, sample], codes_b[j, sample]
                q += np.int64(ys[q] >= 0)  # branch-free: a sample without y is overwritten by the next one
            pairs = q * (q - 1) // 2
            joint = _sort_within(xs, ys, buffer, q)
            tied_x, third_x, fifth_x = _runs(xs, q)
            discordant = count_inversions(ys[:q], buffer[:q])
            tied_y, third_y, fifth_y = _runs(ys, q)
            untied_a[i, j], untied_b[i, j] = pairs - np.int64(tied_x), pairs - np.int64(tied_y)
            concordance[i, j] = untied_a[i, j] + untied_b[i, j] - pairs + joint - 2 * discordant
            sizes[i, j] = q
            variances[i, j] = 0.0
            if q > 1:
                variances[i, j] = null_variance(np.float64(q), tied_x, tied_y, third_x, third_y, fifth_x, fifth_y)
            if symmetric:
                concordance[j, i], sizes[j, i], variances[j, i] = concordance[i, j], q, variances[i, j]
                untied_a[j, i], untied_b[j, i] = untied_b[i, j], untied_a[i, j]


@compiled
def _rank_observed(X, order, observed, codes):  # type: ignore[no-untyped-def]
    scratch = order_scratch(X.shape[1])
    for i in range(X.shape[0]):
        ascending = stable_order(X[i], scratch)
        code, count = -1, 0
        for k in range(X.shape[1]):
            sample = ascending[k]
            value = X[i, sample]
            if np.isnan(value):
                codes[i, sample] = MISSING
                continue
            if count == 0 or value != X[i, ascending[count - 1]]:
                code += 1
            order[i, count] = sample
            codes[i, sample] = code
            count += 1
        observed[i] = count


def rank_observed(X: Array) -> tuple[Array, Array, Array]:
    """Order (p, n), number of observed samples (p,) and codes (p, n) of the features, the rows of ``X`` (p, n).

    Examples
    --------
    >>> order, observed, codes = rank_observed(np.array([[3.0, np.nan, 1.0, 3.0]]))
    >>> order[0, : observed[0]].tolist(), codes.tolist()
    ([2, 0, 3], [[1, -1, 0, 1]])
    """
    order, codes = np.zeros(X.shape, dtype=np.int32), np.empty(X.shape, dtype=np.int32)
    observed = np.empty(len(X), dtype=np.int64)
    _rank_observed(np.ascontiguousarray(X, dtype=np.float64), order, observed, codes)
    return order, observed, codes
