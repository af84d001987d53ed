"""Pairwise votes: how often each item won against each other one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distkern.core.containers import as_floats, plain_values
from distkern.core.errors import InputError
from distkern.core.names import checked_names, refuse_repeated
from distkern.core.parameters import entries
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
    metadata
        What a file says about the votes, such as their title. Votes are equal whatever their metadata.

    Raises
    ------
    InputError
        If the shapes do not match, a name occurs twice, a number is negative, missing or infinite, an item is compared
        with itself, or ties are not symmetric.

    See Also
    --------
    Rankings : Whole ballots.
    BradleyTerry : Worths of the items.
    pairwise_preferences : Such votes from ballots.

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
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        items = checked_names(self.items, "item")
        refuse_repeated(items, "item")
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
        for name, checked in {"items": items, "wins": wins, "ties": ties, "metadata": dict(self.metadata)}.items():
            object.__setattr__(self, name, checked)

    @classmethod
    def from_results(
        cls,
        winners: Any,
        losers: Any,
        *,
        counts: Any = None,
        tied: Any = None,
        items: Iterable[Any] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> PairwiseVotes:
        """Count results.

        Parameters
        ----------
        winners, losers
            (k,): names of the two items of each result.
        counts
            (k,): number of votes with this result; 1 by default.
        tied
            (k,): whether the two items are tied.
        items
            Names of the items; by default those that occur, sorted.
        metadata
            What is known about the votes.

        Raises
        ------
        InputError
            If the lengths differ, or a result names an unknown item or one item twice; its position is named.

        Examples
        --------
        >>> PairwiseVotes.from_results(["a", "b"], ["b", "a"], tied=[False, True]).ties
        array([[0., 1.],
               [1., 0.]])
        """
        first, second = (
            list(map(str, entries(names, word))) for names, word in ((winners, "winners"), (losers, "losers"))
        )
        names = sorted({*first, *second}) if items is None else list(checked_names(items, "item"))
        place = {name: k for k, name in enumerate(names)}
        for k, (one, other) in enumerate(zip(first, second, strict=len(first) == len(second))):
            unknown = next((name for name in (one, other) if name not in place), None)
            if unknown is not None:
                raise InputError(f"result {k} names {unknown!r}, which is not among the items: add it or correct it")
            if one == other:
                raise InputError(f"result {k} is between {one!r} and itself: a result is between two items")
        weights = np.ones(len(first)) if counts is None else np.asarray(counts, dtype=float)
        draws = np.zeros(len(first), dtype=bool) if tied is None else np.asarray(tied, dtype=bool)
        if not len(first) == len(second) == len(weights) == len(draws):
            raise InputError(
                f"there are {len(first)} winners, {len(second)} losers, {len(weights)} counts and {len(draws)} marks "
                "of ties: give one of each for every result"
            )
        rows, columns = (np.array([place[name] for name in those], dtype=np.intp) for those in (first, second))
        wins, ties = np.zeros((2, len(names), len(names)))
        np.add.at(wins, (rows[~draws], columns[~draws]), weights[~draws])
        np.add.at(ties, (rows[draws], columns[draws]), weights[draws])
        ties += ties.T.copy()
        return cls(tuple(names), wins, ties, metadata or {})

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
