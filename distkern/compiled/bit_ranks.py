"""A set of positions in which the members below a position are counted in a few instructions, whatever its size.

A word of 64 bits marks the members among 64 positions, and ``below`` contains for each word the number of members
before it. So the members below a position are one entry of ``below`` and the low bits of one word, and a new member
adds one to the entries of all later words: a vector operation for 32 words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from distkern.compiled.simd import LANES, popcount
from distkern.core.jit import compiled


@compiled
def words_of(positions):  # type: ignore[no-untyped-def]
    """Length of both arrays of a set of positions 0, …, ``positions`` − 1: a multiple of 32."""
    return (positions // 64 // LANES + 1) * LANES


@compiled
def count_below(bits, below, position):  # type: ignore[no-untyped-def]
    """Number of members below a position, which is at most the number of positions."""
    word, bit = np.uint64(position) >> np.uint64(6), np.uint64(position) & np.uint64(63)
    return np.int64(below[word]) + np.int64(popcount(bits[word] & ((np.uint64(1) << bit) - np.uint64(1))))


@compiled
def add_member(bits, below, position):  # type: ignore[no-untyped-def]
    """Add a position, which is not a member yet."""
    mark(bits, position)
    for start in range(0, len(below), LANES):
        increment_after(below, start, np.int64(position) // 64 - start)


@compiled
def recount(bits, below, words):  # type: ignore[no-untyped-def]
    """Count the members anew, after some were added by `mark`."""
    total = np.int64(0)
    for word in range(words):
        below[word] = total
        total += popcount(bits[word])


@compiled
def mark(bits, position):  # type: ignore[no-untyped-def]
    """Add a position, and leave the counts as they are."""
    bits[np.uint64(position) >> np.uint64(6)] |= np.uint64(1) << (np.uint64(position) & np.uint64(63))


def increment_after(counts: Any, start: int, lane: Any) -> None:
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
