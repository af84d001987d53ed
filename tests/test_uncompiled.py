"""The compiled routines once more as plain Python, so that what the compiler hides (an index out of range) shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_compiled_routines_pass_their_tests_as_plain_python():
    here = Path(__file__).parent
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": "uncompiled"}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(here / "compiled"),
            str(here / "kernels"),
            "-k",
            "naive or exact_integers or inversions or equal_sums or ranks_order or public_reports or damaged",
        ],
        capture_output=True,
        text=True,
        env=env,
        cwd=here.parent,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 15
