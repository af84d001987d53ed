"""KernelStandardizer against scikit-learn's KernelCenterer, hand-made numbers and explicit linear feature maps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer

from distkern.core.errors import InputError, InputTypeError, MemoryLimitError, SampleError
from distkern.kernels.kendall import Kendall
from distkern.kernels.mallows import Mallows
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram


@pytest.fixture
def samples():
    rng = np.random.default_rng(7)
    return rng.normal(size=(12, 5)) + 3, rng.normal(size=(4, 5)) + 3


def features(train, X):
    """Explicit feature map of the linear kernel: subtract the training mean, scale rows to norm 1."""
    centred = X - train.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def rectangle(new, train):
    """Test × train Gram matrix of the linear kernel with both diagonals."""
    return ArrayGram(new @ train.T, row_diag=(new**2).sum(axis=1), col_diag=(train**2).sum(axis=1))


# Values --------------------------------------------------------------------------------------------------------------


def test_rectangular_centring_of_case_8():
    train = np.array([[1.0, 2, 3], [2, 4, 6], [3, 6, 9]])
    test = np.array([[4.0, 8, 12], [5, 10, 15]])
    kept = train.copy(), test.copy()
    standardizer = KernelStandardizer(unit_norm=False).fit(train)
    np.testing.assert_array_equal(standardizer.transform(test), [[-2, 0, 2], [-3, 0, 3]])
    np.testing.assert_array_equal(standardizer.transform(ArrayGram(test)).to_numpy(), [[-2, 0, 2], [-3, 0, 3]])
    np.testing.assert_array_equal(train, kept[0])
    np.testing.assert_array_equal(test, kept[1])


def test_centring_equals_scikit_learn(samples):
    train, new = samples
    centerer = KernelCenterer().fit(train @ train.T)
    standardizer = KernelStandardizer(unit_norm=False).fit(train @ train.T)
    for K in (train @ train.T, new @ train.T):
        np.testing.assert_allclose(standardizer.transform(K), centerer.transform(K.copy()), atol=1e-12)


def test_equals_the_explicit_feature_map(samples):
    train, new = samples
    expected_train = features(train, train) @ features(train, train).T
    expected_new = features(train, new) @ features(train, train).T
    diagonal = (new**2).sum(axis=1)

    plain = KernelStandardizer()
    np.testing.assert_allclose(plain.fit_transform(train @ train.T), expected_train, atol=1e-12)
    np.testing.assert_allclose(plain.transform(new @ train.T, diagonal=diagonal), expected_new, atol=1e-12)
    given = KernelStandardizer(diagonal=diagonal).fit(train @ train.T)
    np.testing.assert_allclose(given.transform(new @ train.T), expected_new, atol=1e-12)

    lazy = KernelStandardizer()
    assert isinstance(lazy.fit_transform(ArrayGram(train @ train.T)), BaseGram)
    np.testing.assert_allclose(lazy.transform(rectangle(new, train)).to_numpy(), expected_new, atol=1e-12)

    raw = KernelStandardizer(kernel=Linear())
    np.testing.assert_allclose(raw.fit_transform(train), expected_train, atol=1e-12)
    np.testing.assert_allclose(raw.transform(new), expected_new, atol=1e-12)


def test_unit_norm_alone_is_the_cosine(samples):
    train, new = samples
    standardizer = KernelStandardizer(center=False).fit(train @ train.T)
    cosine = (new / np.linalg.norm(new, axis=1)[:, None]) @ (train / np.linalg.norm(train, axis=1)[:, None]).T
    found = standardizer.transform(new @ train.T, diagonal=(new**2).sum(axis=1))
    np.testing.assert_allclose(found, cosine, atol=1e-14)


def test_neither_changes_nothing(samples):
    train, new = samples
    standardizer = KernelStandardizer(center=False, unit_norm=False).fit(train @ train.T)
    np.testing.assert_array_equal(standardizer.transform(new @ train.T), new @ train.T)


@pytest.mark.parametrize("kernel", [Kendall("b"), Gaussian(sigma=2.0), Mallows(0.1)])
def test_one_number_serves_kernels_with_unit_self_similarity(samples, kernel):
    train, new = samples
    raw = KernelStandardizer(kernel=kernel).fit(train)
    plain = KernelStandardizer(diagonal=1.0).fit(kernel(train))
    np.testing.assert_allclose(plain.transform(kernel(new, train)), raw.transform(new), atol=1e-12)


@pytest.mark.parametrize("wrap", [np.asarray, ArrayGram])
@pytest.mark.parametrize("center", [True, False])
def test_the_training_matrix_again_gives_the_same_bits(samples, wrap, center):
    matrix = wrap(samples[0] @ samples[0].T)
    standardizer = KernelStandardizer(center=center)
    first = np.asarray(standardizer.fit_transform(matrix))
    np.testing.assert_array_equal(np.asarray(standardizer.transform(matrix)), first)
    np.testing.assert_array_equal(first.diagonal(), 1.0)


def test_training_samples_again_give_the_same_bits(samples):
    standardizer = KernelStandardizer(kernel=Kendall())
    first = standardizer.fit_transform(samples[0])
    np.testing.assert_array_equal(standardizer.transform(samples[0].copy()), first)


def test_the_training_array_is_recognised_in_any_memory_order(samples):
    K = samples[0] @ samples[0].T
    standardizer = KernelStandardizer()
    np.testing.assert_array_equal(standardizer.fit_transform(K), standardizer.transform(np.asfortranarray(K)))


def test_square_test_matrix_is_not_mistaken_for_the_training_matrix(samples):
    train = samples[0]
    new = train[::-1] + 0.25
    standardizer = KernelStandardizer().fit(train @ train.T)
    with pytest.raises(InputError, match="diagonal="):
        standardizer.transform(new @ train.T)
    found = standardizer.transform(new @ train.T, diagonal=(new**2).sum(axis=1))
    np.testing.assert_allclose(found, features(train, new) @ features(train, train).T, atol=1e-12)


def test_an_array_with_the_training_diagonal_is_not_enough(samples):
    K = Gaussian(sigma=3.0)(samples[0])
    standardizer = KernelStandardizer().fit(K)
    with pytest.raises(InputError, match="diagonal="):
        standardizer.transform(Gaussian(sigma=3.1)(samples[0]))


def test_slices_of_one_gram_keep_the_diagonals(samples):
    everything = np.vstack(samples)
    gram = ArrayGram(everything @ everything.T)
    train, test = np.arange(12), np.arange(12, 16)
    standardizer = KernelStandardizer().fit(gram[np.ix_(train, train)])
    expected = features(samples[0], samples[1]) @ features(samples[0], samples[0]).T
    view = standardizer.transform(gram[np.ix_(test, train)])
    np.testing.assert_allclose(view.to_numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(view.matmat(np.eye(12)), expected, atol=1e-12)
    np.testing.assert_allclose(view.block([1, 3], [0, 5]), expected[np.ix_([1, 3], [0, 5])], atol=1e-12)
    assert view.row_ids == ("12", "13", "14", "15")
    np.testing.assert_array_equal(view.col_diag(), 1.0)


def test_a_rectangular_gram_without_diagonals_takes_them_from_the_argument(samples):
    train, new = samples
    standardizer = KernelStandardizer().fit(ArrayGram(train @ train.T))
    with pytest.raises(InputError, match="diagonal="):
        standardizer.transform(ArrayGram(new @ train.T))
    view = standardizer.transform(ArrayGram(new @ train.T), diagonal=(new**2).sum(axis=1))
    np.testing.assert_allclose(view.to_numpy(), features(train, new) @ features(train, train).T, atol=1e-12)


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 2.0]], "square"),
        ([[1.0, 2.0], [3.0, 4.0]], "not symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN"),
        ([[1.0]], "1 sample"),
        (np.ones((3, 3)), "norm zero"),
        (0.1 * np.ones((7, 7)), "norm zero"),
    ],
)
def test_invalid_training_matrices_are_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        KernelStandardizer().fit(matrix)


def test_gram_of_different_rows_and_columns_is_refused():
    gram = ArrayGram(np.eye(4))
    with pytest.raises(InputError, match="same samples"):
        KernelStandardizer().fit(gram[np.ix_([0, 1], [1, 0])])


def test_a_gram_with_values_that_are_not_finite_is_refused():
    gram = ArrayGram(np.eye(3))
    gram._values[0, 1] = np.nan
    with pytest.raises(InputError, match="finite"):
        KernelStandardizer().fit(gram)


@pytest.mark.parametrize("wrap", [np.asarray, ArrayGram])
def test_wrong_number_of_columns(wrap):
    standardizer = KernelStandardizer(diagonal=1.0).fit(np.eye(4))
    with pytest.raises(InputError, match="3 features, but KernelStandardizer is expecting 4 features"):
        standardizer.transform(wrap(np.ones((2, 3))))


def test_another_symmetric_gram_than_the_training_one_is_refused():
    gram = ArrayGram(np.diag(np.arange(1.0, 7.0)))
    standardizer = KernelStandardizer().fit(gram[:3][:, :3])
    with pytest.raises(InputError, match="training"):
        standardizer.transform(gram[3:][:, 3:])
    with pytest.raises(InputError, match="the matrix to transform is symmetric but is not the training matrix"):
        standardizer.transform(ArrayGram(np.diag([4.0, 5.0, 6.0])))  # under the same names


def test_a_test_sample_at_the_training_mean_is_named(samples):
    train, _ = samples
    new = np.vstack([train[0], train.mean(axis=0)])
    with pytest.raises(InputError, match="sample '1' has norm zero"):
        KernelStandardizer(kernel=Linear()).fit(train).transform(new)


@pytest.mark.parametrize("diagonal", [[1.0, 2.0, 3.0], [[1.0], [1.0]], [1.0, -1.0], [np.nan, 1.0]])
def test_wrong_diagonals_are_refused(diagonal):
    with pytest.raises(InputError, match="diagonal"):
        KernelStandardizer().fit(np.eye(3)).transform(np.ones((2, 3)), diagonal=diagonal)


def test_wrong_kinds_of_input():
    with pytest.raises(InputError, match="kernel must be"):
        KernelStandardizer(kernel="rbf").fit(np.eye(3))
    with pytest.raises(InputTypeError, match="takes samples"):
        KernelStandardizer(kernel=Linear()).fit(ArrayGram(np.eye(3)))
    with pytest.raises(SampleError, match="number 1"):
        KernelStandardizer(kernel=Kendall()).fit([[1.0, 2.0], [np.nan, 1.0], [2.0, 1.0]])


def test_memory_is_refused_before_the_kernel_is_computed(samples):
    with pytest.raises(MemoryLimitError, match="memory_limit"):
        KernelStandardizer(kernel=Linear(), memory_limit=100).fit(samples[0])
    standardizer = KernelStandardizer(kernel=Linear()).fit(samples[0])
    with pytest.raises(MemoryLimitError, match="1,000 and 12"):
        standardizer.set_params(memory_limit="2kB").transform(np.ones((1000, 5)))


# As an estimator -----------------------------------------------------------------------------------------------------


def test_pipeline_on_raw_samples_equals_the_one_on_the_gram():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 6)), np.repeat([0, 1], 15)
    X[y == 1, :3] += 1.5
    raw = make_pipeline(KernelStandardizer(kernel=Kendall("b")), KernelSVC(tol=1e-10)).fit(X[::2], y[::2])
    gram = ArrayGram(Kendall("b")(X))
    even, odd = np.arange(0, 30, 2), np.arange(1, 30, 2)
    lazy = make_pipeline(KernelStandardizer(), KernelSVC(tol=1e-10)).fit(gram[np.ix_(even, even)], y[even])
    expected = lazy.decision_function(gram[np.ix_(odd, even)])
    # the last bits of k differ, and with them where within tol the solver stops
    np.testing.assert_allclose(raw.decision_function(X[odd]), expected, atol=1e-7)


def test_grid_search_changes_the_immutable_kernel():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(24, 4)), np.repeat([0, 1], 12)
    X[y == 1] += np.arange(4)
    kernel = Mallows(lam=0.5)
    model = make_pipeline(KernelStandardizer(kernel=kernel), KernelSVC())
    search = GridSearchCV(model, {"kernelstandardizer__kernel__lam": [0.05, 0.2]}, cv=3).fit(X, y)
    assert search.best_estimator_[0].kernel_.lam in (0.05, 0.2)
    assert kernel == Mallows(lam=0.5)


def test_set_params_sets_a_new_kernel_and_its_parameter_at_once():
    standardizer = clone(KernelStandardizer(kernel=Linear()))
    assert standardizer.get_params()["kernel"] == Linear()
    standardizer.set_params(kernel=Gaussian(sigma=1.0), kernel__sigma=3.0, center=False)
    assert (standardizer.kernel, standardizer.center) == (Gaussian(sigma=3.0), False)
    with pytest.raises(ValueError, match="no parameter 'lam'"):
        standardizer.set_params(kernel__lam=1.0)


# Names and containers of the output ----------------------------------------------------------------------------------


def test_columns_are_named_after_the_training_samples(samples):
    """scikit-learn's transformers have ``get_feature_names_out`` and ``set_output``."""
    train, _ = samples
    names = [f"p{k}" for k in range(12)]
    K, numbered = train @ train.T, [f"kernelstandardizer{k}" for k in range(12)]
    assert list(KernelStandardizer().fit(ArrayGram(K, row_ids=names)).get_feature_names_out()) == names
    assert list(KernelStandardizer().fit(pd.DataFrame(K, columns=names)).get_feature_names_out()) == names
    assert list(KernelStandardizer().fit(K).get_feature_names_out()) == numbered
    assert list(KernelStandardizer(kernel=Linear()).fit(train).get_feature_names_out()) == numbered
    with pytest.raises(NotFittedError):
        KernelStandardizer().get_feature_names_out()


