"""Kernels between weighted sets of points through a base kernel of the points: no coordinates are needed."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from distkern.compiled.bags import component_pairs
from distkern.compiled.products import mirror_upper
from distkern.core.bag_rows import split_rows
from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names
from distkern.kernels.bag_points import points_of
from distkern.kernels.bags import BagKernel, check_number, refuse_other_points
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.vectors import Gaussian

CROSS_BYTES = 2**23
"""Bytes of base kernel values between the points of one bag and those of several, at a time."""

SHARED = 4
"""The distinct points of a tile meet once where that is at most one part in so many of all meetings."""

TABLE_BYTES = 2**26
"""Most bytes of base kernel values between the distinct points of a tile."""

POINTS = "points."
"""Prefix of what the base kernel prepared of each point."""

BORDER = 2.0
"""More than uᵀ(I + G/η)⁻¹u ≤ ‖u‖² = 1, so that the matrix with u as its border is positive definite."""


@dataclass(frozen=True)
class _BasedKernel(BagKernel):
    """A kernel on bags whose points meet in a base kernel κ only."""

    base: Kernel = field(default_factory=Gaussian)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Kernel):
            raise InputTypeError(f"base must be a kernel of the points, such as Gaussian(0.1); got {self.base!r}")

    def check_bags(self, weights: Floats, points: Floats, ids: Names) -> None:
        """Refuse bags with points that the base kernel refuses."""
        for row, (weight, own) in enumerate(zip(weights, points, strict=True)):
            name = str(row) if ids is None else ids[row]
            names = [f"{place} of bag {name}" for place in range(int((weight > 0).sum()))]
            self.base.check(own[weight > 0], names)

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Settle the number of dimensions, and resolve the base kernel on the points of all bags."""
        kernel: Any = super().resolve(X, seed)
        return dataclasses.replace(kernel, base=self.base.resolve(points_of(X), seed))

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Prepare the points of each bag for the base kernel, and what its own points say of it."""
        weights, points = split_rows(np.ascontiguousarray(X, dtype=np.float64))
        bags, length, d = points.shape
        held = weights > 0
        points = np.where(held[:, :, None], points, points[np.arange(bags), held.argmax(axis=1)][:, None])
        based = self.base.prepare(points.reshape(-1, d), start * length)
        arrays = {POINTS + name: array.reshape(bags, length, *array.shape[1:]) for name, array in based.arrays.items()}
        arrays |= {"shares": weights / weights.sum(axis=1, keepdims=True), "coordinates": points}
        block = Prepared(arrays, start)
        meet = self._meeting(block, block)
        own = [self._of_one(arrays["shares"][i], meet(i, slice(i, i + 1))[0]) for i in range(bags)]
        return Prepared(arrays | {name: np.stack([one[name] for one in own]) for name in own[0]}, start)

    @abstractmethod
    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        """What one bag needs of the base kernel between its own points (L, L): arrays by name."""

    @abstractmethod
    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, values: Floats) -> Floats:
        """Kernel values of bag i of A with some of B, from those of the base kernel between their points (J, L, L')."""

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        refuse_other_points(A, B, "coordinates")
        meet, out = self._meeting(A, B), np.empty((len(A), len(B)))
        each = 8 * A.arrays["shares"].shape[1] * B.arrays["shares"].shape[1]
        step = max(1, CROSS_BYTES // each)
        with one_blas_thread():
            for i in range(len(A)):
                for first in range(i if A is B else 0, len(B), step):
                    js = slice(first, min(first + step, len(B)))
                    out[i, js] = self._pairs(A, i, B, js, meet(i, js))
        if A is B:
            np.fill_diagonal(mirror_upper(out), self.diagonal(A))
        return out

    def _meeting(self, A: Prepared, B: Prepared) -> Callable[[int, slice], Floats]:
        """Say how the base kernel between the points of bag i of A and of bags js of B is found: (J, L, L').

        Points that many bags share, as pixels on one grid, meet once; else each pair of points is computed. The arrays
        are contiguous, for BLAS rounds otherwise where rows lie apart.
        """
        left, right = A.under(POINTS), B.under(POINTS)
        length, other = A.arrays["shares"].shape[1], B.arrays["shares"].shape[1]
        blocks = (A,) if A is B else (A, B)
        points = np.concatenate(
            [block.arrays["coordinates"].reshape(-1, *block.arrays["coordinates"].shape[2:]) for block in blocks]
        )
        few, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
        if SHARED * len(few) ** 2 <= len(A) * length * len(B) * other and 8 * len(few) ** 2 <= TABLE_BYTES:
            based = (left,) if A is B else (left, right)
            flat = {
                name: np.concatenate([one.arrays[name].reshape(-1, *one.arrays[name].shape[2:]) for one in based])[
                    first
                ]
                for name in left.arrays
            }
            some = Prepared(flat)
            table, which = self.base.tile(some, some), which.ravel()
            rows = which[: len(A) * length].reshape(-1, length)
            cols = which[-len(B) * other :].reshape(-1, other)

            def looked_up(i: int, js: slice) -> Floats:
                values = table[rows[i]].take(cols[js].ravel(), axis=1)
                return np.ascontiguousarray(values.reshape(length, -1, other).transpose(1, 0, 2))

            return looked_up

        def computed(i: int, js: slice) -> Floats:
            one = Prepared({name: array[i] for name, array in left.arrays.items()}, (A.start + i) * length)
            some = {name: array[js].reshape(-1, *array.shape[2:]) for name, array in right.arrays.items()}
            values = self.base.tile(one, Prepared(some, (B.start + js.start) * other))
            return np.ascontiguousarray(values.reshape(length, -1, other).transpose(1, 0, 2))

        return computed

    def is_sound(self, A: Prepared) -> bool:
        """Whether the base kernel could have prepared the points."""
        points = A.under(POINTS).arrays.items()
        flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in points}
        return self.base.could_have_prepared(Prepared(flat), A.arrays["coordinates"].shape[2])

    def bytes_per_tile(self, a: int, b: int, n: int) -> int:
        """Bytes of base kernel values between the points of a bag and of several, five times over, and the result."""
        length = max(1, (n - 1) // (1 + (self.dimensions or 1)))
        several = max(1, CROSS_BYTES // (8 * length**2))
        between = self.base.bytes_per_tile(length, several * length, self.dimensions or 1)
        return 24 * a * b + 40 * several * (length + 1) ** 2 + between


@dataclass(frozen=True)
class MeanMap(_BasedKernel):
    """k(p, q) = Σ_i Σ_j p_i q_j κ(x_i, y_j): the inner product of the mean embeddings, or expected likelihood kernel.

    Source: Jebara, Kondor & Howard, *Probability product kernels* (2004); Smola et al., *A Hilbert space embedding for
    distributions* (2007).

    Parameters
    ----------
    base
        κ, a kernel of the points.

    Notes
    -----
    Samples are `Bags`. O(L L') values of κ a pair of bags of L and L' points.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> from distkern.kernels.vectors import Linear
    >>> MeanMap(Linear())(Bags.from_arrays([[-1.0, 3.0], [2.0]]))  # means 1 and 2
    array([[1., 2.],
           [2., 4.]])
    """

    name: ClassVar[str] = "mean-map"

    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        return {"squares": np.array(shares @ values @ shares)}

    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, values: Floats) -> Floats:
        means = np.matmul(A.arrays["shares"][i], values)
        return (means * B.arrays["shares"][js]).sum(axis=1)

    def diagonal(self, A: Prepared) -> Floats:
        """Squared norm of each mean embedding."""
        return A.arrays["squares"].copy()


@dataclass(frozen=True)
class KernelIGV(_BasedKernel):
    """k(μ, μ') = 1 / det(K̃Δ/η + I), K̃ the base kernel between all points of both, centred, Δ half the weights of each.

    The inverse generalised variance of the mixture (μ + μ')/2 in the feature space of the base kernel κ.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), section 6.

    Parameters
    ----------
    base
        κ, a kernel of the points.
    eta
        η > 0, in the unit of κ.
    unit_norm
        Divide by √(k(μ, μ) k(μ', μ')), so that k(μ, μ) = 1.

    Notes
    -----
    Samples are `Bags`. With G = Δ^½ K Δ^½ and u = Δ^½ 1, a unit vector, the determinant is
    det(I + G/η) · uᵀ(I + G/η)⁻¹u. The half of it that belongs to one bag is factored once: O(L³) a bag, then about 4 L³
    operations a pair. Copies of a point, or its weight in parts, change nothing but rounding.

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

    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        roots, one = np.sqrt(shares), np.eye(len(shares))
        scattered = roots[:, None] * values * roots / self.eta
        whole = np.linalg.cholesky(one + scattered)
        spread = solve_triangular(whole, roots, lower=True)
        half = np.linalg.cholesky(one + scattered / 2)
        leading = solve_triangular(half, roots / np.sqrt(2), lower=True)
        return {
            "own": one + scattered / 2,
            "whitened": solve_triangular(half, np.diag(roots / np.sqrt(2 * self.eta)), lower=True),
            "leading": leading,
            "logdets": np.array([2 * np.log(np.diag(whole)).sum() + np.log(spread @ spread)]),
            "halves": np.array([2 * np.log(np.diag(half)).sum(), leading @ leading]),
        }

    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, values: Floats) -> Floats:
        a, b = A.arrays, B.arrays
        roots = np.sqrt(b["shares"][js])
        scaled = values * (roots / np.sqrt(2 * self.eta))[:, None, :]
        crossed = np.matmul(a["whitened"][i], scaled)
        size = roots.shape[1]
        bordered = np.empty((len(roots), size + 1, size + 1))
        np.matmul(crossed.transpose(0, 2, 1), crossed, out=bordered[:, :size, :size])
        np.subtract(b["own"][js], bordered[:, :size, :size], out=bordered[:, :size, :size])
        bordered[:, :size, size] = bordered[:, size, :size] = roots / np.sqrt(2) - np.matmul(a["leading"][i], crossed)
        bordered[:, size, size] = BORDER
        try:
            pivots = np.linalg.cholesky(bordered)[:, np.arange(size + 1), np.arange(size + 1)]
        except np.linalg.LinAlgError:  # only of values that nobody prepared
            return np.full(len(roots), np.nan)
        last = a["halves"][i, 1] + BORDER - pivots[:, size] ** 2
        logdets = a["halves"][i, 0] + 2 * np.log(pivots[:, :size]).sum(axis=1) + np.log(last)
        if self.unit_norm:
            return np.exp(0.5 * (a["logdets"][i, 0] + b["logdets"][js, 0]) - logdets)
        return np.exp(-logdets)

    def diagonal(self, A: Prepared) -> Floats:
        """1 / det of each bag's own matrix, or ones with unit norm."""
        return np.ones(len(A)) if self.unit_norm else np.exp(-A.arrays["logdets"][:, 0])


@dataclass(frozen=True)
class KernelBhattacharyya(_BasedKernel):
    """k(p, q) = ∫ √p √q for Gaussians with r principal components in the feature space of a base kernel κ.

    Each bag has the mean of its points in feature space and the covariance Σ_l λ_l v_l v_lᵀ + ηI, with its r largest
    components (kernel PCA). With U = [V, V'], Λ = diag(λ, λ') and δ the difference of the means:

    k = Π ((λ_l + η)/η)^¼ · det(I + Λ^½ UᵀU Λ^½ / 2η)^(−½) · e^(−Q/8),
    Q = ‖δ‖²/η − δᵀ U (Λ⁻¹ + UᵀU / 2η)⁻¹ Uᵀ δ / 2η².

    Source: Kondor & Jebara, *A kernel between sets of vectors* (2003), section 4, with the mean difference in the span,
    which the text leaves out: without it k(p, p) is not 1.

    Parameters
    ----------
    base
        κ, a kernel of the points.
    n_components
        r, a whole number of 1 or more; a bag of fewer points has fewer components.
    eta
        η > 0, in the unit of κ.

    Notes
    -----
    Samples are `Bags`. O(L³) a bag of L points, then O(L² r + r³) a pair. Values lie in (0, 1].

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
        if not isinstance(self.n_components, (int, np.integer)) or self.n_components < 1:
            raise InputError(f"n_components must be a whole number of 1 or more, not {self.n_components!r}")

    def _of_one(self, shares: Floats, values: Floats) -> dict[str, Array]:
        """λ, the coefficients of √λ v and of the mean on the points, and the inner products of the mean with both."""
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

    def _pairs(self, A: Prepared, i: int, B: Prepared, js: slice, values: Floats) -> Floats:
        a, b = A.arrays, B.arrays
        crossed = np.matmul(np.matmul(a["coefficients"][i].T, values), b["coefficients"][js])
        square = a["squares"][i, 0] + b["squares"][js, 0] - 2 * crossed[:, -1, -1]
        logdets, forms = component_pairs(
            crossed, a["values"][i], b["values"][js], np.maximum(square, 0.0), a["own"][i], b["own"][js], self.eta
        )
        return np.exp(0.25 * (a["volumes"][i, 0] + b["volumes"][js, 0]) - 0.5 * logdets - forms / 8)

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return np.ones(len(A))
