"""Killed clients and workers, damaged bytes, stores of another time: nothing finished is lost, no wrong byte read."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from distkern import (
    CorruptTileError,
    IncompleteGramError,
    Kendall,
    StoreError,
    compute_gram,
    open_gram,
    repair_gram,
)
from distkern.gram.store import GramStore

X = np.random.default_rng(0).normal(size=(60, 20_000))
SMALL = X[:20, :50]

CHILD = """
import sys, numpy as np, distkern as dk
X = np.random.default_rng(0).normal(size=(60, 20_000))
dk.compute_gram(dk.Kendall(), X, store=sys.argv[1], tile=6, executor="serial")
"""


def tiles(path):
    """Chunks by name, without what a killed writer had begun."""
    files = [f for f in Path(path, "gram", "c").rglob("*") if f.is_file() and f.suffix != ".partial"]
    return {str(f.relative_to(path)): f.read_bytes() for f in files}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "k.zarr"
    compute_gram(Kendall(), X, store=path, tile=6, executor=2)
    return path


def marks_of(path):
    return GramStore.opened(path).marks(refresh=True)


def test_a_client_killed_half_way_costs_the_tiles_in_flight_and_no_more(tmp_path, undisturbed):
    path = tmp_path / "k.zarr"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)])
    deadline = time.monotonic() + 120
    while not (path.exists() and np.count_nonzero(marks_of(path)) >= 5):
        assert child.poll() is None, "the child ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    done = int(np.count_nonzero(marks_of(path)))
    assert 5 <= done < 55
    with pytest.raises(IncompleteGramError, match="run compute_gram again"):
        open_gram(path).to_numpy()
    assert "tiles done" in repr(open_gram(path))
    gram = compute_gram(Kendall(), X, store=path, executor=2)
    assert gram.info()["runs"][-1]["tiles_computed"] == 55 - done
    assert tiles(path) == tiles(undisturbed)
    np.testing.assert_array_equal(marks_of(path), marks_of(undisturbed))


def test_a_killed_worker_costs_the_tiles_in_flight_and_no_more(tmp_path, undisturbed):
    from distributed import Client, LocalCluster

    path = tmp_path / "k.zarr"
    killed = []

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster) as client,
    ):

        def kill_one(event):
            if event.phase == "compute tiles" and event.done == 10 and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(cluster.workers[0].pid, signal.SIGKILL)

        gram = compute_gram(Kendall(), X, store=path, tile=6, executor=client, progress=kill_one)
        assert client.status == "running"  # a client that the user made is not closed
    assert killed
    assert gram.info()["runs"][-1]["tiles_computed"] == 55
    assert tiles(path) == tiles(undisturbed)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), SMALL, store=path, tile=6, executor="serial")
    return path


def flip_a_byte(file, position=20):
    damaged = bytearray(file.read_bytes())
    damaged[position] ^= 1
    file.write_bytes(damaged)


def test_a_flipped_byte_of_a_tile_is_noticed_named_and_recomputed(store):
    before = tiles(store)
    flip_a_byte(store / "gram" / "c" / "1" / "2")
    gram = open_gram(store)
    with pytest.raises(CorruptTileError, match=r"tile \(1, 2\) .* \(rows 6–11, columns 12–17\).*repair_gram"):
        gram.to_numpy()
    with pytest.raises(CorruptTileError):
        gram.matmat(np.ones(20))
    assert np.isfinite(gram[:6].to_numpy()).all()  # other tiles are read as ever
    (wrong,) = gram.verify()
    assert "tile (1, 2)" in wrong
    assert repair_gram(store, executor="serial") == 1
    assert tiles(store) == before
    assert open_gram(store).verify() == []
    assert repair_gram(store) == 0


def test_a_truncated_or_lost_tile_is_noticed_too(store):
    (store / "gram" / "c" / "0" / "1").write_bytes(b"short")
    (store / "gram" / "c" / "0" / "3").unlink()
    assert len(open_gram(store).verify()) == 2
    assert repair_gram(store) == 2
    np.testing.assert_array_equal(open_gram(store).to_numpy(), Kendall()(SMALL))


def test_damaged_prepared_samples_are_noticed_and_prepared_again_from_the_data(store):
    flip_a_byte(store / "rows" / "prepared" / "codes" / "c" / "1" / "0")
    assert "prepared rows 6–11" in open_gram(store).verify()[0]
    with pytest.raises(CorruptTileError, match="prepared rows 6–11"):
        open_gram(store).cross(SMALL[:2])
    with pytest.raises(StoreError, match="compute_gram with the same kernel and data"):
        repair_gram(store)
    gram = compute_gram(Kendall(), SMALL, store=store)
    assert gram.info()["runs"][-1]["blocks_prepared"] == 1
    assert gram.info()["runs"][-1]["tiles_computed"] == 0
    assert gram.verify() == []


def test_a_store_of_another_version_is_refused(store):
    description = json.loads((store / "zarr.json").read_text())
    description["attributes"]["distkern"] |= {"format": 99, "version": "7.0"}
    (store / "zarr.json").write_text(json.dumps(description))
    for call in (lambda: open_gram(store), lambda: compute_gram(Kendall(), SMALL, store=store)):
        with pytest.raises(StoreError, match=r"format 99, written by distkern 7\.0"):
            call()


def test_stale_temporary_files_are_swept_and_fresh_ones_are_left(store):
    stale, fresh = store / "gram" / "c" / "0" / "9.partial", store / "gram" / "c" / "0" / "8.partial"
    stale.write_text("x")
    fresh.write_text("x")
    os.utime(stale, (time.time() - 7200,) * 2)
    compute_gram(Kendall(), SMALL, store=store)
    assert (stale.exists(), fresh.exists()) == (False, True)


def test_two_clients_on_one_store_both_finish_right(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "k.zarr"
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(compute_gram, Kendall(), SMALL, store=path, tile=3, executor="serial") for _ in range(2)]
        for run in runs:
            np.testing.assert_array_equal(run.result().to_numpy(), Kendall()(SMALL))
    assert open_gram(path).verify() == []
    assert open_gram(path).is_complete


def test_a_disk_that_fills_up_ends_in_one_message_and_the_run_goes_on_later(tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    write = GramStore.write_tile
    written = []

    def full(self, i, j, values):
        if len(written) >= 3:
            raise OSError(28, "No space left on device")
        written.append((i, j))
        return write(self, i, j, values)

    monkeypatch.setattr(GramStore, "write_tile", full)
    with pytest.raises(Exception, match="No space left on device") as caught:
        compute_gram(Kendall(), SMALL, store=path, tile=6, executor="serial")
    assert type(caught.value).__name__ == "TaskError"
    monkeypatch.undo()
    gram = compute_gram(Kendall(), SMALL, store=path)
    assert gram.info()["runs"][-1]["tiles_computed"] == 10 - 3
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(SMALL))
