"""Consensus rankings by the rules of Borda, Copeland and Kemeny and by median ranks, with a certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from distkern.compiled.consensus import contradicted, improve_order, preferences, ties_of
from distkern.core.alignment import SampleNames
from distkern.core.errors import InputError
from distkern.core.labels import checked_labels, sorted_labels
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.parameters import one_of, whole_number
from distkern.core.rankings import Rankings
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.core.warning import warn
from distkern.core.weights import sample_weights
from distkern.io.source import as_source
from distkern.learners.validation import cohort_names
from distkern.solvers.bucket_orders import Buckets, bucket_order, top_order
from distkern.solvers.footrule import median_rank
from distkern.solvers.kemeny import TIED, kemeny

Method = Literal["borda", "kemeny", "local-search", "copeland", "median-rank"]
METHODS = ("borda", "kemeny", "local-search", "copeland", "median-rank")
PAIRWISE = ("borda", "kemeny", "local-search", "copeland")
"""Methods that need no more than the weight of each preference."""

Ties = Literal["never", "allowed"]
TIES = ("never", "allowed")

TIME_LIMIT = 60.0
"""Seconds for Kemeny's consensus where no limit is given."""


@dataclass(frozen=True)
class Consensus:
    """A consensus ranking.

    Parameters
    ----------
    order
        Positions of the items, best first, (n,); items that are tied are in the order of the data.
    items
        Names of the items, best first.
    distance
        Total number of discordant pairs between this ranking and the rankings of the voters, weighted; with ties or
        ``k``, pairs that are tied in one of the two only count too, times the penalty.
    voters
        Total weight of the voters; of pairwise votes, of the comparisons.
    method
        Rule that defines the ranking.
    lower_bound
        Proven lower bound of the distance of all rankings.
    optimal
        Whether the distance is proven to be the least.
    unique
        Whether this winner is the only one that the rule allows; None if that is not known.
    winners
        Names of all items that the rule allows as winners, as far as known.
    n_optimal
        Number of rankings that the rule allows, which Kemeny's rule does where they are optimal.
    n_optimal_exact
        Whether that number is exact; else there are at least so many.
    optimal_orders
        The first of these rankings, as many as asked for and known, (s, n).
    buckets
        Names of the items of each place, best first, where the ranking has ties; else None.
    footrule
        Total footrule distance of ``"median-rank"``, which is the least; else None.

    See Also
    --------
    consensus_ranking : Makes it.
    """

    order: Indices
    items: tuple[str, ...]
    distance: float
    voters: float
    method: Method
    lower_bound: float = 0.0
    optimal: bool = False
    unique: bool | None = None
    winners: tuple[str, ...] = ()
    n_optimal: int = 1
    n_optimal_exact: bool = False
    optimal_orders: Indices = field(default_factory=lambda: np.empty((0, 0), dtype=np.intp))
    buckets: tuple[tuple[str, ...], ...] | None = None
    footrule: float | None = None

    @property
    def gap(self) -> float:
        """Distance minus its lower bound: 0 where the ranking is proven to be optimal."""
        return self.distance - self.lower_bound

    @property
    def values(self) -> Floats:
        """Value of each item, (n,), from n for the best to 1 for the last; tied items share the mean."""
        n = len(self.order)
        values = np.empty(n)
        sizes = [1] * n if self.buckets is None else [len(bucket) for bucket in self.buckets]
        values[self.order] = n + 1 - rankdata(np.repeat(np.arange(len(sizes)), sizes))
        return values

    def __str__(self) -> str:
        places = self.buckets or tuple((item,) for item in self.items)
        return " > ".join(" = ".join(bucket) for bucket in places)


class Votes(NamedTuple):
    """What a consensus is made of; the scores and weights of the ballots are None for pairwise votes.

    Parameters
    ----------
    preferred, tied
        Weight of the voters who prefer item a to b, and who tie them, (n, n).
    items
        Names of the items.
    voters
        Total weight.
    """

    preferred: Floats
    tied: Floats | None
    items: tuple[str, ...]
    voters: float
    scores: Floats | None = None
    weights: Floats | None = None


