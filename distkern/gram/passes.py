"""Passes over a stored matrix where the workers are, by chunks: products with vectors, and what passes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.errors import CorruptTileError, MemoryLimitError, StoreError
from distkern.core.events import Listener, Progress
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import readable_bytes
from distkern.engine.base import Executor
from distkern.engine.executors import Serial
from distkern.engine.memory import largest
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import run
from distkern.gram.chunks import Chunk, chunks, task_bytes
from distkern.gram.panels import PANEL, Panel, panels_of
from distkern.gram.prepared import opened
from distkern.kernels.base import Kernel
from distkern.operators.pairwise import numbers_at, strips
from distkern.store.samples import checksum
from distkern.store.tiles import GramStore

SMALL_BYTES = 2**25
"""A pass that reads fewer bytes than these is made in this process at once."""

HELD_BYTES = 2**28
"""Bytes of partial sums that may be on their way to the client, or wait in it for an earlier one."""

ROUND = 4
"""Tasks for each worker that are handed out at once, where there is room for what they bring."""


@dataclass(frozen=True)
class Spooled:
    """Some rows of an array that lies in the store for as long as a pass takes."""

    name: str
    start: int
    stop: int
    mark: int


@dataclass(frozen=True)
class ProductTask:
    """Multiply one chunk: ``rows`` and ``cols`` are what the kernel knows of its samples, and the vectors ``V``.

    The chunk multiplies vectors at its columns, its transpose those at its rows.
    """

    path: str
    store_id: str
    kernel: Kernel
    number: int
    chunk: Chunk
    rows: Mapping[str, Array | Spooled]
    cols: Mapping[str, Array | Spooled]


@dataclass(frozen=True)
class Partial:
    """What a chunk found for its rows and, as the mirror image or the transpose, for its columns; None for nothing."""

    number: int
    rows: Any
    cols: Any
    bytes_read: int


# On the workers ------------------------------------------------------------------------------------------------------


def multiply(task: ProductTask) -> Partial:
    """Read the tiles of a chunk once each, and multiply them and their mirror images with one BLAS thread."""
    store, _ = opened(task.path, task.store_id)
    chunk, grid = task.chunk, store.grid
    at_cols, at_rows = (_panels(store, side.get("V")) for side in (task.cols, task.rows))
    rows, cols = ({name: fetched(store, side[name]) for name in task.kernel.summary} for side in (task.rows, task.cols))
    on_diagonal, n = grid.symmetric and chunk.top == chunk.left, store.meta["n_features"]
    of_rows = [panel.sums(chunk.bottom - chunk.top) for panel in at_cols]
    of_cols = of_rows if on_diagonal else [panel.sums(chunk.right - chunk.left) for panel in at_rows]
    with one_blas_thread():
        for own, other, mirrored, strip in strips_of(store, chunk):
            values = in_terms_of(task.kernel, strip, numbers_at(rows, own), numbers_at(cols, other), n)
            turned = np.ascontiguousarray(values.T) if any(panel.sparse for panel in at_cols) else values.T
            for panel, sums in zip(at_cols, of_rows, strict=True):
                panel.add(sums, own, values, turned, other)
            if mirrored:
                for panel, sums in zip(at_rows, of_cols, strict=True):
                    panel.add(sums, other, values.T, values, own)
    found = _product(at_cols, of_rows), None if on_diagonal else _product(at_rows, of_cols)
    return Partial(task.number, *found, stored_bytes(store, chunk))


def strips_of(store: GramStore, chunk: Chunk) -> Iterator[tuple[slice, slice, bool, Floats]]:
    """Read the tiles of a chunk once each, strip by strip.

    Yields
    ------
    Rows and columns in the chunk, whether the strip is met the other way round nowhere else, and its stored values.
    """
    for i, j in chunk.tiles:
        tile = store.stored_tile(i, j)
        first, (left, right) = store.grid.row_range(i)[0] - chunk.top, store.grid.col_range(j)
        for rows, strip in strips(tile):
            own, other = slice(first + rows.start, first + rows.stop), slice(left - chunk.left, right - chunk.left)
            yield own, other, not (store.grid.symmetric and i == j), strip


def stored_bytes(store: GramStore, chunk: Chunk) -> int:
    """Bytes of the tiles of a chunk."""
    (tops, bottoms), (lefts, rights) = (
        np.transpose([of_tile(tile[axis]) for tile in chunk.tiles])
        for axis, of_tile in enumerate((store.grid.row_range, store.grid.col_range))
    )
    return int(np.dtype(store.meta["dtype"]).itemsize * ((bottoms - tops) @ (rights - lefts)))


def _panels(store: GramStore, V: Array | Spooled | None) -> list[Panel]:
    """The vectors that came with a task, some of them together."""
    return [] if V is None else panels_of(fetched(store, V))


def _product(panels: list[Panel], sums: list[Floats]) -> Floats | None:
    """What came of all panels, side by side; None where there is none."""
    return np.concatenate([panel.product(sums.pop(0)) for panel in panels], axis=1) if panels else None


def in_terms_of(kernel: Kernel, stored: Floats, rows: Mapping[str, Array], cols: Mapping[str, Array], n: int) -> Floats:
    """Turn stored values into those of a kernel that is made of them.

    Parameters
    ----------
    rows, cols
        What the kernel knows of each row and column of the values: its summary.
    n
        Number of features.
    """
    if not kernel.summary:
        return stored
    of_rows = {name: rows[name][:, None] for name in kernel.summary}
    of_cols = {name: cols[name][None, :] for name in kernel.summary}
    return kernel.from_stored(stored, of_rows, of_cols, n)


def fetched(store: GramStore, part: Array | Spooled) -> Array:
    """Rows of an array that came with the task, or that lie in the store."""
    if not isinstance(part, Spooled):
        return part
    array = store.spooled(part.name, slice(part.start, part.stop))
    if checksum(array) != part.mark:
        raise CorruptTileError(f"a vector to multiply by did not arrive whole through {store.path!r}: multiply again")
    return array


def read_values(path: str, store_id: str, kernel: Kernel, i: int, j: int) -> Floats:
    """Values of a kernel in tile (i, j) of the store at a path, checked against its checksum."""
    store, _ = opened(path, store_id)
    rows, cols = (samples.read(block, only=kernel.summary) for samples, block in ((store.rows, i), (store.cols, j)))
    return in_terms_of(kernel, store.read_tile(i, j), rows, cols, store.meta["n_features"])


# In the client -------------------------------------------------------------------------------------------------------


def product(
    store: GramStore,
    kernel: Kernel,
    V: Floats,
    rows: Mapping[str, Array],
    cols: Mapping[str, Array],
    *,
    executor: Any,
    listener: Listener,
    top: Indices | None = None,
    left: Indices | None = None,
    transposed: bool = False,
) -> Floats:
    """K V, or Kᵀ V, for some rows and columns of a stored matrix, reading each stored byte once a pass.

    One pass serves all vectors where a task and the client have the memory for it; else each group of them has its own.
    The bits follow from the grid and V alone: chunks are added in their order, whoever multiplied them and whenever,
    and groups are cut between panels.

    Parameters
    ----------
    kernel
        The kernel whose values are multiplied, made of the stored ones.
    V
        Vectors in columns, with a number for each column of the part, or, ``transposed``, for each of its rows.
    rows, cols
        What the kernel knows of each computed sample: its summary.
    executor, listener
        Who multiplies, and who hears of it.
    top, left
        The rows and columns of the part, as positions among the computed samples, which may repeat; all by default.

    Raises
    ------
    MemoryLimitError
        If a task may not take what the smallest group needs.
    """
    grid, cut, vectors = store.grid, chunks(store.grid, top, left), V.shape[1]
    here, there = (left, top) if transposed else (top, left)
    length, held = (grid.cols, grid.rows) if transposed else (grid.rows, grid.cols)
    out, operand = np.zeros((length, vectors)), V
    if there is not None:
        operand = np.zeros((held, vectors))
        np.add.at(operand, there, V)
    pool = pool_for(store, cut, executor)
    together = _vectors_together(store, cut, pool, vectors)
    groups = [slice(first, first + together) for first in range(0, vectors, together)]
    for number, group in enumerate(groups):
        some = {"V": np.ascontiguousarray(operand[:, group])}
        of_rows = {**rows, **some} if transposed or grid.symmetric else rows
        of_cols = of_rows if grid.symmetric else cols if transposed else {**cols, **some}

        def heard(event: Progress, before: int = number * len(cut)) -> None:
            listener(replace(event, done=before + event.done, total=len(groups) * len(cut)))

        _pass(store, kernel, cut, of_rows, of_cols, _Sum(store, cut, out[:, group]), pool, heard)
    return out if here is None else out[here]


def _vectors_together(store: GramStore, cut: list[Chunk], pool: Executor, vectors: int) -> int:
    """How many vectors a pass multiplies: whole panels, as many as the memory of a task and of the client allows."""
    item, allowed = np.dtype(store.meta["dtype"]).itemsize, pool.memory_per_task(None)

    def fits(vectors: int) -> bool:
        return task_bytes(store.grid, item, vectors) <= allowed

    if fits(vectors):
        panels = -(-vectors // PANEL)
    else:
        panels = largest(lambda panels: fits(PANEL * panels), vectors // PANEL)
    if panels == 0 < vectors:
        fewest, fitting = min(vectors, PANEL), largest(fits, PANEL)
        remedy = f"multiply by {fitting} at a time" if fitting else "give the workers more memory, or fewer threads"
        raise MemoryLimitError(
            f"a task that multiplies tiles of side {store.grid.side} by {fewest} vector{'s' * (fewest > 1)} takes "
            f"{readable_bytes(task_bytes(store.grid, item, fewest))} and may take {readable_bytes(allowed)}: {remedy}"
        )
    busy = min(len(cut), ROUND * pool.workers)  # tasks whose sums the client should have room for
    return PANEL * max(1, min(panels, HELD_BYTES // max(1, busy * PANEL * _sum_bytes(cut))))


def _sum_bytes(cut: list[Chunk]) -> int:
    """Most bytes that the partial sums of a chunk take for each vector."""
    return max((8 * (chunk.bottom - chunk.top + chunk.right - chunk.left) for chunk in cut), default=1)


def _pass(
    store: GramStore,
    kernel: Kernel,
    cut: list[Chunk],
    rows: Mapping[str, Array],
    cols: Mapping[str, Array],
    total: _Sum,
    pool: Executor,
    listener: Listener,
) -> None:
    """Multiply all chunks and add up what they bring."""
    of_store = store.path, store.meta["id"]
    bytes_each = _sum_bytes(cut) * total.out.shape[1]
    with within_reach(store, pool, cut, cols, rows) as sides:
        parts = enumerate(zip(cut, sides, strict=True))
        tasks = [ProductTask(*of_store, kernel, number, chunk, *side) for number, (chunk, side) in parts]
        in_rounds(pool, multiply, tasks, total, bytes_each, phase="multiply", listener=listener)


def in_rounds(
    pool: Executor,
    fn: Callable[[Any], Partial],
    tasks: list[Any],
    total: Ordered,
    bytes_each: int,
    *,
    phase: str,
    listener: Listener,
) -> None:
    """Run tasks in rounds, so that the client holds no more of what they bring than it may."""
    at_once = max(1, HELD_BYTES // max(1, bytes_each))
    for done in range(0, len(tasks), at_once):  # between two rounds nothing waits
        run(pool, fn, tasks[done : done + at_once], total.add, phase=phase, listener=listener, done=done)


class Ordered(ABC):
    """Takes what chunks bring in the order of the chunks, whatever the order in which it arrives."""

    def __init__(self, store: GramStore, cut: list[Chunk]) -> None:
        self._store, self._chunks = store, cut
        self._early: dict[int, Partial] = {}
        self._added = 0

    def add(self, partial: Partial) -> None:
        """Take what a chunk brings, and all that has waited for it."""
        self._store.bytes_read += partial.bytes_read
        self._early[partial.number] = partial
        while self._added in self._early:
            self.take(self._chunks[self._added], self._early.pop(self._added))
            self._added += 1

    @abstractmethod
    def take(self, chunk: Chunk, ready: Partial) -> None:
        """Take what a chunk brings, when all before it have been taken."""


class _Sum(Ordered):
    """Adds up partial sums."""

    def __init__(self, store: GramStore, cut: list[Chunk], out: Floats) -> None:
        super().__init__(store, cut)
        self.out = out

    def take(self, chunk: Chunk, ready: Partial) -> None:
        """Add the partial sums of a chunk."""
        if ready.rows is not None:
            self.out[chunk.top : chunk.bottom] += ready.rows
        if ready.cols is not None:
            self.out[chunk.left : chunk.right] += ready.cols


def pool_for(store: GramStore, cut: list[Chunk], executor: Executor | None) -> Executor:
    """Who makes a pass: this process where little is read, else the executor of the matrix."""
    tiles = sum(len(chunk.tiles) for chunk in cut)  # those at the edges taken as whole
    reading = np.dtype(store.meta["dtype"]).itemsize * store.grid.side**2 * tiles
    return (
        Serial()
        if reading < SMALL_BYTES
        else resolve_executor(executor if executor is None or executor.alive else None)
    )


Side = dict[str, "Array | Spooled"]


@contextmanager
def within_reach(
    store: GramStore, pool: Executor, cut: list[Chunk], cols: Mapping[str, Array], rows: Mapping[str, Array]
) -> Iterator[list[tuple[Side, Side]]]:
    """Give each chunk the rows of arrays that it needs: as they are in this process, through the store on a cluster.

    Where the store cannot be written, tasks carry the rows that they need.
    """
    spooled: list[str] = []

    def parts(array: Array) -> Callable[[int, int], Array | Spooled]:
        name = None
        if pool.remote:
            with suppress(StoreError):
                spooled.append(name := store.spool(array))

        @cache
        def part(start: int, stop: int) -> Array | Spooled:
            own = array[start:stop]
            return own if name is None else Spooled(name, start, stop, checksum(own))

        return part

    try:
        of_cols = {name: parts(array) for name, array in cols.items()}
        of_rows = of_cols if rows is cols else {name: parts(array) for name, array in rows.items()}
        yield [
            (
                {name: part(chunk.top, chunk.bottom) for name, part in of_rows.items()},
                {name: part(chunk.left, chunk.right) for name, part in of_cols.items()},
            )
            for chunk in cut
        ]
    finally:
        for name in spooled:
            with suppress(StoreError):
                store.unspool(name)
