"""Bags from files with one row per point: text tables, Parquet and AnnData."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.bags import Bags, numbers_of
from distkern.core.errors import InputError, MissingExtraError
from distkern.core.events import Listener, Progress, silent
from distkern.core.sentences import Argument
from distkern.io.blocks import refuse_damage
from distkern.io.foreign import head_of, refuse_foreign
from distkern.io.id_columns import is_id_column
from distkern.io.tables import MISSING, LostDigitsError, header_and_rows, is_number, numbers_of_texts, open_text

TEXT = (".csv", ".tsv", ".txt", ".tab")
PARQUET = (".parquet", ".pq")

LINES = 2**16
"""Lines read at a time."""


def bags_from_file(
    path: Path,
    by: str,
    *,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    label: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    sep: str | None = None,
    on_event: Listener = silent,
) -> tuple[Bags, list[str] | None]:
    """Read points with the names of their bags, and group them into bags.

    Parameters
    ----------
    path
        A text table (``.csv``, ``.tsv``, ``.txt``, ``.tab``, also ``.gz``), a ``.parquet`` or an ``.h5ad`` file.
    by
        Column (of ``obs``) with the name of the bag of the point.
    columns
        Columns with the coordinates, or features of AnnData; by default all other numeric columns, or all features.
    weight, label
        Columns (of ``obs``) with the weight of the point, and with the label of the bag; labels of a text table are
        texts.
    use_rep, layer
        Key of ``obsm`` or of ``layers`` of AnnData with the coordinates.
    sep
        Separator of a text table; by default the one in its header.
    on_event
        A function of progress events.

    Returns
    -------
    The bags, and the names of the coordinates or None.

    Raises
    ------
    InputError
        If the file does not exist, is of another kind, or cannot be read as such bags.
    """
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: check the path")
    refuse_foreign(path, head_of(path))
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".h5ad"):
        return _from_h5ad(path, by, columns, weight, label, use_rep, layer)
    if not name.endswith((*TEXT, *PARQUET)):
        raise InputError(
            f"points cannot be read from {path.name!r}: its name must end in {', '.join((*TEXT, *PARQUET))} or .h5ad"
        )
    if use_rep is not None or layer is not None:
        raise InputError(
            "{file!r} is a table, which has neither obsm nor layers: name its columns with {columns}",
            file=path.name,
            columns=Argument("columns"),
        )
    reader = _parquet if name.endswith(PARQUET) else _text
    frame, texts = reader(path, {by, label}, sep, on_event)
    for column, nothing in ((by, [""]), (label, list(MISSING))):
        if column in frame.columns and frame[column].dtype == object:
            bare = frame[column].map(lambda value: value.strip() if isinstance(value, str) else value)
            frame[column] = bare.mask(bare.isin(nothing))
    for column in (*(columns or ()), weight):
        if column in texts:
            raise _not_numbers(path, texts[column], named=True)
    if columns is None:
        columns = [name for name in frame.select_dtypes("number").columns if name not in (by, weight, label)]
        _refuse_unclear(path, frame, texts, columns)
    return Bags.from_table(frame, by, columns, weight, label), list(map(str, columns))


def _from_h5ad(
    path: Path,
    by: str,
    columns: Sequence[str] | None,
    weight: str | None,
    label: str | None,
    use_rep: str | None,
    layer: str | None,
) -> tuple[Bags, list[str] | None]:
    try:
        import anndata
    except ImportError as error:
        raise MissingExtraError.of("reading .h5ad files", "io") from error
    with refuse_damage(path.name, "an .h5ad file"):
        adata = anndata.read_h5ad(path, backed=None if use_rep is None else "r")
    if columns is not None:
        if use_rep is not None:
            raise InputError(
                "an array in obsm has no features to choose from: leave out {columns}", columns=Argument("columns")
            )
        unknown = [column for column in columns if column not in adata.var_names]
        if unknown:
            raise InputError(f"{path.name!r} has no feature {unknown[0]!r}: check the names in var")
        adata = adata[:, list(columns)]
    try:
        with refuse_damage(path.name, "an .h5ad file"):
            bags = Bags.from_anndata(adata, by, use_rep=use_rep, layer=layer, weight=weight, label=label)
    finally:
        if adata.isbacked:
            adata.file.close()
    return bags, None if use_rep is not None else list(map(str, adata.var_names))


def _parquet(path: Path, used: set[str | None], sep: str | None, on_event: Listener) -> tuple[Any, dict[str, _Column]]:
    """Read a Parquet file; return the table, and its columns of text that are not used."""
    try:
        import pandas as pd

        with refuse_damage(path.name, "a Parquet file"):
            frame = pd.read_parquet(path)
    except ImportError as error:
        raise MissingExtraError.of("reading Parquet files", "parquet") from error
    texts = {}
    for name in frame.select_dtypes(["object", "string"]).columns:
        column = _Column(str(name), path, is_text=False)
        column.add([str(value) for value in frame[name].dropna()])
        if column.text and name not in used:
            texts[str(name)] = column
    return frame, texts


def _text(path: Path, used: set[str | None], sep: str | None, on_event: Listener) -> tuple[Any, dict[str, _Column]]:
    """Read a text table; return its columns of numbers, with the used ones of text, and its other columns of text."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("reading tables of points", "io") from error
    size = path.stat().st_size
    with open_text(path) as file:
        names, rows = header_and_rows(path, file, sep, skip_spaces=True)
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise InputError(f"{path.name!r} has several columns {repeated[0]!r}: make the names unique")
        for unknown in used - {None, *names}:
            raise InputError(f"the table has no column {unknown!r}; it has {', '.join(filter(None, names))}")
        columns = [_Column(name, path, name in used) for name in names]
        for lines in _lines(path, rows):
            for column, cells in zip(columns, zip(*lines, strict=True), strict=True):
                column.add(cells)
            on_event(Progress("read points", os.lseek(file.fileno(), 0, os.SEEK_CUR), size))
    if not columns[0].count:
        raise InputError(f"{path.name!r} holds no points: it has a header only")
    named = [column for column in columns if column.name]  # the one without a name has names of rows
    frame = pd.DataFrame({column.name: column.values() for column in named if not column.text})
    return frame, {column.name: column for column in named if column.text}


