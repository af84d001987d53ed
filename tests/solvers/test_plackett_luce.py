"""The likelihood of the Plackett–Luce model against sums over all sets of items, and its maximum against scipy."""

from itertools import combinations
from math import exp, inf, log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.stats import chisquare
from strategies import partial_cohorts

from distkern.solvers import plackett_luce as solver
from distkern.solvers.plackett_luce import Worths


def naive(values, last, log_worths, ties):
    """Log-likelihood of one ranking; ``ties`` are the δ by number of tied items."""
    left = [i for i, value in enumerate(values) if last or not np.isnan(value)]
    total = 0.0
    for level in sorted({value for value in values if not np.isnan(value)}, reverse=True):
        chosen = [i for i, value in enumerate(values) if value == level]
        if len(left) > 1:
            normaliser = sum(
                delta * prod(exp(log_worths[i]) for i in subset) ** (1 / k)
                for k, delta in ties.items()
                for subset in combinations(left, k)
            )
            if len(chosen) not in ties:
                return -inf
            top = ties[len(chosen)] * prod(exp(log_worths[i]) for i in chosen) ** (1 / len(chosen))
            total += log(top) - log(normaliser)
        left = [i for i in left if i not in chosen]
    return total


def drawn_worths(totals, n, seed):
    random = np.random.default_rng(seed)
    log_ties = np.concatenate([[0.0], random.normal(size=len(totals.orders) - 1)])
    return Worths(random.normal(size=n), totals.orders, log_ties)


@given(partial_cohorts(), st.integers(0, 99))
def test_the_likelihood_is_that_of_all_sets(cohort, seed):
    X, kinds = cohort
    last = np.array(kinds) == "top"
    choices = solver.choices_of(X, last)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    totals = solver.totals_of(choices, weights)
    worths = drawn_worths(totals, X.shape[1], seed)
    ties = dict(zip(worths.orders.tolist(), np.exp(worths.log_ties).tolist(), strict=True))
    expected = [naive(x, top, worths.log_worths, ties) for x, top in zip(X, last, strict=True)]
    np.testing.assert_allclose(solver.log_likelihoods(worths, choices), expected, rtol=1e-10, atol=1e-10)
    normalisers = totals.available @ solver.log_normalisers(worths, choices)
    value = solver.penalised(worths, totals, 0.0, normalisers)
    assert value == pytest.approx(weights @ np.array(expected), rel=1e-10, abs=1e-10)
    without_ties = Worths(worths.log_worths, np.array([1]), np.zeros(1))
    expected = [naive(x, top, worths.log_worths, {1: 1.0}) for x, top in zip(X, last, strict=True)]
    np.testing.assert_allclose(solver.log_likelihoods(without_ties, choices), expected, rtol=1e-10, atol=1e-10)


@given(partial_cohorts(max_samples=8, max_items=5), st.integers(0, 99), st.sampled_from([0.0, 0.7]))
def test_the_derivatives_are_those_of_the_value(cohort, seed, prior):
    X, kinds = cohort
    n, choices = X.shape[1], solver.choices_of(X, np.array(kinds) == "top")
    totals = solver.totals_of(choices, np.ones(len(X)))
    worths = drawn_worths(totals, n, seed)

    def at(parameters):
        return Worths(parameters[:n], worths.orders, np.concatenate([[0.0], parameters[n:]]))

    def value(parameters):
        normalisers = float(totals.available @ solver.log_normalisers(at(parameters), choices))
        return solver.penalised(at(parameters), totals, prior, normalisers)

    def slope(parameters):
        found = solver._moments(at(parameters), totals, covariance=False)
        return solver._slope(at(parameters), totals, prior, found)

    parameters = np.concatenate([worths.log_worths, worths.log_ties[1:]])
    np.testing.assert_allclose(approx_fprime(parameters, value), slope(parameters), atol=1e-5)
    information = solver.information_at(worths, totals, prior)
    np.testing.assert_allclose(approx_fprime(parameters, slope), -information, atol=1e-5)


def test_large_sets_take_the_same_information_as_small_ones():
    """Covariances of few items among many are added entry by entry, others as products of matrices."""
    random = np.random.default_rng(1)
    X = np.full((30, 40), np.nan)
    for row in X:
        row[random.choice(40, 3, replace=False)] = [1, 2, 3]
    totals = solver.totals_of(solver.choices_of(X, np.zeros(30, bool)), random.random(30))
    worths = Worths(random.normal(size=40), np.array([1]), np.zeros(1))
    found = solver.information_at(worths, totals, 0.0)
    tied = Worths(worths.log_worths, np.array([1, 3]), np.array([0.0, -np.inf]))
    np.testing.assert_allclose(found, solver.information_at(tied, totals, 0.0)[:40, :40], atol=1e-12)


