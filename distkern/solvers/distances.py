"""Squared distances in feature space, and the proof that there is none."""

from __future__ import annotations

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats

NEGATIVE = 1e-6
"""A squared distance below minus this fraction of the largest k(x, x) is no rounding: there is no feature space."""


def squared_distances(values: Floats, row_diag: Floats, col_diag: Floats) -> Floats:
    """k(x, x) + k(y, y) − 2 k(x, y) of a block of kernel values.

    Raises
    ------
    InputError
        If a value is not finite, or a distance is negative beyond rounding.
    """
    distances = np.add.outer(row_diag, col_diag)
    distances -= 2 * values
    if not np.isfinite(distances).all():
        raise not_finite()
    return not_negative(distances, max(float(np.abs(row_diag).max()), float(np.abs(col_diag).max())))


def not_negative(distances: Floats, largest: float) -> Floats:
    """Take away, in place, what rounding leaves below zero; ``largest`` is the largest k(x, x)."""
    least = float(distances.min())
    if least < -NEGATIVE * largest:
        raise indefinite(f"a squared distance is {least:.3g}")
    return np.maximum(distances, 0.0, out=distances)


def indefinite(what: str) -> InputError:
    """Say how it is known that a matrix is not positive semidefinite."""
    return InputError(
        f"the matrix is not positive semidefinite, so it belongs to no feature space: {what}; check the kernel"
    )


def not_finite() -> InputError:
    """Say that a matrix holds what is no number."""
    return InputError("the Gram matrix holds values that are not finite (NaN or infinite)")
