"""Products with a stored matrix: equal to those of the array, with equal bits however they are computed."""

import numpy as np
import pytest
from backwards import Backwards
from marks import with_slow

from distkern import InputError, Mallows, MemoryLimitError, Threads, open_gram
from distkern.gram import map_reduce
from distkern.gram.batches import BATCH
from distkern.gram.tile_groups import task_bytes, tile_groups

pytestmark = pytest.mark.usefixtures("on_executor")

rng = np.random.default_rng(4)
V = rng.normal(size=(90, 3))
MANY = rng.normal(size=(90, 5 * BATCH + 10))
MANY[:, BATCH : 3 * BATCH] *= rng.random((90, 2 * BATCH)) < 0.1  # sparse batches
MANY[5:15, 3 * BATCH : 4 * BATCH] = 0  # sparse in some tile groups only
STORES = ("symmetric", "floats", "rectangular", "repeated")


def item_bytes(gram):
    return np.dtype(gram.info()["dtype"]).itemsize


def assert_product(product, K, vectors):
    np.testing.assert_allclose(product, K @ vectors, rtol=0, atol=1e-12 * (abs(K) @ abs(vectors)).max())


@pytest.mark.parametrize("name", with_slow(["symmetric", "repeated"], ["floats", "rectangular"]))
def test_bits_do_not_depend_on_the_executor_and_each_tile_is_read_once(name, stores, client):
    path = stores[name]
    K = open_gram(path).to_numpy()
    W, products, transposed = rng.normal(size=(len(K), 40)), [], []
    for executor in ("serial", Threads(3), Backwards(), client):
        gram = open_gram(path, executor=executor)
        gram._summary("rows"), gram._summary("cols")
        before = gram.bytes_read()
        products.append(gram.matmat(V))
        transposed.append(gram._product(W, transposed=True))
        assert gram.bytes_read() - before == 2 * gram._grid.entries * item_bytes(gram)
        np.testing.assert_array_equal(products[-1], products[0])
        np.testing.assert_array_equal(transposed[-1], transposed[0])
    assert_product(products[0], K, V)
    assert_product(transposed[0], K.T, W)


@pytest.mark.parametrize("name", STORES)
def test_slices_and_views_multiply_in_the_same_way(name, stores):
    gram, K = open_gram(stores[name], executor=2), open_gram(stores[name]).to_numpy()
    rows, cols = np.array([3, 17, 3, 30]), np.array([80, 2, 2, 41, 5])
    np.testing.assert_allclose(gram[rows][:, cols].matmat(V[:5]), K[np.ix_(rows, cols)] @ V[:5], atol=1e-12)
    np.testing.assert_allclose(
        gram._product(MANY[:4, :4], rows, cols, transposed=True), K[np.ix_(rows, cols)].T @ MANY[:4, :4], atol=1e-12
    )
    np.testing.assert_array_equal(gram[rows].matmat(V), gram.matmat(V)[rows])
    if gram.is_symmetric:
        view = gram.centered(on=slice(0, 50)).unit_norm()
        dense = view.to_numpy()
        np.testing.assert_allclose(view.matmat(V), dense @ V, rtol=1e-9, atol=1e-9)
        part = view[10:20][:, cols]
        np.testing.assert_allclose(part.matmat(V[:5]), dense[10:20][:, cols] @ V[:5], rtol=1e-9, atol=1e-9)


def test_one_column_is_a_vector_and_no_column_gives_no_column(symmetric):
    gram = open_gram(symmetric, executor="serial")
    np.testing.assert_array_equal(gram.matmat(V[:, 1]), gram.matmat(V[:, 1:2])[:, 0])
    np.testing.assert_allclose(gram.matmat(V[:, 1]), gram.matmat(V)[:, 1], rtol=1e-12, atol=1e-12)
    assert gram.matmat(V[:, :0]).shape == (90, 0)
    with pytest.raises(InputError, match="90 columns"):
        gram.matmat(V[1:])


def test_another_kernel_of_the_stored_values_multiplies_its_own_values(symmetric, client):
    views = [open_gram(symmetric, executor=executor).with_kernel(Mallows(0.05)) for executor in ("serial", client)]
    here, there = (view.matmat(V) for view in views)
    np.testing.assert_array_equal(here, there)
    np.testing.assert_allclose(here, views[0].to_numpy() @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", with_slow(["floats"], ["rectangular"]))
def test_little_memory_means_more_passes_and_the_same_bits(name, stores, client, monkeypatch):
    path = stores[name]
    gram = open_gram(path, executor=Threads(2))
    expected, item = gram.matmat(MANY), item_bytes(gram)
    assert_product(expected, gram.to_numpy(), MANY)
    for vectors, passes in ((MANY.shape[1], 1), (MANY.shape[1] - 1, 2), (3 * BATCH, 2), (63, 6)):
        backwards = Backwards(task_bytes(gram._grid, item, vectors), workers=2)
        np.testing.assert_array_equal(open_gram(path, executor=backwards).matmat(MANY), expected)
        assert backwards.tasks == passes * len(tile_groups(gram._grid))
    on_cluster = open_gram(path, executor=client)
    memory = task_bytes(gram._grid, item, 100)
    monkeypatch.setattr(type(on_cluster._executor), "memory_per_task", lambda *_: memory)
    on_cluster._summary("rows"), on_cluster._summary("cols")
    before = on_cluster.bytes_read()
    np.testing.assert_array_equal(on_cluster.matmat(MANY), expected)
    assert on_cluster.bytes_read() - before == 2 * gram._grid.entries * item


def test_a_product_beyond_the_memory_of_a_task_is_refused_before_reading(symmetric):
    gram = open_gram(symmetric, executor="serial")
    item = item_bytes(gram)
    short = open_gram(symmetric, executor=Backwards(task_bytes(gram._grid, item, 20), workers=2))
    short.row_diag()
    before = short.bytes_read()
    with pytest.raises(MemoryLimitError, match=r"by 32 vectors takes .* and may take .*: multiply by 20 at a time"):
        short.matmat(MANY)
    with pytest.raises(MemoryLimitError, match=r"by 21 vectors takes .*: multiply by 20 at a time"):
        short.matmat(MANY[:, :21])
    assert short.bytes_read() == before
    np.testing.assert_array_equal(short.matmat(MANY[:, :20]), gram.matmat(MANY[:, :20]))
    none = open_gram(symmetric, executor=Backwards(task_bytes(gram._grid, item, 1) - 1, workers=2))
    with pytest.raises(MemoryLimitError, match=r"by 1 vector takes .*: give the workers more memory"):
        none.matmat(V[:, 0])


@pytest.mark.slow
def test_fewer_vectors_share_a_pass_where_many_workers_would_fill_the_client(floats, monkeypatch):
    expected = open_gram(floats, executor="serial").matmat(MANY)
    groups = tile_groups(open_gram(floats)._grid)
    monkeypatch.setattr(map_reduce, "HELD_BYTES", 8 * 2 * BATCH * 8 * max(group.length for group in groups))
    for workers, passes in ((1, 2), (2, 3), (1000, 6)):  # room for four tasks of each: 4 batches, 2, at least 1
        backwards = Backwards(workers=workers)
        np.testing.assert_array_equal(open_gram(floats, executor=backwards).matmat(MANY), expected)
        assert backwards.tasks == passes * len(groups)
