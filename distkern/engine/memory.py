"""The memory that tasks may use: what is available to this process, divided among concurrent tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil

USABLE = 0.6
"""Fraction of the available memory that tasks may use; the rest is for the interpreter and temporary copies."""

RESTING = 200 * 2**20
"""Bytes of an idle worker process that has imported Numba, Dask and Zarr."""

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

    The limit defaults to the usable fraction of the available memory.

    Examples
    --------
    >>> share_of(1000, 4)
    250
    """
    return (int(USABLE * available_memory()) if limit is None else limit) // max(1, tasks)


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
