"""The loss of the survival support vector machine against loops and differences."""

import math

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize_scalar

from distkern.core.errors import InputError
from distkern.solvers.survival_svm import SurvivalHinge


def drawn(seed, m):
    rng = np.random.default_rng(seed)
    return rng.integers(1, 8, m) / 2.0, rng.random(m) < 0.6, rng.normal(size=m), rng


def by_loops(t, e, f, ratio):
    pairs, count = naive.survival_pairs_loss(t, e, f) if ratio else (0.0, 0)
    errors = [math.log(t[i]) - f[i] for i in range(len(t))]
    squares = math.fsum((error if e[i] else max(0.0, error)) ** 2 for i, error in enumerate(errors))
    return 0.5 * ratio * pairs + 0.5 * (1 - ratio) * squares / len(t), count


@given(st.integers(0, 10**6), st.integers(2, 14), st.sampled_from([0.0, 0.3, 1.0]))
def test_the_loss_and_its_derivatives_equal_the_naive_loops(seed, m, ratio):
    t, e, f, rng = drawn(seed, m)
    assume(any(e[i] and t[i] < t.max() for i in range(m)))
    loss = SurvivalHinge(t, e, ratio)
    expected, count = by_loops(t, e, f, ratio)
    assert (loss.value(f[:, None]), loss.count) == (pytest.approx(expected, abs=1e-12), count)
    numeric = approx_fprime(f, lambda g: by_loops(t, e, g, ratio)[0], 1e-7)
    np.testing.assert_allclose(loss.gradient(f[:, None])[:, 0], numeric, atol=1e-5)
    V, step = rng.normal(size=(m, 2)), 1e-7
    products = loss.curvature(f[:, None])(V)
    for v, product in zip(V.T[:, :, None], products.T, strict=True):
        numeric = (loss.gradient(f[:, None] + step * v) - loss.gradient(f[:, None] - step * v))[:, 0] / (2 * step)
        np.testing.assert_allclose(product, numeric, atol=1e-5)
    best = minimize_scalar(lambda b: loss.value(np.full((m, 1), b)), (-1, 1), method="golden", tol=1e-10)
    assert loss.value(np.full((m, 1), loss.intercept()[0])) <= best.fun + 1e-12


def test_problems_without_pairs_are_refused():
    with pytest.raises(InputError, match="there is no comparable pair"):
        SurvivalHinge(np.array([1.0, 2.0]), np.array([False, True]), 1.0)
    with pytest.raises(InputError, match="the time of sample 0 is 0, which has no logarithm"):
        SurvivalHinge(np.array([0.0, 2.0]), np.array([True, True]), 0.5)
