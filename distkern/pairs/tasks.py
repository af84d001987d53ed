"""Work on pairs of ranked columns in tasks: tiles of all pairs, and parts of a list of pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

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
from distkern.pairs.kept import Kept, read_part, write_part
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
    kept
        Folder of results that stay, so that a later run goes on from them; None to write them beside the columns.
    """

    rows: Columns
    cols: Columns
    rule: PValueRule | None
    names: tuple[Names, Names]
    kept: Kept | None = None

    @property
    def symmetric(self) -> bool:
        """Whether a table is compared with itself."""
        return self.rows == self.cols

    def file(self, name: str) -> Path:
        """Path of a result."""
        return Path(self.rows.folder, f"{name}.npz") if self.kept is None else self.kept.file(name)

    def read(self, name: str) -> dict[str, Array]:
        """Read a result of this run, and remove its file unless it stays."""
        with np.load(self.file(name)) as found:
            arrays = {name: found[name] for name in found.files}
        if self.kept is None:
            self.file(name).unlink()
        return arrays

    def size(self, name: str, chosen: int) -> int:
        """Return the size of parts that the first run on these results chose."""
        return chosen if self.kept is None else self.kept.size(name, chosen)


class TilePart(NamedTuple):
    """Tile (i, j) of all pairs."""

    i: int
    j: int

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"tile-{self.i}-{self.j}"


class ListPart(NamedTuple):
    """The pairs from ``start`` to ``stop`` − 1 of a sorted list."""

    start: int
    stop: int

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"list-{self.start}"


Part = TypeVar("Part", TilePart, ListPart)


@dataclass(frozen=True)
class TileTask:
    """Compute a tile: write tau and p-values to a file, or spill the pairs that may be edges."""

    work: Work
    part: TilePart
    grid: Grid
    threshold: Threshold | None = None


@dataclass(frozen=True)
class ListTask:
    """Compute a part of the sorted list in the folder."""

    work: Work
    part: ListPart


def unfinished(work: Work, parts: Iterable[Part], copy: Callable[[Part, dict[str, Array]], None]) -> list[Part]:
    """Copy the results of earlier runs, and return the parts that have none."""
    left = []
    for part in parts:
        found = None if work.kept is None else read_part(work.file(part.name))
        if found is None:
            left.append(part)
        else:
            copy(part, found)
    return left


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

    def copy(part: TilePart, found: dict[str, Array]) -> None:
        rows, cols = slice(*grid.row_range(part.i)), slice(*grid.col_range(part.j))
        for matrix, values in zip((tau, p), found.values(), strict=False):
            assert matrix is not None
            matrix[rows, cols] = values
            if work.symmetric:
                matrix[cols, rows] = values.T

    def copy_new(part: TilePart) -> None:
        copy(part, work.read(part.name))

    parts = [TilePart(*tile) for tile in grid.tiles()]
    tasks = [TileTask(work, part, grid) for part in unfinished(work, parts, copy)]
    done = len(parts) - len(tasks)
    run(pool, compute_tile, tasks, copy_new, phase="compute tiles", listener=listener, done=done)
    if work.symmetric:
        np.fill_diagonal(tau, np.where(_empty(work.rows), np.nan, 1.0))
    return tau, p


def spill_edges(
    work: Work, threshold: Threshold, pool: Executor, listener: Listener, limit: int | None
) -> tuple[Grid, list[Spilled]]:
    """Compare all pairs once, and write those that may be edges to files; return the grid, and what each file holds."""
    grid = _grid(work, pool, listener, limit)
    found: list[Spilled] = []

    def copy(part: TilePart, arrays: dict[str, Array]) -> None:
        found.append(Spilled(*part, work.file(part.name), *arrays["counts"].tolist()))

    def keep(spilled: Spilled) -> None:
        found.append(spilled)

    left = unfinished(work, [TilePart(*tile) for tile in grid.tiles()], copy)
    tasks = [TileTask(work, part, grid, threshold) for part in left]
    run(pool, spill_tile, tasks, keep, phase="compute tiles", listener=listener, done=len(found))
    return grid, sorted(found, key=lambda one: (one.i, one.j))


def compute_tile(task: TileTask) -> TilePart:
    """Count the pairs of one tile, and write tau and p-values to its file."""
    tau, p = _tile_values(task)
    write_part(task.work.file(task.part.name), {"tau": tau} if p is None else {"tau": tau, "p": p})
    return task.part


def spill_tile(task: TileTask) -> Spilled:
    """Count the pairs of one tile, and write those that may be edges to its file."""
    tau, p = _tile_values(task)
    assert p is not None
    assert task.threshold is not None
    (i, j), file = task.part, task.work.file(task.part.name)
    return spill(file, i, j, tau, p, task.threshold, above_diagonal=task.work.symmetric and i == j)


def _tile_values(task: TileTask) -> tuple[Floats, Floats | None]:
    work, (i, j) = task.work, task.part
    rows, cols = slice(*task.grid.row_range(i)), slice(*task.grid.col_range(j))
    symmetric = work.symmetric and i == j
    A = work.rows.blocks(rows)
    counted = tally(A, A if symmetric else work.cols.blocks(cols), symmetric=symmetric)
    return _values(work, counted, lambda where: (rows.start + int(where[0]), cols.start + int(where[1])))


