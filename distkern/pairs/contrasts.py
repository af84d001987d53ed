"""What the scores of pairs compare: cells of samples, and contrasts between two sides of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.core.typing import Indices

Aggregate = Literal["mean", "min"]
AGGREGATES = ("mean", "min")

Rest = Literal["pooled", "mean"]
RESTS = ("pooled", "mean")

LEFT_OUT = -1
"""Cell of a sample that takes no part."""


@dataclass(frozen=True)
class Comparison:
    """s = ½ (D_A/n_A − D_B/n_B): D = L − G of the samples of some cells A, less that of some cells B.

    Parameters
    ----------
    positive, negative
        Numbers of the cells of class 1 (A), and of class 0 (B); each has at least one.
    """

    positive: tuple[int, ...]
    negative: tuple[int, ...]


@dataclass(frozen=True)
class Contrast:
    """A score s of each pair: the mean, or the least, over groups, of the mean over the comparisons of a group.

    Parameters
    ----------
    groups
        Comparisons of each group, such as a platform; one group if there are none.
    aggregate
        ``"mean"``, or ``"min"``: the s of the group that is closest to 0; 0 if two groups differ in sign or one is 0.

    Examples
    --------
    >>> Contrast.between([2], [0, 1])
    Contrast(groups=((Comparison(positive=(2,), negative=(0, 1)),),), aggregate='mean')
    """

    groups: tuple[tuple[Comparison, ...], ...]
    aggregate: Aggregate = "mean"

    @classmethod
    def between(cls, positive: Sequence[int], negative: Sequence[int]) -> Contrast:
        """Compare two sets of cells, of class 1 and of class 0, without groups."""
        return cls(((Comparison(tuple(positive), tuple(negative)),),))

    @property
    def positive(self) -> Indices:
        """Numbers of all cells of class 1."""
        return self._cells("positive")

    @property
    def negative(self) -> Indices:
        """Numbers of all cells of class 0."""
        return self._cells("negative")

    def _cells(self, side: str) -> Indices:
        found = {cell for group in self.groups for one in group for cell in getattr(one, side)}
        return np.array(sorted(found), dtype=np.intp)


@dataclass(frozen=True)
class Cells:
    """Cells of samples: class × group × fold. L and G of cells add up, so one pass serves all folds and machines.

    Parameters
    ----------
    of_sample
        Cell of each sample, (m,); `LEFT_OUT` for a sample that takes no part.
    classes, groups, folds
        Number of the class, the group and the fold of each cell, (c,).

    Examples
    --------
    >>> cells = Cells.of([1, 0, 1, 0], folds=[0, 0, 1, 1])
    >>> cells.of_sample.tolist(), cells.classes.tolist(), cells.folds.tolist()
    ([2, 0, 3, 1], [0, 0, 1, 1], [0, 1, 0, 1])
    >>> cells.contrast(1, leave_out=[0]).groups
    ((Comparison(positive=(3,), negative=(1,)),),)
    """

    of_sample: Indices
    classes: Indices
    groups: Indices
    folds: Indices

    @classmethod
    def of(cls, classes: Any, *, groups: Any = None, folds: Any = None) -> Cells:
        """Make the cells of samples from whole numbers.

        Parameters
        ----------
        classes, groups, folds
            Number of the class, the group and the fold of each sample, (m,); all 0 by default. A sample of a negative
            class takes no part.
        """
        classes = np.asarray(classes, dtype=np.intp)
        columns = [np.zeros_like(classes) if part is None else np.asarray(part, np.intp) for part in (groups, folds)]
        table = np.stack([classes, *columns], axis=1)
        used = classes >= 0
        distinct, numbers = np.unique(table[used], axis=0, return_inverse=True)
        of_sample = np.full(len(classes), LEFT_OUT, dtype=np.intp)
        of_sample[used] = numbers.reshape(-1)
        return cls(of_sample, *(np.ascontiguousarray(column) for column in distinct.T))

    def __len__(self) -> int:
        return len(self.classes)

    def contrast(
        self,
        positive: int,
        negative: Sequence[int] | None = None,
        *,
        leave_out: Sequence[int] = (),
        rest: Rest = "pooled",
        aggregate: Aggregate = "mean",
    ) -> Contrast:
        """Contrast one class with others, on all folds but some.

        Parameters
        ----------
        positive
            Class 1.
        negative
            The classes of class 0; by default all others.
        leave_out
            Folds whose samples do not count.
        rest
            ``"pooled"``: the samples of all other classes count alike. ``"mean"``: the mean over the other classes.
        aggregate
            How groups are aggregated. Groups that lack one of the sides are ignored (see `lonely_groups`).

        Raises
        ------
        InputError
            If a side has no samples, or no group holds both sides.
        """
        one_of(rest, "rest", RESTS)
        one_of(aggregate, "group_agg", AGGREGATES)
        kept = ~np.isin(self.folds, np.asarray(leave_out, dtype=np.intp))
        others = np.unique(self.classes[self.classes != positive]) if negative is None else np.asarray(negative)
        groups = []
        for group in np.unique(self.groups):
            here = kept & (self.groups == group)
            own = np.flatnonzero(here & (self.classes == positive)).tolist()
            against = [np.flatnonzero(here & (self.classes == other)).tolist() for other in others]
            against = [cells for cells in against if cells]
            if rest == "pooled" and against:
                against = [sorted(cell for cells in against for cell in cells)]
            if own and against:
                groups.append(tuple(Comparison(tuple(own), tuple(cells)) for cells in against))
        if not groups:
            raise InputError(
                f"no group holds samples of class number {positive} and of another class, so no pair has a score: give "
                "other folds, or leave the groups out"
            )
        return Contrast(tuple(groups), aggregate)

    def lonely_groups(self, positive: int, negative: Sequence[int] | None = None) -> Indices:
        """Numbers of the groups without a sample of one of the two sides, which a contrast ignores."""
        own = self.groups[self.classes == positive]
        other = self.classes != positive if negative is None else np.isin(self.classes, np.asarray(negative))
        return np.setdiff1d(np.unique(self.groups), np.intersect1d(own, self.groups[other]))
