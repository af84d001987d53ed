"""Choice of λ and γ of supervised quantile normalisation by cross-validation, in passes that all models share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils.metaestimators import available_if

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.parameters import entries
from distkern.core.typing import Array, Floats, Indices
from distkern.core.warning import warn
from distkern.engine.executors import usable_cores
from distkern.io.source import Source
from distkern.learners.folds import Split
from distkern.learners.registry import saveable
from distkern.learners.suquan import (
    Labels,
    SUQUANLabelled,
    bytes_of_output,
    gives_probabilities,
    predicted,
    probabilities,
)
from distkern.learners.validation import cohort_names, not_negative, positive, samples_of, with_own_errors
from distkern.solvers.rank_requests import MOST_COLUMNS, Algorithm, serve
from distkern.solvers.target_gram import fit_on_gram, gram_is_cheaper, weight_step
from distkern.solvers.target_learning import (
    Fitted,
    Spread,
    Task,
    alternate,
    explains,
    fit_weights,
    outputs_of,
    spread_of,
)
from distkern.solvers.target_losses import Loss
from distkern.solvers.target_sets import TargetSet, at_radius
from distkern.solvers.target_svd import class_differences, leading_pair
from distkern.store.ranks import RankStore

LAMS = tuple(10.0**power for power in range(-4, 2))
"""Values of λ where none are given."""

GAMMAS = (0.01, 0.1, 1.0)
"""Values of γ where none are given."""

FOLDS = 5
"""Number of folds where none is given."""

KEPT = 3
"""Numbers that a model at the first target keeps for each feature: W, f, and means for the step in f."""

TIE = 1e-12
"""Mean scores that differ by less are equal up to rounding."""


@saveable
class SUQUANClassifierCV(SUQUANLabelled):
    r"""`SUQUANClassifier` with λ and γ chosen by cross-validation, in passes over the ranks that all models share.

    .. math::

        (\lambda, \gamma) = \arg\max\ \frac{1}{K} \sum_{k=1}^K \mathrm{score}_k(\lambda, \gamma)

    where score_k is that of the held-out samples of fold k, by the model that `SUQUANClassifier` fits to the other
    ones. A target that is learned from values is learned from these as well, never from held-out samples. At the end a
    model with the chosen λ and γ is fitted to all samples.

    Source: Vert's slides on supervised quantile normalisation (SUQUAN), whose tables are of cross-validated models.

    Parameters
    ----------
    constraint, target, n_iter, loss, class_weight, ties, missing, tol, max_iter, memory_limit
        As for `SUQUANClassifier`, without ``"trace"``. ``class_weight="balanced"`` counts each training part.
    lams
        Candidate values of λ.
    gammas
        Candidate values of γ, of ``"spav"`` alone; 0.01, 0.1 and 1 if None.
    cv
        Number of folds, splitter or splits, as in scikit-learn; 5 stratified folds if None. With ``groups``, a number
        means stratified folds of groups.
    scoring
        What is maximised, as in scikit-learn: a name such as ``"roc_auc"``, or a function of an estimator, X and y, for
        which X are the positions of held-out samples. The accuracy if None. The mean over the folds decides; ties go to
        larger λ, then to larger γ.

    Attributes
    ----------
    lam_, gamma_
        Chosen values; ``gamma_`` is None without candidates.
    scores_
        Score of each fold, λ and γ, (folds, lams, gammas).
    best_score_
        The largest mean over the folds.
    cv_results_
        A dict of lists with an entry for each pair of λ and γ: ``param_lam``, ``param_gamma``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score`` and ``split0_test_score``, …
    target_, coef_, intercept_, classes_, class_weight_, objective_, degenerate_, singular_values_, n_iter_,
    normalizer_, n_features_in_, feature_names_in_
        Of the model that is fitted to all samples: see `SUQUANClassifier`.
    n_passes_
        Passes over the ranks, all together.

    Raises
    ------
    SampleError, InputError
        As for `SUQUANClassifier`; and if a candidate is wrong, or the training part of a fold lacks a class.

    Warns
    -----
    UserWarning
        If the model that is fitted to all samples is degenerate.
    ConvergenceWarning
        If some models have not converged.

    See Also
    --------
    SUQUANClassifier : The model with given parameters.

    Notes
    -----
    A `RankStore` in a folder may be larger than memory. As many models run at a time as fill the columns of a pass and
    fit in memory.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, w = rng.normal(size=(120, 20)), rng.normal(size=20)
    >>> y = np.where(X @ w > 0, "ill", "well")
    >>> model = SUQUANClassifierCV(lams=[0.01, 1.0], gammas=[0.1, 10.0], cv=3).fit(X, y)
    >>> model.scores_.shape, model.lam_
    ((3, 2, 2), 0.01)
    """

    lam_: float
    gamma_: float | None
    scores_: Floats

    def __init__(
        self,
        constraint: str = "spav",
        target: Any = "median",
        lams: Sequence[float] = LAMS,
        gammas: Sequence[float] | None = None,
        *,
        cv: Any = None,
        scoring: Any = None,
        n_iter: int = 1,
        loss: str = "logistic",
        class_weight: dict[Any, float] | str | None = None,
        ties: str = "mean",
        missing: str = "error",
        tol: float = 1e-4,
        max_iter: int = 500,
        memory_limit: int | str | None = None,
    ) -> None:
        self.constraint = constraint
        self.target = target
        self.lams = lams
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.n_iter = n_iter
        self.loss = loss
        self.class_weight = class_weight
        self.ties = ties
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> SUQUANClassifierCV:
        """Choose λ and γ, and fit to all samples.

        Parameters
        ----------
        X, y, sample_weight
            Samples (m, p), or their ranks, labels (m,) and weights (m,). Scores are weighted as well.
        groups
            Group of each sample, such as the patient, (m,): no group is in both parts of a fold.

        Raises
        ------
        SampleError, InputError
            See the class.
        MemoryLimitError
            If the ranks do not fit in memory: a `RankStore` in a folder does not need to.
        """
        lams, gammas = self._candidates()
        self._scorer(_HeldOut(np.arange(2), np.zeros((0, 1)), self.loss))  # a wrong one is refused before the search
        store, source = self._store(X)
        labelled, loss, Y = self._labelled(X, store, y, sample_weight)
        names = cohort_names(store.ids, len(store)) if isinstance(X, RankStore) else samples_of(X)
        folds = list(self._folds(labelled, None if groups is None else encoded_labels(groups, names, "groups")[1]))
        search = _Search(self, store, source, labelled, folds, loss, Y, lams, gammas)
        self.scores_, passes = search.scores(None if sample_weight is None else labelled.weights)
        self._choose(lams, gammas)
        task = self._task(loss, Y, labelled.shares(self.class_weight_), self.lam_)
        self.n_passes_ = passes + self._train(store, source, task, self.gamma_)
        return self

    # Validation ------------------------------------------------------------------------------------------------------

    def _candidates(self) -> tuple[list[float], list[float | None]]:
        self._check_steps()
        if self.constraint == "trace":
            raise InputError("trace has no λ: choose its trace_norm with GridSearchCV of scikit-learn")
        lams = sorted({positive(value, "lams") for value in entries(self.lams, "lams")})
        gammas: list[float | None] = [None]
        if self.constraint == "spav":
            given = GAMMAS if self.gammas is None else entries(self.gammas, "gammas")
            gammas = [*sorted({not_negative(value, "gammas") for value in given})]
        elif self.gammas is not None:
            raise InputError(f"gammas are weights of the roughness of spav: leave them out of {self.constraint}")
        if not lams or not gammas:
            raise InputError("there is no λ or no γ to choose from: give one or more")
        return lams, gammas

    def _scorer(self, held_out: _HeldOut) -> Any:
        try:
            return check_scoring(held_out, self.scoring)
        except (ValueError, TypeError) as error:
            raise InputError(
                "scoring must be a name that scikit-learn knows, such as 'roc_auc', or a function of an estimator, X "
                f"and y; got {self.scoring!r:.100}"
            ) from error

    def _folds(self, labelled: Labels, groups: Indices | None) -> Iterator[Split]:
        """Training and test positions of each fold; samples of weight 0 are left out of the test."""
        kept = np.flatnonzero(labelled.weights > 0)
        labels = labelled.classes[labelled.codes]
        number = FOLDS if self.cv is None else self.cv
        counted = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if counted and groups is not None:
            number = StratifiedGroupKFold(int(number))
        given = not counted and not hasattr(number, "split")  # positions among all samples, those of weight 0 too
        rows = np.arange(len(labels)) if given else kept

        def split() -> list[Any]:
            splitter = check_cv(number, labels[rows], classifier=True)
            return list(splitter.split(rows[:, None], labels[rows], None if groups is None else groups[rows]))

        splits = with_own_errors(split)
        if not splits:
            raise InputError("cv holds no split: give one or more")
        for fold, (first, second) in enumerate(splits):
            train, test = (rows[with_own_errors(np.asarray, part)] for part in (first, second))
            test = np.intersect1d(test, kept)
            trained = np.intersect1d(train, kept)
            absent = np.setdiff1d(np.arange(len(labelled.classes)), labelled.codes[trained])
            if len(absent):
                raise InputError(
                    f"fold {fold} of cv trains on no sample of class {labelled.classes[absent[0]].item()!r}: use fewer "
                    "folds or smaller groups, or leave the class out"
                )
            if not len(test):
                raise InputError(f"fold {fold} of cv tests no sample of positive weight: leave it out")
            yield train, test

    def _choose(self, lams: list[float], gammas: list[float | None]) -> None:
        means = self.scores_.mean(axis=0)
        if not np.isfinite(means).any():
            raise InputError("no score of the cross-validation is a number: use another scoring, or other folds")
        best = np.flatnonzero(means.ravel() >= np.nanmax(means) - TIE)[-1]  # candidates ascend
        chosen = np.unravel_index(best, means.shape)
        self.lam_, self.gamma_ = lams[chosen[0]], gammas[chosen[1]]
        self.best_score_ = float(means[chosen])
        pairs = [(lam, gamma) for lam in lams for gamma in gammas]
        order = -np.where(np.isfinite(means), means, -np.inf).ravel()
        folds = self.scores_.reshape(len(self.scores_), -1)
        self.cv_results_ = {
            "param_lam": [lam for lam, _ in pairs],
            "param_gamma": [gamma for _, gamma in pairs],
            "mean_test_score": means.ravel().tolist(),
            "std_test_score": self.scores_.std(axis=0).ravel().tolist(),
            "rank_test_score": (1 + (order[:, None] > order).sum(axis=1)).tolist(),
        } | {f"split{fold}_test_score": scores.tolist() for fold, scores in enumerate(folds)}


@dataclass(frozen=True, eq=False)
class _Search:
    """Models of all folds, λ and γ, and their scores."""

    model: SUQUANClassifierCV
    store: RankStore
    source: Source | None
    labelled: Labels
    folds: list[Split]
    loss: Loss
    Y: Floats
    lams: list[float]
    gammas: list[float | None]

    def scores(self, weights: Floats | None) -> tuple[Floats, int]:
        """Scores of the held-out samples, (folds, lams, gammas), and the number of passes."""
        firsts, begun = self._firsts()
        sets = [self.model._within(gamma) for gamma in self.gammas]
        tasks = [task for of_fold in self._tasks() for task in of_fold]
        tests = [test for _, test in self.folds for _ in self.lams]
        targets = [firsts[fold] for fold in range(len(self.folds)) for _ in self.lams]
        fitted = self._on_gram(tasks, targets)
        starts, first_passes = self._serve(map(partial(_start, learned=sets[0] is not None), tasks, targets, fitted))
        jobs = [(k, g) for k in range(len(tasks)) for g in range(len(sets))]
        jobs.sort(key=lambda job: tasks[job[0]].lam)  # a small λ takes the most passes: it does not come last
        memory = self.model._memory(self.store) // usable_cores()  # a model in each thread
        alternating = partial(
            alternate, n_iter=self.model.n_iter, refit=weight_step(self.store, self.Y.shape[1], memory)
        )
        paths = (_path(tasks[k], sets[g], starts[k], alternating, tests[k]) for k, g in jobs)
        found, passes = self._serve(paths)
        failed = sum(not converged for _, converged in found)
        if failed:
            warn(
                f"{failed:,} of {len(found):,} models of the search have not converged after {self.model.max_iter:,} "
                "iterations: raise max_iter",
                ConvergenceWarning,
            )
        scores = np.empty((len(tasks), len(sets)))
        for (k, g), (Z, _) in zip(jobs, found, strict=True):
            scores[k, g] = self._score(Z, tests[k], weights)
        shape = len(self.folds), len(self.lams), len(self.gammas)
        return scores.reshape(shape), begun + first_passes + passes

    def _on_gram(self, tasks: list[Task], targets: list[Floats]) -> list[Fitted | None]:
        """Models at the first targets on the Gram matrix, for tasks with a common target where that is cheaper."""
        fitted: list[Fitted | None] = [None] * len(tasks)
        learned, memory = self.model._within(None) is not None, self.model._memory(self.store)
        for target in {id(one): one for one in targets}.values():
            same = [k for k, one in enumerate(targets) if one is target]
            if gram_is_cheaper(*self.store.shape, len(same) * self.Y.shape[1], memory):
                first = at_radius(target) if learned else target
                found = fit_on_gram(self.store, [tasks[k] for k in same], first, memory)
                for k, one in zip(same, found, strict=True):
                    fitted[k] = one
        return fitted

    def _serve(self, algorithms: Iterator[Algorithm[Any]]) -> tuple[list[Any], int]:
        columns, p = self.Y.shape[1], self.store.shape[1]
        kept = KEPT * 8 * p * columns * len(self.folds) * len(self.lams)
        most = (self.model._memory(self.store) - kept) // bytes_of_output(*self.store.shape)
        return serve(self.store, algorithms, columns, max(1, min(MOST_COLUMNS, most)))

    def _tasks(self) -> Iterator[list[Task]]:
        """Tasks of the training part of each fold, for each λ."""
        for train, _ in self.folds:
            by_class = self.labelled.by_class(self.model.class_weight, train)
            shares = self.labelled.shares(by_class, train)
            yield [self.model._task(self.loss, self.Y, shares, lam) for lam in self.lams]

    def _firsts(self) -> tuple[list[Floats], int]:
        """The target to start from in each fold, learned from its training part if at all; and the number of passes."""
        p = self.store.shape[1]
        if self.model.constraint == "svd":
            tasks = [of_fold[0] for of_fold in self._tasks()]
            pairs = (leading_pair(class_differences(task.Y[:, 0], task.shares), p) for task in tasks)
            found, passes = self._serve(pairs)
            return [pair.v * math.sqrt(p) for pair in found], passes
        if self.source is None or not self.model._learns_target():
            return [self.model._first_target(p, self.source)] * len(self.folds), 0
        return [self.model._first_target(p, self.source.part(train)) for train, _ in self.folds], 0

    def _score(self, Z: Floats, test: Indices, weights: Floats | None) -> float:
        classes = self.labelled.classes
        held_out = _HeldOut(classes, Z, self.model.loss)
        scorer = self.model._scorer(held_out)
        given = {} if weights is None else {"sample_weight": weights[test]}
        labels = classes[self.labelled.codes[test]]
        try:
            return float(with_own_errors(scorer, held_out, test[:, None], labels, **given))
        except AttributeError as error:
            raise InputError(
                f"{self.model.scoring!r} needs what the loss {self.model.loss} does not give ({error}): use another "
                "scoring, or the logistic loss"
            ) from error


def _start(task: Task, first: Floats, fitted: Fitted | None, learned: bool) -> Algorithm[tuple[Fitted, Spread | None]]:
    """The model at the first target, unless it is known, and what all steps in f from there need."""
    if fitted is None:
        fitted = yield from fit_weights(task, at_radius(first) if learned else first)
    return fitted, ((yield from spread_of(task, fitted.W)) if learned and explains(fitted) else None)


def _path(
    task: Task,
    within: TargetSet | None,
    begun: tuple[Fitted, Spread | None],
    alternating: Callable[..., Algorithm[Fitted]],
    test: Indices,
) -> Algorithm[tuple[Floats, bool]]:
    """Outputs of a model for held-out samples, and whether it has converged."""
    start, spread = begun
    fitted = start if within is None else (yield from alternating(task, within, start, spread=spread))
    outputs = yield from outputs_of(fitted, len(task.Y))
    return outputs[test], fitted.converged


class _HeldOut(ClassifierMixin, BaseEstimator):
    """A model that knows its outputs for the held-out samples, whatever X is: what scikit-learn scores."""

    def __init__(self, classes: Array, outputs: Floats, loss: str) -> None:
        self.classes, self.outputs, self.loss = classes, outputs, loss
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> _HeldOut:
        """Do nothing: the outputs are known."""
        return self

    def decision_function(self, X: Any) -> Floats:
        """Outputs."""
        return self.outputs[:, 0] if self.outputs.shape[1] == 1 else self.outputs

    def predict(self, X: Any) -> Array:
        """Labels."""
        return predicted(self.outputs, self.classes)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities."""
        return probabilities(self.outputs)
