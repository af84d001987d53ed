"""The features of a cohort as sparse columns, in bands that fit in memory, read by blocks of samples.

The cohort is read once to count the non-zeros of each feature, and once for each band of features. What is computed
from a column does not depend on the bands, since a column holds its values in the order of the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distkern.build.look import Looking, LookTask, bytes_of_look
from distkern.compiled.sparse_columns import scatter, scatter_dense
from distkern.core.errors import InputError, MemoryLimitError, SampleError
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import readable_bytes
from distkern.core.validation import name_of
from distkern.engine.memory import share_of
from distkern.engine.run import run
from distkern.io.source import Source

ENTRY_BYTES = 12
"""Bytes of a non-zero in a band: its value, and the number of its sample."""

SORTING_BYTES = 40
"""Bytes for each non-zero of the longest column, in each task that sorts one."""

TASKS_PER_WORKER = 4
"""Blocks of columns of a band for each thread."""


class Columns(NamedTuple):
    """The non-zeros of some features, feature by feature.

    Parameters
    ----------
    values, samples
        Value and sample of each non-zero; the samples of a feature ascend.
    starts
        Position of the first non-zero of each feature, and of the end, (features + 1,).
    """

    values: Floats
    samples: Array
    starts: Indices

    def part(self, start: int, stop: int) -> Columns:
        """Return some of the features; nothing is copied."""
        first, last = self.starts[start], self.starts[stop]
        return Columns(self.values[first:last], self.samples[first:last], self.starts[start : stop + 1] - first)


Work = Callable[[Columns, int, Any], Any]
"""What is computed from some columns: from them, the number of the first one, and an argument with all else."""


class Counted(NamedTuple):
    """What a task found in some samples: the non-zeros of each feature, and the first value that is NaN."""

    counts: Array
    missing: tuple[int, int] | None


@dataclass(frozen=True)
class BandTask:
    """Read a band of features, and work on it.

    Parameters
    ----------
    look
        Reads all samples.
    start, stop
        The features of the band.
    counts
        Number of non-zeros of each of them.
    work, about
        What to compute, and its argument.
    """

    look: LookTask
    start: int
    stop: int
    counts: Array
    work: Work
    about: Any


class Done(NamedTuple):
    """What was computed from the features ``start`` to ``stop``."""

    start: int
    stop: int
    result: Any


def work_on_columns(
    source: Source,
    work: Work,
    about: Any,
    on_result: Callable[[int, int, Any], None],
    *,
    looking: Looking,
    bytes_held: int,
    bytes_per_feature: int,
    phase: str,
) -> None:
    """Compute something from every feature of a cohort, as sparse columns.

    Workers of a cluster read a cohort by its path, a band of features each. In this process threads share a band, and
    work on blocks of its features.

    Parameters
    ----------
    work, about
        Function of the module level that takes `Columns`, the number of the first of them, and ``about``. Its results
        do not depend on the blocks.
    on_result
        Called with the first feature of a block, the one after the last, and the result.
    looking
        Executor, listener and limit of memory.
    bytes_held
        Bytes that this process holds besides the band.
    bytes_per_feature
        Bytes of the result, and of the work, for each feature.

    Raises
    ------
    SampleError
        If a value is NaN; the sample and the feature are named.
    MemoryLimitError
        If not even one feature fits in memory.
    """
    if source.ragged:
        raise InputError("the samples are bags, whose coordinates have no ranks: give a cohort of vectors")
    pool = looking.reader(source)
    counts = count_nonzeros(source, looking)
    workers = pool.workers
    allowed = pool.memory_per_task(looking.limit) if pool.remote else share_of(looking.limit, 1)
    overhead = bytes_of_look(*source.shape, pool.memory_per_task(looking.limit))
    overhead += SORTING_BYTES * int(counts.max()) * (1 if pool.remote else workers)
    room = allowed - overhead - (0 if pool.remote else bytes_held)
    weights = ENTRY_BYTES * counts + bytes_per_feature
    if weights.max() > room:
        _refuse_memory(source, counts, int(weights.max()) + allowed - room, allowed)
    if pool.remote:  # each task reads the whole cohort: as few tasks as there are workers, if their bands fit
        room = min(room, max(int(weights.max()), -(-int(weights.sum()) // workers)))
    look = replace(looking.tasks(source)[0], rows=slice(0, len(source)))
    tasks = [BandTask(look, start, stop, counts[start:stop], work, about) for start, stop in bands(weights, room)]

    def done(found: Done) -> None:
        on_result(*found)

    if pool.remote:
        run(pool, work_on_band, tasks, done, phase=phase, listener=looking.listener)
        return
    for number, task in enumerate(tasks, start=1):
        columns = gather(task)
        most = max(int(weights.max()), -(-int(weights[task.start : task.stop].sum()) // (TASKS_PER_WORKER * workers)))
        blocks = list(bands(weights[task.start : task.stop], most))

        def work_on_block(block: tuple[int, int], task: BandTask = task, columns: Columns = columns) -> Done:
            start, stop = block
            first, part = task.start + start, columns.part(start, stop)
            return Done(first, task.start + stop, task.work(part, first, task.about))

        which = f", part {number} of {len(tasks)}" if len(tasks) > 1 else ""
        run(pool, work_on_block, blocks, done, phase=f"{phase}{which}", listener=looking.listener)
        del columns, work_on_block  # before the next band is read


def _refuse_memory(source: Source, counts: Array, needed: int, allowed: int) -> None:
    feature = name_of(int(counts.argmax()), source.features)
    raise MemoryLimitError(
        "feature {feature} with {count:,} values takes {needed} with the work on it and may take {allowed}: raise "
        "{limit}, or use fewer threads",
        feature=feature,
        count=int(counts.max()),
        needed=readable_bytes(needed),
        allowed=readable_bytes(max(0, allowed)),
        limit=Argument("memory_limit"),
    )


def bands(weights: Array, room: int) -> Iterator[tuple[int, int]]:
    """Divide features into bands of neighbours whose weights add up to at most ``room``; none exceeds it alone.

    Examples
    --------
    >>> list(bands(np.array([3, 3, 1, 6]), 7))
    [(0, 3), (3, 4)]
    """
    start, held = 0, 0
    for feature, weight in enumerate(weights.tolist()):
        if held + weight > room and feature > start:
            yield start, feature
            start, held = feature, 0
        held += weight
    yield start, len(weights)


# Tasks -------------------------------------------------------------------------------------------------------------


def count_nonzeros(source: Source, looking: Looking) -> Indices:
    """Count the non-zeros of each feature.

    Raises
    ------
    SampleError
        If a value is NaN; the first such sample and feature are named.
    """
    counts = np.zeros(source.shape[1], dtype=np.int64)
    missing: list[tuple[int, int]] = []

    def done(found: Counted) -> None:
        np.add(counts, found.counts, out=counts)
        if found.missing is not None:
            missing.append(found.missing)

    run(
        looking.reader(source), count_task, looking.tasks(source), done, phase="check samples",
        listener=looking.listener,
    )  # fmt: skip
    refuse_missing(missing, source)
    return counts


def count_task(task: LookTask) -> Counted:
    """Count the non-zeros of each feature in some samples, and look for NaN."""
    counts, missing = np.zeros(task.source.shape[1], dtype=np.int64), None
    for part, values in task.strips():
        if missing is None:
            missing = first_missing(values, part.start)
        if task.source.sparse:
            counts += np.bincount(values.indices, minlength=len(counts))
        else:
            counts += np.count_nonzero(values, axis=0)
        del values
    return Counted(counts, missing)


def first_missing(values: Any, first_sample: int) -> tuple[int, int] | None:
    """Sample and feature of the first NaN in a block of samples, an array or canonical CSR; None if there is none."""
    if hasattr(values, "indptr"):
        entries = np.flatnonzero(np.isnan(values.data))[:1]
        if not len(entries):
            return None
        row = int(np.searchsorted(values.indptr, entries[0], "right")) - 1
        return first_sample + row, int(values.indices[entries[0]])
    where = np.isnan(values)
    if not where.any():
        return None
    row, column = np.argwhere(where)[0].tolist()
    return first_sample + row, column


def refuse_missing(missing: list[tuple[int, int]], source: Source) -> None:
    """Raise SampleError if values are NaN, with the names of the first sample and feature."""
    if missing:
        row, column = min(missing)
        raise SampleError(
            "sample {sample} has no value (NaN) for feature {feature}, so that it has no rank: fill the value in, or "
            "leave the sample or the feature out",
            row,
            sample=name_of(row, source.ids),
            feature=name_of(column, source.features),
        )


def gather(task: BandTask) -> Columns:
    """Read the features of a band."""
    starts = np.concatenate([[0], np.cumsum(task.counts)])
    fill = starts[:-1].copy()
    values, samples = np.empty(starts[-1]), np.empty(starts[-1], dtype=np.int32)
    for part, block in task.look.strips():
        rows = np.arange(part.start, part.stop)
        if task.look.source.sparse:
            group = np.zeros_like(rows)  # all samples are one
            scatter(block.data, block.indices, block.indptr, group, rows, task.start, fill[:, None], values, samples)
        else:
            scatter_dense(block, rows, task.start, fill, values, samples)
        del block
    return Columns(values, samples, starts)


def work_on_band(task: BandTask) -> Done:
    """Read the features of a band, and work on them."""
    return Done(task.start, task.stop, task.work(gather(task), task.start, task.about))
