"""Products with a stored matrix: the same bits whoever multiplies, every stored byte read once, only vectors moved."""

import os
import shutil
import time

import numpy as np
import pytest
from backwards import Backwards

from distkern import (
    CorruptTileError,
    InputError,
    Kendall,
    Linear,
    Mallows,
    MemoryLimitError,
    Threads,
    compute_gram,
    open_gram,
)
from distkern.gram import chunks as chunks_module
from distkern.gram import passes
from distkern.gram.chunks import chunks, task_bytes
from distkern.gram.panels import panels_of
from distkern.store.grid import Grid
from distkern.store.location import SCRATCH_SECONDS
from distkern.store.tiles import GramStore

rng = np.random.default_rng(3)
X = rng.normal(size=(90, 12)).round(1)
Y = rng.normal(size=(40, 12)).round(1)
V = rng.normal(size=(90, 3))
MANY = rng.normal(size=(90, 5 * passes.PANEL + 10))
MANY[:, passes.PANEL : 3 * passes.PANEL] *= rng.random((90, 2 * passes.PANEL)) < 0.1  # multiplied in another way
MANY[7:14, 3 * passes.PANEL : 4 * passes.PANEL] = 0  # in some chunks only


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch):
    monkeypatch.setattr(passes, "SMALL_BYTES", 0)


@pytest.fixture(scope="module")
def symmetric(tmp_path_factory):
    path = tmp_path_factory.mktemp("passes") / "k.zarr"
    compute_gram(Kendall(), X, store=path, tile=4, executor="serial")
    return path


@pytest.fixture(scope="module")
def floats(tmp_path_factory):
    path = tmp_path_factory.mktemp("passes") / "l.zarr"
    compute_gram(Linear(), X, store=path, tile=7, executor="serial", dtype="float32")
    return path


@pytest.fixture(scope="module")
def rectangular(tmp_path_factory):
    path = tmp_path_factory.mktemp("passes") / "r.zarr"
    compute_gram(Kendall(ties="b"), Y, X, store=path, tile=6, executor="serial")
    return path


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    path = tmp_path_factory.mktemp("passes") / "d.zarr"
    gram = compute_gram(Kendall(), X[rng.integers(0, 20, size=90)], store=path, tile=3, executor="serial")
    assert gram.info()["samples_computed"][0] <= 20
    return path


STORES = ("symmetric", "floats", "rectangular", "repeated")


def tile_bytes(gram):
    return gram._grid.entries * np.dtype(gram.info()["dtype"]).itemsize


def scratch(path):
    return [left for left in (path / "scratch").glob("*") if left.is_dir()]


@pytest.mark.parametrize("name", STORES)
def test_the_bits_are_the_same_whoever_multiplies_and_in_whatever_order(name, request, client):
    path = request.getfixturevalue(name)
    executors = ["serial", Threads(1), Threads(3), Backwards(), client]
    products = [open_gram(path, executor=executor).matmat(V) for executor in executors]
    for product in products[1:]:
        np.testing.assert_array_equal(product, products[0])
    K = open_gram(path).to_numpy()
    np.testing.assert_allclose(products[0], K @ V, rtol=0, atol=1e-12 * (abs(K) @ abs(V)).max())
    assert scratch(path) == []


def test_one_worker_gives_the_bits_of_two(symmetric, client):
    from distributed import Client, LocalCluster

    two = open_gram(symmetric, executor=client).matmat(V)
    alone = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**alone, silence_logs="ERROR") as cluster, Client(cluster) as one:
        np.testing.assert_array_equal(open_gram(symmetric, executor=one).matmat(V), two)


@pytest.mark.parametrize("name", STORES)
def test_a_pass_reads_each_stored_byte_once_also_on_workers(name, request, client):
    for executor in ("serial", 3, client):
        gram = open_gram(request.getfixturevalue(name), executor=executor)
        gram.matmat(V)
        summaries = 8 * sum(gram._store.samples(side).count for side in gram._store.sides) * bool(gram.kernel.summary)
        assert gram.bytes_read() == tile_bytes(gram) + summaries
        gram.matmat(V[:, 0])
        assert gram.bytes_read() == 2 * tile_bytes(gram) + summaries


def test_each_tile_file_is_opened_once(symmetric, monkeypatch):
    read, seen = GramStore.stored_tile, []
    monkeypatch.setattr(GramStore, "stored_tile", lambda self, i, j: seen.append((i, j)) or read(self, i, j))
    gram = open_gram(symmetric, executor=3)
    gram.matmat(V)
    assert sorted(seen) == sorted(gram._grid.tiles())


