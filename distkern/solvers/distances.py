"""Squared distances in feature space, and the proof that there is none."""

from __future__ import annotations

import numpy as np

from distkern.compiled.distances import squares
from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.operators.checks import finite
from distkern.operators.pairwise import SampleArrays

NEGATIVE = 1e-6
"""A squared distance below minus this fraction of the largest k(x, x) is no rounding: there is no feature space."""


def least_allowed(diagonal: Floats) -> float:
    """The least squared distance that may be rounding, where k(x, x) of the samples is this."""
    return -NEGATIVE * float(np.abs(diagonal).max(initial=0.0))


def not_negative(distances: Floats, diagonal: Floats) -> Floats:
    """Take away, in place, what rounding leaves of squared distances below zero."""
    least = float(distances.min())
    if least < least_allowed(diagonal):
        raise indefinite(f"a squared distance is {least:.3g}")
    return np.maximum(distances, 0.0, out=distances)


def squared_distances(values: Floats, own: SampleArrays, other: SampleArrays, floor: float) -> Floats:
    """‖φ(x) − φ(y)‖² of pairs from their kernel values (a, b) and the "diagonal" k(x, x) of their samples.

    Raises
    ------
    InputError
        If one is below ``floor``, or no finite number.
    """
    distances = np.empty(values.shape)
    least = squares(values, own["diagonal"], other["diagonal"], own["position"], other["position"], distances)
    if not least >= floor:
        finite(np.array(least))
        raise indefinite(f"a squared distance is {least:.3g}")
    return distances


def indefinite(what: str) -> InputError:
    """Say how it is known that a matrix is not positive semidefinite."""
    return InputError(
        f"the matrix is not positive semidefinite, so it belongs to no feature space: {what}; check the kernel"
    )
