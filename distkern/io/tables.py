"""Readers of text tables with names of rows and columns, which never change a name.

Spreadsheets and data-frame readers convert names such as ``NA``, ``001``, ``TRUE`` or ``2310009E13``. Here the header
and the first column are always text, and only the other cells are numbers. Spaces around a name are removed.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np

from distkern.core.errors import InputError
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Floats

Orientation = Literal["rows", "columns"]

MISSING = frozenset({"", "NA", "NaN", "nan"})
"""Texts of a cell that has no value."""

GZIP = b"\x1f\x8b"
SEPARATORS = ("\t", ",", ";")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class Table:
    """A text table: numbers, names of rows and columns, and the labels from one of its rows or columns."""

    values: Floats
    rows: list[str]
    columns: list[str]
    labels: list[str] | None = None


def read_numbers(path: Path, *, samples: Orientation, sep: str | None = None, label: str | None = None) -> Table:
    r"""Read a table of numbers whose samples are rows or columns; ``label`` names the column or row of labels.

    Missing cells (empty, ``NA``, ``NaN``) become NaN.

    Raises
    ------
    InputError
        If a cell is not a finite number, a line and the header differ in length, or ``label`` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "table.tsv")
    ...     _ = file.write_text("gene\ts1\ts2\nNA\t1\t2.5\n001\t\t4\nclass\tA\tB\n")
    ...     table = read_numbers(file, samples="columns", label="class")
    >>> table.rows, table.columns, table.labels
    (['NA', '001'], ['s1', 's2'], ['A', 'B'])
    >>> table.values
    array([[1. , 2.5],
           [nan, 4. ]])
    """
    label = None if label is None else label.strip()
    rows: list[str] = []
    lines: list[Floats] = []
    labels: list[str] | None = None
    with _open_table(path, sep) as (columns, cells):
        taken = columns.index(label) if samples == "rows" and label in columns else None
        if taken is not None:
            labels = []
            columns = columns[:taken] + columns[taken + 1 :]
        for name, line in cells:
            if samples == "columns" and label is not None and name == label:
                if labels is not None:
                    raise InputError(f"{path.name!r} has two rows {label!r}: leave one row of labels")
                labels = line
                continue
            if taken is not None and labels is not None:
                labels.append(line.pop(taken))
            try:
                lines.append(_numbers(line))
            except ValueError as error:
                raise _not_a_number(path, samples, name, columns, line) from error
            rows.append(name)
    if label is not None and labels is None:
        where = "column" if samples == "rows" else "row"
        raise InputError(
            "{file!r} has no {where} {label!r} to take labels from: name one of its {where}s, or give the file that "
            "holds them as {labels}",
            file=path.name,
            where=where,
            label=label,
            labels=Argument("labels"),
        )
    if not rows or not columns:
        raise InputError(
            f"{path.name!r} contains no numbers: it has {len(rows)} rows and {len(columns)} columns of them"
        )
    values = np.stack(lines)
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        down, across = repr(rows[row]), repr(columns[column])
        sample, feature = (down, across) if samples == "rows" else (across, down)
        raise infinite_value(path, sample, feature, "leave the cell empty")
    return Table(values, rows, columns, labels)


def read_texts(path: Path, sep: str | None = None) -> tuple[list[str], dict[str, list[str]]]:
    r"""Read a table as text: its header, and the cells of each row by the name of the row.

    Raises
    ------
    InputError
        If two rows or two columns have the same name, or a line and the header differ in length.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "clinical.csv")
    ...     _ = file.write_text("id,relapse\n001,yes\n002,no\n")
    ...     read_texts(file)
    (['relapse'], {'001': ['yes'], '002': ['no']})
    """
    rows: dict[str, list[str]] = {}
    with _open_table(path, sep) as (columns, cells):
        for name, line in cells:
            if name in rows:
                raise InputError(f"{path.name!r} has two rows {name!r} (spaces around a name do not count): leave one")
            rows[name] = line
    repeated = [name for name, times in Counter(columns).items() if times > 1]
    if repeated:
        raise InputError(
            f"{path.name!r} has two columns {repeated[0]!r} (spaces around a name do not count): rename one of them"
        )
    return columns, rows


def infinite_value(path: Path, sample: str, feature: str, missing: str = "make it NaN") -> InputError:
    """Return the error for an infinite value, with the remedy if it stands for a missing one."""
    return InputError(
        f"sample {sample} of {path.name!r} has an infinite value for feature {feature}: correct it, or {missing} if it "
        "was not measured"
    )


def read_names(path: Path, sep: str | None = None) -> tuple[list[str], list[str]]:
    """Read only the names of the rows and columns of a table."""
    with _open_table(path, sep) as (columns, cells):
        return [name for name, _ in cells], columns


def beginning(names: Sequence[str]) -> str:
    """List the first names.

    Examples
    --------
    >>> beginning(["a", "b", "c", "d"])
    "'a', 'b', 'c', …"
    """
    return ", ".join(map(repr, names[:3])) + (", …" if len(names) > 3 else "")


def check_labels(labels: Sequence[str], ids: Sequence[str], source: str) -> None:
    """Refuse labels that are missing.

    Raises
    ------
    InputError
        If a label is empty, ``NA`` or ``NaN``; the first sample is named.
    """
    for name, text in zip(ids, labels, strict=True):
        if text.strip() in MISSING:
            raise InputError(
                f"sample {name!r} has the label {text!r} in {source!r}, which means missing: give it a label or leave "
                "the sample out"
            )


# Lines -------------------------------------------------------------------------------------------------------------


@contextmanager
def _open_table(path: Path, sep: str | None) -> Iterator[tuple[list[str], Iterator[tuple[str, list[str]]]]]:
    """Open a table; yield the names of its columns, and an iterator of the name and cells of each row."""
    with open_text(path) as file:
        yield _header_and_rows(path, file, sep)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file. Compression and a byte-order mark are detected by content, not by the name of the file.

    Raises
    ------
    InputError
        If the text read inside the block is not UTF-8 or not a table, or the gzip file is damaged.
    """
    with path.open("rb") as file:
        compressed = file.read(2) == GZIP
    raw: Any = gzip.open(path, "rb") if compressed else path.open("rb")
    try:
        with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name!r} is not UTF-8 text: save it as UTF-8 ('CSV UTF-8' in a spreadsheet)") from error
    except csv.Error as error:
        raise InputError(f"{path.name!r} cannot be read as a table: {error}") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path.name!r} is a damaged gzip file ({error}): get it again") from error


