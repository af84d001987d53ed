"""Where two bags differ: their points, coloured by the witness function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from distkern.core.errors import InputError
from distkern.kernels.bags.witness import Witness
from distkern.plot.axes import ink, new_or_given, open_frame, plain_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 4_000
"""Most points of each bag that are drawn; every k-th is drawn of more."""


def plot_witness(
    found: Witness,
    coordinates: tuple[int, int] = (0, 1),
    *,
    names: tuple[str, str] = ("first", "second"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the points of two bags on two of their coordinates, coloured by the witness function.

    Red points are where the first has more, blue points where the second has more; circles belong to the first,
    crosses to the second. Of more than 4,000 points of one, every k-th is drawn. Points in one dimension are drawn
    against the value of the function.

    Parameters
    ----------
    found
        From `distkern.witness`.
    coordinates
        Positions of the coordinate to the right and of the one upwards.
    names
        Names of the first and of the second, for the legend.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the points have no such coordinate.

    See Also
    --------
    distkern.witness : The function.

    Examples
    --------
    >>> from distkern import Gaussian, MeanMap, witness
    >>> found = witness([[0.0, 1.0], [2.0, 1.0]], [[0.0, 1.0]], MeanMap(Gaussian(1.0)))
    >>> plot_witness(found).get_xlabel()
    'coordinate 0'
    """
    d = found.first.dimensions
    for position in coordinates if d > 1 else ():
        if not 0 <= position < d:
            raise InputError(f"the points have no coordinate {position}; they have {d}, counted from 0")
    ax = new_or_given(ax)
    largest = float(max(np.abs(found.of_first).max(), np.abs(found.of_second).max())) or 1.0
    handles = []
    for bags, values, marker in ((found.first, found.of_first, "o"), (found.second, found.of_second, "x")):
        step = -(-len(values) // MOST)
        points, shown = bags.values[::step], values[::step]
        x, y = (points[:, 0], shown) if d == 1 else (points[:, at] for at in coordinates)
        size = 26 if len(shown) <= 200 else 8
        handles.append(
            ax.scatter(x, y, c=shown, s=size, marker=marker, cmap="RdBu_r", vmin=-largest, vmax=largest, linewidths=0.8)
        )
    keys = [Line2D([], [], color=ink(), marker=marker, linestyle="none", markersize=5) for marker in "ox"]
    plain_legend(ax, keys, list(names), loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    bar = ax.figure.colorbar(handles[0], cax=ax.inset_axes((1.03, 0, 0.04, 1)), label="witness function")
    bar.outline.set_visible(False)
    across, upwards = (0, None) if d == 1 else coordinates
    ax.set(xlabel=f"coordinate {across}", ylabel="witness function" if upwards is None else f"coordinate {upwards}")
    open_frame(ax)
    return ax