def _lines(path: Path, rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """Yield some lines at a time."""
    try:
        while lines := list(islice(rows, LINES)):
            yield lines
    except InputError as error:
        if "cells" not in error.fields:
            raise
        cells, width = error.fields["cells"], error.fields["columns"]
        more = "more" if cells > width else "fewer"
        raise InputError(
            f"{path.name!r} cannot be read as a table of points: lines, such as line {error.fields['line']}, have "
            f"{more} cells than its header has names; correct the table"
        ) from error


class _Column:
    """The cells of a column of a text table, which are added some lines at a time.

    ``text`` is the first text in a column that could hold numbers, and ``has_numbers`` whether it has a number too.
    """

    def __init__(self, name: str, path: Path, is_text: bool) -> None:
        self.name, self._path, self._is_text = name, path, is_text
        self.count, self.text, self.has_numbers = 0, "", False
        self._parts: list[Any] = []

    def add(self, cells: Sequence[str]) -> None:
        """Add cells."""
        self.count += len(cells)
        if self._is_text:
            self._parts.append(cells)
        else:
            self._add_numbers(cells)

    def _add_numbers(self, cells: Sequence[str]) -> None:
        try:
            numbers = numbers_of_texts(cells)
        except LostDigitsError as error:
            raise InputError(
                f"column {self.name!r} of {self._path.name!r} has the number {cells[error.position].strip()}, which "
                "float64 cannot tell from other numbers: rescale the column"
            ) from error
        except ValueError:
            self.text = self.text or next(cell for cell in cells if not is_number(cell))
            self._parts = []
            present = (cell for cell in cells if cell.strip() not in MISSING)
            self.has_numbers = self.has_numbers or any(map(is_number, present))
            return
        self.has_numbers = self.has_numbers or not np.isnan(numbers).all()
        if not self.text:
            self._parts.append(numbers)

    def values(self) -> Any:
        """Return all cells: numbers, or texts if the column is one of texts."""
        return [cell for part in self._parts for cell in part] if self._is_text else np.concatenate(self._parts)


def _not_numbers(path: Path, column: _Column, *, named: bool) -> InputError:
    holds = "does not hold numbers only but" if named else f"of {path.name!r} holds numbers and also"
    return InputError(
        "column {column!r} {holds} {text!r}: correct it, or name the columns with coordinates by {columns}",
        column=column.name,
        holds=holds,
        text=column.text,
        columns=Argument("columns"),
    )


def _refuse_unclear(path: Path, frame: Any, texts: dict[str, _Column], columns: Sequence[str]) -> None:
    """Refuse a column with numbers and texts, which may be a coordinate with errors, and one of ids."""
    for column in texts.values():
        if column.has_numbers:
            raise _not_numbers(path, column, named=False)
    for name in columns:
        if is_id_column(str(name), numbers_of(frame, [name])[:, 0]):
            raise InputError(
                "column {column!r} of {file!r} seems to hold ids, not a coordinate: name the columns with coordinates "
                "by {columns}",
                column=name,
                file=path.name,
                columns=Argument("columns"),
            )
