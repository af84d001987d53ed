"""Rankings: orientation, the meaning of NaN, counts, and messages that name the row."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.core.rankings import Rankings

NAN = np.nan


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "partial"}, "ranking 0 has kind 'partial'"),
        ({"kind": ["total"]}, "1 kinds for 2 rankings"),
        ({"counts": [1, 2, 3]}, r"shape \(3,\)"),
        ({"counts": [0, 1]}, "whole numbers from 1"),
        ({"counts": [1.5, 1]}, "whole numbers from 1"),
        ({"items": ["a", "a"]}, "two items have the name 'a'"),
    ],
)
def test_kinds_counts_and_names_must_fit(options, message):
    with pytest.raises(InputError, match=message):
        Rankings.from_orderings([[0, 1], [1, 0]], **options)


def test_total_rankings_have_no_nan():
    with pytest.raises(InputError, match="ranking 1 is total but does not rank item 'y'"):
        Rankings.from_ranks([[1, 2], [1, NAN]], items=["x", "y"])
    assert len(Rankings.from_ranks([[1, NAN]], kind="interleaving")) == 1


@pytest.mark.parametrize("values", [[1, 2], [[]], np.empty((0, 2)), [["a", "b"]], [[1], [1, 2]]])
def test_values_must_be_a_matrix_of_numbers(values):
    with pytest.raises(InputError, match="values of rankings"):
        Rankings.from_ranks(values)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=6))
def test_smaller_is_preferred_reverses_every_comparison(row):
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


def test_distinct_compares_kinds_and_ignores_the_sign_of_zero():
    votes = Rankings.from_ranks([[0.0, 1], [-0.0, 1], [0, 1]], kind=["top", "top", "total"])
    few, inverse = votes.distinct()
    assert len(few) == 2
    assert inverse.tolist() == [0, 0, 1]


def test_rows_are_selected_by_position_slice_list_and_mask():
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


def test_rankings_pickle_and_have_a_repr():
    votes = Rankings.from_ranks([[1, 2], [NAN, 1]], kind=["total", "top"], counts=[1, 1000])
    assert pickle.loads(pickle.dumps(votes)) == votes
    assert repr(votes) == "<Rankings: 2 rankings of 2 items (total and top), 1,001 voters>"
    assert repr(votes[0]) == "<Rankings: 1 rankings of 2 items (total)>"
    assert (len(votes), votes.n_items, votes.shape) == (2, 2, (2, 2))
    assert votes != 3


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([[3, 2, 9], [1, 2, 3]], mask=[[0, 0, 1], [0, 0, 0]]),  # sklearn#10186
        pd.DataFrame({"a": [3, 1], "b": [2, 2], "c": pd.array([None, 3], dtype="Int64")}),
        pd.DataFrame({"a": [3, 1], "b": [2, 2], "c": [None, 3]}, dtype=object),
        [[3, 2, None], [1, 2, 3]],
    ],
)
def test_what_is_masked_or_missing_is_not_observed(values):
    votes = Rankings.from_ranks(values, kind="top")
    np.testing.assert_array_equal(votes.values, [[3, 2, NAN], [1, 2, 3]])
    with pytest.raises(InputError, match="ranking 0 is total but does not rank item"):
        Rankings.from_ranks(values)


def test_masked_padding_of_orderings_ends_the_ordering():
    orderings = np.ma.array([[2, 0, 1], [1, 0, 0]], mask=[[0, 0, 0], [0, 1, 1]])
    votes = Rankings.from_orderings(orderings, kind=["total", "top"])
    np.testing.assert_array_equal(votes.values, [[2, 1, 3], [NAN, 3, NAN]])
    frame = pd.DataFrame({"first": ["b", "a"], "second": ["a", pd.NA]}, dtype="string")
    np.testing.assert_array_equal(Rankings.from_orderings(frame, kind="top").values, [[1, 2], [2, NAN]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [["1", "2"]]}, "values of rankings must be real numbers, not text"),
        ({"values": [[2**53 + 1, 2**53]]}, "integer 9007199254740993 is too large"),
        ({"values": [[1, 2]], "items": ["a", "b\tc"]}, "name of item 2, .* contains a tab"),
        ({"values": [[1, 2]], "items": ["a", None]}, "item 2 has no name"),
        ({"values": [[1, 2]], "counts": np.ma.array([3], mask=[True])}, "whole numbers from 1"),
    ],
)
def test_digits_names_and_counts_are_not_lost(options, message):
    with pytest.raises(InputError, match=message):
        Rankings.from_ranks(**options)


def test_counts_with_names_must_be_those_of_the_rows():
    """Public reports: markeR#34, rnasplice#223."""
    values = pd.DataFrame([[1, 2], [2, 1]], index=["p", "q"])
    counts = pd.Series([30, 12], index=["p", "q"])
    assert Rankings.from_ranks(values, counts=counts).counts.tolist() == [30, 12]
    with pytest.raises(InputError, match="counts has the samples of the rankings in another order"):
        Rankings.from_ranks(values, counts=counts[::-1])
    with pytest.raises(InputError, match="counts and the rankings have no name in common"):
        Rankings.from_ranks(values, counts=pd.Series([30, 12], index=["x", "y"]))


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from([0.0, -0.0, 1.0, NAN]), min_size=3, max_size=3), st.integers(1, 5)),
        min_size=1,
    ),
    st.integers(1, 4),
)
def test_merged_parts_equal_the_whole_made_distinct(rows, height):
    values, counts = [row for row, _ in rows], [count for _, count in rows]
    whole = Rankings.from_ranks(values, kind="top", counts=counts)
    parts = (whole[start : start + height] for start in range(0, len(rows), height))
    expected, _ = whole.distinct()
    assert Rankings.merged(parts) == expected


def test_parts_with_other_items_are_refused():
    one, other = Rankings.from_ranks([[1, 2]], items=["a", "b"]), Rankings.from_ranks([[1, 2]], items=["b", "a"])
    with pytest.raises(InputError, match="other items, or in another order"):
        Rankings.merged([one, other])
    with pytest.raises(InputError, match="give one part at least"):
        Rankings.merged([])
