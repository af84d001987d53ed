"""Number of inversions of a permutation of many items, counted in blocks with vector instructions: O(n) a pair.

The items in the order of x are divided into blocks of 64, and the ranks of y into buckets of 64. A discordant pair is

1. in one block of x: its y ranks are compared directly, for 32 blocks at once in the lanes of a vector;
2. in different blocks of x and different buckets of y: a table, updated after each block, contains for each bucket the
   number of earlier items in later buckets;
3. in different blocks of x and the same bucket of y: in the order of y, the *block numbers* of x are compared by the
   routine of case 1. Equal block numbers do not count, so no pair is counted twice.

Items are stored so that the lanes of a vector are 32 blocks: position 32·k + l in a run of 2,048 is item k of block l.

Ties are broken twice, with the features of each tie group in ascending and in descending order of position. A pair tied
in one sample is then concordant once and discordant once, and a pair tied in both is concordant twice. Hence n_c − n_d
= C(n, 2) − inversions (ascending) − inversions (descending) − pairs tied in both.
"""

from __future__ import annotations

import numpy as np

from distkern.compiled.simd import GROUP, LANES, add_later_counts, inversions_between, inversions_within
from distkern.core.jit import compiled
from distkern.core.typing import Array

SIDE = 64
"""Items in a block of x, and ranks in a bucket of y."""

RUN = SIDE * LANES
"""Items of the 32 blocks that are processed at once."""

LIMIT = 2**16 - 1
"""Maximum number of items: ranks are 16-bit integers, and the largest one marks the padding after the last item."""

SAMPLES = 64
"""Rows and columns of a part of a tile whose samples are arranged in memory at a time."""


