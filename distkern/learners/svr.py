"""Support vector regression on a Gram matrix or samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.learners.base import KernelEstimator
from distkern.learners.memory import memory_allowed
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelRegressor
from distkern.learners.svm import warn_unless_converged
from distkern.learners.validation import not_negative, positive, samples_of, targets_and_weights
from distkern.solvers.dual import Problem
from distkern.solvers.smo import solve


@saveable
class KernelSVR(KernelRegressor, KernelEstimator):
    r"""Support vector regression with the ε-insensitive loss max(0, abs(z − f(x)) − ε), solved in its dual form.

    .. math::

        \min_{\alpha, \alpha^*}\ \tfrac12 \sum_{ij} (\alpha_i - \alpha_i^*)(\alpha_j - \alpha_j^*) k(x_i, x_j)
        + \varepsilon \sum_i (\alpha_i + \alpha_i^*) - \sum_i z_i (\alpha_i - \alpha_i^*)
        \quad\text{subject to}\quad 0 \le \alpha_i, \alpha_i^* \le C\, w_i,\ \sum_i (\alpha_i - \alpha_i^*) = 0

    where z are the targets and w the sample weights; f(x) = Σ_i (α_i − α*_i) k(x_i, x) + b. Drucker, Burges, Kaufman,
    Smola and Vapnik, "Support vector regression machines", NIPS 9 (1997). The solver is that of `KernelSVC`.

    Parameters
    ----------
    C
        Upper bound of the dual coefficients. A smaller value gives a smoother function.
    epsilon
        ε: errors up to this size have no loss, in units of the targets.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    tol
        Largest violation of the optimality conditions at which the solver stops, in units of the targets.
    max_iter
        Maximum number of changed pairs of coefficients; −1 for 10 million, or 100 for each variable if that is more,
        as in LIBSVM.
    max_passes
        Maximum number of passes over a matrix that does not fit in memory.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        A quarter is reserved for tiles being read. A matrix that fits in the rest is read once, in double precision if
        possible, else in single precision. Otherwise, a working set of that size is kept. An array is not copied.

    Attributes
    ----------
    support_
        Positions of the support vectors among the training samples, ascending.
    dual_coef_
        α − α* of the support vectors, (1, support vectors), as in scikit-learn's SVR.
    intercept_
        b, (1,).
    objective_, duality_gap_
        Value of the minimised dual objective, and the duality gap.
    n_passes_, bytes_read_
        Passes over the matrix, 1 if it fits in memory, and bytes read from storage.
    n_iter_, fit_status_
        Changed pairs of coefficients, and 0 if the solver converged.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared support vectors; only if X contains samples.
    n_features_in_
        Number of columns of X.
    training_ids_, training_digests_, training_values_
        Names of the training samples, digests of their data, and the kernel and views of the training matrix; only if X
        is a Gram matrix that knows them. Other Gram matrices must not contradict them.
    feature_names_in_
        Names of the features; only if the samples have them. New samples must have the same names in the same order.

    See Also
    --------
    KernelRidge : The squared loss.
    KernelSVC : Classes.
    sklearn.svm.SVR : The same for arrays that fit in memory.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = KernelSVR(C=10.0, epsilon=0.0, tol=1e-6).fit(samples @ samples.T, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]] @ samples.T).round(3)
    array([9.])
    """

    support_: Indices

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Any = "precomputed",
        tol: float = 1e-3,
        max_iter: int = -1,
        max_passes: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.max_passes = max_passes
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVR:
        """Fit to the training matrix (m, m), or the training samples (m, n), and targets (m,).

        A sample of weight 0 is ignored, and so is its target.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, a target is
            missing, or the numbers are so large that the solution is not finite.
        MemoryLimitError
            If the smallest working set does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped before it converged.
        """
        positive(self.C, "C"), positive(self.tol, "tol"), not_negative(self.epsilon, "epsilon")
        if getattr(X, "shape", ()):
            _targets(y, sample_weight, samples_of(X))  # fails before kernel values are computed
        gram = self._training_gram(X, self.memory_limit)
        targets, weights, kept = _targets(y, sample_weight, gram)
        m, bounds = len(kept), self.C * weights
        problem = Problem(
            np.concatenate([kept, kept]),
            np.repeat([1.0, -1.0], m),
            np.concatenate([bounds, bounds]),
            self.epsilon - np.concatenate([targets, -targets]),
        )
        [[found]] = solve(
            gram,
            [[problem]],
            memory=memory_allowed(self.memory_limit),
            tol=self.tol,
            max_iter=self.max_iter,
            max_passes=self.max_passes,
        )
        warn_unless_converged([found], self.tol)
        coefficients = found.alpha[:m] - found.alpha[m:]
        support = np.flatnonzero(coefficients)
        self.support_ = kept[support]
        self.dual_coef_ = coefficients[None, support]
        self.intercept_ = np.array([-found.offset])
        self.objective_, self.duality_gap_ = found.objective, found.gap
        self.n_iter_, self.fit_status_ = found.iterations, int(not found.converged)
        self.n_passes_, self.bytes_read_ = found.passes, found.bytes_read
        self._keep_samples(self.support_)
        return self

    def predict(self, X: Any) -> Floats:
        """f(x) of each sample, (samples,).

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.dual_coef_.T, self.support_)[:, 0] + self.intercept_[0]


def _targets(y: Any, sample_weight: Any, samples: Any) -> tuple[Floats, Floats, Indices]:
    targets, weights, kept = targets_and_weights(y, sample_weight, samples)
    if targets.ndim != 1:
        raise InputError(
            f"got {targets.shape[1]} targets for each sample: fit one KernelSVR for each, on a column of y"
        )
    return targets, weights, kept
