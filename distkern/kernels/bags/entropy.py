"""The entropy kernel between bags: of the distributions on their points, or of smoothed densities."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled.bags import atom_pairs, density_pairs
from distkern.core.bags import split_rows
from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names
from distkern.io.source import as_source
from distkern.kernels.bags.bag_kernel import BagKernel, refuse_other_points
from distkern.kernels.bags.pooled_points import center_and_variance, pooled_points
from distkern.kernels.base import Kernel, Prepared, prepare_source
from distkern.kernels.finite import (
    Table,
    component_names,
    fitting_names,
    positions_of_columns,
    refuse_other_codes,
    with_names,
)
from distkern.kernels.parameters import check_number, check_whole
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

WIDER = 1.5
"""Standard deviation of the draws relative to that of the points of the cohort."""

ROUNDING = 1e-9
"""Largest amount by which rows of a smoothing matrix may miss the sum 1, or an entry be negative."""

DENSITY_BYTES = 2**23
"""Most bytes of distances between draws and the points of a bag that are computed at a time."""


@dataclass(frozen=True)
class Entropy(BagKernel):
    """k(p, q) = e^(−β J), J = h((p + q)/2) − (h(p) + h(q))/2 with h(p) = −Σ p ln p: the Jensen–Shannon divergence.

    J is conditionally negative definite, so that k is positive definite for every β, for distributions and for other
    measures, such as counts.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), sections 3.1 and 4.1, proposition 1 and
    definition 4; Fuglede & Topsøe (2004).

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
    smoothing
        For points of a finite set: a matrix P (n, n') of 0 or more, whose rows sum to 1, or a `Table` of this kind,
        such as that of `network_kernel`. p is smoothed to Pᵀp, exactly: component i gives P_ij of its weight to j.
    normalize
        Whether weights are divided by their sum. False: they are a measure of any mass, such as counts. J is
        proportional to the scale of the weights, so that β must be the smaller the larger they are.
    form
        ``"J"``: as above. ``"h"``: e^(−β h(p + q)), divided by √(k(p, p) k(q, q)); e^(−h) itself is beyond floating
        point for counts. Since h(p + q) − (h(2p) + h(2q))/2 = 2J, it is the kernel of form J with 2β.
    names
        Names of the rows of P, by which columns of samples are found; by default those of a DataFrame or `Table`.

    Raises
    ------
    InputError
        If an entry of P is negative or a row does not sum to 1; or samples have components that P lacks.

    See Also
    --------
    MeanMap : The inner product of two distributions.
    scipy.spatial.distance.jensenshannon : The square root of J.

    Notes
    -----
    Samples are `Bags`; for histograms use `Bags.from_counts`. With ``smoothing`` or without ``normalize`` also rows of
    counts (m, n), dense or sparse: each row is a bag, and takes O(n') per pair. Without a bandwidth O(L log L) per bag
    and O(L + L') per pair; with one O(L · draws · d) per bag and O(draws) per pair. Values lie in (0, 1].
    `standard_error` estimates the error that is due to the draws.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_counts([[1, 1, 0], [0, 1, 1]])
    >>> Entropy()(bags)  # one of two atoms is shared: J = log(2) / 2
    array([[1.        , 0.70710678],
           [0.70710678, 1.        ]])
    >>> Entropy(smoothing=[[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]])([[1, 1, 0], [0, 1, 1]]).round(4)
    array([[1.    , 0.8076],
           [0.8076, 1.    ]])
    """

    name: ClassVar[str] = "entropy"
    beta: float = 1.0
    bandwidth: float | None = None
    draws: int = 2048
    seed: int = 0
    center: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    smoothing: Table | tuple[tuple[float, ...], ...] | None = None
    normalize: bool = True
    form: Literal["J", "h"] = "J"
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        given, own = with_names(self.smoothing, "smoothing", square=False)
        object.__setattr__(self, "smoothing", given)
        super().__post_init__()
        self._check_smoothing(own)
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

    def _check_smoothing(self, own: tuple[str, ...] | None) -> None:
        """Refuse a matrix whose rows are no distributions, and take the names of its rows."""
        if self.smoothing is None:
            if self.names is not None:
                raise InputError("names belong to the rows of smoothing: give smoothing, or leave names out")
            return
        if self.bandwidth is not None:
            raise InputError("points are smoothed by a bandwidth or by a matrix: give bandwidth= or smoothing=")
        matrix = self.stochastic
        if not matrix.size:
            raise InputError("smoothing must have a row for each component, and at least one column")
        own = self.smoothing.names if isinstance(self.smoothing, Table) else own
        names = own if self.names is None else component_names(self.names)
        object.__setattr__(self, "names", fitting_names(names, own, len(matrix), "smoothing"))
        if matrix.min() < -ROUNDING:
            row, col = (int(place) for place in np.argwhere(matrix < -ROUNDING)[0])
            raise InputError(f"smoothing[{row}, {col}] is {matrix[row, col]:.6g}: give a matrix of 0 or more")
        sums = matrix.sum(axis=1)
        if abs(sums - 1).max() > ROUNDING:
            row = int(np.argmax(abs(sums - 1)))
            raise InputError(
                f"row {row} of smoothing sums to {sums[row]:.6g}: divide each row by its sum, so that it is a "
                "distribution"
            )

    @cached_property
    def stochastic(self) -> Floats:
        """P, (n, n')."""
        given = self.smoothing
        return given.matrix if isinstance(given, Table) else np.array(given, dtype=np.float64)

    @property
    def takes_counts(self) -> bool:
        """Whether a row of counts is a bag."""
        return self.smoothing is not None or (not self.normalize and self.bandwidth is None)

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Fix the number of dimensions, the distribution of the draws, and the rows of P."""
        kernel: Any = super().resolve(X, seed)
        if kernel.counted and self.smoothing is not None:
            source = as_source(X)
            rows = positions_of_columns(self.names, len(self.stochastic), source.features, source.shape[1])
            if np.array_equal(rows, np.arange(len(self.stochastic))):
                return kernel
            names = None if self.names is None else tuple(self.names[row] for row in rows.tolist())
            chosen = tuple(map(tuple, self.stochastic[rows].tolist()))
            return dataclasses.replace(kernel, smoothing=chosen, names=names)
        if self.bandwidth is None or self.center is not None:
            return kernel
        with np.errstate(over="ignore", invalid="ignore"):
            center, variance = center_and_variance(pooled_points(X))
            spread = WIDER * np.sqrt(variance + self.bandwidth**2)
        if not np.isfinite(spread).all():
            raise InputError("the variance of the points is beyond what float64 holds: scale the points down")
        return dataclasses.replace(kernel, center=tuple(center.tolist()), spread=tuple(spread.tolist()))

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse points that are no components of a finite set, if P smooths them."""
        if self.smoothing is None:
            return
        if points.shape[2] != 1:
            raise InputError(f"the components of smoothing are one number each, and the points have {points.shape[2]}")
        for row, (weight, own) in enumerate(zip(weights, points, strict=True)):
            name = str(row) if ids is None else ids[row]
            names = [f"{position} of bag {name}" for position in range(int((weight > 0).sum()))]
            refuse_other_codes(own[weight > 0, 0], len(self.stochastic), names)

    def check_counts(self, counts: Floats, ids: Names) -> None:
        """Refuse rows with another number of counts than P has rows."""
        if self.smoothing is not None and counts.shape[1] != len(self.stochastic):
            raise InputError(f"the samples have {counts.shape[1]} columns and smoothing {len(self.stochastic)} rows")

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort the distinct points of each bag; or compute its density at each draw, divided by that of the draws."""
        if self.counted:
            return Prepared(self._smoothed(np.asarray(X, dtype=np.float64)), start)
        weights, points = split_rows(np.ascontiguousarray(X, dtype=np.float64))
        if self.smoothing is not None:
            return Prepared(self._smoothed(_counts(weights, points, len(self.stochastic))), start)
        shares = weights / weights.sum(axis=1, keepdims=True) if self.normalize else weights
        if self.bandwidth is None:
            arrays = _atoms(shares, points)
            masses = np.ones(len(shares)) if self.normalize else shares.sum(axis=1)
            return Prepared(arrays if self.normalize else arrays | {"masses": masses}, start)
        drawn, log_density = self._drawn()
        densities = np.empty((len(shares), len(drawn)))
        for row, (share, place) in enumerate(zip(shares, points, strict=True)):
            densities[row] = self._density(drawn, log_density, share[share > 0], place[share > 0])
        densities[~densities.any(axis=1)] = np.nan  # no draw is near the bag
        logs = np.log(densities, where=densities > 0, out=np.zeros_like(densities))
        return Prepared({"densities": densities, "entropies": -(densities * logs).mean(axis=1)}, start)

    def _smoothed(self, counts: Floats) -> dict[str, Array]:
        """Pᵀp of each row of counts, and its entropy divided by the number of entries."""
        if self.normalize:
            counts = counts / counts.sum(axis=1, keepdims=True)
        if self.smoothing is not None:
            if counts.shape[1] != len(self.stochastic):  # also here, where no check comes before
                raise InputError(
                    f"the samples have {counts.shape[1]} columns and smoothing {len(self.stochastic)} rows"
                )
            with one_blas_thread():  # one product per sample: the bits do not depend on the others
                counts = np.matmul(counts[:, None, :], np.maximum(self.stochastic, 0.0))[:, 0]
        return {"densities": np.ascontiguousarray(counts), "entropies": _phi(counts).mean(axis=1)}

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
        values = np.exp(-self.beta * (2 if self.form == "h" else 1) * self.divergences(A, B))
        if A is B:
            np.fill_diagonal(values, self.diagonal(A))
        return values

    def divergences(self, A: Prepared, B: Prepared) -> Floats:
        """J of two prepared blocks, (len(A), len(B))."""
        a, b = A.arrays, B.arrays
        if self.bandwidth is None and self.smoothing is None and not self.counted:
            refuse_other_points(A, B, "atoms")
            sides = [
                (x["shares"], x["atoms"], x["counts"], np.ones(len(x["counts"])) if self.normalize else x["masses"])
                for x in (a, b)
            ]
            return atom_pairs(*sides[0], *sides[1], A is B)
        A.refuse_unlike(B)
        if self.bandwidth is None:
            sums = density_pairs(a["densities"], a["entropies"], b["densities"], b["entropies"], A is B)
            return sums * a["densities"].shape[1]
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
                beta = self.beta * (2 if self.form == "h" else 1)
                out[i, j] = beta * np.exp(-beta * each.mean()) * each.std(ddof=1) / np.sqrt(len(each))
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


def _counts(weights: Floats, points: Floats, n: int) -> Floats:
    """Weight of each of n components in each bag, (k, n)."""
    counts = np.zeros((len(weights), n))
    for row, (weight, own) in enumerate(zip(weights, points[:, :, 0], strict=True)):
        counts[row] = np.bincount(own[weight > 0].astype(np.intp), weights=weight[weight > 0], minlength=n)
    return counts


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
