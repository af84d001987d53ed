"""Find what no longer matches its checksum, and recompute it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from distkern.core.errors import CorruptTileError, StoreError
from distkern.core.events import Listener, Progress
from distkern.engine.executors import resolve_executor
from distkern.engine.progress import progress_listener
from distkern.gram.fill import compute_tiles
from distkern.gram.runlog import RunLog
from distkern.gram.samples import StoredSamples
from distkern.gram.store import GramStore


def damages(store: GramStore, listener: Listener) -> list[str]:
    """Read everything that is marked done and compare it with its checksum; return what is wrong, in words."""
    wrong = []
    marks = store.marks(refresh=True)
    reads: list[Callable[[], Any]] = [partial(store.read_tile, i, j) for i, j in store.grid.tiles() if marks[i, j]]
    for samples in (store.samples(side) for side in store.sides):
        reads += [partial(getattr, samples, "ids"), partial(getattr, samples, "index"), samples.all_digests]
        reads += [partial(samples.read, block, of_block) for block, of_block in samples.prepared().items()]
    for step, read in enumerate(reads, start=1):
        try:
            read()
        except CorruptTileError as error:
            wrong.append(str(error))
        listener(Progress("verify", step, len(reads)))
    return wrong


def repair_gram(store: str | os.PathLike[str], *, executor: Any = None, progress: Any = None) -> int:
    """Recompute the tiles that do not match their checksums, from the stored prepared samples.

    Returns
    -------
    int
        Number of tiles recomputed.

    Raises
    ------
    StoreError
        If prepared samples are damaged too: they can only come from the data, by `compute_gram` with the same data.
    """
    opened = GramStore.opened(store)
    listener = progress_listener(progress)
    lost = [side for side in opened.sides if _unmark_damaged(opened.samples(side))]
    if lost:
        raise StoreError(
            f"prepared samples of {opened.path!r} are damaged ({' and '.join(lost)}) and have been unmarked: run "
            "compute_gram with the same kernel and data again (all samples, where some were added), which prepares "
            "just those, then repair_gram"
        )
    marks = opened.marks(refresh=True)
    damaged = [(i, j) for i, j in opened.grid.tiles() if marks[i, j] and _is_damaged(opened.read_tile, i, j)]
    opened.unmark(damaged)
    known = {side: opened.samples(side).marks() for side in opened.sides}
    pool = resolve_executor(executor)
    with RunLog(opened, pool, listener) as log:
        compute_tiles(opened, damaged, known, pool, log)
    return len(damaged)


def _is_damaged(read: Callable[..., Any], *where: Any) -> bool:
    try:
        read(*where)
    except CorruptTileError:
        return True
    return False


def _unmark_damaged(samples: StoredSamples) -> bool:
    damaged = [block for block, marks in samples.prepared().items() if _is_damaged(samples.read, block, marks)]
    samples.unmark(damaged)
    return bool(damaged)
