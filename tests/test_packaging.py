"""The wheel and the sdist are complete, tags name their version, and no tool skips the folders named ``build``."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
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
    return {path.relative_to(ROOT).as_posix() for path in files} - {"distkern/_built.py"}


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
def test_type_checkers_find_the_annotations_in_the_wheel(in_wheel):
    assert "distkern/py.typed" in in_wheel


@pytest.mark.slow
def test_wheel_and_sdist_have_one_version_which_the_package_knows(dist):
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        written = re.search(r"__version__.*= '(.+)'", archive.read("distkern/_built.py").decode())
    assert wheel.name == f"distkern-{written[1]}-py3-none-any.whl"
    assert sdist.name == f"distkern-{written[1]}.tar.gz"


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


# The version ---------------------------------------------------------------------------------------------------------


OF_THE_VERSION = ("pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".git_archival.txt")


@pytest.fixture
def git(tmp_path):
    """A repository of what the version depends on."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in OF_THE_VERSION:
        if not (ROOT / name).exists():
            pytest.skip("needs the repository")
        shutil.copy(ROOT / name, folder)

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return run("git", *who, *words, folder=folder)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    return git


def version_of(folder):
    return python("-W", "ignore", "-m", "hatchling", "version", folder=folder).strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_version_is_the_tag_also_in_an_archive(git, tmp_path):
    assert re.fullmatch(r"0\.1\.0\.dev1\+g[0-9a-f]+", version_of(tmp_path / "clone"))  # without a tag
    git("tag", "v1.2.0")
    assert version_of(tmp_path / "clone") == "1.2.0"
    git("commit", "--allow-empty", "-qm", "more")
    assert re.fullmatch(r"1\.2\.1\.dev1\+g[0-9a-f]+", version_of(tmp_path / "clone"))
    git("archive", "--prefix=archive/", "-o", str(tmp_path / "archive.tar"), "v1.2.0")
    with tarfile.open(tmp_path / "archive.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    assert version_of(tmp_path / "archive") == "1.2.0"


def test_a_copy_without_git_has_the_version_of_sources_that_were_not_built(tmp_path):
    folder = tmp_path / "distkern"
    folder.mkdir()
    shutil.copy(ROOT / "distkern" / "_version.py", folder)
    (folder / "__init__.py").write_text("")
    script = "from distkern._version import __version__; print(__version__)"
    not_built = run(sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {script}").strip()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    assert version_of(tmp_path) == not_built == _project()["tool"]["hatch"]["version"]["fallback-version"]
    (folder / "_built.py").write_text("__version__ = '7.0'\n")
    assert run(sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {script}") == "7.0\n"


def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


# The tools -----------------------------------------------------------------------------------------------------------


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
