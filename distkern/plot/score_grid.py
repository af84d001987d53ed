"""Scores against two parameters, as a heat map with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.plot.axes import OKABE_ITO, new_or_given, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 400
"""Most cells whose numbers are written."""


def plot_score_grid(
    scores: Any, *, label: str = "", best: str | None = None, decimals: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw a table of scores, a value of one parameter in each row and of another one in each column, with numbers.

    Parameters
    ----------
    scores
        DataFrame, such as ``pandas.DataFrame(search.cv_results_).pivot(index=…, columns=…, values="mean_test_score")``;
        the names of its index and of its columns label the axes. Or an array (a, b). Cells without a score are blank.
    label
        Label of the colours.
    best
        ``"largest"`` or ``"smallest"`` frames the best cell, the first of equal ones; by default none.
    decimals
        Decimals of the numbers.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If it is no table of numbers, or holds none.

    See Also
    --------
    plot_curves : One parameter.
    plot_chosen_C : What inner folds chose.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame([[61.0, 70.0], [65.0, 66.0]], index=[0.1, 1.0], columns=[1, 10])
    >>> axes = plot_score_grid(table.rename_axis(index="σ", columns="C"), label="accuracy (%)", best="largest")
    >>> axes.get_xlabel(), axes.get_ylabel(), [text.get_text() for text in axes.texts]
    ('C', 'σ', ['61', '70', '65', '66'])
    """
    if best is not None:
        one_of(best, "best", ("largest", "smallest"))
    found = plain(scores, "the scores")
    values = as_floats(found.values, "the scores")
    if values.ndim != 2 or not np.isfinite(values).any():
        raise InputError(f"got scores of shape {values.shape}: give a table of numbers, a row for each value")
    ax = new_or_given(ax)
    image = ax.imshow(values, cmap="viridis", interpolation="none", aspect="auto")
    low, high = image.get_clim()
    if values.size <= MOST_NUMBERS:
        for row, column in np.argwhere(np.isfinite(values)):
            value = values[row, column]
            shade = "k" if value > low + 0.6 * (high - low) else "w"
            ax.text(column, row, f"{value:.{decimals}f}", ha="center", va="center", fontsize="small", color=shade)
    if best is not None:
        at = np.nanargmax(values) if best == "largest" else np.nanargmin(values)
        row, column = np.unravel_index(at, values.shape)
        edges = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)]
        ax.plot(*np.add(edges, (column, row)).T, color=OKABE_ITO[5], linewidth=2, clip_on=False)
    for axis, ticks, which in ((ax.yaxis, found.names[0], "index"), (ax.xaxis, found.names[1], "columns")):
        count = values.shape[0 if which == "index" else 1]
        axis.set_ticks(range(count), [shorten(_text(name)) for name in (range(count) if ticks is None else ticks)])
        for text in axis.get_ticklabels():
            text.set_parse_math(False)
        axis.set_label_text(str(getattr(getattr(scores, which, None), "name", None) or ""), parse_math=False)
    ax.tick_params(length=0)
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0, 0.04, 1)), label=label)
    bar.outline.set_visible(False)
    ax.spines[:].set_visible(False)
    return ax


def _text(name: Any) -> str:
    """Write the value of a parameter: a number without needless digits."""
    try:
        return f"{float(name):.3g}"
    except (TypeError, ValueError):
        return str(name)
