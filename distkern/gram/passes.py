"""Passes over a stored matrix where the workers are: its product with vectors, by chunks of tiles, and tiles alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.errors import CorruptTileError, StoreError
from distkern.core.events import Listener, Progress
from distkern.core.typing import Array, Executor, Floats, Indices
from distkern.engine.executors import Serial, resolve_executor
from distkern.engine.run import run
from distkern.gram.grid import Grid
from distkern.gram.samples import checksum
from distkern.gram.store import GramStore
from distkern.gram.tasks import opened
from distkern.kernels.base import Kernel

CHUNK_SIDE = 4096
"""Rows and columns of a chunk at most, unless a tile is larger: what travels is 2/4096 of what is read for a vector."""

CHUNKS_ACROSS = 8
"""Chunks in a row of the matrix at least, where it has so many tiles: enough of them to share among workers."""

SMALL_BYTES = 2**25
"""A pass that reads fewer bytes than these is made in this process at once."""

HELD_BYTES = 2**28
"""Bytes of partial sums that may wait in the client for an earlier one."""

STRIP_ENTRIES = 2**14
"""Entries of a tile that are turned into the kernel's values and multiplied at a time."""

STRIP_ROWS = 16
"""Rows that are multiplied at a time, at least."""


@dataclass(frozen=True)
class Chunk:
    """A rectangle of tiles: rows top to bottom, columns left to right, and those of its tiles that are needed."""

    top: int
    bottom: int
    left: int
    right: int
    tiles: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Spooled:
    """Some rows of an array that lies in the store for as long as a pass takes."""

    name: str
    start: int
    stop: int
    mark: int


@dataclass(frozen=True)
class ProductTask:
    """Multiply one chunk: ``rows`` and ``cols`` are the vectors ``V`` and what the kernel knows of its samples."""

    path: str
    store_id: str
    kernel: Kernel
    number: int
    chunk: Chunk
    rows: Mapping[str, Array | Spooled]
    cols: Mapping[str, Array | Spooled]


@dataclass(frozen=True)
class Partial:
    """What a chunk adds to the product at its rows and, as the mirror image, at its columns."""

    number: int
    rows: Floats
    cols: Floats | None
    bytes_read: int


