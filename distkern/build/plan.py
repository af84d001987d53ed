"""Plan a computation: choose the tiles, add up time, memory and disk, and refuse what cannot fit, before any work."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from distkern.build.look import bytes_of_look
from distkern.build.validate import Job, bytes_as_read
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import Argument, Sentence
from distkern.core.units import readable_bytes
from distkern.engine.executors import usable_cores
from distkern.engine.memory import largest
from distkern.kernels.base import Kernel
from distkern.kernels.planning import bytes_per_tile, stored_dtype
from distkern.kernels.timing import TileSeconds, measure
from distkern.store.grid import Grid
from distkern.store.location import absolute_path, location_of
from distkern.store.manifest import GramPlan, Manifest

TASK_SECONDS = 4.0
"""Work in a tile, where the matrix is large enough: the scheduler's own time per task is a thousandth of it."""

TASK_OVERHEAD = 0.006
"""Seconds that reading, writing and scheduling add to a tile."""

OVERHEAD_SHARE = 0.02
"""Maximum of the overhead as a fraction of the work of a tile, if there are enough samples."""

TILES_PER_WORKER = 16
"""Minimum number of tiles per worker, so that no worker waits long for the last tiles of the others."""

LARGEST_SIDE = 4096
"""A tile of this side takes 128 MiB as float64."""


def make_plan(
    job: Job, *, dtype: str, tile: Any, workers: int, memory_per_task: int, memory_here: int | None = None
) -> GramPlan:
    """Choose the size of a tile, or check the given size, and add up the time, memory and disk of the computation.

    Parameters
    ----------
    job
        The kernel and the samples.
    dtype, tile
        Type of the stored values, and rows of a tile; None to choose them.
    workers, memory_per_task
        Tasks that run side by side, and bytes that each may take.
    memory_here
        Bytes that this process may take, where it prepares the samples; None where the tasks do.

    Raises
    ------
    MemoryLimitError
        If even the smallest tile, or the given one, does not fit.
    """
    stored, shape, symmetric = job.kernel.stored(), job.shape, len(job.axes) == 1
    dtype = stored_dtype(stored, job.n_features, dtype)
    item, prepared = np.dtype(dtype).itemsize, job.sample.nbytes // len(job.sample)
    timing = measure(stored, job.sample, min(workers, usable_cores()), memory_per_task)

    def task_bytes(side: int) -> int:
        return bytes_of_task(stored, Grid(*shape, side, symmetric), job.n_features, prepared, job.bytes_read, item)

    limits = [Limit("a task", task_bytes, memory_per_task)]
    if memory_here is not None:
        preparing = partial(bytes_of_preparing, prepared=prepared, read=job.bytes_read)
        limits.append(Limit("preparing samples that lie in the memory of this process", preparing, memory_here))
    side = _fitting_side(_whole(tile, max(shape)), choose_side(timing, shape, symmetric, workers), limits)
    grid = Grid(*shape, side=side, symmetric=symmetric)
    computed = sum(len(one.digests) for one in job.axes.values())
    largest_cohort = max(one.source.shape for one in job.axes.values())
    return GramPlan(
        kernel=job.kernel.spec(),
        stored=stored.spec(),
        fingerprint=job.fingerprint,
        shape=shape,
        samples=job.samples,
        symmetric=symmetric,
        n_features=job.n_features,
        tile=grid.side,
        dtype=dtype,
        sparse=job.sparse,
        bytes_stored=bytes_in_store(grid, computed, prepared, item),
        bytes_per_task=max(task_bytes(grid.side), bytes_of_look(*largest_cohort, memory_per_task)),
        bytes_to_choose=job.bytes_to_choose,
        workers=workers,
        seconds=(1 + job.extra_work) * (_seconds(grid, timing) + job.prepare_seconds * computed),
        dropped=job.dropped.tolist(),
        source=" against ".join(one.description for one in job.axes.values()),
        landmarks=job.landmarks,
    )


def bytes_in_store(grid: Grid, samples: int, prepared: int, item: int) -> int:
    """Bytes of all tiles, checksums and prepared samples."""
    return grid.count * (grid.side * min(grid.side, grid.cols) * item + 8) + samples * (prepared + 24)


def bytes_of_task(stored: Kernel, grid: Grid, n: int, prepared: int, read: int, item: int) -> int:
    """Most bytes that preparing a block, or computing and writing a tile, takes.

    Parameters
    ----------
    stored, n
        Kernel whose values are stored, and number of features.
    grid
        The tiles. They are written whole, however few samples there are.
    prepared, read, item
        Bytes of a prepared sample, of a sample as it is read, and of a stored value.
    """
    a, b = min(grid.side, grid.rows), min(grid.side, grid.cols)
    written = grid.side * (grid.side if grid.symmetric else b)
    computing = (a + b + max(a, b)) * prepared + bytes_per_tile(stored, a, b, n) + item * (a * b + 2 * written)
    return max(computing, bytes_of_preparing(max(a, b), prepared, read))


