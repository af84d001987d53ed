"""A pass over all pairs of features that sums numbers of pairs by feature, and keeps the pairs with the largest ones.

The numbers of a pair, such as its weight in each machine, are computed tile by tile: no number of all pairs is kept.
Pairs are compared in a total order, and sums are added in one order; so results do not depend on the executor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from distkern.compiled.pair_numbers import reduce_tile
from distkern.core.events import Listener
from distkern.core.typing import Floats, Indices
from distkern.engine.base import Executor
from distkern.engine.run import await_workers
from distkern.pairs.embeddings import Embedding
from distkern.pairs.tiles import SIDE, Group, Part, Reduction, groups_of, run_groups

TileNumbers = Callable[[slice, slice], Iterable[Floats]]
"""The numbers of the pairs of two blocks of features: an array (rows, cols) for each kind of number."""


class HeaviestPairs(NamedTuple):
    """The pairs (i, j), i < j, with the largest absolute numbers: by size, then i, then j, all ascending but the size.

    Parameters
    ----------
    codes
        i n + j, (pairs,).
    numbers
        The number of each pair, (pairs,); none is 0.
    """

    codes: Indices
    numbers: Floats

    def joined(self, codes: Indices, numbers: Floats, k: int) -> HeaviestPairs:
        """Add pairs, and keep the best k."""
        codes, numbers = np.concatenate([self.codes, codes]), np.concatenate([self.numbers, numbers])
        order = np.lexsort((codes, -np.abs(numbers)))[:k]
        return HeaviestPairs(codes[order], numbers[order])

    def with_tile(self, numbers: Floats, rows: slice, cols: slice, n: int, k: int) -> HeaviestPairs:
        """Add the pairs of a tile (rows, cols) of n features, and keep the best k."""
        sizes = np.abs(numbers).ravel()
        full = len(self.codes) == k
        least = abs(self.numbers[-1]) if full else 0.0
        at = np.flatnonzero(sizes >= least if full else sizes > 0)
        if len(at) > k:  # the k largest, and those as large as the last of them
            at = at[sizes[at] >= np.partition(sizes[at], len(at) - k)[len(at) - k]]
        codes = (rows.start + at // numbers.shape[1]) * n + cols.start + at % numbers.shape[1]
        if full:
            better = (sizes[at] > least) | (codes < self.codes[-1])
            at, codes = at[better], codes[better]
        return self.joined(codes, numbers.ravel()[at], k) if len(at) else self


NO_PAIRS = HeaviestPairs(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass(frozen=True)
class NumberTile:
    """One kind of number of the pairs of two blocks of features, (rows, cols)."""

    kind: int
    rows: slice
    cols: slice
    numbers: Floats


@dataclass(frozen=True)
class NumberWork:
    """The numbers of all pairs of n features: ``kinds`` of them for each pair, in tiles that take ``bytes``."""

    numbers: TileNumbers
    n: int
    kinds: int
    bytes: int

    def tiles(self, rows: slice, cols: slice) -> Iterator[NumberTile]:
        """Compute the numbers of the pairs of two ranges of features, block by block."""
        for top in range(rows.start, rows.stop, SIDE):
            own = slice(top, min(top + SIDE, rows.stop))
            for left in range(max(top, cols.start), cols.stop, SIDE):
                other = slice(left, min(left + SIDE, cols.stop))
                for kind, numbers in enumerate(self.numbers(own, other)):
                    yield NumberTile(kind, own, other, numbers)


class PairTotals(Reduction):
    """For each kind of number v: the best k pairs, and Σ_j v_ij and Σ_j v_ij² of each feature i.

    Floating-point sums depend on their order, so that the parts of groups wait until those of all earlier groups are
    added.

    Parameters
    ----------
    groups
        The groups of pairs, in the order in which they are added.
    n, kinds, k
        Number of features, of kinds of numbers, and of pairs to keep.
    turned
        v_ji / v_ij: −1 if the numbers change their sign with the order of the features, else 1.

    Attributes
    ----------
    best
        The best pairs of each kind.
    sums, squares
        Σ_j v_ij and Σ_j v_ij², (kinds, n).
    """

    def __init__(self, groups: Sequence[Group], n: int, kinds: int, k: int, turned: float) -> None:
        self.n, self.kinds, self.k, self.turned = n, kinds, k, turned
        self.best = [NO_PAIRS] * kinds
        self.sums, self.squares = np.zeros((2, kinds, n))
        self._left = [(group.rows.start, group.cols.start) for group in reversed(groups)]
        self._waiting: dict[tuple[int, int], tuple[Group, Part]] = {}

    def start(self, work: Any, group: Group) -> _GroupTotals:
        """Return an accumulator for the pairs of a group."""
        return _GroupTotals(self, group)

    def merge(self, group: Group, part: Part) -> None:
        """Add the part of a group, and those that waited for it."""
        self._waiting[group.rows.start, group.cols.start] = group, part
        while self._left and self._left[-1] in self._waiting:
            self._add(*self._waiting.pop(self._left.pop()))

    def _add(self, group: Group, part: Part) -> None:
        rows, apart = group.rows.stop - group.rows.start, _apart(group)
        for kind in range(self.kinds):
            found = part[f"codes{kind}"], part[f"numbers{kind}"]
            self.best[kind] = self.best[kind].joined(*found, self.k)
        for name, whole in (("sums", self.sums), ("squares", self.squares)):
            whole[:, group.rows] += part[name][:, :rows]
            if apart:
                whole[:, group.cols] += part[name][:, rows:]

    def bytes(self, group: Group) -> int:
        """Bytes of the sums of a group, and of its best pairs."""
        features = group.rows.stop - group.rows.start + group.cols.stop - group.cols.start
        return self.kinds * (16 * features + 48 * self.k) + 64 * SIDE * SIDE

    def describe(self) -> str:
        """Describe the parameters."""
        return f"best {self.k} and sums of {self.kinds}, {self.turned}"

    def __getstate__(self) -> dict[str, Any]:
        return {"n": self.n, "kinds": self.kinds, "k": self.k, "turned": self.turned}


def _apart(group: Group) -> bool:
    """Whether the rows and the columns of a group are different features."""
    return group.rows.start != group.cols.start


class _GroupTotals:
    """Sums and best pairs of a group: of its rows, then of its columns if they are other features."""

    def __init__(self, of: PairTotals, group: Group) -> None:
        self._n, self._k, self._turned, self._group = of.n, of.k, of.turned, group
        rows, cols = (side.stop - side.start for side in (group.rows, group.cols))
        self._offset = rows if _apart(group) else 0
        self._best = [NO_PAIRS] * of.kinds
        self._sums, self._squares = np.zeros((2, of.kinds, self._offset + cols))

    def add(self, tile: NumberTile) -> None:
        kind, upper = tile.kind, tile.rows.start == tile.cols.start
        first = tile.rows.start - self._group.rows.start
        second = self._offset + tile.cols.start - self._group.cols.start
        best, numbers = self._best[kind], np.ascontiguousarray(tile.numbers)
        least = abs(best.numbers[-1]) if len(best.codes) == self._k else 0.0
        hits = reduce_tile(numbers, upper, least, self._turned, self._sums[kind], self._squares[kind], first, second)
        if hits:
            own = np.triu(numbers, 1) if upper else numbers
            self._best[kind] = best.with_tile(own, tile.rows, tile.cols, self._n, self._k)

    def part(self) -> Part:
        part: Part = {"sums": self._sums, "squares": self._squares}
        for kind, best in enumerate(self._best):
            part |= {f"codes{kind}": best.codes, f"numbers{kind}": best.numbers}
        return part


def pass_over_pairs(
    numbers: TileNumbers,
    n: int,
    kinds: int,
    k: int,
    *,
    samples: int,
    turned: float,
    executor: Executor,
    listener: Listener,
    tiles: int = 1,
    limit: int | None = None,
) -> PairTotals:
    """Pass over all pairs of n features once: sum each kind of number by feature, and find the k pairs of largest size.

    Parameters
    ----------
    numbers
        The numbers of the pairs of two blocks.
    kinds
        How many arrays ``numbers`` gives.
    samples
        Number of samples that they are computed from; it decides how the work is divided.
    turned
        v_ji / v_ij, −1 or 1.
    executor, listener
        Who works, and who is told of the progress.
    tiles
        Number of tiles that ``numbers`` keeps in memory at a time.
    limit
        Bytes that tasks in this process may use together.

    Raises
    ------
    MemoryLimitError
        If a task does not fit in memory.
    """
    groups = groups_of(n, n, samples)
    work = NumberWork(numbers, n, kinds, 8 * SIDE * SIDE * tiles)
    totals = PairTotals(groups, n, kinds, k, turned)
    await_workers(executor, listener)
    run_groups(work, groups, totals, samples, executor=executor, listener=listener, limit=limit, phase="weigh pairs")
    return totals


def exact_sums(embedding: Embedding, coefficients: Floats, first: Indices, second: Indices) -> Floats:
    """Σ_s c_s e_ij(x_s) of some pairs, each sum rounded once, (pairs, machines).

    Examples
    --------
    >>> from distkern.pairs.embeddings import SignEmbedding
    >>> signs = SignEmbedding(np.ones(3), 1.0, np.array([[1, 0], [1, 0], [0, 1]]))
    >>> exact_sums(signs, np.array([[0.1], [0.2], [0.3]]), np.array([0]), np.array([1]))
    array([[2.77555756e-17]])
    """
    entries = embedding.entries(first, second)
    return np.array([[math.fsum((own * row).tolist()) for own in coefficients.T] for row in entries.T]).reshape(
        len(first), coefficients.shape[1]
    )


def union(best: Iterable[HeaviestPairs]) -> Indices:
    """Codes of the pairs that are among the best of any kind, ascending."""
    return np.unique(np.concatenate([NO_PAIRS.codes, *(found.codes for found in best)]))
