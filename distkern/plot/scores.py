"""Figures of an evaluation: the score of every fold, and the C that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.plot.axes import OKABE_ITO, ink, new_or_given, open_frame, plain_legend, shorten
from distkern.plot.summary import METRIC_NAMES, as_percent, chosen_C

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.selection import Evaluation


def plot_accuracy(
    evaluation: Evaluation,
    *,
    reference: float | None = None,
    reference_label: str | None = None,
    metric: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every fold, repeat by repeat, with the mean and a published number to compare with.

    Parameters
    ----------
    evaluation
        What `distkern.cross_validate_gram` returned.
    reference
        A number to compare with, in per cent as papers print it (85.78); a number up to 1 is taken as a fraction.
    reference_label
        What that number is.
    metric
        ``"accuracy"``, ``"balanced_accuracy"`` or ``"auc"``.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the metric is unknown, or the reference is not between 0 and 100.

    Examples
    --------
    >>> from distkern.learners.selection import Evaluation
    >>> columns = ([0, 0], [0, 1], [5, 5], [0.8, 0.6], [0.8, 0.6], [0.9, 0.7], [1.0, 1.0])
    >>> evaluation = Evaluation(*map(np.array, columns), classes=("a", "b"), settings={}, seconds=0.1)
    >>> plot_accuracy(evaluation, reference=85.78, reference_label="published").get_ylabel()
    'Accuracy of a fold (%)'
    """
    mean = 100 * evaluation.mean(metric)  # refuses an unknown metric
    percent = None if reference is None else as_percent(reference)
    ax = new_or_given(ax)
    scores = 100 * np.asarray(getattr(evaluation, metric), dtype=np.float64)
    numbers, place = np.unique(evaluation.repeat, return_inverse=True)
    x = np.arange(1, len(numbers) + 1)
    means = 100 * evaluation.repeat_means(metric)
    (dots,) = ax.plot(x[place] + _offsets(place), scores, "o", color=OKABE_ITO[0], alpha=0.75, markersize=4, mew=0)
    bars = ax.hlines(means, x - 0.4, x + 0.4, color=ink(), linewidth=1.4)
    handles = [dots, bars, ax.axhline(mean, color=OKABE_ITO[0], linewidth=1.4)]
    names = ["a fold", "mean of a repeat", f"mean of all: {mean:.1f} %"]
    shown = scores[~np.isnan(scores)].tolist()
    if percent is not None:
        handles.append(ax.axhline(percent, color=OKABE_ITO[5], linewidth=1.4, linestyle=(0, (4, 2))))
        names.append(f"{shorten(reference_label or 'reference', 48)}: {percent:g} %")
        shown.append(percent)
    plain_legend(ax, handles, names, loc="lower left", bbox_to_anchor=(0, 1.01), ncols=1)
    ax.set(xlabel="repeat", ylabel=f"{METRIC_NAMES[metric]} of a fold (%)", xlim=(0.4, len(numbers) + 0.6))
    ax.set_ylim(max(-2.0, min(shown, default=0.0) - 5), 102)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, steps=[1, 2, 5, 10]))
    open_frame(ax)
    return ax


def plot_chosen_C(evaluation: Evaluation, *, ax: Axes | None = None) -> Axes:
    """Draw how often the inner cross-validation chose each C.

    Parameters
    ----------
    evaluation
        What `distkern.cross_validate_gram` returned.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If nothing was chosen, because the evaluation was made with ``C=None``.

    Examples
    --------
    >>> from distkern.learners.selection import Evaluation
    >>> columns = ([0, 0], [0, 1], [5, 5], [0.8, 0.6], [0.8, 0.6], [0.9, 0.7], [1.0, 10.0])
    >>> axes = plot_chosen_C(Evaluation(*map(np.array, columns), classes=("a", "b"), settings={}, seconds=0.1))
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['1', '10']
    """
    counts = chosen_C(evaluation)
    if not counts:
        raise InputError("the evaluation chose no C: it was made with C=None")
    ax = new_or_given(ax)
    bars = ax.bar(np.arange(len(counts)), list(counts.values()), color=OKABE_ITO[0], width=0.6)
    ax.bar_label(bars, padding=2)
    ax.set_xticks(np.arange(len(counts)), [f"{value:g}" for value in counts])
    ax.set(xlabel="C chosen by the inner cross-validation", ylabel="outer folds")
    ax.set_ylim(0, 1.12 * max(counts.values()))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    open_frame(ax)
    return ax


def _offsets(place: Indices) -> Floats:
    """Spread the folds of a repeat side by side, so that equal scores do not cover each other."""
    offsets = np.zeros(len(place))
    for k in np.unique(place):
        mine = np.flatnonzero(place == k)
        offsets[mine] = np.linspace(-0.28, 0.28, len(mine)) if len(mine) > 1 else 0
    return offsets
