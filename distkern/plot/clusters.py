"""Figures of a clustering: the silhouettes of the samples, and how many clusters there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.plot.axes import OKABE_ITO, class_colours, ink, new_or_given, open_frame, plain_legend, shorten
from distkern.plot.ordering import Classes, as_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.cluster_numbers import ClusterNumbers

DRAWN_STEPS = 1500
"""Of more samples than these every k-th of each cluster, in the order of its silhouettes, is drawn."""

NAMED_CLUSTERS = 8
"""More clusters than these are not named in a legend."""

Measure = Literal["silhouette", "gap", "inertia"]
MEASURES = {"silhouette": "mean silhouette", "gap": "gap statistic (± standard error)", "inertia": "inertia"}


def plot_silhouettes(silhouettes: Any, labels: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the silhouette of every sample, cluster by cluster, the largest of each first, and the mean of all.

    Parameters
    ----------
    silhouettes
        What `distkern.kernel_silhouette` returned, (m,).
    labels
        Cluster of each sample, (m,).
    sample_weight
        How many samples each one stands for, (m,): its width.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is not one label and one weight for each silhouette.

    Examples
    --------
    >>> plot_silhouettes([0.8, 0.6, 0.7], ["left", "left", "right"]).get_ylabel()
    'silhouette'
    """
    values = np.asarray(silhouettes, dtype=np.float64)
    weights = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != values.shape:
        raise InputError(f"got weights of shape {weights.shape} for {len(values)} silhouettes: give one for each")
    classes = as_classes(labels, tuple(map(str, range(len(values)))))
    ax = new_or_given(ax)
    draw_silhouettes(ax, values, classes, weights)
    return ax


def plot_cluster_numbers(numbers: ClusterNumbers, measure: Measure = "silhouette", *, ax: Axes | None = None) -> Axes:
    """Draw how good each number of clusters is.

    Parameters
    ----------
    numbers
        What `distkern.cluster_numbers` returned.
    measure
        ``"silhouette"``, ``"gap"`` with its standard error, or ``"inertia"``. A ring marks the number that the first
        two choose.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If there is no such measure, or it was not computed.

    Examples
    --------
    >>> from distkern import cluster_numbers
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> plot_cluster_numbers(cluster_numbers(np.outer(x, x), [2, 3], random_state=0)).get_ylabel()
    'mean silhouette'
    """
    if measure not in MEASURES:
        raise InputError(f"measure must be one of {', '.join(MEASURES)}; got {measure!r}")
    values, chosen = getattr(numbers, measure), None
    if measure != "inertia":
        chosen = numbers.by_gap if measure == "gap" else numbers.by_silhouette  # refuse what was not computed
    ax = new_or_given(ax)
    errors = numbers.gap_error if measure == "gap" else None
    ax.errorbar(numbers.n_clusters, values, errors, marker="o", markersize=5, color=OKABE_ITO[0], linewidth=1.4)
    if chosen is not None:
        place = numbers.n_clusters.tolist().index(chosen)
        ax.plot([chosen], [values[place]], "o", markersize=12, fillstyle="none", color=OKABE_ITO[5], mew=1.6)
    ax.set(xlabel="clusters", ylabel=MEASURES[measure])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    open_frame(ax)
    return ax


def draw_silhouettes(ax: Axes, values: Floats, classes: Classes, weights: Floats) -> None:
    """Draw the silhouettes (m,) of samples whose clusters are named and ordered already."""
    step, start, drawn, gap = max(1, -(-len(values) // DRAWN_STEPS)), 0.0, [], 0.01 * weights.sum()
    for code, colour in enumerate(class_colours(len(classes.names))):
        own = np.flatnonzero((classes.codes == code) & (weights > 0))
        own = own[np.argsort(-values[own], kind="stable")]
        edges = start + np.append(0.0, np.cumsum(weights[own]))
        places = np.arange(0, len(own), step)
        if len(own):
            ends = edges[np.append(places, len(own))]
            drawn.append(ax.stairs(values[own[places]], ends, fill=True, color=colour, linewidth=0))
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
