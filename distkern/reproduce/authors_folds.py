"""The folds and the bandwidth of Jiao & Vert, as their public script drew them in R.

The script (github.com/YunlongJiao/kendallkernel, geneexpr/) splits by ``createMultiFolds(1:n)`` of the R package caret.
This function stratifies by the values that it is given. These are the numbers 1, …, n and not the classes, so the folds
are stratified by the *position* of the samples. They are those of the paper only if the samples are in the authors'
order.
"""

from __future__ import annotations

import numpy as np

from distkern.core.typing import Array, Indices
from distkern.reproduce.r_random import RRandom

Split = tuple[Indices, Indices]
"""Training and test positions, ascending."""

OUTER_SEED = 1226
"""Seed of the outer folds, and then of the bandwidth of the whole cohort."""

INNER_SEED = 206
"""Seed of the inner folds of every training set, and then of its bandwidth."""


def groups_by_position(n: int, folds: int) -> list[Indices]:
    """Group the positions 0, …, n − 1 as caret groups the numbers 1, …, n, in the order in which it handles the groups.

    The borders are quantiles of 1, …, n at ⌊n / folds⌋ equidistant levels, at least 2 and at most 5. The label of a
    group is its borders with three digits, such as ``(31.5,46.8]``. The groups are sorted by these texts, character by
    character, so that the first one, ``[1,…``, comes last: a parenthesis sorts before a bracket.

    Examples
    --------
    >>> for group in groups_by_position(62, 5):
    ...     print(group[0] + 1, "to", group[-1] + 1)
    17 to 31
    32 to 46
    47 to 62
    1 to 16
    """
    numbers = np.arange(1, n + 1)
    borders = np.quantile(numbers, np.linspace(0, 1, min(max(n // folds, 2), 5)))
    number = np.maximum(np.searchsorted(borders, numbers), 1) - 1
    text = [f"{border:.3g}" for border in borders]
    labels = [f"{'(' if group else '['}{text[group]},{text[group + 1]}]" for group in range(len(borders) - 1)]
    return [np.flatnonzero(number == group) for group in sorted(range(len(labels)), key=labels.__getitem__)]


def multi_folds(n: int, folds: int, repeats: int, random: RRandom) -> list[Split]:
    """Draw the splits of ``createMultiFolds(1:n, k = folds, times = repeats)``.

    Within each group every fold number is repeated as often as it fits, random fold numbers fill the rest, and all are
    shuffled. A group with fewer samples than folds gets different random fold numbers.

    Examples
    --------
    >>> splits = multi_folds(62, 5, 10, RRandom(OUTER_SEED))
    >>> len(splits), [len(test) for _, test in splits[:5]]
    (50, [13, 12, 13, 12, 12])
    """
    groups, splits = groups_by_position(n, folds), []
    for _ in range(repeats):
        fold = np.empty(n, dtype=np.intp)
        for group in groups:
            times, rest = divmod(len(group), folds)
            if not times:
                fold[group] = random.sample(folds, rest)
                continue
            numbers = np.tile(np.arange(folds), times)
            if rest:
                numbers = np.concatenate([numbers, random.sample(folds, rest)])
            fold[group] = numbers[random.sample(len(numbers))]
        splits += [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]
    return splits


def median_squared_distance(X: Array, random: RRandom) -> float:
    """Return m, the median of ‖x − y‖² over ⌊n / 2⌋ random pairs of samples.

    The "median trick" of the paper, the function ``sigest`` of the R package kernlab: the Gaussian kernel is
    exp(−‖x − y‖² / m). Both samples of a pair are drawn with replacement; pairs of equal samples do not count.

    Examples
    --------
    The pairs are the samples 1 and 2, and 5 and 2, so that m is the median of 1 and 225:

    >>> median_squared_distance(np.array([[0.0], [1.0], [4.0], [9.0], [16.0]]), RRandom(3))
    113.0
    """
    count = len(X) // 2
    first, second = random.draw(len(X), count), random.draw(len(X), count)
    squared = np.square(X[first] - X[second]).sum(axis=1)
    return float(np.median(squared[squared > 0]))
