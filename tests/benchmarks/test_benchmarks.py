"""The benchmarks run, small: nobody reads a table that cannot be made again."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "measure.py")


def test_every_benchmark_has_its_place_in_the_documentation():
    docs = FOLDER.parent / "docs"
    page = (docs / "benchmarks.md").read_text() + (docs / "scale.md").read_text()
    assert SCRIPTS == [
        *("cluster.py", "crossovers.py", "memory.py", "pairs.py", "scale.py", "smoothed.py", "storing.py", "svm.py"),
    ]
    assert all(f"benchmarks/{script}" in page for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs_small_and_writes_nothing(script):
    pages = [FOLDER.parent / "docs" / name for name in ("benchmarks.md", "scale.md")]
    before = [page.read_text() for page in pages]
    done = subprocess.run([sys.executable, str(FOLDER / script), "--small"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert any(digit in done.stdout for digit in "123456789")
    assert [page.read_text() for page in pages] == before
