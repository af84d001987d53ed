"""Table 2 of Jiao & Vert on the authors' own folds and bandwidths, with exact solutions and with those of kernlab.

Everything but the folds, the bandwidth and the solver is as in `cancer_cohorts`. The authors' script draws

- the outer folds of a cohort from one seed, and then the bandwidth of the whole cohort, for Fisher's discriminant;
- the inner folds of each training set from another seed, and then its bandwidth, for the support vector machine.

Nothing is random then, so that a cell is equal to the printed one or not. Folds go by position: they are those of the
paper for files in the authors' order. CT, LA1, MB and PC1 come from the authors, and BC1 behaves as if it had their
order; OC has another one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress, silent
from distkern.core.parameters import whole_number
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.kernels.vectors import Gaussian
from distkern.learners.selection import GRID, Choice, best_value
from distkern.learners.standardizer import KernelStandardizer
from distkern.operators.array import ArrayGram
from distkern.reproduce import cancer_cohorts
from distkern.reproduce.authors_folds import INNER_SEED, OUTER_SEED, Split, median_squared_distance, multi_folds
from distkern.reproduce.cancer_cohorts import CLASSIFIERS, FOLDS, REPEATS, Samples, load_each
from distkern.reproduce.kendall_accuracy import COHORTS, published
from distkern.reproduce.kernlab_svm import KernlabSVC
from distkern.reproduce.r_random import RRandom
from distkern.reproduce.tables import REPEATED, Row

AUTHORS, RANDOM = "authors", "random"
"""Whose folds: those of the paper, or random ones that are stratified by class."""

SECOND = {"BC1": "relapse", "CT": "normal", "LA1": "poor prognosis", "MB": "survivor", "PC1": "tumour"}
"""The class whose label sorts last in the authors' files; kernlab gives it the sign +1. Other files of a cohort may
have other labels. In cohorts that are not listed it is the label that sorts last."""


@dataclass(frozen=True, eq=False)
class Outer:
    """A split of a cohort, with what the authors' script draws for it.

    Parameters
    ----------
    train, test
        Positions of the training and test samples.
    inner
        The inner folds, as positions within ``train``.
    m
        The bandwidth of the training samples: the kernel is exp(−‖x − y‖² / m).
    """

    train: Indices
    test: Indices
    inner: list[Split]
    m: float


def accuracies(
    *,
    data: str | Path | None = None,
    cohorts: Sequence[str] = (),
    folds: str = AUTHORS,
    repeats: int = REPEATS,
    seed: int | None = None,
    on_event: Listener = silent,
) -> Iterator[Row]:
    """Compute table 2: every classifier with every kernel on every cohort.

    Parameters
    ----------
    data
        Folder of the cohorts that do not ship with the package; see `distkern.reproduce.cancer_cohorts.load`.
    cohorts
        Cohorts to compute; by default all that are available.
    folds
        ``"authors"``: the folds and bandwidths of the paper. ``"random"``: folds that are stratified by class, see
        `distkern.reproduce.cancer_cohorts.accuracies`; their rows say which differences chance explains.
    repeats
        Repetitions of the folds. There are ten of the authors; with fewer, no cell is compared.
    seed
        Seed of random folds, 0 by default.
    on_event
        Called with an event for every finished fold.

    Yields
    ------
    dict
        With the authors' folds: accuracy in per cent of ``paper`` and ``ours``, and whether they are ``equal`` to both
        printed digits; for support vector machines also the accuracy with ``kernlab``'s solver, whether it is
        ``equal_kernlab``, and the number of fits that were ``stopped`` because the solver did not end. The means of
        the repetitions are those of ours.

    Raises
    ------
    InputError
        If the options contradict each other.
    """
    if folds == RANDOM:
        yield from cancer_cohorts.accuracies(
            data=data, cohorts=cohorts, repeats=repeats, seed=seed or 0, on_event=on_event
        )
        return
    _refuse(folds, repeats, seed)
    for cohort, samples in load_each(cohorts, data):
        yield from _rows(cohort, samples, repeats, on_event)


def _refuse(folds: str, repeats: int, seed: int | None) -> None:
    if folds != AUTHORS:
        raise InputError(f'folds must be "{AUTHORS}" or "{RANDOM}", not {folds!r}')
    others = Argument("folds", RANDOM)
    if seed is not None:
        raise InputError(
            "the folds of the authors have no seed: leave {seed} out, or draw other folds by {others}",
            seed=Argument("seed"),
            others=others,
        )
    _refuse_repeats(repeats, Sentence("draw other folds by {others}", others=others))


def _refuse_repeats(repeats: int, remedy: str | Sentence) -> None:
    if whole_number(repeats, "repeats", 1) > REPEATS:
        raise InputError(
            "the authors repeated the folds {count} times, not {repeats}: {remedy}",
            count=REPEATS,
            repeats=repeats,
            remedy=remedy,
        )


# What the script draws -----------------------------------------------------------------------------------------------


def draw(samples: Samples, repeats: int = REPEATS) -> tuple[list[Outer], float]:
    """Return the splits of a cohort and the bandwidth of Fisher's discriminant, as the authors' script draws them.

    Raises
    ------
    InputError
        If there are not as many repetitions.

    Examples
    --------
    >>> outer, m = draw(cancer_cohorts.load("CT"))
    >>> len(outer), len(outer[0].train), len(outer[0].inner), round(m)
    (50, 49, 5, 607317071)
    """
    _refuse_repeats(repeats, f"give {REPEATS} or fewer")
    X = samples.X.astype(np.float64)
    if len(samples.test):
        only = _outer(X, samples.train, samples.test)
        return [only], only.m
    random = RRandom(OUTER_SEED)
    splits = multi_folds(len(X), FOLDS, REPEATS, random)
    m = median_squared_distance(X, random)
    return [_outer(X, train, test) for train, test in splits[: repeats * FOLDS]], m


def _outer(X: Floats, train: Indices, test: Indices) -> Outer:
    random = RRandom(INNER_SEED)
    inner = multi_folds(len(train), FOLDS, 1, random)
    return Outer(train, test, inner, median_squared_distance(X[train], random))


def second_class(cohort: str, samples: Samples) -> Any:
    """Return the label of the class that kernlab gave the sign +1: `SECOND`, found by its numbers of samples."""
    labels = np.unique(samples.y)
    wanted = next((tuple(counts) for name, *counts in COHORTS[cohort].classes if name == SECOND.get(cohort)), None)
    for label in labels:
        if wanted == tuple(int((samples.y[part] == label).sum()) for part in (samples.train, samples.test)):
            return label
    return labels[-1]


# The cells -----------------------------------------------------------------------------------------------------------


def _rows(cohort: str, samples: Samples, repeats: int, on_event: Listener) -> Iterator[Row]:
    outers, whole = draw(samples, repeats)
    kernlab = make_pipeline(KernelStandardizer(), KernlabSVC(second=second_class(cohort, samples)))
    X, y = samples.X.astype(np.float64), samples.y
    for kernel_name, kernel in cancer_cohorts.KERNELS.items():
        gaussian = isinstance(kernel, Gaussian)
        shared = ArrayGram(_gaussian(whole)(X) if gaussian else kernel(X))
        values: dict[str, list[float]] = {"SVM": [], "KFD": [], "kernlab": []}
        stopped = 0
        for number, outer in enumerate(outers, start=1):
            gram = ArrayGram(_gaussian(outer.m)(X)) if gaussian else shared
            values["SVM"].append(_score(CLASSIFIERS["SVM"], gram, y, outer))
            values["KFD"].append(_score(CLASSIFIERS["KFD"], shared, y, outer))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                values["kernlab"].append(_score(kernlab, gram, y, outer))
            stopped += len(caught)
            on_event(Progress("evaluate", number, len(outers)))
        yield cell_row(cohort, f"SVM{kernel_name}ALL", values["SVM"], values["kernlab"], stopped)
        yield cell_row(cohort, f"KFD{kernel_name}ALL", values["KFD"])


def _gaussian(m: float) -> Gaussian:
    """Return the kernel exp(−‖x − y‖² / m)."""
    return Gaussian((m / 2) ** 0.5)


def _score(model: Any, gram: ArrayGram, y: Array, outer: Outer) -> float:
    """Return the accuracy on the test samples in per cent; the inner folds choose C, if the model has one."""
    train, test = outer.train, outer.test
    part, fitted = gram[np.ix_(train, train)], clone(model)
    if "C" in fitted[-1].get_params():
        fitted[-1].set_params(C=best_value(model, part, y[train], Choice("C", [*GRID]), outer.inner))
    return 100 * float(fitted.fit(part, y[train]).score(gram[np.ix_(test, train)], y[test]))


def cell_row(
    cohort: str,
    method: str,
    values: list[float],
    kernlab: list[float] | None = None,
    stopped: int | None = None,
) -> Row:
    """Make the row of a cell; it is compared with the paper if there is a test set, or a value of every fold."""
    paper, ours = published(cohort, method), float(np.mean(values))
    theirs = None if kernlab is None else float(np.mean(kernlab))
    is_whole = len(values) in (1, REPEATS * FOLDS)
    folds = len(values) // (1 if len(values) == 1 else FOLDS)
    means = np.reshape(values, (folds, -1)).mean(axis=1)
    return {
        "cohort": cohort,
        "method": method,
        "paper": paper,
        "ours": ours,
        "equal": _equal(ours, paper) if is_whole else None,
        "kernlab": theirs,
        "equal_kernlab": _equal(theirs, paper) if is_whole and theirs is not None else None,
        "stopped": stopped,
        **{f"{REPEATED}{number}": float(mean) for number, mean in enumerate(means, start=1)},
    }


def _equal(value: float, paper: float) -> str:
    """Say whether a value is printed with the same two digits."""
    return "yes" if f"{value:.2f}" == f"{paper:.2f}" else "no"
