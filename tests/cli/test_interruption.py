"""A run that is interrupted ends with exit code 5, and the same command completes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from distkern import Kendall, open_gram
from distkern.store.tiles import GramStore

# background jobs of a shell ignore SIGINT, and hand that on to what they start
_START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from distkern.cli.main import main
main()
"""


def test_interrupted_run_is_completed_by_the_same_command(tmp_path, run):
    X = np.random.default_rng(0).normal(size=(90, 20))
    np.save(tmp_path / "X.npy", X)
    store = tmp_path / "x.zarr"
    words = ["gram", str(tmp_path / "X.npy"), str(store), "--kernel", "kendall", "--tile", "4", "--threads", "1"]
    working = subprocess.Popen([sys.executable, "-c", _START, *words], stderr=subprocess.PIPE, text=True)
    _await_tiles(working, store)
    working.send_signal(signal.SIGINT)
    _, said = working.communicate(timeout=60)
    assert working.returncode == 5
    assert f"Error: interrupted: all finished results are in '{store}'" in said
    assert "Traceback" not in said
    info = open_gram(store).info()
    assert 0 < info["tiles_done"] < info["tiles"]
    assert "incomplete" in run("info", store).stdout
    assert run("evaluate", store, "--labels", tmp_path / "no.csv").exit_code == 3
    assert run(*words).exit_code == 0
    assert np.array_equal(open_gram(store).to_numpy(), Kendall()(X))
    runs = open_gram(store).info()["runs"]
    assert sum(run["tiles_computed"] for run in runs) <= info["tiles"] + 1
    assert runs[-1]["tiles_computed"] < info["tiles"]


def test_interrupted_workers_say_nothing(tmp_path):
    """Ctrl-C reaches the workers of a local cluster too, and it is the client that says what happened."""
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(300, 50)))
    store = tmp_path / "x.zarr"
    words = ["gram", str(tmp_path / "X.npy"), str(store), "--kernel", "kendall", "--tile", "4", "--workers", "1"]
    script = tmp_path / "start.py"  # worker processes import what started them
    script.write_text(_START.replace("main()\n", "if __name__ == '__main__':\n    main()\n"))
    started = [sys.executable, str(script), *words, "--quiet"]
    working = subprocess.Popen(started, stderr=subprocess.PIPE, text=True, start_new_session=True)
    _await_tiles(working, store)
    os.killpg(working.pid, signal.SIGINT)
    _, said = working.communicate(timeout=60)
    assert working.returncode == 5
    advice = f"all finished results are in '{store}', and the same command continues from there"
    assert said == f"Error: interrupted: {advice}\n"


@pytest.mark.parametrize(
    ("number", "options", "advised"),
    [
        (signal.SIGTERM, (), "the same command continues"),
        (signal.SIGINT, ("--overwrite",), "the same command without --overwrite continues"),
        (signal.SIGINT, ("--no-resume",), "the same command without --no-resume continues"),
    ],
)
def test_advice_after_an_interruption_keeps_the_work(tmp_path, run, monkeypatch, number, options, advised):
    write = GramStore.write_tile

    def interrupted(self, i, j, values):
        if (i, j) == (1, 1):
            os.kill(os.getpid(), number)
            time.sleep(0.2)  # the signal interrupts the main thread, which waits for this one
        return write(self, i, j, values)

    monkeypatch.setattr(GramStore, "write_tile", interrupted)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(30, 10)))
    store = tmp_path / "x.zarr"
    words = ["gram", tmp_path / "X.npy", store, "--kernel", "kendall", "--tile", "4", "--threads", "1"]
    done = run(*words, *options)
    assert done.exit_code == 5
    assert f"Error: interrupted: all finished results are in '{store}', and {advised} from there\n" in done.stderr
    info = open_gram(store).info()
    assert 0 < info["tiles_done"] < info["tiles"]
    monkeypatch.undo()
    assert run(*words).exit_code == 0
    assert open_gram(store).info()["runs"][-1]["tiles_computed"] < info["tiles"]


def _await_tiles(working, store):
    """Wait until a process has computed three tiles, so that there is something to keep."""
    while working.poll() is None and not (store.exists() and open_gram(store).info()["tiles_done"] > 2):
        time.sleep(0.05)
