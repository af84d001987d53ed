"""The best pairs of all: reductions that keep the best k, or the best partner of each feature."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distkern.compiled.pair_signs import candidates, merge_partners, partners
from distkern.core.errors import MemoryLimitError
from distkern.core.typing import Array, Indices
from distkern.core.units import readable_bytes
from distkern.engine.memory import share_of
from distkern.pairs.tiles import SIDE, Group, PairWork, Part, Reduction, Tile

SMALL = 2**23
"""Bytes of pairs that are held without asking for the memory that is available."""

STALE_ROWS = 64
"""Features whose best partner is found again at a time."""


SLACK = 1024
"""Candidates beyond 2 k at which the candidates are cut down to the best k."""


def in_order(found: Array) -> Indices:
    """Positions that put pairs, (4, q) of key, secondary score and two features, into the total order."""
    low, high = np.minimum(found[2], found[3]), np.maximum(found[2], found[3])
    return np.lexsort((high, low, -found[1], -found[0]))


def best_of(found: Array, k: int | None) -> Array:
    """Return the best k pairs in the total order; all if k is None.

    Examples
    --------
    >>> best_of(np.array([[5, 7, 5], [1, 0, 2], [0, 3, 4], [1, 2, 5]]), 2).tolist()
    [[7, 5], [0, 2], [3, 4], [2, 5]]
    """
    if k is not None and found.shape[1] > k:
        last = np.partition(found[0], -k)[-k]
        found = found[:, found[0] >= last]
    return found[:, in_order(found)[:k]]


class BestPairs(Reduction):
    """The best k pairs of each contrast, or all pairs of a least score.

    Parameters
    ----------
    k
        Number of pairs; None for all.
    least
        Least key of each contrast.
    """

    def __init__(self, k: int | None, least: Sequence[int]) -> None:
        self.k, self.least = k, tuple(least)
        self.found = [np.empty((4, 0), dtype=np.int64) for _ in self.least]

    def start(self, work: PairWork, group: Group) -> _Candidates:
        """Return an accumulator for the pairs of a group; pairs that others have already beaten are left out."""
        bounds = [(key, 0) for key in self.least]
        for number, found in enumerate(self.found):
            if found.shape[1] == self.k:
                bounds[number] = int(found[0, -1]), int(found[1, -1])
        return _Candidates(self.k, bounds)

    def merge(self, group: Group, part: Part) -> None:
        """Add the best pairs of a group."""
        for number in range(len(self.least)):
            self.found[number] = best_of(np.concatenate([self.found[number], part[f"pairs{number}"]], axis=1), self.k)
        _refuse_many(sum(found.nbytes for found in self.found))

    def bytes(self, group: Group) -> int:
        """Bytes of the candidates of all contrasts, and of a tile; not of pairs without a given number."""
        return 96 * (len(self.least) * ((self.k or 0) + SLACK) + SIDE * SIDE)

    def describe(self) -> str:
        """Describe the parameters."""
        return f"best {self.k} {self.least}"

    def __getstate__(self) -> dict[str, Any]:
        return {"k": self.k, "least": self.least, "found": []}


def _refuse_many(size: int) -> None:
    if size > SMALL and 4 * size > (may := share_of(None, 1)):  # it takes a millisecond to ask for the memory
        raise MemoryLimitError(
            f"the pairs found so far take {readable_bytes(size)}, and with copies more than {readable_bytes(may)}: ask "
            "for fewer pairs, or for a larger least score"
        )


class _Candidates:
    """The best pairs of some tiles: candidates above a bound that rises whenever they are cut down to k."""

    def __init__(self, k: int | None, bounds: Sequence[tuple[int, int]]) -> None:
        self._k = k
        self._bounds = [np.array(bound, dtype=np.int64) for bound in bounds]
        self._found = [[np.empty((4, 0), dtype=np.int64)] for _ in bounds]
        self._scratch = np.empty((4, SIDE * SIDE), dtype=np.int64)

    def add(self, tile: Tile) -> None:
        used = candidates(
            tile.keys,
            tile.row_sums,
            tile.col_sums,
            tile.shift,
            tile.row_features,
            tile.col_features,
            self._bounds[tile.contrast],
            self._scratch,
        )
        if used:
            found = self._found[tile.contrast]
            found.append(self._scratch[:, :used].copy())
            if self._k is None:
                _refuse_many(sum(part.nbytes for parts in self._found for part in parts))
            elif sum(part.shape[1] for part in found) >= 2 * self._k + SLACK:
                self._cut(tile.contrast, self._k)

    def _cut(self, number: int, k: int) -> None:
        """Keep the best k pairs, and raise the bound to the last of them."""
        best = best_of(np.concatenate(self._found[number], axis=1), k)
        self._found[number] = [best]
        if best.shape[1] == k:
            self._bounds[number][:] = best[:2, -1]

    def part(self) -> Part:
        found = (best_of(np.concatenate(parts, axis=1), self._k) for parts in self._found)
        return {f"pairs{number}": pairs for number, pairs in enumerate(found)}


# Disjoint pairs ------------------------------------------------------------------------------------------------------


class BestPartners(Reduction):
    """The best pair of each feature, for each contrast, and from them the best disjoint pairs.

    The pairs are taken greedily down the total order. A feature whose best partner is taken gets a new one when its old
    pair would be next: the score of the old pair bounds that of the new one, so that the result is exact.

    Parameters
    ----------
    contrasts, count
        Number of contrasts, and of features of the pass.
    """

    def __init__(self, contrasts: int, count: int) -> None:
        self.contrasts, self.count = contrasts, count
        self.best = np.zeros((contrasts, count, 4), dtype=np.int64)

    def start(self, work: PairWork, group: Group) -> _Partners:
        """Return an accumulator for the pairs of a group."""
        return _Partners(self.contrasts, group)

    def merge(self, group: Group, part: Part) -> None:
        """Add the best partners of a group."""
        for number in range(self.contrasts):
            merge_partners(self.best[number, group.rows], part["rows"][number])
            merge_partners(self.best[number, group.cols], part["cols"][number])

    def bytes(self, group: Group) -> int:
        """Bytes of the partners of the features of a group."""
        return 32 * self.contrasts * (group.rows.stop - group.rows.start + group.cols.stop - group.cols.start)

    def describe(self) -> str:
        """Describe the parameters."""
        return "best partners"

    def __getstate__(self) -> dict[str, Any]:
        return {"contrasts": self.contrasts, "count": self.count}

    def disjoint(self, work: PairWork, number: int, k: int | None, least: int) -> Array:
        """Take the best k disjoint pairs of a contrast, of at least a key: (4, q) in the total order."""
        return _Greedy(replace(work, numbers=(number,)), self.best[number]).take(k, least)


class _Partners:
    """The best partners of the features of a group of tiles."""

    def __init__(self, contrasts: int, group: Group) -> None:
        self._group = group
        self._rows, self._cols = (
            np.zeros((contrasts, side.stop - side.start, 4), dtype=np.int64) for side in (group.rows, group.cols)
        )

    def add(self, tile: Tile) -> None:
        top, left = self._group.rows.start, self._group.cols.start
        _update(
            tile,
            self._rows[tile.contrast, tile.rows.start - top : tile.rows.stop - top],
            self._cols[tile.contrast, tile.cols.start - left : tile.cols.stop - left],
        )

    def part(self) -> Part:
        return {"rows": self._rows, "cols": self._cols}


def _update(tile: Tile, best_rows: Array, best_cols: Array) -> None:
    """Update the best pairs of the features of a tile."""
    partners(
        tile.keys,
        tile.row_sums,
        tile.col_sums,
        tile.shift,
        tile.row_features,
        tile.col_features,
        best_rows,
        best_cols,
    )


class _Greedy:
    """Take disjoint pairs from the best pairs of the features, (features, 4)."""

    def __init__(self, work: PairWork, best: Array) -> None:
        self._work = work
        self._used = np.zeros(len(best), dtype=bool)
        positions = {feature: row for row, feature in enumerate(work.arrays["features"].tolist())}
        self._position = positions
        self._heap = [self._entry(row, pair) for row, pair in enumerate(best.tolist()) if pair[0] > 0]
        heapq.heapify(self._heap)

    def take(self, k: int | None, least: int) -> Array:
        taken: list[list[int]] = []
        while self._heap and (k is None or len(taken) < k) and -self._heap[0][0] >= least:
            entry = heapq.heappop(self._heap)
            row, partner = self._rows_of(entry)
            if self._used[row]:
                continue
            if self._used[partner]:
                self._find_again(row)
                continue
            self._used[[row, partner]] = True
            taken.append([-entry[0], -entry[1], *entry[-2:]])
        return np.array(taken, dtype=np.int64).reshape(-1, 4).T

    @staticmethod
    def _entry(row: int, pair: list[int]) -> tuple[int, ...]:
        key, gamma, first, second = pair
        return -key, -gamma, min(first, second), max(first, second), row, first, second

    def _rows_of(self, entry: tuple[int, ...]) -> tuple[int, int]:
        """Position of the feature of an entry, and of its partner."""
        first, second = (self._position[feature] for feature in entry[-2:])
        return entry[4], second if entry[4] == first else first

    def _find_again(self, row: int) -> None:
        """Find the best free partner of a feature, and of the next ones that have lost theirs."""
        stale, kept = [row], list[tuple[int, ...]]()
        while self._heap and len(stale) < STALE_ROWS and len(kept) < STALE_ROWS:
            entry = heapq.heappop(self._heap)
            other, partner = self._rows_of(entry)
            if not self._used[other]:
                if self._used[partner]:
                    stale.append(other)
                else:
                    kept.append(entry)
        for entry in [*kept, *self._best_free(stale)]:
            heapq.heappush(self._heap, entry)

    def _best_free(self, stale: list[int]) -> list[tuple[int, ...]]:
        best = np.zeros((len(stale), 4), dtype=np.int64)
        for tile in self._work.of_rows(np.array(stale, dtype=np.intp)):
            tile.keys[:, self._used[tile.cols]] = 0
            unread = np.zeros((tile.keys.shape[1], 4), dtype=np.int64)
            _update(tile, best, unread)
        return [self._entry(row, pair) for row, pair in zip(stale, best.tolist(), strict=True) if pair[0] > 0]
