"""How long a tile takes, measured on a few samples: what a plan multiplies."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

SAMPLES = 16
"""Samples on a side of the tile that is measured."""

PATIENCE = 0.1
"""Seconds that the measured tile may take; a slower kernel is measured on two by two samples."""

REPEATS = 3
"""Times each tile is computed; the fastest counts, for all else is what disturbed it."""


@dataclass(frozen=True)
class TileSeconds:
    """Seconds of a tile: so many for each of its samples, and so many for each pair of them."""

    per_sample: float
    per_pair: float

    def of_tile(self, a: int, b: int) -> float:
        """Seconds of a tile of a × b entries."""
        return self.per_sample * (a + b) + self.per_pair * a * b


def measure(kernel: Any, prepared: Any) -> TileSeconds:
    """Compute small tiles of some prepared samples and split their time between samples and pairs.

    Parameters
    ----------
    kernel
        A kernel with all parameters resolved.
    prepared
        One prepared sample or more; they are repeated to fill the tiles.

    Examples
    --------
    >>> from distkern import Kendall
    >>> seconds = measure(Kendall(), Kendall().prepare(np.random.default_rng(0).normal(size=(4, 50))))
    >>> 0 < seconds.of_tile(10, 10) < 0.1
    True
    """
    small = _fastest(kernel, prepared, 2, 1)  # compiles, too
    small = min(small, _fastest(kernel, prepared, 2, REPEATS - 1))
    if small * (SAMPLES / 2) ** 2 > PATIENCE:
        return TileSeconds(0.0, small / 4)
    large = _fastest(kernel, prepared, SAMPLES, REPEATS)
    per_pair = (large - small * SAMPLES / 2) / (SAMPLES**2 - 2 * SAMPLES)
    if per_pair <= 0:  # all of it is a matter of samples, or lost in the noise
        return TileSeconds(0.0, large / SAMPLES**2)
    return TileSeconds(max(0.0, (large - per_pair * SAMPLES**2) / (2 * SAMPLES)), per_pair)


def _fastest(kernel: Any, prepared: Any, side: int, repeats: int) -> float:
    chosen = np.resize(np.arange(len(prepared)), side)
    A, B = prepared.take(chosen), prepared.take(chosen[::-1])
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        kernel.tile(A, B)
        times.append(time.perf_counter() - began)
    return min(times)


@lru_cache(maxsize=64)
def drawn_samples_seconds(kernel: Any, n: int) -> TileSeconds:
    """Measure a kernel on samples of n normal values."""
    X = np.random.default_rng(0).normal(size=(SAMPLES, n))
    resolved = kernel.resolve(X)
    return measure(resolved, resolved.prepare(X))
