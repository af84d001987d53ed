"""How much memory tasks may take: what this process may use, shared among the tasks that run side by side."""

from __future__ import annotations

from pathlib import Path

import psutil

USABLE = 0.6
"""Fraction of the available memory that tasks may fill; the rest is for the interpreter and temporary copies."""

_CGROUP_FILES = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def available_memory() -> int:
    """Bytes that this process can still take: free memory of the machine, or of its container where that is less."""
    available = int(psutil.virtual_memory().available)
    for limit_file, usage_file in _CGROUP_FILES:
        try:
            limit, usage = limit_file.read_text().strip(), usage_file.read_text().strip()
        except OSError:
            continue
        if limit.isdigit() and usage.isdigit():
            available = min(available, max(0, int(limit) - int(usage)))
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
