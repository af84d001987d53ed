"""Scores of pairs of features: how differently two classes order two features, and the best pairs of all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.events import Listener, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.engine.resolve import resolve_executor
from distkern.pairs.best import BestPairs, BestPartners, best_of
from distkern.pairs.codes import SignCodes, pair_counts
from distkern.pairs.contrasts import Contrast
from distkern.pairs.keys import KeyRule, key_rule
from distkern.pairs.tiles import reduce_pairs

LIST_PAIRS = 2**16
"""Listed pairs that are scored at a time."""


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

    Examples
    --------
    >>> from distkern.pairs.codes import sign_codes
    >>> from distkern.pairs.contrasts import Cells
    >>> cells = Cells.of([0, 0, 1, 1])
    >>> codes = sign_codes([[9, 5, 7], [8, 9, 7], [2, 4, 3], [1, 3, 2]], cells)
    >>> (found,) = best_pairs(codes, [cells.contrast(1)], k=2)
    >>> found.first.tolist(), found.second.tolist(), found.score.tolist()
    ([0, 0], [2, 1], [1.0, 0.5])
    """
    competing = _Competing.of(codes, len(contrasts), features, pivot)
    part = codes if competing.everything else codes.take(competing.features)
    made = [key_rule(contrast, part, min_observed) for contrast in contrasts]
    rules, sums = [rule for rule, _ in made], np.stack([one for _, one in made])
    least = [rule.least_key(min_score) for rule in rules]
    if pairs is not None:
        found = [
            _best_listed(part, competing, rule, sums[number], number, np.asarray(pairs), k, low, disjoint)
            for number, (rule, low) in enumerate(zip(rules, least, strict=True))
        ]
    else:
        reduction: Any = BestPartners(len(rules), len(part.codes)) if disjoint else BestPairs(k, least)
        work = reduce_pairs(
            part,
            competing.features,
            competing.row_count,
            rules,
            sums,
            competing.allowed,
            reduction,
            executor=resolve_executor(executor),
            listener=listener,
            store=store,
        )
        found = [
            reduction.disjoint(work, number, k, least[number]) if disjoint else reduction.found[number]
            for number in range(len(rules))
        ]
    return [_scored(codes, contrast, rule, one) for contrast, rule, one in zip(contrasts, rules, found, strict=True)]


# What competes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Competing:
    """The features of a pass: positions in the cohort, which may stand in rows, and which compete in each contrast."""

    features: Indices
    row_count: int
    allowed: Array
    everything: bool

    @classmethod
    def of(cls, codes: SignCodes, contrasts: int, features: Any, pivot: Any) -> _Competing:
        p = len(codes.codes)
        chosen = _for_each(features, contrasts, p)
        allowed = np.zeros((contrasts, p), dtype=bool)
        for number, positions in enumerate(chosen):
            allowed[number, positions] = True
        union = np.flatnonzero(allowed.any(axis=0))
        row_count = len(union)
        if pivot is not None:
            first = np.isin(union, np.asarray(pivot, dtype=np.intp))
            union, row_count = np.concatenate([union[first], union[~first]]), int(first.sum())
        return cls(union, row_count, np.ascontiguousarray(allowed[:, union]), np.array_equal(union, np.arange(p)))


def _for_each(features: Any, contrasts: int, p: int) -> list[Indices]:
    """Positions of the features that compete in each contrast."""
    if features is None:
        return [np.arange(p)] * contrasts
    if len(features) and np.ndim(features[0]) > 0:
        if len(features) != contrasts:
            raise InputError(f"got features of {len(features)} contrasts, and there are {contrasts}: give each its own")
        return [np.asarray(part, dtype=np.intp) for part in features]
    return [np.asarray(features, dtype=np.intp)] * contrasts


# Listed pairs ---------------------------------------------------------------------------------------------------------


def _best_listed(
    codes: SignCodes,
    competing: _Competing,
    rule: KeyRule,
    sums: Array,
    number: int,
    pairs: Array,
    k: int | None,
    least: int,
    disjoint: bool,
) -> Array:
    """Score listed pairs of features that compete, and take the best k of them, (4, q) in the total order."""
    places = np.full(int(competing.features.max(initial=0)) + 1, -1, dtype=np.intp)
    places[competing.features] = np.arange(len(competing.features))
    pairs = np.unique(np.sort(pairs.reshape(-1, 2), axis=1), axis=0)
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 1] < len(places))]
    rows, cols = places[pairs].T
    kept = (rows >= 0) & (cols >= 0) & (np.minimum(rows, cols) < competing.row_count)
    rows, cols = rows[kept], cols[kept]
    kept = competing.allowed[number, rows] & competing.allowed[number, cols]
    rows, cols = rows[kept], cols[kept]
    parts = [np.empty((4, 0), dtype=np.int64)]
    for start in range(0, len(rows), LIST_PAIRS):
        left, right = rows[start : start + LIST_PAIRS], cols[start : start + LIST_PAIRS]
        less, greater, observed = pair_counts(codes, left, right)
        keys = np.empty((1, len(left)), dtype=np.int64)
        counts, seen = (np.ascontiguousarray(part.T[:, None], dtype=np.int32) for part in (less - greater, observed))
        rule.fill(counts, seen, keys)
        own, gamma = keys[0], np.abs(sums[left] - sums[right])
        if rule.shift:
            gamma = (gamma + (1 << (rule.shift - 1))) >> rule.shift
        ends = competing.features[np.where(own > 0, [left, right], [right, left])]
        parts.append(np.stack([np.abs(own), gamma, *ends])[:, np.abs(own) >= least])
    found = best_of(np.concatenate(parts, axis=1), None if disjoint else k)
    return _first_disjoint(found, k) if disjoint else found


def _first_disjoint(found: Array, k: int | None) -> Array:
    """Go down the total order, and skip pairs with a used feature."""
    used: set[int] = set()
    kept: list[int] = []
    for place, (first, second) in enumerate(found[2:].T.tolist()):
        if first not in used and second not in used:
            used |= {first, second}
            kept.append(place)
    return found[:, kept[:k]]


# The result -----------------------------------------------------------------------------------------------------------


def _scored(codes: SignCodes, contrast: Contrast, rule: KeyRule, found: Array) -> ScoredPairs:
    """Describe the pairs that were found: (4, q) of key, secondary score, first and second feature."""
    first, second = found[2].astype(np.intp), found[3].astype(np.intp)
    less, greater, observed = (
        np.stack([counts[:, side].sum(axis=1) for side in (contrast.negative, contrast.positive)], axis=1)
        for counts in pair_counts(codes, first, second)
    )
    numerator, denominator = found[0], np.full(len(first), rule.denominator, dtype=np.int64)
    if rule.single and rule.weights is None:  # the fraction itself, of which the key is the first 62 bits
        n = observed
        numerator = (less[:, 1] - greater[:, 1]) * n[:, 0] - (less[:, 0] - greater[:, 0]) * n[:, 1]
        denominator = 2 * n[:, 0] * n[:, 1]
    gamma = found[1] / rule.secondary_denominator
    return ScoredPairs(first, second, numerator, denominator, gamma, less, greater, observed)
