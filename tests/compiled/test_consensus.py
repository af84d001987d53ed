"""The routines of consensus rankings against loops over all orders, cycles and chains."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive_consensus import cost_with_ties, optimal_orders, preferred_of, weak_orders

from distkern.compiled.consensus import (
    all_cycles,
    best_buckets,
    best_top,
    cost_of_buckets,
    improve_buckets,
    kemeny_table,
    preferences,
    ties_of,
    violated_chains,
    violated_cycles,
)
from distkern.compiled.consensus import optimal_orders as orders_of_table

scores = st.sampled_from([-np.inf, 0.0, 1.0, 2.0, np.nan])


def square(data, most, elements):
    n = data.draw(st.integers(2, most))
    values = data.draw(arrays(np.float64, (n, n), elements=elements))
    np.fill_diagonal(values, 0)
    return values


@given(st.data())
def test_weights_of_preferences_and_ties_equal_the_naive_ones(data):
    m, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    X = data.draw(arrays(np.float64, (m, n), elements=scores))
    weights = data.draw(arrays(np.float64, m, elements=st.integers(0, 3).map(float)))
    preferred, tied = preferred_of(X, weights)
    assert preferences(X, weights[:, None])[0].tolist() == preferred.tolist()
    assert ties_of(X, weights).tolist() == tied.tolist()


@given(st.data())
def test_table_of_sets_equals_the_naive_list_of_orders(data):
    preferred = square(data, 5, st.integers(0, 3).map(float))
    least, orders = optimal_orders(preferred)
    left, count = kemeny_table(preferred, 0.0)
    assert (left[0], count[0]) == (least, len(orders))
    found = orders_of_table(preferred, left, 0.0, 200)
    assert [tuple(order) for order in found.tolist()] == orders
    assert [tuple(order) for order in orders_of_table(preferred, left, 0.0, 1).tolist()] == orders[:1]


@given(st.data())
def test_violated_constraints_equal_the_naive_ones(data):
    x = square(data, 6, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
    n = len(x)
    chains = {(i, k): max((x[i, j] + x[j, k] - x[i, k] for j in range(n) if j not in (i, k)), default=0)
              for i, k in permutations(range(n), 2)}  # fmt: skip
    found = violated_chains(x, 1e-6)
    assert {(i, k) for i, _, k in found.tolist()} == {pair for pair, value in chains.items() if value > 1 + 1e-6}
    assert all(x[i, j] + x[j, k] - x[i, k] == chains[i, k] for i, j, k in found.tolist())

    before = np.triu(x, 1) + np.tril(1 - x.T, -1)
    cycles = {(i, j): max((before[i, j] + before[j, k] + before[k, i] for k in range(n) if k not in (i, j)), default=0)
              for i, j in permutations(range(n), 2)}  # fmt: skip
    found = violated_cycles(before, 1e-6).tolist()
    assert len(found) == sum(value > 2 + 1e-6 for value in cycles.values())
    for cycle in found:
        assert cycle[0] == min(cycle)
        value = before[cycle[0], cycle[1]] + before[cycle[1], cycle[2]] + before[cycle[2], cycle[0]]
        assert value in [cycles[cycle[place], cycle[(place + 1) % 3]] for place in range(3)]

    whole = np.triu(x > 0.5, 1) + np.tril(~(x > 0.5).T, -1).astype(float)
    every = [
        [i, j, k]
        for i, j, k in permutations(range(n), 3)
        if i == min(i, j, k) and whole[i, j] == whole[j, k] == whole[k, i] == 1
    ]
    assert all_cycles(whole, 100).tolist() == every
    assert all_cycles(whole, 1).tolist() == every[:1]


@given(st.data())
def test_orders_with_ties_equal_the_naive_ones(data):
    preferred = square(data, 4, st.integers(0, 3).map(float))
    zeros = np.zeros_like(preferred)
    before, tied, n = preferred.T.copy(), (preferred + preferred.T) / 2, len(preferred)
    every = {numbers: cost_with_ties(numbers, preferred, zeros, 0.5) for numbers in weak_orders(n)}
    numbers, cost = best_buckets(before, tied)
    assert cost == every[tuple(numbers.tolist())] == min(every.values())
    k = data.draw(st.integers(1, n - 1))
    lists = {
        numbers: value
        for numbers, value in every.items()
        if [numbers.count(number) for number in range(k + 1)] == [1] * k + [n - k]
    }
    top, cost = best_top(before, tied, k)
    assert cost == min(lists.values())
    moved = np.full(n, k)
    moved[top] = np.arange(k)
    assert lists[tuple(moved.tolist())] == cost
    start = data.draw(st.sampled_from(sorted(lists)))
    moved = np.array(start)
    improve_buckets(moved, before, tied, k)
    assert cost <= lists[tuple(moved.tolist())] <= lists[start]
    assert cost_of_buckets(moved, before, tied) == pytest.approx(lists[tuple(moved.tolist())])
