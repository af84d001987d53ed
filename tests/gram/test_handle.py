"""Reading a stored matrix: lazy, exact, checked, and small to pickle."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import ArrayGram, Gaussian, InputError, Kendall, Linear, StoreError, compute_gram, open_gram

X = np.random.default_rng(1).normal(size=(30, 25))
K = Kendall()(X)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("gram") / "k.zarr"
    compute_gram(Kendall(), X, store=path, tile=7, executor="serial", ids=[f"s{i}" for i in range(30)])
    return path


@pytest.fixture
def gram(path):
    return open_gram(path)


positions = st.lists(st.integers(0, 29), max_size=40)


@given(rows=positions, cols=positions)
def test_any_block_equals_the_array(path, rows, cols):
    expected = K[np.ix_(np.array(rows, int), np.array(cols, int))]
    np.testing.assert_array_equal(open_gram(path).block(rows, cols), expected)


def test_nothing_is_read_before_it_is_asked_for(gram):
    view = gram[np.ix_(range(20), range(20))][5:][:, 3:].centered  # a method, not yet called
    assert callable(view)
    part = gram[:7][:, 7:14]
    assert gram.bytes_read() == 0
    part.to_numpy()
    assert gram.bytes_read() == 7 * 7 * 4 + 30 * 8  # the counts of one tile, and the untied pairs of all samples


def test_a_pass_reads_every_stored_byte_once(gram):
    V = np.random.default_rng(0).normal(size=(30, 4))
    np.testing.assert_allclose(gram.matmat(V), K @ V, rtol=1e-12, atol=1e-12)
    stored = sum(a * b for a, b in [(7, 7)] * 10 + [(7, 2)] * 4 + [(2, 2)])
    assert gram.bytes_read() == 4 * stored + 30 * 8
    assert np.array_equal(gram.matmat(V), open_gram(gram.path).matmat(V))


def test_the_whole_symmetric_matrix_is_read_from_the_upper_triangle_once(gram):
    np.testing.assert_array_equal(np.asarray(gram), K)
    assert gram.bytes_read() == 30 * 8 + 4 * sum(a * b for a, b in [(7, 7)] * 10 + [(7, 2)] * 4 + [(2, 2)])


def test_products_of_a_part(gram):
    V = np.random.default_rng(0).normal(size=(20, 2))
    for rows in (np.arange(30), np.array([1, 1, 5])):
        part = gram[rows][:, 5:25]
        np.testing.assert_allclose(part.matmat(V), K[np.ix_(rows, np.arange(5, 25))] @ V, rtol=1e-12, atol=1e-12)


def test_pickles_as_path_and_positions(gram):
    part = gram[5:][:, :10]
    pickled = pickle.dumps(part)
    assert len(pickled) < 1500
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickled)), K[5:, :10])


def test_diagonal_names_and_description(gram):
    np.testing.assert_array_equal(gram.diag(), np.diag(K))
    assert gram.ids[:2] == ("s0", "s1")
    assert gram[3:5].row_ids == ("s3", "s4")
    assert gram.kernel == Kendall()
    assert gram.is_complete
    assert "30 × 30 of Kendall(ties='zero')" in repr(gram)


def test_kernel_between_new_samples_and_the_stored_ones(gram, tmp_path):
    new = np.random.default_rng(5).normal(size=(4, 25))
    cross = gram.cross(new)
    np.testing.assert_array_equal(cross.to_numpy(), Kendall()(new, X))
    np.testing.assert_array_equal(cross.row_diag(), np.diag(Kendall()(new)))
    np.testing.assert_array_equal(gram[5:9][:, [2, 7]].cross(new).to_numpy(), Kendall()(new, X[[2, 7]]))
    assert cross.col_ids == gram.ids
    with pytest.raises(InputError, match="24 features, and the earlier samples have 25"):
        gram.cross(new[:, 1:])
    wide = compute_gram(Gaussian("median"), X, store=tmp_path / "g.zarr", tile=11)
    np.testing.assert_allclose(wide.cross(new).to_numpy(), wide.kernel(new, X), rtol=1e-13)


def test_a_linear_matrix_centred_on_some_samples_without_reading_it_whole(tmp_path):
    gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", tile=7)
    Z = X - X[:20].mean(axis=0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    view = gram.centered(on=slice(0, 20)).unit_norm()
    np.testing.assert_allclose(view[20:][:, :20].to_numpy(), Z[20:] @ Z[:20].T, atol=1e-12)
    in_memory = ArrayGram(X @ X.T).centered(on=slice(0, 20)).unit_norm()
    np.testing.assert_allclose(view.to_numpy(), in_memory.to_numpy(), atol=1e-12)


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no store at"):
        open_gram(tmp_path / "none.zarr")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="there is no store at"):
        open_gram(tmp_path / "folder")
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    for wrong in ("folder", "file"):
        with pytest.raises(StoreError, match="not a distkern store"):
            open_gram(tmp_path / wrong)
