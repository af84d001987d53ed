"""Edges of a network: pairs that stand the Benjamini–Hochberg procedure over all tests, in bounded memory.

With N tests and the p-values in ascending order, q_k = min over l ≥ k of p_l N / l (Benjamini and Hochberg 1995). As
p_l N / l ≥ p_l, no pair with p > α has q ≤ α, nor does it decide about one that has. So the tasks write the pairs with
p ≤ α to files (they *spill* them) and count the tests; the q of those that survive is exact.

q depends on p and on the number of smaller or equal p-values only. They are sorted a part at a time, from the largest
part to the smallest, so that memory does not depend on the number of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.pairs.kept import write_part
from distkern.store.grid import Grid

SORTED_BYTES = 2**28
"""Most bytes of p-values that are sorted at a time, with what sorting takes."""

READ_PAIRS = 2**21
"""Pairs that are read at a time."""

PER_SORTED = 48
"""Bytes of a p-value while it is sorted."""

RECORD_BYTES = 28
"""Bytes on disk of a pair with p ≤ α that may be an edge: p, tau, its place in the tile, and q."""

LOW_BITS = np.uint64(40)
"""Bits of a p-value that the histogram does not tell apart: a bin spans a 4,096th of its values."""


class Threshold(NamedTuple):
    """Which pairs are edges: q ≤ ``fdr`` and |tau| ≥ ``min_tau``."""

    fdr: float
    min_tau: float


@dataclass(frozen=True)
class Spilled:
    """What a tile wrote to its file.

    Parameters
    ----------
    i, j
        The tile.
    file
        The file.
    tests
        Number of pairs that have a p-value.
    undefined
        Number of pairs that have none, because a column is constant, or one of both in each stratum.
    pairs
        Number of pairs that may be edges.
    others
        Number of other pairs with p ≤ α, which count for q.
    """

    i: int
    j: int
    file: Path
    tests: int
    undefined: int
    pairs: int
    others: int

    @property
    def bytes(self) -> int:
        """Bytes on disk, with q."""
        return RECORD_BYTES * self.pairs + 8 * self.others


class Edges(NamedTuple):
    """Some edges, by ascending position of the first and then of the second column."""

    first: Indices
    second: Indices
    tau: Floats
    p: Floats
    q: Floats


def spill(file: Path, i: int, j: int, tau: Floats, p: Floats, threshold: Threshold, *, above_diagonal: bool) -> Spilled:
    """Write the pairs of a tile with p ≤ α to a file: p, place and tau of those with a large |tau|, p of the others."""
    tested = ~np.isnan(p)
    there = np.triu(np.ones(p.shape, dtype=bool), 1) if above_diagonal else np.ones(p.shape, dtype=bool)
    tested &= there
    with np.errstate(invalid="ignore"):
        likely = tested & (p <= threshold.fdr)
        able = likely & (np.abs(tau) >= threshold.min_tau)
    places = np.flatnonzero(able.ravel()).astype(np.uint32)
    tests = int(tested.sum())
    counts = tests, int(there.sum()) - tests, len(places), int(likely.sum()) - len(places)
    arrays: dict[str, Array] = {"p": p[able], "others": p[likely & ~able], "places": places, "tau": tau[able]}
    write_part(file, arrays | {"counts": np.array(counts)})
    return Spilled(i, j, file, *counts)


def adjusted(p: Floats, tests: int | None = None) -> Floats:
    """Adjust p-values that are all in memory: q as of ``scipy.stats.false_discovery_control``; NaN where p is NaN.

    Examples
    --------
    >>> adjusted(np.array([0.01, np.nan, 0.04, 0.03])).round(3)
    array([0.03,  nan, 0.04, 0.04])
    """
    q = np.full(p.shape, np.nan)
    known = ~np.isnan(p)
    values, inverse, times = np.unique(p[known], return_inverse=True, return_counts=True)
    q[known] = _q_of(values, times, 0, int(known.sum()) if tests is None else tests, 1.0)[inverse]
    return q


def adjust(spilled: Sequence[Spilled], fdr: float, sorted_bytes: int = SORTED_BYTES) -> int:
    """Write the q of all pairs that may be edges beside the files, infinite where it is above α; return how many are.

    Parameters
    ----------
    spilled
        The files.
    fdr
        α.
    sorted_bytes
        Bytes that sorting may take at a time.
    """
    tests = sum(one.tests for one in spilled)
    for one in spilled:
        np.save(_q_file(one), np.full(one.pairs, np.inf))
    rest = sum(one.pairs + one.others for one in spilled)
    least, edges = 1.0, 0
    for low, high in _ranges(spilled, max(1, sorted_bytes // PER_SORTED)):
        part = np.concatenate([p[_between(p, low, high)] for one in spilled for p in _p_of(one)] or [np.empty(0)])
        values, times = np.unique(part, return_counts=True)
        if not len(values):
            continue
        rest -= len(part)
        q = _q_of(values, times, rest, tests, least)
        least = float(q[0])
        for one in spilled:
            edges += _fill_q(one, low, high, values, q, fdr)
    return edges


def read_edges(grid: Grid, spilled: Iterable[Spilled], most: int = READ_PAIRS) -> Iterator[Edges]:
    """Read the edges whose q was written, those of some rows at a time: of about ``most`` pairs that may be edges."""
    rows: dict[int, list[Spilled]] = {}
    for one in spilled:
        rows.setdefault(one.i, []).append(one)
    for i in sorted(rows):
        top, bottom = grid.row_range(i)
        height = max(1, (bottom - top) * most // max(1, sum(one.pairs for one in rows[i])))
        for start in range(top, bottom, height):
            parts = [_read(grid, one, start, min(start + height, bottom)) for one in rows[i]]
            whole = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
            first, second = whole[:2]
            if len(first):
                order = np.lexsort((second, first))
                yield Edges(*(array[order] for array in whole))


def _read(grid: Grid, one: Spilled, start: int, stop: int) -> Edges:
    """Read the edges of a tile in the rows from ``start`` to ``stop`` − 1; its pairs are sorted by their places."""
    (top, _), (left, right) = grid.row_range(one.i), grid.col_range(one.j)
    with np.load(one.file) as found:
        p, places, tau = found["p"], found["places"], found["tau"]
    width = right - left
    inside = slice(*np.searchsorted(places, ((start - top) * width, (stop - top) * width)))
    q = np.load(_q_file(one), mmap_mode="r")[inside]
    kept = np.isfinite(q)
    row, col = np.divmod(places[inside][kept].astype(np.intp), width)
    return Edges(row + top, col + left, tau[inside][kept], p[inside][kept], q[kept])


# Benjamini–Hochberg ---------------------------------------------------------------------------------------------------


def _q_of(values: Floats, times: Array, before: int, tests: int, least: float) -> Floats:
    """Adjust distinct p-values in ascending order, of which each occurs some times.

    Parameters
    ----------
    before
        Number of smaller p-values.
    least
        Smallest q of the larger p-values.
    """
    ranks = before + np.cumsum(times)
    q = values * (tests / ranks)
    return np.minimum(np.minimum.accumulate(q[::-1])[::-1], least)


def _ranges(spilled: Sequence[Spilled], most: int) -> Iterator[tuple[int, int]]:
    """Ranges of the high bits of p-values, from the largest values down, with at most ``most`` values or one bin."""
    if sum(one.pairs + one.others for one in spilled) <= most:
        yield 0, 2**24
        return
    counts = np.zeros(int(_high_bits(np.ones(1))[0]) + 1, dtype=np.int64)
    for one in spilled:
        for p in _p_of(one):
            bins, times = np.unique(_high_bits(p), return_counts=True)
            counts[bins] += times
    filled = np.flatnonzero(counts)[::-1]
    high, inside = int(filled[0]) + 1, 0
    for bin_ in filled.tolist():
        if inside and inside + counts[bin_] > most:
            yield bin_ + 1, high
            high, inside = bin_ + 1, 0
        inside += int(counts[bin_])
    yield 0, high


def _high_bits(p: Floats) -> Array:
    """The bits of p-values, which have their order, without the low ones."""
    return np.ascontiguousarray(p).view(np.uint64) >> LOW_BITS


def _between(p: Floats, low: int, high: int) -> Array:
    bits = _high_bits(p)
    return (bits >= low) & (bits < high)


def _p_of(one: Spilled) -> Iterator[Floats]:
    """The p-values of a file: those of pairs that may be edges, and the others."""
    with np.load(one.file) as found:
        yield found["p"]
        yield found["others"]


def _q_file(one: Spilled) -> Path:
    return one.file.with_name(f"{one.file.stem}-q.npy")


def _fill_q(one: Spilled, low: int, high: int, values: Floats, q: Floats, fdr: float) -> int:
    """Write the q of the pairs of a file in a range of p-values; return how many are edges."""
    p = next(_p_of(one))
    here = np.flatnonzero(_between(p, low, high))
    found = q[np.searchsorted(values, p[here])]
    here, found = here[found <= fdr], found[found <= fdr]
    if len(here):
        written = np.load(_q_file(one), mmap_mode="r+")
        written[here] = found
        written.flush()
    return len(here)


def checked_threshold(fdr: Any, min_tau: Any) -> Threshold:
    """Refuse thresholds that are no numbers in their range.

    Raises
    ------
    InputError
        If fdr is not above 0 and at most 1, or min_tau not between 0 and 1.
    """
    least = 0.0 if min_tau is None else min_tau
    for name, value, fits in (("fdr", fdr, "above 0 and at most 1"), ("min_tau", least, "from 0 to 1")):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise InputError(f"{name} must be a number {fits}, not {value!r}")
    if not 0 < fdr <= 1:
        raise InputError(f"fdr must be a number above 0 and at most 1, not {fdr!r}: 1 keeps every pair")
    if not 0 <= least <= 1:
        raise InputError(f"min_tau must be a number from 0 to 1, not {least!r}")
    return Threshold(float(fdr), float(least))
