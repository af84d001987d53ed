import os
import subprocess
import sys

import pytest

from distkern.core.jit import private_folder

CALL = "from distkern import Kendall; print(Kendall()([[1, 2, 3]], [[3, 1, 2]])[0, 0])"


def test_a_place_without_a_writable_cache_still_computes(tmp_path):
    """Numba finds no folder for its cache where neither the package nor the home can be written."""
    script = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"  # what a read-only installation without a home looks like
        f"{CALL}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(-1 / 3)


def test_the_same_value_with_the_compiler_off():
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", CALL], capture_output=True, text=True, check=True, env=env)
    assert float(done.stdout) == pytest.approx(-1 / 3)


def test_a_package_that_cannot_be_written_is_cached_in_a_folder_of_this_user_alone(tmp_path):
    script = (
        "import os, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "os.access = lambda path, mode: False\n"  # what a read-only installation looks like, to root too
        f"{CALL}"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert float(done.stdout) == pytest.approx(-1 / 3)
        (folder,) = tmp_path.iterdir()
        assert folder.name == f"distkern-numba-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.rglob("*.nbc"))


def test_a_folder_that_others_can_write_holds_no_code(tmp_path):
    assert private_folder(tmp_path / "mine") == tmp_path / "mine"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    for wrong in ("open", "link", "file", "none/below"):
        assert private_folder(tmp_path / wrong) is None
