"""Cox's proportional hazards model on a Gram matrix or samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from distkern.core.containers import as_floats
from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats
from distkern.core.warning import warn
from distkern.learners.base import delete_attribute
from distkern.learners.newton import SurvivalLearner
from distkern.learners.registry import saveable
from distkern.learners.survival_times import times_and_events
from distkern.learners.validation import samples_of
from distkern.operators.base import BaseGram
from distkern.solvers.cox import TIES, Cox
from distkern.solvers.losses import Loss
from distkern.solvers.newton_cg import Solution


@saveable
class KernelCox(SurvivalLearner):
    r"""Cox's proportional hazards model with a penalty on the squared norm of the function.

    .. math::

        \min_f\ -\frac1m \sum_{i:\, e_i = 1} \Bigl( f(x_i) - \log \sum_{j:\, t_j \ge t_i} e^{f(x_j)} \Bigr)
        + \frac\lambda2 \lVert f \rVert^2, \qquad f(x) = \sum_i \alpha_i\, k(x_i, x)

    where t_i is the time of sample i, and e_i = 1 if its event was observed. The hazard of x is e^{f(x)} times a
    baseline that all samples share. On a linear kernel it equals scikit-survival's CoxPHSurvivalAnalysis with alpha =
    λm. Cox, "Regression models and life-tables", JRSS B 34 (1972); Li and Luan, "Kernel Cox regression models for
    linking gene expression profiles to censored survival data", PSB (2003).

    Parameters
    ----------
    lam
        λ > 0. A larger value gives a smoother function.
    ties
        Events at one time. ``"breslow"``: all have the same risk set, as above. ``"efron"``: number l = 0, 1, … of d
        such events counts each of them in its risk set by 1 − l/d.
    strata
        Stratum of each training sample, such as its cohort, (m,): an array or a list. Only samples of one stratum are
        compared, and each has a baseline of its own.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    tol
        Norm of the gradient in function space at which Newton's method stops, relative to its norm at f = 0.
    max_iter
        Maximum number of Newton steps.
    memory_limit
        Memory that training may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        A matrix that fits is read once, otherwise once for each step of conjugate gradients.

    Attributes
    ----------
    dual_coef_
        α, (m,). Those of a stratum add up to 0.
    objective_
        Value of the minimised objective.
    residual_
        Norm of the gradient, relative to its norm at f = 0.
    baseline_times_, baseline_hazard_
        Distinct times of the training samples, ascending, and the cumulative baseline hazard at each, Breslow's
        estimate H(t) = Σ 1 / Σ_j e^{f(x_j)}, summed over the events up to t; with strata, one stratum after another.
    baseline_strata_
        Stratum of each entry of the baseline; only with strata.
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
    SurvivalSVM : Ranks the samples, or fits their times.
    train_survival : Evaluates, fits and describes.
    concordance_index : Measures the risks.

    Examples
    --------
    >>> from distkern import survival_y
    >>> samples = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = survival_y(time=[9.0, 4.0, 6.0, 2.0], event=[0, 1, 1, 1])
    >>> model = KernelCox(lam=0.1).fit(samples @ samples.T, y)
    >>> new = np.array([[0.5], [2.5]]) @ samples.T
    >>> model.predict(new).round(3)
    array([0.442, 2.208])
    >>> model.predict_survival_function(new, [2.0, 5.0]).round(3)
    array([[0.936, 0.791],
           [0.678, 0.254]])
    """

    _has_intercept = False

    def __init__(
        self,
        lam: float = 0.01,
        *,
        ties: str = "breslow",
        strata: Any = None,
        kernel: Any = "precomputed",
        tol: float = 1e-6,
        max_iter: int = 100,
        memory_limit: int | str | None = None,
    ) -> None:
        self.lam = lam
        self.ties = ties
        self.strata = strata
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, strata: Any = None) -> KernelCox:
        """Fit to the training matrix (m, m), or the training samples (m, n), and times (m,).

        Parameters
        ----------
        X, y
            Kernel values or samples, and times with events, from `survival_y`.
        strata
            Replaces the parameter ``strata``, so that scikit-learn's tools can split it with the samples.

        Raises
        ------
        InputError
            If the matrix is not square, symmetric and positive semidefinite, a value is not finite, y has another form
            than `survival_y` gives, a time is wrong, or there is no event.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        UserWarning
            If a stratum has no event: its samples teach nothing. If the baseline hazard is beyond what float64 holds.
        ConvergenceWarning
            If Newton's method stops before it reaches ``tol``.
        """
        self._fit_to(X, y, strata, [self.lam], [self])
        return self

    def fit_path(self, X: Any, y: Any, lams: Any, strata: Any = None) -> list[KernelCox]:
        """Fit a model for each λ in shared passes over the matrix; see `fit`. This estimator is not fitted."""
        models = self._path(lams)
        if models:
            models[0]._fit_to(X, y, strata, [model.lam for model in models], models)
        return models

    def predict_survival_function(self, X: Any, times: Any, strata: Any = None) -> Floats:
        r"""Chance of each sample to have no event up to each time, S(t | x) = exp(−H(t) e^{f(x)}), (samples, times).

        Parameters
        ----------
        X
            Kernel values with all training samples, (samples, m), or samples.
        times
            Times, 0 or more, (times,). After the last time of the training samples the chance is unknown: NaN.
        strata
            Stratum of each sample, (samples,); needed if the model was fitted with strata.

        Raises
        ------
        InputError
            If a time is negative or missing, strata are missing or not needed, or a stratum is unknown.
        """
        check_is_fitted(self)
        asked = np.atleast_1d(as_floats(np.asarray(times), "times"))
        if asked.ndim != 1 or not (asked >= 0).all():
            raise InputError("times must be numbers of 0 or more")
        risks = self.predict(X)
        hazards = np.empty((len(risks), len(asked)))
        for rows, own in self._baselines(strata, samples_of(X), len(risks)):
            known, steps = self.baseline_times_[own], self.baseline_hazard_[own]
            values = np.r_[0.0, steps][np.searchsorted(known, asked, side="right")]
            hazards[rows] = np.where(asked <= known[-1], values, np.nan)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.exp(-np.exp(np.log(hazards) + risks[:, None]))

    def predict_median(self, X: Any, strata: Any = None) -> Floats:
        """Median time of each sample, (samples,): the first at which its chance to have no event is at most 1/2.

        NaN where the chance is above 1/2 at the last time of the training samples.

        Parameters
        ----------
        X, strata
            See `predict_survival_function`.

        Raises
        ------
        InputError
            If strata are missing or not needed, or a stratum is unknown.
        """
        check_is_fitted(self)
        risks = self.predict(X)
        medians = np.full(len(risks), np.nan)
        for rows, own in self._baselines(strata, samples_of(X), len(risks)):
            known, steps = self.baseline_times_[own], self.baseline_hazard_[own]
            with np.errstate(over="ignore"):
                places = np.searchsorted(steps, np.log(2) * np.exp(-risks[rows]))
            medians[rows] = np.r_[known, np.nan][places]
        return medians

    def _baselines(self, strata: Any, samples: Any, count: int) -> list[tuple[Any, Any]]:
        """Rows of new samples, and the entries of the baseline of their stratum."""
        known = getattr(self, "baseline_strata_", None)
        if (known is None) != (strata is None):
            raise InputError(
                "the model was fitted without strata: leave them out"
                if known is None
                else "the model was fitted with strata, each with its own baseline: give the stratum of each sample"
            )
        if known is None:
            return [(slice(None), slice(None))]
        labels, codes = encoded_labels(strata, samples, "strata")
        unknown = [label for label in np.asarray(labels).tolist() if label not in set(known.tolist())]
        if unknown:
            fitted = ", ".join(map(repr, np.unique(known).tolist()[:10]))
            raise InputError(f"the stratum {unknown[0]!r} has no baseline: the model was fitted on {fitted}")
        return [(codes == code, known == label) for code, label in enumerate(np.asarray(labels).tolist())]

    # Training --------------------------------------------------------------------------------------------------------

    def _fit_to(self, X: Any, y: Any, strata: Any, lams: Sequence[float], models: Sequence[Any]) -> None:
        one_of(self.ties, "ties", TIES)
        given = self.strata if strata is None else strata
        if getattr(X, "shape", ()):
            times_and_events(y, samples_of(X))  # fails before kernel values are computed
        self._fit(X, lams, lambda gram: [self._loss(gram, y, given)], models)

    def _loss(self, gram: BaseGram, y: Any, strata: Any) -> Cox:
        time, event = times_and_events(y, gram)
        codes: Array | None = None
        delete_attribute(self, "strata_")
        if strata is not None:
            self.strata_, codes = encoded_labels(strata, gram, "strata")
            idle = np.setdiff1d(np.arange(len(self.strata_)), codes[event])
            if event.any() and len(idle):
                named = ", ".join(repr(label) for label in np.asarray(self.strata_)[idle].tolist()[:5])
                warn(f"{len(idle)} of {len(self.strata_)} strata have no event ({named}): their samples teach nothing")
        return self._loss_of(time, event, codes)

    def _loss_of(self, time: Floats, event: Array, strata: Array | None) -> Cox:
        return Cox(time, event, self.ties, strata)

    def _set_solution(self, losses: Sequence[Loss], found: Sequence[Solution]) -> None:
        [loss], [solution] = losses, found
        assert isinstance(loss, Cox)
        self.dual_coef_ = solution.coefficients[:, 0]
        self.baseline_times_, self.baseline_hazard_, strata = loss.baseline(solution.scores)
        if np.isnan(self.baseline_hazard_).any():
            warn(
                "risks are so far from 0 that the baseline hazard is beyond what float64 holds, and survival functions "
                "are NaN: centre the kernel, as a KernelStandardizer does"
            )
        delete_attribute(self, "baseline_strata_")
        if hasattr(self, "strata_"):
            self.baseline_strata_ = np.asarray(self.strata_)[strata]
