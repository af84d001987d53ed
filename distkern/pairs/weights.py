"""A pass over all pairs of features that sums numbers of pairs by feature, and keeps the pairs with the largest ones.

The numbers of a pair, such as its weight in each machine, are computed tile by tile: no number of all pairs is kept. A
task is a strip of tiles, one block of features against itself and all later ones. Its sums are added in the order of
the strips, and pairs are compared in a total order; so results do not depend on the executor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distkern.core.events import Listener
from distkern.core.typing import Floats, Indices
from distkern.engine.base import Executor
from distkern.engine.run import run
from distkern.pairs.embeddings import Embedding

SIDE = 256
"""Features of a block. Sums are made tile by tile, so that another number may change their last bits."""

TileNumbers = Callable[[slice, slice], Iterable[Floats]]
"""The numbers of the pairs of two blocks of features: an array (rows, cols) for each kind of number."""


class BestPairs(NamedTuple):
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

    def joined(self, codes: Indices, numbers: Floats, k: int) -> BestPairs:
        """Add pairs, and keep the best k."""
        codes, numbers = np.concatenate([self.codes, codes]), np.concatenate([self.numbers, numbers])
        order = np.lexsort((codes, -np.abs(numbers)))[:k]
        return BestPairs(codes[order], numbers[order])

    def with_tile(self, numbers: Floats, rows: slice, cols: slice, n: int, k: int) -> BestPairs:
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


NO_PAIRS = BestPairs(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass(frozen=True)
class PairTotals:
    """The result of a pass, for each kind of number v.

    Parameters
    ----------
    best
        The pairs with the largest numbers.
    sums
        Σ_j v_ij of each feature i, (kinds, n).
    squares
        Σ_j v_ij², (kinds, n).
    """

    best: list[BestPairs]
    sums: Floats
    squares: Floats


@dataclass(frozen=True)
class _Strip:
    """A block of features against itself and all later ones."""

    numbers: TileNumbers
    n: int
    kinds: int
    k: int
    turned: float
    """v_ji / v_ij: −1 if the numbers change their sign with the order of the features, else 1."""

    def __call__(self, block: int) -> tuple[int, PairTotals]:
        best = [NO_PAIRS] * self.kinds
        sums, squares = np.zeros((2, self.kinds, self.n))
        rows = slice(block * SIDE, min((block + 1) * SIDE, self.n))
        for start in range(rows.start, self.n, SIDE):
            cols = slice(start, min(start + SIDE, self.n))
            for kind, numbers in enumerate(self.numbers(rows, cols)):
                own = np.triu(numbers, 1) if start == rows.start else numbers
                best[kind] = best[kind].with_tile(own, rows, cols, self.n, self.k)
                sums[kind, rows] += own.sum(axis=1)
                sums[kind, cols] += self.turned * own.sum(axis=0)
                squared = own * own
                squares[kind, rows] += squared.sum(axis=1)
                squares[kind, cols] += squared.sum(axis=0)
        return block, PairTotals(best, sums, squares)


def pass_over_pairs(
    numbers: TileNumbers,
    n: int,
    kinds: int,
    k: int,
    *,
    turned: float,
    executor: Executor,
    listener: Listener,
    phase: str = "pairs of features",
) -> PairTotals:
    """Pass over all pairs of n features once: sum each kind of number by feature, and find the k pairs of largest size.

    Parameters
    ----------
    numbers
        The numbers of the pairs of two blocks.
    kinds
        How many arrays ``numbers`` gives.
    turned
        v_ji / v_ij, −1 or 1.
    executor, listener, phase
        Who runs the strips, who is told of the progress, and the name of the work.
    """
    best = [NO_PAIRS] * kinds
    sums, squares = np.zeros((2, kinds, n))
    waiting: dict[int, PairTotals] = {}
    following = iter(range(-(-n // SIDE)))
    expected = next(following)

    def add(receipt: tuple[int, PairTotals]) -> None:
        nonlocal expected
        waiting[receipt[0]] = receipt[1]
        while expected in waiting:  # floating-point sums depend on their order
            own = waiting.pop(expected)
            for kind, found in enumerate(own.best):
                best[kind] = best[kind].joined(*found, k)
            np.add(sums, own.sums, out=sums)
            np.add(squares, own.squares, out=squares)
            expected = next(following, -1)

    work = _Strip(numbers, n, kinds, k, turned)
    run(executor, work, range(-(-n // SIDE)), add, phase=phase, listener=listener)
    return PairTotals(best, sums, squares)


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


def union(best: Iterable[BestPairs]) -> Indices:
    """Codes of the pairs that are among the best of any kind, ascending."""
    return np.unique(np.concatenate([NO_PAIRS.codes, *(found.codes for found in best)]))