def concordance(arrays_a: tuple[Array, ...], arrays_b: tuple[Array, ...], symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of samples of blocks A and B.

    Parameters
    ----------
    arrays_a, arrays_b
        Order, codes and tie flags (samples, n), and untied pairs (samples,), of each block; n is at most `LIMIT`.
    symmetric
        Whether A and B are the same block; then only i ≤ j is filled.
    """
    a, n = arrays_a[0].shape
    b = len(arrays_b[0])
    pairs = n * (n - 1) // 2
    counts, joint = np.zeros((a, b), dtype=np.int64), np.zeros((a, b), dtype=np.int64)
    for left in range(0, b, SAMPLES):
        columns = [array[left : left + SAMPLES] for array in arrays_b]
        walks_b = _arranged(columns, pairs)
        for top in range(0, left + SAMPLES if symmetric else a, SAMPLES):
            rows = [array[top : top + SAMPLES] for array in arrays_a]
            same = symmetric and top == left
            walks_a = walks_b if same else _arranged(rows, pairs)
            part = slice(top, top + SAMPLES), slice(left, left + SAMPLES)
            arrays = (*rows, *walks_a, columns[1], columns[3], *walks_b)
            _fill(*arrays, same, counts[part], joint[part])  # type: ignore[call-arg]
    return counts, joint


def _arranged(arrays: list[Array], pairs: int) -> tuple[Array, Array]:
    """Walk and ranks of each sample, with tie groups in ascending and, if there are ties, in descending order."""
    order, _, tied, untied = arrays
    m, n = order.shape
    ways = 1 if (untied == pairs).all() else 2
    walks = np.full((m, ways, -(-n // RUN) * RUN), n, dtype=np.uint16)
    ranks = np.full((m, ways, n + 1), LIMIT, dtype=np.uint16)
    within = np.arange(RUN)
    in_run = within % SIDE * LANES + within // SIDE  # position in a run of the walk, for each rank in the run
    _arrange(order, tied, in_run, walks, ranks)
    return walks, ranks


@compiled
def _arrange(order, tied, in_run, walks, ranks):  # type: ignore[no-untyped-def]
    m, n = order.shape
    for sample in range(m):
        for start in range(0, n, RUN):
            for k in range(start, min(start + RUN, n)):
                item = order[sample, k]
                ranks[sample, 0, item] = k
                walks[sample, 0, start + in_run[k - start]] = item
        start = 0 if walks.shape[1] == 2 else n
        while start < n:  # descending order in every tie group
            stop = start + 1
            while stop < n and tied[sample, stop]:
                stop += 1
            for k in range(start, stop):
                item, rank = order[sample, k], start + stop - 1 - k
                ranks[sample, 1, item] = rank
                walks[sample, 1, rank - rank % RUN + in_run[rank % RUN]] = item
            start = stop


@compiled
def _fill(  # type: ignore[no-untyped-def]
    order_a, codes_a, tied_a, untied_a, walks_a, ranks_a, codes_b, untied_b, walks_b, ranks_b, symmetric, counts, joint
):
    a, n = order_a.shape
    pairs = np.int64(n) * (n - 1) // 2
    values, places = np.empty(RUN, np.uint16), np.empty(RUN, np.uint16)
    later, here = np.zeros(LANES * LANES, np.uint16), np.zeros(LANES * LANES, np.uint16)
    lanes = np.zeros(LANES, np.uint16)
    blocks = np.empty((walks_a.shape[1], n + 1), np.uint16)
    seen = np.zeros(n, np.uint16)
    for i in range(a):
        for way in range(walks_a.shape[1]):
            for item in range(n + 1):
                blocks[way, item] = ranks_a[i, way, item] // np.uint16(SIDE)
            blocks[way, n] = LIMIT
        for j in range(i if symmetric else 0, codes_b.shape[0]):
            if untied_a[i] == pairs and untied_b[j] == pairs:
                inverted = _inversions(
                    walks_a[i, 0], ranks_b[j, 0], walks_b[j, 0], blocks[0], n, values, places, later, here, lanes
                )
                counts[i, j] = pairs - 2 * inverted
                continue
            both = np.int64(0)
            if untied_a[i] < pairs and untied_b[j] < pairs:
                both = _joint_ties(order_a[i], tied_a[i], codes_b[j], seen)
            inverted = np.int64(0)
            for way in range(2):
                p, q = min(way, walks_a.shape[1] - 1), min(way, walks_b.shape[1] - 1)
                inverted += _inversions(
                    walks_a[i, p], ranks_b[j, q], walks_b[j, q], blocks[p], n, values, places, later, here, lanes
                )
            counts[i, j] = pairs - inverted - both
            joint[i, j] = both


@compiled
def _inversions(walk_x, rank_y, walk_y, block_x, n, values, places, later, here, lanes):  # type: ignore[no-untyped-def]
    """Number of discordant pairs of two samples without ties; ``values`` to ``lanes`` are scratch arrays."""
    later[:] = 0
    rows = 16 if n <= 16 * LANES * SIDE else 32
    total = np.int64(0)
    for start in range(0, len(walk_x), RUN):
        for q in range(RUN):
            values[q] = rank_y[walk_x[start + q]]
        _table_places(values, rows, places)
        _within_blocks(values, lanes)
        for block in range(min(LANES, (n - start + SIDE - 1) // SIDE)):
            for k in range(SIDE):
                place = places[k * LANES + block]
                total += later[place]
                here[place] += np.uint16(1)
            add_later_counts(later, here, rows)
    total += _drained(lanes)
    for start in range(0, len(walk_y), RUN):
        for q in range(RUN):
            values[q] = block_x[walk_y[start + q]]
        _within_blocks(values, lanes)
    return total + _drained(lanes)


@compiled
def _table_places(values, rows, places):  # type: ignore[no-untyped-def]
    """Fill the table position of the bucket of each rank; one loop for each shape, so that shifts are constant."""
    if rows == 16:
        for q in range(RUN):
            bucket = values[q] // np.uint16(SIDE)
            places[q] = bucket % np.uint16(16) * np.uint16(LANES) + bucket // np.uint16(16) % np.uint16(LANES)
    else:
        for q in range(RUN):
            bucket = values[q] // np.uint16(SIDE)
            places[q] = bucket % np.uint16(32) * np.uint16(LANES) + bucket // np.uint16(32) % np.uint16(LANES)


@compiled
def _within_blocks(values, lanes):  # type: ignore[no-untyped-def]
    """Add the inversions within each of the 32 blocks to ``lanes``."""
    for first in range(0, RUN, GROUP * LANES):
        inversions_within(values, first, lanes)
        for second in range(first + GROUP * LANES, RUN, GROUP * LANES):
            inversions_between(values, first, second, lanes)


@compiled
def _drained(lanes):  # type: ignore[no-untyped-def]
    """Sum of the lanes, which are set to zero."""
    total = np.int64(0)
    for lane in range(LANES):
        total += lanes[lane]
        lanes[lane] = 0
    return total


@compiled
def _joint_ties(order_x, tied_x, codes_y, seen):  # type: ignore[no-untyped-def]
    """Number of pairs tied in both samples; ``seen`` is a scratch array that is zero before and after."""
    n = len(order_x)
    both = np.int64(0)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and tied_x[stop]:
            stop += 1
        if stop - start > 1:
            for k in range(start, stop):
                code = codes_y[order_x[k]]
                both += seen[code]
                seen[code] += 1
            for k in range(start, stop):
                seen[codes_y[order_x[k]]] = 0
        start = stop
    return both
