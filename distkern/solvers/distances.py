"""Squared distances in feature space; a clearly negative one shows that the matrix is not positive semidefinite."""

from __future__ import annotations

import numpy as np

from distkern.compiled.distances import squares
from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.operators.checks import finite
from distkern.operators.pairwise import SampleArrays
from distkern.solvers.definite import indefinite

NEGATIVE = 1e-6
"""A squared distance below minus this fraction of the largest k(x, x) is not caused by rounding."""


def least_allowed(diagonal: Floats) -> float:
    """Least (negative) squared distance that is attributed to rounding, for samples with this k(x, x)."""
    return -NEGATIVE * float(np.abs(diagonal).max(initial=0.0))


def not_negative(distances: Floats, diagonal: Floats) -> Floats:
    """Set squared distances that are negative by rounding to zero, in place.

    Raises
    ------
    InputError
        If one is too negative for rounding.
    """
    least = float(distances.min())
    if not np.isfinite([least, distances.max()]).all():
        raise InputError(
            "squared distances are not finite: the matrix holds numbers that are NaN, infinite or too large to be "
            "added; scale the kernel down"
        )
    if least < least_allowed(diagonal):
        raise indefinite(f"a squared distance is {least:.3g}")
    return np.maximum(distances, 0.0, out=distances)


def squared_distances(values: Floats, own: SampleArrays, other: SampleArrays, floor: float) -> Floats:
    """‖φ(x) − φ(y)‖² (a, b), from kernel values (a, b) and the "diagonal" k(x, x) of both sets of samples.

    Raises
    ------
    InputError
        If one is below ``floor`` or not finite.
    """
    distances = np.empty(values.shape)
    least = squares(values, own["diagonal"], other["diagonal"], own["position"], other["position"], distances)
    if not least >= floor:
        finite(np.array(least))
        raise indefinite(f"a squared distance is {least:.3g}")
    return distances
