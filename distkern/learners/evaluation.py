"""What an evaluation found: scores of every fold, predictions of samples not seen, and the p-value of a score."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats
from distkern.learners.held_out import HeldOut

METRICS = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "auc": "AUC"}
"""Scores of an evaluation, and their short names for display."""


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """A held-out score, and what the same procedure scores where labels do not belong to samples.

    Parameters
    ----------
    score
        Score of the labels as they are.
    pvalue
        (1 + number of permutations with a score at least as high) / (1 + number of permutations); or h divided by the
        number of permutations, where the test stopped at the h-th of them.
    null
        Scores of the permuted labels, (permutations,).
    scoring
        Name of the score.
    settings
        Arguments of the test.
    seconds
        Duration.

    See Also
    --------
    permutation_test : Makes it.
    """

    score: float
    pvalue: float
    null: Floats
    scoring: str
    settings: dict[str, Any]
    seconds: float

    @property
    def permutations(self) -> int:
        """Number of permutations."""
        return len(self.null)

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-ready values."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"null": self.null.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PermutationTest:
        """Restore a test from the output of `to_dict`."""
        return cls(**(values | {"null": np.array(values["null"], dtype=np.float64)}))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of every outer fold of a repeated nested cross-validation.

    Parameters
    ----------
    repeat, fold, n_test
        Number of the repeat, number of the fold within it, and number of test samples, (folds,) each.
    accuracy
        Fraction of correctly predicted test samples.
    balanced_accuracy
        Mean over the classes of the accuracy within a class; only classes with test samples count.
    auc
        Area under the ROC curve of the decision scores; for more than two classes, the mean of the one-vs-rest areas.
        NaN if all test samples of a fold have one class, which is possible with ``groups``.
    C
        Value chosen by the inner cross-validation, of the parameter ``settings["parameter"]``, which is C for support
        vector machines; NaN if none was chosen.
    classes
        The labels, sorted.
    settings
        Arguments of the evaluation.
    seconds
        Duration.
    held_out
        Predictions for the test samples of all folds: ``.scores()`` is a table of scores with intervals, and there are
        the confusion matrix and curves. None in results of earlier versions.
    permutation_test
        P-value of a score of the same procedure; None where it was not asked for.
    external
        Predictions for another cohort, by a model of all samples; None where there was none.

    See Also
    --------
    cross_validate_gram : Makes it.
    distkern.plot.plot_accuracy : The figure of its folds.
    distkern.report.write_report : Its page.

    Examples
    --------
    >>> columns = ([0, 0], [0, 1], [5, 5], [0.8, 0.6], [0.8, 0.6], [0.9, 0.7], [1.0, 1.0])
    >>> Evaluation(*map(np.array, columns), classes=("a", "b"), settings={}, seconds=0.1).mean("accuracy")
    0.7
    """

    repeat: Array
    fold: Array
    n_test: Array
    accuracy: Floats
    balanced_accuracy: Floats
    auc: Floats
    C: Floats
    classes: tuple[Any, ...]
    settings: dict[str, Any]
    seconds: float
    held_out: HeldOut | None = None
    permutation_test: PermutationTest | None = None
    external: HeldOut | None = None

    def mean(self, metric: str = "accuracy") -> float:
        """Mean over the repeats of `repeat_means`."""
        return mean_of_known(self.repeat_means(metric))

    def std(self, metric: str = "accuracy", over: str = "repeats") -> float:
        """Sample standard deviation (n − 1) of the means of the repeats, or of all folds if ``over="folds"``.

        Neither is a standard error, because folds and repeats share samples. NaN if there is only one value.
        """
        one_of(over, "over", ("repeats", "folds"))
        values = self.repeat_means(metric) if over == "repeats" else self._column(metric)
        values = values[~np.isnan(values)]
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-ready values; an undefined number becomes None."""
        out: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value = [None if item != item else item for item in value.tolist()]
            value = value.to_dict() if isinstance(value, HeldOut | PermutationTest) else value
            out[field.name] = list(value) if isinstance(value, tuple) else value
        return out

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Evaluation:
        """Restore an evaluation from the output of `to_dict`.

        Raises
        ------
        InputError
            If a field is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        parts: dict[str, Any] = {"held_out": HeldOut, "permutation_test": PermutationTest, "external": HeldOut}
        if set(values) | set(parts) != names:
            raise InputError(f"an evaluation has the fields {sorted(names)}; got {sorted(values)}")
        whole = {name: np.array(values[name], dtype=np.intp) for name in ("repeat", "fold", "n_test")}
        real = {name: np.array(values[name], dtype=np.float64) for name in (*METRICS, "C")}  # None becomes NaN
        kept = {name: values.get(name) for name in parts}
        found = {name: None if value is None else parts[name].from_dict(value) for name, value in kept.items()}
        return cls(**(values | whole | real | found | {"classes": tuple(values["classes"])}))

    def _column(self, metric: str) -> Floats:
        return getattr(self, one_of(metric, "metric", METRICS))

    def repeat_means(self, metric: str = "accuracy") -> Floats:
        """Mean over the folds of each repeat, ignoring NaN; NaN if all folds of a repeat are NaN.

        Examples
        --------
        >>> columns = ([0, 0, 1], [0, 1, 0], [5, 5, 5], [0.75, 0.25, 1.0], [1.0] * 3, [1.0] * 3, [1.0] * 3)
        >>> Evaluation(*map(np.array, columns), classes=(), settings={}, seconds=0.1).repeat_means().tolist()
        [0.5, 1.0]
        """
        values = self._column(metric)
        return np.array([mean_of_known(values[self.repeat == number]) for number in np.unique(self.repeat)])


def mean_of_known(values: Floats) -> float:
    """Mean of the values that are not NaN; NaN if all are."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