def test_one_column_is_a_vector_and_no_column_is_none(symmetric):
    gram = open_gram(symmetric, executor="serial")
    np.testing.assert_array_equal(gram.matmat(V[:, 1]), gram.matmat(V[:, 1:2])[:, 0])
    np.testing.assert_allclose(gram.matmat(V[:, 1]), gram.matmat(V)[:, 1], rtol=1e-12, atol=1e-12)
    assert gram.matmat(V[:, :0]).shape == (90, 0)
    with pytest.raises(InputError, match="90 columns"):
        gram.matmat(V[1:])


def test_another_kernel_of_the_same_numbers_multiplies_its_own_values(symmetric, client):
    kernel = Mallows(lam=0.05)
    views = [open_gram(symmetric, executor=executor).with_kernel(kernel) for executor in ("serial", client)]
    here, there = (view.matmat(V) for view in views)
    np.testing.assert_array_equal(here, there)
    np.testing.assert_allclose(here, kernel(X) @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", STORES)
def test_parts_and_views_go_through_the_same_pass(name, request, client):
    path = request.getfixturevalue(name)
    K = open_gram(path).to_numpy()
    for executor in ("serial", client):
        gram = open_gram(path, executor=executor)
        rows, cols = np.array([3, 17, 3, 30]), np.array([80, 2, 2, 41, 5])
        np.testing.assert_allclose(gram[rows][:, cols].matmat(V[:5]), K[np.ix_(rows, cols)] @ V[:5], atol=1e-12)
        np.testing.assert_array_equal(gram[rows].matmat(V), gram.matmat(V)[rows])
        if gram.is_symmetric:
            view = gram.centered(on=slice(0, 50)).unit_norm()
            dense = view.to_numpy()
            np.testing.assert_allclose(view.matmat(V), dense @ V, rtol=1e-9, atol=1e-9)
            part = view[10:20][:, cols]
            np.testing.assert_allclose(part.matmat(V[:5]), dense[10:20][:, cols] @ V[:5], rtol=1e-9, atol=1e-9)


def test_a_part_reads_only_the_tiles_that_it_touches_and_each_once(symmetric):
    gram = open_gram(symmetric, executor=2)
    gram.row_diag()  # the untied pairs, once
    before = gram.bytes_read()
    gram[np.array([5, 50])][:, np.array([6, 51])].matmat(V[:2])
    assert gram.bytes_read() - before == 4 * 3 * 16  # tiles (1, 1), (1, 12), (12, 12)


def test_the_order_of_the_chunks_follows_from_the_grid_and_holds_each_tile_once():
    for grid in (Grid(97, 97, 3, True), Grid(97, 40, 3, False), Grid(10, 10, 20, True), Grid(9000, 9000, 500, True)):
        cut = chunks(grid)
        tiles = [tile for chunk in cut for tile in chunk.tiles]
        assert sorted(tiles) == list(grid.tiles())
        for chunk in cut:
            for i, j in chunk.tiles:
                assert chunk.top <= grid.row_range(i)[0] < grid.row_range(i)[1] <= chunk.bottom
                assert chunk.left <= grid.col_range(j)[0] < grid.col_range(j)[1] <= chunk.right
            assert max(chunk.bottom - chunk.top, chunk.right - chunk.left) <= max(chunks_module.CHUNK_SIDE, grid.side)


def test_the_sums_in_the_client_take_no_more_bytes_than_it_may_hold(floats, monkeypatch):
    expected = open_gram(floats, executor="serial").matmat(V)
    cut = chunks(Grid(90, 90, 7, True))
    one = max(8 * 3 * (chunk.bottom - chunk.top + chunk.right - chunk.left) for chunk in cut)
    held, waiting = [], []
    add, run = passes._Sum.add, passes.run

    def in_a_round(pool, fn, tasks, on_receipt, **options):
        arrived = []

        def on_its_way(partial):
            arrived.append(partial)
            on_receipt(partial)

        run(pool, fn, tasks, on_its_way, **options)
        sums = [sums for partial in arrived for sums in (partial.rows, partial.cols) if sums is not None]
        held.append(sum(array.nbytes for array in sums))

    def watched(self, partial):
        add(self, partial)
        waiting.append(len(self._early))

    monkeypatch.setattr(passes, "run", in_a_round)
    monkeypatch.setattr(passes._Sum, "add", watched)
    for bound, most in ((3 * one, 3), (3 * one - 1, 2), (1, 1)):
        held.clear(), waiting.clear()
        monkeypatch.setattr(passes, "HELD_BYTES", bound)
        for workers in (1, 1000):
            backwards = Backwards(workers=workers)
            np.testing.assert_array_equal(open_gram(floats, executor=backwards).matmat(V), expected)
            assert backwards.tasks == len(cut) > 20
        assert max(held) <= max(bound, one)
        assert max(waiting) == most - 1  # the first of a round comes last


@pytest.mark.parametrize("name", STORES[1:])
def test_many_vectors_take_more_passes_where_memory_is_short_and_the_same_bits(name, request, client, monkeypatch):
    path = request.getfixturevalue(name)
    gram = open_gram(path, executor=Threads(2))
    expected, item = gram.matmat(MANY), np.dtype(gram.info()["dtype"]).itemsize
    K = gram.to_numpy()
    np.testing.assert_allclose(expected, K @ MANY, rtol=0, atol=1e-12 * (abs(K) @ abs(MANY)).max())
    for vectors, passes_made in ((MANY.shape[1], 1), (MANY.shape[1] - 1, 2), (3 * passes.PANEL, 2), (63, 6)):
        memory = task_bytes(gram._grid, item, vectors)
        backwards = Backwards(memory)
        np.testing.assert_array_equal(open_gram(path, executor=backwards).matmat(MANY), expected)
        assert backwards.tasks == passes_made * len(chunks(gram._grid))
    part = open_gram(path, executor=client)
    monkeypatch.setattr(type(part._executor), "memory_per_task", lambda *_: task_bytes(gram._grid, item, 100))
    part._summary("rows"), part._summary("cols")
    before = part.bytes_read()
    np.testing.assert_array_equal(part.matmat(MANY), expected)
    assert part.bytes_read() - before == 2 * tile_bytes(part)
    assert scratch(path) == []


def test_what_no_task_may_take_is_refused_before_anything_is_read(symmetric):
    gram = open_gram(symmetric, executor="serial")
    item = np.dtype(gram.info()["dtype"]).itemsize
    short = open_gram(symmetric, executor=Backwards(task_bytes(gram._grid, item, 20)))
    short.row_diag()
    before = short.bytes_read()
    with pytest.raises(MemoryLimitError, match=r"by 32 vectors takes .* and may take .*: multiply by 20 at a time"):
        short.matmat(MANY)
    with pytest.raises(MemoryLimitError, match=r"by 21 vectors takes .*: multiply by 20 at a time"):
        short.matmat(MANY[:, :21])
    assert short.bytes_read() == before
    np.testing.assert_array_equal(short.matmat(MANY[:, :20]), gram.matmat(MANY[:, :20]))
    none = open_gram(symmetric, executor=Backwards(task_bytes(gram._grid, item, 1) - 1))
    with pytest.raises(MemoryLimitError, match=r"by 1 vector takes .*: give the workers more memory"):
        none.matmat(V[:, 0])


def test_vectors_are_multiplied_in_groups_where_else_most_workers_would_wait(floats, monkeypatch):
    expected = open_gram(floats, executor="serial").matmat(MANY)
    cut = chunks(Grid(90, 90, 7, True))
    monkeypatch.setattr(passes, "HELD_BYTES", 8 * 2 * passes.PANEL * passes._sum_bytes(cut))
    for workers, passes_made in ((1, 2), (2, 3), (1000, 6)):  # room for four tasks of each: 4 panels, 2, 1 at least
        backwards = Backwards(workers=workers)
        np.testing.assert_array_equal(open_gram(floats, executor=backwards).matmat(MANY), expected)
        assert backwards.tasks == passes_made * len(cut)


def test_vectors_that_are_mostly_zero_are_told_from_others_by_panel():
    halves = np.concatenate([MANY[:, :1] * np.eye(90)[:, : passes.PANEL], MANY[:, : passes.PANEL]], axis=1)
    assert [panel.sparse for panel in panels_of(halves)] == [True, False]
    assert [panel.sparse for panel in panels_of(MANY)] == [False, True, True, False, False, False]
    assert panels_of(np.zeros((5, 0))) == []


@pytest.mark.parametrize("name", STORES)
def test_the_transpose_multiplies_in_the_same_way(name, request, client):
    path = request.getfixturevalue(name)
    K = open_gram(path).to_numpy()
    W, rows, cols = MANY[: len(K), :70], np.array([3, 17, 3, 30]), np.array([80, 2, 2, 41, 5])
    grams = [open_gram(path, executor=executor) for executor in ("serial", Threads(3), Backwards(), client)]
    products = [gram._product(W, transposed=True) for gram in grams]
    for product in products[1:]:
        np.testing.assert_array_equal(product, products[0])
    np.testing.assert_allclose(products[0], K.T @ W, rtol=0, atol=1e-12 * (abs(K).T @ abs(W)).max())
    for gram in grams:
        np.testing.assert_allclose(gram._product(W[:4], rows, cols, transposed=True), K[np.ix_(rows, cols)].T @ W[:4])
        before = gram.bytes_read()
        gram._product(W[:, 0], transposed=True)
        assert gram.bytes_read() - before == tile_bytes(gram)


def test_a_small_matrix_is_multiplied_here_without_asking_anyone(symmetric, monkeypatch):
    expected = open_gram(symmetric, executor="serial").matmat(V)
    monkeypatch.undo()
    backwards = Backwards()
    np.testing.assert_array_equal(open_gram(symmetric, executor=backwards).matmat(V), expected)
    assert backwards.tasks == 0


def test_a_store_that_cannot_be_written_gives_the_same_bits(symmetric, client):
    expected = open_gram(symmetric, executor=client).matmat(V)
    shutil.rmtree(symmetric / "scratch")
    (symmetric / "scratch").write_text("in the way")
    try:
        np.testing.assert_array_equal(open_gram(symmetric, executor=client).matmat(V), expected)
    finally:
        (symmetric / "scratch").unlink()


def test_vectors_are_not_sent_with_every_task(symmetric, client):
    from distributed.protocol.pickle import dumps

    sizes = []

    class Watched(type(open_gram(symmetric, executor=client)._executor)):
        def map(self, fn, tasks):
            tasks = list(tasks)
            sizes.extend(len(dumps(task)) for task in tasks)
            yield from super().map(fn, tasks)

    wide = np.ones((90, 200))
    open_gram(symmetric, executor=Watched(client)).matmat(wide)
    assert sizes
    assert max(sizes) < 2_000 < wide[:12].nbytes


def test_a_damaged_tile_is_named_whoever_reads_it(tmp_path, client):
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=8, executor="serial")
    file = tmp_path / "k.zarr" / "gram" / "c" / "2" / "5"
    damaged = bytearray(file.read_bytes())
    damaged[11] ^= 1
    file.write_bytes(damaged)
    for executor in ("serial", 2, client):
        with pytest.raises(CorruptTileError, match=r"tile \(2, 5\)"):
            open_gram(gram.path, executor=executor).matmat(V)
    assert scratch(tmp_path / "k.zarr") == []
    np.testing.assert_allclose(gram[:16].matmat(V), Kendall()(X)[:16] @ V, atol=1e-12)  # does not need that tile


