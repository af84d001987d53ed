"""Memory is a promise: no task takes more than its plan says, and no process that works on a large matrix holds it."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from distkern.core.units import readable_bytes

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/clear_refs"), reason="only Linux counts the peak of a process anew"
)

CHILD = Path(__file__).with_name("promises.py")


def run(*arguments):
    # as Dask sets it for its workers: what is freed goes back to the system, and counts no more
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_no_task_takes_more_than_its_plan_says(tmp_path):
    found = run(CHILD, tmp_path)
    assert len(found) >= 14
    for name, tasks in found.items():
        for task, (taken, promised) in tasks.items():
            assert taken <= promised, f"{name}: {task} took {taken:,} bytes and promised {promised:,}"
    assert found["Gaussian"]["tile"][0] >= 8 * 700**2  # the measure sees the values of a tile at least


@pytest.mark.slow
def test_a_matrix_beyond_the_share_of_a_worker_is_computed_and_multiplied_within_the_promise(monkeypatch):
    found = run(ROOT / "benchmarks" / "memory.py", "--json", "--samples", 4000, "--allowance", "10MB")
    assert found["bytes"] == 6.4 * 10e6  # to 10 MB what 40,000 × 40,000 are to a gigabyte
    for work in ("computed", "multiplied"):
        assert found[work]["promised"] <= 10e6
        for rest, peak in found[work]["workers"]:
            assert rest < peak <= rest + found[work]["promised"]
    rest, peak = found["computed"]["client"]
    assert peak - rest < 12e6  # plans, receipts and messages; the cohort alone takes 3.2 MB
    rest, peak = found["multiplied"]["client"]
    assert peak - rest < 8e6
    heights = [min(found["tile"], 4000 - start) for start in range(0, 4000, found["tile"])]
    tiles = sum(height * (4000 - start) for start, height in zip(range(0, 4000, found["tile"]), heights, strict=True))
    assert found["read"] == 4 * tiles + 8 * 4000  # each stored byte once, and the untied pairs of each sample
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    said = dict(runpy.run_path(str(ROOT / "benchmarks" / "memory.py"))["lines"](found))
    assert said["matrix"] == f"4,000 × 4,000 of 100 features, {found['tiles']} tiles"
    assert said["– above rest, promised"].endswith(f"{readable_bytes(found['multiplied']['promised'])} a task")
