"""Naive twins of the scores of pairs: double loops over pairs, fractions, and sorting. NaN is not observed."""

from fractions import Fraction
from itertools import combinations


def mid_rank(x, j):
    """Mid-rank of feature j among the observed features of a sample, from 0."""
    below = sum(1 for value in x if value < x[j])
    tied = sum(1 for value in x if value == x[j])
    return Fraction(2 * below + tied - 1, 2)


def counts(samples, i, j):
    """L, G and n of a pair."""
    less = sum(1 for x in samples if x[i] < x[j])
    greater = sum(1 for x in samples if x[i] > x[j])
    return less, greater, sum(1 for x in samples if x[i] == x[i] and x[j] == x[j])


def score(ones, zeros, i, j, min_observed=0):
    """s of a pair: half the difference of (L − G)/n; None if too few samples observe it."""
    parts = []
    for samples in (ones, zeros):
        less, greater, n = counts(samples, i, j)
        if n == 0 or n < min_observed * len(samples):
            return None
        parts.append(Fraction(less - greater, n))
    return (parts[0] - parts[1]) / 2


def mean_rank(samples, j):
    """Mean of the mid-ranks of a feature over the samples that observe it; None if none does."""
    ranks = [mid_rank(x, j) for x in samples if x[j] == x[j]]
    return sum(ranks) / Fraction(len(ranks)) if ranks else None


def rank_difference(ones, zeros, j):
    """D_j = mean_1(R_j) − mean_0(R_j); 0 where a class does not observe it."""
    one, zero = mean_rank(ones, j), mean_rank(zeros, j)
    return Fraction(0) if one is None or zero is None else one - zero


def aggregated(groups, i, j, aggregate="mean", min_observed=0):
    """s over groups, each a list of comparisons (samples of class 1, samples of class 0); None if no group has both."""
    for side in (0, 1):
        everyone = {id(x): x for group in groups for comparison in group for x in comparison[side]}.values()
        if counts(everyone, i, j)[2] < min_observed * len(everyone):
            return None
    found = []
    for group in groups:
        scores = [s for ones, zeros in group if (s := score(ones, zeros, i, j)) is not None]
        if scores:
            found.append(sum(scores) / len(scores))
    if not found:
        return None
    if aggregate == "mean":
        return sum(found) / len(found)
    same = all(s > 0 for s in found) or all(s < 0 for s in found)
    return min(found, key=abs) if same else Fraction(0)


def gamma(groups, i, j):
    """Secondary score: abs(D_i − D_j), D the mean over the groups, and over the comparisons of a group."""

    def difference(feature):
        found = []
        for group in groups:
            parts = [
                one - zero
                for ones, zeros in group
                if (one := mean_rank(ones, feature)) is not None and (zero := mean_rank(zeros, feature)) is not None
            ]
            if parts:
                found.append(sum(parts) / len(parts))
        return sum(found) / len(found) if found else Fraction(0)

    return abs(difference(i) - difference(j))


def ordered_pairs(groups, p, *, aggregate="mean", min_observed=0, allowed=None, features=None):
    """All pairs in the total order, without those of score 0: (score, secondary, first, second), oriented."""
    rows = []
    for i, j in combinations(range(p) if features is None else features, 2):
        if allowed is not None and not allowed(i, j):
            continue
        s = aggregated(groups, i, j, aggregate, min_observed)
        if s:
            rows.append((-abs(s), -gamma(groups, i, j), i, j, s > 0))
    return [(-s, -g, *((i, j) if up else (j, i))) for s, g, i, j, up in sorted(rows)]


def greedy(ordered):
    """Go down the total order, skip pairs with a used feature."""
    used, kept = set(), []
    for row in ordered:
        if not used & {row[2], row[3]}:
            used |= {row[2], row[3]}
            kept.append(row)
    return kept
