"""Consensus rankings against brute force over all orders."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive_consensus import cost_with_ties, footrule, optimal_orders, preferred_of, weak_orders
from sklearn.exceptions import ConvergenceWarning

from distkern.compiled.consensus import EXACT_ITEMS
from distkern.core.errors import InputError
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.rankings import Rankings
from distkern.datasets import load_apa
from distkern.learners.consensus import METHODS, best_order, cluster_consensus, consensus_ranking

scores = st.sampled_from([-np.inf, 0.0, 1.0, 2.0, 3.0, np.nan])


def discordant(order, X, weights):
    """Pairs of items that a sample prefers the other way round, counted one by one."""
    total = 0
    for row, weight in zip(X, weights, strict=True):
        for place, late in enumerate(order):
            total += weight * sum(row[late] > row[early] for early in order[:place])
    return total


@given(st.data())
def test_kemeny_is_the_least_of_all_orders_with_ties_and_partial_rankings(data):
    m, n = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 5))
    X = data.draw(arrays(np.float64, (m, n), elements=scores))
    weights = data.draw(arrays(np.float64, m, elements=st.integers(1, 5).map(float)))
    every = {order: discordant(order, X, weights) for order in permutations(range(n))}
    found = consensus_ranking(X, method="kemeny", sample_weight=weights)
    assert found.distance == min(every.values())
    assert tuple(found.order) == min(order for order, distance in every.items() if distance == found.distance)
    local = consensus_ranking(X, method="local-search", sample_weight=weights)
    borda = consensus_ranking(X, sample_weight=weights)
    assert local.distance == every[tuple(local.order)]
    assert borda.distance == every[tuple(borda.order)]
    assert found.distance <= local.distance <= borda.distance


def test_local_search_ends_where_no_item_moved_helps():
    X = np.random.default_rng(0).permuted(np.tile(np.arange(12.0), (15, 1)), axis=1)
    found = consensus_ranking(X, method="local-search")
    assert found.distance < consensus_ranking(X).distance
    order = found.order.tolist()
    for start in range(12):
        for target in range(12):
            moved = order[:start] + order[start + 1 :]
            moved.insert(target, order[start])
            assert discordant(moved, X, np.ones(15)) >= found.distance


def test_borda_is_the_mean_rank_of_total_rankings():
    votes = load_apa()
    means = votes.counts @ votes.values / votes.counts.sum()
    found = consensus_ranking(votes)
    np.testing.assert_array_equal(found.order, np.argsort(-means))
    assert found.items == tuple(votes.items[item] for item in found.order)
    assert found.values[found.order].tolist() == [5, 4, 3, 2, 1]
    assert found.voters == 5738


def test_a_cycle_of_condorcet():
    """a > b > c 4 votes, b > c > a 3, c > a > b 2: every order contradicts somebody; Kemeny's the least."""
    votes = Rankings.from_orderings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]], counts=[4, 3, 2])
    found = consensus_ranking(votes, method="kemeny")
    assert (str(found), found.distance) == ("a > b > c", 3 * 2 + 2 * 2)


def test_unnamed_items_of_top_rankings_are_last_and_unknown_ranks_are_ignored():
    top = Rankings.from_orderings([["b"], ["b", "c"]], kind="top", items=["a", "b", "c"])
    assert str(consensus_ranking(top, method="kemeny")) == "b > c > a"
    unknown = Rankings.from_orderings([["b", "a"], ["b"]], kind="interleaving", items=["a", "b", "c"])
    found = consensus_ranking(unknown, method="kemeny")
    assert found.distance == 0
    assert found.order.tolist().index(1) < found.order.tolist().index(0)


def test_clusters_are_those_of_their_samples_alone():
    votes = load_apa(partial=True)
    labels = np.array(["x", "y", "z"])[np.arange(len(votes)) % 3]
    found = cluster_consensus(votes, labels, method="kemeny")
    assert list(found) == ["x", "y", "z"]
    for label, ranking in found.items():
        own = labels == label
        alone = consensus_ranking(votes.scores[own], method="kemeny", sample_weight=votes.counts[own])
        np.testing.assert_array_equal(ranking.order, alone.order)
        assert (ranking.distance, ranking.voters) == (alone.distance, votes.counts[own].sum())
    assert list(cluster_consensus(votes, labels, sample_weight=labels != "y")) == ["x", "z"]


def test_names_of_a_data_frame():
    assert str(consensus_ranking(pd.DataFrame({"tp53": [3, 2], "myc": [5, 9]}))) == "myc > tp53"


