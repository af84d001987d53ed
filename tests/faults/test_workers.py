"""Workers that are killed, replaced or stopped, and a task that always fails."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest
from fault_injection import (
    KENDALL,
    SIDE,
    TILES,
    Disturbance,
    Tally,
    assert_undisturbed,
    gram_words,
    kill,
    last_run,
    processes,
)
from processes import distkern

from distkern import compute_gram
from distkern.engine.dask.executor import NO_WORKERS, WINDOW


@contextmanager
def nannied_cluster(workers, tally):
    """Workers that are restarted when they die."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs="CRITICAL",
            preload=tally.preload,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


@pytest.mark.faults
def test_killed_worker_loses_only_tiles_in_flight(X, store, expected, tally):
    with nannied_cluster(2, tally) as (cluster, client):
        disturb = Disturbance(10, lambda: os.kill(cluster.workers[0].pid, signal.SIGKILL))
        compute_gram(KENDALL, X, store=store, tile=SIDE, executor=client, progress=disturb)
        assert client.status == "running"  # the client of the user is not closed
    assert disturb.done == 10
    assert last_run(store)["tiles_computed"] == TILES
    assert TILES <= tally.started().total() <= TILES + WINDOW
    assert_undisturbed(store, expected)


@pytest.mark.faults
def test_workers_killed_repeatedly_lose_only_tiles_in_flight(X, store, expected, tally):
    killed = []

    def kill_another(event):
        """Kill a worker every eight tiles; a worker that is being restarted has no process."""
        if event.done >= 8 * (len(killed) + 1):
            alive = [nanny.pid for nanny in cluster.workers.values() if nanny.pid and nanny.pid not in killed]
            if alive:
                os.kill(alive[0], signal.SIGKILL)
                killed.append(alive[0])

    with nannied_cluster(2, tally) as (cluster, client):
        disturb = Disturbance(0, lambda: None, kill_another)
        compute_gram(KENDALL, X, store=store, tile=SIDE, executor=client, progress=disturb)
    assert len(set(killed)) >= 4
    run = last_run(store)
    assert (run["tiles_computed"], run["tasks_failed"]) == (TILES, 0)
    assert TILES <= tally.started().total() <= TILES + WINDOW * len(killed)
    assert_undisturbed(store, expected)


@pytest.mark.faults
def test_run_goes_on_when_all_workers_are_killed_and_replaced(X, store, expected, tally, tmp_path):
    from distributed import Client

    with processes(tmp_path, tally) as cluster, Client(scheduler_file=str(cluster.file), timeout=60) as client:
        first, second = [cluster.worker(), cluster.worker()], []

        def replace(event):
            if event.note == NO_WORKERS and disturb.done > 0 and not second:
                second.extend([cluster.worker(), cluster.worker()])

        disturb = Disturbance(10, lambda: kill(*first), replace)
        client.wait_for_workers(2, timeout=60)
        compute_gram(KENDALL, X, store=store, tile=SIDE, executor=client, progress=disturb)
    assert len(second) == 2
    assert last_run(store)["tiles_computed"] == TILES
    assert TILES <= tally.started().total() <= TILES + WINDOW * len(first)
    assert_undisturbed(store, expected)


@pytest.mark.faults
def test_stopped_worker_is_replaced_and_does_no_harm_when_it_continues(X, store, expected, tally, tmp_path):
    """The other worker computes its tiles. It later completes the tiles it had started, with the same bytes."""
    from distributed import Client

    with (
        processes(tmp_path, tally, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="3s") as cluster,
        Client(scheduler_file=str(cluster.file), timeout=60) as client,
    ):
        workers = [cluster.worker(), cluster.worker()]
        noticed = []

        def go_on(event):
            """Let it continue once the scheduler has removed it, while there still are tiles."""
            if disturb.done > 0 and not noticed and len(client.nthreads()) == 1:
                noticed.append(event.done)
                workers[0].send_signal(signal.SIGCONT)

        disturb = Disturbance(10, lambda: workers[0].send_signal(signal.SIGSTOP), go_on)
        client.wait_for_workers(2, timeout=60)
        try:
            compute_gram(KENDALL, X, store=store, tile=SIDE, executor=client, progress=disturb)
        finally:
            workers[0].send_signal(signal.SIGCONT)  # a stopped process does not react to SIGTERM
    assert noticed
    assert last_run(store)["tiles_computed"] == TILES
    assert TILES <= tally.started().total() <= TILES + WINDOW
    assert_undisturbed(store, expected)


@pytest.mark.faults
def test_task_that_always_fails_is_named_and_all_others_complete(cohort, store, expected, tmp_path):
    """With real workers and the command line: exit code 4, and `distkern status` names the tile."""
    tally = Tally(tmp_path, fails=(1, 2))
    name = "tile (1, 2) (rows 4–7, columns 8–11)"
    with processes(tmp_path, tally) as cluster:
        cluster.worker()
        words = gram_words(cohort, store, "--scheduler-file", cluster.file)
        ended = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 4
        assert f"Error: {name} failed with RuntimeError: odd; all else is stored" in ended.stderr
    status = subprocess.run(distkern("status", store), capture_output=True, text=True, timeout=60)
    assert f"{name}: RuntimeError: odd" in status.stdout
    assert f"{TILES - 1} of {TILES} done" in status.stdout
    run = last_run(store)
    assert (run["tiles_computed"], run["tasks_failed"]) == (TILES - 1, 1)
    starts = tally.started()
    assert starts.pop("1,2") > 1  # it was retried before it failed
    assert set(starts.values()) == {1}
    compute_gram(KENDALL, np.load(cohort), store=store)
    assert last_run(store)["tiles_computed"] == 1
    assert_undisturbed(store, expected)
