"""Matrix products with bits that do not depend on the shapes of the factors, for factors that are computed piecewise.

Samples lie in panels of `WIDTH`: ``panel[k, lane]`` is feature k of one sample. A vector of one panel is multiplied by
single numbers of another one. Each entry of the product is a sum in the order of the features, by fused multiply-adds
within `STEP` features; so it is a function of its two samples alone, in any tile and on any processor that has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from distkern.compiled.elementary import REAL, WORD, fma
from distkern.compiled.simd import has_feature
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

WIDTH = 16
"""Samples in a panel."""

STEP = 128
"""Features multiplied at a time, so that two panels fit in the first cache and those of a tile in the second."""

LINE = 64
"""Bytes of a line of the cache; a vector that lies in two lines is slower to load."""

VECTOR = ir.VectorType(REAL, WIDTH)


def panel_count(samples: int) -> int:
    """Number of panels of so many samples."""
    return -(-samples // WIDTH)


def empty_panels(samples: int, features: int) -> Floats:
    """Panels (panels, features, `WIDTH`) that begin at a line of the cache, not filled."""
    shape = panel_count(samples), features, WIDTH
    size = shape[0] * features * WIDTH
    memory = np.empty(size + LINE // 8)
    first = -memory.ctypes.data % LINE // 8
    return memory[first : first + size].reshape(shape)


def panels(rows: Array) -> Floats:
    """Samples (m, n) in panels (⌈m / 16⌉, n, 16); zeros follow the last sample.

    Examples
    --------
    >>> panels(np.array([[1.0, 2.0], [3.0, 4.0]]))[0, :, :3]
    array([[1., 3., 0.],
           [2., 4., 0.]])
    """
    out = empty_panels(len(rows), rows.shape[1])
    for panel, lanes in enumerate(out):
        samples = rows[panel * WIDTH : (panel + 1) * WIDTH]
        lanes[:, : len(samples)] = samples.T
        lanes[:, len(samples) :] = 0.0
    return out


@compiled
def add_products(left, right, upper, total):  # type: ignore[no-untyped-def]
    """Add the inner products of all samples of two arrays of panels (panels, `STEP`, 16) to ``total``.

    With ``upper``, only where the panel of the row is not after that of the column.
    """
    flat = total.reshape(-1)
    for i in range(left.shape[0]):
        for j in range(i if upper else 0, right.shape[0]):
            add_panel_products(left[i], right[j], flat, WIDTH * (i * total.shape[1] + j), total.shape[1])


@compiled
def add_squares(values, total):  # type: ignore[no-untyped-def]
    """Add the squared norms of all samples of panels to ``total``, with the bits of their products with themselves."""
    for panel in range(values.shape[0]):
        squares = np.zeros(WIDTH)
        for k in range(STEP):
            for lane in range(WIDTH):
                squares[lane] = fma(values[panel, k, lane], values[panel, k, lane], squares[lane])
        for lane in range(WIDTH):
            total[panel * WIDTH + lane] += squares[lane]


def add_panel_products(left: Any, right: Any, total: Any, start: int, stride: int) -> None:
    """Add the products of two panels (`STEP`, 16) to 16 × 16 entries of ``total``, from ``start`` on, by ``stride``."""
    part = np.zeros((WIDTH, WIDTH))
    for k in range(STEP):
        part += np.outer(left[k], right[k])
    for row in range(WIDTH):
        total[start + row * stride : start + row * stride + WIDTH] += part[row]


# Compiled body -------------------------------------------------------------------------------------------------------


@intrinsic
def _add_panel_products(typing: Any, left: Any, right: Any, total: Any, start: Any, stride: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, cols, out = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:3], args[:3], strict=True)
        )
        # as many sums at a time as fit in 32 registers of eight numbers, or else in 16 of four
        at_a_time = 8 if has_feature(context, "avx512f") else 2
        for top in range(0, WIDTH, at_a_time):
            places = [
                builder.gep(out, [builder.add(args[3], builder.mul(args[4], ir.Constant(WORD, row)))])
                for row in range(top, top + at_a_time)
            ]
            _add_rows(builder, builder.gep(rows, [ir.Constant(WORD, top)]), cols, places)
        return context.get_dummy_value()

    return types.void(left, right, total, types.intp, types.intp), body


def _add_rows(builder: Any, rows: Any, cols: Any, places: list[Any]) -> None:
    """Add to 16 numbers at each place the products of a row of the left panel and all of the right one."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDTH}f64")
    undefined, lane = ir.Constant(VECTOR, ir.Undefined), ir.IntType(32)
    everywhere = ir.Constant(ir.VectorType(lane, WIDTH), [0] * WIDTH)
    sums = [cgutils.alloca_once(builder, VECTOR) for _ in places]
    for total in sums:
        builder.store(ir.Constant(VECTOR, [0.0] * WIDTH), total)
    with cgutils.for_range(builder, ir.Constant(WORD, STEP)) as loop:
        first = builder.mul(loop.index, ir.Constant(WORD, WIDTH))
        col = builder.load(builder.bitcast(builder.gep(cols, [first]), VECTOR.as_pointer()), align=8)
        for row, total in enumerate(sums):
            number = builder.load(builder.gep(rows, [builder.add(first, ir.Constant(WORD, row))]))
            one = builder.insert_element(undefined, number, ir.Constant(lane, 0))
            vector = builder.shuffle_vector(one, undefined, everywhere)
            builder.store(builder.call(multiply_add, [vector, col, builder.load(total)]), total)
    for place, total in zip(places, sums, strict=True):
        target = builder.bitcast(place, VECTOR.as_pointer())
        builder.store(builder.fadd(builder.load(target, align=8), builder.load(total)), target, align=8)


@overload(add_panel_products, inline="always")
def _add_panel_products_body(left, right, total, start, stride):  # type: ignore[no-untyped-def]
    return lambda left, right, total, start, stride: _add_panel_products(  # type: ignore[call-arg]
        left, right, total, start, stride
    )
