"""Workers and schedulers that come and go, workers of other versions, and threads on workers."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import create_autospec

import executor_contract
import numpy as np
import psutil
import pytest
from distributed import Status
from executor_contract import nap, square
from marks import with_slow
from pandas.testing import assert_frame_equal
from processes import wait_for
from scipy.stats import kendalltau

from distkern import (
    Dask,
    InputTypeError,
    Kendall,
    TaskError,
    WorkerMismatchError,
    append_gram,
    compute_gram,
    kendalltau_matrix,
    kernel_neighbors,
    open_gram,
    rank_markers,
    repair_gram,
    score_sets,
)
from distkern.engine import versions
from distkern.engine.base import Failure, Waiting
from distkern.engine.dask import executor as dask_executor
from distkern.engine.dask import futures
from distkern.engine.dask.executor import NO_SCHEDULER, NO_WORKERS, PAUSED
from distkern.engine.run import run
from distkern.gram import map_reduce


@contextmanager
def cluster_of(workers, threads, **options):
    """A cluster whose workers are threads of this process, unless ``processes`` is true."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address="127.0.0.1:0",
            silence_logs="CRITICAL",
            **{"processes": False, **options},
        ) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


def receipts_of(outcomes):
    return sorted(outcome for outcome in outcomes if not isinstance(outcome, Waiting))


def endless(number):
    return endless(number)


def fail(number):
    raise ValueError(number)


def die(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


# Workers and schedulers that come and go --------------------------------------------------------------------------


def test_a_cluster_without_workers_is_reported_and_waited_for():
    with cluster_of(0, 1) as (cluster, client):
        outcomes = Dask(client).map(square, range(5))
        assert next(outcomes) == Waiting(NO_WORKERS)
        cluster.scale(1)
        assert receipts_of(outcomes) == [0, 1, 4, 9, 16]


def test_compute_gram_waits_for_the_first_worker(tmp_path):
    X, events = np.random.default_rng(0).normal(size=(20, 50)), []
    with cluster_of(0, 1) as (cluster, client):

        def listen(event):
            events.append(event)
            if event.note == NO_WORKERS:
                cluster.scale(1)

        gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=10, executor=client, progress=listen)
    assert events[0].note == NO_WORKERS
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))


def test_an_adaptive_cluster_is_waked():
    """It starts workers only for submitted work: dask-jobqueue#498, coffea#465."""
    with cluster_of(0, 1) as (cluster, client):
        cluster.adapt(minimum=0, maximum=2, interval="20ms")
        assert list(Dask(client).await_workers()) == [Waiting(NO_WORKERS)]
        assert client.nthreads()


@pytest.mark.slow
def test_whatever_needs_a_worker_wakes_an_adaptive_cluster(tmp_path, monkeypatch):
    monkeypatch.setattr(map_reduce, "SMALL_BYTES", 0)  # passes over small matrices run on the cluster too
    X = np.random.default_rng(0).normal(size=(24, 7))
    holes = np.where(X > 1.5, np.nan, X)
    naive = Kendall()(X)
    # the workers are threads of this process, which may have grown: of a worker with less memory nothing would run
    with cluster_of(0, 1, memory_limit="16GiB") as (cluster, client):

        def waked(work):
            """Do some work after all workers have gone."""
            cluster.adapt(minimum=0, maximum=2, interval="20ms", wait_count=1)
            cluster.scale(0)
            wait_for(lambda: not client.nthreads(), "a worker stays")
            return work()

        gram = waked(lambda: compute_gram(Kendall(), X[:20], store=tmp_path / "k.zarr", tile=10, executor=client))
        grown = waked(lambda: append_gram(gram, X[20:], executor=client))
        np.testing.assert_array_equal(grown.to_numpy(), naive)
        V = np.random.default_rng(1).normal(size=(24, 3))
        np.testing.assert_allclose(waked(lambda: grown.matmat(V)), naive @ V, rtol=1e-12)
        assert waked(lambda: kernel_neighbors(grown, 3)).indices[0, 0] == 1 + naive[0, 1:].argmax()
        (tmp_path / "k.zarr" / "gram" / "c" / "0" / "1").write_bytes(b"")
        assert waked(lambda: repair_gram(tmp_path / "k.zarr", executor=client)) == 1
        landmarks = waked(
            lambda: compute_gram(Kendall(), X, store=tmp_path / "l.zarr", landmarks=24, tile=10, executor=client)
        )
        np.testing.assert_allclose(landmarks.to_numpy(), naive, atol=1e-8)
        tau = waked(lambda: kendalltau_matrix(X, executor=client))
        with pytest.warns(UserWarning, match="positive semidefinite"):
            pairwise = waked(lambda: kendalltau_matrix(holes, missing="pairwise", executor=client))
        np.testing.assert_allclose(tau, [[kendalltau(x, y)[0] for x in X.T] for y in X.T], atol=1e-12)
        np.savez(tmp_path / "cohort.npz", X=X, samples=list(map(str, range(24))), features=list("abcdefg"))
        file, groups, sets = tmp_path / "cohort.npz", np.arange(24) % 2, {"s": ["a", "b"]}
        for call, about in ((rank_markers, groups), (score_sets, sets)):
            found = waked(lambda call=call, about=about: call(file, about, executor=client))
            assert_frame_equal(found, call(file, about, executor="serial"), check_exact=True)
        pair = kendalltau(holes[:, 0], holes[:, 1], nan_policy="omit")[0]
        assert pairwise[0, 1] == pytest.approx(pair)


