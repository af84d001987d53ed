"""A pandas DataFrame from a file as a cohort: its first column, or its index, holds the names of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.containers import numbers
from distkern.core.errors import InputError
from distkern.core.names import checked_names, is_missing
from distkern.core.sentences import Argument, OptionalPart
from distkern.io.format import Columns, Opened, ReadOptions
from distkern.io.id_columns import refuse_id_columns
from distkern.io.tables import check_labels, unclear_orientation


def named(path: Path, frame: Any) -> Any:
    """Give the rows their names: those of the index, or the first column if it holds texts; as text.

    Examples
    --------
    >>> import pandas as pd
    >>> named(Path("a.parquet"), pd.DataFrame({"gene": ["TP53", "MYC"], "s1": [1.0, 2.0]})).index.tolist()
    ['TP53', 'MYC']
    """
    if not len(frame) or not frame.shape[1]:
        raise InputError(
            f"{path.name!r} contains no numbers: it has {len(frame)} rows and {frame.shape[1]} columns of them"
        )
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        raise InputError(f"the rows or columns of {path.name!r} have names of several levels: save one name for each")
    if frame.index.dtype.kind in "iu" and frame.shape[1] and not _is_number(frame.iloc[:, 0]):
        frame = frame.set_index(frame.columns[0])
    frame.index = checked_names(
        ["" if is_missing(name) else str(name).strip() for name in frame.index], "row", path.name
    )
    frame.columns = checked_names([str(name).strip() for name in frame.columns], "column", path.name)
    return frame


def names_of_frame(path: Path, frame: Any) -> tuple[list[str], list[str]]:
    """Return the names of the rows and of the columns."""
    known = named(path, frame)
    return list(known.index), list(known.columns)


def open_frame(path: Path, frame: Any, options: ReadOptions) -> Opened:
    """View a frame as a cohort; ``options`` say which are the samples, and the column of labels.

    Raises
    ------
    InputError
        If nobody says which are the samples, a column holds texts, or there is no such column of labels.
    """
    frame = named(path, frame)
    if options.samples is None:
        raise unclear_orientation(path, list(frame.index), list(frame.columns))
    labels = None
    if options.label is not None:
        if options.samples == "columns" or options.label not in frame:
            raise InputError(
                "{file!r} has no column {label!r} with labels of samples: give the file that holds them as {labels}",
                file=path.name,
                label=options.label,
                labels=Argument("labels"),
            )
        labels = _texts(frame.pop(options.label))
        check_labels(labels, list(frame.index), path.name)
    _refuse_texts(path, frame, options)
    values = numbers(frame, repr(path.name))
    ids, features = list(frame.index), list(frame.columns)
    if options.samples == "columns":
        values, ids, features = np.ascontiguousarray(values.T), features, ids
    refuse_id_columns(path, values, ids, features, options.samples)
    return Opened(values, ids, features, {} if labels is None else {str(options.label): labels})


def columns_of_frame(path: Path, frame: Any) -> Columns:
    """Return the columns as texts by name of the row."""
    frame = named(path, frame)
    return {name: dict(zip(frame.index, _texts(frame[name]), strict=True)) for name in frame}


def rows_of_frame(path: Path, frame: Any) -> Iterator[list[str]]:
    """Yield the header and the rows of a frame as texts; an index that is no count of the rows is the first column.

    Examples
    --------
    >>> import pandas as pd
    >>> list(rows_of_frame(Path("a.parquet"), pd.DataFrame({"ann": [1.0, None], "bob": ["x", "y"]})))
    [['ann', 'bob'], ['1', 'x'], ['', 'y']]
    """
    import pandas as pd

    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        raise InputError(f"the rows or columns of {path.name!r} have names of several levels: save one name for each")
    columns = [(str(name), frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    if not (isinstance(frame.index, pd.RangeIndex) and frame.index.name is None):
        columns.insert(0, (str(frame.index.name or ""), frame.index))
    yield [name for name, _ in columns]
    yield from map(list, zip(*(_texts(cells) for _, cells in columns), strict=True))


def _refuse_texts(path: Path, frame: Any, options: ReadOptions) -> None:
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if not _is_number(column):
            text = next((value for value in column if not is_missing(value)), "")
            hint = OptionalPart("; if it holds labels write {label}", label=Argument("label", name))
            raise InputError(
                "column {column!r} of {file!r} holds text, such as {text!r}: take it out, and keep one column of names"
                "{hint}",
                column=name,
                file=path.name,
                text=str(text),
                hint=hint if options.samples == "rows" else "",
            )


def _is_number(column: Any) -> bool:
    """Whether a column holds numbers, also as objects, or nothing."""
    if getattr(column.dtype, "kind", "O") in "biuf":
        return True
    return column.dtype == object and all(
        is_missing(value) or isinstance(value, (int, float, np.number)) for value in column
    )


def _texts(column: Any) -> list[str]:
    """Texts of a column; whole numbers have no decimal point, as in R."""
    whole = (int(value) if isinstance(value, float) and value.is_integer() else value for value in column)
    return ["" if is_missing(value) else str(value) for value in whole]
