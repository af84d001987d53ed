"""A tree of samples by their distances in feature space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.plot.axes import OKABE_ITO, new_or_given, open_frame
from distkern.plot.sample_order import as_symmetric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 200
"""Most samples that a figure has room for."""


def plot_dendrogram(
    gram: Any, names: Sequence[Any] | None = None, *, method: str = "average", ax: Axes | None = None
) -> Axes:
    """Draw the tree of a hierarchical clustering of samples by d(x, y)² = k(x, x) + k(y, y) − 2 k(x, y).

    Parameters
    ----------
    gram
        Symmetric Gram matrix, or an array of its values, (m, m), 2 ≤ m ≤ 200.
    names
        Names of the samples, (m,); by default the names in the matrix, or positions.
    method
        Distance of two groups: ``"average"`` of their samples, ``"complete"``, the largest one, or ``"single"``, the
        smallest one.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the matrix is not symmetric, has one sample or more than 200, or the number of names is not that of the
        samples.

    See Also
    --------
    plot_gram : The matrix itself.
    plot_kernel_pca : A map.

    Examples
    --------
    >>> axes = plot_dendrogram([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]], ["B", "T", "monocyte"])
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['monocyte', 'B', 'T']
    """
    one_of(method, "method", ("average", "complete", "single"))
    matrix = as_symmetric(gram)
    m = len(matrix)
    if not 2 <= m <= MOST:
        raise InputError(f"a tree is drawn of 2 to {MOST} samples, not of {m:,}: give some of them, or bags of them")
    called = list(map(str, names if names is not None else matrix.ids or range(m)))
    if len(called) != m:
        raise InputError(f"got {len(called)} names for {m} samples: give one for each")
    everything = np.arange(m)
    values = matrix.block(everything, everything)
    own = values.diagonal()
    squares = np.maximum(own[:, None] + own - 2 * values, 0.0)
    np.fill_diagonal(squares, 0.0)
    ax = new_or_given(ax)
    dendrogram(
        linkage(squareform(np.sqrt((squares + squares.T) / 2)), method),
        orientation="left",
        labels=called,
        ax=ax,
        color_threshold=0,
        above_threshold_color=OKABE_ITO[0],
    )
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
        text.set_fontsize("medium" if m <= 30 else "x-small")
    ax.set_xlabel("distance in feature space")
    ax.tick_params(axis="y", length=0)
    open_frame(ax)
    ax.spines["left"].set_visible(False)
    return ax
