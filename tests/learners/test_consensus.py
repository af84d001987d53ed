"""Consensus rankings against brute force over all orders."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.compiled.consensus import EXACT_ITEMS
from distkern.core.errors import InputError
from distkern.core.rankings import Rankings
from distkern.datasets import load_apa
from distkern.learners.consensus import cluster_consensus, consensus_ranking

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


def test_matrix_that_does_not_fit_is_refused():
    X = np.tile(np.arange(EXACT_ITEMS + 1.0), (2, 1))
    with pytest.raises(InputError, match=r"2\^21 sets; the limit is 20 items: use method='local-search'"):
        consensus_ranking(X, method="kemeny")
    with pytest.raises(InputError, match="method must be one of borda, kemeny, local-search"):
        consensus_ranking(X, method="copeland")
    with pytest.raises(InputError, match="labels of shape"):
        cluster_consensus(X, [0])
    with pytest.raises(InputError, match="weights of shape"):
        consensus_ranking(X, sample_weight=[1])
