"""A stored matrix as a lazy dask array: equal to the matrix, and reading no more than is needed."""

import numpy as np
import pytest

from distkern import CorruptTileError, IncompleteGramError, Kendall, Linear, Mallows, compute_gram, open_gram
from distkern.store.tiles import GramStore

rng = np.random.default_rng(5)
X = rng.normal(size=(50, 9)).round(1)
Y = rng.normal(size=(13, 9)).round(1)
HERE = {"scheduler": "synchronous"}


@pytest.fixture(scope="module")
def gram(tmp_path_factory):
    path = tmp_path_factory.mktemp("dask") / "k.zarr"
    return compute_gram(Kendall(ties="b"), X, store=path, tile=8, executor="serial")


@pytest.fixture
def read(monkeypatch):
    """The tiles that are read in this process."""
    tiles, stored_tile = [], GramStore.stored_tile
    monkeypatch.setattr(GramStore, "stored_tile", lambda self, i, j: tiles.append((i, j)) or stored_tile(self, i, j))
    return tiles


def test_the_array_equals_the_matrix(gram):
    array = gram.to_dask()
    assert array.chunks == ((8,) * 6 + (2,),) * 2
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array.compute(**HERE), gram.to_numpy())
    np.testing.assert_array_equal(array.T.compute(**HERE), gram.to_numpy())


def test_nothing_is_read_before_it_is_computed_and_then_each_tile_once(gram, read):
    array = gram.to_dask()
    assert read == []
    np.testing.assert_allclose(array.sum().compute(**HERE), gram.to_numpy().sum())
    assert sorted(read[: gram._grid.count]) == list(gram._grid.tiles())


def test_a_slice_reads_only_the_tiles_that_it_touches(gram, read):
    part = gram.to_dask()[20:22, 3:12].compute(**HERE)
    assert sorted(read) == [(0, 2), (1, 2)]  # stored above the diagonal
    np.testing.assert_array_equal(part, gram.to_numpy()[20:22, 3:12])


def test_workers_read_by_path(gram, client):
    array = gram.to_dask()
    V = rng.normal(size=(50, 2))
    np.testing.assert_array_equal(client.compute(array).result(), gram.to_numpy())
    np.testing.assert_allclose(array.dot(V).compute(), gram.to_numpy() @ V, atol=1e-12)


def test_another_kernel_of_the_same_numbers_is_another_array(gram):
    view = gram.with_kernel(Mallows(0.3))
    np.testing.assert_array_equal(view.to_dask().compute(**HERE), view.to_numpy())
    assert view.to_dask().name != gram.to_dask().name == open_gram(gram.path).to_dask().name


def test_rectangular_matrices_and_repeated_samples(tmp_path):
    rectangle = compute_gram(Linear(), Y, X, store=tmp_path / "r.zarr", tile=6, executor="serial", dtype="float32")
    np.testing.assert_array_equal(rectangle.to_dask().compute(**HERE), rectangle.to_numpy())
    repeated = compute_gram(Kendall(), Y[rng.integers(0, 13, 60)], store=tmp_path / "d.zarr", tile=5, executor="serial")
    assert repeated.info()["samples_computed"][0] <= 13
    np.testing.assert_array_equal(repeated.to_dask().compute(**HERE), repeated.to_numpy())


def test_a_tile_that_is_damaged_or_missing_is_named(tmp_path):
    gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", tile=10, executor="serial")
    file = tmp_path / "l.zarr" / "gram" / "c" / "0" / "3"
    file.write_bytes(file.read_bytes()[::-1])
    with pytest.raises(CorruptTileError, match=r"tile \(0, 3\)"):
        gram.to_dask().compute(**HERE)
    half = compute_gram(Linear(), X[:30], store=tmp_path / "h.zarr", tile=10, executor="serial")
    half._store.unmark([(1, 2)])
    with pytest.raises(IncompleteGramError, match=r"tile \(1, 2\)"):
        open_gram(tmp_path / "h.zarr").to_dask()[25, 12].compute(**HERE)
