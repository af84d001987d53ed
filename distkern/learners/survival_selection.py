"""Repeated nested cross-validation of survival models on a Gram matrix, by concordance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from distkern.core.errors import InputError, InputTypeError
from distkern.core.events import Listener, Progress
from distkern.core.labels import encoded_labels
from distkern.core.parameters import entries
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.concordance import ConcordantPairs, concordant_pairs
from distkern.learners.cox import KernelCox
from distkern.learners.folds import Folds, Split
from distkern.learners.memory import memory_allowed, read_matrix
from distkern.learners.newton import SurvivalLearner
from distkern.learners.survival_times import survival_y, times_and_events
from distkern.learners.validation import positive
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.solvers.losses import Among
from distkern.solvers.newton_cg import Problem, solve, vector_bytes

LAMBDAS = (1e-3, 1e-2, 1e-1, 1e0, 1e1)
"""Default values of λ."""

TIE = 1e-12
"""Concordance indices that differ by less than this are equal up to rounding."""

VECTORS_SHARE = 4
"""The vectors of the problems that are solved together take at most 1/4 of the memory."""


@dataclass(frozen=True, eq=False)
class SurvivalEvaluation:
    """Concordance of every outer fold of a repeated nested cross-validation.

    Parameters
    ----------
    repeat, fold, n_test
        Number of the repeat, number of the fold within it, and number of test samples, (folds,) each.
    found, comparable
        Twice the number of concordant pairs of test samples plus that of pairs of equal risk, and twice the number of
        comparable pairs, (folds,).
    lam
        Value chosen by the inner cross-validation; NaN if none was chosen.
    settings
        Arguments of the evaluation.
    seconds
        Duration.

    Examples
    --------
    >>> columns = ([0, 0], [0, 1], [5, 5], [12, 6], [16, 8], [0.1, 1.0])
    >>> SurvivalEvaluation(*map(np.array, columns), settings={}, seconds=0.1).mean()
    0.75
    """

    repeat: Array
    fold: Array
    n_test: Array
    found: Array
    comparable: Array
    lam: Floats
    settings: dict[str, Any]
    seconds: float

    @property
    def concordance(self) -> Floats:
        """Concordance index of each fold, (folds,); NaN if it has no comparable pair."""
        return np.divide(self.found, self.comparable, out=np.full(len(self.found), np.nan), where=self.comparable > 0)

    def repeat_means(self) -> Floats:
        """Concordance index of each repeat: its pairs are those within the folds, pooled."""
        numbers = np.unique(self.repeat)
        found, comparable = (
            np.array([values[self.repeat == number].sum() for number in numbers])
            for values in (self.found, self.comparable)
        )
        return np.divide(found, comparable, out=np.full(len(numbers), np.nan), where=comparable > 0)

    def mean(self) -> float:
        """Mean of the concordance indices of the repeats."""
        return float(np.nanmean(self.repeat_means()))

    def std(self) -> float:
        """Sample standard deviation of the concordance indices of the repeats; NaN for one repeat.

        It is no standard error, because repeats share samples.
        """
        values = self.repeat_means()
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-ready values; an undefined number becomes None."""
        out: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            out[field.name] = (
                [None if item != item else item for item in value.tolist()] if isinstance(value, np.ndarray) else value
            )
        return out


@dataclass(frozen=True, eq=False)
class SurvivalFolds:
    """How samples are split: see `cross_validate_gram`."""

    outer: int
    inner: int
    repeats: int
    groups: Any
    strata: Any
    seed: int


def evaluate_survival(
    estimator: Any, gram: BaseGram, y: Any, lam: Any, plan: SurvivalFolds, max_bytes: Any, on_event: Listener
) -> SurvivalEvaluation:
    """Nested cross-validation of a survival model; parameters are those of `cross_validate_gram`."""
    started = time.perf_counter()
    model = KernelCox() if estimator is None else estimator
    tail = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(tail, SurvivalLearner):
        raise InputTypeError(f"{type(tail).__name__} is no survival model: give a KernelCox or a SurvivalSVM")
    if tail._takes_samples():
        raise InputError(
            "the model takes samples: leave its kernel at 'precomputed', and give it to cross_validate_gram"
        )
    if getattr(tail, "strata", None) is not None:
        raise InputError("strata are split with the samples: give them to cross_validate_gram, not to the model")
    grid = [tail.lam] if lam is None else sorted({positive(value, "lam") for value in entries(lam, "lam")})
    if not grid:
        raise InputError(f"lam must be positive numbers to choose from, not {lam!r}")
    data = _Data(
        *times_and_events(y, gram),
        None if plan.strata is None else encoded_labels(plan.strata, gram, "strata")[1],
    )
    groups = None if plan.groups is None else encoded_labels(plan.groups, gram, "groups")[1]
    kinds = np.where(data.event, "event", "censored")
    folds = Folds(kinds, groups, plan.inner if len(grid) > 1 else None, plan.seed)
    splits = list(folds.outer(plan.outer, plan.repeats))
    allowed = memory_allowed(max_bytes)
    if not isinstance(gram, ArrayGram) and gram.nbytes <= allowed // (2 if max_bytes is None else 1):
        gram = ArrayGram(read_matrix(gram), row_ids=gram.row_ids)
    work = _Work(model, tail, gram, data, allowed)
    rows = []
    for done, (pairs, chosen) in enumerate(work.nested(splits, grid), start=1):
        rows.append((len(splits[done - 1][1]), pairs.found, pairs.comparable, np.nan if lam is None else chosen))
        on_event(Progress("evaluate", done, len(splits)))
    n_test, found, comparable, chosen_lam = (np.array(column) for column in zip(*rows, strict=True))
    number = np.arange(len(rows))
    settings = {
        "samples": len(data.time),
        "events": int(data.event.sum()),
        "estimator": repr(model),
        "lam": None if lam is None else grid,
        "outer": plan.outer,
        "repeats": plan.repeats,
        "inner": plan.inner,
        "grouped": groups is not None,
        "stratified": data.strata is not None,
        "seed": plan.seed,
    }
    spent = time.perf_counter() - started
    places = number // plan.outer, number % plan.outer
    return SurvivalEvaluation(*places, n_test, found, comparable, chosen_lam, settings, spent)


