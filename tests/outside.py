"""The resident memory of a child process, as the system tells its parent; the code under test does not measure it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HELPER = """
import ctypes, gc, json, sys

def wait():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is freed but kept would hide what comes
    print("ready", flush=True)
    sys.stdin.readline()

def done(found=None):
    print(json.dumps(found), flush=True)
    sys.stdin.readline()
"""
"""What a child script may call: wait until it is measured, and say what it found."""

SECONDS = 0.002


def status(pid: int, field: str) -> int:
    """A field of /proc/PID/status in bytes: VmRSS is the resident memory, VmHWM the most since it was reset."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


class _Sampler(threading.Thread):
    """Looks at the resident memory of a process until it is told to end."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.ended = pid, 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(SECONDS):
            self.most = max(self.most, status(self.pid, "VmRSS"))


def measured(script: str, *arguments: object, **environment: str) -> tuple[int, int, Any]:
    """Bytes at rest and at the peak of a script between ``wait()`` and ``done()``, and what it found.

    The parent resets the peak that the system keeps of the child. Where it may not, samples tell.
    """
    command = ["nice", sys.executable, "-c", HELPER + script, *map(str, arguments)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    with child:
        try:
            _read(child, "ready")
            time.sleep(0.05)
            rest, sampler = status(child.pid, "VmRSS"), _Sampler(child.pid)
            is_reset = _reset(child.pid)
            sampler.start()
            _go_on(child)
            found = json.loads(_read(child))
            sampler.ended.set()
            sampler.join()
            peak = max(sampler.most, status(child.pid, "VmHWM" if is_reset else "VmRSS"))
            _go_on(child)
        finally:
            if sys.exc_info()[0] is not None:
                child.kill()
    return rest, peak, found


def _reset(pid: int) -> bool:
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _read(child: subprocess.Popen[str], expected: str = "") -> str:
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        if not expected or line.strip() == expected:
            return line
    raise AssertionError(child.stderr.read()[-3000:])


def _go_on(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()
