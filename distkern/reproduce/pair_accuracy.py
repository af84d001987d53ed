"""Table 2 and figure 2 of Jiao & Vert: the classifiers made of top scoring pairs, on the folds of the authors.

- ``TSP`` is the vote of the best pair, ``kTSP`` that of the best k, ``APMV`` that of all pairs.
- ``SVMlinearTOP`` and ``SVMpolyTOP`` are support vector machines on the features in the best k pairs, with a linear
  kernel and its square. ``SVMkdtTOP`` has the fraction of the best k pairs that two samples order in the same way.

Five inner folds choose k, for the machines together with C, by the mean accuracy; the pairs of every fold are those of
its training samples. Of equal means the first is taken: the smallest k, then the smallest C. Each kernel is centred on
the training samples and scaled to unit norm. Scores and votes are those of the authors' script, see
`distkern.reproduce.authors_pairs`; the solver is exact, or emulates kernlab, see `distkern.reproduce.kernlab_svm`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.selection import GRID
from distkern.operators.array import ArrayGram
from distkern.reproduce.authors_pairs import AllVotes, RankedPairs, all_votes, dense_ranks, pair_numbers, ranked_pairs
from distkern.reproduce.authors_table import Outer, cell_row, draw, second_class
from distkern.reproduce.cancer_cohorts import CLASSIFIERS, REPEATS, Samples, load_each
from distkern.reproduce.kernlab_svm import KernlabSVC
from distkern.reproduce.tables import Row
from distkern.solvers import smo
from distkern.solvers.dual import Problem

KERNELS = ("linear", "poly", "kdt")
"""Kernels of the support vector machines, by their names in table 2."""

Machine = Callable[[Floats, Floats, Sequence[float]], list[tuple[Floats, float]]]
"""Takes K (m, m), signs (m,) and values of C; returns yα (m,) and b for each C."""

MEMORY = 2**28
"""Bytes for the solver; the matrices are small."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """A cohort with its ranks.

    Parameters
    ----------
    X
        All samples, (m, p).
    ranks, mid_ranks
        Dense ranks, and mid-ranks 1, …, p of the features within each sample, (m, p).
    first_class
        Which samples are of the first class of the authors, (m,).
    """

    X: Floats
    ranks: Array
    mid_ranks: Floats
    first_class: Array

    @classmethod
    def of(cls, name: str, samples: Samples) -> Cohort:
        """Rank the samples of a cohort."""
        X = samples.X.astype(np.float64)
        first_class = samples.y != second_class(name, samples)
        return cls(X, dense_ranks(X), rankdata(X, axis=1), first_class)

    def pairs(self, train: Indices) -> RankedPairs:
        """Return the best pairs of training samples."""
        return ranked_pairs(self.ranks[train], self.mid_ranks[train], self.first_class[train])

    def all_votes(self, train: Indices, test: Indices) -> AllVotes:
        """Let all pairs vote on test samples."""
        return all_votes(self.ranks[train], self.first_class[train], self.ranks[test])


@dataclass(frozen=True, eq=False)
class Part:
    """Training and test samples, and the best pairs of the training samples."""

    train: Indices
    test: Indices
    pairs: RankedPairs


# The tables ----------------------------------------------------------------------------------------------------------


def accuracies(
    *,
    data: str | Path | None = None,
    cohorts: Sequence[str] = (),
    repeats: int = REPEATS,
    on_event: Listener = silent,
) -> Iterator[Row]:
    """Compute the rows of table 2 that are made of pairs.

    Parameters
    ----------
    data
        Folder of the cohorts that do not ship with the package; see `distkern.reproduce.cancer_cohorts.load`.
    cohorts
        Cohorts to compute; by default all that are available.
    repeats
        Repetitions of the folds; the authors have ten. With fewer, no cell is compared.
    on_event
        Called with an event for every finished fold.

    Yields
    ------
    dict
        A row as of `distkern.reproduce.authors_table.accuracies`. Some rows are not in the paper: ``APMV, informed
        pairs``, where the pairs whose score is 0 do not vote, and Fisher's discriminants ``KFDlinearTOP`` and so on.
    """
    for name, samples in load_each(cohorts, data):
        outers, _ = draw(samples, repeats)
        cohort = Cohort.of(name, samples)
        values: dict[str, list[float]] = {}
        stopped = dict.fromkeys(KERNELS, 0)
        for number, outer in enumerate(outers, start=1):
            for method, value in _fold(cohort, outer, stopped).items():
                values.setdefault(method, []).append(value)
            on_event(Progress("evaluate", number, len(outers)))
        for method in ("TSP", "kTSP", "APMV"):
            yield cell_row(name, method, values[method])
        yield _unpublished(name, "APMV, informed pairs", values["informed"])
        for kernel in KERNELS:
            of_kernlab = values[f"{kernel} kernlab"]
            yield cell_row(name, f"SVM{kernel}TOP", values[kernel], of_kernlab, stopped[kernel])
            yield _unpublished(name, f"KFD{kernel}TOP", values[f"{kernel} KFD"])


def _unpublished(cohort: str, method: str, values: list[float]) -> Row:
    """Make the row of a method that the paper does not have."""
    return cell_row(cohort, "APMV", values) | {"method": method, "paper": None, "equal": None}


def curves(
    *,
    data: str | Path | None = None,
    cohorts: Sequence[str] = ("PC1",),
    repeats: int = REPEATS,
    on_event: Listener = silent,
) -> Iterator[Row]:
    """Compute figure 2, right: accuracy against the number of pairs k, in the paper on PC1.

    Parameters
    ----------
    data, cohorts, repeats, on_event
        As in `accuracies`.

    Yields
    ------
    dict
        A row: cohort, method, k, and ``accuracy`` in per cent of the test samples; inner folds choose C for each k, and
        ``chosen`` is the number of outer folds in which they chose this k.
    """
    for name, samples in load_each(cohorts, data):
        outers, _ = draw(samples, repeats)
        cohort, numbers = Cohort.of(name, samples), pair_numbers()
        methods = ("kTSP", *(f"SVM{kernel}TOP" for kernel in KERNELS))
        right = {method: np.zeros((len(outers), len(numbers))) for method in methods}
        chosen = {method: np.zeros(len(numbers), dtype=int) for method in methods}
        for place, outer in enumerate(outers):
            inner, whole = _parts(cohort, outer)
            right["kTSP"][place] = _votes_right(cohort, whole)
            chosen["kTSP"][_best_number(cohort, inner)] += 1
            for kernel in KERNELS:
                found = _grid(cohort, inner, kernel, exact, GRID)
                best = found.argmax(axis=1)
                right[f"SVM{kernel}TOP"][place] = [
                    _machine_right(cohort, whole, kernel, exact, k, GRID[C]) for k, C in zip(numbers, best, strict=True)
                ]
                chosen[f"SVM{kernel}TOP"][found.max(axis=1).argmax()] += 1
            on_event(Progress("evaluate", place + 1, len(outers)))
        for method in methods:
            for k, accuracy, count in zip(numbers, right[method].mean(axis=0), chosen[method], strict=True):
                about = {"cohort": name, "method": method, "k": k}
                yield {**about, "accuracy": 100 * float(accuracy), "chosen": int(count)}


# A fold --------------------------------------------------------------------------------------------------------------


def _parts(cohort: Cohort, outer: Outer) -> tuple[list[Part], Part]:
    """Rank the pairs of every inner training set, and of the whole training set."""
    splits = [(outer.train[train], outer.train[test]) for train, test in outer.inner]
    inner = [Part(train, test, cohort.pairs(train)) for train, test in splits]
    return inner, Part(outer.train, outer.test, cohort.pairs(outer.train))


def _fold(cohort: Cohort, outer: Outer, stopped: dict[str, int]) -> dict[str, float]:
    """Return the accuracy of each classifier on the test samples of an outer fold, in per cent."""
    inner, whole = _parts(cohort, outer)
    by_votes = _votes_right(cohort, whole)
    everything = cohort.all_votes(outer.train, outer.test)
    truth = cohort.first_class[outer.test]
    values = {
        "TSP": by_votes[0],
        "kTSP": by_votes[_best_number(cohort, inner)],
        "APMV": (everything.class_one() == truth).mean(),
        "informed": (everything.class_one(abstaining=True) == truth).mean(),
    }
    for kernel in KERNELS:
        values[kernel] = _chosen_right(cohort, inner, whole, kernel, exact, GRID)
        ends: list[bool] = []
        values[f"{kernel} kernlab"] = _chosen_right(cohort, inner, whole, kernel, emulated(ends), GRID)
        stopped[kernel] += sum(ends)
        values[f"{kernel} KFD"] = _chosen_right(cohort, inner, whole, kernel, discriminant, GRID[:1])
    return {method: 100 * float(value) for method, value in values.items()}


def _votes_right(cohort: Cohort, part: Part) -> Floats:
    """Return the fraction of test samples that the best k pairs predict correctly, for each k of the grid."""
    predicted = part.pairs.class_one(cohort.X[part.test])
    right = (predicted == cohort.first_class[part.test][:, None]).mean(axis=0)
    return np.array([right[min(k, len(right)) - 1] for k in pair_numbers()])


def _best_number(cohort: Cohort, inner: Sequence[Part]) -> int:
    """Return the position in the grid of the k with the largest mean accuracy; of equal ones the first."""
    return int(np.mean([_votes_right(cohort, part) for part in inner], axis=0).round(12).argmax())


# Support vector machines on the best pairs ---------------------------------------------------------------------------


def exact(K: Floats, signs: Floats, grid: Sequence[float]) -> list[tuple[Floats, float]]:
    """Solve support vector machines with the solver of `distkern.KernelSVC`."""
    every, ones = np.arange(len(signs)), np.ones(len(signs))
    (found,) = smo.solve(ArrayGram(K), [[Problem(every, signs, C * ones, -ones) for C in grid]], memory=MEMORY)
    return [(signs * solution.alpha, -solution.offset) for solution in found]


def emulated(ends: list[bool]) -> Machine:
    """Return a machine that is solved as kernlab does; it notes in ``ends`` whether the solver was stopped."""

    def machine(K: Floats, signs: Floats, grid: Sequence[float]) -> list[tuple[Floats, float]]:
        found = []
        for C in grid:
            model = KernlabSVC(C, second=1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(K, signs)
            ends.append(model.n_iter_ == model.max_iter)
            found.append((model.dual_coef_, model.intercept_))
        return found

    return machine


def discriminant(K: Floats, signs: Floats, grid: Sequence[float]) -> list[tuple[Floats, float]]:
    """Solve Fisher's discriminant, which has no C."""
    model = CLASSIFIERS["KFD"][-1]
    return [(clone(model).fit(ArrayGram(K), signs).dual_coef_.ravel(), 0.0)] * len(grid)


