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

from distkern.compiled.radix import order_scratch, stable_order
from distkern.compiled.sparse import TABLE_SHARE, Nonzeros, compare, enter, find_groups, leave, make_scratch
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
def rank_columns(values, items, starts, n, places, scores, tied, third, fifth):  # type: ignore[no-untyped-def]
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


class Columns(NamedTuple):
    """Ranked columns without their zeros, see `gather`.

    Parameters
    ----------
    places, groups, levels
        Of the nonzeros of all columns, as in `distkern.compiled.sparse.Nonzeros`.
    starts, nonzeros
        Position of the first nonzero of each column, and number of them, int64 (columns,).
    about
        Number of negative values of each column, level of the zeros, number of levels, and number of tied pairs of
        nonzeros, int64 (columns, 4).
    """

    places: Array
    groups: Array
    levels: Array
    starts: Indices
    nonzeros: Indices
    about: Array


def gather(places: Array, scores: Array, starts: Indices, stops: Indices) -> Columns:
    """Copy some of the columns that `rank_columns` ranked, and find their tie groups.

    Parameters
    ----------
    places, scores
        Of all columns, int32.
    starts, stops
        Position of the first nonzero of each column to copy, and the position after its last.

    Examples
    --------
    >>> places, scores = np.array([9, 0, 2, 1], np.int32), np.array([1, 1, 3, 2], np.int32)
    >>> gather(places, scores, np.array([1, 3]), np.array([3, 4])).places.tolist()
    [0, 2, 1]
    """
    nonzeros = stops - starts
    ends = np.cumsum(nonzeros)
    entries = int(nonzeros.sum())
    copied = np.empty(entries, dtype=np.int32)
    groups, levels = np.empty((entries, 2), dtype=np.uint32), np.empty(entries, dtype=np.int32)
    found = Columns(copied, groups, levels, ends - nonzeros, nonzeros, np.empty((len(starts), 4), dtype=np.int64))
    _gather(places, scores, starts, found)
    return found


@compiled
def _gather(places, scores, starts, found):  # type: ignore[no-untyped-def]
    for column in range(len(starts)):
        source, start, k = starts[column], found.starts[column], found.nonzeros[column]
        found.places[start : start + k] = places[source : source + k]
        groups, levels = found.groups[start : start + k], found.levels[start : start + k]
        about = find_groups(scores[source : source + k], groups, levels)
        found.about[column, 0], found.about[column, 1], found.about[column, 2], found.about[column, 3] = about


def concordance(A: Columns, B: Columns, n: int, first: Indices, second: Indices) -> Array:
    """S = n_c − n_d of chosen pairs of sparse columns, int64 (pairs,), exact.

    Of each pair, the column with fewer nonzeros is walked. O(k + q) vector operations a pair, k of them nonzero in that
    column, and q in both.

    Parameters
    ----------
    A, B
        Columns of both blocks, each from `gather`.
    n
        Number of items.
    first, second
        Columns of A and of B of each pair.

    Examples
    --------
    >>> places, scores = np.array([0, 2, 1], np.int32), np.array([1, 3, 2], np.int32)  # (1, 0, 7) and (0, 5, 0)
    >>> block = gather(places, scores, np.array([0, 2]), np.array([2, 3]))
    >>> concordance(block, block, 3, np.array([0, 0]), np.array([0, 1])).tolist()
    [3, -2]
    """
    counts = np.empty(len(first), dtype=np.int64)
    walk_first = A.nonzeros[first] <= B.nonzeros[second]
    for walked, X, Y, x, y in ((walk_first, A, B, first, second), (~walk_first, B, A, second, first)):
        chosen = np.flatnonzero(walked)
        if len(chosen):
            chosen = chosen[np.argsort(y[chosen], kind="stable")]
            found = np.empty(len(chosen), dtype=np.int64)
            _fill(X, Y, np.int64(n), x[chosen].astype(np.int64), y[chosen].astype(np.int64), found)
            counts[chosen] = found
    return counts


@compiled
def _fill(X, Y, n, first, second, counts):  # type: ignore[no-untyped-def]
    """Fill S of the pairs, which are sorted by ``second``: columns of X are walked, and those of Y are looked up."""
    scratch = make_scratch(n, max(X.nonzeros.max(), Y.nonzeros.max()))
    pair = 0
    while pair < len(first):
        j = second[pair]
        y = _column(Y, j)
        enter(y.places, scratch.member, scratch.table)
        while pair < len(first) and second[pair] == j:
            counts[pair], _ = compare(_column(X, first[pair]), y, n, False, scratch)
            pair += 1
        leave(y.places, scratch.member)


@compiled
def _column(block, column):  # type: ignore[no-untyped-def]
    start = block.starts[column]
    part, about = slice(start, start + block.nonzeros[column]), block.about[column]
    return Nonzeros(block.places[part], block.groups[part], block.levels[part], about[0], about[1], about[2], about[3])


def bytes_needed(a: int, b: int, n: int, entries: int, widest: int, pairs: int) -> int:
    """Bytes of ``a`` and ``b`` columns with ``entries`` nonzeros in all, of n items, and of counting ``pairs`` pairs.

    While one of both blocks is read, the pages of its files are in memory too.

    Examples
    --------
    >>> bytes_needed(10, 10, 1000, 500, 100, 100) < bytes_needed(10, 10, 2000, 500, 100, 100)
    True
    """
    return 5 * n + 20 * entries + (20 + 4 * TABLE_SHARE) * widest + 96 * (a + b) + 64 * pairs
