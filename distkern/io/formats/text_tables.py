"""Text tables of numbers with names in the first line and the first column: CSV, TSV and their like."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from distkern.io.compression import ENDINGS as COMPRESSED
from distkern.io.format import Columns, Format, Opened, ReadOptions
from distkern.io.id_columns import refuse_id_columns
from distkern.io.tables import (
    SEPARATORS,
    OpensTable,
    check_labels,
    head_text,
    open_table,
    read_names,
    read_numbers,
    read_texts,
    unclear_orientation,
)

ENDINGS = (".csv", ".tsv", ".txt", ".tab")


def open_as(path: Path, options: ReadOptions, opens: OpensTable = open_table) -> Opened:
    """Read a table whose cells are texts; ``opens`` gives them."""
    if options.samples is None:
        raise unclear_orientation(path, *read_names(path, options.sep, opens))
    table = read_numbers(path, samples=options.samples, sep=options.sep, label=options.label, opens=opens)
    values, ids, features = table.values, table.rows, table.columns
    if options.samples == "columns":
        values, ids, features = np.ascontiguousarray(values.T), features, ids
    refuse_id_columns(path, values, ids, features, options.samples)
    if options.label is None or table.labels is None:
        return Opened(values, ids, features)
    check_labels(table.labels, ids, path.name)
    return Opened(values, ids, features, {options.label: table.labels})


def columns_as(path: Path, options: ReadOptions, opens: OpensTable = open_table) -> Columns:
    """Read the texts of a table by sample."""
    names, rows = read_texts(path, options.sep, opens)
    if options.samples == "columns":
        return {label: dict(zip(names, cells, strict=True)) for label, cells in rows.items()}
    return {name: {row: cells[k] for row, cells in rows.items()} for k, name in enumerate(names)}


def names_as(path: Path, options: ReadOptions, opens: OpensTable = open_table) -> tuple[list[str], list[str]]:
    """Read the names of the rows and of the columns of a table."""
    return read_names(path, options.sep, opens)


def _is_table(path: Path, head: bytes) -> bool:
    """Whether the second line has as many cells as the header, or one more, as R writes tables."""
    lines = [line for line in head_text(head).splitlines() if line.strip()][:2]
    if len(lines) < 2:
        return False
    sep = max(SEPARATORS, key=lines[0].count)
    header, row = (line.count(sep) for line in lines)
    return header > 0 and row - header in (0, 1)


TABLE = Format(
    "text table",
    tuple(f"{ending}{compressed}" for ending in ENDINGS for compressed in COMPRESSED),
    open_as,
    _is_table,
    general=True,
    samples=None,
    columns=columns_as,
    names=names_as,
    is_table=True,
)
FORMATS = (TABLE,)
