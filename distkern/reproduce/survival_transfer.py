"""Relapse across platforms: a model of one hospital ranks the risks of the tumours of the other, one at a time.

The two cohorts of `load_breast`, on the 205 genes that have a value in every tumour of both. The endpoint is survival
without relapse (``t.rfs``, ``e.rfs``): 146 tumours of NKI with 53 relapses, and 121 of VDX with 41; the others have no
time. In the file of NKI it is the same as distant metastasis. No value of the other cohort is seen in training, and
each tumour is ranked without its cohort.

All candidates are fixed beforehand (`CANDIDATES`), λ is chosen by inner folds of the training cohort alone, and every
number is reported, whatever it is. Linear models are there to compare with.

    distkern reproduce survival-transfer --out docs/figures/survival-transfer.csv
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats
from distkern.kernels.base import Kernel
from distkern.kernels.kendall import Kendall
from distkern.kernels.quantile import Spearman
from distkern.kernels.vectors import Linear
from distkern.learners.concordance import concordance_index
from distkern.learners.external import predict_external_survival
from distkern.learners.predictor import as_samples
from distkern.learners.survival_selection import LAMBDAS
from distkern.learners.survival_times import survival_y
from distkern.learners.survival_training import TrainedSurvival, log_rank_pvalue, train_survival
from distkern.reproduce.tables import Row
from distkern.reproduce.transfer import DIRECTIONS, DRAWS, complete_genes

REPEATS = 5
"""Repetitions of the five folds that estimate the concordance on the training cohort."""

GRID = (1e-4, *LAMBDAS, 1e2)
"""Values of λ to choose from."""


@dataclass(frozen=True)
class Candidate:
    """A way to train.

    Parameters
    ----------
    name
        Its name in the table.
    kernel
        The kernel.
    learner
        ``"cox"`` or ``"survival-svm"``.
    scaled
        Whether genes are scaled by the mean and the standard deviation of the training cohort.
    """

    name: str
    kernel: Kernel
    learner: str = "cox"
    scaled: bool = False


CANDIDATES = (
    Candidate("Kendall, Cox", Kendall()),
    Candidate("Kendall, survival SVM", Kendall(), "survival-svm"),
    Candidate("Spearman, Cox", Spearman()),
    Candidate("linear on raw values, Cox", Linear()),
    Candidate("linear on values scaled by the training cohort, Cox", Linear(), scaled=True),
)
"""All candidates."""

RECEPTOR = "receptor negative"
"""A marker to compare with, for which nothing is trained."""


def rows(*, repeats: int = REPEATS, seed: int = 0, quick: bool = False, on_event: Listener = silent) -> Iterator[Row]:
    """Compute the table.

    Parameters
    ----------
    repeats
        Repetitions of the folds of the training cohort.
    seed
        Seed of the folds and of the bootstrap.
    quick
        Compute one repetition only.

    Yields
    ------
    dict
        A row for each direction (``trained`` and ``tested``) and ``method``: number of ``genes``; ``lam``, chosen by
        folds of the training cohort; ``training``, the nested estimate of Harrell's index on the training cohort; and
        for the other cohort Harrell's index ``harrell`` with its 95 % interval ``low`` and ``high``, Uno's index
        ``uno`` with ``uno_low`` and ``uno_high``, the number of tumours above the median risk of the training cohort,
        ``high_risk``, and the p-value of the log-rank test of the two groups, ``log_rank``.
    """
    done, total = 0, len(DIRECTIONS) * len(CANDIDATES)
    for trained, tested in DIRECTIONS:
        known, y, new, truth, negative = relapses(trained, tested)
        about = {"trained": trained, "tested": tested}
        for candidate in CANDIDATES:
            scaler = StandardScaler().set_output(transform="pandas").fit(known) if candidate.scaled else None
            X, other = (known, new) if scaler is None else (scaler.transform(known), scaler.transform(new))
            model = _trained(candidate, X, y, 1 if quick else repeats, seed)
            risks = model.predictor.predict(X)
            found = scores(model.predictor, other, truth, y, risks, seed)
            chosen = {"method": candidate.name, "genes": X.shape[1], "lam": float(model.card["lam"])}
            yield about | chosen | {"training": model.evaluation.mean()} | found
            done += 1
            on_event(Progress("survival-transfer", done, total))
        marker = _Marker()
        found = scores(marker, negative[1][:, None], truth, y, negative[0], seed)
        estimate = concordance_index(y["time"], y["event"], negative[0])
        yield about | {"method": RECEPTOR, "genes": None, "lam": None, "training": estimate} | found


def relapses(trained: str, tested: str) -> tuple[Any, Array, Any, Array, tuple[Floats, Floats]]:
    """Values and times to relapse of both cohorts, and whether the receptor is negative; tumours with a time only."""
    parts = []
    for values, obs in complete_genes(trained, tested):
        timed = (obs["t.rfs"].notna() & obs["e.rfs"].notna()).to_numpy()
        y = survival_y(obs["t.rfs"].to_numpy()[timed], obs["e.rfs"].to_numpy()[timed])
        parts.append((values[timed], y, (obs["er"] == "negative").to_numpy()[timed].astype(np.float64)))
    (X, y, negative), (new, truth, new_negative) = parts
    return X, y, new, truth, (negative, new_negative)


def scores(model: Any, X: Any, truth: Array, training: Array, training_risks: Floats, seed: int) -> Row:
    """Concordance with intervals, and the log-rank test of risk groups, in the other cohort."""
    held = predict_external_survival(model, X, truth, training=training, training_risks=training_risks)
    harrell, uno = held.scores(draws=DRAWS, seed=seed).to_dict(orient="records")
    return {
        "harrell": harrell["value"],
        "low": harrell["low"],
        "high": harrell["high"],
        "uno": uno["value"],
        "uno_low": uno["low"],
        "uno_high": uno["high"],
        "high_risk": int((held.risk_groups() == "high risk").sum()),
        "log_rank": log_rank_pvalue(held),
    }


def _trained(candidate: Candidate, X: Any, y: Array, repeats: int, seed: int) -> TrainedSurvival:
    return train_survival(
        X, y, kernel=candidate.kernel, learner=candidate.learner, lam=GRID, repeats=repeats, seed=seed
    )


class _Marker:
    """Predicts the value of the marker."""

    def predict(self, X: Any) -> Floats:
        return np.asarray(as_samples(X).read(slice(0, None)), dtype=np.float64)[:, 0]
