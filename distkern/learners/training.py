"""From a cohort and its labels to a model that can be used elsewhere: evaluated, fitted, calibrated, described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from distkern._version import __version__
from distkern.core.alignment import SampleNames
from distkern.core.events import Listener, silent
from distkern.core.labels import encoded_labels
from distkern.core.parameters import one_of
from distkern.core.typing import Array
from distkern.io.source import Source
from distkern.kernels.base import Kernel, Prepared, check_source, finite_tile
from distkern.kernels.kendall import Kendall
from distkern.kernels.planning import bytes_per_tile
from distkern.learners.calibration import CalibratedClassifier
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.evaluation import METRICS, Evaluation
from distkern.learners.folds import Folds
from distkern.learners.logistic import KernelLogistic
from distkern.learners.memory import memory_allowed, require_memory
from distkern.learners.predictor import CohortPredictor, PreparedColumns, as_samples
from distkern.learners.selection import GRID, Choice, best_value, choice_of, cross_validate_gram, last_step
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.survival_selection import LAMBDAS
from distkern.learners.svm import KernelSVC
from distkern.learners.validation import labels_and_weights
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram

LEARNERS: dict[str, Any] = {"svm": KernelSVC, "fisher": KernelFisherDiscriminant, "logistic": KernelLogistic}
"""Classifiers that can be trained."""


@dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """A model and what is known of it.

    Parameters
    ----------
    predictor
        Predicts classes, probabilities and sets of classes for samples; `save_model` writes it with its card.
    evaluation
        Scores of the same procedure on samples that it had not seen.

    See Also
    --------
    train_classifier : Makes it.
    """

    predictor: CohortPredictor
    evaluation: Evaluation

    @property
    def gram(self) -> ArrayGram:
        """The kernel between the training samples, computed again."""
        return training_gram(self.predictor)

    @property
    def card(self) -> dict[str, Any]:
        """What a user should know of the model: its classes, kernel, cohort, features, validation and versions."""
        return dict(self.predictor.card)


def train_classifier(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | None = None,
    learner: str = "svm",
    C: Sequence[float] = GRID,
    lam: Sequence[float] = LAMBDAS,
    groups: Any = None,
    outer: int = 5,
    repeats: int = 5,
    inner: int = 5,
    calibration: str = "sigmoid",
    seed: int = 0,
    memory_limit: int | str | None = None,
    on_event: Listener = silent,
) -> TrainedClassifier:
    """Evaluate a kernel classifier by nested folds, fit it to all samples, calibrate it, and describe it.

    Kernel values are centred and scaled to unit norm on the training samples of each fold. The estimate is that of the
    whole procedure: inner folds choose C, as folds of all samples then choose the C of the model.

    Parameters
    ----------
    X
        Samples (m, n), in any container that `compute_gram` takes. New samples are matched by the names of features.
    y
        Labels, (m,).
    kernel
        Kernel of the samples; ``Kendall()`` by default, which needs no normalisation of new samples.
    learner
        ``"svm"``: support vector machine, whose C is chosen. ``"fisher"``: Fisher's discriminant with μ = 10⁻³.
        ``"logistic"``: logistic regression, whose λ is chosen.
    C, lam
        Values to choose from.
    groups
        Group of each sample, such as the patient, (m,), that no fold divides.
    outer, repeats, inner
        Numbers of outer folds, of their repetitions, and of inner folds.
    calibration
        ``"sigmoid"`` or ``"isotonic"``, see `CalibratedClassifier`.
    seed
        Seed of all folds.
    memory_limit
        Memory for kernel values; by default half of the available memory.
    on_event
        Called with a `Progress` event after each outer fold.

    Raises
    ------
    InputError
        If a parameter, a label or a sample cannot be used, or a class has fewer samples than folds.
    MemoryLimitError
        If the kernel values do not fit in memory: compute a store with `compute_gram`, and fit a learner on it.

    See Also
    --------
    train_survival : The same for survival.
    cross_validate_gram : The evaluation alone.
    predict_external : Predictions for another cohort.
    save_model : Keeps the model.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> cohort = pd.DataFrame(rng.normal(size=(60, 4)), columns=["ESR1", "TBC1D9", "GATA3", "KRT5"])
    >>> er = np.where(cohort["ESR1"] > cohort["KRT5"], "positive", "negative")
    >>> trained = train_classifier(cohort, er, repeats=1)
    >>> trained.predictor.predict(cohort[["KRT5", "GATA3", "TBC1D9", "ESR1"]])[:3].tolist() == er[:3].tolist()
    True
    >>> trained.card["kernel"], trained.card["classes"]
    ({'kernel': 'kendall', 'ties': 'zero'}, {'negative': 35, 'positive': 25})
    """
    one_of(learner, "learner", LEARNERS)
    source = as_samples(X)
    labels = labels_and_weights(y, None, names_of(source))[0]
    group_of = None if groups is None else encoded_labels(groups, names_of(source), "groups")[1]
    resolved, prepared, gram = kernel_values(source, kernel, seed, memory_limit)
    half = None if memory_limit is None else memory_allowed(memory_limit) // 2
    model = standardized(learner, half)
    protocol: dict[str, Any] = {"outer": outer, "repeats": repeats, "inner": inner, "seed": seed}
    grids: dict[str, Any] = {"C": [*C] if learner == "svm" else None, "lam": [*lam] if learner == "logistic" else None}
    evaluation = cross_validate_gram(
        with_probabilities(model, calibration, seed),
        gram,
        labels,
        **grids,
        **protocol,
        groups=group_of,
        max_bytes=half,
        on_event=on_event,
    )
    calibrated, chosen = fit_calibrated(
        model, gram, labels, group_of, choice_of(model, **grids), inner=inner, method=calibration, seed=seed
    )
    columns = PreparedColumns(resolved, prepared, features=source.features, n_features=source.shape[1])
    card = _card(source, labels, resolved, evaluation, learner, chosen, calibration)
    return TrainedClassifier(CohortPredictor(calibrated, columns, card=card), evaluation)


def training_gram(predictor: CohortPredictor) -> ArrayGram:
    """The kernel between the training samples of a predictor, computed again."""
    columns: Any = predictor.gram
    prepared = columns.prepared_columns()
    return ArrayGram(finite_tile(columns.kernel, prepared, prepared))


def kernel_values(
    source: Source, kernel: Kernel | None, seed: int, memory_limit: int | str | None
) -> tuple[Kernel, Prepared, ArrayGram]:
    """The kernel with all parameters fixed, the prepared samples, and the kernel values between them, in memory."""
    resolved = (Kendall() if kernel is None else kernel).resolve(source, seed)
    m = len(source)
    require_memory(
        max(bytes_per_tile(resolved, m, m, source.shape[1]), 32 * m**2),
        memory_limit,
        f"the kernel between {m:,} samples",
    )
    prepared = resolved.prepare(check_source(resolved, source))
    return resolved, prepared, ArrayGram(finite_tile(resolved, prepared, prepared, source.ids, source.ids))


def names_of(source: Source) -> SampleNames:
    """Names of the samples, with which labels, times and groups are aligned."""
    return SampleNames(len(source), source.ids, whose="the cohort", listed="the names of the samples")


def standardized(learner: str, memory_limit: int | None = None) -> Pipeline:
    """A classifier of kernel values that are centred and scaled to unit norm on the training samples."""
    kind = LEARNERS[one_of(learner, "learner", LEARNERS)]
    return make_pipeline(KernelStandardizer(memory_limit=memory_limit), kind(memory_limit=memory_limit))


def with_probabilities(model: Pipeline, method: str = "sigmoid", seed: int = 0) -> Any:
    """The model, calibrated if it has no probabilities of its own and no parameter whose choice yields some."""
    own = hasattr(model, "predict_proba") or isinstance(last_step(model), KernelSVC)
    return model if own else CalibratedClassifier(model, method, random_state=seed)


def fit_calibrated(
    model: Pipeline,
    gram: BaseGram,
    labels: Array,
    groups: Array | None,
    choice: Choice,
    *,
    inner: int,
    method: str,
    seed: int,
) -> tuple[CalibratedClassifier, float | None]:
    """Choose a parameter by folds of all samples, and fit and calibrate the model: the model, and the chosen value."""
    chosen = None
    if choice.parameter is not None:
        splits = [(train, test) for train, test, _ in Folds(labels, groups, None, seed).outer(inner, 1)]
        chosen = best_value(model, gram, labels, choice, splits)
        model = clone(model)
        last_step(model).set_params(**{choice.parameter: chosen})
    return CalibratedClassifier(model, method, random_state=seed).fit(gram, labels, groups), chosen


def _card(
    source: Source,
    labels: Array,
    kernel: Kernel,
    evaluation: Evaluation,
    learner: str,
    chosen: float | None,
    calibration: str,
) -> dict[str, Any]:
    """All that a user of the model should know; no name of a sample."""
    scores = {metric: evaluation.mean(metric) for metric in METRICS}
    return {
        "learner": learner,
        "C": chosen if learner == "svm" else None,
        "lam": chosen if learner == "logistic" else None,
        "calibration": calibration,
        **about_cohort(source, kernel),
        "classes": {str(label): count for label, count in sorted(Counter(labels.tolist()).items())},
        "validation": {name: None if value != value else value for name, value in scores.items()}
        | {key: evaluation.settings[key] for key in ("outer", "repeats", "inner", "grouped", "seed")},
    }


def about_cohort(source: Source, kernel: Kernel) -> dict[str, Any]:
    """What every card says of the kernel, the cohort and the versions."""
    return {
        "kernel": kernel.spec(),
        "cohort": source.describe(),
        "samples": len(source),
        "features": source.shape[1],
        "versions": {"distkern": __version__, "numpy": np.__version__},
    }