def test_batches_do_not_matter(monkeypatch):
    random = np.random.default_rng(2)
    X = random.integers(0, 4, (60, 6)).astype(float)
    totals = solver.totals_of(solver.choices_of(X, np.zeros(60, bool)), np.ones(60))
    worths = drawn_worths(totals, 6, 0)
    whole = solver.information_at(worths, totals, 0.5)
    components = solver.strong_components(totals.choices, np.ones(60))
    monkeypatch.setattr(solver, "BATCH", 7)
    np.testing.assert_allclose(solver.information_at(worths, totals, 0.5), whole, rtol=1e-12, atol=1e-12)
    for one, other in zip(components, solver.strong_components(totals.choices, np.ones(60)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("ties", [False, True])
def test_the_maximum_is_that_of_scipy_and_of_the_other_algorithm(ties, prior):
    random = np.random.default_rng(3)
    X = random.integers(0, 5, (80, 5)).astype(float) if ties else random.normal(size=(80, 5)) + np.arange(5) / 2
    X[random.random(X.shape) < 0.2] = np.nan
    last = random.random(80) < 0.5
    choices = solver.choices_of(X, last)
    totals = solver.totals_of(choices, np.ones(80))
    start = solver.first_guess(totals)
    newton = solver.maximised_by_newton(totals, prior, start, 100, 1e-10)
    mm = solver.maximised_by_mm(totals, prior, start, 10000, 1e-11)
    assert newton.converged
    assert mm.converged
    n, orders = 5, totals.orders.tolist()

    def loss(parameters):
        deltas = dict(zip(orders, np.exp(np.concatenate([[0.0], parameters[n:]])).tolist(), strict=True))
        data = sum(naive(x, top, parameters[:n], deltas) for x, top in zip(X, last, strict=True))
        wins = np.exp(parameters[:n]) / (1 + np.exp(parameters[:n]))
        return -data - prior * np.log(wins * (1 - wins)).sum()

    best = minimize(loss, np.zeros(n + len(orders) - 1), tol=1e-10)
    for found in (newton.worths, mm.worths):
        difference = found.log_worths - best.x[:n]
        np.testing.assert_allclose(difference - difference.mean(), 0, atol=2e-4)
        np.testing.assert_allclose(found.log_ties[1:], best.x[n:], atol=2e-4)
    np.testing.assert_allclose(
        newton.worths.log_worths - newton.worths.log_worths.mean(), mm.worths.log_worths - mm.worths.log_worths.mean(),
        atol=1e-8,
    )  # fmt: skip


def test_strong_components_are_those_of_wins():
    X = np.array([[2, 1, np.nan, np.nan], [np.nan, 2, 1, np.nan], [1, np.nan, 2, np.nan], [2, np.nan, np.nan, 1]])
    component, between = solver.strong_components(solver.choices_of(X, np.zeros(4, bool)), np.ones(4))
    assert component[0] == component[1] == component[2] != component[3]
    assert between.sum() == between[component[0], component[3]] == 1
    X[3, 0] = 1  # a tie connects
    assert len(solver.strong_components(solver.choices_of(X, np.zeros(4, bool)), np.ones(4))[1]) == 1
    assert len(solver.strong_components(solver.choices_of(X, np.zeros(4, bool)), np.array([1, 1, 1, 0.0]))[1]) == 2


def test_ties_that_occur_wherever_they_can():
    def order(X):
        X = np.array(X, dtype=float)
        return solver.unbounded_order(solver.totals_of(solver.choices_of(X, np.zeros(len(X), bool)), np.ones(len(X))))

    assert order([[1, 1, 1]]) == 3
    assert order([[1, 1, 2]]) is None  # the last two tie, but of three items one was chosen
    assert order([[1, 1, 1], [1, 2, 3]]) is None
    assert order([[1, 1, np.nan], [2, 1, np.nan], [1, 1, 1]]) == 3
    assert order([[2, 1, np.nan], [1, 1, 1]]) == 3
    assert order([[1, 2, 3]]) is None


@pytest.mark.parametrize("n_ties", [0, 1])
def test_drawn_rankings_have_their_probabilities(n_ties):
    orders = np.arange(1, 2 + n_ties)
    worths = Worths(np.array([0.5, 0.0, -0.7, 0.2]), orders, np.array([0.0, -0.5])[: 1 + n_ties])
    levels = solver.drawn_levels(worths, 20000, np.random.default_rng(0))
    distinct, counts = np.unique(levels, axis=0, return_counts=True)
    choices = solver.choices_of(-distinct.astype(float), np.zeros(len(distinct), bool))
    chances = np.exp(solver.log_likelihoods(worths, choices))
    assert chances.sum() == pytest.approx(1, abs=1e-6 if n_ties == 0 else 0.01)
    common = counts > 5
    expected = np.append(chances[common], 1 - chances[common].sum()) * 20000
    observed = np.append(counts[common], counts[~common].sum())
    kept = expected > 3
    assert chisquare(observed[kept], expected[kept] * observed[kept].sum() / expected[kept].sum()).pvalue > 1e-3
