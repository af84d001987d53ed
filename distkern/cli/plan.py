"""``distkern plan``: estimate the resources of a computation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.common import LocalPath, StoreLocation
from distkern.cli.gram import gram_options, print_plan
from distkern.cli.help import Command

EPILOG = """\b
Examples:
  distkern plan cohort.csv --samples columns --kernel kendall
  distkern plan cohort.h5ad --kernel kendall --workers 500 --memory-limit 4GiB
  distkern plan cohort.h5ad cohort.zarr --kernel kendall --scheduler-file scheduler.json --json

The arguments are the same as for `distkern gram`, whose option --dry-run prints the same plan. STORE is optional: with
it the plan also checks the free disk space and the tiles that are already done. --workers plans for that number of
workers and starts none."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("input", type=LocalPath())
@click.argument("store", type=StoreLocation(), required=False)
@gram_options
def plan(store: Path | str | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Estimate the tiles, disk space, memory and time of the Gram matrix of INPUT, and compute nothing."""
    print_plan(store=store, as_json=as_json, **given)
