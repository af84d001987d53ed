"""Hinge losses on pairs: sums against double loops, solutions against a quadratic programme over all pairs."""

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from distkern.compiled.preferences import simplex_ascent
from distkern.core.errors import InputError
from distkern.operators.array import ArrayGram
from distkern.solvers.rank_svm import Pairs, solve_hinge, solve_squared_hinge

SOLVERS = {"hinge": solve_hinge, "squared_hinge": solve_squared_hinge}
LOSSES = {"hinge": lambda room: room, "squared_hinge": lambda room: room**2}


def drawn(seed, m, levels=4, groups=2, rank=None):
    rng = np.random.default_rng(seed)
    y, labels = rng.integers(0, levels, m).astype(float), rng.integers(0, groups, m)
    features = rng.normal(size=(m, rank or m))
    return features @ features.T / 3, y, labels, rng


def has_pair(y, labels):
    return any(len(set(y[labels == label])) > 1 for label in set(labels))


@given(st.integers(0, 10**6), st.integers(2, 14), st.booleans())
def test_losses_and_gradients_equal_the_double_loops(seed, m, tied):
    _, y, labels, rng = drawn(seed, m)
    assume(has_pair(y, labels))
    f = rng.integers(-2, 3, m).astype(float) if tied else rng.normal(size=m)
    pairs = Pairs(y, labels)
    for name, loss in LOSSES.items():
        value, slope = getattr(pairs, name)(f)
        expected, count = naive.losing_pairs(y, f, labels, loss)
        assert pairs.count == count
        assert value == pytest.approx(expected, abs=1e-12)
        if tied and name == "hinge":  # a corner: a subgradient lies below the loss everywhere
            for _ in range(5):
                other = f + rng.normal(size=m)
                assert pairs.hinge(other)[0] >= value + slope @ (other - f) - 1e-12
            continue
        numeric = approx_fprime(f, lambda g, name=name: getattr(pairs, name)(g)[0], 1e-7)
        np.testing.assert_allclose(slope, numeric, atol=1e-5)
    v, step = rng.normal(size=m), 1e-6
    if not tied:
        numeric = (pairs.squared_hinge(f + step * v)[1] - pairs.squared_hinge(f - step * v)[1]) / (2 * step)
        np.testing.assert_allclose(pairs.curvature(f, v), numeric, atol=1e-4)


@given(st.integers(0, 10**6), st.integers(2, 14))
def test_only_some_samples_may_be_the_lower_one(seed, m):
    _, y, labels, rng = drawn(seed, m)
    lower, f, V = rng.random(m) < 0.5, rng.normal(size=m), rng.normal(size=(m, 2))
    listed = [(i, j) for i in range(m) for j in range(m) if y[i] > y[j] and labels[i] == labels[j] and lower[j]]
    if not listed:
        with pytest.raises(InputError, match="no pair"):
            Pairs(y, labels, lower)
        return
    pairs = Pairs(y, labels, lower)
    close = [(i, j) for i, j in listed if 1 - (f[i] - f[j]) > 0]
    assert pairs.count == len(listed)
    assert pairs.hinge(f)[0] == pytest.approx(sum(1 - f[i] + f[j] for i, j in close) / len(listed), abs=1e-12)
    assert pairs.squared_hinge(f)[0] == pytest.approx(sum((1 - f[i] + f[j]) ** 2 for i, j in close) / len(listed))
    numeric = approx_fprime(f, lambda g: pairs.squared_hinge(g)[0], 1e-7)
    np.testing.assert_allclose(pairs.squared_hinge(f)[1], numeric, atol=1e-5)
    hessian = np.zeros((m, m))
    for i, j in close:
        hessian[np.ix_([i, j], [i, j])] += 2 * np.array([[1, -1], [-1, 1]]) / len(listed)
    np.testing.assert_allclose(pairs.curvature(f, V), hessian @ V, atol=1e-12)