def test_memory_of_an_adaptive_cluster_is_known_when_its_workers_sleep():
    with cluster_of(1, 1, memory_limit="1GiB") as (cluster, client):
        executor = Dask(client)
        before = executor.memory_per_task(None)
        cluster.scale(0)
        wait_for(lambda: not client.nthreads(), "a worker stays")
        assert executor.memory_per_task(None) == before == int(0.6 * 2**30)


def test_waiting_in_vain_is_said(monkeypatch):
    """Where no progress bar is shown, too."""
    monkeypatch.setattr(dask_executor, "SILENT_SECONDS", 0.05)
    with cluster_of(0, 1) as (cluster, client):
        waiting = Dask(client).await_workers()
        assert next(waiting) == Waiting(NO_WORKERS)
        threading.Timer(1.0, cluster.scale, (1,)).start()
        with pytest.warns(UserWarning, match="no worker .* start workers, or make the cluster adaptive") as warned:
            assert list(waiting) == []
        assert len(warned) == 1


@pytest.mark.slow
def test_paused_workers_are_reported_and_waited_for(monkeypatch):
    """A worker whose memory is nearly full starts no task: without a word, the work would seem to hang."""
    monkeypatch.setattr(dask_executor, "SILENT_SECONDS", 0.05)
    with cluster_of(1, 1) as (cluster, client):
        memory = cluster.workers[0].memory_manager
        enough, memory.memory_limit = memory.memory_limit, psutil.Process().memory_info().rss
        wait_for(lambda: cluster.workers[0].status == Status.paused, "the worker runs tasks")
        outcomes = Dask(client).map(square, range(5))
        assert next(outcomes) == Waiting(PAUSED)
        threading.Timer(1.0, setattr, (memory, "memory_limit", enough)).start()
        with pytest.warns(UserWarning, match="only paused workers.* for one: release what they hold") as warned:
            assert receipts_of(outcomes) == [0, 1, 4, 9, 16]
        assert len(warned) == 1


def computed_in_a_task(X, store):
    from distributed import get_client

    get_client()  # other code of the task may have made it the current client of the process
    return compute_gram(Kendall(), X, store=store).info()["runs"][0]["executor"]


def test_a_computation_within_a_task_uses_the_thread_of_that_task(client, tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 8))
    executor = client.submit(computed_in_a_task, X, str(tmp_path / "k.zarr"), pure=False).result(timeout=60)
    assert executor == "one thread in this process"
    np.testing.assert_array_equal(open_gram(tmp_path / "k.zarr").to_numpy(), Kendall()(X))


def test_cancelled_futures_are_submitted_again(client):
    from distributed import Future

    outcomes = Dask(client).map(nap, range(40))
    receipts = [next(outcomes)]
    client.cancel([Future(key, client) for key in client.futures], force=True)
    assert sorted([*receipts, *receipts_of(outcomes)]) == list(range(40))


@pytest.mark.parametrize("fn", with_slow([square], [fail]))
def test_a_future_that_as_completed_drops_is_found(client, monkeypatch, fn):
    """``as_completed`` drops a future silently when its result cannot be fetched, as when its worker dies then."""
    from distributed import Future

    monkeypatch.setattr(futures, "SWEEP_SECONDS", 0.05)
    fetch, fetched = Future._result, set()

    async def fail_once(future, raiseit=True):
        result = await fetch(future, raiseit=raiseit)
        if future.key not in fetched:
            fetched.add(future.key)
            raise OSError("the worker died just now")
        return result

    monkeypatch.setattr(Future, "_result", fail_once)
    outcomes = [one for one in Dask(client).map(fn, range(-2, 0)) if not isinstance(one, Waiting)]
    assert len(fetched) == 2
    assert sorted(one.task if isinstance(one, Failure) else one for one in outcomes) == (
        [1, 4] if fn is square else [-2, -1]
    )


