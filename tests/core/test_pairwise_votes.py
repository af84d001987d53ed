"""Pairwise votes: what they hold, and what they refuse."""

import numpy as np
import pytest

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
