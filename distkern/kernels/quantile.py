"""Kernels of quantile-normalised samples, among them Spearman's rank correlation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled.products import row_squares
from distkern.compiled.quantiles import put_on_target
from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, refuse_constant, refuse_nan, refuse_single_feature
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.quantile_targets import (
    BY_FORMULA,
    LEARNED,
    Learner,
    checked_target,
    refuse_other_length,
    target_by_formula,
)
from distkern.kernels.vectors import VectorKernel, inner

SHOWN = 6
"""Most numbers of a target that the kernel shows when it is printed."""


@dataclass(frozen=True)
class RankVectorKernel(VectorKernel):
    """A kernel that is a function of the inner products of vectors made of the ranks of each sample's features.

    ±infinity is a value like another; NaN is refused.
    """

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Rank each sample, and compute its vector and the squared norm of it."""
        values = self._vectors(np.asarray(X, dtype=np.float64))
        return Prepared({"values": values, "squares": row_squares(values)}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values, and samples of one feature."""
        refuse_single_feature(X)
        refuse_nan(X, ids, features)

    def _vectors(self, X: Floats) -> Floats:
        raise InputTypeError(f"{type(self).__name__} is not a kernel itself: use one of its subclasses")


@dataclass(frozen=True, repr=False)
class QuantileLinear(RankVectorKernel):
    """k(x, y) = ⟨Φ_f(x), Φ_f(y)⟩, with Φ_f(x)_j = f[rank(x)_j] the quantile-normalised sample.

    Equal values share the mean of f over their ranks: the expectation of Φ_f(x) over all ways of breaking the ties.

    Source: Vert's slides on supervised quantile normalisation (SUQUAN), "From QN to supervised QN": Φ_f(x) = Π_x f.

    Parameters
    ----------
    target
        f: p numbers in ascending order, such as ``target_`` of a `QuantileNormalizer`; or by name, with
        u = (r + 1) / (p + 1) for the rank r from 0: ``"uniform"`` u, ``"normal"`` Φ⁻¹(u), ``"exponential"``
        −log(1 − u), ``"cauchy"`` tan(π (u − 1/2)); or ``"median"``, ``"mean"``: of the sorted values of the cohort,
        rank by rank. The cohort is all samples that the matrix is computed for, so that f also depends on samples that
        are held out later; it does not depend on any label. Give the numbers that come from the training samples alone
        where that matters.
    ties
        ``"mean"``, as above, or ``"mid"``: f at the middle rank, linear between two ranks, as limma does.
    center
        Whether the mean of f is subtracted from it.

    Raises
    ------
    InputError
        If a given target does not ascend, is not finite, or does not have one number per feature.
    SampleError
        If a sample holds NaN, or infinity where the target is learned; the message names it.

    See Also
    --------
    Spearman : The target is the ranks.
    QuantileNormalizer : The normalised samples themselves.

    Notes
    -----
    Samples are rows (m, n) of any real values, n ≥ 2, ±infinity included; only their order counts once f is known. The
    unit is that of f squared. O(n log n) per sample, O(n) per pair, at the speed of matrix products. With the uniform
    target, ``QuantileLinear("uniform", center=True).normalized()`` is `Spearman`.

    Examples
    --------
    >>> QuantileLinear((10.0, 20.0, 30.0))([[2, 3, 1]], [[0, 1, 2], [5, 5, 4]])  # (20, 30, 10) with itself in order
    array([[1100., 1350.]])
    """

    name: ClassVar[str] = "quantile-linear"
    target: str | Sequence[float] = "uniform"
    ties: Literal["mean", "mid"] = "mean"
    center: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.target, str):
            if self.target not in (*LEARNED, *BY_FORMULA):
                checked_target(self.target)  # refuses it
        else:
            checked_target(self.target)

    def __repr__(self) -> str:
        """Write the parameters; of a long target its length, and a digest that tells targets apart."""
        target = repr(self.target)
        if not isinstance(self.target, str) and len(self.target) > SHOWN:
            digest = blake2b(np.array(self.target, dtype="<f8").tobytes(), digest_size=4).hexdigest()
            target = f"<{len(self.target):,} numbers, {digest}>"
        return f"QuantileLinear(target={target}, ties={self.ties!r}, center={self.center!r})"

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Turn a target that is to be learned into numbers."""
        if self.target not in LEARNED:
            return self
        target = Learner(self.target, seed=seed).learn(as_source(X))
        return dataclasses.replace(self, target=tuple(target.tolist()))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values, of one feature, or of another number of features than the target."""
        super().check(X, ids, features)
        if not isinstance(self.target, str):
            refuse_other_length(self.target, X.shape[1])
        refuse_large_target(self._numbers(X.shape[1]))

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return inner(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """‖Φ_f(x)‖² of each prepared sample."""
        return A.arrays["squares"].copy()

    def _vectors(self, X: Floats) -> Floats:
        return put_on_target(X, self._numbers(X.shape[1]), self.ties)[0]

    def _numbers(self, n: int) -> Floats:
        if isinstance(self.target, str):
            if self.target in LEARNED:
                raise InputError(f"the {self.target} target is learned from a cohort: call resolve first")
            target = target_by_formula(self.target, n)
        else:
            target = np.array(self.target, dtype=np.float64)
        return target - target.mean() if self.center else target


def refuse_large_target(target: Floats) -> None:
    """Refuse a target whose squared norm is beyond what float64 holds."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(target @ target)
    if not np.isfinite(square):
        raise InputError("the target holds numbers whose squares are beyond what float64 holds: scale it down")


@dataclass(frozen=True)
class Spearman(RankVectorKernel):
    """k(x, y) = ρ, Spearman's rank correlation: Σ (r_j − r̄)(s_j − r̄) / sqrt(Σ (r_j − r̄)² Σ (s_j − r̄)²).

    r and s are the mid-ranks of x and y, the same r̄ = (n − 1) / 2 for both: equal values share the mean of their ranks.
    This is the cosine of two samples put on the uniform target and centred, hence positive semidefinite, with any ties.

    Source: Spearman, *The proof and measurement of association between two things* (1904); as a kernel of
    quantile-normalised samples, see `QuantileLinear`.

    Raises
    ------
    SampleError
        If a sample holds NaN or is constant; the message names it.

    See Also
    --------
    Kendall : The correlation of the orders of pairs.
    QuantileLinear : Any target distribution instead of ranks.
    scipy.stats.spearmanr : The same of two samples, with a p-value.

    Notes
    -----
    Samples are rows (m, n) of any real values, n ≥ 2, ±infinity included; only their order counts. Values lie in
    [−1, 1], have no unit, and k(x, x) = 1. O(n log n) per sample, O(n) per pair, at the speed of matrix products. Twice
    the centred ranks are whole numbers, whose sums of products are exact below about 300,000 features.

    Examples
    --------
    >>> Spearman()([[1, 2, 3, 4]], [[4, 3, 2, 1], [1, 2, 2, 3]])
    array([[-1.        ,  0.9486833]])
    """

    name: ClassVar[str] = "spearman"

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values, of one feature, and constant samples."""
        super().check(X, ids, features)
        refuse_constant(X, ids)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        products = inner(A, B)
        products /= np.sqrt(np.multiply.outer(A.arrays["squares"], B.arrays["squares"]))  # 1 for equal ranks, exactly
        return np.clip(products, -1.0, 1.0, out=products)

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return np.ones(len(A))

    def _vectors(self, X: Floats) -> Floats:
        n = X.shape[1]
        return put_on_target(X, 2 * np.arange(n, dtype=np.float64) - (n - 1))[0]
