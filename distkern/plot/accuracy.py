"""The scores of all folds of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.typing import Floats, Indices
from distkern.plot.axes import OKABE_ITO, ink, new_or_given, open_frame, plain_legend, shorten
from distkern.plot.evaluation import METRIC_NAMES, as_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.evaluation import Evaluation


def plot_accuracy(
    evaluation: Evaluation,
    *,
    reference: float | None = None,
    reference_label: str | None = None,
    metric: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of all folds by repeat, with their mean and a published number for comparison.

    Parameters
    ----------
    evaluation
        Result of `distkern.cross_validate_gram`.
    reference
        A published score for comparison, in per cent (85.78); a number up to 1 is taken as a fraction.
    reference_label
        Description of the published score.
    metric
        ``"accuracy"``, ``"balanced_accuracy"`` or ``"auc"``.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the metric is unknown, or the reference is not between 0 and 100.

    See Also
    --------
    plot_chosen_C : What the inner folds chose.
    distkern.cross_validate_gram : The evaluation.

    Examples
    --------
    >>> from distkern.learners.evaluation import Evaluation
    >>> columns = ([0, 0], [0, 1], [5, 5], [0.8, 0.6], [0.8, 0.6], [0.9, 0.7], [1.0, 1.0])
    >>> evaluation = Evaluation(*map(np.array, columns), classes=("a", "b"), settings={}, seconds=0.1)
    >>> plot_accuracy(evaluation, reference=85.78, reference_label="published").get_ylabel()
    'Accuracy of a fold (%)'
    """
    mean = 100 * evaluation.mean(metric)  # refuses an unknown metric
    percent = None if reference is None else as_percent(reference)
    ax = new_or_given(ax)
    scores = 100 * np.asarray(getattr(evaluation, metric), dtype=np.float64)
    numbers, repeat = np.unique(evaluation.repeat, return_inverse=True)
    x = np.arange(1, len(numbers) + 1)
    means = 100 * evaluation.repeat_means(metric)
    (dots,) = ax.plot(x[repeat] + _offsets(repeat), scores, "o", color=OKABE_ITO[0], alpha=0.75, markersize=4, mew=0)
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


def _offsets(repeat: Indices) -> Floats:
    """Return horizontal offsets of the folds of each repeat, so that equal scores do not overlap."""
    offsets = np.zeros(len(repeat))
    for k in np.unique(repeat):
        folds = np.flatnonzero(repeat == k)
        offsets[folds] = np.linspace(-0.28, 0.28, len(folds)) if len(folds) > 1 else 0
    return offsets
