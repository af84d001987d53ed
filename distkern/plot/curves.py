"""Numbers against a parameter, a curve for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.transforms import ScaledTranslation

from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.core.typing import Floats
from distkern.plot.axes import OKABE_ITO, class_colours, ink, new_or_given, open_frame, plain_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKED = 50
"""Most points of a curve that have markers."""

INSIDE = 5
"""Most names of a legend inside the axes, if all are short; another one is below them."""

BELOW = -36
"""Distance of such a legend from the axes, in points."""

WIDE = 24
"""Most letters of a short name. If one is longer, names are one below the other."""

DASHES: tuple[Any, ...] = ((0, (4, 2)), (0, (1, 2)), (0, (6, 2, 1, 2)), "-")
"""Styles of horizontal lines, in turn."""


def plot_curves(
    curves: Mapping[str, Any],
    *,
    xlabel: str = "",
    ylabel: str = "",
    log: str = "none",
    reference: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    chosen: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw curves by name: scores against a parameter, errors against a number of landmarks, progress against time.

    Parameters
    ----------
    curves
        By name: x and y, (k,) each, and the spread of y, (k,), if it has one, which is drawn as a band y ± spread.
        Points are drawn in ascending order of x; those whose y is NaN are left out.
    xlabel, ylabel
        Labels of the axes.
    log
        Axes with a logarithmic scale: ``"none"``, ``"x"``, ``"y"`` or ``"both"``.
    reference
        Values of y by name, drawn as horizontal lines: a published score, chance.
    at
        Values of x by name, drawn as vertical lines with their names.
    chosen
        By name of a curve, the values of x that a procedure chose: their points have a ring.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is no curve, x and y have different lengths, a spread is negative, a chosen value is no point of its
        curve, or a logarithmic axis would have a number that is not positive.

    See Also
    --------
    plot_score_grid : Two parameters.
    plot_comparison : Methods beside each other.

    Examples
    --------
    >>> widths, accuracy = [1.0, 10.0, 100.0], [62.0, 70.0, 65.0]
    >>> axes = plot_curves({"smoothed": (widths, accuracy)}, log="x", reference={"Kendall": 64.0}, ylabel="accuracy")
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['smoothed', 'Kendall']
    """
    one_of(log, "log", ("none", "x", "y", "both"))
    if not len(curves):
        raise InputError("there is no curve to draw")
    read = {str(name): _points(str(name), curve, log) for name, curve in curves.items()}
    rings = {name: _rings(name, read, values) for name, values in (chosen or {}).items()}
    ax = new_or_given(ax)
    ax.set(
        xscale="log" if log in ("x", "both") else "linear",
        yscale="log" if log in ("y", "both") else "linear",
        xlabel=xlabel,
        ylabel=ylabel,
    )
    handles: list[Any] = []
    for (name, (x, y, spread)), colour, marker in zip(
        read.items(), class_colours(len(read)), cycle("os^Dv"), strict=False
    ):
        if spread is not None:
            ax.fill_between(x, y - spread, y + spread, color=colour, alpha=0.16, linewidth=0)
        shown = marker if len(x) <= MARKED else None
        handles += ax.plot(x, y, color=colour, linewidth=1.6, marker=shown, markersize=4)
        if name in rings:
            ax.plot(*rings[name], "o", markersize=10, fillstyle="none", color=colour, mew=1.4)
    for value, dashes in zip((reference or {}).values(), cycle(DASHES), strict=False):
        handles.append(ax.axhline(value, color=ink(), linewidth=0.9, linestyle=dashes))
    for name, value in (at or {}).items():
        ax.axvline(value, color=OKABE_ITO[5], linewidth=0.9)
        ax.annotate(
            str(name),
            (value, 0.02),
            xycoords=("data", "axes fraction"),
            rotation=90,
            ha="right",
            va="bottom",
            fontsize="small",
            color=OKABE_ITO[5],
            parse_math=False,
        )
    names = [*read, *map(str, reference or {})]
    if len(names) > 1:
        inside = len(names) <= INSIDE and max(map(len, names)) <= WIDE
        plain_legend(ax, handles, names, **({"loc": "best"} if inside else _below(ax, names)))
    open_frame(ax)
    return ax


def _below(ax: Axes, names: Sequence[str]) -> dict[str, Any]:
    """Return the place of a legend below the label of the axis, whatever the height of the axes."""
    place = ax.transAxes + ScaledTranslation(0, BELOW / 72, ax.figure.dpi_scale_trans)
    ncols = 1 if max(map(len, names)) > WIDE else 3
    return {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": place, "ncols": ncols}


def _points(name: str, curve: Any, log: str) -> tuple[Floats, Floats, Floats | None]:
    """Return x, y and the spread of a curve, in ascending order of x, without the points that have no y."""
    parts = list(curve)
    if len(parts) not in (2, 3):
        raise InputError(f"the curve {name!r} has {len(parts)} parts: give x and y, and the spread of y if it has one")
    x, y, *spread = (as_floats(plain(part, f"the curve {name!r}").values, f"the curve {name!r}") for part in parts)
    if x.ndim != 1 or any(part.shape != x.shape for part in (y, *spread)):
        shapes = ", ".join(str(part.shape) for part in (x, y, *spread))
        raise InputError(f"the parts of the curve {name!r} have the shapes {shapes}: give one number for each point")
    if spread and (spread[0] < 0).any():
        raise InputError(f"a spread of the curve {name!r} is negative: give standard deviations or errors")
    order = np.argsort(x, kind="stable")
    order = order[np.isfinite(x[order]) & np.isfinite(y[order])]
    if not len(order):
        raise InputError(f"the curve {name!r} has no point to draw")
    for axis, values in (("x", x), ("y", y)):
        if log in (axis, "both") and (values[order] <= 0).any():
            raise InputError(
                f"the curve {name!r} has a value of {axis} that is not positive: a logarithmic axis cannot show it"
            )
    return x[order], y[order], np.nan_to_num(spread[0][order]) if spread else None


def _rings(name: str, curves: Mapping[str, tuple[Floats, Floats, Any]], values: Sequence[float]) -> Any:
    """Return x and y of the chosen points of a curve."""
    if name not in curves:
        raise InputError(f"no curve is named {name!r}: there are {', '.join(map(repr, curves))}")
    x, y, _ = curves[name]
    wanted = np.asarray(values, dtype=np.float64).ravel()
    unknown = wanted[~np.isin(wanted, x)]
    if len(unknown):
        raise InputError(f"the curve {name!r} has no point at the chosen {unknown[0]:g}")
    places = np.flatnonzero(np.isin(x, wanted))
    return x[places], y[places]
