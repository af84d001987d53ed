"""``distkern status`` looks at a store from another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from distkern import Kendall, compute_gram
from distkern.store.runs import read_runs, run_names, write_run
from distkern.store.tiles import GramStore

RUNNING = """
import sys, numpy as np, distkern as dk
X = np.random.default_rng(0).normal(size=(60, 20_000))
dk.compute_gram(dk.Kendall(), X, store=sys.argv[1], tile=6, executor="serial")
"""


def test_complete_store_is_complete(run, store):
    said = run("status", store)
    assert said.exit_code == 0
    assert "state       complete" in said.stdout
    assert "6 of 6 done (100.0%)" in said.stdout
    assert "planned a task" in said.stdout
    found = json.loads(run("status", store, "--json").stdout)
    assert (found["state"], found["tiles_done"], found["run"]["tasks_failed"]) == ("complete", 6, 0)


@pytest.mark.faults
def test_run_of_another_process_is_running_and_after_a_kill_silent(run, tmp_path):
    path = tmp_path / "k.zarr"
    working = subprocess.Popen([sys.executable, "-c", RUNNING, str(path)])
    deadline = time.monotonic() + 60
    found = None
    while not (found and found["tiles_done"] >= 3 and found["alive"]):
        assert working.poll() is None
        assert time.monotonic() < deadline
        said = run("status", path, "--json") if path.exists() else None
        found = json.loads(said.stdout) if said and said.exit_code == 0 else None
        time.sleep(0.1)
    assert found["state"] == "running"
    assert found["run"]["phase"] in ("prepare rows", "compute tiles")
    assert found["run"]["client"].endswith(f":{working.pid}")
    os.kill(working.pid, signal.SIGKILL)
    working.wait()
    killed = GramStore.opened(path)
    name, last = run_names(killed)[-1], read_runs(killed)[-1]
    write_run(killed, name, replace(last, heard="2020-01-01T00:00:00+00:00"))  # long ago
    assert "silent: the same `distkern gram` continues" in run("status", path).stdout


def test_status_and_info_name_failures(run, tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    write = GramStore.write_tile

    def broken(self, i, j, values):
        if (i, j) == (0, 1):
            raise RuntimeError("odd")
        return write(self, i, j, values)

    monkeypatch.setattr(GramStore, "write_tile", broken)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(12, 9)))
    words = ("gram", tmp_path / "X.npy", path, "--kernel", "kendall", "--tile", "4", "--threads", "1")
    ended = run(*words)
    name = "tile (0, 1) (rows 0–3, columns 4–7)"
    assert ended.exit_code == 4
    assert f"Error: {name} failed with RuntimeError: odd; all else is stored" in ended.stderr
    for command in ("status", "info"):
        assert f"{name}: RuntimeError: odd" in run(command, path).stdout
    assert "ended with an error: the same `distkern gram` continues" in run("status", path).stdout
    assert "5 of 6 done" in run("status", path).stdout
    monkeypatch.undo()
    assert run(*words).exit_code == 0
    assert "state       complete" in run("status", path).stdout


def test_watching_ends_when_the_matrix_is_complete(run, tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    X = np.random.default_rng(0).normal(size=(12, 9))
    compute_gram(Kendall(), X, store=path, tile=4, executor="serial")
    GramStore.opened(path).clear_checksums([(0, 1)])
    looks = []

    def meanwhile(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            compute_gram(Kendall(), X, store=path, executor="serial")

    monkeypatch.setattr("distkern.cli.status.time.sleep", meanwhile)
    lines = run("status", path, "--watch", "--json").stdout.splitlines()
    assert [json.loads(line)["tiles_done"] for line in lines] == [5, 5, 6]
    assert run("status", path, "--watch").stdout.count("complete") == 1


def test_missing_store_is_refused(run, tmp_path):
    said = run("status", tmp_path / "none.zarr")
    assert said.exit_code == 3
    assert "there is no store" in said.stderr


def test_store_at_landmarks_has_a_status(tmp_path, run):
    X = np.random.default_rng(0).normal(size=(30, 10))
    compute_gram(Kendall(), X, store=tmp_path / "l.zarr", landmarks=5)
    assert "complete" in run("status", tmp_path / "l.zarr").stdout
