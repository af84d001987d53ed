"""The base class of kernels between bags: it checks bags, and the number of dimensions of their points."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distkern.core.bags import Bags, split_rows
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of, refuse_infinite, refuse_nan
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.parameters import check_whole
from distkern.kernels.trust import draw_samples

DRAWN = 4
"""Bags that are drawn until the kernel is defined for one of them."""


@dataclass(frozen=True)
class BagKernel(Kernel):
    """A kernel between `Bags`; a row of numbers holds the weights and the points of one bag.

    Parameters
    ----------
    dimensions
        Number of coordinates of a point; by default the number in the cohort. 0 where samples are rows of counts, whose
        points are the columns.
    """

    dimensions: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimensions is not None:
            check_whole(self.dimensions, "dimensions", 0 if self.takes_counts else 1)

    @property
    def takes_bags(self) -> bool:
        """Whether samples are `Bags`: unless the cohort had rows of counts."""
        return not self.counted

    @property
    def takes_counts(self) -> bool:
        """Whether a row of counts is a bag too, since the points are components of a finite set."""
        return False

    @property
    def counted(self) -> bool:
        """Whether samples are rows of counts."""
        return self.dimensions == 0

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Fix the number of dimensions, so that bags of points with another number are refused."""
        if self.dimensions is not None:
            return self
        source = as_source(X)
        if self.takes_counts and not source.ragged:
            return dataclasses.replace(self, dimensions=0)
        return dataclasses.replace(self, dimensions=int(source.read(slice(0, 1))[0, 0]))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that are not bags, and bags whose weights do not define a distribution."""
        refuse_nan(X, ids, features)
        refuse_infinite(X, ids, features)
        if self.counted:
            refuse_no_counts(X, ids, features)
            self.check_counts(X, ids)
            return
        weights, points = split_rows(np.asarray(X, dtype=np.float64))
        if self.dimensions is not None and points.shape[2] != self.dimensions:
            raise InputError(
                f"the points of these bags have {points.shape[2]} dimensions and those of the cohort have "
                f"{self.dimensions}: give points of the same space"
            )
        for row in np.flatnonzero((weights < 0).any(axis=1) | ~(weights.sum(axis=1) > 0)).tolist():
            raise SampleError(
                f"bag {name_of(row, ids)} has weights that are negative or all zero: give it positive ones", row
            )
        self.check_bags(weights, points, ids)

    def origin(self, d: int) -> Floats:
        """A point (d,) around which a cohort may lie: 0, unless the kernel compares points with another one."""
        return np.zeros(d)

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags for which the kernel is not defined: weights (k, L), points (k, L, d)."""

    def check_counts(self, counts: Floats, ids: Names) -> None:
        """Refuse rows of counts (k, n) for which the kernel is not defined."""


@draw_samples.register
def _(kernel: BagKernel, n: int) -> Iterator[Array]:
    """Bags with as many points, normal around the origin, as a row of n numbers has room for; the last are equal."""
    if kernel.counted:
        yield np.random.default_rng(0).uniform(0.1, 1.0, size=n)
        return
    d = kernel.dimensions or 1
    points = np.random.default_rng(0).normal(size=(DRAWN, max(1, (n - 1) // (1 + d)), d))
    points[-1] = 0.0  # few digits are lost where all points are at the origin
    yield from Bags.from_arrays(list(points + kernel.origin(d))).rows()


def refuse_no_counts(X: Array, ids: Names, features: Names) -> None:
    """Refuse rows of counts with a negative count, or with none above 0."""
    for row, column in np.argwhere(X < 0).tolist():
        raise SampleError(
            f"sample {name_of(row, ids)} has the count {X[row, column]:g} of feature {name_of(column, features)}: "
            "counts are 0 or more",
            row,
        )
    for row in np.flatnonzero(~X.any(axis=1)).tolist():
        raise SampleError(f"all counts of sample {name_of(row, ids)} are 0: leave it out, or give it counts", row)


def refuse_other_points(A: Prepared, B: Prepared, name: str) -> None:
    """Refuse blocks of bags whose points, in the array of this name, have unlike dimensions."""
    one, other = (Prepared({key: block.arrays[key][:, :1] for key in block.arrays if key == name}) for block in (A, B))
    one.refuse_unlike(other)
