"""The p-value of a cross-validated score: labels are permuted, and the whole nested procedure is done again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import Pipeline, make_pipeline

from distkern.core.errors import InputError, InputTypeError
from distkern.core.events import Listener, Progress, silent
from distkern.core.labels import encoded_labels
from distkern.core.parameters import entries, one_of, whole_number
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.evaluation import PermutationTest
from distkern.learners.folds import Nested, Split
from distkern.learners.logistic import KernelLogistic
from distkern.learners.matrices import training_matrix
from distkern.learners.memory import memory_allowed, read_matrix
from distkern.learners.ridge import KernelRidge
from distkern.learners.selection import GRID, TIE, Choice, cross_fitted, last_step
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.survival_selection import LAMBDAS
from distkern.learners.svm import KernelSVC
from distkern.learners.validation import labels_and_weights, positive
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.label_smoothers import FisherSmoother, LabelSmoother, RidgeSmoother
from distkern.solvers.labelings import permuted

SCORES = ("balanced_accuracy", "accuracy", "auc")
"""Scores of the held-out samples of all folds together."""

LABELINGS = 1000
"""Permutations that are computed by one product."""

PARAMETERS: dict[Any, str] = {
    KernelSVC: "C",
    KernelRidge: "alpha",
    KernelFisherDiscriminant: "mu",
    KernelLogistic: "lam",
}
"""The parameter that inner folds choose."""

DEFAULTS: dict[str, Sequence[float]] = {
    "C": GRID,
    "alpha": (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2),
    "mu": (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2),
    "lam": LAMBDAS[::-1],
}
"""Values to choose from by default."""


def permutation_test(
    estimator: Any,
    gram: Any,
    y: Any,
    *,
    permutations: int = 1000,
    scoring: str = "balanced_accuracy",
    values: Sequence[float] | None = None,
    outer: int = 5,
    inner: int = 5,
    groups: Any = None,
    blocks: Any = None,
    kernel: Any = "precomputed",
    random_state: int = 0,
    time_limit: float | None = None,
    stop_at: int | None = None,
    max_bytes: int | str | None = None,
    on_event: Listener = silent,
) -> PermutationTest:
    """P = (1 + #{b : s_b ≥ s}) / (1 + B) of a nested cross-validated score s, with s_b the score of permuted labels.

    The whole procedure is done for every permutation: the choice of a parameter by inner folds, centring and scaling of
    the training parts, and the score of held-out samples. The folds do not depend on the labels, so that the labels as
    they are and all permutations of them are exchangeable if labels and samples are independent, and the test is exact.
    (Folds that are stratified by the labels would not be: the labels as they are would fit them better.)

    Ridge regression on labels ±1 and Fisher's discriminant of two classes are linear in the labels: held-out decision
    values of all permutations are one product with one smoother for each fold and value. Any other classifier is fitted
    anew for each permutation; support vector machines of all folds and values together.

    Source: Ojala & Garriga, *Permutation tests for studying classifier performance* (2010), test 1; Besag & Clifford,
    *Sequential Monte Carlo p-values* (1991), for ``stop_at``.

    Parameters
    ----------
    estimator
        Classifier of kernel values, `KernelRidge` for two classes, or a pipeline of a `KernelStandardizer` and one of
        them. None: ``make_pipeline(KernelStandardizer(), KernelFisherDiscriminant())``.
    gram
        Symmetric Gram matrix or array, (m, m); or samples (m, n) if there is a kernel.
    y
        Labels, (m,).
    permutations
        Number of permutations; the smallest p-value is 1 / (1 + permutations).
    scoring
        Of the held-out samples of all folds: ``"balanced_accuracy"``, ``"accuracy"``, or for two classes ``"auc"``, the
        fraction of pairs of one class each, within a fold, whose decision values are in their order.
    values
        Candidates for C (`KernelSVC`), alpha (`KernelRidge`), mu (`KernelFisherDiscriminant`) or lam
        (`KernelLogistic`); powers of ten by default. Inner folds choose the one with the highest mean accuracy; ties go
        to the smallest, or the largest lam. Another classifier
        is evaluated unchanged, unless there are candidates for its C.
    outer, inner
        Number of outer and of inner folds.
    groups
        Group of each sample, such as the patient, (m,), that no fold divides.
    blocks
        Labels are permuted within blocks only, such as hospitals, (m,). By default within ``groups``, if there are any.
    kernel
        ``"precomputed"``, or the kernel of the samples.
    random_state
        Seed of the folds and permutations.
    time_limit
        Seconds after which no further permutation begins; at least one is made.
    stop_at
        Number h: the test stops at the h-th permutation that scores at least as high, with p = h / (their number). It
        saves time where p is large, and stays valid.
    max_bytes
        Largest matrix that is read into memory; by default a quarter of the available memory.
    on_event
        Called with a `Progress` event after some permutations.

    Raises
    ------
    InputError
        If there is one class, permutations do not change the labels, because each block has one class, or there are
        fewer samples or groups than folds.
    InputTypeError
        If the estimator has no ``decision_function`` and is no ridge regression.
    MemoryLimitError
        If the matrix does not fit in memory, for a machine that is linear in the labels.

    See Also
    --------
    cross_validate_gram : The score.
    distkern.plot.plot_null : The figure.
    sklearn.model_selection.permutation_test_score : Any estimator, for arrays.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 3)), np.array(["ill", "well"])[np.arange(60) % 2]
    >>> X[::2, 0] += 1.5
    >>> found = permutation_test(None, X @ X.T, y, permutations=199)
    >>> found.pvalue, found.permutations, bool(found.score > found.null.max())
    (0.005, 199, True)
    """
    started = time.perf_counter()
    model = make_pipeline(KernelStandardizer(), KernelFisherDiscriminant()) if estimator is None else estimator
    one_of(scoring, "scoring", SCORES)
    whole_number(permutations, "permutations", 1)
    if stop_at is not None:
        whole_number(stop_at, "stop_at", 1)
    matrix = training_matrix(gram, kernel, max_bytes)
    labels = labels_and_weights(y, None, matrix)[0]
    classes, codes = np.unique(labels, return_inverse=True)
    if scoring == "auc" and len(classes) > 2:
        raise InputError(f"auc is for two classes, and there are {len(classes)}: take balanced_accuracy")
    group_of = None if groups is None else encoded_labels(groups, matrix, "groups")[1]
    block_of = group_of if blocks is None else encoded_labels(blocks, matrix, "blocks")[1]
    block_of = np.zeros(len(codes), dtype=np.intp) if block_of is None else block_of
    if all(len(np.unique(codes[block_of == block])) < 2 for block in np.unique(block_of)):
        raise InputError(
            "every block, or group, has samples of one class only, so that no permutation changes the labels: permute "
            "in larger blocks, or give one sample for each group"
        )
    rng = np.random.default_rng(random_state)
    splits = _splits(len(codes), group_of, outer, inner, int(rng.integers(2**31)))
    choice = _choice(model, values)
    scored = _procedure(model, matrix, codes, splits, choice, max_bytes)
    tests = [test for _, test, _ in splits]

    def score(labelings: Indices) -> Floats:
        return _score(scoring, *scored(labelings), labelings, tests)

    observed = float(score(codes[:, None])[0])
    null: list[float] = []
    while len(null) < permutations:
        count = min(scored.together, permutations - len(null))
        null += score(np.stack([permuted(codes, block_of, rng) for _ in range(count)], axis=1)).tolist()
        on_event(Progress("permute", len(null), permutations))
        late = time_limit is not None and time.perf_counter() - started >= time_limit
        if late or (stop_at is not None and _reached(null, observed)[-1] >= stop_at):
            break
    null, pvalue = _p_value(null, observed, stop_at)
    settings = {
        "estimator": repr(model),
        "samples": len(codes),
        "parameter": choice.parameter,
        "values": choice.values,
        "outer": outer,
        "inner": inner,
        "grouped": groups is not None,
        "blocks": len(np.unique(block_of)),
        "random_state": random_state,
    }
    return PermutationTest(observed, pvalue, np.array(null), scoring, settings, time.perf_counter() - started)


def _reached(null: Sequence[float], observed: float) -> Indices:
    """Number of permutations so far that score at least as high as the labels as they are."""
    return np.cumsum(np.array(null) >= observed - TIE)


def _p_value(null: list[float], observed: float, stop_at: int | None) -> tuple[list[float], float]:
    """Scores of the permutations up to the one at which the test stopped, and the p-value."""
    reached = _reached(null, observed)
    if stop_at is not None and reached[-1] >= stop_at:
        kept = null[: int(np.argmax(reached >= stop_at)) + 1]
        return kept, stop_at / len(kept)
    return null, (1 + int(reached[-1])) / (1 + len(null))


# Folds and permutations --------------------------------------------------------------------------------------------


def _splits(m: int, groups: Array | None, outer: int, inner: int, seed: int) -> list[Nested]:
    """Nested folds that do not depend on the labels."""
    for name, count in (("outer", outer), ("inner", inner)):
        whole_number(count, name, 2)
    units = m if groups is None else len(np.unique(groups))
    if units - -(-units // outer) < inner or units < outer:
        raise InputError(f"{units} {'samples' if groups is None else 'groups'} are too few for {outer} × {inner} folds")

    def split(samples: Indices, count: int, number: int) -> Iterator[Split]:
        if groups is None:
            yield from KFold(count, shuffle=True, random_state=number).split(samples)
        else:
            yield from GroupKFold(count, shuffle=True, random_state=number).split(samples, groups=groups[samples])

    every = np.arange(m)
    return [
        (train, test, list(split(train, inner, seed + 1 + fold)))
        for fold, (train, test) in enumerate(split(every, outer, seed))
    ]


# Scores ------------------------------------------------------------------------------------------------------------


def _score(scoring: str, predicted: Indices, scores: Floats, codes: Indices, folds: Sequence[Indices]) -> Floats:
    """Score of each labeling, from predictions and decision values of all held-out samples, (m, labelings)."""
    if scoring == "auc":
        above, pairs = np.zeros(codes.shape[1]), np.zeros(codes.shape[1])
        for test in folds:
            ranks, ones = rankdata(scores[test], axis=0), codes[test] == 1
            n1 = ones.sum(axis=0)
            above += (ranks * ones).sum(axis=0) - n1 * (n1 + 1) / 2
            pairs += n1 * (len(test) - n1)
        return np.where(pairs > 0, above / np.where(pairs > 0, pairs, 1), 0.5)
    right = predicted == codes
    if scoring == "accuracy":
        return np.asarray(right.mean(axis=0), dtype=np.float64)
    recalls = [(right & (codes == c)).sum(axis=0) / (codes == c).sum(axis=0) for c in np.unique(codes)]
    return np.asarray(np.mean(recalls, axis=0), dtype=np.float64)


# Procedures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Linear:
    """Nested folds of a machine that is linear in the labels, by a smoother for each fold and value."""

    outer: list[tuple[Indices, Indices, list[LabelSmoother], list[tuple[Indices, Indices, list[LabelSmoother]]]]]
    together: int = LABELINGS

    def __call__(self, codes: Indices) -> tuple[Indices, Floats]:
        scores = np.empty(codes.shape)
        for train, test, smoothers, inner in self.outer:
            known = codes[train]
            chosen = np.zeros(codes.shape[1], dtype=np.intp)
            if len(smoothers) > 1:
                accuracy = np.zeros((len(smoothers), codes.shape[1]))
                for part, held_out, of_values in inner:
                    for value, smoother in enumerate(of_values):
                        right = (smoother.scores(known[part]) > 0) == known[held_out]
                        accuracy[value] += right.mean(axis=0) / len(inner)
                chosen = np.argmax(accuracy >= accuracy.max(axis=0) - TIE, axis=0)
            for value in np.unique(chosen):
                own = np.flatnonzero(chosen == value)
                scores[np.ix_(test, own)] = smoothers[value].scores(known[:, own])
        return (scores > 0).astype(np.intp), scores


@dataclass(frozen=True, eq=False)
class _Refitted:
    """Nested folds of any classifier, which is fitted anew for each labeling."""

    model: Any
    matrix: BaseGram
    splits: list[Nested]
    choice: Choice
    in_memory: bool
    together: int = 1

    def __call__(self, codes: Indices) -> tuple[Indices, Floats]:
        predicted, scores = np.zeros(codes.shape, dtype=np.intp), np.zeros(codes.shape)
        for column in range(codes.shape[1]):
            labels = codes[:, column]
            usable = []
            for train, test, inner in self.splits:
                if len(np.unique(labels[train])) < 2:  # a permutation of a rare class: there is nothing to fit
                    predicted[test, column] = labels[train[0]]
                    continue
                fit = [part for part in inner if len(np.unique(labels[train][part[0]])) > 1]
                usable.append((train, test, fit))
            jointly = len({len(inner) for _, _, inner in usable}) == 1
            found = cross_fitted(
                self.model, self.matrix, labels, usable, self.choice, in_memory=self.in_memory, jointly=jointly
            )
            for (_, test, _), (outcome, _) in zip(usable, found, strict=True):
                predicted[test, column] = outcome.predicted
                scores[test, column] = outcome.scores if outcome.scores.ndim == 1 else 0.0
        return predicted, scores


def _choice(model: Any, values: Sequence[float] | None) -> Choice:
    """The parameter that inner folds choose, and its values; none if it has no defaults and no values are given."""
    last = last_step(model)
    name = PARAMETERS.get(type(last), "C" if "C" in last.get_params() else None)
    if values is None:
        return Choice(name, [*DEFAULTS[name]]) if type(last) in PARAMETERS and name else Choice(None, [])
    if name is None:
        raise InputError(f"{type(last).__name__} has no parameter to choose: leave out values")
    grid = sorted({positive(value, "values") for value in entries(values, "values")}, reverse=name == "lam")
    if not grid:
        raise InputError("values must be positive numbers to choose from; there is none")
    return Choice(name, grid)


def _procedure(
    model: Any,
    matrix: BaseGram,
    codes: Indices,
    splits: list[Nested],
    choice: Choice,
    max_bytes: int | str | None,
) -> _Linear | _Refitted:
    last, two = last_step(model), len(np.unique(codes)) == 2
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    plain = isinstance(last, KernelRidge) or (
        isinstance(last, KernelFisherDiscriminant) and last.threshold == "midpoint" and last.priors is None
    )
    if plain and two and all(isinstance(step, KernelStandardizer) for step in steps[:-1]):
        make: Callable[..., LabelSmoother] = RidgeSmoother.of if isinstance(last, KernelRidge) else FisherSmoother.of
        whole = matrix if isinstance(matrix, ArrayGram) else ArrayGram(read_matrix(matrix), row_ids=matrix.row_ids)
        return _Linear(list(_smoothers(model, whole, splits, choice.values, make)))
    if not hasattr(model, "decision_function"):
        kind = type(last).__name__
        raise InputTypeError(
            f"{kind} has no decision_function: give a classifier"
            + (", or labels of two classes" if isinstance(last, KernelRidge) else "")
        )
    in_memory = matrix.nbytes <= memory_allowed(max_bytes) // 2
    if in_memory and not isinstance(matrix, ArrayGram):
        matrix = ArrayGram(read_matrix(matrix), row_ids=matrix.row_ids)
    return _Refitted(model, matrix, splits, choice, in_memory)


def _smoothers(
    model: Any,
    matrix: BaseGram,
    splits: list[Nested],
    grid: list[float],
    make: Callable[..., LabelSmoother],
) -> Iterator[Any]:
    for train, test, inner in splits:
        known, new = _standardized(model, matrix, train, test)
        within = []
        for part, held_out in inner if len(grid) > 1 else ():
            own, others = _standardized(model, matrix, train[part], train[held_out])
            within.append((part, held_out, [make(own, others, value) for value in grid]))
        yield train, test, [make(known, new, value) for value in grid], within


def _standardized(model: Any, matrix: BaseGram, train: Indices, test: Indices) -> tuple[Floats, Floats]:
    """Kernel values of training samples, and of test samples with them, as the last step of a pipeline takes them."""
    known: Any = matrix[np.ix_(train, train)]
    new: Any = matrix[np.ix_(test, train)]
    for step in model.steps[:-1] if isinstance(model, Pipeline) else ():
        head = clone(step[1])
        known, new = head.fit_transform(known), head.transform(new)
    return np.asarray(known, dtype=np.float64), np.asarray(new, dtype=np.float64)
