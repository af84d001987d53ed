"""The handle of a stored matrix: lazy, exact, checked, small to pickle, and readable as a dask array."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import (
    ArrayGram,
    CorruptTileError,
    Gaussian,
    IncompleteGramError,
    InputError,
    Kendall,
    Linear,
    Mallows,
    StoreError,
    compute_gram,
    open_gram,
)
from distkern.gram.base import StoredGram
from distkern.store.tiles import GramStore

X = np.random.default_rng(1).normal(size=(30, 25))
K = Kendall()(X)
HERE = {"scheduler": "synchronous"}


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


def test_slices_read_nothing_before_their_values_are_used(gram):
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


def test_both_handles_reopen_by_path_and_share_their_base(tmp_path):
    for landmarks in (None, 4):
        gram = compute_gram(
            Linear(), X, store=tmp_path / f"{landmarks}.zarr", tile=10, landmarks=landmarks, executor="serial"
        )
        again = pickle.loads(pickle.dumps(gram))
        assert isinstance(gram, StoredGram)
        assert type(again) is type(open_gram(gram.path)) is type(gram)
        assert (again.path, again.kernel, again.n_features, again.dropped) == (gram.path, Linear(), 25, ())
        assert again.is_complete
        assert again.verify(progress=False) == []
        np.testing.assert_array_equal(again.to_numpy(), gram.to_numpy())


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


def test_a_path_without_a_store_is_refused(tmp_path):
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


# As a dask array ----------------------------------------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch):
    """Tiles read in this process."""
    tiles, stored_tile = [], GramStore.stored_tile
    monkeypatch.setattr(GramStore, "stored_tile", lambda self, i, j: tiles.append((i, j)) or stored_tile(self, i, j))
    return tiles


def test_the_dask_array_equals_the_matrix(gram):
    array = gram.to_dask()
    assert array.chunks == ((7,) * 4 + (2,),) * 2
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array.compute(**HERE), gram.to_numpy())
    np.testing.assert_array_equal(array.T.compute(**HERE), gram.to_numpy())


def test_the_dask_array_reads_each_tile_once_when_it_is_computed(gram, read):
    array = gram.to_dask()
    assert read == []
    np.testing.assert_allclose(array.sum().compute(**HERE), gram.to_numpy().sum())
    assert sorted(read[: gram._grid.count]) == list(gram._grid.tiles())


def test_a_slice_of_the_dask_array_reads_only_the_tiles_that_it_touches(gram, read):
    part = gram.to_dask()[16:18, 3:12].compute(**HERE)
    assert sorted(read) == [(0, 2), (1, 2)]  # stored above the diagonal
    np.testing.assert_array_equal(part, gram.to_numpy()[16:18, 3:12])


@pytest.mark.slow
def test_workers_read_the_dask_array_by_path(gram, client):
    array = gram.to_dask()
    V = np.random.default_rng(0).normal(size=(30, 2))
    np.testing.assert_array_equal(client.compute(array).result(), gram.to_numpy())
    np.testing.assert_allclose(array.dot(V).compute(), gram.to_numpy() @ V, atol=1e-12)


def test_another_kernel_of_the_stored_values_is_another_dask_array(gram):
    view = gram.with_kernel(Mallows(0.3))
    np.testing.assert_array_equal(view.to_dask().compute(**HERE), view.to_numpy())
    assert view.to_dask().name != gram.to_dask().name == open_gram(gram.path).to_dask().name


def test_dask_arrays_of_rectangular_matrices_and_repeated_samples(tmp_path):
    Y = X[:13].round(1)
    rectangle = compute_gram(Linear(), Y, X, store=tmp_path / "r.zarr", tile=6, executor="serial", dtype="float32")
    np.testing.assert_array_equal(rectangle.to_dask().compute(**HERE), rectangle.to_numpy())
    repeated = compute_gram(Kendall(), Y[np.arange(60) % 13], store=tmp_path / "d.zarr", tile=5, executor="serial")
    assert repeated.info()["samples_computed"][0] <= 13
    np.testing.assert_array_equal(repeated.to_dask().compute(**HERE), repeated.to_numpy())


def test_a_damaged_or_missing_tile_is_named_by_the_dask_array(tmp_path):
    gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", tile=10, executor="serial")
    file = tmp_path / "l.zarr" / "gram" / "c" / "0" / "2"
    file.write_bytes(file.read_bytes()[::-1])
    with pytest.raises(CorruptTileError, match=r"tile \(0, 2\)"):
        gram.to_dask().compute(**HERE)
    half = compute_gram(Linear(), X, store=tmp_path / "h.zarr", tile=10, executor="serial")
    half._store.clear_checksums([(1, 2)])
    with pytest.raises(IncompleteGramError, match=r"tile \(1, 2\)"):
        open_gram(tmp_path / "h.zarr").to_dask()[25, 12].compute(**HERE)


def test_a_single_precision_store_has_the_diagonal_that_its_tiles_hold(tmp_path):
    gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", dtype="float32", tile=7)
    np.testing.assert_array_equal(gram.diag(), np.diag(gram.to_numpy()))
    assert gram.to_numpy() == pytest.approx(Linear()(X), rel=1e-6)
