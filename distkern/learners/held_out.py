"""Predictions for samples that a model has not seen, and what they are worth: scores with intervals, and curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import precision_recall_curve, roc_curve

from distkern.core.errors import InputError
from distkern.core.parameters import whole_number
from distkern.core.typing import Array, Floats, Indices

LEVEL = 0.95
"""Coverage of the intervals."""

DRAWS = 1000
"""Bootstrap samples."""

BATCH = 2**21
"""Largest number of weights that are held at once."""


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

    See Also
    --------
    cross_validate_gram, predict_external : Make it.
    distkern.plot.plot_roc : The figure.

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
        values = {name: float(own[0]) for name, own in self._scores(np.ones((1, len(self.truth)))).items()}
        table = pd.DataFrame({"score": list(values), "value": list(values.values())})
        if draws:
            parts = [self._scores(weights) for weights in self._weights(draws, seed)]
            drawn = [np.concatenate([part[name] for part in parts]) for name in values]
            table["low"], table["high"] = zip(*(_ends(own, level) for own in drawn), strict=True)
        return table

    def of_samples(self, rows: Indices) -> HeldOut:
        """Predictions of some samples, such as those of one cohort."""
        folds, groups = self.folds, self.groups
        return HeldOut(
            self.classes,
            self.truth[rows],
            self.predicted[:, rows],
            self.decisions[:, rows],
            None if self.probabilities is None else self.probabilities[:, rows],
            None if folds is None else folds[:, rows],
            None if groups is None else groups[rows],
        )

    def confusion(self) -> Any:
        """Numbers of samples by class (rows) and predicted class (columns), mean over the repetitions."""
        import pandas as pd

        count = len(self.classes)
        table = np.zeros((count, count))
        for predicted in self.predicted:
            known = predicted >= 0
            np.add.at(table, (self.truth[known], predicted[known]), 1 / len(self.predicted))
        return pd.DataFrame(table, index=list(self.classes), columns=list(self.classes))

    def auc(self, column: int = -1) -> float:
        """Fraction of pairs, one sample of a class and one of the others, within a fold, that are in their order."""
        return float(_mean_of_known([self._areas(np.ones((1, len(self.truth))), r, column) for r in self._repeats])[0])

    def average_precision(self, column: int = -1) -> float:
        """Mean precision over the samples of a class, in descending order of decision values; mean over repetitions."""
        even = np.ones((1, len(self.truth)))
        return float(_mean_of_known([self._precision(even, repeat, column) for repeat in self._repeats])[0])

    def roc(self, column: int = -1) -> Any:
        """Curve of true against false positives: a DataFrame with the columns threshold, fpr, tpr; all repetitions.

        Raises
        ------
        InputError
            If no sample is of the class of the column, or all are.
        """
        import pandas as pd

        truth, values = self._pooled(column)
        self._require(column, both=True)
        fpr, tpr, thresholds = roc_curve(truth, values)
        return pd.DataFrame({"threshold": thresholds, "fpr": fpr, "tpr": tpr})

    def roc_band(self, column: int = -1, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0) -> Any:
        """Interval of the true positives at each share of false positives, from the bootstrap of `scores`.

        It holds at one point at a time. A DataFrame with the columns fpr, low, high.
        """
        import pandas as pd

        truth, values = self._pooled(column)
        self._require(column, both=True)
        order = np.argsort(-values, kind="stable")
        sample, positive, ends = order % len(self.truth), truth[order], _last_of_ties(values[order])
        grid = np.linspace(0, 1, 101)
        found = []
        for weights in self._weights(draws, seed, len(values)):
            drawn = weights[:, sample]
            true, false = (np.cumsum(drawn * own, axis=1)[:, ends] for own in (positive, ~positive))
            found += [
                np.interp(grid, np.append(0, f / f[-1]), np.append(0, t / t[-1]))
                for t, f in zip(true, false, strict=True)
                if t[-1] > 0 and f[-1] > 0
            ]
        low, high = zip(*(_ends(own, level) for own in np.array(found).T), strict=True)
        return pd.DataFrame({"fpr": grid, "low": low, "high": high})

    def precision_recall(self, column: int = -1) -> Any:
        """Precision against recall: a DataFrame with the columns threshold, recall, precision; all repetitions.

        Raises
        ------
        InputError
            If no sample is of the class of the column.
        """
        import pandas as pd

        truth, values = self._pooled(column)
        self._require(column, both=False)
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
        ascending = self._ascending(column).predict(chances)
        parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
        return pd.DataFrame(
            {
                "predicted": [chances[part].mean() for part in parts],
                "observed": [truth[part].mean() for part in parts],
                "isotonic": [ascending[part].mean() for part in parts],
                "samples": [len(part) / len(self.predicted) for part in parts],
            }
        )

    def isotonic(self, column: int = -1) -> Any:
        """Observed fraction that ascends with the predicted probability, by isotonic regression, without bins.

        Source: Dimitriadis, Gneiting & Jordan, *Stable reliability diagrams for probabilistic classifiers* (2021). A
        DataFrame with the columns predicted and observed: the corners of the function.
        """
        import pandas as pd

        fitted = self._ascending(column)
        return pd.DataFrame({"predicted": fitted.X_thresholds_, "observed": fitted.y_thresholds_})

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

    def _weights(self, draws: int, seed: int, size: int | None = None) -> Iterator[Floats]:
        """How often each sample is drawn, for some bootstrap samples at a time, (draws, m)."""
        count = len(self.truth)
        rows = self._drawn(draws, seed)
        batch = max(1, BATCH // (size or count))
        while own := [np.bincount(drawn, minlength=count) for drawn in islice(rows, batch)]:
            yield np.stack(own).astype(np.float64)

    @property
    def _repeats(self) -> range:
        return range(len(self.predicted))

    def _scores(self, weights: Floats) -> dict[str, Floats]:
        """Scores of samples that count as often as each row of the weights says, (draws, m): mean over repetitions."""
        found: list[dict[str, Floats]] = []
        of_class = [self.truth == c for c in np.unique(self.truth)]
        columns = range(self.decisions.shape[2])
        for repeat in self._repeats:
            predicted = self.predicted[repeat]
            right = predicted == self.truth
            recalls = [_share(weights, right, own) for own in of_class]
            own = {"accuracy": _share(weights, right), "balanced accuracy": _mean_of_known(recalls)}
            own["auc"] = _mean_of_known([self._areas(weights, repeat, column) for column in columns])
            if self.binary:
                positive, called, rejected = self.truth == 1, predicted == 1, predicted == 0
                own |= {
                    "sensitivity": _share(weights, called, positive),
                    "specificity": _share(weights, rejected, ~positive),
                    "positive predictive value": _share(weights, positive, called),
                    "negative predictive value": _share(weights, ~positive, rejected),
                    "average precision": self._precision(weights, repeat, -1),
                }
            if self.probabilities is not None:
                chances = self.probabilities[repeat]
                of_truth = chances[np.arange(len(chances)), self.truth]
                squares = (chances**2).sum(axis=1) - 2 * of_truth + 1
                own["Brier score"] = _share(weights, squares) / (2 if self.binary else 1)
                own["log loss"] = _share(weights, -np.log(np.maximum(of_truth, np.finfo(float).eps)))
            found.append(own)
        return {name: _mean_of_known([own[name] for own in found]) for name in found[0]}

    def _areas(self, weights: Floats, repeat: int, column: int) -> Floats:
        """Fraction of pairs of a class and the others, within a fold, whose decision values are in their order."""
        positive, at = self._one_class(column)
        values = self.decisions[repeat, :, at]
        folds = np.zeros(len(values)) if self.folds is None else self.folds[repeat]
        above, pairs = np.zeros(len(weights)), np.zeros(len(weights))
        for fold in np.unique(folds):
            own = np.flatnonzero(folds == fold)
            own = own[np.argsort(values[own], kind="stable")]
            starts = np.append(0, _last_of_ties(values[own])[:-1] + 1)
            drawn = weights[:, own]
            ones, zeros = (_summed(drawn * of, starts) for of in (positive[own], ~positive[own]))
            above += (ones * (np.cumsum(zeros, axis=1) - zeros / 2)).sum(axis=1)
            pairs += ones.sum(axis=1) * zeros.sum(axis=1)
        return _ratio(above, pairs)

    def _precision(self, weights: Floats, repeat: int, column: int) -> Floats:
        """Mean over the samples of a class of the precision at their decision value."""
        positive, at = self._one_class(column)
        values = self.decisions[repeat, :, at]
        order = np.argsort(-values, kind="stable")
        starts = np.append(0, _last_of_ties(values[order])[:-1] + 1)
        drawn = weights[:, order]
        ones, every = _summed(drawn * positive[order], starts), _summed(drawn, starts)
        precision = _ratio(np.cumsum(ones, axis=1), np.cumsum(every, axis=1))
        return _ratio((ones * np.nan_to_num(precision)).sum(axis=1), ones.sum(axis=1))

    def _one_class(self, column: int) -> tuple[Array, int]:
        """Whether each sample is of the class of a column, and the column of its decision values."""
        number = 1 if self.binary else range(len(self.classes))[column]
        return self.truth == number, 0 if self.decisions.shape[2] == 1 else number

    def _require(self, column: int, *, both: bool) -> None:
        """Refuse a curve of a class that has no sample, or, where others are needed too, all of them."""
        positive, _ = self._one_class(column)
        name = self.classes[1 if self.binary else column]
        if not positive.any():
            raise InputError(f"no sample is of class {name!r}: there is no curve of it")
        if both and positive.all():
            raise InputError(f"all samples are of class {name!r}: a curve needs others too")

    def _pooled(self, column: int) -> tuple[Array, Floats]:
        """Whether each sample is of the class of a column, and its decision value for it, in all repetitions."""
        positive, at = self._one_class(column)
        return np.tile(positive, len(self.decisions)), self.decisions[:, :, at].ravel()

    def _chances(self, column: int) -> tuple[Array, Floats]:
        if self.probabilities is None:
            raise InputError("there are no probabilities: evaluate a classifier that has some, or calibrate it")
        number = range(len(self.classes))[column]
        chances = self.probabilities[:, :, number]
        return np.tile(self.truth == number, len(chances)), chances.ravel()

    def _ascending(self, column: int) -> IsotonicRegression:
        truth, chances = self._chances(column)
        return IsotonicRegression(out_of_bounds="clip").fit(chances, truth)

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON: decision values and probabilities with six digits, groups as numbers."""

        def listed(values: Any) -> Any:
            if values is None or values.dtype.kind != "f":
                return None if values is None else values.tolist()
            return [[[None if x != x else float(f"{x:.6g}") for x in row] for row in own] for own in values.tolist()]

        names = ("truth", "predicted", "decisions", "probabilities", "folds")
        numbers = None if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        kept = {name: listed(getattr(self, name)) for name in names}
        return {"classes": list(self.classes)} | kept | {"groups": listed(numbers)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> HeldOut:
        """Restore predictions from the output of `to_dict`."""

        def array(name: str, kind: Any) -> Any:
            return None if values.get(name) is None else np.array(values[name], dtype=kind)

        return cls(
            tuple(values["classes"]),
            array("truth", np.intp),
            array("predicted", np.intp),
            array("decisions", np.float64),
            array("probabilities", np.float64),
            array("folds", np.intp),
            array("groups", np.intp),
        )


def _share(weights: Floats, of: Array, among: Array | None = None) -> Floats:
    """Weighted mean of some samples, (draws,); NaN where none is drawn."""
    own = weights if among is None else weights[:, among]
    return _ratio(own @ np.asarray(of if among is None else of[among], dtype=np.float64), own.sum(axis=1))


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0)


def _last_of_ties(values: Floats) -> Indices:
    """Position of the last of each run of equal values."""
    return np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)


def _summed(values: Floats, starts: Indices) -> Floats:
    """Sums over runs of columns, which begin at some of them."""
    return values if len(starts) == values.shape[1] else np.add.reduceat(values, starts, axis=1)


def _mean_of_known(values: Any) -> Floats:
    """Mean over the first axis of what is not NaN, (draws,); NaN where all is."""
    stacked = np.stack(values)
    known = ~np.isnan(stacked)
    return _ratio(np.where(known, stacked, 0).sum(axis=0), known.sum(axis=0).astype(np.float64))


def _ends(drawn: Floats, level: float) -> tuple[float, float]:
    """Both ends of an interval of drawn scores; NaN if none is known."""
    known = drawn[~np.isnan(drawn)]
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
    return float(low), float(high)
