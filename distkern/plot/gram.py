"""A Gram matrix as a heat map."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch

from distkern.core.typing import Floats, Indices
from distkern.plot.axes import NAMED_CLASSES, class_colours, class_legend, new_or_given, shorten
from distkern.plot.sample_order import Classes, Drawn, as_classes, as_symmetric, draw_samples, to_pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER_SHARE = 0.027
"""Height of a letter as a share of the picture; class names that do not fit beside it are in a legend."""


def plot_gram(
    gram: Any, labels: Any = None, *, ax: Axes | None = None, within: str = "similar", title: str | None = None
) -> Axes:
    """Draw a Gram matrix as a heat map, its samples ordered class by class.

    The colours span the values off the diagonal, and diverge from 0 if there are positive and negative ones. If there
    are more than 1,500 samples, every k-th sample of each class is read and drawn. If there are more than 400 pixels on
    an axis, a pixel is the mean of several entries. The text below the picture states both.

    Parameters
    ----------
    gram
        Symmetric Gram matrix, or an array of its values, (m, m). Pass ``gram.centered().unit_norm()`` to draw the
        matrix that the learners use.
    labels
        Class of each sample, (m,).
    ax
        Axes to draw on; by default those of a new figure.
    within
        Order within a class: ``"similar"`` puts similar samples side by side, ``"given"`` keeps the order of the
        matrix.
    title
        Text above the picture.

    Raises
    ------
    InputError
        If the matrix is not symmetric, or the number of labels is not that of the samples.

    See Also
    --------
    plot_kernel_pca : The same matrix as points.

    Examples
    --------
    >>> axes = plot_gram([[1.0, 0.2], [0.2, 1.0]], ["tumour", "normal"])
    >>> axes.get_xlabel()
    '2 samples'
    """
    matrix = as_symmetric(gram)
    classes = as_classes(labels, matrix)
    ax = new_or_given(ax)
    draw_gram(ax, draw_samples(matrix, classes.codes, within=within), classes)
    if title is not None:
        ax.set_title(title, parse_math=False)
    return ax


def draw_gram(ax: Axes, drawn: Drawn, classes: Classes, *, value_name: str = "k(x, y)") -> None:
    """Draw the values of chosen samples as a heat map with class strips, class names and a colour bar."""
    pixels, codes, most = to_pixels(drawn.values, drawn.codes)
    low, high, diverges = colour_limits(drawn.values)
    image = ax.imshow(
        np.clip(pixels, low, high),
        vmin=low,
        vmax=high,
        cmap="RdBu_r" if diverges else "viridis",
        interpolation="none",
        aspect="equal",
    )
    ax.set(xticks=[], yticks=[], xlabel=drawn_note(drawn, most))
    extend = ("neither", "min", "max", "both")[int(drawn.values.min() < low) + 2 * int(drawn.values.max() > high)]
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0, 0.04, 1)), extend=extend, label=value_name)
    bar.outline.set_visible(False)
    ax.spines[:].set_visible(False)
    if len(classes.names) > 1:
        _mark_classes(ax, codes, classes)


def _mark_classes(ax: Axes, codes: Indices, classes: Classes) -> None:
    """Draw strips of class colours on the left and on top, lines between classes, and the names of the classes."""
    colours = class_colours(len(classes.names))
    left, top = ax.inset_axes((-0.045, 0, 0.03, 1)), ax.inset_axes((0, 1.015, 1, 0.03))
    edges = np.array([0, *(np.flatnonzero(np.diff(codes)) + 1), len(codes)]) - 0.5
    for start, stop in pairwise(edges):
        colour = colours[codes[int(start + 0.5)]]
        left.axhspan(start, stop, color=colour, linewidth=0)
        top.axvspan(start, stop, color=colour, linewidth=0)
    left.set(xlim=(0, 1), ylim=(edges[-1], edges[0]), xticks=[], yticks=[])
    top.set(ylim=(0, 1), xlim=(edges[0], edges[-1]), xticks=[], yticks=[])
    for strip in (left, top):
        strip.spines[:].set_visible(False)
    lines = [[(edge, -0.5), (edge, len(codes) - 0.5)] for edge in edges[1:-1]]
    lines += [[(y, x) for x, y in line] for line in lines]
    for colour, width in (("white", 1.6), ("black", 0.6)):  # visible on any colour
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=width), autolim=False)
    names = [f"{shorten(name)} ({count:,})" for name, count in zip(classes.names, classes.counts, strict=True)]
    shown = [names[codes[int(start + 0.5)]] for start in edges[:-1]]
    room = np.diff(edges) / (LETTER_SHARE * len(codes))
    if all(len(name) <= letters for name, letters in zip(shown, room, strict=True)):
        middles = [(start + stop) / 2 for start, stop in pairwise(edges)]
        left.set_yticks(middles, shown, rotation=90, va="center", parse_math=False)
        left.tick_params(length=0)
        return
    if len(names) <= NAMED_CLASSES:
        class_legend(ax, [Patch(color=colour) for colour in colours], names, below=0.14)


def drawn_note(drawn: Drawn, most: int) -> str:
    """Return the text that states which samples a picture shows.

    Examples
    --------
    >>> drawn_note(Drawn(np.arange(1200), np.zeros(1200), np.eye(1200), 2400), 3).splitlines()
    ['1,200 of 2,400 samples, evenly spaced;', 'each pixel averages up to 3 × 3 entries']
    """
    some = (
        f"{len(drawn.samples):,} of {drawn.total:,} samples, evenly spaced"
        if drawn.is_part
        else f"{drawn.total:,} samples"
    )
    return some + (f";\neach pixel averages up to {most} × {most} entries" if most > 1 else "")


def colour_limits(values: Floats) -> tuple[float, float, bool]:
    """Return the lowest and the highest value of the colours, and whether the colours diverge from 0.

    The limits are those of the entries off the diagonal.

    Examples
    --------
    >>> colour_limits(np.array([[1.0, -0.2, 0.5], [-0.2, 1.0, 0.1], [0.5, 0.1, 1.0]]))
    (-0.5, 0.5, True)
    >>> colour_limits(np.array([[1.0, 0.2], [0.2, 1.0]]))
    (0.2, 1.0, False)
    """
    off = values[~np.eye(len(values), dtype=bool)] if len(values) > 1 else values.ravel()
    low, high = float(off.min()), float(off.max())
    if low < 0 < high:
        return -max(-low, high), max(-low, high), True
    if low == high:  # all entries off the diagonal are equal, so the diagonal counts too
        low, high = min(low, float(values.min())), max(high, float(values.max()))
    return low, high if high > low else low + 1.0, False
