"""How far a store is, and whether a run is at work on it, as another process sees it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from distkern.core.typing import Spec
from distkern.store.tiles import GramStore

SILENT_BEATS = 12
"""Heartbeats that may fail to come before a run is taken for dead: a minute of them."""


def store_status(store: GramStore, now: datetime | None = None) -> Spec:
    """Progress, rate, time left, workers and failures of a store, JSON-ready.

    Parameters
    ----------
    store
        An open store; its marks and its log are read anew.
    now
        Time of day; a clock that went backwards makes a run heard of just now.

    Returns
    -------
    dict
        ``state`` is ``"complete"``, ``"running"``, ``"silent"`` (a run was begun, did not end, and is not heard of any
        more), ``"failed"``, ``"interrupted"``, or ``"idle"``. Where several runs are at work their rates and workers
        add up; all else is of the last one. Seconds are None where they are not known.
    """
    now = datetime.now(UTC) if now is None else now
    runs = store.runs()
    alive = [
        run for run in runs if run["state"] == "running" and _silence(run, now) <= SILENT_BEATS * run["beat_seconds"]
    ]
    run = alive[-1] if alive else runs[-1] if runs else None
    tiles_done, tiles = int(np.count_nonzero(store.marks(refresh=True))), store.grid.count
    sides = [store.samples(side) for side in store.sides]
    blocks = sum(len(side.marks()) for side in sides)
    rates = [one["tiles_per_second"] for one in alive if one["tiles_per_second"]]
    rate = sum(rates) if rates else None
    return {
        "path": store.path,
        "state": _state(tiles_done == tiles, bool(alive), run),
        "complete": tiles_done == tiles,
        "alive": bool(alive),
        "tiles_done": tiles_done,
        "tiles": tiles,
        "blocks_prepared": blocks - sum(len(side.missing()) for side in sides),
        "blocks": blocks,
        "tiles_per_second": rate,
        "seconds_left": None if rate is None else (tiles - tiles_done) / rate,
        "tasks_side_by_side": sum(one["tasks_side_by_side"] for one in alive),
        "runs_alive": len(alive),
        "bytes_per_task": store.meta["bytes_per_task"],
        "grown": len(store.generations) > 1,
        "last_heard_seconds": None if run is None else _silence(run, now),
        "run": run,
    }


def _state(complete: bool, alive: bool, run: Spec | None) -> str:
    if alive:
        return "running"
    if complete:
        return "complete"
    if run is None or run["state"] == "finished":
        return "idle"
    return "silent" if run["state"] == "running" else str(run["state"])


def _silence(run: Spec, now: datetime) -> float:
    """Seconds since a run was heard of; none if its clock, or this one, went backwards."""
    return max(0.0, (now - datetime.fromisoformat(run["heard"])).total_seconds())
