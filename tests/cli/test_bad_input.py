"""Whatever is wrong with the input ends in one line that names the culprit, exit code 3, and no store."""

from __future__ import annotations

import json

import numpy as np
import pytest


def _failed(result, *said):
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
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
def test_a_bad_cell(cohort, run, value, said):
    cells = cohort.X.astype(object)
    cells[3, 4] = value
    file = cohort.write("bad.csv", cells)
    result = run("gram", file, cohort / "x.zarr", "--samples", "rows", "--kernel", "kendall")
    _failed(result, said, "" if "header" in said else "'p03'", "" if "header" in said else "'g4'")
    assert not (cohort / "x.zarr").exists()


def test_features_in_another_order(cohort, run):
    cohort.genes.reverse()
    turned = cohort.write("turned.csv", cohort.X[:3, ::-1], ["a", "b", "c"])
    words = ("--against", cohort / "rows.csv", "--samples", "rows", "--kernel", "kendall")
    _failed(run("gram", turned, cohort / "x.zarr", *words), "same features in another order", "number 0 is 'g14'")
    assert not (cohort / "x.zarr").exists()


def test_an_infinite_value_in_a_binary_file(cohort, run):
    cohort.X[3, 4] = np.inf
    np.save(cohort / "X.npy", cohort.X)
    _failed(run("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall"), "number 3", "infinite")


def test_a_constant_sample(cohort, run):
    cohort.X[5] = 1
    words = ("gram", cohort.write("bad.csv", cohort.X), cohort / "x.zarr", "--samples", "rows", "--kernel", "kendall")
    _failed(run(*words, "--ties", "b"), "'p05' is constant", "--ties zero")
    assert run(*words).exit_code == 0


def test_repeated_ids(cohort, run):
    file = cohort.write("bad.csv", cohort.X, ["p01", *cohort.ids[1:]])
    _failed(run("gram", file, cohort / "x.zarr", "--samples", "rows", "--kernel", "kendall"), "'p01'", "unique")


def test_orientation_must_be_said(cohort, run):
    result = run("gram", cohort / "rows.csv", cohort / "x.zarr", "--kernel", "kendall")
    _failed(result, "24 rows ('p00'", "15 columns ('g0'", "--samples rows or --samples columns")


def test_a_transposed_matrix_is_seen_by_its_labels(cohort, run):
    words = (cohort / "x.zarr", "--samples", "columns", "--kernel", "kendall")
    named = run("gram", cohort / "rows.csv", *words, "--labels", cohort / "clinical.csv", "--label", "relapse")
    _failed(named, "looks transposed", "--samples rows")
    assert run("gram", cohort / "rows.csv", *words).exit_code == 0
    later = run("evaluate", cohort / "x.zarr", "--labels", cohort / "clinical.csv", "--label", "relapse")
    _failed(later, "none of the 15 samples", "its ids begin 'p00'", "those of the store 'g0'", "transposed")


def test_a_file_that_is_not_there(cohort, run):
    _failed(run("gram", cohort / "no.csv", cohort / "x.zarr", "--kernel", "kendall"), "no.csv", "check the path")


def test_another_computation_in_the_store(cohort, run, store):
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "linear")
    _failed(run(*words), "another computation", '"linear"', "--overwrite")
    assert run(*words, "--overwrite").exit_code == 0


@pytest.mark.parametrize("command", ["info", "verify", "evaluate", "report", "gram", "plan"])
def test_a_store_of_another_version(cohort, run, store, command):
    file = store / "zarr.json"
    about = json.loads(file.read_text())
    about["attributes"]["distkern"]["format"] = 99
    file.write_text(json.dumps(about))
    words = {
        "evaluate": ("evaluate", store, "--labels", cohort / "clinical.csv"),
        "report": ("report", store, "--out", cohort / "page.html"),
    } | {name: (name, cohort / "X.npy", store, "--kernel", "kendall") for name in ("gram", "plan")}
    _failed(run(*words.get(command, (command, store))), "has store format 99", "reads format 1")


@pytest.mark.parametrize("command", ["gram", "plan"])
def test_a_path_below_a_file(cohort, run, command):
    below = cohort / "rows.csv" / "deep" / "x.zarr"
    _failed(run(command, cohort / "X.npy", below, "--kernel", "kendall"), "cannot be written", "'rows.csv' is a file")


def test_nothing_else_is_overwritten(cohort, run):
    words = ("gram", cohort / "X.npy", cohort.folder, "--kernel", "kendall")
    _failed(run(*words), "is not a distkern store")
    _failed(run(*words, "--overwrite"), "is not a distkern store")
    _failed(run("info", cohort / "X.npy"), "is a file, and a store is a folder")
    assert (cohort / "X.npy").exists()


def test_limits(cohort, run):
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall")
    _failed(run(*words, "--memory-limit", "100B"), "takes", "may take")
    assert run(*words, "--memory-limit", "much").exit_code == 2
    assert run(*words, "--memory-limit", "0GiB").exit_code == 2
    assert run(*words, "--sep", "ab").exit_code == 2
    assert run(*words, "--workers", "1", "--threads", "1").exit_code == 2


def test_no_scheduler_answers(cohort, run, monkeypatch):
    from distkern.engine.dask import preflight

    monkeypatch.setattr(preflight, "PATIENCE", 1.0)
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall", "--scheduler", "tcp://127.0.0.1:9")
    _failed(run(*words), "no Dask scheduler answers at 'tcp://127.0.0.1:9'")
