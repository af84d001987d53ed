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
