"""Products with the matrices Π_x of ranked samples: f[rank(x)], and the transpose.

[Π_x]_jr = 1 where feature j of sample x has rank r, ranks from 0. Equal values share the ranks a … b − 1, and
[Π_x]_jr = 1/(b − a) there: the expectation of Π_x over all ways of breaking the ties. With ``mid`` they have their
middle rank instead, half of each where that is between two. A sample is stored as the first rank a of the tie group of
each feature; b − a is how often a occurs. So

    z_ic = w_cᵀ Π_{x_i} f_c,   Σ_i ρ_ic Π_{x_i} f_c (for each feature),   Σ_i ρ_ic Π_{x_i}ᵀ w_c (for each rank)

for several columns c take one look at each stored rank.

A sample with q observed values has ranks 0 … q − 1 among them. Rank r is the place r (p − 1)/(q − 1) of the p ranks,
linear between two. A missing value is stored as p, and [Π_x]_jr = 1/p: it stands for the mean of f, which is 0 for a
learned target. So every row of Π_x adds up to 1.

W and F, the columns w_c and f_c, are tables of `distkern.compiled.lanes`, and so are ρ, z and the sums. Samples without
ties are taken by eight, which share the look at each row of W, and through a strip of features at a time, so that the
cache holds the table that is looked up. A few ties are rows of the tables: see `distkern.compiled.rank_ties`. The
samples of a call decide on the order of all sums.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), "SUQUAN as matrix regression"; the slides print the
transpose of the matrix in their example, which is the one above. Interpolation is as in limma.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.lanes import (
    TOGETHER,
    add_looked_up_products,
    add_looked_up_rows,
    add_products,
    add_scaled,
    add_to_looked_up,
)
from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled

STRIP = 512
"""Features that all samples of a call are taken through at a time: their rows of W or G, 32 KiB, stay in the cache."""


@compiled
def first_ranks(X, ranks, groups):  # type: ignore[no-untyped-def]
    """Fill the first rank of the tie group of each value, p where it is missing, and the number of distinct values.

    Parameters
    ----------
    X
        Samples (k, p), float64, C-contiguous. NaN is missing.
    ranks
        (k, p), unsigned integers, overwritten.
    groups
        (k,), int64, overwritten.
    """
    p = X.shape[1]
    scratch = order_scratch(p)
    values, places = np.empty(p), np.empty(p, np.int64)
    for i in range(X.shape[0]):
        observed = 0
        for j in range(p):
            if X[i, j] == X[i, j]:
                values[observed], places[observed] = X[i, j], j
                observed += 1
            else:
                ranks[i, j] = p
        order = stable_order(values[:observed], scratch)
        first, found = 0, 0
        for position in range(observed):
            if position == 0 or values[order[position]] != values[order[position - 1]]:
                first = position
                found += 1
            ranks[i, places[order[position]]] = first
        groups[i] = found


@compiled
def outputs(ranks, groups, mid, W, F, Z):  # type: ignore[no-untyped-def]
    """Add z_ic = w_cᵀ Π_{x_i} f_c to Z.

    Parameters
    ----------
    ranks, groups
        Of `first_ranks`, (k, p) and (k,), and perhaps of `distkern.compiled.rank_ties.separate`.
    mid
        Whether equal values have their middle rank.
    W, F
        w_c and f_c as columns, (p, LANES) or (p,), C-contiguous; F with the rows of tie groups after its own.
    Z
        (k, LANES) or (k,).
    """
    p = len(W)
    sizes, means = np.zeros(p + 1, np.int64), _rows(p + 1, F)
    i = 0
    while i < len(ranks):
        if _without_ties(groups, i, p):
            end = _end_without_ties(groups, i, p)
            for start in range(0, p, STRIP):
                for first in range(i, end, TOGETHER):
                    add_looked_up_products(ranks, first, start, min(start + STRIP, p), W, F, Z)
            i = end
        else:
            table = F
            if groups[i] < p:
                _fill_table(ranks[i], mid, F[:p], sizes, means)
                table = means
            for j in range(p):
                add_products(Z, i, W, j, table, np.intp(ranks[i, j]))
            i += 1


@compiled
def add_to_features(ranks, groups, mid, R, F, G):  # type: ignore[no-untyped-def]
    """Add Σ_i ρ_ic Π_{x_i} f_c to the columns of G, (p, LANES) or (p,); R holds ρ."""
    p = len(G)
    sizes, means = np.zeros(p + 1, np.int64), _rows(p + 1, F)
    i = 0
    while i < len(ranks):
        if _without_ties(groups, i, p):
            end = _end_without_ties(groups, i, p)
            for start in range(0, p, STRIP):
                for first in range(i, end, TOGETHER):
                    add_looked_up_rows(ranks, first, start, min(start + STRIP, p), R, F, G)
            i = end
        else:
            table = F
            if groups[i] < p:
                _fill_table(ranks[i], mid, F[:p], sizes, means)
                table = means
            for j in range(p):
                add_products(G, j, R, i, table, np.intp(ranks[i, j]))
            i += 1


@compiled
def add_to_ranks(ranks, groups, mid, R, W, G):  # type: ignore[no-untyped-def]
    """Add Σ_i ρ_ic Π_{x_i}ᵀ w_c to the columns of G, (p, LANES) or (p,), or with rows of tie groups; R holds ρ."""
    p = len(W)
    sizes, sums = np.zeros(p + 1, np.int64), _rows(p + 1, W)
    i = 0
    while i < len(ranks):
        if _without_ties(groups, i, p):
            end = _end_without_ties(groups, i, p)
            for start in range(0, p, STRIP):
                for first in range(i, end, TOGETHER):
                    add_to_looked_up(ranks, first, start, min(start + STRIP, p), R, W, G)
            i = end
        elif groups[i] < p:
            _add_tied(ranks, i, mid, R, W, sizes, sums, G[:p])
            i += 1
        else:
            for j in range(p):
                add_products(G, np.intp(ranks[i, j]), R, i, W, j)
            i += 1


@compiled
def _rows(count, table):  # type: ignore[no-untyped-def]
    """Zeros: so many rows like those of a table."""
    return np.zeros((count,) + table.shape[1:])  # noqa: RUF005  # what numba compiles


@compiled
def _without_ties(groups, first, p):  # type: ignore[no-untyped-def]
    """Whether the next samples have neither ties nor missing values."""
    if first + TOGETHER > len(groups):
        return False
    for i in range(first, first + TOGETHER):
        if groups[i] < p:
            return False
    return True


@compiled
def _end_without_ties(groups, first, p):  # type: ignore[no-untyped-def]
    """Where the eights of samples without ties end that begin here."""
    while _without_ties(groups, first, p):
        first += TOGETHER
    return first


@compiled
def _place(rank, observed, p):  # type: ignore[no-untyped-def]
    """Place of a rank among the observed values in the p ranks: the one below, and the part of the next."""
    place = rank
    if observed < p:
        place = rank * (p - 1) / (observed - 1) if observed > 1 else 0.5 * (p - 1)
    low = min(np.int64(place), p - 1)
    return low, place - low


@compiled
def _add_between(out, i, table, rank, observed, factor):  # type: ignore[no-untyped-def]
    """out[i] += factor · the table at the place of a rank."""
    low, part = _place(rank, observed, len(table))
    add_scaled(out, i, table, low, factor * (1 - part))
    if part > 0:
        add_scaled(out, i, table, low + 1, factor * part)


@compiled
def _add_around(out, rank, observed, table, i, factor):  # type: ignore[no-untyped-def]
    """Add factor · table[i] at the place of a rank: the transpose of `_add_between`."""
    low, part = _place(rank, observed, len(out))
    add_scaled(out, low, table, i, factor * (1 - part))
    if part > 0:
        add_scaled(out, low + 1, table, i, factor * part)


@compiled
def _fill_table(ranks, mid, F, sizes, table):  # type: ignore[no-untyped-def]
    """Fill what f is for each stored rank of a sample, and at p for missing values; ``sizes`` is zero before and after.

    The table has p + 1 rows.
    """
    p = len(F)
    for j in range(p):
        sizes[ranks[j]] += 1
    observed = p - sizes[p]
    first = 0
    while first < observed:
        size = sizes[first]
        sizes[first] = 0
        table[first] = 0.0
        if mid:
            _add_between(table, first, F, first + 0.5 * (size - 1), observed, 1.0)
        else:
            for r in range(first, first + size):
                _add_between(table, first, F, r * 1.0, observed, 1.0 / size)
        first += size
    sizes[p] = 0
    if observed < p:
        table[p] = 0.0
        for r in range(p):
            add_scaled(table, p, F, r, 1.0 / p)


@compiled
def _add_tied(ranks, i, mid, R, W, sizes, sums, G):  # type: ignore[no-untyped-def]
    """Add a sample with ties or missing values: the transpose of `_fill_table`; scratch is zero before and after."""
    p = len(W)
    for j in range(p):
        at = np.intp(ranks[i, j])
        sizes[at] += 1
        add_products(sums, at, R, i, W, j)
    observed = p - sizes[p]
    first = 0
    while first < observed:
        size = sizes[first]
        sizes[first] = 0
        if mid:
            _add_around(G, first + 0.5 * (size - 1), observed, sums, first, 1.0)
        else:
            for r in range(first, first + size):
                _add_around(G, r * 1.0, observed, sums, first, 1.0 / size)
        sums[first] = 0.0
        first += size
    if observed < p:
        for r in range(p):
            add_scaled(G, r, sums, p, 1.0 / p)
        sums[p] = 0.0
    sizes[p] = 0
