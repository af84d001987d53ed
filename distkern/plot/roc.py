"""Curves of true against false positives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distkern.plot.axes import ink, new_or_given, open_frame
from distkern.plot.held_out import curve_legend, curves_of, positive_class, unit_square, with_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.held_out import HeldOut

BANDS = 2
"""Largest number of curves that have a band."""


def plot_roc(
    held_out: HeldOut | Mapping[str, HeldOut], *, draws: int = 300, seed: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw sensitivity against 1 − specificity for all thresholds of the decision value.

    The curve pools the folds and repetitions. The area in the legend is that of `distkern.HeldOut.auc`: of pairs of
    samples within a fold, whose decision values belong to one model. Up to two curves have a band, the 95 % interval of
    the sensitivity at each specificity.

    Parameters
    ----------
    held_out
        Predictions of a `distkern.Evaluation` (``held_out``, ``external``), or several by name: ``{"held out": …,
        "other hospital": …}``. Of several classes each has a curve, against all others; a class without samples has
        none.
    draws
        Bootstrap samples for the band; 0 for no band.
    seed
        Seed of the bootstrap.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If all samples are of one class.

    See Also
    --------
    plot_precision_recall : For rare classes.
    plot_confusion : One threshold.
    sklearn.metrics.RocCurveDisplay : The figure from arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern.learners.held_out import HeldOut
    >>> f = np.array([[-2.0, -1.0, 0.5, 1.0, 2.0]])
    >>> found = HeldOut(("ill", "well"), np.array([0, 0, 1, 0, 1]), np.array([[0, 0, 1, 1, 1]]), f[:, :, None])
    >>> [text.get_text() for text in plot_roc(found).get_legend().get_texts()]
    ['well: AUC 0.833']
    """
    curves = with_samples(curves_of(held_out), others=True)
    ax = new_or_given(ax)
    handles, names = [], []
    ax.plot([0, 1], [0, 1], color=ink(), linewidth=0.7, linestyle=(0, (1, 2)))
    for curve in curves:
        points = curve.found.roc(curve.column)
        handles += ax.plot(points["fpr"], points["tpr"], color=curve.colour, linestyle=curve.style, linewidth=1.6)
        names.append(f"{curve.name}: AUC {curve.found.auc(curve.column):.3f}")
        if draws and len(curves) <= BANDS:
            band = curve.found.roc_band(curve.column, draws=draws, seed=seed)
            ax.fill_between(band["fpr"], band["low"], band["high"], color=curve.colour, alpha=0.16, linewidth=0)
    unit_square(ax)
    ax.set_xlabel("1 − specificity")
    ax.set_ylabel(f"sensitivity: share of {positive_class(curves)} found", parse_math=False)
    curve_legend(ax, handles, names)
    open_frame(ax)
    return ax
