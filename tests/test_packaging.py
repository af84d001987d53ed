"""The wheel and the sdist are complete, and no tool skips the folders named ``build``."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(not (ROOT / "distkern").is_dir(), reason="needs the source tree")


def run(*command, folder=ROOT):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python(*words, folder=ROOT):
    return run(sys.executable, *words, folder=folder)


def tracked():
    """Files of the package that git tracks; all of them where there is no repository."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        return set(run("git", "ls-files", "distkern").split())
    files = (path for path in (ROOT / "distkern").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(ROOT).as_posix() for path in files}


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "--outdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def in_wheel(dist):
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def in_sdist(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_package(in_wheel):
    assert "distkern/build/compute.py" in in_wheel
    assert tracked() - in_wheel == set()


@pytest.mark.slow
def test_wheel_holds_nothing_but_the_package(in_wheel):
    assert {name.partition("/")[0].partition("-")[0] for name in in_wheel} == {"distkern"}


@pytest.mark.slow
def test_sdist_holds_the_package_its_tests_and_its_pages(in_sdist):
    assert tracked() - in_sdist == set()
    assert "tests/build/test_compute.py" in in_sdist
    wanted = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE", "Makefile"}
    assert wanted | {"docs/design.md", "docs/decisions/README.md"} <= in_sdist


@pytest.mark.slow
def test_metadata_pass_the_check_of_the_package_index(dist):
    python("-m", "twine", "check", "--strict", *(str(path) for path in dist.iterdir()))


@pytest.mark.slow
def test_pytest_collects_the_folders_named_build(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in {
        "distkern/build/it.py": '""">>> 1\n1\n"""\n',
        "tests/build/test_it.py": "def test_it(): pass\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "docs").mkdir()
    found = python("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", folder=tmp_path)
    assert "tests/build/test_it.py::test_it" in found
    assert "distkern/build/it.py::" in found


def test_ruff_checks_the_folders_named_build():
    found = python("-m", "ruff", "check", "--show-files")
    assert "distkern/build/compute.py" in found
    assert "tests/build/test_compute.py" in found
