"""Time of a tile, measured on a few samples of the cohort; a plan multiplies it."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST = 256
"""Side of the largest tile that is measured, in samples."""

ENOUGH = 0.02
"""Seconds that a measured tile should take: its side is doubled until it does, and until time grows with the pairs."""

PATIENCE = 0.1
"""Most seconds that a measured tile may take, unless a tile of two by two samples takes more."""

QUADRATIC = 3.0
"""Growth of the time under a doubled side above which the pairs, not the samples, take most of it."""

ROOM = 2**26
"""Most bytes of a measured tile, unless less is allowed."""

COPIES = 4
"""Copies of its samples that a tile takes at most: of its rows and of its columns, as given and for the product."""

RESULT_BYTES = 1024
"""Bytes of results per sample that are left free for a measured tile."""

REPEATS = 3
"""Repetitions of each tile. The median counts, since the tiles of a run do not take the least time either."""


@dataclass(frozen=True)
class TileSeconds:
    """Seconds of a tile: a part for each of its samples and a part for each pair of them."""

    per_sample: float
    per_pair: float

    def of_tile(self, a: int, b: int) -> float:
        """Seconds of a tile of a × b entries."""
        return self.per_sample * (a + b) + self.per_pair * a * b


def measure(kernel: Any, prepared: Any, side_by_side: int = 1, room: int = ROOM) -> TileSeconds:
    """Compute small tiles of prepared samples, and split their time between samples and pairs.

    Parameters
    ----------
    kernel
        A kernel with all parameters resolved.
    prepared
        One or more prepared samples; they are repeated to fill the tiles.
    side_by_side
        Number of tiles computed at the same time: cores that share a cache or a clock slow each other down.
    room
        Bytes that each of these tiles may take.

    Examples
    --------
    >>> from distkern import Kendall
    >>> seconds = measure(Kendall(), Kendall().prepare(np.random.default_rng(0).normal(size=(4, 50))))
    >>> seconds.of_tile(20, 20) > seconds.of_tile(10, 10) > 0
    True
    """
    kernel.tile(*_tile(prepared, 2))  # compiles before the time is taken
    side, fitting = 2, min(LARGEST, min(room, ROOM) // (COPIES * prepared.nbytes // len(prepared) + RESULT_BYTES))
    with ThreadPoolExecutor(side_by_side) as pool:
        before, last, growth = 0.0, _seconds(pool, side_by_side, kernel, prepared, side), 4.0
        while (last < ENOUGH or growth < QUADRATIC) and growth * last <= PATIENCE and 2 * side <= fitting:
            side *= 2
            before, last = last, _seconds(pool, side_by_side, kernel, prepared, side)
            growth = max(1.0, last / before)
    per_pair = 2 * (last - 2 * before) / side**2
    if per_pair <= 0 or side == 2:  # the samples take all of it, or it is lost in noise
        return TileSeconds(0.0, last / side**2)
    return TileSeconds(max(0.0, (last - per_pair * side**2) / (2 * side)), per_pair)


def _seconds(pool: ThreadPoolExecutor, side_by_side: int, kernel: Any, prepared: Any, side: int) -> float:
    """Median of the seconds of some tiles."""

    def compute(number: int) -> float:
        A, B = _tile(prepared, side)
        began = time.perf_counter()
        kernel.tile(A, B)
        return time.perf_counter() - began

    return statistics.median(pool.map(compute, range(REPEATS * side_by_side)))


def _tile(prepared: Any, side: int) -> tuple[Any, Any]:
    chosen = np.resize(np.arange(len(prepared)), side)
    return prepared.take(chosen), prepared.take(chosen[::-1])