def test_a_vector_that_is_damaged_on_its_way_is_noticed(symmetric, client, monkeypatch):
    spool = GramStore.spool
    monkeypatch.setattr(GramStore, "spool", lambda self, array: spool(self, array + (array.ndim > 1)))
    with pytest.raises(CorruptTileError, match="multiply again"):
        open_gram(symmetric, executor=client).matmat(V)


def test_an_interrupted_pass_leaves_nothing_behind_and_the_next_one_is_right(symmetric, client):
    def interrupt(event):
        if event.done == 3:
            raise KeyboardInterrupt

    gram = open_gram(symmetric, executor=client)
    with pytest.raises(KeyboardInterrupt):
        gram.matmat(V, progress=interrupt)
    assert scratch(symmetric) == []
    np.testing.assert_array_equal(gram.matmat(V), open_gram(symmetric, executor="serial").matmat(V))


def test_progress_counts_the_chunks_through_all_rounds(symmetric, monkeypatch):
    monkeypatch.setattr(passes, "HELD_BYTES", 1)
    events = []
    open_gram(symmetric, executor="serial").matmat(V, progress=events.append)
    total = len(chunks(Grid(90, 90, 4, True)))
    assert {event.total for event in events} == {total}
    assert [event.done for event in events if event.done][-1] == total
    assert sorted({event.done for event in events}) == list(range(total + 1))


def test_what_a_killed_client_spooled_is_swept_and_what_a_live_one_did_is_left(tmp_path):
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=40, executor="serial")
    old, fresh = gram._store.spool(V), gram._store.spool(V)
    os.utime(tmp_path / "k.zarr" / old, (time.time() - SCRATCH_SECONDS - 60,) * 2)
    compute_gram(Kendall(), X, store=gram.path, executor="serial")
    assert [path.name for path in scratch(tmp_path / "k.zarr")] == [fresh.split("/")[1]]


def test_a_client_that_was_closed_is_not_asked_again(symmetric, cluster_address):
    from distributed import Client

    with Client(cluster_address) as passing:
        gram = open_gram(symmetric, executor=passing)
        expected = gram.matmat(V)
    np.testing.assert_array_equal(gram.matmat(V), expected)
