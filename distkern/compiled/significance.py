"""P-values of Kendall's tau, from integer counts.

Under the null hypothesis, all orderings of y are equally likely. Without ties, the number of discordant pairs is then
the number of inversions of a random permutation, whose distribution is computed exactly. With ties, or for many items,
S = n_c − n_d is approximately normal with mean 0 and the variance of `null_variance`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

Alternative = Literal["two-sided", "less", "greater"]
ALTERNATIVES = ("two-sided", "less", "greater")
Method = Literal["auto", "exact", "asymptotic"]
METHODS = ("auto", "exact", "asymptotic")

EXACT_ITEMS = 33
"""Maximum number of items without ties for which ``"auto"`` is exact; the limit of SciPy."""

EXACT_INVERSIONS = 1
"""For more items, ``"auto"`` is exact if at most this number of pairs departs from a perfect order, as in SciPy."""


def tau_from_counts(concordance: Array, untied_rows: Array, untied_cols: Array) -> Floats:
    """tau-b = S / sqrt(t_x t_y); NaN if a sample is constant (t = 0).

    Parameters
    ----------
    concordance
        S = n_c − n_d of pairs of samples, of any shape.
    untied_rows, untied_cols
        t, the number of untied pairs of each sample, in shapes that broadcast to that of S.

    Notes
    -----
    The product t_x t_y is computed in float64, because it overflows 64-bit integers from 77,937 items on. Values are in
    [−1, 1], since S² ≤ t_x t_y and rounding is monotonic.

    Examples
    --------
    >>> tau_from_counts(np.array([[-1, 0]]), np.array([[2]]), np.array([[2, 0]]))
    array([[-0.5,  nan]])
    """
    divisor = np.sqrt(untied_rows.astype(float) * untied_cols.astype(float))
    with np.errstate(invalid="ignore"):
        return concordance / divisor


@compiled
def null_variance(n, tied_x, tied_y, third_x, third_y, fifth_x, fifth_y):  # type: ignore[no-untyped-def]
    """Variance of S over all orderings of y, for n items and the sums over tie groups from `tie_sums`.

    (m (2n+5) − Σt(t−1)(2t+5) − Σu(u−1)(2u+5)) / 18 + 2 T U / m + Σt(t−1)(t−2) Σu(u−1)(u−2) / (9 m (n−2)), where
    m = n (n−1), t and u are the sizes of the tie groups of x and y, and T and U the numbers of tied pairs of x and y.

    Source: Kendall, *Rank Correlation Methods*, chapter 4; the form of ``scipy.stats.kendalltau``.
    """
    m = n * (n - 1.0)
    variance = (m * (2.0 * n + 5.0) - fifth_x - fifth_y) / 18.0 + 2.0 * tied_x * tied_y / m
    if n > 2:
        variance += third_x * third_y / (9.0 * m * (n - 2.0))
    return variance


@compiled
def variance_tile(n, tied_a, third_a, fifth_a, tied_b, third_b, fifth_b, variances):  # type: ignore[no-untyped-def]
    """Fill the variance of S (a, b), for all pairs of samples of blocks A and B with n items."""
    for i in range(variances.shape[0]):
        for j in range(variances.shape[1]):
            variances[i, j] = null_variance(
                np.float64(n), tied_a[i], tied_b[j], third_a[i], third_b[j], fifth_a[i], fifth_b[j]
            )


@compiled
def _tie_sums(X, tied, third, fifth):  # type: ignore[no-untyped-def]
    m, n = X.shape
    for i in range(m):
        values = np.sort(X[i])
        start = 0
        for k in range(1, n + 1):
            if k == n or values[k] != values[start]:
                t = np.float64(k - start)  # t³ overflows 64-bit integers from 2²¹ tied items on
                tied[i] += t * (t - 1.0) / 2.0
                third[i] += t * (t - 1.0) * (t - 2.0)
                fifth[i] += t * (t - 1.0) * (2.0 * t + 5.0)
                start = k


def tie_sums(X: Array) -> tuple[Floats, Floats, Floats]:
    """Σt(t−1)/2, Σt(t−1)(t−2) and Σt(t−1)(2t+5) over the tie groups of each row of ``X`` (m, n), without NaN.

    Input of `null_variance`; O(n log n) for each sample.

    Examples
    --------
    >>> tie_sums(np.array([[7.0, 7.0, 7.0, 1.0]]))
    (array([3.]), array([6.]), array([66.]))
    """
    tied, third, fifth = np.zeros((3, len(X)))
    _tie_sums(np.ascontiguousarray(X, dtype=np.float64), tied, third, fifth)
    return tied, third, fifth


@lru_cache(maxsize=64)
def inversion_probabilities(n: int, limit: int) -> tuple[Floats, Floats]:
    """P(I = c) and P(I ≤ c) for c = 0 … limit, where I is the number of inversions of a random permutation of n items.

    Inserting the j-th item adds 0 … j−1 inversions with equal probability, so P_j(c) = (P_{j−1}(c) + … +
    P_{j−1}(c−j+1)) / j. Only the lower half is needed, because I and C(n, 2) − I have the same distribution; there, the
    running differences lose no precision. O(n · limit); cached.

    Examples
    --------
    >>> mass, below = inversion_probabilities(3, 1)
    >>> (6 * mass).round(), (6 * below).round()
    (array([1., 2.]), array([1., 3.]))
    """
    mass = np.zeros(limit + 1)
    mass[0] = 1.0
    for j in range(2, n + 1):
        sums = np.cumsum(mass)
        mass = sums.copy()
        if j <= limit:
            mass[j:] -= sums[: limit + 1 - j]
        mass /= j
    below = np.cumsum(mass)
    for array in (mass, below):
        array.flags.writeable = False
    return mass, below


def p_values(
    concordance: Array,
    n: Any,
    no_ties: Array,
    variance: Floats,
    *,
    alternative: Alternative = "two-sided",
    method: Method = "auto",
) -> Floats:
    """P-values of Kendall's tau: probability of a concordance at least as extreme as S for independent samples.

    Source: Kendall, *Rank Correlation Methods*; the rules and values of ``scipy.stats.kendalltau``.

    Parameters
    ----------
    concordance
        S = n_c − n_d, of any shape.
    n
        Number of items: a number, or an array of the shape of S.
    no_ties
        Whether neither sample has ties, of the shape of S. Exact p-values require this.
    variance
        Variance of S for the normal approximation, from `null_variance`.
    alternative
        ``"two-sided"``, ``"less"`` (tau < 0) or ``"greater"`` (tau > 0).
    method
        ``"exact"``, ``"asymptotic"``, or ``"auto"``: exact if there are no ties and either n ≤ 33 or at most one pair
        departs from a perfect order.

    Examples
    --------
    >>> p_values(np.array([6]), 4, np.array([True]), np.array([np.nan]))  # 2 of the 24 orderings are perfect
    array([0.08333333])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        z = concordance / np.sqrt(variance)
    if alternative == "two-sided":
        values = 2 * ndtr(-np.abs(z))
    else:
        values = ndtr(z if alternative == "less" else -z)
    if method == "asymptotic":
        return values
    sizes = np.broadcast_to(np.asarray(n), concordance.shape)
    pairs = sizes * (sizes - 1) // 2
    departing = (pairs - np.abs(concordance)) // 2
    counted = no_ties & (sizes >= 2)
    if method == "auto":
        counted &= (sizes <= EXACT_ITEMS) | (departing <= EXACT_INVERSIONS)
    for size in np.unique(sizes[counted]):
        here = counted & (sizes == size)
        values[here] = _exact(concordance[here], departing[here], int(size), alternative, method)
    return values


def _exact(concordance: Array, departing: Array, n: int, alternative: str, method: str) -> Floats:
    """Exact p-values for n items without ties; ``departing`` is the smaller of n_c and n_d."""
    whole = method == "exact" or n <= EXACT_ITEMS
    mass, below = inversion_probabilities(n, math.comb(n, 2) // 2 if whole else EXACT_INVERSIONS)
    tail = below[departing]
    if alternative == "two-sided":
        values = 2 * tail
    else:
        in_direction = (concordance >= 0) == (alternative == "greater")
        values = np.where(in_direction, tail, 1 - tail + mass[departing])
    return np.clip(values, 0.0, 1.0)
