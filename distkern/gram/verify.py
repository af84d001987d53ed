"""Find stored values that do not match their checksums."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from distkern.core.errors import CorruptTileError
from distkern.core.events import Listener, Progress
from distkern.store.tiles import GramStore


def damages(store: GramStore, listener: Listener) -> list[CorruptTileError]:
    """Compare everything that is done with its checksum; return an error for each mismatch."""
    damaged = []
    checksums = store.checksums(refresh=True)
    reads: list[Callable[[], Any]] = [partial(store.read_tile, i, j) for i, j in store.grid.tiles() if checksums[i, j]]
    for samples in (store.samples(axis) for axis in store.axes):
        reads += [partial(getattr, samples, "ids"), partial(getattr, samples, "index"), samples.all_digests]
        reads += [partial(samples.read, block, expected) for block, expected in samples.prepared().items()]
    for step, read in enumerate(reads, start=1):
        try:
            read()
        except CorruptTileError as error:
            damaged.append(error)
        listener(Progress("verify", step, len(reads)))
    return damaged
