"""Lists of pairs of features, by names or by positions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.containers import as_frame, plain_values
from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import as_path
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Array, Indices
from distkern.core.validation import Names
from distkern.io.tables import header_and_rows, open_text

PARQUET = (".parquet", ".pq")
COLUMNS = ("first", "second")
"""Columns of a table of pairs; they need no such names if the table has two columns."""


def read_pairs(pairs: Any, first: Names, second: Names, counts: tuple[int, int]) -> tuple[Indices, Indices]:
    """Positions of the first and of the second feature of each pair, (q,) each.

    Parameters
    ----------
    pairs
        (q, 2) names or positions: an array, a list of pairs, a table with the columns ``first`` and ``second`` or with
        two columns, or the path of such a table: text with a header, or Parquet.
    first, second
        Names of the features that each column refers to; None if they have positions only.
    counts
        Number of features that each column refers to.

    Raises
    ------
    InputError
        If the table has other columns, a name is unknown or names several features, or a position is outside.

    Examples
    --------
    >>> read_pairs([("MYC", "TP53")], ("TP53", "MYC"), ("TP53", "MYC"), (2, 2))
    (array([1]), array([0]))
    """
    left, right = _columns(pairs)
    return _positions(left, first, counts[0], "first"), _positions(right, second, counts[1], "second")


def _columns(pairs: Any) -> tuple[Array, Array]:
    """Take the two columns out of any form of a list."""
    if isinstance(pairs, (str, os.PathLike)):
        return _of_file(as_path(pairs))
    if hasattr(pairs, "columns") or hasattr(pairs, "to_pandas"):
        frame = as_frame(pairs, "pairs")
        names = list(map(str, frame.columns))
        left, right = _named(names, "pairs")
        return plain_values(frame.iloc[:, left]), plain_values(frame.iloc[:, right])
    values = np.asarray(plain_values(pairs, "pairs"))
    if values.size == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    if values.ndim != 2 or values.shape[1] != 2:
        raise InputError(f"pairs has the shape {values.shape}: give a row of two names or positions for each pair")
    return values[:, 0], values[:, 1]


def _named(names: Sequence[str], what: str) -> tuple[int, int]:
    """Positions of the two columns of a table."""
    if all(names.count(name) == 1 for name in COLUMNS):
        return names.index(COLUMNS[0]), names.index(COLUMNS[1])
    if len(names) == 2:
        return 0, 1
    raise InputError(
        f"{what} has the columns {', '.join(map(repr, names[:10]))}: give two columns, 'first' and 'second'"
    )


def _of_file(path: Path) -> tuple[Array, Array]:
    if not path.exists():
        raise InputError(f"there is no file of pairs {str(path)!r}: check the path")
    if path.name.lower().endswith(PARQUET):
        try:
            import pandas as pd

            return _columns(pd.read_parquet(path))
        except ImportError as error:
            raise MissingExtraError.of("reading Parquet files", "parquet") from error
    with open_text(path) as file:
        names, rows = header_and_rows(path, file, None)
        left, right = _named(names, repr(path.name))
        cells = [(line[left].strip(), line[right].strip()) for line in rows]
    texts = np.array(cells, dtype=object).reshape(-1, 2)
    return texts[:, 0], texts[:, 1]


def _positions(column: Array, names: Names, count: int, which: str) -> Indices:
    """Positions of the features that a column refers to."""
    if column.dtype.kind in "iu":
        wrong = (column < 0) | (column >= count)
        if wrong.any():
            raise InputError(
                f"the {which} of pair {int(np.flatnonzero(wrong)[0])} is {column[wrong][0]}, and there are {count:,} "
                "features: give positions from 0 on, or names"
            )
        return column.astype(np.intp)
    if column.dtype.kind not in "OUT":
        raise InputError(f"pairs holds {column.dtype} values: give names of features, or their positions as integers")
    known = tuple(map(str, range(count))) if names is None else names
    where = {name: position for position, name in enumerate(known)}
    found = np.fromiter((where.get(str(name), -1) for name in column.tolist()), dtype=np.intp, count=len(column))
    if (found < 0).any():
        pair = int(np.flatnonzero(found < 0)[0])
        name = str(column[pair])
        unknown = len({str(column[k]) for k in np.flatnonzero(found < 0).tolist()})
        raise InputError(
            f"the {which} of pair {pair} is {name!r}, which is no feature ({unknown:,} such names)"
            f"{did_you_mean(name, known) or ': give names of features, or their positions'}"
        )
    if len(where) < len(known):
        _refuse_repeated(found, known)
    return found


def _refuse_repeated(found: Indices, known: Sequence[str]) -> None:
    times = Counter(known)
    repeated = next((known[k] for k in np.unique(found).tolist() if times[known[k]] > 1), None)
    if repeated is not None:
        raise InputError(
            f"{times[repeated]} features are called {repeated!r}: give positions, or make the names unique"
        )
