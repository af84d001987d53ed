"""The points of all bags of a cohort, pooled: a cohort whose samples are points."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.bags import split_rows
from distkern.core.typing import Array, Floats
from distkern.io.blocks import Reader, Rows
from distkern.io.source import Source, as_source
from distkern.kernels.base import strips


class PointsReader(Reader):
    """Points of all bags, bag after bag, without the padding."""

    kind = "points of bags"

    def __init__(self, bags: Source) -> None:
        self.bags, self.portable, self.dtypes = bags, bags.portable, (np.dtype(np.float64),)
        sizes = []
        for rows in strips(*bags.shape):
            weights, points = split_rows(bags.read(rows))
            sizes.append((weights > 0).sum(axis=1))
        self.ends = np.cumsum(np.concatenate(sizes))
        self.shape = int(self.ends[-1]), points.shape[2]

    def take(self, rows: Rows) -> Array:
        """Read points; bags are read in strips that take a bounded number of bytes."""
        positions = np.arange(self.shape[0])[rows]
        owner = np.searchsorted(self.ends, positions, side="right")
        bags, which = np.unique(owner, return_inverse=True)
        out = np.empty((len(positions), self.shape[1]))
        for some in strips(len(bags), self.bags.shape[1]):
            weights, points = split_rows(self.bags.read(bags[some]))
            begins = np.concatenate([[0], self.ends])[bags[some]]
            starts = np.concatenate([[0], np.cumsum((weights > 0).sum(axis=1))])
            here = (which >= some.start) & (which < some.stop)
            bag = which[here] - some.start
            out[here] = points[weights > 0][starts[bag] + positions[here] - begins[bag]]
        return out


def pooled_points(bags: Any) -> Source:
    """View the points of all bags as samples; they are read on demand.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> pooled_points(Bags.from_arrays([[1.0, 2.0], [3.0]])).read([2, 0])
    array([[3.],
           [1.]])
    """
    return Source(PointsReader(as_source(bags)))


def center_and_variance(points: Source) -> tuple[Floats, Floats]:
    """Mean and variance of the points in each dimension, in two passes."""
    center = sum(points.read(rows).sum(axis=0) for rows in strips(*points.shape)) / len(points)
    squares = sum(((points.read(rows) - center) ** 2).sum(axis=0) for rows in strips(*points.shape))
    return center, squares / len(points)
