"""From a cohort and its times to a survival model that can be used elsewhere: evaluated, fitted, described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.events import Listener, silent
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of, whole_number
from distkern.core.typing import Array
from distkern.kernels.base import Kernel
from distkern.learners.cox import KernelCox
from distkern.learners.folds import Folds
from distkern.learners.held_out_risks import GROUPS, HeldOutRisks, group_names
from distkern.learners.memory import memory_allowed
from distkern.learners.newton import SurvivalLearner
from distkern.learners.predictor import CohortPredictor, PreparedColumns, as_samples
from distkern.learners.selection import cross_validate_gram
from distkern.learners.survival_evaluation import SurvivalEvaluation
from distkern.learners.survival_selection import LAMBDAS, survival_work
from distkern.learners.survival_svm import SurvivalSVM
from distkern.learners.survival_times import survival_y, times_and_events
from distkern.learners.training import about_cohort, kernel_values, names_of, training_gram
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram

SURVIVAL: dict[str, Any] = {"cox": KernelCox, "survival-svm": SurvivalSVM}
"""Survival models that can be trained."""


@dataclass(frozen=True, eq=False)
class TrainedSurvival:
    """A survival model and what is known of it.

    Parameters
    ----------
    predictor
        Predicts risks for samples, and survival if it is Cox's model; `save_model` writes it with its card.
    evaluation
        Concordance of the same procedure on samples that it had not seen.

    See Also
    --------
    train_survival : Makes it.
    """

    predictor: CohortPredictor
    evaluation: SurvivalEvaluation

    @property
    def gram(self) -> ArrayGram:
        """The kernel between the training samples, computed again."""
        return training_gram(self.predictor)

    @property
    def card(self) -> dict[str, Any]:
        """What a user should know of the model: its kernel, cohort, features, validation, cut-offs and versions."""
        return dict(self.predictor.card)


def train_survival(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | None = None,
    learner: str = "cox",
    lam: Sequence[float] = LAMBDAS,
    strata: Any = None,
    groups: Any = None,
    outer: int = 5,
    repeats: int = 5,
    inner: int = 5,
    risk_groups: int = GROUPS,
    seed: int = 0,
    memory_limit: int | str | None = None,
    on_event: Listener = silent,
) -> TrainedSurvival:
    """Evaluate a survival model by nested folds, fit it to all samples, and describe it.

    The estimate is that of the whole procedure: inner folds choose λ, as folds of all samples then choose the λ of the
    model. The card states the cut-offs of risk groups: quantiles of the risks of the training samples.

    Parameters
    ----------
    X
        Samples (m, n), in any container that `compute_gram` takes. New samples are matched by the names of features.
    y
        Times with events, (m,), from `survival_y`.
    kernel
        Kernel of the samples; ``Kendall()`` by default, which needs no normalisation of new samples.
    learner
        ``"cox"``: `KernelCox`, or ``"survival-svm"``: `SurvivalSVM`.
    lam
        Values of λ to choose from.
    strata
        Stratum of each sample, such as its hospital, (m,): Cox's model compares samples of one stratum only, and so do
        all tests.
    groups
        Group of each sample, such as the patient, (m,), that no fold divides.
    outer, repeats, inner
        Numbers of outer folds, of their repetitions, and of inner folds.
    risk_groups
        Number of risk groups.
    seed
        Seed of all folds.
    memory_limit
        Memory for kernel values; by default half of the available memory.
    on_event
        Called with a `Progress` event after each outer fold.

    Raises
    ------
    InputError
        If a parameter, a time or a sample cannot be used, or there are fewer events than folds.
    MemoryLimitError
        If the kernel values do not fit in memory: compute a store with `compute_gram`, and fit a learner on it.

    See Also
    --------
    train_classifier : The same for classes.
    KernelCox, SurvivalSVM : The models.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> cohort = pd.DataFrame(rng.normal(size=(60, 4)), columns=["MKI67", "ESR1", "AURKA", "BCL2"])
    >>> days = np.where(cohort["MKI67"] > cohort["BCL2"], 200.0, 2000.0) + rng.integers(0, 100, 60)
    >>> trained = train_survival(cohort, survival_y(days, np.ones(60)), repeats=1)
    >>> trained.predictor.predict(cohort[["BCL2", "AURKA", "ESR1", "MKI67"]]).shape, trained.evaluation.mean() > 0.7
    ((60,), True)
    >>> trained.card["risk_groups"]["names"]
    ['low risk', 'high risk']
    """
    one_of(learner, "learner", SURVIVAL)
    names = group_names(whole_number(risk_groups, "risk_groups", 2))
    source = as_samples(X)
    known = names_of(source)
    times = survival_y(*times_and_events(y, known))
    strata_of = None if strata is None else _decoded(strata, known, "strata")
    group_of = None if groups is None else _decoded(groups, known, "groups")
    resolved, prepared, gram = kernel_values(source, kernel, seed, memory_limit)
    half = None if memory_limit is None else memory_allowed(memory_limit) // 2
    model = SURVIVAL[learner](memory_limit=half)
    evaluation = cross_validate_gram(
        model,
        gram,
        times,
        scoring="concordance",
        lam=lam,
        strata=strata_of,
        groups=group_of,
        outer=outer,
        repeats=repeats,
        inner=inner,
        seed=seed,
        max_bytes=half,
        on_event=on_event,
    )
    fitted = fit_survival(model, gram, times, lam, strata=strata_of, groups=group_of, inner=inner, seed=seed)
    columns = PreparedColumns(resolved, prepared, features=source.features, n_features=source.shape[1])
    cutoffs = np.quantile(fitted.predict(gram), np.arange(1, risk_groups) / risk_groups).tolist()
    card = {
        "learner": learner,
        "lam": fitted.lam,
        **about_cohort(source, resolved),
        "events": int(times["event"].sum()),
        "last_time": float(times["time"].max()),
        "stratified": strata is not None,
        "risk_groups": {"names": names, "cutoffs": cutoffs},
        "validation": _validation(evaluation, risk_groups),
    }
    return TrainedSurvival(CohortPredictor(fitted, columns, card=card), evaluation)


def fit_survival(
    model: SurvivalLearner,
    gram: BaseGram,
    y: Array,
    lam: Sequence[float],
    *,
    strata: Any = None,
    groups: Any = None,
    inner: int,
    seed: int,
    max_bytes: int | None = None,
) -> Any:
    """Choose λ by folds of all samples, and fit the model to all samples."""
    work, grid = survival_work(model, gram, y, lam, strata, max_bytes)
    group_of = None if groups is None else encoded_labels(groups, gram, "groups")[1]
    folds = Folds(work.data.kinds, group_of, None, seed).outer(inner, 1) if len(grid) > 1 else ()
    chosen = work.chosen([(train, test) for train, test, _ in folds], grid)
    [fitted] = model.fit_path(gram, y, [chosen], **strata_option(model, strata))
    return fitted


def strata_option(model: Any, strata: Any) -> dict[str, Any]:
    """Strata as an argument of ``fit``; none where the model compares samples of all strata."""
    return {"strata": strata} if strata is not None and isinstance(model, KernelCox) else {}


def log_rank_pvalue(risks: HeldOutRisks, count: int = GROUPS) -> float | None:
    """P-value of the log-rank test of risk groups; None where groups cannot be compared."""
    try:
        return risks.log_rank(count).pvalue
    except InputError:
        return None


def _decoded(labels: Any, samples: Any, what: str) -> Array:
    values, codes = encoded_labels(labels, samples, what)
    return np.asarray(values)[codes]


def _validation(evaluation: SurvivalEvaluation, risk_groups: int) -> dict[str, Any]:
    """Scores of samples not seen with their intervals, and the protocol; ready for JSON."""
    assert evaluation.held_out is not None
    table = evaluation.held_out.scores()
    rows = zip(*(table[name].tolist() for name in ("score", "value", "low", "high")), strict=True)
    scores = {name: [None if x != x else x for x in values] for name, *values in rows}
    protocol = {key: evaluation.settings[key] for key in ("outer", "repeats", "inner", "grouped", "stratified", "seed")}
    return scores | {"log_rank_pvalue": log_rank_pvalue(evaluation.held_out, risk_groups)} | protocol