def consensus_ranking(
    rankings: Any,
    *,
    method: Method = "borda",
    sample_weight: Any = None,
    k: int | None = None,
    ties: Ties = "never",
    penalty: float = 0.5,
    time_limit: float | None = None,
    n_orders: int = 1,
) -> Consensus:
    r"""Compute a consensus ranking.

    With Q(a, b) the weight of the voters that prefer a to b, and T(a, b) that of the voters that tie them:

    - ``"borda"`` sorts the items by :math:`\sum_b Q(a, b) - Q(b, a)`; for total rankings this is Borda's mean rank.
    - ``"copeland"`` sorts them by the number of items that a majority places below, ½ for a tie (Copeland 1951).
    - ``"kemeny"`` minimises :math:`\sum_{a \text{ before } b} Q(b, a)`, the total number of discordant pairs (Kemeny
      1959; Young 1988), exactly if the time is enough: ``lower_bound`` and ``gap`` of the `Consensus` tell.
    - ``"local-search"`` starts from Borda's ranking and moves single items while that sum decreases; it finds a local
      minimum.
    - ``"median-rank"`` minimises Spearman's footrule :math:`\sum_i w_i \sum_a |\sigma(a) - r_i(a)|` between the
      places of the items in the consensus and on the ballots (Dwork et al. 2001).

    With ``ties="allowed"`` or ``k``, ``"kemeny"`` minimises K⁽ᵖ⁾ of Fagin, Kumar and Sivakumar (2003, "Comparing top k
    lists", SIAM J. Discrete Math. 17:134-160) over the rankings with any ties, or with k items in order and all others
    tied below them: a pair of opposite orders counts 1, and one that is tied in the consensus or on the ballot only
    counts the penalty p,

    .. math:: \sum_{a \text{ before } b} Q(b, a) + p\, T(a, b) + \sum_{a \text{ tied with } b} p\, (Q(a, b) + Q(b, a)).

    Parameters
    ----------
    rankings
        `Rankings`, `PairwiseVotes`, or values (m, n): larger = preferred, equal = tied, −infinity = ranked last, NaN =
        unknown rank. A pair of items that a voter does not rank is ignored, as is one that a voter ties, except with
        ``ties="allowed"`` or ``k``.
    method
        See above.
    sample_weight
        Number of voters of each ranking, (m,); by default the counts of `Rankings`, else 1.
    k
        Number of items to place, for ``"kemeny"``; by default all.
    ties
        ``"allowed"``: the consensus of ``"kemeny"`` may tie items.
    penalty
        p, from 0 to 1. K⁽ᵖ⁾ is a metric from p = ½.
    time_limit
        Seconds for ``"kemeny"``, ``math.inf`` for no limit. By default 60, with a warning if they are not enough. The
        result does not depend on it if it is optimal.
    n_orders
        Number of optimal rankings of ``"kemeny"`` to list at most. They are known where the items that majorities or
        ties connect to cycles are at most 20 in each group.

    Returns
    -------
    Consensus
        Without ``k`` or ``ties="allowed"`` a ranking without ties. Items that are equal by the rule are in the order
        of the data; for ``"kemeny"`` only in groups of at most 20 items.

    Raises
    ------
    InputError
        If a parameter is wrong, or ``"median-rank"`` is asked of pairwise votes, which have no places.

    See Also
    --------
    bootstrap_consensus : How sure it is.
    cluster_consensus : One for each cluster.
    kendall_w : Whether the rankings agree at all.
    PlackettLuce : Worths of the items instead of one order.

    Examples
    --------
    >>> votes = Rankings.from_orderings([["a", "b", "c"], ["b", "c", "a"], ["a", "c", "b"]], counts=[4, 3, 2])
    >>> found = consensus_ranking(votes, method="kemeny")
    >>> print(found, found.distance, found.gap, found.optimal, found.unique)
    a > b > c 8.0 0.0 True True
    """
    one_of(method, "method", METHODS)
    one_of(ties, "ties", TIES)
    _check(method, ties, k, penalty, time_limit)
    whole_number(n_orders, "n_orders", 1)
    partial = ties == "allowed" or k is not None
    votes = votes_of(rankings, sample_weight, tied=partial)
    deadline = deadline_of(time_limit)
    if k is not None and k > len(votes.items):
        raise InputError(f"k is {k}, and there are {len(votes.items)} items: give at most as many")
    found = _with_ties(votes, k, penalty, deadline) if partial else _ranking(votes, method, deadline, n_orders)
    _warn_without_proof([found], time_limit)
    return found


