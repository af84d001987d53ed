"""Inner products and distances with bits that do not depend on how the samples are divided into blocks.

BLAS selects its inner routine by the shape of the operands, so an entry of a large product differs in its last bits
from the same entry of a small product. Here, every product consists of micro-blocks of 64 × 64 samples, whose positions
are fixed by the numbers of the samples in the cohort. A micro-block at the border of a block is padded with zeros.
"""

from __future__ import annotations

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

SIDE = 64
"""Rows and columns of a micro-block."""

STEP = 1024
"""Features multiplied at a time; these partial products are added in the order of the features."""

ACROSS = 512
"""Columns added at a time, so that the sums of all vectors fit in the cache."""

CANCELLED = 1e-3
"""A squared distance below this fraction of ‖x‖² + ‖y‖² has lost digits by cancellation and is summed directly."""


def padded_rows(count: int, start: int) -> int:
    """Number of rows of the micro-blocks that cover ``count`` samples from number ``start`` on."""
    return -(-(start % SIDE + count) // SIDE) * SIDE


def inner_products(A: Array, B: Array, start_a: int = 0, start_b: int = 0) -> Floats:
    """⟨x, y⟩ for every row x of A (a, n) and y of B (b, n), as float64 (a, b).

    Parameters
    ----------
    A, B
        Samples in rows.
    start_a, start_b
        Number of the first sample of each block in its cohort; it fixes the position of a sample in its micro-block.

    Examples
    --------
    >>> inner_products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([[11., 17.]])
    """
    n = A.shape[1]
    offset_a, offset_b = start_a % SIDE, start_b % SIDE
    total = np.zeros((padded_rows(len(A), start_a), padded_rows(len(B), start_b)))
    part = np.empty((SIDE, SIDE))
    with one_blas_thread():
        for first in range(0, n, STEP):
            features = slice(first, min(first + STEP, n))
            left = _padded(A[:, features], offset_a, total.shape[0])
            right = _padded(B[:, features], offset_b, total.shape[1])
            for i in range(0, total.shape[0], SIDE):
                for j in range(0, total.shape[1], SIDE):
                    np.matmul(left[i : i + SIDE], right[j : j + SIDE].T, out=part)
                    total[i : i + SIDE, j : j + SIDE] += part
    return np.ascontiguousarray(total[offset_a : offset_a + len(A), offset_b : offset_b + len(B)])


def _padded(rows: Array, offset: int, height: int) -> Floats:
    padded = np.zeros((height, rows.shape[1]))
    padded[offset : offset + len(rows)] = rows
    return padded


def squared_distances(
    A: Array, B: Array, squares_a: Floats, squares_b: Floats, start_a: int = 0, start_b: int = 0
) -> Floats:
    """‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩ for all rows of A and B; entries that would cancel are summed directly.

    Parameters
    ----------
    A, B
        Samples in rows, (a, n) and (b, n).
    squares_a, squares_b
        Squared norms, from `row_squares`.
    start_a, start_b
        Number of the first sample of each block in its cohort.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [4.0, 6.0]])
    >>> squared_distances(X, X, row_squares(X), row_squares(X))
    array([[ 0., 25.],
           [25.,  0.]])
    """
    squares = np.add.outer(squares_a, squares_b)
    distances = squares - 2 * inner_products(A, B, start_a, start_b)
    rows, cols = np.nonzero(distances <= CANCELLED * squares)
    distances[rows, cols] = _distances_at(np.ascontiguousarray(A), np.ascontiguousarray(B), rows, cols)
    return distances


@compiled
def _distances_at(A, B, rows, cols):  # type: ignore[no-untyped-def]
    """Sum (x − y)² feature by feature for the listed pairs."""
    out = np.empty(len(rows))
    for pair in range(len(rows)):
        total = 0.0
        for k in range(A.shape[1]):
            difference = A[rows[pair], k] - B[cols[pair], k]
            total += difference * difference
        out[pair] = total
    return out


@compiled
def row_squares(X):  # type: ignore[no-untyped-def]
    """Squared norm of each row, summed feature by feature."""
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        total = 0.0
        for k in range(X.shape[1]):
            total += X[i, k] * X[i, k]
        out[i] = total
    return out


@compiled
def add_sparse_rows(out, first, rows, starts, places, values):  # type: ignore[no-untyped-def]
    """Add Vᵀ R to ``out[:, first:]`` (vectors, length), for rows R (n, length) and a sparse V (n, vectors).

    The nonzero entries of row i of V are ``values[starts[i]:starts[i + 1]]`` in the columns
    ``places[starts[i]:starts[i + 1]]``.
    """
    for begin in range(0, rows.shape[1], ACROSS):
        end = min(begin + ACROSS, rows.shape[1])
        for i in range(rows.shape[0]):
            for k in range(starts[i], starts[i + 1]):
                value, row = values[k], rows[i, begin:end]
                total = out[places[k], first + begin : first + end]
                for x in range(row.shape[0]):
                    total[x] += value * row[x]


def mirror_upper(tile: Floats) -> Floats:
    """Copy the upper triangle of a square tile to the lower one, in place."""
    rows, cols = np.tril_indices(len(tile), -1)
    tile[rows, cols] = tile[cols, rows]
    return tile
