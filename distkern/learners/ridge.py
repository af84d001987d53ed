"""Kernel ridge regression on a Gram matrix or samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.learners.linear_system import LinearSystemEstimator
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelRegressor
from distkern.learners.validation import targets_and_weights, with_own_errors


@saveable
class KernelRidge(KernelRegressor, LinearSystemEstimator):
    r"""Kernel ridge regression: least squares with a penalty on the squared norm of the function.

    .. math::

        \min_f\ \sum_i w_i (y_i - f(x_i))^2 + \alpha \lVert f \rVert^2, \qquad
        f(x) = \sum_i c_i\, k(x_i, x),\quad (K + \alpha W^{-1})\, c = y

    where w are the sample weights and W = diag(w). There is no intercept, as in scikit-learn's KernelRidge, and results
    are equal. Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual variables", ICML (1998).

    Parameters
    ----------
    alpha
        α ≥ 0: one number, or one for each target.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    solver
        ``"direct"``: Cholesky factorisation in memory, in place, once for each distinct alpha. ``"cg"``: preconditioned
        conjugate gradients for all targets together, one pass over the matrix an iteration. ``"auto"``: direct if the
        matrix fits in memory.
    tol
        Relative residual at which conjugate gradients stop.
    max_iter
        Maximum number of iterations of conjugate gradients.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Attributes
    ----------
    dual_coef_
        c, (m,) or (m, targets).
    objective_
        Value of the minimised objective, summed over the targets.
    residual_
        Largest relative residual of the linear systems, computed from the solution.
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
    KernelSVR : A loss that outliers move less.
    LSRRanker : Fits differences, for the order of samples.
    KernelSVC : Classes.
    sklearn.kernel_ridge.KernelRidge : The same for arrays that fit in memory.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [2.0]])
    >>> model = KernelRidge(alpha=0.5).fit(samples @ samples.T, [0.0, 1.0, 2.0])
    >>> model.predict([[3.0]] @ samples.T).round(3)
    array([2.727])
    """

    dual_coef_: Floats

    def __init__(
        self,
        alpha: float | Any = 1.0,
        *,
        kernel: Any = "precomputed",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory_limit: int | str | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit to the training matrix (m, m), or the training samples (m, n), and targets (m,) or (m, k).

        A sample of weight 0 is ignored, and so is its target.

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, K + α W⁻¹ is not positive definite, a value is not finite, a
            target is missing, or the number of alphas is wrong.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If conjugate gradients stop before they reach ``tol``.
        """
        gram = self._training_gram(X, self.memory_limit)
        targets, weights, kept = targets_and_weights(y, sample_weight, gram)
        alphas = self._alphas(1 if targets.ndim == 1 else targets.shape[1])
        part = gram if len(kept) == gram.shape[0] else gram[np.ix_(kept, kept)]
        roots, columns = np.sqrt(weights)[:, None], targets.reshape(len(targets), -1)
        found = self._solve_system(part, roots * columns, alphas, None if (weights == 1).all() else roots[:, 0])
        dual = np.zeros((gram.shape[0], columns.shape[1]))
        dual[kept] = roots * found.coefficients
        self.dual_coef_ = dual[:, 0] if targets.ndim == 1 else dual
        errors = roots * columns - found.products
        with np.errstate(over="ignore", invalid="ignore"):
            penalties = (found.coefficients * found.products).sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            self.objective_ = float((errors**2).sum() + alphas @ penalties)
        if not np.isfinite(self.objective_):
            raise InputError("the objective is beyond what float64 holds: scale the targets or the kernel down")
        return self

    def predict(self, X: Any) -> Floats:
        """f(x) of each sample: (samples,) or (samples, targets).

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.dual_coef_)

    def _alphas(self, targets: int) -> Floats:
        alphas = np.asarray(with_own_errors(np.asarray, self.alpha, dtype=np.float64))
        if alphas.ndim > 1 or alphas.size not in (1, targets):
            raise InputError(f"alpha must be one number, or one for each of the {targets} targets; got {self.alpha!r}")
        if not (np.isfinite(alphas) & (alphas >= 0)).all():
            raise InputError(f"alpha must be finite and not negative; got {self.alpha!r}")
        return np.broadcast_to(alphas.ravel(), (targets,)).copy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
