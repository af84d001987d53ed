"""What a bag is made of: the principal components of its points in the feature space of a base kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distkern.core.bags import Bags
from distkern.core.containers import numbers
from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.core.typing import Floats
from distkern.io.source import as_source
from distkern.kernels.bags.kernelized import MeanMap, anchored
from distkern.kernels.bags.pooled_points import pooled_points
from distkern.kernels.base import Kernel, check_source, strips
from distkern.kernels.lowrank import LowRank
from distkern.kernels.parameters import check_number, plain_value

NEAR = 1e-8
"""Values whose sizes differ by less than this fraction count as equally large where a sign is chosen."""


@dataclass(frozen=True, eq=False)
class BagComponents:
    """Principal components of a bag in the feature space of κ; made by `bag_components`.

    Call it with points (m, d) for the values of all functions at these points, (m, n).

    Parameters
    ----------
    eigenvalues
        λ (n,), descending: the variances of the functions over the bag.
    variance
        The sum of all eigenvalues; λ_l / variance is the share of a component.
    eta
        η of `log_density`.
    base
        κ, with all parameters resolved.
    basis
        Elements of the feature space (L, …) that all others are sums of: the points of the bag; on `LowRank` the unit
        vectors of its features.
    mean, factors
        Factors of the basis in the mean of the bag (L,), and in the unit vectors along the components (L, n).
    means
        Inner products of the basis with the mean (L,).
    dimensions
        d.

    See Also
    --------
    bag_components : Makes it.
    """

    eigenvalues: Floats
    variance: float
    eta: float
    base: Any
    basis: Floats = field(repr=False)
    mean: Floats = field(repr=False)
    factors: Floats = field(repr=False)
    means: Floats = field(repr=False)
    dimensions: int = field(repr=False)

    def __call__(self, points: Any) -> Floats:
        """Values of the functions v_l at points (m, d), as (m, n).

        Raises
        ------
        InputError
            If the points have another number of dimensions, or the base kernel is not defined for one.
        """
        return np.concatenate([values for values, _ in self._of_strips(points)])

    def log_density(self, points: Any) -> Floats:
        """Logarithm of the density of the Gaussian of the bag at points (m, d), up to a constant, (m,).

        −½ [Σ_l v_l(x)² / (λ_l + η) + (‖φ(x) − m‖² − Σ_l v_l(x)²) / η], with m the mean of the bag in feature space:
        the Gaussian has the covariance Σ_l λ_l v_l v_lᵀ + ηI, with λ_l in the directions of the n components only. With
        η = 0 it is uniform in all other directions, and only the first sum is left. On `LowRank` the landmarks
        approximate m and v, and not ‖φ(x)‖.

        Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), section 3.1.
        """
        return -0.5 * np.concatenate([self._distances(values, squares) for values, squares in self._of_strips(points)])

    def distances(self, points: Any) -> Floats:
        """Squared Mahalanobis distances of points (m, d) from the mean of the bag, (m,): −2 times `log_density`."""
        return -2.0 * self.log_density(points)

    def _distances(self, values: Floats, squares: Floats) -> Floats:
        along = values**2
        inside = (along / (self.eigenvalues + self.eta)).sum(axis=1)
        if self.eta == 0:
            return inside
        return inside + np.maximum(squares - along.sum(axis=1), 0.0) / self.eta

    def _of_strips(self, points: Any) -> Iterator[tuple[Floats, Floats]]:
        """Values of the functions, and ‖φ(x) − m‖², of some points at a time."""
        found = as_points(points, self.dimensions)
        self.base.check(found)
        known = None if isinstance(self.base, LowRank) else self.base.prepare(self.basis)
        square = float(self.mean @ self.means)
        for rows in strips(len(found), max(found.shape[1], len(self.basis))):
            if known is None:
                inner, exact = self.base.features(found[rows]).T, self.base.base
                own = exact.diagonal(exact.prepare(found[rows]))  # that of the landmarks vanishes far from them
            else:
                some = self.base.prepare(found[rows])
                inner, own = self.base.tile(known, some), self.base.diagonal(some)
            yield (inner - self.means[:, None]).T @ self.factors, own - 2 * (self.mean @ inner) + square


def bag_components(bag: Any, base: Kernel, n: int = 4, eta: float = 0.01) -> BagComponents:
    r"""Principal components of a bag in the feature space of a base kernel κ: eigenvalues λ, functions v of a point.

    K̃Δ u = λ u with Σ_i a_i u_i² = 1, and v(x) = Σ_i a_i u_i (κ(x_i, x) − Σ_j a_j κ(x_i, x_j)) / √λ,

    for a bag with the points x_i and the weights a_i, of sum 1. K̃_ij = ⟨φ(x_i) − m, φ(x_j) − m⟩ is the base kernel
    centred at m = Σ_i a_i φ(x_i), and Δ = diag(a). So v(x) is the coordinate of φ(x) − m along a unit vector: over the
    bag it has the mean 0 and the variance λ, and v(x_i) = √λ u_i. The function ⟨v, φ(x)⟩ of the papers differs from it
    by a constant.

    Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), section 3.2; Cuturi, Fukumizu & Vert, *Semigroup
    kernels on measures* (2005), proposition 5 and section 8.2.

    Parameters
    ----------
    bag
        `Bags` with one bag, or an array of points (L, d). Several bags are taken as one, their mixture in equal parts.
    base
        κ, a kernel of the points; `LowRank` where a bag has many points.
    n
        Number of components.
    eta
        η of `BagComponents.log_density`, 0 or more, in the unit of κ.

    Returns
    -------
    BagComponents
        Eigenvalues in descending order, and the functions. The sign of a function is such that its largest absolute
        value on the bag is positive, at the first point of those with this value. Where eigenvalues are equal, other
        functions with the same span would do as well.

    Raises
    ------
    InputError
        If the bag has fewer than n components with a variance beyond rounding, or a parameter is out of range.
    SampleError
        If the base kernel is not defined for a point.

    See Also
    --------
    KernelBhattacharyya : The kernel that compares components.
    KernelPCA : Components of a cohort instead of a bag.

    Notes
    -----
    O(L²) values of κ and O(L³) operations for L points, O(L R²) on `LowRank` with R landmarks; O(L) for each value of
    a function.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> found = bag_components([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]], Linear(), n=2)  # variances 4 and 1
    >>> found.eigenvalues.round(6), found([[6.0, 1.0]]).round(6)
    (array([4., 1.]), array([[-4.,  0.]]))
    """
    whole_number(n, "n", 1)
    eta = plain_value("eta", eta, float)
    check_number(eta, "eta")
    base = MeanMap(base).base  # refuses what is no kernel
    bags = as_bags(bag, "bag")
    components = components_of(shares_in_mixture(bags), bags.values, resolved(base, bags), eta, n)
    count = len(components.eigenvalues)
    if count == 0:
        raise InputError("the bag has no component: all its points are equal in feature space")
    if count < n:
        raise InputError(
            f"only {count} components of the bag have a variance beyond rounding, and n is {n}: give n={count} or less"
        )
    return components


def components_of(shares: Floats, points: Floats, base: Kernel, eta: float, n: int | None = None) -> BagComponents:
    """Return the n components with the largest variances, or fewer if the others are 0 up to rounding; n = None: all.

    Parameters
    ----------
    shares, points
        Weights (L,) of sum 1, and points (L, d).
    base
        κ with all parameters resolved.
    eta
        See `bag_components`.
    """
    if isinstance(base, LowRank):
        features = base.features(points)
        mean = shares @ features
        centred = features - mean
        scatter, largest = (centred.T * shares) @ centred, float((features**2).sum(axis=1).max())
        basis, means = np.eye(len(mean)), mean
    else:
        block = base.prepare(points)
        values, roots = base.tile(block, block), np.sqrt(shares)
        mean, means = shares, values @ shares
        scatter = roots[:, None] * (values - means[:, None] - means + shares @ means) * roots
        basis, largest = points, float(values.diagonal().max())
    eigenvalues, vectors = np.linalg.eigh(scatter)
    kept = np.flatnonzero(eigenvalues > len(points) * np.finfo(np.float64).eps * largest)[::-1][:n]
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    if isinstance(base, LowRank):
        factors, on_bag = vectors, centred @ vectors
    else:
        factors, on_bag = roots[:, None] * vectors / np.sqrt(eigenvalues), vectors / roots[:, None]
        factors -= np.outer(shares, factors.sum(axis=0))  # their sum is 0, up to rounding that a small λ magnifies
    factors = factors * _signs(on_bag)
    variance = float(np.trace(scatter))
    return BagComponents(eigenvalues, variance, float(eta), base, basis, mean, factors, means, points.shape[1])


def _signs(values: Floats) -> Floats:
    """±1 for each column, so that its value of the largest size, the first of several, becomes positive."""
    sizes = np.abs(values)
    first = np.argmax(sizes >= (1 - NEAR) * sizes.max(axis=0), axis=0)
    return np.where(values[first, np.arange(values.shape[1])] < 0, -1.0, 1.0)


def as_bags(bag: Any, name: str) -> Bags:
    """Return bags as they are, and points (L, d) as one bag with this name."""
    return bag if isinstance(bag, Bags) else Bags.from_arrays([bag], ids=[name])


def as_points(points: Any, dimensions: int) -> Floats:
    """Return points as an array (m, d).

    Raises
    ------
    InputError
        If they are not numbers, or have another number of dimensions than the points of the bags.
    """
    found = numbers(points, "the points")
    if found.ndim == 1 and dimensions == 1:
        found = found[:, None]
    if found.ndim != 2 or found.shape[1] != dimensions or len(found) == 0:
        raise InputError(f"the points have shape {found.shape}; they must be (points, {dimensions}), one or more")
    return np.ascontiguousarray(found, dtype=np.float64)


def shares_in_mixture(bags: Bags) -> Floats:
    """Share of each point in the mixture of all bags in equal parts, (points,).

    Examples
    --------
    >>> shares_in_mixture(Bags.from_arrays([[1.0], [2.0, 3.0]], [[5.0], [1.0, 3.0]]))
    array([0.5  , 0.125, 0.375])
    """
    totals = np.add.reduceat(bags.weights, bags.offsets[:-1])
    return bags.weights / np.repeat(totals, bags.sizes) / len(bags)


def resolved(base: Kernel, bags: Bags) -> Kernel:
    """Resolve a base kernel on the points of bags, relative to their mean if they are far from 0, and check them."""
    points = pooled_points(bags)
    kernel = anchored(base, points).resolve(points, 0)
    check_source(MeanMap(kernel), as_source(bags))
    return kernel
