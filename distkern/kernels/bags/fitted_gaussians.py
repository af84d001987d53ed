"""Kernels between bags through the Gaussian fitted to each: Bhattacharyya and the generalised variance."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.compiled.bags import log_determinants, mixed_pairs, moments
from distkern.compiled.mixtures import prior_pairs
from distkern.core.bags import Bags, split_rows
from distkern.core.containers import numbers
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
class GaussianPairs(BagKernel):
    """A kernel that is a function of the means and covariances of two bags, of S = (Σ + Σ')/2 and δ = μ − μ'."""

    eta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.eta, "eta")

    @property
    def _mixed(self) -> bool:
        """Whether covariances are those of mixtures that are not singular."""
        return False

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
        if self.eta >= TINY or self._mixed:
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
def _(kernel: GaussianPairs, a: int, b: int, n: int) -> int:
    """Bytes of the log determinants, the quadratic forms, their sums and the result."""
    return 56 * a * b + 16 * n


@dataclass(frozen=True)
class Bhattacharyya(GaussianPairs):
    """k(p, q) = ∫ √p √q for Gaussians p and q fitted to two bags: (det Σ det Σ')^¼ (det S)^(−½) exp(−δᵀ S⁻¹ δ / 8).

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

    See Also
    --------
    KernelBhattacharyya : The same in the feature space of a kernel.
    GeneralizedVariance : A Gaussian fitted to both bags together.
    MeanMap : No density is fitted.

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
class GeneralizedVariance(GaussianPairs):
    """k(μ, μ') = 1 / det(Σ''/η + I), Σ'' the covariance of the mixture (μ + μ')/2: the inverse generalised variance.

    Σ'' = (Σ + Σ')/2 + δδᵀ/4 with δ the difference of the means. For η = 0, k = 1 / det Σ''. With a prior measure ρ,
    Σ'' is the covariance of λ(μ + μ')/2 + (1 − λ)ρ, which is not singular for bags of few points either.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), sections 3.2 and 4.2.

    Parameters
    ----------
    eta
        η ≥ 0, in the unit of the points squared.
    unit_norm
        Divide by √(k(μ, μ) k(μ', μ')), so that k(μ, μ) = 1.
    prior
        ρ: a bag (`Bags` of one bag, or an array of points (L, d)), or its mean (d,) and covariance (d, d).
    mix
        λ, from 0 to 1: the part of the bags in the mixture; used with a prior only.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0, and there is no prior; the message names it.
    InputError
        If the prior is no bag and no mean and covariance, is singular and η is 0, or has other dimensions than points.

    See Also
    --------
    KernelIGV : The same in the feature space of a kernel.
    Bhattacharyya : A Gaussian fitted to each bag.

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
    >>> single = Bags.from_arrays([[0.0], [1.0]])  # without a variance of their own
    >>> GeneralizedVariance(prior=([0.0], [[1.0]]), mix=0.5)(single).round(4)
    array([[1.    , 0.8907],
           [0.8907, 1.    ]])
    """

    name: ClassVar[str] = "generalized-variance"
    unit_norm: bool = True
    prior: Any = None
    mix: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.mix <= 1:
            raise InputError(f"mix must be a number from 0 to 1, not {self.mix!r}")
        if self.prior is None:
            return
        mean, covariance = _moments_of_prior(self.prior)
        if self.eta < TINY and self.mix < 1:
            eigenvalues = np.linalg.eigvalsh(covariance)
            if eigenvalues[0] <= SINGULAR * abs(eigenvalues[-1]):
                raise InputError("the covariance of the prior is singular: give eta a number above 0, or another prior")
        object.__setattr__(self, "prior", (tuple(mean.tolist()), tuple(map(tuple, covariance.tolist()))))

    @property
    def _mixed(self) -> bool:
        """Whether a prior has a part in the mixture."""
        return self.prior is not None and self.mix < 1

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags of other dimensions than the prior; without one also those of a singular covariance."""
        if self.prior is not None and points.shape[2] != len(self.prior[0]):
            raise InputError(f"the prior has {len(self.prior[0])} dimensions, and the points have {points.shape[2]}")
        super().check_bags(weights, points, ids)

    def prepare_points(self, weights: Floats, points: Floats, start: int = 0) -> Prepared:
        """Prepare bags given as weights (k, L) and points (k, L, d): with a prior, their mixtures with it."""
        block = super().prepare_points(weights, points, start)
        if not self._mixed:
            return block
        if points.shape[2] != len(self.prior[0]):  # also here, where no check comes before
            raise InputError(f"the prior has {len(self.prior[0])} dimensions, and the points have {points.shape[2]}")
        one, diagonal = np.eye(points.shape[2]), self.eta
        means = block.arrays["means"] - np.array(self.prior[0])
        own = block.arrays["covariances"] - diagonal * one
        covariances = self.mix * own + (1 - self.mix) * np.array(self.prior[1]) + diagonal * one
        outer = means[:, :, None] * means[:, None, :]
        logdets = log_determinants(covariances + self.mix * (1 - self.mix) * outer)
        return Prepared({"means": means, "covariances": covariances, "logdets": logdets}, start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        if not self._mixed:
            return super().tile(A, B)
        A.refuse_unlike(B)
        a, b = A.arrays, B.arrays
        whole = prior_pairs(a["means"], a["covariances"], b["means"], b["covariances"], self.mix, A is B)
        own = np.add.outer(a["logdets"], b["logdets"])
        values = np.exp(self._log_values(own, whole, np.zeros(whole.shape), a["means"].shape[1]))
        if A is B:
            np.fill_diagonal(values, self.diagonal(A))
        return values

    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        whole = mixed + np.log1p(form / 4)
        if self.unit_norm:
            return 0.5 * own - whole
        return d * np.log(self.eta) - whole if self.eta > 0 else -whole


def _moments_of_prior(prior: Any) -> tuple[Floats, Floats]:
    """Mean (d,) and covariance (d, d) of a prior, which is one bag, an array of points, or these two."""
    if isinstance(prior, Bags):
        if len(prior) != 1:
            raise InputError(f"the prior has {len(prior)} bags: give one, such as bags[0]")
        weights, points = split_rows(prior.rows())
    elif _is_pair(prior):
        mean, covariance = numbers(prior[0], "the mean of the prior"), numbers(prior[1], "the covariance of the prior")
        d = len(mean)
        if covariance.shape != (d, d) or not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise InputError(f"the prior has a mean of {d} numbers: give a covariance of {d} × {d} finite numbers")
        scale = abs(covariance).max()
        if abs(covariance - covariance.T).max() > SINGULAR * scale:
            raise InputError("the covariance of the prior is not symmetric")
        if np.linalg.eigvalsh(covariance)[0] < -SINGULAR * scale:
            raise InputError("the covariance of the prior is not positive semidefinite")
        return mean, (covariance + covariance.T) / 2
    else:
        array = numbers(prior, "the prior")
        if array.ndim not in (1, 2) or not array.size or array.shape == (2,):
            raise InputError(
                "the prior must be a bag of points (L, d), or a mean (d,) and a covariance (d, d), such as "
                "([0.0], [[1.0]])"
            )
        weights, points = split_rows(Bags.from_arrays([array]).rows())
    means, covariances = moments(weights, points)
    return means[0], covariances[0]


def _is_pair(prior: Any) -> bool:
    """Whether a prior is a mean, (d,), and a covariance, (d, d)."""
    if not isinstance(prior, (tuple, list)) or len(prior) != 2:
        return False
    try:
        return np.ndim(prior[0]) == 1 and np.ndim(prior[1]) == 2
    except ValueError:  # rows of unlike lengths
        return False
