"""The floors import only downwards, and each check of them fails when its rule is broken."""

import graphlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from imports import graph_of, write_as_statements

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "distkern"

pytestmark = pytest.mark.skipif(not SOURCE.is_dir(), reason="needs the source tree")

FLOORS = "Each floor imports only from the floors below it"
CYCLES = "No two files import each other"
ZARR = "zarr enters only through"
DASK = "dask and distributed enter only through"
OBSTORE = "obstore enters only through"
MATPLOTLIB = "matplotlib enters only through"

AT_THE_TOP = "import {}"
IN_A_FUNCTION = "def late():\n    import {}"
BY_NAME = "from importlib import import_module\ndef late():\n    return import_module('{}')"
LINES = {"at the top": AT_THE_TOP, "in a function": IN_A_FUNCTION, "by name": BY_NAME}


def lint(folder):
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    env = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [*command, "--config", str(folder / "pyproject.toml")], cwd=folder, env=env, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def in_cycle(package):
    """Modules on one import cycle; none if there is no cycle."""
    try:
        graphlib.TopologicalSorter(graph_of(package)).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def copied(folder):
    shutil.copytree(SOURCE, folder / "distkern", ignore=shutil.ignore_patterns("__pycache__", "data"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "distkern" / "_built.py").write_text('__version__ = "0"\n')  # as the build does; the sources have none
    return folder


@pytest.fixture
def copy(tmp_path):
    return copied(tmp_path)


def append(copy, file, line):
    path = copy / "distkern" / file
    path.write_text(f"{path.read_text()}\n{line}\n")


@pytest.mark.slow
def test_all_contracts_hold_also_for_modules_imported_by_name(copy):
    write_as_statements(copy / "distkern")
    code, output = lint(copy)
    assert code == 0, output
    assert "6 kept, 0 broken" in output


def test_no_module_is_on_an_import_cycle():
    assert in_cycle(SOURCE) == []


WRONG_IMPORTS = [
    ("kernels/kendall.py", AT_THE_TOP, "distkern.store.tiles", FLOORS),
    ("operators/base.py", AT_THE_TOP, "distkern.kernels.base", FLOORS),
    ("core/units.py", IN_A_FUNCTION, "distkern.compiled.products", FLOORS),
    ("store/grid.py", BY_NAME, "distkern.gram.handle", FLOORS),
    ("build/tasks.py", AT_THE_TOP, "distkern.solvers.eigen", FLOORS),
    ("report/page.py", AT_THE_TOP, "distkern.reproduce.tables", FLOORS),
    ("learners/svm.py", AT_THE_TOP, "zarr", ZARR),
    ("build/compute.py", BY_NAME, "zarr", ZARR),
    ("build/compute.py", AT_THE_TOP, "distributed", DASK),
    ("engine/run.py", IN_A_FUNCTION, "dask", DASK),
    ("engine/executors.py", BY_NAME, "distributed", DASK),
    ("store/arrays.py", AT_THE_TOP, "obstore", OBSTORE),
    ("store/tiles.py", BY_NAME, "obstore", OBSTORE),
    ("report/page.py", AT_THE_TOP, "matplotlib", MATPLOTLIB),
    ("learners/svm.py", IN_A_FUNCTION, "matplotlib", MATPLOTLIB),
    ("cli/report.py", BY_NAME, "matplotlib", MATPLOTLIB),
]


@pytest.fixture(scope="module")
def wrong_output(tmp_path_factory):
    """What import-linter prints of a package with all wrong imports at once."""
    copy = copied(tmp_path_factory.mktemp("wrong"))
    for file, line, module, _ in WRONG_IMPORTS:
        append(copy, file, line.format(module))
    write_as_statements(copy / "distkern")
    code, output = lint(copy)
    assert code == 1, output
    return output


@pytest.mark.slow
@pytest.mark.parametrize(("file", "line", "module", "contract"), WRONG_IMPORTS)
def test_a_forbidden_import_breaks_its_contract(wrong_output, file, line, module, contract):
    assert any(contract in row and "BROKEN" in row for row in wrong_output.splitlines())
    importer = f"distkern.{file.removesuffix('.py').replace('/', '.')}"
    assert f"{importer} -> {module} (l." in wrong_output
    importer = "distkern." + file.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {module} " in wrong_output


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_an_import_cycle_breaks_its_contract(copy, line):
    append(copy, "store/grid.py", line.format("distkern.store.tiles"))
    write_as_statements(copy / "distkern")
    code, output = lint(copy)
    assert code == 1, output
    assert any(CYCLES in row and "BROKEN" in row for row in output.splitlines()), output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line", "importer"),
    [
        *(("store/grid.py", line.format("distkern.store.tiles"), "distkern.store.grid") for line in LINES.values()),
        ("plot/axes.py", "from distkern.report import write_report", "distkern.plot.axes"),
        ("store/grid.py", "from distkern import open_gram", "distkern.store.grid"),
    ],
    ids=[*LINES, "lazily exported by a folder", "lazily exported by the package"],
)
def test_an_import_cycle_is_found(copy, file, line, importer):
    append(copy, file, line)
    assert importer in in_cycle(copy / "distkern")


def test_a_folder_without_a_floor_breaks_the_contracts(copy):
    (copy / "distkern" / "helpers").mkdir()
    (copy / "distkern" / "helpers" / "__init__.py").write_text("")
    code, output = lint(copy)
    assert code != 0
    assert "helpers" in output
