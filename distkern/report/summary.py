"""Numbers of an evaluation, as the figures and the page show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats

if TYPE_CHECKING:
    from distkern.learners.selection import Evaluation

METRIC_NAMES = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy", "auc": "Area under the ROC curve"}
"""How people call what `Evaluation` holds."""


def repeat_means(evaluation: Evaluation, metric: str) -> Floats:
    """Mean over the folds of each repeat; NaN where every fold of a repeat is undefined.

    Examples
    --------
    >>> from distkern.learners.selection import Evaluation
    >>> columns = ([0, 0, 1], [0, 1, 0], [5, 5, 5], [0.75, 0.25, 1.0], [1.0] * 3, [1.0] * 3, [1.0] * 3)
    >>> repeat_means(Evaluation(*map(np.array, columns), classes=(), settings={}, seconds=0.1), "accuracy").tolist()
    [0.5, 1.0]
    """
    scores = np.asarray(getattr(evaluation, metric), dtype=np.float64)
    place = np.unique(evaluation.repeat, return_inverse=True)[1]
    known = ~np.isnan(scores)
    counts = np.bincount(place, known)
    sums = np.bincount(place, np.where(known, scores, 0.0))
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


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
