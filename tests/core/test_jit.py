"""The cache of compiled code: where it lies, and that everything computes without one."""

import os
import subprocess
import sys

import pytest

from distkern.core.jit import private_folder

ROUTINE = """
from distkern.core.jit import compiled

@compiled
def add(a, b):
    return a + b
"""


@pytest.fixture
def run(tmp_path):
    """Run a script that compiles one small routine, and return what it prints."""
    (tmp_path / "routine").mkdir()
    (tmp_path / "routine" / "small.py").write_text(ROUTINE)

    def run(before="", **env):
        script = f"import sys\nsys.path.insert(0, {str(tmp_path / 'routine')!r})\n{before}\n"
        script += "from small import add\nprint(add(1, 2), getattr(add, 'signatures', None))"
        command = [sys.executable, "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | env).stdout

    return run


def test_routines_compile_without_a_writable_cache(run):
    """Numba finds no folder for its cache if neither the package nor the home can be written."""
    before = "import numba.core.caching as caching; caching.CacheImpl._locator_classes = []"
    assert run(before) == "3 [(int64, int64)]\n"


def test_routines_run_uncompiled_with_the_compiler_off(run):
    assert run(NUMBA_DISABLE_JIT="1") == "3 None\n"


def test_read_only_package_is_cached_in_a_private_folder(run, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = (
        f"import os, tempfile; tempfile.tempdir = {str(temporary)!r}\n"
        "os.access = lambda path, mode: False"  # a read-only installation, for the superuser too
    )
    for _ in range(2):
        assert run(before) == "3 [(int64, int64)]\n"
        (folder,) = temporary.iterdir()
        assert folder.name == f"distkern-numba-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.rglob("*.nbc"))


def test_folder_that_others_can_write_is_not_used(tmp_path):
    assert private_folder(tmp_path / "mine") == tmp_path / "mine"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    for wrong in ("open", "link", "file", "none/below"):
        assert private_folder(tmp_path / wrong) is None
