"""Decision values of machines that are linear in the labels, for many labelings of the same samples by one product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.operators.checks import finite


class LabelSmoother(Protocol):
    """Held-out decision values as a function of the labels of the training samples."""

    def scores(self, labels: Array) -> Floats:
        """Decision values (samples, labelings) for labels 0 and 1 of the training samples, (m, labelings)."""
        ...


@dataclass(frozen=True, eq=False)
class RidgeSmoother:
    """f = K_new (K + α I)⁻¹ y with y = ±1, for any number of labelings.

    Examples
    --------
    >>> smoother = RidgeSmoother.of(np.eye(2), np.array([[1.0, 0.0]]), 1.0)
    >>> smoother.scores(np.array([[0, 1], [1, 0]]))
    array([[-0.5,  0.5]])
    """

    matrix: Floats

    @classmethod
    def of(cls, values: Floats, new: Floats, alpha: float) -> RidgeSmoother:
        """Factor the system of the training matrix (m, m); ``new`` are kernel values of other samples, (samples, m)."""
        factor = _factor(values + alpha * np.eye(len(values)), f"K + {alpha:g} I")
        return cls(cho_solve(factor, new.T, check_finite=False).T)

    def scores(self, labels: Array) -> Floats:
        """Decision values (samples, labelings) for labels 0 and 1 of the training samples, (m, labelings)."""
        return self.matrix @ (2.0 * labels - 1.0)


@dataclass(frozen=True, eq=False)
class FisherSmoother:
    """The sign of Fisher's discriminant: f = k_xᵀ α − ½ (M₁ + M₀)ᵀ α with α = (T + μ I)⁻¹ (M₁ − M₀), up to a factor.

    M_c is the mean of the columns of class c, and T = K (I − 11ᵀ/m) K the total scatter. The within-class scatter N of
    `KernelFisherDiscriminant` is T minus a multiple of (M₁ − M₀)(M₁ − M₀)ᵀ, so that by the formula of Sherman and
    Morrison (N + μ I)⁻¹ (M₁ − M₀) is a positive multiple of α. T does not depend on the labels.

    Examples
    --------
    >>> values = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> smoother = FisherSmoother.of(values, np.array([[2.0, 1.0]]), 1.0)
    >>> smoother.scores(np.array([[1], [0]])) > 0
    array([[ True]])
    """

    values: Floats
    directions: Floats
    new: Floats

    @classmethod
    def of(cls, values: Floats, new: Floats, mu: float) -> FisherSmoother:
        """Factor the total scatter of the training matrix (m, m)."""
        centered = values - values.mean(axis=1, keepdims=True)
        scatter = centered @ values
        scatter = (scatter + scatter.T) / 2
        scatter.flat[:: len(values) + 1] += mu
        return cls(values, cho_solve(_factor(scatter, "the total scatter"), values, check_finite=False), new)

    def scores(self, labels: Array) -> Floats:
        """Decision values, up to a positive factor for each labeling; 0 where one class is empty."""
        ones = labels.astype(np.float64)
        counts = ones.sum(axis=0)
        both = (counts > 0) & (counts < len(labels))
        first = ones / np.where(both, counts, 1)
        second = (1 - ones) / np.where(both, len(labels) - counts, 1)
        alpha = self.directions @ np.where(both, first - second, 0.0)
        middle = ((self.values @ (first + second)) * alpha).sum(axis=0) / 2
        return np.where(both, self.new @ alpha - middle, 0.0)


def _factor(matrix: Floats, what: str) -> tuple[Floats, bool]:
    try:
        return cho_factor(finite(matrix), lower=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise InputError(f"{what} is not positive definite: check the kernel, or raise the regularisation") from error
