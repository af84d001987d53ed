"""Rankings: each sample orders some items, totally or partially, and may represent many voters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.core.alignment import SampleNames, aligned
from distkern.core.containers import as_floats, plain, plain_values
from distkern.core.errors import InputError
from distkern.core.names import checked_names, refuse_repeated
from distkern.core.orderings import placements
from distkern.core.parameters import entries
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Floats, Indices

Kind = Literal["total", "interleaving", "top"]
KINDS = ("total", "interleaving", "top")


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings of n items by m samples; made by `Rankings.from_ranks` and `Rankings.from_orderings`.

    Parameters
    ----------
    values
        (m, n): value of each item for each sample; larger = preferred, equal = tied, NaN = not observed.
    items
        Names of the n items.
    kind
        Meaning of NaN, for each sample. ``"total"``: there is no NaN. ``"interleaving"``: the rank of the item among
        the others is unknown. ``"top"``: the item comes after all observed items.
    counts
        (m,): number of voters for each ranking.
    ids
        Names of the m samples, if they have any, such as the voters of a table.
    metadata
        What a file says about the rankings, such as their title. Rankings are equal whatever their ids and metadata.

    Raises
    ------
    InputError
        If the shapes do not match, or a total ranking lacks an item.

    See Also
    --------
    read_rankings : Rankings from a file.
    PairwiseVotes : Comparisons of two items at a time.

    Examples
    --------
    >>> votes = Rankings.from_orderings([["b", "a", "c"], ["c", "b", "a"]], counts=[30, 12])
    >>> votes.items, votes.values
    (('a', 'b', 'c'), array([[2., 3., 1.],
                             [1., 2., 3.]]))
    >>> votes
    <Rankings: 2 rankings of 3 items (total), 42 voters>
    """

    values: Floats
    items: tuple[str, ...]
    kind: tuple[str, ...]
    counts: NDArray[np.int64]
    ids: tuple[str, ...] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = _as_values(self.values)
        items = _as_items(self.items, values.shape[1])
        kind = _as_kinds(self.kind, len(values))
        counts = _as_counts(self.counts, len(values))
        for part in (values, counts):
            part.flags.writeable = False
        ids, metadata = _as_ids(self.ids, len(values)), dict(self.metadata)
        parts = {"values": values, "items": items, "kind": kind, "counts": counts, "ids": ids, "metadata": metadata}
        for name, checked in parts.items():
            object.__setattr__(self, name, checked)
        missing = np.isnan(values) & (np.array(kind) == "total")[:, None]
        if missing.any():
            row, item = np.argwhere(missing)[0]
            raise InputError(
                f"ranking {row} is total but does not rank item {items[item]!r}: give kind='top' if items that are not "
                "ranked come last, kind='interleaving' if their rank is unknown (rankings are numbered from 0)"
            )

    @classmethod
    def from_ranks(
        cls,
        values: Any,
        *,
        kind: Kind | Sequence[Kind] = "total",
        larger_is_preferred: bool = True,
        counts: Any = None,
        items: Iterable[Any] | None = None,
    ) -> Rankings:
        """Make rankings from the rank or score of each item: entry (i, j) is the value that sample i gives to item j.

        Parameters
        ----------
        values
            (m, n); NaN, a masked value, or a missing value of a nullable column = not observed.
        kind
            One kind for all samples, or one for each.
        larger_is_preferred
            False where 1 = best. Ranks between 1 and n then become n + 1 − rank, other values change their sign.
        counts
            (m,): number of voters for each ranking; 1 by default.
        items
            Names of the items; by default those of the columns of a table (pandas, polars, pyarrow, xarray), else
            ``"0"``, ``"1"``, …

        Raises
        ------
        InputError
            If the values are not a matrix of numbers, or a total ranking holds NaN.

        Examples
        --------
        >>> Rankings.from_ranks([[1, 2, 3], [2, 3, 1]], larger_is_preferred=False).values
        array([[3., 2., 1.],
               [2., 1., 3.]])
        """
        found = plain(values, "the values of rankings")
        matrix = _as_values(found.values)
        own = found.names[-1] if items is None else items
        if counts is not None:
            rows = SampleNames(len(matrix), found.names[0], whose="the rankings", listed="list(values.index)")
            counts = aligned(counts, rows, "counts")
        names = range(matrix.shape[1]) if own is None else own
        if not larger_is_preferred:
            matrix = _reversed(matrix)
        return cls(matrix, checked_names(names, "item"), _spread(kind, len(matrix)), _default(counts, len(matrix)))

    @classmethod
    def from_orderings(
        cls,
        orderings: Any,
        *,
        kind: Kind | Sequence[Kind] = "total",
        counts: Any = None,
        items: Iterable[Any] | None = None,
    ) -> Rankings:
        """Make rankings from orderings: each lists items, best first, by name or by position.

        The best of n items gets the value n, the next n − 1, and so on; items tied with each other share the mean.

        Parameters
        ----------
        orderings
            m lists. Text entries are names of items; integers are positions in ``items``, from 0. A list, tuple or set
            among the entries is a group of tied items. −1, None and NaN are padding after the last ranked item.
            Position 0 is the first item, so subtract 1 if the items of a file are numbered from 1.
        kind
            One kind for all samples, or one for each.
        counts
            (m,): number of voters for each ordering; 1 by default.
        items
            Names of the items. By default the sorted names in the orderings, or ``"0"``, ``"1"``, … up to the largest
            position.

        Raises
        ------
        InputError
            If an ordering repeats an item, names an unknown one, or continues after padding; the message names its row.

        Examples
        --------
        >>> Rankings.from_orderings([[2, 0, 1], [1, -1, -1]], kind=["total", "top"]).values
        array([[ 2.,  1.,  3.],
               [nan,  3., nan]])
        >>> Rankings.from_orderings([["a", ("b", "c")]]).values
        array([[3. , 1.5, 1.5]])
        """
        values, names = placements(orderings, None if items is None else checked_names(items, "item"))
        return cls(values, names, _spread(kind, len(values)), _default(counts, len(values)))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.values.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rankings (not of voters) and of items."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def scores(self) -> Floats:
        """Values with −infinity for the unobserved items of top-k rankings.

        −infinity is the smallest value and is tied with itself, as kind ``"top"`` demands: unobserved items come last
        and are tied. Values that stay NaN have an unknown rank.

        Examples
        --------
        >>> Rankings.from_ranks([[3, np.nan, np.nan], [3, np.nan, 1]], kind=["top", "interleaving"]).scores
        array([[  3., -inf, -inf],
               [  3.,  nan,   1.]])
        """
        top = np.array(self.kind) == "top"
        scores = self.values.copy()
        for row in np.flatnonzero(
            top & np.isneginf(scores).any(axis=1)
        ):  # an observed −infinity precedes the unobserved
            seen = ~np.isnan(scores[row])
            scores[row, seen] = np.unique(scores[row, seen], return_inverse=True)[1]
        scores[top] = np.where(np.isnan(scores[top]), -np.inf, scores[top])
        return scores

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        kinds = " and ".join(word for word in KINDS if word in self.kind)
        voters = int(self.counts.sum())
        tail = "" if voters == len(self) else f", {voters:,} voters"
        return f"<Rankings: {len(self):,} rankings of {self.n_items:,} items ({kinds}){tail}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rankings):
            return NotImplemented
        return (
            (self.items, self.kind) == (other.items, other.kind)
            and np.array_equal(self.values, other.values, equal_nan=True)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, rows: int | slice | Sequence[int] | Indices | NDArray[np.bool_]) -> Rankings:
        """Select rankings by a position, a slice, positions or a mask; always returns a `Rankings`."""
        picked = np.atleast_1d(np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)])
        named = self.ids is not None and len(np.unique(picked)) == len(picked)
        ids = tuple(self.ids[row] for row in picked) if named and self.ids is not None else None
        return self._take(picked, self.counts[picked], ids)

    def expand(self) -> Rankings:
        """Return one row per voter: each ranking repeated by its count, without names of samples.

        Examples
        --------
        >>> len(Rankings.from_ranks([[1, 2], [2, 1]], counts=[3, 2]).expand())
        5
        """
        rows = np.repeat(np.arange(len(self)), self.counts)
        return self._take(rows, np.ones(len(rows), dtype=np.int64))

    def distinct(self) -> tuple[Rankings, Indices]:
        """Merge rankings with equal values and kind, in order of first appearance, and add their counts; without ids.

        Returns
        -------
        The distinct rankings, and the position of each original ranking among them.

        Examples
        --------
        >>> votes, inverse = Rankings.from_ranks([[1, 2], [2, 1], [1, 2]], counts=[5, 1, 2]).distinct()
        >>> votes.values, votes.counts, inverse
        (array([[1., 2.],
                [2., 1.]]), array([7, 1]), array([0, 1, 0]))
        """
        positions: dict[tuple[str, bytes], int] = {}
        inverse = np.array([positions.setdefault(key, len(positions)) for key in self._keys()], dtype=np.intp)
        first = np.unique(inverse, return_index=True)[1]
        counts = np.zeros(len(positions), dtype=np.int64)
        np.add.at(counts, inverse, self.counts)
        return self._take(first, counts), inverse

    @classmethod
    def merged(cls, parts: Iterable[Rankings]) -> Rankings:
        """Merge equal rankings of many parts, such as those of a file of millions of ballots, and add their counts.

        Only the distinct rankings are in memory, beside one part.

        Raises
        ------
        InputError
            If there is no part, or a part has other items.

        Examples
        --------
        >>> parts = (Rankings.from_ranks([[1, 2], [2, 1]], counts=[seats, 1]) for seats in (3, 4))
        >>> votes = Rankings.merged(parts)
        >>> votes.values, votes.counts
        (array([[1., 2.],
                [2., 1.]]), array([7, 2]))
        """
        positions: dict[tuple[str, bytes], int] = {}
        kept: list[Rankings] = []
        counts = np.zeros(0, dtype=np.int64)
        for part in parts:
            votes, _ = part.distinct()
            if kept and votes.items != kept[0].items:
                raise InputError("the parts have other items, or in another order: give rankings of the same items")
            before = len(positions)
            found = np.array([positions.setdefault(key, len(positions)) for key in votes._keys()], dtype=np.intp)
            counts = np.concatenate([counts, np.zeros(len(positions) - before, dtype=np.int64)])
            np.add.at(counts, found, votes.counts)
            if len(positions) > before:
                kept.append(votes[found >= before])
        if not kept:
            raise InputError("there are no rankings to merge: give one part at least")
        values, kinds = (
            np.concatenate([part.values for part in kept]),
            tuple(kind for part in kept for kind in part.kind),
        )
        return cls(values, kept[0].items, kinds, counts, metadata=kept[0].metadata)

    def _keys(self) -> Iterator[tuple[str, bytes]]:
        """A key of each ranking, which equal ones share."""
        canonical = self.values + 0.0  # −0 becomes 0
        canonical[np.isnan(canonical)] = np.nan
        return ((kind, row.tobytes()) for kind, row in zip(self.kind, canonical, strict=True))

    def _take(self, rows: Indices, counts: NDArray[np.int64], ids: tuple[str, ...] | None = None) -> Rankings:
        kinds = tuple(self.kind[row] for row in rows)
        return Rankings(self.values[rows], self.items, kinds, counts, ids, self.metadata)


