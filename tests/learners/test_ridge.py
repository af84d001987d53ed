"""Kernel ridge regression against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import kernel_ridge
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from distkern import (
    ArrayGram,
    Dask,
    Gaussian,
    InputError,
    KernelRidge,
    KernelStandardizer,
    MemoryLimitError,
    Serial,
    Threads,
    compute_gram,
    load_model,
    open_gram,
    save_model,
)
from distkern.solvers.conjugate import gradient_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = np.column_stack([X[:, 0] + 0.1 * RNG.normal(size=40), np.sin(X[:, 1]), X[:, 2] ** 2])
K = Gaussian(2.0)(X)
TRAIN, TEST = np.arange(30), np.arange(30, 40)
SQUARE, OBLONG = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)


@given(
    st.integers(0, 10**6),
    st.integers(1, 25),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["direct", "cg"]),
)
def test_equals_scikit_learn(seed, m, targets, weighted, each, solver):
    rng = np.random.default_rng(seed)
    samples, y = rng.normal(size=(m, 4)), rng.normal(size=(m, targets) if targets > 1 else m)
    alpha = rng.uniform(0.1, 2.0, targets) if each else 0.3
    weights = rng.uniform(0.1, 3.0, m) if weighted else None
    gram, new = Gaussian(1.5)(samples), Gaussian(1.5)(rng.normal(size=(6, 4)), samples)
    theirs = kernel_ridge.KernelRidge(alpha=alpha, kernel="precomputed").fit(gram, y, weights)
    ours = KernelRidge(alpha, solver=solver, tol=1e-12).fit(gram, y, weights)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-7 * np.abs(theirs.dual_coef_).max())
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-7)
    w, columns, c = (np.ones(m) if weights is None else weights), y.reshape(m, -1), ours.dual_coef_.reshape(m, -1)
    fitted = gram @ c
    value = (w[:, None] * (columns - fitted) ** 2).sum() + (alpha * (c * fitted).sum(axis=0)).sum()
    assert ours.objective_ == pytest.approx(value, rel=1e-7, abs=1e-12)


def test_sample_of_weight_zero_is_ignored():
    weights = np.ones(40)
    weights[[3, 20]] = 0
    kept = np.flatnonzero(weights)
    y = Y.copy()
    y[3] = np.nan
    whole = KernelRidge(0.1).fit(K, y, weights)
    part = KernelRidge(0.1).fit(K[np.ix_(kept, kept)], Y[kept])
    np.testing.assert_allclose(whole.dual_coef_[kept], part.dual_coef_, atol=1e-12)
    np.testing.assert_array_equal(whole.dual_coef_[[3, 20]], 0)
    raw = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(X, y, weights)
    np.testing.assert_allclose(raw.predict(X), K[:, kept] @ part.dual_coef_, atol=1e-10)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return compute_gram(Gaussian(2.0), X, store=tmp_path_factory.mktemp("ridge") / "g.zarr", tile=11, progress=False)


def test_samples_arrays_and_stores_give_the_same_numbers(stored):
    expected = KernelRidge(0.1).fit(K[SQUARE], Y[TRAIN]).predict(K[OBLONG])
    assert expected.shape == (10, 3)
    raw = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(raw.predict(X[TEST]), expected, atol=1e-10)
    for options in ({}, {"solver": "cg", "tol": 1e-11}):
        for gram in (stored, ArrayGram(K)):
            model = KernelRidge(0.1, **options).fit(gram[SQUARE], Y[TRAIN])
            np.testing.assert_allclose(model.predict(gram[OBLONG]), expected, atol=1e-8)
            assert model.residual_ <= 1e-9
    standardized = make_pipeline(KernelStandardizer(), KernelRidge(0.1))
    lazy = standardized.fit(stored[SQUARE], Y[TRAIN]).predict(stored[OBLONG])
    dense = standardized.fit(ArrayGram(K)[SQUARE], Y[TRAIN]).predict(ArrayGram(K)[OBLONG])
    np.testing.assert_allclose(lazy, dense, atol=1e-10)


@pytest.mark.slow
def test_serial_threads_and_a_cluster_give_the_same_bits(stored, client):
    found = [
        KernelRidge(0.1, solver="cg").fit(open_gram(stored.path, executor=pool), Y).dual_coef_
        for pool in (Serial(), Threads(2), Dask(client))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_scikit_learn_searches_and_scores(stored):
    grid = {"alpha": [1e-3, 1e-1, 10.0]}
    ours = GridSearchCV(KernelRidge(), grid, cv=4).fit(stored, Y)
    theirs = GridSearchCV(kernel_ridge.KernelRidge(kernel="precomputed"), grid, cv=4).fit(K, Y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-9)
    assert cross_val_score(KernelRidge(0.01, kernel=Gaussian(2.0)), X, Y[:, 0], cv=4).mean() > 0.3


@pytest.mark.parametrize(("model", "data"), [(KernelRidge([0.1, 1.0, 2.0]), K), (KernelRidge(kernel=Gaussian(2.0)), X)])
def test_saved_and_loaded(model, data, tmp_path):
    model.fit(data, Y)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(data), model.predict(data))


@pytest.mark.parametrize(
    ("model", "data", "y", "message"),
    [
        (KernelRidge(-1.0), np.eye(3), [1.0, 2.0, 3.0], "alpha must be finite and not negative"),
        (KernelRidge([1.0, 2.0]), np.eye(3), [1.0, 2.0, 3.0], "one for each of the 1 targets"),
        (KernelRidge(), np.eye(3), [1.0, None, 3.0], "target of sample 1 is missing"),
        (KernelRidge(), K[OBLONG], Y[TEST], "must be square"),
        (KernelRidge(), np.diag([1.0, -5.0, 1.0]), [1.0, 2.0, 3.0], "not positive definite"),
        (KernelRidge(0.0), np.ones((3, 3)), [1.0, 2.0, 3.0], "plus 0 on the diagonal is not positive definite"),
        (KernelRidge(), [[1.0, np.nan], [np.nan, 1.0]], [1.0, 2.0], "NaN"),
    ],
)
def test_data_that_cannot_be_fitted_are_refused(model, data, y, message):
    with pytest.raises(InputError, match=message):
        model.fit(data, y)


def test_too_large_matrix_is_refused_and_early_stop_warns():
    with pytest.raises(MemoryLimitError, match="memory_limit"):
        KernelRidge(memory_limit=gradient_bytes(40, 3) - 1).fit(ArrayGram(K), Y)
    with pytest.warns(ConvergenceWarning, match="KernelRidge stopped after 1 iterations"):
        KernelRidge(1e-9, solver="cg", max_iter=1).fit(K, Y)


def test_equal_weights_are_a_smaller_alpha():
    doubled = KernelRidge(1.0).fit(K, Y, sample_weight=np.full(40, 2.0))
    np.testing.assert_allclose(doubled.dual_coef_, KernelRidge(0.5).fit(K, Y).dual_coef_, rtol=1e-9)
