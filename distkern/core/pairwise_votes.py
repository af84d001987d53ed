"""Pairwise votes: how often each item won against each other one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.containers import as_floats, plain_values
from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.core.typing import Floats


@dataclass(frozen=True, eq=False)
class PairwiseVotes:
    """Results of comparisons of two items at a time, summed over voters, judges or games.

    Parameters
    ----------
    items
        Names of the n items.
    wins
        (n, n): number or weight of the comparisons that item i won against item j. The diagonal is zero.
    ties
        (n, n), symmetric: number or weight of the comparisons of i and j that neither won; none by default.

    Raises
    ------
    InputError
        If the shapes do not match, a name occurs twice, a number is negative, missing or infinite, an item is compared
        with itself, or ties are not symmetric.

    Examples
    --------
    >>> games = PairwiseVotes(("a", "b"), [[0, 3], [1, 0]], [[0, 2], [2, 0]])
    >>> games.preferred
    array([[0., 4.],
           [2., 0.]])
    >>> games
    <PairwiseVotes: 6 comparisons of 2 items>
    """

    items: tuple[str, ...]
    wins: Floats
    ties: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        items = checked_names(self.items, "item")
        repeated = [name for name, times in Counter(items).items() if times > 1]
        if repeated:
            raise InputError(f"two items have the name {repeated[0]!r}: make the names unique")
        if not items:
            raise InputError("there are no items: name at least one")
        wins = _checked(self.wins, "wins", items)
        ties = np.zeros_like(wins) if self.ties is None else _checked(self.ties, "ties", items)
        wrong = np.argwhere(ties != ties.T)
        if len(wrong):
            i, j = wrong[0].tolist()
            raise InputError(
                f"ties must be symmetric: {items[i]!r} tied {ties[i, j]:g} times with {items[j]!r}, and {items[j]!r} "
                f"tied {ties[j, i]:g} times with {items[i]!r}"
            )
        for part in (wins, ties):
            part.flags.writeable = False
        for name, checked in {"items": items, "wins": wins, "ties": ties}.items():
            object.__setattr__(self, name, checked)

    @property
    def preferred(self) -> Floats:
        """Weight for each order of two items, (n, n): wins, and half of the ties."""
        return self.wins + self.ties / 2

    @property
    def comparisons(self) -> float:
        """Total number or weight of the comparisons."""
        return float(self.wins.sum() + self.ties.sum() / 2)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairwiseVotes):
            return NotImplemented
        same = np.array_equal(self.wins, other.wins) and np.array_equal(self.ties, other.ties)
        return self.items == other.items and same

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<PairwiseVotes: {self.comparisons:,.12g} comparisons of {self.n_items:,} items>"


def _checked(values: Any, what: str, items: tuple[str, ...]) -> Floats:
    """One matrix of counts, checked and copied."""
    matrix = np.array(as_floats(plain_values(values, what), what), order="C")
    n = len(items)
    if matrix.shape != (n, n):
        raise InputError(f"{what} have shape {matrix.shape}; they must be ({n}, {n}), one row and column for each item")
    wrong = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise InputError(
            f"{what} hold numbers that are negative or not finite ({matrix[i, j]:g} for {items[i]!r} against "
            f"{items[j]!r}): write 0 for a pair that was never compared"
        )
    own = np.flatnonzero(matrix.diagonal())
    if len(own):
        raise InputError(
            f"{what} compare {items[own[0]]!r} with itself ({matrix[own[0], own[0]]:g}): the diagonal must be zero"
        )
    return matrix
