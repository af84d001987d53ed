"""Least squares with a free intercept on one kernel: what every fold would predict, for every α, from one spectrum.

Leaving out the samples F and training on the others with α > 0 leaves the errors e_F = (Q_FF)⁻¹ (Q y)_F on them, with
Q = H (H K H + α I)⁻¹ H and H = I − 11ᵀ/m. So one eigendecomposition of H K H serves all folds and all α, and no model
is trained: a fold and α cost m |F|² operations, or m where one sample is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.operators.checks import finite

SMALL = 1000
"""Threads cost more than they bring in the decomposition of a matrix of up to so many samples."""

ROUNDING = 1e-9
"""An eigenvalue below zero by no more than this fraction of the largest is zero and rounding."""


class HoldOut:
    """Held-out predictions on a kernel matrix of the training samples.

    Parameters
    ----------
    values
        K, symmetric (m, m), in memory; overwritten.

    Raises
    ------
    InputError
        If a value is not finite, or the matrix is not positive semidefinite.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> folds = [np.array([0]), np.array([1]), np.array([2]), np.array([3])]
    >>> HoldOut(samples @ samples.T).predictions(np.array([0.0, 1.0, 2.0, 3.0]), folds, [1e-9] * 4).round(6)
    array([0., 1., 2., 3.])
    """

    def __init__(self, values: Floats) -> None:
        means = finite(values).mean(axis=0)
        values -= np.add.outer(means, means - means.mean())
        with one_blas_thread() if len(values) <= SMALL else nullcontext():
            self.eigenvalues, vectors = eigh(values, overwrite_a=True, check_finite=False)
        if self.eigenvalues[0] < -ROUNDING * max(abs(self.eigenvalues[-1]), np.finfo(float).tiny):
            raise InputError(
                f"the centred Gram matrix has the eigenvalue {self.eigenvalues[0]:.3g}, so it is not positive "
                "semidefinite: check the kernel"
            )
        np.maximum(self.eigenvalues, 0.0, out=self.eigenvalues)
        self.vectors = vectors - vectors.mean(axis=0)

    def predictions(self, targets: Floats, folds: Sequence[Indices], alphas: Sequence[float]) -> Floats:
        """Predict for each sample of a fold by what all other samples teach, intercept included.

        Parameters
        ----------
        targets
            y, (m,).
        folds
            Positions that are left out together; folds do not overlap.
        alphas
            α > 0 of each fold.

        Returns
        -------
        ndarray
            (m,), NaN for samples that are in no fold.
        """
        projected = self.vectors.T @ targets
        out = np.full(len(targets), np.nan)
        if all(len(fold) == 1 for fold in folds) and len(set(alphas)) == 1:
            where = np.concatenate(folds)
            part, shrink = self.vectors[where], 1 / (self.eigenvalues + alphas[0])
            out[where] = targets[where] - (part @ (shrink * projected)) / ((part**2) @ shrink)
            return out
        for fold, alpha in zip(folds, alphas, strict=True):
            part, shrink = self.vectors[fold], 1 / (self.eigenvalues + alpha)
            within = (part * shrink) @ part.T
            errors = cho_solve(cho_factor(within, overwrite_a=True), part @ (shrink * projected))
            out[fold] = targets[fold] - errors
        return out


def holdout_bytes(samples: int, columns: int) -> int:
    """Bytes of the spectrum of a matrix while it is computed, and of the largest fold's part, of so many samples."""
    return 8 * (5 * samples**2 + samples * columns + columns**2)
