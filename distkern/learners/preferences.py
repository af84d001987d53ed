"""Pairwise preferences of voters, and what separates groups of voters most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled.consensus import preferences, ties_of
from distkern.core.errors import InputError
from distkern.core.labels import checked_labels, sorted_labels
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.parameters import whole_number
from distkern.core.typing import Floats
from distkern.core.weights import sample_weights
from distkern.learners.consensus import scores_of


def pairwise_preferences(rankings: Any, *, sample_weight: Any = None) -> PairwiseVotes:
    """Count how many voters prefer each item to each other one, Q(a, b) = Σ_i w_i [s_ia > s_ib], and how many tie them.

    Where unranked items come last, a voter prefers each ranked item to them, and has no preference between two of them;
    else the voter has none about an unranked item.

    Parameters
    ----------
    rankings
        `Rankings`, whose counts are the numbers of voters, or scores (m, n), larger = preferred.
    sample_weight
        Weight of each ranking, (m,), instead of its count.

    See Also
    --------
    group_preferences : Preferences that separate groups.
    distkern.plot.plot_preferences : The figure.

    Examples
    --------
    >>> votes = pairwise_preferences([[3, 2, 1], [3, 2, 1], [1, 3, 3]])
    >>> votes.wins
    array([[0., 2., 2.],
           [1., 0., 2.],
           [1., 0., 0.]])
    >>> votes.ties[1, 2]
    np.float64(1.0)
    """
    scores, items, counts, samples = scores_of(rankings)
    weights, _ = sample_weights(counts if sample_weight is None else sample_weight, samples)
    return _votes(scores, weights[:, None], items)[0]


def preferred_shares(votes: PairwiseVotes) -> Floats:
    """Share of the votes between two items that prefer the first, (n, n), a tie as half; NaN where there is none."""
    total = votes.wins + votes.wins.T + votes.ties
    return np.divide(votes.preferred, total, out=np.full(total.shape, np.nan), where=total > 0)


@dataclass(frozen=True, eq=False)
class GroupPreferences:
    """Preferences of groups of voters.

    Parameters
    ----------
    votes
        Pairwise preferences of each group, by its label, sorted.
    items
        DataFrame with a row for each item, the most separating first: item, for each group the share of the votes
        between this item and any other that prefer it, and the separation, the largest minus the smallest of these.
    pairs
        DataFrame with the pairs of items that separate the groups most: first, second, for each group the share that
        prefers the first, and the separation.

    See Also
    --------
    group_preferences : Makes it.
    """

    votes: dict[Any, PairwiseVotes]
    items: Any
    pairs: Any


def group_preferences(rankings: Any, labels: Any, *, k: int = 20, sample_weight: Any = None) -> GroupPreferences:
    r"""Which items, and which pairs of items, separate groups of voters most.

    .. math::

        b_g(a) = \frac{\sum_b Q_g(a, b)}{\sum_b Q_g(a, b) + Q_g(b, a)}, \qquad
        \text{separation}(a) = \max_g b_g(a) - \min_g b_g(a)

    where Q_g(a, b) is the number of voters of group g who prefer a to b, and half of those who tie them.

    Parameters
    ----------
    rankings
        `Rankings` or scores (m, n), larger = preferred.
    labels
        Group of each ranking, (m,), such as its cluster.
    k
        Number of pairs that are listed.
    sample_weight
        Weight of each ranking, (m,), instead of its count.

    Raises
    ------
    InputError
        If there is one group, or labels or weights have the names of other samples.

    See Also
    --------
    pairwise_preferences : Preferences of all voters.
    cluster_covariates : Who the voters of a group are.

    Examples
    --------
    >>> found = group_preferences([[3, 2, 1], [3, 1, 2], [1, 2, 3]], ["left", "left", "right"], k=1)
    >>> found.items.round(2)
      item  left  right  separation
    0    0  1.00    0.0        1.00
    1    2  0.25    1.0        0.75
    2    1  0.25    0.5        0.25
    >>> found.pairs
      first second  left  right  separation
    0     0      1   1.0    0.0         1.0
    """
    import pandas as pd

    whole_number(k, "k", 1)
    scores, items, counts, samples = scores_of(rankings)
    weights, kept = sample_weights(counts if sample_weight is None else sample_weight, samples)
    groups, codes = sorted_labels(checked_labels(labels, samples)[kept])
    if len(groups) < 2:
        raise InputError("all rankings are in one group: two are needed to compare")
    by_group = np.zeros((len(scores), len(groups)))
    by_group[kept, codes] = weights[kept]
    names = groups.tolist()
    votes = dict(zip(names, _votes(scores, by_group, items), strict=True))
    shares = np.stack([preferred_shares(one) for one in votes.values()])
    liked = np.stack([_liked(one) for one in votes.values()])
    order = np.argsort(-_separation(liked), kind="stable")
    of_items: dict[Any, Any] = {"item": [items[a] for a in order]} | dict(zip(names, liked[:, order], strict=True))
    of_items["separation"] = _separation(liked)[order]
    first, second = np.triu_indices(len(items), 1)
    apart = _separation(shares[:, first, second])
    best = np.argsort(-apart, kind="stable")[:k]
    best = best[apart[best] > 0]
    of_pairs: dict[Any, Any] = {
        name: [items[place] for place in places[best]] for name, places in (("first", first), ("second", second))
    }
    of_pairs |= dict(zip(names, shares[:, first[best], second[best]], strict=True))
    of_pairs["separation"] = apart[best]
    return GroupPreferences(votes, pd.DataFrame(of_items), pd.DataFrame(of_pairs))


def _votes(scores: Floats, weights: Floats, items: tuple[str, ...]) -> list[PairwiseVotes]:
    """Pairwise preferences for each column of weights; items of score −infinity are not tied with one another."""
    ranked = np.where(np.isneginf(scores), np.nan, scores)
    return [
        PairwiseVotes(items, wins, ties_of(ranked, np.ascontiguousarray(own)))
        for wins, own in zip(preferences(scores, weights), weights.T, strict=True)
    ]


def _liked(votes: PairwiseVotes) -> Floats:
    """Share of the votes between each item and any other that prefer it, (n,); NaN where there are none."""
    won, lost = votes.preferred.sum(axis=1), votes.preferred.sum(axis=0)
    return np.divide(won, won + lost, out=np.full(len(won), np.nan), where=won + lost > 0)


def _separation(shares: Floats) -> Floats:
    """Largest minus smallest share over the groups; 0 where fewer than two groups have votes."""
    known = ~np.isnan(shares)
    high = np.where(known, shares, -np.inf).max(axis=0)
    low = np.where(known, shares, np.inf).min(axis=0)
    return np.where(known.sum(axis=0) > 1, high - low, 0.0)
