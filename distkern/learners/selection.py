"""Repeated nested cross-validation on a Gram matrix."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline

from distkern.core.errors import InputError, InputTypeError
from distkern.core.events import Listener, Progress, silent
from distkern.core.labels import encoded_labels
from distkern.core.parameters import entries, one_of
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.evaluation import METRICS, Evaluation, mean_of_known
from distkern.learners.folds import Folds, Nested, Split, left_out
from distkern.learners.held_out import HeldOut
from distkern.learners.matrices import training_matrix
from distkern.learners.memory import memory_allowed, read_matrix
from distkern.learners.multiclass import BinaryProblems, sigmoid
from distkern.learners.nested import JointEvaluation, nested_scores, standardizer_and_classifier
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.survival_selection import LAMBDAS, SurvivalFolds, evaluate_survival
from distkern.learners.svm import KernelSVC
from distkern.learners.validation import labels_and_weights, positive
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram

GRID = (1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""Default values of C."""

TIE = 1e-12
"""Mean inner accuracies that differ by less than this are equal up to rounding."""


def cross_validate_gram(
    estimator: Any,
    gram: Any,
    y: Any,
    *,
    kernel: Any = "precomputed",
    scoring: str = "accuracy",
    C: Sequence[float] | None = GRID,
    lam: Sequence[float] | None = LAMBDAS,
    strata: Any = None,
    outer: int | str = 5,
    inner: int = 5,
    repeats: int = 10,
    groups: Any = None,
    cohorts: Any = None,
    seed: int = 0,
    max_bytes: int | str | None = None,
    on_event: Listener = silent,
) -> Any:
    """Estimate the accuracy of a classifier, or the concordance of a survival model, by nested cross-validation.

    The protocol of Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 6. The samples are split
    ``repeats`` times into ``outer`` stratified folds. On each training part, ``inner`` stratified folds choose the C of
    highest mean accuracy, or the λ of a `KernelLogistic`; ties go to the most regularised. All steps, including
    centring, are fitted on training samples only.

    A `KernelSVC`, alone or after a `KernelStandardizer`, is fitted for all folds, values of C and pairs of classes
    jointly: on all cores if the matrix fits in memory, otherwise in shared passes over it. Any other estimator is
    fitted fold by fold.

    Survival models are compared by Harrell's concordance index. Its pairs are those of samples of one test fold, since
    risks of different models are not comparable; they are pooled over the folds of a repeat. Folds are stratified by
    event, and inner folds choose λ; ties go to the largest. All folds and values of λ share the passes over the matrix,
    unless there is a step before the model.

    Parameters
    ----------
    estimator
        Classifier of kernel values with a ``decision_function``, or a pipeline that ends in one. None stands for
        ``make_pipeline(KernelStandardizer(), KernelSVC())``. With ``scoring="concordance"`` a `KernelCox`, which None
        stands for, a `SurvivalSVM`, or a pipeline that ends in one.
    gram
        Symmetric Gram matrix or array, (m, m); or samples (m, n) if there is a kernel.
    y
        Labels, (m,); or times with events, from `survival_y`.
    kernel
        ``"precomputed"``, or the kernel of the samples.
    scoring
        ``"accuracy"`` or ``"concordance"``.
    lam
        Candidate values for the parameter lam of a survival model or a `KernelLogistic`; None to evaluate it unchanged.
    strata
        Stratum of each sample, such as its cohort, (m,), for survival models: only samples of one stratum are compared,
        in testing, and by a `KernelCox` in training too.
    C
        Candidate values for the parameter C of the (last) estimator; None to evaluate the estimator unchanged.
    outer, inner, repeats
        Number of outer folds, of inner folds, and of repetitions of the outer ones. ``outer="leave-one-group-out"``:
        each group is a test part once.
    groups
        Group of each sample, such as the patient, (m,). Training and test part of a split, outer or inner, have no
        group in common.
    cohorts
        Cohort of each sample, such as the hospital or the platform, (m,): each cohort is the test part once, and a
        model of all others predicts it. The outer folds and ``repeats`` are then not used.
    seed
        Seed of the shuffled folds.
    max_bytes
        Largest matrix that is read into memory, in bytes or text such as ``"2GiB"``; by default a quarter of the
        available memory, because the folds need as much again. A larger matrix is read block by block for every fit.
    on_event
        Called with a `Progress` event after every outer fold.

    Returns
    -------
    Evaluation or SurvivalEvaluation
        Scores of every outer fold.

    Raises
    ------
    InputError
        If a class has fewer samples (or groups) than folds; the message names the class. If a label or group is
        missing, or has the name of another sample.
    InputTypeError
        If the estimator has no ``decision_function``.

    See Also
    --------
    permutation_test : Whether the score is more than chance.
    train_classifier : A model of all samples beside the evaluation.
    cross_validate_pairs : The same for top-scoring pairs.
    sklearn.model_selection.cross_validate : Any estimator, for arrays.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0]] * 10 + [[1.0, 0.0]] * 10) + np.random.default_rng(0).normal(scale=0.1, size=(20, 2))
    >>> cross_validate_gram(KernelSVC(), X @ X.T, ["a"] * 10 + ["b"] * 10, repeats=2).mean("accuracy")
    1.0
    """
    if one_of(scoring, "scoring", ("accuracy", "concordance")) == "concordance":
        if C is not GRID:
            raise InputError("C= is for classifiers: give lam= for survival models")
        survival = SurvivalFolds(outer, inner, repeats, groups, cohorts, strata, seed)
        matrix = training_matrix(gram, kernel, max_bytes)
        return evaluate_survival(estimator, matrix, y, lam, survival, max_bytes, on_event)
    if strata is not None:
        raise InputError("strata= is for survival models: leave it out, or give scoring='concordance'")
    started = time.perf_counter()
    model = make_pipeline(KernelStandardizer(), KernelSVC()) if estimator is None else estimator
    if not hasattr(model, "decision_function"):
        raise InputTypeError(f"{type(model).__name__} has no decision_function, which the area under the curve needs")
    choice = choice_of(model, C, lam)
    matrix = training_matrix(gram, kernel, max_bytes)
    labels = labels_and_weights(y, None, matrix)[0]
    group_of = None if groups is None else encoded_labels(groups, matrix, "groups")[1]
    plan = Folds(labels, group_of, inner if len(choice.values) > 1 else None, seed)
    units, cohort_names = left_out(outer, cohorts, group_of, matrix), None
    if units is not None:
        splits = list(plan.leaving_out(units[1]))
        cohort_names = None if cohorts is None else np.unique(units[1]).tolist()  # groups may be patients
        outer, repeats = units[0], 1
    else:
        splits = list(plan.outer(outer, repeats))  # type: ignore[arg-type]
    in_memory = matrix.nbytes <= memory_allowed(max_bytes) // (2 if max_bytes is None else 1)
    if in_memory and not isinstance(matrix, ArrayGram):
        matrix = ArrayGram(read_matrix(matrix), row_ids=matrix.row_ids)
    columns, held_out = _evaluated(model, matrix, labels, group_of, splits, repeats, choice, in_memory, on_event)
    settings = {
        "samples": len(labels),
        "estimator": repr(model),
        "parameter": choice.parameter,
        "C": list(map(float, choice.values)) if choice.parameter else None,
        "outer": outer,
        "repeats": repeats,
        "inner": inner,
        "grouped": groups is not None,
        "seed": seed,
        "left_out": cohort_names,
    }
    spent = time.perf_counter() - started
    return Evaluation(**columns, classes=held_out.classes, settings=settings, seconds=spent, held_out=held_out)


