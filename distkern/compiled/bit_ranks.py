"""A set of positions in which the members below a position are counted in a few instructions, whatever its size.

A word of 64 bits marks the members among 64 positions. For each word a number tells how many members of its 32 words,
and for each 32 words another one how many members of all, come before. So the members below a position are two such
numbers and the low bits of one word; a new member adds one to all later numbers of both kinds, 32 at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from distkern.compiled.simd import LANES, popcount
from distkern.core.jit import compiled
from distkern.core.typing import Array


class PositionSet(NamedTuple):
    """A set of positions, see `empty_set`.

    Parameters
    ----------
    bits
        The members among 64 positions, uint64 (words,).
    within
        For each word, the members before it in its row of 32 words, uint16 (words,).
    before
        For each row, the members before it, uint32; padded to a multiple of 32.
    """

    bits: Array
    within: Array
    before: Array


@compiled
def empty_set(positions):  # type: ignore[no-untyped-def]
    """Make a set without members, of the positions 0, …, ``positions`` − 1."""
    words, padded = _lengths(positions)
    within, before = _aligned_zeros(words, np.uint16), _aligned_zeros(padded, np.uint32)
    return PositionSet(np.zeros(words, np.uint64), within, before)


@compiled
def _aligned_zeros(count, kind):  # type: ignore[no-untyped-def]
    """Zeros whose vectors lie in one line of the cache each, where that is possible."""
    array = np.zeros(count + 64, kind)
    start = -array.ctypes.data % 64 // array.itemsize
    return array[start : start + count]


@compiled
def part_of_set(members, positions):  # type: ignore[no-untyped-def]
    """View a set as one of fewer positions, which is faster to add to and to empty."""
    words, padded = _lengths(positions)
    return PositionSet(members.bits[:words], members.within[:words], members.before[:padded])


@compiled
def _lengths(positions):  # type: ignore[no-untyped-def]
    """Number of words, whole rows of them, and number of rows, padded."""
    rows = positions // (64 * LANES) + 1
    return rows * LANES, (rows - 1) // LANES * LANES + LANES


@compiled
def count_below(members, position):  # type: ignore[no-untyped-def]
    """Number of members below a position, which is at most the number of positions."""
    word, bit = np.uint64(position) >> np.uint64(6), np.uint64(position) & np.uint64(63)
    lower = members.bits[word] & ((np.uint64(1) << bit) - np.uint64(1))
    return np.int64(members.before[word // np.uint64(LANES)]) + np.int64(members.within[word]) + popcount(lower)


@compiled
def add_member(members, position):  # type: ignore[no-untyped-def]
    """Add a position, which is not a member yet."""
    word = np.int64(position) // 64
    row = word // LANES
    members.bits[word] |= np.uint64(1) << (np.uint64(position) & np.uint64(63))
    increment_after(members.within, row * LANES, word - row * LANES)
    if len(members.bits) > LANES:  # there are several rows
        for start in range(0, len(members.before), LANES):
            increment_after(members.before, start, row - start)


@compiled
def remove_all(members):  # type: ignore[no-untyped-def]
    """Empty a set."""
    members.bits[:] = 0
    members.within[:] = 0
    members.before[:] = 0


def increment_after(counts: Any, start: Any, lane: Any) -> None:
    """Add one to those of 32 counts from ``start`` on that come after a lane; the lane may be outside of them."""
    for later in range(max(0, int(lane) + 1), LANES):
        counts[start + later] += 1


@intrinsic
def _increment_after(typing: Any, counts: Any, start: Any, lane: Any) -> Any:
    width = counts.dtype.bitwidth
    vector = ir.VectorType(ir.IntType(width), LANES)

    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        at = builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer())
        zeros, first = ir.Constant(vector, [0] * LANES), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        lanes = builder.insert_element(zeros, builder.trunc(args[2], vector.element), ir.Constant(ir.IntType(32), 0))
        lanes = builder.shuffle_vector(lanes, zeros, first)
        after = builder.icmp_signed(">", ir.Constant(vector, list(range(LANES))), lanes)
        found = builder.load(at, align=width // 8)
        builder.store(builder.sub(found, builder.sext(after, vector)), at, align=width // 8)
        return context.get_dummy_value()

    return types.void(counts, types.intp, types.int64), body


@overload(increment_after, inline="always")
def _increment_after_body(counts, start, lane):  # type: ignore[no-untyped-def]
    return lambda counts, start, lane: _increment_after(counts, start, lane)  # type: ignore[call-arg]
