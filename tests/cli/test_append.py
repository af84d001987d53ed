from __future__ import annotations

import json

import numpy as np
import pytest

from distkern import Kendall, Linear, append_gram, compute_gram, open_gram


def test_append_adds_samples_and_computes_only_theirs(cohort, run):
    cohort.write("first.csv", cohort.X[:15])
    cohort.write("second.csv", cohort.X[15:], cohort.ids[15:])
    words = ("--samples", "rows", "--kernel", "kendall", "--tile", 5)
    assert run("gram", cohort / "first.csv", cohort / "grown.zarr", *words).exit_code == 0
    done = run("append", cohort / "second.csv", cohort / "grown.zarr", "--samples", "rows")
    assert done.exit_code == 0, done.stderr
    assert "9 samples added, 24 × 24 Gram matrix complete" in done.stdout
    assert "computed 9 tiles" in done.stderr
    gram = open_gram(cohort / "grown.zarr")
    assert np.array_equal(gram.to_numpy(), Kendall()(cohort.X))
    assert list(gram.ids) == cohort.ids
    again = run("append", cohort / "second.csv", cohort / "grown.zarr", "--samples", "rows")
    assert again.exit_code == 0
    assert "0 samples added" in again.stdout
    assert run("append", cohort / "rows.csv", cohort / "grown.zarr", "--samples", "rows").exit_code == 3
    assert json.loads(run("info", cohort / "grown.zarr", "--json").stdout)["samples"] == [24, 24]


def test_append_is_advised_after_an_interrupted_append(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 5))
    np.save(tmp_path / "old.npy", X[:8])
    store = tmp_path / "x.zarr"
    compute_gram(Linear(), X[:8], store=store, tile=2)

    def interrupt(event):
        if event.phase == "compute tiles" and event.done > 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        append_gram(store, X[8:], executor="serial", progress=interrupt)
    for command in ("status", "info", "verify"):
        assert "the same `distkern append` continues" in (done := run(command, store)).stdout + done.stderr, command
    again = run("gram", tmp_path / "old.npy", store, "--kernel", "linear", "--tile", "2")
    assert again.exit_code == 3
    assert "run `distkern append` again as before" in again.stderr
    assert "--overwrite" not in again.stderr
