"""Look at samples before any work: check them, digest them, and count what is not zero, where they can be read.

Samples that workers read by path are looked at by the workers, and the client receives digests only. Samples in the
memory of the client are looked at by its threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from distkern.core.errors import DistkernError, InputError
from distkern.core.events import Listener, silent
from distkern.core.typing import Array, Indices
from distkern.engine.base import Executor, Failure
from distkern.engine.executors import Serial, Threads, usable_cores
from distkern.engine.memory import Watched, bytes_at_rest, free_within
from distkern.engine.run import run
from distkern.io.digests import DIGEST_KINDS, DigestKind
from distkern.io.source import Source
from distkern.kernels.base import STRIP_BYTES, Kernel, refuse_bags
from distkern.store.manifest import FORMAT
from distkern.store.runs import Receipt, this_process

LOOK_BYTES = 2**28
"""Bytes that the samples of a task take as dense values, at most; it reads fewer at a time."""

TASKS_PER_WORKER = 4
"""Tasks for each worker, where there are enough samples."""

STRIP_SHARE = 8
"""Memory of a task over that of the samples that it reads at a time, since the check of a kernel may prepare them."""

SHORT_SECONDS = 1.0
"""Seconds that a look may take before its progress is shown."""

LOOK_COPIES = 3
"""Memory of a look over that of the samples that it reads at a time, at most."""


@dataclass(frozen=True)
class Looking:
    """How a call looks at samples.

    Parameters
    ----------
    pool, listener
        Executor of the tasks, and listener of their progress.
    limit
        Bytes that each process may take; by default a share of the free memory.
    format
        Format of the store that will hold the digests.
    run
        Identifier of the call, to whose first task in a process memory is compared.
    """

    pool: Executor = field(default_factory=Serial)
    listener: Listener = silent
    limit: int | None = None
    format: int = FORMAT
    run: str = field(default_factory=lambda: uuid4().hex)

    @property
    def kind(self) -> DigestKind:
        """How the samples are digested."""
        return DIGEST_KINDS[self.format]

    def reader(self, source: Source) -> Executor:
        """Executor of tasks that read the samples."""
        return reading_pool(self.pool, source, STRIP_SHARE * STRIP_BYTES, self.limit)

    def tasks(self, source: Source, kernels: tuple[Kernel, ...] = ()) -> list[LookTask]:
        """Share the samples among the workers; each task reads some of them at a time."""
        m, n = source.shape
        pool = self.reader(source)
        strip = strip_bytes(pool.memory_per_task(self.limit))
        least, most = (max(1, size // (8 * n)) for size in (strip, LOOK_BYTES))
        height = max(least, min(most, -(-m // (TASKS_PER_WORKER * pool.workers))))
        bare = source.nameless()
        spans = [slice(start, min(start + height, m)) for start in range(0, m, height)]
        return [LookTask(kernels, bare, span, strip, self.format, self.run) for span in spans]


def strip_bytes(memory_per_task: int) -> int:
    """Most bytes of samples that a task reads at a time."""
    return min(STRIP_BYTES, max(1, memory_per_task // STRIP_SHARE))


def bytes_of_look(m: int, n: int, memory_per_task: int) -> int:
    """Most bytes that looking at samples takes in a task: what is read at a time, and what a check makes of it."""
    return LOOK_COPIES * max(8 * n, min(strip_bytes(memory_per_task), 8 * m * n))


class Look(NamedTuple):
    """What is known of all samples of a source.

    Parameters
    ----------
    digests
        Digest of each sample.
    filled
        Number of values of each sample that are not zero.
    receipts
        Time and memory of the tasks.
    """

    digests: Array
    filled: Indices
    receipts: list[Receipt]


@dataclass(frozen=True)
class LookTask:
    """Look at some samples.

    Parameters
    ----------
    kernels
        Kernels that must be defined for the samples.
    source, rows
        Reads the samples, on a worker by path, and which of them.
    strip_bytes
        Bytes of samples that are read at a time, as dense values at first.
    format
        Format of the store that will hold the digests.
    run
        Identifier of the call.
    """

    kernels: tuple[Kernel, ...]
    source: Source
    rows: slice
    strip_bytes: int
    format: int
    run: str

    def strips(self) -> Iterator[tuple[slice, Any]]:
        """Read the samples some at a time; more, where the last ones took few bytes and are not made dense."""
        grows = self.source.sparse and all(kernel.takes_sparse for kernel in self.kernels)
        source, n = self.source, self.source.shape[1]
        start, height = self.rows.start, max(1, self.strip_bytes // (8 * n))
        while start < self.rows.stop:
            part = slice(start, min(start + height, self.rows.stop))
            values: Any = source.read_sparse(part) if source.sparse else source.read(part)
            if grows and 32 * values.nnz < self.strip_bytes:
                height *= 2
            start = part.stop
            yield part, values
            del values  # before the next ones are read


class Seen(NamedTuple):
    """Outcome of a `LookTask`."""

    rows: slice
    digests: Array
    filled: Indices
    receipt: Receipt


def look_at(task: LookTask) -> Seen:
    """Check some samples, digest them and count what is not zero."""
    began, rest = time.perf_counter(), bytes_at_rest("look", task.run)
    kind, count = DIGEST_KINDS[task.format], task.rows.stop - task.rows.start
    digests, filled = np.empty((count, kind.size), dtype=np.uint8), np.empty(count, dtype=np.intp)
    with Watched() as memory:
        for part, values in task.strips():
            here = slice(part.start - task.rows.start, part.stop - task.rows.start)
            check_values(task.kernels, values)
            digests[here] = kind.of(values)
            filled[here] = np.diff(values.indptr) if task.source.sparse else np.count_nonzero(values != 0, axis=1)
            del values
        seconds = time.perf_counter() - began
        receipt = Receipt(task.rows.start, 0, (), seconds, 0.0, memory.most, rest, this_process())
    return Seen(task.rows, digests, filled, receipt)


def check_values(
    kernels: Sequence[Kernel], values: Any, ids: Sequence[str] | None = None, features: Any = None
) -> None:
    """Refuse samples for which one of the kernels is not defined; zeros are left out for kernels that allow it."""
    for kernel in kernels:
        dense = hasattr(values, "indptr") and not kernel.takes_sparse
        kernel.check(values.toarray() if dense else values, ids, features)


def look(kernels: Sequence[Kernel], source: Source, ids: Sequence[str], looking: Looking) -> Look:
    """Check all samples, digest them and count what is not zero.

    Parameters
    ----------
    kernels
        Kernels that must be defined for the samples.
    ids
        Names of the samples.

    Raises
    ------
    SampleError
        Names the first sample for which a kernel is not defined.
    """
    for kernel in kernels:
        refuse_bags(kernel, source)
    m = len(source)
    seen = Look(np.empty((m, looking.kind.size), dtype=np.uint8), np.empty(m, dtype=np.intp), [])
    failures: list[Failure] = []

    def done(found: Seen) -> None:
        seen.digests[found.rows], seen.filled[found.rows] = found.digests, found.filled
        seen.receipts.append(found.receipt)

    try:
        run(
            looking.reader(source),
            look_at,
            looking.tasks(source, tuple(kernels)),
            done,
            phase="check samples",
            listener=looking.listener,
            on_failure=failures.append,
            named=lambda task: f"checking samples {task.rows.start}–{task.rows.stop - 1}",
        )
    except DistkernError:
        wrong = [failure for failure in failures if isinstance(failure.error, InputError)]
        if wrong:
            _refuse_by_name(min(wrong, key=lambda failure: failure.task.rows.start), source, ids)
        raise
    return seen


def _refuse_by_name(failure: Failure, source: Source, ids: Sequence[str]) -> None:
    """Raise the first error of a task again, with the names of samples and features, which tasks do not know."""
    for part, values in failure.task.strips():
        check_values(failure.task.kernels, values, ids[part], source.features)
    raise failure.error


def empty_features(sources: Sequence[Source], looking: Looking) -> Indices:
    """Features that have no value in some sample."""
    somewhere = np.zeros(sources[0].shape[1], dtype=bool)

    def done(found: Array) -> None:
        np.logical_or(somewhere, found, out=somewhere)

    for source in sources:
        run(
            looking.reader(source),
            find_empty,
            looking.tasks(source),
            done,
            phase="find missing values",
            listener=looking.listener,
        )
    return np.flatnonzero(somewhere)


def find_empty(task: LookTask) -> Array:
    """Whether each feature has no value in some of the samples."""
    found = np.zeros(task.source.shape[1], dtype=bool)
    for _, values in task.strips():
        if task.source.sparse:
            found[values.indices[np.isnan(values.data)]] = True
        else:
            found |= np.isnan(values).any(axis=0)
        del values
    return found


def resolved(kernel: Kernel, source: Source, looking: Looking) -> Kernel:
    """The kernel with every data-dependent parameter as a number; on a worker where that reads the samples by path."""
    if type(kernel).resolve is Kernel.resolve or not (looking.pool.remote and source.portable):
        return kernel.resolve(source)
    found: list[Kernel] = []
    try:
        run(
            looking.pool,
            resolve_kernel,
            [(kernel, source.nameless())],
            found.append,
            phase="choose parameters",
            listener=looking.listener,
        )
    except InputError:
        kernel.resolve(source)  # names the sample
        raise
    return found[0]


def resolve_kernel(task: tuple[Kernel, Source]) -> Kernel:
    """Replace data-dependent parameters by numbers."""
    kernel, source = task
    return kernel.resolve(source)


def reading_pool(pool: Executor, source: Source, bytes_of_task: int, limit: int | None) -> Executor:
    """Executor of tasks that read samples: threads of this process, where other processes cannot read them by path."""
    if source.portable or not pool.remote:
        return pool
    return Threads(max(1, min(usable_cores(), free_within(limit) // max(1, bytes_of_task))))