def test_an_error_too_deep_to_be_pickled_is_yielded(client):
    failures = [one for one in Dask(client).map(endless, range(3)) if not isinstance(one, Waiting)]
    assert sorted(failure.task for failure in failures) == [0, 1, 2]
    assert {str(failure.error) for failure in failures} == {"maximum recursion depth exceeded"}


@pytest.mark.faults
def test_tasks_complete_after_the_cluster_was_restarted(client):
    outcomes = Dask(client).map(nap, range(40))
    receipts = [next(outcomes)]
    client.restart(timeout=60)
    assert sorted([*receipts, *receipts_of(outcomes)]) == list(range(40))


@pytest.mark.faults
def test_task_that_kills_its_workers_fails_and_the_others_complete(monkeypatch):
    monkeypatch.setattr(futures, "MAX_KILLED", 2)
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster_of(2, 1, processes=True) as (_, client),
    ):
        outcomes = [one for one in Dask(client).map(die, range(8)) if not isinstance(one, Waiting)]
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    assert 3 in {failure.task for failure in failures}
    assert "2 workers died while they had it" in str(failures[0].error)
    completed = {outcome for outcome in outcomes if not isinstance(outcome, Failure)}
    assert completed | {failure.task for failure in failures} == set(range(8))


SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard"]
WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]


@contextmanager
def processes():
    """Start programs, and kill those that still run at the end."""
    started = []

    def start(words):
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(executor_contract.__file__).parent), *paths])}
        started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.wait()


def free_port():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.faults
def test_a_run_goes_on_when_the_scheduler_is_replaced_in_time():
    from distributed import Client

    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with processes() as start:
        scheduler = start([*SCHEDULER, "--port", str(port)])
        start([*WORKER, address])
        with Client(address, timeout=60) as client:
            outcomes = Dask(client).map(nap, range(60))
            seen = [next(outcome for outcome in outcomes if outcome != Waiting(NO_WORKERS) and outcome != Waiting(""))]
            scheduler.kill()
            scheduler.wait()
            start([*SCHEDULER, "--port", str(port)])
            start([*WORKER, address])
            rest = list(outcomes)
    assert Waiting(NO_SCHEDULER) in rest
    assert sorted({*seen, *receipts_of(rest)}) == list(range(60))


@pytest.mark.faults
def test_a_scheduler_that_is_lost_for_good_ends_the_run_with_one_error():
    from distributed import Client

    port = free_port()
    with processes() as start:
        scheduler = start([*SCHEDULER, "--port", str(port)])
        start([*WORKER, f"tcp://127.0.0.1:{port}"])
        with Client(f"tcp://127.0.0.1:{port}", timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            client._timeout = 1  # seconds that it tries to reconnect
            executor = Dask(client)
            receipts = []

            def kill(event):
                if event.done == 1 and scheduler.poll() is None:
                    scheduler.kill()

            with pytest.raises(TaskError, match=rf"scheduler at tcp://127\.0\.0\.1:{port} is lost; what had finished"):
                run(executor, nap, range(100), receipts.append, phase="work", listener=kill)
    assert 1 <= len(receipts) < 100


# Versions -----------------------------------------------------------------------------------------------------------


OURS = versions.versions()


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({"distkern": OURS["distkern"] + "1"}, r"distkern .* \(here .*\)"),
        ({"Python": "3.9.1"}, r"Python 3\.9\.1 \(here 3\."),
        ({"numpy": "1.26.4", "zarr": "2.18.0"}, r"numpy 1\.26\.4 \(here .*\) and zarr 2\.18\.0 \(here "),
        ({"numba": "unknown"}, r"numba unknown \(here "),
    ],
)
def test_other_versions_are_refused_with_both_versions(changed, refused):
    with pytest.raises(WorkerMismatchError, match=rf"^the worker at tcp://a:1 has {refused}"):
        versions.require_same_versions("the worker at tcp://a:1", OURS | changed, OURS)


def answer(report):
    """Let a worker report other versions than it has."""
    from distkern.engine import versions

    versions.versions = report


def given(found):
    return found


@contextmanager
def pretending(client, address, report):
    client.run(answer, report, workers=[address])
    try:
        yield
    finally:
        client.run(restore, workers=[address])


def restore():
    import importlib

    from distkern.engine import versions

    importlib.reload(versions)


def test_a_worker_of_another_version_is_refused_before_any_work(client, monkeypatch):
    answers = {"tcp://a:1": OURS, "tcp://a:2": OURS | {"numba": "0.1.0"}}
    monkeypatch.setattr(client, "run", lambda *words, **options: answers)
    with pytest.raises(WorkerMismatchError, match=r"^the worker at tcp://a:2 has numba 0\.1\.0 \(here "):
        Dask(client)


