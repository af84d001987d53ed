"""Curves of precision against recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distkern.plot.axes import new_or_given, open_frame
from distkern.plot.held_out import curve_legend, curves_of, positive_class, unit_square, with_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.held_out import HeldOut


def plot_precision_recall(held_out: HeldOut | Mapping[str, HeldOut], *, ax: Axes | None = None) -> Axes:
    """Draw precision against recall for all thresholds of the decision value, and the share of the class.

    The curve pools the folds and repetitions. Average precision, in the legend, is the mean over the repetitions. A
    dotted line is the precision of calls at random: the share of the class among the samples.

    Parameters
    ----------
    held_out
        Predictions of a `distkern.Evaluation` (``held_out``, ``external``), or several by name. Of several classes
        each has a curve, against all others; a class without samples has none.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is no curve to draw.

    See Also
    --------
    plot_roc : Sensitivity and specificity.
    sklearn.metrics.PrecisionRecallDisplay : The figure from arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern.learners.held_out import HeldOut
    >>> f = np.array([[-2.0, -1.0, 0.5, 1.0, 2.0]])
    >>> found = HeldOut(("ill", "well"), np.array([0, 0, 1, 0, 1]), np.array([[0, 0, 1, 1, 1]]), f[:, :, None])
    >>> [text.get_text() for text in plot_precision_recall(found).get_legend().get_texts()]
    ['well: average precision 0.833']
    """
    curves = with_samples(curves_of(held_out))
    ax = new_or_given(ax)
    handles, names = [], []
    for curve in curves:
        points, positive = curve.found.precision_recall(curve.column), curve.found.truth
        share = float((positive == (1 if curve.found.binary else curve.column)).mean())
        ax.axhline(share, color=curve.colour, linewidth=0.9, linestyle=(0, (1, 2)))
        handles += ax.plot(
            points["recall"],
            points["precision"],
            color=curve.colour,
            linestyle=curve.style,
            linewidth=1.6,
            drawstyle="steps-post",
        )
        names.append(f"{curve.name}: average precision {curve.found.average_precision(curve.column):.3f}")
    unit_square(ax)
    ax.set_xlabel(f"recall: share of {positive_class(curves)} found", parse_math=False)
    ax.set_ylabel("precision: share of calls that are right")
    curve_legend(ax, handles, names)
    open_frame(ax)
    return ax
