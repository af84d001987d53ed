"""Figures of a Gram matrix: a heat map, and the samples on its principal components.

Each function draws on the axes that it is given, or on a new figure, and returns the axes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.plot.axes import class_colours, new_or_given, open_frame, plain_legend, shorten
from distkern.plot.ordering import (
    Classes,
    Drawn,
    as_classes,
    as_symmetric,
    draw_samples,
    leading_components,
    to_pixels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^DvPX"
"""Markers of the classes, over again where there are more."""

LETTER_SHARE = 0.027
"""Height of a letter beside the picture, as a share of it; where a name does not fit, a legend has them all."""

NAMED_CLASSES = 20
"""More classes than these are not named in a figure."""


def plot_gram(
    gram: Any, labels: Any = None, *, ax: Axes | None = None, within: str = "similar", title: str | None = None
) -> Axes:
    """Draw a Gram matrix as a heat map, its samples ordered class by class.

    The colours span the values off the diagonal; they diverge from 0 where there are values on both sides of it. Of
    more than 1,500 samples every k-th of each class is read and drawn, and above 400 pixels on a side a pixel is a mean
    of several entries; the text below the picture says so.

    Parameters
    ----------
    gram
        Symmetric Gram matrix, or an array of its values, (m, m). For a view as the learners see it, pass
        ``gram.centered().unit_norm()``.
    labels
        Class of each sample, (m,).
    ax
        Axes to draw on; by default those of a new figure.
    within
        Order within a class: ``"similar"`` lays alike samples side by side, ``"given"`` keeps the order of the matrix.
    title
        Text above the picture.

    Raises
    ------
    InputError
        If the matrix is not symmetric, or there is not one label for each sample.

    Examples
    --------
    >>> axes = plot_gram([[1.0, 0.2], [0.2, 1.0]], ["tumour", "normal"])
    >>> axes.get_xlabel()
    '2 samples'
    """
    matrix = as_symmetric(gram)
    classes = as_classes(labels, matrix.ids)
    ax = new_or_given(ax)
    draw_gram(ax, draw_samples(matrix, classes.codes, within=within), classes)
    if title is not None:
        ax.set_title(title, parse_math=False)
    return ax


def plot_kernel_pca(gram: Any, labels: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the samples on the first two principal components in feature space, coloured by class.

    The components are the leading eigenvectors of the centred matrix, each times the root of its eigenvalue; the axes
    state their shares of the variance.

    Parameters
    ----------
    gram
        Symmetric Gram matrix, or an array of its values, (m, m), m ≥ 3. Of more than 1,500 samples every k-th of each
        class is read and drawn.
    labels
        Class of each sample, (m,).
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the matrix is not symmetric or has less than 3 samples, or there is not one label for each sample.

    Examples
    --------
    >>> plot_kernel_pca(np.eye(3)).get_xlabel()
    'component 1 (50.0 % of the variance)'
    """
    matrix = as_symmetric(gram)
    classes = as_classes(labels, matrix.ids)
    ax = new_or_given(ax)
    draw_kernel_pca(ax, draw_samples(matrix, classes.codes, within="given"), classes)
    return ax


# What is drawn -----------------------------------------------------------------------------------------------------


def draw_gram(ax: Axes, drawn: Drawn, classes: Classes, *, value_name: str = "k(x, y)") -> None:
    """Draw samples that were read already as a heat map with class strips, class names and a colour bar."""
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
    """Draw a strip of class colours on the left and on top, lines between classes, and the names of the classes."""
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
    for colour, width in (("white", 1.6), ("black", 0.6)):  # seen on any colour
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
        _class_legend(ax, [Patch(color=colour) for colour in colours], names, below=0.14)


def draw_kernel_pca(ax: Axes, drawn: Drawn, classes: Classes) -> None:
    """Draw samples that were read already on their first two principal components in feature space."""
    if len(drawn.samples) < 3:
        raise InputError("kernel PCA draws a plane: give 3 samples or more")
    shares, coordinates = leading_components(drawn.values, 2)
    colours = class_colours(len(classes.names))
    size = 26 if len(drawn.samples) <= 200 else 8
    handles = []
    for code, colour in enumerate(colours):
        chosen = coordinates[drawn.codes == code]
        handles.append(
            ax.scatter(
                chosen[:, 0],
                chosen[:, 1],
                s=size,
                color=colour,
                marker=MARKERS[code % len(MARKERS)],
                edgecolors=ax.get_facecolor(),
                linewidths=0.4,
                alpha=0.85,
            )
        )
    if 1 < len(colours) <= NAMED_CLASSES:
        names = [f"{shorten(name)} ({count:,})" for name, count in zip(classes.names, classes.counts, strict=True)]
        _class_legend(ax, handles, names, below=0.16, bigger=1 if size > 20 else 2)
    for axis, share, number in ((ax.xaxis, shares[0], 1), (ax.yaxis, shares[1], 2)):
        axis.set_label_text(f"component {number} ({100 * share:.1f} % of the variance)")
        axis.set_major_locator(MaxNLocator(nbins=5))
    ax.set_aspect("equal", adjustable="datalim")
    open_frame(ax)


def _class_legend(ax: Axes, handles: list[Any], names: list[str], *, below: float, bigger: float = 1) -> None:
    plain_legend(
        ax,
        handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, -below),
        ncols=min(3, len(names)),
        markerscale=bigger,
    )


def drawn_note(drawn: Drawn, most: int) -> str:
    """Say which samples a picture shows.

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
    """Values at both ends of the colours, from the entries off the diagonal, and whether the colours diverge from 0.

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
    if low == high:  # a single value off the diagonal: the diagonal gives the colours their span
        low, high = min(low, float(values.min())), max(high, float(values.max()))
    return low, high if high > low else low + 1.0, False