@dataclass(frozen=True, eq=False)
class _Data:
    time: Floats
    event: Array
    strata: Array | None

    def take(self, samples: Indices) -> tuple[Floats, Array, Array | None]:
        return self.time[samples], self.event[samples], None if self.strata is None else self.strata[samples]

    def pairs(self, samples: Indices, risks: Floats) -> ConcordantPairs:
        time, event, strata = self.take(samples)
        return concordant_pairs(time, event, risks, strata=strata)


@dataclass(frozen=True, eq=False)
class _Work:
    """A survival model, and the matrix and times of all samples."""

    model: Any
    tail: SurvivalLearner
    gram: BaseGram
    data: _Data
    memory: int

    def nested(
        self, splits: Sequence[tuple[Indices, Indices, list[Split]]], grid: list[float]
    ) -> Iterator[tuple[ConcordantPairs, float]]:
        """Pairs of the test samples of each outer split, and the λ chosen by its inner splits."""
        within = [(train[a], train[b]) for train, _, inner in splits for a, b in inner]
        found = iter(self._pairs(within, [grid] * len(within)))
        chosen = []
        for _, _, inner in splits:
            of_splits = [next(found) for _ in inner]
            by_value = [
                reduce(add, (pairs[at] for pairs in of_splits), ConcordantPairs(0, 0)) for at in range(len(grid))
            ]
            chosen.append(_best(by_value, grid) if inner else grid[0])
        outer = [(train, test) for train, test, _ in splits]
        for (pairs,), value in zip(self._pairs(outer, [[value] for value in chosen]), chosen, strict=True):
            yield pairs, value

    def _pairs(self, splits: Sequence[Split], grids: Sequence[list[float]]) -> Iterator[list[ConcordantPairs]]:
        """Pairs of the test samples of each split, for each λ."""
        if isinstance(self.model, Pipeline) and len(self.model) > 1:
            for (train, test), grid in zip(splits, grids, strict=True):
                yield [self.data.pairs(test, risks) for risks in self._one_by_one(train, test, grid)]
            return
        samples, at, columns = len(self.gram), 0, max(1, max(map(len, grids), default=1))
        at_once = max(1, self.memory // (VECTORS_SHARE * vector_bytes(samples, columns)))
        for at in range(0, len(splits), at_once):
            part, own = splits[at : at + at_once], grids[at : at + at_once]
            scores = iter(self._together([train for train, _ in part], own))
            for (_, test), grid in zip(part, own, strict=True):
                yield [self.data.pairs(test, next(scores)[test]) for _ in grid]

    def _together(self, parts: Sequence[Indices], grids: Sequence[list[float]]) -> list[Floats]:
        """Risks of all samples, of the models of all training parts and λ."""
        model, samples = self.tail, len(self.gram)
        problems = []
        for train, grid in zip(parts, grids, strict=True):
            loss = Among(model._loss_of(*self.data.take(train)), train, samples)
            problems += [Problem(loss, value, model._has_intercept) for value in grid]
        found = solve(self.gram, problems, tol=model.tol, max_iter=model.max_iter, memory=self.memory)
        model._warn_unless_converged(found)
        return [model._risk_of_score * one.scores[:, 0] for one in found]

    def _one_by_one(self, train: Indices, test: Indices, grid: list[float]) -> list[Floats]:
        """Risks of the test samples, of the models of one training part, after the steps before the model."""
        head = clone(self.model[:-1])
        part = head.fit_transform(self.gram[np.ix_(train, train)])
        new = head.transform(self.gram[np.ix_(test, train)])
        time, event, strata = self.data.take(train)
        options = {} if strata is None or not isinstance(self.tail, KernelCox) else {"strata": strata}
        fitted = clone(self.tail).fit_path(part, survival_y(time, event), grid, **options)
        return [one.predict(new) for one in fitted]


def _best(pairs: Sequence[ConcordantPairs], grid: Sequence[float]) -> float:
    """The largest λ with the highest concordance."""
    values = np.array([one.found / one.comparable if one.comparable else 0.5 for one in pairs])
    return grid[int(np.flatnonzero(values >= values.max() - TIE)[-1])]
