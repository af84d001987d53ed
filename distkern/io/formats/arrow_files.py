"""Parquet and Feather as cohorts: tables with names in an index or in the first column."""

from __future__ import annotations

from pathlib import Path

from distkern.io.columnar import COLUMNAR, Columnar
from distkern.io.format import Columns, Format, Opened, ReadOptions
from distkern.io.frames import columns_of_frame, names_of_frame, open_frame


def _format(of: Columnar) -> Format:
    def open_path(path: Path, options: ReadOptions) -> Opened:
        return open_frame(path, of.read(path), options)

    def columns(path: Path, options: ReadOptions) -> Columns:
        return columns_of_frame(path, of.read(path) if options.samples != "columns" else of.read(path).T)

    return Format(
        of.name,
        of.suffixes,
        open_path,
        lambda path, head: head.startswith(of.begins),
        samples=None,
        columns=columns,
        names=lambda path, options: names_of_frame(path, of.read(path)),
        is_table=True,
    )


FORMATS = tuple(map(_format, COLUMNAR))
