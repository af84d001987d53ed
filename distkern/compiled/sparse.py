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

import numpy as np

from distkern.compiled.bit_ranks import add_member, count_below, mark, recount, words_of
from distkern.compiled.levels import from_table
from distkern.compiled.radix import order_scratch, stable_order
from distkern.core.jit import compiled
from distkern.core.typing import Array

RECOUNT = 8
"""Words of a set of positions that are counted anew in the time in which one member is added and counted."""

TABLE_SHARE = 4
"""Maximum number of table cells for each common item for which the table is faster than a set."""


LARGE = 2**14
"""Nonzeros of y, beyond twice the common items, from which on the common items are ranked anew among themselves."""


@compiled
def tie_groups(scores, k, firsts, ends):  # type: ignore[no-untyped-def]
    """Fill for each nonzero the first position of its tie group and the position after it; return the tied pairs."""
    tied = np.int64(0)
    start = np.int64(0)
    for stop in range(1, k + 1):
        if stop == k or scores[stop] != scores[start]:
            for position in range(start, stop):
                firsts[position], ends[position] = start, stop
            tied += (stop - start) * (stop - start - 1) // 2
            start = np.int64(stop)
    return tied


@compiled
def _scratch(width):  # type: ignore[no-untyped-def]
    return np.zeros(width + 1, np.uint32)


@compiled
def number_levels(scores, k, levels, sizes):  # type: ignore[no-untyped-def]
    """Number the distinct values of a sample in ascending order: …, −2, −1, 0 for the zeros, 1, 2, ….

    Fills ``sizes`` with the number of nonzeros at each level, from the lowest one on; the entry of the zeros is not
    set. Returns the number of negative levels and of all levels.
    """
    below, above, start = np.int64(0), np.int64(0), 0
    for stop in range(1, k + 1):
        if stop == k or scores[stop] != scores[start]:
            below += np.int64(scores[start] < 0)
            above += np.int64(scores[start] > 0)
            for position in range(start, stop):
                levels[position] = above if scores[start] > 0 else below
            sizes[below + above - np.int64(scores[start] < 0)] = stop - start  # zeros lie between both
            start = stop
    for position in range(k):
        if scores[position] > 0:
            break
        levels[position] -= below + 1
    return below, below + above + 1


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
def _table_pair(  # type: ignore[no-untyped-def]
    xs, ys, levels_x, ends_x, k, zero_x, count_x, levels_y, zero_y, count_y, sizes_y, m, n, cells, smaller
):
    """S and the number of pairs tied in both, from the contingency table of levels, which is zero before and after.

    ``xs`` and ``ys`` are the positions of the common items.
    """
    for index in range(len(xs)):
        cells[(zero_x + levels_x[xs[index]]) * count_y + zero_y + levels_y[ys[index]]] += 1
    start = np.int64(0)
    while start < k:
        row = (zero_x + levels_x[start]) * count_y
        shared = np.int64(0)
        for col in range(count_y):
            shared += cells[row + col]  # that of the zeros of y is 0 by now
        cells[row + zero_y] = np.int64(ends_x[start]) - start - shared
        start = np.int64(ends_x[start])
    origin = zero_x * count_y
    for col in range(count_y):
        if col != zero_y:
            shared = np.int64(0)
            for row in range(count_x):
                shared += cells[row * count_y + col]
            cells[origin + col] = sizes_y[col] - shared
    cells[origin + zero_y] = n - k - m + len(xs)
    return from_table(cells, count_x, count_y, smaller)


@compiled
def _count_within(  # type: ignore[no-untyped-def]
    start, stop, xs, ys, firsts_x, ends_x, firsts_y, ends_y, words, bits, below
):
    """Compare items of C with all earlier ones, whose positions in y are in the set, and add them to it.

    Returns Σ sgn(x_j − x_i) sgn(y_j − y_i) of these pairs; and, as its part of the pairs tied in both, the number of
    such pairs within C, less the pairs tied in x with an item of C, less the pairs tied in y with an item of C.
    """
    concordance = joint = np.int64(0)
    while start < stop:
        x = xs[start]
        end = ends_x[x]
        after = start + 1
        while after < stop and xs[after] < end:
            after += 1
        common, size = np.int64(after - start), np.int64(end) - np.int64(firsts_x[x])
        for position in range(start, after):
            y = ys[position]
            concordance += count_below(bits, below, firsts_y[y]) + count_below(bits, below, ends_y[y]) - start
        if RECOUNT * common < words:
            for position in range(start, after):
                add_member(bits, below, ys[position])
        else:
            for position in range(start, after):
                mark(bits, ys[position])
            recount(bits, below, words)
        for position in range(start, after):
            first, last = firsts_y[ys[position]], ends_y[ys[position]]
            joint += count_below(bits, below, last) - count_below(bits, below, first) - np.int64(last) + np.int64(first)
        joint -= common * (2 * size - common - 1) // 2
        start = after
    return concordance, joint


