"""What the values of ballots mean: scores (the largest is the best), ranks (1 is the best), or items in places."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from distkern.core.rankings import Rankings
from distkern.core.typing import Floats

_PLACE = re.compile(r"(?:rank|place|position|pos|choice|preference|pref|vote|pick)[ _.#-]*(\d+)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)(?:[ _.-]*(?:rank|place|choice|preference|pref|vote|pick))?", re.IGNORECASE)

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
"""Places in words, from the first on."""

_TIES = ("average", "min", "max", "dense")
"""Rules by which tied values are ranked, as `scipy.stats.rankdata` names them."""


def are_places(names: Sequence[str]) -> bool:
    """Whether the names of columns are places, such as rank_1, rank_2, …, whose cells then name items.

    Examples
    --------
    >>> are_places(["rank_1", "rank_2"]), are_places(["Choice 1"]), are_places(["apple", "pear"])
    (True, True, False)
    """
    numbers = sorted(number for name in names if (number := place_number(name)) is not None)
    every = range(len(names))
    return len(names) > 0 and numbers in ([place + 1 for place in every], list(every))


def place_number(name: str) -> int | None:
    """The number of a place in the name of its column; None if the name is not that of a place.

    Examples
    --------
    >>> place_number("Rank 2"), place_number("3rd choice"), place_number("Second"), place_number("pear")
    (2, 3, 2, None)
    """
    if name.strip().lower() in _WORDS:
        return _WORDS.index(name.strip().lower()) + 1
    found = _PLACE.fullmatch(name.strip()) or _ORDINAL.fullmatch(name.strip())
    return int(found[1]) if found else None


def may_be_ranks(values: Floats, partial: bool = False) -> bool:
    """Whether all samples could hold ranks (1 is best). Otherwise they hold scores (the largest is best).

    The k values of a sample may be ranks if they are the ranks of themselves, 1 … k, by some rule for ties. Where some
    of n items have no value, k distinct whole numbers up to n may be ranks too, unless ``partial`` says that items
    without a value come last: then only 1 … k are ranks.

    Examples
    --------
    >>> may_be_ranks(np.array([[1.0, 3.0, 2.0], [1.0, 2.5, 2.5]])), may_be_ranks(np.array([[1.0, 5.0, 2.0]]))
    (True, False)
    >>> may_be_ranks(np.array([[3.0, np.nan, 2.0]])), may_be_ranks(np.array([[3.0, np.nan, 2.0]]), partial=True)
    (True, False)
    """
    n = values.shape[1]
    return all(_are_ranks(row[~np.isnan(row)], n, partial) for row in values)


def _are_ranks(seen: Floats, n: int, partial: bool) -> bool:
    if len(seen) == 0:
        return True
    if seen.min() < 1 or seen.max() > n or not np.array_equal(2 * seen, np.floor(2 * seen)):
        return False
    from scipy.stats import rankdata  # slow to import, and the formats of files are found without it

    if any(np.array_equal(rankdata(seen, method), seen) for method in _TIES):
        return True
    gaps = len(seen) < n and not partial
    return gaps and len(np.unique(seen)) == len(seen) and np.array_equal(seen, np.floor(seen))


def as_scores(ranks: Floats) -> Floats:
    """Convert ranks (1 is best) to scores (the largest is best). Ties stay ties.

    Examples
    --------
    >>> as_scores(np.array([[1.0, 2.0, 3.0]]))
    array([[3., 2., 1.]])
    """
    return Rankings.from_ranks(ranks, kind="interleaving", larger_is_preferred=False).values


def first_items(scores: Floats, items: Sequence[str]) -> tuple[str, ...]:
    """Name the best items of one ballot, several if they are tied; none if it has no value.

    Examples
    --------
    >>> first_items(np.array([2.0, 5.0, np.nan]), ["a", "b", "c"])
    ('b',)
    """
    seen = ~np.isnan(scores)
    return tuple(items[int(k)] for k in np.flatnonzero(seen & (scores == scores[seen].max()))) if seen.any() else ()
