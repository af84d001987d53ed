"""Ballots that list items, best first, collected as flat arrays while their file is read."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from distkern.core.rankings import Rankings
from distkern.io.rankings.lines import in_order

T = TypeVar("T")

ROWS = 2**14
"""Rankings that are sorted at a time."""


class Orders:
    """Collects the ballots of a file.

    Parameters
    ----------
    merge
        Whether equal ballots become one, with the sum of their counts.

    Examples
    --------
    >>> orders = Orders()
    >>> orders.add([[1], [0, 2]], 4)
    >>> orders.rankings(["a", "b", "c"]).values
    array([[1.5, 3. , 1.5]])
    """

    def __init__(self, merge: bool = False) -> None:
        self.merge = merge
        self._counts, self._lengths, self._items = array("q"), array("q"), array("l")
        self._before = array("d")
        self._places = array("d")
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def repeats(self, text: str, count: int) -> bool:
        """Add the votes of a ballot whose text has occurred, if equal ballots are merged; whether that was done."""
        if not self.merge:
            return False
        row = self._rows.setdefault(text, len(self))
        if row == len(self):
            return False
        self._counts[row] += count
        return True

    def add_strict(self, items: Sequence[int], count: int) -> None:
        """Add a ballot without ties: positions of its items, best first."""
        size = len(items)
        if size > len(self._places):
            self._places = array("d", range(2 * size))
        self._counts.append(count)
        self._lengths.append(size)
        self._items.extend(items)
        self._before.extend(self._places[:size])

    def add(self, groups: Sequence[Sequence[int]], count: int) -> None:
        """Add a ballot: groups of tied items, best first; tied items share the mean of their places."""
        before = 0
        for group in groups:
            self._before.extend([before + (len(group) - 1) / 2] * len(group))
            before += len(group)
        self._append(groups, count)

    def add_categories(self, groups: Sequence[Sequence[int]], count: int) -> None:
        """Add a ballot: the items of each category, the best first; an empty category keeps its place."""
        for category, group in enumerate(groups):
            self._before.extend([category] * len(group))
        self._append(groups, count)

    def _append(self, groups: Sequence[Sequence[int]], count: int) -> None:
        self._counts.append(count)
        self._lengths.append(sum(map(len, groups)))
        self._items.extend(chain.from_iterable(groups))

    def rankings(
        self,
        names: Sequence[str],
        gaps: str = "top",
        *,
        best: int | None = None,
        in_given_order: bool = True,
        ids: tuple[str, ...] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Rankings:
        """Make rankings of the ballots.

        Parameters
        ----------
        names
            Names of the items, by their positions in the ballots.
        gaps
            Kind of the ballots that lack an item.
        best
            Value of an item in the first place; the number of items by default.
        in_given_order
            Whether the items stay in the order of ``names``, or are sorted by name.
        ids, metadata
            Names of the ballots, and what the file says about them.
        """
        n, m = len(names), len(self)
        order = list(range(n)) if in_given_order else in_order(names)
        column = np.empty(n, dtype=np.intp)
        column[order] = np.arange(n)
        lengths = np.array(self._lengths)
        values = np.full((m, n), np.nan)
        rows = np.repeat(np.arange(m), lengths)
        values[rows, column[np.array(self._items)]] = (n if best is None else best) - np.array(self._before)
        kinds = tuple("total" if size == n else gaps for size in self._lengths)
        items = tuple(names[k] for k in order)
        found = Rankings(values, items, kinds, np.array(self._counts, dtype=np.int64), ids, metadata or {})
        return found.distinct()[0] if self.merge else found


def groups_in(rankings: Rankings) -> Iterator[list[list[int]]]:
    """Yield the groups of tied items of each ranking, best first, as positions.

    Examples
    --------
    >>> list(groups_in(Rankings.from_ranks([[3, 1, 3], [1, np.nan, 2]], kind=["total", "top"])))
    [[[0, 2], [1]], [[2], [0]]]
    """
    for start in range(0, len(rankings), ROWS):
        values = -rankings.values[start : start + ROWS]
        order = np.argsort(values, axis=1, kind="stable")  # NaN comes last
        sorted_values = np.take_along_axis(values, order, axis=1)
        sizes = (~np.isnan(values)).sum(axis=1)
        begins = np.ones(values.shape, dtype=bool)
        begins[:, 1:] = sorted_values[:, 1:] != sorted_values[:, :-1]
        for items, size, firsts in zip(order.tolist(), sizes.tolist(), begins.tolist(), strict=True):
            groups: list[list[int]] = []
            for item, first in zip(items[:size], firsts[:size], strict=True):
                if first:
                    groups.append([item])
                else:
                    groups[-1].append(item)
            yield groups


def batched(rows: Iterator[T], size: int) -> Iterator[list[T]]:
    """Yield lists of the next rows.

    Examples
    --------
    >>> list(batched(iter("abc"), 2))
    [['a', 'b'], ['c']]
    """
    while batch := list(islice(rows, size)):
        yield batch
