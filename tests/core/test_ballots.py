from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from distkern.core.ballots import are_places, as_scores, first_items, may_be_ranks, place_number

GAP = np.nan


@pytest.mark.parametrize(
    "names",
    [
        ["rank_1", "rank_2", "rank_3"],
        ["Rank 1", "Rank 2"],
        ["choice1", "choice2"],
        ["1st", "2nd", "3rd", "4th"],
        ["1st choice", "2nd choice"],
        ["place.0", "place.1"],
        ["rank_2", "rank_1"],
        [" preference-1 "],
    ],
)
def test_columns_of_places(names):
    assert are_places(names)


@pytest.mark.parametrize(
    "names", [[], ["rank_1", "pear"], ["rank_1", "rank_3"], ["frank_1", "frank_2"], ["rank", "p1"]]
)
def test_columns_of_items(names):
    assert not are_places(names)
    assert place_number("pear") is None


def test_every_order_may_be_ranks_and_scores():
    assert may_be_ranks(np.array(list(permutations(range(1, 5))), dtype=float))


@pytest.mark.parametrize(
    ("values", "total", "top"),
    [
        ([[1, 2, 2, 4]], True, True),  # the ranks of tied items, by each rule
        ([[1, 2.5, 2.5, 4]], True, True),
        ([[1, 3, 3, 4]], True, True),
        ([[1, 2, 2, 3]], True, True),
        ([[5, 5, 5, 3, 2]], False, False),  # stars
        ([[0, 1, 2]], False, False),  # counted from 0
        ([[1.5, 2, 3]], False, False),
        ([[1, 2, 9]], False, False),
        ([[1, GAP, 2], [GAP, GAP, 1]], True, True),
        ([[3, GAP, GAP], [2, 3, GAP]], True, False),  # a list of the best item has rank 1, not 3
        ([[GAP, GAP, GAP]], True, True),
        ([[1, 2, 3], [0.2, 7, 3]], False, False),
    ],
)
def test_values_that_may_be_ranks(values, total, top):
    assert may_be_ranks(np.array(values, dtype=float)) is total
    assert may_be_ranks(np.array(values, dtype=float), partial=True) is top


def test_ranks_become_scores_in_the_reverse_order():
    ranks = np.array([[1.0, 2.0, 3.0], [2.0, GAP, 1.0]])
    np.testing.assert_array_equal(as_scores(ranks), [[3, 2, 1], [2, GAP, 3]])
    assert first_items(as_scores(ranks)[1], "abc") == ("c",)
    assert first_items(np.array([2.0, 2.0, 1.0]), "abc") == ("a", "b")
    assert first_items(np.array([GAP]), "a") == ()
