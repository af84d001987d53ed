"""Find what no longer matches its checksum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from distkern.core.errors import CorruptTileError
from distkern.core.events import Listener, Progress
from distkern.store.tiles import GramStore


def damages(store: GramStore, listener: Listener) -> list[CorruptTileError]:
    """Read everything that is marked done and compare it with its checksum; return an error for each mismatch."""
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
            wrong.append(error)
        listener(Progress("verify", step, len(reads)))
    return wrong
