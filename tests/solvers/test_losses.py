"""Losses of scores against loops, and their derivatives against differences."""

import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from distkern.core.errors import InputError
from distkern.solvers.losses import Logistic, Multinomial, SquaredHinge

BINARY = {"logistic": (Logistic, naive.logistic_loss), "squared hinge": (SquaredHinge, naive.squared_hinge_loss)}


def drawn(seed, m, classes):
    """Class numbers with each class at least once, weights of which some are 0, and scores."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([np.arange(classes), rng.integers(0, classes, m)]))
    weights = rng.uniform(0.1, 2.0, len(codes)) * (rng.random(len(codes)) < 0.8)
    weights[[np.flatnonzero(codes == c)[0] for c in range(classes)]] = 1.0
    return codes, weights, rng.normal(size=(len(codes), 1 if classes == 2 else classes)), rng


def examples(seed, m, classes):
    """Losses and their loops on the same data, scores and a random stream."""
    codes, weights, f, rng = drawn(seed, m, classes)
    if classes > 2:
        return [(Multinomial(codes, classes, weights), lambda g: naive.multinomial_loss(codes, g, weights))], f, rng
    signs = 2.0 * codes - 1
    return (
        [(loss(signs, weights), lambda g, of=of: of(signs, g[:, 0], weights)) for loss, of in BINARY.values()],
        f,
        rng,
    )


@given(st.integers(0, 10**6), st.integers(0, 8), st.integers(2, 5))
def test_losses_and_derivatives_equal_the_loops(seed, m, classes):
    cases, f, rng = examples(seed, m, classes)
    for loss, loops in cases:
        assert loss.value(f) == pytest.approx(loops(f), rel=1e-12)
        numeric = approx_fprime(f.ravel(), lambda g, loops=loops: loops(g.reshape(f.shape)), 1e-7)
        np.testing.assert_allclose(loss.gradient(f).ravel(), numeric, atol=1e-5)
        v, step = rng.normal(size=f.shape), 1e-6
        product = loss.curvature(f)
        numeric = (loss.gradient(f + step * v) - loss.gradient(f - step * v)) / (2 * step)
        np.testing.assert_allclose(product(v), numeric, atol=1e-5)
        other = rng.normal(size=f.shape)  # symmetric and positive semidefinite
        assert (other * product(v)).sum() == pytest.approx((v * product(other)).sum(), abs=1e-12)
        assert (v * product(v)).sum() >= -1e-14


@given(st.integers(0, 10**6), st.integers(0, 20), st.integers(2, 5))
def test_the_intercept_is_the_best_constant(seed, m, classes):
    cases, f, _ = examples(seed, m, classes)
    for loss, _ in cases:
        constant = np.broadcast_to(loss.intercept(), f.shape)
        np.testing.assert_allclose(loss.gradient(constant).sum(axis=0), 0, atol=1e-12 * loss.total)


def test_digits_are_kept_far_from_the_boundary():
    signs, codes = np.array([1.0, -1.0]), np.array([0, 1, 2])
    f = 50.0 * signs[:, None]
    assert Logistic(signs).value(f) == pytest.approx(math.exp(-50), rel=1e-12)
    np.testing.assert_allclose(Logistic(signs).gradient(f)[:, 0], [-math.exp(-50) / 2, math.exp(-50) / 2], rtol=1e-12)
    several = Multinomial(codes, 3)
    assert several.value(50.0 * np.eye(3)) == pytest.approx(2 * math.exp(-50), rel=1e-12)
    np.testing.assert_allclose(several.gradient(50.0 * np.eye(3)).diagonal(), -2 * math.exp(-50) / 3, rtol=1e-12)
    assert Logistic(signs).value(-1e4 * signs[:, None]) == 1e4
    assert several.value(-1e4 * np.eye(3)) == pytest.approx(1e4 + math.log(2), rel=1e-12)
    for loss, scores in ((Logistic(signs), 1e4 * f), (several, 1e5 * np.eye(3))):
        assert loss.value(scores) == 0
        assert not loss.gradient(scores).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Logistic(np.array([1.0, 0.0])), r"signs must be \+1 or -1; sample 1 has 0.0"),
        (lambda: Logistic(np.array([1.0, np.nan])), "sample 1 has nan"),
        (lambda: Logistic(np.ones(3)), "class 0 has no sample of positive weight"),
        (lambda: Logistic(np.array([1.0, -1.0]), np.array([0.0, 1.0])), "class 1 has no sample of positive weight"),
        (lambda: Logistic(np.array([1.0, -1.0]), np.ones(3)), r"weights of shape \(3,\) for 2 samples"),
        (lambda: SquaredHinge(np.array([1.0, -1.0]), np.array([1.0, -1.0])), "not negative; sample 1 has -1.0"),
        (lambda: SquaredHinge(np.array([1.0, -1.0]), np.array([np.inf, 1.0])), "finite and not negative; sample 0"),
        (lambda: SquaredHinge(np.array([1.0, -1.0]), np.full(2, 1e308)), "beyond what float64 holds"),
        (lambda: Multinomial(np.array([0, 1, 3]), 3), "from 0 to 2; got 0 to 3"),
        (lambda: Multinomial(np.array([0, 2]), 3), "class 1 has no sample"),
    ],
)
def test_what_is_no_problem_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
