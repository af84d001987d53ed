"""Predictions for samples that a model has not seen, and what they are worth: scores with intervals, and curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.core.typing import Array, Floats, Indices

LEVEL = 0.95
"""Coverage of the intervals."""

DRAWS = 1000
"""Bootstrap samples."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for samples that a model has not seen: of cross-validation, or of another cohort.

    Parameters
    ----------
    classes
        The labels, sorted. Of two classes the second one is the positive one.
    truth
        Class number of each sample, (m,).
    predicted
        Predicted class number in each repetition, (repeats, m); −1 where there is none.
    decisions
        Decision values: f in one column for two classes, else one for each class, (repeats, m, columns).
    probabilities
        Probability of each class, (repeats, m, classes); None where there are none.
    folds
        Fold of each sample, whose decision values belong to one model, (repeats, m).
    groups
        Group of each sample, (m,), whose samples are drawn together for intervals; None for none.

    Examples
    --------
    >>> truth, called = np.array([0, 1, 1]), np.array([[0, 1, 0]])
    >>> found = HeldOut(("ill", "well"), truth, called, np.array([[[-1.0], [2.0], [-0.5]]]))
    >>> found.scores(draws=0).set_index("score")["value"].round(3).to_dict()["balanced accuracy"]
    0.75
    >>> found.confusion()
          ill  well
    ill   1.0   0.0
    well  1.0   1.0
    """

    classes: tuple[Any, ...]
    truth: Indices
    predicted: Indices
    decisions: Floats
    probabilities: Floats | None = None
    folds: Indices | None = None
    groups: Array | None = None

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    def scores(self, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0) -> Any:
        """Table of scores, with intervals of a bootstrap of the samples within each class.

        A score is the mean over the repetitions. For an interval samples (or whole groups) are drawn with replacement,
        and all their repetitions with them. It tells what other samples of this population would change, and not what
        other training samples would.

        Parameters
        ----------
        level
            Coverage of the intervals.
        draws
            Bootstrap samples; 0 for no intervals.
        seed
            Seed of the bootstrap.

        Returns
        -------
        DataFrame with the columns score, value, low and high. Accuracy; balanced accuracy; auc, within folds (of
        several classes the mean of one against the rest); for two classes sensitivity, specificity, positive and
        negative predictive value, and average precision; with probabilities the Brier score, Σ_c (P_c − 1[y = c])²
        (for two classes half of it), and the log loss.
        """
        import pandas as pd

        if not 0 < level < 1:
            raise InputError(f"level must be between 0 and 1; got {level!r}")
        whole_number(draws, "draws", 0)
        every = np.arange(len(self.truth))
        values = self._scores(every)
        table = pd.DataFrame({"score": list(values), "value": list(values.values())})
        if draws:
            drawn = [list(self._scores(rows).values()) for rows in self._drawn(draws, seed)]
            tails = [(1 - level) / 2, (1 + level) / 2]
            columns = [[value for value in column if value == value] for column in zip(*drawn, strict=True)]
            ends = [np.quantile(column, tails) if column else (np.nan, np.nan) for column in columns]
            table["low"], table["high"] = zip(*ends, strict=True)
        return table

    def confusion(self) -> Any:
        """Numbers of samples by class (rows) and predicted class (columns), mean over the repetitions."""
        import pandas as pd

        count = len(self.classes)
        table = np.zeros((count, count))
        for predicted in self.predicted:
            known = predicted >= 0
            np.add.at(table, (self.truth[known], predicted[known]), 1 / len(self.predicted))
        return pd.DataFrame(table, index=list(self.classes), columns=list(self.classes))

    def roc(self, column: int = -1) -> Any:
        """Curve of true against false positives: a DataFrame with the columns threshold, fpr, tpr; all repetitions."""
        import pandas as pd

        truth, values = self._pooled(column)
        fpr, tpr, thresholds = roc_curve(truth, values)
        return pd.DataFrame({"threshold": thresholds, "fpr": fpr, "tpr": tpr})

    def precision_recall(self, column: int = -1) -> Any:
        """Precision against recall: a DataFrame with the columns threshold, recall, precision; all repetitions."""
        import pandas as pd

        truth, values = self._pooled(column)
        precision, recall, thresholds = precision_recall_curve(truth, values)
        return pd.DataFrame({"threshold": [*thresholds, np.inf], "recall": recall, "precision": precision})

    def calibration(self, bins: int = 10, column: int = -1) -> Any:
        """Observed against predicted probability of a class: a DataFrame with a row for each bin of equal size.

        Columns: predicted (mean), observed (fraction), samples, and isotonic, the observed fraction that ascends with
        the predicted one.
        """
        import pandas as pd

        whole_number(bins, "bins", 1)
        truth, chances = self._chances(column)
        order = np.argsort(chances, kind="stable")
        ascending = IsotonicRegression(out_of_bounds="clip").fit(chances, truth).predict(chances)
        parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
        return pd.DataFrame(
            {
                "predicted": [chances[part].mean() for part in parts],
                "observed": [truth[part].mean() for part in parts],
                "isotonic": [ascending[part].mean() for part in parts],
                "samples": [len(part) / len(self.predicted) for part in parts],
            }
        )

    def net_benefit(self, thresholds: Any = None, column: int = -1) -> Any:
        """Decision curve: TP/m − FP/m · t/(1 − t) of treating where the probability is above t, beside treating all.

        Source: Vickers & Elkin, *Decision curve analysis* (2006). Columns: threshold, model, all; treating none has 0.
        """
        import pandas as pd

        truth, chances = self._chances(column)
        t = np.linspace(0.01, 0.99, 99) if thresholds is None else np.asarray(thresholds, dtype=np.float64)
        if not ((t > 0) & (t < 1)).all():
            raise InputError("thresholds must be probabilities between 0 and 1")
        odds = t / (1 - t)
        treated = chances[:, None] > t
        model = (treated & truth[:, None]).mean(axis=0) - (treated & ~truth[:, None]).mean(axis=0) * odds
        return pd.DataFrame({"threshold": t, "model": model, "all": truth.mean() - (1 - truth.mean()) * odds})

    # Parts ---------------------------------------------------------------------------------------------------------

    def _drawn(self, draws: int, seed: int) -> Iterator[Indices]:
        """Draw samples with replacement: within each class, or whole groups."""
        rng = np.random.default_rng(seed)
        if self.groups is None:
            members = [np.flatnonzero(self.truth == c) for c in np.unique(self.truth)]
            for _ in range(draws):
                yield np.concatenate([rng.choice(own, len(own)) for own in members])
            return
        of_group = [np.flatnonzero(self.groups == group) for group in np.unique(self.groups)]
        for _ in range(draws):
            yield np.concatenate([of_group[k] for k in rng.integers(len(of_group), size=len(of_group))])

    def _scores(self, rows: Indices) -> dict[str, float]:
        """Scores of some samples, mean over the repetitions."""
        found: list[dict[str, float]] = []
        truth = self.truth[rows]
        for repeat, predicted in enumerate(self.predicted[:, rows]):
            right = predicted == truth
            recalls = [float(right[truth == c].mean()) for c in np.unique(truth)]
            own = {"accuracy": float(right.mean()), "balanced accuracy": float(np.mean(recalls))}
            own["auc"] = self._auc(repeat, rows)
            if self.binary:
                positive, called = truth == 1, predicted == 1
                own |= {
                    "sensitivity": _share(called, positive),
                    "specificity": _share(predicted == 0, ~positive),
                    "positive predictive value": _share(positive, called),
                    "negative predictive value": _share(~positive, predicted == 0),
                    "average precision": _precision(positive, self.decisions[repeat, rows, 0]),
                }
            if self.probabilities is not None:
                chances = self.probabilities[repeat, rows]
                of_truth = chances[np.arange(len(rows)), truth]
                squares = (chances**2).sum(axis=1) - 2 * of_truth + 1
                own["Brier score"] = float(squares.mean()) / (2 if self.binary else 1)
                own["log loss"] = float(-np.log(np.maximum(of_truth, np.finfo(float).eps)).mean())
            found.append(own)
        return {name: _mean([own[name] for own in found]) for name in found[0]}

    def _auc(self, repeat: int, rows: Indices) -> float:
        """Fraction of pairs of two classes, within a fold, whose decision values are in their order."""
        values, truth = self.decisions[repeat, rows], self.truth[rows]
        folds = np.zeros(len(rows)) if self.folds is None else self.folds[repeat, rows]
        areas = []
        for column in range(values.shape[1]):
            positive = truth == (1 if self.binary else column)
            above = pairs = 0.0
            for fold in np.unique(folds):
                of_fold = folds == fold
                ones = positive[of_fold]
                n1, n0 = int(ones.sum()), int((~ones).sum())
                ranks = rankdata(values[of_fold, column])
                above += float(ranks[ones].sum()) - n1 * (n1 + 1) / 2
                pairs += n1 * n0
            areas.append(above / pairs if pairs else np.nan)
        return _mean(areas)

    def _pooled(self, column: int) -> tuple[Array, Floats]:
        """Whether each sample is of the class of a column, and its decision value for it, in all repetitions."""
        count = self.decisions.shape[2]
        positive = 1 if self.binary else range(len(self.classes))[column]
        values = self.decisions[:, :, 0 if count == 1 else positive]
        return np.tile(self.truth == positive, len(values)), values.ravel()

    def _chances(self, column: int) -> tuple[Array, Floats]:
        if self.probabilities is None:
            raise InputError("there are no probabilities: evaluate a classifier that has some, or calibrate it")
        number = range(len(self.classes))[column]
        chances = self.probabilities[:, :, number]
        return np.tile(self.truth == number, len(chances)), chances.ravel()

    def to_dict(self) -> dict[str, Any]:
        """All fields but the groups, ready for JSON: decision values and probabilities with six digits."""

        def listed(values: Any) -> Any:
            if values is None or values.dtype.kind != "f":
                return None if values is None else values.tolist()
            return [[[None if x != x else float(f"{x:.6g}") for x in row] for row in own] for own in values.tolist()]

        names = ("truth", "predicted", "decisions", "probabilities", "folds")
        return {"classes": list(self.classes)} | {name: listed(getattr(self, name)) for name in names}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> HeldOut:
        """Restore predictions from the output of `to_dict`."""

        def array(name: str, kind: Any) -> Any:
            return None if values[name] is None else np.array(values[name], dtype=kind)

        return cls(
            tuple(values["classes"]),
            array("truth", np.intp),
            array("predicted", np.intp),
            array("decisions", np.float64),
            array("probabilities", np.float64),
            array("folds", np.intp),
        )


def _share(of: Array, among: Array) -> float:
    return float(of[among].mean()) if among.any() else np.nan


def _precision(positive: Array, values: Floats) -> float:
    return float(average_precision_score(positive, values)) if positive.any() else np.nan


def _mean(values: Any) -> float:
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else np.nan
