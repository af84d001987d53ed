from __future__ import annotations

import json

import click
import numpy as np
import pytest

from distkern import Gaussian, Kendall, Linear, Mallows, open_gram
from distkern.cli.kernels import kernel_of


def test_values_are_the_kernels_whatever_the_file(cohort, run):
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


def test_a_kernel_of_the_same_integers_needs_no_work(cohort, run, store):
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "mallows", "--param", "lam=2")
    again = run(*words)
    assert again.exit_code == 0
    assert "nothing was computed" in again.stderr
    assert "Mallows(lam=2" in again.stdout


def test_a_spec_that_names_no_kernel_is_wrong_usage(cohort, run):
    result = run("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", '{"kernel": ["kendall"]}')
    assert result.exit_code == 2
    assert "needs the name of the kernel" in result.stderr


def test_a_tilde_is_a_home_wherever_a_path_is_given(cohort, run, monkeypatch):
    monkeypatch.setenv("HOME", str(cohort.folder))
    words = ("--samples", "rows", "--kernel", "linear", "--against", "~/rows.csv", "--labels", "~/clinical.csv")
    done = run("gram", "~/rows.csv", "~/home.zarr", *words, "--label", "relapse")
    assert done.exit_code == 0, done.stderr
    assert open_gram(cohort / "home.zarr").shape == (24, 24)
    assert run("info", "~/home.zarr").exit_code == 0
    assert run("gram", "~/X.npy", "~/npy.zarr", "--kernel", "linear").exit_code == 0


def test_results_on_stdout_and_progress_on_stderr(cohort, run):
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "linear", "--tile", 10)
    loud = run(*words)
    assert "complete 24 × 24 Gram matrix of Linear(), 6 tiles" in loud.stdout
    assert "compute tiles: 6 of 6" in loud.stderr
    quiet = run(*words, "--overwrite", "--quiet")
    assert quiet.stdout == loud.stdout
    assert quiet.stderr == ""


