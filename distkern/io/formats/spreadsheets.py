"""Excel: a sheet of an ``.xlsx`` file, read as a table of texts, cell by cell, as text tables are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from distkern.io.format import Format
from distkern.io.formats.text_tables import columns_as, names_as, open_as
from distkern.io.sheets import SUFFIXES, is_excel, rows_of_sheet
from distkern.io.tables import OpenTable, table_of_rows


@contextmanager
def open_sheet(path: Path, sep: str | None = None) -> Iterator[OpenTable]:
    """Open the sheet that a path names, or the only one that has cells, as a table."""
    with rows_of_sheet(path) as rows:
        yield table_of_rows(path, rows)


FORMATS = (
    Format(
        "Excel",
        SUFFIXES,
        partial(open_as, opens=open_sheet),
        lambda path, head: is_excel(head),
        samples=None,
        columns=partial(columns_as, opens=open_sheet),
        names=partial(names_as, opens=open_sheet),
        is_table=True,
    ),
)
