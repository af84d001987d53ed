"""Where two bags differ: the witness functions of the kernels `MeanMap` and `KernelIGV`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distkern.core.bags import Bags
from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Floats
from distkern.kernels.anchored import Anchored
from distkern.kernels.bags.components import (
    BagComponents,
    as_bags,
    as_points,
    components_of,
    resolved,
    shares_in_mixture,
)
from distkern.kernels.bags.kernelized import KernelIGV, MeanMap
from distkern.kernels.base import Kernel, strips
from distkern.kernels.lowrank import LowRank


@dataclass(frozen=True, eq=False)
class Witness:
    """Where two bags differ; made by `witness`. Call it with points (m, d) for the values at these points, (m,).

    Parameters
    ----------
    first, second
        The bags that were compared.
    kernel
        The kernel, with all parameters resolved.
    distance
        How much they differ, 0 or more; see `witness`.
    of_first, of_second
        The values at the points of the first and of the second bags, in their order.

    See Also
    --------
    witness : Makes it.
    distkern.plot.plot_witness : Its figure.
    """

    first: Bags
    second: Bags
    kernel: MeanMap | KernelIGV
    distance: float
    of_first: Floats = field(repr=False)
    of_second: Floats = field(repr=False)
    function: Callable[[Floats], Floats] = field(repr=False)

    def __call__(self, points: Any) -> Floats:
        """Values at points (m, d), as (m,).

        Raises
        ------
        InputError
            If the points have another number of dimensions, or the base kernel is not defined for one.
        """
        found = as_points(points, self.first.dimensions)
        self.kernel.base.check(found)
        return self.function(found)


def witness(first: Any, second: Any, kernel: MeanMap | KernelIGV) -> Witness:
    """Where two bags, or two groups of bags, differ: a function of a point, large where the first has more.

    For `MeanMap`: f(x) = Σ_i p_i κ(x_i, x) − Σ_j q_j κ(y_j, x), the difference of the mean embeddings. The distance is
    ‖f‖² = Σ_i p_i f(x_i) − Σ_j q_j f(y_j), the squared maximum mean discrepancy: f tells how much each point adds.

    For `KernelIGV`: f(x) = ½ [g_q(x) − g_p(x)] with g_p(x) = ⟨φ(x) − m, (Σ + ηI)⁻¹ (φ(x) − m)⟩, the squared Mahalanobis
    distance of a point from the bag p, with its mean m and covariance Σ in feature space. Up to a constant this is the
    logarithm of the ratio of the two Gaussians at x. Up to a constant it is also the derivative of the distance
    −ln k(p, q), k with unit norm, when mass moves to x in the first bag and away from x in the second.

    Source: Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 13 (2012), section 2.3; for
    `KernelIGV` the derivative of Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), equation 3.

    Parameters
    ----------
    first, second
        `Bags`, or an array of points (L, d). Several bags are a group: their mixture in equal parts.
    kernel
        ``MeanMap(base)`` or ``KernelIGV(base, eta)``.

    Returns
    -------
    Witness
        The function, its values at the points of both, and the distance.

    Raises
    ------
    InputError
        If the points of the two have different numbers of dimensions, or the kernel is another one.
    SampleError
        If the kernel is not defined for a point.

    See Also
    --------
    MeanMap : The kernel whose distance it explains.
    mmd_test : Whether the difference is more than chance.

    Notes
    -----
    `KernelIGV` takes O(L³) operations for L points of both, and O(L) for each value; O(L R²) and O(R²) on `LowRank`
    with R landmarks.

    Examples
    --------
    >>> from distkern.kernels.vectors import Gaussian
    >>> ill, well = [[0.0], [0.1], [5.0]], [[0.0], [0.1], [0.2]]
    >>> found = witness(ill, well, MeanMap(Gaussian(1.0)))
    >>> int(np.argmax(found.of_first)), found([[0.1], [5.0]]).round(2)
    (2, array([-0.33,  0.33]))
    """
    if not isinstance(kernel, (MeanMap, KernelIGV)):
        raise InputTypeError(f"kernel must be MeanMap(base) or KernelIGV(base, eta), not {kernel!r}")
    one, other = as_bags(first, "first"), as_bags(second, "second")
    if one.dimensions != other.dimensions:
        raise InputError(
            f"first has points in {one.dimensions} dimensions, and second in {other.dimensions}: give points of one "
            "space"
        )
    both = Bags.from_arrays([*one, *other], [bags.weights_of(at) for bags in (one, other) for at in range(len(bags))])
    base = resolved(kernel.base, both)
    known = dataclasses.replace(kernel, base=base, dimensions=kernel.dimensions or one.dimensions)
    known.check(both.rows())
    compare = _of_means if isinstance(kernel, MeanMap) else _of_variances
    distance, function = compare(one, other, known)
    return Witness(one, other, known, distance, function(one.values), function(other.values), function)


def _of_means(one: Bags, other: Bags, kernel: Any) -> tuple[float, Callable[[Floats], Floats]]:
    """The difference of the mean embeddings."""
    points = np.concatenate([one.values, other.values])
    factors = np.concatenate([shares_in_mixture(one), -shares_in_mixture(other)])
    expanded = _expansion(factors, points, kernel.base)
    distance = max(float(factors @ expanded(points)), 0.0)
    if not isinstance(kernel.base, Anchored):
        return distance, expanded
    # relative to z the function is f(x) − f(z), since the factors add up to 0
    offset = float(factors @ kernel.base.base(points, [kernel.base.point])[:, 0])
    return distance, lambda found: expanded(found) + offset


def _expansion(factors: Floats, points: Floats, base: Kernel) -> Callable[[Floats], Floats]:
    """The function Σ_i factors[i] κ(x_i, x)."""
    if isinstance(base, LowRank):
        weights = factors @ base.features(points)
        return lambda found: base.features(found) @ weights
    known = base.prepare(points)

    def summed(found: Floats) -> Floats:
        some = strips(len(found), max(found.shape[1], len(points)))
        return np.concatenate([factors @ base.tile(known, base.prepare(found[rows])) for rows in some])

    return summed


def _of_variances(one: Bags, other: Bags, kernel: Any) -> tuple[float, Callable[[Floats], Floats]]:
    """Half the difference of the Mahalanobis distances, and −ln k from the determinants."""
    shares, points = [shares_in_mixture(bags) for bags in (one, other)], [one.values, other.values]
    own = [components_of(*part, kernel.base, kernel.eta) for part in zip(shares, points, strict=True)]
    mixed = components_of(np.concatenate(shares) / 2, np.concatenate(points), kernel.base, kernel.eta)
    distance = max(_log_determinant(mixed) - 0.5 * sum(map(_log_determinant, own)), 0.0)
    return distance, lambda found: own[0].log_density(found) - own[1].log_density(found)


def _log_determinant(components: BagComponents) -> float:
    """The logarithm ln det(Σ/η + I)."""
    return float(np.log1p(components.eigenvalues / components.eta).sum())
