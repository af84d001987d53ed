"""Fill a store: prepare the samples and compute the tiles that are missing, and mark each as soon as it is stored."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b

import numpy as np

from distkern.core.events import Listener
from distkern.core.typing import Executor
from distkern.engine.executors import Threads
from distkern.engine.run import run
from distkern.gram.store import GramStore
from distkern.gram.tasks import PrepareTask, Receipt, TileTask, compute_tile, prepare_block
from distkern.io.source import Source


def fill(store: GramStore, sources: Mapping[str, Source], pool: Executor, listener: Listener) -> None:
    """Compute all that is missing, and log what it took, also when it is interrupted."""
    began, when = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    prepared: list[Receipt] = []
    computed: list[Receipt] = []

    def log() -> None:
        receipts = prepared + computed
        if receipts:
            run_log = {
                "started": when,
                "executor": pool.describe(),
                "seconds": round(time.perf_counter() - began, 3),
                "blocks_prepared": len(prepared),
                "tiles_computed": len(computed),
                "task_seconds": round(sum(receipt.seconds for receipt in receipts), 3),
                "peak_bytes": max(receipt.peak_bytes for receipt in receipts),
                "workers": len({receipt.worker for receipt in computed or prepared}),
            }
            store.log_run(run_log)

    try:
        for side in store.sides:
            prepare_side(store, side, sources[side], pool, listener, prepared)
        marks = store.marks(refresh=True)
        pending = [(i, j) for i, j in store.grid.tiles() if marks[i, j] == 0]
        compute_tiles(store, pending, pool, listener, computed)
    except BaseException:  # an interruption too
        with suppress(Exception):  # the disk may be full, and it is the first error that tells why
            log()
        raise
    log()


def prepare_side(
    store: GramStore, side: str, source: Source, pool: Executor, listener: Listener, receipts: list[Receipt]
) -> None:
    """Prepare the missing blocks of a side: on a cluster where it can read the samples by path, else here."""
    marks = store.prepared_marks(side)
    version = _version(store)
    missing = [int(block) for block in np.flatnonzero(marks == 0)]
    tasks = [PrepareTask(store.path, version, side, block, source.nameless()) for block in missing]
    if not tasks:
        return

    def done(receipt: Receipt) -> None:
        receipts.append(receipt)
        marks[receipt.i] = receipt.mark
        store.write_prepared_marks(side, marks)

    runner = pool if source.portable or not pool.remote else Threads()
    already = len(marks) - len(tasks)
    run(runner, prepare_block, tasks, done, phase=f"prepare {side}", listener=listener, done=already)


def compute_tiles(
    store: GramStore, tiles: list[tuple[int, int]], pool: Executor, listener: Listener, receipts: list[Receipt]
) -> None:
    """Compute some tiles; the receipts of those that are stored are added to ``receipts`` as they come."""
    if not tiles:
        return
    marks = store.marks(refresh=True).copy()
    rows, cols = store.prepared_marks("rows"), store.prepared_marks(store.col_side)
    version = _version(store)
    tasks = [TileTask(store.path, version, i, j, int(rows[i]), int(cols[j])) for i, j in tiles]

    def done(receipt: Receipt) -> None:
        receipts.append(receipt)
        marks[receipt.i, receipt.j] = receipt.mark
        store.write_marks(marks, [receipt.i])

    already = store.grid.count - len(tasks)
    run(pool, compute_tile, tasks, done, phase="compute tiles", listener=listener, done=already)


def _version(store: GramStore) -> str:
    """Digest of all that shapes the store, by which a worker knows whether the one it has open is still this one."""
    return blake2b(json.dumps(store.meta, sort_keys=True).encode(), digest_size=8).hexdigest()