@compiled
def _count_untied(start, stop, ys, bits, below):  # type: ignore[no-untyped-def]
    """The first of these numbers for two samples without ties; the second is 0."""
    concordance = np.int64(0)
    for position in range(start, stop):
        concordance += 2 * count_below(bits, below, ys[position]) - position
        add_member(bits, below, ys[position])
    return concordance


@compiled
def _count_across(start, stop, ys, firsts_y, ends_y, bits, below):  # type: ignore[no-untyped-def]
    """M, where the set contains the positions in y of the items before ``start``, which are those with x < 0."""
    signs = np.int64(0)
    for position in range(start, stop):
        y = ys[position]
        signs += count_below(bits, below, firsts_y[y]) + count_below(bits, below, ends_y[y]) - start
    return signs


@compiled
def _inner_scores(xs, ys, ends_x, negative_y):  # type: ignore[no-untyped-def]
    """Σ_C s_y ρ_x, for items in the order of x."""
    q = len(xs)
    total = np.int64(0)
    start, signs = 0, np.int64(0)
    for k in range(q):
        signs += 1 if ys[k] >= negative_y else -1
        if k + 1 == q or xs[k + 1] >= ends_x[xs[k]]:
            total += signs * (start - (q - k - 1))
            start, signs = k + 1, np.int64(0)
    return total


@compiled
def _sign_sums(xs, ys, scores_x, scores_y, negative_x, negative_y):  # type: ignore[no-untyped-def]
    """Σ_C (s_y r_x + s_x r_y), Σ_C s_x s_y, Σ_C s_x and Σ_C s_y."""
    mixed = minus_x = minus_y = unlike = np.int64(0)
    for position in range(len(xs)):
        x, y = xs[position], ys[position]
        below_x, below_y = np.int64(x < negative_x), np.int64(y < negative_y)
        mixed += (-scores_x[x] if below_y else scores_x[x]) + (-scores_y[y] if below_x else scores_y[y])
        minus_x += below_x
        minus_y += below_y
        unlike += below_x ^ below_y
    q = np.int64(len(xs))
    return mixed, q - 2 * unlike, q - 2 * minus_x, q - 2 * minus_y


@compiled
def _count_shared(  # type: ignore[no-untyped-def]
    xs, ys, firsts_x, ends_x, firsts_y, ends_y, negative, untied, words, bits, below
):
    """S within C less 2M, and its part of the pairs tied in both; the first ``negative`` items have x < 0."""
    concordance = joint = np.int64(0)
    for start, stop in ((0, negative), (negative, len(xs))):
        if 0 < start < stop:
            concordance -= 2 * _count_across(start, stop, ys, firsts_y, ends_y, bits, below)
        if untied:
            concordance += _count_untied(start, stop, ys, bits, below)
        else:
            found = _count_within(start, stop, xs, ys, firsts_x, ends_x, firsts_y, ends_y, words, bits, below)
            concordance += found[0]
            joint += found[1]
    bits[:words] = 0
    below[:] = 0
    return concordance, joint


@compiled
def _rank_anew(ys, firsts_y, ends_y, firsts_c, ends_c, words, bits, below):  # type: ignore[no-untyped-def]
    """Replace positions in y by positions among the common items, so that sets of them are as small as these.

    Fills the tie groups of the common items, by their new positions. Returns the sum over them of the size of the tie
    group in y less its size among the common items, which is all that `_count_within` then knows.
    """
    for index in range(len(ys)):
        mark(bits, ys[index])
    recount(bits, below, words)
    without = np.int64(0)
    for index in range(len(ys)):
        y = ys[index]
        position = count_below(bits, below, y)
        first, end = count_below(bits, below, firsts_y[y]), count_below(bits, below, ends_y[y])
        without += np.int64(ends_y[y]) - np.int64(firsts_y[y]) - (end - first)
        ys[index], firsts_c[position], ends_c[position] = position, first, end
    bits[:words] = 0
    below[:words] = 0
    return without


