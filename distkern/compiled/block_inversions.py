"""Concordance of samples with many items, counted in blocks with vector instructions: O(n) a pair, with any ties.

The items in the order of x are divided into blocks whose borders are borders of tie groups: a large tie group is a
block, and small ones fill blocks of at most 64 items. The items of y are divided into buckets in the same way. The key
of an item contains its block and its tie group in the block, so that keys compare like the values, and are equal only
for tied items. A discordant pair is

1. in one block of x: its y keys are compared directly, for 32 blocks at once in the lanes of a vector. Words of bits
   leave out the pairs tied in x. A large tie group has no other pairs;
2. in different blocks of x and different buckets of y: a table, updated after each block, contains for each bucket the
   number of earlier items in later buckets;
3. in different blocks of x and the same bucket of y: in the order of y, the *block numbers* of x are compared by the
   routine of case 1. Equal block numbers do not count, so no pair is counted twice.

Pairs tied in both samples are in one block of x. They are counted with case 1, or in a large tie group by a table of
keys. With u untied pairs of each sample, n_c − n_d = u_x + u_y − C(n, 2) + tied in both − 2 n_d.

Items are stored so that the lanes of a vector are 32 blocks: position 32·k + l in a run of 2,048 is item k of block l.
Bucket l · rows + r is at position 32·r + l of the table, so that a sum over later buckets is a sum over rows and lanes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distkern.compiled import inversions
from distkern.compiled.simd import (
    GROUP,
    LANES,
    add_later_counts,
    inversions_between,
    inversions_within,
    tied_equals,
    unequal_bits,
    untied_inversions,
)
from distkern.core.jit import compiled
from distkern.core.typing import Array

SIDE = 64
"""Maximum number of items in a block of small tie groups."""

RUN = SIDE * LANES
"""Items of the 32 blocks that are processed at once."""

STEP = GROUP * LANES
"""Items of eight rows of a run."""

PARTS = 36
"""Pairs of eight rows of a run: (0, 0), (0, 1), …, (0, 7), (1, 1), …."""

LIMIT = 2**16 - 1
"""Maximum number of items: keys are 16-bit integers, and the largest one marks the padding after the last item."""

SAMPLES = 64
"""Rows and columns of a part of a tile whose samples are arranged together."""

COLUMNS = 8
"""Columns whose arranged samples stay in the second cache, while all rows are compared with them."""

HELD = 256
"""Columns whose samples are arranged in memory at a time."""

DIVISIONS = ((8, 6), (24, 6), (64, 6), (64, 5))
"""Largest small tie group, and log2 of the tie groups that share a block; the fastest division that fits is used."""

ALL = np.uint64(2**LANES - 1)
"""A word without tied pairs: all bits are set."""

LANE_SHIFT = 11
"""Bits of a key after its lane, which has 5."""

# Work in units of a comparison of two rows of 32 values. They choose the division; results do not depend on them.
ROW = 3  # a row of a table that is updated
BLOCK = 40  # a block, whatever the size of the table


class Blocks(NamedTuple):
    """The items of each sample in blocks.

    Parameters
    ----------
    keys
        Bits, from high to low: lane and row of the block in a table, and tie group of the item in the block.
    rows, group_bits
        Rows of a table, and bits of the tie group.
    blocks, borders
        Number of blocks, and the positions of their borders in the order of the items.
    is_large
        Whether a block is a large tie group.
    walk
        The items of the other blocks, in runs.
    at
        For each part of each run, the position of its words in ``untied``; −1 if it contains no tied items.
    untied
        Words of the pairs of rows of a part, see `simd.untied_inversions`.
    """

    keys: Array
    rows: int
    group_bits: int
    blocks: Array
    borders: Array
    is_large: Array
    walk: Array
    at: Array
    untied: Array


def concordance(arrays_a: tuple[Array, ...], arrays_b: tuple[Array, ...], symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of samples of blocks A and B.

    Parameters
    ----------
    arrays_a, arrays_b
        Order, codes and tie flags (samples, n), and untied pairs (samples,), of each block; n is at most `LIMIT`.
    symmetric
        Whether A and B are the same block; then only i ≤ j is filled.
    """
    a, b = len(arrays_a[0]), len(arrays_b[0])
    counts, joint = np.zeros((a, b), dtype=np.int64), np.zeros((a, b), dtype=np.int64)
    for first in range(0, b, HELD):
        held = {left: _arranged(_part(arrays_b, left)) for left in range(first, min(first + HELD, b), SAMPLES)}
        for top in range(0, min(first + HELD, b) if symmetric else a, SAMPLES):
            blocks_a = held[top] if symmetric and top in held else _arranged(_part(arrays_a, top))
            for left, blocks_b in held.items():
                if symmetric and left < top:
                    continue
                rows, columns, same = _part(arrays_a, top), _part(arrays_b, left), symmetric and left == top
                part = slice(top, top + SAMPLES), slice(left, left + SAMPLES)
                if blocks_a is None or blocks_b is None:
                    counts[part], joint[part] = inversions.concordance(rows, columns, same)
                else:
                    _fill(rows[0], rows[3], blocks_a, columns[3], blocks_b, same, counts[part], joint[part])
    return counts, joint


