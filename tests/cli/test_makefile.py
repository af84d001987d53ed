from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or not (ROOT / "Makefile").exists(), reason="needs make and the repository"
)


def _make(*words):
    return subprocess.run(["make", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


def test_help_is_the_default():
    done = _make()
    assert done.returncode == 0
    for target in ("demo", "test", "test-faults", "lint", "format", "clean", "help"):
        assert f"make {target} " in done.stdout


def test_an_old_python_is_refused(tmp_path):
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.0 && exit 0\nexit 1\n')
    python.chmod(0o755)
    done = _make("demo", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stderr
    assert "is Python 3.8.0" in done.stderr
    assert not (tmp_path / "venv").exists()
