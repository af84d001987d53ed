"""Kernels between bags through a base kernel of the points, which needs no coordinates (the kernel trick)."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from distkern.compiled.bags import complement_pairs
from distkern.compiled.products import mirror_upper
from distkern.core.bags import split_rows
from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of
from distkern.io.source import Source, as_source
from distkern.kernels.anchored import Anchored, can_be_anchored
from distkern.kernels.bags.bag_kernel import BagKernel, refuse_other_points
from distkern.kernels.bags.explicit_features import MeanFeatures, PrincipalBhattacharyya, component_values
from distkern.kernels.bags.fitted_gaussians import GeneralizedVariance
from distkern.kernels.bags.pooled_points import center_and_variance, pooled_points
from distkern.kernels.bags.table import POINTS, TABLE_BYTES, PointTable
from distkern.kernels.base import Kernel, Prepared, check_source
from distkern.kernels.finite import Table
from distkern.kernels.lowrank import LowRank
from distkern.kernels.parameters import check_number, check_whole
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import could_have_prepared, is_valid
from distkern.kernels.vectors import Gaussian

CROSS_BYTES = 2**20
"""Most bytes of base kernel values between one bag and several that are computed at a time: they fit in cache."""


LOST = 1e-5
"""Largest error of log k by rounding, as a bound."""

FAR = 100.0
"""Points are far from 0 where the square of their mean is this many times their variance."""


@dataclass(frozen=True)
class KernelizedBagKernel(BagKernel):
    """A kernel between bags that sees points through a base kernel κ only."""

    base: Kernel = field(default_factory=Gaussian)

    @property
    def table(self) -> Table | None:
        """The table of a finite set, if the base kernel is one or approximates one."""
        base = self.base.base if isinstance(self.base, LowRank) else self.base
        return base if isinstance(base, Table) else None

    @property
    def takes_counts(self) -> bool:
        """Whether the points are components of a finite set, so that a row of counts is a bag."""
        return self.table is not None

    @property
    def explicit(self) -> bool:
        """Whether bags are compared by explicit features of their points."""
        return self.counted or isinstance(self.base, LowRank)

    def check_counts(self, counts: Floats, ids: Names) -> None:
        """Refuse rows with another number of counts than there are components; see `check_bags`."""
        table = self._of_counts()
        if counts.shape[1] != len(table.K):
            raise InputError(
                f"the samples have {counts.shape[1]:,} columns and the cohort has {len(table.K):,}: give the same ones"
            )
        for row, own in enumerate(counts):
            if self._shift is not None:
                self._refuse_lost_digits(np.flatnonzero(own)[:, None].astype(np.float64), row, ids, self._shift)

    def _of_counts(self) -> Table:
        if self.table is None:
            raise InputError("rows of counts are bags of a finite set: give a Table as the base kernel")
        return self.table

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags with points that the base kernel refuses, or whose kernel values would have few right digits."""
        for row, (weight, own) in enumerate(zip(weights, points, strict=True)):
            name = str(row) if ids is None else ids[row]
            names = [f"{position} of bag {name}" for position in range(int((weight > 0).sum()))]
            self.base.check(own[weight > 0], names)
            if self._shift is not None:
                self._refuse_lost_digits(own[weight > 0], row, ids, self._shift)

    @property
    def _shift(self) -> float | None:
        """η of a kernel that adds it to the covariance in feature space, and does not depend on the origin there."""
        return getattr(self, "eta", None)

    def _refuse_lost_digits(self, points: Floats, row: int, ids: Names, eta: float) -> None:
        """Refuse a bag where the rounding of κ(x, x), divided by η, is more than `LOST`."""
        base = self.base.base if isinstance(self.base, LowRank) else self.base
        largest = float(base.diagonal(base.prepare(points)).max())
        if not largest * np.finfo(np.float64).eps <= LOST * eta:
            raise SampleError(
                "bag {bag} has points with κ(x, x) of up to {largest:.3g}, so large beside eta={eta:.3g} that its "
                "kernel values would have few right digits: subtract a common point from all points, scale them, or "
                "give a larger eta",
                row,
                bag=name_of(row, ids),
                largest=largest,
                eta=eta,
            )

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Fix the number of dimensions, and resolve the base kernel on the points of all bags."""
        kernel: Any = super().resolve(X, seed)
        if kernel.counted:
            source = as_source(X)
            return dataclasses.replace(kernel, base=self._base_of(source.features, source.shape[1], seed))
        points = pooled_points(X)
        base = self.base if self._shift is None else anchored(self.base, points)
        return dataclasses.replace(kernel, base=base.resolve(points, seed))

    def _base_of(self, features: Names, columns: int, seed: int) -> Kernel:
        """The base kernel between the columns of a matrix of counts."""
        table = self._of_counts()
        found = table.of_columns(features, columns)
        if not isinstance(self.base, LowRank):
            return found
        if self.base.landmarks is not None and found is not table:
            raise InputError("the landmarks are positions in a table of other columns: give the same columns")
        components = np.arange(columns, dtype=np.float64)[:, None]
        return dataclasses.replace(self.base, base=found).resolve(components, seed)

    def origin(self, d: int) -> Floats:
        """The point to which the base kernel is relative, or 0."""
        base = self.base.base if isinstance(self.base, LowRank) else self.base
        return np.array(base.point) if isinstance(base, Anchored) else super().origin(d)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Prepare the points of each bag for the base kernel, and its values between them; or the bag's features."""
        if self.counted:
            return self._prepare_counts(np.asarray(X, dtype=np.float64), start)
        weights, points = split_rows(np.ascontiguousarray(X, dtype=np.float64))
        bags, length, d = points.shape
        weighted = weights > 0
        points = np.where(weighted[:, :, None], points, points[np.arange(bags), weighted.argmax(axis=1)][:, None])
        if isinstance(self.base, LowRank):
            features = self.base.features(points.reshape(-1, d), start * length).reshape(bags, length, -1)
            return self.on_features().prepare_points(weights, features, start)
        based = self.base.prepare(points.reshape(-1, d), start * length)
        arrays = {POINTS + name: array.reshape(bags, length, *array.shape[1:]) for name, array in based.arrays.items()}
        arrays |= {"shares": weights / weights.sum(axis=1, keepdims=True), "coordinates": points}
        block = Prepared(arrays, start)
        table = PointTable(self.base, block, block)
        with one_blas_thread():  # matrices are small
            own = [self._of_one(arrays["shares"][i], table.between(i)) for i in range(bags)]
        return Prepared(arrays | {name: np.stack([one[name] for one in own]) for name in own[0]}, start)

    def _prepare_counts(self, counts: Floats, start: int) -> Prepared:
        """Prepare rows of counts: the features of their components, those without a count left out."""
        table, base = self._of_counts(), self.base
        if counts.shape[1] != len(table.K):  # also here, where no check comes before
            raise InputError(f"the samples have {counts.shape[1]} columns and the table {len(table.K)} components")
        every = np.arange(len(table.K), dtype=np.float64)[:, None]
        features = base.features(every) if isinstance(base, LowRank) else table.factor
        kernel, rows = self.on_features(), []
        for own in counts:
            given = np.flatnonzero(own)
            rows.append(kernel.prepare_points(own[None, given], features[None, given]).arrays)
        return Prepared({name: np.concatenate([row[name] for row in rows]) for name in rows[0]}, start)

    @abstractmethod
    def on_features(self) -> GeneralizedVariance | MeanFeatures | PrincipalBhattacharyya:
        """The equal kernel between bags of explicit features, for a base kernel that has some: `LowRank`."""

    @abstractmethod
    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        """Arrays of one bag by name, from the base kernel values (L, L) between its own points."""

    @abstractmethod
    def _factors(self, A: Prepared, i: int) -> Floats:
        """Factors (q, L) of the points of bag i of A in the q sums over its points."""

    @abstractmethod
    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, crossed: Floats) -> Floats:
        """Kernel values between bag i of A and bags js of B, from the sums Σ_l factors[a, l] κ(x_l, y), (J, L', q)."""

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        if self.explicit:
            return self.on_features().tile(A, B)
        refuse_other_points(A, B, "coordinates")
        table, out = PointTable(self.base, A, B), np.empty((len(A), len(B)))
        step = max(1, CROSS_BYTES // (8 * A.arrays["shares"].shape[1] * B.arrays["shares"].shape[1]))
        with one_blas_thread():
            for i in range(len(A)):
                crossed = table.sums(i, self._factors(A, i))
                for first in range(i if A is B else 0, len(B), step):
                    js = slice(first, min(first + step, len(B)))
                    out[i, js] = self._pairs(A, i, B, js, crossed(js))
        if A is B:
            np.fill_diagonal(mirror_upper(out), self.diagonal(A))
        return out

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared bag."""
        return self.on_features().diagonal(A) if self.explicit else self._own(A)

    @abstractmethod
    def _own(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared bag, for a base kernel without features."""


def anchored(base: Kernel, points: Source) -> Kernel:
    """The base kernel relative to the mean of the points, if they are so far from 0 that digits would be lost."""
    if isinstance(base, LowRank) and base.landmarks is None:
        return dataclasses.replace(base, base=anchored(base.base, points))
    if not can_be_anchored(base):
        return base
    with np.errstate(over="ignore", invalid="ignore"):  # the kernel refuses such points by name
        center, variance = center_and_variance(points)
        far = center @ center > FAR * variance.sum()
    return Anchored(base, tuple(center.tolist())) if far and np.isfinite(center).all() else base


@is_valid.register
def _(kernel: KernelizedBagKernel, A: Prepared) -> bool:
    """Whether the base kernel could have prepared the points."""
    if kernel.explicit:
        return True
    points = A.under(POINTS).arrays.items()
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in points}
    return could_have_prepared(kernel.base, Prepared(flat), A.arrays["coordinates"].shape[2])