def bytes_of_preparing(samples: int, prepared: int, read: int) -> int:
    """Most bytes that preparing some samples takes: as they are read, and as they are written.

    Parameters
    ----------
    prepared, read
        Bytes of a prepared sample, and of a sample as it is read.
    """
    return samples * (2 * prepared + read)


def bytes_read_of(manifest: Manifest) -> int:
    """Most bytes that a sample of a store takes as it is read."""
    shapes = {name: array.shape for name, array in manifest.prepared.items()}
    return bytes_as_read(manifest.n_features, shapes, manifest.sparse)


@dataclass(frozen=True)
class Limit:
    """Memory that some work takes, by the size of a tile, and memory that it may take."""

    work: str
    bytes_of: Callable[[int], int]
    allowed: int

    def fits(self, side: int) -> bool:
        """Whether tiles of a size take no more than allowed."""
        return self.bytes_of(side) <= self.allowed


def _fitting_side(given: int | None, chosen: int, limits: Sequence[Limit]) -> int:
    """The given size of a tile, if it fits; else the chosen one, or the largest below it that fits."""

    def fits(side: int) -> bool:
        return all(limit.fits(side) for limit in limits)

    smallest = given or 1
    if fits(smallest):
        return given or largest(fits, chosen)
    limit, fitting = next(limit for limit in limits if not limit.fits(smallest)), largest(fits, smallest)
    remedy = Sentence("raise {memory_limit}, or use fewer threads", memory_limit=Argument("memory_limit"))
    if fitting:
        remedy = Sentence("the largest tile that fits is {tile}", tile=fitting)
    raise MemoryLimitError(
        "{work} on tiles of side {tile} takes {needed} and may take {allowed}: {remedy}",
        work=limit.work,
        tile=smallest,
        needed=readable_bytes(limit.bytes_of(smallest)),
        allowed=readable_bytes(limit.allowed),
        remedy=remedy,
    )


def _whole(tile: Any, samples: int) -> int | None:
    """The given size of a tile: at most all samples where it is beyond `LARGEST_SIDE`, since tiles are written whole.

    A smaller one stays, however few samples there are: more may be appended.
    """
    if tile is None:
        return None
    try:
        side = 0 if isinstance(tile, bool) else operator.index(tile)
    except TypeError:
        side = 0
    if side < 1:
        raise InputError(f"tile must be a whole number of 1 or more, not {tile!r}")
    return side if side <= LARGEST_SIDE else min(side, samples)


def _seconds(grid: Grid, timing: TileSeconds) -> float:
    """Seconds of all tiles; of a tile on the diagonal only one half is computed."""
    pairs = grid.rows * (grid.rows + 1) // 2 if grid.symmetric else grid.entries
    samples = min(grid.side, grid.rows) + min(grid.side, grid.cols)
    return TASK_OVERHEAD * grid.count + timing.per_sample * samples * grid.count + timing.per_pair * pairs


def choose_side(timing: TileSeconds, shape: tuple[int, int], symmetric: bool, workers: int) -> int:
    """Choose the size of a tile: a few seconds of work each, but enough tiles to share among the workers."""

    def lasting(seconds: float) -> int:
        return largest(lambda side: timing.of_tile(*(min(side, count) for count in shape)) <= seconds, LARGEST_SIDE)

    def shared(tiles: int) -> int:
        return largest(lambda side: Grid(*shape, side, symmetric).count >= tiles, min(max(shape), LARGEST_SIDE))

    timely = lasting(max(TASK_SECONDS, 2 * workers * TASK_OVERHEAD))  # so that the client has half of its time left
    smallest = min(lasting(TASK_OVERHEAD / OVERHEAD_SHARE) + 1, shared(workers))  # each worker gets a tile
    return max(1, min(timely, max(shared(TILES_PER_WORKER * workers), smallest)))


def refuse_full_disk(needed: int, path: str) -> None:
    """Raise MemoryLimitError where the disk has less room than ``needed`` bytes; object storage does not tell."""
    free = location_of(absolute_path(path)).free_bytes()
    if free is not None and needed > free:
        raise MemoryLimitError(
            "the store takes {needed} and the disk of {store!r} has {free}: give a path on a larger disk, or {dtype} "
            "for half the bytes",
            needed=readable_bytes(needed),
            store=path,
            free=readable_bytes(free),
            dtype=Argument("dtype", "float32"),
        )
