"""How long a tile takes, measured on a few samples: what a plan multiplies."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

SAMPLES = 16
"""Samples that are drawn to measure a kernel."""

LARGEST = 256
"""Samples on a side of the largest tile that is measured."""

ENOUGH = 0.02
"""Seconds that a measured tile should take: its side is doubled until it does, and until time grows with the pairs."""

PATIENCE = 0.1
"""Seconds that a measured tile may take, unless two by two samples already take more."""

QUADRATIC = 3.0
"""Growth of the time when the side doubles from which on the pairs make most of it."""

ROOM = 2**26
"""Bytes that measuring may take."""

REPEATS = 3
"""Times each tile is computed; the median counts, as the tiles of a run are not the fastest ones either."""


@dataclass(frozen=True)
class TileSeconds:
    """Seconds of a tile: so many for each of its samples, and so many for each pair of them."""

    per_sample: float
    per_pair: float

    def of_tile(self, a: int, b: int) -> float:
        """Seconds of a tile of a × b entries."""
        return self.per_sample * (a + b) + self.per_pair * a * b


def measure(kernel: Any, prepared: Any, side_by_side: int = 1) -> TileSeconds:
    """Compute small tiles of some prepared samples and split their time between samples and pairs.

    Parameters
    ----------
    kernel
        A kernel with all parameters resolved.
    prepared
        One prepared sample or more; they are repeated to fill the tiles.
    side_by_side
        Tiles that are computed at the same time on this machine: cores that share a cache or a clock slow each other.

    Examples
    --------
    >>> from distkern import Kendall
    >>> seconds = measure(Kendall(), Kendall().prepare(np.random.default_rng(0).normal(size=(4, 50))))
    >>> 0 < seconds.of_tile(10, 10) < 0.1
    True
    """
    kernel.tile(*_tile(prepared, 2))  # compiles, which is no part of the time
    side, fitting = 2, min(LARGEST, ROOM // (2 * prepared.nbytes // len(prepared) + 64 * SAMPLES))
    with ThreadPoolExecutor(side_by_side) as pool:
        before, last, growth = 0.0, _seconds(pool, side_by_side, kernel, prepared, side), 4.0
        while (last < ENOUGH or growth < QUADRATIC) and growth * last <= PATIENCE and 2 * side <= fitting:
            side *= 2
            before, last = last, _seconds(pool, side_by_side, kernel, prepared, side)
            growth = max(1.0, last / before)
    per_pair = 2 * (last - 2 * before) / side**2
    if per_pair <= 0 or side == 2:  # all of it is a matter of samples, or lost in the noise
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


@lru_cache(maxsize=64)
def drawn_samples_seconds(kernel: Any, n: int) -> TileSeconds:
    """Measure a kernel on drawn samples of n values."""
    X = kernel.drawn(SAMPLES, n)
    resolved = kernel.resolve(X)
    return measure(resolved, resolved.prepare(X))
