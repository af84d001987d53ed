"""The silhouettes of the samples of a clustering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.alignment import SampleNames
from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.core.weights import sample_weights
from distkern.plot.axes import class_colours, ink, new_or_given, open_frame, plain_legend, shorten
from distkern.plot.sample_order import Classes, as_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN_STEPS = 1500
"""If there are more samples, every k-th sample of each cluster is drawn, in the order of the silhouettes."""

NAMED_CLUSTERS = 8
"""Largest number of clusters that a legend names."""


def plot_silhouettes(silhouettes: Any, labels: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the silhouettes of all samples by cluster, in descending order within a cluster, and their mean.

    Parameters
    ----------
    silhouettes
        Silhouettes from `distkern.kernel_silhouette`, (m,).
    labels
        Cluster of each sample, (m,).
    sample_weight
        Number of samples that each sample represents, (m,); the width of its bar.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the number of labels or weights is not that of the silhouettes, a label is missing, a weight is negative or
        missing, or they have the names of other samples.

    See Also
    --------
    plot_cluster_numbers : Means for several numbers of clusters.
    distkern.kernel_silhouette : The values.

    Examples
    --------
    >>> plot_silhouettes([0.8, 0.6, 0.7], ["left", "left", "right"]).get_ylabel()
    'silhouette'
    """
    found = plain(silhouettes, "silhouettes")
    values = as_floats(found.values, "silhouettes")
    if values.ndim != 1:
        raise InputError(f"got silhouettes of shape {values.shape}: give one for each sample")
    samples = SampleNames(len(values), found.names[0], whose="the silhouettes", listed="silhouettes.index")
    weights, _ = sample_weights(sample_weight, samples)
    classes = as_classes(labels, samples)
    ax = new_or_given(ax)
    draw_silhouettes(ax, values, classes, weights)
    return ax


def draw_silhouettes(ax: Axes, values: Floats, classes: Classes, weights: Floats) -> None:
    """Draw the silhouettes (m,) of samples of named clusters."""
    step, start, drawn, gap = max(1, -(-len(values) // DRAWN_STEPS)), 0.0, [], 0.01 * weights.sum()
    for code, colour in enumerate(class_colours(len(classes.names))):
        own = np.flatnonzero((classes.codes == code) & (weights > 0))
        own = own[np.argsort(-values[own], kind="stable")]
        edges = start + np.append(0.0, np.cumsum(weights[own]))
        starts = np.arange(0, len(own), step)
        if len(own):
            ends = edges[np.append(starts, len(own))]
            drawn.append(ax.stairs(values[own[starts]], ends, fill=True, color=colour, linewidth=0))
            start = edges[-1] + gap
    mean = float(np.average(values, weights=weights))
    line = ax.axhline(mean, color=ink(), linewidth=1.2, linestyle=(0, (4, 2)))
    names = [f"{shorten(name)} ({count:,})" for name, count in zip(classes.names, classes.counts, strict=True) if count]
    shown = len(drawn) <= NAMED_CLUSTERS
    plain_legend(
        ax,
        [*(drawn if shown else ()), line],
        [*(names if shown else ()), f"mean of all: {mean:.3f}"],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
        ncols=3,
    )
    ax.set(xlabel="samples, cluster by cluster", ylabel="silhouette", xticks=[])
    ax.axhline(0, color=ink(), linewidth=0.7)
    ax.margins(x=0.01)
    open_frame(ax)
