"""How sure a consensus ranking is: its rule on voters drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress, silent
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.parameters import one_of, whole_number
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.consensus import (
    PAIRWISE,
    Consensus,
    Method,
    Votes,
    best_order,
    consensus_ranking,
    deadline_of,
    votes_of,
)
from distkern.solvers.kemeny import kemeny

BLOCK = 1 << 23
"""Number of preferences that are held at once."""

TIME_LIMIT = 10.0
"""Seconds for Kemeny's consensus of one resample, where no limit is given."""


@dataclass(frozen=True)
class BootstrapConsensus:
    """A consensus ranking, and those of resamples of its voters.

    Parameters
    ----------
    consensus
        Consensus of all voters.
    items
        Names of the n items, in the order of the data.
    orders
        Consensus of each resample: positions of the items, best first, (resamples, n).
    places
        Place of each item in each resample, from 1, (resamples, n).
    precedence
        Share of the resamples in which item a precedes item b, (n, n).
    intervals
        Lowest and highest place of each item, by quantiles of the places, (n, 2).
    winner_shares
        Share of the resamples that each item wins, (n,).
    same_order, same_winner
        Share of the resamples with the order of all voters, and with their winner.
    proven
        Share of the resamples whose order is the one of the rule for certain; below 1 only where the time for Kemeny's
        rule was not enough.
    confidence
        Share of the places that an interval covers at least.

    See Also
    --------
    bootstrap_consensus : Makes it.
    """

    consensus: Consensus
    items: tuple[str, ...]
    orders: Indices
    places: Indices
    precedence: Floats
    intervals: Indices
    winner_shares: Floats
    same_order: float
    same_winner: float
    proven: float
    confidence: float

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.orders)

    def to_frame(self) -> Any:
        """Make a table of the items, best first: place, interval, mean place, and share of resamples with it first."""
        from distkern.core.frames import pandas_for

        return pandas_for("a table of places").DataFrame(self.rows()).set_index("item")

    def rows(self) -> list[dict[str, Any]]:
        """The rows of that table."""
        return [
            {
                "item": self.items[item],
                "place": place,
                "lowest": int(self.intervals[item, 0]),
                "highest": int(self.intervals[item, 1]),
                "mean": float(self.places[:, item].mean()),
                "first": float(self.winner_shares[item]),
            }
            for place, item in enumerate(self.consensus.order.tolist(), start=1)
        ]

    def __str__(self) -> str:
        lines = [
            f"{self.consensus}",
            f"{self.n_resamples:,} resamples: the same order in {self.same_order:.1%}, the same winner in "
            f"{self.same_winner:.1%}",
        ]
        width = max(map(len, self.items))
        for row in self.rows():
            span = f"{row['lowest']}" if row["lowest"] == row["highest"] else f"{row['lowest']}–{row['highest']}"
            lines.append(f"{row['place']:>4}  {row['item']:<{width}}  {self.confidence:.0%} of places {span}")
        return "\n".join(lines)


def bootstrap_consensus(
    rankings: Any,
    *,
    method: Method = "borda",
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    sample_weight: Any = None,
    time_limit: float | None = None,
    on_event: Listener = silent,
) -> BootstrapConsensus:
    r"""Compute the `consensus_ranking` of resamples of the voters.

    With V voters, of whom n_i cast ballot i, a resample has the counts :math:`c \sim \text{Multinomial}(V, n / V)`,
    which are V voters drawn with replacement (Efron 1979). Its preferences are the sums
    :math:`\sum_i c_i\, 1[a \succ_i b]`, one matrix product for many resamples.

    Parameters
    ----------
    rankings
        As in `consensus_ranking`. Of `PairwiseVotes` the comparisons are drawn.
    method
        ``"borda"``, ``"copeland"``, ``"kemeny"`` or ``"local-search"``.
    n_resamples
        Number of resamples.
    confidence
        Share of the places that the interval of an item covers at least; an end leaves out half of the rest.
    random_state
        Seed or generator. Items that are equal by the rule in a resample are in the order of the data.
    sample_weight
        Number of voters of each ranking, whole numbers, (m,); by default the counts of `Rankings`, else 1.
    time_limit
        Seconds for ``"kemeny"`` in each resample, 10 by default; see ``proven``.
    on_event
        Called with a `Progress` event after each resample.

    Raises
    ------
    InputError
        If weights are not whole numbers, or ``"median-rank"`` is asked for, which needs more than preferences.

    See Also
    --------
    consensus_ranking : The consensus itself.

    Examples
    --------
    >>> votes = np.array([[3, 2, 1], [2, 3, 1]])
    >>> found = bootstrap_consensus(votes, sample_weight=[60, 40], random_state=0, n_resamples=200)
    >>> print(found)
    0 > 1 > 2
    200 resamples: the same order in 97.5%, the same winner in 97.5%
       1  0  95% of places 1
       2  1  95% of places 2
       3  2  95% of places 3
    """
    one_of(method, "method", PAIRWISE)
    whole_number(n_resamples, "n_resamples", 1)
    if isinstance(confidence, bool) or not isinstance(confidence, float) or not 0 < confidence < 1:
        raise InputError(f"confidence must be a number between 0 and 1, not {confidence!r}")
    consensus = consensus_ranking(rankings, method=method, sample_weight=sample_weight, time_limit=time_limit)
    votes = votes_of(rankings, sample_weight, tied=isinstance(rankings, PairwiseVotes))
    random = np.random.default_rng(random_state)
    orders, proven = np.empty((n_resamples, len(votes.items)), dtype=np.intp), 0
    resampled = _resampled_comparisons if votes.scores is None else resampled_preferences
    for number, preferred in enumerate(resampled(votes, n_resamples, random)):
        orders[number], certain = _order(preferred, method, TIME_LIMIT if time_limit is None else time_limit)
        proven += certain
        on_event(Progress("draw voters", number + 1, n_resamples))
    return _summed_up(consensus, votes.items, orders, proven / n_resamples, confidence)