@bytes_per_tile.register
def _(kernel: KernelizedBagKernel, a: int, b: int, n: int) -> int:
    """Bytes of base kernel values between some points, of sums over points, and of the result."""
    if kernel.explicit:
        return bytes_per_tile(kernel.on_features(), a, b, n)
    d = kernel.dimensions or 1
    length = max(1, (n - 1) // (1 + d))
    several = max(1, CROSS_BYTES // (8 * length**2))
    distinct = int(min(length * (a * b) ** 0.5 / 2, (TABLE_BYTES / 8) ** 0.5))
    between = max(
        bytes_per_tile(kernel.base, length, several * length, d),
        bytes_per_tile(kernel.base, distinct, distinct, d) + 16 * distinct * (distinct + length),
    )
    return 24 * a * b + 40 * several * (length + 1) ** 2 + between


@dataclass(frozen=True)
class MeanMap(KernelizedBagKernel):
    """k(p, q) = Σ_i Σ_j p_i q_j κ(x_i, y_j), the inner product of the mean embeddings (expected likelihood kernel).

    Source: Jebara, Kondor & Howard, *Probability product kernels* (2004); Smola et al., *A Hilbert space embedding for
    distributions* (2007).

    Parameters
    ----------
    base
        κ, a kernel of the points; use `LowRank` where bags have many points.

    See Also
    --------
    KernelIGV : Compares variances in the feature space.
    witness : Where two bags differ.
    mmd_test : Whether groups of samples differ.

    Notes
    -----
    Samples are `Bags`; on a `Table`, also rows of counts. O(L L') values of κ per pair of bags of L and L' points.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> from distkern.kernels.vectors import Linear
    >>> MeanMap(Linear())(Bags.from_arrays([[-1.0, 3.0], [2.0]]))  # means 1 and 2
    array([[1., 2.],
           [2., 4.]])
    """

    name: ClassVar[str] = "mean-map"

    def on_features(self) -> MeanFeatures:
        """The inner product of mean features."""
        return MeanFeatures()

    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        return {"squares": np.array(shares @ values @ shares)}

    def _factors(self, A: Prepared, i: int) -> Floats:
        return A.arrays["shares"][i : i + 1]

    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, crossed: Floats) -> Floats:
        return (crossed[:, :, 0] * B.arrays["shares"][js]).sum(axis=1)

    def _own(self, A: Prepared) -> Floats:
        return A.arrays["squares"].copy()


@dataclass(frozen=True)
class KernelIGV(KernelizedBagKernel):
    """k(μ, μ') = 1 / det(K̃Δ/η + I), K̃ the centred kernel matrix of all points of both bags, Δ half their weights.

    The inverse generalised variance of the mixture (μ + μ')/2 in the feature space of the base kernel κ.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), section 5, theorem 7 and equation 3.

    Parameters
    ----------
    base
        κ, a kernel of the points; use `LowRank` where bags have many points.
    eta
        η > 0, in the unit of κ.
    unit_norm
        Divide by √(k(μ, μ) k(μ', μ')), so that k(μ, μ) = 1.

    See Also
    --------
    GeneralizedVariance : The same for the points themselves.
    MeanMap : Compares the means alone.

    Notes
    -----
    Samples are `Bags`; on a `Table`, also rows of counts. The values depend on differences of features only: points far
    from 0 are compared relative to their mean, for a linear or polynomial base, and a bag for which rounding would
    still change log k by more than 1e-5 is refused by name. With G = Δ^½ K Δ^½ and u = Δ^½ 1, a unit vector, the
    determinant is det(I + G/η) · uᵀ(I + G/η)⁻¹u. The block of one bag is factored once: O(L³) per bag, then about 7/3
    L³ operations per pair, or 4/3 L³ where bags share points, such as pixels on one grid. Splitting a point into copies
    that share its weight changes nothing but rounding.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> from distkern.kernels.vectors import Linear
    >>> KernelIGV(Linear(), eta=1.0)(Bags.from_arrays([[-1.0, 1.0], [0.0, 2.0]]))  # variances 1, 1; 5/4 of the mixture
    array([[1.        , 0.88888889],
           [0.88888889, 1.        ]])
    """

    name: ClassVar[str] = "kernel-igv"
    eta: float = 0.01
    unit_norm: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.eta, "eta", "more than 0")

    def on_features(self) -> GeneralizedVariance:
        """The inverse generalised variance of the features."""
        return GeneralizedVariance(self.eta, self.unit_norm)

    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        roots, one = np.sqrt(shares), np.eye(len(shares))
        scattered = roots[:, None] * values * roots / self.eta
        whole, half = _cholesky(one + scattered), _cholesky(one + scattered / 2)
        spread = _solved(whole, roots)
        leading = _solved(half, roots / np.sqrt(2))
        return {
            "own": one + scattered / 2,
            "whitened": _solved(half, np.diag(roots / np.sqrt(2 * self.eta))),
            "leading": leading,
            "logdets": np.array([2 * np.log(np.diag(whole)).sum() + np.log(spread @ spread)]),
            "halves": np.array([2 * np.log(np.diag(half)).sum(), leading @ leading]),
        }

    def _factors(self, A: Prepared, i: int) -> Floats:
        weighted = A.arrays["shares"][i] != 0
        return A.arrays["whitened"][i, : len(weighted) - int(np.argmax(weighted[::-1]))]  # without the padding

    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, crossed: Floats) -> Floats:
        a, b = A.arrays, B.arrays
        ends = np.sqrt(b["shares"][js] / 2)
        crossed *= (ends / np.sqrt(self.eta))[:, :, None]
        taken = np.matmul(crossed, crossed.transpose(0, 2, 1))
        vectors = ends - np.matmul(crossed, a["leading"][i, : crossed.shape[2]])
        mixed, form = complement_pairs(b["own"][js], taken, vectors, ends)
        logdets = a["halves"][i, 0] + mixed + np.log(a["halves"][i, 1] + form)
        if self.unit_norm:
            return np.exp(0.5 * (a["logdets"][i, 0] + b["logdets"][js, 0]) - logdets)
        return np.exp(-logdets)

    def _own(self, A: Prepared) -> Floats:
        logdets = A.arrays["logdets"][:, 0]
        return np.exp(0.0 * logdets if self.unit_norm else -logdets)  # NaN where the determinant is not finite

    def error_bound(self, X: Any, Y: Any = None) -> Floats:
        """Bound of abs(log k − log k̂) for each entry, with k̂ = ``kernel(X, Y)`` and k the kernel without landmarks.

        The bound is (ρ + ρ')/2η, with ρ = Σ p_i (κ(x_i, x_i) − κ̂(x_i, x_i)) of each bag: the approximation makes the
        log determinant smaller, by at most the trace of the residual. Without unit norm k ≤ k̂. The bound is 0 if the
        base kernel is not a `LowRank`; it does not include rounding errors.

        Examples
        --------
        >>> from distkern.core.bags import Bags
        >>> bags = Bags.from_arrays([[0.0, 0.1, 0.2], [0.1, 0.3]])
        >>> kernel = KernelIGV(LowRank(Gaussian(0.5), rank=2))
        >>> error = np.log(kernel(bags)) - np.log(KernelIGV(Gaussian(0.5))(bags))
        >>> error[0, 1].round(3), kernel.error_bound(bags)[0, 1].round(3)
        (np.float64(0.037), np.float64(0.121))
        """
        rows = as_source(X)
        kernel: Any = self.resolve(rows if Y is None else as_source(Y))
        left = kernel._lost(rows)
        return np.add.outer(left, left if Y is None else kernel._lost(as_source(Y))) / (2 * self.eta)

    def _lost(self, source: Any) -> Floats:
        """ρ of each bag."""
        samples = check_source(self, source)
        if not isinstance(self.base, LowRank):
            return np.zeros(len(samples))
        if self.counted:
            lost = self.base.residuals(np.arange(samples.shape[1], dtype=np.float64)[:, None])
            return (samples * lost).sum(axis=1) / samples.sum(axis=1)
        weights, points = split_rows(samples)
        weighted = weights > 0
        residuals = np.zeros(weights.shape)
        residuals[weighted] = self.base.residuals(points[weighted])
        return (weights * residuals).sum(axis=1) / weights.sum(axis=1)


