"""Losses of models with a learned target: value, derivative, and a bound of the second derivative.

A sample has outputs z (K numbers, one where there are two classes or a quantity) and a response of the same shape:

* `Logistic`: log(1 + exp(−y z)), y = ±1.
* `Softmax`: log Σ_c exp(z_c) − z_y, with y as indicators of the K classes.
* `SquaredHinge`: Σ_c max(0, 1 − y_c z_c)², y_c = ±1.
* `Squared`: (z − y)².

Source: Vert's slides on supervised quantile normalisation (SUQUAN), whose objective takes any loss.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from distkern.core.typing import Floats


class Loss(Protocol):
    """A convex loss with a bounded second derivative."""

    curvature: float
    """Largest eigenvalue that the second derivative may have."""

    def values(self, Z: Floats, Y: Floats) -> Floats:
        """Loss of each sample, (k,), from outputs and responses (k, K)."""

    def derivatives(self, Z: Floats, Y: Floats) -> Floats:
        """Derivative of the loss of each sample by its outputs, (k, K)."""


class Logistic:
    """log(1 + exp(−y z)).

    Examples
    --------
    >>> Logistic().values(np.zeros((1, 1)), np.ones((1, 1))), Logistic().derivatives(np.zeros((1, 1)), np.ones((1, 1)))
    (array([0.69314718]), array([[-0.5]]))
    """

    curvature = 0.25

    def values(self, Z: Floats, Y: Floats) -> Floats:
        """Loss of each sample."""
        return np.asarray(np.logaddexp(0.0, -Y * Z).sum(axis=1), dtype=np.float64)

    def derivatives(self, Z: Floats, Y: Floats) -> Floats:
        """Its derivative."""
        from scipy.special import expit

        return np.asarray(-Y * expit(-Y * Z), dtype=np.float64)


class Softmax:
    """log Σ_c exp(z_c) − z_y."""

    curvature = 0.5

    def values(self, Z: Floats, Y: Floats) -> Floats:
        """Loss of each sample."""
        top = Z.max(axis=1)
        total = np.exp(Z - top[:, None]).sum(axis=1)
        return np.asarray(np.log(total) + top - (Z * Y).sum(axis=1), dtype=np.float64)

    def derivatives(self, Z: Floats, Y: Floats) -> Floats:
        """Its derivative."""
        shares = np.exp(Z - Z.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True) - Y, dtype=np.float64)


class SquaredHinge:
    """Σ_c max(0, 1 − y_c z_c)²."""

    curvature = 2.0

    def values(self, Z: Floats, Y: Floats) -> Floats:
        """Loss of each sample."""
        return np.asarray((np.maximum(0.0, 1.0 - Y * Z) ** 2).sum(axis=1), dtype=np.float64)

    def derivatives(self, Z: Floats, Y: Floats) -> Floats:
        """Its derivative."""
        return -2.0 * Y * np.maximum(0.0, 1.0 - Y * Z)


class Squared:
    """(z − y)²."""

    curvature = 2.0

    def values(self, Z: Floats, Y: Floats) -> Floats:
        """Loss of each sample."""
        return np.asarray(((Z - Y) ** 2).sum(axis=1), dtype=np.float64)

    def derivatives(self, Z: Floats, Y: Floats) -> Floats:
        """Its derivative."""
        return 2.0 * (Z - Y)
