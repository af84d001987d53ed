"""Parquet and Feather: tables with types, read by pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from distkern.core.errors import MissingExtraError
from distkern.io.blocks import refuse_damage
from distkern.io.format import Columns, Format, Opened, ReadOptions
from distkern.io.frames import columns_of_frame, names_of_frame, open_frame


def _reader(function: str, kind: str) -> Callable[[Path], Any]:
    """Make a function that reads a file with a function of pandas."""

    def read(path: Path) -> Any:
        try:
            import pandas as pd
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise MissingExtraError.of(f"reading {kind}", "files") from error
        with refuse_damage(path.name, kind):
            return getattr(pd, function)(path)

    return read


def _format(name: str, suffixes: tuple[str, ...], read: Callable[[Path], Any], *begins: bytes) -> Format:
    def open_path(path: Path, options: ReadOptions) -> Opened:
        return open_frame(path, read(path), options)

    def columns(path: Path, options: ReadOptions) -> Columns:
        return columns_of_frame(path, read(path) if options.samples != "columns" else read(path).T)

    return Format(
        name,
        suffixes,
        open_path,
        lambda path, head: head.startswith(begins),
        samples=None,
        columns=columns,
        names=lambda path, options: names_of_frame(path, read(path)),
    )


FORMATS = (
    _format("Parquet", (".parquet", ".pq"), _reader("read_parquet", "a Parquet file"), b"PAR1"),
    _format("Feather", (".feather",), _reader("read_feather", "a Feather file"), b"ARROW1", b"FEA1"),
)
