"""Fill a store: prepare the samples and compute the tiles that are missing, and mark each as soon as it is stored."""

from __future__ import annotations

from collections.abc import Mapping

from distkern.build.plan import bytes_of_preparing
from distkern.build.tasks import PrepareTask, TileTask, compute_tile, prepare_block
from distkern.core.events import Listener
from distkern.core.typing import Array
from distkern.engine.base import Executor
from distkern.engine.executors import Threads, usable_cores
from distkern.engine.memory import free_within
from distkern.engine.run import run
from distkern.gram.prepared import drop_kept_block
from distkern.io.source import Source
from distkern.store.runs import Receipt, RunLog
from distkern.store.tiles import GramStore


def fill(
    store: GramStore,
    sources: Mapping[str, Source],
    pool: Executor,
    listener: Listener,
    first: int = 0,
    limit: int | None = None,
) -> None:
    """Compute all that is missing, and log what it takes, also when it is interrupted.

    Parameters
    ----------
    sources
        The samples of each side; a side without one is prepared already.
    first
        Number in the cohort of the first sample of the rows' source.
    limit
        Bytes that this process may take where it prepares samples that lie in its memory; by default what is free.
    """
    with RunLog(store, pool, listener) as log:
        known = {side: store.samples(side).marks() for side in store.sides}
        for side, source in sources.items():
            known[side] = prepare_side(store, side, source, pool, log, first, limit)
        marks = store.marks(refresh=True)
        pending = [(i, j) for i, j in store.grid.tiles() if marks[i, j] == 0]
        compute_tiles(store, pending, known, pool, log)


def prepare_side(
    store: GramStore, side: str, source: Source, pool: Executor, log: RunLog, first: int, limit: int | None
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
        marks[receipt.i] = receipt.marks
        samples.mark(marks)
        log.prepared(receipt)

    def named(task: PrepareTask) -> str:
        start, stop = samples.span(task.block)
        return f"preparing samples {start}–{stop - 1} of the {side}"

    taken = bytes_of_preparing(min(samples.block, samples.count), store.meta["n_features"], samples.bytes_of_sample())
    here = max(1, min(usable_cores(), free_within(limit) // taken))
    runner = pool if source.portable or not pool.remote else Threads(here)
    already = len(marks) - len(tasks)
    if tasks:
        run(
            runner,
            prepare_block,
            tasks,
            done,
            phase=f"prepare {side}",
            listener=log,
            done=already,
            on_failure=lambda failure: log.failed(named(failure.task), failure.error),
            named=named,
            go_on=True,
        )
    return marks


def compute_tiles(
    store: GramStore,
    tiles: list[tuple[int, int]],
    known: Mapping[str, Array],
    pool: Executor,
    log: RunLog,
) -> None:
    """Compute some tiles; where some fail, the others are computed nevertheless.

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
        (marks[receipt.i, receipt.j],) = receipt.marks
        store.mark(marks, receipt.i)
        log.computed(receipt)

    def named(task: TileTask) -> str:
        (top, bottom), (left, right) = store.grid.row_range(task.i), store.grid.col_range(task.j)
        return f"tile ({task.i}, {task.j}) (rows {top}–{bottom - 1}, columns {left}–{right - 1})"

    already = store.grid.count - len(tasks)
    try:
        run(
            pool,
            compute_tile,
            tasks,
            done,
            phase="compute tiles",
            listener=log,
            done=already,
            on_failure=lambda failure: log.failed(named(failure.task), failure.error),
            named=named,
            go_on=True,
        )
    finally:
        drop_kept_block()  # where the tiles were computed in this process
