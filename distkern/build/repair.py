"""Find tiles that no longer match their checksums, and recompute them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from distkern.build.schedule import compute_tiles
from distkern.core.errors import CorruptTileError, StoreError
from distkern.core.sentences import Call
from distkern.engine.progress import progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.kernels.registry import from_spec
from distkern.store.runs import RunLog
from distkern.store.samples import StoredSamples
from distkern.store.tiles import GramStore


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

    See Also
    --------
    StoredGram.verify : Find damaged tiles.
    open_gram : Open the matrix.
    """
    opened = GramStore.opened(store)
    listener = progress_listener(progress)
    lost = [axis for axis in opened.axes if _clear_damaged(opened.samples(axis))]
    if lost:
        raise StoreError(
            "prepared samples of {store!r} are damaged ({lost}), and their checksums were cleared: run "
            "{compute} with the same kernel and data again (all samples, where some were added), which prepares just "
            "those, then {repair}",
            store=opened.path,
            lost=" and ".join(lost),
            compute=Call("compute_gram"),
            repair=Call("repair_gram", (opened.path,)),
        )
    checksums = opened.checksums(refresh=True)
    damaged = [(i, j) for i, j in opened.grid.tiles() if checksums[i, j] and _is_damaged(opened.read_tile, i, j)]
    opened.clear_checksums(damaged)
    prepared = {axis: opened.samples(axis).checksums() for axis in opened.axes}
    pool = resolve_executor(executor)
    with RunLog(opened, pool, listener) as log:
        compute_tiles(opened, from_spec(opened.manifest.stored), damaged, prepared, pool, log)
    return len(damaged)


def _is_damaged(read: Callable[..., Any], *where: Any) -> bool:
    try:
        read(*where)
    except CorruptTileError:
        return True
    return False


def _clear_damaged(samples: StoredSamples) -> bool:
    prepared = samples.prepared().items()
    damaged = [block for block, expected in prepared if _is_damaged(samples.read, block, expected)]
    samples.clear_checksums(damaged)
    return bool(damaged)