def _order(preferred: Floats, method: Method, time_limit: float) -> tuple[Indices, bool]:
    if method != "kemeny":
        return best_order(preferred, method), method != "local-search"
    best = kemeny(preferred, deadline=deadline_of(time_limit), certain=False)
    return best.order, best.optimal


def _summed_up(
    consensus: Consensus, items: tuple[str, ...], orders: Indices, proven: float, confidence: float
) -> BootstrapConsensus:
    n = len(items)
    places = np.empty_like(orders)
    np.put_along_axis(places, orders, np.arange(1, n + 1)[None], axis=1)
    precedence = np.empty((n, n))
    for item in range(n):
        precedence[item] = (places[:, item, None] < places).mean(axis=0)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    intervals = np.quantile(places, ends, axis=0, method="inverted_cdf").T.astype(np.intp)
    same = orders == consensus.order
    shares = np.bincount(orders[:, 0], minlength=n) / len(orders)
    same_order, same_winner = float(same.all(axis=1).mean()), float(same[:, 0].mean())
    return BootstrapConsensus(
        consensus, items, orders, places, precedence, intervals, shares, same_order, same_winner, proven, confidence
    )


# Resamples -----------------------------------------------------------------------------------------------------------


def resampled_preferences(votes: Votes, n_resamples: int, random: np.random.Generator) -> Iterator[Floats]:
    """Q(a, b) of each resample of the ballots, (n, n), some resamples and some ballots at a time."""
    assert votes.scores is not None
    assert votes.weights is not None
    voters = _whole(votes.weights)
    n = len(votes.items)
    together = max(1, BLOCK // n**2)
    for start in range(0, n_resamples, together):
        size = min(together, n_resamples - start)
        counts = random.multinomial(voters.sum(), voters / voters.sum(), size=size)
        yield from _preferences_of(votes.scores, counts)


def _preferences_of(scores: Floats, counts: Array) -> Floats:
    """Σ_i counts[s, i] 1[a ≻_i b] for each resample s, (resamples, n, n)."""
    m, n = scores.shape
    out = np.zeros((len(counts), n * n))
    rows = max(1, BLOCK // n**2)
    for start in range(0, m, rows):
        part = scores[start : start + rows]
        above = (part[:, :, None] > part[:, None]).reshape(len(part), n * n)
        out += counts[:, start : start + rows].astype(np.float64) @ above.astype(np.float64)
    return out.reshape(len(counts), n, n)


def _resampled_comparisons(votes: Votes, n_resamples: int, random: np.random.Generator) -> Iterator[Floats]:
    """Wins of each resample of the comparisons of pairs."""
    assert votes.tied is not None
    upper = np.triu_indices(len(votes.items), 1)
    outcomes = _whole(np.concatenate([votes.preferred.ravel(), votes.tied[upper]]))
    total = outcomes.sum()
    if total == 0:
        raise InputError("no pair was compared: there is nothing to draw from")
    for _ in range(n_resamples):
        drawn = random.multinomial(total, outcomes / total)
        yield drawn[: votes.preferred.size].reshape(votes.preferred.shape).astype(np.float64)


def _whole(weights: Floats) -> Array:
    if not np.array_equal(weights, np.rint(weights)):
        raise InputError(
            "a bootstrap draws voters, and a weight is not a whole number: give the number of voters of each ranking"
        )
    return weights.astype(np.int64)
