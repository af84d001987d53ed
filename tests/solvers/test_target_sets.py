"""Proximal maps of the sets of targets, against a general solver."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from distkern.compiled.isotonic import smooth_isotonic
from distkern.solvers.target_sets import Bounded, Ridge, Smooth, at_radius, centred

few = st.integers(-3, 3).map(float)
values = st.floats(-5, 5, width=32)
two_or_more = st.integers(2, 10).flatmap(lambda p: arrays(np.float64, p, elements=st.one_of(few, values)))
weights = st.sampled_from([1e-9, 0.01, 0.5, 1.0, 7.0, 300.0])


def naive_proximal(g, tau, ascending):
    """Minimise over the set with SciPy's general solver."""
    p, start = len(g), np.linspace(-1e-3, 1e-3, len(g))
    constraints = [
        {"type": "eq", "fun": lambda f: f.sum(), "jac": lambda f: np.ones(p)},
        {"type": "ineq", "fun": lambda f: p - f @ f, "jac": lambda f: -2 * f},
    ]
    if ascending:
        D = np.diff(np.eye(p), axis=0)
        constraints.append({"type": "ineq", "fun": lambda f: D @ f, "jac": lambda f: D})

    def objective(f):
        return 0.5 * np.sum((f - g) ** 2) + 0.5 * tau * np.sum(np.diff(f) ** 2)

    found = minimize(objective, start, method="SLSQP", constraints=constraints, options={"ftol": 1e-15, "maxiter": 500})
    return found.x


@given(st.integers(2, 6).flatmap(lambda p: arrays(np.float64, p, elements=few)), st.sampled_from([0.0, 0.3, 2.0]))
@settings(deadline=None, max_examples=60)
def test_proximal_maps_equal_a_general_solver(g, tau):
    np.testing.assert_allclose(Ridge().proximal(g, 1.0), naive_proximal(g, 0.0, False), atol=2e-4)
    np.testing.assert_allclose(Bounded().proximal(g, 1.0), naive_proximal(g, 0.0, True), atol=2e-4)
    np.testing.assert_allclose(Smooth(2 * tau).proximal(g, 0.5), naive_proximal(g, tau, True), atol=2e-4)


@given(two_or_more, weights)
def test_proximal_maps_stay_in_their_sets(g, tau):
    for one, rises in ((Ridge(), False), (Bounded(), True), (Smooth(tau), True), (Smooth(0.0), True)):
        f = one.proximal(3 * g, 1.0)
        assert abs(f.sum()) <= 1e-10
        assert f @ f <= len(f) * (1 + 1e-12)
        assert not rises or (np.diff(f) >= 0).all()


@given(two_or_more)
def test_without_weight_smooth_is_bounded(g):
    np.testing.assert_allclose(Smooth(0.0).proximal(g, 1.0), Bounded().proximal(g, 1.0), atol=1e-9)


def test_the_penalty_is_the_roughness():
    assert Smooth(3.0).penalty(np.array([0.0, 1.0, 3.0])) == 1.5 * (1 + 4)
    assert Bounded().penalty(np.array([0.0, 1.0])) == Ridge().penalty(np.array([0.0, 1.0])) == 0


def test_radius():
    f = at_radius(np.array([1.0, 5.0, 6.0]))
    assert np.isclose(f @ f, 3)
    assert abs(f.sum()) < 1e-12
    assert not at_radius(np.full(4, 7.1)).any()
    assert np.isfinite(at_radius(np.array([1e300, 2e300]))).all()


@given(st.integers(2, 40), st.floats(1e-3, 1e3), st.integers(0, 99))
@settings(deadline=None)
def test_the_norm_on_the_sphere_equals_a_naive_bisection(p, tau, seed):
    """A multiplier μ of the ball: f = a S(g, a τ) with a = 1/(1 + μ)."""
    g = centred(20 * np.sort(np.random.default_rng(seed).normal(size=p)) * p)
    found = Smooth(tau).proximal(g, 1.0)
    if found @ found < p * (1 - 1e-9):  # inside, without a multiplier
        np.testing.assert_allclose(found, smooth_isotonic(g, tau), atol=1e-12)
        return
    low, high = 0.0, 1.0
    for _ in range(200):
        share = (low + high) / 2
        f = share * smooth_isotonic(g, share * tau) if share else np.zeros(p)
        low, high = (share, high) if f @ f < p else (low, share)
    np.testing.assert_allclose(found, f, atol=1e-8)
