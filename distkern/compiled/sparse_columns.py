"""Concordance of chosen pairs of sparse columns, whose numbers of nonzeros may differ by orders of magnitude.

`distkern.compiled.sparse` compares all samples of two blocks, which are padded to one width. Features differ more than
samples: a gene may be counted in nearly all cells or in ten. So the nonzeros of a block of columns are kept one column
after the other, without padding. Pairs are given as a list, sorted by their second column, whose nonzeros are written
into arrays over all items once; a walk along the nonzeros of each first column then finds the common items. The pairs
of one column and an item that is zero in both are counted, never listed (see `distkern.compiled.sparse.compare`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distkern.compiled.bit_ranks import words_of
from distkern.compiled.radix import order_scratch, stable_order
from distkern.compiled.sparse import TABLE_SHARE, compare, enter, leave, number_levels, tie_groups
from distkern.core.jit import compiled
from distkern.core.typing import Array, Indices


@compiled
def count_nonzeros(indices, indptr, group, counts):  # type: ignore[no-untyped-def]
    """Add to ``counts`` (columns, groups) the nonzeros of the rows of a CSR block; rows of group −1 are left out."""
    for row in range(len(group)):
        if group[row] >= 0:
            for entry in range(indptr[row], indptr[row + 1]):
                counts[indices[entry], group[row]] += 1


@compiled
def scatter(data, indices, indptr, group, item, first, fill, values, items):  # type: ignore[no-untyped-def]
    """Write the nonzeros of the rows of a CSR block to their columns.

    Parameters
    ----------
    data, indices, indptr
        The rows; the entries of a row ascend by column.
    group, item
        Group of each row, or −1 to leave it out, and its number within the group.
    first
        First of the columns that are written.
    fill
        Position of the next nonzero of each column and group, (columns, groups); advanced.
    values, items
        Values and rows of the nonzeros, one column after the other, and in a column one group after the other.
    """
    columns = fill.shape[0]
    for row in range(len(group)):
        if group[row] < 0:
            continue
        for entry in range(indptr[row], indptr[row + 1]):
            column = np.int64(indices[entry]) - first
            if column >= columns:
                break
            if column >= 0:
                position = fill[column, group[row]]
                values[position], items[position] = data[entry], item[row]
                fill[column, group[row]] = position + 1


@compiled
def scatter_dense(block, item, first, fill, values, items):  # type: ignore[no-untyped-def]
    """Write the nonzeros of dense rows of one group to their columns; ``fill`` has one entry each, see `scatter`."""
    for row in range(len(item)):
        for column in range(len(fill)):
            value = block[row, first + column]
            if value != 0:
                position = fill[column]
                values[position], items[position] = value, item[row]
                fill[column] = position + 1


@compiled
def rank_columns(values, items, starts, n, places, scores, balance, tied, third, fifth):  # type: ignore[no-untyped-def]
    """Rank the nonzeros of columns of ``n`` items each.

    Parameters
    ----------
    values, items
        Nonzeros, one column after the other: values (float64), and the items that have them.
    starts
        Position of the first nonzero of each column, and the number of all, (columns + 1,).
    n
        Number of items of each column, (columns,).
    places, scores
        int32, filled: items by ascending value, and their scores as in `distkern.compiled.sparse`.
    balance
        int64 (columns,), filled: number of positive minus number of negative values.
    tied, third, fifth
        float64 (columns,), filled: sums over the tie groups, zeros included, as of `significance.tie_sums`.
    """
    longest = np.int64(1)
    for column in range(len(n)):
        longest = max(longest, starts[column + 1] - starts[column])
    scratch = order_scratch(longest)
    for column in range(len(n)):
        first, k = starts[column], starts[column + 1] - starts[column]
        part = values[first : first + k]
        order = stable_order(part, scratch)
        negative = np.int64(0)
        for value in part:
            negative += np.int64(value < 0)
        balance[column] = k - 2 * negative
        tied[column] = third[column] = fifth[column] = 0.0
        zeros = n[column] - k
        start = np.int64(0)
        for stop in range(1, k + 1):
            if stop == k or part[order[stop]] != part[order[start]]:
                if start == negative:
                    _add_group(zeros, column, tied, third, fifth)
                _add_group(stop - start, column, tied, third, fifth)
                for position in range(start, stop):
                    places[first + position] = items[first + order[position]]
                    scores[first + position] = start - (k - stop) + k - 2 * negative
                start = np.int64(stop)
        if negative == k:
            _add_group(zeros, column, tied, third, fifth)


@compiled
def _add_group(size, column, tied, third, fifth):  # type: ignore[no-untyped-def]
    """Add a tie group to the sums, in the order and with the rounding of `significance.tie_sums`."""
    t = np.float64(size)
    tied[column] += t * (t - 1.0) / 2.0
    third[column] += t * (t - 1.0) * (t - 2.0)
    fifth[column] += t * (t - 1.0) * (2.0 * t + 5.0)


def concordance(A: tuple[Array, ...], B: tuple[Array, ...], n: int, first: Indices, second: Indices) -> Array:
    """S = n_c − n_d of chosen pairs of sparse columns, int64 (pairs,), exact.

    Of each pair, the column with fewer nonzeros is walked. O(k + q) vector operations a pair, k of them nonzero in that
    column, and q in both.

    Parameters
    ----------
    A, B
        Of each block: places, scores, position of the first nonzero of each column, number of its nonzeros, and number
        of its positive minus its negative values (see `rank_columns`).
    n
        Number of items.
    first, second
        Columns of A and of B of each pair.

    Examples
    --------
    >>> places, scores = np.array([0, 2, 1], np.int32), np.array([1, 3, 2], np.int32)  # (1, 0, 7) and (0, 5, 0)
    >>> block = places, scores, np.array([0, 2]), np.array([2, 1]), np.array([2, 1])
    >>> concordance(block, block, 3, np.array([0, 0]), np.array([0, 1])).tolist()
    [3, -2]
    """
    counts = np.empty(len(first), dtype=np.int64)
    walk_first = A[3][first] <= B[3][second]
    if A is B:
        every = np.concatenate([first, second])
        ranked_a = ranked_b = _ranked(A, every)
    else:
        ranked_a, ranked_b = _ranked(A, first), _ranked(B, second)
    roads = (walk_first, ranked_a, ranked_b, first, second), (~walk_first, ranked_b, ranked_a, second, first)
    for walked, X, Y, x, y in roads:
        chosen = np.flatnonzero(walked)
        if len(chosen):
            chosen = chosen[np.argsort(y[chosen], kind="stable")]
            found = np.empty(len(chosen), dtype=np.int64)
            _fill(X, Y, np.int64(n), x[chosen].astype(np.int64), y[chosen].astype(np.int64), found)
            counts[chosen] = found
    return counts


class Ranked(NamedTuple):
    """Columns with the tie groups and levels of their nonzeros, see `distkern.compiled.sparse.compare`."""

    places: Array
    scores: Array
    starts: Array
    nonzeros: Array
    balance: Array
    firsts: Array
    ends: Array
    levels: Array
    zero: Array
    distinct: Array
    tied: Array


def _ranked(block: tuple[Array, ...], used: Indices) -> Ranked:
    """Find the tie groups and levels of the columns that are used, once for all their pairs."""
    entries, columns = len(block[0]), len(block[2])
    firsts, ends = np.empty(entries, dtype=np.uint32), np.empty(entries, dtype=np.uint32)
    levels = np.empty(entries, dtype=np.int32)
    zero, distinct, tied = (np.zeros(columns, dtype=np.int64) for _ in range(3))
    places, scores, starts, nonzeros, balance = block
    ranked = Ranked(places, scores, starts, nonzeros, balance, firsts, ends, levels, zero, distinct, tied)
    chosen = np.zeros(columns, dtype=np.bool_)
    chosen[used] = True
    _find_groups(ranked, np.flatnonzero(chosen))
    return ranked


@compiled
def _find_groups(X, columns):  # type: ignore[no-untyped-def]
    width = np.int64(0)
    for column in columns:
        width = max(width, X.nonzeros[column])
    sizes = np.empty(width + 1, np.int64)
    for column in columns:
        k = X.nonzeros[column]
        start, stop = X.starts[column], X.starts[column] + k
        scores = X.scores[start:stop]
        X.tied[column] = tie_groups(scores, k, X.firsts[start:stop], X.ends[start:stop])
        X.zero[column], X.distinct[column] = number_levels(scores, k, X.levels[start:stop], sizes)


@compiled
def _fill(X, Y, n, first, second, counts):  # type: ignore[no-untyped-def]
    """Fill S of the pairs, which are sorted by ``second``: columns of X are walked, and those of Y are looked up."""
    width = np.int64(1)
    for pair in range(len(first)):
        width = max(width, X.nonzeros[first[pair]], Y.nonzeros[second[pair]])
    sizes, smaller = np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
    xs, ys = np.zeros(width + 1, np.uint32), np.zeros(width + 1, np.uint32)
    firsts_c, ends_c = np.zeros(width + 1, np.uint32), np.zeros(width + 1, np.uint32)
    cells = np.zeros(TABLE_SHARE * width, np.int32)
    bits, below = np.zeros(words_of(width), np.uint64), np.zeros(words_of(width), np.uint32)
    member, table = np.zeros(n // 64 + 1, np.uint64), np.empty(n, np.uint32)
    pair = 0
    while pair < len(first):
        j = second[pair]
        begin, end = Y.starts[j], Y.starts[j] + Y.nonzeros[j]
        places, ends, levels = Y.places[begin:end], Y.ends[begin:end], Y.levels[begin:end]
        enter(places, member, table)
        _size_levels(ends, levels, Y.zero[j], sizes)
        while pair < len(first) and second[pair] == j:
            i = first[pair]
            start, stop = X.starts[i], X.starts[i] + X.nonzeros[i]
            S, _ = compare(
                X.places[start:stop], X.scores[start:stop], X.firsts[start:stop], X.ends[start:stop],
                X.levels[start:stop], X.zero[i], X.distinct[i], X.tied[i], X.balance[i],
                Y.scores[begin:end], Y.firsts[begin:end], ends,
                levels, Y.zero[j], Y.distinct[j], Y.tied[j], Y.balance[j],
                n, member, table, sizes, cells, smaller, xs, ys, firsts_c, ends_c, bits, below,
            )  # fmt: skip
            counts[pair] = S
            pair += 1
        leave(places, member)


@compiled
def _size_levels(ends, levels, zero, sizes):  # type: ignore[no-untyped-def]
    """Fill the number of nonzeros at each level, from the lowest one on; the entry of the zeros is not set."""
    start = np.int64(0)
    while start < len(ends):
        sizes[zero + levels[start]] = np.int64(ends[start]) - start
        start = np.int64(ends[start])


def bytes_needed(a: int, b: int, n: int, entries: int, widest: int, pairs: int) -> int:
    """Bytes of counting ``pairs`` pairs of ``a`` and ``b`` columns with ``entries`` nonzeros in all, of n items.

    Examples
    --------
    >>> bytes_needed(10, 10, 1000, 500, 100, 100) < bytes_needed(10, 10, 2000, 500, 100, 100)
    True
    """
    return 5 * n + 20 * entries + (48 + 4 * TABLE_SHARE) * widest + 80 * (a + b) + 64 * pairs
