"""The tasks that fill a store: prepare a block of samples, compute a tile. They run wherever the path is."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from distkern.core.errors import InputError, StoreError, StoreMismatchError
from distkern.core.typing import Array, Floats
from distkern.gram.addresses import refuse_beyond_memory
from distkern.gram.samples import DIAGONAL, StoredSamples
from distkern.gram.store import GramStore
from distkern.io.digests import sample_digests
from distkern.kernels.base import FEATURE_BYTES, Kernel, Prepared, strips
from distkern.kernels.registry import from_spec

FEW = 2
"""Samples on which compiled routines are run before the first task of a process."""

_warming = threading.Lock()
_keeping = threading.Lock()
_kept: dict[tuple[Any, ...], Prepared] = {}
"""Row samples of the last tile, by what tells them from others; one block at most, whatever the number of threads."""
_rest_bytes: dict[tuple[str, str], int] = {}


@dataclass(frozen=True)
class PrepareTask:
    """Prepare one block of samples; ``source`` reads them, on a worker by path.

    Where a cohort has grown, the source begins with sample number ``first``, and ``known`` are the marks of what is
    prepared of the block already.
    """

    path: str
    store_id: str
    side: str
    block: int
    source: Any
    first: int = 0
    known: tuple[int, ...] = ()


@dataclass(frozen=True)
class TileTask:
    """Compute one tile from two prepared blocks, which must have the given marks; ``known`` marks what it holds."""

    path: str
    store_id: str
    i: int
    j: int
    row_marks: tuple[int, ...]
    col_marks: tuple[int, ...]
    known: int = 0


@dataclass(frozen=True)
class Receipt:
    """What a task tells when its bytes are stored: where, their marks, and what it took.

    ``seconds`` leaves out those in which compiled routines were loaded, or waited for. ``peak_bytes`` and
    ``rest_bytes`` are the most memory that the process has had, and what it had when it was ready for work.
    """

    i: int
    j: int
    marks: tuple[int, ...]
    seconds: float
    warm_up_seconds: float
    peak_bytes: int
    rest_bytes: int
    worker: str


def opened(path: str, store_id: str) -> tuple[GramStore, Kernel]:
    """Open a store once a process, and let go of the samples that are kept for the next tile.

    Parameters
    ----------
    store_id
        Tells the store from one that lay or lies at the same path.
    """
    let_go()
    return _opened(path, store_id)


@lru_cache(maxsize=4)
def _opened(path: str, store_id: str) -> tuple[GramStore, Kernel]:
    store = GramStore.opened(path)
    if store.meta["id"] != store_id:
        raise StoreMismatchError(
            f"{path!r} is another store here than where the run was started, or has grown: give a path that all "
            "workers share, and open it again"
        )
    return store, from_spec(store.meta["stored"])


def prepare_block(task: PrepareTask) -> Receipt:
    """Read a block of samples, do the kernel's once-per-sample work, and store it."""
    began = time.perf_counter()
    store, kernel = opened(task.path, task.store_id)
    samples = store.samples(task.side)
    block, stop = samples.span(task.block)
    start = max(block, task.first)
    read = task.source.read_sparse if store.meta["sparse"] else task.source.read
    values = read(slice(start - task.first, stop - task.first))
    if not np.array_equal(_digests(values), samples.digests(start, stop)):
        raise StoreMismatchError(
            f"samples {start}–{stop - 1} of the {task.side} are not those that were checked when the run started: the "
            "data have changed, or the same path holds other data on a worker"
        )
    warm_up = _warm_up("prepare", task.store_id, partial(kernel.prepare, values[:FEW], start), values.data.nbytes)
    prepared = kernel.prepare(values, start)
    arrays = {**prepared.arrays, DIAGONAL: kernel.diagonal(prepared)}
    held = samples.read(task.block, task.known) if start > block else {}
    store.still_there()
    marks = samples.write(task.block, arrays, held)
    return _receipt(task.block, 0, marks, began, warm_up)


def compute_tile(task: TileTask) -> Receipt:
    """Compute a tile from two prepared blocks, and store it."""
    began = time.perf_counter()
    store, kernel = _opened(task.path, task.store_id)
    A = _row(store, task)
    diagonal = store.grid.symmetric and task.i == task.j
    B = A if diagonal else _read(store.cols, task.j, task.col_marks)
    held = store.read_part(task.i, task.j, task.known) if task.known else None
    few, others = A.part(0, FEW), B.part(0, FEW)
    warm_up = _warm_up(
        "tile",
        task.store_id,
        lambda: (_sound(store, few), kernel.tile(few, few), kernel.tile(few, _sound(store, others))),
        A.nbytes + (0 if diagonal else B.nbytes),
    )
    _keep(task, _sound(store, A))
    if not diagonal:
        _sound(store, B)
    values = kernel.tile(A, B) if held is None else _completed(kernel, A, B, held)
    _refuse_not_finite(values, store, task)
    store.still_there()
    return _receipt(task.i, task.j, (store.write_tile(task.i, task.j, values),), began, warm_up)


