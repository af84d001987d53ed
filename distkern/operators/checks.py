"""Checks that kernel values are finite, and symmetric up to rounding."""

from __future__ import annotations

import numpy as np

from distkern.compiled.smo import asymmetry
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats

SYMMETRY_TOLERANCE = 1e-8
"""Fraction of the largest |k| that |k(x, y) − k(y, x)| may reach by rounding."""


def finite(values: Floats) -> Floats:
    """Return kernel values, or results computed from them, if all are finite.

    Raises
    ------
    InputError
        If a value is NaN or infinite.
    """
    if not np.isfinite(values).all():
        raise InputError("the Gram matrix holds values that are not finite (NaN or infinite)")
    return values


def is_symmetric(values: Array) -> bool:
    """Whether k(x, y) = k(y, x) up to rounding in a square array; False if a value is not finite."""
    largest, difference = asymmetry(values)
    return bool(difference <= _tolerance(values) * largest)


def require_symmetric(values: Array) -> float:
    """Check that a square array is symmetric up to rounding, and return its largest |k|; NaN if one is not finite.

    Raises
    ------
    InputError
        If the array is not symmetric; names the largest difference of k(x, y) and k(y, x).

    Examples
    --------
    >>> require_symmetric(np.array([[1.0, -2.0], [-2.0, 1.0]]))
    2.0
    """
    largest, difference = asymmetry(values)
    if difference > _tolerance(values) * largest:
        raise InputError(
            f"the training matrix is not symmetric: k(x, y) and k(y, x) differ by up to {difference:.3g}; average it "
            "with its transpose if that is rounding, and check the kernel if it is not"
        )
    return float(largest)


def _tolerance(values: Array) -> float:
    return max(SYMMETRY_TOLERANCE, 4 * float(np.finfo(values.dtype).eps))
