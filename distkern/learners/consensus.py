"""One ranking for many: Borda's, Kemeny's, and one of each cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.compiled.consensus import EXACT_ITEMS, contradicted, improve_order, kemeny_order, preferences
from distkern.core.errors import InputError
from distkern.core.rankings import Rankings
from distkern.core.typing import Array, Floats, Indices
from distkern.io.source import as_source
from distkern.learners.validation import sample_weights

Method = Literal["borda", "kemeny", "local-search"]
METHODS = ("borda", "kemeny", "local-search")


@dataclass(frozen=True)
class Consensus:
    """A ranking that stands for many.

    Parameters
    ----------
    order
        Positions of the items, best first, (n,).
    items
        Their names, best first.
    distance
        Weight of the pairs of items that voters prefer the other way round, summed over the voters: their total number
        of discordant pairs from this ranking.
    voters
        Weight of all voters.
    method
        How it was found.
    """

    order: Indices
    items: tuple[str, ...]
    distance: float
    voters: float
    method: Method

    @property
    def values(self) -> Floats:
        """Value of each item, larger = preferred: n for the best, 1 for the last, (n,)."""
        values = np.empty(len(self.order))
        values[self.order] = np.arange(len(self.order), 0, -1)
        return values

    def __str__(self) -> str:
        return " > ".join(self.items)


def consensus_ranking(rankings: Any, *, method: Method = "borda", sample_weight: Any = None) -> Consensus:
    r"""Find a ranking that stands for all.

    With Q(a, b) the weight of the voters that prefer a to b:

    - ``"borda"`` sorts the items by :math:`\sum_b Q(a, b) - Q(b, a)`, which for total rankings is Borda's mean rank;
    - ``"kemeny"`` minimises :math:`\sum_{a \text{ before } b} Q(b, a)`, the summed discordant pairs, exactly;
    - ``"local-search"`` moves single items of Borda's ranking for as long as that sum falls: at most 2ⁿ is not visited,
      and the minimum is not promised.

    Parameters
    ----------
    rankings
        `Rankings`, or values (m, n) where larger = preferred, equal = tied, −infinity = behind all others and NaN =
        place unknown. Pairs that a voter ties or does not place count for neither side.
    method
        See above.
    sample_weight
        Voters of each ranking, (m,); by default the counts of `Rankings`, else one each.

    Returns
    -------
    Consensus
        Without ties: of items that are equal by the rule the one that stands first in the data comes first.

    Raises
    ------
    InputError
        If ``"kemeny"`` is asked for more items than its table of 2ⁿ sets can hold.

    Examples
    --------
    >>> votes = Rankings.from_orderings([["a", "b", "c"], ["b", "c", "a"], ["a", "c", "b"]], counts=[4, 3, 2])
    >>> print(consensus_ranking(votes, method="kemeny"), consensus_ranking(votes, method="kemeny").distance)
    a > b > c 8.0
    """
    scores, items, counts = _voted(rankings)
    weights, _ = sample_weights(counts if sample_weight is None else sample_weight, len(scores))
    return _of_preferences(preferences(scores, weights[:, None])[0], items, float(weights.sum()), method)


def cluster_consensus(
    rankings: Any, labels: Any, *, method: Method = "borda", sample_weight: Any = None
) -> dict[Any, Consensus]:
    """Find a ranking that stands for each cluster: `consensus_ranking` of the samples of each label, sorted by label.

    Examples
    --------
    >>> found = cluster_consensus([[3, 2, 1], [3, 1, 2], [1, 2, 3]], ["left", "left", "right"])
    >>> {label: str(ranking) for label, ranking in found.items()}
    {'left': '0 > 1 > 2', 'right': '2 > 1 > 0'}
    """
    scores, items, counts = _voted(rankings)
    weights, kept = sample_weights(counts if sample_weight is None else sample_weight, len(scores))
    labels = np.asarray(labels)
    if labels.shape != (len(scores),):
        raise InputError(f"got labels of shape {labels.shape} for {len(scores)} rankings: give one for each")
    found, places = np.unique(labels[kept], return_inverse=True)
    spread = np.zeros((len(scores), len(found)))
    spread[kept, places] = weights[kept]
    counted = preferences(scores, spread)
    voters = spread.sum(axis=0)
    return {
        label.item(): _of_preferences(counted[place], items, float(voters[place]), method)
        for place, label in enumerate(found)
    }


def best_order(preferred: Floats, method: Method) -> Indices:
    """Order of the items, best first, from the weights of those that prefer one to another, (n, n)."""
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    n = len(preferred)
    if method == "kemeny":
        if n > EXACT_ITEMS:
            raise InputError(
                f"Kemeny's ranking of {n} items takes a table of 2^{n} sets; it is offered up to {EXACT_ITEMS}: ask "
                "for method='local-search', which promises no minimum, or for method='borda'"
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


def _voted(rankings: Any) -> tuple[Floats, tuple[str, ...], Array | None]:
    """Scores of the items for each sample, their names, and how many voters each sample stands for."""
    source = as_source(rankings)
    scores = np.ascontiguousarray(source.read(slice(0, len(source))), dtype=np.float64)
    names = source.features or tuple(map(str, range(scores.shape[1])))
    return scores, tuple(names), rankings.counts if isinstance(rankings, Rankings) else None
