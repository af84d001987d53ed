"""What the page of a clustering says of the rankings of each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.typing import Floats, Indices, Spec
from distkern.io.source import Source
from distkern.report import content

if TYPE_CHECKING:
    from distkern.learners.bootstrap_consensus import BootstrapConsensus
    from distkern.learners.consensus import Consensus
    from distkern.learners.preferences import GroupPreferences

LISTED_ITEMS = 12
"""Largest number of items of a ranking that the page names."""

HEAT_MAP_ITEMS = 60
"""Largest number of items whose pairwise preferences are drawn."""


def ranking_parts(
    medoids: Indices,
    labels: Indices,
    weights: Floats,
    ids: tuple[str, ...],
    rankings: dict[int, Consensus],
    ballots: Source | None,
    certainty: dict[int, BootstrapConsensus] | None,
) -> tuple[dict[str, Any], Spec]:
    """Values for the template, and pictures by name.

    Parameters
    ----------
    medoids, labels, weights, ids
        Position of the medoid of each cluster; cluster, weight and name of each sample.
    rankings, certainty
        Consensus ranking, and those of resamples, by label of the cluster.
    ballots
        The samples as scores, larger = preferred; None where they are not known.
    """
    values: dict[str, Any] = {
        "rankings": _ranking_rows(medoids, rankings, ballots, ids),
        "certainty": [(f"Cluster {label}", _place_rows(found)) for label, found in sorted((certainty or {}).items())],
        "separating": [],
        "separated": [],
        "preferences": [],
    }
    if ballots is None or len(np.unique(labels[weights > 0])) < 2:
        return values, {}
    from distkern.learners.preferences import group_preferences

    found = group_preferences(ballots, labels, sample_weight=weights)
    pictures = _preference_pictures(found, rankings) if len(found.items) <= HEAT_MAP_ITEMS else {}
    values["separating"], values["separated"] = _separating_rows(found), [f"Cluster {label}" for label in found.votes]
    values["preferences"] = [(name, f"Cluster {name.rsplit(' ', 1)[1]}") for name in pictures]
    return values, pictures


def _ranking_rows(
    medoids: Indices, rankings: dict[int, Consensus], ballots: Source | None, ids: tuple[str, ...]
) -> content.Rows:
    """Return per cluster its consensus ranking and, if the samples are known, the ranking of its medoid."""
    rows = []
    for cluster, medoid in enumerate(medoids):
        if cluster not in rankings:
            continue
        ranking = rankings[cluster]
        pairs = len(ranking.items) * (len(ranking.items) - 1) // 2
        apart = f"{ranking.distance / ranking.voters:.4g} of {pairs:,} pairs discordant on average"
        rows.append((f"Cluster {cluster}, consensus ({ranking.method})", f"{_shortened(list(ranking.items))}; {apart}"))
        if ballots is not None and medoid >= 0:
            names = ballots.features or tuple(map(str, range(ballots.shape[1])))
            rows.append((f"Cluster {cluster}, medoid {ids[medoid]}", ranking_words(ballots.read([medoid])[0], names)))
    return rows


def ranking_words(scores: Floats, names: tuple[str, ...]) -> str:
    """Write the scores of items, larger = preferred, as a ranking with ties; items with NaN are left out.

    Examples
    --------
    >>> ranking_words(np.array([2.0, 3.0, 2.0, np.nan]), ("a", "b", "c", "d"))
    'b > a = c'
    """
    ranked = np.flatnonzero(~np.isnan(scores))
    values = np.unique(scores[ranked])[::-1]
    return _shortened([" = ".join(names[item] for item in ranked[scores[ranked] == value]) for value in values])


def _shortened(items: list[str]) -> str:
    more = len(items) - LISTED_ITEMS
    return " > ".join(items[:LISTED_ITEMS]) + (f" > … ({more:,} more)" if more > 0 else "")


def _place_rows(found: BootstrapConsensus) -> list[list[str]]:
    """Rows of a table of places: item, place, interval, share of the resamples that it wins."""
    return [
        [
            row["item"],
            f"{row['place']}",
            f"{row['lowest']} to {row['highest']}",
            f"{row['first']:.0%}".replace("%", " %"),
        ]
        for row in found.rows()[:LISTED_ITEMS]
    ]


def _separating_rows(found: GroupPreferences) -> list[list[str]]:
    """Rows of a table of the items that separate the clusters most: the share of votes that prefer each."""
    groups = list(found.votes)
    return [
        [str(row["item"]), *(f"{100 * row[group]:.0f} %" if row[group] == row[group] else "–" for group in groups)]
        for row in found.items.head(LISTED_ITEMS).to_dict("records")
    ]


def _preference_pictures(found: GroupPreferences, rankings: dict[int, Consensus]) -> Spec:
    """A heat map of pairwise preferences for each cluster, in the order of its consensus."""
    from distkern.plot.preferences import plot_preferences
    from distkern.plot.svg import picture

    pictures: Spec = {}
    for label, votes in found.votes.items():
        if label in rankings:
            name, order = f"preferences {label}", rankings[label].order
            pictures[name] = picture(
                lambda ax, votes=votes, order=order: plot_preferences(votes, order=order, ax=ax),  # type: ignore[misc]
                name=name,
                alt=f"Heat map of the shares of cluster {label} that prefer one item to another.",
            )
    return pictures