def _values(work: Work, counted: Tally, place: Callable[[Array], tuple[int, int]]) -> tuple[Floats, Floats | None]:
    """tau, and p-values where there is a rule for them; ``place`` gives the columns of a pair."""
    tau = tau_of(counted)
    if work.rule is None:
        return tau, None
    if work.rule.method == "exact" and inexact(counted).any():
        row, col = place(np.argwhere(inexact(counted))[0])
        raise InputError(
            f"features {name_of(row, work.names[0])} and {name_of(col, work.names[1])} have ties on their common "
            "samples, so their p-value cannot be exact: choose the method 'auto' or 'asymptotic'"
        )
    return tau, p_of(counted, work.rule)


def _empty(columns: Columns) -> Array:
    """Whether each column has no value at all."""
    if columns.form != "gaps":
        return np.zeros(columns.count, dtype=bool)
    return np.asarray(columns.array("observed")).sum(axis=1) == 0


# Lists ----------------------------------------------------------------------------------------------------------------


def compute_list(
    work: Work, first: Indices, second: Indices, pool: Executor, listener: Listener, limit: int | None
) -> tuple[Floats, Floats | None]:
    """tau-b of each pair of a row and a column, and p-values where there is a rule for them."""
    tau, p = np.empty(len(first)), None if work.rule is None else np.empty(len(first))
    if not len(first):
        return tau, p
    await_workers(pool, listener)
    side = work.size("side", _side_of_list(work, pool, limit))
    most = work.size("pairs", _most_pairs(work, pool, limit))
    tile = first // side * -(-work.cols.count // side) + second // side
    order = np.lexsort((second, tile))
    np.save(os.path.join(work.rows.folder, "first.npy"), first[order])
    np.save(os.path.join(work.rows.folder, "second.npy"), second[order])
    tiles = np.flatnonzero(np.diff(tile[order])) + 1

    def copy(part: ListPart, found: dict[str, Array]) -> None:
        for whole, values in zip((tau, p), found.values(), strict=False):
            assert whole is not None
            whole[order[slice(*part)]] = values

    def copy_new(part: ListPart) -> None:
        copy(part, work.read(part.name))

    parts = _parts([0, *tiles.tolist(), len(first)], most)
    tasks = [ListTask(work, part) for part in unfinished(work, parts, copy)]
    done = len(parts) - len(tasks)
    run(pool, compute_part, tasks, copy_new, phase="compare pairs", listener=listener, done=done)
    return tau, p


def compute_part(task: ListTask) -> ListPart:
    """Count the pairs of one part of the list, and write tau and p-values to its file."""
    work = task.work
    first, second = (_listed(work, name, task) for name in ("first", "second"))
    rows, first_in = np.unique(first, return_inverse=True)
    cols, second_in = np.unique(second, return_inverse=True)
    A, B = work.rows.blocks(rows), work.cols.blocks(cols)
    counted = tally(A, B, (first_in, second_in))
    tau, p = _values(work, counted, lambda where: (int(first[where[0]]), int(second[where[0]])))
    write_part(work.file(task.part.name), {"tau": tau} if p is None else {"tau": tau, "p": p})
    return task.part


def _listed(work: Work, name: str, task: ListTask) -> Indices:
    work.rows.array("starts" if work.rows.form == "sparse" else "order")  # refuses a folder that is not here
    whole = np.load(os.path.join(work.rows.folder, f"{name}.npy"), mmap_mode="r")
    return np.array(whole[slice(*task.part)])


def _parts(borders: Sequence[int], most: int) -> list[ListPart]:
    """Divide a list at borders of tiles, and tiles with many pairs into equal parts of at most ``most`` pairs.

    Examples
    --------
    >>> [tuple(part) for part in _parts([0, 3, 9], 5)]
    [(0, 3), (3, 6), (6, 9)]
    """
    parts = []
    for start, stop in pairwise(borders):
        size = -(-(stop - start) // -(-(stop - start) // most))
        parts += [ListPart(first, min(first + size, stop)) for first in range(start, stop, size)]
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
    side = work.size("side", max(1, min(shared, timely, fitting)))
    if tile_bytes(work, side) > may:
        raise MemoryLimitError(
            f"a tile as in the store takes {readable_bytes(tile_bytes(work, side))} and a task may take "
            f"{readable_bytes(may)}: give the tasks as much memory as in the first run, or choose a new store"
        )
    return Grid(a, b, side, work.symmetric)


def _side_of_list(work: Work, pool: Executor, limit: int | None) -> int:
    """Columns of a block of which a task of a list reads those that it needs; all blocks are about as large."""
    may, count = pool.memory_per_task(limit), max(work.rows.count, work.cols.count)

    def fits(side: int) -> bool:
        return _block_bytes(work, side) <= 3 * may // 4

    most = max(1, largest(fits, min(count, 2 * LARGEST_SIDE)))
    even = -(-count // -(-count // most))
    return even if fits(even) else most


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
        return sparse_columns.bytes_needed(side, side, n, entries, widest, 0)
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
    return 1e-9 * (100 + few + 10 * few * many / n)