def _evaluated(
    model: Any,
    matrix: BaseGram,
    labels: Array,
    groups: Array | None,
    splits: Sequence[Nested],
    repeats: int,
    choice: Choice,
    in_memory: bool,
    on_event: Listener,
) -> tuple[dict[str, Any], HeldOut]:
    """The columns of an `Evaluation`, and the predictions for all test samples."""
    kept, rows = _Kept(labels, repeats, groups), []
    folds = len(splits) // repeats
    for done, (outcome, chosen) in enumerate(
        cross_fitted(model, matrix, labels, splits, choice, in_memory=in_memory), start=1
    ):
        test, place = splits[done - 1][1], divmod(done - 1, folds)
        rows.append((*place, len(test), *outcome.metrics(labels[test]), chosen))
        kept.add(*place, test, outcome)
        on_event(Progress("evaluate", done, len(splits)))
    names = ("repeat", "fold", "n_test", *METRICS, "C")
    columns = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return columns, kept.found()


class _Kept:
    """Collects the predictions of all folds."""

    def __init__(self, labels: Array, repeats: int, groups: Array | None) -> None:
        self.classes, self.truth = np.unique(labels, return_inverse=True)
        self.groups, shape = groups, (repeats, len(labels))
        self.predicted, self.folds = np.full(shape, -1, dtype=np.intp), np.zeros(shape, dtype=np.intp)
        columns = 1 if len(self.classes) == 2 else len(self.classes)
        self.decisions = np.full((*shape, columns), np.nan)
        self.probabilities = np.full((*shape, len(self.classes)), np.nan)

    def add(self, repeat: int, fold: int, test: Indices, outcome: Outcome) -> None:
        """Keep the predictions for the test samples of a fold."""
        places = np.searchsorted(self.classes, outcome.classes)  # a training part may lack a class
        self.predicted[repeat, test] = np.searchsorted(self.classes, outcome.predicted)
        self.folds[repeat, test] = fold
        if self.decisions.shape[2] == 1:
            self.decisions[repeat, test, 0] = outcome.scores
        elif outcome.scores.ndim == 2:
            self.decisions[repeat][np.ix_(test, places)] = outcome.scores
        if outcome.probabilities is not None:
            self.probabilities[repeat][np.ix_(test, places)] = outcome.probabilities

    def found(self) -> HeldOut:
        """The predictions of all folds; without probabilities if some have none."""
        chances = None if np.isnan(self.probabilities).any() else self.probabilities
        classes = tuple(self.classes.tolist())
        return HeldOut(classes, self.truth, self.predicted, self.decisions, chances, self.folds, self.groups)