@dataclass(frozen=True)
class KernelBhattacharyya(KernelizedBagKernel):
    """k(p, q) = ∫ √p √q for Gaussians with r principal components in the feature space of a base kernel κ.

    The Gaussian of a bag has the mean of its points in feature space and the covariance Σ_l λ_l v_l v_lᵀ + ηI, with the
    r largest components (kernel PCA). With U = [V, V'], Λ = diag(λ, λ') and δ the difference of the means:

    k = Π ((λ_l + η)/η)^¼ · det(I + Λ^½ UᵀU Λ^½ / 2η)^(−½) · e^(−Q/8),
    Q = ‖δ‖²/η − δᵀ U (Λ⁻¹ + UᵀU / 2η)⁻¹ Uᵀ δ / 2η².

    Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), section 3. The text omits the mean difference
    from the span; it is included here, since k(p, p) would not be 1 otherwise.

    Parameters
    ----------
    base
        κ, a kernel of the points; use `LowRank` where bags have many points.
    n_components
        r, a whole number of 1 or more; a bag with fewer points has fewer components.
    eta
        η > 0, in the unit of κ.

    See Also
    --------
    Bhattacharyya : The same for the points themselves.
    bag_components : The components that are compared.

    Notes
    -----
    Samples are `Bags`; on a `Table`, also rows of counts. O(L³) per bag of L points, then O(L² r + r³) per pair. Values
    lie in (0, 1]. Points far from 0 are compared relative to their mean, and refused where digits would still be lost,
    as for `KernelIGV`.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> from distkern.kernels.vectors import Linear
    >>> bags = Bags.from_arrays([[-1.0, 1.0], [0.0, 2.0]])
    >>> KernelBhattacharyya(Linear(), 1, eta=1.0)(bags)  # variances 1 + 1 and 1 + 1: exp(-1/16)
    array([[1.        , 0.93941306],
           [0.93941306, 1.        ]])
    """

    name: ClassVar[str] = "kernel-bhattacharyya"
    n_components: int = 4
    eta: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.eta, "eta", "more than 0")
        check_whole(self.n_components, "n_components")

    def on_features(self) -> PrincipalBhattacharyya:
        """Bhattacharyya's kernel of the principal components of the features."""
        return PrincipalBhattacharyya(int(self.n_components), self.eta)

    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        """λ, the coefficients of √λ v and of the mean, and the inner products of the mean with both."""
        roots, r = np.sqrt(shares), self.n_components
        means = values @ shares
        centred = values - means[:, None] - means + shares @ means
        eigenvalues, vectors = np.linalg.eigh(roots[:, None] * centred * roots)
        kept = np.zeros(r)
        count = min(r, len(shares))
        kept[:count] = np.maximum(eigenvalues[::-1][:count], 0.0)
        coefficients = np.zeros((len(shares), r + 1))
        coefficients[:, :count] = roots[:, None] * vectors[:, ::-1][:, :count]
        coefficients[:, :r] -= np.outer(shares, coefficients[:, :r].sum(axis=0))
        coefficients[:, :r] *= kept > 0
        coefficients[:, r] = shares
        return {
            "values": kept,
            "coefficients": coefficients,
            "own": coefficients[:, :r].T @ means,
            "squares": np.array([shares @ means]),
            "volumes": np.array([np.log1p(kept / self.eta).sum()]),
        }

    def _factors(self, A: Prepared, i: int) -> Floats:
        return np.ascontiguousarray(A.arrays["coefficients"][i].T)

    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, crossed: Floats) -> Floats:
        products = np.matmul(crossed.transpose(0, 2, 1), B.arrays["coefficients"][js])
        return component_values(A, i, B, js, products, self.eta)

    def _own(self, A: Prepared) -> Floats:
        return np.ones(len(A))


def _cholesky(matrix: Floats) -> Floats:
    """Lower Cholesky factor; NaN if the matrix is not positive definite, so that the bag is refused by name."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)


def _solved(lower: Floats, right: Floats) -> Floats:
    """L⁻¹ B, NaN where L is."""
    solved: Floats = solve_triangular(lower, right, lower=True, check_finite=False)
    return solved
