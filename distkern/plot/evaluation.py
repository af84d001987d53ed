"""Numbers of an evaluation that figures and pages show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.learners.evaluation import Evaluation

METRIC_NAMES = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy", "auc": "Area under the ROC curve"}
"""Names of the metrics of an `Evaluation`, for readers."""


def chosen_parameter(evaluation: Evaluation) -> str:
    """Name of the parameter that inner folds chose: C, or lam."""
    return str(evaluation.settings.get("parameter") or "C")


def chosen_C(evaluation: Evaluation) -> dict[float, int]:
    """Count how often each C of the grid was chosen; empty if no C was chosen."""
    values = evaluation.C[~np.isnan(evaluation.C)]
    if len(values) == 0:
        return {}
    grid = sorted({*map(float, evaluation.settings.get("C") or ()), *map(float, values)})
    return {value: int((values == value).sum()) for value in grid}


def as_percent(reference: float) -> float:
    """Convert a fraction, a number up to 1, to per cent; larger numbers are per cent already.

    Raises
    ------
    InputError
        If the number is not between 0 and 100.

    Examples
    --------
    >>> as_percent(85.78), as_percent(0.5)
    (85.78, 50.0)
    """
    if not 0 <= reference <= 100:
        raise InputError(f"reference is a percentage between 0 and 100 (or a fraction up to 1), not {reference!r}")
    return 100 * float(reference) if reference <= 1 else float(reference)
