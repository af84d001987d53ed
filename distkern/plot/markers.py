"""The best markers of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError, InputTypeError
from distkern.core.parameters import whole_number
from distkern.plot.axes import class_colours, ink, new_or_given, open_frame, plain_legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDED = ("feature", "group", "versus", "auroc", "z", "q")
"""Columns of the table that are drawn."""

LEVELS = (0.05, 1e-4, 1e-8)
"""False discovery rates at which dots become larger."""

AREAS = (12.0, 28.0, 50.0, 80.0)
"""Areas of the dots, from q above the first level to q below the last."""

MOST_ROWS = 120
"""Most markers that a figure has room for."""


def plot_markers(table: Any, *, top: int = 5, ax: Axes | None = None) -> Axes:
    """Draw the areas under the ROC curve of the best markers of each group; the dot is larger, the smaller q is.

    Parameters
    ----------
    table
        Result of `distkern.rank_markers`, or some of its rows.
    top
        Number of features of each comparison: those with the largest z, if z is positive.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputTypeError
        If it is no such table.
    InputError
        If no feature has a positive z, or there are more markers than a figure has room for.

    See Also
    --------
    distkern.rank_markers : The table.

    Examples
    --------
    >>> from distkern import rank_markers
    >>> table = rank_markers([[0, 5], [0, 4], [3, 5], [2, 6]], ["B", "B", "T", "T"])
    >>> [text.get_text() for text in plot_markers(table, top=1).get_yticklabels()]
    ['0']
    """
    whole_number(top, "top", 1)
    lacking = [name for name in NEEDED if name not in getattr(table, "columns", ())]
    if lacking:
        raise InputTypeError(f"the table has no column {lacking[0]!r}: give the result of rank_markers")
    rows = table[table["z"] > 0].sort_values("z", ascending=False, kind="stable")
    rows = rows.groupby(["group", "versus"], observed=True, sort=True).head(top)
    if not len(rows):
        raise InputError("no feature has larger values in a group than in its opponents: there is no marker to draw")
    if len(rows) > MOST_ROWS:
        raise InputError(f"{len(rows):,} markers are too many for a figure: choose fewer with top=, or some groups")
    ax = new_or_given(ax)
    _draw(ax, rows.sort_values(["group", "versus"], kind="stable"))
    return ax


def _draw(ax: Axes, rows: Any) -> None:
    """Draw the markers, each in a line, from the top down."""
    comparisons = [f"{group} vs {versus}" for group, versus in zip(rows["group"], rows["versus"], strict=True)]
    names = list(dict.fromkeys(comparisons))
    colours = class_colours(len(names))
    levels = (rows["q"].to_numpy()[:, None] <= np.array(LEVELS)).sum(axis=1)
    heights, areas = np.arange(len(rows)), np.array(AREAS)[levels]
    handles = []
    for name, colour in zip(names, colours, strict=True):
        own = np.array([comparison == name for comparison in comparisons])
        where = rows["auroc"].to_numpy()[own], heights[own]
        handles.append(ax.scatter(*where, s=areas[own], color=colour, linewidth=0, zorder=3))
    sizes = [ax.scatter([], [], s=area, color=ink(), linewidth=0) for area in AREAS[1:]]
    plain_legend(
        ax,
        [*handles, *sizes],
        [*map(shorten, names), *(f"q ≤ {level:g}" for level in LEVELS)],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        ncols=3,
    )
    ax.set(xlabel="area under the ROC curve", ylim=(len(rows) - 0.4, -0.6))
    ax.set_yticks(heights, [shorten(str(name)) for name in rows["feature"]], parse_math=False)
    ax.axvline(0.5, color=ink(), linewidth=0.7, linestyle=(0, (4, 2)))
    ax.grid(axis="y", linewidth=0.3, zorder=0)
    open_frame(ax)
