"""A table in a file of any kind as rows of texts: text, Excel, Parquet and Feather."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from distkern.io.columnar import columnar_of
from distkern.io.foreign import head_of
from distkern.io.frames import rows_of_frame
from distkern.io.sheets import file_and_sheet, is_excel, rows_of_sheet
from distkern.io.tables import numbered_rows, numbered_table, open_text

Texts = tuple[list[str], Iterator[tuple[int, list[str]]], TextIO | None]
"""Names of the columns, the number and the cells of each row, and the file if it is one of text."""


def is_typed_table(head: bytes) -> bool:
    """Whether a file is a table of Excel, Parquet or Feather, by its first bytes."""
    return is_excel(head) or columnar_of(head) is not None


def columns_of_table(path: Path, sep: str | None) -> list[str]:
    """Read the names of the columns of a table; see `table_of_texts`."""
    columnar = columnar_of(head_of(file_and_sheet(path)[0]))
    if columnar is not None:
        return columnar.columns(path)
    with table_of_texts(path, sep) as (names, _, _):
        return names


@contextmanager
def table_of_texts(path: Path, sep: str | None) -> Iterator[Texts]:
    """Open a table; see `distkern.io.tables.numbered_rows`.

    Raises
    ------
    InputError
        If it cannot be read as a table.
    MissingExtraError
        If what its kind needs is not installed.
    """
    head = head_of(file_and_sheet(path)[0])
    columnar = columnar_of(head)
    if columnar is not None:
        yield *numbered_table(path, rows_of_frame(path, columnar.read(path))), None
    elif is_excel(head):
        with rows_of_sheet(path) as rows:
            yield *numbered_table(path, rows), None
    else:
        with open_text(path) as file:
            yield *numbered_rows(path, file, sep), file
