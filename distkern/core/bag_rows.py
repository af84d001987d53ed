"""Bags as rows of numbers, all of one length: what kernels on bags read.

A row holds d, then L weights, then the coordinates of L points; those beyond the bag's own have weight 0.
"""

from __future__ import annotations

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices


def row_width(largest: int, dimensions: int) -> int:
    """Numbers in a row that has room for so many points.

    Examples
    --------
    >>> row_width(2, 3)
    9
    """
    return 1 + largest * (1 + dimensions)


def pad_rows(values: Floats, sizes: Indices, weights: Floats, largest: int) -> Floats:
    """Bags as rows with room for ``largest`` points each.

    Parameters
    ----------
    values, weights
        Points (points, d) and their weights (points,), bag after bag.
    sizes
        Number of points of each bag, (m,).

    Examples
    --------
    >>> pad_rows(np.array([[3.0], [4.0], [5.0]]), np.array([2, 1]), np.ones(3), 2)
    array([[1., 1., 1., 3., 4.],
           [1., 1., 0., 5., 0.]])
    """
    m, d = len(sizes), values.shape[1]
    out = np.zeros((m, row_width(largest, d)))
    out[:, 0] = d
    held = np.arange(largest) < sizes[:, None]
    out[:, 1 : 1 + largest][held] = weights
    out[:, 1 + largest :].reshape(m, largest, d)[held] = values  # a view
    return out


def split_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Weights (m, L) and points (m, L, d) of bags that are rows.

    Raises
    ------
    InputError
        If they are no such rows.
    """
    d = int(rows[0, 0]) if rows.ndim == 2 and rows.shape[1] > 1 and np.isfinite(rows[0, 0]) else 0
    if d < 1 or (rows.shape[1] - 1) % (d + 1) or not (rows[:, 0] == d).all():
        raise InputError(
            "the samples are no bags: make them with distkern.Bags, for this kernel compares sets of points"
        )
    largest = (rows.shape[1] - 1) // (d + 1)
    return rows[:, 1 : 1 + largest], rows[:, 1 + largest :].reshape(len(rows), largest, d)


def widen_rows(rows: Floats, width: int) -> Floats:
    """Bags that are rows as longer rows, with room for more points.

    Raises
    ------
    InputError
        If the rows would have to be shorter, or no number of points fills that width.
    """
    weights, points = split_rows(rows)
    bags, length, d = points.shape
    largest = (width - 1) // (1 + d)
    if width != row_width(largest, d):
        raise InputError(
            f"the points of these bags have {d} dimensions, and those of the bags that they meet another number"
        )
    if largest < length:
        raise InputError(
            f"the largest of these bags has {length} points, and those that they meet have {largest} at most, which is "
            "what there is room for: compute all bags together"
        )
    out = np.zeros((bags, width))
    out[:, 0] = d
    out[:, 1 : 1 + length] = weights
    out[:, 1 + largest : 1 + largest + length * d] = points.reshape(bags, -1)
    return out
