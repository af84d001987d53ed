"""Kernels between bags through the Gaussian fitted to each: Bhattacharyya, generalised variance, exponential family."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distkern.compiled.bags import log_determinants, mixed_pairs, moments
from distkern.core.bags import split_rows
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of
from distkern.kernels.bags.bag_kernel import BagKernel
from distkern.kernels.base import Prepared
from distkern.kernels.parameters import check_number
from distkern.kernels.planning import bytes_per_tile

TINY = float(np.finfo(np.float64).tiny)
"""Numbers below it have fewer digits."""

SINGULAR = 1e-12
"""A covariance is singular where its least eigenvalue is at most this fraction of its largest."""


@dataclass(frozen=True)
class _GaussianPairs(BagKernel):
    """A kernel that is a function of the means and covariances of two bags, of S = (Σ + Σ')/2 and δ = μ − μ'."""

    eta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.eta, "eta")

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags whose covariance is not finite, or, where eta is 0, singular or too small to have all digits."""
        means, covariances = moments(weights, points)
        finite = np.isfinite(means).all(axis=1) & np.isfinite(covariances).all(axis=(1, 2))
        for row in np.flatnonzero(~finite).tolist():
            raise SampleError(
                "the covariance of bag {bag} is beyond what float64 holds: scale its points down",
                row,
                bag=name_of(row, ids),
            )
        if self.eta >= TINY:
            return
        eigenvalues = np.linalg.eigvalsh(covariances)
        for row in np.flatnonzero(
            (eigenvalues[:, -1] > 0) & (eigenvalues[:, 0] < TINY) & (eigenvalues[:, 0] > SINGULAR * eigenvalues[:, -1])
        ).tolist():
            raise SampleError(
                "the covariance of bag {bag} is {least:.3g}, too small to have all digits of float64: scale its points "
                "up",
                row,
                bag=name_of(row, ids),
                least=eigenvalues[row, 0],
            )
        for row in np.flatnonzero(eigenvalues[:, 0] <= SINGULAR * np.abs(eigenvalues[:, -1])).tolist():
            raise SampleError(
                f"the covariance of bag {name_of(row, ids)} is singular ({int((weights[row] > 0).sum())} points in "
                f"{points.shape[2]} dimensions): give eta a number above 0, or leave the bag out",
                row,
            )

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Mean, covariance (plus η on its diagonal) and log determinant of each bag."""
        return self.prepare_points(*split_rows(np.ascontiguousarray(X, dtype=np.float64)), start)

    def prepare_points(self, weights: Floats, points: Floats, start: int = 0) -> Prepared:
        """Prepare bags given as weights (k, L) and points (k, L, d)."""
        means, covariances = moments(weights, points)
        covariances += self.eta * np.eye(means.shape[1])
        arrays = {"means": means, "covariances": covariances, "logdets": log_determinants(covariances)}
        return Prepared(arrays, start)

    @abstractmethod
    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        """Log k from log det Σ + log det Σ', log det S and δᵀ S⁻¹ δ, for points in d dimensions."""

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        a, b = A.arrays, B.arrays
        mixed, form = mixed_pairs(a["means"], a["covariances"], b["means"], b["covariances"], A is B)
        own = np.add.outer(a["logdets"], b["logdets"])
        values = np.exp(self._log_values(own, mixed, form, a["means"].shape[1]))
        if A is B:
            np.fill_diagonal(values, self.diagonal(A))
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared bag."""
        logdets = A.arrays["logdets"]
        return np.exp(self._log_values(2 * logdets, logdets, np.zeros(len(A)), A.arrays["means"].shape[1]))


@bytes_per_tile.register
def _(kernel: _GaussianPairs, a: int, b: int, n: int) -> int:
    """Bytes of the log determinants, the quadratic forms, their sums and the result."""
    return 56 * a * b + 16 * n


@dataclass(frozen=True)
class Bhattacharyya(_GaussianPairs):
    """k(p, q) = ∫ √p √q for Gaussians p and q fitted to two bags: |Σ|^¼ |Σ'|^¼ |S|^(−½) exp(−δᵀ S⁻¹ δ / 8).

    Here S = (Σ + Σ')/2 and δ = μ − μ', with the maximum-likelihood mean μ and covariance Σ + ηI of each bag.

    Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), section 2.

    Parameters
    ----------
    eta
        η ≥ 0, added to the diagonal of each covariance, in the unit of the points squared.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0; the message names it.

    Notes
    -----
    Samples are `Bags`. O(L d²) per bag of L points in d dimensions, then O(d³) per pair. Values lie in (0, 1].

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_arrays([[-1.0, 1.0], [0.0, 2.0]])
    >>> Bhattacharyya()(bags)  # two normal distributions of variance 1, with means 0 and 1: exp(-1/8)
    array([[1.       , 0.8824969],
           [0.8824969, 1.       ]])
    """

    name: ClassVar[str] = "bhattacharyya"

    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        return 0.25 * own - 0.5 * mixed - form / 8


@dataclass(frozen=True)
class GeneralizedVariance(_GaussianPairs):
    """k(μ, μ') = 1 / det(Σ''/η + I), Σ'' the covariance of the mixture (μ + μ')/2: the inverse generalised variance.

    Σ'' = (Σ + Σ')/2 + δδᵀ/4 with δ the difference of the means. For η = 0, k = 1 / det Σ''.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), sections 3.2 and 4.2.

    Parameters
    ----------
    eta
        η ≥ 0, in the unit of the points squared.
    unit_norm
        Divide by √(k(μ, μ) k(μ', μ')), so that k(μ, μ) = 1.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0; the message names it.

    Notes
    -----
    Samples are `Bags`. O(L d²) per bag of L points in d dimensions, then O(d³) per pair.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_arrays([[-1.0, 1.0], [0.0, 2.0]])
    >>> GeneralizedVariance()(bags)  # variances 1 and 1, and 1 + 1/4 of the mixture
    array([[1. , 0.8],
           [0.8, 1. ]])
    """

    name: ClassVar[str] = "generalized-variance"
    unit_norm: bool = True

    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        whole = mixed + np.log1p(form / 4)
        if self.unit_norm:
            return 0.5 * own - whole
        return d * np.log(self.eta) - whole if self.eta > 0 else -whole


@dataclass(frozen=True)
class ExponentialFamily(_GaussianPairs):
    """k(μ, μ') = exp(−2β [h(μ'') − (h(μ) + h(μ'))/2]), h the entropy of the fitted Gaussian, μ'' = (μ + μ')/2.

    This is Laplace's approximation of φ(μ) = ∫ e^(μ[log p_θ]) ω(dθ) over the family under Jeffreys' prior ω, with unit
    norm and measures of mass β; it is exact for Gaussians. There h is ½ log det Σ plus a constant, so that β = 1 is the
    inverse generalised variance with unit norm. For points in d dimensions the kernel is positive semidefinite if β is
    above (d − 1)/2, where the integral is finite, or a multiple of ½; for other β it is not, for some bags.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), section 7.

    Parameters
    ----------
    eta
        η ≥ 0, added to the diagonal of each covariance, in the unit of the points squared.
    beta
        β > 0, the width: above (d − 1)/2, or a multiple of ½.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0; the message names it.
    InputError
        If the kernel is not positive semidefinite for this β and number of dimensions.

    Notes
    -----
    Samples are `Bags`. O(L d²) per bag of L points in d dimensions, then O(d³) per pair. For multinomial families see
    `Entropy`, whose ``beta`` is 2β here. Values lie in (0, 1].

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_arrays([[-1.0, 1.0], [0.0, 2.0]])
    >>> ExponentialFamily(beta=2.0)(bags)
    array([[1.  , 0.64],
           [0.64, 1.  ]])
    """

    name: ClassVar[str] = "exponential-family"
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.beta, "beta", "more than 0")

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse a β for which the kernel is not positive semidefinite in this number of dimensions."""
        least = (points.shape[2] - 1) / 2
        if self.beta <= least and 2 * self.beta % 1:
            raise InputError(
                f"with beta={self.beta:g} the kernel between bags of points in {points.shape[2]} dimensions is not "
                f"positive semidefinite: give a multiple of 0.5, or a number above {least:g}"
            )
        super().check_bags(weights, points, ids)

    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        return self.beta * (0.5 * own - mixed - np.log1p(form / 4))
