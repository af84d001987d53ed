"""Fill a store: prepare the samples and compute the tiles that are missing, and mark each as soon as it is stored."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from distkern.core.events import Listener
from distkern.core.typing import Array, Executor
from distkern.engine.executors import Threads, usable_cores
from distkern.engine.memory import share_of
from distkern.engine.run import run
from distkern.gram.store import GramStore
from distkern.gram.tasks import PrepareTask, Receipt, TileTask, compute_tile, prepare_block
from distkern.io.source import Source


def fill(store: GramStore, sources: Mapping[str, Source], pool: Executor, listener: Listener, first: int = 0) -> None:
    """Compute all that is missing, and log what it took, also when it is interrupted.

    Parameters
    ----------
    sources
        The samples of each side; a side without one is prepared already.
    first
        Number in the cohort of the first sample of the rows' source.
    """
    began, when, executor = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds"), pool.describe()
    prepared: list[Receipt] = []
    computed: list[Receipt] = []

    def log() -> None:
        receipts = prepared + computed
        if receipts:
            run_log = {
                "started": when,
                "executor": executor,
                "seconds": round(time.perf_counter() - began, 3),
                "blocks_prepared": len(prepared),
                "tiles_computed": len(computed),
                "task_seconds": round(sum(receipt.seconds for receipt in receipts), 3),
                "peak_bytes": max(receipt.peak_bytes for receipt in receipts),
                "workers": len({receipt.worker for receipt in computed or prepared}),
            }
            store.log_run(run_log)

    try:
        known = {side: store.samples(side).marks() for side in store.sides}
        for side, source in sources.items():
            known[side] = prepare_side(store, side, source, pool, listener, prepared, first)
        marks = store.marks(refresh=True)
        pending = [(i, j) for i, j in store.grid.tiles() if marks[i, j] == 0]
        compute_tiles(store, pending, known, pool, listener, computed)
    except BaseException:  # an interruption too
        with suppress(Exception):  # the disk may be full, and it is the first error that tells why
            log()
        raise
    log()


def prepare_side(
    store: GramStore,
    side: str,
    source: Source,
    pool: Executor,
    listener: Listener,
    receipts: list[Receipt],
    first: int = 0,
) -> Array:
    """Prepare the missing blocks of a side: on a cluster where it can read the samples by path, else here.

    Returns
    -------
    ndarray
        The marks of all its blocks, as this client knows them: another one may be rewriting those in the store.
    """
    samples = store.samples(side)
    marks = samples.marks_of_all_generations()
    bare, known = source.nameless(), marks.tolist()
    tasks = [
        PrepareTask(store.path, store.meta["id"], side, block, bare, first, tuple(known[block]))
        for block in samples.missing()
    ]

    def done(receipt: Receipt) -> None:
        receipts.append(receipt)
        marks[receipt.i] = receipt.marks
        samples.mark(marks)

    here = max(1, min(usable_cores(), share_of(None, 1) // store.meta["bytes_per_task"]))
    runner = pool if source.portable or not pool.remote else Threads(here)
    already = len(marks) - len(tasks)
    if tasks:
        run(runner, prepare_block, tasks, done, phase=f"prepare {side}", listener=listener, done=already)
    return marks


def compute_tiles(
    store: GramStore,
    tiles: list[tuple[int, int]],
    known: Mapping[str, Array],
    pool: Executor,
    listener: Listener,
    receipts: list[Receipt],
) -> None:
    """Compute some tiles; the receipts of those that are stored are added to ``receipts`` as they come.

    Parameters
    ----------
    known
        Marks of the prepared blocks of each side.
    """
    if not tiles:
        return
    marks = store.marks_of_all_generations()
    held = marks.tolist()
    rows, cols = known["rows"].tolist(), known[store.cols.side].tolist()
    tasks = [TileTask(store.path, store.meta["id"], i, j, tuple(rows[i]), tuple(cols[j]), held[i][j]) for i, j in tiles]

    def done(receipt: Receipt) -> None:
        receipts.append(receipt)
        (marks[receipt.i, receipt.j],) = receipt.marks
        store.mark(marks, receipt.i)

    already = store.grid.count - len(tasks)
    run(pool, compute_tile, tasks, done, phase="compute tiles", listener=listener, done=already)
