"""How many samples of each class are called what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from distkern.plot.axes import new_or_given, shorten
from distkern.plot.held_out import curves_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.held_out import HeldOut

NUMBERS = 10
"""Largest number of classes whose counts are written; of more only the colours are drawn."""


def plot_confusion(held_out: HeldOut, *, ax: Axes | None = None) -> Axes:
    """Draw the number of samples of each class (rows) by called class (columns), and its share of the row.

    Colours are the shares, so that a rare class counts as much as a frequent one. Numbers are means over the
    repetitions.

    Parameters
    ----------
    held_out
        Predictions of a `distkern.Evaluation`: its ``held_out`` or ``external``.
    ax
        Axes to draw on; by default those of a new figure.

    See Also
    --------
    plot_roc : All thresholds.
    sklearn.metrics.ConfusionMatrixDisplay : The figure from arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern.learners.held_out import HeldOut
    >>> truth, called = np.array([0, 1, 1]), np.array([[0, 1, 0]])
    >>> found = HeldOut(("ill", "well"), truth, called, np.array([[[-1.0], [2.0], [-0.5]]]))
    >>> [text.get_text().split() for text in plot_confusion(found).texts]
    [['1', '100', '%'], ['0', '0', '%'], ['1', '50', '%'], ['1', '50', '%']]
    """
    found = curves_of(held_out)[0].found
    counts = found.confusion().to_numpy()
    of_class = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, of_class, out=np.zeros_like(counts), where=of_class > 0)
    ax, places = new_or_given(ax), np.arange(len(counts))
    colours = mpl.colormaps["Blues"]
    mesh = ax.pcolormesh(shares, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1)
    if len(counts) <= NUMBERS:
        size = "x-large" if len(counts) == 2 else "medium" if len(counts) <= 5 else "small"
        for row, column in np.ndindex(*counts.shape):
            share = shares[row, column]
            words = f"{_count(counts[row, column])}\n{100 * share:.0f} %" if of_class[row, 0] else "–"
            shade = "white" if share > 0.65 else "#1c2128"
            ax.text(column + 0.5, row + 0.5, words, ha="center", va="center", color=shade, fontsize=size)
    else:
        bar = ax.figure.colorbar(mesh, cax=ax.inset_axes((1.03, 0, 0.04, 1)), label="share of the class")
        bar.outline.set_visible(False)
    names = [shorten(str(name), 18) for name in found.classes]
    slanted = sum(map(len, names)) > 30
    ax.set_xticks(places + 0.5, names, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    ax.set_yticks(places + 0.5, names)
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set_parse_math(False)
    ax.set(xlabel="called", ylabel="class", aspect="equal")
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _count(value: float) -> str:
    """Write a mean number of samples: with one decimal, unless it is whole."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"
