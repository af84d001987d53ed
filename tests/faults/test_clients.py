"""A client that is killed, two clients at once, and a clock that is set back, all with the command line."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from fault_injection import SIDE, TILES, assert_undisturbed, gram_words, kill, last_run, processes, tiles_done
from hosts import skip_or_fail
from processes import distkern, started, surroundings, wait_for

from distkern import IncompleteGramError, Kendall, compute_gram, open_gram
from distkern.engine.dask.executor import WINDOW

SERIAL = ("--threads", "1")

FIRST, SECOND = 18, 30
"""Number of samples of a store at first, and after the first append."""


def finish(*words, **given):
    """Run a command, which must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, **given)
    assert done.returncode == 0, done.stderr


@pytest.mark.faults
def test_killed_client_loses_only_tiles_in_flight(X, cohort, store, expected, tally):
    with started(tally.on_client(gram_words(cohort, store, *SERIAL))) as (client,):
        wait_for(lambda: tiles_done(store) >= 5, "no tiles", client)
        kill(client)
    done = tiles_done(store)
    assert 5 <= done < TILES
    with pytest.raises(IncompleteGramError, match="run compute_gram again"):
        open_gram(store).to_numpy()
    assert "tiles done" in repr(open_gram(store))
    compute_gram(Kendall(), X, store=store, executor=2)
    assert last_run(store)["tiles_computed"] == TILES - done
    assert_undisturbed(store, expected)


@pytest.mark.faults
def test_cluster_serves_the_next_client_after_a_client_was_killed(cohort, store, expected, tally, tmp_path):
    with processes(tmp_path, tally) as cluster:
        cluster.worker()
        words = gram_words(cohort, store, "--scheduler-file", cluster.file)
        with started(words, env=surroundings()) as (client,):
            wait_for(lambda: tiles_done(store) >= 5, "no tiles", client)
            kill(client)
        done = tiles_done(store)
        finish(*words, env=surroundings())
    assert 5 <= done < TILES
    assert last_run(store)["tiles_computed"] == TILES - done
    assert TILES <= tally.started().total() <= TILES + WINDOW
    assert_undisturbed(store, expected)


@pytest.mark.faults
def test_two_clients_fill_one_store_and_leave_no_lock(cohort, store, expected, tally):
    words = tally.on_client(gram_words(cohort, store, *SERIAL))
    with started(words, words) as clients:
        assert [client.wait(120) for client in clients] == [0, 0]
    runs = open_gram(store).info()["runs"]
    assert [run["state"] for run in runs] == ["finished"] * len(runs)
    assert TILES <= sum(run["tiles_computed"] for run in runs) <= 2 * TILES
    assert_undisturbed(store, expected)
    assert {path.name for path in store.parent.iterdir()} == {store.name, "client.py", "tally", "tally.py"}
    files = {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}
    beside = [name for name in files - expected.keys() if not name.startswith(("rows/ids/c/", "rows/digests/c/"))]
    assert {Path(name).name for name in beside} == {"zarr.json"}


@pytest.mark.faults
def test_second_client_completes_the_store_when_the_first_is_killed(cohort, store, expected, tally):
    words = tally.on_client(gram_words(cohort, store, *SERIAL))
    with started(words, words) as (one, other):
        wait_for(lambda: tiles_done(store) >= 5, "no tiles", one, other)
        kill(one)
        assert other.wait(120) == 0
    assert last_run(store)["tiles_computed"] <= TILES
    assert_undisturbed(store, expected)


@pytest.fixture
def batches(X, store, tally, tmp_path):
    """Two commands that add the second and the third part of the cohort to a store of the first part."""
    compute_gram(Kendall(), X[:FIRST], store=store, tile=SIDE, executor=2)
    words = []
    for number, batch in enumerate((X[FIRST:SECOND], X[SECOND:])):
        np.save(tmp_path / f"{number}.npy", batch)
        words.append(tally.on_client(distkern("append", tmp_path / f"{number}.npy", store, "--quiet", *SERIAL)))
    return words


@pytest.mark.faults
def test_two_clients_add_the_same_samples_once(X, store, batches):
    with started(batches[0], batches[0]) as clients:
        assert [client.wait(120) for client in clients] == [0, 0]
    assert_grown(store, X[:SECOND], versions=2)


@pytest.mark.faults
def test_second_client_that_adds_other_samples_succeeds_or_is_refused(X, store, batches):
    with started(*batches) as clients:
        codes = [client.wait(120) for client in clients]
    assert sorted(codes) in ([0, 0], [0, 3])
    for words, code in zip(batches, codes, strict=True):
        if code:
            finish(*words)
    first = open_gram(store).info()["generations"][1]["shape"][0]  # the samples of the client that came first
    swapped = np.concatenate([X[:FIRST], X[SECOND:], X[FIRST:SECOND]])
    assert_grown(store, X if first == SECOND else swapped, versions=3)


@pytest.mark.faults
def test_client_killed_once_the_plan_has_changed_loses_nothing(X, store, batches):
    with started(batches[0]) as (client,):
        wait_for(lambda: [*store.glob(f"grown/{'[0-9a-f]' * 32}/zarr.json")], "no new plan", client)
        kill(client)
    for unfinished in store.rglob("*.partial"):
        os.utime(unfinished, (0, 0))  # recent ones could belong to another client, and are kept
    assert open_gram(store).shape == (SECOND, SECOND)
    finish(*batches[0])
    finish(*batches[1])
    assert_grown(store, X, versions=3)


def assert_grown(store, samples, versions):
    gram = open_gram(store)
    assert gram.verify() == []
    assert len(gram.info()["generations"]) == versions
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(samples))
    assert not [*store.rglob("*.partial")]


def libfaketime():
    """Find the library of Debian's `faketime`, which changes the clock of one process only."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        skip_or_fail("changing the clock of a process takes libfaketime (Debian's faketime)")
    return str(found[0])


@pytest.mark.faults
def test_clock_that_is_set_back_affects_only_the_logged_time_of_day(cohort, store, expected, tally, tmp_path):
    clock = tmp_path / "clock"
    clock.write_text("+0d")
    faked = {
        "LD_PRELOAD": libfaketime(),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",  # seconds between two reads of the file
        "NO_FAKE_STAT": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with started(tally.on_client(gram_words(cohort, store, *SERIAL)), env=surroundings(**faked)) as (client,):
        wait_for(lambda: tiles_done(store) >= 5, "no tiles", client)
        (tmp_path / "earlier").write_text("-400d")
        (tmp_path / "earlier").replace(clock)
        assert client.wait(120) == 0
    run = last_run(store)
    ago = datetime.fromisoformat(run["started"]) - datetime.fromisoformat(run["heard"])
    assert 399 <= ago.days <= 400
    assert run["tiles_computed"] == TILES
    assert 0 < run["task_seconds"] <= run["seconds"] < timedelta(days=399).total_seconds()
    assert 0 < run["tiles_per_second"] <= 1 / tally.seconds  # of which each tile takes at least so many
    assert open_gram(store).status()["state"] == "complete"
    assert_undisturbed(store, expected)
