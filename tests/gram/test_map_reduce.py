"""Passes over a stored matrix: what is read, what is sent, what the client holds, and what happens when they fail."""

import os
import shutil
import time

import numpy as np
import pytest
from backwards import Backwards

from distkern import CorruptTileError, Kendall, compute_gram, open_gram
from distkern.gram import map_reduce
from distkern.gram.tile_groups import tile_groups
from distkern.store.location import SCRATCH_SECONDS
from distkern.store.tiles import GramStore

pytestmark = pytest.mark.usefixtures("on_executor")

rng = np.random.default_rng(3)
X = rng.normal(size=(90, 12)).round(1)
V = rng.normal(size=(90, 3))


def scratch(path):
    return [left for left in (path / "scratch").glob("*") if left.is_dir()]


def test_each_tile_file_is_opened_once(symmetric, monkeypatch):
    read, seen = GramStore.stored_tile, []
    monkeypatch.setattr(GramStore, "stored_tile", lambda self, i, j: seen.append((i, j)) or read(self, i, j))
    gram = open_gram(symmetric, executor=3)
    gram.matmat(V)
    assert sorted(seen) == sorted(gram._grid.tiles())


def test_a_part_reads_only_the_tiles_that_it_touches(symmetric):
    gram = open_gram(symmetric, executor=2)
    gram.row_diag()  # reads the summary
    before = gram.bytes_read()
    gram[np.array([5, 50])][:, np.array([6, 51])].matmat(V[:2])
    assert gram.bytes_read() - before == 4 * 3 * 25  # tiles (1, 1), (1, 10), (10, 10)


def test_partial_results_in_the_client_stay_within_its_bytes(floats, monkeypatch):
    expected = open_gram(floats, executor="serial").matmat(V)
    groups = tile_groups(open_gram(floats)._grid)
    one = 8 * 3 * max(group.length for group in groups)
    held, waiting = [], []
    add, run = map_reduce._Reduction.add, map_reduce.run

    def in_a_round(pool, fn, tasks, on_receipt, **options):
        arrived = []

        def on_its_way(mapped):
            arrived.append(mapped)
            on_receipt(mapped)

        run(pool, fn, tasks, on_its_way, **options)
        states = [state for mapped in arrived for state in (mapped.rows, mapped.cols) if state is not None]
        held.append(sum(array.nbytes for state in states for array in state))

    def watched(self, mapped):
        add(self, mapped)
        waiting.append(len(self._early))

    monkeypatch.setattr(map_reduce, "run", in_a_round)
    monkeypatch.setattr(map_reduce._Reduction, "add", watched)
    for bound, most in ((3 * one, 3), (3 * one - 1, 2), (1, 1)):
        monkeypatch.setattr(map_reduce, "HELD_BYTES", bound)
        for workers in (1, 1000):
            held.clear(), waiting.clear()
            backwards = Backwards(workers=workers)
            np.testing.assert_array_equal(open_gram(floats, executor=backwards).matmat(V), expected)
            assert backwards.tasks == len(groups) > 20
            assert max(held) <= max(bound, one)
            assert max(waiting) == most - 1  # the first of a round comes last


def test_a_small_matrix_is_multiplied_in_this_process(symmetric, monkeypatch):
    expected = open_gram(symmetric, executor="serial").matmat(V)
    monkeypatch.undo()
    backwards = Backwards()
    np.testing.assert_array_equal(open_gram(symmetric, executor=backwards).matmat(V), expected)
    assert backwards.tasks == 0


@pytest.mark.slow
def test_tasks_carry_vectors_if_the_store_cannot_be_written(symmetric, client):
    expected = open_gram(symmetric, executor=client).matmat(V)
    shutil.rmtree(symmetric / "scratch")
    (symmetric / "scratch").write_text("in the way")
    try:
        np.testing.assert_array_equal(open_gram(symmetric, executor=client).matmat(V), expected)
    finally:
        (symmetric / "scratch").unlink()


def test_tasks_carry_no_vectors_else(symmetric, client):
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
    assert scratch(symmetric) == []


def test_a_damaged_tile_is_named_by_every_executor(tmp_path, client):
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=15, executor="serial")
    file = tmp_path / "k.zarr" / "gram" / "c" / "2" / "5"
    damaged = bytearray(file.read_bytes())
    damaged[11] ^= 1
    file.write_bytes(damaged)
    for executor in ("serial", 2, client):
        with pytest.raises(CorruptTileError, match=r"tile \(2, 5\)"):
            open_gram(gram.path, executor=executor).matmat(V)
    assert scratch(tmp_path / "k.zarr") == []
    np.testing.assert_allclose(gram[:16].matmat(V), Kendall()(X)[:16] @ V, atol=1e-12)  # does not need that tile


def test_a_vector_that_is_damaged_in_the_store_is_refused(symmetric, client, monkeypatch):
    scatter = GramStore.scatter
    monkeypatch.setattr(GramStore, "scatter", lambda self, array: scatter(self, array + (array.ndim > 1)))
    with pytest.raises(CorruptTileError, match="does not match its checksum: run the same call again"):
        open_gram(symmetric, executor=client).matmat(V)


def test_an_interrupted_pass_leaves_nothing_behind_and_can_be_repeated(symmetric, client):
    def interrupt(event):
        if event.done == 3:
            raise KeyboardInterrupt

    gram = open_gram(symmetric, executor=client)
    with pytest.raises(KeyboardInterrupt):
        gram.matmat(V, progress=interrupt)
    assert scratch(symmetric) == []
    np.testing.assert_array_equal(gram.matmat(V), open_gram(symmetric, executor="serial").matmat(V))


def test_progress_counts_tile_groups_through_all_rounds(symmetric, monkeypatch):
    monkeypatch.setattr(map_reduce, "HELD_BYTES", 1)
    events, gram = [], open_gram(symmetric, executor="serial")
    gram.matmat(V, progress=events.append)
    total = len(tile_groups(gram._grid))
    assert {event.total for event in events} == {total}
    assert [event.done for event in events if event.done][-1] == total
    assert sorted({event.done for event in events}) == list(range(total + 1))


def test_temporary_arrays_of_killed_clients_are_deleted_and_those_of_live_ones_kept(tmp_path):
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=40, executor="serial")
    old, fresh = gram._store.scatter(V), gram._store.scatter(V)
    os.utime(tmp_path / "k.zarr" / old, (time.time() - SCRATCH_SECONDS - 60,) * 2)
    compute_gram(Kendall(), X, store=gram.path, executor="serial")
    assert [path.name for path in scratch(tmp_path / "k.zarr")] == [fresh.split("/")[1]]


@pytest.mark.slow
def test_a_closed_client_is_not_used_again(symmetric, cluster_address):
    from distributed import Client

    with Client(cluster_address) as passing:
        gram = open_gram(symmetric, executor=passing)
        expected = gram.matmat(V)
    np.testing.assert_array_equal(gram.matmat(V), expected)
