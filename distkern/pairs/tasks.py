"""Work on pairs of ranked columns in tasks: tiles of all pairs, and parts of a list of pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from distkern.build.plan import TASK_SECONDS, TILES_PER_WORKER
from distkern.compiled import concordance as counting
from distkern.compiled import sparse_columns
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.events import Listener
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import readable_bytes
from distkern.core.validation import Names, name_of
from distkern.engine.base import Executor
from distkern.engine.memory import largest
from distkern.engine.run import await_workers, run
from distkern.pairs.counts import PValueRule, Tally, inexact, nanoseconds_of_dense, p_of, tally, tau_of
from distkern.pairs.edges import Spilled, Threshold, spill
from distkern.pairs.ranked import Columns
from distkern.store.grid import Grid

ENTRY_BYTES = 144
"""Bytes that an entry of a tile takes while its counts become tau and a p-value."""

PAIR_BYTES = 240
"""The same of a pair of a list, with its positions."""

LARGEST_SIDE = 2048
"""Most columns of a side of a tile."""


@dataclass(frozen=True)
class Work:
    """What tasks compare, and how: rows with columns.

    Parameters
    ----------
    rows, cols
        The ranked columns of the rows and of the columns of the result; they are the same if it is symmetric.
    rule
        How p-values are computed; None for none.
    names
        Names of both, for messages.
    """

    rows: Columns
    cols: Columns
    rule: PValueRule | None
    names: tuple[Names, Names]

    @property
    def symmetric(self) -> bool:
        """Whether a table is compared with itself."""
        return self.rows == self.cols


@dataclass(frozen=True)
class TileTask:
    """Compute tile (i, j): write tau and p-values to a file, or spill the pairs that may be edges."""

    work: Work
    grid: Grid
    i: int
    j: int
    threshold: Threshold | None = None


@dataclass(frozen=True)
class TileDone:
    """A tile that was written to its file."""

    i: int
    j: int


@dataclass(frozen=True)
class ListTask:
    """Compute the pairs from ``start`` to ``stop`` − 1 of the sorted list in the folder."""

    work: Work
    start: int
    stop: int


@dataclass(frozen=True)
class ListDone:
    """A part of a list that was written to its file."""

    start: int
    stop: int


# Tiles ----------------------------------------------------------------------------------------------------------------


def compute_matrix(work: Work, pool: Executor, listener: Listener, limit: int | None) -> tuple[Floats, Floats | None]:
    """tau-b of all rows with all columns, and p-values where there is a rule for them.

    Raises
    ------
    InputError
        If exact p-values are asked for and two columns have ties on their common samples.
    MemoryLimitError
        If not even a tile of one pair fits.
    """
    shape = work.rows.count, work.cols.count
    tau, p = np.empty(shape), None if work.rule is None else np.empty(shape)
    grid = _grid(work, pool, listener, limit)

    def copy_tile(done: TileDone | Spilled) -> None:
        rows, cols = slice(*grid.row_range(done.i)), slice(*grid.col_range(done.j))
        file = _tile_file(work, done.i, done.j)
        for matrix, values in zip((tau, p), np.load(file), strict=False):
            assert matrix is not None
            matrix[rows, cols] = values
            if work.symmetric:
                matrix[cols, rows] = values.T
        os.unlink(file)

    tasks = [TileTask(work, grid, i, j) for i, j in grid.tiles()]
    run(pool, compute_tile, tasks, copy_tile, phase="compute tiles", listener=listener)
    if work.symmetric:
        np.fill_diagonal(tau, np.where(_empty(work.rows), np.nan, 1.0))
    return tau, p


def spill_edges(
    work: Work, threshold: Threshold, pool: Executor, listener: Listener, limit: int | None
) -> tuple[Grid, list[Spilled]]:
    """Compare all pairs once, and write those that may be edges to files; return the grid, and what each file holds."""
    grid = _grid(work, pool, listener, limit)
    found: list[Spilled] = []

    def keep(done: TileDone | Spilled) -> None:
        assert isinstance(done, Spilled)
        found.append(done)

    tasks = [TileTask(work, grid, i, j, threshold) for i, j in grid.tiles()]
    run(pool, compute_tile, tasks, keep, phase="compute tiles", listener=listener)
    return grid, sorted(found, key=lambda one: (one.i, one.j))


def compute_tile(task: TileTask) -> TileDone | Spilled:
    """Count the pairs of one tile, and write what is asked for to its file."""
    work = task.work
    rows, cols = slice(*task.grid.row_range(task.i)), slice(*task.grid.col_range(task.j))
    symmetric = work.symmetric and task.i == task.j
    A = work.rows.blocks(rows)
    counted = tally(A, A if symmetric else work.cols.blocks(cols), symmetric=symmetric)
    tau, p = _values(work, counted, lambda where: (rows.start + int(where[0]), cols.start + int(where[1])))
    file = _tile_file(work, task.i, task.j)
    if task.threshold is None:
        np.save(file, np.stack([tau] if p is None else [tau, p]))
        return TileDone(task.i, task.j)
    assert p is not None
    return spill(file, task.i, task.j, tau, p, task.threshold, above_diagonal=symmetric)


def _values(work: Work, counted: Tally, place: Callable[[Array], tuple[int, int]]) -> tuple[Floats, Floats | None]:
    """tau, and p-values where there is a rule for them; ``place`` gives the columns of a pair."""
    tau = tau_of(counted)
    if work.rule is None:
        return tau, None
    if work.rule.method == "exact" and inexact(counted).any():
        row, col = place(np.argwhere(inexact(counted))[0])
        raise InputError(
            f"features {name_of(row, work.names[0])} and {name_of(col, work.names[1])} have ties on their common "
            "samples, so their p-value cannot be exact: choose method='auto' or method='asymptotic'"
        )
    return tau, p_of(counted, work.rule)


def _empty(columns: Columns) -> Array:
    """Whether each column has no value at all."""
    if columns.form != "gaps":
        return np.zeros(columns.count, dtype=bool)
    return np.asarray(columns.array("observed")).sum(axis=1) == 0


def _tile_file(work: Work, i: int, j: int) -> str:
    return os.path.join(work.rows.folder, f"tile-{i}-{j}.npy")


# Lists ----------------------------------------------------------------------------------------------------------------


def compute_list(
    work: Work, first: Indices, second: Indices, pool: Executor, listener: Listener, limit: int | None
) -> tuple[Floats, Floats | None]:
    """tau-b of each pair of a row and a column, and p-values where there is a rule for them."""
    tau, p = np.empty(len(first)), None if work.rule is None else np.empty(len(first))
    if not len(first):
        return tau, p
    await_workers(pool, listener)
    side = _side_of_list(work, pool, limit)
    tile = first // side * -(-work.cols.count // side) + second // side
    order = np.lexsort((second, tile))
    np.save(os.path.join(work.rows.folder, "first.npy"), first[order])
    np.save(os.path.join(work.rows.folder, "second.npy"), second[order])
    tiles = np.flatnonzero(np.diff(tile[order])) + 1
    tasks = [ListTask(work, *part) for part in _parts([0, *tiles.tolist(), len(first)], _most_pairs(work, pool, limit))]

    def copy_part(done: ListDone) -> None:
        file = _list_file(work, done.start)
        for whole, values in zip((tau, p), np.load(file), strict=False):
            assert whole is not None
            whole[order[done.start : done.stop]] = values
        os.unlink(file)

    run(pool, compute_part, tasks, copy_part, phase="compare pairs", listener=listener)
    return tau, p


def compute_part(task: ListTask) -> ListDone:
    """Count the pairs of one part of the list, and write tau and p-values to its file."""
    work = task.work
    first, second = (_listed(work, name, task) for name in ("first", "second"))
    rows, first_in = np.unique(first, return_inverse=True)
    cols, second_in = np.unique(second, return_inverse=True)
    A, B = work.rows.blocks(rows), work.cols.blocks(cols)
    counted = tally(A, B, (first_in, second_in))
    tau, p = _values(work, counted, lambda where: (int(first[where[0]]), int(second[where[0]])))
    np.save(_list_file(work, task.start), np.stack([tau] if p is None else [tau, p]))
    return ListDone(task.start, task.stop)


def _listed(work: Work, name: str, task: ListTask) -> Indices:
    work.rows.array("starts" if work.rows.form == "sparse" else "order")  # refuses a folder that is not here
    return np.array(np.load(os.path.join(work.rows.folder, f"{name}.npy"), mmap_mode="r")[task.start : task.stop])


def _list_file(work: Work, start: int) -> str:
    return os.path.join(work.rows.folder, f"list-{start}.npy")


def _parts(borders: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Divide a list at borders of tiles, and tiles with many pairs into parts of at most ``most`` pairs.

    Examples
    --------
    >>> _parts([0, 3, 10], 4)
    [(0, 3), (3, 7), (7, 10)]
    """
    parts = []
    for start, stop in pairwise(borders):
        parts += [(first, min(first + most, stop)) for first in range(start, stop, most)]
    return parts


