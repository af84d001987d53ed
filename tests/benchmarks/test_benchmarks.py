"""The benchmarks run, small: nobody reads a table that cannot be made again."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
TESTERS = ("fuzz.py", "mutations.py")
"""Scripts that test the package and measure nothing."""
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in ("measure.py", *TESTERS))


def test_every_benchmark_has_its_place_in_the_documentation():
    docs = FOLDER.parent / "docs"
    page = (docs / "benchmarks.md").read_text() + (docs / "scale.md").read_text()
    assert SCRIPTS == [
        *(
            "bags.py",
            "ballots.py",
            "cluster.py",
            "clustering.py",
            "consensus.py",
            "crossovers.py",
            "explain.py",
            "genome_scale.py",
            "kernels.py",
            "memory.py",
            "million_cells.py",
            "newcomer.py",
            "pair_scores.py",
            "pairs.py",
            "permutations.py",
            "rank_sums.py",
            "scale.py",
            "smoothed.py",
            "sparse_cells.py",
            "storing.py",
            "suquan.py",
            "survival.py",
            "svm.py",
            "tau.py",
        ),
    ]
    assert all(f"benchmarks/{script}" in page for script in SCRIPTS)


def test_scripts_that_test_the_package_are_documented():
    page = (FOLDER.parent / "CONTRIBUTING.md").read_text()
    assert all(f"benchmarks/{script}" in page for script in TESTERS if (FOLDER / script).exists())


@pytest.mark.slow
@pytest.mark.parametrize("script", [script for script in SCRIPTS if script != "memory.py"])  # see gram/test_memory.py
def test_runs_small_and_writes_nothing(script, monkeypatch, capsys):
    monkeypatch.syspath_prepend(FOLDER)
    import measure

    monkeypatch.setattr(measure, "one_thread", lambda: None)  # for a process of its own
    monkeypatch.setattr(measure, "publish", None)
    monkeypatch.setattr(sys, "argv", [script, "--small"])
    runpy.run_path(str(FOLDER / script), run_name="__main__")
    printed = capsys.readouterr().out
    assert any(digit in printed for digit in "123456789")