def cluster_consensus(
    rankings: Any,
    labels: Any,
    *,
    method: Method = "borda",
    sample_weight: Any = None,
    time_limit: float | None = None,
) -> dict[Any, Consensus]:
    """Compute the `consensus_ranking` of each cluster; the result is sorted by label.

    Parameters
    ----------
    rankings, method, sample_weight
        As in `consensus_ranking`, without `PairwiseVotes`.
    labels
        Cluster of each ranking, (m,).
    time_limit
        Seconds for ``"kemeny"``, for each cluster.

    Raises
    ------
    InputError
        If a label is missing, or labels or weights have the names of other samples.

    See Also
    --------
    consensus_ranking : One for all.

    Examples
    --------
    >>> found = cluster_consensus([[3, 2, 1], [3, 1, 2], [1, 2, 3]], ["left", "left", "right"])
    >>> {label: str(ranking) for label, ranking in found.items()}
    {'left': '0 > 1 > 2', 'right': '2 > 1 > 0'}
    """
    one_of(method, "method", METHODS)
    _check(method, "never", None, 0.5, time_limit)
    scores, items, counts, samples = scores_of(rankings)
    weights, kept = sample_weights(counts if sample_weight is None else sample_weight, samples)
    found, codes = sorted_labels(checked_labels(labels, samples)[kept])
    by_cluster = np.zeros((len(scores), len(found)))
    by_cluster[kept, codes] = weights[kept]
    counted = preferences(scores, by_cluster)
    rankings_of = {}
    for code, label in enumerate(found.tolist()):
        own = by_cluster[:, code]
        votes = Votes(counted[code], None, items, float(own.sum()), scores, own)
        rankings_of[label] = _ranking(votes, method, deadline_of(time_limit))
    _warn_without_proof(rankings_of.values(), time_limit)
    return rankings_of


def best_order(preferred: Floats, method: Method) -> Indices:
    """Consensus order of the items, best first, from the weights Q(a, b) of the preferences, (n, n).

    The method is any but ``"median-rank"``. Kemeny's order of many items is the best one found in 60 seconds.
    """
    one_of(method, "method", PAIRWISE)
    if method == "kemeny":
        return kemeny(preferred, deadline=deadline_of(None), certain=False).order
    order = np.argsort(-scores_by_rule(preferred, method), kind="stable")
    if method == "local-search":
        improve_order(order, preferred)
    return order


def scores_by_rule(preferred: Floats, method: str) -> Floats:
    """Scores by which Borda's or Copeland's rule sorts the items, (n,); local search begins with Borda's.

    Examples
    --------
    >>> scores_by_rule(np.array([[0, 2, 2], [1, 0, 1], [1, 1, 0.0]]), "copeland")
    array([2. , 0.5, 0.5])
    """
    margins = preferred - preferred.T
    if method != "copeland":
        return np.asarray(margins.sum(axis=1))
    margins[np.abs(margins) <= TIED * (preferred + preferred.T)] = 0.0
    return np.asarray(((np.sign(margins) + 1) / 2).sum(axis=1) - 0.5)


def _ranking(votes: Votes, method: Method, deadline: float, n_orders: int = 1) -> Consensus:
    """A ranking without ties."""
    preferred, names = votes.preferred, votes.items
    if method == "kemeny":
        best = kemeny(preferred, deadline=deadline, most=n_orders)
        return replace(
            _named(votes, best.order, method, best.cost),
            lower_bound=best.lower_bound,
            optimal=best.optimal,
            unique=best.unique_winner,
            winners=tuple(names[item] for item in best.winners),
            n_optimal=best.count,
            n_optimal_exact=best.counted,
            optimal_orders=best.orders,
        )
    found: dict[str, Any] = {}
    if method == "median-rank":
        if votes.scores is None or votes.weights is None:
            raise InputError("pairwise votes have no places, which median ranks need: choose another method")
        order, footrule, unique = median_rank(votes.scores, votes.weights)
        found = {"footrule": footrule, "unique": unique, "winners": (names[order[0]],)}
    else:
        order = best_order(preferred, method)
        if method != "local-search":
            found = _equal_scores(scores_by_rule(preferred, method), order, names)
    avoided = float(np.minimum(preferred, preferred.T)[np.triu_indices(len(preferred), 1)].sum())
    ranking = _named(votes, order, method, float(contradicted(order, preferred)))
    optimal = ranking.distance <= avoided * (1 + 1e-12)
    bound = ranking.distance if optimal else avoided
    return replace(ranking, lower_bound=bound, optimal=optimal, optimal_orders=order[None], **found)


def _equal_scores(scores: Floats, order: Indices, names: tuple[str, ...]) -> dict[str, Any]:
    """How many orders a rule by scores allows, and which items win."""
    scale = 1e-12 * max(1.0, float(np.abs(scores).max()))
    falls = np.flatnonzero(-np.diff(scores[order]) > scale)
    sizes = np.diff(np.concatenate([[0], falls + 1, [len(order)]]))
    winners = tuple(names[item] for item in order[: sizes[0]])
    number = math.prod(math.factorial(int(size)) for size in sizes)
    return {"winners": winners, "unique": len(winners) == 1, "n_optimal": number, "n_optimal_exact": True}


