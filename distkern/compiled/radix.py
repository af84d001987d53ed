"""Stable order of floating-point values by their bits: O(k) instead of O(k log k) comparisons.

The bits of a float64 have its order as an integer once all bits of a negative value, and the sign bit of any other, are
inverted. The integers are sorted by a few bits at a time, the lowest first, and each pass keeps the order of equal
ones. Bits that all values share are left out: whole numbers, and values in single precision, have few others. A few
values are sorted by insertion.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled

FEW, MANY = 48, 1500
"""Numbers of values up to which insertion is fastest, and from which on passes over more bits are."""

BITS = 8
"""Bits that a pass sorts by."""

MORE_BITS = 11
"""Bits that a pass over many values sorts by."""

MISSING = np.uint64(2**64 - 1)
"""Key of NaN: none is higher."""


@compiled
def order_scratch(k):  # type: ignore[no-untyped-def]
    """Scratch arrays of `stable_order` for at most ``k`` values."""
    return np.empty((2, k), np.uint64), np.empty((2, k), np.uint32), np.empty(1 << MORE_BITS, np.uint32)


@compiled
def stable_order(values, scratch):  # type: ignore[no-untyped-def]
    """Positions of the values in ascending order, in a scratch array: NaN last, and equal values by their positions.

    Parameters
    ----------
    values
        float64 (k,), contiguous.
    scratch
        From `order_scratch`, for k values or more.
    """
    keys, order, starts = scratch
    k = len(values)
    varying = _fill_keys(values, values.view(np.uint64), keys, order)
    if k <= FEW:
        _insert(keys[0], order[0], k)
        return order[0, :k]
    bits = MORE_BITS if k >= MANY else BITS
    last = np.uint64((1 << bits) - 1)
    row = 0
    for low in range(0, 64, bits):
        shift = np.uint64(low)
        if varying >> shift & last == 0:
            continue
        starts[:] = 0
        for position in range(k):
            starts[keys[row, position] >> shift & last] += np.uint32(1)
        total = np.uint32(0)
        for digit in range(1 << bits):
            count = starts[digit]
            starts[digit] = total
            total += count
        for position in range(k):
            key = keys[row, position]
            place = starts[key >> shift & last]
            starts[key >> shift & last] += np.uint32(1)
            keys[1 - row, place], order[1 - row, place] = key, order[row, position]
        row = 1 - row
    return order[row, :k]


@compiled
def _fill_keys(values, bits, keys, order):  # type: ignore[no-untyped-def]
    """Fill the first rows of keys and order; return the bits in which some keys differ. −0 has the key of 0."""
    sign, varying = np.uint64(1 << 63), np.uint64(0)
    for position in range(len(values)):
        value, key = values[position], bits[position]
        if np.isnan(value):
            key = MISSING
        elif value == 0:
            key = sign
        else:
            key = ~key if key & sign else key | sign
        keys[0, position], order[0, position] = key, position
        varying |= key ^ keys[0, 0]
    return varying


@compiled
def _insert(keys, order, k):  # type: ignore[no-untyped-def]
    """Sort both by the keys, by insertion."""
    for position in range(1, k):
        key, item = keys[position], order[position]
        place = position
        while place > 0 and keys[place - 1] > key:
            keys[place], order[place] = keys[place - 1], order[place - 1]
            place -= 1
        keys[place], order[place] = key, item
