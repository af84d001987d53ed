"""Held-out predictions of kernel least squares with an intercept, for all folds and all α from one eigendecomposition.

A model fitted with α > 0 to all samples except those in F has the errors e_F = (Q_FF)⁻¹ (Q y)_F on F, where
Q = H (H K H + α I)⁻¹ H and H = I − 11ᵀ/m. One eigendecomposition of H K H therefore serves all folds and all α, and no
model is fitted. A fold and an α cost m |F|² operations, or m for leave-one-out.
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
"""Up to this number of samples, one BLAS thread is the fastest for the eigendecomposition."""

ROUNDING = 1e-9
"""A negative eigenvalue smaller than this fraction of the largest is attributed to rounding and set to zero."""


class HoldOut:
    """Held-out predictions from the training matrix.

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
        """Predictions for the samples of each fold by a model with intercept that is fitted to all other samples.

        Parameters
        ----------
        targets
            y, (m,).
        folds
            Positions of the samples of each fold; folds do not overlap.
        alphas
            α > 0 of each fold.

        Returns
        -------
        ndarray
            Predictions (m,); NaN for samples in no fold.
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
    """Bytes of `HoldOut` for a number of samples, with at most ``columns`` samples in a fold."""
    return 8 * (5 * samples**2 + samples * columns + columns**2)
