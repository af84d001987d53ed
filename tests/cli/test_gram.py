from __future__ import annotations

import json

import numpy as np
import pytest

from distkern import Gaussian, Kendall, open_gram


def test_values_do_not_depend_on_the_file_format(cohort, run):
    inputs = [
        ("rows.csv", "--samples", "rows"),
        ("columns.csv", "--samples", "columns", "--label", "relapse"),
        ("cohort.npz",),
        ("X.npy",),
    ]
    for name, *options in inputs:
        result = run("gram", cohort / name, cohort / f"{name}.zarr", "--kernel", "kendall", "--ties", "b", *options)
        assert result.exit_code == 0
        gram = open_gram(cohort / f"{name}.zarr")
        assert np.array_equal(gram.to_numpy(), Kendall(ties="b")(cohort.X))
        assert name == "X.npy" or list(gram.ids) == cohort.ids


def test_kernel_of_the_same_integers_computes_nothing(cohort, run, store):
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "mallows", "--param", "lam=2")
    again = run(*words)
    assert again.exit_code == 0
    assert "nothing was computed" in again.stderr
    assert "Mallows(lam=2" in again.stdout


def test_spec_without_a_kernel_is_wrong_usage(cohort, run):
    result = run("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", '{"kernel": ["kendall"]}')
    assert result.exit_code == 2
    assert "needs the name of the kernel" in result.stderr


def test_results_go_to_stdout_and_progress_to_stderr(cohort, run):
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "linear", "--tile", 10)
    loud = run(*words)
    assert "complete 24 × 24 Gram matrix of Linear(), 6 tiles" in loud.stdout
    assert "compute tiles: 6 of 6" in loud.stderr
    quiet = run(*words, "--overwrite", "--quiet")
    assert quiet.stdout == loud.stdout
    assert quiet.stderr == ""


def test_complete_store_is_reported_as_json_and_not_recomputed(cohort, run, store):
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--ties", "b")
    again = run(*words)
    assert "nothing was computed" in again.stderr
    info = json.loads(run(*words, "--json").stdout)
    assert info["complete"]
    assert len(info["runs"]) == 1
    refused = run(*words, "--no-resume")
    assert refused.exit_code == 3
    assert "leave out --no-resume" in refused.stderr


def test_kernel_against_training_samples(cohort, run):
    new = cohort.write("new.csv", cohort.X[:3] + 1, ["a", "b", "c"])
    words = ("--against", cohort / "rows.csv", "--samples", "rows", "--kernel", "gaussian", "--param", "sigma=2")
    assert run("gram", new, cohort / "new.zarr", *words).exit_code == 0
    gram = open_gram(cohort / "new.zarr")
    assert gram.shape == (3, 24)
    assert np.array_equal(gram.to_numpy(), Gaussian(sigma=2)(cohort.X[:3] + 1, cohort.X))
    assert "test × training" in run("info", cohort / "new.zarr").stdout


def test_column_of_labels_in_one_of_two_files_is_left_out(cohort, run):
    lines = (cohort / "rows.csv").read_text().splitlines()
    labelled = [f"{line},{label}" for line, label in zip(lines, ["relapse", *cohort.relapse], strict=True)]
    (cohort / "labelled.csv").write_text("\n".join(labelled) + "\n")
    words = ("--samples", "rows", "--kernel", "linear", "--label", "relapse")
    assert (
        run("gram", cohort / "rows.csv", cohort / "1.zarr", "--against", cohort / "labelled.csv", *words).exit_code == 0
    )
    assert (
        run("gram", cohort / "labelled.csv", cohort / "2.zarr", "--against", cohort / "rows.csv", *words).exit_code == 0
    )
    both = [open_gram(cohort / f"{number}.zarr").to_numpy() for number in (1, 2)]
    assert np.array_equal(*both)


@pytest.mark.slow
def test_local_cluster_gives_the_same_bits(cohort, run, store):
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall", "--ties", "b", "--tile", 5)
    assert run(*words, "--workers", 1).exit_code == 0
    assert np.array_equal(open_gram(cohort / "x.zarr").to_numpy(), open_gram(store).to_numpy())
    assert "Dask cluster" in open_gram(cohort / "x.zarr").info()["runs"][0]["executor"]


def test_landmarks_are_planned_computed_and_reported_with_their_error(cohort, run):
    words = (
        cohort / "X.npy",
        cohort / "x.zarr",
        "--kernel",
        "linear",
        "--landmarks",
        6,
        "--landmark-choice",
        "leverage",
    )
    planned = run("plan", *words)
    assert "24 × 6 float64, all samples × landmarks (6 by leverage, seed 0)" in planned.stdout
    done = run("gram", *words)
    assert done.exit_code == 0, done.stderr
    gram = open_gram(cohort / "x.zarr")
    assert f"by landmarks (6 by leverage, seed 0): {gram.error()}" in done.stdout
    again = run("gram", *words, "--json")
    assert json.loads(again.stdout)["error"] == gram.error().to_dict()
    assert "done" in run("plan", *words).stdout
    described = run("info", cohort / "x.zarr").stdout
    assert "24 × 24 float64, symmetric" in described
    assert "6 by leverage, seed 0; only their columns are stored, 24 × 6" in described
    other = run("gram", *words, "--landmark-seed", 1)
    assert other.exit_code == 3
    assert "landmarks" in other.stderr
    assert run("verify", cohort / "x.zarr").exit_code == 0


def test_missing_values_are_refused_or_treated_as_asked(cohort, run):
    X = cohort.X.copy()
    X[3, 2] = np.nan
    np.save(cohort / "gaps.npy", X)
    words = ("gram", cohort / "gaps.npy", cohort / "gaps.zarr", "--kernel", "kendall", "--ties", "b")
    refused = run(*words)
    assert refused.exit_code == 3
    assert "has no value (NaN)" in refused.stderr
    planned = run(*words, "--missing", "drop-features", "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert "left out 1 feature with missing values" in run(*words, "--missing", "drop-features").stdout
    assert "14 (1 left out)" in run("info", cohort / "gaps.zarr").stdout
    expected = Kendall(ties="b")(np.delete(X, 2, axis=1))
    assert np.array_equal(open_gram(cohort / "gaps.zarr").to_numpy(), expected)
    again = run(*words, "--missing", "interleaving", "--overwrite")
    assert again.exit_code == 0, again.stderr
    assert open_gram(cohort / "gaps.zarr").kernel.name == "normalized"
