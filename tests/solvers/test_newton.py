"""Newton's step on free coefficients: what it may not break, and that it goes where pairs go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from distkern.kernels.vectors import Gaussian
from distkern.operators.array import ArrayGram
from distkern.solvers import newton
from distkern.solvers.dual import Problem
from distkern.solvers.smo import solve


@given(st.integers(0, 2**31), st.integers(2, 40), st.integers(1, 40), st.floats(0.01, 100.0))
def test_the_objective_falls_inside_the_bounds(seed, n, rank, C):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, rank))
    K, y, bounds = factor @ factor.T, np.where(rng.random(n) < 0.5, 1.0, -1.0), np.full(n, C)
    alpha = C * np.clip(rng.uniform(-0.2, 1.2, n), 0, 1)
    F = K @ (y * alpha) - y
    before, sum_before = 0.5 * alpha @ (y * F - 1), y @ alpha
    at_bound = (alpha == 0) | (alpha == C)
    kept = alpha[at_bound].copy()
    if (~at_bound).sum() >= 2:
        newton.step(K, np.arange(n), y, bounds, np.zeros(n), 0.0, np.ones(n), alpha, F)
    assert ((alpha >= 0) & (alpha <= C)).all()
    np.testing.assert_array_equal(alpha[at_bound], kept)
    assert y @ alpha == pytest.approx(sum_before, abs=1e-8 * C * n)
    np.testing.assert_allclose(F, K @ (y * alpha) - y, atol=1e-8 * (1 + np.abs(K).max() * C * n))
    assert 0.5 * alpha @ (y * F - 1) <= before + 1e-8 * (1 + abs(before))


def test_one_newton_step_solves_a_problem_without_active_bounds():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(12, 12))
    K, y = factor @ factor.T + np.eye(12), np.where(np.arange(12) % 2, 1.0, -1.0)
    shifted = np.linalg.solve(
        np.block([[K, np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]]), np.append(y, 0.0)
    )
    wanted = y * shifted[:12]
    lowest = min(0.0, wanted.min()) - 1.0  # moved so that it lies between the bounds, and p with it
    start = np.full(12, 1.0)
    alpha, bounds = start.copy(), np.full(12, 2.0 * (wanted - lowest).max())
    F = K @ (y * (alpha + lowest)) - y  # the gradient for α + lowest, which is what F describes
    newton.step(K, np.arange(12), y, bounds, np.zeros(12), 0.0, np.ones(12), alpha, F)
    np.testing.assert_allclose(alpha + lowest, wanted, atol=1e-7)
    np.testing.assert_allclose(F, F[0], atol=1e-7)


@pytest.mark.slow
def test_problem_with_large_C_needs_fewer_pairs_than_libsvm(monkeypatch):
    C = 1e4
    rng = np.random.default_rng(1)
    y = np.where(np.arange(500) % 2, 1.0, -1.0)
    X = rng.normal(size=(500, 6))
    X[:, :2] += 0.6 * y[:, None]
    K = Gaussian(sigma=3.0)(X)
    theirs = SVC(kernel="precomputed", C=C, tol=1e-5).fit(K, y)
    c = np.zeros(500)
    c[theirs.support_] = theirs.dual_coef_[0]
    problem = Problem(np.arange(500), y, np.full(500, C), np.full(500, -1.0))
    [[found]] = solve(ArrayGram(K), [[problem]], memory=2**30, tol=1e-5)
    assert found.objective == pytest.approx(0.5 * c @ K @ c - np.abs(c).sum(), rel=1e-6)
    assert found.gap <= 1e-4 * abs(found.objective)
    monkeypatch.setattr(newton, "MOST", 0)
    [[by_pairs]] = solve(ArrayGram(K), [[problem]], memory=2**30, tol=1e-5)
    assert found.iterations < by_pairs.iterations
    assert found.objective == pytest.approx(by_pairs.objective, rel=1e-6)
