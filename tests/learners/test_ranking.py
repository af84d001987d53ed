"""Least squares ranking against the paper's own systems and the gradient of what it minimises."""

import warnings

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from distkern import (
    ArrayGram,
    CohortPredictor,
    Dask,
    Gaussian,
    InputError,
    InputTypeError,
    Kendall,
    Linear,
    LSRRanker,
    MemoryLimitError,
    MLSRRanker,
    Serial,
    SumGram,
    Threads,
    compute_gram,
    load_model,
    open_gram,
    ranking_error,
    save_model,
)
from distkern.solvers.conjugate import direct_bytes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * RNG.normal(size=40) + 7
TRAIN, TEST = np.arange(30), np.arange(30, 40)
KERNELS = [Gaussian(1.0), Gaussian(4.0)]
K = Gaussian(2.0)(X)
SQUARE, OBLONG = np.ix_(TRAIN, TRAIN), np.ix_(TEST, TRAIN)


def objective(gram, coefficients, y, lam):
    f = gram @ coefficients
    return naive.mean_over_pairs(y, f, lambda e: e**2) + lam * coefficients @ f


# The paper's systems -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3), st.sampled_from(["direct", "cg"]))
def test_equals_the_papers_block_system(seed, m, count, solver):
    rng = np.random.default_rng(seed)
    samples, y = rng.normal(size=(m, 3)), rng.normal(size=m)
    weights, lam = rng.uniform(0.3, 3.0, count), 10 ** rng.uniform(-3, 1)
    kernels = [Gaussian(float(sigma)) for sigma in rng.uniform(0.3, 4.0, count)]
    alphas = np.linalg.solve(*map(np.array, naive.multiscale_system([k(samples) for k in kernels], weights, lam, y)))
    model = MLSRRanker(kernels, weights, lam, solver=solver, tol=1e-12).fit(samples, y)
    np.testing.assert_allclose(model.kernel_coef_.ravel(), alphas, rtol=1e-5, atol=1e-7 * np.abs(alphas).max())
    new = rng.normal(size=(4, 3))
    expected = sum(k(new, samples) @ alpha for k, alpha in zip(kernels, alphas.reshape(count, m), strict=True))
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-6 * np.abs(alphas).max())


@given(st.integers(0, 10**6), st.floats(1e-4, 10.0))
def test_no_change_of_the_coefficients_lowers_the_objective(seed, lam):
    rng = np.random.default_rng(seed)
    samples, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    gram = Gaussian(1.5)(samples)
    model = LSRRanker(lam).fit(gram, y)
    best = objective(gram, model.dual_coef_, y, lam)
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    m, residual = 9, y - gram @ model.dual_coef_
    D = m * np.eye(m) - 1
    gradient = gram @ (2 * lam * model.dual_coef_ - 4 / m**2 * D @ residual)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    for _ in range(3):
        assert objective(gram, model.dual_coef_ + 0.01 * rng.normal(size=9), y, lam) >= best


def test_equal_scales_are_one_kernel():
    """The paper's parameters for COX2: two equal kernels with v = 2 are one with v = 1."""
    double = MLSRRanker([Gaussian(64.0), Gaussian(64.0)], [2.0, 2.0], 0.01).fit(X, Y)
    single = LSRRanker(0.01, kernel=Gaussian(64.0)).fit(X, Y)
    np.testing.assert_allclose(double.predict(X), single.predict(X), rtol=1e-9, atol=1e-12)


def test_only_the_product_of_lam_and_weights_matters():
    first = MLSRRanker(KERNELS, [1.0, 0.5], 0.001).fit(X, Y)
    second = MLSRRanker(KERNELS, [2.0, 1.0], 0.0005).fit(X, Y)
    np.testing.assert_allclose(first.predict(X), second.predict(X), atol=1e-10)


# Wherever the values lie ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranking")
    names = [f"s{i}" for i in range(len(X))]
    return [
        compute_gram(kernel, X, ids=names, store=folder / f"{number}.zarr", tile=11, progress=False)
        for number, kernel in enumerate(KERNELS)
    ]


