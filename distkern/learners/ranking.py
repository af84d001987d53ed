"""Least squares ranking on differences of targets, with one kernel or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.alignment import aligned
from distkern.core.errors import InputError, InputTypeError
from distkern.core.parameters import entries
from distkern.core.typing import Floats
from distkern.kernels.base import Kernel
from distkern.learners.base import KernelEstimator
from distkern.learners.identity import identity_of, refuse_other_matrix
from distkern.learners.linear_system import LinearSystemEstimator
from distkern.learners.metrics import ranking_error
from distkern.learners.registry import saveable
from distkern.learners.validation import (
    as_training_gram,
    positive,
    refuse_other_columns,
    samples_of,
    targets_and_weights,
)
from distkern.operators.base import BaseGram
from distkern.operators.identity import Identity, total
from distkern.operators.sums import SumGram


class PairRanker(KernelEstimator):
    """Base class of the rankers: ``predict`` returns a score for each sample, ``score`` minus the ranking error."""

    dual_coef_: Floats

    def predict(self, X: Any) -> Floats:
        """Score of each sample, (samples,); a larger score ranks higher. Only differences of scores are meaningful.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.dual_coef_)

    def score(self, X: Any, y: Any) -> float:
        """Minus `ranking_error`, in the unit of y: 0 if all pairs are in the right order, else negative."""
        return -ranking_error(aligned(y, samples_of(X), "y"), self.predict(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def ranking_targets(y: Any, samples: Any) -> Floats:
    """Validate targets for ranking: a number for each sample, not all equal.

    Raises
    ------
    InputError
        If a target is missing, all targets are equal, or there are fewer than two samples.
    """
    targets, _, _ = targets_and_weights(y, None, samples)
    if targets.ndim != 1:
        raise InputError(f"got targets of shape {targets.shape}: ranking takes one number for each sample")
    if len(targets) < 2:
        raise InputError("got 1 sample: ranking needs a pair of samples or more")
    if np.ptp(targets) == 0:
        raise InputError(f"all targets are {targets[0]:g}: there is no pair to rank; give targets that differ")
    return targets


@saveable
class LSRRanker(PairRanker, LinearSystemEstimator):
    r"""Least squares ranking: differences of f approximate differences of the targets.

    .. math::

        \min_f\ \frac1{m^2} \sum_{i,j} \bigl(y_i - y_j - (f(x_i) - f(x_j))\bigr)^2 + \lambda \lVert f \rVert^2,
        \qquad f(x) = \sum_i \beta_i\, k(x_i, x)

    With H = I − 11ᵀ/m, the coefficients solve (H K H + (mλ/2) I) β = H y. This is ridge regression with α = mλ/2 and an
    unpenalised intercept, which ranking does not need. The method is LSRRank in Zhou, Chen, Lan and Pan,
    "Generalization performance of regularized ranking with multiscale kernels", IEEE TNNLS 27 (2016), lemma 1, with a
    symmetric form of its system, and MPRank in Cortes, Mohri and Rastogi, "Magnitude-preserving ranking algorithms",
    ICML (2007).

    Parameters
    ----------
    lam
        λ > 0.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    solver
        ``"direct"``: Cholesky factorisation in memory, in place. ``"cg"``: preconditioned conjugate gradients, one pass
        over the matrix an iteration. ``"auto"``: direct if the matrix fits in memory.
    tol
        Relative residual at which conjugate gradients stop.
    max_iter
        Maximum number of iterations of conjugate gradients.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Attributes
    ----------
    dual_coef_
        β, (m,), with sum 0.
    objective_
        Value of the minimised objective.
    residual_
        Relative residual of the linear system, computed from the solution.
    n_iter_, n_passes_, bytes_read_
        Iterations of conjugate gradients (1 if direct), passes over the matrix, and bytes read from storage.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared training samples; only if X contains samples.
    n_features_in_
        Number of columns of X.
    training_ids_, training_digests_, training_values_
        Names of the training samples, digests of their data, and the kernel and views of the training matrix; only if X
        is a Gram matrix that knows them. Other Gram matrices must not contradict them.
    feature_names_in_
        Names of the features; only if the samples have them. New samples must have the same names in the same order.

    See Also
    --------
    MLSRRanker : Several kernels.
    RankSVM : The hinge loss.
    SGDRanker : An approximation by gradient steps.
    KernelRidge : Fits the targets themselves.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [3.0]])
    >>> model = LSRRanker(lam=0.1).fit(samples @ samples.T, [5.0, 6.0, 8.0])
    >>> model.predict(np.array([[1.0], [2.0]]) @ samples.T).round(3)
    array([0.969, 1.938])
    """

    def __init__(
        self,
        lam: float = 0.01,
        *,
        kernel: Any = "precomputed",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.lam = lam
        self.kernel = kernel
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to the training matrix (m, m), or the training samples (m, n), and targets (m,).

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, the system is not positive definite, a value is not finite, a
            target is missing, all targets are equal, or there is only one sample.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If conjugate gradients stop before they reach ``tol``.
        """
        lam = positive(self.lam, "lam")
        gram = self._training_gram(X, self.memory_limit)
        targets = ranking_targets(y, gram)
        centred = targets - targets.mean()
        shift = len(targets) * lam / 2
        found = self._solve_system(gram.centered(), centred[:, None], np.array([shift]))
        beta = found.coefficients[:, 0] - found.coefficients.mean()
        self.n_passes_ += 1  # the pass that computed the means
        self.dual_coef_ = beta
        fitted = found.products[:, 0]  # H K H β, the centred values of f
        self.objective_ = float(2 * np.mean((centred - fitted) ** 2) + lam * (beta @ fitted))
        return self


@saveable
class MLSRRanker(LSRRanker):
    r"""Multiscale least squares ranking: f is a sum of functions, one for each kernel.

    .. math::

        \min_{f_1, \ldots, f_l}\ \frac1{m^2} \sum_{i,j} \bigl(y_i - y_j - (f(x_i) - f(x_j))\bigr)^2
        + \lambda \sum_t v_t \lVert f_t \rVert_t^2, \qquad f = \sum_t f_t,\quad f_t(x) = \sum_i \alpha^t_i\, k_t(x_i, x)

    The lm equations of the paper reduce to m: α^t = β / v_t, where β solves the system of `LSRRanker` with the kernel
    Σ_t k_t / v_t. The method is MLSRRank in Zhou, Chen, Lan and Pan, "Generalization performance of regularized ranking
    with multiscale kernels", IEEE TNNLS 27 (2016), theorem 1.

    Parameters
    ----------
    kernels
        Kernels k_t, for samples; or ``"precomputed"``: X contains kernel values, a list of Gram matrices or arrays K_t,
        or one matrix that is already a sum, such as a `SumGram`.
    weights
        v_t > 0, one for each kernel; ones by default. Scaling all weights is equivalent to scaling λ; in the paper the
        smallest weight is 1.
    lam
        λ > 0.
    solver, tol, max_iter, memory_limit
        See `LSRRanker`.

    Attributes
    ----------
    dual_coef_
        β, (m,).
    kernel_coef_
        α^t, (kernels, m).
    objective_, residual_, n_iter_, n_passes_, bytes_read_
        See `LSRRanker`.
    kernel_, prepared_, n_features_in_, training_ids_, feature_names_in_
        See `LSRRanker`; the kernel is the weighted sum.

    See Also
    --------
    MLSRRankerCV : Chooses kernels, weights and λ.
    LSRRanker : One kernel.

    Examples
    --------
    >>> from distkern import Gaussian
    >>> samples = np.arange(6.0)[:, None]
    >>> model = MLSRRanker([Gaussian(0.5), Gaussian(4.0)], weights=[1.0, 0.5], lam=0.001)
    >>> model.fit(samples, [0.0, 1.0, 2.0, 3.0, 4.0, 9.0]).predict(samples).argsort()
    array([0, 1, 2, 3, 4, 5])
    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | str = "precomputed",
        weights: Any = None,
        lam: float = 0.01,
        *,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.lam = lam
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    @property
    def kernel(self) -> Any:
        """Σ_t k_t / v_t, or ``"precomputed"``."""
        if isinstance(self.kernels, str):
            return self.kernels
        kernels = entries(self.kernels, "kernels")
        if not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
            raise InputTypeError(
                f"kernels must be 'precomputed' or a list of kernels such as distkern.Gaussian(1.0); got {kernels!r}"
            )
        terms = [
            kernel if factor == 1 else float(factor) * kernel
            for factor, kernel in zip(self._factors(len(kernels)), kernels, strict=True)
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to the training matrices (m, m), or the training samples (m, n), and targets (m,).

        Raises
        ------
        InputError
            See `LSRRanker`; also if the number of weights is wrong or a weight is not positive.
        MemoryLimitError
            If the solver does not fit in memory; raised before a matrix is read.

        Warns
        -----
        ConvergenceWarning
            If conjugate gradients stop before they reach ``tol``.
        """
        if self._takes_samples():
            self.n_kernels_ = len(self.kernels)
        else:
            X = self._weighted_sum(X)
        super().fit(X, y)
        self.kernel_coef_ = np.multiply.outer(self._factors(self.n_kernels_), self.dual_coef_)
        return self

    def predict(self, X: Any) -> Floats:
        """Score of each sample, (samples,), from samples, or from the matrices (samples, m) of all kernels.

        Raises
        ------
        InputError
            If the number of matrices or of their columns differs from training, or a value is not finite.
        """
        check_is_fitted(self)
        if self._takes_samples():
            return super().predict(X)
        parts = matrices(X)
        if len(parts) != self.n_kernels_:
            raise InputError(f"X holds {len(parts)} matrices and the model was trained on {self.n_kernels_}")
        grams = [part for part in parts if isinstance(part, BaseGram)]
        if len(grams) == len(parts):
            refuse_other_matrix(identity_of(self), self._identity(grams), grams[0].col_ids)
        return np.sum(
            [self._expansion(part, alpha) for part, alpha in zip(parts, self.kernel_coef_, strict=True)], axis=0
        )

    def _refuse_other(self, X: BaseGram) -> None:
        refuse_other_columns(getattr(self, "training_ids_", None), X)  # `predict` compares the sum of all matrices

    def _identity(self, parts: Sequence[BaseGram]) -> Identity | None:
        """Identity of Σ_t K_t / v_t, as of the training matrix."""
        factors = self._factors(len(parts))
        if len(parts) == 1 and factors[0] == 1:
            return parts[0].identity
        return total([part.identity for part in parts], factors.tolist())

    def _factors(self, count: int) -> Floats:
        """1 / v_t."""
        weights = np.ones(count) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (count,) or not ((weights > 0) & np.isfinite(weights)).all():
            raise InputError(
                f"weights must be one positive number for each of the {count} kernels; got {self.weights!r}"
            )
        return 1 / weights

    def _weighted_sum(self, X: Any) -> Any:
        """Σ_t K_t / v_t of the training matrices; a single matrix of weight 1 is returned unchanged."""
        parts = matrices(X)
        self.n_kernels_ = len(parts)
        factors = self._factors(len(parts))
        if len(parts) == 1 and factors[0] == 1:
            return parts[0]
        return SumGram([as_training_gram(part) for part in parts], factors)


def matrices(X: Any) -> list[Any]:
    """X as a list of matrices: X itself if it is a list or tuple of matrices, else ``[X]``."""
    several = isinstance(X, (list, tuple)) and any(isinstance(part, BaseGram) or np.ndim(part) == 2 for part in X)
    return list(X) if several else [X]