def bytes_needed(a: int, b: int, n: int) -> int:
    """Maximum bytes of the arranged samples for a × b pairs of samples with n items."""
    runs = 2 * n // RUN + 1  # two blocks that follow one another hold more than 64 items
    words = 4 * PARTS * (1 + GROUP * GROUP)
    return (min(a, SAMPLES) + min(b, HELD)) * (2 * n + runs * (2 * RUN + words)) + 4 * LIMIT + 2**16


# Arrangement -------------------------------------------------------------------------------------------------------


def _part(arrays: tuple[Array, ...], first: int) -> tuple[Array, ...]:
    return tuple(array[first : first + SAMPLES] for array in arrays)


def _arranged(arrays: tuple[Array, ...]) -> Blocks | None:
    """Items of each sample in blocks; None if there are more blocks than keys for them."""
    order, _, tied, _ = arrays
    m, n = order.shape
    work = {division: int(_count_blocks(tied[:2], *division)[3].sum()) for division in DIVISIONS}
    for large, group_bits in sorted(DIVISIONS, key=lambda division: work[division]):
        number, small, parts, _ = _count_blocks(tied, large, group_bits)
        most = int(number.max(initial=1))
        rows = -(-most // LANES)
        if rows << group_bits <= 1 << LANE_SHIFT:
            break
    else:
        return None
    runs = -(-int(small.max(initial=0)) // LANES)
    blocks = Blocks(
        keys=np.full((m, n + 1), LIMIT, dtype=np.uint16),
        rows=rows,
        group_bits=group_bits,
        blocks=number,
        borders=np.full((m, most + 1), n, dtype=np.int64),
        is_large=np.zeros((m, most), dtype=np.bool_),
        walk=np.full((m, runs * RUN), n, dtype=np.uint16),
        at=np.full((m, runs, PARTS), -1, dtype=np.int32),
        untied=np.zeros((m, int(parts.max(initial=0)) * GROUP * GROUP), dtype=np.uint32),
    )
    _arrange(order, tied, large, blocks)
    return blocks


@compiled
def _count_blocks(tied, large, group_bits):  # type: ignore[no-untyped-def]
    """Count the blocks of each sample, its blocks of small tie groups, its parts with ties at most, and its work."""
    m, n = tied.shape
    blocks, small, parts, work = np.zeros((4, m), np.int64)
    for sample in range(m):
        items, groups, longest = SIDE, 0, 1
        start = 0
        while start < n:
            stop = _end_of_group(tied[sample], start)
            size = stop - start
            if size > large or items + size > SIDE or groups == 1 << group_bits:
                blocks[sample] += 1
                small[sample] += size <= large
                items = groups = 0
                if small[sample] % LANES == 1 and size <= large:  # the first block of a run
                    parts[sample] += _parts_with_ties(longest)
                    longest = 1
            if size <= large:
                longest = max(longest, size)
            items, groups = SIDE if size > large else items + size, groups + 1
            start = stop
        parts[sample] += _parts_with_ties(longest)
        runs, rows = (small[sample] + LANES - 1) // LANES, (blocks[sample] + LANES - 1) // LANES
        work[sample] = (2 * runs * PARTS + parts[sample]) * GROUP * GROUP + blocks[sample] * (ROW * rows + BLOCK)
    return blocks, small, parts, work


@compiled
def _parts_with_ties(longest):  # type: ignore[no-untyped-def]
    """Number of parts of a run in which items may be tied, if its longest tie group has ``longest`` items."""
    parts = np.int64(0)
    for distance in range(SIDE // GROUP):
        if max(1, GROUP * distance - GROUP + 1) < longest:
            parts += SIDE // GROUP - distance
    return parts


@compiled
def _end_of_group(tied, start):  # type: ignore[no-untyped-def]
    stop = start + 1
    while stop < len(tied) and tied[stop]:
        stop += 1
    return stop


@compiled
def _arrange(order, tied, large, blocks):  # type: ignore[no-untyped-def]
    padding = np.empty(blocks.walk.shape[1] + 2 * LANES, np.uint16)
    for k in range(len(padding)):
        padding[k] = SIDE + k // LANES % SIDE  # is tied with nothing
    groups = np.empty_like(padding)
    for sample in range(len(order)):
        for k in range(len(padding)):  # numba takes seconds to compile a copy of a slice, for its message
            groups[k] = padding[k]
        _divide(
            order[sample], tied[sample], large, blocks.rows, blocks.group_bits,
            blocks.keys[sample], blocks.borders[sample], blocks.is_large[sample], blocks.walk[sample], groups,
        )  # fmt: skip
        _find_ties(groups, blocks.at[sample], blocks.untied[sample])


@compiled
def _divide(order, tied, large, rows, group_bits, keys, borders, is_large, walk, groups):  # type: ignore[no-untyped-def]
    """Divide the items of a sample into blocks, and fill the tie group in its block of each item of its walk."""
    block, lane, items, group, first = -1, -1, SIDE, 0, 0
    place, key, is_small = np.uint64(0), np.uint16(0), False
    for k in range(len(order)):
        if not tied[k]:
            size = _end_of_group(tied, k) - k
            group += 1
            if size > large or items + size > SIDE or group == 1 << group_bits:
                block += 1
                items = group = 0
                first = (block // rows << LANE_SHIFT) + (block % rows << group_bits)
                borders[block], is_large[block], is_small = k, size > large, size <= large
                if is_small:
                    lane += 1
                    place = np.uint64(lane // LANES * RUN + lane % LANES)
            items = items + size if is_small else SIDE
            key = np.uint16(first + group)
        item = order[k]
        keys[item] = key
        if is_small:
            walk[place], groups[place] = item, group
            place += np.uint64(LANES)


@compiled
def _find_ties(groups, at, untied):  # type: ignore[no-untyped-def]
    """Fill the words of the parts with ties, and their positions."""
    filled = 0
    for run in range(at.shape[0]):
        part = 0
        for first in range(run * RUN, run * RUN + RUN, STEP):
            for second in range(first, run * RUN + RUN, STEP):
                found = False
                for later in range(GROUP):
                    for earlier in range(later if first == second else GROUP):
                        unequal = unequal_bits(groups, first + earlier * LANES, second + later * LANES)
                        word = unequal & ALL  # 32 of 64 bits: of the two rows, not of the next two
                        if filled < len(untied):
                            untied[filled + GROUP * later + earlier] = word
                        found |= word != ALL
                if found:
                    at[run, part] = filled
                    filled += GROUP * GROUP
                part += 1


# Pairs of samples --------------------------------------------------------------------------------------------------


@compiled
def _fill(order, untied_a, A, untied_b, B, symmetric, counts, joint):  # type: ignore[no-untyped-def]
    a, n = order.shape
    pairs = np.int64(n) * (n - 1) // 2
    values, places = np.empty(RUN, np.uint16), np.empty(RUN, np.uint16)
    later, here = np.zeros(B.rows * LANES, np.uint16), np.zeros(B.rows * LANES, np.uint16)
    block, seen = np.empty(n + 1, np.uint16), np.zeros(LIMIT + 2, np.uint32)
    for first in range(0, len(B.keys), COLUMNS):
        for i in range(min(a, first + COLUMNS) if symmetric else a):
            for item in range(n):
                block[item] = A.keys[i, item] >> np.uint16(A.group_bits)
            block[n] = LIMIT
            for j in range(max(first, i) if symmetric else first, min(first + COLUMNS, len(B.keys))):
                later[:] = 0
                inverted, both = _by_blocks(
                    order[i], A.blocks[i], A.borders[i], A.is_large[i], A.walk[i], A.at[i], A.untied[i],
                    B.keys[j], B.rows, B.group_bits, untied_b[j] < pairs, values, places, later, here, seen,
                )  # fmt: skip
                inverted += _in_buckets(block, B.walk[j], B.at[j], B.untied[j], values)
                counts[i, j] = untied_a[i] + untied_b[j] - pairs + both - 2 * inverted
                joint[i, j] = both


@compiled
def _by_blocks(  # type: ignore[no-untyped-def]
    order, blocks, borders, is_large, walk, at, untied,
    keys, rows, group_bits, has_ties,
    values, places, later, here, seen,
):  # fmt: skip
    """Number of discordant pairs of cases 1 and 2, and of pairs tied in both; ``values`` to ``seen`` are scratch."""
    total, both = np.int64(0), np.int64(0)
    lane = 0
    for block in range(blocks):
        start, stop = borders[block], borders[block + 1]
        if is_large[block]:
            stamp = _next_stamp(seen)
            for k in range(start, stop):
                key = keys[order[k]]
                place = _place(key, group_bits)
                total += later[place]
                here[place] += np.uint16(1)
                if has_ties:
                    times = seen[key] ^ stamp
                    times = times if times <= np.uint32(LIMIT) else np.uint32(0)
                    both += times
                    seen[key] = stamp + times + np.uint32(1)
            add_later_counts(later, here, rows)
            continue
        run, column = lane // LANES, lane % LANES
        if column == 0:
            for q in range(RUN):
                values[q] = keys[walk[run * RUN + q]]
            _find_places(values, group_bits, places)
            total += _inversions(values, at[run], untied)
            if has_ties:
                both += _equals(values, at[run], untied)
        for k in range(stop - start):
            place = places[k * LANES + column]
            total += later[place]
            here[place] += np.uint16(1)
        add_later_counts(later, here, rows)
        lane += 1
    return total, both


@compiled
def _find_places(keys, group_bits, places):  # type: ignore[no-untyped-def]
    """Fill the position in the table of each key; one loop for each layout, so that the shifts are constant."""
    if group_bits == 6:
        for q in range(RUN):
            places[q] = _place(keys[q], 6)
    else:
        for q in range(RUN):
            places[q] = _place(keys[q], 5)


@compiled
def _place(key, group_bits):  # type: ignore[no-untyped-def]
    row = key % np.uint16(1 << LANE_SHIFT) >> np.uint16(group_bits)
    return row * np.uint16(LANES) + (key >> np.uint16(LANE_SHIFT))


@compiled
def _in_buckets(block, walk, at, untied, values):  # type: ignore[no-untyped-def]
    """Number of discordant pairs of case 3."""
    total = np.int64(0)
    for run in range(at.shape[0]):
        for q in range(RUN):
            values[q] = block[walk[run * RUN + q]]
        total += _inversions(values, at[run], untied)
    return total


@compiled
def _inversions(values, at, untied):  # type: ignore[no-untyped-def]
    """Number of inversions in the 32 blocks of a run, without pairs of one tie group."""
    total = np.int64(0)
    part = 0
    for first in range(0, RUN, STEP):
        if at[part] < 0:
            total += inversions_within(values, first)
        else:
            total += untied_inversions(values, first, None, untied, at[part])
        part += 1
        for second in range(first + STEP, RUN, STEP):
            if at[part] < 0:
                total += inversions_between(values, first, second)
            else:
                total += untied_inversions(values, first, second, untied, at[part])
            part += 1
    return total


@compiled
def _equals(values, at, untied):  # type: ignore[no-untyped-def]
    """Number of pairs of one tie group with equal values, in the 32 blocks of a run."""
    total = np.int64(0)
    part = 0
    for first in range(0, RUN, STEP):
        if at[part] >= 0:
            total += tied_equals(values, first, None, untied, at[part])
        part += 1
        for second in range(first + STEP, RUN, STEP):
            if at[part] >= 0:
                total += tied_equals(values, first, second, untied, at[part])
            part += 1
    return total


@compiled
def _next_stamp(seen):  # type: ignore[no-untyped-def]
    """High bits that no count in ``seen`` has yet; its last entry holds the last ones."""
    if seen[-1] == np.uint32(LIMIT << 16):
        seen[:] = 0
    seen[-1] += np.uint32(1 << 16)
    return seen[-1]
