"""How much memory tasks may take: what this process may use, shared among the tasks that run side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil

USABLE = 0.6
"""Fraction of the available memory that tasks may fill; the rest is for the interpreter and temporary copies."""

RESTING = 200 * 2**20
"""Bytes of a worker process that has loaded Numba, Dask and Zarr and computes nothing."""

_CGROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_memory() -> int:
    """Bytes that this process can still take: free memory of the machine, or of its container where that is less."""
    available = int(psutil.virtual_memory().available)
    for folder, limit_name, usage_name in _CGROUPS:
        try:
            limit, usage = (folder / limit_name).read_text().strip(), (folder / usage_name).read_text().strip()
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        if limit.isdigit() and usage.isdigit():
            cached = int(statistics.get("inactive_file", 0))  # files read before: given back when it is needed
            available = min(available, max(0, int(limit) - int(usage) + cached))
    return available


def share_of(limit: int | None, tasks: int) -> int:
    """Bytes for each of ``tasks`` that run side by side in a process that may take ``limit`` bytes.

    Without a limit the usable fraction of the available memory is shared.

    Examples
    --------
    >>> share_of(1000, 4)
    250
    """
    return (int(USABLE * available_memory()) if limit is None else limit) // max(1, tasks)


def free_within(limit: int | None) -> int:
    """Bytes that this process may take for itself: what is free of it, and no more than ``limit``.

    Examples
    --------
    >>> free_within(1000)
    1000
    """
    free = share_of(None, 1)
    return free if limit is None else min(limit, free)


def largest(fits: Callable[[int], bool], limit: int) -> int:
    """Largest whole number up to ``limit`` that fits, 0 if none does; whatever is smaller than one that fits, fits too.

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
