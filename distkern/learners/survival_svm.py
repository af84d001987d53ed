"""Survival support vector machine on a Gram matrix or samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from distkern.core.typing import Array, Floats
from distkern.learners.newton import SurvivalLearner
from distkern.learners.registry import saveable
from distkern.learners.survival_times import times_and_events
from distkern.learners.validation import fraction, samples_of
from distkern.operators.base import BaseGram
from distkern.solvers.losses import Loss
from distkern.solvers.newton_cg import Solution
from distkern.solvers.survival_svm import SurvivalHinge


@saveable
class SurvivalSVM(SurvivalLearner):
    r"""Survival support vector machine: ranks samples by their times, fits the logarithms of their times, or both.

    .. math::

        \min_{h, b}\ \frac{r}{2|P|} \sum_{(i,j) \in P} \max\bigl(0, 1 - (h(x_i) - h(x_j))\bigr)^2
        + \frac{1-r}{2m} \sum_i \zeta_i^2 + \frac\lambda2 \lVert h \rVert^2, \qquad h(x) = \sum_i \beta_i\, k(x_i, x)

    where h is the risk, P contains the pairs with an event at t_i < t_j, and ζ_i = log t_i − b + h(x_i), or only its
    positive part if t_i is censored. Sums over pairs take O(m log m). Van Belle, Pelckmans, Suykens and Van Huffel,
    "Support vector machines for survival analysis", CIMED (2007); Pölsterl, Navab and Katouzian, "Fast training of
    support vector machines for survival analysis", ECML PKDD (2015), equations 3 and 6.

    Parameters
    ----------
    lam
        λ > 0. A larger value gives a smoother function.
    rank_ratio
        r, from 0 to 1. With 1 samples are only ranked.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    tol
        Norm of the gradient in function space at which Newton's method stops, relative to its norm at h = 0.
    max_iter
        Maximum number of Newton steps.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        A matrix that fits is read once, otherwise once for each step of conjugate gradients.

    Attributes
    ----------
    dual_coef_
        β, (m,).
    intercept_
        b; 0 if r = 1.
    n_pairs_
        :math:`|P|`; 0 if r = 0.
    objective_
        Value of the minimised objective.
    residual_
        Norm of the gradient, relative to its norm at h = 0.
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
    KernelCox : Proportional hazards.
    RankSVM : The same without censoring.
    sksurv.svm.FastKernelSurvivalSVM : The same for arrays that fit in memory.

    Notes
    -----
    scikit-survival's FastSurvivalSVM and FastKernelSurvivalSVM have sums where there are means here, and a weight of
    the loss instead of the penalty. With u = r / (λ #P) and v = (1 − r) / (λm), their alpha is u + v, and their
    rank_ratio u / (u + v). They break ties of times at random, and with rank_ratio < 1 predict log t, not the risk.

    Examples
    --------
    >>> from distkern import survival_y
    >>> samples = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = survival_y(time=[9.0, 4.0, 6.0, 2.0], event=[0, 1, 1, 1])
    >>> model = SurvivalSVM(lam=0.1).fit(samples @ samples.T, y)
    >>> model.n_pairs_, model.predict(np.array([[0.5], [2.5]]) @ samples.T).round(3)
    (6, array([0.216, 1.078]))
    """

    def __init__(
        self,
        lam: float = 0.01,
        rank_ratio: float = 1.0,
        *,
        kernel: Any = "precomputed",
        tol: float = 1e-6,
        max_iter: int = 100,
        memory_limit: int | str | None = None,
    ) -> None:
        self.lam = lam
        self.rank_ratio = rank_ratio
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any) -> SurvivalSVM:
        """Fit to the training matrix (m, m), or the training samples (m, n), and times (m,) from `survival_y`.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, y has another form
            than `survival_y` gives, a time is wrong, or there is no comparable pair.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If Newton's method stops before it reaches ``tol``.
        """
        self._fit_to(X, y, [self.lam], [self])
        return self

    def fit_path(self, X: Any, y: Any, lams: Any) -> list[SurvivalSVM]:
        """Fit a model for each λ in shared passes over the matrix; see `fit`. This estimator is not fitted."""
        models = self._path(lams)
        if models:
            models[0]._fit_to(X, y, [model.lam for model in models], models)
        return models

    @available_if(lambda self: self.rank_ratio < 1)
    def predict_time(self, X: Any) -> Floats:
        """Time of each sample, exp(b − h(x)), (samples,); only if the times were fitted, with ``rank_ratio < 1``."""
        check_is_fitted(self)
        return np.exp(self.intercept_ - self.predict(X))

    # Training --------------------------------------------------------------------------------------------------------

    _risk_of_score = -1.0  # the scores of the loss grow with the time

    @property
    def _has_intercept(self) -> bool:  # type: ignore[override]
        return self.rank_ratio < 1

    def _fit_to(self, X: Any, y: Any, lams: Sequence[float], models: Sequence[Any]) -> None:
        fraction(self.rank_ratio, "rank_ratio")
        if getattr(X, "shape", ()):
            times_and_events(y, samples_of(X))  # fails before kernel values are computed
        self._fit(X, lams, lambda gram: [self._loss(gram, y)], models)

    def _loss(self, gram: BaseGram, y: Any) -> SurvivalHinge:
        time, event = times_and_events(y, gram)
        loss = self._loss_of(time, event, None)
        self.n_pairs_ = loss.count
        return loss

    def _loss_of(self, time: Floats, event: Array, strata: Array | None) -> SurvivalHinge:
        return SurvivalHinge(time, event, self.rank_ratio)

    def _set_solution(self, losses: Sequence[Loss], found: Sequence[Solution]) -> None:
        [solution] = found
        self.dual_coef_ = self._risk_of_score * solution.coefficients[:, 0]
        self.intercept_ = float(solution.intercept[0])
