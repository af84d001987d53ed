"""Isotonic regression, plain and smoothed, against naive versions, SciPy and scikit-learn."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression, lsq_linear
from sklearn.isotonic import IsotonicRegression

from distkern.compiled.isotonic import isotonic, smooth_isotonic

few = st.integers(-3, 3).map(float)
values = st.floats(-5, 5, width=32)
vectors = st.integers(1, 12).flatmap(lambda p: arrays(np.float64, p, elements=st.one_of(few, values)))
weights = st.sampled_from([1e-9, 0.01, 0.5, 1.0, 7.0, 300.0])


def naive_isotonic(g):
    """max over a ≤ r of min over b ≥ r of the mean of g_a … g_b."""
    p = len(g)
    return [max(min(sum(g[a : b + 1]) / (b - a + 1) for b in range(r, p)) for a in range(r + 1)) for r in range(p)]


def by_bounded_least_squares(g, tau):
    """f = cumulative sums of (f_0, d_1, …) with d ≥ 0: bounded least squares of ½‖f − g‖² + (τ/2)‖d‖²."""
    p = len(g)
    sums = np.tril(np.ones((p, p)))
    rough = np.sqrt(tau) * np.eye(p)[1:]
    lower = np.r_[-np.inf, np.zeros(p - 1)]
    A, b = np.vstack([sums, rough]), np.r_[g, np.zeros(p - 1)]
    if p == 1:
        return g
    found = lsq_linear(A, b, bounds=(lower, np.inf), method="bvls", tol=1e-14, max_iter=2000)
    return sums @ found.x


@given(vectors)
def test_isotonic_equals_the_naive_one_scipy_and_scikit_learn(g):
    found = isotonic(g)
    np.testing.assert_allclose(found, naive_isotonic(g.tolist()), atol=1e-12)
    np.testing.assert_allclose(found, isotonic_regression(g).x, atol=1e-12)
    np.testing.assert_allclose(found, IsotonicRegression().fit_transform(np.arange(len(g)), g), atol=1e-6)
    assert (np.diff(found) >= 0).all()


@given(vectors, weights)
@settings(deadline=None)
def test_smooth_isotonic_equals_naive_bounded_least_squares(g, tau):
    found = smooth_isotonic(g, tau)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found, by_bounded_least_squares(g, tau), atol=1e-8)


@given(vectors, weights)
def test_smooth_isotonic_meets_the_optimality_conditions(g, tau):
    """The gradient, summed from the end, is zero where f rises and positive where it is flat."""
    f = smooth_isotonic(g, tau)
    steps = np.diff(f)
    gradient = f - g + tau * (np.r_[0.0, steps] - np.r_[steps, 0.0])
    multipliers = np.cumsum(gradient[::-1])[::-1]
    scale = 1e-11 * (1 + tau) * (1 + np.abs(g).max())
    assert abs(multipliers[0]) <= scale
    assert (multipliers[1:] >= -scale).all()
    assert (np.abs(multipliers[1:][steps > 1e-9]) <= scale).all()


@pytest.mark.parametrize("tau", [1e8, 1e16, 1e300])
def test_a_large_weight_loses_no_digits(tau):
    g = np.array([3.0, -1.0, 4.0, 1.0, 5.0])
    np.testing.assert_allclose(smooth_isotonic(g, tau), np.full(5, 2.4), rtol=3e-8 if tau == 1e8 else 1e-14)


def test_twenty_thousand_ranks_take_milliseconds():
    g = np.random.default_rng(0).normal(size=20_000).cumsum()
    smooth_isotonic(g[:10], 1.0), isotonic(g[:10])
    for call in (lambda: isotonic(g), lambda: smooth_isotonic(g, 5.0)):
        call()
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        assert min(seconds) < 0.25  # 1 to 5 ms on an idle machine
