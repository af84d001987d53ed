"""The log of a run while it goes on, and what another process makes of it."""

import shutil
import threading
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from distkern import Kendall, Linear, StoreError, TaskError, compute_gram, open_gram
from distkern.build import tasks
from distkern.core.events import Progress
from distkern.engine.executors import Serial
from distkern.store import runs as runlog
from distkern.store.runs import Receipt, RunLog, read_runs, store_status
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).normal(size=(20, 50))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.seconds, self.now = 1000.0, NOON


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    path = tmp_path_factory.mktemp("complete") / "k.zarr"
    compute_gram(Kendall(), X, store=path, tile=5, executor="serial")
    return path


@pytest.fixture
def store(complete, tmp_path):
    shutil.copytree(complete, tmp_path / "k.zarr")
    store = GramStore.opened(tmp_path / "k.zarr")
    store.clear_checksums([(0, 1), (1, 2), (2, 3), (3, 3)])
    return store


@pytest.fixture
def log(store, clock):
    with RunLog(store, Serial(), lambda event: None, clock=lambda: clock.seconds, now=lambda: clock.now) as log:
        log(Progress("compute tiles", 6, 10))
        yield log


def receipt(i, j, seconds=1.0):
    return Receipt(i, j, (1,), seconds, 0.5, peak_bytes=300, rest_bytes=100, worker="host:1")


def ended_by(error, store):
    with RunLog(store, Serial(), lambda event: None) as log:
        log(Progress("compute tiles", 0, 1))
        raise error


def test_a_tile_that_always_fails_is_named_and_the_rest_is_computed(tmp_path, monkeypatch):
    write = GramStore.write_tile

    def broken(self, i, j, values):
        if (i, j) == (1, 2):
            raise RuntimeError("odd")
        return write(self, i, j, values)

    monkeypatch.setattr(GramStore, "write_tile", broken)
    with pytest.raises(TaskError) as caught:
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=5, executor="serial")
    name = "tile (1, 2) (rows 5–9, columns 10–14)"
    assert str(caught.value).startswith(f"{name} failed with RuntimeError: odd; all else is stored")
    gram = open_gram(tmp_path / "k.zarr")
    assert gram.info()["tiles_done"] == 9
    (run,) = gram.info()["runs"]
    assert (run["state"], run["tasks_failed"], run["tiles_computed"]) == ("failed", 1, 9)
    assert run["failures"] == [{"task": name, "error": "RuntimeError: odd"}]
    assert gram.status()["state"] == "failed"
    monkeypatch.undo()
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    assert gram.info()["runs"][-1]["tiles_computed"] == 1
    assert gram.status()["state"] == "complete"


def test_samples_that_cannot_be_prepared_are_named(tmp_path, monkeypatch):
    prepare = Linear.prepare

    def broken(self, X, start=0):
        if start == 5:
            raise RuntimeError("odd")
        return prepare(self, X, start)

    monkeypatch.setattr(Linear, "prepare", broken)
    with pytest.raises(TaskError, match=r"^preparing samples 5–9 of the rows failed with RuntimeError: odd; all else"):
        compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=5, executor="serial")
    assert open_gram(tmp_path / "k.zarr").status()["blocks_prepared"] == 3


def test_status_shows_a_run_while_it_is_running(store, log, clock):
    found = store_status(store, clock.now)
    assert (found["state"], found["alive"], found["tiles_done"], found["tiles"]) == ("running", True, 6, 10)
    assert found["tiles_per_second"] is None
    assert found["seconds_left"] is None
    clock.seconds += 10
    log.computed(receipt(0, 1))
    log.computed(receipt(1, 2))
    log._beat()
    found = store_status(store, clock.now)
    assert found["tiles_per_second"] == 0.2
    assert found["seconds_left"] == 20.0  # the marks are written by whoever runs the tasks, not by the log
    assert found["tasks_side_by_side"] == 1
    run = found["run"]
    assert (run["seconds"], run["task_seconds"], run["warm_up_seconds"]) == (pytest.approx(10, abs=0.01), 2.0, 1.0)
    assert (run["peak_bytes"], run["rest_bytes"], run["above_rest_bytes"]) == (300, 100, 200)


def test_the_rate_is_known_at_the_first_heartbeat_after_preparing(store, clock):
    with RunLog(store, Serial(), lambda event: None, clock=lambda: clock.seconds, now=lambda: clock.now) as log:
        log(Progress("prepare rows", 0, 4))
        clock.seconds += 30
        log(Progress("compute tiles", 6, 10))
        clock.seconds += 5
        log.computed(receipt(0, 1))
        assert log.entry().tiles_per_second == 0.2  # of the seconds since the tiles began


def test_the_rate_is_that_of_the_last_minutes(log, clock):
    for _ in range(10):  # slow at first, then fast
        clock.seconds += 60
        log.computed(receipt(0, 1))
        log._beat()
    for _ in range(10):
        clock.seconds += 60
        for _ in range(6):
            log.computed(receipt(0, 1))
        log._beat()
    assert log.entry().tiles_per_second == pytest.approx(0.1)