def test_the_exact_minimum_at_its_largest_size():
    """Single votes on neighbours of a chain: the chain contradicts none, and any other order some."""
    n = EXACT_ITEMS
    chain = np.random.default_rng(0).permutation(n)
    X = np.full((n - 1, n), np.nan)
    X[np.arange(n - 1), chain[:-1]], X[np.arange(n - 1), chain[1:]] = 1, 0
    found = consensus_ranking(X, method="kemeny")
    np.testing.assert_array_equal(found.order, chain)
    assert found.distance == 0


def test_more_items_than_the_table_holds_are_solved_by_a_programme():
    """The order of one voter, against the orders of two others that reverse neighbours."""
    n = 2 * EXACT_ITEMS
    X = np.tile(np.arange(n, 0.0, -1), (3, 1))
    X[1, ::2], X[1, 1::2] = X[0, 1::2], X[0, ::2]
    found = consensus_ranking(X, method="kemeny")
    assert found.order.tolist() == list(range(n))
    assert (found.distance, found.lower_bound, found.gap, found.optimal) == (n / 2, n / 2, 0, True)
    assert (found.unique, found.winners, found.n_optimal, found.n_optimal_exact) == (True, ("0",), 1, True)


@given(st.data())
def test_copeland_counts_majorities_and_equal_items_are_counted(data):
    m, n = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 5))
    X = data.draw(arrays(np.float64, (m, n), elements=scores))
    preferred, _ = preferred_of(X, np.ones(m))
    by_rule = {
        "copeland": [
            sum(
                (preferred[a, b] > preferred[b, a]) + (preferred[a, b] == preferred[b, a]) / 2
                for b in range(n)
                if b != a
            )
            for a in range(n)
        ],
        "borda": [sum(preferred[a, b] - preferred[b, a] for b in range(n)) for a in range(n)],
    }
    for method, points in by_rule.items():
        found = consensus_ranking(X, method=method)
        assert found.order.tolist() == sorted(range(n), key=lambda item: -points[item])
        allowed = [
            order for order in permutations(range(n)) if sorted(points, reverse=True) == [points[i] for i in order]
        ]
        assert (found.n_optimal, found.n_optimal_exact) == (len(allowed), True)
        assert set(found.winners) == {str(order[0]) for order in allowed}
        assert found.unique == (len(found.winners) == 1)


@given(st.data())
def test_every_method_has_a_bound_and_says_whether_it_is_optimal(data):
    m, n = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 5))
    X = data.draw(arrays(np.float64, (m, n), elements=scores))
    weights = data.draw(arrays(np.float64, m, elements=st.sampled_from([0.5, 1.0, 2.5])))
    least, orders = optimal_orders(preferred_of(X, weights)[0])
    for method in METHODS:
        found = consensus_ranking(X, method=method, sample_weight=weights)
        assert found.lower_bound <= least <= found.distance
        assert found.gap == found.distance - found.lower_bound
        assert not found.optimal or found.distance == least
        if method == "kemeny":
            assert found.optimal
            assert [
                tuple(order)
                for order in consensus_ranking(X, method=method, sample_weight=weights, n_orders=200).optimal_orders
            ] == orders


@given(st.data())
def test_consensus_with_ties_and_of_k_items_is_the_least_by_fagin(data):
    m, n = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 4))
    X = data.draw(arrays(np.float64, (m, n), elements=scores))
    penalty = data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    preferred, tied = preferred_of(X, np.ones(m))
    every = {numbers: cost_with_ties(numbers, preferred, tied, penalty) for numbers in weak_orders(n)}
    found = consensus_ranking(X, method="kemeny", ties="allowed", penalty=penalty)
    assert found.distance == found.lower_bound == min(every.values())
    places = {item: number for number, bucket in enumerate(found.buckets) for item in bucket}
    assert every[tuple(places[str(item)] for item in range(n))] == found.distance
    assert str(found) == " > ".join(" = ".join(bucket) for bucket in found.buckets)
    k = data.draw(st.integers(1, n))
    lists = [
        cost
        for numbers, cost in every.items()
        if [numbers.count(number) for number in range(min(k, n - 1))] == [1] * min(k, n - 1)
        and max(numbers) <= min(k, n - 1)
    ]
    top = consensus_ranking(X, method="kemeny", k=k, penalty=penalty)
    assert top.distance == top.lower_bound == min(lists)
    assert [len(bucket) for bucket in top.buckets[:k]] == [1] * k