def _chosen_right(
    cohort: Cohort, inner: Sequence[Part], whole: Part, kernel: str, machine: Machine, grid: Sequence[float]
) -> float:
    """Choose k and C by the inner folds; return the fraction of test samples that are predicted correctly."""
    means = _grid(cohort, inner, kernel, machine, grid)
    k, C = map(int, np.unravel_index(means.argmax(), means.shape))
    return _machine_right(cohort, whole, kernel, machine, pair_numbers()[k], grid[C])


def _grid(cohort: Cohort, inner: Sequence[Part], kernel: str, machine: Machine, grid: Sequence[float]) -> Floats:
    """Return the mean fraction of correct predictions in the inner folds for each k and C, (numbers, values of C)."""
    right = np.empty((len(inner), len(pair_numbers()), len(grid)))
    for number, part in enumerate(inner):
        for place, K in enumerate(_matrices(cohort, part, kernel, pair_numbers())):
            right[number, place] = _right(cohort, part, K, machine, grid)
    return right.mean(axis=0).round(12)  # equal means must not differ by rounding: the first is taken


def _machine_right(cohort: Cohort, part: Part, kernel: str, machine: Machine, k: int, C: float) -> float:
    """Return the fraction of correct predictions for one k and one C."""
    return _right(cohort, part, next(_matrices(cohort, part, kernel, [k])), machine, [C])[0]