@pytest.mark.parametrize("given", ["array", "frame", "gram", "samples"])
def test_pandas_output_has_the_values_of_the_default_output(samples, given):
    train, new = samples
    K, cross, names = train @ train.T, rectangle(new, train), [f"p{k}" for k in range(12)]
    diagonal = (new**2).sum(axis=1)
    frame = pd.DataFrame(K, columns=names, index=names)
    fitted_on, transformed, options = {
        "array": (K, cross.values, {"diagonal": diagonal}),
        "frame": (frame, pd.DataFrame(cross.values, columns=names), {"diagonal": diagonal}),
        "gram": (ArrayGram(K, row_ids=names), cross, {}),
        "samples": (train, new, {"kernel": Linear()}),
    }[given]
    plain = KernelStandardizer(**options).fit(fitted_on)
    framed = KernelStandardizer(**options).set_output(transform="pandas")
    whole = framed.fit_transform(fitted_on)
    part = framed.transform(transformed)
    assert list(whole.columns) == list(part.columns) == list(plain.get_feature_names_out())
    np.testing.assert_allclose(whole, features(train, train) @ features(train, train).T, atol=1e-12)
    np.testing.assert_allclose(part, features(train, new) @ features(train, train).T, atol=1e-12)
    np.testing.assert_array_equal(part, np.asarray(plain.transform(transformed)))
