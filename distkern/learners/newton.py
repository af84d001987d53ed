"""Base classes of the learners that minimise a convex loss by Newton's method."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.labels import encoded_labels
from distkern.core.parameters import entries
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Array, Floats
from distkern.core.warning import warn
from distkern.learners.base import KernelEstimator
from distkern.learners.concordance import concordant_pairs
from distkern.learners.memory import limited_to, memory_allowed
from distkern.learners.survival_times import times_and_events
from distkern.learners.validation import positive, samples_of, whole
from distkern.operators.base import BaseGram
from distkern.solvers.losses import Loss
from distkern.solvers.newton_cg import Problem, Solution, solve


class NewtonEstimator(KernelEstimator):
    """An estimator whose function minimises L(f) + λ/2 ‖f‖² for a loss L, or for one loss for each of its machines.

    Subclasses have the parameters ``lam``, ``tol``, ``max_iter`` and ``memory_limit``.
    """

    lam: float
    tol: float
    max_iter: int
    memory_limit: int | str | None

    _has_intercept = True

    def _fit(
        self, X: Any, lams: Sequence[float], losses_of: Callable[[BaseGram], Sequence[Loss]], models: Sequence[Any]
    ) -> None:
        """Solve for all λ in shared passes over the matrix, and set the attributes of a model for each."""
        lams = [positive(lam, "lam") for lam in lams]
        tol, max_iter = positive(self.tol, "tol"), whole(self.max_iter, "max_iter")
        with limited_to(self.memory_limit):
            gram = self._training_gram(X, self.memory_limit)
            losses, before = losses_of(gram), gram.bytes_read()
            problems = [Problem(loss, lam, self._has_intercept) for lam in lams for loss in losses]
            found = solve(gram, problems, tol=tol, max_iter=max_iter, memory=memory_allowed(self.memory_limit))
        fitted = {key: value for key, value in vars(self).items() if key.endswith("_")}
        for at, model in enumerate(models):
            own = found[at * len(losses) : (at + 1) * len(losses)]
            vars(model).update(fitted if model is not self else {})
            model.bytes_read_ = gram.bytes_read() - before
            model.n_iter_ = max(1, *(one.iterations for one in own))
            model.n_passes_, model.residual_ = max(one.passes for one in own), max(one.residual for one in own)
            model.objective_ = sum(one.objective for one in own)
            model._set_solution(losses, own)
            model._warn_unless_converged(own)

    @abstractmethod
    def _set_solution(self, losses: Sequence[Loss], found: Sequence[Solution]) -> None:
        """Set the coefficients, and what else follows from the solution of each loss."""

    def _warn_unless_converged(self, found: Sequence[Solution]) -> None:
        stopped = [one for one in found if not one.converged]
        if stopped:
            message = Sentence(
                "{estimator} stopped after {steps} Newton steps at a relative gradient of {residual:.2g}, above "
                "tol={tol:.2g}: raise {max_iter}, {tol_name} or {lam}",
                estimator=type(self).__name__,
                steps=max(one.iterations for one in stopped),
                residual=max(one.residual for one in stopped),
                tol=self.tol,
                max_iter=Parameter("max_iter"),
                tol_name=Parameter("tol"),
                lam=Parameter("lam"),
            )
            warn(ConvergenceWarning(message))

    def _path(self, lams: Any) -> list[Any]:
        """Unfitted copies of this estimator, one for each λ."""
        return [clone(self).set_params(lam=positive(lam, "lam")) for lam in entries(lams, "lams")]


class SurvivalLearner(NewtonEstimator):
    """A learner whose ``predict`` returns risks: a higher risk stands for an earlier event."""

    dual_coef_: Floats

    _risk_of_score = 1.0
    """Factor of the risk to the score that the loss takes."""

    @abstractmethod
    def _loss_of(self, time: Floats, event: Array, strata: Array | None) -> Loss:
        """The loss of samples with these times, events and strata."""

    def predict(self, X: Any) -> Floats:
        """Risk of each sample, (samples,): a higher risk stands for an earlier event.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        check_is_fitted(self)
        return self._expansion(X, self.dual_coef_)

    def score(self, X: Any, y: Any, strata: Any = None) -> float:
        """Harrell's concordance index of the predicted risks, within strata if given; see `concordance_index`."""
        time, event = times_and_events(y, samples_of(X))
        groups = None if strata is None else encoded_labels(strata, samples_of(X), "strata")[1]
        return concordant_pairs(time, event, np.asarray(self.predict(X)), strata=groups).index()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
