"""Sums of mid-ranks over groups of samples, or over sets of features, of sparse values: only non-zeros cost.

Kendall's numerator against a variable with values 0 and 1 is a sum of ranks. A column has n values with mid-ranks r;
n₁ of them belong to the group, its members. U is the number of pairs of a member and another sample in which the
member is larger; ties count half. Then

    S = 2 Σ_{members} r − n₁ (n + 1) = 2U − n₁ n₀.

All zeros of a column form one tie group with the mid-rank r₀. The sum over a group is n₁ r₀ + Σ (r − r₀), where the sum
passes over the non-zeros of the group only: with z zeros and g negative values, a tie group of non-zeros at positions a
to b − 1 of their ascending order has 2 (r − r₀) = a + b − 2g − z if it is negative, and a + b − 2g + z if it is
positive. Ranks are doubled, so that all sums are exact 64-bit integers, whatever the blocks of columns.

Source: Mann and Whitney, *On a test of whether one of two random variables is stochastically larger than the other*
(1947), with mid-ranks and the variance corrected for ties, as in ``scipy.stats.mannwhitneyu``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats


class GroupCounts(NamedTuple):
    """The comparisons of groups in each column: sums over the strata of the samples.

    Parameters
    ----------
    twice_U
        2U, (columns, groups) or (columns, groups, opponents), int64.
    variance
        Variance of U over all orderings of the samples within each stratum, of the same shape.
    untied
        Number of pairs of samples of one stratum that the column does not tie, of the samples that are compared:
        (columns,) for the rest as opponent, else of the same shape.
    sums
        Sum of the values of each group, (columns, groups).
    """

    twice_U: Array
    variance: Floats
    untied: Array
    sums: Floats


class Cells(NamedTuple):
    """The group and the stratum of each sample.

    Parameters
    ----------
    groups, strata
        Number of the group and of the stratum of each sample, (m,), int64.
    sizes
        Number of samples of each group in each stratum, (strata, groups), int64.
    """

    groups: Array
    strata: Array
    sizes: Array

    @classmethod
    def of(cls, groups: Array, strata: Array | None = None) -> Cells:
        """Count the samples of each group and stratum.

        Examples
        --------
        >>> Cells.of(np.array([0, 1, 1]), np.array([0, 0, 1])).sizes.tolist()
        [[1, 1], [0, 1]]
        """
        groups = np.asarray(groups, dtype=np.int64)
        strata = np.zeros_like(groups) if strata is None else np.asarray(strata, dtype=np.int64)
        sizes = np.zeros((int(strata.max()) + 1, int(groups.max()) + 1), dtype=np.int64)
        np.add.at(sizes, (strata, groups), 1)
        return cls(groups, strata, sizes)


def against_rest(values: Floats, samples: Array, starts: Array, cells: Cells) -> GroupCounts:
    """Compare each group with all other samples of its stratum, in each sparse column.

    Parameters
    ----------
    values, samples
        Non-zeros of the columns, and the sample of each; without NaN.
    starts
        Position of the first non-zero of each column, and of the end, (columns + 1,).
    cells
        Group and stratum of each sample.

    Examples
    --------
    >>> values, samples = np.array([1.0, 2.0]), np.array([1, 2])  # the column 0, 1, 2
    >>> found = against_rest(values, samples, np.array([0, 2]), Cells.of(np.array([0, 0, 1])))
    >>> found.twice_U.tolist(), found.untied.tolist(), found.sums.tolist()
    ([[0, 4]], [3], [[1.0, 2.0]])
    """
    columns, groups = len(starts) - 1, cells.sizes.shape[1]
    twice_U, variance = np.zeros((columns, groups), np.int64), np.zeros((columns, groups))
    untied, sums = np.zeros(columns, np.int64), np.zeros((columns, groups))
    _against_rest(values, samples, starts, *cells, twice_U, variance, untied, sums)
    return GroupCounts(twice_U, variance, untied, sums)


def against_groups(values: Floats, samples: Array, starts: Array, cells: Cells, opponents: Array) -> GroupCounts:
    """Compare each group with each of some groups, in each sparse column; see `against_rest`.

    Parameters
    ----------
    opponents
        Numbers of the groups that each group is compared with. The comparison of a group with itself has no meaning.

    Examples
    --------
    >>> values, samples = np.array([1.0, 2.0]), np.array([1, 2])  # the column 0, 1, 2
    >>> cells = Cells.of(np.array([0, 1, 1]))
    >>> against_groups(values, samples, np.array([0, 2]), cells, np.array([0])).twice_U[0, 1].tolist()
    [4]
    """
    columns, groups = len(starts) - 1, cells.sizes.shape[1]
    shape = columns, groups, len(opponents)
    twice_U, variance, untied = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, np.int64)
    sums = np.zeros((columns, groups))
    _against_groups(values, samples, starts, *cells, np.asarray(opponents, np.int64), twice_U, variance, untied, sums)
    return GroupCounts(twice_U, variance, untied, sums)


# Columns -----------------------------------------------------------------------------------------------------------


@compiled
def _longest(starts):  # type: ignore[no-untyped-def]
    longest = np.int64(0)
    for column in range(len(starts) - 1):
        longest = max(longest, starts[column + 1] - starts[column])
    return longest


@compiled
def _by_stratum(values, samples, groups, strata, own_values, own_groups, ends):  # type: ignore[no-untyped-def]
    """Copy the non-zeros of a column, and the group of each, stratum by stratum; fill where each stratum ends."""
    ends[:] = 0
    for k in range(len(values)):
        ends[strata[samples[k]]] += 1
    total = np.int64(0)
    for stratum in range(len(ends)):
        count = ends[stratum]
        ends[stratum] = total
        total += count
    for k in range(len(values)):
        place = ends[strata[samples[k]]]
        own_values[place], own_groups[place] = values[k], groups[samples[k]]
        ends[strata[samples[k]]] += 1


@compiled
def _add_values(values, samples, groups, sums):  # type: ignore[no-untyped-def]
    for k in range(len(values)):
        sums[groups[samples[k]]] += values[k]


@compiled
def _count_negative(values):  # type: ignore[no-untyped-def]
    negative = np.int64(0)
    for value in values:
        negative += np.int64(value < 0)
    return negative


@compiled
def _cubic(count):  # type: ignore[no-untyped-def]
    """t³ − t, in floating point: it overflows 64-bit integers from two million tied samples on."""
    t = np.float64(count)
    return (t * t * t) - t


@compiled
def _variance(n1, n0, cubics):  # type: ignore[no-untyped-def]
    """Variance of U with the sum of t³ − t over the tie groups of n₁ + n₀ samples."""
    n = n1 + n0
    return np.float64(n1) * n0 / 12.0 * ((n + 1.0) - cubics / (np.float64(n) * (n - 1.0)))


@compiled
def _against_rest(  # type: ignore[no-untyped-def]
    values, samples, starts, groups, strata, sizes, twice_U, variance, untied, sums
):
    longest, count = _longest(starts), sizes.shape[1]
    own_values, own_groups = np.empty(longest), np.empty(longest, np.int64)
    ends, scores, scratch = np.empty(len(sizes), np.int64), np.empty(count, np.int64), order_scratch(longest)
    for column in range(len(starts) - 1):
        first, last = starts[column], starts[column + 1]
        _add_values(values[first:last], samples[first:last], groups, sums[column])
        _by_stratum(values[first:last], samples[first:last], groups, strata, own_values, own_groups, ends)
        begin = np.int64(0)
        for stratum in range(len(sizes)):
            n, end = np.int64(0), ends[stratum]
            for group in range(count):
                n += sizes[stratum, group]
            shift, cubics, tied = _rank_sums(own_values[begin:end], own_groups[begin:end], n, scratch, scores)
            begin = end
            here = n * (n - 1) // 2 - tied
            untied[column] += here
            for group in range(count):
                n1 = sizes[stratum, group]
                if n1 > 0 and n1 < n:
                    twice_U[column, group] += n1 * shift + scores[group] - n1 * (n1 + 1)
                    if here > 0:
                        variance[column, group] += _variance(n1, n - n1, cubics)


@compiled
def _rank_sums(values, groups, n, scratch, scores):  # type: ignore[no-untyped-def]
    """Fill Σ 2 (r − r₀) over the non-zeros of each group; return 2 r₀, Σ (t³ − t) and the number of tied pairs."""
    scores[:] = 0
    k = np.int64(len(values))
    zeros, negative, order = n - k, _count_negative(values), stable_order(values, scratch)
    cubics, tied = _cubic(zeros), zeros * (zeros - 1) // 2
    start = np.int64(0)
    while start < k:
        stop, value = start + 1, values[order[start]]
        while stop < k and values[order[stop]] == value:
            stop += 1
        score = start + stop - 2 * negative + (zeros if value > 0 else -zeros)
        for position in range(start, stop):
            scores[groups[order[position]]] += score
        if stop - start > 1:
            cubics += _cubic(stop - start)
            tied += (stop - start) * (stop - start - 1) // 2
        start = stop
    return 2 * negative + zeros + 1, cubics, tied


@compiled
def _against_groups(  # type: ignore[no-untyped-def]
    values, samples, starts, groups, strata, sizes, opponents, twice_U, variance, untied, sums
):
    longest, count = _longest(starts), sizes.shape[1]
    own_values, own_groups = np.empty(longest), np.empty(longest, np.int64)
    ends, scratch, here = np.empty(len(sizes), np.int64), order_scratch(longest), np.zeros((2, count), np.int64)
    present, zeros = np.empty(count, np.int64), np.empty(count, np.int64)
    cubics, tied = np.empty((count, len(opponents) + 1)), np.empty((count, len(opponents) + 1), np.int64)
    for column in range(len(starts) - 1):
        first, last = starts[column], starts[column + 1]
        _add_values(values[first:last], samples[first:last], groups, sums[column])
        _by_stratum(values[first:last], samples[first:last], groups, strata, own_values, own_groups, ends)
        begin = np.int64(0)
        for stratum in range(len(sizes)):
            end = ends[stratum]
            zeros[:] = sizes[stratum]
            for k in range(begin, end):
                zeros[own_groups[k]] -= 1
            _pair_sums(
                own_values[begin:end], own_groups[begin:end], zeros, opponents, scratch,
                present, here, twice_U[column], cubics, tied,
            )  # fmt: skip
            begin = end
            _add_pairs(sizes[stratum], opponents, cubics, tied, variance[column], untied[column])


@compiled
def _pair_sums(  # type: ignore[no-untyped-def]
    values, groups, zeros, opponents, scratch, present, here, twice_U, cubics, tied
):
    """Add 2U of each group and opponent, and fill what their ties are made of.

    The last column of ``cubics`` and of ``tied`` sums t³ − t and t (t − 1) / 2 over the tie groups within each group.
    The others sum what is added for samples of a group that are tied with samples of an opponent: (t + u)³ − (t + u) −
    (t³ − t) − (u³ − u) = 3 t u (t + u), and t u pairs.
    """
    below = here[1]
    below[:] = 0
    cubics[:] = 0.0
    tied[:] = 0
    k = np.int64(len(values))
    negative, order = _count_negative(values), stable_order(values, scratch)
    start = np.int64(0)
    if negative == 0:
        _add_zeros(zeros, opponents, present, here, twice_U, cubics, tied)
    while start < k:
        stop, value, found = start, values[order[start]], 0
        while stop < k and values[order[stop]] == value:
            group = groups[order[stop]]
            if here[0, group] == 0:
                present[found] = group
                found += 1
            here[0, group] += 1
            stop += 1
        _add_tie_group(present[:found], opponents, here, twice_U, cubics, tied)
        start = stop
        if start == negative:
            _add_zeros(zeros, opponents, present, here, twice_U, cubics, tied)


@compiled
def _add_zeros(zeros, opponents, present, here, twice_U, cubics, tied):  # type: ignore[no-untyped-def]
    found = 0
    for group in range(len(zeros)):
        if zeros[group] > 0:
            here[0, group] = zeros[group]
            present[found] = group
            found += 1
    _add_tie_group(present[:found], opponents, here, twice_U, cubics, tied)


@compiled
def _add_tie_group(present, opponents, here, twice_U, cubics, tied):  # type: ignore[no-untyped-def]
    """Compare the samples of one tie group with all samples below them, which it then joins."""
    for group in present:
        t = here[0, group]
        for place in range(len(opponents)):
            other = opponents[place]
            u = here[0, other]
            twice_U[group, place] += t * (2 * here[1, other] + u)
            if u > 0 and other != group:
                cubics[group, place] += 3.0 * t * u * (t + u)
                tied[group, place] += t * u
        cubics[group, -1] += _cubic(t)
        tied[group, -1] += t * (t - 1) // 2
    for group in present:
        here[1, group] += here[0, group]
        here[0, group] = 0


@compiled
def _add_pairs(sizes, opponents, cubics, tied, variance, untied):  # type: ignore[no-untyped-def]
    """Add the variance of U, and the untied pairs, of each group and opponent in one stratum."""
    for group in range(len(sizes)):
        for place in range(len(opponents)):
            other = opponents[place]
            n1, n0 = sizes[group], sizes[other]
            if group == other:
                continue
            both = tied[group, -1] + tied[other, -1] + tied[group, place]
            here = (n1 + n0) * (n1 + n0 - 1) // 2 - both
            untied[group, place] += here
            if here > 0 and n1 > 0 and n0 > 0:
                cubic = cubics[group, -1] + cubics[other, -1] + cubics[group, place]
                variance[group, place] += _variance(n1, n0, cubic)


# Rows --------------------------------------------------------------------------------------------------------------


def set_rank_sums(
    values: Floats, features: Array, starts: Array, n: int, first_set: Array, sets: Array, sizes: Array, most: int
) -> Array:
    """Twice the sum of the descending mid-ranks of the features of each set, in each sparse sample.

    A rank above ``most`` counts as ``most + 1``.

    Parameters
    ----------
    values, features, starts
        Non-zeros of the samples, the feature of each, and the positions of the samples (samples + 1,); without NaN.
    n
        Number of features.
    first_set, sets
        For each feature, the position in ``sets`` of the first set that it belongs to, and the end, (n + 1,).
    sizes
        Number of features of each set.
    most
        Largest rank that counts; n for all of them.

    Returns
    -------
    Array
        (samples, sets), int64.

    Examples
    --------
    >>> values, features, starts = np.array([3.0, 5.0]), np.array([0, 2]), np.array([0, 2])  # the sample 3, 0, 5, 0
    >>> set_rank_sums(values, features, starts, 4, np.array([0, 1, 2, 2, 2]), np.array([0, 0]), np.array([2]), 4)
    array([[11]])
    """
    sums = np.zeros((len(starts) - 1, len(sizes)), np.int64)
    _set_rank_sums(values, features, starts, np.int64(n), first_set, sets, sizes, np.int64(most), sums)
    return sums


@compiled
def _set_rank_sums(values, features, starts, n, first_set, sets, sizes, most, sums):  # type: ignore[no-untyped-def]
    scratch = order_scratch(_longest(starts))
    for sample in range(len(starts) - 1):
        first, k = starts[sample], np.int64(starts[sample + 1] - starts[sample])
        own = values[first : first + k]
        zeros, negative, order = n - k, _count_negative(own), stable_order(own, scratch)
        rank_of_zero = _capped(2 * (n - negative) - zeros + 1, most)
        start = np.int64(0)
        while start < k:
            stop, value = start + 1, own[order[start]]
            while stop < k and own[order[stop]] == value:
                stop += 1
            below = start + stop + (2 * zeros if value > 0 else np.int64(0))
            score = _capped(2 * n - below + 1, most) - rank_of_zero
            for position in range(start, stop):
                feature = features[first + order[position]]
                for member in range(first_set[feature], first_set[feature + 1]):
                    sums[sample, sets[member]] += score
            start = stop
        for number in range(len(sizes)):
            sums[sample, number] += sizes[number] * rank_of_zero


@compiled
def _capped(twice_rank, most):  # type: ignore[no-untyped-def]
    return twice_rank if twice_rank <= 2 * most else 2 * (most + 1)
