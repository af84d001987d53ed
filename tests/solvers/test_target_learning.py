"""Learned targets: steps against independent solvers, an objective that never increases, shared passes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnRidge

from distkern.solvers.rank_requests import Request, serve
from distkern.solvers.target_learning import Fitted, Task, alternate, fit_target, fit_weights
from distkern.solvers.target_losses import Logistic, Softmax, Squared, SquaredHinge
from distkern.solvers.target_sets import Bounded, Ridge, Smooth, at_radius
from distkern.solvers.target_svd import class_differences, leading_pair
from distkern.solvers.target_trace import in_simplex, relax
from distkern.store.ranks import RankStore

rng = np.random.default_rng(1)
m, p = 60, 12
X = rng.normal(size=(m, p))
X[:, 3] = X[:, 4] = X[:, 5]  # ties
codes = np.where(X @ rng.normal(size=p) + rng.normal(size=m) > 0, 1.0, -1.0)
classes = np.eye(3)[rng.integers(0, 3, m)]
amounts = 3 * rng.normal(size=m)
store = RankStore.of(X)
even = np.full(m, 1 / m)
uneven = rng.random(m) / m
uneven /= uneven.sum()
start = np.sort(rng.normal(size=p)) ** 3 + 2

TASKS = {
    "logistic": Task(Logistic(), codes[:, None], even, 0.02),
    "weighted": Task(Logistic(), codes[:, None], uneven, 0.02),
    "softmax": Task(Softmax(), classes, even, 0.02),
    "hinge": Task(SquaredHinge(), 2 * classes - 1, even, 0.02),
    "squared": Task(Squared(), amounts[:, None], even, 0.1),
}
SETS = [Ridge(), Bounded(), Smooth(0.01), Smooth(1.0), Smooth(50.0)]


def matrices():
    """Π_x of each sample, written out."""
    found = np.zeros((m, p, p))
    for i, x in enumerate(X.tolist()):
        for j, value in enumerate(x):
            below, equal = sum(y < value for y in x), x.count(value)
            found[i, j, below : below + equal] = 1 / equal
    return found


PI = matrices()


def objective(task, W, b, f, penalty=0.0):
    Z = np.einsum("ijr,jc,r->ic", PI, W, f) + b
    return task.shares @ task.loss.values(Z, task.Y) + task.lam * (W**2).sum() + penalty


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Squared(), Softmax()])
def test_derivatives_and_curvature_of_losses(loss):
    Y = np.eye(3)[[0, 2, 1, 1]] if isinstance(loss, Softmax) else 2 * np.eye(3)[[0, 2, 1, 1]] - 1
    Z, small = rng.normal(size=(4, 3)), 1e-5
    for c in range(3):
        step = small * np.eye(3)[c]
        slope = (loss.values(Z + step, Y) - loss.values(Z - step, Y)) / (2 * small)
        np.testing.assert_allclose(loss.derivatives(Z, Y)[:, c], slope, atol=1e-8)
        bend = (loss.derivatives(Z + step, Y) - loss.derivatives(Z - step, Y))[:, c] / (2 * small)
        assert (bend <= loss.curvature + 1e-6).all()
    assert np.isfinite(loss.values(np.array([[800.0, -800.0, 0.0]]), Y[:1])).all()


def test_weights_at_a_target_equal_scikit_learn():
    phi = store.normalised(start)
    (found,), _ = serve(store, [fit_weights(TASKS["logistic"], start)])
    expected = LogisticRegression(C=1 / (2 * m * 0.02), tol=1e-10, max_iter=10_000).fit(phi, codes)
    np.testing.assert_allclose(found.W[:, 0], expected.coef_[0], atol=1e-5)
    np.testing.assert_allclose(found.b, expected.intercept_, atol=1e-4)
    (found,), _ = serve(store, [fit_weights(TASKS["squared"], start)])
    ridge = SklearnRidge(alpha=m * 0.1).fit(phi, amounts)
    np.testing.assert_allclose(found.W[:, 0], ridge.coef_, atol=1e-5)
    np.testing.assert_allclose(found.b, ridge.intercept_, atol=1e-4)
    (found,), _ = serve(store, [fit_weights(TASKS["softmax"], start)])
    several = LogisticRegression(C=1 / (2 * m * 0.02), tol=1e-10, max_iter=10_000).fit(phi, classes.argmax(axis=1))
    np.testing.assert_allclose(found.W.T, several.coef_, atol=1e-5)


@pytest.mark.parametrize("name", TASKS)
def test_the_gradient_of_the_weights_is_zero_at_the_end(name):
    task = TASKS[name]
    (found,), _ = serve(store, [fit_weights(task, start)])
    K = task.Y.shape[1]

    def value(point):
        return objective(task, point[:-K].reshape(p, K), point[-K:], start)

    end = np.concatenate([found.W.ravel(), found.b])
    assert np.isclose(found.objective[-1], value(end))
    assert found.objective[-1] <= minimize(value, np.zeros(len(end))).fun + 1e-6


@pytest.mark.parametrize("within", SETS, ids=repr)
@pytest.mark.parametrize("name", TASKS)
def test_the_step_in_f_equals_a_general_solver(name, within):
    task = TASKS[name]
    (model,), _ = serve(store, [fit_weights(task, at_radius(start))])
    ((f, b),), _ = serve(store, [fit_target(task, within, model)])
    rises = np.diff(np.eye(p), axis=0)
    constraints = [{"type": "ineq", "fun": lambda a: p - a[:p] @ a[:p], "jac": lambda a: np.r_[-2 * a[:p], 0 * a[p:]]}]
    if not isinstance(within, Ridge):
        padded = np.hstack([rises, np.zeros((p - 1, len(b)))])
        constraints.append({"type": "ineq", "fun": lambda a: padded @ a, "jac": lambda a: padded})

    def value(a):
        return objective(task, model.W, a[p:], a[:p], within.penalty(a[:p]))

    best = minimize(
        value,
        np.concatenate([model.f, model.b]),
        method="SLSQP",
        constraints=constraints,
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert value(np.concatenate([f, b])) <= best.fun + 1e-5 * (1 + abs(best.fun))
    assert abs(f.sum()) < 1e-9
    assert f @ f <= p * (1 + 1e-9)


@pytest.mark.parametrize("within", SETS, ids=repr)
@pytest.mark.parametrize("name", TASKS)
def test_the_objective_never_increases_and_is_that_of_the_model(name, within):
    task = TASKS[name]
    (first,), _ = serve(store, [fit_weights(task, at_radius(start))])
    (model,), _ = serve(store, [alternate(task, within, first, 4)])
    assert (np.diff(model.objective) <= 0).all()
    assert len(model.objective) == 5
    assert np.isclose(model.objective[-1], objective(task, model.W, model.b, model.f, within.penalty(model.f)))
    if not isinstance(within, Ridge):
        assert (np.diff(model.f) >= 0).all()
    if not isinstance(within, Smooth):
        assert np.isclose(model.f @ model.f, p)


def test_a_degenerate_model_keeps_the_first_target():
    labels = np.array([1.0, -1.0])
    same = RankStore.of(np.tile(np.arange(5.0), (2, 1)))  # both samples have the same ranks: W is zero
    task = Task(Logistic(), labels[:, None], np.full(2, 0.5), 1.0)
    f = at_radius(np.arange(5.0))
    (first,), _ = serve(same, [fit_weights(task, f)])
    (model,), _ = serve(same, [alternate(task, Bounded(), first, 2)])
    assert model.degenerate
    np.testing.assert_array_equal(model.f, f)
    falls = Fitted(np.zeros((p, 1)), np.zeros(1), at_radius(start), (1.0,))
    (kept,), _ = serve(store, [alternate(TASKS["logistic"], Smooth(1e9), falls, 1)])
    assert kept.degenerate
    np.testing.assert_array_equal(kept.f, falls.f)


def test_algorithms_that_share_passes_end_as_they_do_alone():
    tasks = [Task(Logistic(), codes[:, None], shares, lam) for lam in (0.01, 0.1) for shares in (even, uneven)]

    def whole(task, within):
        first = yield from fit_weights(task, at_radius(start))
        return (yield from alternate(task, within, first, 1))

    jobs = [(task, within) for task in tasks for within in (Bounded(), Smooth(0.1))]
    together, passes = serve(store, [whole(*job) for job in jobs])
    alone = [serve(store, [whole(*job)]) for job in jobs]
    assert passes == max(number for _, number in alone)
    for one, ((other,), _) in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.f, other.f, atol=1e-6)
        np.testing.assert_allclose(one.W, other.W, atol=1e-6)


def test_an_algorithm_begins_when_its_turn_comes():
    begun, seen = [], []

    def some(number, requests):
        begun.append(number)
        for _ in range(requests):
            yield Request(np.ones((p, 1)), np.ones((p, 1)), lambda rows, Z: Z)
            seen.append(list(begun))
        return number

    found, passes = serve(store, (some(k, k) for k in range(5)), most=2)
    assert found == [0, 1, 2, 3, 4]
    assert passes == 6  # 1 and 2, 2 and 3, 3 and 4, 3 and 4, 4, 4
    assert seen[0] == [0, 1, 2]


def test_requests_of_many_columns_are_split(monkeypatch):
    from distkern.solvers import rank_requests

    monkeypatch.setattr(rank_requests, "MOST_COLUMNS", 3)

    def one(W):
        sums = yield Request(W, np.ones_like(W), lambda rows, Z: Z, by_rank=True)
        return sums[1]

    found, passes = serve(store, [one(np.full((p, 2), number)) for number in (1.0, 2.0, 3.0)], columns=2)
    assert passes == 3
    np.testing.assert_allclose(found[2], 9 * found[0])


# Algorithm 1 ----------------------------------------------------------------------------------------------------------


def test_the_leading_pair_equals_that_of_the_dense_matrix():
    rho = class_differences(codes, uneven)
    (found,), _ = serve(store, [leading_pair(rho, p)])
    U, values, Vt = np.linalg.svd(np.einsum("i,ijr->jr", rho, PI))
    assert np.isclose(found.first, values[0])
    assert np.isclose(found.second, values[1], rtol=1e-2)
    sign = np.sign(np.arange(p) @ Vt[0])
    np.testing.assert_allclose(found.v, sign * Vt[0], atol=1e-6)
    np.testing.assert_allclose(found.u, sign * U[:, 0], atol=1e-6)
    assert abs(found.v.sum()) < 1e-10


def test_a_matrix_of_rank_one_and_one_of_zeros():
    two = RankStore.of([[1.0, 2.0], [2.0, 1.0]])
    (found,), _ = serve(two, [leading_pair(np.array([1.0, -1.0]), 2)])
    assert np.isclose(found.first, 2)
    np.testing.assert_allclose(found.v, np.array([-1, 1]) / np.sqrt(2))
    (none,), _ = serve(two, [leading_pair(np.zeros(2), 2)])
    assert none.first == 0


# Trace norm -----------------------------------------------------------------------------------------------------------


def test_weights_of_atoms_equal_a_general_solver():
    for a in rng.normal(size=(20, 4)):
        best = minimize(
            lambda w, a=a: ((w - a) ** 2).sum(),
            np.full(4, 0.2),
            bounds=[(0, None)] * 4,
            constraints=[{"type": "ineq", "fun": lambda w: 1 - w.sum()}],
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(in_simplex(a), best.x, atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "weighted", "squared"])
def test_the_relaxation_closes_its_gap(name):
    task, T = TASKS[name], 3.0
    (found,), _ = serve(store, [relax(task, p, T, 1e-2, 40)])
    assert found.converged
    assert (np.diff(found.objective) <= 0).all()
    M = found.W @ found.F.T
    assert np.linalg.svd(M, compute_uv=False).sum() <= T * (1 + 1e-9)
    Z = np.einsum("ijr,jr->i", PI, M) + found.b
    value = task.shares @ task.loss.values(Z[:, None], task.Y)
    assert np.isclose(value, found.objective[-1])
    for seed in range(200):  # no matrix of that norm is better by more than the gap
        other = np.random.default_rng(seed)
        w, f = other.normal(size=p), np.sort(other.normal(size=p))
        (w, f) = (-w, f) if seed % 2 else (M @ f, f)
        rival = T * np.outer(w / np.linalg.norm(w), f / np.linalg.norm(f))
        Z = np.einsum("ijr,jr->i", PI, rival)
        assert task.shares @ task.loss.values(Z[:, None], task.Y) >= value - found.gap


# Simulation -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("within", [Bounded(), Smooth(0.1)], ids=repr)
def test_the_target_of_simulated_samples_is_found_from_a_cauchy_start(within):
    """As on the slide: f* normal quantiles, x a random permutation of it, y logistic(wᵀx)."""
    draws, n, count = np.random.default_rng(0), 100, 600
    true = ndtri((np.arange(n) + 1) / (n + 1))
    samples = draws.permuted(np.tile(true, (count, 1)), axis=1)
    y = np.where(draws.random(count) < expit(samples @ draws.normal(size=n)), 1.0, -1.0)
    ranks, cauchy = RankStore.of(samples), np.tan(np.pi * ((np.arange(n) + 1) / (n + 1) - 0.5))
    task = Task(Logistic(), y[:, None], np.full(count, 1 / count), 0.05)
    (first,), _ = serve(ranks, [fit_weights(task, at_radius(cauchy))])
    (model,), _ = serve(ranks, [alternate(task, within, first, 1)])
    before, after = np.corrcoef(cauchy, true)[0, 1], np.corrcoef(model.f, true)[0, 1]
    assert before < 0.8
    assert after > 0.9
