"""Map-reduce over a stored matrix: workers map tile groups to partial results, which the client merges in order.

Tile groups and their order follow from the grid alone, so that the bits of a result do not depend on the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Protocol

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.errors import CorruptTileError, StoreError
from distkern.core.events import Listener
from distkern.core.sentences import SameCall
from distkern.core.typing import Array, Floats, Indices
from distkern.engine.base import Executor
from distkern.engine.executors import Serial, Threads
from distkern.engine.memory import share_of
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import await_workers, run
from distkern.gram.batches import BATCH
from distkern.gram.prepared import opened
from distkern.gram.tile_groups import OVERHEAD_BYTES, TileGroup, overhead_bytes, task_bytes, tile_groups
from distkern.kernels.base import Kernel
from distkern.operators.pairwise import SampleArrays, State, arrays_at, strips
from distkern.store.checksums import checksum
from distkern.store.tiles import GramStore

SMALL_BYTES = 2**25
"""A pass that reads fewer bytes than this runs in this process at once."""

HELD_BYTES = 2**28
"""Maximum bytes of partial results that are on their way to the client, or wait in it for an earlier one."""

TASKS_PER_WORKER = 4
"""Tasks of each worker whose results should fit ``HELD_BYTES`` together, to keep all workers running."""

SUMMARY = "summary: "
"""Prefix of the arrays of a task that the kernel needs, which separates them from the arrays of the work."""


class PartialResults(Protocol):
    """Results of the rows and of the columns of a tile group, on a worker."""

    def add(self, rows: slice, cols: slice, values: Floats, mirrored: bool) -> None:
        """Add kernel values at rows and columns of the group and, if ``mirrored``, their transpose."""

    def states(self) -> tuple[State | None, State | None]:
        """States of the rows and of the columns; None where there is nothing to merge."""


class TileWork(Protocol):
    """A computation on the kernel values of tiles; an immutable value, which is sent to the workers."""

    phase: ClassVar[str]
    """Its name in progress events."""

    def start(self, group: TileGroup, on_diagonal: bool, rows: SampleArrays, cols: SampleArrays) -> PartialResults:
        """Make the results of a tile group before any tile is added, given the arrays of its samples."""

    def merge(self, state: State, part: State) -> None:
        """Merge into the state, in place, the state of the same samples from another tile group."""


@dataclass(frozen=True)
class Scattered:
    """Some rows of a temporary array in the store."""

    name: str
    start: int
    stop: int
    checksum: int


@dataclass(frozen=True)
class MapTask:
    """Do some work on one tile group, given arrays of its row samples and of its column samples."""

    path: str
    store_id: str
    kernel: Kernel
    work: TileWork
    number: int
    group: TileGroup
    rows: Mapping[str, Array | Scattered]
    cols: Mapping[str, Array | Scattered]


@dataclass(frozen=True)
class Mapped:
    """States of the rows and of the columns of a tile group; None where there is nothing to merge."""

    number: int
    rows: State | None
    cols: State | None
    bytes_read: int


# On the workers ------------------------------------------------------------------------------------------------------


def map_group(task: MapTask) -> Mapped:
    """Read each tile of a group once, and add it and its mirror image to the results, with one BLAS thread."""
    store = opened(task.path, task.store_id)
    group, grid, kernel, n, bytes_read = task.group, store.grid, task.kernel, store.manifest.n_features, 0
    rows, cols = ({name: _fetched(store, part) for name, part in axis.items()} for axis in (task.rows, task.cols))
    results = task.work.start(group, grid.symmetric and group.top == group.left, rows, cols)
    rows, cols = ({name: axis[SUMMARY + name] for name in kernel.summary} for axis in (rows, cols))  # frees the others
    with one_blas_thread():
        for i, j in group.tiles:
            tile = store.stored_tile(i, j)
            bytes_read += tile.nbytes
            top, (left, right) = grid.row_range(i)[0] - group.top, grid.col_range(j)
            other = slice(left - group.left, right - group.left)
            for where, strip in strips(tile):
                own = slice(top + where.start, top + where.stop)
                values = kernel_values(kernel, strip, arrays_at(rows, own), arrays_at(cols, other), n)
                results.add(own, other, values, mirrored=not (grid.symmetric and i == j))
    return Mapped(task.number, *results.states(), bytes_read)


def _fetched(store: GramStore, part: Array | Scattered) -> Array:
    """Rows of an array, from the task or from the store."""
    if not isinstance(part, Scattered):
        return part
    array = store.scattered(part.name, slice(part.start, part.stop))
    if checksum(array) != part.checksum:
        raise CorruptTileError(
            "a temporary array in {store!r} does not match its checksum: run {again} again",
            store=store.path,
            again=SameCall(),
        )
    return array


def kernel_values(kernel: Kernel, stored: Floats, rows: SampleArrays, cols: SampleArrays, n: int) -> Floats:
    """Values of a kernel that follow from stored values.

    Parameters
    ----------
    rows, cols
        Summaries of the row samples and of the column samples: the numbers that the kernel needs of each.
    n
        Number of features.
    """
    if not kernel.summary:
        return stored
    of_rows = {name: rows[name][:, None] for name in kernel.summary}
    of_cols = {name: cols[name][None, :] for name in kernel.summary}
    return kernel.from_stored(stored, of_rows, of_cols, n)


# In the client -------------------------------------------------------------------------------------------------------


class MapReduce:
    """Passes over some rows and columns of a stored matrix, within the memory of a task and of the client.

    Parameters
    ----------
    store, kernel
        The stored values, and the kernel whose values follow from them.
    summaries
        Summaries of all computed row samples and column samples.
    executor, listener
        Executor of the tasks; a pass that reads little runs in this process. The listener hears where a cluster has no
        worker yet.
    top, left
        Positions of the rows and columns that take part, all by default.
    """

    def __init__(
        self,
        store: GramStore,
        kernel: Kernel,
        summaries: tuple[SampleArrays, SampleArrays],
        executor: Executor | None,
        listener: Listener,
        top: Indices | None = None,
        left: Indices | None = None,
    ) -> None:
        self.store, self.kernel, self.groups = store, kernel, tile_groups(store.grid, top, left)
        self._summaries = [{SUMMARY + name: array for name, array in axis.items()} for axis in summaries]
        self._item = np.dtype(store.manifest.dtype).itemsize
        reading = self._item * store.grid.side**2 * sum(len(group.tiles) for group in self.groups)  # counts whole tiles
        usable = executor if executor is None or executor.alive else None
        self.pool: Executor = Serial() if reading < SMALL_BYTES else resolve_executor(usable)
        if isinstance(self.pool, Threads):  # fewer of them where the present work may not take memory for all
            fitting = share_of(None, 1) // self.task_bytes(BATCH)
            self.pool = Threads(max(1, min(self.pool.workers, fitting)))
        await_workers(self.pool, listener)
        self.memory_per_task = self.pool.memory_per_task(None)
        if self.pool.workers == 1 and not self.pool.remote:  # memory limits are about data, not about overhead
            self.memory_per_task += overhead_bytes(store.grid) + OVERHEAD_BYTES
        self._longest = max((group.length for group in self.groups), default=0)

    def task_bytes(self, numbers: int) -> int:
        """Bytes that a task needs for a number of values per sample."""
        return task_bytes(self.store.grid, self._item, numbers)

    def numbers_to_hold(self) -> int:
        """Maximum numbers per sample of a result, so that the client can keep enough results for all workers."""
        tasks = min(len(self.groups), TASKS_PER_WORKER * self.pool.workers)
        return self._held_bytes() // max(1, 8 * self._longest * tasks)

    def _held_bytes(self) -> int:
        return min(HELD_BYTES, share_of(None, 2))

    def run(self, work: TileWork, rows: SampleArrays, cols: SampleArrays, state: State, listener: Listener) -> None:
        """Do some work on all tile groups, and merge the results into the state of all samples, in place.

        Tasks run in rounds whose results fit the memory of the client together.

        Parameters
        ----------
        rows, cols
            Arrays that the work needs of all computed row samples and column samples; for a symmetric matrix the arrays
            of the rows serve for both axes.
        """
        reduction = _Reduction(self.store, self.groups, work, state)
        per_sample = sum(array.nbytes // max(1, len(array)) for array in state)
        at_once = max(1, self._held_bytes() // max(1, self._longest * per_sample))
        temporary: list[str] = []
        try:
            tasks = self._tasks(work, rows, cols, temporary)
            for done in range(0, len(tasks), at_once):  # no result waits between two rounds
                together, add = tasks[done : done + at_once], reduction.add
                run(self.pool, map_group, together, add, phase=work.phase, listener=listener, done=done)
        finally:
            for name in temporary:
                with suppress(StoreError):
                    self.store.remove_scattered(name)

    def _tasks(self, work: TileWork, rows: SampleArrays, cols: SampleArrays, temporary: list[str]) -> list[MapTask]:
        """Make the task of each group, with its rows of all arrays."""
        pairs = list(zip((rows, cols), self._summaries, strict=True))
        axes = [
            {name: self._sent(array, temporary) for name, array in {**arrays, **summary}.items()}
            for arrays, summary in pairs[: 1 if self.store.grid.symmetric else 2]
        ]
        tasks = []
        for number, group in enumerate(self.groups):
            of_rows = {name: part(group.top, group.bottom) for name, part in axes[0].items()}
            of_cols = {name: part(group.left, group.right) for name, part in axes[-1].items()}
            path, store_id = self.store.path, self.store.manifest.id
            tasks.append(MapTask(path, store_id, self.kernel, work, number, group, of_rows, of_cols))
        return tasks

    def _sent(self, array: Array, temporary: list[str]) -> Callable[[int, int], Array | Scattered]:
        """Send an array through the store where workers are other processes; return a function that gives rows of it.

        If the store cannot be written, each task carries its rows.
        """
        name = None
        if self.pool.remote:
            with suppress(StoreError):
                temporary.append(name := self.store.scatter(array))

        @cache
        def part(start: int, stop: int) -> Array | Scattered:
            rows = array[start:stop]
            return rows if name is None else Scattered(name, start, stop, checksum(rows))

        return part


class _Reduction:
    """Merges the results of tile groups in the order of the groups, whatever the order in which they arrive."""

    def __init__(self, store: GramStore, groups: list[TileGroup], work: TileWork, state: State) -> None:
        self._store, self._groups, self._work, self._state = store, groups, work, state
        self._early: dict[int, Mapped] = {}
        self._merged = 0

    def add(self, mapped: Mapped) -> None:
        """Merge the results of a group, and all results that waited for them."""
        self._store.bytes_read += mapped.bytes_read
        self._early[mapped.number] = mapped
        while self._merged in self._early:
            group, ready = self._groups[self._merged], self._early.pop(self._merged)
            for start, stop, part in ((group.top, group.bottom, ready.rows), (group.left, group.right, ready.cols)):
                if part is not None:
                    self._work.merge(tuple(array[start:stop] for array in self._state), part)
            self._merged += 1