def test_samples_arrays_stores_and_sums_give_the_same_scores(stores):
    expected = MLSRRanker(KERNELS, [1.0, 2.0], 0.001).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    arrays = [kernel(X) for kernel in KERNELS]
    model = MLSRRanker(weights=[1.0, 2.0], lam=0.001)
    forms = {
        "arrays": arrays,
        "array grams": [ArrayGram(values) for values in arrays],
        "stores": stores,
        "a store and an array": [stores[0], arrays[1]],
    }
    for matrices in forms.values():
        fitted = model.fit([part[SQUARE] for part in matrices], Y[TRAIN])
        np.testing.assert_allclose(fitted.predict([part[OBLONG] for part in matrices]), expected, atol=1e-9)
        assert fitted.n_kernels_ == 2
    total = SumGram(stores, [1.0, 0.5])
    summed = MLSRRanker(lam=0.001).fit(total[SQUARE], Y[TRAIN])
    np.testing.assert_allclose(summed.predict(total[OBLONG]), expected, atol=1e-9)
    np.testing.assert_allclose(CohortPredictor(summed, total[SQUARE]).predict(X[TEST]), expected, atol=1e-9)
    out_of_core = MLSRRanker(lam=0.001, solver="cg", tol=1e-10).fit(total[SQUARE], Y[TRAIN])
    np.testing.assert_allclose(out_of_core.predict(total[OBLONG]), expected, atol=1e-6)
    assert out_of_core.bytes_read_ > 0
    assert out_of_core.n_passes_ > out_of_core.n_iter_


def test_a_stored_matrix_centred_or_sliced_gives_what_the_array_does(stores):
    gram = stores[0]
    part = gram.centered(on=TRAIN).unit_norm()
    values = ArrayGram(gram.to_numpy()).centered(on=TRAIN).unit_norm().to_numpy()
    for solver in ("direct", "cg"):
        lazy = LSRRanker(0.01, solver=solver, tol=1e-11).fit(part[SQUARE], Y[TRAIN]).predict(part[OBLONG])
        dense = LSRRanker(0.01).fit(values[SQUARE], Y[TRAIN]).predict(values[OBLONG])
        np.testing.assert_allclose(lazy, dense, atol=1e-8)


@pytest.mark.slow
def test_serial_threads_and_a_cluster_give_the_same_bits(stores, client):
    scores = [
        LSRRanker(0.01, solver="cg").fit(open_gram(stores[0].path, executor=pool), Y).dual_coef_
        for pool in (Serial(), Threads(2), Dask(client))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_scikit_learn_searches_and_scores():
    search = GridSearchCV(LSRRanker(), {"lam": [1e-4, 1e-2, 1.0]}, cv=4).fit(ArrayGram(K), Y)
    assert search.best_params_["lam"] in (1e-4, 1e-2, 1.0)
    scores = cross_val_score(LSRRanker(0.01), ArrayGram(K), Y, cv=4)
    raw = cross_val_score(LSRRanker(0.01, kernel=Gaussian(2.0)), X, Y, cv=4)
    np.testing.assert_allclose(scores, raw, atol=1e-12)
    model = LSRRanker(0.01).fit(K[SQUARE], Y[TRAIN])
    assert model.score(K[OBLONG], Y[TEST]) == -ranking_error(Y[TEST], model.predict(K[OBLONG]))
    changed = LSRRanker(kernel=Gaussian(2.0)).set_params(kernel__sigma=1.0)
    assert changed.kernel == Gaussian(1.0)


@pytest.mark.parametrize(
    ("model", "training", "new"),
    [
        (LSRRanker(0.01), K[SQUARE], K[OBLONG]),
        (LSRRanker(0.01, kernel=Kendall()), X[TRAIN], X[TEST]),
        (MLSRRanker(KERNELS, [1.0, 2.0]), X[TRAIN], X[TEST]),
        (MLSRRanker(weights=[1.0, 2.0]), [K[SQUARE], np.eye(30)], [K[OBLONG], np.zeros((10, 30))]),
    ],
)
def test_saved_and_loaded(model, training, new, tmp_path):
    model.fit(training, Y[TRAIN])
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))


