"""Map-reduce over a stored matrix: workers map groups of tiles to partial results, the client merges them in order.

The result does not depend on the executor: tile groups and the order of merging follow from the grid alone. What is
sent is small: tasks hold positions, and partial results have a row for each row and column of a tile group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.errors import CorruptTileError, StoreError
from distkern.core.events import Listener
from distkern.core.typing import Array, Executor, Floats, Indices
from distkern.engine.executors import Serial
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import run
from distkern.gram.prepared import opened
from distkern.gram.tile_groups import TileGroup, task_bytes, tile_groups
from distkern.kernels.base import Kernel
from distkern.operators.pairwise import SampleArrays, State, arrays_at, strips
from distkern.store.samples import checksum
from distkern.store.tiles import GramStore

SMALL_BYTES = 2**25
"""A pass that reads fewer bytes than this runs in this process at once."""

HELD_BYTES = 2**28
"""Maximum bytes of partial results that are on their way to the client, or wait in it for an earlier one."""

TASKS_PER_WORKER = 4
"""Tasks of each worker whose partial results should fit ``HELD_BYTES`` together, so that no worker waits."""

SUMMARY = "summary: "
"""Prefix of the arrays of a task that the kernel needs, to tell them from the arrays that the work needs."""


class PartialResults(Protocol):
    """Results of the rows and of the columns of a tile group, on a worker."""

    def add(self, rows: slice, cols: slice, values: Floats, mirrored: bool) -> None:
        """Add kernel values at rows and columns of the group and, if ``mirrored``, their transpose."""

    def states(self) -> tuple[State | None, State | None]:
        """States of the rows and of the columns; None where there is nothing to merge."""


class TileWork(Protocol):
    """A computation on the kernel values of tiles; an immutable value, which is sent to the workers."""

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
    store, _ = opened(task.path, task.store_id)
    group, kernel = task.group, task.kernel
    rows, cols = ({name: _fetched(store, part) for name, part in axis.items()} for axis in (task.rows, task.cols))
    results = task.work.start(group, store.grid.symmetric and group.top == group.left, rows, cols)
    rows, cols = ({name: axis[SUMMARY + name] for name in kernel.summary} for axis in (rows, cols))  # frees the others
    with one_blas_thread():
        for own, other, mirrored, strip in _strips_of(store, group):
            summaries = arrays_at(rows, own), arrays_at(cols, other)
            results.add(own, other, kernel_values(kernel, strip, *summaries, store.meta["n_features"]), mirrored)
    return Mapped(task.number, *results.states(), _stored_bytes(store, group))


def _strips_of(store: GramStore, group: TileGroup) -> Iterator[tuple[slice, slice, bool, Floats]]:
    """Read each tile of a group once, strip by strip.

    Yields
    ------
    Rows and columns in the group, whether the transpose of the strip is part of the matrix too, and stored values.
    """
    for i, j in group.tiles:
        tile = store.stored_tile(i, j)
        first, (left, right) = store.grid.row_range(i)[0] - group.top, store.grid.col_range(j)
        for rows, strip in strips(tile):
            own, other = slice(first + rows.start, first + rows.stop), slice(left - group.left, right - group.left)
            yield own, other, not (store.grid.symmetric and i == j), strip


def _stored_bytes(store: GramStore, group: TileGroup) -> int:
    """Bytes of the tiles of a group."""
    (tops, bottoms), (lefts, rights) = (
        np.transpose([range_of(tile[axis]) for tile in group.tiles])
        for axis, range_of in enumerate((store.grid.row_range, store.grid.col_range))
    )
    return int(np.dtype(store.meta["dtype"]).itemsize * ((bottoms - tops) @ (rights - lefts)))


def _fetched(store: GramStore, part: Array | Scattered) -> Array:
    """Rows of an array, from the task or from the store."""
    if not isinstance(part, Scattered):
        return part
    array = store.spooled(part.name, slice(part.start, part.stop))
    if checksum(array) != part.checksum:
        raise CorruptTileError(f"a temporary array in {store.path!r} does not match its checksum: multiply again")
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
    executor
        Executor of the tasks; a pass that reads little runs in this process.
    top, left
        Positions of the rows and columns that take part, all by default.
    """

    def __init__(
        self,
        store: GramStore,
        kernel: Kernel,
        summaries: tuple[SampleArrays, SampleArrays],
        executor: Any,
        top: Indices | None = None,
        left: Indices | None = None,
    ) -> None:
        self.store, self.kernel, self.groups = store, kernel, tile_groups(store.grid, top, left)
        self._summaries = [{SUMMARY + name: array for name, array in axis.items()} for axis in summaries]
        self._item = np.dtype(store.meta["dtype"]).itemsize
        reading = self._item * store.grid.side**2 * sum(len(group.tiles) for group in self.groups)  # counts whole tiles
        self.pool: Executor = Serial() if reading < SMALL_BYTES else resolve_executor(_unless_closed(executor))
        self.memory_per_task = self.pool.memory_per_task(None)
        self._longest = max((group.length for group in self.groups), default=0)

    def task_bytes(self, numbers: int) -> int:
        """Bytes that a task needs for so many numbers of each sample."""
        return task_bytes(self.store.grid, self._item, numbers)

    def tasks_together(self, bytes_per_sample: int) -> int:
        """Number of tasks whose results, of so many bytes for each sample, the client may hold."""
        return HELD_BYTES // max(1, self._longest * bytes_per_sample)

    @property
    def tasks_to_hold(self) -> int:
        """Number of tasks whose results the client should be able to hold, so that no worker waits."""
        return min(len(self.groups), TASKS_PER_WORKER * self.pool.workers)

    def run(
        self,
        work: TileWork,
        rows: SampleArrays,
        cols: SampleArrays,
        state: State,
        bytes_per_sample: int,
        phase: str,
        listener: Listener,
    ) -> None:
        """Do some work on all tile groups, and merge the results into the state of all samples, in place.

        Tasks run in rounds whose results fit the memory of the client together.

        Parameters
        ----------
        rows, cols
            Arrays that the work needs of all computed row samples and column samples; those of the rows serve for both
            axes of a symmetric matrix.
        bytes_per_sample
            Bytes of the state for each sample.
        """
        reduction = _Reduction(self.store, self.groups, work, state)
        at_once = max(1, self.tasks_together(bytes_per_sample))
        temporary: list[str] = []
        try:
            tasks = self._tasks(work, rows, cols, temporary)
            for done in range(0, len(tasks), at_once):  # no result waits between two rounds
                run(
                    self.pool,
                    map_group,
                    tasks[done : done + at_once],
                    reduction.add,
                    phase=phase,
                    listener=listener,
                    done=done,
                )
        finally:
            for name in temporary:
                with suppress(StoreError):
                    self.store.unspool(name)

    def _tasks(self, work: TileWork, rows: SampleArrays, cols: SampleArrays, temporary: list[str]) -> list[MapTask]:
        """Make the task of each group, with its rows of all arrays."""
        of_rows = {name: self._sent(array, temporary) for name, array in {**rows, **self._summaries[0]}.items()}
        of_cols = of_rows
        if not self.store.grid.symmetric:
            of_cols = {name: self._sent(array, temporary) for name, array in {**cols, **self._summaries[1]}.items()}
        return [
            MapTask(
                self.store.path,
                self.store.meta["id"],
                self.kernel,
                work,
                number,
                group,
                {name: part(group.top, group.bottom) for name, part in of_rows.items()},
                {name: part(group.left, group.right) for name, part in of_cols.items()},
            )
            for number, group in enumerate(self.groups)
        ]

    def _sent(self, array: Array, temporary: list[str]) -> Callable[[int, int], Array | Scattered]:
        """Send an array through the store where workers are other processes; return a function that gives rows of it.

        If the store cannot be written, each task carries its rows.
        """
        name = None
        if self.pool.remote:
            with suppress(StoreError):
                temporary.append(name := self.store.spool(array))

        @cache
        def part(start: int, stop: int) -> Array | Scattered:
            rows = array[start:stop]
            return rows if name is None else Scattered(name, start, stop, checksum(rows))

        return part


def _unless_closed(executor: Any) -> Any:
    """The executor; None if it belongs to a Dask client that has been closed."""
    status = getattr(getattr(executor, "client", executor), "status", "running")
    return None if status in ("closed", "closing") else executor


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
