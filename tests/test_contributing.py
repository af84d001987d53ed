"""The examples of CONTRIBUTING.md work: they are written to files that overlay the package, and their tests are run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"

EXAMPLES = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
"""Code of each example by the name of its file."""

TESTS = {
    "kernel": "tests/kernels/test_laplacian.py",
    "learner": "tests/learners/test_mean_similarity.py",
    "format": "tests/io/formats/test_lines.py",
    "command": "tests/cli/test_kernel.py",
    "executor": "tests/engine/test_pool.py",
}

OVERLAY = """
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
for folder in {path.parent for path in HERE.glob("distkern/**/*.py")}:
    package = import_module(".".join(folder.relative_to(HERE).parts))
    package.__path__ = [*package.__path__, str(folder)]
"""
"""A conftest.py that adds the files of a folder to the packages of distkern, in one process."""


def run(folder, examples):
    """Write examples to a folder and run its tests; the outcomes of the tests of each file."""
    for name, code in examples.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code, encoding="utf-8")
    (folder / "conftest.py").write_text(OVERLAY)
    for parent in {parent for name in examples for parent in Path(name).parents if parent.parts[:1] == ("tests",)}:
        if (ROOT / parent / "conftest.py").exists():
            shutil.copy(ROOT / parent / "conftest.py", folder / parent)
    options = [
        "-q",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
        "-c",
        str(ROOT / "pyproject.toml"),
        f"--rootdir={folder}",
    ]
    paths = f"pythonpath={ROOT / 'tests'}"
    command = [sys.executable, "-m", "pytest", *options, "-o", paths, f"--junitxml={folder / 'result.xml'}", "tests"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    outcomes, result = {}, folder / "result.xml"
    assert result.exists(), done.stdout + done.stderr
    for case in ElementTree.parse(result).iter("testcase"):
        bad = [element.tag for element in case if element.tag in ("failure", "error", "skipped")]
        outcomes.setdefault(case.get("classname"), []).append(bad[0] if bad else "passed")
    return outcomes, done.stdout + done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run(tmp_path_factory.mktemp("examples"), EXAMPLES)


def outcomes_of(outcomes, file):
    module = file.removesuffix(".py").replace("/", ".")
    return [one for name, found in outcomes.items() if name.startswith(module) for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("addition", TESTS)
def test_example_passes_its_tests(results, addition):
    outcomes, output = results
    found = outcomes_of(outcomes, TESTS[addition])
    assert "passed" in found, output
    assert set(found) <= {"passed", "skipped"}, output  # scikit-learn skips some of its checks


def test_every_example_belongs_to_a_test_that_is_run():
    assert set(TESTS.values()) == {name for name in EXAMPLES if name.startswith("tests/")}


def test_pages_list_the_files_of_the_examples():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if name != TESTS["executor"] and f"| `{name}` |" not in text] == []


@pytest.mark.slow
def test_a_wrong_example_fails_its_tests(tmp_path):
    names = ("distkern/kernels/laplacian.py", TESTS["kernel"])
    wrong = {name: EXAMPLES[name] for name in names}
    wrong[names[0]] = wrong[names[0]].replace('"cityblock"', '"sqeuclidean"')
    outcomes, output = run(tmp_path, wrong)
    assert "failure" in outcomes_of(outcomes, names[1]), output
