"""The entropy kernel between bags: of the distributions on their points, or of smoothed densities."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.compiled.bags import atom_pairs, density_pairs
from distkern.core.bags import split_rows
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.io.source import as_source
from distkern.kernels.bags.bag_kernel import BagKernel, refuse_other_points
from distkern.kernels.bags.pooled_points import center_and_variance, pooled_points
from distkern.kernels.base import Kernel, Prepared, prepare_source
from distkern.kernels.parameters import check_number, check_whole
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

WIDER = 1.5
"""Standard deviation of the draws relative to that of the points of the cohort."""

DENSITY_BYTES = 2**23
"""Most bytes of distances between draws and the points of a bag that are computed at a time."""


@dataclass(frozen=True)
class Entropy(BagKernel):
    """k(p, q) = e^(−β J), J = h((p + q)/2) − (h(p) + h(q))/2 with h the entropy: the Jensen–Shannon divergence.

    J is conditionally negative definite, so that k is positive definite for every β.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), sections 3.1 and 4.1; Fuglede &
    Topsøe (2004).

    Parameters
    ----------
    beta
        β > 0.
    bandwidth
        None: p is the discrete distribution on the points, where two points are equal or not, as for histograms and
        multinomials; exact. A number κ > 0, in the unit of the points: p is smoothed to Σ_i p_i N(x_i, κ² I)
        (Parzen), and J is estimated by the mean over random draws. All bags share the draws, so that the kernel stays
        positive semidefinite.
    draws, seed
        Number and seed of the draws; used with a bandwidth only.
    center, spread
        Mean and standard deviation of the normal distribution of the draws, in each dimension; by default the mean of
        the cohort's points and 1.5 times their standard deviation.

    Notes
    -----
    Samples are `Bags`; for histograms use `Bags.from_counts`. Without a bandwidth O(L log L) per bag and O(L + L') per
    pair; with one O(L · draws · d) per bag and O(draws) per pair. Values lie in (0, 1]. `standard_error` estimates the
    error that is due to the draws.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_counts([[1, 1, 0], [0, 1, 1]])
    >>> Entropy()(bags)  # one of two atoms is shared: J = log(2) / 2
    array([[1.        , 0.70710678],
           [0.70710678, 1.        ]])
    """

    name: ClassVar[str] = "entropy"
    beta: float = 1.0
    bandwidth: float | None = None
    draws: int = 2048
    seed: int = 0
    center: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.beta, "beta", "more than 0")
        if self.bandwidth is not None:
            check_number(self.bandwidth, "bandwidth", "more than 0")
        check_whole(self.draws, "draws", 2)
        check_whole(self.seed, "seed", 0, 2**64 - 1)
        if (self.center is None) != (self.spread is None):
            raise InputError("give both center= and spread= of the draws, or neither")
        if self.center is not None and self.spread is not None:
            if len(self.center) != len(self.spread) or not all(0 < value < np.inf for value in self.spread):
                raise InputError("center and spread must be as many numbers as points have dimensions, spread above 0")

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Fix the number of dimensions and the distribution of the draws."""
        kernel: Any = super().resolve(X, seed)
        if self.bandwidth is None or self.center is not None:
            return kernel
        with np.errstate(over="ignore", invalid="ignore"):
            center, variance = center_and_variance(pooled_points(X))
            spread = WIDER * np.sqrt(variance + self.bandwidth**2)
        if not np.isfinite(spread).all():
            raise InputError("the variance of the points is beyond what float64 holds: scale the points down")
        return dataclasses.replace(kernel, center=tuple(center.tolist()), spread=tuple(spread.tolist()))

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort the distinct points of each bag; or compute its density at each draw, divided by that of the draws."""
        weights, points = split_rows(np.ascontiguousarray(X, dtype=np.float64))
        shares = weights / weights.sum(axis=1, keepdims=True)
        if self.bandwidth is None:
            return Prepared(_atoms(shares, points), start)
        drawn, log_density = self._drawn()
        densities = np.empty((len(shares), len(drawn)))
        for row, (share, place) in enumerate(zip(shares, points, strict=True)):
            densities[row] = self._density(drawn, log_density, share[share > 0], place[share > 0])
        densities[~densities.any(axis=1)] = np.nan  # no draw is near the bag
        logs = np.log(densities, where=densities > 0, out=np.zeros_like(densities))
        return Prepared({"densities": densities, "entropies": -(densities * logs).mean(axis=1)}, start)

    def _drawn(self) -> tuple[Floats, Floats]:
        """The draws (draws, d), and the log density of their distribution at each."""
        if self.center is None or self.spread is None:
            raise InputError("the draws depend on the cohort: call resolve(X) first, or give center= and spread=")
        scale = np.array(self.spread)
        normal = np.random.default_rng(self.seed).standard_normal((self.draws, len(scale)))
        log_density = -0.5 * (normal**2).sum(axis=1) - np.log(scale * np.sqrt(2 * np.pi)).sum()
        return np.array(self.center) + normal * scale, log_density

    def _density(self, drawn: Floats, log_density: Floats, shares: Floats, points: Floats) -> Floats:
        """Σ_i p_i N(z; x_i, κ² I) at each draw z, divided by the density of the draws there, from logarithms."""
        width, d = self.bandwidth or 1.0, points.shape[1]
        out, constants = np.empty(len(drawn)), -log_density - d * (np.log(width) + 0.5 * np.log(2 * np.pi))
        step = max(1, DENSITY_BYTES // (8 * len(points) * d))
        for first in range(0, len(drawn), step):
            apart = (drawn[first : first + step, None, :] - points) / width
            exponents = constants[first : first + step, None] - 0.5 * (apart**2).sum(axis=2)
            out[first : first + step] = np.exp(exponents) @ shares
        return out

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        values = np.exp(-self.beta * self._divergences(A, B))
        if A is B:
            np.fill_diagonal(values, self.diagonal(A))
        return values

    def _divergences(self, A: Prepared, B: Prepared) -> Floats:
        if self.bandwidth is None:
            refuse_other_points(A, B, "atoms")
        else:
            A.refuse_unlike(B)
        a, b = A.arrays, B.arrays
        if self.bandwidth is None:
            return atom_pairs(a["shares"], a["atoms"], a["counts"], b["shares"], b["atoms"], b["counts"], A is B)
        unknown = np.isnan(np.add.outer(a["entropies"], b["entropies"]))
        pairs = density_pairs(a["densities"], a["entropies"], b["densities"], b["entropies"], A is B)
        return np.where(unknown, np.nan, pairs)

    def diagonal(self, A: Prepared) -> Floats:
        """Ones; NaN for a bag whose density is 0 at all draws."""
        return np.ones(len(A)) + 0.0 * A.arrays["entropies"] if self.bandwidth else np.ones(len(A))

    def standard_error(self, X: Any, Y: Any = None) -> Floats:
        """Standard error of each entry of ``kernel(X, Y)`` that is due to the draws; 0 without a bandwidth.

        Examples
        --------
        >>> from distkern.core.bags import Bags
        >>> bags = Bags.from_arrays([[0.0], [1.0]])
        >>> Entropy(bandwidth=1.0).standard_error(bags).round(3)
        array([[0.   , 0.001],
               [0.001, 0.   ]])
        """
        rows = as_source(X)
        kernel: Any = self.resolve(rows if Y is None else as_source(Y))
        A = prepare_source(kernel, rows)
        B = A if Y is None else prepare_source(kernel, as_source(Y))
        if self.bandwidth is None:
            return np.zeros((len(A), len(B)))
        out = np.empty((len(A), len(B)))
        for i, f in enumerate(A.arrays["densities"]):
            for j, g in enumerate(B.arrays["densities"]):
                each = _phi((f + g) / 2) - (_phi(f) + _phi(g)) / 2
                out[i, j] = self.beta * np.exp(-self.beta * each.mean()) * each.std(ddof=1) / np.sqrt(len(each))
        return out


@is_valid.register
def _(kernel: Entropy, A: Prepared) -> bool:
    """Whether the numbers of atoms of the bags are possible."""
    counts = A.arrays.get("counts")
    return counts is None or bool(((counts >= 0) & (counts <= A.arrays["atoms"].shape[1])).all())


@bytes_per_tile.register
def _(kernel: Entropy, a: int, b: int, n: int) -> int:
    """Bytes of the divergences and of the result, and of the distances to the draws while bags are prepared."""
    return 24 * a * b + 2 * DENSITY_BYTES


def _phi(density: Floats) -> Floats:
    """−t log t, 0 at 0."""
    return -density * np.log(density, where=density > 0, out=np.zeros_like(density))


def _atoms(shares: Floats, points: Floats) -> dict[str, Array]:
    """Distinct points of each bag in ascending order, their weights (sum 1), and their number."""
    bags, length, d = points.shape
    atoms, totals = np.zeros((bags, length, d)), np.zeros((bags, length))
    counts = np.empty(bags, dtype=np.int64)
    for row in range(bags):
        given = shares[row] > 0
        distinct, which = np.unique(points[row][given] + 0.0, axis=0, return_inverse=True)
        counts[row] = len(distinct)
        atoms[row, : len(distinct)] = distinct
        totals[row, : len(distinct)] = np.bincount(which.ravel(), weights=shares[row][given], minlength=len(distinct))
    return {"shares": totals, "atoms": atoms, "counts": counts}
