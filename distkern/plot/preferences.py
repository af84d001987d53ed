"""Pairwise preferences as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.learners.preferences import pairwise_preferences, preferred_shares
from distkern.plot.axes import new_or_given, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 12
"""Most items whose shares are written into the cells."""

MOST_NAMES = 60
"""Most items that are named."""


def plot_preferences(rankings: Any, *, order: Any = None, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the share of the voters who prefer the item of a row to that of a column.

    Above the diagonal of a good consensus most shares exceed one half. Pairs without a vote are blank.

    Parameters
    ----------
    rankings
        `distkern.Rankings`, scores (m, n), or `distkern.PairwiseVotes`.
    order
        Positions of the items from top to bottom, such as ``consensus_ranking(rankings).order``; by default by the
        share of votes that they win.
    sample_weight
        Weight of each ranking, (m,), instead of its count.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    InputError
        If the order does not hold each item once.

    See Also
    --------
    distkern.pairwise_preferences : The numbers.
    distkern.consensus_ranking : An order for the items.

    Examples
    --------
    >>> axes = plot_preferences([[3, 2, 1], [3, 1, 2], [1, 2, 3]])
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['0', '2', '1']
    """
    votes = rankings
    if not isinstance(rankings, PairwiseVotes):
        votes = pairwise_preferences(rankings, sample_weight=sample_weight)
    shares, n = preferred_shares(votes), len(votes.items)
    if order is None:
        won, lost = votes.preferred.sum(axis=1), votes.preferred.sum(axis=0)
        order = np.argsort(-np.divide(won, won + lost, out=np.full(n, 0.5), where=won + lost > 0), kind="stable")
    places = np.asarray(order)
    if places.shape != (n,) or sorted(places.tolist()) != list(range(n)):
        raise InputError(f"order must hold the positions of the {n} items, each once")
    ax = new_or_given(ax)
    drawn = shares[np.ix_(places, places)]
    image = ax.imshow(drawn, vmin=0, vmax=1, cmap="RdBu_r", interpolation="none", aspect="equal")
    names = [shorten(votes.items[place]) for place in places]
    ticks = range(n) if n <= MOST_NAMES else []
    ax.set_xticks(ticks, names if n <= MOST_NAMES else [], rotation=90, parse_math=False)
    ax.set_yticks(ticks, names if n <= MOST_NAMES else [], parse_math=False)
    ax.tick_params(length=0)
    ax.set(xlabel="… to this item", ylabel="share that prefers this item …")
    if n <= MOST_NUMBERS:
        for row, column in np.argwhere(~np.isnan(drawn)):
            value = drawn[row, column]
            dark = abs(value - 0.5) > 0.3
            ax.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=8, color="w" if dark else "k")
    bar = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0, 0.04, 1)))
    bar.outline.set_visible(False)
    ax.spines[:].set_visible(False)
    return ax
