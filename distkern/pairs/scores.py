"""Scores of pairs of features: how differently two classes order two features, and the best pairs of all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.events import Listener, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.pairs.codes import SignCodes
from distkern.pairs.contrasts import Contrast


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of features, best first: "x_first < x_second" speaks for class 1.

    Parameters
    ----------
    first, second
        Positions of the two features, (q,).
    numerator, denominator
        The score as a fraction of whole numbers, int64 (q,); both are positive.
    secondary
        abs(mean_1(R_i − R_j) − mean_2(R_i − R_j)), R the mid-rank within a sample, (q,).
    less, greater, observed
        L, G and n: samples with x_first < x_second, with x_first > x_second, and with both values, int64 (q, 2).
        Column 0 counts the samples of class 0, column 1 those of class 1.
    """

    first: Indices
    second: Indices
    numerator: Array
    denominator: Array
    secondary: Floats
    less: Array
    greater: Array
    observed: Array

    @property
    def score(self) -> Floats:
        """Delta of each pair, from 0 to 1, (q,)."""
        return self.numerator / self.denominator

    def __len__(self) -> int:
        return len(self.first)


def best_pairs(
    codes: SignCodes,
    contrasts: Sequence[Contrast],
    k: int | None,
    *,
    disjoint: bool = False,
    features: Any = None,
    pairs: Any = None,
    pivot: Any = None,
    min_score: float = 0.0,
    min_observed: float = 0.5,
    executor: Any = None,
    listener: Listener = silent,
    store: str | os.PathLike[str] | None = None,
) -> list[ScoredPairs]:
    """Find the best k pairs of each contrast, in one pass over all pairs of features.

    Pairs are in a total order: Delta descending, then the secondary score descending, then (i, j) ascending, i < j.
    Scores are compared as whole numbers, so that the result does not depend on tiles and workers. Pairs with a score of
    0 are never among the best.

    Parameters
    ----------
    codes
        The coded samples.
    contrasts
        Contrasts, such as one for each fold and class.
    k
        Number of pairs; None for all pairs of at least ``min_score``.
    disjoint
        Whether no feature may be in two pairs: the pairs are taken greedily in the total order.
    features
        Positions of the features that compete, (n,), or a list of such arrays, one for each contrast; all by default.
    pairs
        Positions of the features of the pairs that compete, (q, 2); all pairs by default.
    pivot
        Positions of features of which at least one must be in a pair.
    min_score
        Least Delta.
    min_observed
        Least fraction of the samples of either class that must observe both features of a pair.
    executor
        As for `compute_gram`.
    listener
        Receives the progress.
    store
        Folder in which finished parts are kept, so that the same call goes on from there after an interruption.

    Returns
    -------
    One `ScoredPairs` for each contrast, of at most k pairs: fewer where fewer are eligible.

    Raises
    ------
    MemoryLimitError
        If a task does not fit in memory.
    StoreMismatchError
        If the store holds parts of other work.
    """
    raise NotImplementedError
