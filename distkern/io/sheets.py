"""Sheets of Excel files as rows of texts; a path such as ``book.xlsx#tumours`` names one sheet of several."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.suggest import did_you_mean
from distkern.io.blocks import refuse_damage

SPREADSHEET = "an Excel file"
"""Name of the format in messages."""

SUFFIXES = (".xlsx", ".xlsm")

_ZIP = b"PK\x03\x04"
_SHEET = re.compile(r"(.+\.xls[xm])#(.+)", re.I | re.S)


def file_and_sheet(path: Path) -> tuple[Path, str | None]:
    """Divide a path into that of an Excel file and the name of a sheet; None if it names no sheet.

    Examples
    --------
    >>> file_and_sheet(Path("book.xlsx#tumours"))[1], file_and_sheet(Path("book.xlsx"))[1]
    ('tumours', None)
    """
    found = _SHEET.fullmatch(path.name)
    if found is None or path.exists():
        return path, None
    return path.with_name(found[1]), found[2]


def is_excel(head: bytes) -> bool:
    """Whether a file is one of Excel, by its first bytes."""
    return head.startswith(_ZIP) and (b"[Content_Types].xml" in head or b"xl/" in head)


@contextmanager
def rows_of_sheet(path: Path) -> Iterator[Iterator[list[str]]]:
    """Open the sheet that a path names, or else the only one that has cells; yield its rows as texts.

    Raises
    ------
    InputError
        If several sheets have cells and none is named, none has, there is no such sheet, or the file is damaged.
    MissingExtraError
        If openpyxl is not installed.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError.of("reading Excel files", "files") from error
    book_path, name = file_and_sheet(path)
    with book_path.open("rb") as file:  # by its path, openpyxl asks for a suffix
        with refuse_damage(path.name, SPREADSHEET):
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        yield _rows(path, _named(path, book, name) if name is not None else _only(path, book))


def _named(path: Path, book: Any, name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name not in sheets:
        listed = ", ".join(map(repr, sheets)) or "none"
        raise InputError(f"{path.name!r} names no sheet of its file: it has {listed}{did_you_mean(name, [*sheets])}")
    return sheets[name]


def _only(path: Path, book: Any) -> Any:
    filled = [sheet for sheet in book.worksheets if any(_has_cells(row) for row in _rows(path, sheet))]
    if not filled:
        raise InputError(f"{path.name!r} is empty")
    if len(filled) > 1:
        named = ", ".join(repr(sheet.title) for sheet in filled)
        raise InputError(
            f"{path.name!r} has {len(filled)} sheets with cells ({named}): name one of them after a #, as in "
            f"{f'{path.name}#{filled[0].title}'!r}"
        )
    return filled[0]


def _has_cells(row: list[str]) -> bool:
    return any(cell.strip() for cell in row)


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
