"""What a computation will take, decided and refused before any work starts."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from distkern.build.validate import Job
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Spec
from distkern.core.units import readable_bytes, readable_seconds
from distkern.engine.executors import usable_cores
from distkern.engine.memory import RESTING, largest
from distkern.kernels.base import Kernel
from distkern.kernels.planning import bytes_per_tile, stored_dtype
from distkern.kernels.timing import TileSeconds, measure
from distkern.store.addresses import place
from distkern.store.grid import Grid
from distkern.store.location import at

TASK_SECONDS = 4.0
"""Work in a tile, where the matrix is large enough: the scheduler's own time per task is a thousandth of it."""

TASK_OVERHEAD = 0.006
"""Seconds that reading, writing, marking and scheduling add to a tile."""

OVERHEAD_SHARE = 0.02
"""Most of a tile's work that this may be, where there are samples enough."""

TILES_PER_WORKER = 16
"""Tiles for each worker at least, so that none waits long for the last ones of the others."""

LARGEST_SIDE = 4096
"""A tile of this side takes 128 MiB as float64."""


@dataclass(frozen=True)
class GramPlan:
    """A Gram matrix to compute: what of, in which tiles, and what it will take.

    Parameters
    ----------
    kernel, stored
        JSON specs of the kernel, with every parameter that depends on the data resolved to a number, and of the one
        whose values are stored for it.
    fingerprint
        One digest of all values for each side: ``rows``, and ``cols`` where they differ.
    shape, samples, symmetric, n_features
        Size of the matrix that is computed, number of samples on each side (more, where many are equal), whether rows
        and columns are the same samples, and features of a sample.
    tile, tiles
        Samples on a side of a tile, and number of tiles.
    dtype, sparse
        Type of the stored values, and whether samples are prepared without their zeros.
    bytes_stored
        Tiles, prepared samples and marks on disk.
    bytes_per_task
        Most memory that one task takes.
    workers
        Tasks that run side by side.
    seconds
        Work in seconds of one core like those of this machine, measured on some samples of the cohort with as many
        tiles side by side as there will be.
    dropped
        Positions of the features that were left out because some sample has no value.
    source
        What the samples came in, for people.
    landmarks
        Where the columns are landmark samples: how many, and how they are chosen.
    """

    kernel: Spec
    stored: Spec
    fingerprint: dict[str, str]
    shape: tuple[int, int]
    samples: tuple[int, int]
    symmetric: bool
    n_features: int
    tile: int
    tiles: int
    dtype: str
    sparse: bool
    bytes_stored: int
    bytes_per_task: int
    workers: int
    seconds: float
    dropped: list[int]
    source: str
    landmarks: Spec | None = None

    def to_dict(self) -> Spec:
        """All fields as JSON-ready values."""
        derived = {
            "bytes_per_worker": self.bytes_per_worker,
            "elapsed": self.elapsed,
            "worker_hours": self.worker_hours,
        }
        return asdict(self) | {"shape": list(self.shape), "samples": list(self.samples)} | derived

    def identity(self) -> Spec:
        """What makes two computations the same one, whatever their tiles."""
        return {
            "stored": self.stored,
            "dropped": self.dropped,
            "fingerprint": self.fingerprint,
            "shape": list(self.shape),
            "symmetric": self.symmetric,
            "dtype": self.dtype,
            "landmarks": self.landmarks,
        }

    @property
    def bytes_per_worker(self) -> int:
        """Memory of a worker process of one thread, what it takes at rest included."""
        return RESTING + self.bytes_per_task

    @property
    def elapsed(self) -> float:
        """Seconds from start to end: the work shared among the workers, in whole tiles."""
        rounds = math.ceil(self.tiles / self.workers)
        return self.seconds * rounds / self.tiles

    @property
    def worker_hours(self) -> float:
        """Hours for which workers are held, those that wait for the last tiles of the others included."""
        return self.elapsed * self.workers / 3600

    def __str__(self) -> str:
        rows, cols = self.shape
        half = ", upper triangle" if self.symmetric else ""
        left_out = f" ({len(self.dropped):,} left out)" if self.dropped else ""
        where = "" if self.landmarks is None else f" at landmarks ({landmark_words(self.landmarks)})"
        what = f"{rows:,} × {cols:,} Gram matrix{where} of {self.n_features:,} features{left_out}"
        disk, memory = readable_bytes(self.bytes_stored), readable_bytes(self.bytes_per_task)
        return (
            f"{what}: {self.tiles:,} tiles of side {self.tile}{half}, {disk} on disk, {memory} of memory a task, "
            f"about {readable_seconds(self.elapsed)} on {self.workers:,} worker{'s' if self.workers > 1 else ''}"
        )


