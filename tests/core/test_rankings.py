"""Rankings: orientation, what NaN means, counts, and messages that name the row."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.errors import InputError, InputTypeError
from distkern.core.rankings import Rankings

NAN = np.nan

permutations = st.integers(1, 6).flatmap(lambda n: st.lists(st.permutations(range(n)), min_size=1, max_size=5))


def best_first(values) -> list[int]:
    """Items of one row from best to worst, the slow way."""
    ranked = [item for item in range(len(values)) if not np.isnan(values[item])]
    return sorted(ranked, key=lambda item: -values[item])


@given(permutations)
def test_orderings_come_back(orderings):
    votes = Rankings.from_orderings(orderings)
    assert [best_first(row) for row in votes.values] == [list(ordering) for ordering in orderings]


@given(permutations)
def test_an_ordering_and_the_ranks_it_gives_are_the_same_ranking(orderings):
    ranks = [[ordering.index(item) + 1 for item in range(len(ordering))] for ordering in orderings]
    assert Rankings.from_ranks(ranks, larger_is_preferred=False) == Rankings.from_orderings(orderings)


@st.composite
def padded(draw):
    n = draw(st.integers(1, 5))
    lists = draw(st.lists(st.tuples(st.permutations(range(n)), st.integers(0, n)), min_size=1, max_size=5))
    return n, [list(items[:length]) + [-1] * (n - length) for items, length in lists]


@given(padded())
def test_arrays_and_lists_names_and_positions_all_agree(case):
    n, rows = case
    items = [f"item {i}" for i in range(n)]
    by_array = Rankings.from_orderings(np.array(rows), kind="top", items=items)
    by_list = Rankings.from_orderings(rows, kind="top", items=items)
    with_nan = Rankings.from_orderings(np.where(np.array(rows) < 0, np.nan, rows), kind="top", items=items)
    by_name = Rankings.from_orderings([[items[i] for i in row if i >= 0] for row in rows], kind="top", items=items)
    padded_names = [[items[i] if i >= 0 else None for i in row] for row in rows]
    in_frame = Rankings.from_orderings(pd.DataFrame(padded_names, dtype=object), kind="top", items=items)
    assert by_array == by_list == with_nan == by_name == in_frame
    for row, values in zip(rows, by_array.values, strict=True):
        assert best_first(values) == [i for i in row if i >= 0]


def test_the_best_of_n_items_gets_n_and_the_unranked_none():
    votes = Rankings.from_orderings([["b", "c"], ["a", "b", "c"]], kind=["top", "total"], items="abcd"[:3])
    np.testing.assert_array_equal(votes.values, [[NAN, 3, 2], [3, 2, 1]])
    assert votes.kind == ("top", "total")


def test_items_tied_in_an_ordering_share_the_mean():
    votes = Rankings.from_orderings([["a", {"c", "b"}, "d"], [["a", "b", "c", "d"]]])
    np.testing.assert_array_equal(votes.values, [[4, 2.5, 2.5, 1], [2.5, 2.5, 2.5, 2.5]])


def test_names_are_sorted_where_none_are_given():
    assert Rankings.from_orderings([["pear", "apple"], ["apple", "pear"]]).items == ("apple", "pear")
    assert Rankings.from_orderings([[1, 0]]).items == ("0", "1")
    assert Rankings.from_ranks(pd.DataFrame({"x": [1], "y": [2]})).items == ("x", "y")


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize(
    ("orderings", "options", "message"),
    [
        ([[0, 1, 2], [0, 0, 1]], {}, "ordering 1 ranks item 0 twice"),
        ([[0, 1], [1, 2]], {"items": "ab"}, "ordering 1 ranks position 2.*subtract 1"),
        ([[0, 1], [-2, 1]], {"items": "ab"}, "ordering 1 ranks position -2"),
        ([[0, 1, 2], [0, -1, 1]], {"kind": "top"}, "ordering 1 goes on behind"),
        ([[1, 2], [2, 1]], {}, "ranking 0 is total but does not place item '0'.*count from 0"),
        ([[0, -1], [0, 1]], {}, "ranking 0 is total"),
        ([[0, 1]], {"kind": "partial"}, "ranking 0 has kind 'partial'"),
        ([[0, 1], [1, 0]], {"kind": ["total"]}, "1 kinds for 2 rankings"),
        ([[0, 1]], {"counts": [1, 2]}, r"shape \(2,\)"),
        ([[0, 1]], {"counts": [0]}, "whole numbers from 1"),
        ([[0, 1]], {"counts": [1.5]}, "whole numbers from 1"),
        ([[0, 1]], {"items": ["a", "a"]}, "two items have the name 'a'"),
    ],
)
def test_orderings_that_cannot_be(orderings, options, message, as_array):
    with pytest.raises(InputError, match=message):
        Rankings.from_orderings(np.array(orderings) if as_array else orderings, **options)


@pytest.mark.parametrize(
    ("orderings", "message"),
    [
        ([["a", "b"], ["a", "b", "a"]], "ordering 1 ranks item 'a' twice"),
        ([["a", ("b", "b")]], "ordering 0 ranks item 'b' twice"),
        ([[1.5, 0]], "neither the name nor the position"),
        ([[float("inf")]], "neither the name nor the position"),
        (["ab", "ba"], "ordering 0 is 'ab'"),
        ([], "no orderings"),
    ],
)
def test_lists_that_are_no_orderings(orderings, message):
    with pytest.raises(InputError, match=message):
        Rankings.from_orderings(orderings)


def test_an_unknown_name_is_told():
    with pytest.raises(InputError, match="ordering 0 ranks 'c', which is not among the items"):
        Rankings.from_orderings([["a", "c"]], items=["a", "b"])


def test_a_text_is_no_list_of_orderings():
    with pytest.raises(InputTypeError, match="list of lists"):
        Rankings.from_orderings("abc")


def test_total_rankings_have_no_nan():
    with pytest.raises(InputError, match="ranking 1 is total but does not place item 'y'"):
        Rankings.from_ranks([[1, 2], [1, NAN]], items=["x", "y"])
    assert len(Rankings.from_ranks([[1, NAN]], kind="interleaving")) == 1


@pytest.mark.parametrize("values", [[1, 2], [[]], np.empty((0, 2)), [["a", "b"]], [[1], [1, 2]]])
def test_values_that_are_no_matrix(values):
    with pytest.raises(InputError, match="values of rankings"):
        Rankings.from_ranks(values)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=6))
def test_turning_values_around_reverses_every_comparison(row):
    turned = Rankings.from_ranks([row], larger_is_preferred=False).values[0]
    for i, j in itertools.combinations(range(len(row)), 2):
        assert (row[i] < row[j]) == (turned[i] > turned[j])
        assert (row[i] == row[j]) == (turned[i] == turned[j])


def test_expand_repeats_by_counts():
    votes = Rankings.from_ranks([[1, 2], [NAN, 3]], kind=["total", "top"], counts=[2, 3])
    grown = votes.expand()
    np.testing.assert_array_equal(grown.values, [[1, 2]] * 2 + [[NAN, 3]] * 3)
    assert grown.kind == ("total",) * 2 + ("top",) * 3
    assert grown.counts.tolist() == [1] * 5


@given(st.lists(st.tuples(st.sampled_from([(1, 2), (2, 1), (NAN, 1)]), st.integers(1, 9)), min_size=1, max_size=12))
def test_distinct_undoes_expand(rows):
    votes = Rankings.from_ranks([row for row, _ in rows], kind="top", counts=[count for _, count in rows])
    few, inverse = votes.distinct()
    assert len(few) == len({str(row) for row, _ in rows})
    np.testing.assert_array_equal(few.values[inverse], votes.values)
    assert few.counts.sum() == votes.counts.sum()
    again, _ = votes.expand().distinct()
    assert again == few


def test_distinct_sees_kinds_but_not_the_sign_of_zero():
    votes = Rankings.from_ranks([[0.0, 1], [-0.0, 1], [0, 1]], kind=["top", "top", "total"])
    few, inverse = votes.distinct()
    assert len(few) == 2
    assert inverse.tolist() == [0, 0, 1]


def test_rows_are_taken_by_position_slice_list_and_mask():
    votes = Rankings.from_ranks([[1, 2], [2, 1], [3, 3]], kind=["top", "total", "top"], counts=[1, 2, 3])
    assert votes[1].counts.tolist() == [2]
    assert votes[-1] == votes[2] == votes[[2]] == votes[2:]
    assert votes[np.array([True, False, True])] == votes[::2]
    assert votes[::2].kind == ("top", "top")
    with pytest.raises(IndexError):
        votes[3]
    assert [row.counts[0] for row in votes] == [1, 2, 3]


def test_rankings_are_frozen_and_do_not_share_the_callers_array():
    values = np.array([[1.0, 2.0]])
    votes = Rankings.from_ranks(values)
    values[0, 0] = 9
    assert votes.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        votes.values[0, 0] = 5
    with pytest.raises(AttributeError):
        votes.items = ("a", "b")


def test_rankings_pickle_and_show_themselves():
    votes = Rankings.from_ranks([[1, 2], [NAN, 1]], kind=["total", "top"], counts=[1, 1000])
    assert pickle.loads(pickle.dumps(votes)) == votes
    assert repr(votes) == "<Rankings: 2 rankings of 2 items (total and top), 1,001 voters>"
    assert repr(votes[0]) == "<Rankings: 1 rankings of 2 items (total)>"
    assert (len(votes), votes.n_items, votes.shape) == (2, 2, (2, 2))
    assert votes != 3
