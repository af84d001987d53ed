"""Fill a store: prepare samples and compute tiles that are missing, and write a checksum as soon as each is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from distkern.build.look import reading_pool
from distkern.build.plan import bytes_of_preparing, bytes_read_of
from distkern.build.tasks import PrepareTask, TileTask, compute_tile, prepare_block
from distkern.core.events import Listener
from distkern.core.typing import Array
from distkern.engine.base import Executor
from distkern.engine.run import run
from distkern.gram.prepared import drop_kept_block
from distkern.io.source import Source
from distkern.kernels.base import Kernel
from distkern.store.runs import Receipt, RunLog
from distkern.store.tiles import GramStore


def fill(
    store: GramStore,
    kernel: Kernel,
    sources: Mapping[str, Source],
    pool: Executor,
    listener: Listener,
    first: int = 0,
    limit: int | None = None,
    before: Sequence[Receipt] = (),
) -> None:
    """Compute all that is missing, and log the run, also when it is interrupted.

    Parameters
    ----------
    kernel
        The kernel whose values are stored.
    sources
        The samples of each axis; an axis without them is prepared already.
    first
        Number in the cohort of the first sample of the rows' source.
    limit
        Bytes that this process may take to prepare samples from its own memory; by default a share of the free memory.
    before
        Time and memory of the work before: looking at samples, and choosing landmarks.
    """
    with RunLog(store, pool, listener) as log:
        for receipt in before:
            log.count(receipt)
        prepared = {axis: store.samples(axis).checksums() for axis in store.axes}
        for axis, source in sources.items():
            prepared[axis] = prepare_axis(store, kernel, axis, source, pool, log, first, limit)
        checksums = store.checksums(refresh=True)
        pending = [(i, j) for i, j in store.grid.tiles() if checksums[i, j] == 0]
        compute_tiles(store, kernel, pending, prepared, pool, log)


def prepare_axis(
    store: GramStore,
    kernel: Kernel,
    axis: str,
    source: Source,
    pool: Executor,
    log: RunLog,
    first: int,
    limit: int | None,
) -> Array:
    """Prepare the missing blocks of an axis: on a cluster where it can read the samples by path, else here.

    Returns
    -------
    ndarray
        The checksums of all its blocks, as this client knows them: another client may be rewriting the stored ones.
    """
    samples = store.samples(axis)
    checksums = samples.all_checksums()
    bare, known = source.nameless(), checksums.tolist()
    tasks = [
        PrepareTask(store.path, store.manifest.id, kernel, axis, block, bare, first, tuple(known[block]), log.run)
        for block in samples.missing()
    ]

    def done(receipt: Receipt) -> None:
        checksums[receipt.i] = receipt.checksums
        samples.add_checksums(checksums)
        log.prepared(receipt)

    def named(task: PrepareTask) -> str:
        start, stop = samples.span(task.block)
        return f"preparing samples {start}–{stop - 1} of the {axis}"

    block = min(samples.block, samples.count)
    taken = bytes_of_preparing(block, store.manifest.sample_bytes, bytes_read_of(store.manifest))
    already = len(checksums) - len(tasks)
    if tasks:
        run(
            reading_pool(pool, source, taken, limit),
            prepare_block,
            tasks,
            done,
            phase=f"prepare {axis}",
            listener=log,
            done=already,
            on_failure=lambda failure: log.failed(named(failure.task), failure.error),
            named=named,
            go_on=True,
        )
    return checksums


def compute_tiles(
    store: GramStore,
    kernel: Kernel,
    tiles: list[tuple[int, int]],
    prepared: Mapping[str, Array],
    pool: Executor,
    log: RunLog,
) -> None:
    """Compute some tiles; where some fail, the others are computed nevertheless.

    Parameters
    ----------
    kernel
        The kernel whose values are stored.
    prepared
        Checksums of the prepared blocks of each axis.
    """
    if not tiles:
        return
    checksums = store.all_checksums()
    known = checksums.tolist()
    of_rows, of_cols = ([*map(tuple, prepared[axis].tolist())] for axis in ("rows", store.cols.axis))
    tasks = [
        TileTask(store.path, store.manifest.id, kernel, i, j, of_rows[i], of_cols[j], known[i][j], log.run)
        for i, j in tiles
    ]

    def done(receipt: Receipt) -> None:
        (checksums[receipt.i, receipt.j],) = receipt.checksums
        store.add_checksums(checksums, receipt.i)
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
