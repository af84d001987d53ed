"""Concordance of samples with few distinct values, from the contingency table of their values."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled
from distkern.core.typing import Array


def concordance(codes_a: Array, codes_b: Array, symmetric: bool) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, for all pairs of samples of blocks A and B.

    O(n + d_x d_y) for a pair of samples with d_x and d_y distinct values.

    Parameters
    ----------
    codes_a, codes_b
        Dense ranks, (a, n) and (b, n).
    symmetric
        Whether A and B are the same samples; then only i ≤ j is filled.
    """
    counts = np.zeros((len(codes_a), len(codes_b)), dtype=np.int64)
    joint = np.zeros_like(counts)
    _fill(codes_a, codes_b, int(codes_a.max()) + 1, int(codes_b.max()) + 1, symmetric, counts, joint)
    return counts, joint


@compiled
def _fill(codes_a, codes_b, levels_a, levels_b, symmetric, counts, joint):  # type: ignore[no-untyped-def]
    n = codes_a.shape[1]
    size = levels_a * levels_b
    tables = np.zeros(
        (4, size), np.int32
    )  # four tables in turn, so that equal consecutive cells do not stall the pipeline
    below = np.empty(levels_b, np.int64)
    for i in range(codes_a.shape[0]):
        x = codes_a[i]
        for j in range(i if symmetric else 0, codes_b.shape[0]):
            y = codes_b[j]
            for k in range(0, n - 3, 4):
                for lane in range(4):
                    tables[lane, np.int64(x[k + lane]) * levels_b + np.int64(y[k + lane])] += 1
            for k in range(n - n % 4, n):
                tables[0, np.int64(x[k]) * levels_b + np.int64(y[k])] += 1
            for cell in range(size):
                tables[0, cell] += tables[1, cell] + tables[2, cell] + tables[3, cell]
                tables[1, cell] = tables[2, cell] = tables[3, cell] = 0
            counts[i, j], joint[i, j] = from_table(tables[0], levels_a, levels_b, below)


@compiled
def from_table(table, levels_a, levels_b, below):  # type: ignore[no-untyped-def]
    """Compute S and the joint ties row by row, in ascending order of x, and set the table to zero."""
    below[:levels_b] = 0  # number of items with each value of y and a smaller x
    seen = total = both = np.int64(0)
    for row in range(levels_a):
        smaller = in_row = np.int64(0)
        for col in range(levels_b):
            times = np.int64(table[row * levels_b + col])
            table[row * levels_b + col] = 0
            larger = seen - smaller - below[col]
            total += times * (smaller - larger)
            both += times * (times - 1) // 2
            smaller += below[col]
            below[col] += times
            in_row += times
        seen += in_row
    return total, both
