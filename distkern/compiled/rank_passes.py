"""Products with the matrices Π_x of ranked samples: f[rank(x)], and the transpose.

[Π_x]_jr = 1 where feature j of sample x has rank r, ranks from 0. Equal values share the ranks a … b − 1, and
[Π_x]_jr = 1/(b − a) there: the expectation of Π_x over all ways of breaking the ties. A sample is stored as the first
rank a of the tie group of each feature; b − a is how often a occurs. So

    z_ic = w_cᵀ Π_{x_i} f_c,   Σ_i ρ_ic Π_{x_i} f_c (for each feature),   Σ_i ρ_ic Π_{x_i}ᵀ w_c (for each rank)

for several columns c take one look at each stored rank. All sums are in the order of the samples.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), "SUQUAN as matrix regression"; the slides print the
transpose of the matrix in their example, which is the one above.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled


@compiled
def first_ranks(X, ranks, groups):  # type: ignore[no-untyped-def]
    """Fill the first rank of the tie group of each value, and the number of tie groups of each sample.

    Parameters
    ----------
    X
        Samples (k, p), float64, C-contiguous, without NaN.
    ranks
        (k, p), unsigned integers, overwritten.
    groups
        (k,), int64, overwritten.
    """
    p = X.shape[1]
    scratch = order_scratch(p)
    for i in range(X.shape[0]):
        order = stable_order(X[i], scratch)
        first, found = 0, 1
        for position in range(p):
            if position > 0 and X[i, order[position]] != X[i, order[position - 1]]:
                first = position
                found += 1
            ranks[i, order[position]] = first
        groups[i] = found


@compiled
def outputs(ranks, groups, W, F, Z):  # type: ignore[no-untyped-def]
    """Fill z_ic = w_cᵀ Π_{x_i} f_c.

    Parameters
    ----------
    ranks, groups
        Of `first_ranks`, (k, p) and (k,).
    W, F
        w_c and f_c as columns, (p, C), C-contiguous.
    Z
        (k, C), overwritten.
    """
    p, columns = W.shape
    sizes, means = np.zeros(p, np.int64), np.empty((p, columns))
    for i in range(ranks.shape[0]):
        table = F
        if groups[i] < p:
            _group_means(ranks[i], F, sizes, means)
            table = means
        if columns == 1:
            total = 0.0
            for j in range(p):
                total += W[j, 0] * table[ranks[i, j], 0]
            Z[i, 0] = total
        else:
            for c in range(columns):
                Z[i, c] = 0.0
            for j in range(p):
                r = ranks[i, j]
                for c in range(columns):
                    Z[i, c] += W[j, c] * table[r, c]


@compiled
def add_to_features(ranks, groups, R, F, G):  # type: ignore[no-untyped-def]
    """Add Σ_i ρ_ic Π_{x_i} f_c to the columns of G, (p, C); R holds ρ, (k, C)."""
    p, columns = F.shape
    sizes, means = np.zeros(p, np.int64), np.empty((p, columns))
    for i in range(ranks.shape[0]):
        table = F
        if groups[i] < p:
            _group_means(ranks[i], F, sizes, means)
            table = means
        if columns == 1:
            one = R[i, 0]
            for j in range(p):
                G[j, 0] += one * table[ranks[i, j], 0]
        else:
            for j in range(p):
                r = ranks[i, j]
                for c in range(columns):
                    G[j, c] += R[i, c] * table[r, c]


@compiled
def add_to_ranks(ranks, groups, R, W, G):  # type: ignore[no-untyped-def]
    """Add Σ_i ρ_ic Π_{x_i}ᵀ w_c to the columns of G, (p, C); R holds ρ, (k, C)."""
    p, columns = W.shape
    sizes, sums = np.zeros(p, np.int64), np.zeros((p, columns))
    for i in range(ranks.shape[0]):
        if groups[i] < p:
            _add_tied(ranks[i], R[i], W, sizes, sums, G)
        elif columns == 1:
            one = R[i, 0]
            for j in range(p):
                G[ranks[i, j], 0] += one * W[j, 0]
        else:
            for j in range(p):
                r = ranks[i, j]
                for c in range(columns):
                    G[r, c] += R[i, c] * W[j, c]


@compiled
def _group_means(ranks, F, sizes, means):  # type: ignore[no-untyped-def]
    """Fill the mean of F over the ranks of each tie group, at its first rank; ``sizes`` is zero before and after."""
    p, columns = F.shape
    for j in range(p):
        sizes[ranks[j]] += 1
    first = 0
    while first < p:
        size = sizes[first]
        sizes[first] = 0
        for c in range(columns):
            total = F[first, c]
            for r in range(first + 1, first + size):
                total += F[r, c]
            means[first, c] = total / size
        first += size


@compiled
def _add_tied(ranks, shares, W, sizes, sums, G):  # type: ignore[no-untyped-def]
    """Add a sample with ties: each of its tie groups spreads the sum of w evenly over its ranks."""
    p, columns = W.shape
    for j in range(p):
        first = ranks[j]
        sizes[first] += 1
        for c in range(columns):
            sums[first, c] += W[j, c]
    first = 0
    while first < p:
        size = sizes[first]
        sizes[first] = 0
        for c in range(columns):
            added = shares[c] * (sums[first, c] / size)
            sums[first, c] = 0.0
            for r in range(first, first + size):
                G[r, c] += added
        first += size
