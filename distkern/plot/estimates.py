"""Estimates with their intervals, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.plot.axes import OKABE_ITO, ink, new_or_given, open_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

WIDTH = 2.0
"""Half the width of an interval in standard errors: about 95 % for a normal distribution."""


def plot_estimates(
    names: Sequence[str],
    values: Any,
    errors: Any = None,
    *,
    intervals: Any = None,
    reference: float | None = None,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates as dots and their intervals as lines; the first is at the top.

    Parameters
    ----------
    names
        Name of each estimate, (k,).
    values
        Estimates, (k,); a line with NaN stays empty.
    errors
        Their standard errors, (k,); NaN where there is none. The intervals are ± 2 standard errors.
    intervals
        Instead of errors, the lower and the upper end of each interval, (k, 2), such as those of a bootstrap.
    reference
        A value that is drawn as a line: 0 for differences. Intervals that do not contain it are drawn in red.
    label
        Label of the axis.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If lengths differ, an error is negative, an estimate is outside of its interval, or there is nothing to draw; if
        there are both errors and intervals, or neither.

    See Also
    --------
    plot_accuracy : Scores of folds.

    Examples
    --------
    >>> plot_estimates(["BND", "SPAV"], [0.5, 3.0], [1.0, 1.0], reference=0, label="AUC gained").get_xlabel()
    'AUC gained'
    """
    means = _numbers(values, "values")
    if not len(names):
        raise InputError("there is no estimate to draw")
    if (errors is None) == (intervals is None):
        raise InputError("give either standard errors or intervals")
    ends = _around(means, names, errors) if intervals is None else _ends(means, names, intervals)
    ax = new_or_given(ax)
    apart = np.zeros(len(means), dtype=bool) if reference is None else (ends[0] > reference) | (ends[1] < reference)
    if reference is not None:
        ax.axvline(reference, color=ink(), linewidth=0.8)
    for place, (value, low, high, is_apart) in enumerate(zip(means, *ends, apart, strict=True)):
        if np.isnan(value):
            continue
        sides, colour = [[value - low], [high - value]], OKABE_ITO[5 if is_apart else 0]
        ax.errorbar(value, place, xerr=sides, fmt="o", color=colour, markersize=4.5, lw=1.4)
    ax.set_yticks(range(len(names)), list(names))
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(label)
    open_frame(ax)
    return ax


def _around(means: Floats, names: Sequence[str], errors: Any) -> Floats:
    """Ends of the intervals of ± 2 standard errors, (2, k)."""
    half = WIDTH * _numbers(errors, "errors")
    if not len(names) == len(means) == len(half):
        raise InputError(f"got {len(names)} names, {len(means)} values and {len(half)} errors: give one of each")
    if (half < 0).any():
        raise InputError("a standard error is negative: give square roots of variances")
    half = np.nan_to_num(half)
    return np.stack([means - half, means + half])


def _ends(means: Floats, names: Sequence[str], intervals: Any) -> Floats:
    """Ends of given intervals, (2, k)."""
    ends = as_floats(plain(intervals, "intervals").values, "intervals")
    if ends.shape != (len(means), 2) or len(names) != len(means):
        raise InputError(
            f"got {len(names)} names, {len(means)} values and intervals of shape {ends.shape}: give a lower and an "
            "upper end for each"
        )
    inside = (ends[:, 0] <= means) & (means <= ends[:, 1])
    if not inside[~np.isnan(means)].all():
        raise InputError("an estimate is outside of its interval: give the lower end first")
    return ends.T


def _numbers(values: Any, name: str) -> Floats:
    numbers = as_floats(plain(values, name).values, name)
    if numbers.ndim != 1:
        raise InputError(f"got {name} of shape {numbers.shape}: give one for each name")
    return numbers
