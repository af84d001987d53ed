"""The SLURM recipes without SLURM: scripts that run on this machine replace `sbatch`, `scancel` and `srun`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import surroundings, tiles

from distkern.cli import recipes
from distkern.engine.dask.security import write_certificates

ROOT = Path(__file__).parents[2]
JOB = {"partition": "long", "account": "genes", "walltime": "01:00:00", "cores": 2, "memory": 2**32, "jobs": 3}

SBATCH = """#!/bin/bash
number=$(ls {folder} | grep -c ^job)
grep -v '^#SBATCH' "$1" > {folder}/job$number.sh
cp "$1" {folder}/submitted$number
setsid bash {folder}/job$number.sh > {folder}/job$number.log 2>&1 &
echo $! > {folder}/pid$number
echo "Submitted batch job $number"
"""
SCANCEL = """#!/bin/bash
for number in "$@"; do kill -TERM -- -$(cat {folder}/pid$number) 2>/dev/null; done
"""


@contextmanager
def stand_ins(folder: Path):
    """Programs named sbatch and scancel that run jobs on this machine."""
    folder.mkdir()
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(script.format(folder=folder))
        (folder / name).chmod(0o755)
    try:
        yield {"PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    finally:
        for file in folder.glob("pid*"):
            subprocess.run(["kill", "-KILL", "--", f"-{file.read_text().strip()}"], capture_output=True, check=False)


@pytest.mark.slow
def test_the_program_that_submits_jobs_runs(cohort, expected, tmp_path):
    given = JOB | {"jobs": 1, "cores": 1}
    program = tmp_path / "cluster.py"
    program.write_text(
        recipes.slurm(**given, srun=False)
        .replace('KERNEL = dk.Kendall(ties="b")', "KERNEL = dk.Kendall()")
        .replace("store=store,", "store=store, tile=8,")
        .replace("127.0.0.1:8787", "127.0.0.1:0")
    )
    with stand_ins(tmp_path / "slurm") as path:
        done = subprocess.run(
            [sys.executable, program, cohort, tmp_path / "k.zarr"],
            cwd=tmp_path, env=surroundings(**path), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        script = (tmp_path / "slurm" / "submitted0").read_text()
        assert not (tmp_path / "slurm" / "submitted1").exists()
    assert tiles(tmp_path / "k.zarr") == expected
    for line in ("#SBATCH -p long", "#SBATCH -A genes", "#SBATCH --cpus-per-task=1", "#SBATCH --mem=4G", "-t 01:00:00"):
        assert line in script
    for words in ("--nthreads 1", "--nanny", "--memory-limit 4.00GiB", "--protocol tls://", "tls://"):
        assert words in script
    assert "--lifetime 3060s --lifetime-stagger 180s" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert "--tls-key" in script
    assert "PRIVATE KEY" not in script


@pytest.mark.parametrize(("walltime", "seconds"), [("00:10:00", 600), ("24:00:00", 86_400), ("7-00:00:00", 604_800)])
def test_workers_leave_before_the_wall_time(walltime, seconds):
    program = recipes.slurm(**JOB | {"walltime": walltime}, srun=False)
    lifetime, stagger = (int(re.search(rf"--{name} (\d+)s", program)[1]) for name in ("lifetime", "lifetime-stagger"))
    assert 0 < stagger <= 300
    assert seconds / 2 < lifetime
    assert lifetime + stagger <= seconds - 2 * stagger


@pytest.mark.parametrize("walltime", ["1h", "90", "12:00", "00:05:00", "-1:00:00"])
def test_an_invalid_wall_time_is_refused(run, walltime):
    result = run("deploy", "slurm", "--walltime", walltime)
    assert result.exit_code == 3
    assert "wall time" in result.stderr


def test_values_that_would_inject_lines_into_a_script_are_refused_or_quoted(run):
    bad = 'x"\n#SBATCH --wrap=evil'
    assert run("deploy", "slurm", "--srun", "--partition", bad).exit_code == 3
    program = run("deploy", "slurm", "--partition", bad).stdout
    compile(program, "cluster.py", "exec")
    assert r'queue="x\"\n#SBATCH' in program


def test_running_outside_of_an_srun_is_refused(run, tmp_path, monkeypatch):
    write_certificates(tmp_path / "tls")
    result = run("deploy", "srun", tmp_path, "info", "x.zarr")
    assert result.exit_code == 3
    assert "start it with `srun`" in result.stderr
    for name, value in {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "1"}.items():
        monkeypatch.setenv(name, value)
    assert "need three tasks or more" in run("deploy", "srun", tmp_path, "info", "x.zarr").stderr


SRUN = """#!/bin/bash
shift  # --kill-on-bad-exit=1
for number in 0 1 2; do
    SLURM_PROCID=$number SLURM_NTASKS=3 SLURM_MEM_PER_CPU=1024 "$@" & pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
exit "${status:-0}"
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "code"), [("kendall", 0), ("none", 2)])
def test_the_tasks_of_the_srun_in_the_job_script_form_a_cluster(cohort, expected, tmp_path, kernel, code):
    """Bash runs the script, and a replacement of srun starts its tasks; the job has the exit code of the command."""
    script, store = tmp_path / "job.sh", tmp_path / "k.zarr"
    script.write_text(recipes.slurm(**JOB | {"jobs": 1, "cores": 1}, srun=True))
    assert "#SBATCH --ntasks=3\n" in script.read_text()
    assert "#SBATCH --mem-per-cpu=4096M\n" in script.read_text()
    (tmp_path / "srun").write_text(SRUN)
    (tmp_path / "srun").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}", "SLURM_JOB_ID": "9"}
    words = ["gram", cohort, store, "--kernel", kernel, "--tile", "8"]
    done = subprocess.run(
        ["bash", *map(str, [script, *words])], env=surroundings(**path, SLURM_SUBMIT_DIR=str(tmp_path)),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert not list(tmp_path.glob(".distkern-*"))
    if code:
        assert "Error: " in done.stderr
        return
    assert done.stdout.count("complete 30 × 30 Gram matrix") == 1
    assert "on a Dask cluster at tls://" in done.stderr
    assert tiles(store) == expected