def by_quadratic_programme(K, y, labels, C, loss):
    """Minimum of the objective, from the dual over all pairs: box constraints only."""
    m = len(y)
    chosen = [(i, j) for i in range(m) for j in range(m) if y[i] > y[j] and labels[i] == labels[j]]
    A = np.zeros((len(chosen), m))
    for row, (i, j) in enumerate(chosen):
        A[row, i], A[row, j] = 1, -1
    Q, share = A @ K @ A.T, C / len(chosen)
    if loss == "squared_hinge":
        Q = Q + np.eye(len(chosen)) / (2 * share)
    bounds = [(0, share if loss == "hinge" else None)] * len(chosen)
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1),
        np.zeros(len(chosen)),
        jac=True,
        bounds=bounds,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return -found.fun


@pytest.mark.parametrize("loss", SOLVERS)
@given(seed=st.integers(0, 10**6), m=st.integers(3, 9), C=st.sampled_from([0.1, 1.0, 20.0]))
def test_equals_a_quadratic_programme_over_all_pairs(loss, seed, m, C):
    K, y, labels, _ = drawn(seed, m, rank=5)
    assume(has_pair(y, labels))
    pairs = Pairs(y, labels)
    found = SOLVERS[loss](ArrayGram(K), pairs, C, tol=1e-6, max_iter=2000)
    best = by_quadratic_programme(K, y, labels, C, loss)
    assert found.converged
    assert found.objective == pytest.approx(best, rel=1e-4, abs=1e-6)
    f = K @ found.coefficients
    value = 0.5 * found.coefficients @ f + C * naive.losing_pairs(y, f, labels, LOSSES[loss])[0]
    assert found.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert all(later <= before + 1e-12 for before, later in zip(found.history, found.history[1:], strict=False))
    if loss == "hinge":
        assert found.objective - found.gap <= best * (1 + 1e-5) + 1e-9


def test_max_iter_limits_the_steps_and_is_reported():
    K, y, labels, _ = drawn(1, 30)
    for solver in SOLVERS.values():
        found = solver(ArrayGram(K), Pairs(y, labels), 100.0, tol=1e-12, max_iter=2)
        assert not found.converged
        assert found.iterations == 2


def test_a_step_is_one_pass():
    K, y, labels, _ = drawn(2, 30)

    class Counting(ArrayGram):
        passes = 0

        def _product(self, V, rows=None, cols=None):
            type(self).passes += 1
            return super()._product(V, rows, cols)

    for solver in SOLVERS.values():
        Counting.passes = 0
        found = solver(Counting(K), Pairs(y, labels), 10.0)
        assert found.passes == Counting.passes
    assert (
        solve_hinge(ArrayGram(K), Pairs(y, labels), 10.0).passes
        == solve_hinge(ArrayGram(K), Pairs(y, labels), 10.0).iterations
    )


@pytest.mark.slow
def test_a_hundred_thousand_samples_need_no_list_of_pairs():
    rng = np.random.default_rng(0)
    y = rng.permutation(100_000) / 7.0
    pairs = Pairs(y)
    assert pairs.count == 100_000 * 99_999 // 2
    assert pairs.hinge(np.zeros(100_000))[0] == 1
    assert pairs.squared_hinge(10**6 * y.argsort().argsort())[0] == 0


def test_matrix_without_pairs_or_norm_is_refused():
    with pytest.raises(InputError, match="no pair to rank"):
        Pairs(np.array([1.0, 2.0]), np.array(["a", "b"]))
    with pytest.raises(InputError, match="no pair to rank"):
        Pairs(np.ones(4))
    for solver in SOLVERS.values():
        with pytest.raises(InputError, match="not positive semidefinite"):
            solver(ArrayGram(-np.eye(4)), Pairs(np.arange(4.0)), 1.0)


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_the_maximum_on_a_simplex(seed, n):
    rng = np.random.default_rng(seed)
    features, b = rng.normal(size=(n, 3)), rng.normal(size=n)
    Q = features @ features.T
    alpha = simplex_ascent(b, Q, np.eye(n)[0])
    assert alpha.min() >= 0
    assert alpha.sum() == pytest.approx(1)
    slope = b - Q @ alpha
    assert slope.max() - slope[alpha > 0].min() <= 1e-9 * (1 + np.abs(b).max() + np.abs(Q).max())
