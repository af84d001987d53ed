"""Pairwise votes: counts of two kinds, whose items and numbers are checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import PairwiseVotes
from distkern.core.errors import InputError

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
    assert votes.votes == sum(counts)


def test_items_are_sorted_and_values_are_fixed():
    votes = PairwiseVotes.from_results(["z", "b"], ["b", "a"])
    assert votes.items == ("a", "b", "z")
    with pytest.raises(ValueError, match="read-only"):
        votes.wins[0, 1] = 5
    assert votes == PairwiseVotes.from_results(["b", "z"], ["a", "b"])
    assert votes != 3
    assert "2 votes between 3 items" in repr(votes)


@pytest.mark.parametrize(
    ("items", "wins", "ties", "message"),
    [
        ("ab", [[0, 1]], None, r"wins has shape \(1, 2\); it must be \(2, 2\)"),
        ("ab", [[0, -1], [0, 0]], None, "negative or not finite"),
        ("ab", [[0, np.nan], [0, 0]], None, "negative or not finite"),
        ("ab", [[1, 0], [0, 0]], None, "between item 0 and itself"),
        ("ab", [[0, 1], [0, 0]], [[0, 1], [0, 0]], "ties between 'a' and 'b' are 1 one way and 0 the other"),
        ("aa", [[0, 1], [0, 0]], None, "two items have the name 'a'"),
    ],
)
def test_wrong_votes_are_refused(items, wins, ties, message):
    with pytest.raises(InputError, match=message):
        PairwiseVotes(tuple(items), wins, ties)


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
