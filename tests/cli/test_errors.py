"""A failed command ends with one line on stderr that names the culprit, and an exit code for scripts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from distkern import Kendall, open_gram
from distkern.cli.main import main
from distkern.core.errors import MemoryLimitError, MissingExtraError, StoreError, TaskError
from distkern.store.tiles import GramStore


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreError("it is damaged"), 3),
        (MemoryLimitError("it is too large"), 3),
        (MissingExtraError.of("this", "io"), 3),
        (PermissionError(13, "Permission denied", "x.csv"), 3),
        (MemoryError(), 3),
        (TaskError("a task failed"), 4),
        (TimeoutError("no answer"), 4),
        (KeyboardInterrupt(), 5),
        (ZeroDivisionError("division by zero"), 1),
    ],
)
def test_error_is_one_line_with_its_exit_code(run, monkeypatch, error, code):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr("distkern.cli.info.open_store", fail)
    result = run("info", "x.zarr")
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_bug_shows_its_traceback_on_request(run, monkeypatch):
    monkeypatch.setattr("distkern.cli.info.open_store", lambda store: 1 // 0)
    assert "`distkern --debug ...` shows the traceback" in run("info", "x.zarr").stderr
    result = CliRunner().invoke(main, ["--debug", "info", "x.zarr"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "ZeroDivisionError" in result.stderr


@pytest.mark.filterwarnings("default")
def test_warning_is_one_line(run, monkeypatch):
    def warn(store):
        warnings.warn("features look like\ndates", UserWarning, stacklevel=1)
        raise StoreError("stop")

    monkeypatch.setattr("distkern.cli.info.open_store", warn)
    assert run("info", "x.zarr").stderr == "Warning: features look like dates\nError: stop\n"


# Bad input ---------------------------------------------------------------------------------------------------------


def _failed(result, *said):
    assert result.exit_code == 3
    assert result.stdout == ""
    *before, last = result.stderr.splitlines()
    assert last.startswith("Error: ")
    assert all(re.match(r".*: [\d,]+ features × [\d,]+ samples, ", line) for line in before)  # what was read until then
    for text in said:
        assert text in result.stderr


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "no value (NaN)"),
        ("nan", "no value (NaN)"),
        ("inf", "infinite value"),
        ("high", "the text 'high'"),
        ("1,5", "header names 15 columns"),
    ],
)
def test_bad_cell_is_named_by_sample_and_feature(cohort, run, value, said):
    cells = cohort.X.astype(object)
    cells[3, 4] = value
    file = cohort.write("bad.csv", cells)
    result = run("gram", file, cohort / "x.zarr", "--samples", "rows", "--kernel", "kendall")
    _failed(result, said, "" if "header" in said else "'p03'", "" if "header" in said else "'g4'")
    assert not (cohort / "x.zarr").exists()


def test_missing_features_are_refused_by_name(cohort, run):
    del cohort.genes[:2]
    fewer = cohort.write("fewer.csv", cohort.X[:3, 2:], ["a", "b", "c"])
    words = ("--against", cohort / "rows.csv", "--samples", "rows", "--kernel", "kendall")
    _failed(run("gram", fewer, cohort / "x.zarr", *words), "X lacks 2 of the 15 features", "'g0', 'g1'")
    assert not (cohort / "x.zarr").exists()


def test_infinite_value_in_binary_file_is_refused(cohort, run):
    cohort.X[3, 4] = np.inf
    np.save(cohort / "X.npy", cohort.X)
    _failed(run("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall"), "number 3", "infinite")


def test_constant_sample_is_refused_with_a_kernel_that_accepts_it(cohort, run):
    cohort.X[5] = 1
    words = ("gram", cohort.write("bad.csv", cohort.X), cohort / "x.zarr", "--samples", "rows", "--kernel", "kendall")
    _failed(run(*words, "--ties", "b"), "'p05' is constant", "--ties zero")
    assert run(*words).exit_code == 0


def test_repeated_ids_are_refused(cohort, run):
    file = cohort.write("bad.csv", cohort.X, ["p01", *cohort.ids[1:]])
    _failed(run("gram", file, cohort / "x.zarr", "--samples", "rows", "--kernel", "kendall"), "'p01'", "unique")


def test_text_table_needs_an_orientation(cohort, run):
    result = run("gram", cohort / "rows.csv", cohort / "x.zarr", "--kernel", "kendall")
    _failed(result, "24 rows ('p00'", "15 columns ('g0'", "--samples rows or --samples columns")


def test_transposed_matrix_is_recognised_by_its_labels(cohort, run):
    words = (cohort / "x.zarr", "--samples", "columns", "--kernel", "kendall")
    named = run("gram", cohort / "rows.csv", *words, "--labels", cohort / "clinical.csv", "--label", "relapse")
    _failed(named, "looks transposed", "--samples rows")
    assert run("gram", cohort / "rows.csv", *words).exit_code == 0
    later = run("evaluate", cohort / "x.zarr", "--labels", cohort / "clinical.csv", "--label", "relapse")
    _failed(later, "none of the 15 samples", "its ids begin 'p00'", "those of the store 'g0'", "transposed")


def test_missing_file_is_refused(cohort, run):
    _failed(run("gram", cohort / "no.csv", cohort / "x.zarr", "--kernel", "kendall"), "no.csv", "check the path")


def test_store_of_another_computation_is_kept(cohort, run, store):
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "linear")
    _failed(run(*words), "another computation", '"linear"', "--overwrite")
    assert run(*words, "--overwrite").exit_code == 0


@pytest.mark.parametrize("command", ["info", "verify", "evaluate", "report", "gram", "plan"])
def test_store_of_another_format_version_is_refused(cohort, run, store, command):
    file = store / "zarr.json"
    about = json.loads(file.read_text())
    about["attributes"]["distkern"]["format"] = 99
    file.write_text(json.dumps(about))
    words = {
        "evaluate": ("evaluate", store, "--labels", cohort / "clinical.csv"),
        "report": ("report", store, "--out", cohort / "page.html"),
    } | {name: (name, cohort / "X.npy", store, "--kernel", "kendall") for name in ("gram", "plan")}
    _failed(run(*words.get(command, (command, store))), "has store format 99", "reads formats 1 and 2")


def test_limits_and_exclusive_options_are_checked(cohort, run):
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall")
    _failed(run(*words, "--memory-limit", "100B"), "takes", "may take")
    assert run(*words, "--memory-limit", "much").exit_code == 2
    assert run(*words, "--memory-limit", "0GiB").exit_code == 2
    assert run(*words, "--sep", "ab").exit_code == 2
    assert run(*words, "--workers", "1", "--threads", "1").exit_code == 2


def test_unreachable_scheduler_is_named(cohort, run, monkeypatch):
    from distkern.engine.dask import preflight

    monkeypatch.setattr(preflight, "PATIENCE", 1.0)
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall", "--scheduler", "tcp://127.0.0.1:9")
    _failed(run(*words), "no Dask scheduler answers at 'tcp://127.0.0.1:9'")


@pytest.mark.parametrize("command", ["gram", "plan"])
def test_path_below_a_file_is_refused(cohort, run, command):
    below = cohort / "rows.csv" / "deep" / "x.zarr"
    _failed(run(command, cohort / "X.npy", below, "--kernel", "kendall"), "cannot be written", "'rows.csv' is a file")


def test_only_stores_are_overwritten(cohort, run):
    words = ("gram", cohort / "X.npy", cohort.folder, "--kernel", "kendall")
    _failed(run(*words), "is not a distkern store")
    _failed(run(*words, "--overwrite"), "is not a distkern store")
    _failed(run("info", cohort / "X.npy"), "is a file, and a store is a folder")
    assert (cohort / "X.npy").exists()


# Interruption ------------------------------------------------------------------------------------------------------

# background jobs of a shell ignore SIGINT, and so do their child processes
_START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from distkern.cli.main import main
main()
"""


