"""The compiled routines once more as plain Python, so that what the compiler hides (an index out of range) shows."""

import json
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


@pytest.mark.slow
def test_the_plain_body_of_every_vector_operation_is_entered_and_right():
    """Few features are compared by bits, many in blocks; both call `distkern.compiled.simd`."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "compiled" / "run_plain_simd.py")],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert all(count > 0 for count in found["entered"].values()), found["entered"]
    assert all(count == signs for count, signs in found["values"].values()), found["values"]
