"""Vector operations on rows of eight numbers, the lanes, or on single numbers.

Work on several columns at a time, each in its own lane, takes one vector instruction where a loop over the columns
would take many. The tables are (rows, LANES), C-contiguous, or (rows,) for a single column: one routine serves both.
Each lane has the bits that it would have alone. `zeros` makes tables whose rows are lines of the cache: a row that lies
across two lines is looked up at half the speed.

Each operation is a plain Python function, which is called with ``NUMBA_DISABLE_JIT=1``, and an overload with a compiled
body.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from distkern.core.typing import Array, Floats

LANES = 8
"""Number of columns in a row: 64 bytes, a line of the cache."""

TOGETHER = 8
"""Number of samples that the looked-up operations take together: what the registers hold."""

LINE = 64
"""Bytes of a line of the cache."""

NUMBER = ir.DoubleType()
ROW = ir.VectorType(NUMBER, LANES)


def zeros(*shape: int) -> Floats:
    """Zeros that begin at a line of the cache.

    Examples
    --------
    >>> zeros(3, 8).ctypes.data % 64
    0
    """
    size = 8 * math.prod(shape)
    memory = np.zeros(size + LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(np.float64).reshape(shape)


def in_lanes(V: Array) -> list[Floats]:
    """Columns (n, C) as tables: one (n,) of a single column, else (n, LANES) of eight columns each, filled with zeros.

    Examples
    --------
    >>> [table.shape for table in in_lanes(np.ones((5, 11)))], [table.shape for table in in_lanes(np.ones((5, 1)))]
    ([(5, 8), (5, 8)], [(5,)])
    """
    n, columns = V.shape
    if columns == 1:
        return [np.array(V[:, 0], dtype=np.float64)]
    tables = zeros(-(-columns // LANES), n, LANES)
    for number, table in enumerate(tables):
        part = V[:, number * LANES : (number + 1) * LANES]
        table[:, : part.shape[1]] = part
    return list(tables)


def from_lanes(tables: Sequence[Floats], columns: int) -> Floats:
    """Columns (n, C) of the tables of `in_lanes`."""
    return np.hstack([table.reshape(len(table), -1) for table in tables])[:, :columns]


def add_products(out: Any, i: Any, a: Any, j: Any, b: Any, k: Any) -> None:
    """out[i] += a[j] · b[k], lane by lane."""
    out[i] += a[j] * b[k]


def add_scaled(out: Any, i: Any, a: Any, j: Any, factor: Any) -> None:
    """out[i] += factor · a[j], lane by lane."""
    out[i] += factor * a[j]


def add_looked_up_products(ranks, first, start, stop, W, F, Z):  # type: ignore[no-untyped-def]
    """Z[i] += Σ_j W[j] · F[ranks[i, j]] over features j, for eight samples i from the first one on, lane by lane."""
    for j in range(start, stop):
        for i in range(first, first + TOGETHER):
            Z[i] += W[j] * F[ranks[i, j]]


def add_looked_up_rows(ranks, first, start, stop, R, F, G):  # type: ignore[no-untyped-def]
    """G[j] += Σ_i R[i] · F[ranks[i, j]] over eight samples i from the first one on, for features j, lane by lane."""
    for j in range(start, stop):
        for i in range(first, first + TOGETHER):
            G[j] += R[i] * F[ranks[i, j]]


def add_to_looked_up(ranks, first, start, stop, R, W, G):  # type: ignore[no-untyped-def]
    """G[ranks[i, j]] += R[i] · W[j] for eight samples i from the first one on and features j, lane by lane."""
    for j in range(start, stop):
        for i in range(first, first + TOGETHER):
            G[ranks[i, j]] += R[i] * W[j]


# Compiled bodies -----------------------------------------------------------------------------------------------------


def _row(context: Any, builder: Any, kind: Any, table: Any, number: Any) -> Any:
    data = context.make_array(kind)(context, builder, table).data
    place = builder.gep(data, [builder.mul(number, ir.Constant(number.type, LANES))])
    return builder.bitcast(place, ROW.as_pointer())


def _add(builder: Any, place: Any, product: Any) -> None:
    builder.store(builder.fadd(builder.load(place, align=8), product), place, align=8)


@intrinsic
def _add_products(typing: Any, out: Any, i: Any, a: Any, j: Any, b: Any, k: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, left, right = (_row(context, builder, signature.args[n], args[n], args[n + 1]) for n in (0, 2, 4))
        _add(builder, place, builder.fmul(builder.load(left, align=8), builder.load(right, align=8)))
        return context.get_dummy_value()

    return types.void(out, types.intp, a, types.intp, b, types.intp), body


@overload(add_products, inline="always")
def _add_products_body(out, i, a, j, b, k):  # type: ignore[no-untyped-def]
    if out.ndim == 1:
        return _one_product
    return lambda out, i, a, j, b, k: _add_products(out, i, a, j, b, k)  # type: ignore[call-arg]


def _one_product(out, i, a, j, b, k):  # type: ignore[no-untyped-def]
    out[i] += a[j] * b[k]


@intrinsic
def _add_scaled(typing: Any, out: Any, i: Any, a: Any, j: Any, factor: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, other = (_row(context, builder, signature.args[n], args[n], args[n + 1]) for n in (0, 2))
        empty, zeros = ir.Constant(ROW, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        first = builder.insert_element(empty, args[4], ir.Constant(ir.IntType(32), 0))
        factors = builder.shuffle_vector(first, empty, zeros)
        _add(builder, place, builder.fmul(factors, builder.load(other, align=8)))
        return context.get_dummy_value()

    return types.void(out, types.intp, a, types.intp, types.float64), body


@overload(add_scaled, inline="always")
def _add_scaled_body(out, i, a, j, factor):  # type: ignore[no-untyped-def]
    if out.ndim == 1:
        return _one_scaled
    return lambda out, i, a, j, factor: _add_scaled(out, i, a, j, factor)  # type: ignore[call-arg]


def _one_scaled(out, i, a, j, factor):  # type: ignore[no-untyped-def]
    out[i] += factor * a[j]


class _EightSamples:
    """Rows of eight samples from the first one on, and their ranks, while code of a loop over the features is built.

    A row has eight numbers, or one where the tables are of a single column.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder = builder
        arrays = [context.make_array(signature.args[n])(context, builder, args[n]) for n in (0, 4, 5, 6)]
        self._ranks, *self._tables = (array.data for array in arrays)
        self._features = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        self._kind, self._width = (ROW, LANES) if signature.args[4].ndim == 2 else (NUMBER, 1)
        self.first, self._start, self._stop = args[1:4]

    def features(self) -> Any:
        """The loop over the features."""
        step = ir.Constant(self._start.type, 1)
        return cgutils.for_range_slice(self.builder, self._start, self._stop, step, self._start.type)

    def row(self, table: int, number: Any) -> Any:
        """Pointer to a row of the first, second or third table."""
        place = self.builder.mul(number, ir.Constant(number.type, self._width))
        return self.builder.bitcast(self.builder.gep(self._tables[table], [place]), self._kind.as_pointer())

    def sample(self, k: int) -> Any:
        """Number of sample k of the eight."""
        return self.builder.add(self.first, ir.Constant(self.first.type, k))

    def rank(self, k: int, feature: Any) -> Any:
        """Rank of a feature in sample k."""
        place = self.builder.add(self.builder.mul(self.sample(k), self._features), feature)
        return self.builder.zext(self.builder.load(self.builder.gep(self._ranks, [place])), feature.type)

    def load(self, pointer: Any) -> Any:
        """Load a row."""
        return self.builder.load(pointer, align=8)