@pytest.mark.faults
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


@pytest.mark.slow
def test_interrupted_workers_print_nothing(tmp_path):
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
        pytest.param(
            signal.SIGINT, ("--no-resume",), "the same command without --no-resume continues", marks=pytest.mark.slow
        ),
    ],
)
def test_advice_after_an_interruption_keeps_the_work(tmp_path, run, monkeypatch, number, options, advised):
    write = GramStore.write_tile

    def interrupted(self, i, j, values):
        if (i, j) == (1, 1):
            os.kill(os.getpid(), number)
        if (i, j) >= (1, 1):
            time.sleep(0.2)  # the signal interrupts the main thread, which waits for this one; no further tile starts
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


# Errors of a user's file that no one foresaw -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("by zero"), "cannot be read (ZeroDivisionError: by zero): check that it is whole"),
        (KeyError("obs"), "cannot be read (KeyError: 'obs')"),
        (OSError("truncated"), "cannot be read (OSError: truncated)"),
        (RecursionError(), "cannot be read (RecursionError)"),
        (MemoryError("72 TiB"), "does not fit in memory (MemoryError: 72 TiB)"),
    ],
)
def test_unforeseen_error_of_a_file_names_the_file(cohort, run, monkeypatch, error, said):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr("distkern.io.formats.text_tables.read_numbers", fail)
    result = run("gram", cohort / "rows.csv", cohort / "x.zarr", "--samples", "rows", "--kernel", "linear")
    assert result.exit_code == 3
    assert f"'rows.csv' {said}" in result.stderr
    assert result.stderr.count("\n") == 1


def test_error_elsewhere_is_still_a_bug(cohort, run, monkeypatch):
    monkeypatch.setattr("distkern.build.compute.make_plan", lambda *args, **options: 1 // 0)
    result = run("gram", cohort / "rows.csv", cohort / "x.zarr", "--samples", "rows", "--kernel", "linear")
    assert result.exit_code == 1
    assert "this is a bug in distkern" in result.stderr


def test_lack_of_memory_names_the_options_of_the_command(run, monkeypatch):
    def fail(*args, **options):
        raise MemoryError("72 TiB")

    monkeypatch.setattr("distkern.cli.info.open_store", fail)
    assert "--" not in run("info", "x.zarr").stderr
