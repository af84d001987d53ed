"""The places of items in a consensus, with the intervals of a bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from distkern.core.errors import InputError, InputTypeError
from distkern.learners.bootstrap_consensus import BootstrapConsensus
from distkern.plot.axes import OKABE_ITO, new_or_given, open_frame, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SQUARE = 420.0
"""Area of the square of a place that an item has in every resample, in points²."""

MOST = 60
"""Most items that a figure has room for."""


def plot_consensus(found: BootstrapConsensus, *, top: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the place of each item in a consensus as a dot, and the interval of its places in resamples as a line.

    The first item is at the top. The areas of grey squares are the shares of the resamples with an item at a place.

    Parameters
    ----------
    found
        Result of `distkern.bootstrap_consensus`.
    top
        Number of items from the top; by default all, up to 60.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputTypeError
        If it is something else.
    InputError
        If there are more items than a figure has room for.

    See Also
    --------
    plot_preferences : The preferences it comes from.
    distkern.bootstrap_consensus : The resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from distkern import bootstrap_consensus
    >>> votes = np.array([[3, 2, 1], [2, 3, 1]])
    >>> found = bootstrap_consensus(votes, sample_weight=[60, 40], random_state=0, n_resamples=200)
    >>> axes = plot_consensus(found)
    >>> [text.get_text() for text in axes.get_yticklabels()], axes.get_xlabel()
    (['0', '1', '2'], 'place, with 95 % of 200 resamples')
    """
    if not isinstance(found, BootstrapConsensus):
        raise InputTypeError(
            f"give the result of distkern.bootstrap_consensus, which has intervals, not a {type(found).__name__}"
        )
    n = len(found.items)
    count = n if top is None else top
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= min(n, MOST):
        raise InputError(f"top must be a number of items from 1 to {min(n, MOST)}, not {count!r}")
    order = found.consensus.order[:count]
    rows = np.arange(count)
    ax = new_or_given(ax)
    shares: Any = np.stack([np.bincount(found.places[:, item], minlength=n + 1)[1:] for item in order])
    at, place = np.nonzero(shares)
    ax.scatter(place + 1, at, s=SQUARE * shares[at, place] / found.n_resamples, marker="s", color="0.75", linewidths=0)
    low, high = found.intervals[order].T
    ax.hlines(rows, low, high, color=OKABE_ITO[0], linewidth=1.6)
    ax.plot(rows + 1, rows, "o", color=OKABE_ITO[0], markersize=5)
    ax.set_yticks(rows, [shorten(found.items[item]) for item in order], parse_math=False)
    ax.set(ylim=(count - 0.5, -0.5), xlim=(0.5, max(count, int(high.max())) + 0.5))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))
    ax.set_xlabel(f"place, with {100 * found.confidence:g} % of {found.n_resamples:,} resamples")
    ax.tick_params(axis="y", length=0)
    open_frame(ax)
    return ax