def chunks(grid: Grid, wanted: Indices | None = None, held: Indices | None = None) -> list[Chunk]:
    """Cut a matrix into chunks, in an order that follows from the grid alone.

    Parameters
    ----------
    wanted, held
        Rows of the product that are wanted, and those of the vectors that are not zero; all by default. Chunks hold
        only the tiles that these need.

    Examples
    --------
    >>> [len(chunk.tiles) for chunk in chunks(Grid(rows=100, cols=100, side=5, symmetric=True))][:8]
    [6, 9, 9, 9, 9, 9, 6, 6]
    """
    across = max(grid.row_blocks, grid.col_blocks)
    step = max(1, min(CHUNK_SIDE // grid.side, -(-across // CHUNKS_ACROSS)))
    rows, cols = _touched(wanted, grid.side, grid.row_blocks), _touched(held, grid.side, grid.col_blocks)
    found = []
    for i in range(0, grid.row_blocks, step):
        for j in range(i if grid.symmetric else 0, grid.col_blocks, step):
            last_row, last_col = min(i + step, grid.row_blocks), min(j + step, grid.col_blocks)
            needed = np.logical_and.outer(rows[i:last_row], cols[j:last_col])
            if grid.symmetric:
                needed |= np.logical_and.outer(cols[i:last_row], rows[j:last_col])
                needed &= np.arange(i, last_row)[:, None] <= np.arange(j, last_col)
            tiles = tuple((i + int(row), j + int(col)) for row, col in np.argwhere(needed))
            if tiles:
                top, left = i * grid.side, j * grid.side
                found.append(Chunk(top, grid.row_range(last_row - 1)[1], left, grid.col_range(last_col - 1)[1], tiles))
    return found


def _touched(positions: Indices | None, side: int, blocks: int) -> Array:
    """Which blocks hold some of the positions."""
    touched = np.full(blocks, positions is None)
    if positions is not None:
        touched[positions // side] = True
    return touched


def task_bytes(grid: Grid, item: int, vectors: int) -> int:
    """Most bytes that a task of a pass takes: a tile as it is read, a strip of it, vectors and their products.

    Parameters
    ----------
    item
        Bytes of a stored value.
    vectors
        Number of vectors that are multiplied.
    """
    height, width = min(grid.side, grid.rows), min(grid.side, grid.cols)
    strip = width * max(STRIP_ROWS, STRIP_ENTRIES // width)
    span = max(height, width, CHUNK_SIDE)
    return 3 * item * height * width + 48 * strip + 8 * span * (5 * vectors + 2)  # Zarr holds a chunk thrice


# On the workers ------------------------------------------------------------------------------------------------------


def multiply(task: ProductTask) -> Partial:
    """Read the tiles of a chunk once each, and multiply them and their mirror images with one BLAS thread."""
    store, _ = opened(task.path, task.store_id)
    chunk, grid = task.chunk, store.grid
    rows = {name: _fetched(store, part) for name, part in task.rows.items()}
    cols = {name: _fetched(store, part) for name, part in task.cols.items()}
    vectors = cols["V"].shape[1]
    at_rows = np.zeros((chunk.bottom - chunk.top, vectors))
    on_diagonal = grid.symmetric and chunk.top == chunk.left
    at_cols = at_rows if on_diagonal else np.zeros((chunk.right - chunk.left, vectors))
    read = 0
    with one_blas_thread():
        for i, j in chunk.tiles:
            tile = store.stored_tile(i, j)
            read += tile.nbytes
            first, left, right = grid.row_range(i)[0] - chunk.top, *(col - chunk.left for col in grid.col_range(j))
            for start, strip in _strips(tile):
                own, other = slice(first + start, first + start + len(strip)), slice(left, right)
                values = in_terms_of(task.kernel, strip, _at(rows, own), _at(cols, other), store.meta["n_features"])
                at_rows[own] += values @ cols["V"][other]
                if grid.symmetric and i != j:
                    at_cols[other] += values.T @ rows["V"][own]
    return Partial(task.number, at_rows, at_cols if grid.symmetric and not on_diagonal else None, read)


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


def _strips(tile: Array) -> Iterator[tuple[int, Floats]]:
    """Cut a tile into strips of rows that the processor's cache holds, as float64, each with its first row."""
    height = max(STRIP_ROWS, STRIP_ENTRIES // tile.shape[1])
    for start in range(0, len(tile), height):
        yield start, tile[start : start + height].astype(np.float64, copy=False)


def _at(arrays: Mapping[str, Array], where: slice) -> dict[str, Array]:
    return {name: array[where] for name, array in arrays.items()}


def _fetched(store: GramStore, part: Array | Spooled) -> Array:
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
    wanted: Indices | None = None,
    held: Indices | None = None,
) -> Floats:
    """K V for the computed samples of a store, (cols, k) to (rows, k), reading each stored byte once.

    The bits follow from the grid and V alone: chunks are added in their order, whoever multiplied them and whenever.

    Parameters
    ----------
    kernel
        The kernel whose values are multiplied, made of the stored ones.
    rows, cols
        What it knows of each sample: its summary.
    executor, listener
        Who multiplies, and who hears of it.
    wanted, held
        Rows of the product that are wanted, and those of V that are not zero; all by default.
    """
    grid, cut = store.grid, chunks(store.grid, wanted, held)
    pool: Executor = Serial() if _reading(store, cut) < SMALL_BYTES else resolve_executor(_alive(executor))
    total = _Sum(store, cut, np.zeros((grid.rows, V.shape[1])))
    of_cols = {"V": np.ascontiguousarray(V), **cols}
    with _within_reach(store, pool, of_cols, of_cols if grid.symmetric else rows) as (row_parts, col_parts):
        tasks = [
            ProductTask(
                store.path,
                store.meta["id"],
                kernel,
                number,
                chunk,
                {name: part(chunk.top, chunk.bottom) for name, part in row_parts.items()},
                {name: part(chunk.left, chunk.right) for name, part in col_parts.items()},
            )
            for number, chunk in enumerate(cut)
        ]
        at_once = max(4 * pool.workers, HELD_BYTES // (16 * _span(cut) * max(1, V.shape[1])))
        for done in range(0, len(tasks), at_once):  # between two rounds nothing waits

            def heard(event: Progress) -> None:
                listener(replace(event, total=len(tasks)))

            run(pool, multiply, tasks[done : done + at_once], total.add, phase="multiply", listener=heard, done=done)
    return total.out


class _Sum:
    """Adds up partial sums in the order of their chunks, whatever the order in which they arrive."""

    def __init__(self, store: GramStore, cut: list[Chunk], out: Floats) -> None:
        self.out = out
        self._store, self._chunks = store, cut
        self._early: dict[int, Partial] = {}
        self._added = 0

    def add(self, partial: Partial) -> None:
        """Add a partial sum and all that have waited for it."""
        self._store.bytes_read += partial.bytes_read
        self._early[partial.number] = partial
        while self._added in self._early:
            chunk, ready = self._chunks[self._added], self._early.pop(self._added)
            self.out[chunk.top : chunk.bottom] += ready.rows
            if ready.cols is not None:
                self.out[chunk.left : chunk.right] += ready.cols
            self._added += 1


def _reading(store: GramStore, cut: list[Chunk]) -> int:
    """Bytes of all tiles of some chunks, those at the edges taken as whole."""
    return np.dtype(store.meta["dtype"]).itemsize * store.grid.side**2 * sum(len(chunk.tiles) for chunk in cut)


def _span(cut: list[Chunk]) -> int:
    """Rows or columns of the largest chunk."""
    return max((max(chunk.bottom - chunk.top, chunk.right - chunk.left) for chunk in cut), default=1)


def _alive(executor: Any) -> Any:
    """The executor, unless it is that of a client that has been closed since."""
    status = getattr(getattr(executor, "client", executor), "status", "running")
    return None if status in ("closed", "closing") else executor


Part = Callable[[int, int], "Array | Spooled"]


@contextmanager
def _within_reach(
    store: GramStore, pool: Executor, cols: Mapping[str, Array], rows: Mapping[str, Array]
) -> Iterator[tuple[dict[str, Part], dict[str, Part]]]:
    """Hand out rows of arrays: as they are in this process, through the store on a cluster.

    Where the store cannot be written, tasks carry the rows that they need.
    """
    spooled: list[str] = []

    def parts(array: Array) -> Part:
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
        yield of_cols if rows is cols else {name: parts(array) for name, array in rows.items()}, of_cols
    finally:
        for name in spooled:
            with suppress(StoreError):
                store.unspool(name)
