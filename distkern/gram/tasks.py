"""The tasks that fill a store: prepare a block of samples, compute a tile. They run wherever the path is."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from distkern.gram.samples import DIAGONAL, StoredSamples
from distkern.gram.store import GramStore
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.registry import from_spec


@dataclass(frozen=True)
class PrepareTask:
    """Prepare one block of samples; ``source`` reads them, on a worker by path."""

    path: str
    version: str
    side: str
    block: int
    source: Any


@dataclass(frozen=True)
class TileTask:
    """Compute one tile from two prepared blocks, which must have the given marks."""

    path: str
    version: str
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
def _opened(path: str, version: str) -> tuple[GramStore, Kernel]:
    """Open a store once a process; ``version`` tells a store from one that lay at the same path before."""
    store = GramStore.opened(path)
    return store, from_spec(store.meta["stored"])


def prepare_block(task: PrepareTask) -> Receipt:
    """Read a block of samples, do the kernel's once-per-sample work, and store it."""
    began = time.perf_counter()
    store, kernel = _opened(task.path, task.version)
    samples = store.samples(task.side)
    start, stop = samples.span(task.block)
    prepared = kernel.prepare(task.source.read(slice(start, stop)), start)
    marks = samples.write(task.block, prepared.arrays, kernel.diagonal(prepared))
    return _receipt(task.block, 0, marks, began)


def compute_tile(task: TileTask) -> Receipt:
    """Compute a tile from two prepared blocks, and store it."""
    began = time.perf_counter()
    store, kernel = _opened(task.path, task.version)
    A = prepared_block(store.rows, task.i, task.row_marks)
    if store.grid.symmetric and task.i == task.j:
        values = kernel.tile(A, A)
    else:
        values = kernel.tile(A, prepared_block(store.cols, task.j, task.col_marks))
    return _receipt(task.i, task.j, (store.write_tile(task.i, task.j, values),), began)


def prepared_block(samples: StoredSamples, block: int, marks: tuple[int, ...] | None = None) -> Prepared:
    """Read one block of prepared samples."""
    arrays = samples.read(block, marks)
    arrays.pop(DIAGONAL)
    return Prepared(arrays, samples.span(block)[0])


def _receipt(i: int, j: int, marks: tuple[int, ...], began: float) -> Receipt:
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return Receipt(i, j, marks, time.perf_counter() - began, peak, f"{os.uname().nodename}:{os.getpid()}")
