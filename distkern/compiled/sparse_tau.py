"""Kendall's numerator of sparse columns with variables that have a value for every sample: a sum of ranks, and more.

Let s be the sign of a value of the column x, and ρ = 2r − m − 1 the number of values of the variable y below that of a
sample minus the number above it, with r its mid-rank among m samples. With the concordance S of x and y among the
positive values of x (+), among the negative ones (−), and among both (±),

    S = Σ s ρ + 2 (S₊ + S₋) − S±

where all sums pass over the non-zeros of x only. Σ s ρ counts the pairs of a non-zero and any sample by the sign of the
non-zero alone: this is right for its pairs with zeros; pairs of two non-zeros of one sign cancel, so that S₊ and S₋ are
added; and a pair of different signs is counted twice, while S± − S₊ − S₋ counts it once. For a column with values 0 and
1 all of S₊ is tied: S is a sum of ranks. Other columns cost O(k log k) for k non-zeros, by counting inversions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distkern.compiled.inversions import count_inversions
from distkern.compiled.radix import order_scratch, stable_order
from distkern.compiled.significance import null_variance
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats


class Variables(NamedTuple):
    """Variables with a value for each of m samples.

    Parameters
    ----------
    scores
        ρ of each sample, (variables, m), int64.
    codes
        Dense rank of each sample, (variables, m), uint32.
    tied, third, fifth
        Sums over the tie groups of each variable, from `distkern.compiled.significance.tie_sums`, (variables,).
    """

    scores: Array
    codes: Array
    tied: Floats
    third: Floats
    fifth: Floats


class PairCounts(NamedTuple):
    """The concordance of pairs of a column and a variable.

    Parameters
    ----------
    concordance
        S = n_c − n_d, (pairs,), int64.
    variance
        Its variance over all orderings, (pairs,).
    untied
        Number of pairs of samples that the column of the pair does not tie, (pairs,), int64.
    """

    concordance: Array
    variance: Floats
    untied: Array


def sparse_concordance(
    values: Floats, samples: Array, starts: Array, first_pair: Array, chosen: Array, variables: Variables
) -> PairCounts:
    """S of sparse columns with variables, exact with any ties.

    Parameters
    ----------
    values, samples, starts
        Non-zeros of the columns, the sample of each, and the positions of the columns, (columns + 1,); without NaN.
    first_pair, chosen
        For each column, the position in ``chosen`` of the first variable that it is compared with, and the end,
        (columns + 1,).

    Examples
    --------
    >>> y = Variables(np.array([[-2, 0, 2]]), np.array([[0, 1, 2]], np.uint32), *np.zeros((3, 1)))  # 1, 2, 3
    >>> values, samples, starts = np.array([1.0]), np.array([2], np.int32), np.array([0, 1])  # 0, 0, 1
    >>> sparse_concordance(values, samples, starts, np.array([0, 1]), np.array([0]), y).concordance
    array([2])
    """
    pairs = len(chosen)
    found = PairCounts(np.empty(pairs, np.int64), np.empty(pairs), np.empty(pairs, np.int64))
    _concordance(values, samples, starts, first_pair, chosen, *variables, *found)
    return found


@compiled
def _concordance(  # type: ignore[no-untyped-def]
    values, samples, starts, first_pair, chosen, scores, codes, tied_y, third_y, fifth_y, concordance, variance, untied
):
    m, longest = scores.shape[1], np.int64(0)
    for column in range(len(starts) - 1):
        longest = max(longest, starts[column + 1] - starts[column])
    scratch, ordered, tied = order_scratch(longest), np.empty(longest, np.int64), np.empty(longest, np.bool_)
    ranks, buffer = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    for column in range(len(starts) - 1):
        first, k = starts[column], starts[column + 1] - starts[column]
        own = values[first : first + k]
        order = stable_order(own, scratch)
        negative = np.int64(0)
        for place in range(k):
            ordered[place] = samples[first + order[place]]
            tied[place] = place > 0 and own[order[place]] == own[order[place - 1]]
            negative += np.int64(own[order[place]] < 0)
        pairs, third, fifth = _tie_sums(tied[:k], m)
        for pair in range(first_pair[column], first_pair[column + 1]):
            y = chosen[pair]
            S = np.int64(0)
            for place in range(k):
                score = scores[y, ordered[place]]
                S += -score if place < negative else score
            below = _within(ordered[:negative], tied[:negative], codes[y], ranks, buffer)
            above = _within(ordered[negative:k], tied[negative:k], codes[y], ranks, buffer)
            both = below + above
            if 0 < negative < k:
                both = _within(ordered[:k], tied[:k], codes[y], ranks, buffer)
            concordance[pair] = S + 2 * (below + above) - both
            variance[pair] = null_variance(np.float64(m), pairs, tied_y[y], third, third_y[y], fifth, fifth_y[y])
            untied[pair] = np.int64(m) * (m - 1) // 2 - np.int64(pairs)


@compiled
def _tie_sums(tied, m):  # type: ignore[no-untyped-def]
    """Σt(t−1)/2, Σt(t−1)(t−2) and Σt(t−1)(2t+5) over the tie groups of a column, whose zeros are one of them."""
    pairs = third = fifth = 0.0
    start, k, t = 0, len(tied), np.float64(m - len(tied))
    while True:
        pairs += t * (t - 1.0) / 2.0
        third += t * (t - 1.0) * (t - 2.0)
        fifth += t * (t - 1.0) * (2.0 * t + 5.0)
        if start == k:
            return pairs, third, fifth
        stop = start + 1
        while stop < k and tied[stop]:
            stop += 1
        start, t = stop, np.float64(stop - start)


@compiled
def _within(samples, tied, codes, ranks, buffer):  # type: ignore[no-untyped-def]
    """S of some samples in ascending order of x, where ``tied`` says which has the x of the one before it."""
    k = np.int64(len(samples))
    pairs = k * (k - 1) // 2
    for place in range(k):
        ranks[place] = codes[samples[place]]
    tied_x, both, start = np.int64(0), np.int64(0), np.int64(0)
    while start < k:
        stop = start + 1
        while stop < k and tied[stop]:
            stop += 1
        tied_x += (stop - start) * (stop - start - 1) // 2
        if tied_x == pairs:  # all are tied: there is one group
            return np.int64(0)
        if stop - start > 1:
            count_inversions(ranks[start:stop], buffer[start:stop])
            both += _equal_pairs(ranks[start:stop])
        start = stop
    discordant = count_inversions(ranks[:k], buffer[:k])
    return pairs - tied_x - _equal_pairs(ranks[:k]) + both - 2 * discordant


@compiled
def _equal_pairs(ranks):  # type: ignore[no-untyped-def]
    """Number of pairs of equal values in ascending order."""
    count, run = np.int64(0), np.int64(0)
    for place in range(1, len(ranks)):
        run = run + 1 if ranks[place] == ranks[place - 1] else np.int64(0)
        count += run
    return count