def _right(cohort: Cohort, part: Part, K: Floats, machine: Machine, grid: Sequence[float]) -> list[float]:
    """Return the fraction of correct predictions for each C."""
    m = len(part.train)
    signs = np.where(cohort.first_class[part.train], -1.0, 1.0)
    scores = [K[m:, :m] @ dual + intercept for dual, intercept in machine(K[:m, :m], signs, grid)]
    return [float(((score <= 0) == cohort.first_class[part.test]).mean()) for score in scores]


def _matrices(cohort: Cohort, part: Part, kernel: str, numbers: Sequence[int]) -> Iterator[Floats]:
    """Yield the standardised kernel matrix of the training and then the test samples for each k, ascending."""
    X = cohort.X[np.concatenate([part.train, part.test])]
    pairs, m = part.pairs, len(part.train)
    K, seen, used = np.zeros((len(X), len(X))), 0, np.zeros(X.shape[1], dtype=bool)
    for k in numbers:
        new = slice(seen, k)
        if kernel == "kdt":
            signs = 2.0 * (X[:, pairs.first[new]] < X[:, pairs.second[new]]) - 1  # a tie counts as "not smaller"
            K, seen = K + signs @ signs.T, k
            yield standardized((1 + K / min(k, len(pairs.first))) / 2, m)
            continue
        genes = np.setdiff1d(np.concatenate([pairs.first[new], pairs.second[new]]), np.flatnonzero(used))
        used[genes], seen = True, k
        K = K + X[:, genes] @ X[:, genes].T
        yield standardized(K**2 if kernel == "poly" else K, m)


def standardized(K: Floats, m: int) -> Floats:
    """Centre a kernel matrix on its first m samples, and scale it to unit norm.

    Examples
    --------
    >>> standardized(np.outer([1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 3.0, 5.0]), 2).round(12)[0]
    array([ 1., -1., -1., -1.])
    """
    means = K[:, :m].mean(axis=1)
    centred = K - means[:, None] - means + means[:m].mean()
    norms = np.sqrt(np.maximum(centred.diagonal(), np.finfo(float).tiny))
    return centred / norms[:, None] / norms
