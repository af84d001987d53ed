"""What all scores together say: their distribution, and their sums by feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled.pair_signs import ROUNDED_BITS
from distkern.core.events import Listener, silent
from distkern.core.typing import Array, Floats
from distkern.engine.resolve import resolve_executor
from distkern.pairs.codes import SignCodes
from distkern.pairs.contrasts import Contrast
from distkern.pairs.keys import KeyRule, key_rule
from distkern.pairs.tiles import Group, PairWork, Part, Reduction, Tile, reduce_pairs


@dataclass(frozen=True)
class ScoreSums:
    """All scores of one contrast.

    Parameters
    ----------
    counts
        Number of pairs with b/bins ≤ Delta < (b + 1)/bins for b = 0, 1, …, where the last bin includes Delta = 1,
        int64 (bins,). Pairs that too few samples observe count as 0.
    absolute
        Mean of abs(s_ij) over all other features j, (p,).
    signed
        Mean of s_ij, which is positive where i < j speaks for class 1, (p,).
    """

    counts: Array
    absolute: Floats
    signed: Floats


def summarize_pairs(
    codes: SignCodes,
    contrasts: Sequence[Contrast],
    bins: int,
    *,
    min_observed: float = 0.5,
    executor: Any = None,
    listener: Listener = silent,
    store: Any = None,
) -> list[ScoreSums]:
    """Summarise the scores of all pairs of features, for each contrast.

    Parameters
    ----------
    codes, contrasts, min_observed, executor, listener, store
        As for `best_pairs`.
    bins
        Number of bins of the distribution.

    Raises
    ------
    MemoryLimitError
        If a task does not fit in memory.
    """
    p = len(codes.codes)
    made = [key_rule(contrast, codes, min_observed) for contrast in contrasts]
    reduction = Summary([rule for rule, _ in made], p, bins)
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
    return [reduction.summary(number) for number in range(len(contrasts))]


class Summary(Reduction):
    """Numbers of pairs by Delta, and sums of the keys by feature: whole numbers, so that their order does not matter.

    Parameters
    ----------
    rules
        One for each contrast.
    count, bins
        Number of features, and of bins.
    """

    def __init__(self, rules: Sequence[KeyRule], count: int, bins: int) -> None:
        self.rules, self.count, self.bins = tuple(rules), count, bins
        self.counts = np.zeros((len(rules), bins), dtype=np.int64)
        self.sums = np.zeros((len(rules), 2, count), dtype=np.int64)

    def start(self, work: PairWork, group: Group) -> _Sums:
        """Return an accumulator for the pairs of a group."""
        return _Sums(self.rules, self.bins, group)

    def merge(self, group: Group, part: Part) -> None:
        """Add the numbers of a group."""
        self.counts += part["counts"]
        self.sums[:, :, group.rows] += part["rows"]
        self.sums[:, :, group.cols] += part["cols"]

    def bytes(self, group: Group) -> int:
        """Bytes of the sums, and of the copies of a tile."""
        lengths = group.rows.stop - group.rows.start + group.cols.stop - group.cols.start
        return len(self.rules) * (16 * lengths + 8 * self.bins) + 2**21

    def describe(self) -> str:
        """Describe the parameters."""
        return f"summary {self.bins}"

    def __getstate__(self) -> dict[str, Any]:
        return {"rules": self.rules, "count": self.count, "bins": self.bins}

    def summary(self, number: int) -> ScoreSums:
        """Return the summary of a contrast; the pairs that no tile counts have a score of 0."""
        counts = self.counts[number].copy()
        counts[0] += self.count * (self.count - 1) // 2 - counts.sum()
        unit = self.rules[number].denominator / 2.0 ** _shift(self.rules[number])
        signed, absolute = self.sums[number] / unit / (self.count - 1)
        return ScoreSums(counts, absolute, signed)


class _Sums:
    """The numbers of a group of tiles."""

    def __init__(self, rules: Sequence[KeyRule], bins: int, group: Group) -> None:
        self._rules, self._bins, self._group = rules, bins, group
        self._counts = np.zeros((len(rules), bins), dtype=np.int64)
        self._rows, self._cols = (
            np.zeros((len(rules), 2, side.stop - side.start), dtype=np.int64) for side in (group.rows, group.cols)
        )

    def add(self, tile: Tile) -> None:
        rule, number = self._rules[tile.contrast], tile.contrast
        sizes = np.abs(tile.keys)
        scored = sizes[sizes > 0]
        self._counts[number] += np.bincount(_bins(scored, rule, self._bins), minlength=self._bins)
        sizes >>= _shift(rule)
        signs = np.sign(tile.keys) * sizes
        rows = slice(tile.rows.start - self._group.rows.start, tile.rows.stop - self._group.rows.start)
        cols = slice(tile.cols.start - self._group.cols.start, tile.cols.stop - self._group.cols.start)
        self._rows[number, 0, rows] += signs.sum(axis=1)
        self._cols[number, 0, cols] -= signs.sum(axis=0)
        self._rows[number, 1, rows] += sizes.sum(axis=1)
        self._cols[number, 1, cols] += sizes.sum(axis=0)

    def part(self) -> Part:
        return {"counts": self._counts, "rows": self._rows, "cols": self._cols}


def _bins(keys: Array, rule: KeyRule, bins: int) -> Array:
    """Bin of each score above 0. A fraction that was cut or rounded belongs where the fraction itself does."""
    if rule.weights is None:
        cut = rule.denominator.bit_length() - 1 - ROUNDED_BITS
        keys, denominator = (keys >> (cut - 1) if cut else keys << 1) + 1, 2 ** (ROUNDED_BITS + 1)
    else:
        spare = max(0, (rule.denominator * bins).bit_length() - 62)  # 0 but for many groups of unlike sizes
        keys, denominator = keys >> spare, rule.denominator >> spare
    return np.minimum(keys * bins // denominator, bins - 1)


def _shift(rule: KeyRule) -> int:
    """Last bits of the keys that sums leave out, so that they do not overflow: none of whole weights."""
    return 0 if rule.weights is not None else rule.denominator.bit_length() - 1 - ROUNDED_BITS
