"""The tasks that fill a store: prepare a block of samples, compute a tile. They run on any worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from distkern.core.errors import StoreMismatchError
from distkern.core.typing import Array, Floats
from distkern.core.validation import refuse_not_finite
from distkern.engine.memory import Watched, bytes_at_rest
from distkern.gram.prepared import (
    keep_block,
    kept_block,
    opened,
    read_block,
    valid_block,
)
from distkern.kernels.base import Kernel, Prepared
from distkern.store.layout import DIAGONAL
from distkern.store.runs import Receipt, this_process
from distkern.store.samples import StoredSamples
from distkern.store.tiles import GramStore

FEW = 2
"""Samples on which compiled routines are run before the first task of a process."""

_warming = threading.Lock()
_warm: set[tuple[str, str]] = set()
"""Kinds of tasks whose routines this process has loaded for a store."""


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
    run
        Identifier of the run, to whose first task in a process memory is compared.
    """

    path: str
    store_id: str
    kernel: Kernel
    axis: str
    block: int
    source: Any
    first: int = 0
    known: tuple[int, ...] = ()
    run: str = ""


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
    run
        Identifier of the run, to whose first task in a process memory is compared.
    """

    path: str
    store_id: str
    kernel: Kernel
    i: int
    j: int
    row_checksums: tuple[int, ...]
    col_checksums: tuple[int, ...]
    known: int = 0
    run: str = ""


def prepare_block(task: PrepareTask) -> Receipt:
    """Read a block of samples, prepare it, and store it."""
    began = time.perf_counter()
    with Watched() as memory:
        checksums, warm_up = _prepared(task)
        return _receipt((task.block, 0), checksums, began, warm_up, memory)


def _prepared(task: PrepareTask) -> tuple[tuple[int, ...], WarmUp]:
    """Prepare and store a block; return its checksums."""
    store, kernel = opened(task.path, task.store_id), task.kernel
    samples = store.samples(task.axis)
    block, stop = samples.span(task.block)
    start = max(block, task.first)
    read = task.source.read_sparse if store.manifest.sparse else task.source.read
    values = read(slice(start - task.first, stop - task.first))
    if not np.array_equal(store.manifest.digest_kind.of(values), samples.digests(start, stop)):
        raise StoreMismatchError(
            f"samples {start}–{stop - 1} of the {task.axis} are not the samples that were checked when the run "
            "started: the data have changed, or the same path holds other data on a worker"
        )
    warm_up = _warm_up("prepare", task, partial(kernel.prepare, values[:FEW], start), values.data.nbytes)
    with np.errstate(all="ignore"):  # what is not finite is refused by name in its tile
        prepared = kernel.prepare(values, start)
    arrays = {**prepared.arrays, DIAGONAL: kernel.diagonal(prepared)}
    stored = samples.read(task.block, task.known) if start > block else {}
    store.refuse_if_changed()
    return samples.write(task.block, arrays, stored), warm_up


def compute_tile(task: TileTask) -> Receipt:
    """Compute a tile from two prepared blocks, and store it."""
    began = time.perf_counter()
    with Watched() as memory:
        checksum, warm_up = _computed(task)
        return _receipt((task.i, task.j), (checksum,), began, warm_up, memory)


def _computed(task: TileTask) -> tuple[int, WarmUp]:
    """Compute and store a tile; return its checksum."""
    store, kernel = opened(task.path, task.store_id, keep_block=True), task.kernel
    A = kept_block(store.rows, task.i, task.row_checksums, task.store_id)
    diagonal = store.grid.symmetric and task.i == task.j
    B = A if diagonal else read_block(store.cols, task.j, task.col_checksums)
    known = store.read_part(task.i, task.j, task.known) if task.known else None
    few, others = A.part(0, FEW), B.part(0, FEW)
    warm_up = _warm_up(
        "tile",
        task,
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
    return store.write_tile(task.i, task.j, values), warm_up


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


class WarmUp(NamedTuple):
    """Seconds in which compiled routines were loaded, and bytes of this process before its first task of the run."""

    seconds: float
    rest_bytes: int


def _warm_up(what: str, task: PrepareTask | TileTask, work: Callable[[], Any], read_bytes: int) -> WarmUp:
    """Load compiled routines once a process, by running them on a few samples; look at its memory once a run.

    Parameters
    ----------
    read_bytes
        Bytes of the samples that are in memory already: memory of the task, not of the process at rest.
    """
    began = time.perf_counter()
    with _warming:
        if (what, task.store_id) not in _warm:
            work()
            _warm.add((what, task.store_id))
        rest = bytes_at_rest(what, task.run, read_bytes)
    return WarmUp(time.perf_counter() - began, rest)


def _receipt(
    where: tuple[int, int], checksums: tuple[int, ...], began: float, warm_up: WarmUp, memory: Watched
) -> Receipt:
    seconds = time.perf_counter() - began - warm_up.seconds
    return Receipt(*where, checksums, seconds, warm_up.seconds, memory.most, warm_up.rest_bytes, this_process())
