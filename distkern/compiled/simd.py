"""Vector operations that LLVM does not generate from loops, written in LLVM's intermediate representation.

Each operation is a plain Python function, which is called with ``NUMBA_DISABLE_JIT=1``, and an overload with a compiled
body. Vectors have 32 lanes of 16 bits, or produce 64 bits; LLVM maps them to the registers of any processor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

LANES = 32
"""Number of values compared at a time."""

GROUP = 8
"""Number of rows of lanes that `inversions_within` and `inversions_between` compare."""

SHORT = ir.IntType(16)
VECTOR = ir.VectorType(SHORT, LANES)


def popcount(word: Any) -> int:
    """Number of bits set in a 64-bit word."""
    return int(word).bit_count()


def greater_bits(values: Any, left: int, right: int) -> Any:
    """64 bits: bit k is set where values[left + k] > values[right + k]."""
    return sum(int(values[left + k] > values[right + k]) << k for k in range(64))


def unequal_bits(values: Any, left: int, right: int) -> Any:
    """64 bits: bit k is set where values[left + k] != values[right + k]."""
    return sum(int(values[left + k] != values[right + k]) << k for k in range(64))


def inversions_within(values: Any, start: int, counts: Any) -> None:
    """Add to ``counts``, for each lane, the inversions among the eight rows of 32 values from ``start`` on."""
    for later in range(GROUP):
        for earlier in range(later):
            for lane in range(LANES):
                a, b = values[start + LANES * earlier + lane], values[start + LANES * later + lane]
                counts[lane] += a > b


def inversions_between(values: Any, first: int, second: int, counts: Any) -> None:
    """Add to ``counts``, for each lane, the inversions between eight earlier and eight later rows of 32 values."""
    for later in range(GROUP):
        for earlier in range(GROUP):
            for lane in range(LANES):
                a, b = values[first + LANES * earlier + lane], values[second + LANES * later + lane]
                counts[lane] += a > b


def add_later_counts(later: Any, counts: Any, rows: int) -> None:
    """later[b] += total count of the buckets after b; then set ``counts`` to zero.

    Bucket b = lane · rows + row is stored at index row · 32 + lane of both arrays. The total is therefore a sum over
    later rows of its lane plus a sum over later lanes.
    """
    total = 0
    for lane in range(LANES - 1, -1, -1):
        for row in range(rows - 1, -1, -1):
            index = row * LANES + lane
            later[index] += total
            total += counts[index]
            counts[index] = 0


# Compiled bodies -----------------------------------------------------------------------------------------------------


@intrinsic
def _popcount(typing: Any, word: Any) -> Any:
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@overload(popcount, inline="always")
def _popcount_body(word):  # type: ignore[no-untyped-def]
    return lambda word: _popcount(word)  # type: ignore[call-arg]


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _at(builder: Any, data: Any, place: Any, vector: Any) -> Any:
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _load(builder: Any, data: Any, start: Any, offset: int, vector: Any = VECTOR) -> Any:
    place = builder.add(start, ir.Constant(start.type, offset))
    return builder.load(_at(builder, data, place, vector), align=2)


def _comparison(relation: str) -> Any:
    @intrinsic
    def compare(typing: Any, values: Any, left: Any, right: Any) -> Any:
        wide = ir.VectorType(SHORT, 64)

        def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = _data(context, builder, signature.args[0], args[0])
            a, b = (_load(builder, data, start, 0, wide) for start in args[1:])
            return builder.bitcast(builder.icmp_unsigned(relation, a, b), ir.IntType(64))

        return types.uint64(values, types.intp, types.intp), body

    return compare


_greater_bits, _unequal_bits = _comparison(">"), _comparison("!=")


@overload(greater_bits, inline="always")
def _greater_bits_body(values, left, right):  # type: ignore[no-untyped-def]
    return lambda values, left, right: _greater_bits(values, left, right)


@overload(unequal_bits, inline="always")
def _unequal_bits_body(values, left, right):  # type: ignore[no-untyped-def]
    return lambda values, left, right: _unequal_bits(values, left, right)


def _count_inversions(builder: Any, data: Any, counts: Any, first: Any, second: Any) -> None:
    """Compare each of eight rows with each later row (``second`` None), or with each of eight other rows."""
    target = builder.bitcast(counts, VECTOR.as_pointer())
    sums = [builder.load(target, align=2)] + [
        ir.Constant(VECTOR, [0] * LANES)
    ] * 3  # four independent sums, to hide latency
    rows = [_load(builder, data, first, LANES * row) for row in range(GROUP)]
    step = 0
    for later in range(GROUP):
        other = rows[later] if second is None else _load(builder, data, second, LANES * later)
        for earlier in range(later if second is None else GROUP):
            above = builder.sext(builder.icmp_unsigned(">", rows[earlier], other), VECTOR)  # −1 where inverted
            sums[step % 4] = builder.sub(sums[step % 4], above)
            step += 1
    total = builder.add(builder.add(sums[0], sums[1]), builder.add(sums[2], sums[3]))
    builder.store(total, target, align=2)


@intrinsic
def _inversions_within(typing: Any, values: Any, start: Any, counts: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, out = (_data(context, builder, signature.args[k], args[k]) for k in (0, 2))
        _count_inversions(builder, data, out, args[1], None)
        return context.get_dummy_value()

    return types.void(values, types.intp, counts), body


@overload(inversions_within, inline="always")
def _inversions_within_body(values, start, counts):  # type: ignore[no-untyped-def]
    return lambda values, start, counts: _inversions_within(values, start, counts)  # type: ignore[call-arg]


@intrinsic
def _inversions_between(typing: Any, values: Any, first: Any, second: Any, counts: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, out = (_data(context, builder, signature.args[k], args[k]) for k in (0, 3))
        _count_inversions(builder, data, out, args[1], args[2])
        return context.get_dummy_value()

    return types.void(values, types.intp, types.intp, counts), body


@overload(inversions_between, inline="always")
def _inversions_between_body(values, first, second, counts):  # type: ignore[no-untyped-def]
    return lambda values, first, second, counts: _inversions_between(  # type: ignore[call-arg]
        values, first, second, counts
    )


def _add_later(rows: int) -> Any:
    @intrinsic
    def add(typing: Any, later: Any, counts: Any) -> Any:
        def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            into, taken = (_data(context, builder, signature.args[k], args[k]) for k in (0, 1))
            zeros, start = ir.Constant(VECTOR, [0] * LANES), ir.Constant(ir.IntType(64), 0)
            down, below = zeros, [zeros] * rows
            for row in range(rows - 1, -1, -1):
                below[row] = down
                down = builder.add(down, _load(builder, taken, start, LANES * row))
                place = ir.Constant(ir.IntType(64), LANES * row)
                builder.store(zeros, _at(builder, taken, place, VECTOR), align=2)
            behind, step = _shifted(builder, down, 1), 1
            while step < LANES:
                behind, step = builder.add(behind, _shifted(builder, behind, step)), 2 * step
            for row in range(rows):
                target = _at(builder, into, ir.Constant(ir.IntType(64), LANES * row), VECTOR)
                more = builder.add(below[row], behind)
                builder.store(builder.add(builder.load(target, align=2), more), target, align=2)
            return context.get_dummy_value()

        return types.void(later, counts), body

    return add


def _shifted(builder: Any, vector: Any, lanes: int) -> Any:
    """Shift all lanes down by ``lanes``, with zeros at the top."""
    chosen = [min(lane + lanes, LANES) for lane in range(LANES)]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), chosen)
    return builder.shuffle_vector(vector, ir.Constant(VECTOR, [0] * LANES), mask)


_add_later_16, _add_later_32 = _add_later(16), _add_later(32)


@overload(add_later_counts, inline="always")
def _add_later_body(later, counts, rows):  # type: ignore[no-untyped-def]
    def body(later, counts, rows):  # type: ignore[no-untyped-def]
        if rows == 16:
            _add_later_16(later, counts)
        else:
            _add_later_32(later, counts)

    return body
