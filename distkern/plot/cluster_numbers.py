"""The quality of clusterings against their number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from matplotlib.ticker import MaxNLocator

from distkern.core.parameters import one_of
from distkern.plot.axes import OKABE_ITO, new_or_given, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distkern.learners.cluster_numbers import ClusterNumbers

Measure = Literal["silhouette", "gap", "stability", "inertia"]
MEASURES = {
    "silhouette": "mean silhouette",
    "gap": "gap statistic (± standard error)",
    "stability": "mean stability (Jaccard)",
    "inertia": "inertia",
}


def plot_cluster_numbers(numbers: ClusterNumbers, measure: Measure = "silhouette", *, ax: Axes | None = None) -> Axes:
    """Draw a measure of quality against the number of clusters.

    Parameters
    ----------
    numbers
        Result of `distkern.cluster_numbers`.
    measure
        ``"silhouette"``, ``"gap"`` with its standard error, ``"stability"``, or ``"inertia"``. A ring marks the number
        of clusters that the measure chooses; inertia chooses none.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the measure is unknown, or was not computed.

    See Also
    --------
    plot_silhouettes : One number of clusters, sample by sample.
    distkern.cluster_numbers : The numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern import cluster_numbers
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> plot_cluster_numbers(cluster_numbers(np.outer(x, x), [2, 3], random_state=0)).get_ylabel()
    'mean silhouette'
    """
    one_of(measure, "measure", MEASURES)
    values, chosen = getattr(numbers, measure), None
    if measure != "inertia":
        chosen = getattr(numbers, f"by_{measure}")  # refuses a measure that was not computed
    ax = new_or_given(ax)
    errors = numbers.gap_error if measure == "gap" else None
    ax.errorbar(numbers.n_clusters, values, errors, marker="o", markersize=5, color=OKABE_ITO[0], linewidth=1.4)
    if chosen is not None:
        position = numbers.n_clusters.tolist().index(chosen)
        ax.plot([chosen], [values[position]], "o", markersize=12, fillstyle="none", color=OKABE_ITO[5], mew=1.6)
    ax.set(xlabel="clusters", ylabel=MEASURES[measure])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    open_frame(ax)
    return ax