# Sizes ----------------------------------------------------------------------------------------------------------------


def _grid(work: Work, pool: Executor, listener: Listener, limit: int | None) -> Grid:
    """Tiles of a few seconds each, small enough for the memory of a task, and enough of them for all workers."""
    await_workers(pool, listener)
    a, b = work.rows.count, work.cols.count
    may = pool.memory_per_task(limit)
    least = tile_bytes(work, 1)
    if least > may:
        raise MemoryLimitError(
            f"a task on one pair of features takes {readable_bytes(least)} and may take {readable_bytes(may)}: "
            "give the tasks more memory"
        )
    longest = max(a, b)
    tiles = (2 if work.symmetric else 1) * TILES_PER_WORKER * pool.workers
    shared = int(np.ceil(max(np.sqrt(a * b / tiles), longest / tiles)))
    timely = largest(lambda side: side * min(side, a, b) * pair_seconds(work) <= TASK_SECONDS, longest)
    fitting = largest(lambda side: tile_bytes(work, side) <= may, min(longest, LARGEST_SIDE))
    return Grid(a, b, max(1, min(shared, timely, fitting)), work.symmetric)


def _side_of_list(work: Work, pool: Executor, limit: int | None) -> int:
    """Columns of a block of which a task of a list reads those that it needs."""
    may = pool.memory_per_task(limit)
    longest = min(max(work.rows.count, work.cols.count), 2 * LARGEST_SIDE)
    return max(1, largest(lambda side: _block_bytes(work, side) <= 3 * may // 4, longest))


def _most_pairs(work: Work, pool: Executor, limit: int | None) -> int:
    """Pairs of a task of a list: a few seconds of work."""
    fitting = pool.memory_per_task(limit) // 4 // PAIR_BYTES
    return max(1, min(fitting, int(TASK_SECONDS / pair_seconds(work))))


def tile_bytes(work: Work, side: int) -> int:
    """Most bytes of a task on a tile with this side."""
    a, b = min(side, work.rows.count), min(side, work.cols.count)
    needed = _block_bytes(work, side) + ENTRY_BYTES * a * b
    if work.rows.form == "dense":
        needed += max(counting.bytes_needed(a, b, stop - start) for start, stop in work.rows.strata())
    elif work.rows.form == "sparse":
        needed += 40 * a * b
    return needed


def _block_bytes(work: Work, side: int) -> int:
    """Most bytes of two blocks of this many columns, and of the arrays that counting makes of them."""
    entries = work.rows.largest(side) + work.cols.largest(side)
    n, widest = work.rows.bounds[-1], max(work.rows.widest, work.cols.widest)
    if work.rows.form == "sparse":
        return 16 * entries + sparse_columns.bytes_needed(side, side, n, entries, widest, 0)
    if work.rows.form == "gaps":
        return 16 * entries + 12 * n
    return 2 * (5 if n < 2**16 else 9) * entries


def pair_seconds(work: Work) -> float:
    """Seconds of a pair of columns, about; they choose the sizes of tasks, and results do not depend on them."""
    sizes = np.diff(work.rows.bounds)
    if work.rows.form == "dense":
        return 1e-9 * sum(map(nanoseconds_of_dense, sizes.tolist()))
    n = int(work.rows.bounds[-1])
    if work.rows.form == "gaps":
        return 3e-9 * n * max(1.0, np.log2(n))
    few, many = sorted(float(one.array("starts")[-1]) / one.count for one in (work.rows, work.cols))
    return 1e-9 * (100 + 2 * few + 10 * few * many / n)
