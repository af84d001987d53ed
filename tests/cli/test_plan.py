from __future__ import annotations

import json

import numpy as np


def test_plan_computes_nothing(cohort, run):
    words = (cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall", "--tile", 10)
    dry, planned = run("gram", *words, "--dry-run"), run("plan", *words)
    assert dry.exit_code == 0
    timeless = [[line for line in one.stdout.splitlines() if "about" not in line] for one in (dry, planned)]
    assert timeless[0] == timeless[1]
    assert "6 of side 10" in dry.stdout
    assert not (cohort / "x.zarr").exists()
    plan = json.loads(run("plan", *words, "--json").stdout)
    assert (plan["tiles"], plan["tiles_done"], plan["shape"]) == (6, 0, [24, 24])


def test_plan_for_many_workers_starts_none(cohort, run, monkeypatch):
    from distkern.engine.dask import cluster

    monkeypatch.setattr(cluster, "local_client", None)
    words = ("plan", cohort / "rows.csv", "--samples", "rows", "--kernel", "kendall", "--workers", 500)
    planned = run(*words, "--memory-limit", "1GiB")
    assert planned.exit_code == 0, planned.stderr
    assert "500 workers of one thread each" in planned.stdout
    assert "worker-hours" in planned.stdout
    assert json.loads(run(*words, "--json").stdout)["workers"] == 500


def test_plan_counts_the_tiles_that_are_done(cohort, run, store):
    words = ("plan", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--tile", 7)
    assert "6 of side 10, 6 of them done" in run(*words, "--ties", "b").stdout
    assert "6 of side 10, 6 of them done" in run(*words).stdout  # tau-a is made of the same integers
    words = (*words[:5], "--kernel", "linear", "--tile", 7)
    other = run(*words)
    assert other.exit_code == 3
    assert "holds another computation (another kernel and dtype)" in other.stderr
    assert "10 of side 7" in run(*words, "--overwrite").stdout


def test_plan_refuses_several_executors_as_the_computation_does(run, tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    for command in ("plan", "gram"):
        done = run(
            command, tmp_path / "X.npy", tmp_path / "x.zarr", "--kernel", "linear", "--workers", "4", "--threads", "2"
        )
        assert done.exit_code == 2
        assert "--workers and --threads exclude each other" in done.stderr
