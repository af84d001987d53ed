"""Squared distances in feature space, and the proof that there is none."""

from __future__ import annotations

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats

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


def refuse_distances(values: Floats, row_diag: Floats, col_diag: Floats) -> None:
    """Say what is wrong with a tile that has a squared distance which is negative, or no finite number."""
    distances = np.add.outer(row_diag, col_diag) - 2 * values
    if not np.isfinite(distances).all():
        raise not_finite()
    raise indefinite(f"a squared distance is {distances.min():.3g}")


def indefinite(what: str) -> InputError:
    """Say how it is known that a matrix is not positive semidefinite."""
    return InputError(
        f"the matrix is not positive semidefinite, so it belongs to no feature space: {what}; check the kernel"
    )


def not_finite() -> InputError:
    """Say that a matrix holds what is no number."""
    return InputError("the Gram matrix holds values that are not finite (NaN or infinite)")
