"""Completions of partial rankings against insertion place by place, and their means against sums over all orders."""

import naive_completions as naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from distkern.compiled.completions import complete, completion_chances, completion_preferences, fill_masses
from distkern.core.random import sample_keys

THETAS = [0.0, 0.2, 1.0, 3.0]


def ballot(random, n, listed):
    levels = np.zeros(n, dtype=np.int64)
    levels[random.permutation(n)[:listed]] = random.permutation(listed) + 1
    return levels


def keys_of(count):
    return sample_keys(3, np.arange(count, dtype=np.uint8)[:, None])


@given(st.integers(0, 10**6), st.integers(1, 7), st.sampled_from(THETAS))
def test_a_completion_equals_the_naive_insertion(seed, n, theta):
    random = np.random.default_rng(seed)
    levels, order, uniform = ballot(random, n, random.integers(0, n + 1)), random.permutation(n), random.random(n)
    masses, line = np.empty(n + 1), np.empty(n, dtype=np.int64)
    fill_masses(theta, masses)
    log_weight = complete(levels, order, theta, masses, uniform, line)
    expected, weight = naive.inserted(levels, order, theta, uniform)
    assume(np.isfinite(log_weight))
    assert line.tolist() == expected
    assert log_weight == pytest.approx(np.log(weight), abs=1e-9)


def test_a_large_dispersion_does_not_lose_a_weight():
    levels, order = np.array([1, 2, 0]), np.array([0, 1, 2])  # the ballot contradicts the consensus
    masses, line = np.empty(4), np.empty(3, dtype=np.int64)
    fill_masses(50.0, masses)
    assert complete(levels, order, 50.0, masses, np.zeros(3), line) == pytest.approx(-50.0)
    assert line.tolist() == [1, 0, 2]


@pytest.mark.parametrize("theta", THETAS)
def test_estimates_are_the_sums_over_all_orders_within_their_errors(theta):
    random = np.random.default_rng(4)
    n, draws = 5, 4000
    levels = np.array([ballot(random, n, listed) for listed in (0, 1, 2, 3, 3, 4)])
    orders = np.array([random.permutation(n) for _ in range(2)])
    thetas, shares = np.array([theta, 0.5]), np.array([0.3, 0.7])
    chances, variances = np.empty((len(levels), 2)), np.empty(len(levels))
    completion_chances(levels, keys_of(len(levels)), orders, thetas, np.log(shares), draws, chances, variances)
    expected = np.array([[naive.chance(x, o, t) for o, t in zip(orders, thetas, strict=True)] for x in levels])
    np.testing.assert_allclose(np.exp(chances[:2]), 1.0)  # a ballot of one item says nothing
    mixed, known = np.exp(chances) @ shares, expected @ shares
    assert (np.abs(mixed / known - 1) <= 4.5 * np.sqrt(variances) + 1e-12).all()
    assert (np.sqrt(variances) < 0.05).all()

    counted = np.zeros((2, n, n))
    weights = random.random((len(levels), 2))
    completion_preferences(levels, keys_of(len(levels)), weights, orders, thetas, draws, counted)
    for c in range(2):
        sums = sum(
            weight * naive.preferences(x, orders[c], thetas[c]) for weight, x in zip(weights[:, c], levels, strict=True)
        )
        np.testing.assert_allclose(counted[c], sums, atol=0.1)
        np.testing.assert_allclose(counted[c] + counted[c].T + np.eye(n), np.where(np.eye(n), 1, weights[:, c].sum()))


def test_errors_are_those_of_repeated_estimates():
    random = np.random.default_rng(0)
    levels, orders, thetas = ballot(random, 6, 3)[None], random.permutation(6)[None], np.array([0.7])
    found, claimed = [], []
    for key in keys_of(200):
        chances, variances = np.empty((1, 1)), np.empty(1)
        completion_chances(levels, key[None], orders, thetas, np.zeros(1), 100, chances, variances)
        found.append(np.exp(chances[0, 0]))
        claimed.append(variances[0])
    relative = np.array(found) / naive.chance(levels[0], orders[0], 0.7)
    assert relative.mean() == pytest.approx(1, abs=4 * relative.std() / np.sqrt(200))
    assert relative.std() == pytest.approx(np.sqrt(np.mean(claimed)), rel=0.25)
