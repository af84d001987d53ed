"""Pairwise votes: what they hold, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import InputError, PairwiseVotes


def test_wins_and_half_of_the_ties_are_preferences():
    votes = PairwiseVotes(["a", "b", "c"], [[0, 3, 1], [1, 0, 0], [0, 2, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert votes.preferred.tolist() == [[0, 3.5, 1], [1.5, 0, 0], [0, 2, 0]]
    assert (votes.items, votes.n_items, votes.comparisons) == (("a", "b", "c"), 3, 8)
    assert PairwiseVotes(["a", "b"], np.zeros((2, 2))).ties.tolist() == [[0, 0], [0, 0]]
    assert not votes.wins.flags.writeable
    assert not votes.ties.flags.writeable


def test_values_are_copied_and_compared():
    wins = np.array([[0.0, 2.0], [1.0, 0.0]])
    votes = PairwiseVotes(("a", "b"), wins)
    wins[0, 1] = 9
    assert votes == PairwiseVotes(("a", "b"), [[0, 2], [1, 0]], np.zeros((2, 2)))
    assert votes != PairwiseVotes(("b", "a"), [[0, 2], [1, 0]])
    assert votes != PairwiseVotes(("a", "b"), [[0, 2], [1, 0]], [[0, 1], [1, 0]])
    assert votes != "votes"


@pytest.mark.parametrize(
    ("items", "wins", "ties", "words"),
    [
        (["a", "a"], [[0, 1], [1, 0]], None, "two items have the name 'a'"),
        ([], np.zeros((0, 0)), None, "there are no items"),
        (["a", "b"], [[0, 1]], None, r"wins have shape \(1, 2\); they must be \(2, 2\)"),
        (["a", "b"], [[0, -1], [0, 0]], None, "-1 for 'a' against 'b'"),
        (["a", "b"], [[0, np.nan], [0, 0]], None, "negative or not finite"),
        (["a", "b"], [[0, 1], [0, 2]], None, "compare 'b' with itself"),
        (["a", "b"], [[0, 1], [0, 0]], [[0, 1], [2, 0]], "ties must be symmetric: 'a' tied 1 times with 'b'"),
    ],
)
def test_what_is_no_pairwise_vote_is_refused(items, wins, ties, words):
    with pytest.raises(InputError, match=words):
        PairwiseVotes(items, wins, ties)


results = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.integers(1, 9), st.booleans()).filter(
        lambda result: result[0] != result[1]
    ),
    min_size=1,
    max_size=12,
)


@given(results)
def test_results_are_counted_one_by_one(found):
    firsts, seconds, counts, tied = zip(*found, strict=True)
    votes = PairwiseVotes.from_results(firsts, seconds, counts=counts, tied=tied, items="abcd")
    for i, one in enumerate("abcd"):
        for j, other in enumerate("abcd"):
            won = sum(c for w, x, c, t in found if (w, x) == (one, other) and not t)
            drawn = sum(c for w, x, c, t in found if {w, x} == {one, other} and t and i != j)
            assert (votes.wins[i, j], votes.ties[i, j]) == (won, drawn)
    assert votes.comparisons == sum(counts)


def test_items_are_sorted_and_values_are_fixed():
    votes = PairwiseVotes.from_results(["z", "b"], ["b", "a"])
    assert votes.items == ("a", "b", "z")
    with pytest.raises(ValueError, match="read-only"):
        votes.wins[0, 1] = 5
    assert votes == PairwiseVotes.from_results(["b", "z"], ["a", "b"])
    assert votes != 3
    assert "2 comparisons of 3 items" in repr(votes)


@pytest.mark.parametrize(
    ("winners", "losers", "options", "message"),
    [
        (["a"], ["a"], {}, "result 0 is between 'a' and itself"),
        (["a", "c"], ["b", "b"], {"items": "ab"}, "result 1 names 'c', which is not among the items"),
        (["a"], ["b", "c"], {}, "there are 1 winners, 2 losers"),
        (["a"], ["b"], {"counts": [1, 2]}, "2 counts"),
        (["a"], ["b"], {"tied": []}, "0 marks of ties"),
    ],
)
def test_wrong_results_are_refused(winners, losers, options, message):
    with pytest.raises(InputError, match=message):
        PairwiseVotes.from_results(winners, losers, **options)
