"""The Cox loss against loops, and against statsmodels."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.solvers.cox import TIES, Cox


def drawn(seed, m, levels, strata):
    """Times with ties, events with at least one, strata, and scores."""
    rng = np.random.default_rng(seed)
    event = rng.random(m) < 0.6
    event[rng.integers(m)] = True
    return rng.integers(1, levels + 1, m) / 2.0, event, rng.integers(0, strata, m), 2 * rng.normal(size=m), rng


@pytest.mark.parametrize("ties", TIES)
@given(st.integers(0, 10**6), st.integers(1, 14), st.integers(1, 12), st.integers(1, 3))
def test_loss_and_derivatives_equal_the_naive_loops(ties, seed, m, levels, strata):
    t, e, s, f, rng = drawn(seed, m, levels, strata)
    loss, column = Cox(t, e, ties, s), f[:, None]
    gradient, hessian = map(np.array, naive.cox_derivatives(t, e, f, ties, s))
    assert loss.value(column) == pytest.approx(naive.cox_loss(t, e, f, ties, s), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(loss.gradient(column)[:, 0], gradient, atol=1e-12)
    V = rng.normal(size=(m, 3))
    np.testing.assert_allclose(loss.curvature(column)(V), hessian @ V, atol=1e-12)
    assert loss.value(column + 7.0) == pytest.approx(loss.value(column), rel=1e-9, abs=1e-12)


def test_scores_far_apart_keep_their_digits():
    t, e = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, True, False])
    f = np.array([[900.0], [0.0], [-900.0], [-1800.0]])
    for ties in TIES:
        loss = Cox(t, e, ties)
        assert loss.value(f) == 0
        np.testing.assert_array_equal(loss.gradient(f), 0)
        assert loss.value(-f) == pytest.approx((2700 + 1800 + 900) / 4)
        np.testing.assert_allclose(loss.gradient(-f)[:, 0], np.array([-1, -1, -1, 3]) / 4)
        np.testing.assert_allclose(loss.curvature(-f)(np.eye(4)), 0, atol=1e-12)


@pytest.mark.parametrize("ties", TIES)
def test_equals_statsmodels(ties):
    regression = pytest.importorskip("statsmodels.duration.hazard_regression")
    t, e, s, _, rng = drawn(3, 60, 20, 2)
    X, w = rng.normal(size=(60, 3)), rng.normal(size=3)
    model = regression.PHReg(t, X, status=e.astype(int), ties=ties, strata=s)
    loss = Cox(t, e, ties, s)
    assert loss.value((X @ w)[:, None]) == pytest.approx(-model.loglike(w) / 60, rel=1e-10)
    np.testing.assert_allclose(X.T @ loss.gradient((X @ w)[:, None])[:, 0], -model.score(w) / 60, atol=1e-10)
    np.testing.assert_allclose(X.T @ loss.curvature((X @ w)[:, None])(X), -model.hessian(w) / 60, atol=1e-10)


def test_the_baseline_is_a_sum_over_events():
    t, e, s, f, _ = drawn(5, 40, 8, 2)
    times, hazard, strata = Cox(t, e, "efron", s).baseline(f[:, None])
    for time, value, stratum in zip(times, hazard, strata, strict=True):
        parts = [
            1 / np.exp(f[(s == s[i]) & (t >= t[i])]).sum()
            for i in range(40)
            if e[i] and t[i] <= time and s[i] == stratum
        ]
        assert value == pytest.approx(sum(parts), rel=1e-12)
    assert [len(np.unique(t[s == k])) for k in (0, 1)] == np.bincount(strata).tolist()


def test_no_event_is_refused():
    with pytest.raises(InputError, match="there is no event"):
        Cox(np.ones(3), np.zeros(3))
