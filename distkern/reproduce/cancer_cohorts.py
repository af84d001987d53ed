"""Table 2 and figure 2 of Jiao & Vert on the available cohorts: two classifiers with four kernels, and all values of C.

Each kernel is centred on the training samples and scaled to unit norm; C of the support vector machine is chosen from
10⁻², …, 10³ by 5 inner folds; Fisher's discriminant adds 10⁻³ to the scatter within the classes and has the threshold
0. Accuracy is averaged over 5 folds repeated 10 times, or measured on the test set of the data. The Gram matrices of a
cohort are computed once, into stores.

The folds here are random and stratified by class; `authors_table` has those of the paper. The repetitions tell how
much other folds change the accuracy: the means of r repetitions with standard deviation s and of the 10 of the paper
differ with a standard deviation of s √(1/r + 1/10), and on a test set, where the paper chose C once, of s √(1/r + 1). A
difference within the central 99 % of Student's t with r − 1 degrees of freedom, or of one sample of a test set, may be
due to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.datasets import load_colon, load_medulloblastoma
from distkern.io.source import as_source
from distkern.kernels.base import Kernel
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear, Polynomial
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.selection import GRID, Choice, best_value, cross_validate_gram
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.operators.base import BaseGram
from distkern.reproduce.breast1 import read_measurements
from distkern.reproduce.kendall_accuracy import COHORTS, Cohort, published
from distkern.reproduce.tables import REPEATED, Row

REPEATS = 10
"""Repetitions of the outer folds in the paper."""

FOLDS = 5
"""Number of outer and of inner folds."""

CENTRAL = 0.99
"""Probability of the central interval of differences that are attributed to chance."""

SHIPPED = {"CT": load_colon, "MB": load_medulloblastoma}
"""Cohorts that come with the package."""

FILES = {
    "BC1": "breast1_vantveer.npz",
    "LA1": "lung_adeno_michigan_beer.npz",
    "OC": "ovarian_petricoin.npz",
    "PC1": "prostate_singh.npz",
}
"""File names of other cohorts in the data folder; the file of a cohort without an entry is ``BC2.npz``, for example."""

MEASUREMENTS = {"BC1": "breast1_vantveer_raw97.npz"}
"""File names of measurements with missing values, which are used if the other file of the cohort is not there."""

KERNELS: dict[str, Kernel] = {
    "kdt": Kendall(ties="b"),
    "linear": Linear(),
    "poly": Polynomial(degree=2, coef0=0.0),
    "rbf": Gaussian("median"),
}
"""The kernels, by their names in table 2; `settled` sets the bandwidth of the Gaussian one."""

CLASSIFIERS = {
    "SVM": make_pipeline(KernelStandardizer(), KernelSVC()),
    "KFD": make_pipeline(KernelStandardizer(), KernelFisherDiscriminant(mu=1e-3, threshold=0.0)),
}
"""The classifiers, by their names in table 2."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A cohort of table 1.

    Parameters
    ----------
    X, y
        All samples (m, n) and their classes (m,).
    test
        Positions of the test set; empty if the cohort is cross-validated.
    """

    X: Array
    y: Array
    test: Indices

    @property
    def train(self) -> Indices:
        """Positions of the training samples; all samples without a test set."""
        return np.setdiff1d(np.arange(len(self.y)), self.test)


# Data --------------------------------------------------------------------------------------------------------------


def load(cohort: str, data: str | Path | None = None) -> Samples:
    """Load a cohort that ships with the package, or from a folder.

    Parameters
    ----------
    cohort
        A key of `COHORTS`.
    data
        Folder of ``.npz`` files with arrays X and y, and if the cohort has a test set X_test and y_test. For BC1 the
        file of all measurements will do, see `distkern.reproduce.breast1`.

    Raises
    ------
    InputError
        If there is no such cohort or file, or its numbers of samples or features are not those of table 1.

    Examples
    --------
    >>> load("CT").X.shape
    (62, 2000)
    """
    if cohort not in COHORTS:
        raise InputError(f"table 1 has no cohort {cohort!r}; it has {', '.join(COHORTS)}")
    if cohort in SHIPPED:
        X, y = SHIPPED[cohort](return_X_y=True)
        return _checked(cohort, Samples(X, y, np.empty(0, dtype=np.intp)))
    path = _file(cohort, data)
    if path is None or not path.is_file():
        where = f"there is no file {str(path)!r}" if path else "give the folder that has its file as data="
        raise InputError(f"the cohort {cohort} does not ship with distkern: {where}")
    parts = _parts(path)
    X, y = parts["X"].astype(np.float64), parts["y"]
    test = np.empty(0, dtype=np.intp)
    if "X_test" in parts:
        test = len(X) + np.arange(len(parts["X_test"]))
        X, y = np.vstack([X, parts["X_test"]]), np.concatenate([y, parts["y_test"]])
    samples = _checked(cohort, Samples(_scaled(X) if cohort == "OC" else X, y, test))
    return _relapses_first(samples) if cohort == "BC1" else samples


def _relapses_first(samples: Samples) -> Samples:
    """Order the training samples of BC1 as the copy that the paper used: first those with a relapse, the fewer.

    The authors' folds go by the positions of the samples, see `distkern.reproduce.authors_folds`.
    """
    labels, counts = np.unique(samples.y[samples.train], return_counts=True)
    later = samples.y[samples.train] != labels[counts.argmin()]
    order = np.concatenate([samples.train[np.argsort(later, kind="stable")], samples.test])
    return Samples(samples.X[order], samples.y[order], samples.test)


def at_hand(data: str | Path | None) -> tuple[str, ...]:
    """Return the cohorts that ship with the package or are in the folder, in the order of table 1."""
    return tuple(name for name in COHORTS if name in SHIPPED or ((path := _file(name, data)) and path.is_file()))


def load_each(cohorts: Sequence[str], data: str | Path | None) -> list[tuple[str, Samples]]:
    """Return some cohorts and their names; all that are `at_hand` if none is named."""
    return [(name, load(name, data)) for name in cohorts or at_hand(data)]


def _file(cohort: str, data: str | Path | None) -> Path | None:
    """Return the file of a cohort, or of its measurements if only these are there."""
    if data is None:
        return None
    path = Path(data) / FILES.get(cohort, f"{cohort}.npz")
    measured = Path(data) / MEASUREMENTS[cohort] if cohort in MEASUREMENTS else path
    return measured if measured.is_file() and not path.is_file() else path


def _parts(path: Path) -> dict[str, Array]:
    """Read the arrays X and y, and X_test and y_test if there are any."""
    names = ("X", "y", "X_test", "y_test")
    if path.name in MEASUREMENTS.values():
        prepared = read_measurements(path)
        return {name: getattr(prepared, name) for name in names}
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in names if name in arrays.files}


def _scaled(X: Floats) -> Floats:
    """Scale each feature to [0, 1] over all samples, as in the copy of the ovarian spectra that the paper used."""
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(span > 0, span, 1.0)


def _checked(name: str, samples: Samples) -> Samples:
    known: Cohort = COHORTS[name]
    wanted = sorted((train, test) for _, train, test in known.classes)
    labels, (train, test) = np.unique(samples.y), (samples.y[part] for part in (samples.train, samples.test))
    found = sorted((int((train == label).sum()), int((test == label).sum())) for label in labels)
    if found != wanted or samples.X.shape[1] != known.features:
        raise InputError(
            f"the data of {name} are not those of table 1: {samples.X.shape[1]} features and {found} training and test "
            f"samples of the classes, where it has {known.features} and {wanted}"
        )
    return samples


def settled(kernel: Kernel, training: Array) -> Kernel:
    """Set the bandwidth of the Gaussian kernel: exp(−‖x − y‖² / M²), M the median distance between training samples.

    The authors' script estimates M² from random pairs of samples, see
    `distkern.reproduce.authors_folds.median_squared_distance`; this is the median over all pairs.

    Examples
    --------
    >>> settled(Gaussian("median"), np.array([[0.0], [3.0]])).sigma
    2.1213203435596424
    """
    resolved = kernel.resolve(as_source(training), 0)
    return Gaussian(float(resolved.sigma) / 2**0.5) if isinstance(resolved, Gaussian) else resolved


@contextmanager
def _grams(samples: Samples) -> Iterator[dict[str, BaseGram]]:
    """Compute the Gram matrices of all kernels, in temporary stores."""
    with TemporaryDirectory(prefix="distkern-") as folder:
        yield {
            name: compute_gram(
                settled(kernel, samples.X[samples.train]),
                samples.X,
                store=Path(folder, f"{name}.zarr"),
                progress=False,
            )
            for name, kernel in KERNELS.items()
        }


# The tables --------------------------------------------------------------------------------------------------------


def accuracies(
    *,
    data: str | Path | None = None,
    cohorts: Sequence[str] = (),
    repeats: int = REPEATS,
    seed: int = 0,
    on_event: Listener = silent,
) -> Iterator[Row]:
    """Compute table 2: every classifier with every kernel on every cohort.

    Parameters
    ----------
    data
        Folder of the cohorts that do not ship with the package; see `load`.
    cohorts
        Cohorts to compute; by default all that are available.
    repeats
        Repetitions of the folds.
    seed
        Seed of the folds.
    on_event
        Called with an event for every finished fold.

    Yields
    ------
    dict
        A row: accuracy in per cent of ``paper`` and ``ours``, their ``difference``, the largest difference due to
        ``chance``, whether the difference is ``within`` it, and the standard deviation ``std`` and all values of the
        repetitions.
    """
    for cohort, kernel, samples, gram in _each(data, cohorts):
        for classifier, model in CLASSIFIERS.items():
            method, grid = f"{classifier}{kernel}ALL", GRID if classifier == "SVM" else None
            values = _measured(model, gram, samples, grid, repeats, seed, on_event)
            yield _beside(cohort, method, values)


def sensitivities(
    *,
    data: str | Path | None = None,
    cohorts: Sequence[str] = (),
    repeats: int = REPEATS,
    seed: int = 0,
    on_event: Listener = silent,
) -> Iterator[Row]:
    """Compute figure 2, middle: accuracy of the support vector machine for every C, in the paper on BC1.

    Parameters
    ----------
    data, cohorts, repeats, seed, on_event
        As in `accuracies`.

    Yields
    ------
    dict
        A row: cohort, kernel, C, ``accuracy`` in per cent, and standard deviation ``std`` and all values of the
        repetitions.
    """
    for cohort, kernel, samples, gram in _each(data, cohorts):
        for C in GRID:
            values = _measured(CLASSIFIERS["SVM"], gram, samples, [C], repeats, seed, on_event)
            about = {"cohort": cohort, "kernel": kernel, "C": C}
            yield {**about, "accuracy": float(values.mean()), "std": _std(values), **_repeated(values)}


def _each(data: str | Path | None, cohorts: Sequence[str]) -> Iterator[tuple[str, str, Samples, BaseGram]]:
    for cohort, samples in load_each(cohorts, data):
        with _grams(samples) as grams:
            for kernel, gram in grams.items():
                yield cohort, kernel, samples, gram


def _measured(
    model: Any,
    gram: BaseGram,
    samples: Samples,
    grid: Sequence[float] | None,
    repeats: int,
    seed: int,
    on_event: Listener,
) -> Floats:
    """Return the accuracy of each repetition, in per cent."""
    if not len(samples.test):
        found = cross_validate_gram(
            model, gram, samples.y, C=grid, outer=FOLDS, inner=FOLDS, repeats=repeats, seed=seed, on_event=on_event
        )
        return 100 * found.repeat_means("accuracy")
    times = repeats if grid is not None and len(grid) > 1 else 1  # only the choice of C is random
    values = []
    for number in range(times):
        values.append(_tested(model, gram, samples, grid, seed + number))
        on_event(Progress("evaluate", number + 1, times))
    return np.array(values)


def _tested(model: Any, gram: BaseGram, samples: Samples, grid: Sequence[float] | None, seed: int) -> float:
    """Return the accuracy on the test set, in per cent; inner folds of the training set choose C."""
    train, test, y = samples.train, samples.test, samples.y
    part = gram[np.ix_(train, train)]
    fitted = clone(model)
    if grid is not None:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        C = best_value(model, part, y[train], Choice("C", [*grid]), list(folds.split(train, y[train])))
        fitted[-1].set_params(C=C)
    return 100 * float(fitted.fit(part, y[train]).score(gram[np.ix_(test, train)], y[test]))


def _beside(cohort: str, method: str, values: Floats) -> Row:
    """Make the row of a cell: our accuracy, the published one, and whether their difference may be due to chance."""
    paper, ours, known = published(cohort, method), float(values.mean()), COHORTS[cohort]
    std = _std(values)
    theirs, least = (REPEATS, 0.0) if known.cross_validated else (1, 100 / known.test_samples)
    chance = _quantile(len(values)) * std * float(np.sqrt(1 / len(values) + 1 / theirs))
    chance = np.fmax(chance, least) if least else chance  # the deviation of one repetition is undefined
    difference, unknown = round(ours - paper, 2), np.isnan(chance)
    return {
        "cohort": cohort,
        "method": method,
        "paper": paper,
        "ours": ours,
        "difference": difference or 0.0,
        "chance": None if unknown else float(chance),
        "within": None if unknown else ("yes" if abs(difference) <= round(chance, 2) else "no"),
        "std": std,
        **_repeated(values),
    }


def _quantile(repeats: int) -> float:
    """Return the quantile of Student's t for a standard deviation estimated from so many repetitions."""
    return float(student.ppf((1 + CENTRAL) / 2, repeats - 1)) if repeats > 1 else float("nan")


def _std(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def _repeated(values: Floats) -> Row:
    return {f"{REPEATED}{number}": float(value) for number, value in enumerate(values, start=1)}
