"""tau-b between features on the samples that observe both, in tiles: no kernel, hence not stored."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distkern.build.plan import TASK_SECONDS, TILES_PER_WORKER
from distkern.compiled.pairwise import pairwise_tile, rank_observed
from distkern.compiled.significance import Alternative, Method, p_values
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.events import Listener
from distkern.core.typing import Array, Floats
from distkern.core.units import readable_bytes
from distkern.core.validation import Names, name_of
from distkern.engine.base import Executor
from distkern.engine.memory import largest
from distkern.engine.run import await_workers, run
from distkern.pairs.tiles import load_array
from distkern.store.grid import Grid

ENTRY_BYTES = 144
"""Bytes that an entry of a tile takes while its counts become tau and a p-value."""


class PValueRule(NamedTuple):
    """How p-values are computed: the alternative hypothesis, and the method."""

    alternative: Alternative
    method: Method


@dataclass(frozen=True)
class PairwiseTask:
    """Compute tile (i, j) from the ranked features in ``folder``, and write it there."""

    folder: str
    grid: Grid
    i: int
    j: int
    rule: PValueRule | None
    names: Names


@dataclass(frozen=True)
class TileDone:
    """A tile that was written to its file."""

    i: int
    j: int


def compute_pairwise(
    features: Floats,
    pool: Executor,
    listener: Listener,
    limit: int | None,
    *,
    rule: PValueRule | None,
    names: Names,
) -> tuple[Floats, Floats | None]:
    """tau-b, and p-values where ``rule`` says how, of the features in rows (p, n), NaN where not observed.

    Raises
    ------
    InputError
        If exact p-values are asked for and two features have ties on their common samples.
    MemoryLimitError
        If not even a tile of one pair fits.
    """
    count, n = features.shape
    await_workers(pool, listener)
    grid = Grid(count, count, _side(count, n, pool, limit), symmetric=True)
    tau = np.empty((count, count))
    p = None if rule is None else np.empty((count, count))
    with tempfile.TemporaryDirectory(prefix="distkern-", ignore_cleanup_errors=True) as folder:
        for name, array in zip(("order", "observed", "codes"), rank_observed(features), strict=True):
            np.save(os.path.join(folder, f"{name}.npy"), array)
        tasks = [PairwiseTask(folder, grid, i, j, rule, names) for i, j in grid.tiles()]

        def copy_tile(done: TileDone) -> None:
            rows, cols = slice(*grid.row_range(done.i)), slice(*grid.col_range(done.j))
            file = _file(folder, done.i, done.j)
            for matrix, values in zip((tau, p), np.load(file), strict=False):
                assert matrix is not None
                matrix[rows, cols] = values
                matrix[cols, rows] = values.T
            os.unlink(file)

        run(pool, compute_tile, tasks, copy_tile, phase="compute tiles", listener=listener)
    np.fill_diagonal(tau, np.where(np.isnan(features).all(axis=1), np.nan, 1.0))
    return tau, p


def compute_tile(task: PairwiseTask) -> TileDone:
    """Count the pairs of one tile, and store tau and, where asked for, the p-values."""
    order, observed, codes = (load_array(task.folder, name) for name in ("order", "observed", "codes"))
    rows, cols = slice(*task.grid.row_range(task.i)), slice(*task.grid.col_range(task.j))
    order_a, observed_a, codes_a = (np.array(part[rows]) for part in (order, observed, codes))
    codes_b = np.array(codes[cols])
    shape = len(codes_a), len(codes_b)
    concordance, untied_a, untied_b, sizes = np.empty((4, *shape), dtype=np.int64)
    variances = np.empty(shape)
    symmetric = task.i == task.j
    pairwise_tile(order_a, observed_a, codes_a, codes_b, symmetric, concordance, untied_a, untied_b, sizes, variances)
    with np.errstate(invalid="ignore"):
        values = [concordance / np.sqrt(untied_a.astype(float) * untied_b)]
    if task.rule is not None:
        constant = (untied_a == 0) | (untied_b == 0)
        pairs = sizes * (sizes - 1) // 2
        no_ties = (untied_a == pairs) & (untied_b == pairs)
        if task.rule.method == "exact" and not (no_ties | constant).all():
            _refuse_ties(task, np.argwhere(~(no_ties | constant))[0])
        p = p_values(concordance, sizes, no_ties, variances, **task.rule._asdict())
        values.append(np.where(constant, np.nan, p))
    np.save(_file(task.folder, task.i, task.j), np.stack(values))
    return TileDone(task.i, task.j)


def _refuse_ties(task: PairwiseTask, where: Array) -> None:
    row, col = int(where[0]) + task.grid.row_range(task.i)[0], int(where[1]) + task.grid.col_range(task.j)[0]
    raise InputError(
        f"features {name_of(row, task.names)} and {name_of(col, task.names)} have ties on their common samples, so "
        "their p-value cannot be exact: choose method='auto' or method='asymptotic'"
    )


def _file(folder: str, i: int, j: int) -> str:
    return os.path.join(folder, f"tile-{i}-{j}.npy")


def _side(count: int, n: int, pool: Executor, limit: int | None) -> int:
    """Tiles of a few seconds each, small enough for the memory of a task, and enough of them for all workers."""
    may = pool.memory_per_task(limit)

    def task_bytes(side: int) -> int:
        return 20 * side * n + 12 * n + ENTRY_BYTES * side * side

    if task_bytes(1) > may:
        raise MemoryLimitError(
            f"a task on one pair of features takes {readable_bytes(task_bytes(1))} and may take {readable_bytes(may)}: "
            "give the tasks more memory"
        )
    seconds = 3e-9 * n * max(1.0, np.log2(n))
    shared = -(-count // int(np.ceil(np.sqrt(2 * TILES_PER_WORKER * pool.workers))))
    timely = largest(lambda side: side * side * seconds <= TASK_SECONDS, count)
    return max(1, min(shared, timely, largest(lambda side: task_bytes(side) <= may, count)))
