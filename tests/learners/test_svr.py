"""KernelSVR against scikit-learn's SVR."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, MemoryLimitError
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian
from distkern.learners.persist import load_model, save_model
from distkern.learners.svr import KernelSVR
from distkern.operators.array import ArrayGram
from distkern.solvers.working_set import vector_bytes


def cohort(count=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=count)


@pytest.mark.parametrize("options", [{}, {"C": 0.05}, {"C": 50.0, "epsilon": 0.0}, {"epsilon": 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(options, weighted):
    X, y = cohort()
    kernel = Gaussian(sigma=2.0)
    K, train, test = kernel(X), np.arange(60), np.arange(60, 90)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    options = {"tol": 1e-8, **options}
    theirs = SVR(kernel="precomputed", **options).fit(K[:60, :60], y[train], weights)
    gram = ArrayGram(K)
    for model, new in (
        (KernelSVR(**options).fit(K[:60, :60], y[train], weights), K[60:, :60]),
        (KernelSVR(**options).fit(gram[np.ix_(train, train)], y[train], weights), gram[np.ix_(test, train)]),
        (KernelSVR(kernel=kernel, **options).fit(X[train], y[train], weights), X[test]),
    ):
        np.testing.assert_allclose(model.predict(new), theirs.predict(K[60:, :60]), atol=1e-5)
        np.testing.assert_array_equal(model.support_, theirs.support_)
        np.testing.assert_allclose(model.dual_coef_, theirs.dual_coef_, atol=1e-3)
        assert model.score(new, y[test]) == pytest.approx(theirs.score(K[60:, :60], y[test]), abs=1e-5)


def test_the_objective_and_its_gap_from_their_definitions():
    X, y = cohort()
    K = Gaussian(sigma=2.0)(X)
    model = KernelSVR(C=3.0, epsilon=0.2).fit(K, y)
    c = np.zeros(90)
    c[model.support_] = model.dual_coef_[0]
    dual = 0.5 * c @ K @ c + 0.2 * np.abs(c).sum() - y @ c
    assert model.objective_ == pytest.approx(dual, rel=1e-9)
    losses = np.maximum(0, np.abs(y - model.predict(K)) - 0.2).sum()
    assert model.duality_gap_ == pytest.approx(0.5 * c @ K @ c + 3.0 * losses + dual, rel=1e-6, abs=1e-9)


def test_weight_zero_removes_a_sample():
    X, y = cohort()
    K, weights = Gaussian(sigma=2.0)(X), np.arange(90) % 3
    y = np.where(weights == 0, np.nan, y)
    weighted = KernelSVR(tol=1e-10).fit(K, y, weights)
    repeated = np.repeat(np.arange(90), weights)
    model = KernelSVR(tol=1e-10).fit(K[np.ix_(repeated, repeated)], y[repeated])
    np.testing.assert_allclose(weighted.predict(K), model.predict(K[:, repeated]), atol=1e-6)
    assert (weights[weighted.support_] > 0).all()


def test_out_of_core_equals_in_memory(tmp_path):
    X, y = cohort(240)
    stored = compute_gram(Kendall(), X, store=tmp_path / "gram.zarr", tile=40, progress=False)
    held = KernelSVR(tol=1e-6, C=5.0).fit(Kendall()(X), y)
    model = KernelSVR(tol=1e-6, C=5.0, memory_limit=vector_bytes(240, 480, 1) + 150_000).fit(stored, y)
    assert (held.n_passes_, model.n_passes_ > 1, model.bytes_read_ > 0) == (1, True, True)
    assert model.objective_ == pytest.approx(held.objective_, rel=1e-6)
    np.testing.assert_allclose(model.predict(stored), held.predict(Kendall()(X)), atol=1e-4)


def test_a_grid_search_and_a_saved_model(tmp_path):
    X, y = cohort()
    gram = ArrayGram(Gaussian(sigma=2.0)(X))
    search = GridSearchCV(KernelSVR(), {"C": [0.1, 10.0], "epsilon": [0.01, 0.5]}, cv=3).fit(gram, y)
    theirs = GridSearchCV(SVR(kernel="precomputed"), {"C": [0.1, 10.0], "epsilon": [0.01, 0.5]}, cv=3)
    theirs.fit(gram.to_numpy(), y)
    assert search.best_params_ == theirs.best_params_
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=2e-3)
    again = load_model(save_model(search.best_estimator_, tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict(gram), search.predict(gram))


def test_constant_targets_are_predicted():
    X, _ = cohort()
    model = KernelSVR(kernel=Gaussian(sigma=2.0)).fit(X, np.full(90, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0, atol=0.1 + 1e-9)
    assert len(model.support_) == 0


@pytest.mark.parametrize(
    ("changes", "targets", "message"),
    [
        ({}, None, "requires y to be passed"),
        ({}, [0.0, np.nan, 1.0, 2.0], "target of sample 1 is missing"),
        ({}, [0.0, 1.0, 2.0], "4 samples"),
        ({}, np.zeros((4, 2)), "2 targets for each sample"),
        ({"C": 0}, np.zeros(4), "C must be"),
        ({"epsilon": -1.0}, np.zeros(4), "epsilon must be"),
        ({"tol": 0.0}, np.zeros(4), "tol must be"),
    ],
)
def test_invalid_input_is_refused(changes, targets, message):
    with pytest.raises(InputError, match=message):
        KernelSVR(**changes).fit(np.eye(4), targets)


def test_stopping_early_and_too_little_memory():
    X, y = cohort(200)
    gram = ArrayGram(Gaussian(sigma=2.0)(X))[:][:]
    with pytest.warns(ConvergenceWarning, match="stopped early"):
        assert KernelSVR(max_iter=2).fit(gram, y).fit_status_ == 1
    with pytest.raises(MemoryLimitError, match="training on 200 samples needs"):
        KernelSVR(memory_limit="10kB").fit(gram, y)


def test_a_function_without_support_vectors_is_its_intercept():
    X, y = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), [1.0, 2.0]
    model = KernelSVR(kernel=Kendall(), epsilon=5.0).fit(X, y)
    assert len(model.support_) == 0
    assert model.predict(X).tolist() == [model.intercept_[0]] * 2
