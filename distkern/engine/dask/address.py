"""The scheduler address in Dask's configuration; a file of its own, because distributed is slow to import."""

from __future__ import annotations

import dask.config


def configured_address() -> str | None:
    """Return the scheduler address from ``DASK_SCHEDULER_ADDRESS`` or Dask's configuration files; None if not set."""
    return dask.config.get("scheduler-address", None) or None
