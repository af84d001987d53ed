"""Concordance of sparse samples: O(k + q) vector operations a pair, exact with any ties.

k is the number of nonzeros of one sample, and q the number of items that are nonzero in both. All zeros of a sample
form one tie group, between its negative and its positive values. A sample is stored as the *places* of its nonzeros
(feature numbers by ascending value) and their *scores*. The score of a nonzero is the number of nonzeros below it minus
the number above it, minus the same difference for a zero. Scores have the order, the ties and the signs of the values.
For each sample y, a bit for each of the n items tells whether it is nonzero, and an array its position in the order of
y. A walk along the places of each x then finds the common items, in the order of x; it reads bits, which stay in the
first cache.

**Few distinct values** (counts): the contingency table of the levels of x and y determines the result. The common items
fill it, except the row of the zeros of x and the column of the zeros of y, which follow from the sizes of the levels.

**Many distinct values**: let A and B be the nonzeros of x and y, C = A ∩ B, s and r the sign and the score of an item,
P = Σ s over all nonzeros of a sample, e the number of items that are zero in both, M = Σ sgn(y_j − y_i) over i in C
with x_i < 0 and j in C with x_j > 0, S_C the concordance within C, and ρ_x the number of smaller minus the number of
larger values of x within C. Then

    S = S_C + Σ_C (s_y r_x + s_x r_y) − Σ_C s_y ρ_x − 2M + e Σ_C s_x s_y − P_x P_y − Σ_C s_x Σ_C s_y

because

- a pair that is tied in neither sample is in C × C, C × (A − C), C × (B − C), C × neither or (A − C) × (B − C);
- for an item of C, the number of smaller minus larger items is r_x + P_x within A, of which ρ_x are in C;
- Σ_C s_x ρ_y = 2M, as the terms of two items with equal s_x cancel.

S_C is counted in the order of x, one tie group of x after another: a set contains the positions in y of the items
before the group, and tells for each item how many of them are below its tie group of y, and how many are above it
(`distkern.compiled.bit_ranks`).

Of the pairs tied in both, those of zeros are e (e − 1) / 2. Of the pairs tied in x, those whose y is zero are all but
the ones with an item of C: in a tie group of g nonzeros with c items of C these are c (2g − c − 1) / 2. The same holds
for y.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from distkern.compiled.bit_ranks import PositionSet, add_member, count_below, empty_set, part_of_set, remove_all
from distkern.compiled.levels import from_table
from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled
from distkern.core.typing import Array

TABLE_SHARE = 4
"""Maximum number of table cells for each common item for which the table is faster than a set."""


class Nonzeros(NamedTuple):
    """The nonzeros of a sample, by ascending value.

    Parameters
    ----------
    places
        Their items, (k,).
    groups
        First position of the tie group of each, and the position after the group, uint32 (k, 2).
    levels
        Number of the distinct value of each, int32 (k,): 0, 1, …, in ascending order, that of the zeros included.
    negative
        Number of negative values.
    zero, distinct
        Level of the zeros, and number of levels.
    tied
        Number of tied pairs of nonzeros.
    """

    places: Array
    groups: Array
    levels: Array
    negative: int
    zero: int
    distinct: int
    tied: int


class Scratch(NamedTuple):
    """Arrays that comparisons use again and again, see `make_scratch`.

    Parameters
    ----------
    member, table
        For each item a bit that is set if its y is not zero, and then its position in y; see `enter`.
    xs, ys
        Positions in x and in y of the common items.
    cells, smaller
        A table of `TABLE_SHARE` cells for each nonzero, which is zero before and after, and sums of its columns.
    members
        A set of positions in y, empty before and after.
    """

    member: Array
    table: Array
    xs: Array
    ys: Array
    cells: Array
    smaller: Array
    members: PositionSet


@compiled
def make_scratch(n, width):  # type: ignore[no-untyped-def]
    """Arrays for the comparison of samples of ``n`` items with at most ``width`` nonzeros."""
    xs, ys = np.zeros(width + 1, np.uint32), np.zeros(width + 1, np.uint32)
    cells, smaller = np.zeros(TABLE_SHARE * max(1, width), np.int32), np.empty(width + 1, np.int64)
    return Scratch(np.zeros(n // 64 + 1, np.uint64), np.empty(n, np.uint32), xs, ys, cells, smaller, empty_set(width))


@compiled
def find_groups(scores, groups, levels):  # type: ignore[no-untyped-def]
    """Fill tie groups and levels of the nonzeros of a sample from their scores.

    Returns the number of negative values, the level of the zeros, the number of levels, and the number of tied pairs.
    """
    k = len(scores)
    first = negative = zero = distinct = tied = np.int64(0)
    for position in range(k):
        score, below = np.int64(scores[position]), np.int64(scores[position] < 0)
        if position == 0 or scores[position - 1] != score:
            first = np.int64(position)
            distinct += 1
            zero += below
        groups[position, 0], levels[position] = first, distinct - below
        negative += below
        tied += position - first
    for position in range(k):  # the score is the sum of both positions, less twice the number of negative values
        groups[position, 1] = scores[position] + 2 * negative - np.int64(groups[position, 0])
    return negative, zero, distinct + 1, tied


@compiled
def _find_shared(places, k, member, table, xs, ys):  # type: ignore[no-untyped-def]
    """Fill the positions in x and in y of the items of C, in the order of x; return their number."""
    q = np.int64(0)
    for position in range(k):
        place = np.uint64(places[position])
        xs[q] = position
        q += np.int64(member[place >> np.uint64(6)] >> (place & np.uint64(63)) & np.uint64(1))
    for index in range(q):  # branch-free: an item with zero y is overwritten by the next one
        ys[index] = table[places[xs[index]]]
    return q


@compiled
def _table_pair(x, y, xs, ys, n, cells, smaller):  # type: ignore[no-untyped-def]
    """S and the number of pairs tied in both, from the contingency table of levels, which is zero before and after.

    ``xs`` and ``ys`` are the positions of the common items.
    """
    k, m = len(x.places), len(y.places)
    for index in range(len(xs)):
        cells[x.levels[xs[index]] * y.distinct + y.levels[ys[index]]] += 1
    start = np.int64(0)
    while start < k:
        row, end = x.levels[start] * y.distinct, np.int64(x.groups[start, 1])
        shared = np.int64(0)
        for col in range(y.distinct):
            shared += cells[row + col]  # that of the zeros of y is 0 by now
        cells[row + y.zero] = end - start - shared
        start = end
    start = np.int64(0)
    while start < m:
        col, end = y.levels[start], np.int64(y.groups[start, 1])
        shared = np.int64(0)
        for row in range(x.distinct):
            shared += cells[row * y.distinct + col]
        cells[x.zero * y.distinct + col] = end - start - shared
        start = end
    cells[x.zero * y.distinct + y.zero] = n - k - m + len(xs)
    return from_table(cells, x.distinct, y.distinct, smaller)


@compiled
def _count_within(start, stop, xs, ys, groups_x, groups_y, members):  # type: ignore[no-untyped-def]
    """Compare items of C with all earlier ones, and add them to the set, which contains those before ``start``.

    Returns Σ sgn(x_j − x_i) sgn(y_j − y_i) of these pairs; and the number of those that are tied in y alone, with that
    of the pairs tied in x of one of the items and a nonzero of x outside C.
    """
    concordance = apart = np.int64(0)
    added, end, size = np.int64(start), np.uint32(0), np.int64(0)
    for index in range(start, stop):
        if xs[index] >= end:  # the first of a tie group of x
            apart += _pairs_outside(index - added, size)
            while added < index:
                add_member(members, ys[added])
                added += 1
            end = groups_x[xs[index], 1]
            size = np.int64(end) - np.int64(groups_x[xs[index], 0])
        y = ys[index]
        below, up_to = count_below(members, groups_y[y, 0]), count_below(members, groups_y[y, 1])
        concordance += below + up_to - added
        apart += up_to - below
    apart += _pairs_outside(stop - added, size)
    while added < stop:
        add_member(members, ys[added])
        added += 1
    return concordance, apart


@compiled
def _pairs_outside(common, size):  # type: ignore[no-untyped-def]
    """Pairs in a tie group of an item of C, of which there are ``common``, and any other."""
    return common * (2 * size - common - 1) // 2


@compiled
def _count_untied(start, stop, ys, members):  # type: ignore[no-untyped-def]
    """The first of these numbers for two samples without ties; the second is 0."""
    concordance = np.int64(0)
    for index in range(start, stop):
        concordance += 2 * count_below(members, ys[index]) - index
        add_member(members, ys[index])
    return concordance


@compiled
def _count_across(start, stop, ys, groups_y, members):  # type: ignore[no-untyped-def]
    """M, where the set contains the positions in y of the items before ``start``, which are those with x < 0."""
    signs = np.int64(0)
    for index in range(start, stop):
        y = ys[index]
        signs += count_below(members, groups_y[y, 0]) + count_below(members, groups_y[y, 1]) - start
    return signs


@compiled
def _inner_scores(xs, ys, groups_x, negative_y):  # type: ignore[no-untyped-def]
    """Σ_C s_y ρ_x, for items in the order of x."""
    q = len(xs)
    total = np.int64(0)
    start, signs = 0, np.int64(0)
    for k in range(q):
        signs += 1 if ys[k] >= negative_y else -1
        if k + 1 == q or xs[k + 1] >= groups_x[xs[k], 1]:
            total += signs * (start - (q - k - 1))
            start, signs = k + 1, np.int64(0)
    return total


@compiled
def _sign_sums(x, y, xs, ys):  # type: ignore[no-untyped-def]
    """Σ_C (s_y r_x + s_x r_y), Σ_C s_x s_y, Σ_C s_x and Σ_C s_y."""
    mixed = minus_x = minus_y = unlike = np.int64(0)
    for index in range(len(xs)):
        below_x, score_x = _sign_and_score(x, xs[index])
        below_y, score_y = _sign_and_score(y, ys[index])
        mixed += (1 - 2 * below_y) * score_x + (1 - 2 * below_x) * score_y
        minus_x += below_x
        minus_y += below_y
        unlike += below_x ^ below_y
    q = np.int64(len(xs))
    return mixed, q - 2 * unlike, q - 2 * minus_x, q - 2 * minus_y


@compiled
def _sign_and_score(sample, position):  # type: ignore[no-untyped-def]
    """Whether a nonzero is negative, and its score."""
    both = np.int64(sample.groups[position, 0]) + np.int64(sample.groups[position, 1])
    return np.int64(position < sample.negative), both - 2 * sample.negative


@compiled
def _count_shared(x, y, xs, ys, negative, members):  # type: ignore[no-untyped-def]
    """S within C less 2M, and the second number of `_count_within`; the first ``negative`` items have x < 0.

    The positions in y of all items are in the set then.
    """
    concordance = apart = np.int64(0)
    untied = x.tied == 0 and y.tied == 0
    for start, stop in ((0, negative), (negative, len(xs))):
        if 0 < start < stop:
            concordance -= 2 * _count_across(start, stop, ys, y.groups, members)
        if untied:
            concordance += _count_untied(start, stop, ys, members)
        else:
            found = _count_within(start, stop, xs, ys, x.groups, y.groups, members)
            concordance += found[0]
            apart += found[1]
    return concordance, apart


@compiled
def _count_outside(ys, groups_y, members):  # type: ignore[no-untyped-def]
    """Pairs tied in y of an item of C and one outside, less the pairs tied in y within C; the set contains C."""
    outside = np.int64(0)
    for index in range(len(ys)):  # with g nonzeros of y and c of C in a group, c (2g − c − 1) / 2 − c (c − 1) / 2
        first, end = groups_y[ys[index], 0], groups_y[ys[index], 1]
        outside += np.int64(end) - np.int64(first) - (count_below(members, end) - count_below(members, first))
    return outside


@compiled
def compare(x, y, n, with_joint, scratch):  # type: ignore[no-untyped-def]
    """S, and if asked for the number of pairs tied in both, of a sample x and the sample y that `enter` wrote.

    Parameters
    ----------
    x, y
        `Nonzeros` of both samples.
    n
        Number of items.
    with_joint
        Whether to count the pairs tied in both; without that, their number may be wrong.
    scratch
        From `make_scratch`.
    """
    k, m = np.int64(len(x.places)), np.int64(len(y.places))
    q = _find_shared(x.places, k, scratch.member, scratch.table, scratch.xs, scratch.ys)
    xs, ys = scratch.xs[:q], scratch.ys[:q]
    if x.distinct * y.distinct <= TABLE_SHARE * q:
        return _table_pair(x, y, xs, ys, n, scratch.cells, scratch.smaller)
    mixed, same, signs_x, signs_y = _sign_sums(x, y, xs, ys)
    neither = n - k - m + q
    S = mixed + neither * same - (k - 2 * x.negative) * (m - 2 * y.negative) - signs_x * signs_y
    if abs(signs_y) < q:
        S -= _inner_scores(xs, ys, x.groups, y.negative)
    members = part_of_set(scratch.members, m)
    found, apart = _count_shared(x, y, xs, ys, (q - signs_x) // 2, members)
    joint = x.tied + y.tied + neither * (neither - 1) // 2 - apart
    if with_joint and y.tied:
        joint -= _count_outside(ys, y.groups, members)
    remove_all(members)
    return S + found, joint


@compiled
def enter(places, member, table):  # type: ignore[no-untyped-def]
    """Write the nonzeros of a sample y for `compare`: set their bits, and note their positions."""
    for position in range(len(places)):
        place = np.uint64(places[position])
        member[place >> np.uint64(6)] |= np.uint64(1) << (place & np.uint64(63))
        table[place] = position


@compiled
def leave(places, member):  # type: ignore[no-untyped-def]
    """Clear the bits that `enter` set; positions without a bit are not read."""
    for position in range(len(places)):
        member[np.uint64(places[position]) >> np.uint64(6)] = np.uint64(0)


@compiled
def sparse_tile(places_a, scores_a, nonzeros_a, places_b, scores_b, nonzeros_b, n, symmetric, counts, joint):  # type: ignore[no-untyped-def]
    """Fill S = n_c − n_d and the number of pairs tied in both, for all pairs of sparse samples of blocks A and B.

    Parameters
    ----------
    places_a, scores_a
        Places and scores of the nonzeros of A, (a, width), by ascending value; the padding after them is not read.
    nonzeros_a
        Number of nonzeros, (a,).
    places_b, scores_b, nonzeros_b
        The same for B.
    n
        Number of features.
    symmetric
        Whether A and B are the same block; then only i ≤ j is computed and mirrored.
    counts, joint
        int64 (a, b), filled.
    """
    a, b, width = len(nonzeros_a), len(nonzeros_b), max(scores_a.shape[1], scores_b.shape[1])
    groups_a, levels_a = np.empty((a, width, 2), np.uint32), np.empty((a, width), np.int32)
    groups, levels, about = np.empty((width, 2), np.uint32), np.empty(width, np.int32), np.empty((a, 4), np.int64)
    for i in range(a):
        k = nonzeros_a[i]
        found = find_groups(scores_a[i, :k], groups_a[i, :k], levels_a[i, :k])
        about[i, 0], about[i, 1], about[i, 2], about[i, 3] = found
    scratch = make_scratch(n, width)
    for j in range(b):
        m = nonzeros_b[j]
        found = find_groups(scores_b[j, :m], groups[:m], levels[:m])
        y = Nonzeros(places_b[j, :m], groups[:m], levels[:m], found[0], found[1], found[2], found[3])
        enter(y.places, scratch.member, scratch.table)
        for i in range(j + 1 if symmetric else a):
            k, found = nonzeros_a[i], about[i]
            x = Nonzeros(places_a[i, :k], groups_a[i, :k], levels_a[i, :k], found[0], found[1], found[2], found[3])
            counts[i, j], joint[i, j] = compare(x, y, n, True, scratch)
            if symmetric:
                counts[j, i], joint[j, i] = counts[i, j], joint[i, j]
        leave(y.places, scratch.member)


@compiled
def _rank_sparse(data, indices, indptr, n, places, scores, nonzeros, balance, untied):  # type: ignore[no-untyped-def]
    scratch = order_scratch(places.shape[1])
    for i in range(len(nonzeros)):
        first = indptr[i]
        values = data[first : indptr[i + 1]]
        k = np.int64(len(values))
        order = stable_order(values, scratch)
        negative = np.int64(0)
        for value in values:
            negative += int(value < 0)
        tied = (n - k) * (n - k - 1) // 2
        start = 0
        for stop in range(1, k + 1):
            if stop == k or values[order[stop]] != values[order[start]]:
                for position in range(start, stop):
                    places[i, position] = indices[first + order[position]]
                    scores[i, position] = start - (k - stop) + k - 2 * negative
                tied += np.int64(stop - start) * (stop - start - 1) // 2
                start = stop
        nonzeros[i], balance[i] = k, k - 2 * negative
        untied[i] = n * (n - 1) // 2 - tied


def rank_sparse(data: Array, indices: Array, indptr: Array, n: int, width: int | None = None) -> dict[str, Array]:
    """Places and scores of the nonzeros of CSR rows, O(k) a sample.

    Parameters
    ----------
    data, indices, indptr
        CSR arrays in canonical form: no duplicate entries, no zeros, no NaN.
    n
        Number of features.
    width
        Columns of the padded arrays; by default the largest number of nonzeros of a row.

    Returns
    -------
    dict
        ``places`` and ``scores``, int32 (m, width), padded with zeros; ``nonzeros``, ``balance`` (number of positive
        minus number of negative values), ``untied`` (number of untied pairs) and ``features`` (n), int64 (m,).

    Examples
    --------
    >>> ranked = rank_sparse(np.array([5.0, -1.0, 5.0]), np.array([0, 2, 3]), np.array([0, 3]), n=6)
    >>> ranked["places"].tolist(), ranked["scores"].tolist(), ranked["untied"].tolist()
    ([[2, 0, 3]], [[-1, 2, 2]], [11])
    """
    m = len(indptr) - 1
    most = int(np.diff(indptr).max(initial=0))
    width = most if width is None else width
    assert most <= width, "the padded arrays are narrower than a sample"
    ranked: dict[str, Array] = {name: np.zeros((m, width), dtype=np.int32) for name in ("places", "scores")}
    ranked |= {name: np.empty(m, dtype=np.int64) for name in ("nonzeros", "balance", "untied")}
    ranked["features"] = np.full(m, n, dtype=np.int64)
    _rank_sparse(
        np.ascontiguousarray(data, dtype=np.float64),
        np.ascontiguousarray(indices, dtype=np.int64),
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.int64(n),
        *(ranked[name] for name in ("places", "scores", "nonzeros", "balance", "untied")),
    )
    return ranked


def concordance(A: Mapping[str, Array], B: Mapping[str, Array], symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of sparse samples of blocks A and B.

    Takes about 1 ns for each nonzero of a sample of A, and 4 ns for each item that is nonzero in both samples of a pair
    (10 ns with ties among many distinct values). Only one array for each tile grows with n.

    Parameters
    ----------
    A, B
        Output of `rank_sparse` for each block; the widths may differ.
    symmetric
        Whether A and B are the same block.

    Returns
    -------
    tuple
        Two arrays int64 (a, b), exact.

    Examples
    --------
    >>> block = rank_sparse(np.array([1.0, 1.0, 2.0]), np.array([2, 0, 2]), np.array([0, 1, 3]), n=3)  # 001, 102
    >>> S, joint = concordance(block, block, True)
    >>> S.tolist(), joint.tolist()
    ([[2, 2], [2, 3]], [[1, 0], [0, 0]])
    """
    counts = np.empty((2, len(A["nonzeros"]), len(B["nonzeros"])), dtype=np.int64)
    n = int(A["features"][0]) if len(A["features"]) else 0
    sparse_tile(
        A["places"], A["scores"], A["nonzeros"],
        B["places"], B["scores"], B["nonzeros"],
        n, symmetric, counts[0], counts[1],
    )  # fmt: skip
    return counts[0], counts[1]
