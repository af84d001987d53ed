"""What a computation will take, decided and refused before any work starts."""

from __future__ import annotations

import math
import operator
import os
import shutil
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.typing import KernelLike, Spec
from distkern.gram.grid import Grid
from distkern.kernels.timing import TileSeconds

TASK_SECONDS = 4.0
"""Work in a tile, where the matrix is large enough: the scheduler's own time per task is a thousandth of it."""

TASK_OVERHEAD = 0.006
"""Seconds that reading, writing, marking and scheduling add to a tile."""

TILES_PER_WORKER = 4
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
    seconds
        Time of the whole work on one core like those of this machine, measured on some samples of the cohort.
    dropped
        Positions of the features that were left out because some sample has no value.
    source
        What the samples came in, for people.
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
    seconds: float
    dropped: list[int]
    source: str

    def to_dict(self) -> Spec:
        """All fields as JSON-ready values."""
        return asdict(self) | {"shape": list(self.shape), "samples": list(self.samples)}

    def identity(self) -> Spec:
        """What makes two computations the same one, whatever their tiles."""
        return {
            "stored": self.stored,
            "dropped": self.dropped,
            "fingerprint": self.fingerprint,
            "shape": list(self.shape),
            "symmetric": self.symmetric,
            "dtype": self.dtype,
        }

    def __str__(self) -> str:
        rows, cols = self.shape
        half = ", upper triangle" if self.symmetric else ""
        left_out = f" ({len(self.dropped):,} left out)" if self.dropped else ""
        return (
            f"{rows:,} × {cols:,} Gram matrix of {self.n_features:,} features{left_out}: {self.tiles:,} tiles of side "
            f"{self.tile}"
            f"{half}, {readable_bytes(self.bytes_stored)} on disk, {readable_bytes(self.bytes_per_task)} of memory a "
            f"task, about {readable_seconds(self.seconds)} on one core"
        )


def make_plan(
    kernel: KernelLike,
    stored: KernelLike,
    prepared_bytes: int,
    timing: TileSeconds,
    prepare_seconds: float,
    *,
    fingerprint: dict[str, str],
    shape: tuple[int, int],
    samples: tuple[int, int],
    symmetric: bool,
    n_features: int,
    dtype: str,
    sparse: bool,
    tile: int | None,
    workers: int,
    memory_per_task: int,
    dropped: list[int],
    source: str,
) -> GramPlan:
    """Choose the tile side, or check the one that the user gave, and add up what the computation takes.

    Parameters
    ----------
    kernel, stored
        The kernel, and the one whose values are stored for it.
    prepared_bytes, timing, prepare_seconds
        Bytes of one prepared sample, and how long tiles and preparing a sample take, measured.
    workers, memory_per_task
        Tasks that run side by side, and bytes that each may take.

    Raises
    ------
    MemoryLimitError
        If even the smallest tile, or the given one, does not fit.
    """
    tile = _whole(tile)

    def task_bytes(side: int) -> int:
        a, b = min(side, shape[0]), min(side, shape[1])
        item = np.dtype(dtype).itemsize
        computing = (
            (a + b) * prepared_bytes
            + max(a, b) * prepared_bytes
            + stored.bytes_per_tile(a, b, n_features)
            + 3 * item * a * b
        )
        preparing = max(a, b) * (2 * prepared_bytes + 24 * n_features)
        return max(computing, preparing)

    if task_bytes(tile or 1) > memory_per_task:
        fitting = largest(lambda side: task_bytes(side) <= memory_per_task, max(shape))
        remedy = (
            f"the largest tile that fits is {fitting}"
            if fitting
            else "give the tasks more memory, by memory_limit= or fewer threads"
        )
        raise MemoryLimitError(
            f"a task on tiles of side {tile or 1} takes {readable_bytes(task_bytes(tile or 1))} and may take "
            f"{readable_bytes(memory_per_task)}: {remedy}"
        )
    if tile is None:
        tile = _choose_side(timing, shape, symmetric, workers)
        tile = min(tile, largest(lambda side: task_bytes(side) <= memory_per_task, tile))
    grid = Grid(*shape, side=min(tile, max(shape)), symmetric=symmetric)
    computed = shape[0] if symmetric else sum(shape)
    return GramPlan(
        kernel=kernel.spec(),
        stored=stored.spec(),
        fingerprint=fingerprint,
        shape=shape,
        samples=samples,
        symmetric=symmetric,
        n_features=n_features,
        tile=grid.side,
        tiles=grid.count,
        dtype=dtype,
        sparse=sparse,
        bytes_stored=grid.count * grid.side**2 * np.dtype(dtype).itemsize
        + computed * (prepared_bytes + 24)
        + 8 * grid.count,
        bytes_per_task=task_bytes(grid.side),
        seconds=_seconds(grid, timing) + prepare_seconds * computed,
        dropped=dropped,
        source=source,
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
    return TASK_OVERHEAD * grid.count + timing.per_sample * 2 * grid.side * grid.count + timing.per_pair * pairs


def _choose_side(timing: TileSeconds, shape: tuple[int, int], symmetric: bool, workers: int) -> int:
    """Tiles of a few seconds each, but enough of them to share among the workers."""
    timely = largest(lambda side: timing.of_tile(side, side) <= TASK_SECONDS, LARGEST_SIDE)
    wanted = TILES_PER_WORKER * workers
    blocks = math.sqrt(2 * wanted) if symmetric else math.sqrt(wanted)
    shared = math.ceil(max(shape) / blocks)
    return max(1, min(timely, shared, LARGEST_SIDE))


def largest(fits: Any, limit: int) -> int:
    """Largest whole number up to ``limit`` that fits, 0 if none does; whatever is smaller than one that fits, fits too.

    Examples
    --------
    >>> largest(lambda side: side * side <= 50, 100)
    7
    """
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def refuse_full_disk(plan: GramPlan, path: str) -> None:
    """Raise MemoryLimitError where the disk has less room than the plan will fill."""
    place = os.path.abspath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    free = shutil.disk_usage(place).free
    if plan.bytes_stored > free:
        raise MemoryLimitError(
            f"the store takes {readable_bytes(plan.bytes_stored)} and the disk of {path!r} has {readable_bytes(free)}: "
            'give a path on a larger disk, or dtype="float32" for half the bytes'
        )


def readable_bytes(count: float) -> str:
    """Write a number of bytes for people.

    Examples
    --------
    >>> readable_bytes(512), readable_bytes(3 * 2**20)
    ('512 B', '3.0 MiB')
    """
    if count < 1024:
        return f"{int(count)} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} PiB"


def readable_seconds(seconds: float) -> str:
    """Write a duration for people.

    Examples
    --------
    >>> readable_seconds(0.25), readable_seconds(90), readable_seconds(7200)
    ('0.2 s', '1.5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"
