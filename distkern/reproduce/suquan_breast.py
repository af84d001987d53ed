"""Slides on SUQUAN, "Results: gene expression data", on two other breast cancer cohorts: a stand-in, not the table.

The slides classify four cohorts (GSE1456, GSE2034, GSE2990, GSE4922; 106 to 271 patients, 22,283 probes) by relapse
within six years. None of them is here. Two cohorts ship with distkern, with 150 patients each (see `load_breast`): NKI,
and VDX, from the cohort behind GSE2034 and GSE5327. They have 922 and 966 probes, those of published signatures. Some
signatures were found on patients of these cohorts, so that the AUC is too high in all columns.

* ``metastasis``: distant metastasis within 6 years of 365.25 days, which is nearest to the slides. Relapse is the same
  in the file of NKI, and unknown for 29 patients of VDX. Patients who were censored before that are left out.
* ``receptor``: positive oestrogen receptor, an easy question, for comparison.

Columns of the slides. ``RAW``: values as they are in the files, divided by one number. ``CAUCHY``, ``EXP``, ``UNIF``,
``GAUS``: quantiles of a distribution; ``MEDIAN``: learned from the training samples without labels. ``SVD``, ``BND``,
``SPAV``: learned with labels, the latter two in one iteration from the median target. RMA needs raw files of one
platform, which these are not. Every target is centred and scaled to a variance of 1. The model is logistic regression
with the penalty λ ‖w‖²; three inner folds choose λ, and γ of SPAV, by their mean AUC.

Within a cohort there are 5 folds, stratified by class, which are repeated. Across cohorts the model of one is tried on
all patients of the other, on shared genes (the most variable probe of each), without any adaptation. Probes with a
missing value are left out: 210 of the 922 of NKI lack 361 values in all.

    distkern reproduce suquan-breast --out docs/figures/suquan-breast.csv
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.datasets import load_breast
from distkern.kernels.quantile_targets import target_by_formula
from distkern.learners.quantile import QuantileNormalizer
from distkern.learners.suquan import SUQUANClassifier
from distkern.reproduce.tables import REPEATED, Row
from distkern.store.ranks import RankStore

ENDPOINTS = ("metastasis", "receptor")
"""What is predicted."""

COHORTS = ("nki", "vdx")
"""Cohorts of `load_breast`."""

YEARS = 6
"""Distant metastasis within these years is a positive."""

FIXED = {"CAUCHY": "cauchy", "EXP": "exponential", "UNIF": "uniform", "GAUS": "normal"}
"""Targets by formula, by the name of the slides."""

METHODS = ("RAW", *FIXED, "MEDIAN", "SVD", "BND", "SPAV")
"""Columns of the slides but RMA."""

BASELINES = ("GAUS", "MEDIAN")
"""Methods that all are compared with, on the same patients."""

LAMBDAS = (10.0, 1.0, 0.1, 0.01)
"""Values of λ."""

GAMMAS = (10.0, 1.0, 0.1)
"""Values of γ."""

FOLDS = 5
"""Outer folds."""

INNER = 3
"""Inner folds, which choose the setting."""

REPEATS = 5
"""Repetitions of the outer folds."""

TOL = 1e-4
"""Tolerance of the models."""


# The patients ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Patients:
    """Values (m, p), their ranks, and the labels 0 and 1 (m,)."""

    X: Floats
    y: Indices
    ranks: RankStore

    def take(self, rows: Indices) -> Patients:
        """Return some of them."""
        ranks = RankStore(self.ranks.ranks[rows], self.ranks.groups[rows])
        return Patients(self.X[rows], self.y[rows], ranks)

    def splits(self, folds: int, seed: Any) -> Iterator[tuple[Patients, Patients]]:
        """Yield the training and test patients of each fold, stratified by class."""
        state = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=state).split(self.X, self.y):
            yield self.take(train), self.take(test)

    @cached_property
    def median(self) -> Floats:
        """Median target, centred and scaled to a variance of 1."""
        return standardised(QuantileNormalizer("median").fit(self.X).target_)

    @cached_property
    def scale(self) -> float:
        """Root of the mean variance within a patient."""
        return float(np.sqrt(np.mean(np.var(self.X, axis=1))))


def standardised(target: Floats) -> Floats:
    """Centre a target and scale it to a variance of 1.

    Examples
    --------
    >>> standardised(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    centred = target - target.mean()
    return centred / np.sqrt(np.mean(centred**2))


@dataclass(frozen=True, eq=False)
class Cohort:
    """A cohort: values (m, p), NaN where missing, names of its features, and labels by endpoint, −1 where unknown."""

    X: Floats
    names: Array
    labels: dict[str, Indices]

    def patients(self, endpoint: str, features: Indices) -> Patients:
        """Return the patients whose label is known, with some features, which have no missing value."""
        known = self.labels[endpoint] >= 0
        X = np.ascontiguousarray(self.X[np.ix_(known, features)])
        return Patients(X, self.labels[endpoint][known], RankStore.of(X))

    @property
    def complete(self) -> Indices:
        """Positions of the features without a missing value."""
        return np.flatnonzero(~np.isnan(self.X).any(axis=0))


def load(name: str, features: str = "probes") -> Cohort:
    """Load a cohort.

    Raises
    ------
    MissingExtraError
        If anndata is not installed.

    Examples
    --------
    >>> nki = load("nki")
    >>> nki.X.shape, len(nki.complete), np.bincount(nki.labels["metastasis"] + 1).tolist()
    ((150, 922), 712, [27, 82, 41])
    """
    adata = load_breast(name, features=features)
    event, days = (adata.obs[column].to_numpy(dtype=np.float64) for column in ("e.dmfs", "t.dmfs"))
    late = days > YEARS * 365.25
    labels = {
        "metastasis": np.select([late, (event == 1) & ~late], [0, 1], default=-1),
        "receptor": (adata.obs["er"] == "positive").to_numpy(dtype=np.intp),
    }
    return Cohort(np.asarray(adata.X), adata.var_names.to_numpy(dtype=str), labels)


def load_pair() -> dict[str, tuple[Cohort, Indices]]:
    """Load both cohorts by gene, with the positions of the shared genes that no patient lacks.

    Examples
    --------
    >>> {name: (cohort.X.shape[1], len(shared)) for name, (cohort, shared) in load_pair().items()}
    {'nki': (862, 205), 'vdx': (657, 205)}
    """
    cohorts = {name: load(name, "genes") for name in COHORTS}
    complete = [set(cohort.names[cohort.complete]) for cohort in cohorts.values()]
    genes = sorted(set.intersection(*complete))
    places = {name: {gene: at for at, gene in enumerate(cohort.names)} for name, cohort in cohorts.items()}
    return {
        name: (cohort, np.array([places[name][gene] for gene in genes], dtype=np.intp))
        for name, cohort in cohorts.items()
    }


# The models -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """λ, and γ where there is one."""

    lam: float
    gamma: float | None = None


def settings(method: str) -> list[Setting]:
    """Return the settings among which inner folds choose.

    Examples
    --------
    >>> len(settings("GAUS")), len(settings("SPAV"))
    (4, 12)
    """
    gammas = GAMMAS if method == "SPAV" else (None,)
    return [Setting(lam, gamma) for lam in LAMBDAS for gamma in gammas]


def fit(method: str, setting: Setting, train: Patients) -> Callable[[Patients], Floats]:
    """Fit a model; return the function that gives decision values.

    Examples
    --------
    >>> nki = load("nki")
    >>> patients = nki.patients("receptor", nki.complete)
    >>> auc(patients.y, fit("GAUS", Setting(0.1), patients)(patients))
    1.0
    """
    if method == "RAW":
        plain = LogisticRegression(C=1 / (2 * len(train.y) * setting.lam), tol=TOL, max_iter=10_000)
        plain.fit(train.X / train.scale, train.y)
        return lambda patients: np.asarray(plain.decision_function(patients.X / train.scale), dtype=np.float64)
    model = fit_ranks(method, setting, train)
    return lambda patients: model.decision_function(patients.ranks)


def fit_ranks(method: str, setting: Setting, train: Patients) -> SUQUANClassifier:
    """Fit a model of the ranks: any method but RAW.

    Examples
    --------
    >>> nki = load("nki")
    >>> model = fit_ranks("SPAV", Setting(0.1, 1.0), nki.patients("receptor", nki.complete))
    >>> bool((np.diff(model.target_) >= 0).all())
    True
    """
    given: dict[str, Any] = {"lam": setting.lam, "gamma": setting.gamma, "tol": TOL}
    if method == "SVD":
        return SUQUANClassifier("svd", **given).fit(train.ranks, train.y)
    by_formula = FIXED.get(method)
    first = standardised(target_by_formula(by_formula, train.ranks.shape[1])) if by_formula else train.median
    constraint = method.lower() if method in ("BND", "SPAV") else "fixed"
    return SUQUANClassifier(constraint, first, **given).fit(train.ranks, train.y)


def choose(method: str, inner: Sequence[tuple[Patients, Patients]]) -> Setting:
    """Return the setting with the highest mean AUC over inner folds, the first of equal ones."""

    def mean(setting: Setting) -> float:
        return float(np.mean([auc(test.y, fit(method, setting, train)(test)) for train, test in inner]))

    return max(settings(method), key=mean)


def auc(y: Indices, scores: Floats) -> float:
    """Area under the ROC curve.

    Examples
    --------
    >>> auc(np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0]))
    0.75
    """
    return float(roc_auc_score(y, scores))


# Errors ---------------------------------------------------------------------------------------------------------------


def fold_error(values: Floats, folds: int = FOLDS) -> float:
    """Standard error of a mean over J folds: s √(1/J + 1/(folds − 1)), s their standard deviation.

    Training sets of a repeated cross-validation share samples; s/√J would be too small, and fall with every repetition.

    Source: Nadeau & Bengio, "Inference for the generalization error", Machine Learning 52 (2003), section 3.

    Examples
    --------
    >>> round(fold_error(np.array([0.0, 2.0, 0.0, 2.0]), 3), 6)
    1.0
    """
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + 1 / (folds - 1)))


