from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from distkern import open_gram


@pytest.mark.slow
def test_commands_work_on_object_storage(cohort, run, s3):
    words = ("gram", cohort / "rows.csv", s3.url, "--samples", "rows", "--kernel", "kendall", "--tile", 10)
    assert "6 of 6" not in run("plan", *words[1:]).stdout
    computed = run(*words)
    assert computed.exit_code == 0
    assert computed.stdout.startswith(f"{s3.url}: complete 24 × 24 Gram matrix")
    assert "nothing was computed" in run(*words).stderr
    assert "6 of side 10, 6 of them done" in run("plan", *words[1:]).stdout
    assert "6 of 6 done" in run("info", s3.url).stdout
    verified = json.loads(run("verify", s3.url, "--json").stdout)
    assert (verified["path"], verified["whole"]) == (s3.url, True)
    scored = run("evaluate", s3.url, "--labels", cohort / "clinical.csv", "--label", "relapse", "--repeats", 1)
    assert scored.exit_code == 0, scored.output
    for url, message in (("ftp://host/k.zarr", "cannot lie at ftp://"), ("s3://nowhere/k.zarr", "NoSuchBucket")):
        refused = run("info", url)
        assert refused.exit_code == 3
        assert message in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("markers", "rows.csv", "--samples", "rows", "--labels", "clinical.csv", "--label", "relapse", "--out"),
        ("pairs", "rows.csv", "--samples", "rows", "--labels", "clinical.csv", "--label", "relapse", "--table"),
        ("pairs", "rows.csv", "--samples", "rows", "--labels", "clinical.csv", "--label", "relapse", "--votes"),
        ("score-sets", "rows.csv", "sets.gmt", "--samples", "rows", "--out"),
        ("cluster", "cohort.zarr", "-k", 2, "--out"),
        ("explain", "model.npz", "--pairs"),
        ("explain", "model.npz", "--features"),
    ],
)
def test_a_csv_table_is_not_written_to_a_file_named_otherwise(cohort, run, monkeypatch, words):
    monkeypatch.chdir(cohort.folder)
    for name in ("found.csv.gz", "found.Parquet", "found.tsv"):
        refused = run(*words, name)
        assert refused.exit_code == 3
        assert f"'{name}' would hold comma-separated values, and its name ends with" in refused.stderr
        assert not (cohort / name).exists()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "model.npz", "--pairs", "one.csv", "--features", "one.csv"),
        ("cluster", "cohort.zarr", "-k", 2, "--out", "one.csv", "--report", "./one.csv"),
    ],
)
def test_one_file_is_not_written_twice(cohort, run, monkeypatch, words):
    monkeypatch.chdir(cohort.folder)
    refused = run(*words)
    assert refused.exit_code == 2
    assert "name one file twice: give each its own" in " ".join(refused.stderr.split())


def test_tilde_is_expanded_in_every_path(cohort, run, monkeypatch):
    monkeypatch.setenv("HOME", str(cohort.folder))
    words = ("--samples", "rows", "--kernel", "linear", "--against", "~/rows.csv", "--labels", "~/clinical.csv")
    done = run("gram", "~/rows.csv", "~/home.zarr", *words, "--label", "relapse")
    assert done.exit_code == 0, done.stderr
    assert open_gram(cohort / "home.zarr").shape == (24, 24)
    assert run("info", "~/home.zarr").exit_code == 0
    assert run("gram", "~/X.npy", "~/npy.zarr", "--kernel", "linear").exit_code == 0


def test_output_off_a_terminal_has_no_colour_and_no_bar(cohort):
    words = ["gram", str(cohort / "X.npy"), str(cohort / "x.zarr"), "--kernel", "linear", "--threads", "1"]
    done = subprocess.run([sys.executable, "-m", "distkern", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert not {"\x1b", "\r"} & set(done.stdout + done.stderr)
    assert Path(cohort / "x.zarr").is_dir()
