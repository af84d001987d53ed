"""Text tables of numbers with names in the first line and the first column: CSV, TSV and their like."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from distkern.core.errors import InputError
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.io.compression import ENDINGS as COMPRESSED
from distkern.io.compression import beginning_of
from distkern.io.format import Columns, Format, Opened, ReadOptions
from distkern.io.id_columns import refuse_id_columns
from distkern.io.tables import SEPARATORS, beginning, check_labels, read_names, read_numbers, read_texts

ENDINGS = (".csv", ".tsv", ".txt", ".tab")


def _open_table(path: Path, options: ReadOptions) -> Opened:
    if options.samples is None:
        rows, columns = read_names(path, options.sep)
        raise InputError(
            "{file!r} has {rows:,} rows ({first_rows}) and {columns:,} columns ({first_columns}): say which are the "
            "samples with {in_rows} or {in_columns}{reader}",
            file=path.name,
            rows=len(rows),
            first_rows=beginning(rows),
            columns=len(columns),
            first_columns=beginning(columns),
            in_rows=Argument("samples", "rows"),
            in_columns=Argument("samples", "columns"),
            reader=OptionalPart(" of distkern.{call}", call=Call("read_expression")),
        )
    table = read_numbers(path, samples=options.samples, sep=options.sep, label=options.label)
    values, ids, features = table.values, table.rows, table.columns
    if options.samples == "columns":
        values, ids, features = np.ascontiguousarray(values.T), features, ids
    refuse_id_columns(path, values, ids, features, options.samples)
    if options.label is None or table.labels is None:
        return Opened(values, ids, features)
    check_labels(table.labels, ids, path.name)
    return Opened(values, ids, features, {options.label: table.labels})


def _columns(path: Path, options: ReadOptions) -> Columns:
    names, rows = read_texts(path, options.sep)
    if options.samples == "columns":
        return {label: dict(zip(names, cells, strict=True)) for label, cells in rows.items()}
    return {name: {row: cells[k] for row, cells in rows.items()} for k, name in enumerate(names)}


def _is_table(path: Path, head: bytes) -> bool:
    """Whether the second line has as many cells as the header, or one more, as R writes tables."""
    lines = [line for line in _text(head).splitlines() if line.strip()][:2]
    if len(lines) < 2:
        return False
    sep = max(SEPARATORS, key=lines[0].count)
    header, row = (line.count(sep) for line in lines)
    return header > 0 and row - header in (0, 1)


def _text(head: bytes) -> str:
    """Decode the beginning of a text file, which may be compressed; empty if it is no text."""
    text = beginning_of(head)
    try:
        return "" if b"\0" in text else text.decode()
    except UnicodeDecodeError as error:  # the last character may be incomplete
        return text[: error.start].decode() if len(text) - error.start < 4 else ""


TABLE = Format(
    "text table",
    tuple(f"{ending}{compressed}" for ending in ENDINGS for compressed in COMPRESSED),
    _open_table,
    _is_table,
    general=True,
    samples=None,
    columns=_columns,
)
FORMATS = (TABLE,)
