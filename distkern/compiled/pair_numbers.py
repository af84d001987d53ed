"""Numbers of pairs of features in tiles: the signs of a sample, its contributions, and sums by feature."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled

LANES = 4
"""Sums of a row that are made side by side: an addition need not wait for the one before it."""


@compiled
def fill_signs(codes, top, left, out):  # type: ignore[no-untyped-def]
    """Fill sgn(x_i − x_j) of a sample with ranks ``codes`` (n,), for the features from ``top`` and ``left`` on."""
    for i in range(out.shape[0]):
        value = codes[top + i]
        for j in range(out.shape[1]):
            other = codes[left + j]
            out[i, j] = np.float64(value > other) - np.float64(value < other)


@compiled
def fill_contributions(weights, mean, entries, scale, norm, out):  # type: ignore[no-untyped-def]
    """Fill w (g e − μ) / ν of a tile of pairs: weights w, mean μ, entries e (rows, cols), scale g and norm ν."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = weights[i, j] * (entries[i, j] * scale - mean[i, j]) / norm


@compiled
def reduce_tile(numbers, upper, least, turned, sums, squares, first, second):  # type: ignore[no-untyped-def]
    """Add a tile of numbers v_ij to Σ_j v_ij and Σ_j v_ij² of its features; count those of size ``least`` or more.

    Parameters
    ----------
    numbers
        v, (rows, cols).
    upper
        Whether the features of rows and columns are the same: then only i < j counts.
    turned
        v_ji / v_ij, 1 or −1.
    sums, squares
        Sums of all features, (n,), updated from ``first`` on by the rows and from ``second`` on by the columns.
    """
    height, width = numbers.shape
    hits = np.int64(0)
    for i in range(height):
        row, start = numbers[i], i + 1 if upper else 0
        for j in range(start, width):
            value = row[j]
            sums[second + j] += turned * value
            squares[second + j] += value * value
            hits += np.int64(abs(value) >= least)
        a = b = c = d = p = q = r = s = 0.0
        whole = start + (width - start) // LANES * LANES
        for j in range(start, whole, LANES):
            a, b, c, d = a + row[j], b + row[j + 1], c + row[j + 2], d + row[j + 3]
            p, q = p + row[j] * row[j], q + row[j + 1] * row[j + 1]
            r, s = r + row[j + 2] * row[j + 2], s + row[j + 3] * row[j + 3]
        for j in range(whole, width):
            a, p = a + row[j], p + row[j] * row[j]
        sums[first + i] += (a + b) + (c + d)
        squares[first + i] += (p + q) + (r + s)
    return hits
