"""Consensus rankings by Borda's and Kemeny's rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.compiled.consensus import EXACT_ITEMS, contradicted, improve_order, kemeny_order, preferences
from distkern.core.alignment import SampleNames
from distkern.core.errors import InputError
from distkern.core.labels import checked_labels, sorted_labels
from distkern.core.parameters import one_of
from distkern.core.rankings import Rankings
from distkern.core.typing import Array, Floats, Indices
from distkern.core.weights import sample_weights
from distkern.io.source import as_source
from distkern.learners.validation import cohort_names

Method = Literal["borda", "kemeny", "local-search"]
METHODS = ("borda", "kemeny", "local-search")


@dataclass(frozen=True)
class Consensus:
    """A consensus ranking.

    Parameters
    ----------
    order
        Positions of the items, best first, (n,).
    items
        Names of the items, best first.
    distance
        Total number of discordant pairs between this ranking and the rankings of the voters, weighted.
    voters
        Total weight of the voters.
    method
        Rule that defines the ranking.
    """

    order: Indices
    items: tuple[str, ...]
    distance: float
    voters: float
    method: Method

    @property
    def values(self) -> Floats:
        """Value of each item, (n,), from n for the best to 1 for the last."""
        values = np.empty(len(self.order))
        values[self.order] = np.arange(len(self.order), 0, -1)
        return values

    def __str__(self) -> str:
        return " > ".join(self.items)


def consensus_ranking(rankings: Any, *, method: Method = "borda", sample_weight: Any = None) -> Consensus:
    r"""Compute a consensus ranking.

    With Q(a, b) the weight of the voters that prefer a to b:

    - ``"borda"`` sorts the items by :math:`\sum_b Q(a, b) - Q(b, a)`; for total rankings this is Borda's mean rank.
    - ``"kemeny"`` minimises :math:`\sum_{a \text{ before } b} Q(b, a)`, the total number of discordant pairs, exactly.
    - ``"local-search"`` starts from Borda's ranking and moves single items while that sum decreases; it finds a local
      minimum.

    Parameters
    ----------
    rankings
        `Rankings`, or values (m, n): larger = preferred, equal = tied, −infinity = ranked last, NaN = unknown rank. A
        pair of items that a voter ties or does not rank is ignored.
    method
        See above.
    sample_weight
        Number of voters of each ranking, (m,); by default the counts of `Rankings`, else 1.

    Returns
    -------
    Consensus
        A ranking without ties. Items that are equal by the rule are in the order of the data.

    Raises
    ------
    InputError
        If there are more than 20 items for ``"kemeny"``, whose table has 2ⁿ entries.

    Examples
    --------
    >>> votes = Rankings.from_orderings([["a", "b", "c"], ["b", "c", "a"], ["a", "c", "b"]], counts=[4, 3, 2])
    >>> print(consensus_ranking(votes, method="kemeny"), consensus_ranking(votes, method="kemeny").distance)
    a > b > c 8.0
    """
    scores, items, counts, samples = _scores_of(rankings)
    weights, _ = sample_weights(counts if sample_weight is None else sample_weight, samples)
    return _of_preferences(preferences(scores, weights[:, None])[0], items, float(weights.sum()), method)


def cluster_consensus(
    rankings: Any, labels: Any, *, method: Method = "borda", sample_weight: Any = None
) -> dict[Any, Consensus]:
    """Compute the `consensus_ranking` of each cluster; the result is sorted by label.

    Raises
    ------
    InputError
        If a label is missing, or labels or weights have the names of other samples.

    Examples
    --------
    >>> found = cluster_consensus([[3, 2, 1], [3, 1, 2], [1, 2, 3]], ["left", "left", "right"])
    >>> {label: str(ranking) for label, ranking in found.items()}
    {'left': '0 > 1 > 2', 'right': '2 > 1 > 0'}
    """
    scores, items, counts, samples = _scores_of(rankings)
    weights, kept = sample_weights(counts if sample_weight is None else sample_weight, samples)
    found, codes = sorted_labels(checked_labels(labels, samples)[kept])
    by_cluster = np.zeros((len(scores), len(found)))
    by_cluster[kept, codes] = weights[kept]
    counted = preferences(scores, by_cluster)
    voters = by_cluster.sum(axis=0)
    return {
        label: _of_preferences(counted[code], items, float(voters[code]), method)
        for code, label in enumerate(found.tolist())
    }


def best_order(preferred: Floats, method: Method) -> Indices:
    """Consensus order of the items, best first, from the weights Q(a, b) of the preferences, (n, n)."""
    one_of(method, "method", METHODS)
    n = len(preferred)
    if method == "kemeny":
        if n > EXACT_ITEMS:
            raise InputError(
                f"Kemeny's ranking of {n} items takes a table of 2^{n} sets; the limit is {EXACT_ITEMS} items: use "
                "method='local-search', which finds a local minimum, or method='borda'"
            )
        return np.asarray(kemeny_order(preferred), dtype=np.intp)
    wins = (preferred - preferred.T).sum(axis=1)
    order = np.argsort(-wins, kind="stable")
    if method == "local-search":
        improve_order(order, preferred)
    return order


def _of_preferences(preferred: Floats, items: Iterable[str], voters: float, method: Method) -> Consensus:
    order, names = best_order(preferred, method), tuple(items)
    named = tuple(names[item] for item in order)
    return Consensus(order, named, float(contradicted(order, preferred)), voters, method)


def _scores_of(rankings: Any) -> tuple[Floats, tuple[str, ...], Array | None, SampleNames]:
    """Scores of the items for each sample, names of the items, number of voters if known, and names of the samples."""
    source = as_source(rankings)
    scores = np.ascontiguousarray(source.read(slice(0, len(source))), dtype=np.float64)
    names = source.features or tuple(map(str, range(scores.shape[1])))
    counts = rankings.counts if isinstance(rankings, Rankings) else None
    return scores, tuple(names), counts, cohort_names(source.ids, len(source))
