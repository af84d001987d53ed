"""Orderings, lists of items with the best first, converted to a value for each item; for `Rankings.from_orderings`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from distkern.core.containers import plain_values
from distkern.core.errors import InputError, InputTypeError
from distkern.core.names import is_missing
from distkern.core.parameters import entries, is_sequence
from distkern.core.typing import Array, Floats

NOT_RANKED = -1
"""Padding of an ordering after its last ranked item."""

MOST_ITEMS = 2**31 - 1
"""Most items without names; a larger position is the number of something else."""


def placements(orderings: Any, names: tuple[str, ...] | None) -> tuple[Floats, tuple[str, ...]]:
    """Return the placement of each item in each ordering, and the names of the items.

    The placement of the best of n items is n, the next n − 1, and so on; NaN if the item is not ranked.

    Raises
    ------
    InputError
        If an ordering repeats an item, names an unknown one, or continues after padding; the message names its row.

    Examples
    --------
    >>> placements([["b", "a"], ["a", None]], None)
    (array([[ 1.,  2.],
            [ 2., nan]]), ('a', 'b'))
    """
    if hasattr(orderings, "shape"):
        orderings = plain_values(orderings, "the orderings")
    if isinstance(orderings, np.ndarray) and orderings.ndim == 2 and orderings.dtype.kind in "iu":
        values = _from_positions(orderings, None if names is None else len(names))
    else:
        values, names = _from_lists(_as_lists(orderings), names)
    return values, tuple(map(str, range(values.shape[1]))) if names is None else names


def _from_positions(orderings: Array, n_items: int | None) -> Floats:
    """Placements from a rectangular array of item positions, padded with −1."""
    orderings = orderings.astype(np.int64)
    if orderings.size == 0:
        raise InputError("there are no orderings")
    n = _number_of_items(int(orderings.max())) if n_items is None else n_items
    ranked = orderings != NOT_RANKED
    wrong = ranked & ((orderings < 0) | (orderings >= n))
    if wrong.any():
        row = int(np.argwhere(wrong)[0, 0])
        raise _unknown(row, int(orderings[wrong][0]), n)
    gap = ranked[:, 1:] & ~ranked[:, :-1]
    if gap.any():
        raise _gap(int(np.argwhere(gap)[0, 0]))
    rows, ranks = np.nonzero(ranked)
    cells = rows * n + orderings[rows, ranks]
    times = np.bincount(cells, minlength=len(orderings) * n)
    if n and times.max(initial=0) > 1:
        row, item = divmod(int(cells[times[cells] > 1][0]), n)
        raise InputError(f"ordering {row} ranks item {item} twice: rank each item once")
    values = np.full((len(orderings), n), np.nan)
    values[rows, orderings[rows, ranks]] = n - ranks
    return values


def _as_lists(orderings: Any) -> list[list[Any]]:
    if isinstance(orderings, (str, bytes)) or not is_sequence(orderings):
        raise InputTypeError("orderings must be a list of lists of items, best first")
    lists = []
    for row, ordering in enumerate(orderings):
        if isinstance(ordering, (str, bytes)) or not is_sequence(ordering):
            raise InputError(f"ordering {row} is {ordering!r}; it must be a list of items, best first")
        lists.append(entries(ordering, f"ordering {row}"))
    if not lists:
        raise InputError("there are no orderings")
    return lists


def _from_lists(orderings: list[list[Any]], names: tuple[str, ...] | None) -> tuple[Floats, tuple[str, ...] | None]:
    """Placements from lists of names, positions and groups of tied items."""
    groups = [_groups(row, ordering) for row, ordering in enumerate(orderings)]
    entries = [item for ordering in groups for group in ordering for item in group]
    if names is None and any(isinstance(item, str) for item in entries):
        names = tuple(sorted({item for item in entries if isinstance(item, str)}))
    n = len(names) if names is not None else _number_of_items(max((int(item) for item in entries), default=-1))
    position = {name: index for index, name in enumerate(names or ())}
    values = np.full((len(orderings), n), np.nan)
    for row, ordering in enumerate(groups):
        before = 0
        for group in ordering:
            for item in group:
                index = position.get(item, -1) if isinstance(item, str) else item
                if not 0 <= index < n:
                    raise _unknown(row, item, n)
                if not math.isnan(values[row, index]):
                    raise InputError(f"ordering {row} ranks item {item!r} twice: rank each item once")
                values[row, index] = n - before - (len(group) - 1) / 2
            before += len(group)
    return values, names


def _number_of_items(last: int) -> int:
    """Return the number of items without names from the largest position in the orderings."""
    if last > MOST_ITEMS:
        raise InputError(f"an ordering ranks position {last}, and there are at most {MOST_ITEMS:,} items: name them")
    return last + 1


def _groups(row: int, ordering: list[Any]) -> list[list[int | str]]:
    """Return the groups of tied items of one ordering, without padding."""
    groups: list[list[int | str]] = []
    ended = False
    for entry in ordering:
        members = [entry] if isinstance(entry, str) or not is_sequence(entry) else list(entry)
        if len(members) == 1 and _is_padding(members[0]):
            ended = True
            continue
        if ended:
            raise _gap(row)
        groups.append([_item(row, member) for member in members])
    return groups


def _is_padding(entry: Any) -> bool:
    if is_missing(entry):
        return True
    return not isinstance(entry, str) and entry == NOT_RANKED


def _item(row: int, entry: Any) -> int | str:
    if isinstance(entry, str):
        return str(entry)
    if isinstance(entry, (int, np.integer)) or (isinstance(entry, (float, np.floating)) and entry.is_integer()):
        return int(entry)
    raise InputError(f"ordering {row} contains {entry!r}, which is neither the name nor the position of an item")


def _unknown(row: int, item: Any, n: int) -> InputError:
    if isinstance(item, str):
        return InputError(f"ordering {row} ranks {item!r}, which is not among the items: add it or correct the name")
    return InputError(
        f"ordering {row} ranks position {item}, but positions of the {n} items go from 0 to {n - 1}: subtract 1 if the "
        "items are numbered from 1"
    )


def _gap(row: int) -> InputError:
    return InputError(f"ordering {row} has an item after padding (−1, None or NaN): put all items first, best to worst")
