"""Observed against predicted probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from distkern.plot.axes import ink, new_or_given, open_frame
from distkern.plot.held_out import Curve, curve_legend, curves_of, positive_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.held_out import HeldOut

ROW, DEEPEST = 0.14, 0.42
"""Height of the histogram of a curve, and of all of them at most."""

HISTOGRAMS = 6
"""Largest number of curves that have a histogram."""


def plot_calibration(held_out: HeldOut | Mapping[str, HeldOut], *, bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw the observed fraction of a class against its predicted probability, and how frequent this is.

    Points are bins of equal numbers of samples; their areas are proportional to these. The line is the isotonic
    regression, which needs no bins. On the diagonal, 7 of 10 samples with probability 0.7 are of the class. Bars that
    hang below 0 count the samples by their predicted probability.

    Parameters
    ----------
    held_out
        Predictions with probabilities, or several by name. Of several classes each has a curve.
    bins
        Number of bins.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there are no probabilities.

    See Also
    --------
    plot_decision_curve : What the probabilities are worth.
    distkern.train_classifier : Probabilities for samples that were held out.
    sklearn.calibration.CalibrationDisplay : The figure from arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern.learners.held_out import HeldOut
    >>> f, chances = np.zeros((1, 4, 1)), np.array([[[0.8, 0.2], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]]])
    >>> found = HeldOut(("ill", "well"), np.array([0, 1, 0, 1]), np.array([[0, 0, 1, 1]]), f, chances)
    >>> plot_calibration(found, bins=2).collections[0].get_offsets().data.round(2).tolist()
    [[0.3, 0.5], [0.7, 0.5]]
    """
    curves = curves_of(held_out)
    tables = [curve.found.calibration(bins, curve.column) for curve in curves]
    ax = new_or_given(ax)
    ax.plot([0, 1], [0, 1], color=ink(), linewidth=0.7, linestyle=(0, (1, 2)))
    most = max(table["samples"].max() for table in tables)
    handles, depth = [], min(ROW, DEEPEST / len(curves)) if len(curves) <= HISTOGRAMS else 0.0
    for number, (curve, table) in enumerate(zip(curves, tables, strict=True)):
        sizes = 60 * table["samples"] / most
        ax.scatter(table["predicted"], table["observed"], s=sizes, color=curve.colour, linewidths=0, zorder=3)
        corners = curve.found.isotonic(curve.column)
        handles += ax.plot(corners["predicted"], corners["observed"], color=curve.colour, lw=1.4, ls=curve.style)
        if depth:
            _hang_histogram(ax, curve, -0.03 - number * depth, 0.9 * depth)
    ax.axhline(0, color=ink(), linewidth=0.5)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.05 - len(curves) * depth, 1.02), yticks=np.linspace(0, 1, 6))
    ax.set_xlabel(f"predicted probability of {positive_class(curves)}", parse_math=False)
    ax.set_ylabel("observed fraction")
    curve_legend(ax, handles, [curve.name for curve in curves])
    open_frame(ax)
    return ax


def _hang_histogram(ax: Axes, curve: Curve, top: float, depth: float) -> None:
    """Draw how many samples have a probability, as bars that hang from a height."""
    assert curve.found.probabilities is not None
    counts, edges = np.histogram(curve.found.probabilities[:, :, curve.column], bins=40, range=(0, 1))
    heights = depth * counts / max(1, counts.max())
    ax.bar(edges[:-1], -heights, width=np.diff(edges), bottom=top, align="edge", color=curve.colour, linewidth=0)
