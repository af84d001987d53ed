"""The pairs of features of Jiao & Vert, scored and voting as in their public script.

The script (github.com/YunlongJiao/kendallkernel, geneexpr/) has conventions of its own, which decide what happens to
ties. Class 1 is the first level of the factor in R.

- For features i > j it counts only the samples with x_i < x_j, m₁ of the n₁ of class 1 and m₂ of the n₂ of class 2. The
  score of the pair is |m₁/n₁ − m₂/n₂|. Pairs of equal score are ordered by |mean₁(R_i − R_j) − mean₂(R_i − R_j)|, with
  mid-ranks R within a sample, then as they come: i ascending, j ascending.
- If m₁/n₁ > m₂/n₂, then x_i < x_j is a vote for class 1, otherwise x_j < x_i is. Everything else, ties included, is a
  vote for class 2. Pairs of score 0 vote too.
- Class 1 is predicted if it has more votes than class 2.
- All pairs vote as pairs i < j. If their number is even, the last one is left out.

Use `distkern.KTopScoringPairs` and `distkern.AllPairsMajorityVote` for everything else: there a tie counts half, and a
pair without information does not vote.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats, Indices

MOST_PAIRS = 5_000
"""Upper end of the grid of k."""

GRID_STEPS = 30
"""Number of k, before rounding."""

EQUAL = 1e-16
"""Scores that differ by less are equal in the script."""


def pair_numbers() -> tuple[int, ...]:
    """Return the numbers of pairs k from which inner folds choose: odd, from 1 to 4,999, equidistant as logarithms.

    Examples
    --------
    >>> pair_numbers()[:10], pair_numbers()[-1]
    ((1, 3, 5, 7, 9, 13, 17, 25, 33, 45), 4999)
    """
    numbers = np.floor(np.exp(np.linspace(0, 1, GRID_STEPS) * np.log(MOST_PAIRS)) + 1e-9).astype(int)
    return tuple(np.unique(numbers - (numbers % 2 == 0)).tolist())


class RankedPairs(NamedTuple):
    """The best pairs of a training set, best first; x_first < x_second is a vote for class 1.

    Parameters
    ----------
    first, second
        Features, (k,) each.
    score, secondary
        Both scores, (k,) each.
    """

    first: Indices
    second: Indices
    score: Floats
    secondary: Floats

    def votes(self, X: Array) -> Array:
        """Whether each pair votes for class 1, (samples, k)."""
        return X[:, self.first] < X[:, self.second]

    def class_one(self, X: Array) -> Array:
        """Whether the best k pairs predict class 1, (samples, k), column k − 1 for the best k pairs."""
        votes = self.votes(X)
        return 2 * votes.cumsum(axis=1) > np.arange(1, votes.shape[1] + 1)


def dense_ranks(X: Array) -> Array:
    """Return the ranks of the features within each sample, 0, 1, …, equal for equal values; int16 (m, p) if p allows.

    Examples
    --------
    >>> dense_ranks(np.array([[3.5, -1.0, 3.5]]))
    array([[1, 0, 1]], dtype=int16)
    """
    ranks = rankdata(X, method="dense", axis=1) - 1
    return np.ascontiguousarray(ranks, dtype=np.int16 if X.shape[1] <= 2**15 else np.int32)


def ranked_pairs(ranks: Array, mid_ranks: Floats, first_class: Array, kept: int | None = None) -> RankedPairs:
    """Return the best pairs of a training set.

    Parameters
    ----------
    ranks, mid_ranks
        Of the training samples, (m, p): from `dense_ranks`, and the mid-ranks 1, …, p.
    first_class
        Which samples are of class 1, (m,).
    kept
        Number of pairs; by default the largest of `pair_numbers`.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]])
    >>> best = ranked_pairs(dense_ranks(X), X, np.array([True, True, False, False]), kept=2)
    >>> best.first, best.second, best.score
    (array([0, 0]), array([2, 1]), array([1. , 0.5]))
    """
    ones, twos = np.ascontiguousarray(ranks[first_class]), np.ascontiguousarray(ranks[~first_class])
    sums = np.array([mid_ranks[first_class].sum(axis=0), mid_ranks[~first_class].sum(axis=0)])
    shares = np.arange(len(ones) + 1)[:, None] / len(ones) - np.arange(len(twos) + 1) / len(twos)
    kept = pair_numbers()[-1] if kept is None else kept
    return RankedPairs(*_best(ones, twos, sums, shares, _merged(np.abs(shares)), kept))


def _merged(scores: Floats) -> Floats:
    """Make scores equal that the script considers equal."""
    values = np.unique(scores)
    starts = np.concatenate([[True], np.diff(values) >= EQUAL])
    return values[starts][np.cumsum(starts) - 1][np.searchsorted(values, scores)]


@compiled
def _count_less(ranks: Array, i: int, start: int, counts: Array) -> None:
    """Count the samples with x_i < x_j for each j from start on; one count for each."""
    counts[:] = 0
    for s in range(len(ranks)):
        row, value = ranks[s, start : start + len(counts)], ranks[s, i]
        for j in range(len(counts)):
            counts[j] += value < row[j]


def _best(
    ones: Array, twos: Array, sums: Floats, shares: Floats, scores: Floats, kept: int
) -> tuple[Indices, Indices, Floats, Floats]:
    """Return the features of the best pairs in their order, and both scores."""
    pairs, values = np.empty((2, 2 * kept), np.int64), np.empty((2, 2 * kept))
    i, j, size, least = 1, 0, 0, -1.0
    while i < ones.shape[1]:
        size, i, j = _collect(ones, twos, sums, shares, scores, least, pairs, values, size, i, j)
        best = np.lexsort((-values[1, :size], -values[0, :size]))[:kept]  # stable: equal ones as they came
        size = len(best)
        pairs[:, :size], values[:, :size] = pairs[:, best], values[:, best]
        least = values[0, kept - 1] if size == kept else -1.0
    return pairs[0, :size].copy(), pairs[1, :size].copy(), values[0, :size].copy(), values[1, :size].copy()


@compiled
def _collect(
    ones: Array,
    twos: Array,
    sums: Floats,
    shares: Floats,
    scores: Floats,
    least: float,
    pairs: Indices,
    values: Floats,
    size: int,
    i: int,
    j: int,
) -> tuple[int, int, int]:
    """Add pairs with a score of at least ``least``, from pair (i, j) on, until the arrays are full; return the next."""
    p, n1, n2 = ones.shape[1], len(ones), len(twos)
    counts = np.zeros((2, p), np.int16)
    while i < p:
        in_one, in_two = counts[0, :i], counts[1, :i]
        _count_less(ones, i, 0, in_one)
        _count_less(twos, i, 0, in_two)
        while j < i:
            score = scores[in_one[j], in_two[j]]
            if score >= least:
                if size == pairs.shape[1]:
                    return size, i, j
                upwards = shares[in_one[j], in_two[j]] > 0
                pairs[0, size], pairs[1, size] = (i, j) if upwards else (j, i)
                values[0, size] = score
                values[1, size] = abs((sums[0, i] - sums[0, j]) / n1 - (sums[1, i] - sums[1, j]) / n2)
                size += 1
            j += 1
        i, j = i + 1, 0
    return size, i, j


# All pairs -----------------------------------------------------------------------------------------------------------


class AllVotes(NamedTuple):
    """The votes of all pairs for class 1, of each test sample.

    Parameters
    ----------
    informed, uninformed
        Votes for class 1 of the pairs with a score above 0, and of those with score 0, (samples,) each.
    informed_pairs, uninformed_pairs
        Numbers of both kinds of pairs.
    """

    informed: Indices
    uninformed: Indices
    informed_pairs: int
    uninformed_pairs: int

    def class_one(self, abstaining: bool = False) -> Array:
        """Whether class 1 is predicted; by the pairs of both kinds, or only by those with a score above 0."""
        votes = self.informed if abstaining else self.informed + self.uninformed
        return 2 * votes > self.informed_pairs + (0 if abstaining else self.uninformed_pairs)


def all_votes(ranks: Array, first_class: Array, test: Array) -> AllVotes:
    """Let all pairs vote on test samples.

    Parameters
    ----------
    ranks, first_class
        Ranks of the training samples (m, p), and which of them are of class 1 (m,).
    test
        Ranks of the test samples, (samples, p).

    Examples
    --------
    Four of five pairs that vote have a score above 0; the last of six is left out:

    >>> X = dense_ranks(np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 2.0, 3.0]]))
    >>> all_votes(X, np.array([True, False]), X).class_one()
    array([ True, False])
    """
    ones, twos = np.ascontiguousarray(ranks[first_class]), np.ascontiguousarray(ranks[~first_class])
    return AllVotes(*_all_votes(ones, twos, np.ascontiguousarray(test)))


@compiled
def _all_votes(ones: Array, twos: Array, test: Array) -> tuple[Indices, Indices, int, int]:
    p, n1, n2 = ones.shape[1], len(ones), len(twos)
    votes, pairs = np.zeros((2, len(test)), np.int64), np.zeros(2, np.int64)
    places = np.zeros((3, p), np.int16)
    even = p * (p - 1) // 2 % 2 == 0
    for i in range(p - 1):
        length = p - 1 - i - (1 if even and i == p - 2 else 0)
        in_one, in_two, lead = places[0, :length], places[1, :length], places[2, :length]
        _count_less(ones, i, i + 1, in_one)
        _count_less(twos, i, i + 1, in_two)
        for j in range(length):
            lead[j] = np.sign(np.int32(in_one[j]) * n2 - np.int32(in_two[j]) * n1)
            pairs[1] += lead[j] == 0
        pairs[0] += length
        for t in range(len(test)):
            informed, uninformed = _votes(test[t, i + 1 : i + 1 + length], test[t, i], lead)
            votes[0, t] += informed
            votes[1, t] += uninformed
    return votes[0], votes[1], pairs[0] - pairs[1], pairs[1]


@compiled
def _votes(row: Array, value: int, lead: Array) -> tuple[np.int32, np.int32]:
    """Count the votes for class 1 of the pairs of one feature with those in a row; with lead ≠ 0, and with lead 0."""
    informed = uninformed = np.int32(0)
    for j in range(len(lead)):
        less, greater = np.int16(value < row[j]), np.int16(row[j] < value)
        informed += np.int32((less & (lead[j] > 0)) | (greater & (lead[j] < 0)))
        uninformed += np.int32(greater & (lead[j] == 0))
    return informed, uninformed
