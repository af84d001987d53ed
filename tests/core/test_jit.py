import os
import subprocess
import sys

import pytest

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
