"""Repeated nested cross-validation of survival models on a Gram matrix, by concordance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from distkern.learners.folds import Folds, Nested, Split, left_out
from distkern.learners.held_out_risks import HeldOutRisks, inverse_square_chances, places_among
from distkern.learners.memory import memory_allowed, read_matrix
from distkern.learners.newton import SurvivalLearner
from distkern.learners.survival_evaluation import SurvivalEvaluation
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
class SurvivalFolds:
    """How samples are split: see `cross_validate_gram`."""

    outer: int | str
    inner: int
    repeats: int
    groups: Any
    cohorts: Any
    strata: Any
    seed: int


def evaluate_survival(
    estimator: Any, gram: BaseGram, y: Any, lam: Any, plan: SurvivalFolds, max_bytes: Any, on_event: Listener
) -> SurvivalEvaluation:
    """Nested cross-validation of a survival model; parameters are those of `cross_validate_gram`."""
    started = time.perf_counter()
    work, grid = survival_work(estimator, gram, y, lam, plan.strata, max_bytes)
    data, groups = work.data, None if plan.groups is None else encoded_labels(plan.groups, gram, "groups")[1]
    folds = Folds(data.kinds, groups, plan.inner if len(grid) > 1 else None, plan.seed)
    units = left_out(plan.outer, plan.cohorts, groups, gram)
    if units is None:
        outer, repeats = plan.outer, plan.repeats
        splits = list(folds.outer(outer, repeats))  # type: ignore[arg-type]
    else:
        outer, repeats = units[0], 1
        splits = list(folds.leaving_out(units[1]))
    of_repeat, rows = len(splits) // repeats, []
    kept = _Kept(data, repeats, groups)
    for done, (risks, chosen) in enumerate(work.nested(splits, grid), start=1):
        (train, test, _), place = splits[done - 1], divmod(done - 1, of_repeat)
        pairs = data.pairs(test, risks.test)
        kept.add(*place, train, test, risks)
        rows.append((*place, len(test), pairs.found, pairs.comparable, np.nan if lam is None else chosen))
        on_event(Progress("evaluate", done, len(splits)))
    settings = {
        "samples": len(data.time),
        "events": int(data.event.sum()),
        "estimator": repr(work.model),
        "lam": None if lam is None else grid,
        "outer": outer,
        "repeats": repeats,
        "inner": plan.inner,
        "grouped": groups is not None,
        "stratified": data.strata is not None,
        "seed": plan.seed,
    }
    names = ("repeat", "fold", "n_test", "found", "comparable", "lam")
    columns: dict[str, Any] = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    spent = time.perf_counter() - started
    return SurvivalEvaluation(**columns, settings=settings, seconds=spent, held_out=kept.found())


def survival_work(
    estimator: Any, gram: BaseGram, y: Any, lam: Any, strata: Any, max_bytes: Any
) -> tuple[SurvivalWork, list[float]]:
    """Check a survival model, its data and the values of λ, and read the matrix if it fits in memory."""
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
    data = SurvivalData(
        *times_and_events(y, gram), None if strata is None else encoded_labels(strata, gram, "strata")[1]
    )
    allowed = memory_allowed(max_bytes)
    if not isinstance(gram, ArrayGram) and gram.nbytes <= allowed // (2 if max_bytes is None else 1):
        gram = ArrayGram(read_matrix(gram), row_ids=gram.row_ids)
    return SurvivalWork(model, tail, gram, data, allowed), grid


@dataclass(frozen=True, eq=False)
class SurvivalData:
    """Time, event and stratum of each sample."""

    time: Floats
    event: Array
    strata: Array | None

    @property
    def kinds(self) -> Array:
        """By what folds are stratified."""
        return np.where(self.event, "event", "censored")

    def take(self, samples: Indices) -> tuple[Floats, Array, Array | None]:
        """Time, event and stratum of some samples."""
        return self.time[samples], self.event[samples], None if self.strata is None else self.strata[samples]

    def pairs(self, samples: Indices, risks: Floats) -> ConcordantPairs:
        """Sums over the comparable pairs of some samples."""
        time, event, strata = self.take(samples)
        return concordant_pairs(time, event, risks, strata=strata)


@dataclass(frozen=True, eq=False)
class SplitRisks:
    """Risks of the training and of the test samples of a split, by the model of its training part."""

    train: Floats
    test: Floats


class _Kept:
    """Collects the risks of all folds."""

    def __init__(self, data: SurvivalData, repeats: int, groups: Indices | None) -> None:
        self.data, self.groups, shape = data, groups, (repeats, len(data.time))
        self.risks, self.places, self.weights = (np.full(shape, np.nan) for _ in range(3))
        self.folds = np.zeros(shape, dtype=np.intp)

    def add(self, repeat: int, fold: int, train: Indices, test: Indices, risks: SplitRisks) -> None:
        """Keep the risks of the test samples of a fold."""
        time, event, _ = self.data.take(train)
        self.risks[repeat, test], self.folds[repeat, test] = risks.test, fold
        self.places[repeat, test] = places_among(risks.train, risks.test)
        self.weights[repeat, test] = inverse_square_chances(time, event, self.data.time[test])

    def found(self) -> HeldOutRisks:
        """The risks of all folds."""
        data = self.data
        known = self.risks, self.places, self.weights, self.folds
        return HeldOutRisks(data.time, data.event, *known, data.strata, self.groups)


@dataclass(frozen=True, eq=False)
class SurvivalWork:
    """A survival model, and the matrix and times of all samples."""

    model: Any
    tail: SurvivalLearner
    gram: BaseGram
    data: SurvivalData
    memory: int

    def nested(self, splits: Sequence[Nested], grid: list[float]) -> Iterator[tuple[SplitRisks, float]]:
        """Risks of each outer split, and the λ chosen by its inner splits."""
        found = iter(self._pairs([(train[a], train[b]) for train, _, inner in splits for a, b in inner], grid))
        chosen = []
        for _, _, inner in splits:
            of_splits = [next(found) for _ in inner]
            chosen.append(_best(of_splits, grid) if inner else grid[0])
        outer = [(train, test) for train, test, _ in splits]
        for (risks,), value in zip(self._risks(outer, [[value] for value in chosen]), chosen, strict=True):
            yield risks, value

    def chosen(self, splits: Sequence[Split], grid: list[float]) -> float:
        """The λ of the highest concordance over the splits."""
        return _best(list(self._pairs(splits, grid)), grid) if len(grid) > 1 else grid[0]

    def _pairs(self, splits: Sequence[Split], grid: list[float]) -> Iterator[list[ConcordantPairs]]:
        """Pairs of the test samples of each split, for each λ."""
        for (_, test), found in zip(splits, self._risks(splits, [grid] * len(splits)), strict=True):
            yield [self.data.pairs(test, risks.test) for risks in found]

    def _risks(self, splits: Sequence[Split], grids: Sequence[list[float]]) -> Iterator[list[SplitRisks]]:
        """Risks of each split, for each λ."""
        if isinstance(self.model, Pipeline) and len(self.model) > 1:
            for (train, test), grid in zip(splits, grids, strict=True):
                yield self._one_by_one(train, test, grid)
            return
        samples, at, columns = len(self.gram), 0, max(1, max(map(len, grids), default=1))
        at_once = max(1, self.memory // (VECTORS_SHARE * vector_bytes(samples, columns)))
        for at in range(0, len(splits), at_once):
            part, own = splits[at : at + at_once], grids[at : at + at_once]
            found = iter(self._together([train for train, _ in part], own))
            for (train, test), grid in zip(part, own, strict=True):
                of_split = [next(found) for _ in grid]
                yield [SplitRisks(risks[train], risks[test]) for risks in of_split]

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

    def _one_by_one(self, train: Indices, test: Indices, grid: list[float]) -> list[SplitRisks]:
        """Risks of the models of one training part, after the steps before the model."""
        head = clone(self.model[:-1])
        part = head.fit_transform(self.gram[np.ix_(train, train)])
        new = head.transform(self.gram[np.ix_(test, train)])
        time, event, strata = self.data.take(train)
        options = {} if strata is None or not isinstance(self.tail, KernelCox) else {"strata": strata}
        fitted = clone(self.tail).fit_path(part, survival_y(time, event), grid, **options)
        return [SplitRisks(one.predict(part), one.predict(new)) for one in fitted]


def _best(of_splits: Sequence[list[ConcordantPairs]], grid: Sequence[float]) -> float:
    """The largest λ with the highest concordance over the splits."""
    pairs = [reduce(add, (pairs[at] for pairs in of_splits), ConcordantPairs(0, 0)) for at in range(len(grid))]
    values = np.array([one.found / one.comparable if one.comparable else 0.5 for one in pairs])
    return grid[int(np.flatnonzero(values >= values.max() - TIE)[-1])]
