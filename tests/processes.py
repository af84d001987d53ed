"""Processes of `dask scheduler`, `dask worker` and `distkern`, and the bytes that a run stores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEADLINE = 60.0
GRAM = ("--kernel", "kendall", "--tile", "8", "--quiet")
SURROUNDINGS = ("DASK_SCHEDULER_ADDRESS", "DISTKERN_INSECURE")
"""Variables that name a cluster of the user who runs the tests."""


def wait_for(condition: Callable[[], Any], what: str, *processes: subprocess.Popen) -> Any:
    """Poll until a condition holds; fail if one of the processes has ended, or after `DEADLINE` seconds."""
    deadline = time.monotonic() + DEADLINE
    while not (found := condition()):
        for process in processes:
            assert process.poll() is None, f"{what}: {process.args} ended with {process.returncode}"
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


@contextmanager
def started(*commands: Sequence[object], **given: Any) -> Iterator[list[subprocess.Popen]]:
    """Run programs in the background, and end them with the block."""
    running: list[subprocess.Popen] = []
    try:
        for command in commands:
            running.append(subprocess.Popen(list(map(str, command)), **given))
        yield running
    finally:
        for process in reversed(running):  # a worker waits for a scheduler that ends first
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def dask(*words: object) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", "dask", *map(str, words)]


def distkern(*words: object) -> list[str]:
    return [sys.executable, "-m", "distkern", *map(str, words)]


def scheduler_words(file: Path, host: str, protocol: str, *words: object) -> list[str]:
    listens = ("--host", host, "--port", "0", "--protocol", protocol, "--dashboard-address", "127.0.0.1:0")
    return dask("scheduler", "--scheduler-file", file, *listens, *words)


def worker_words(file: Path, host: str, folder: Path, *words: object) -> list[str]:
    listens = ("--host", host, "--dashboard-address", "127.0.0.1:0", "--local-directory", folder)
    return dask("worker", "--scheduler-file", file, "--nthreads", "1", *listens, *words)


def written(file: Path) -> bool:
    """Whether the file of a scheduler is complete."""
    return file.exists() and file.read_text().rstrip().endswith("}")


@contextmanager
def dask_processes(folder: Path, *words: object, protocol: str = "tcp") -> Iterator[Path]:
    """Start a scheduler and a worker by command, on loopback; yield the path of the scheduler file."""
    file = folder / "scheduler.json"
    scheduler = scheduler_words(file, "127.0.0.1", protocol, *words)
    worker = worker_words(file, "127.0.0.1", folder, *words)
    with open(folder / "dask.log", "wb") as log, started(scheduler, worker, stderr=log, stdout=log) as processes:
        wait_for(lambda: written(file), "no scheduler file", *processes)
        yield file


def tiles(store: Path) -> dict[str, bytes]:
    return {str(f.relative_to(store)): f.read_bytes() for f in (store / "gram" / "c").rglob("*") if f.is_file()}


def surroundings(**more: str) -> dict[str, str]:
    """Variables of a child process that name no cluster but a given one."""
    return {name: value for name, value in os.environ.items() if name not in SURROUNDINGS} | more
