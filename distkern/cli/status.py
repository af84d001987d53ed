"""``distkern status``: show the progress of a run from another process."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from distkern.cli.common import StoreLocation, json_option, open_store, print_json, print_table
from distkern.cli.errors import on_interruption
from distkern.cli.help import Command
from distkern.cli.kernels import view_of, view_options
from distkern.cli.progress import echo

WATCH_SECONDS = 5.0
"""Seconds between two reads of the store; runs write their status as often."""

EPILOG = """\b
Examples:
  distkern status cohort.zarr
  distkern status cohort.zarr --watch
  distkern status cohort.zarr --json | jq .seconds_left

A run writes its status into the store every few seconds. If it has written none for a minute, it is shown as silent: it
was killed, or it can no longer reach the store. The same `distkern gram` or `distkern append` then continues from the
finished tiles. Failed tiles are named here, and later in `distkern info`."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("store", type=StoreLocation())
@click.option("--watch", is_flag=True, help="Show the status every few seconds until the matrix is complete.")
@view_options
@json_option
def status(store: Path | str, watch: bool, as_json: bool, **asked: Any) -> None:
    """Show the progress, rate, time left, workers and failures of the run that writes STORE."""
    view = view_of(**asked)
    if not watch:
        found = open_store(store, **view).status()
        print_json(found) if as_json else print_table(table(found))
        return
    on_interruption("only `distkern status` has ended; the run continues")
    drawn = 0
    while True:
        found = open_store(store, **view).status()
        if as_json:
            echo(json.dumps(found, ensure_ascii=False))
        else:
            drawn = _redraw(table(found), drawn)
        if found["complete"] and not found["alive"]:
            return
        time.sleep(WATCH_SECONDS)


def _redraw(rows: list[tuple[str, str]], drawn: int) -> int:
    """Print a table, over the last one on a terminal and after it elsewhere; return its height."""
    if drawn:
        echo(f"\x1b[{drawn}A\x1b[J" if sys.stdout.isatty() else "", nl=not sys.stdout.isatty())
    return print_table(rows)


def table(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the status of a store as rows of a table."""
    from distkern.core.units import readable_seconds
    from distkern.kernels.registry import from_spec

    done, tiles, run = found["tiles_done"], found["tiles"], found["run"]
    rows = [
        ("store", found["path"]),
        *([("kernel", repr(from_spec(found["kernel"])))] if "kernel" in found else []),
        ("state", _state(found)),
        ("tiles", f"{done:,} of {tiles:,} done ({done / tiles:.1%})"),
        ("samples", f"{found['blocks_prepared']:,} of {found['blocks']:,} blocks prepared"),
    ]
    if found["tiles_per_second"]:
        left = "" if found["complete"] else f", about {readable_seconds(found['seconds_left'])} left"
        rows.append(("rate", f"{found['tiles_per_second']:,.3g} tiles a second{left}"))
    if run is None:
        return rows
    running = f"{found['tasks_side_by_side']:,} tasks at a time" if found["alive"] else "nothing"
    rows.append(("running", running + (f", {found['runs_alive']} runs" if found["runs_alive"] > 1 else "")))
    rows.append(("started", f"{run['started']} by {run['client']} on {run['executor']}"))
    rows.append(("last heard", f"{readable_seconds(found['last_heard_seconds'])} ago"))
    if run["workers"]:
        rows.append(("memory", _memory(run, found["bytes_per_task"])))
    rows.append(("failed", f"{run['tasks_failed']:,} tasks" if run["tasks_failed"] else "nothing"))
    rows += [("", f"{failure['task']}: {failure['error']}") for failure in run["failures"]]
    if run["error"]:
        rows.append(("ended with", run["error"]))
    return rows


def _memory(run: dict[str, Any], promised: int) -> str:
    from distkern.core.units import readable_bytes

    peak, rest, above = (readable_bytes(run[f"{name}_bytes"]) for name in ("peak", "rest", "above_rest"))
    planned = readable_bytes(promised)
    return f"{above} above rest in one process ({peak} at its peak, {rest} at rest); {planned} planned a task"


def _state(found: dict[str, Any]) -> str:
    on = f"the same `distkern {'append' if found['grown'] else 'gram'}` continues where it stopped"
    run = found["run"]
    if found["state"] == "running":
        return f"running: {run['note'] or run['phase'] or 'starting'}"
    return {
        "complete": "complete",
        "silent": f"silent: {on}",
        "failed": f"ended with an error: {on}",
        "interrupted": f"interrupted: {on}",
        "idle": f"no run is active: {on}",
    }[str(found["state"])]
