"""A pass over a stored matrix in which workers do some work on all pairs of samples, and send what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.errors import MemoryLimitError
from distkern.core.events import Listener
from distkern.core.typing import Array, Indices
from distkern.core.units import readable_bytes
from distkern.gram.chunks import Chunk, chunks, task_bytes
from distkern.gram.passes import (
    Ordered,
    Partial,
    Spooled,
    fetched,
    in_rounds,
    in_terms_of,
    pool_for,
    stored_bytes,
    strips_of,
    within_reach,
)
from distkern.gram.prepared import opened
from distkern.kernels.base import Kernel
from distkern.operators.pairwise import Numbers, PairWork, State, numbers_at
from distkern.store.tiles import GramStore

NOT_THERE = -1
"""Position of a computed sample that takes no part."""

OF_KERNEL = "of the kernel: "
"""Beginning of the names of what the kernel knows of each sample, beside the numbers that the work takes."""


@dataclass(frozen=True)
class FoldTask:
    """Do some work on one chunk, with numbers of its row and of its column samples."""

    path: str
    store_id: str
    kernel: Kernel
    work: PairWork
    number: int
    chunk: Chunk
    rows: Mapping[str, Array | Spooled]
    cols: Mapping[str, Array | Spooled]


def work_on(task: FoldTask) -> Partial:
    """Read the tiles of a chunk once each and do the work on the pairs that take part, with one BLAS thread."""
    store, _ = opened(task.path, task.store_id)
    chunk, n = task.chunk, store.meta["n_features"]
    rows, cols = ({name: fetched(store, part) for name, part in side.items()} for side in (task.rows, task.cols))
    on_diagonal = chunk.top == chunk.left
    of_rows = task.work.begin(chunk.bottom - chunk.top)
    of_cols = of_rows if on_diagonal else task.work.begin(chunk.right - chunk.left)
    with one_blas_thread():
        for own, other, mirrored, strip in strips_of(store, chunk):
            above, below = numbers_at(rows, own), numbers_at(cols, other)
            values = in_terms_of(task.kernel, strip, _summary(task.kernel, above), _summary(task.kernel, below), n)
            here, there = _taking_part(above), _taking_part(below)
            found = tuple(array[own][here] for array in of_rows)
            mirror = tuple(array[other][there] for array in of_cols) if mirrored else None
            part = values[here][:, there]
            if not part.size:
                continue
            task.work.add(found, mirror, part, numbers_at(above, here), numbers_at(below, there))
            _put_back(of_rows, own, here, found)
            if mirror is not None:
                _put_back(of_cols, other, there, mirror)
    return Partial(task.number, of_rows, None if on_diagonal else of_cols, stored_bytes(store, chunk))


def _summary(kernel: Kernel, numbers: Numbers) -> dict[str, Array]:
    return {name: numbers[OF_KERNEL + name] for name in kernel.summary}


def _taking_part(numbers: Numbers) -> slice | Indices:
    """Which of some samples take part: a slice, which copies nothing, where all do."""
    there = numbers["position"] != NOT_THERE
    return slice(None) if there.all() else np.flatnonzero(there)


def _put_back(state: State, where: slice, chosen: slice | Indices, found: State) -> None:
    """Write what was found of the samples that were copied out of the state."""
    if not isinstance(chosen, slice):
        for array, added in zip(state, found, strict=True):
            array[where][chosen] = added


class _Merged(Ordered):
    """Merges what chunks found."""

    def __init__(self, store: GramStore, cut: list[Chunk], work: PairWork, state: State) -> None:
        super().__init__(store, cut)
        self._work, self._state = work, state

    def take(self, chunk: Chunk, ready: Partial) -> None:
        """Merge what a chunk found of its rows and of its columns."""
        for start, stop, part in ((chunk.top, chunk.bottom, ready.rows), (chunk.left, chunk.right, ready.cols)):
            if part is not None:
                self._work.merge(tuple(array[start:stop] for array in self._state), part)


def fold(
    store: GramStore,
    kernel: Kernel,
    work: PairWork,
    numbers: Numbers,
    masses: Numbers,
    summary: Numbers,
    *,
    executor: Any,
    listener: Listener,
    where: Indices | None,
) -> State:
    """Do some work on all pairs of samples of a symmetric stored matrix, reading each stored byte once.

    What workers find is merged in the order of the chunks, so that the bits follow from the grid and the samples alone.

    Parameters
    ----------
    numbers, masses
        Numbers of each sample, as of `BaseGram.fold`.
    summary
        What the kernel knows of each computed sample.
    executor, listener
        Who works, and who hears of it.
    where
        The computed sample that each sample is or equals; each is itself by default.

    Raises
    ------
    MemoryLimitError
        If a task may not take what it needs; before anything is read.
    """
    grid, cut = store.grid, chunks(store.grid, where, where)
    known = _of_computed(numbers, masses, where, grid.rows)
    pool = pool_for(store, cut, executor)
    held = work.bytes_per_sample + sum(array.nbytes // max(1, len(array)) for array in known.values())
    needed = task_bytes(grid, np.dtype(store.meta["dtype"]).itemsize, -(-held // 8))
    if needed > (allowed := pool.memory_per_task(None)):
        raise MemoryLimitError(
            f"a task that works on the pairs of tiles of side {grid.side} takes {readable_bytes(needed)}, {held} bytes "
            f"for each sample, and may take {readable_bytes(allowed)}: ask for less at a time, or give the workers "
            "more memory, or fewer threads"
        )
    known |= {OF_KERNEL + name: array for name, array in summary.items()}
    state = work.begin(grid.rows)
    longest = max((chunk.bottom - chunk.top + chunk.right - chunk.left for chunk in cut), default=0)
    of_store = store.path, store.meta["id"]
    with within_reach(store, pool, cut, known, known) as sides:
        parts = enumerate(zip(cut, sides, strict=True))
        tasks = [FoldTask(*of_store, kernel, work, number, chunk, *side) for number, (chunk, side) in parts]
        merged = _Merged(store, cut, work, state)
        in_rounds(pool, work_on, tasks, merged, longest * work.bytes_per_sample, phase="compare", listener=listener)
    return state if where is None else work.spread(state, where)


def _of_computed(numbers: Numbers, masses: Numbers, where: Indices | None, count: int) -> dict[str, Array]:
    """Numbers of the computed samples, and the position of the first sample that each is or equals."""
    if where is None:
        return {**numbers, **masses, "position": np.arange(count)}
    known = {"position": np.full(count, NOT_THERE)}
    known["position"][where[::-1]] = np.arange(len(where))[::-1]  # of several the last one written stays: the first
    for name, array in numbers.items():
        known[name] = np.zeros((count, *array.shape[1:]), array.dtype)
        known[name][where] = array
    for name, array in masses.items():
        known[name] = np.zeros((count, *array.shape[1:]), array.dtype)
        np.add.at(known[name], where, array)
    return known