def test_a_clock_that_goes_backwards_changes_no_rate_and_no_elapsed_time(store, log, clock):
    clock.seconds, clock.now = clock.seconds + 10, NOON - timedelta(days=400)
    log.computed(receipt(0, 1))
    log._beat()
    run = read_runs(store)[-1]
    assert (run.seconds, run.tiles_per_second) == (10.0, 0.1)
    assert store_status(store, clock.now)["last_heard_seconds"] == 0
    assert store_status(store, NOON - timedelta(days=500))["last_heard_seconds"] == 0  # the reader's clock is behind
    assert store_status(store, NOON - timedelta(days=500))["alive"]


def test_run_without_heartbeats_is_silent(store, log, clock):
    assert store_status(store, NOON + timedelta(seconds=30))["state"] == "running"
    found = store_status(store, NOON + timedelta(minutes=5))
    assert (found["state"], found["alive"], found["last_heard_seconds"]) == ("silent", False, 300)


def test_runs_are_kept_in_order_whatever_the_time_of_day(store):
    for day in (NOON, NOON - timedelta(days=1), NOON - timedelta(days=2)):
        with RunLog(store, Serial(), lambda event: None, now=lambda day=day: day) as log:
            log(Progress("compute tiles", 0, 1))
    assert [run.started[:10] for run in read_runs(store)[1:]] == ["2026-01-01", "2025-12-31", "2025-12-30"]


def test_two_runs_at_once_keep_separate_logs_and_their_rates_are_added(store, clock):
    def started():
        log = RunLog(store, Serial(), lambda event: None, clock=lambda: clock.seconds, now=lambda: clock.now)
        log(Progress("compute tiles", 0, 1))
        return log

    with started() as one, started() as other:
        clock.seconds += 10
        for log, count in ((one, 1), (other, 3)):
            for _ in range(count):
                log.computed(receipt(0, 1))
            log._beat()
        found = store_status(store, clock.now)
        assert (found["runs_alive"], found["tiles_per_second"]) == (2, pytest.approx(0.4))
    assert [run.tiles_computed for run in read_runs(store)[1:]] == [1, 3]
    assert [run.state for run in read_runs(store)[1:]] == ["finished", "finished"]


def test_heartbeat_that_cannot_be_written_hides_no_error(store, monkeypatch):
    def full(store, name, run):
        raise StoreError("no space left for the log")

    monkeypatch.setattr(runlog, "write_run", full)
    with pytest.raises(ZeroDivisionError):
        ended_by(ZeroDivisionError(), store)


def test_heartbeats_continue_while_no_task_ends(store, monkeypatch):
    monkeypatch.setattr(runlog, "BEAT_SECONDS", 0.02)
    heard = iter(range(10**6))
    with RunLog(store, Serial(), lambda event: None, now=lambda: NOON + timedelta(seconds=next(heard))) as log:
        log(Progress("compute tiles", 0, 1, "the cluster has no workers"))
        deadline, before = time.monotonic() + 20, read_runs(store)[-1]
        while read_runs(store)[-1].heard <= before.heard:
            assert time.monotonic() < deadline
        assert read_runs(store)[-1].note == "the cluster has no workers"
    assert "distkern-heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_interrupted_run_is_logged_as_interrupted(store):
    with pytest.raises(KeyboardInterrupt):
        ended_by(KeyboardInterrupt(), store)
    assert read_runs(store)[-1].state == "interrupted"
    assert store_status(store)["state"] == "interrupted"


def test_a_log_never_writes_into_another_store(store):
    log = RunLog(store, Serial(), lambda event: None)
    log(Progress("compute tiles", 0, 1))
    compute_gram(Linear(), X, store=store.path, overwrite=True, executor="serial")
    with log:
        pass
    (run,) = open_gram(store.path).info()["runs"]
    assert run["state"] == "finished"
    assert run["tiles_computed"] > 0


def test_routines_are_warmed_up_before_the_first_tile_and_apart_from_its_seconds(tmp_path, monkeypatch):
    tile, calls, now = Linear.tile, [], [0.0]

    def slow_at_first(self, A, B):
        now[0] += 0.25 if calls else 100.0  # as compiling is
        calls.append(len(A))
        return tile(self, A, B)

    compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=10, executor="serial")
    store = GramStore.opened(tmp_path / "k.zarr")
    first, second = (tuple(sums) for sums in store.rows.checksums().tolist())
    monkeypatch.setattr(tasks, "_warm", set())
    monkeypatch.setattr(Linear, "tile", slow_at_first)
    monkeypatch.setattr(tasks.time, "perf_counter", lambda: now[0])
    cold, warm = (
        tasks.compute_tile(tasks.TileTask(store.path, store.manifest.id, Linear(), *where))
        for where in ((0, 0, first, first), (0, 1, first, second))
    )
    assert calls == [tasks.FEW, tasks.FEW, 10, 10]
    assert (cold.warm_up_seconds, cold.seconds) == (100.25, 0.25)  # the first tile, of few samples, is computed twice
    assert (warm.warm_up_seconds, warm.seconds) == (0.0, 0.25)
    assert 0 < cold.rest_bytes == warm.rest_bytes <= warm.peak_bytes
    assert (cold.checksums, warm.checksums) == ((store.checksums()[0, 0],), (store.checksums()[0, 1],))
