"""Stores that this process has open, and blocks of prepared samples read from them.

Tiles are computed row by row, so a process keeps the prepared row samples of its last tile: at most one block, whatever
the number of threads, since the plan counts the memory of one.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from distkern.core.errors import StoreError, StoreMismatchError
from distkern.kernels.base import Prepared
from distkern.kernels.registry import from_spec
from distkern.kernels.trust import FEATURE_BYTES, could_have_prepared
from distkern.store.layout import DIAGONAL
from distkern.store.location import refuse_beyond_memory
from distkern.store.samples import StoredSamples
from distkern.store.tiles import GramStore

_lock = threading.Lock()
_kept: dict[tuple[Any, ...], Prepared] = {}
"""The kept block, by store, number of the block and checksums."""


def opened(path: str, store_id: str, *, keep_block: bool = False) -> GramStore:
    """Open a store once per process.

    Parameters
    ----------
    store_id
        Identifier of the store, to refuse another one at the same path.
    keep_block
        Whether to keep the block of row samples for the next tile.

    Raises
    ------
    StoreMismatchError
        If there is another store at the path, or it has grown.
    """
    if not keep_block:
        drop_kept_block()
    return _opened(path, store_id)


@lru_cache(maxsize=4)
def _opened(path: str, store_id: str) -> GramStore:
    store = GramStore.opened(path)
    if store.manifest.id != store_id:
        raise StoreMismatchError(
            f"{path!r} is not the store that the run was started with, or has grown: give a path that all workers "
            "share, and open it again"
        )
    return store


def prepared_block(store: GramStore, axis: str, block: int) -> Prepared:
    """Read one block of prepared samples.

    Raises
    ------
    StoreError
        If the kernel cannot have prepared it; see `valid_block`.
    """
    return valid_block(store, read_block(store.samples(axis), block))


def read_block(samples: StoredSamples, block: int, checksums: tuple[int, ...] | None = None) -> Prepared:
    """Read one block of prepared samples; its checksums are compared, its values are not validated."""
    arrays = samples.read(block, checksums)
    arrays.pop(DIAGONAL)
    return Prepared(arrays, samples.span(block)[0])


def valid_block(store: GramStore, block: Prepared) -> Prepared:
    """Validate a block that was read from a store, and return it.

    Compiled code uses prepared values as indices and does not check bounds, and a store may come from anybody.

    Raises
    ------
    StoreError
        If the kernel of the store cannot have prepared the block.
    """
    n, kernel = store.manifest.n_features, from_spec(store.manifest.stored)
    refuse_beyond_memory(store.path, "a sample", FEATURE_BYTES * n)
    if not could_have_prepared(kernel, block, n):
        raise StoreError(
            f"{store.path!r} holds prepared samples {block.start}–{block.start + len(block) - 1} that match their "
            f"checksum, but {kernel!r} cannot have prepared them: compute the matrix into another store"
        )
    return block


# The kept block of row samples --------------------------------------------------------------------------------------


def kept_block(samples: StoredSamples, block: int, checksums: tuple[int, ...], store_id: str) -> Prepared:
    """Return the block if it is kept from the last tile, else read it."""
    kept = _kept.get((store_id, block, checksums))
    if kept is None:
        drop_kept_block()  # before reading, so that there is only one in memory
        kept = read_block(samples, block, checksums)
    return kept


def keep_block(rows: Prepared, block: int, checksums: tuple[int, ...], store_id: str) -> None:
    """Keep a block of row samples for the next tile."""
    with _lock:
        _kept.clear()
        _kept[store_id, block, checksums] = rows


def drop_kept_block() -> None:
    """Free the kept block of row samples."""
    with _lock:
        _kept.clear()
