"""Where the scheduler listens that the surroundings name; in a file of its own, for distributed takes long to load."""

from __future__ import annotations

import dask.config


def configured_address() -> str | None:
    """Find the address in Dask's configuration: ``DASK_SCHEDULER_ADDRESS``, or ``scheduler-address`` in its files."""
    return dask.config.get("scheduler-address", None) or None
