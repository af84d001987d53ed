"""Methods beside each other, each with its scores on several data sets or folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.plot.axes import OKABE_ITO, ink, new_or_given, open_frame, plain_legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 40
"""Most methods that a figure has room for."""


def plot_comparison(
    scores: Mapping[str, Any],
    *,
    others: Mapping[str, Any] | None = None,
    others_label: str = "published",
    label: str = "score",
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of methods as boxes: quartiles and median, whiskers to the lowest and to the highest score.

    Parameters
    ----------
    scores
        By name of the method, its scores on several data sets, folds or repetitions, such as
        ``evaluation.repeat_means("accuracy")``; or a DataFrame with a column for each method. Missing ones are left
        out. The methods are drawn in this order.
    others
        Further scores of some of the methods, such as published ones, drawn as grey dots.
    others_label
        What they are.
    label
        Label of the axis.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is no method or there are more than 40, one has no score, or there are other scores of an unknown
        method.

    See Also
    --------
    plot_accuracy : The folds of one method.
    plot_estimates : Estimates with intervals.

    Examples
    --------
    >>> axes = plot_comparison({"Kendall": [0.8, 0.9, 0.85], "linear": [0.7, 0.9, 0.6]}, label="accuracy")
    >>> [text.get_text() for text in axes.get_xticklabels()]
    ['Kendall', 'linear']
    """
    methods = list(scores)  # of a DataFrame its columns
    if not 1 <= len(methods) <= MOST:
        raise InputError(f"a figure has room for 1 to {MOST} methods, not for {len(methods)}: give some of them")
    known = {str(name): _numbers(name, scores[name]) for name in methods}
    beside = {str(name): _numbers(name, others[name]) for name in others} if others is not None else {}
    unknown = [name for name in beside if name not in known]
    if unknown:
        raise InputError(f"there are other scores of {unknown[0]!r}, which is not among the methods: correct the name")
    ax = new_or_given(ax)
    places = np.arange(len(known))
    median = {"color": OKABE_ITO[0], "linewidth": 1.6}
    ax.boxplot(list(known.values()), positions=places, widths=0.6, whis=(0, 100), medianprops=median)
    if beside:
        at = [k for k, name in enumerate(known) for _ in beside.get(name, ())]
        drawn = np.concatenate([beside[name] for name in known if name in beside])
        (dots,) = ax.plot(at, drawn, "o", color="0.6", markersize=4, zorder=0)
        plain_legend(ax, [dots], [others_label], loc="lower left", bbox_to_anchor=(0, 1.01))
    slanted = len(known) > 4
    names = [shorten(name) for name in known]
    ax.set_xticks(places, names, rotation=60 if slanted else 0, ha="right" if slanted else "center", parse_math=False)
    if slanted:
        for text in ax.get_xticklabels():
            text.set_rotation_mode("anchor")
    ax.set_ylabel(label, parse_math=False)
    ax.tick_params(axis="x", length=0, color=ink())
    open_frame(ax)
    return ax


def _numbers(name: Any, values: Any) -> Floats:
    found = as_floats(plain(values, f"the scores of {name!r}").values, f"the scores of {name!r}").ravel()
    found = found[~np.isnan(found)]
    if not len(found):
        raise InputError(f"the method {name!r} has no score: leave it out")
    return found
