"""Stable order of floating-point values by their bits: O(k) instead of O(k log k) comparisons.

The bits of a float64 have its order as an integer once all bits of a negative value, and the sign bit of any other, are
inverted. The integers are sorted by eleven bits after another, the lowest first, and each pass keeps the order of equal
ones. Bits that all values share are left out: whole numbers, and values in single precision, have few others.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled

BITS = 11
"""Bits that a pass sorts by."""

DIGITS = 2**BITS
"""Values of these bits."""

LOW = np.uint64(DIGITS - 1)
"""The lowest of these bits."""


@compiled
def stable_order(values, keys, order, starts):  # type: ignore[no-untyped-def]
    """Sort the positions of values; return the row of ``order`` that has them.

    Equal values stay in the order of their positions. −0 comes before 0, and NaN first or last.

    Parameters
    ----------
    values
        float64 (k,), contiguous.
    keys, order, starts
        Scratch arrays: uint64 (2, k or more), uint32 (2, k or more) and uint32 (`DIGITS`,).
    """
    k = len(values)
    varying = _fill_keys(values.view(np.uint64), keys, order)
    row = 0
    for low in range(0, 64, BITS):
        shift = np.uint64(low)
        if varying >> shift & LOW == 0:
            continue
        starts[:] = 0
        for position in range(k):
            starts[keys[row, position] >> shift & LOW] += np.uint32(1)
        total = np.uint32(0)
        for digit in range(DIGITS):
            count = starts[digit]
            starts[digit] = total
            total += count
        for position in range(k):
            key = keys[row, position]
            place = starts[key >> shift & LOW]
            starts[key >> shift & LOW] += np.uint32(1)
            keys[1 - row, place], order[1 - row, place] = key, order[row, position]
        row = 1 - row
    return row


@compiled
def _fill_keys(bits, keys, order):  # type: ignore[no-untyped-def]
    """Fill the first rows of keys and order; return the bits in which some keys differ."""
    sign, varying = np.uint64(1 << 63), np.uint64(0)
    for position in range(len(bits)):
        key = bits[position]
        key = ~key if key & sign else key | sign
        keys[0, position], order[0, position] = key, position
        varying |= key ^ keys[0, 0]
    return varying
