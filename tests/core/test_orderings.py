"""Orderings become placements: padding, ties, names and positions, and messages that name the row."""

from __future__ import annotations

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
def test_orderings_are_recovered_from_values(orderings):
    votes = Rankings.from_orderings(orderings)
    assert [best_first(row) for row in votes.values] == [list(ordering) for ordering in orderings]


@given(permutations)
def test_orderings_equal_their_ranks(orderings):
    ranks = [[ordering.index(item) + 1 for item in range(len(ordering))] for ordering in orderings]
    assert Rankings.from_ranks(ranks, larger_is_preferred=False) == Rankings.from_orderings(orderings)


@st.composite
def padded(draw):
    n = draw(st.integers(1, 5))
    lists = draw(st.lists(st.tuples(st.permutations(range(n)), st.integers(0, n)), min_size=1, max_size=5))
    return n, [list(items[:length]) + [-1] * (n - length) for items, length in lists]


@given(padded())
def test_arrays_lists_names_and_positions_agree(case):
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


def test_best_of_n_items_gets_n_and_unranked_items_nan():
    votes = Rankings.from_orderings([["b", "c"], ["a", "b", "c"]], kind=["top", "total"], items="abcd"[:3])
    np.testing.assert_array_equal(votes.values, [[NAN, 3, 2], [3, 2, 1]])
    assert votes.kind == ("top", "total")


def test_tied_items_share_the_mean():
    votes = Rankings.from_orderings([["a", {"c", "b"}, "d"], [["a", "b", "c", "d"]]])
    np.testing.assert_array_equal(votes.values, [[4, 2.5, 2.5, 1], [2.5, 2.5, 2.5, 2.5]])


def test_default_names_are_sorted():
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
        ([[0, 1, 2], [0, -1, 1]], {"kind": "top"}, "ordering 1 has an item after padding"),
        (
            [[0, 2**62], [2**62, 0]],
            {},
            "an ordering ranks position 4611686018427387904, and there are at most 2,147,483",
        ),
        ([[1, 2], [2, 1]], {}, "ranking 0 is total but does not rank item '0'.*numbered from 0"),
        ([[0, -1], [0, 1]], {}, "ranking 0 is total"),
    ],
)
def test_invalid_orderings_are_refused(orderings, options, message, as_array):
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
        ([np.ma.masked], "ordering 0 is masked; it must be a list of items"),
        ([], "no orderings"),
    ],
)
def test_invalid_lists_are_refused(orderings, message):
    with pytest.raises(InputError, match=message):
        Rankings.from_orderings(orderings)


def test_unknown_name_is_reported():
    with pytest.raises(InputError, match="ordering 0 ranks 'c', which is not among the items"):
        Rankings.from_orderings([["a", "c"]], items=["a", "b"])


def test_text_is_not_a_list_of_orderings():
    with pytest.raises(InputTypeError, match="list of lists"):
        Rankings.from_orderings("abc")
