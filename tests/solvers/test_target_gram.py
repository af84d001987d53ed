"""The step in W on the Gram matrix equals that in passes over the ranks."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from distkern.kernels.quantile import QuantileLinear
from distkern.solvers import target_gram as module
from distkern.solvers.rank_requests import serve
from distkern.solvers.target_gram import fit_on_gram, gram_is_cheaper, gram_of, weight_step
from distkern.solvers.target_learning import Task, alternate, fit_weights
from distkern.solvers.target_losses import Logistic, Softmax, Squared, SquaredHinge
from distkern.solvers.target_sets import Bounded, at_radius
from distkern.store.ranks import RankStore

rng = np.random.default_rng(2)
m, p = 30, 70
X = rng.normal(size=(m, p)).round(1)  # ties
codes = np.where(rng.random(m) < 0.5, 1.0, -1.0)
classes = np.eye(3)[np.arange(m) % 3]
store = RankStore.of(X)
even = np.full(m, 1 / m)
uneven = np.where(np.arange(m) < 6, 0, rng.random(m))
uneven /= uneven.sum()
target = np.sort(rng.normal(size=p)) ** 3 + 2
MEMORY = 2**28

TASKS = {
    "logistic": [Task(Logistic(), codes[:, None], shares, lam, 1e-8) for shares in (even, uneven) for lam in (0.1, 9)],
    "softmax": [Task(Softmax(), classes, uneven, lam, 1e-8) for lam in (0.1, 9)],
    "hinge": [Task(SquaredHinge(), 2 * classes - 1, uneven, 0.5, 1e-8)],
    "squared": [Task(Squared(), rng.normal(size=(m, 1)), uneven, 0.5, 1e-8)],
}


def in_passes(tasks, f=target):
    return serve(store, [fit_weights(task, f) for task in tasks])[0]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("f", [target, target[::-1].copy()], ids=["ascending", "descending"])
def test_both_steps_find_the_same_minimum(name, f):
    for one, other in zip(fit_on_gram(store, TASKS[name], f, MEMORY), in_passes(TASKS[name], f), strict=True):
        assert one.converged
        np.testing.assert_allclose(one.W, other.W, atol=1e-6)
        np.testing.assert_allclose(one.b, other.b, atol=1e-5)
        assert one.objective[0] == pytest.approx(other.objective[0], abs=1e-9)


def test_the_weights_equal_scikit_learn():
    (found,) = fit_on_gram(store, [Task(Logistic(), codes[:, None], even, 0.1, 1e-9)], target, MEMORY)
    linear = LogisticRegression(C=1 / (2 * m * 0.1), tol=1e-10, max_iter=10_000).fit(store.normalised(target), codes)
    np.testing.assert_allclose(found.W[:, 0], linear.coef_[0], atol=1e-5)
    np.testing.assert_allclose(found.b, linear.intercept_, atol=1e-4)


def test_the_matrix_is_that_of_the_kernel_whatever_the_blocks(monkeypatch):
    many = RankStore.of(rng.normal(size=(200, 9)).round(1))
    f = np.sort(rng.normal(size=9))
    whole = gram_of(many, f)
    np.testing.assert_allclose(whole, QuantileLinear(tuple(f))(many.ranks.astype(float)), atol=1e-12)
    np.testing.assert_array_equal(whole, whole.T)
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(gram_of(many, f), whole)


def test_a_constant_target_has_no_weights():
    for name, tasks in TASKS.items():
        flat = np.full(p, 3.0)
        for one, other in zip(fit_on_gram(store, tasks, flat, MEMORY), in_passes(tasks, flat), strict=True):
            np.testing.assert_array_equal(one.W, 0)
            np.testing.assert_allclose(other.W, 0, atol=1e-9, err_msg=name)
            assert one.objective[0] == pytest.approx(other.objective[0], abs=1e-6)


def test_a_whole_model_is_the_same_with_either_step():
    task = Task(Logistic(), codes[:, None], even, 0.05, 1e-7)
    first = at_radius(target)
    found = []
    for step in (fit_weights, weight_step(store, 1, MEMORY)):

        def fit(step=step):
            start = yield from step(task, first, None)
            return (yield from alternate(task, Bounded(), start, 2, refit=step))

        (model,), passes = serve(store, [fit()])
        found.append((model, passes))
    np.testing.assert_allclose(found[0][0].f, found[1][0].f, atol=1e-4)
    np.testing.assert_allclose(found[0][0].W, found[1][0].W, atol=1e-4)
    np.testing.assert_allclose(found[0][0].objective, found[1][0].objective, atol=1e-7)
    assert found[1][1] < found[0][1]


def test_the_rule():
    assert gram_is_cheaper(1000, 20_000, 1, 2**30)
    assert not gram_is_cheaper(1001, 20_000, 1, 2**30)  # passes are cheaper
    assert gram_is_cheaper(11_000, 20_000, 50, 2**33)
    assert not gram_is_cheaper(11_000, 20_000, 50, 2**30)  # no room
    assert not gram_is_cheaper(30, 20, 9, 2**30)  # more samples than features
    assert weight_step(store, 1, 0) is fit_weights