def _completed(kernel: Kernel, A: Prepared, B: Prepared, held: Array) -> Floats:
    """Compute only what a tile does not hold yet: the rows and columns of samples that were added."""
    rows, cols = held.shape
    values = np.empty((len(A), len(B)))
    values[:rows, :cols] = held
    if cols < len(B):
        values[:rows, cols:] = kernel.tile(A.part(0, rows), B.part(cols, len(B)))
    if rows < len(A) and A is B:
        added = A.part(rows, len(A))
        values[rows:, :rows] = values[:rows, rows:].T
        values[rows:, rows:] = kernel.tile(added, added)
    elif rows < len(A):
        values[rows:] = kernel.tile(A.part(rows, len(A)), B)
    return values


def _digests(values: Any) -> Array:
    if isinstance(values, np.ndarray):
        return sample_digests(values)
    return np.concatenate([sample_digests(values[rows].toarray()) for rows in strips(*values.shape)])


def _refuse_not_finite(values: Floats, store: GramStore, task: TileTask) -> None:
    with np.errstate(over="ignore"):
        wrong = np.argwhere(~np.isfinite(values.astype(store.meta["dtype"], copy=False)))
    if len(wrong):
        row, col = (int(position) for position in wrong[0])
        x, y = task.i * store.grid.side + row, task.j * store.grid.side + col
        raise InputError(
            f"k(x, y) is {values[row, col]} for samples number {x} and {y}, beyond what {store.meta['dtype']} holds: "
            "scale the data down" + (', or use dtype="float64"' if store.meta["dtype"] == "float32" else "")
        )


def prepared_block(store: GramStore, side: str, block: int) -> Prepared:
    """Read one block of prepared samples.

    Raises
    ------
    StoreError
        If the kernel cannot have prepared it: compiled code takes some of it as indices, and a store may be anybody's.
    """
    return _sound(store, _read(store.samples(side), block))


def _read(samples: StoredSamples, block: int, marks: tuple[int, ...] | None = None) -> Prepared:
    arrays = samples.read(block, marks)
    arrays.pop(DIAGONAL)
    return Prepared(arrays, samples.span(block)[0])


def _row(store: GramStore, task: TileTask) -> Prepared:
    """The row samples of a task, which are those of the last one wherever tiles come in their order."""
    kept = _kept.get(_row_of(task))
    if kept is None:
        let_go()  # so that no more is held than the plan says
        kept = _read(store.rows, task.i, task.row_marks)
    return kept


def _keep(task: TileTask, rows: Prepared) -> None:
    with _keeping:
        _kept.clear()
        _kept[_row_of(task)] = rows


def let_go() -> None:
    """Let go of the row samples that are kept for the next tile."""
    with _keeping:
        _kept.clear()


def _row_of(task: TileTask) -> tuple[Any, ...]:
    return task.path, task.store_id, task.i, task.row_marks


def _sound(store: GramStore, block: Prepared) -> Prepared:
    """Refuse what was not prepared by the kernel of the store, whatever its checksum says."""
    n, kernel = store.meta["n_features"], from_spec(store.meta["stored"])
    refuse_beyond_memory(store.path, "a sample", FEATURE_BYTES * n)
    if not kernel.could_have_prepared(block, n):
        raise StoreError(
            f"{store.path!r} holds of samples {block.start}–{block.start + len(block) - 1} what matches its checksum "
            f"and is nothing that {kernel!r} prepares: compute the matrix from the samples into another store"
        )
    return block


def _warm_up(what: str, store_id: str, work: Callable[[], Any], held: int) -> float:
    """Run compiled routines on a few samples, once a process, while others wait; return the seconds that this took.

    Parameters
    ----------
    held
        Bytes of what was read already, which are memory of the task and not of a process at rest.
    """
    began = time.perf_counter()
    with _warming:
        if (what, store_id) not in _rest_bytes:
            work()
            _rest_bytes[what, store_id] = psutil.Process().memory_info().rss - held
    return time.perf_counter() - began


def _receipt(i: int, j: int, marks: tuple[int, ...], began: float, warm_up: float) -> Receipt:
    return Receipt(
        i,
        j,
        marks,
        time.perf_counter() - began - warm_up,
        warm_up,
        _peak_bytes(),
        next(reversed(_rest_bytes.values())),
        f"{os.uname().nodename}:{os.getpid()}",
    )


def _peak_bytes() -> int:
    """Most memory that this process has had; getrusage alone would count that of the process that started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
