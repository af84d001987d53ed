"""Vector operations that LLVM does not generate from loops, written in LLVM's intermediate representation.

Each operation is a plain Python function, which is called with ``NUMBA_DISABLE_JIT=1``, and an overload with a compiled
body. Vectors have 32 lanes of 16 bits, or produce 64 bits; LLVM maps them to the registers of any processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LANES = 32
"""Number of values compared at a time."""

GROUP = 8
"""Number of rows of lanes that `inversions_within` and `inversions_between` compare."""

SHORT = ir.IntType(16)
WORD = ir.IntType(32)
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


def inversions_within(values: Any, start: int) -> int:
    """Number of inversions among the eight rows of 32 values from ``start`` on, lane by lane."""
    return sum(
        _inverted(values, start + LANES * earlier, start + LANES * later)
        for later in range(GROUP)
        for earlier in range(later)
    )


def inversions_between(values: Any, first: int, second: int) -> int:
    """Number of inversions between eight earlier and eight later rows of 32 values, lane by lane."""
    return sum(
        _inverted(values, first + LANES * earlier, second + LANES * later)
        for later in range(GROUP)
        for earlier in range(GROUP)
    )


def _inverted(values: Any, first: int, second: int) -> int:
    return sum(int(values[first + lane] > values[second + lane]) for lane in range(LANES))


def untied_inversions(values: Any, first: int, second: int | None, untied: Any, at: int) -> int:
    """Number of inversions of `inversions_between`, or without ``second`` of `inversions_within`, less tied items.

    Bit l of untied[at + 8 · later + earlier] is set unless the items in lane l of the two rows are tied.
    """
    return sum(
        int(values[left + lane] > values[right + lane]) & int(word) >> lane
        for left, right, word in _row_pairs(first, second, untied, at)
        for lane in range(LANES)
    )


def tied_equals(values: Any, first: int, second: int | None, untied: Any, at: int) -> int:
    """Number of tied items whose values are equal, in the pairs of rows that `untied_inversions` compares."""
    return sum(
        int(values[left + lane] == values[right + lane]) & ~(int(word) >> lane)
        for left, right, word in _row_pairs(first, second, untied, at)
        for lane in range(LANES)
    )


def _row_pairs(first: int, second: int | None, untied: Any, at: int) -> Iterator[tuple[int, int, Any]]:
    start = first if second is None else second
    for later in range(GROUP):
        for earlier in range(later if second is None else GROUP):
            yield first + LANES * earlier, start + LANES * later, untied[at + GROUP * later + earlier]


def add_later_counts(later: Any, counts: Any, rows: int) -> None:
    """later[b] += total count of the buckets after b; then counts = 0.

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


def has_feature(context: Any, name: str) -> bool:
    """Whether the processor that code is compiled for has a feature, by LLVM's name."""
    return f"+{name}" in context.codegen().magic_tuple()[2].split(",")


class _Count:
    """Number of true comparisons of 32 lanes.

    Processors with AVX-512 count the bits of masks; for others, lanes count, which the vector units do faster.
    """

    def __init__(self, context: Any, builder: Any) -> None:
        self.builder, self.by_mask = builder, has_feature(context, "avx512bw")
        zero = ir.Constant(ir.IntType(32) if self.by_mask else VECTOR, 0 if self.by_mask else [0] * LANES)
        self.sums, self.step = [zero] * 4, 0  # four independent sums, to hide latency

    def add(self, true: Any) -> None:
        old = self.sums[self.step % 4]
        if self.by_mask:
            bits = self.builder.ctpop(self.builder.bitcast(true, ir.IntType(32)))
            self.sums[self.step % 4] = self.builder.add(old, bits)
        else:
            self.sums[self.step % 4] = self.builder.sub(old, self.builder.sext(true, VECTOR))  # true is −1
        self.step += 1

    def total(self) -> Any:
        add, (a, b, c, d) = self.builder.add, self.sums
        total = add(add(a, b), add(c, d))
        if not self.by_mask:
            step = LANES // 2
            while step:
                total = add(total, _shifted(self.builder, total, step))
                step //= 2
            total = self.builder.extract_element(total, ir.Constant(ir.IntType(32), 0))
        return self.builder.zext(total, ir.IntType(64))


def _count_inversions(context: Any, builder: Any, data: Any, first: Any, second: Any) -> Any:
    """Compare each of eight rows with each later row (``second`` None), or with each of eight other rows."""
    inverted = _Count(context, builder)
    rows = [_load(builder, data, first, LANES * row) for row in range(GROUP)]
    for later in range(GROUP):
        other = rows[later] if second is None else _load(builder, data, second, LANES * later)
        for earlier in range(later if second is None else GROUP):
            inverted.add(builder.icmp_unsigned(">", rows[earlier], other))
    return inverted.total()


