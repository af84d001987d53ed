"""S of pairs of columns and its variance, added up over strata; tau and p-values from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from distkern.compiled import concordance as counting
from distkern.compiled import inversions, sparse_columns
from distkern.compiled.pairwise import pairwise_tile
from distkern.compiled.significance import Alternative, Method, null_variance, p_values, tau_from_counts, variance_tile
from distkern.core.typing import Array, Floats, Indices
from distkern.pairs.ranked import Block

Pairs = tuple[Indices, Indices]
"""Positions of the first and of the second column of each pair, in their blocks."""


class PValueRule(NamedTuple):
    """How p-values are computed: the alternative hypothesis, and the method."""

    alternative: Alternative
    method: Method


class Tally(NamedTuple):
    """What is counted for each pair of columns, as a tile (a, b) or a list (pairs,).

    Parameters
    ----------
    S
        n_c − n_d, summed over the strata.
    untied_a, untied_b
        Pairs of samples of one stratum that the first and the second column do not tie; (a, 1) and (1, b) for a tile
        of complete columns.
    variance
        Variance of S where the columns are independent in each stratum, summed over the strata.
    sizes
        Number of samples, if there is one stratum.
    no_ties
        Whether neither column has ties, if there is one stratum.
    strata
        Number of strata.
    """

    S: Array
    untied_a: Array
    untied_b: Array
    variance: Floats
    sizes: Array
    no_ties: Array
    strata: int = 1


def tally(A: Sequence[Block], B: Sequence[Block], pairs: Pairs | None = None, *, symmetric: bool = False) -> Tally:
    """Count pairs of columns: those in a list, or all of them.

    Parameters
    ----------
    A, B
        Columns of each stratum.
    pairs
        The pairs; by default all, as a tile.
    symmetric
        Whether A and B are the same columns, and the tile is symmetric.
    """
    total: Tally | None = None
    for a, b in zip(A, B, strict=True):
        one = _tile(a, b, symmetric) if pairs is None else _listed(a, b, pairs)
        if len(A) > 1:
            one.variance[_constant(one)] = 0.0  # rounding would leave something where a stratum tells nothing
        if total is None:
            total = one
        else:
            S, untied_a, untied_b, variance = (mine + other for mine, other in zip(total[:4], one[:4], strict=True))
            total = Tally(S, untied_a, untied_b, variance, total.sizes, total.no_ties, total.strata + 1)
    assert total is not None
    return total


def tau_of(counted: Tally) -> Floats:
    """tau-b = S / sqrt(Σ t_x · Σ t_y), the sums over the strata; NaN if a column is constant in each stratum."""
    return tau_from_counts(counted.S, counted.untied_a, counted.untied_b)


def p_of(counted: Tally, rule: PValueRule) -> Floats:
    """P-values of S; those of several strata by its normal approximation.

    NaN where a column is constant, and where no stratum has two columns that are not.
    """
    method: Method = rule.method if counted.strata == 1 else "asymptotic"
    no_ties = np.broadcast_to(counted.no_ties, counted.S.shape)
    p = p_values(counted.S, counted.sizes, no_ties, counted.variance, alternative=rule.alternative, method=method)
    p[_constant(counted)] = np.nan
    return p


def inexact(counted: Tally) -> Array:
    """Whether a pair has ties, for which permutations cannot be counted; a constant column has no p-value anyway."""
    return ~(counted.no_ties | _constant(counted))


def _constant(counted: Tally) -> Array:
    return np.broadcast_to((counted.untied_a == 0) | (counted.untied_b == 0), counted.S.shape)


# One stratum ----------------------------------------------------------------------------------------------------------


def _tile(a: Block, b: Block, symmetric: bool) -> Tally:
    if a.form == "gaps":
        return _observed(a.arrays, b.arrays, symmetric)
    if a.form == "sparse":
        S = _sparse_tile(a, b, symmetric)
    else:
        S, _ = counting.concordance(a.arrays, b.arrays, symmetric)
    variance = np.empty(S.shape)
    of_a, of_b = (np.ascontiguousarray(block.arrays["sums"].T) for block in (a, b))
    variance_tile(a.n, of_a[0], of_a[1], of_a[2], of_b[0], of_b[1], of_b[2], variance)
    return _complete(S, a, b, slice(None), slice(None), variance)


def _listed(a: Block, b: Block, pairs: Pairs) -> Tally:
    first, second = pairs
    if a.form == "gaps":
        return _rows_of_observed(a, b, pairs)
    if a.form == "sparse":
        S = sparse_columns.concordance(_columns(a), _columns(b), a.n, first, second)
    else:
        S = _listed_dense(a, b, pairs)
    of_a, of_b = a.arrays["sums"][first].T, b.arrays["sums"][second].T
    variance = null_variance(np.float64(a.n), of_a[0], of_b[0], of_a[1], of_b[1], of_a[2], of_b[2])
    return _complete(S, a, b, first, second, variance)


def _complete(S: Array, a: Block, b: Block, rows: Any, cols: Any, variance: Floats) -> Tally:
    untied_a, untied_b = a.arrays["untied"][rows], b.arrays["untied"][cols]
    if S.ndim == 2:
        untied_a, untied_b = untied_a[:, None], untied_b[None, :]
    every = a.n * (a.n - 1) // 2
    no_ties = (untied_a == every) & (untied_b == every)
    return Tally(S, untied_a, untied_b, variance, np.array(a.n), no_ties)


def _columns(block: Block) -> sparse_columns.Columns:
    return sparse_columns.Columns(*(block.arrays[name] for name in sparse_columns.Columns._fields))


def _sparse_tile(a: Block, b: Block, symmetric: bool) -> Array:
    shape = len(a), len(b)
    first, second = np.triu_indices(len(a)) if symmetric else (part.ravel() for part in np.indices(shape))
    S = np.empty(shape, dtype=np.int64)
    S[first, second] = sparse_columns.concordance(_columns(a), _columns(b), a.n, first, second)
    if symmetric:
        counting.mirror(S)
    return S


def _listed_dense(a: Block, b: Block, pairs: Pairs) -> Array:
    """S of pairs of complete columns: all pairs of the blocks where that is faster, else row by row, by merging."""
    first, second = pairs
    n = a.n
    if len(first) * counting.MERGED * n >= len(a) * len(b) * nanoseconds_of_dense(n):
        return counting.concordance(a.arrays, b.arrays, False)[0][first, second]
    S = np.empty(len(first), dtype=np.int64)
    names = ("order", "codes", "tied", "untied")
    for row, chosen in _by_row(first):
        one = tuple(a.arrays[name][row : row + 1] for name in names)
        S[chosen] = inversions.concordance(one, tuple(b.arrays[name][second[chosen]] for name in names), False)[0][0]
    return S


def _by_row(first: Indices) -> list[tuple[int, Indices]]:
    """Pairs of each first column."""
    order = np.argsort(first, kind="stable")
    rows, starts = np.unique(first[order], return_index=True)
    return list(zip(rows.tolist(), np.split(order, starts[1:]), strict=True))


def _observed(A: dict[str, Array], B: dict[str, Array], symmetric: bool) -> Tally:
    """Count all pairs of columns with missing values, each on the samples that observe both."""
    shape = len(A["codes"]), len(B["codes"])
    S, untied_a, untied_b, sizes = np.empty((4, *shape), dtype=np.int64)
    variance = np.empty(shape)
    pairwise_tile(A["order"], A["observed"], A["codes"], B["codes"], symmetric, S, untied_a, untied_b, sizes, variance)
    pairs = sizes * (sizes - 1) // 2
    return Tally(S, untied_a, untied_b, variance, sizes, (untied_a == pairs) & (untied_b == pairs))


def _rows_of_observed(a: Block, b: Block, pairs: Pairs) -> Tally:
    first, second = pairs
    S, untied_a, untied_b, sizes = np.empty((4, len(first)), dtype=np.int64)
    variance, no_ties = np.empty(len(first)), np.empty(len(first), dtype=bool)
    for row, chosen in _by_row(first):
        one = {name: array[row : row + 1] for name, array in a.arrays.items()}
        found = _observed(one, {"codes": b.arrays["codes"][second[chosen]]}, False)
        for whole, part in zip((S, untied_a, untied_b, variance, sizes, no_ties), found[:6], strict=True):
            whole[chosen] = part[0]
    return Tally(S, untied_a, untied_b, variance, sizes, no_ties)


# Cost -----------------------------------------------------------------------------------------------------------------


def nanoseconds_of_dense(n: int) -> float:
    """Nanoseconds of a pair of complete columns of n samples in a tile, about.

    Examples
    --------
    >>> nanoseconds_of_dense(100) < nanoseconds_of_dense(1000) < nanoseconds_of_dense(100_000)
    True
    """
    if n > 2**16 - 1:
        return counting.MERGED * n
    return min(counting.BIT * n * (n - 1), counting.TIED_ITEM * max(n, 2048))
