"""Views against explicit feature vectors: for a linear kernel, centring and scaling act on the vectors themselves."""

import pickle

import numpy as np
import pytest
from sklearn.preprocessing import KernelCenterer

from distkern import ArrayGram, InputError, MemoryLimitError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 5)) + 3
GRAM = ArrayGram(X @ X.T, row_ids=[f"s{i}" for i in range(12)])
TRAIN, TEST = np.arange(8), np.arange(8, 12)


def centred(vectors, on):
    return vectors - on.mean(axis=0)


def scaled(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_centring_subtracts_the_mean_of_the_feature_vectors():
    Z = centred(X, X)
    view = GRAM.centered()
    np.testing.assert_allclose(view.to_numpy(), Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(view.diag(), (Z * Z).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(view.to_numpy(), KernelCenterer().fit_transform(X @ X.T), atol=1e-12)


def test_centring_on_training_samples_and_unit_norm_apply_to_test_rows():
    Z = scaled(centred(X, X[TRAIN]))
    view = GRAM.centered(on=TRAIN).unit_norm()
    np.testing.assert_allclose(view.to_numpy(), Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(view[TEST][:, TRAIN].to_numpy(), Z[TEST] @ Z[TRAIN].T, atol=1e-12)
    np.testing.assert_array_equal(np.diag(view.to_numpy()), 1.0)


def test_centring_on_a_repeated_sample_counts_it_twice():
    on = [0, 0, 3]
    Z = centred(X, X[on])
    np.testing.assert_allclose(GRAM.centered(on=on).to_numpy(), Z @ Z.T, atol=1e-12)


def test_a_slice_keeps_the_diagonal_of_its_rows():
    part = GRAM[TEST][:, TRAIN]
    np.testing.assert_array_equal(part.row_diag(), np.diag(X @ X.T)[TEST])
    Z = scaled(X)
    np.testing.assert_allclose(part.unit_norm().to_numpy(), Z[TEST] @ Z[TRAIN].T, atol=1e-12)


@pytest.mark.parametrize(
    "view",
    [
        GRAM,
        GRAM[TRAIN],
        GRAM[[3, 3, 1]][:, [0, 0]],
        GRAM.centered(),
        GRAM.unit_norm(),
        GRAM.centered(on=TRAIN).unit_norm()[TEST][:, TRAIN],
    ],
    ids=["whole", "rows", "repeats", "centred", "unit", "test by train"],
)
def test_products_and_tiles_of_views_equal_those_of_the_array(view):
    dense = np.asarray(view)
    V = RNG.normal(size=(view.shape[1], 3))
    np.testing.assert_allclose(view.matmat(V), dense @ V, atol=1e-10)
    np.testing.assert_allclose(view.matmat(V[:, 0]), dense @ V[:, 0], atol=1e-10)
    total = np.zeros(view.shape)
    for rows, cols, values in view.tiles():
        total[np.ix_(rows, cols)] += values
    np.testing.assert_array_equal(total, dense)
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(view))), dense)
    if view.is_symmetric:
        np.testing.assert_array_equal(dense, dense.T)


def test_views_do_not_change_their_parent():
    before = X @ X.T
    GRAM.centered().unit_norm().to_numpy()
    np.testing.assert_array_equal(GRAM.to_numpy(), before)


def test_slices_select_sample_names():
    part = GRAM[[2, 0]][:, [1]]
    assert part.ids == part.row_ids == ("s2", "s0")
    assert part.col_ids == ("s1",)


def test_invalid_operations_name_their_reason():
    with pytest.raises(InputError, match="sample '1' has norm zero"):
        ArrayGram([[1.0, 0.0], [0.0, 0.0]]).unit_norm()
    with pytest.raises(InputError, match="'0' has norm zero"):
        ArrayGram(np.ones((3, 3))).centered().unit_norm()
    with pytest.raises(InputError, match="'0' has norm zero"):
        ArrayGram(np.full((7, 7), 0.1)).centered().unit_norm()  # what is left of the diagonal is rounding, not 0
    with pytest.raises(InputError, match="'2' has norm zero"):
        ArrayGram(np.outer([-1.0, 1.0, 0.0], [-1.0, 1.0, 0.0])).centered(on=[0, 1])[[2]].unit_norm()
    with pytest.raises(InputError, match="KernelStandardizer"):
        GRAM[TEST][:, TRAIN].centered()
    with pytest.raises(InputError, match="no sample to centre on"):
        GRAM.centered(on=[])
    with pytest.raises(InputError, match="row_diag"):
        ArrayGram(np.ones((2, 3))).unit_norm()
    with pytest.raises(InputError, match="not the same samples"):
        GRAM[:3].diag()
    with pytest.raises(InputError, match="12 columns"):
        GRAM.matmat(np.ones(5))
    with pytest.raises(InputError, match="not finite"):
        ArrayGram([[np.nan]])
    with pytest.raises(InputError, match=r"row_diag has shape \(1,\)"):
        ArrayGram(np.ones((2, 3)), row_diag=[1.0])
    with pytest.raises(MemoryLimitError, match="max_bytes"):
        GRAM.to_numpy(max_bytes=100)
    with pytest.raises(InputError, match="compute_gram"):
        GRAM.cross(X)
