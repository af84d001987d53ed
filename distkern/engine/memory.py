"""The memory that tasks may use: what is available to this process, divided among concurrent tasks; and what they took.

Linux knows the most memory that a process has *ever* had. A task of a process that was larger before would be charged
with that, so the resident memory is sampled while the task runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from distkern.core.allowance import allowed_bytes

USABLE = 0.6
"""Fraction of the available memory that tasks may use; the rest is for the interpreter and temporary copies."""

RESTING = 200 * 2**20
"""Bytes of an idle worker process that has imported Numba, Dask and Zarr."""

SAMPLE_SECONDS = 0.01
"""Seconds between two looks at the resident memory of this process, while tasks run."""

_CGROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_memory() -> int:
    """Return the bytes that this process can still allocate: free memory of the machine, or of its container."""
    available = int(psutil.virtual_memory().available)
    for folder, limit_name, usage_name in _CGROUPS:
        try:
            limit, usage = (folder / limit_name).read_text().strip(), (folder / usage_name).read_text().strip()
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        if limit.isdigit() and usage.isdigit():
            cached = int(statistics.get("inactive_file", 0))  # the page cache, which is released on demand
            available = min(available, max(0, int(limit) - int(usage) + cached))
    return available


def share_of(limit: int | None, tasks: int) -> int:
    """Return the bytes for each of ``tasks`` that run at the same time in a process that may use ``limit`` bytes.

    The limit defaults to the usable fraction of the available memory, and to what the present work was allowed.

    Examples
    --------
    >>> share_of(1000, 4)
    250
    """
    if limit is None:
        limit, given = int(USABLE * available_memory()), allowed_bytes()
        limit = limit if given is None else min(limit, given)
    return limit // max(1, tasks)


def free_within(limit: int | None) -> int:
    """Return the bytes that this process may allocate: its available memory, at most ``limit``.

    Examples
    --------
    >>> free_within(1000)
    1000
    """
    free = share_of(None, 1)
    return free if limit is None else min(limit, free)


def largest(fits: Callable[[int], bool], limit: int) -> int:
    """Find the largest whole number up to ``limit`` that fits, by bisection; 0 if none does.

    Every number below one that fits must fit too.

    Examples
    --------
    >>> largest(lambda side: side * side <= 50, 100)
    7
    """
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


# What was taken -------------------------------------------------------------------------------------------------------


class Watched:
    """Most resident memory of this process inside a ``with`` block.

    Where the process becomes larger than ever inside the block, Linux tells the exact number. Else, and on other
    systems, it is the largest of the samples, `SAMPLE_SECONDS` apart: what is taken and given back in between is not
    seen.

    Examples
    --------
    >>> with Watched() as memory:
    ...     values = bytes(2**20)
    >>> memory.most >= resident_bytes() - 2**20
    True
    """

    def __enter__(self) -> Self:
        self._before = _most_ever()
        self._sampled = resident_bytes()
        with _lock:
            _watching.append(self)
            _start_sampling()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _lock:
            _watching.remove(self)

    @property
    def most(self) -> int:
        """Most bytes since the block began."""
        self.see(resident_bytes())
        ever = _most_ever()
        return ever if ever > self._before else self._sampled

    def see(self, resident: int) -> None:
        """Take a sample into account."""
        self._sampled = max(self._sampled, resident)


_lock = threading.Lock()
_watching: list[Watched] = []
_sampler: threading.Thread | None = None


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(psutil.Process().memory_info().rss)


_rest: dict[tuple[str, str], int] = {}
"""Memory of this process before its first task of a run, by the kind of task and the run; of the last runs."""

RUNS = 16
"""Runs whose memory at rest is remembered."""


def bytes_at_rest(what: str, run: str, held: int = 0) -> int:
    """Return the resident memory of this process before its first task of a kind, in a run.

    Parameters
    ----------
    held
        Bytes that this task has taken by now, if it is the first one: memory of the task, not of the process at rest.
    """
    with _lock:
        rest = _rest.get((what, run))
        if rest is None:
            while len(_rest) >= RUNS:
                del _rest[next(iter(_rest))]
            rest = _rest[what, run] = resident_bytes() - held
        return rest


def _most_ever() -> int:
    """Return the most memory that this process has had; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        return 0


def _start_sampling() -> None:
    """Start the one thread that samples for all blocks; it is gone after a fork."""
    global _sampler
    if _sampler is None or not _sampler.is_alive():
        _sampler = threading.Thread(target=_sample, name="distkern-memory", daemon=True)
        _sampler.start()


def _sample() -> None:
    global _sampler
    while True:
        time.sleep(SAMPLE_SECONDS)
        resident = resident_bytes()
        with _lock:
            for watched in _watching:
                watched.see(resident)
            if not _watching:
                _sampler = None
                return
