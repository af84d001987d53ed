"""The tasks that fill a store: prepare a block of samples, compute a tile. They run on any worker."""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from distkern.core.errors import StoreMismatchError
from distkern.core.typing import Array, Floats
from distkern.core.validation import refuse_not_finite
from distkern.gram.prepared import (
    keep_block,
    kept_block,
    opened,
    read_block,
    valid_block,
)
from distkern.io.digests import sample_digests
from distkern.kernels.base import Kernel, Prepared, strips
from distkern.store.layout import DIAGONAL
from distkern.store.runs import Receipt, this_process
from distkern.store.samples import StoredSamples
from distkern.store.tiles import GramStore

FEW = 2
"""Samples on which compiled routines are run before the first task of a process."""

_warming = threading.Lock()
_rest_bytes: dict[tuple[str, str], int] = {}


@dataclass(frozen=True)
class PrepareTask:
    """Prepare one block of samples.

    Parameters
    ----------
    path, store_id
        Path and identifier of the store.
    kernel
        The kernel whose values are stored.
    axis, block
        ``"rows"`` or ``"cols"``, and number of the block.
    source
        Reads the samples, on a worker by path.
    first
        Number in the cohort of the first sample of the source.
    known
        Checksums of the samples of the block that were prepared before others were added.
    """

    path: str
    store_id: str
    kernel: Kernel
    axis: str
    block: int
    source: Any
    first: int = 0
    known: tuple[int, ...] = ()


@dataclass(frozen=True)
class TileTask:
    """Compute one tile from two prepared blocks.

    Parameters
    ----------
    path, store_id
        Path and identifier of the store.
    kernel
        The kernel whose values are stored.
    i, j
        Numbers of the blocks.
    row_checksums, col_checksums
        Checksums that the prepared blocks must have.
    known
        Checksum of the entries of the tile that were computed before samples were added; 0 if there are none.
    """

    path: str
    store_id: str
    kernel: Kernel
    i: int
    j: int
    row_checksums: tuple[int, ...]
    col_checksums: tuple[int, ...]
    known: int = 0


def prepare_block(task: PrepareTask) -> Receipt:
    """Read a block of samples, prepare it, and store it."""
    began = time.perf_counter()
    store, kernel = opened(task.path, task.store_id), task.kernel
    samples = store.samples(task.axis)
    block, stop = samples.span(task.block)
    start = max(block, task.first)
    read = task.source.read_sparse if store.manifest.sparse else task.source.read
    values = read(slice(start - task.first, stop - task.first))
    if not np.array_equal(_digests(values), samples.digests(start, stop)):
        raise StoreMismatchError(
            f"samples {start}–{stop - 1} of the {task.axis} are not the samples that were checked when the run "
            "started: the data have changed, or the same path holds other data on a worker"
        )
    warm_up = _warm_up("prepare", task.store_id, partial(kernel.prepare, values[:FEW], start), values.data.nbytes)
    with np.errstate(all="ignore"):  # what is not finite is refused by name in its tile
        prepared = kernel.prepare(values, start)
    arrays = {**prepared.arrays, DIAGONAL: kernel.diagonal(prepared)}
    stored = samples.read(task.block, task.known) if start > block else {}
    store.refuse_if_changed()
    checksums = samples.write(task.block, arrays, stored)
    return _receipt(task.block, 0, checksums, began, warm_up)


def compute_tile(task: TileTask) -> Receipt:
    """Compute a tile from two prepared blocks, and store it."""
    began = time.perf_counter()
    store, kernel = opened(task.path, task.store_id, keep_block=True), task.kernel
    A = kept_block(store.rows, task.i, task.row_checksums, task.store_id)
    diagonal = store.grid.symmetric and task.i == task.j
    B = A if diagonal else read_block(store.cols, task.j, task.col_checksums)
    known = store.read_part(task.i, task.j, task.known) if task.known else None
    few, others = A.part(0, FEW), B.part(0, FEW)
    warm_up = _warm_up(
        "tile",
        task.store_id,
        lambda: (valid_block(store, few), kernel.tile(few, few), kernel.tile(few, valid_block(store, others))),
        A.nbytes + (0 if diagonal else B.nbytes),
    )
    keep_block(valid_block(store, A), task.i, task.row_checksums, task.store_id)
    if not diagonal:
        valid_block(store, B)
    with np.errstate(all="ignore"):  # what is not finite is refused by name
        values = kernel.tile(A, B) if known is None else _completed(kernel, A, B, known)
    _refuse_not_finite(values, store, task, diagonal)
    store.refuse_if_changed()
    return _receipt(task.i, task.j, (store.write_tile(task.i, task.j, values),), began, warm_up)


def _completed(kernel: Kernel, A: Prepared, B: Prepared, known: Array) -> Floats:
    """Compute the rows and columns of samples that were added to a tile, and keep the known entries."""
    rows, cols = known.shape
    values = np.empty((len(A), len(B)))
    values[:rows, :cols] = known
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


def _refuse_not_finite(values: Floats, store: GramStore, task: TileTask, same: bool) -> None:
    dtype = store.manifest.dtype
    with np.errstate(over="ignore"):
        finite = bool(np.isfinite(values.astype(dtype, copy=False)).all())
    if not finite:  # names are read only now
        rows, cols = _names(store.rows, task.i), _names(store.cols, task.j)
        refuse_not_finite(values, rows, cols, same=same, dtype=dtype)


def _names(samples: StoredSamples, block: int) -> Sequence[str]:
    """Names of the samples of a block; of equal samples, which are computed once, that of the first."""
    first, stop = samples.span(block)
    ids, index = samples.ids, samples.index
    return ids[first:stop] if index is None else [ids[int(np.argmax(index == k))] for k in range(first, stop)]


def _warm_up(what: str, store_id: str, work: Callable[[], Any], read_bytes: int) -> float:
    """Load compiled routines once a process, by running them on a few samples; return the seconds that this took.

    Parameters
    ----------
    read_bytes
        Bytes of the samples that are in memory already: memory of the task, not of the process at rest.
    """
    began = time.perf_counter()
    with _warming:
        if (what, store_id) not in _rest_bytes:
            work()
            _rest_bytes[what, store_id] = psutil.Process().memory_info().rss - read_bytes
    return time.perf_counter() - began


def _receipt(i: int, j: int, checksums: tuple[int, ...], began: float, warm_up: float) -> Receipt:
    return Receipt(
        i,
        j,
        checksums,
        time.perf_counter() - began - warm_up,
        warm_up,
        _peak_bytes(),
        next(reversed(_rest_bytes.values())),
        this_process(),
    )


def _peak_bytes() -> int:
    """Most memory that this process has had; getrusage alone would count that of the process that started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
