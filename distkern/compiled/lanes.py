"""Vector operations on rows of eight numbers, the lanes, or on single numbers.

Work on several columns at a time, each in its own lane, takes one vector instruction where a loop over the columns
would take many. The tables are (rows, LANES), C-contiguous, or (rows,) for a single column: one routine serves both.
Each lane has the bits that it would have alone.

Each operation is a plain Python function, which is called with ``NUMBA_DISABLE_JIT=1``, and an overload with a compiled
body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from distkern.core.typing import Array, Floats

LANES = 8
"""Number of columns in a row: 64 bytes, a line of the cache."""

ROW = ir.VectorType(ir.DoubleType(), LANES)


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
    tables = np.zeros((-(-columns // LANES), n, LANES))
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