def test_json_and_resuming(cohort, run, store):
    words = ("gram", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--ties", "b")
    again = run(*words)
    assert "nothing was computed" in again.stderr
    info = json.loads(run(*words, "--json").stdout)
    assert info["complete"]
    assert len(info["runs"]) == 1
    refused = run(*words, "--no-resume")
    assert refused.exit_code == 3
    assert "leave out --no-resume" in refused.stderr


def test_against_training_samples(cohort, run):
    new = cohort.write("new.csv", cohort.X[:3] + 1, ["a", "b", "c"])
    words = ("--against", cohort / "rows.csv", "--samples", "rows", "--kernel", "gaussian", "--param", "sigma=2")
    assert run("gram", new, cohort / "new.zarr", *words).exit_code == 0
    gram = open_gram(cohort / "new.zarr")
    assert gram.shape == (3, 24)
    assert np.array_equal(gram.to_numpy(), Gaussian(sigma=2)(cohort.X[:3] + 1, cohort.X))
    assert "test × training" in run("info", cohort / "new.zarr").stdout


def test_against_training_samples_with_a_column_of_labels(cohort, run):
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


def test_a_local_cluster_gives_the_same_bits(cohort, run, store):
    words = ("gram", cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall", "--ties", "b", "--tile", 5)
    assert run(*words, "--workers", 1).exit_code == 0
    assert np.array_equal(open_gram(cohort / "x.zarr").to_numpy(), open_gram(store).to_numpy())
    assert "Dask cluster" in open_gram(cohort / "x.zarr").info()["runs"][0]["executor"]


def test_the_plan_computes_nothing(cohort, run):
    words = (cohort / "X.npy", cohort / "x.zarr", "--kernel", "kendall", "--tile", 10)
    dry, planned = run("gram", *words, "--dry-run"), run("plan", *words)
    assert dry.exit_code == 0
    timeless = [[line for line in one.stdout.splitlines() if "about" not in line] for one in (dry, planned)]
    assert timeless[0] == timeless[1]
    assert "6 of side 10" in dry.stdout
    assert not (cohort / "x.zarr").exists()
    plan = json.loads(run("plan", *words, "--json").stdout)
    assert (plan["tiles"], plan["tiles_done"], plan["shape"]) == (6, 0, [24, 24])


def test_a_plan_for_many_workers_starts_none(cohort, run, monkeypatch):
    from distkern.engine.dask import cluster

    monkeypatch.setattr(cluster, "local_client", None)
    words = ("plan", cohort / "rows.csv", "--samples", "rows", "--kernel", "kendall", "--workers", 500)
    planned = run(*words, "--memory-limit", "1GiB")
    assert planned.exit_code == 0, planned.stderr
    assert "500 workers of one thread each" in planned.stdout
    assert "worker-hours" in planned.stdout
    assert json.loads(run(*words, "--json").stdout)["workers"] == 500


def test_the_plan_looks_at_what_is_there(cohort, run, store):
    words = ("plan", cohort / "rows.csv", store, "--samples", "rows", "--kernel", "kendall", "--tile", 7)
    assert "6 of side 10, 6 of them done" in run(*words, "--ties", "b").stdout
    assert "6 of side 10, 6 of them done" in run(*words).stdout  # tau-a is made of the same integers
    words = (*words[:5], "--kernel", "linear", "--tile", 7)
    other = run(*words)
    assert other.exit_code == 3
    assert "holds another computation (another kernel and dtype)" in other.stderr
    assert "10 of side 7" in run(*words, "--overwrite").stdout


def test_landmarks_and_their_error(cohort, run):
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
    assert run("gram", *words, "--dry-run").stdout == planned.stdout
    done = run("gram", *words)
    assert done.exit_code == 0, done.stderr
    gram = open_gram(cohort / "x.zarr")
    assert f"by landmarks (6 by leverage, seed 0): {gram.error()}" in done.stdout
    again = run("gram", *words, "--json")
    assert json.loads(again.stdout)["error"] == gram.error().to_dict()
    assert "done" in run("plan", *words).stdout
    told = run("info", cohort / "x.zarr").stdout
    assert "24 × 24 float64, symmetric" in told
    assert "6 by leverage, seed 0; the 24 × 6 part at them is stored" in told
    other = run("gram", *words, "--landmark-seed", 1)
    assert other.exit_code == 3
    assert "landmarks" in other.stderr
    assert run("verify", cohort / "x.zarr").exit_code == 0


def test_kernels_from_words():
    assert kernel_of("kendall", "b", ()) == Kendall(ties="b")
    assert kernel_of("mallows", None, ("lam=2", "scaled=True")) == Mallows(lam=2, scaled=True)
    assert kernel_of('{"kernel": "sum", "left": {"kernel": "linear"}, "right": {"kernel": "kendall"}}', None, ()) == (
        Linear() + Kendall()
    )
    assert kernel_of("gaussian", None, ("sigma=median",)) == Gaussian(sigma="median")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kendal", None, ()), "generalized-variance, kendall,"),
        (("kendall", "c", ()), 'ties must be "zero" or "b"'),
        (("linear", "b", ()), "has no parameter 'ties'; it has none"),
        (("mallows", None, ("lambda=2",)), "it has lam, scaled, ties"),
        (("mallows", None, ("scaled=yes",)), "is true or false, not 'yes'"),
        (("mallows", None, ("lam=two",)), "is a number, not 'two'"),
        (("mallows", None, ("lam",)), "write NAME=VALUE"),
        (("{kernel: kendall}", None, ()), "cannot be read"),
        (('{"ties": "b"}', None, ()), "needs the name of the kernel"),
        (('{"kernel": ["kendall"]}', None, ()), "needs the name of the kernel"),
        (('{"kernel": null}', None, ()), "needs the name of the kernel"),
        (('{"kernel": "normalized", "base": {"kernel": ["linear"]}}', None, ()), "'base' is a kernel: give its name"),
        (('{"kernel": "sum", "left": 1, "right": 2}', None, ()), "'left' is a kernel: give its name"),
    ],
)
def test_wrong_kernels_are_explained(words, said):
    with pytest.raises(click.BadParameter) as raised:
        kernel_of(*words)
    assert said in raised.value.message


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
    assert run(*words, "--missing", "drop-features").exit_code == 0
    expected = Kendall(ties="b")(np.delete(X, 2, axis=1))
    assert np.array_equal(open_gram(cohort / "gaps.zarr").to_numpy(), expected)
    again = run(*words, "--missing", "interleaving", "--overwrite")
    assert again.exit_code == 0, again.stderr
    assert open_gram(cohort / "gaps.zarr").kernel.name == "normalized"


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
