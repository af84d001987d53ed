"""``distkern plan``: what a computation will take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkern.cli.common import Place, StorePlace
from distkern.cli.gram import gram_options, print_plan

EPILOG = """\b
Examples:
  distkern plan cohort.csv --samples columns --kernel kendall
  distkern plan cohort.h5ad --kernel kendall --workers 500 --memory-limit 4GiB
  distkern plan cohort.h5ad cohort.zarr --kernel kendall --scheduler-file scheduler.json --json

The arguments are those of `distkern gram`, and so is the answer of `distkern gram --dry-run`. With STORE also the disk
and what is already there are looked at. With --workers it is a plan for so many, and none is started."""


@click.command(epilog=EPILOG, short_help="Print what a computation will take.")
@click.argument("input", type=Place())
@click.argument("store", type=StorePlace(), required=False)
@gram_options
def plan(store: Path | str | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Print what the Gram matrix of INPUT takes - tiles, disk, memory, time - and compute nothing."""
    print_plan(store=store, as_json=as_json, **given)