@compiled
def compare(  # type: ignore[no-untyped-def]
    places_x, scores_x, firsts_x, ends_x, levels_x, zero_x, count_x, tied_x, balance_x,
    scores_y, firsts_y, ends_y, levels_y, zero_y, count_y, tied_y, balance_y, n,
    member, table, sizes_y, cells, smaller, xs, ys, firsts_c, ends_c, bits, below,
):  # fmt: skip
    """S and the number of pairs tied in both, of a sample x and the sample y that `enter` wrote.

    Parameters
    ----------
    places_x, scores_x, firsts_x, ends_x, levels_x
        Of the nonzeros of x, by ascending value: places, scores, tie groups and levels; no padding after them.
    zero_x, count_x, tied_x, balance_x
        Number of negative and of all levels of x, its tied pairs of nonzeros, and its positive minus negative values.
    scores_y, firsts_y, ends_y, levels_y, zero_y, count_y, tied_y, balance_y
        The same of y.
    n
        Number of features.
    member, table
        For each of the n items a bit that is set if its y is not zero, and then its position in y.
    sizes_y
        Number of nonzeros of y at each level.
    cells, smaller, xs, ys, firsts_c, ends_c, bits, below
        Scratch: a table of `TABLE_SHARE` cells for each nonzero, and arrays for as many nonzeros as x and y have.
    """
    k, m = np.int64(len(places_x)), np.int64(len(scores_y))
    q = _find_shared(places_x, k, member, table, xs, ys)
    if count_x * count_y <= TABLE_SHARE * q:
        return _table_pair(
            xs[:q], ys[:q], levels_x, ends_x, k, zero_x, count_x, levels_y, zero_y, count_y, sizes_y, m, n,
            cells, smaller,
        )  # fmt: skip
    negative_x, negative_y = (k - balance_x) // 2, (m - balance_y) // 2
    mixed, same, signs_x, signs_y = _sign_sums(xs[:q], ys[:q], scores_x, scores_y, negative_x, negative_y)
    neither = n - k - m + q
    S = mixed + neither * same - balance_x * balance_y - signs_x * signs_y
    if abs(signs_y) < q:
        S -= _inner_scores(xs[:q], ys[:q], ends_x, negative_y)
    untied, joint = tied_x == 0 and tied_y == 0, tied_x + tied_y + neither * (neither - 1) // 2
    if m > LARGE + 2 * q:
        joint -= _rank_anew(ys[:q], firsts_y, ends_y, firsts_c, ends_c, m // 64 + 1, bits, below)
        found = _count_shared(
            xs[:q], ys[:q], firsts_x, ends_x, firsts_c, ends_c, (q - signs_x) // 2,
            untied, q // 64 + 1, bits[: words_of(q)], below[: words_of(q)],
        )  # fmt: skip
    else:
        found = _count_shared(
            xs[:q], ys[:q], firsts_x, ends_x, firsts_y, ends_y, (q - signs_x) // 2,
            untied, m // 64 + 1, bits[: words_of(m)], below[: words_of(m)],
        )  # fmt: skip
    return S + found[0], joint + found[1]


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
def sparse_tile(  # type: ignore[no-untyped-def]
    places_a, scores_a, nonzeros_a, balance_a, places_b, scores_b, nonzeros_b, balance_b, n, symmetric, counts, joint
):
    """Fill S = n_c − n_d and the number of pairs tied in both, for all pairs of sparse samples of blocks A and B.

    Parameters
    ----------
    places_a, scores_a
        Places and scores of the nonzeros of A, (a, width), by ascending value; the padding after them is not read.
    nonzeros_a, balance_a
        Number of nonzeros, and number of positive minus number of negative values, (a,).
    places_b, scores_b, nonzeros_b, balance_b
        The same for B.
    n
        Number of features.
    symmetric
        Whether A and B are the same block; then only i ≤ j is computed and mirrored.
    counts, joint
        int64 (a, b), filled.
    """
    a, b, width = len(nonzeros_a), len(nonzeros_b), max(scores_a.shape[1], scores_b.shape[1])
    firsts_a, ends_a = np.empty(scores_a.shape, np.uint32), np.empty(scores_a.shape, np.uint32)
    levels_a, zero_a, count_a = np.empty(scores_a.shape, np.int32), np.empty(a, np.int64), np.empty(a, np.int64)
    tied_a, sizes = np.empty(a, np.int64), np.empty(width + 1, np.int64)
    for i in range(a):
        tied_a[i] = tie_groups(scores_a[i], nonzeros_a[i], firsts_a[i], ends_a[i])
        zero_a[i], count_a[i] = number_levels(scores_a[i], nonzeros_a[i], levels_a[i], sizes)
    firsts, ends, xs, ys = _scratch(width), _scratch(width), _scratch(width), _scratch(width)
    firsts_c, ends_c = _scratch(width), _scratch(width)
    levels, smaller = np.empty(width, np.int32), np.empty(width + 1, np.int64)
    cells = np.zeros(TABLE_SHARE * max(1, width), np.int32)
    bits, below = np.zeros(words_of(width), np.uint64), np.zeros(words_of(width), np.uint32)
    member, table = np.zeros(n // 64 + 1, np.uint64), np.empty(n, np.uint32)
    for j in range(b):
        m = np.int64(nonzeros_b[j])
        tied = tie_groups(scores_b[j], m, firsts, ends)
        zero, count = number_levels(scores_b[j], m, levels, sizes)
        enter(places_b[j, :m], member, table)
        for i in range(j + 1 if symmetric else a):
            k = nonzeros_a[i]
            counts[i, j], joint[i, j] = compare(
                places_a[i, :k], scores_a[i], firsts_a[i], ends_a[i], levels_a[i],
                zero_a[i], count_a[i], tied_a[i], balance_a[i],
                scores_b[j, :m], firsts, ends, levels, zero, count, tied, balance_b[j], n,
                member, table, sizes, cells, smaller, xs, ys, firsts_c, ends_c, bits, below,
            )  # fmt: skip
            if symmetric:
                counts[j, i], joint[j, i] = counts[i, j], joint[i, j]
        leave(places_b[j, :m], member)


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
        A["places"], A["scores"], A["nonzeros"], A["balance"],
        B["places"], B["scores"], B["nonzeros"], B["balance"],
        n, symmetric, counts[0], counts[1],
    )  # fmt: skip
    return counts[0], counts[1]