# Checks ------------------------------------------------------------------------------------------------------------


def _as_values(values: Any) -> Floats:
    found = plain_values(values, "the values of rankings")
    dense = found.toarray() if hasattr(found, "toarray") else found
    matrix = np.array(as_floats(dense, "the values of rankings"), order="C")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"the values of rankings have shape {matrix.shape}; they must be (samples, items), none empty")
    return matrix


def _as_items(items: Any, count: int) -> tuple[str, ...]:
    names = checked_names(items, "item")
    if len(names) != count:
        raise InputError(f"{len(names)} names for {count} items: give one per item")
    refuse_repeated(names, "item")
    return names


def _as_ids(ids: Any, count: int) -> tuple[str, ...] | None:
    if ids is None:
        return None
    names = checked_names(ids, "sample")
    if len(names) != count:
        raise InputError(f"{len(names)} ids for {count} rankings: give one per ranking")
    refuse_repeated(names, "sample")
    return names


def _as_kinds(kind: Any, count: int) -> tuple[str, ...]:
    words = _spread(kind, count)
    if len(words) != count:
        raise InputError(f"{len(words)} kinds for {count} rankings: give one word for all, or one per ranking")
    for row, word in enumerate(words):
        if word not in KINDS:
            listed = ", ".join(KINDS)
            raise InputError(f"ranking {row} has kind {word!r}; it must be one of {listed}{did_you_mean(word, KINDS)}")
    return words


def _as_counts(counts: Any, count: int) -> NDArray[np.int64]:
    given = plain_values(counts, "the counts of rankings")
    if given.shape != (count,):
        raise InputError(f"the counts have shape {given.shape}; they must be ({count},), one per ranking")
    if given.dtype.kind not in "iuf" or not np.all(given == np.floor(given)) or given.min() < 1:
        raise InputError("the counts of rankings must be whole numbers from 1: leave out rankings without voters")
    return given.astype(np.int64)


def _spread(kind: Any, count: int) -> tuple[str, ...]:
    return (kind,) * count if isinstance(kind, str) else tuple(map(str, entries(kind, "kind")))


def _default(counts: Any, count: int) -> Any:
    return np.ones(count, dtype=np.int64) if counts is None else counts


def _reversed(matrix: Floats) -> Floats:
    """Reverse the order of the values, without merging or splitting any of them."""
    top = matrix.shape[1] + 1
    mirrored = top - matrix
    observed = matrix[~np.isnan(matrix)]
    are_ranks = observed.size == 0 or (observed.min() >= 1 and observed.max() < top)
    if are_ranks and np.array_equal(top - mirrored, matrix, equal_nan=True):
        return mirrored
    return -matrix
