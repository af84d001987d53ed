"""What an evaluation of survival models found: concordance of every fold, and risks of samples not seen."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.learners.held_out_risks import HeldOutRisks

PARTS = ("held_out", "external")


@dataclass(frozen=True, eq=False)
class SurvivalEvaluation:
    """Concordance of every outer fold of a repeated nested cross-validation.

    Parameters
    ----------
    repeat, fold, n_test
        Number of the repeat, number of the fold within it, and number of test samples, (folds,) each.
    found, comparable
        Twice the number of concordant pairs of test samples plus that of pairs of equal risk, and twice the number of
        comparable pairs, (folds,).
    lam
        Value chosen by the inner cross-validation; NaN if none was chosen.
    settings
        Arguments of the evaluation.
    seconds
        Duration.
    held_out
        Risks of the test samples of all folds: ``.scores()`` is a table of Harrell's and Uno's index with intervals,
        and there are Kaplan-Meier curves of risk groups with a log-rank test. None in results of earlier versions.
    external
        Risks of another cohort, by a model of all samples; None where there was none.

    See Also
    --------
    cross_validate_gram : Makes it.

    Examples
    --------
    >>> columns = ([0, 0], [0, 1], [5, 5], [12, 6], [16, 8], [0.1, 1.0])
    >>> SurvivalEvaluation(*map(np.array, columns), settings={}, seconds=0.1).mean()
    0.75
    """

    repeat: Array
    fold: Array
    n_test: Array
    found: Array
    comparable: Array
    lam: Floats
    settings: dict[str, Any]
    seconds: float
    held_out: HeldOutRisks | None = None
    external: HeldOutRisks | None = None

    @property
    def concordance(self) -> Floats:
        """Concordance index of each fold, (folds,); NaN if it has no comparable pair."""
        return np.divide(self.found, self.comparable, out=np.full(len(self.found), np.nan), where=self.comparable > 0)

    def repeat_means(self) -> Floats:
        """Concordance index of each repeat: its pairs are those within the folds, pooled."""
        numbers = np.unique(self.repeat)
        found, comparable = (
            np.array([values[self.repeat == number].sum() for number in numbers])
            for values in (self.found, self.comparable)
        )
        return np.divide(found, comparable, out=np.full(len(numbers), np.nan), where=comparable > 0)

    def mean(self) -> float:
        """Mean of the concordance indices of the repeats."""
        return float(np.nanmean(self.repeat_means()))

    def std(self) -> float:
        """Sample standard deviation of the concordance indices of the repeats; NaN for one repeat.

        It is no standard error, because repeats share samples.
        """
        values = self.repeat_means()
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-ready values; an undefined number becomes None."""
        out: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value = [None if item != item else item for item in value.tolist()]
            out[field.name] = value.to_dict() if isinstance(value, HeldOutRisks) else value
        return out

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SurvivalEvaluation:
        """Restore an evaluation from the output of `to_dict`.

        Raises
        ------
        InputError
            If a field is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        if set(values) | set(PARTS) != names:
            raise InputError(f"an evaluation of survival has the fields {sorted(names)}; got {sorted(values)}")
        whole = {name: np.array(values[name], dtype=np.intp) for name in ("repeat", "fold", "n_test")}
        real = {name: np.array(values[name], dtype=np.float64) for name in ("found", "comparable", "lam")}
        kept = {name: values.get(name) for name in PARTS}
        parts = {name: None if value is None else HeldOutRisks.from_dict(value) for name, value in kept.items()}
        return cls(**(values | whole | real | parts))