def placements(y: Indices, scores: Floats) -> tuple[Floats, Floats]:
    """Placements of the positives among the negatives, and of these among those; both have the AUC as their mean.

    Examples
    --------
    >>> placements(np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0]))
    (array([0.5, 1. ]), array([1. , 0.5]))
    """
    above = scores[y == 1][:, None] - scores[y == 0][None, :]
    wins = (np.sign(above) + 1) / 2
    return wins.mean(axis=1), wins.mean(axis=0)


def placement_error(*parts: Floats) -> float:
    """Standard error of an AUC, or of a difference of two, by the samples: √(Σ s²/n) over both classes.

    Source: DeLong, DeLong & Clarke-Pearson, Biometrics 44 (1988), equations 4 to 6.

    Examples
    --------
    >>> round(placement_error(*placements(np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0]))), 6)
    0.353553
    """
    return float(np.sqrt(sum(np.var(part, ddof=1) / len(part) for part in parts)))


# The table ------------------------------------------------------------------------------------------------------------


def rows(*, repeats: int = REPEATS, seed: int = 0, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the AUC of all methods: within each cohort, and from one to the other.

    Parameters
    ----------
    repeats
        Repetitions of the folds within a cohort.
    seed
        Seed of all folds.
    on_event
        Called with an event for every finished fold.

    Yields
    ------
    dict
        ``train`` and ``test`` cohort, ``endpoint``, numbers of ``patients`` tested and of the ``positive`` among them,
        ``method``, ``auc`` × 100 and its standard ``error``; and by how much it is ``over_GAUS`` and ``over_MEDIAN`` on
        the same patients, each with its error. Errors within a cohort are those of `fold_error`, across cohorts those
        of `placement_error`, which leaves out that other training patients make other models.
    """
    for name in COHORTS:
        cohort = load(name)
        for endpoint in ENDPOINTS:
            yield from within(name, endpoint, cohort.patients(endpoint, cohort.complete), repeats, seed, on_event)
    pair = load_pair()
    for train, test in (COHORTS, COHORTS[::-1]):
        for endpoint in ENDPOINTS:
            sides = [cohort.patients(endpoint, shared) for cohort, shared in (pair[train], pair[test])]
            yield from across((train, test), endpoint, sides[0], sides[1], seed)


def within(
    name: str, endpoint: str, patients: Patients, repeats: int = REPEATS, seed: int = 0, on_event: Listener = silent
) -> Iterator[Row]:
    """Yield the rows of a cohort: mean AUC over repeated folds, which are the same for all methods."""
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for repeat in range(repeats):
        for train, test in patients.splits(FOLDS, [seed, repeat]):
            inner = list(train.splits(INNER, [seed, repeat, 1]))
            for method in METHODS:
                decide = fit(method, choose(method, inner), train)
                found[method].append(100 * auc(test.y, decide(test)))
            on_event(Progress("evaluate", len(found["RAW"]), repeats * FOLDS))
    values = {method: np.array(each) for method, each in found.items()}
    for method in METHODS:
        row = _about((name, name), endpoint, patients, method)
        row |= {"auc": float(values[method].mean()), "error": fold_error(values[method])}
        for baseline in BASELINES:
            over = values[method] - values[baseline]
            row |= _over(baseline, method, float(over.mean()), fold_error(over))
        means = values[method].reshape(repeats, FOLDS).mean(axis=1)
        yield row | {f"{REPEATED}{number}": float(mean) for number, mean in enumerate(means, start=1)}


def across(
    names: tuple[str, str],
    endpoint: str,
    train: Patients,
    test: Patients,
    seed: int = 0,
    methods: Sequence[str] = METHODS,
) -> Iterator[Row]:
    """Yield the rows of models of one cohort on the patients of another; ``methods`` contain the baselines."""
    inner = list(train.splits(INNER, [seed, 0, 1]))
    placed = {method: placements(test.y, fit(method, choose(method, inner), train)(test)) for method in methods}
    for method, parts in placed.items():
        row = _about(names, endpoint, test, method)
        row |= {"auc": 100 * float(parts[0].mean()), "error": 100 * placement_error(*parts)}
        for baseline in BASELINES:
            over = [mine - theirs for mine, theirs in zip(parts, placed[baseline], strict=True)]
            row |= _over(baseline, method, 100 * float(over[0].mean()), 100 * placement_error(*over))
        yield row


def _about(names: tuple[str, str], endpoint: str, patients: Patients, method: str) -> Row:
    counts = {"patients": len(patients.y), "positive": int(patients.y.sum())}
    return {"train": names[0], "test": names[1], "endpoint": endpoint, **counts, "method": method}


def _over(baseline: str, method: str, mean: float, error: float) -> Row:
    mine = baseline == method
    return {f"over_{baseline}": None if mine else mean, f"over_{baseline}_error": None if mine else error}
