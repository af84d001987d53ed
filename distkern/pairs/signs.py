"""The sign of the score of every pair, two bits each, and the votes of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled.pair_signs import WORD, majority, place_words, sign_planes
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.events import Listener, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import readable_bytes
from distkern.engine.memory import share_of
from distkern.engine.resolve import resolve_executor
from distkern.pairs.codes import SignCodes
from distkern.pairs.contrasts import Contrast
from distkern.pairs.keys import key_rule
from distkern.pairs.tiles import Group, PairWork, Part, Reduction, Tile, reduce_pairs


@dataclass(frozen=True)
class SignPlanes:
    """Which pairs of features i < j have a score above 0, and which have one below 0: p² / 2 bits each.

    Parameters
    ----------
    count
        Number of features, p.
    positive, negative
        A bit of each pair, uint64 (words,): row i has the words of columns 64 ⌊i/64⌋, …, p − 1, and follows row i − 1.
    """

    count: int
    positive: Array
    negative: Array

    def votes(self, X: Floats, *, published: bool = False) -> Array:
        """Number of pairs that vote for class 0, and for class 1, int64 (samples, 2), in samples (samples, p).

        A pair of a score above 0 votes for class 1 where x_i < x_j and for class 0 where x_i > x_j; one of a score
        below 0 votes the other way. Ties, missing values and scores of 0 vote for none; with ``published`` each pair
        votes, as `AllPairsMajorityVote` says.
        """
        votes = np.empty((len(X), 2), dtype=np.int64)
        majority(np.ascontiguousarray(X), *self._checked(), published, votes)
        return votes

    def _checked(self) -> tuple[Array, Array, Indices, Indices]:
        """Arrays for the compiled routines, which do not check the length of the planes."""
        offsets, first_words, words = places_of(self.count)
        if not self.positive.shape == self.negative.shape == (words,):
            raise InputError(f"the planes of signs do not belong to {self.count:,} features: fit the model again")
        positive, negative = (np.ascontiguousarray(plane, dtype=np.uint64) for plane in (self.positive, self.negative))
        return positive, negative, offsets, first_words


def places_of(count: int) -> tuple[Indices, Indices, int]:
    """Place of the first word of each row in a plane of p features, its number in the row, and the number of words.

    Examples
    --------
    >>> offsets, first_words, words = places_of(130)
    >>> offsets[[0, 63, 64, 129]].tolist(), first_words[[63, 64, 129]].tolist(), words
    ([0, 189, 192, 321], [0, 1, 2], 322)
    """
    first_words = np.arange(count, dtype=np.intp) // WORD
    ends = np.cumsum(-(-count // WORD) - first_words, dtype=np.intp)
    return np.concatenate([[0], ends[:-1]]).astype(np.intp), first_words, int(ends[-1])


def signs_of_pairs(
    codes: SignCodes,
    contrasts: Sequence[Contrast],
    *,
    min_observed: float = 0.5,
    executor: Any = None,
    listener: Listener = silent,
    store: Any = None,
) -> list[SignPlanes]:
    """Find the sign of the score of every pair of features, for each contrast.

    Parameters
    ----------
    codes, contrasts, min_observed, executor, listener, store
        As for `best_pairs`.

    Raises
    ------
    MemoryLimitError
        If the planes, p² / 4 bytes for each contrast, do not fit in memory.
    """
    p = len(codes.codes)
    needed, may = 16 * places_of(p)[2] * len(contrasts), share_of(None, 1)
    if needed > may:
        raise MemoryLimitError(
            f"the signs of all pairs of {p:,} features take {readable_bytes(needed)} and may take "
            f"{readable_bytes(may)}: choose features"
        )
    made = [key_rule(contrast, codes, min_observed) for contrast in contrasts]
    reduction = Signs(len(contrasts), p)
    reduce_pairs(
        codes,
        np.arange(p),
        p,
        [rule for rule, _ in made],
        np.stack([sums for _, sums in made]),
        np.ones((len(contrasts), p), dtype=bool),
        reduction,
        executor=resolve_executor(executor),
        listener=listener,
        store=store,
    )
    return [SignPlanes(p, *planes) for planes in reduction.planes]


class Signs(Reduction):
    """The sign of every pair, for each contrast.

    Parameters
    ----------
    contrasts, count
        Number of contrasts, and of features.
    """

    def __init__(self, contrasts: int, count: int) -> None:
        self.contrasts, self.count = contrasts, count
        self._offsets, self._first_words, words = places_of(count)
        self.planes = np.zeros((contrasts, 2, words), dtype=np.uint64)

    def start(self, work: PairWork, group: Group) -> _Signs:
        """Return an accumulator for the pairs of a group."""
        return _Signs(self.contrasts, group)

    def merge(self, group: Group, part: Part) -> None:
        """Copy the signs of a group."""
        first_word = group.cols.start // WORD
        for number in range(self.contrasts):
            for plane, words in zip(self.planes[number], part["signs"][number], strict=True):
                place_words(words, group.rows.start, first_word, self._offsets, self._first_words, plane)

    def bytes(self, group: Group) -> int:
        """Bytes of the signs of a group."""
        return 16 * self.contrasts * (group.rows.stop - group.rows.start) * _words(group)

    def describe(self) -> str:
        """Describe the parameters."""
        return "signs"

    def __getstate__(self) -> dict[str, Any]:
        return {"contrasts": self.contrasts, "count": self.count}


class _Signs:
    """The signs of the pairs of a group; blocks of features begin at multiples of the size of a word."""

    def __init__(self, contrasts: int, group: Group) -> None:
        self._group = group
        rows = group.rows.stop - group.rows.start
        self._signs = np.zeros((contrasts, 2, rows, _words(group)), dtype=np.uint64)

    def add(self, tile: Tile) -> None:
        rows = slice(tile.rows.start - self._group.rows.start, tile.rows.stop - self._group.rows.start)
        left = (tile.cols.start - self._group.cols.start) // WORD
        positive, negative = self._signs[tile.contrast, :, rows, left : left - (-tile.keys.shape[1] // WORD)]
        sign_planes(tile.keys, positive, negative)

    def part(self) -> Part:
        return {"signs": self._signs}


def _words(group: Group) -> int:
    return -(-(group.cols.stop - group.cols.start) // WORD)