def test_a_worker_without_distkern_is_refused_before_any_work(client, monkeypatch):
    answers = {"tcp://a:1": ModuleNotFoundError("No module named 'distkern'"), "tcp://a:2": OSError("just left")}
    monkeypatch.setattr(client, "run", lambda *words, **options: answers)
    with pytest.raises(WorkerMismatchError, match=r"^the worker at tcp://a:1 cannot load distkern .*No module named"):
        Dask(client)


def test_another_patch_release_is_warned_about(client, monkeypatch):
    answers = {"tcp://a:1": OURS | {"numpy": ".".join(OURS["numpy"].split(".")[:2]) + ".99"}}
    monkeypatch.setattr(client, "run", lambda *words, **options: answers)
    with pytest.warns(UserWarning, match=r"tcp://a:1 has numpy .*\.99, and this client"):
        Dask(client)


def test_a_worker_of_another_version_that_joins_later_stops_the_run(client):
    address = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    executor = Dask(client)
    receipts = []
    with (
        pretending(client, address, partial(given, OURS | {"distkern": "0.0.0"})),
        pytest.raises(WorkerMismatchError, match=rf"^the worker at {address} has distkern 0\.0\.0"),
    ):
        run(executor, nap, range(1000), receipts.append, phase="work", listener=lambda event: None, go_on=True)
    assert len(receipts) < 200
    assert receipts_of(Dask(client).map(square, range(3))) == [0, 1, 4]


# Threads ------------------------------------------------------------------------------------------------------------


def threads_seen(number):
    """Number of threads that each library may use in a task, if its pool has been started before."""
    import numba
    from threadpoolctl import threadpool_info

    time.sleep(0.05)  # so that all threads get tasks
    pools = {(pool["user_api"], pool["num_threads"]) for pool in threadpool_info()}
    return pools, numba.get_num_threads(), (os.getpid(), threading.get_ident())


def start_pools():
    import numba

    return numba.get_num_threads()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "threads", "processes"),
    [(2, 1, True), (1, 2, True), (1, 2, False)],
)
def test_libraries_use_one_thread_per_task_and_the_bytes_are_the_same(tmp_path, workers, threads, processes):
    X = np.random.default_rng(0).normal(size=(70, 200))
    with cluster_of(workers, threads, processes=processes) as (_, client):
        before = client.run(start_pools)
        seen = [one for one in Dask(client).map(threads_seen, range(12)) if not isinstance(one, Waiting)]
        assert {pool for pools, _, _ in seen for pool in pools} <= {("blas", 1), ("openmp", 1)}
        assert {numba_threads for _, numba_threads, _ in seen} == {1}
        assert len({where for _, _, where in seen}) == 2
        assert client.run(start_pools) == before  # for all other code of the workers
        gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=16, executor=client)
        (logged,) = gram.info()["runs"]
        assert logged["workers"] == workers
        assert 0 < logged["rest_bytes"] < logged["peak_bytes"]
    alone = compute_gram(Kendall(), X, store=tmp_path / "alone.zarr", tile=16, executor="serial")
    np.testing.assert_array_equal(gram._store.read("marks"), alone._store.read("marks"))


# Other ends of a run -------------------------------------------------------------------------------------------------


def test_a_cluster_that_gives_up_waiting_for_workers_ends_the_run_without_a_failed_task(monkeypatch):
    import dask

    with dask.config.set({"distributed.scheduler.no-workers-timeout": "500 ms"}), cluster_of(1, 1) as (cluster, client):
        receipts, failures = [], []

        def leave(event):
            if event.done == 5:
                cluster.scale(0)

        with pytest.raises(TaskError, match="the cluster has had no worker for"):
            run(
                Dask(client),
                nap,
                range(500),
                receipts.append,
                phase="work",
                listener=leave,
                on_failure=failures.append,
                go_on=True,
            )
    assert len(receipts) >= 5
    assert failures == []


def test_an_asynchronous_client_is_refused():
    from distributed import Client

    client = create_autospec(Client, instance=True)
    client.asynchronous = True
    with pytest.raises(InputTypeError, match="the client is asynchronous"):
        Dask(client)


def test_what_is_no_client_is_refused():
    with pytest.raises(InputTypeError, match="Dask takes a client"):
        Dask(SimpleNamespace(asynchronous=False))


@pytest.mark.faults
def test_workers_that_arrive_late_are_put_to_work():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=False,
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        ) as cluster,
        Client(cluster) as client,
    ):
        receipts = Dask(client).map(where, range(60))
        assert isinstance(next(receipts), Waiting)
        cluster.scale(1)
        first = next(one for one in receipts if not isinstance(one, Waiting))
        cluster.scale(4)
        client.wait_for_workers(4, timeout=60)
        workers = {one for one in receipts if not isinstance(one, Waiting)}
    assert first in workers
    assert len(workers) == 4


def where(_):
    from distributed import get_worker

    time.sleep(0.1)
    return get_worker().address
