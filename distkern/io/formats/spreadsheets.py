"""Excel: the only sheet of an ``.xlsx`` file, read as a table of texts, cell by cell, as text tables are."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from distkern.core.errors import InputError, MissingExtraError
from distkern.io.blocks import refuse_damage
from distkern.io.format import Format
from distkern.io.formats.text_tables import columns_as, names_as, open_as
from distkern.io.tables import OpenTable, table_of_rows

SPREADSHEET = "an Excel file"
"""Name of the format in messages."""

_ZIP = b"PK\x03\x04"


@contextmanager
def open_sheet(path: Path, sep: str | None = None) -> Iterator[OpenTable]:
    """Open the only sheet that has cells.

    Raises
    ------
    InputError
        If several have, none has, or the file is damaged.
    MissingExtraError
        If openpyxl is not installed.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError.of("reading Excel files", "files") from error
    with path.open("rb") as file:  # by its path, openpyxl asks for a suffix
        with refuse_damage(path.name, SPREADSHEET):
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        filled = [sheet for sheet in book.worksheets if _has_cells(path, sheet)]
        if len(filled) != 1:
            named = ", ".join(repr(sheet.title) for sheet in filled)
            raise InputError(
                f"{path.name!r} has {len(filled)} sheets with cells ({named}): save the one of the cohort in a file of "
                "its own"
                if filled
                else f"{path.name!r} is empty"
            )
        yield table_of_rows(path, _rows(path, filled[0]))


def _has_cells(path: Path, sheet: Any) -> bool:
    return any(any(cell.strip() for cell in row) for row in _rows(path, sheet))


def _rows(path: Path, sheet: Any) -> Iterator[list[str]]:
    with refuse_damage(path.name, SPREADSHEET):
        for row in sheet.iter_rows(values_only=True):
            yield [_text(value) for value in row]


def _text(value: Any) -> str:
    """Write a cell as text; a date as spreadsheets show it, so that the symbols they convert are recognised."""
    if value is None:
        return ""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return f"{value.day}-{value:%b}"
    return str(value).upper() if isinstance(value, bool) else str(value)


def _is_excel(path: Path, head: bytes) -> bool:
    return head.startswith(_ZIP) and (b"[Content_Types].xml" in head or b"xl/" in head)


FORMATS = (
    Format(
        "Excel",
        (".xlsx", ".xlsm"),
        partial(open_as, opens=open_sheet),
        _is_excel,
        samples=None,
        columns=partial(columns_as, opens=open_sheet),
        names=partial(names_as, opens=open_sheet),
    ),
)
