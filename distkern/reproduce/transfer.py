"""Oestrogen receptor status across platforms: a model of one hospital calls the tumours of the other, one at a time.

Two cohorts of 150 breast tumours (`load_breast`): NKI, log ratios of two colours on Agilent arrays, and VDX, log
intensities on Affymetrix arrays. The features are the genes that both have, by the most variable probe, and that have a
value in every tumour: 205. No value of the other cohort is seen in training, and each tumour is called without its
cohort; only ``z-scores of the new cohort`` scales the new tumours by one another, which a clinic cannot do.

The candidates are fixed beforehand (`CANDIDATES`). Three times five folds of the training cohort alone estimate the
balanced accuracy of each, with its parameter chosen by inner folds; the candidate with the highest estimate is
``chosen``, of equal ones the first, and its number is the answer, whatever it is. Linear kernels cannot be chosen: they
are there to compare with.

    distkern reproduce transfer --out docs/figures/transfer.csv
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats
from distkern.datasets import load_breast
from distkern.kernels.kendall import Kendall
from distkern.kernels.quantile import Spearman
from distkern.learners.all_pairs import AllPairsMajorityVote
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.suquan import SUQUANClassifier
from distkern.learners.svm import KernelSVC
from distkern.learners.top_pairs import KTopScoringPairs
from distkern.reproduce.tables import Row

DIRECTIONS = (("nki", "vdx"), ("vdx", "nki"))
"""Training cohort and new cohort."""

REPEATS = 3
"""Repetitions of the five folds that estimate the accuracy on the training cohort."""

FOLDS = 5
"""Outer folds, and inner folds that choose a parameter."""

DRAWS = 2000
"""Bootstrap samples of an interval."""

POWERS = [0.01, 0.1, 1.0, 10.0, 100.0]
"""Values of C, of μ and of λ to choose from."""


@dataclass(frozen=True)
class Candidate:
    """A way to train.

    Parameters
    ----------
    name
        Its name in the table.
    make
        Function that makes the estimator, which is fitted on values of genes.
    grid
        Parameter that inner folds choose by balanced accuracy, and its values; none if it is empty.
    eligible
        Whether it can be chosen.
    """

    name: str
    make: Callable[[], Any]
    grid: dict[str, list[Any]]
    eligible: bool = True

    def estimator(self, seed: int) -> Any:
        """The estimator, with its search by inner folds."""
        if not self.grid:
            return self.make()
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        return GridSearchCV(self.make(), self.grid, scoring="balanced_accuracy", cv=folds)


def _machine(kernel: Any) -> Any:
    return make_pipeline(KernelStandardizer(kernel=kernel), KernelSVC(class_weight="balanced"))


CANDIDATES = (
    Candidate("Kendall, support vector machine", lambda: _machine(Kendall()), {"kernelsvc__C": POWERS}),
    Candidate("Spearman, support vector machine", lambda: _machine(Spearman()), {"kernelsvc__C": POWERS}),
    Candidate("Kendall, Fisher's discriminant", lambda: KernelFisherDiscriminant(kernel=Kendall()), {"mu": POWERS}),
    Candidate("k top-scoring pairs, k by variance", KTopScoringPairs, {}),
    Candidate("nine top-scoring pairs", lambda: KTopScoringPairs(9), {}),
    Candidate("weighted vote of all pairs", lambda: AllPairsMajorityVote(weighted=True), {}),
    Candidate("normal quantiles, logistic regression", lambda: SUQUANClassifier("fixed", "normal"), {"lam": POWERS}),
    Candidate("SUQUAN, spav", lambda: SUQUANClassifier("spav", "normal"), {"lam": POWERS}),
    Candidate(
        "linear on raw values",
        lambda: make_pipeline(StandardScaler(with_std=False), SVC(kernel="linear", class_weight="balanced")),
        {"svc__C": POWERS},
        eligible=False,
    ),
    Candidate(
        "linear on values scaled by the training cohort",
        lambda: make_pipeline(StandardScaler(), SVC(kernel="linear", class_weight="balanced")),
        {"svc__C": [value / 100 for value in POWERS]},
        eligible=False,
    ),
)
"""All candidates; the first eight can be chosen."""

WITH_COHORT = "linear on z-scores of the new cohort"
"""What needs all new tumours at once."""


def rows(*, repeats: int = REPEATS, seed: int = 0, quick: bool = False, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the table.

    Parameters
    ----------
    repeats
        Repetitions of the folds of the training cohort.
    seed
        Seed of the folds and of the bootstrap.
    quick
        Compute one repetition only, without the models that learn a target.

    Yields
    ------
    dict
        A row for each direction (``trained`` and ``called``) and ``method``: number of ``genes``; ``training``, the
        nested estimate of the balanced accuracy on the training cohort; ``chosen``, 1 for the first of the highest of
        those that can be chosen; and for the other cohort ``balanced`` accuracy with ``low`` and ``high``, the 95 %
        interval of a bootstrap within each class, and the area under the curve ``auc`` with ``auc_low``, ``auc_high``.
    """
    candidates = [one for one in CANDIDATES if not (quick and "SUQUAN" in one.name)]
    done, total = 0, len(DIRECTIONS) * (len(candidates) + 1)
    for trained, called in DIRECTIONS:
        X, y, new, truth = shared(trained, called)
        estimates = []
        for candidate in candidates:
            estimates.append(nested_accuracy(candidate, X, y, 1 if quick else repeats, seed))
            done += 1
            on_event(Progress("transfer", done, total))
        eligible = [value if one.eligible else -1.0 for value, one in zip(estimates, candidates, strict=True)]
        chosen = int(np.argmax(eligible))
        for number, (candidate, estimate) in enumerate(zip(candidates, estimates, strict=True)):
            model = candidate.estimator(seed).fit(X, y)
            found = scores(truth, model.predict(new), model.decision_function(new), model.classes_, seed)
            about = {"trained": trained, "called": called, "method": candidate.name, "genes": X.shape[1]}
            yield about | {"training": estimate, "chosen": int(number == chosen)} | found
        model = CANDIDATES[-1].estimator(seed).fit(X, y)
        of_cohort = (new - new.mean()) / new.std(ddof=0) * X.std(ddof=0) + X.mean()
        found = scores(truth, model.predict(of_cohort), model.decision_function(of_cohort), model.classes_, seed)
        about = {"trained": trained, "called": called, "method": WITH_COHORT, "genes": X.shape[1]}
        yield about | {"training": None, "chosen": 0} | found
        done += 1
        on_event(Progress("transfer", done, total))


