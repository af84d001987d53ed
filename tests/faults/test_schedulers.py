"""A scheduler that is killed, and a host that loses its network for a while."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pytest
from fault_injection import (
    KENDALL,
    SIDE,
    TILES,
    Disturbance,
    assert_undisturbed,
    gram_words,
    kill,
    last_run,
    processes,
    tiles_done,
)
from hosts import hosts
from processes import scheduler_words, started, surroundings, wait_for, worker_words, written

from distkern import TaskError, compute_gram
from distkern.engine.dask.executor import NO_SCHEDULER, WINDOW

pytestmark = pytest.mark.faults


def test_same_call_on_a_new_cluster_goes_on_after_the_scheduler_was_killed(X, store, expected, tally, tmp_path):
    from distributed import Client

    def call(cluster, **given):
        with Client(scheduler_file=str(cluster.file), timeout=60) as client:
            client._timeout = 1  # seconds that it tries to reconnect
            compute_gram(KENDALL, X, store=store, tile=SIDE, executor=client, **given)

    with processes(tmp_path, tally) as cluster:
        cluster.worker()
        with pytest.raises(TaskError, match="the same call with a new client as executor= goes on from there"):
            call(cluster, progress=Disturbance(10, lambda: kill(cluster.scheduler)))
    done = tiles_done(store)
    assert 10 <= done < TILES
    assert last_run(store)["state"] == "failed"
    with processes(tmp_path, tally) as cluster:
        cluster.worker()
        call(cluster)
    assert last_run(store)["tiles_computed"] == TILES - done
    assert TILES <= tally.started().total() <= TILES + WINDOW
    assert_undisturbed(store, expected)


def test_run_goes_on_when_the_scheduler_is_replaced_at_its_address(X, store, expected, tally, tmp_path):
    from distributed import Client

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = ("--port", taken.getsockname()[1])
    notes, replaced = [], []
    with ExitStack() as stack:
        cluster = stack.enter_context(processes(tmp_path, tally, *port))
        worker = cluster.worker()

        def replace(event):
            notes.append(event.note)
            if event.note == NO_SCHEDULER and not replaced:
                replaced.append(stack.enter_context(processes(tmp_path, tally, *port)))
                replaced[0].worker()

        with Client(scheduler_file=str(cluster.file), timeout=60) as client:
            disturb = Disturbance(10, lambda: kill(cluster.scheduler, worker), replace)
            compute_gram(KENDALL, X, store=store, tile=SIDE, executor=client, progress=disturb)
    assert NO_SCHEDULER in notes
    assert last_run(store)["tiles_computed"] == TILES
    assert TILES <= tally.started().total() <= TILES + WINDOW
    assert_undisturbed(store, expected)


@pytest.mark.parametrize("ttl", ["3s", "300s"], ids=["noticed", "unnoticed"])
def test_run_completes_when_a_host_loses_its_network_for_a_while(cohort, store, expected, tally, tmp_path, ttl):
    """Noticed: the other host computes its tiles. Unnoticed: its receipts arrive once it is reconnected."""
    file, log = tmp_path / "scheduler.json", tmp_path / "dask.log"
    variables = surroundings(DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=ttl)
    more = ("--no-nanny", "--preload", tally.preload)
    with hosts(3) as (one, two, three), log.open("wb") as out, ExitStack() as stack:

        def start(words, host=one):
            given = {"stdout": out, "stderr": out, "env": variables}
            return stack.enter_context(started(host.on(*words), **given))[0]

        scheduler = start(scheduler_words(file, one.address, "tcp"))
        wait_for(lambda: written(file), "no scheduler file", scheduler)
        workers = [start(worker_words(file, host.address, tmp_path, *more), host) for host in (two, three)]
        wait_for(lambda: log.read_text().count("Registered to:") >= 2, "no workers", *workers)
        client = start(gram_words(cohort, store, "--scheduler", json.loads(file.read_text())["address"], "--insecure"))
        wait_for(lambda: tiles_done(store) >= 10, "no tiles", client)
        three.disconnect()
        if ttl == "3s":
            wait_for(lambda: "failed to heartbeat" in log.read_text(), "the scheduler has not noticed", scheduler)
        else:
            before = tiles_done(store)
            wait_for(lambda: tiles_done(store) >= min(before + 10, 45), "the other host computes nothing", client)
        three.reconnect()
        assert client.wait(120) == 0, log.read_text()
    run = last_run(store)
    assert (run["tiles_computed"], run["tasks_failed"]) == (TILES, 0)
    assert TILES <= tally.started().total() <= TILES + (WINDOW if ttl == "3s" else 0)
    assert_undisturbed(store, expected)
