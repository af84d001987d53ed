"""Points that say whose they are, brought together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats

Parts = tuple[Floats, NDArray[np.int64], Floats, tuple[str, ...], Array | None]
"""Values, offsets, weights, ids and labels of bags."""


def numbers_of(frame: Any, columns: list[str]) -> Floats:
    """Columns of a DataFrame as float64; what is missing is NaN.

    Raises
    ------
    InputError
        If there is no column, or one does not hold numbers.
    """
    if not columns:
        raise InputError(
            "the table has no column of numbers that could be coordinates: name some with {columns}",
            columns=Argument("columns"),
        )
    for column in columns:
        if frame.columns.tolist().count(column) > 1:
            raise InputError(f"the table has several columns {column!r}: rename them")
    try:
        return np.stack([frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in columns], axis=1)
    except (TypeError, ValueError):
        wrong = next(name for name in columns if frame[name].dtype.kind not in "biuf")
        raise InputError(
            "column {column!r} does not hold numbers only: name the columns with coordinates by {columns}, or fill "
            "it in",
            column=wrong,
            columns=Argument("columns"),
        ) from None


def grouped(points: Floats, names: Any, weights: Floats | None, labels: Any, what: str) -> Parts:
    """Bags of points in the order in which they first occur.

    Parameters
    ----------
    points, weights
        (points, d), and (points,) or None for ones.
    names, labels
        pandas Series with the name of each point's bag, and with the bag's label or None.
    what
        Where the names come from, for messages.

    Raises
    ------
    InputError
        If a name or label is missing, or a bag has two labels.
    """
    missing = np.flatnonzero(names.isna())
    if len(missing):
        raise InputError(f"row {missing[0]} has no name of a bag in {what} ({len(missing)} such): leave such rows out")
    number: dict[str, int] = {}
    owner = np.array([number.setdefault(str(name), len(number)) for name in names], dtype=np.intp)
    order = np.argsort(owner, kind="stable")
    first = np.unique(owner, return_index=True)[1]
    return (
        points[order],
        np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(number)))]),
        np.ones(len(points)) if weights is None else weights[order],
        tuple(number),
        None if labels is None else _labels(labels, list(number), owner, first),
    )


def _labels(given: Any, bags: list[str], owner: Array, first: Array) -> Array:
    missing = np.flatnonzero(given.isna())
    if len(missing):
        raise InputError(f"row {missing[0]}, of bag {bags[owner[missing[0]]]!r}, has no label: give it one")
    labels: Array = given.to_numpy()
    other = np.flatnonzero(labels != labels[first][owner])
    if len(other):
        bag = owner[other[0]]
        raise InputError(f"bag {bags[bag]!r} has two labels, {labels[first[bag]]!r} and {labels[other[0]]!r}: give one")
    return labels[first]