# What cannot be done ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "data", "y", "message"),
    [
        (LSRRanker(), np.eye(3), [1.0, 1.0, 1.0], "all targets are 1: there is no pair to rank"),
        (LSRRanker(), np.eye(1), [1.0], "got 1 sample"),
        (LSRRanker(), np.eye(3), [1.0, np.nan, 2.0], "target of sample 1 is missing"),
        (LSRRanker(), np.eye(3), np.ones((3, 2)), "one number for each sample"),
        (LSRRanker(), np.eye(3), [1.0, 2.0], "for 3 samples"),
        (LSRRanker(), K[OBLONG], Y[TEST], "must be square"),
        (LSRRanker(), np.diag([1.0, -5.0, 1.0]), [1.0, 2.0, 3.0], "not positive definite"),
        (LSRRanker(solver="cg"), np.diag([1.0, -5.0, 1.0]), [1.0, 3.0, 2.0], "not positive definite"),
        (LSRRanker(0.0), np.eye(3), [1.0, 2.0, 3.0], "lam must be a positive finite number"),
        (LSRRanker(solver="qr"), np.eye(3), [1.0, 2.0, 3.0], "solver must be one of auto, direct, cg"),
        (LSRRanker(tol=0), np.eye(3), [1.0, 2.0, 3.0], "tol must be a positive"),
        (MLSRRanker(KERNELS, [1.0]), X, Y, "one positive number for each of the 2 kernels"),
        (MLSRRanker(KERNELS, [1.0, -1.0]), X, Y, "one positive number for each of the 2 kernels"),
        (MLSRRanker(), [np.eye(3), np.eye(2)], [1.0, 2.0, 3.0], "part 1 of the sum is 2 × 2"),
        (MLSRRanker(), [np.eye(3), K[:3, 3:6]], [1.0, 2.0, 3.0], "not symmetric"),
        (MLSRRanker(kernels="linear"), np.eye(3), [1.0, 2.0, 3.0], "kernel must be 'precomputed'"),
    ],
)
def test_targets_that_cannot_be_ranked_are_refused(model, data, y, message):
    with pytest.raises(InputError, match=message):
        model.fit(data, y)


def test_other_mistakes():
    with pytest.raises(InputTypeError, match="list of kernels"):
        MLSRRanker([1.0]).fit(X, Y)
    model = MLSRRanker().fit([K[SQUARE], K[SQUARE]], Y[TRAIN])
    with pytest.raises(InputError, match="X holds 1 matrices and the model was trained on 2"):
        model.predict(K[OBLONG])
    with pytest.raises(InputError, match="expecting 30 features"):
        model.predict([K[OBLONG][:, 1:], K[OBLONG]])
    with pytest.raises(MemoryLimitError, match="memory_limit"):
        LSRRanker(solver="direct", memory_limit=direct_bytes(30, 1) - 1).fit(ArrayGram(K[SQUARE]), Y[TRAIN])
    named = ArrayGram(K[SQUARE], row_ids=[f"a{i}" for i in TRAIN])
    other = ArrayGram(K[OBLONG], col_ids=[f"b{i}" for i in TRAIN])
    with pytest.raises(InputError, match="not the samples that the model was fitted on"):
        LSRRanker().fit(named, Y[TRAIN]).predict(other)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_weights_must_be_positive_and_one_for_each_kernel(weights):
    with pytest.raises(InputError, match="weights must be one positive number for each of the 2 kernels"):
        MLSRRanker(KERNELS, weights).fit(X, Y)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match=r"LSRRanker stopped after 1 iterations at a relative residual"):
        model = LSRRanker(1e-7, solver="cg", max_iter=1).fit(K, Y)
    assert model.residual_ > model.tol
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LSRRanker(1e-3, solver="cg", kernel=Linear()).fit(X, Y)


def test_a_matrix_as_a_list_of_rows_is_one_matrix():
    X = np.random.default_rng(0).normal(size=(6, 3))
    K, y = X @ X.T + np.eye(6), X[:, 0]
    for model in (LSRRanker(), MLSRRanker()):
        np.testing.assert_array_equal(model.fit(K.tolist(), y).dual_coef_, model.fit(K, y).dual_coef_)
