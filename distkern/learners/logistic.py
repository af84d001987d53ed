"""Kernel logistic regression on a Gram matrix or samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats
from distkern.learners.newton import NewtonEstimator
from distkern.learners.registry import saveable
from distkern.learners.scoring import KernelClassifier
from distkern.learners.validation import class_weights, labels_and_weights, samples_of
from distkern.operators.base import BaseGram
from distkern.solvers.losses import Logistic, Loss, Multinomial
from distkern.solvers.newton_cg import Solution


@saveable
class KernelLogistic(KernelClassifier, NewtonEstimator):
    r"""Kernel logistic regression, for two classes or more.

    .. math::

        \min_{f, b}\ \frac1W \sum_i w_i v_{y_i} \log \frac{\sum_c e^{f_c(x_i) + b_c}}{e^{f_{y_i}(x_i) + b_{y_i}}}
        + \frac\lambda2 \sum_c \lVert f_c \rVert^2, \qquad f_c(x) = \sum_i \alpha_{ic}\, k(x_i, x)

    where w are the sample weights, W is their sum, and v the weights of the classes. Two classes have one function f,
    with the loss log(1 + exp(−y (f(x) + b))), y = ±1. On a linear kernel it equals scikit-learn's LogisticRegression
    with C = 1/(λW), which is 1/(λm) without weights. Jaakkola and Haussler, "Probabilistic kernel regression models",
    AISTATS (1999); Zhu and Hastie, "Kernel logistic regression and the import vector machine", JCGS 14 (2005).

    Parameters
    ----------
    lam
        λ > 0. A larger value gives a smoother function.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    multi_class
        For three or more classes. ``"multinomial"``: one loss for all, as above. ``"ovr"``: each class against the
        rest; its probabilities are scaled to sum 1.
    class_weight
        v: a dict from label to positive weight, 1 for a label that it lacks; ``"balanced"``, inversely proportional to
        the class sizes; or None, all equal.
    tol
        Norm of the gradient in function space at which Newton's method stops, relative to its norm at f = 0.
    max_iter
        Maximum number of Newton steps.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        A matrix that fits is read once, otherwise once for each step of conjugate gradients.

    Attributes
    ----------
    classes_
        The labels, sorted.
    dual_coef_
        α: (m,) for two classes, else (m, classes). Each column adds up to 0.
    intercept_
        b: a number for two classes, else (classes,).
    objective_
        Value of the minimised objective, summed over the classes for one-vs-rest.
    residual_
        Norm of the gradient, relative to its norm at f = 0.
    class_weight_
        Weights of the classes, (classes,).
    n_iter_, n_passes_, bytes_read_
        Newton steps, passes over the matrix, and bytes read from storage.
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
    KernelSVC : Another loss, and fewer samples in the model.
    KernelCox : The same solver for survival.
    sklearn.linear_model.LogisticRegression : Its equal on a linear kernel.

    Notes
    -----
    The intercept is not penalised, so that results do not depend on whether the kernel is centred.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = KernelLogistic(lam=0.1).fit(samples @ samples.T, ["low", "low", "high", "high"])
    >>> model.predict_proba([[1.0], [2.5]] @ samples.T).round(3)
    array([[0.12, 0.88],
           [0.5 , 0.5 ]])
    """

    classes_: Array
    dual_coef_: Floats
    intercept_: Any

    def __init__(
        self,
        lam: float = 0.01,
        *,
        kernel: Any = "precomputed",
        multi_class: str = "multinomial",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        memory_limit: int | str | None = None,
    ) -> None:
        self.lam = lam
        self.kernel = kernel
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogistic:
        """Fit to the training matrix (m, m), or the training samples (m, n), and labels (m,).

        A sample of weight 0 is ignored, and so is its label.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, a label is missing
            or there is one class.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If Newton's method stops before it reaches ``tol``.
        """
        self._fit_to(X, y, sample_weight, [self.lam], [self])
        return self

    def fit_path(self, X: Any, y: Any, lams: Any, sample_weight: Any = None) -> list[KernelLogistic]:
        """Fit a model for each λ in shared passes over the matrix; see `fit`. This estimator is not fitted.

        Examples
        --------
        >>> models = KernelLogistic().fit_path(np.diag([1.0, 2.0, 3.0]), ["a", "b", "b"], [0.1, 1.0])
        >>> [model.lam for model in models]
        [0.1, 1.0]
        """
        models = self._path(lams)
        if models:
            models[0]._fit_to(X, y, sample_weight, [model.lam for model in models], models)
        return models

    def decision_function(self, X: Any) -> Floats:
        """Scores of the samples, f + b: logarithms of the odds.

        Returns
        -------
        ndarray
            Two classes: (samples,), positive for ``classes_[1]``. More classes: (samples, classes); the predicted class
            has the largest score.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.dual_coef_) + self.intercept_

    def predict(self, X: Any) -> Array:
        """Most probable label of each sample, (samples,).

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (samples, classes), in the order of ``classes_``.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self.multi_class == "multinomial":
            return Multinomial.probabilities(scores)
        each = expit(scores)
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1.0), 1.0 / scores.shape[1])

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`, (samples, classes)."""
        with np.errstate(divide="ignore"):  # a probability may be 0
            return np.log(self.predict_proba(X))

    # Training --------------------------------------------------------------------------------------------------------

    def _fit_to(self, X: Any, y: Any, sample_weight: Any, lams: Sequence[float], models: Sequence[Any]) -> None:
        one_of(self.multi_class, "multi_class", ("multinomial", "ovr"))
        if y is None:
            raise InputError(
                "KernelLogistic requires y to be passed, but the target y is None: give a label for every sample"
            )
        if getattr(X, "shape", ()):
            labels_and_weights(y, sample_weight, samples_of(X))  # fails before kernel values are computed
        self._fit(X, lams, lambda gram: self._losses(gram, y, sample_weight), models)

    def _losses(self, gram: BaseGram, y: Any, sample_weight: Any) -> list[Loss]:
        labels, weights, kept = labels_and_weights(y, sample_weight, gram)
        self.classes_, own = np.unique(labels, return_inverse=True)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels)
        codes, w = np.zeros(gram.shape[0], dtype=np.intp), np.zeros(gram.shape[0])
        codes[kept], w[kept] = own, weights * self.class_weight_[own] / weights.sum()
        if len(self.classes_) == 2:
            return [Logistic(np.where(codes == 1, 1.0, -1.0), w)]
        if self.multi_class == "multinomial":
            return [Multinomial(codes, len(self.classes_), w)]
        return [Logistic(np.where(codes == c, 1.0, -1.0), w) for c in range(len(self.classes_))]

    def _set_solution(self, losses: Sequence[Loss], found: Sequence[Solution]) -> None:
        coefficients = np.hstack([one.coefficients for one in found])
        intercepts = np.concatenate([one.intercept for one in found])
        two = len(self.classes_) == 2
        self.dual_coef_ = coefficients[:, 0] if two else coefficients
        self.intercept_ = float(intercepts[0]) if two else intercepts
