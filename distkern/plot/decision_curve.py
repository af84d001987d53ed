"""Net benefit of treating by a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distkern.plot.axes import ink, new_or_given, open_frame
from distkern.plot.held_out import curve_legend, curves_of, positive_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.held_out import HeldOut


def plot_decision_curve(held_out: HeldOut | Mapping[str, HeldOut], *, ax: Axes | None = None) -> Axes:
    """Draw the net benefit TP/m − FP/m · t/(1 − t) of treating where the probability of a class is above t.

    A model is worth using at the t at which its curve is above both others: treating all (dashed), and treating none
    (zero). t is the probability at which a reader would be indifferent: t = 0.2 if to treat four in vain is as bad as
    to miss one.

    Source: Vickers & Elkin, *Decision curve analysis* (2006).

    Parameters
    ----------
    held_out
        Predictions with probabilities, or several by name. Of several classes each has a curve.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there are no probabilities.

    See Also
    --------
    plot_calibration : Whether the probabilities are right.
    distkern.train_classifier : Probabilities for samples that were held out.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern.learners.held_out import HeldOut
    >>> f, chances = np.zeros((1, 4, 1)), np.array([[[0.8, 0.2], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8]]])
    >>> found = HeldOut(("ill", "well"), np.array([0, 1, 0, 1]), np.array([[0, 0, 1, 1]]), f, chances)
    >>> [text.get_text() for text in plot_decision_curve(found).get_legend().get_texts()]
    ['well', 'treating all']
    """
    curves = curves_of(held_out)
    tables = [curve.found.net_benefit(column=curve.column) for curve in curves]
    ax = new_or_given(ax)
    handles, names = [], []
    for curve, table in zip(curves, tables, strict=True):
        colour = ink() if len(curves) == 1 else curve.colour
        (every,) = ax.plot(table["threshold"], table["all"], color=colour, linewidth=0.9, linestyle=(0, (2, 2)))
        handles += ax.plot(table["threshold"], table["model"], color=curve.colour, linestyle=curve.style, linewidth=1.6)
        names.append(curve.name)
    ax.axhline(0, color=ink(), linewidth=0.7)
    top = max(float(table[["model", "all"]].max(axis=None)) for table in tables)
    ax.set(xlim=(0, 1), ylim=(-0.12 * top, 1.05 * top))
    ax.set_xlabel(f"least probability of {positive_class(curves)} to treat", parse_math=False)
    ax.set_ylabel("net benefit")
    curve_legend(ax, [*handles, every], [*names, "treating all"])
    open_frame(ax)
    return ax
