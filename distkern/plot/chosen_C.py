"""The values of C that inner cross-validations chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.errors import InputError
from distkern.plot.axes import OKABE_ITO, new_or_given, open_frame
from distkern.plot.evaluation import chosen_C, chosen_parameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.evaluation import Evaluation


def plot_chosen_C(evaluation: Evaluation, *, ax: Axes | None = None) -> Axes:
    """Draw how often the inner cross-validation chose each C, or lam.

    Parameters
    ----------
    evaluation
        Result of `distkern.cross_validate_gram`.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the evaluation was made with ``C=None``, so that no C was chosen.

    See Also
    --------
    plot_accuracy : The scores.
    distkern.cross_validate_gram : The evaluation.

    Examples
    --------
    >>> from distkern.learners.evaluation import Evaluation
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
    ax.set(xlabel=f"{chosen_parameter(evaluation)} chosen by the inner cross-validation", ylabel="outer folds")
    ax.set_ylim(0, 1.12 * max(counts.values()))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    open_frame(ax)
    return ax