def make_plan(
    job: Job, *, dtype: str, tile: Any, workers: int, memory_per_task: int, memory_here: int | None = None
) -> GramPlan:
    """Choose the tile side, or check the one that the user gave, and add up what the computation takes.

    Parameters
    ----------
    job
        What was found of the kernel and the samples.
    dtype, tile
        Type of the stored values, and side of a tile; None to choose it.
    workers, memory_per_task
        Tasks that run side by side, and bytes that each may take.
    memory_here
        Bytes that this process may take, where it prepares the samples; None where the tasks do.

    Raises
    ------
    MemoryLimitError
        If even the smallest tile, or the given one, does not fit.
    """
    stored, shape, symmetric = job.kernel.stored(), job.shape, len(job.sides) == 1
    dtype = stored_dtype(stored, job.n_features, dtype)
    item, prepared = np.dtype(dtype).itemsize, job.sample.nbytes // len(job.sample)
    timing = measure(stored, job.sample, min(workers, usable_cores()))

    def task_bytes(side: int) -> int:
        return bytes_of_task(stored, min(side, shape[0]), min(side, shape[1]), job.n_features, prepared, item)

    limits = [Limit("a task", task_bytes, memory_per_task)]
    if memory_here is not None:
        preparing = partial(bytes_of_preparing, n=job.n_features, prepared=prepared)
        limits.append(Limit("preparing samples that lie in the memory of this process", preparing, memory_here))
    side = _fitting_side(_whole(tile), choose_side(timing, shape, symmetric, workers), limits)
    grid = Grid(*shape, side=side, symmetric=symmetric)
    computed = sum(len(one.digests) for one in job.sides.values())
    return GramPlan(
        kernel=job.kernel.spec(),
        stored=stored.spec(),
        fingerprint={name: one.fingerprint for name, one in job.sides.items()},
        shape=shape,
        samples=job.samples,
        symmetric=symmetric,
        n_features=job.n_features,
        tile=grid.side,
        tiles=grid.count,
        dtype=dtype,
        sparse=job.sparse,
        bytes_stored=bytes_in_store(grid, computed, prepared, item),
        bytes_per_task=task_bytes(grid.side),
        workers=workers,
        seconds=_seconds(grid, timing) + job.prepare_seconds * computed,
        dropped=job.dropped.tolist(),
        source=" against ".join(one.described for one in job.sides.values()),
    )


def bytes_in_store(grid: Grid, samples: int, prepared: int, item: int) -> int:
    """Bytes of all tiles, marks and prepared samples."""
    return grid.count * (grid.side * min(grid.side, grid.cols) * item + 8) + samples * (prepared + 24)


def bytes_of_task(stored: Kernel, a: int, b: int, n: int, prepared: int, item: int) -> int:
    """Most bytes that preparing a block, or computing a tile of a × b entries, takes.

    Parameters
    ----------
    stored, n
        Kernel whose values are stored, and number of features.
    prepared, item
        Bytes of a prepared sample and of a stored value.
    """
    computing = (a + b + max(a, b)) * prepared + bytes_per_tile(stored, a, b, n) + 3 * item * a * b
    return max(computing, bytes_of_preparing(max(a, b), n, prepared))


def bytes_of_preparing(samples: int, n: int, prepared: int) -> int:
    """Most bytes that preparing some samples takes: as they are read, and as they are written.

    Parameters
    ----------
    n, prepared
        Number of features, and bytes of a prepared sample.
    """
    return samples * (2 * prepared + 24 * n)


@dataclass(frozen=True)
class Limit:
    """Work that takes so much memory on tiles of a side, and may take so much."""

    work: str
    bytes_of: Callable[[int], int]
    allowed: int

    def fits(self, side: int) -> bool:
        """Whether tiles of a side take no more."""
        return self.bytes_of(side) <= self.allowed


def _fitting_side(given: int | None, chosen: int, limits: Sequence[Limit]) -> int:
    """The side that was given, if it fits; else the chosen one, or the largest below it that fits."""

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


def _whole(tile: Any) -> int | None:
    if tile is None:
        return None
    try:
        side = operator.index(tile)
    except TypeError:
        side = 0
    if side < 1:
        raise InputError(f"tile must be a whole number of 1 or more, not {tile!r}")
    return side


def _seconds(grid: Grid, timing: TileSeconds) -> float:
    """Seconds of all tiles; of a tile on the diagonal only one half is computed."""
    pairs = grid.rows * (grid.rows + 1) // 2 if grid.symmetric else grid.entries
    samples = min(grid.side, grid.rows) + min(grid.side, grid.cols)
    return TASK_OVERHEAD * grid.count + timing.per_sample * samples * grid.count + timing.per_pair * pairs


def choose_side(timing: TileSeconds, shape: tuple[int, int], symmetric: bool, workers: int) -> int:
    """Choose the side of tiles: of a few seconds each, but enough of them to share among the workers."""

    def lasting(seconds: float) -> int:
        return largest(lambda side: timing.of_tile(*(min(side, count) for count in shape)) <= seconds, LARGEST_SIDE)

    def shared(tiles: int) -> int:
        return largest(lambda side: Grid(*shape, side, symmetric).count >= tiles, min(max(shape), LARGEST_SIDE))

    timely = lasting(max(TASK_SECONDS, 2 * workers * TASK_OVERHEAD))  # half the time of the client, who serves all
    smallest = min(lasting(TASK_OVERHEAD / OVERHEAD_SHARE) + 1, shared(workers))  # no worker is left without a tile
    return max(1, min(timely, max(shared(TILES_PER_WORKER * workers), smallest)))


def refuse_full_disk(needed: int, path: str) -> None:
    """Raise MemoryLimitError where the disk has less room than ``needed`` bytes; of object storage nobody knows."""
    free = at(place(path)).free_bytes()
    if free is not None and needed > free:
        raise MemoryLimitError(
            "the store takes {needed} and the disk of {store!r} has {free}: give a path on a larger disk, or {dtype} "
            "for half the bytes",
            needed=readable_bytes(needed),
            store=path,
            free=readable_bytes(free),
            dtype=Argument("dtype", "float32"),
        )


def landmark_words(landmarks: Spec) -> str:
    """Say which landmarks a plan has.

    Examples
    --------
    >>> landmark_words({"choice": "kmeans++", "count": 500, "seed": 1})
    '500 by kmeans++, seed 1'
    """
    seed = f", seed {landmarks['seed']}" if "seed" in landmarks else ""
    return f"{landmarks['count']:,} {'' if landmarks['choice'] == 'given' else 'by '}{landmarks['choice']}{seed}"
