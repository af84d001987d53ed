"""Tie groups of ranked samples as rows of their own, so that samples with a few ties are as fast as those without.

A sample is stored as the first rank a of the tie group of each feature: see `distkern.compiled.rank_passes`. There the
group of size s stands for the mean of f over the ranks a … a + s − 1, or for f at their middle. This is a number of the
group and of f alone. So a table of f is given a row for each group of the samples, after its p rows and an empty one,
and the features of the group are given the number of that row in the place of a. What is looked up is then one row for
each feature, with ties as without. In the transpose the row takes the sum of the group, which its ranks then share.

Samples with missing values keep their ranks: there every rank is a group.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.lanes import add_scaled
from distkern.core.jit import compiled


@compiled
def separate(ranks, groups, found):  # type: ignore[no-untyped-def]
    """Give tie groups numbers from p + 1 on, in place, and return how many there are.

    Parameters
    ----------
    ranks, groups
        Of `distkern.compiled.rank_passes.first_ranks`, (k, p) and (k,). A sample whose groups have rows of their own
        has p in ``groups`` afterwards, as one without ties.
    found
        First rank and size of each group, (room, 2), int64, overwritten. Samples for which there is no room stay as
        they are.

    Examples
    --------
    >>> ranks, groups, found = np.array([[1, 0, 1], [2, 1, 0]]), np.array([2, 3]), np.zeros((4, 2), np.int64)
    >>> separate(ranks, groups, found), ranks.tolist(), groups.tolist(), found[0].tolist()
    (1, [[4, 0, 4], [2, 1, 0]], [3, 3], [1, 2])
    """
    p = ranks.shape[1]
    sizes, numbers = np.empty(p + 1, np.int32), np.empty(p, np.int64)
    used = 0
    for i in range(len(ranks)):
        if groups[i] == p:
            continue
        sizes[:] = 0
        for j in range(p):
            sizes[ranks[i, j]] += 1
        if sizes[p] > 0:
            continue
        first = used
        for rank in range(p):
            if sizes[rank] > 1:
                if used < len(found):
                    found[used, 0], found[used, 1], numbers[rank] = rank, sizes[rank], p + 1 + used
                used += 1
        if used > len(found):
            used = first
            continue
        for j in range(p):
            rank = ranks[i, j]
            if sizes[rank] > 1:
                ranks[i, j] = numbers[rank]
        groups[i] = p
    return used


@compiled
def fill_rows(table, p, found, mid):  # type: ignore[no-untyped-def]
    """Fill the rows of tie groups, from p + 1 on, by the mean of their ranks, or by the middle one with ``mid``."""
    for group in range(len(found)):
        first, size = found[group]
        row = p + 1 + group
        table[row] = 0.0
        if mid:
            add_scaled(table, row, table, first + (size - 1) // 2, 0.5)
            add_scaled(table, row, table, first + size // 2, 0.5)
        else:
            for rank in range(first, first + size):
                add_scaled(table, row, table, rank, 1.0 / size)


@compiled
def share_rows(table, p, found, mid):  # type: ignore[no-untyped-def]
    """Add the rows of tie groups to those of their ranks: the transpose of `fill_rows`."""
    for group in range(len(found)):
        first, size = found[group]
        row = p + 1 + group
        if mid:
            add_scaled(table, first + (size - 1) // 2, table, row, 0.5)
            add_scaled(table, first + size // 2, table, row, 0.5)
        else:
            for rank in range(first, first + size):
                add_scaled(table, rank, table, row, 1.0 / size)
