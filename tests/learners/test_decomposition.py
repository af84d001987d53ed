"""KernelPCA against scikit-learn's, the same for every form of X, and what it reads of a stored matrix."""

import numpy as np
import pytest
from sklearn import decomposition as sklearn_decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, MemoryLimitError
from distkern.gram.open import open_gram
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian, Linear, Polynomial
from distkern.learners.decomposition import KernelPCA
from distkern.learners.persist import load_model, save_model
from distkern.learners.predictor import CohortPredictor
from distkern.learners.standardizer import KernelStandardizer
from distkern.operators.array import ArrayGram

TRAIN, TEST = np.arange(80), np.arange(80, 100)


def cohort(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(100, 12)) * np.linspace(3.0, 0.5, 12) + 1.0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("kpca") / "cohort.zarr"
    compute_gram(Kendall(), cohort(), store=path, tile=16, progress=False)
    return path


# Equal to scikit-learn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Kendall(), Gaussian(sigma=4.0), Polynomial(degree=2, coef0=1.0)])
@pytest.mark.parametrize("eigen_solver", ["dense", "lanczos"])
@pytest.mark.parametrize("count", [1, 5])
def test_equals_scikit_learn_up_to_rounding(kernel, eigen_solver, count):
    K = kernel(cohort())
    train, block = K[np.ix_(TRAIN, TRAIN)], K[np.ix_(TEST, TRAIN)]
    theirs = sklearn_decomposition.KernelPCA(count, kernel="precomputed", eigen_solver="dense").fit(train)
    model = KernelPCA(count, eigen_solver=eigen_solver, tol=1e-12)
    ours = model.fit_transform(train)
    np.testing.assert_allclose(model.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    signs = np.sign((model.eigenvectors_ * theirs.eigenvectors_).sum(axis=0))
    np.testing.assert_array_equal(signs, 1.0)  # the same convention
    np.testing.assert_allclose(model.eigenvectors_, theirs.eigenvectors_, atol=1e-9)
    scale = np.abs(ours).max()
    np.testing.assert_allclose(ours, theirs.transform(train), atol=1e-9 * scale)
    np.testing.assert_allclose(model.transform(train), ours, atol=1e-9 * scale)
    np.testing.assert_allclose(model.transform(block), theirs.transform(block), atol=1e-9 * scale)


def test_all_components_of_the_linear_kernel_are_those_of_the_samples():
    X = cohort()
    theirs = sklearn_decomposition.PCA().fit(X[TRAIN])
    model = KernelPCA(kernel=Linear()).fit(X[TRAIN])
    assert model.eigenvalues_.shape == (12,)  # 80 samples of 12 features vary in 12 directions
    np.testing.assert_allclose(model.eigenvalues_ / 79, theirs.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.transform(X[TEST])), np.abs(theirs.transform(X[TEST])), atol=1e-9)
    assert model.get_feature_names_out()[0] == "kernelpca0"


def test_matrix_is_unchanged_without_centring():
    K = Gaussian(sigma=4.0)(cohort())
    model = KernelPCA(3, center=False).fit(K[np.ix_(TRAIN, TRAIN)])
    values, vectors = np.linalg.eigh(K[np.ix_(TRAIN, TRAIN)])
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-10)
    projected = K[np.ix_(TEST, TRAIN)] @ vectors[:, ::-1][:, :3] / np.sqrt(values[::-1][:3])
    np.testing.assert_allclose(np.abs(model.transform(K[np.ix_(TEST, TRAIN)])), np.abs(projected), atol=1e-10)
    assert not hasattr(model, "means_")


def test_components_beyond_the_rank_are_zero():
    X = cohort()[:, :2]
    model = KernelPCA(4, kernel=Linear()).fit(X[TRAIN])
    np.testing.assert_array_equal(model.eigenvalues_[2:], 0.0)
    np.testing.assert_array_equal(model.transform(X[TEST])[:, 2:], 0.0)
    np.testing.assert_array_equal(model.fit_transform(X[TRAIN])[:, 2:], 0.0)


# Wherever the values lie ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eigen_solver", ["dense", "lanczos"])
def test_stored_arrays_and_raw_samples_give_the_same(store, eigen_solver):
    X, gram, K = cohort(), open_gram(store), Kendall()(cohort())
    options = {"n_components": 3, "eigen_solver": eigen_solver, "tol": 1e-12}
    expected = KernelPCA(**options).fit(K[np.ix_(TRAIN, TRAIN)])
    new = expected.transform(K[np.ix_(TEST, TRAIN)])
    for model, old, block in (
        (KernelPCA(**options), gram[np.ix_(TRAIN, TRAIN)], gram[np.ix_(TEST, TRAIN)]),
        (KernelPCA(**options), ArrayGram(K)[np.ix_(TRAIN, TRAIN)], ArrayGram(K)[np.ix_(TEST, TRAIN)]),
        (KernelPCA(kernel=Kendall(), **options), X[TRAIN], X[TEST]),
    ):
        model.fit(old)
        np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-12)
        np.testing.assert_allclose(model.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=1e-12)
        np.testing.assert_allclose(model.transform(block), new, atol=1e-9)


