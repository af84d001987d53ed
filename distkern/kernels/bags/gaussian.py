"""Kernels between weighted sets of points through the Gaussian fitted to each: Bhattacharyya, generalised variance."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from distkern.compiled.bags import log_determinants, mixed_pairs, moments
from distkern.core.bag_rows import split_rows
from distkern.core.bags import Bags
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of, refuse_infinite, refuse_nan
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared

SINGULAR = 1e-12
"""A covariance whose least eigenvalue is at most this part of its largest has no density."""


def check_number(value: float, name: str, least: str = "0 or more") -> None:
    """Refuse a parameter that is not a finite number of 0 or more, or of more than 0."""
    if not (0 <= value < np.inf) or (value == 0 and least != "0 or more"):
        raise InputError(f"{name} must be a finite number of {least}, not {value!r}")


@dataclass(frozen=True)
class BagKernel(Kernel):
    """A kernel on `Bags`, whose rows hold the points and the weights of one set each.

    Parameters
    ----------
    dimensions
        Number of coordinates of a point; that of the cohort when not given.
    """

    dimensions: int | None = field(default=None, kw_only=True)

    @property
    def takes_bags(self) -> bool:
        """True."""
        return True

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Settle the number of dimensions, so that bags of other points are refused."""
        if self.dimensions is not None:
            return self
        return dataclasses.replace(self, dimensions=int(as_source(X).read(slice(0, 1))[0, 0]))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that are no bags, and bags without a distribution."""
        refuse_nan(X, ids, features)
        refuse_infinite(X, ids, features)
        weights, points = split_rows(np.asarray(X, dtype=np.float64))
        if self.dimensions is not None and points.shape[2] != self.dimensions:
            raise InputError(
                f"the points of these bags have {points.shape[2]} dimensions, and those of the cohort that they meet "
                f"{self.dimensions}: give points of the same space"
            )
        for row in np.flatnonzero((weights < 0).any(axis=1) | ~(weights.sum(axis=1) > 0)).tolist():
            raise SampleError(f"bag {name_of(row, ids)} has weights that are negative or all zero: make it anew", row)
        self.check_bags(weights, points, ids)

    def drawn(self, count: int, n: int) -> Array:
        """Bags to measure the kernel on, of as many normal points as rows of n numbers hold."""
        d = self.dimensions or 1
        points = np.random.default_rng(0).normal(size=(count, max(1, (n - 1) // (1 + d)), d))
        return Bags.from_arrays(list(points)).rows()

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags for which the kernel is not defined: weights (k, L), points (k, L, d)."""


def refuse_other_points(A: Prepared, B: Prepared, name: str) -> None:
    """Refuse blocks of bags whose points, in an array of that name, have unlike dimensions."""
    one, other = (Prepared({key: block.arrays[key][:, :1] for key in block.arrays if key == name}) for block in (A, B))
    one.refuse_unlike(other)


@dataclass(frozen=True)
class _GaussianPairs(BagKernel):
    """A kernel of the means and covariances of two bags, through S = (Σ + Σ')/2 and δ = μ − μ'."""

    eta: float = 0.0

    def __post_init__(self) -> None:
        check_number(self.eta, "eta")

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags whose covariance is singular, where eta is 0."""
        if self.eta > 0:
            return
        eigenvalues = np.linalg.eigvalsh(moments(weights, points)[1])
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
        """Prepare bags that are given as weights (k, L) and points (k, L, d)."""
        means, covariances = moments(weights, points)
        covariances += self.eta * np.eye(means.shape[1])
        arrays = {"means": means, "covariances": covariances, "logdets": log_determinants(covariances)}
        return Prepared(arrays, start)

    @abstractmethod
    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        """Log k from the sum of both log determinants, that of S, and δᵀ S⁻¹ δ, of points in d dimensions."""

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

    def bytes_per_tile(self, a: int, b: int, n: int) -> int:
        """Bytes of the log determinants, the quadratic forms, their sums and the result."""
        return 56 * a * b + 16 * n


@dataclass(frozen=True)
class Bhattacharyya(_GaussianPairs):
    """k(p, q) = ∫ √p √q for Gaussians p and q fitted to two bags: |Σ|^¼ |Σ'|^¼ |S|^(−½) exp(−δᵀ S⁻¹ δ / 8).

    Here S = (Σ + Σ')/2 and δ = μ − μ', with the maximum-likelihood mean μ and covariance Σ + ηI of each bag.

    Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), section 3.

    Parameters
    ----------
    eta
        η ≥ 0, added to the diagonal of each covariance, in the unit of the points squared.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0; the bag is named.

    Notes
    -----
    Samples are `Bags`. O(L d²) a bag of L points in d dimensions, then O(d³) a pair. Values lie in (0, 1].

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

    Σ'' = (Σ + Σ')/2 + δδᵀ/4 with δ the difference of the means. With η = 0, k = 1 / det Σ''.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), section 5, equations of the inverse
    generalised variance and its regularised form.

    Parameters
    ----------
    eta
        η ≥ 0, in the unit of the points squared.
    unit_norm
        Divide by √(k(μ, μ) k(μ', μ')), so that k(μ, μ) = 1.

    Raises
    ------
    SampleError
        If a covariance is singular and η is 0; the bag is named.

    Notes
    -----
    Samples are `Bags`. O(L d²) a bag of L points in d dimensions, then O(d³) a pair.

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
    """k(μ, μ') = exp(−2β [h(μ'') − (h(μ) + h(μ'))/2]), h the entropy of the Gaussian fitted, μ'' = (μ + μ')/2.

    This is Laplace's approximation of φ(μ) = ∫ e^(μ[log p_θ]) ω(dθ) over the family under Jeffreys' prior ω, at norm 1
    and with measures of mass β; for Gaussians it is exact. With these h is ½ log det Σ and a constant, so that β = 1 is
    the inverse generalised variance of norm 1. For points in d dimensions the kernel is positive semidefinite where β
    is above (d − 1)/2, for there the integral is finite, or a multiple of ½. Between these it is not for all bags.

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
        If a covariance is singular and η is 0; the bag is named.
    InputError
        If the kernel is not positive semidefinite for points of so many dimensions and this β.

    Notes
    -----
    Samples are `Bags`. O(L d²) a bag of L points in d dimensions, then O(d³) a pair. For multinomial families see
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
        """Refuse a β for which points of so many dimensions make no positive semidefinite kernel."""
        least = (points.shape[2] - 1) / 2
        if self.beta <= least and 2 * self.beta % 1:
            raise InputError(
                f"with beta={self.beta:g} the kernel between bags of points in {points.shape[2]} dimensions is not "
                f"positive semidefinite: give a multiple of 0.5, or a number above {least:g}"
            )
        super().check_bags(weights, points, ids)

    def _log_values(self, own: Floats, mixed: Floats, form: Floats, d: int) -> Floats:
        return self.beta * (0.5 * own - mixed - np.log1p(form / 4))
