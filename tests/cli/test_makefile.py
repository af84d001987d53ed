from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or not (ROOT / "Makefile").exists(), reason="needs make and the repository"
)


def _make(*words, folder=ROOT):
    return subprocess.run(
        ["make", "--no-print-directory", "-C", str(folder), *words], capture_output=True, text=True, check=False
    )


def test_help_is_the_default():
    done = _make()
    assert done.returncode == 0
    for target in (
        "demo",
        "test",
        "test-quick",
        "test-faults",
        "docs",
        "dist",
        "test-wheel",
        "test-oldest",
        "test-newest",
        "check-release",
        "lint",
        "format",
        "clean",
        "help",
    ):
        assert f"make {target} " in done.stdout


def test_quick_tests_are_those_named(tmp_path):
    done = _make("-n", "test-quick", f"VENV={tmp_path}", "FILE=tests/store tests/io/test_bags.py")
    assert done.stdout.splitlines()[-1].endswith("-m pytest -q -x tests/store tests/io/test_bags.py")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_quick_tests_are_by_default_those_of_the_changed_files(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    names = (
        "distkern/io/old.py",
        "tests/io/test_old.py",
        "distkern/io/same.py",
        "tests/io/test_same.py",
        "tests/naive.py",
    )
    for name in ("pyproject.toml", "docs/page.md", *names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "all"], check=True)
    refused = _make("test-quick", f"VENV={_environment(tmp_path)}", folder=tmp_path)
    assert refused.returncode != 0
    assert "no file has changed: name tests, as in make test-quick FILE=tests/store" in refused.stderr
    for name in ("distkern/io/old.py", "tests/naive.py", "docs/page.md"):
        (tmp_path / name).write_text("changed")
    (tmp_path / "tests/io/test_new.py").write_text("new")
    chosen = _make("-n", "test-quick", "VENV=environment", folder=tmp_path).stdout.splitlines()[-1]
    expected = ["distkern/io/old.py", "docs/page.md", "tests/io/test_new.py", "tests/io/test_old.py"]
    assert chosen.partition(" -x ")[2].split() == expected


def _environment(folder):
    """An environment that make takes as complete."""
    for name in ("bin/python", ".distkern-dev"):
        (folder / ".venv" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / ".venv" / name).touch()
    return folder / ".venv"


def test_wheel_tests_need_a_wheel(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = _make("test-wheel", folder=tmp_path)
    assert done.returncode != 0
    assert "dist/ holds no wheel: run make dist first" in done.stderr


def test_a_release_has_one_number_in_all_places(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    places = {
        "dist/distkern-1.2.0-py3-none-any.whl": "",
        "dist/distkern-1.2.0.tar.gz": "",
        "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (2030-01-31)\n",
        "deploy/conda/recipe.yaml": 'context:\n  version: "1.2.0"\n',
        "distkern/_version.py": '    __version__ = "1.2.0.dev0"\n',
    }
    for name, text in places.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _make("check-release", "TAG=v1.2.0", folder=tmp_path).returncode == 0
    assert _make("check-release", "TAG=v1.2.1", folder=tmp_path).returncode != 0
    assert "name the tag" in _make("check-release", folder=tmp_path).stderr
    for name in list(places)[2:]:
        (tmp_path / name).write_text(places[name].replace("1.2.0", "1.1.0"))
        assert _make("check-release", "TAG=v1.2.0", folder=tmp_path).returncode != 0, name
        (tmp_path / name).write_text(places[name])


def test_the_repository_is_ready_for_its_next_release():
    """All places but the tag, the files that are built and the heading of the changes have one number."""
    (number,) = re.findall(r'"(.+)\.dev0"', (ROOT / "distkern" / "_version.py").read_text())
    commands = _make("-n", "check-release", f"TAG=v{number}").stdout.splitlines()
    for command in [line for line in commands if line.startswith("grep") and "CHANGELOG" not in line]:
        assert subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, check=False).returncode == 0, command


def test_an_old_python_is_refused(tmp_path):
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.0 && exit 0\nexit 1\n')
    python.chmod(0o755)
    done = _make("demo", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stderr
    assert "is Python 3.8.0" in done.stderr
    assert not (tmp_path / "venv").exists()
