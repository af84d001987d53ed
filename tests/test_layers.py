"""The floors import only downwards, and the check of it can fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def lint(folder):
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    env = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [*command, "--config", str(folder / "pyproject.toml")], cwd=folder, env=env, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "distkern", tmp_path / "distkern", ignore=shutil.ignore_patterns("__pycache__", "data"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy):
    code, said = lint(copy)
    assert code == 0, said
    assert "6 kept, 0 broken" in said


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("kernels/kendall.py", "import distkern.store.tiles", "Each floor imports only from the floors below it"),
        ("operators/base.py", "import distkern.kernels.base", "Each floor imports only from the floors below it"),
        ("core/units.py", "import distkern.compiled.products", "Each floor imports only from the floors below it"),
        ("learners/svm.py", "import zarr", "zarr enters only through"),
        ("build/compute.py", "import distributed", "dask and distributed enter only through"),
        ("store/arrays.py", "import obstore", "obstore enters only through"),
        ("engine/run.py", "import dask", "dask and distributed enter only through"),
        ("report/page.py", "import matplotlib", "matplotlib enters only through"),
        ("store/grid.py", "import distkern.store.tiles", "No two files import each other"),
        ("kernels/base.py", "def late():\n    import distkern.kernels.vectors", "No two files import each other"),
    ],
)
def test_a_wrong_import_breaks_them(copy, file, line, contract):
    broken = copy / "distkern" / file
    broken.write_text(broken.read_text() + f"\n{line}\n")
    code, said = lint(copy)
    assert code == 1, said
    assert any(contract in row and "BROKEN" in row for row in said.splitlines()), said


def test_a_folder_that_is_on_no_floor_breaks_them(copy):
    (copy / "distkern" / "helpers").mkdir()
    (copy / "distkern" / "helpers" / "__init__.py").write_text("")
    code, said = lint(copy)
    assert code != 0
    assert "helpers" in said
