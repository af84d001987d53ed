"""Kemeny's order, its bound, its uniqueness and its number against brute force over all orders."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive_consensus import optimal_orders
from scipy.optimize import Bounds, LinearConstraint, milp

from distkern.solvers import kemeny as rooms
from distkern.solvers.cutting_planes import common_step
from distkern.solvers.kemeny import kemeny, margins_of, strict_components, weak_components
from distkern.solvers.linear_ordering import is_unique, linear_ordering

whole = st.integers(0, 4).map(float)
quarters = st.integers(0, 8).map(lambda count: count / 4)


def preferences(data, most=6, elements=whole):
    n = data.draw(st.integers(2, most))
    preferred = data.draw(arrays(np.float64, (n, n), elements=elements))
    np.fill_diagonal(preferred, 0)
    return preferred


def check(found, preferred):
    least, orders = optimal_orders(preferred)
    assert found.optimal
    assert found.cost == found.lower_bound == pytest.approx(least, abs=1e-9)
    assert tuple(found.order) in orders
    return orders


@given(st.data())
def test_order_number_and_winners_are_those_of_all_orders(data):
    preferred = preferences(data, elements=data.draw(st.sampled_from([whole, quarters])))
    found = kemeny(preferred, most=1000)
    orders = check(found, preferred)
    assert tuple(found.order) == orders[0]
    assert (found.count, found.counted) == (len(orders), True)
    assert [tuple(order) for order in found.orders] == orders
    assert set(found.winners) == {order[0] for order in orders}
    assert found.unique_winner == (len(found.winners) == 1)
    assert [tuple(order) for order in kemeny(preferred, most=2).orders] == orders[:2]


@given(st.data())
def test_integer_programmes_of_small_parts_find_the_same(data):
    """As if the table held no more than two items."""
    preferred = preferences(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rooms, "EXACT_ITEMS", 2)
        found = kemeny(preferred)
    orders = check(found, preferred)
    winners = {order[0] for order in orders}
    assert set(found.winners) <= winners
    assert found.count <= len(orders)
    assert not found.counted or found.count == len(orders)
    assert found.unique_winner in (len(winners) == 1, None)


@given(st.data())
def test_programme_of_one_component(data):
    n = data.draw(st.integers(3, 6))
    margins = np.zeros((n, n))
    upper = np.triu_indices(n, 1)
    margins[upper] = data.draw(arrays(np.float64, len(upper[0]), elements=st.integers(-4, 4).map(float)))
    margins -= margins.T
    least, orders = optimal_orders(np.maximum(margins, 0))
    found = linear_ordering(margins)
    assert found.cost == found.lower_bound == least
    assert tuple(found.order) in orders
    assert is_unique(margins, found, winner=False, deadline=np.inf) == (len(orders) == 1)
    assert is_unique(margins, found, winner=True, deadline=np.inf) == (len({order[0] for order in orders}) == 1)
    real = margins * 0.37
    again = linear_ordering(real)
    assert again.cost == pytest.approx(0.37 * least)
    assert again.lower_bound <= 0.37 * least + 1e-9
    assert again.lower_bound == again.cost
    assert is_unique(real, again, winner=False, deadline=np.inf) == (len(orders) == 1)


@given(st.data())
def test_all_optimal_orders_list_the_weak_components_in_their_sequence(data):
    preferred = preferences(data)
    margins = margins_of(preferred)
    groups = weak_components(margins)
    place_of = {item: place for place, items in enumerate(groups) for item in items.tolist()}
    for order in optimal_orders(preferred)[1]:
        places = [place_of[item] for item in order]
        assert places == sorted(places)
    assert sorted(place_of) == list(range(len(preferred)))


@given(st.data())
def test_no_majority_points_back_between_strict_components(data):
    margins = margins_of(preferences(data))
    groups = strict_components(margins)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(margins)))
    for place, late in enumerate(groups):
        for early in groups[:place]:
            assert not (margins[np.ix_(late, early)] > 0).any()


def uniform_ballots(n, m, seed):
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(n) for _ in range(m)])
    preferred = (places[:, :, None] < places[:, None]).sum(axis=0).astype(float)
    return preferred


def least_by_all_constraints(margins):
    """The linear ordering problem with all of its constraints at once."""
    n = len(margins)
    pairs = {pair: number for number, pair in enumerate(zip(*np.triu_indices(n, 1), strict=True))}
    rows = []
    for i, j, k in combinations(range(n), 3):
        row = np.zeros(len(pairs))
        row[pairs[i, j]], row[pairs[j, k]], row[pairs[i, k]] = 1, 1, -1
        rows.append(row)
    costs = np.array([-margins[pair] for pair in pairs])
    found = milp(costs, integrality=np.ones(len(pairs)), bounds=Bounds(0, 1), constraints=LinearConstraint(rows, 0, 1))
    return found.fun + np.maximum(-costs, 0).sum()


@pytest.mark.parametrize("seed", range(4))
def test_random_ballots_have_the_optimum_of_the_whole_programme(seed):
    preferred = uniform_ballots(18, 9, seed)
    margins = margins_of(preferred)
    least = least_by_all_constraints(margins)
    found = linear_ordering(margins)
    assert found.cost == found.lower_bound == pytest.approx(least)
    assert kemeny(preferred).cost == pytest.approx(least + np.minimum(preferred, preferred.T).sum() / 2)


def test_a_hard_case_has_valid_bounds_at_any_time():
    margins = margins_of(uniform_ballots(45, 8, 5))
    bounds = []
    for seconds in (0, 0.05, 0.3, 60):
        found = linear_ordering(margins, deadline=time.monotonic() + seconds)
        assert sorted(found.order) == list(range(45))
        assert 0 <= found.lower_bound <= found.cost
        bounds.append((found.lower_bound, found.cost))
    assert max(bound for bound, _ in bounds) <= min(cost for _, cost in bounds)


def test_a_large_component_is_proven_and_its_uniqueness_known():
    rng = np.random.default_rng(1)
    n, m = 30, 51
    utilities = np.linspace(0, 3, n) + 3 * rng.gumbel(size=(m, n))
    preferred = (utilities[:, :, None] > utilities[:, None]).sum(axis=0).astype(float)
    assert max(map(len, weak_components(margins_of(preferred)))) > rooms.EXACT_ITEMS
    found = kemeny(preferred)
    assert found.optimal
    assert found.unique_winner is not None
    twice = np.kron(preferred, np.ones((2, 2)))  # each item twice: every optimal order has another with two exchanged
    np.fill_diagonal(twice, 0)
    pairs = kemeny(twice)
    assert pairs.optimal
    assert pairs.unique_winner is False
    assert not pairs.counted


def test_step_of_values():
    assert common_step(np.array([6.0, -9.0])) == 3
    assert common_step(np.array([0.0])) == 0
    assert common_step(np.array([0.3])) == 0
