"""Numbers of an evaluation, as the figures and the page show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.learners.selection import Evaluation

METRIC_NAMES = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy", "auc": "Area under the ROC curve"}
"""How people call what `Evaluation` holds."""


def chosen_C(evaluation: Evaluation) -> dict[float, int]:
    """How often each C was chosen; those that could have been and were not count 0. Empty where none was chosen."""
    values = evaluation.C[~np.isnan(evaluation.C)]
    if len(values) == 0:
        return {}
    grid = sorted({*map(float, evaluation.settings.get("C") or ()), *map(float, values)})
    return {value: int((values == value).sum()) for value in grid}


def as_percent(reference: float) -> float:
    """Take a number up to 1 as a fraction and a larger one as per cent.

    Raises
    ------
    InputError
        If it is neither.

    Examples
    --------
    >>> as_percent(85.78), as_percent(0.5)
    (85.78, 50.0)
    """
    if not 0 <= reference <= 100:
        raise InputError(f"reference is a percentage between 0 and 100 (or a fraction up to 1), not {reference!r}")
    return 100 * float(reference) if reference <= 1 else float(reference)