@dataclass(frozen=True)
class Choice:
    """A parameter of the last step that inner folds choose, and its values, most regularised first; or no parameter."""

    parameter: str | None
    values: list[float]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions and scores of a fitted model for the test samples of an outer fold."""

    classes: Array
    predicted: Array
    scores: Floats
    probabilities: Floats | None = None

    def metrics(self, labels: Array) -> tuple[float, float, float]:
        """Accuracy, balanced accuracy and area under the curve."""
        right = self.predicted == labels
        recalls = [right[labels == label].mean() for label in np.unique(labels)]
        scores, classes = self.scores, self.classes
        if len(classes) == 2:
            scores, classes = scores[:, None], classes[1:]
        areas = [
            roc_auc_score(labels == label, scores[:, column])
            for column, label in enumerate(classes)
            if 0 < (labels == label).sum() < len(labels)
        ]
        return float(right.mean()), float(np.mean(recalls)), mean_of_known(np.array(areas))


def cross_fitted(
    model: Any,
    gram: BaseGram,
    labels: Array,
    splits: Sequence[Nested],
    choice: Choice,
    *,
    in_memory: bool,
    jointly: bool = True,
) -> Iterator[tuple[Outcome, float]]:
    """Predictions for the test samples of each outer fold, and the value of a parameter that its inner folds chose.

    Parameters
    ----------
    splits
        Training and test positions of the outer folds, and their inner folds as positions within the training part.
    choice
        The parameter and its values; the chosen value is NaN if there is no parameter.
    in_memory
        Read the matrices of each fold into memory once.
    jointly
        Fit support vector machines of all folds together, which takes folds of one number.
    """
    found = _jointly(model, gram, labels, splits, choice) if jointly else None
    return found or _fold_by_fold(model, gram, labels, splits, choice, in_memory)


def _jointly(
    model: Any, gram: BaseGram, labels: Array, splits: Sequence[Nested], choice: Choice
) -> Iterator[tuple[Outcome, float]] | None:
    """Evaluate all outer folds by a `JointEvaluation`; None if it does not support the model."""
    parts = standardizer_and_classifier(model)
    if parts is None:
        return None
    head, classifier = parts
    classes, codes = np.unique(labels, return_inverse=True)
    joint = JointEvaluation(head, classifier, gram, codes, classes)
    values = choice.values or [float(classifier.C)]
    found = nested_scores(joint, codes, splits, values, _best)
    binary = joint.binary
    return (
        (
            Outcome(
                classes,
                classes[binary.decide(scores)],
                binary.by_class(scores),
                None if inside is None else _calibrated(binary, codes, inside, scores),
            ),
            chosen if choice.values else np.nan,
        )
        for scores, chosen, inside in found
    )


def _calibrated(binary: BinaryProblems, codes: Indices, inside: tuple[Indices, Floats], scores: Floats) -> Floats:
    """Probabilities of test samples, by sigmoids of the scores that inner folds held out."""
    samples, known = inside
    fits = []
    for problem, (positive_class, _) in enumerate(binary.pairs):
        own = binary.members(problem, codes[samples])
        fits.append(sigmoid(known[own, problem], codes[samples][own] == positive_class, np.ones(len(own))))
    slopes, offsets = (np.array(values) for values in zip(*fits, strict=True))
    return binary.probabilities(scores, slopes, offsets)


def _fold_by_fold(
    model: Any, gram: BaseGram, labels: Array, splits: Sequence[Nested], choice: Choice, in_memory: bool
) -> Iterator[tuple[Outcome, float]]:
    """Evaluate the outer folds one after the other, each on a slice of the matrix."""
    for train, test, inner_splits in splits:
        part, known, fitted = gram[np.ix_(train, train)], labels[train], clone(model)
        chosen = np.nan
        if choice.parameter is not None:
            chosen = best_value(model, part, known, choice, inner_splits, in_memory=in_memory)
            last_step(fitted).set_params(**{choice.parameter: chosen})
        fitted.fit(part, known)
        new = gram[np.ix_(test, train)]
        chances = fitted.predict_proba(new) if hasattr(fitted, "predict_proba") else None
        yield Outcome(fitted.classes_, fitted.predict(new), fitted.decision_function(new), chances), chosen


def _best(accuracy: Floats) -> int:
    """Position of the first value with the highest mean accuracy over the splits; ``accuracy`` is (values, splits)."""
    means = accuracy.mean(axis=1)
    return int(np.argmax(means >= means.max() - TIE))


def best_value(
    estimator: Any, gram: BaseGram, y: Array, choice: Choice, splits: Sequence[Split], *, in_memory: bool = True
) -> float:
    """Choose the value of highest mean accuracy over the splits; ties go to the first, as in `GridSearchCV`.

    The steps of a pipeline before the classifier do not depend on the value, so they are fitted once for each split.

    Parameters
    ----------
    estimator
        Classifier with the parameter, or a pipeline that ends in one.
    gram
        Symmetric Gram matrix (m, m).
    y
        Labels (m,).
    choice
        The parameter, and the values to choose from.
    splits
        Training and test positions.
    in_memory
        Read the transformed matrices of each split into memory once; otherwise the classifier gets lazy views.

    Examples
    --------
    >>> splits = [(np.array([0, 1, 2, 3]), np.array([4, 5]))]
    >>> samples = np.array([-1.0, 1.0, -2.0, 2.0, -3.0, 3.0])
    >>> gram = ArrayGram(np.outer(samples, samples))
    >>> best_value(KernelSVC(), gram, np.array([0, 1] * 3), Choice("C", [0.1, 1.0]), splits)
    0.1
    """
    grid, name = choice.values, choice.parameter or "C"
    if len(grid) == 1:
        return float(grid[0])
    accuracy = np.empty((len(grid), len(splits)))
    for column, (train, test) in enumerate(splits):
        head, tail = (clone(estimator[:-1]), estimator[-1]) if isinstance(estimator, Pipeline) else (None, estimator)
        train_part, test_part = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        if head is not None and len(head):
            train_part = head.fit_transform(train_part, y[train])
            test_part = head.transform(test_part)
        if in_memory:
            train_part, test_part = _values(train_part), _values(test_part)
        for row, value in enumerate(grid):
            fitted = clone(tail).set_params(**{name: value}).fit(train_part, y[train])
            accuracy[row, column] = np.mean(fitted.predict(test_part) == y[test])
    return float(grid[_best(accuracy)])


# Helpers -------------------------------------------------------------------------------------------------------------


def last_step(model: Any) -> Any:
    """The estimator that predicts: the last step of a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def choice_of(model: Any, C: Sequence[float] | None, lam: Sequence[float] | None) -> Choice:
    """The parameter to choose, and its values, most regularised first; none if the argument of its name is None."""
    known = last_step(model).get_params()
    name = "lam" if "lam" in known and "C" not in known else "C"
    other, given = ("C", C is not GRID) if name == "lam" else ("lam", lam is not LAMBDAS)
    if given and (C, lam)[other == "lam"] is not None:
        raise InputError(f"{type(last_step(model)).__name__} has no parameter {other} to choose: leave {other}= out")
    values = lam if name == "lam" else C
    if values is None:
        return Choice(None, [])
    if name not in known:
        raise InputError(
            f"{type(last_step(model)).__name__} has no parameter C to choose: pass C=None to evaluate it as it is"
        )
    grid = sorted({positive(value, name) for value in entries(values, name)}, reverse=name == "lam")
    if not grid:
        raise InputError(f"{name} must be positive numbers to choose from, not {values!r}")
    return Choice(name, grid)


def _values(part: Any) -> Any:
    return read_matrix(part) if isinstance(part, BaseGram) else part
