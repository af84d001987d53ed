"""The tasks that fill a store: prepare a block of samples, compute a tile. They run wherever the path is."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError, StoreMismatchError
from distkern.core.typing import Array, Floats
from distkern.gram.samples import DIAGONAL, StoredSamples
from distkern.gram.store import GramStore
from distkern.io.digests import sample_digests
from distkern.kernels.base import Kernel, Prepared, strips
from distkern.kernels.registry import from_spec


@dataclass(frozen=True)
class PrepareTask:
    """Prepare one block of samples; ``source`` reads them, on a worker by path."""

    path: str
    store_id: str
    side: str
    block: int
    source: Any


@dataclass(frozen=True)
class TileTask:
    """Compute one tile from two prepared blocks, which must have the given marks."""

    path: str
    store_id: str
    i: int
    j: int
    row_marks: tuple[int, ...]
    col_marks: tuple[int, ...]


@dataclass(frozen=True)
class Receipt:
    """What a task tells when its bytes are stored: where, their marks, and what it took."""

    i: int
    j: int
    marks: tuple[int, ...]
    seconds: float
    peak_bytes: int
    worker: str


@lru_cache(maxsize=4)
def opened(path: str, store_id: str) -> tuple[GramStore, Kernel]:
    """Open a store once a process; ``store_id`` tells it from one that lay or lies at the same path."""
    store = GramStore.opened(path)
    if store.meta["id"] != store_id:
        raise StoreMismatchError(
            f"{path!r} is another store here than where the run was started: give a path that all workers share"
        )
    return store, from_spec(store.meta["stored"])


def prepare_block(task: PrepareTask) -> Receipt:
    """Read a block of samples, do the kernel's once-per-sample work, and store it."""
    began = time.perf_counter()
    store, kernel = opened(task.path, task.store_id)
    samples = store.samples(task.side)
    start, stop = samples.span(task.block)
    read = task.source.read_sparse if store.meta["sparse"] else task.source.read
    values = read(slice(start, stop))
    if not np.array_equal(_digests(values), samples.digests(start, stop)):
        raise StoreMismatchError(
            f"samples {start}–{stop - 1} of the {task.side} are not those that were checked when the run started: the "
            "data have changed, or the same path holds other data on a worker"
        )
    prepared = kernel.prepare(values, start)
    store.still_there()
    marks = samples.write(task.block, prepared.arrays, kernel.diagonal(prepared))
    return _receipt(task.block, 0, marks, began)


def compute_tile(task: TileTask) -> Receipt:
    """Compute a tile from two prepared blocks, and store it."""
    began = time.perf_counter()
    store, kernel = opened(task.path, task.store_id)
    A = prepared_block(store.rows, task.i, task.row_marks)
    if store.grid.symmetric and task.i == task.j:
        values = kernel.tile(A, A)
    else:
        values = kernel.tile(A, prepared_block(store.cols, task.j, task.col_marks))
    _refuse_not_finite(values, store, task)
    store.still_there()
    return _receipt(task.i, task.j, (store.write_tile(task.i, task.j, values),), began)


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


def prepared_block(samples: StoredSamples, block: int, marks: tuple[int, ...] | None = None) -> Prepared:
    """Read one block of prepared samples."""
    arrays = samples.read(block, marks)
    arrays.pop(DIAGONAL)
    return Prepared(arrays, samples.span(block)[0])


def _receipt(i: int, j: int, marks: tuple[int, ...], began: float) -> Receipt:
    return Receipt(i, j, marks, time.perf_counter() - began, _peak_bytes(), f"{os.uname().nodename}:{os.getpid()}")


def _peak_bytes() -> int:
    """Most memory that this process has had; getrusage alone would count that of the process that started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
