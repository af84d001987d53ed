"""Pairwise votes: how often each item was preferred to each other one, which need not agree with any ranking."""

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
    """Votes between two items each: results of games, or answers to "which of these two do you prefer?".

    Votes of one judge may contradict each other, a > b > c > a, so that they are no `Rankings`.

    Parameters
    ----------
    items
        Names of the n items.
    wins
        (n, n): number of votes that prefer item i to item j; 0 on the diagonal.
    ties
        (n, n), symmetric: number of votes that tie i and j; a vote counts in both places. None of them by default.
    metadata
        What the file says about the votes, such as their title.

    Raises
    ------
    InputError
        If the shapes do not match, a number is negative or not finite, an item meets itself, or ``ties`` is not
        symmetric.

    Examples
    --------
    >>> votes = PairwiseVotes.from_results(["ann", "ann", "bob"], ["bob", "cid", "cid"], counts=[3, 1, 2])
    >>> votes.items, votes.wins
    (('ann', 'bob', 'cid'), array([[0., 3., 1.],
                                   [0., 0., 2.],
                                   [0., 0., 0.]]))
    >>> votes
    <PairwiseVotes: 6 votes between 3 items>
    """

    items: tuple[str, ...]
    wins: Floats
    ties: Floats | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        items = checked_names(self.items, "item")
        refuse_repeated(items, "item")
        wins = _as_counts(self.wins, len(items), "wins")
        ties = _as_counts(np.zeros_like(wins) if self.ties is None else self.ties, len(items), "ties")
        if not np.array_equal(ties, ties.T):
            first, second = np.argwhere(ties != ties.T)[0]
            raise InputError(
                f"ties between {items[first]!r} and {items[second]!r} are {ties[first, second]:g} one way and "
                f"{ties[second, first]:g} the other: count a tie in both places"
            )
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
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def votes(self) -> float:
        """Number of votes; a tie is one."""
        assert self.ties is not None
        return float(self.wins.sum() + self.ties.sum() / 2)

    def __repr__(self) -> str:
        assert self.ties is not None
        tied = f", {self.ties.sum() / 2:,.12g} of them ties" if self.ties.any() else ""
        return f"<PairwiseVotes: {self.votes:,.12g} votes between {self.n_items:,} items{tied}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairwiseVotes):
            return NotImplemented
        return (
            self.items == other.items
            and np.array_equal(self.wins, other.wins)
            and np.array_equal(self.ties, other.ties)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


def _as_counts(values: Any, n: int, name: str) -> Floats:
    matrix = np.array(as_floats(plain_values(values, name), name), order="C")
    if matrix.shape != (n, n):
        raise InputError(f"{name} has shape {matrix.shape}; it must be ({n}, {n}) for {n} items")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError(f"{name} holds a number that is negative or not finite: it counts votes")
    if matrix.diagonal().any():
        raise InputError(f"{name} holds votes between item {int(np.flatnonzero(matrix.diagonal())[0])} and itself")
    matrix.flags.writeable = False
    return matrix
