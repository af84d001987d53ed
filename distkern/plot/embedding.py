"""Samples in a plane: any two coordinates of an embedding, coloured by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.alignment import SampleNames
from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.plot.axes import NAMED_CLASSES, class_colours, class_legend, new_or_given, open_frame, shorten
from distkern.plot.sample_order import Classes, as_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^DvPX"
"""Markers of the classes, repeated if there are more classes."""


def plot_embedding(
    embedding: Any,
    labels: Any = None,
    coordinates: tuple[int, int] = (0, 1),
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw samples on two coordinates of an embedding, coloured by class.

    Parameters
    ----------
    embedding
        Coordinates of the samples, (m, d), such as those of ``KernelPCA.fit_transform``, of new samples, of UMAP
        (``adata.obsm["X_umap"]``), or two scores side by side.
    labels
        Class of each sample, (m,).
    coordinates
        Positions of the coordinate to the right and of the one upwards.
    names
        Names of these two coordinates; by default the columns of a DataFrame, or positions.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the embedding is no table of finite numbers, has no such coordinate, or the number of labels is not that of
        the samples.

    See Also
    --------
    plot_kernel_pca : Components and their shares of the variance.
    distkern.KernelPCA : Coordinates to draw.

    Examples
    --------
    >>> axes = plot_embedding([[0.0, 1.0], [2.0, 1.5], [1.0, 0.0]], ["ill", "well", "ill"], names=("risk", "score"))
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('risk', 'score')
    """
    found = plain(embedding, "the embedding")
    values = as_floats(found.values, "the embedding")
    if values.ndim != 2 or not len(values):
        raise InputError(f"got an embedding of shape {values.shape}: give a row of coordinates for each sample")
    for position in coordinates:
        if not 0 <= position < values.shape[1]:
            raise InputError(f"the embedding has no coordinate {position}; it has {values.shape[1]}, counted from 0")
    shown = values[:, list(coordinates)]
    if not np.isfinite(shown).all():
        row = int(np.flatnonzero(~np.isfinite(shown).all(axis=1))[0])
        raise InputError(f"row {row} of the embedding, counted from 0, is missing or infinite: leave out such samples")
    known = found.names[1]
    if names is None:
        names = [f"coordinate {k}" if known is None else str(known[k]) for k in coordinates]
    if len(names) != 2:
        raise InputError(f"got {len(names)} names: give one to the right and one upwards")
    samples = SampleNames(len(values), found.names[0], whose="the embedding", listed="embedding.index")
    classes = as_classes(labels, samples)
    ax = new_or_given(ax)
    scatter_classes(ax, shown, classes.codes, classes)
    ax.set_xlabel(str(names[0]), parse_math=False)
    ax.set_ylabel(str(names[1]), parse_math=False)
    return ax


def scatter_classes(ax: Axes, coordinates: Floats, codes: Indices, classes: Classes) -> None:
    """Draw samples at coordinates (drawn, 2), each class with its colour and marker, and a legend of the classes."""
    colours = class_colours(len(classes.names))
    size = 26 if len(coordinates) <= 200 else 8
    handles = []
    for code, colour in enumerate(colours):
        chosen = coordinates[codes == code]
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
        class_legend(ax, handles, names, below=0.16, bigger=1 if size > 20 else 2)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5))
    open_frame(ax)
