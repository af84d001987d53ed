"""Orders with ties against brute force over all of them."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive_consensus import cost_with_ties, weak_orders

from distkern.compiled.consensus import cost_of_buckets, improve_buckets, split_order
from distkern.solvers import bucket_orders as rooms
from distkern.solvers.bucket_orders import bucket_order, top_order


def costs(data, most=5):
    n = data.draw(st.integers(2, most))
    preferred = data.draw(arrays(np.float64, (n, n), elements=st.integers(0, 4).map(float)))
    tied = data.draw(arrays(np.float64, (n, n), elements=st.integers(0, 3).map(float)))
    np.fill_diagonal(preferred, 0)
    tied = np.triu(tied, 1) + np.triu(tied, 1).T
    penalty = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]))
    every = {numbers: cost_with_ties(numbers, preferred, tied, penalty) for numbers in weak_orders(n)}
    return preferred.T + penalty * tied, penalty * (preferred + preferred.T), every


def of_top(numbers, k):
    """Whether an order places k items alone, and ties all others below."""
    sizes = [numbers.count(number) for number in range(max(numbers) + 1)]
    return sizes[:k] == [1] * k and len(sizes) <= k + 1


def check(found, every):
    least = min(every.values())
    assert found.cost == found.lower_bound == pytest.approx(least, abs=1e-9)
    assert every[tuple(found.numbers.tolist())] == pytest.approx(least, abs=1e-9)


@given(st.data())
def test_the_least_of_all_bucket_orders(data):
    before, tied, every = costs(data)
    check(bucket_order(before, tied), every)
    with pytest.MonkeyPatch.context() as patch:  # as if there were too many items for the table
        patch.setattr(rooms, "EXACT_BUCKETS", 1)
        check(bucket_order(before, tied), every)


@given(st.data())
def test_the_least_of_all_top_lists(data):
    before, tied, every = costs(data)
    k = data.draw(st.integers(1, len(before) - 1))
    lists = {numbers: cost for numbers, cost in every.items() if of_top(numbers, k)}
    check(top_order(before, tied, k), lists)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rooms, "EXACT_ITEMS", 1)
        check(top_order(before, tied, k), lists)


@given(st.data())
def test_local_search_ends_where_no_item_moved_helps_and_ties_of_an_order_are_the_best(data):
    before, tied, every = costs(data)
    n = len(before)
    _, cost = split_order(np.arange(n), before, tied)
    sorted_ones = [value for other, value in every.items() if list(other) == sorted(other)]
    assert cost == pytest.approx(min(sorted_ones), abs=1e-9)
    start = data.draw(st.sampled_from(sorted(every)))
    moved = np.array(start)
    improve_buckets(moved, before, tied, -1)
    final = every[tuple(moved.tolist())]
    assert final <= every[start] + 1e-9
    assert final == pytest.approx(cost_of_buckets(moved, before, tied), abs=1e-9)
    for other, value in every.items():
        if any(
            [number for item, number in enumerate(_dense(other, leave)) if item >= 0] == _dense(moved.tolist(), leave)
            for leave in range(n)
        ):  # one item moved
            assert final <= value + 1e-9


def _dense(numbers, leave):
    """The order without one item."""
    rest = [number for item, number in enumerate(numbers) if item != leave]
    found = sorted(set(rest))
    return [found.index(number) for number in rest]


def test_many_items_have_valid_bounds():
    rng = np.random.default_rng(0)
    scores = np.round(np.linspace(0, 4, 24) + 2 * rng.normal(size=(30, 24)))
    preferred = (scores[:, :, None] > scores[:, None]).sum(axis=0).astype(float)
    same = (scores[:, :, None] == scores[:, None]).sum(axis=0).astype(float)
    np.fill_diagonal(same, 0)
    before, tied = preferred.T + same / 2, (preferred + preferred.T) / 2
    bounds = []
    for seconds in (0, 0.2, 10):
        for found in (bucket_order(before, tied, deadline=time.monotonic() + seconds),):
            assert found.cost == pytest.approx(cost_of_buckets(found.numbers, before, tied))
            assert found.lower_bound <= found.cost
            bounds.append((found.lower_bound, found.cost))
    assert max(bound for bound, _ in bounds) <= min(cost for _, cost in bounds)
    top = top_order(before, tied, 3, deadline=time.monotonic() + 10)
    assert sorted(np.bincount(top.numbers)) == [1, 1, 1, 21]
    assert bounds[-1][0] <= top.lower_bound <= top.cost