@intrinsic
def _inversions_within(typing: Any, values: Any, start: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _count_inversions(context, builder, _data(context, builder, signature.args[0], args[0]), args[1], None)

    return types.int64(values, types.intp), body


@overload(inversions_within, inline="always")
def _inversions_within_body(values, start):  # type: ignore[no-untyped-def]
    return lambda values, start: _inversions_within(values, start)  # type: ignore[call-arg]


@intrinsic
def _inversions_between(typing: Any, values: Any, first: Any, second: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _count_inversions(
            context, builder, _data(context, builder, signature.args[0], args[0]), args[1], args[2]
        )

    return types.int64(values, types.intp, types.intp), body


@overload(inversions_between, inline="always")
def _inversions_between_body(values, first, second):  # type: ignore[no-untyped-def]
    return lambda values, first, second: _inversions_between(values, first, second)  # type: ignore[call-arg]


def _masked(equals: bool, between: bool) -> Any:
    """Count inversions of untied items, or equal values of tied ones as what is neither unequal nor untied."""

    @intrinsic
    def count(typing: Any, values: Any, first: Any, second: Any, untied: Any, at: Any) -> Any:
        def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data, words = (_data(context, builder, signature.args[k], args[k]) for k in (0, 3))
            rows = [_load(builder, data, args[1], LANES * row) for row in range(GROUP)]
            sums = [ir.Constant(WORD, 0)] * 4  # four independent sums, to hide latency
            for later in range(GROUP):
                other = _load(builder, data, args[2], LANES * later) if between else rows[later]
                for earlier in range(GROUP if between else later):
                    place = builder.add(args[4], ir.Constant(args[4].type, GROUP * later + earlier))
                    word = builder.load(builder.gep(words, [place]))
                    compared = builder.icmp_unsigned("!=" if equals else ">", rows[earlier], other)
                    join = builder.or_ if equals else builder.and_
                    found = builder.ctpop(join(builder.bitcast(compared, WORD), word))
                    sums[earlier % 4] = builder.add(sums[earlier % 4], found)
            a, b, c, d = sums
            total = builder.add(builder.add(a, b), builder.add(c, d))
            if equals:
                pairs = GROUP * GROUP if between else GROUP * (GROUP - 1) // 2
                total = builder.sub(ir.Constant(WORD, pairs * LANES), total)
            return builder.zext(total, ir.IntType(64))

        return types.int64(values, types.intp, second, untied, types.intp), body

    return count


_untied_within, _untied_between = _masked(False, False), _masked(False, True)
_equal_within, _equal_between = _masked(True, False), _masked(True, True)


@overload(untied_inversions, inline="always")
def _untied_inversions_body(values, first, second, untied, at):  # type: ignore[no-untyped-def]
    if isinstance(second, types.NoneType):
        return lambda values, first, second, untied, at: _untied_within(values, first, second, untied, at)
    return lambda values, first, second, untied, at: _untied_between(values, first, second, untied, at)


@overload(tied_equals, inline="always")
def _tied_equals_body(values, first, second, untied, at):  # type: ignore[no-untyped-def]
    if isinstance(second, types.NoneType):
        return lambda values, first, second, untied, at: _equal_within(values, first, second, untied, at)
    return lambda values, first, second, untied, at: _equal_between(values, first, second, untied, at)


@intrinsic
def _add_later_counts(typing: Any, later: Any, counts: Any, rows: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        into, taken = (_data(context, builder, signature.args[k], args[k]) for k in (0, 1))
        zeros = ir.Constant(VECTOR, [0] * LANES)
        after = cgutils.alloca_once_value(builder, zeros)  # counts after a bucket, for one row
        number, one, lanes = args[2], *(ir.Constant(args[2].type, value) for value in (1, LANES))
        with cgutils.for_range(builder, number) as loop:
            row = _load(builder, taken, builder.mul(loop.index, lanes), 0)
            builder.store(builder.add(builder.load(after), row), after)
        behind, step = _shifted(builder, builder.load(after), 1), 1
        while step < LANES:
            behind, step = builder.add(behind, _shifted(builder, behind, step)), 2 * step
        builder.store(behind, after)
        with cgutils.for_range(builder, number) as loop:  # from the last row to the first
            start = builder.mul(builder.sub(builder.sub(number, loop.index), one), lanes)
            target, source = (_at(builder, data, start, VECTOR) for data in (into, taken))
            old, new, more = builder.load(target, align=2), builder.load(source, align=2), builder.load(after)
            builder.store(builder.add(old, more), target, align=2)
            builder.store(zeros, source, align=2)
            builder.store(builder.add(more, new), after)
        return context.get_dummy_value()

    return types.void(later, counts, types.int64), body


@overload(add_later_counts, inline="always")
def _add_later_body(later, counts, rows):  # type: ignore[no-untyped-def]
    return lambda later, counts, rows: _add_later_counts(later, counts, rows)  # type: ignore[call-arg]


def _shifted(builder: Any, vector: Any, lanes: int) -> Any:
    """Shift all lanes down by ``lanes``, with zeros at the top."""
    size = vector.type.count
    mask = ir.Constant(ir.VectorType(ir.IntType(32), size), [min(lane + lanes, size) for lane in range(size)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, [0] * size), mask)