def _with_ties(votes: Votes, k: int | None, penalty: float, deadline: float) -> Consensus:
    """Kemeny's consensus with any ties, or of k items and all others tied."""
    assert votes.tied is not None
    before = votes.preferred.T + penalty * votes.tied
    tied = penalty * (votes.preferred + votes.preferred.T)
    if k is not None and k >= len(votes.items) - 1:  # the last one is alone
        k = len(votes.items) - 1
    best: Buckets = (
        bucket_order(before, tied, deadline=deadline) if k is None else top_order(before, tied, k, deadline=deadline)
    )
    order = np.argsort(best.numbers, kind="stable")
    names = np.array(votes.items, dtype=object)
    buckets = tuple(tuple(names[best.numbers == number]) for number in range(int(best.numbers.max()) + 1))
    return replace(
        _named(votes, order, "kemeny", best.cost),
        lower_bound=best.lower_bound,
        optimal=best.lower_bound == best.cost,
        winners=buckets[0],
        optimal_orders=order[None],
        buckets=buckets,
    )


def _named(votes: Votes, order: Indices, method: Method, distance: float) -> Consensus:
    return Consensus(order, tuple(votes.items[item] for item in order), distance, votes.voters, method)


# Checks and input ----------------------------------------------------------------------------------------------------


def _check(method: str, ties: str, k: Any, penalty: Any, time_limit: Any) -> None:
    if k is not None:
        whole_number(k, "k", 1)
    if (k is not None or ties == "allowed") and method != "kemeny":
        raise InputError("k and ties are for Kemeny's rule: give the method 'kemeny', or leave them out")
    if k is not None and ties == "allowed":
        raise InputError("with k all other items are tied: leave out k or {ties}", ties=Argument("ties", ties))
    if isinstance(penalty, bool) or not isinstance(penalty, (int, float)) or not 0 <= penalty <= 1:
        raise InputError(f"penalty must be a number from 0 to 1, not {penalty!r}")
    if time_limit is None:
        return
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not time_limit > 0:
        raise InputError(
            f"time_limit must be a number of seconds above 0, or math.inf for no limit, not {time_limit!r}"
        )


def deadline_of(time_limit: float | None) -> float:
    """Time of `time.monotonic` at which work ends."""
    return time.monotonic() + (TIME_LIMIT if time_limit is None else time_limit)


def _warn_without_proof(found: Iterable[Consensus], time_limit: float | None) -> None:
    """Warn where the default time was not enough for Kemeny's rule."""
    open_ones = [ranking for ranking in found if ranking.method == "kemeny" and not ranking.optimal]
    if open_ones and time_limit is None:
        worst = max(open_ones, key=lambda ranking: ranking.gap)
        message = Sentence(
            "Kemeny's consensus is not proven after {seconds:g} seconds: its distance is {distance:.12g}, and the "
            "least is at least {bound:.12g}; choose a {limit}",
            seconds=TIME_LIMIT,
            distance=worst.distance,
            bound=worst.lower_bound,
            limit=Argument("time_limit"),
        )
        warn(ConvergenceWarning(message))


def votes_of(rankings: Any, sample_weight: Any, tied: bool = False) -> Votes:
    """Weights of all preferences, and of all ties if asked for."""
    if isinstance(rankings, PairwiseVotes):
        if sample_weight is not None:
            raise InputError("pairwise votes are summed over voters: leave out sample_weight")
        return Votes(np.array(rankings.wins), np.array(rankings.ties), rankings.items, rankings.comparisons)
    scores, items, counts, samples = scores_of(rankings)
    weights, _ = sample_weights(counts if sample_weight is None else sample_weight, samples)
    ties = ties_of(scores, weights) if tied else None
    return Votes(preferences(scores, weights[:, None])[0], ties, items, float(weights.sum()), scores, weights)


def scores_of(rankings: Any) -> tuple[Floats, tuple[str, ...], Array | None, SampleNames]:
    """Scores of the items for each sample, names of the items, number of voters if known, and names of the samples."""
    source = as_source(rankings)
    scores = np.ascontiguousarray(source.read(slice(0, len(source))), dtype=np.float64)
    names = source.features or tuple(map(str, range(scores.shape[1])))
    counts = rankings.counts if isinstance(rankings, Rankings) else None
    return scores, tuple(names), counts, cohort_names(source.ids, len(source))