def shared(trained: str, called: str) -> tuple[Any, Array, Any, Array]:
    """Values and receptor status of both cohorts, on the genes that have a value in every tumour of both."""
    (known, obs), (new, new_obs) = complete_genes(trained, called)
    return known, obs["er"].to_numpy().astype(str), new, new_obs["er"].to_numpy().astype(str)


def complete_genes(*names: str) -> list[tuple[Any, Any]]:
    """Values and annotations of cohorts, on the genes that have a value in every tumour of all."""
    cohorts = [load_breast(name) for name in names]
    values = [cohort.to_df().dropna(axis=1) for cohort in cohorts]
    genes = values[0].columns
    for one in values[1:]:
        genes = genes.intersection(one.columns)
    return [(one[genes], cohort.obs) for one, cohort in zip(values, cohorts, strict=True)]


def nested_accuracy(candidate: Candidate, X: Any, y: Array, repeats: int, seed: int) -> float:
    """Balanced accuracy of held-out tumours of the training cohort, mean over the repetitions."""
    found = []
    for repeat in range(repeats):
        predicted = np.empty(len(y), dtype=y.dtype)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed + repeat)
        for train, test in folds.split(y, y):
            model = clone(candidate.estimator(seed + repeat)).fit(X.iloc[train], y[train])
            predicted[test] = model.predict(X.iloc[test])
        found.append(balanced_accuracy_score(y, predicted))
    return float(np.mean(found))


def scores(truth: Array, predicted: Array, decisions: Floats, classes: Array, seed: int) -> Row:
    """Balanced accuracy and area under the curve with 95 % intervals of a bootstrap within each class."""
    positive, right = truth == classes[1], truth == predicted
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(DRAWS):
        rows_of = [rng.choice(np.flatnonzero(of), of.sum()) for of in (positive, ~positive)]
        both = np.concatenate(rows_of)
        drawn.append((np.mean([right[own].mean() for own in rows_of]), roc_auc_score(positive[both], decisions[both])))
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return {
        "balanced": float(balanced_accuracy_score(truth, predicted)),
        "low": float(low[0]),
        "high": float(high[0]),
        "auc": float(roc_auc_score(positive, decisions)),
        "auc_low": float(low[1]),
        "auc_high": float(high[1]),
    }