def _of_eight(build: Callable[[_EightSamples], None]) -> Any:
    @intrinsic
    def operation(typing: Any, ranks: Any, first: Any, start: Any, stop: Any, A: Any, B: Any, C: Any) -> Any:
        def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            build(_EightSamples(context, builder, signature, args))
            return context.get_dummy_value()

        return types.void(ranks, types.intp, types.intp, types.intp, A, B, C), body

    return operation


def _build_products(eight: _EightSamples) -> None:
    builder = eight.builder
    sums = [cgutils.alloca_once_value(builder, eight.load(eight.row(2, eight.sample(k)))) for k in range(TOGETHER)]
    with eight.features() as (feature, _):
        w = eight.load(eight.row(0, feature))
        for k, total in enumerate(sums):
            product = builder.fmul(w, eight.load(eight.row(1, eight.rank(k, feature))))
            builder.store(builder.fadd(builder.load(total), product), total)
    for k, total in enumerate(sums):
        builder.store(builder.load(total), eight.row(2, eight.sample(k)), align=8)


def _build_rows(eight: _EightSamples) -> None:
    builder = eight.builder
    weights = [eight.load(eight.row(0, eight.sample(k))) for k in range(TOGETHER)]
    with eight.features() as (feature, _):
        place = eight.row(2, feature)
        total = eight.load(place)
        for k, weight in enumerate(weights):
            total = builder.fadd(total, builder.fmul(weight, eight.load(eight.row(1, eight.rank(k, feature)))))
        builder.store(total, place, align=8)


def _build_looked_up(eight: _EightSamples) -> None:
    builder = eight.builder
    weights = [eight.load(eight.row(0, eight.sample(k))) for k in range(TOGETHER)]
    with eight.features() as (feature, _):
        w = eight.load(eight.row(1, feature))
        for k, weight in enumerate(weights):
            _add(builder, eight.row(2, eight.rank(k, feature)), builder.fmul(weight, w))


_products, _rows_of, _looked_up = (_of_eight(build) for build in (_build_products, _build_rows, _build_looked_up))


@overload(add_looked_up_products)
def _products_body(ranks, first, start, stop, W, F, Z):  # type: ignore[no-untyped-def]
    return lambda ranks, first, start, stop, W, F, Z: _products(ranks, first, start, stop, W, F, Z)


@overload(add_looked_up_rows)
def _rows_body(ranks, first, start, stop, R, F, G):  # type: ignore[no-untyped-def]
    return lambda ranks, first, start, stop, R, F, G: _rows_of(ranks, first, start, stop, R, F, G)


@overload(add_to_looked_up)
def _looked_up_body(ranks, first, start, stop, R, W, G):  # type: ignore[no-untyped-def]
    return lambda ranks, first, start, stop, R, W, G: _looked_up(ranks, first, start, stop, R, W, G)