def test_values_of_tied_items_are_means():
    found = consensus_ranking([[2, 1, 1, 0], [2, 1, 1, 0]], method="kemeny", ties="allowed")
    assert (str(found), found.distance, found.values.tolist()) == ("0 > 1 = 2 > 3", 0, [4, 2.5, 2.5, 1])


def test_pairwise_votes_are_ballots_of_two_items():
    rng = np.random.default_rng(0)
    n, games = 6, []
    for _ in range(80):
        row = np.full(n, np.nan)
        row[rng.choice(n, 2, replace=False)] = rng.integers(0, 3, 2)
        games.append(row)
    X = np.array(games)
    wins, ties = preferred_of(X, np.ones(len(X)))
    votes = PairwiseVotes("abcdef", wins, ties)
    for options in ({}, {"method": "copeland"}, {"method": "kemeny"}, {"method": "kemeny", "ties": "allowed"}):
        one, two = consensus_ranking(votes, **options), consensus_ranking(X, **options)
        assert one.order.tolist() == two.order.tolist()
        assert (one.distance, one.lower_bound, one.voters) == (two.distance, two.lower_bound, 80)
    with pytest.raises(InputError, match="pairwise votes have no places"):
        consensus_ranking(votes, method="median-rank")
    with pytest.raises(InputError, match="leave out sample_weight"):
        consensus_ranking(votes, sample_weight=[1])


def test_median_rank_tells_its_footrule():
    found = consensus_ranking(load_apa(), method="median-rank")
    votes = load_apa()
    least = min(footrule(order, votes.values, votes.counts) for order in permutations(range(5)))
    assert found.footrule == pytest.approx(least) == footrule(found.order.tolist(), votes.values, votes.counts)
    with pytest.raises(InputError, match="method must be one of borda, kemeny, local-search, copeland, not"):
        best_order(np.zeros((2, 2)), "median-rank")


def test_rounding_makes_no_majority():
    """0.1 + 0.2 and 0.3 voters disagree: neither order is better."""
    X = [[2, 1, 0], [2, 1, 0], [1, 2, 0]]
    found = consensus_ranking(X, method="kemeny", sample_weight=[0.1, 0.2, 0.3])
    assert (found.n_optimal, found.unique, found.winners) == (2, False, ("0", "1"))
    assert consensus_ranking(X, method="copeland", sample_weight=[0.1, 0.2, 0.3]).winners == ("0", "1")


def test_a_hard_case_tells_its_gap_and_warns_only_if_no_time_was_given(monkeypatch):
    X = np.random.default_rng(0).permuted(np.tile(np.arange(120.0), (10, 1)), axis=1)
    found = consensus_ranking(X, method="kemeny", time_limit=0.05)
    assert not found.optimal
    assert 0 < found.gap < found.distance
    assert found.unique is None
    assert not found.n_optimal_exact
    monkeypatch.setattr("distkern.learners.consensus.TIME_LIMIT", 0.05)
    with pytest.warns(UserWarning, match="consensus is not proven after 0.05 seconds: its distance is"):
        consensus_ranking(X, method="kemeny")
    with pytest.warns(ConvergenceWarning, match="not proven"):
        cluster_consensus(X, [0] * 10, method="kemeny")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "copelan"}, "method must be one of borda, kemeny, local-search, copeland, median-rank"),
        ({"ties": "some"}, "ties must be one of never, allowed"),
        ({"k": 2}, "k and ties are for Kemeny's rule"),
        ({"method": "kemeny", "k": 0}, "k must be a whole number of 1 or more"),
        ({"method": "kemeny", "k": 4}, "k is 4, and there are 3 items"),
        ({"method": "kemeny", "k": 2, "ties": "allowed"}, "leave out k or ties='allowed'"),
        ({"method": "kemeny", "ties": "allowed", "penalty": 2}, "penalty must be a number from 0 to 1"),
        ({"time_limit": 0}, "time_limit must be a number of seconds above 0"),
        ({"n_orders": 0}, "n_orders must be a whole number of 1 or more"),
        ({"sample_weight": [1]}, "weights of shape"),
    ],
)
def test_wrong_parameters_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        consensus_ranking([[1, 2, 3], [3, 2, 1]], **options)


def test_wrong_labels_are_refused():
    with pytest.raises(InputError, match="labels of shape"):
        cluster_consensus([[1, 2, 3], [3, 2, 1]], [0])
    with pytest.raises(InputError, match="method must be one of"):
        cluster_consensus([[1, 2, 3], [3, 2, 1]], [0, 1], method="plurality")