def header_line(path: Path, file: TextIO, sep: str | None) -> tuple[str, str]:
    """Read the first line that is not empty; return it and the separator of the columns."""
    first = file.readline()
    while first and not first.strip():
        first = file.readline()
    if not first:
        raise InputError(f"{path.name!r} is empty")
    return first, _separator(path, first) if sep is None else sep


def _header_and_rows(path: Path, file: TextIO, sep: str | None) -> tuple[list[str], Iterator[tuple[str, list[str]]]]:
    first, sep = header_line(path, file, sep)
    reader = csv.reader(_chain(first, file), delimiter=sep, strict=True)
    header = next(reader)
    second = next((line for line in reader if line), None)
    # R's write.table omits the corner cell, so that the header is one cell shorter than the rows
    corner = 0 if second is not None and len(second) == len(header) + 1 else 1
    columns = [name.strip() for name in header[corner:]]
    unnamed = [position for position, name in enumerate(columns) if name == ""]
    if unnamed:
        raise InputError(
            f"column {unnamed[0] + 2} of {path.name!r} has no name: name it, or take it out if it is empty"
        )
    return columns, _rows(path, reader, second, len(columns))


def _chain(first: str, file: TextIO) -> Iterator[str]:
    yield first
    yield from file


def _rows(path: Path, reader: Any, second: list[str] | None, width: int) -> Iterator[tuple[str, list[str]]]:
    line = second
    while line is not None:
        if line:
            if len(line) != width + 1:
                raise InputError(
                    "line {line} of {file!r} has {cells} cells after its name, but the header names {columns} "
                    "columns: complete the line, or state the separator with {sep}",
                    line=reader.line_num,
                    file=path.name,
                    cells=len(line) - 1,
                    columns=width,
                    sep=Argument("sep"),
                )
            yield line[0].strip(), line[1:]
        line = next(reader, None)


def _separator(path: Path, header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    counts = {sep: bare.count(sep) for sep in SEPARATORS}
    best = "\t" if counts["\t"] else max((",", ";"), key=lambda sep: counts[sep])
    if counts[best] == 0:
        raise InputError(
            "the header of {file!r} contains no tab, comma or semicolon: state its separator with {sep}",
            file=path.name,
            sep=Argument("sep"),
        )
    return best


# Cells -------------------------------------------------------------------------------------------------------------


def _numbers(line: list[str]) -> Floats:
    try:
        values = list(map(float, line))
    except ValueError:
        values = [float("nan") if cell.strip() in MISSING else float(cell) for cell in line]
    if any("_" in cell for cell in line):  # 1_000 is a number in Python but not in a table
        raise ValueError("underscore")
    return np.array(values)


def _is_number(cell: str) -> bool:
    try:
        _numbers([cell])
    except ValueError:
        return False
    return True


def _not_a_number(path: Path, samples: Orientation, row: str, columns: list[str], line: list[str]) -> InputError:
    column, text = next((c, cell) for c, cell in zip(columns, line, strict=True) if not _is_number(cell))
    sample, feature = (row, column) if samples == "rows" else (column, row)
    if _DECIMAL_COMMA.fullmatch(text.strip()):
        advice = Sentence("write numbers with a decimal point")
    else:
        other = "columns" if samples == "rows" else "rows"
        advice = Sentence(
            "a missing value is empty, NA or NaN; if {feature!r} contains labels write {label}, and if the samples are "
            "the table's {other} write {samples}",
            feature=feature,
            label=Argument("label", feature),
            other=other,
            samples=Argument("samples", other),
        )
    return InputError(
        "sample {sample!r} of {file!r} has the text {text!r} for feature {feature!r}: {advice}",
        sample=sample,
        file=path.name,
        text=text,
        feature=feature,
        advice=advice,
    )