def test_every_executor_gives_the_same_bits_out_of_core(store, client):
    def fitted(executor):
        part = open_gram(store, executor=executor)[TRAIN][:, TRAIN]
        return KernelPCA(2, eigen_solver="lanczos", memory_limit=OUT_OF_CORE).fit(part)

    serial = fitted("serial")
    assert serial.n_passes_ == serial.n_iter_ + 1  # one for the means
    raw = KernelPCA(2, center=False, eigen_solver="lanczos", memory_limit=OUT_OF_CORE).fit(open_gram(store))
    assert raw.n_passes_ == raw.n_iter_
    for executor in (2, client):
        np.testing.assert_array_equal(fitted(executor).eigenvectors_, serial.eigenvectors_)


OUT_OF_CORE = 8 * 80 * 80 + 8 * 80 * (3 * 72 + 6 * 12) + 1000
"""Bytes that hold the search for two components of 80 samples, and the matrix but no room to read it."""


def test_matrix_is_read_once_if_it_fits_else_in_passes(store):
    gram = open_gram(store)
    once = 8 * 100 * 100  # at most; the lower triangle is not stored
    held = KernelPCA(2, eigen_solver="lanczos").fit(gram)
    assert held.n_passes_ == 1
    assert 0 < held.bytes_read_ <= once
    gram = open_gram(store)
    limited = KernelPCA(2, eigen_solver="lanczos", memory_limit=OUT_OF_CORE + 8 * 20 * 288).fit(gram)
    assert limited.n_passes_ == limited.n_iter_ + 1
    assert limited.bytes_read_ >= limited.n_iter_ * held.bytes_read_
    np.testing.assert_allclose(limited.eigenvectors_, held.eigenvectors_, atol=1e-6)


def test_a_standardised_cohort_from_raw_samples(store, tmp_path):
    X, train = cohort(), open_gram(store)[np.ix_(TRAIN, TRAIN)]
    model = make_pipeline(KernelStandardizer(), KernelPCA(2)).fit(train)
    expected = model.transform(open_gram(store)[np.ix_(TEST, TRAIN)])
    np.testing.assert_allclose(CohortPredictor(model, train).transform(X[TEST]), expected, atol=1e-12)
    loaded = load_model(save_model(model, tmp_path / "pca.npz", train))
    np.testing.assert_allclose(loaded.transform(X[TEST]), expected, atol=1e-12)


# What it refuses and warns of ----------------------------------------------------------------------------------------


def test_stopping_early_warns():
    K = Gaussian(sigma=0.5)(cohort())
    with pytest.warns(ConvergenceWarning, match="after 2 products"):
        model = KernelPCA(3, eigen_solver="lanczos", max_iter=2, tol=1e-12).fit(K)
    assert model.residual_.max() > 1e-12 * model.eigenvalues_[0]


def test_too_large_matrix_is_refused_before_it_is_read(store):
    gram = open_gram(store)
    for options in ({}, {"n_components": 2, "eigen_solver": "dense"}, {"n_components": 2, "eigen_solver": "lanczos"}):
        with pytest.raises(MemoryLimitError, match="components of 100 samples"):
            KernelPCA(memory_limit=50_000, **options).fit(gram)
    assert gram.bytes_read() == 0


def test_a_matrix_that_is_not_positive_semidefinite_is_refused():
    K = np.diag([1.0, -1.0, 1.0, 1.0])
    with pytest.raises(InputError, match=r"not positive semidefinite: sample '1' has the squared norm"):
        KernelPCA(2, center=False).fit(K)
    K = np.ones((4, 4)) + 2 * np.eye(4)[::-1]  # a diagonal of ones; eigenvalues 6, 2, −2, −2
    with pytest.raises(InputError, match="not positive semidefinite: its largest eigenvalues are 6 to -2"):
        KernelPCA(center=False).fit(K)
    with pytest.raises(InputError, match="not positive semidefinite"):  # 6 exceeds the trace of 4
        KernelPCA(1, center=False).fit(K)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"n_components": 2.5}, "n_components must be a whole number"),
        ({"n_components": 200}, "more than the 100 samples"),
        ({"eigen_solver": "arpack"}, "eigen_solver must be"),
        ({"eigen_solver": "lanczos"}, "give n_components"),
    ],
)
def test_invalid_parameter_values_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        KernelPCA(**options).fit(Kendall()(cohort()))


def test_samples_without_variance_and_broken_values(store):
    with pytest.raises(InputError, match="one point in feature space"):
        KernelPCA(1).fit(np.ones((5, 5)))
    with pytest.raises(InputError, match="got 1 sample"):
        KernelPCA(1).fit([[1.0]])
    with pytest.raises(InputError, match="NaN"):
        KernelPCA(1).fit(np.full((5, 5), np.nan))
    gram = open_gram(store)
    model = KernelPCA(2).fit(gram[:50, :50])
    with pytest.raises(InputError, match="expecting 50 features"):
        model.transform(gram[:, :49])
    with pytest.raises(InputError, match="not the samples that the model was fitted on"):
        model.transform(gram[50:, 50:])


def test_values_that_are_not_finite_in_a_stored_matrix():
    class Broken(ArrayGram):
        """A matrix whose products are fine but for one tile."""

        def __init__(self, values):
            super().__init__(values)
            self._values = values.copy()
            self._values[3, 4] = self._values[4, 3] = np.nan

    K = Kendall()(cohort())
    for options in ({"eigen_solver": "dense"}, {"eigen_solver": "lanczos"}, {"center": False}):
        with pytest.raises(InputError, match="not finite"):
            KernelPCA(2, **options).fit(Broken(K))
