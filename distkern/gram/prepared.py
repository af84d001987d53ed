"""Stores that a process has open, and the prepared samples that it reads from them."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from distkern.core.errors import StoreError, StoreMismatchError
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.registry import from_spec
from distkern.kernels.trust import FEATURE_BYTES, could_have_prepared
from distkern.store.addresses import refuse_beyond_memory
from distkern.store.samples import DIAGONAL, StoredSamples
from distkern.store.tiles import GramStore

_keeping = threading.Lock()
_kept: dict[tuple[Any, ...], Prepared] = {}
"""Row samples of the last tile, by what tells them from others; one block at most, whatever the number of threads."""


def opened(path: str, store_id: str) -> tuple[GramStore, Kernel]:
    """Open a store once a process, and let go of the samples that are kept for the next tile.

    Parameters
    ----------
    store_id
        Tells the store from one that lay or lies at the same path.
    """
    let_go()
    return opened_beside(path, store_id)


@lru_cache(maxsize=4)
def opened_beside(path: str, store_id: str) -> tuple[GramStore, Kernel]:
    """Open a store once a process, and keep the samples that are kept for the next tile."""
    store = GramStore.opened(path)
    if store.meta["id"] != store_id:
        raise StoreMismatchError(
            f"{path!r} is another store here than where the run was started, or has grown: give a path that all "
            "workers share, and open it again"
        )
    return store, from_spec(store.meta["stored"])


def prepared_block(store: GramStore, side: str, block: int) -> Prepared:
    """Read one block of prepared samples.

    Raises
    ------
    StoreError
        If the kernel cannot have prepared it: compiled code takes some of it as indices, and a store may be anybody's.
    """
    return valid_block(store, read_block(store.samples(side), block))


def read_block(samples: StoredSamples, block: int, marks: tuple[int, ...] | None = None) -> Prepared:
    """Read one block of prepared samples, of which nothing but its checksums is known."""
    arrays = samples.read(block, marks)
    arrays.pop(DIAGONAL)
    return Prepared(arrays, samples.span(block)[0])


def valid_block(store: GramStore, block: Prepared) -> Prepared:
    """Refuse what was not prepared by the kernel of the store, whatever its checksum says."""
    n, kernel = store.meta["n_features"], from_spec(store.meta["stored"])
    refuse_beyond_memory(store.path, "a sample", FEATURE_BYTES * n)
    if not could_have_prepared(kernel, block, n):
        raise StoreError(
            f"{store.path!r} holds of samples {block.start}–{block.start + len(block) - 1} what matches its checksum "
            f"and is nothing that {kernel!r} prepares: compute the matrix from the samples into another store"
        )
    return block


# The row samples of the last tile ------------------------------------------------------------------------------------


def kept_block(samples: StoredSamples, block: int, marks: tuple[int, ...], store_id: str) -> Prepared:
    """Read a block, or take the one that is kept, which is that of the last tile wherever tiles come in their order."""
    kept = _kept.get((store_id, block, marks))
    if kept is None:
        let_go()  # so that no more is held than the plan says
        kept = read_block(samples, block, marks)
    return kept


def keep_block(rows: Prepared, block: int, marks: tuple[int, ...], store_id: str) -> None:
    """Keep a block of row samples for the next tile."""
    with _keeping:
        _kept.clear()
        _kept[store_id, block, marks] = rows


def let_go() -> None:
    """Let go of the row samples that are kept for the next tile."""
    with _keeping:
        _kept.clear()
