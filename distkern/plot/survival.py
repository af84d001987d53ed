"""Kaplan-Meier curves of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError, InputTypeError
from distkern.plot.axes import class_colours, ink, new_or_given, open_frame, plain_legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDED = ("group", "time", "at_risk", "events", "censored", "survival", "low", "high")
"""Columns of the table that are drawn."""

MOST_GROUPS = 10
"""Most groups that a figure has room for."""

NUMBERS_BELOW = 42
"""Distance of the numbers at risk below the axes, in points."""

LINE = 12
"""Height of a line of the numbers at risk, in points."""


def plot_survival(
    curves: Any, *, pvalue: float | None = None, xlabel: str = "time", order: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw Kaplan-Meier curves with bands of their limits, marks of censored times, and numbers at risk below the axis.

    Parameters
    ----------
    curves
        Result of `distkern.kaplan_meier`, or of ``.curves()`` of held-out risks.
    pvalue
        P-value of a log-rank test, which is written into the figure.
    xlabel
        What the times are, with their unit.
    order
        Groups to draw, in the order of their colours; by default all, in that of the table.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputTypeError
        If ``curves`` is something else.
    InputError
        If there are more than ten groups, or a group is not in the table.

    See Also
    --------
    distkern.kaplan_meier : The curves.
    distkern.log_rank_test : The p-value.

    Examples
    --------
    >>> from distkern import kaplan_meier
    >>> curves = kaplan_meier([2.0, 5.0, 6.0, 7.0], [1, 1, 0, 1], ["a", "a", "b", "b"])
    >>> plot_survival(curves, pvalue=0.04, xlabel="days").get_xlabel()
    'days'
    """
    table: Any = getattr(curves, "table", None)
    if any(name not in getattr(table, "columns", ()) for name in NEEDED):
        raise InputTypeError(f"give the result of kaplan_meier, not {type(curves).__name__}")
    known = list(dict.fromkeys(table["group"].tolist()))
    groups = known if order is None else list(order)
    strangers = [group for group in groups if group not in known]
    if strangers or not 1 <= len(groups) <= MOST_GROUPS:
        fault = f"there is no group {strangers[0]!r}" if strangers else f"{len(groups)} groups have no room in a figure"
        raise InputError(f"{fault}: choose at most {MOST_GROUPS} of {', '.join(map(repr, known[:10]))} with order=")
    ax = new_or_given(ax)
    colours, handles = class_colours(len(groups)), []
    for group, colour in zip(groups, colours, strict=True):
        handles.append(_draw(ax, table[table["group"] == group], colour))
    handles.append(ax.plot([], [], "|", color=ink(), markersize=6)[0])
    plain_legend(ax, handles, [*(shorten(str(group)) for group in groups), "censored"], loc="lower left")
    if pvalue is not None:
        ax.text(0.98, 0.98, f"log-rank p = {pvalue:.2g}", transform=ax.transAxes, ha="right", va="top")
    ax.set(
        xlabel=xlabel, ylabel="share without event", ylim=(0, 1.02), xlim=(0, float(table["time"].max()) * 1.02 or 1)
    )
    open_frame(ax)
    _write_numbers(ax, table, groups, colours)
    return ax


def _draw(ax: Axes, rows: Any, colour: Any) -> Any:
    """Draw the curve of a group, from (0, 1) on; return its line."""
    time = np.r_[0.0, rows["time"]]
    curve, low, high = (np.r_[1.0, rows[name]] for name in ("survival", "low", "high"))
    (line,) = ax.plot(time, curve, drawstyle="steps-post", color=colour, linewidth=1.6)
    ax.fill_between(time, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    censored = rows[rows["censored"] > 0]
    ax.plot(censored["time"], censored["survival"], "|", color=colour, markersize=6, mew=1)
    return line


def _write_numbers(ax: Axes, table: Any, groups: list[Any], colours: list[Any]) -> None:
    """Write the numbers at risk at the ticks of the axis, a line for each group."""
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    ax.set_xticks(ticks)
    _write(ax, "number at risk", low, 0, ink(), "left")
    for line, (group, colour) in enumerate(zip(groups, colours, strict=True), start=1):
        rows = table[table["group"] == group]
        left = np.r_[rows["at_risk"], 0]
        counts = left[np.searchsorted(rows["time"], ticks, side="left")]
        for tick, count in zip(ticks, counts, strict=True):
            _write(ax, f"{count:,}", tick, line, colour, "center")


def _write(ax: Axes, text: str, x: float, line: int, colour: Any, align: str) -> None:
    """Write below the axis."""
    ax.annotate(
        text,
        (x, 0),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, -NUMBERS_BELOW - line * LINE),
        textcoords="offset points",
        annotation_clip=False,
        va="center",
        ha=align,
        color=colour,
        fontsize="small",
    )
