"""Readers of text tables with names of rows and columns, which never change a name.

Spreadsheets and data-frame readers convert names such as ``NA``, ``001``, ``TRUE`` or ``2310009E13``. Here the header
and the first column are always text, and only the other cells are numbers. Spaces around a name are removed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np

from distkern.core.containers import EXACT_INTEGER
from distkern.core.errors import InputError
from distkern.core.names import checked_names, checked_text
from distkern.core.sentences import Argument, Call, OptionalPart, Sentence
from distkern.core.typing import Floats
from distkern.io.compression import beginning_of, opened

Orientation = Literal["rows", "columns"]

MISSING = frozenset({"", "NA", "NaN", "nan"})
"""Texts of a cell that has no value."""

SEPARATORS = ("\t", ",", ";")
OpenTable = tuple[list[str], Iterator[tuple[str, list[str]]]]
"""Names of the columns, and an iterator of the name and the cells of each row, as texts."""

OpensTable = Callable[[Path, str | None], AbstractContextManager[OpenTable]]
"""A function that opens a table by its path and the separator of its columns."""

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class Table:
    """A text table: numbers, names of rows and columns, and the labels from one of its rows or columns."""

    values: Floats
    rows: list[str]
    columns: list[str]
    labels: list[str] | None = None


def read_numbers(
    path: Path,
    *,
    samples: Orientation,
    sep: str | None = None,
    label: str | None = None,
    opens: OpensTable | None = None,
) -> Table:
    r"""Read a table of numbers whose samples are rows or columns; ``label`` names the column or row of labels.

    Missing cells (empty, ``NA``, ``NaN``) become NaN. ``opens`` opens a table that is no text file.

    Raises
    ------
    InputError
        If a cell is not a finite number or loses digits in float64, a line and the header differ in length, a name
        holds control characters, or ``label`` does not exist.

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
    opens = opens or open_table
    with opens(path, sep) as (columns, cells):
        taken = columns.index(label) if samples == "rows" and label in columns else None
        if taken is not None:
            if columns.count(str(label)) > 1:
                raise InputError(f"{path.name!r} has two columns {label!r}: leave one column of labels")
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
                lines.append(numbers_of_texts(line))
            except LostDigitsError as error:
                raise _lost_digits(path, samples, name, columns[error.position], line[error.position]) from error
            except ValueError as error:
                raise _not_a_number(path, samples, name, columns, line, sep, opens) from error
            rows.append(name)
    checked_names(rows, "row", path.name)
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


def read_texts(
    path: Path, sep: str | None = None, opens: OpensTable | None = None
) -> tuple[list[str], dict[str, list[str]]]:
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
    with (opens or open_table)(path, sep) as (columns, cells):
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


def read_names(path: Path, sep: str | None = None, opens: OpensTable | None = None) -> tuple[list[str], list[str]]:
    """Read only the names of the rows and columns of a table."""
    with (opens or open_table)(path, sep) as (columns, cells):
        return [name for name, _ in cells], columns


def unclear_orientation(path: Path, rows: Sequence[str], columns: Sequence[str]) -> InputError:
    """Return the error for a table of which nobody says whether its rows or its columns are the samples."""
    return InputError(
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
        checked_text(text.strip(), f"the label of sample {name!r}", source)


# Lines -------------------------------------------------------------------------------------------------------------


@contextmanager
def open_table(path: Path, sep: str | None) -> Iterator[OpenTable]:
    """Open a table; yield the names of its columns, and an iterator of the name and cells of each row."""
    with open_text(path) as file:
        names, rows = header_and_rows(path, file, sep)
        yield names[1:], ((line[0].strip(), line[1:]) for line in rows)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file. Compression and a byte-order mark are detected by content, not by the name of the file.

    Raises
    ------
    InputError
        If the text read inside the block is not UTF-8 or not a table, or the compressed file is damaged.
    """
    try:
        with opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name!r} is not UTF-8 text: save it as UTF-8 ('CSV UTF-8' in a spreadsheet)") from error
    except csv.Error as error:
        raise InputError(f"{path.name!r} cannot be read as a table: {error}") from error


def head_text(head: bytes) -> str:
    """Decode the beginning of a text file, which may be compressed; empty if it is no text."""
    text = beginning_of(head)
    try:
        return "" if b"\0" in text else text.decode()
    except UnicodeDecodeError as error:  # the last character may be incomplete
        return text[: error.start].decode() if len(text) - error.start < 4 else ""


def _first_line(path: Path, file: TextIO) -> tuple[str, int]:
    """Read the first line that is not empty; return it and the number of empty lines before it."""
    skipped, first = 0, file.readline()
    while first and not first.strip():
        skipped, first = skipped + 1, file.readline()
    if not first:
        raise InputError(f"{path.name!r} is empty")
    return first, skipped


def header_and_rows(
    path: Path, file: TextIO, sep: str | None, *, skip_spaces: bool = False
) -> tuple[list[str], Iterator[list[str]]]:
    """Read the header of an open table; return the names of its columns, and an iterator of the cells of each row.

    The first column is that of the names of the rows. Each row has as many cells as there are columns.

    Parameters
    ----------
    path, file
        The table, and the same table open.
    sep
        Separator of the columns; None to detect it.
    skip_spaces
        Whether to skip spaces after a separator, also before a quotation mark.

    Raises
    ------
    InputError
        If the header or a row cannot be used; the message names the line.
    """
    names, rows = numbered_rows(path, file, sep, skip_spaces=skip_spaces)
    return names, (line for _, line in rows)


def numbered_rows(
    path: Path, file: TextIO, sep: str | None, *, skip_spaces: bool = False
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Read the header of an open table, as `header_and_rows` does; each row has the number of its (last) line."""
    first, skipped = _first_line(path, file)
    sep = _separator(path, first) if sep is None else sep
    reader = csv.reader(_chain(first, file), delimiter=sep, strict=True, skipinitialspace=skip_spaces)
    header = next(reader)
    names = column_names(path, header, sep)
    return names, _rows(path, reader, names, len(header), skipped)


def table_of_rows(path: Path, rows: Iterator[list[str]]) -> OpenTable:
    """View rows of texts, of which the first is the header, as an open table; rows that are too short are filled up."""
    names, numbered = numbered_table(path, rows)
    return names[1:], ((line[0].strip(), line[1:]) for _, line in numbered)


def numbered_table(path: Path, rows: Iterator[list[str]]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """View rows of texts as `numbered_rows` does those of a text file; empty ones before the header do not matter."""
    header, number = next(
        ((row, number) for number, row in enumerate(rows, start=1) if any(cell.strip() for cell in row)), ([], 0)
    )
    if not header:
        raise InputError(f"{path.name!r} is empty")
    names = column_names(path, header)
    filled = _Numbered(row + [""] * (len(names) - len(row)) for row in rows)
    return names, _rows(path, filled, names, len(header), number - 1)


class _Numbered:
    """Rows with the number of the last one, as `csv.reader` counts its lines."""

    def __init__(self, rows: Iterator[list[str]]) -> None:
        self.line_num = 1
        self._rows = rows

    def __iter__(self) -> Iterator[list[str]]:
        for row in self._rows:
            self.line_num += 1
            yield row


def column_names(path: Path, header: list[str], sep: str | None = None) -> list[str]:
    """Return the names of the columns, the one of the row names first.

    R's write.table omits that one, so that the header of a text file, with its separator ``sep``, is one cell shorter
    than the rows. A separator too many at the end of the header or of the rows is no column.

    Raises
    ------
    InputError
        If a column with cells has no name, or a name holds control characters.
    """
    names = [name.strip() for name in header]
    while len(names) > 1 and names[-1] == "":
        names.pop()
    if sep is not None and len(names) == len(header) and _is_from_r(path, len(names), sep):
        names.insert(0, "")
    unnamed = [position for position, name in enumerate(names) if name == "" and position > 0]
    if unnamed:
        raise _no_name(path, unnamed[0])
    checked_names(names, "column", path.name)
    return names


def _is_from_r(path: Path, width: int, sep: str) -> bool:
    """Whether rows have one cell more than the header, which is not empty in all of them."""
    with open_text(path) as file:
        _first_line(path, file)
        for line in csv.reader(file, delimiter=sep, strict=True):
            if line and len(line) <= width:
                return False
            if any(cell.strip() for cell in line[width:]):
                return not any(cell.strip() for cell in line[width + 1 :])
    return False


def _no_name(path: Path, position: int) -> InputError:
    return InputError(f"column {position + 1} of {path.name!r} has no name: name it, or take it out if it is empty")


def _chain(first: str, file: TextIO) -> Iterator[str]:
    yield first
    yield from file


def _rows(path: Path, reader: Any, names: list[str], headed: int, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and the cells of each row, without separators too many at its end."""
    width = len(names)
    for line in reader:
        number = reader.line_num + skipped
        more = [position for position in range(width, len(line)) if line[position].strip()]
        if not more:
            del line[width:]
        elif headed > width:
            raise _no_name(path, more[0])
        if not any(cell.strip() for cell in line):
            continue
        if len(line) != width:
            raise InputError(
                "line {line} of {file!r} has {cells} cells after its name, but the header names {columns} columns: "
                "complete the line, or state the separator with {sep}",
                line=number,
                file=path.name,
                cells=len(line) - 1,
                columns=width - 1,
                sep=Argument("sep"),
            )
        if headed < width and not line[-1].strip():
            raise InputError(
                f"line {number} of {path.name!r} ends with an empty cell, and the header names one column "
                "less than other lines have: name all columns, or write NA where a value is missing"
            )
        yield number, line


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


class LostDigitsError(ValueError):
    """Another number than the one in the text is the nearest that float64 has; ``position`` is that of the text."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def numbers_of_texts(cells: Sequence[str]) -> Floats:
    """Convert the texts of cells to numbers; missing ones are NaN.

    Raises
    ------
    ValueError
        If a text is not a number.
    LostDigitsError
        If a whole number is too large for float64, so that others would be tied with it, or a number that is not 0
        would become 0.

    Examples
    --------
    >>> numbers_of_texts(["1", "NA", " 2.5e3"]).tolist()
    [1.0, nan, 2500.0]
    """
    try:
        values = np.array(list(map(float, cells)))
    except ValueError:
        values = np.array([np.nan if cell.strip() in MISSING else float(cell) for cell in cells])
    if any("_" in cell or not (cell.isascii() or cell.strip().isascii() or cell.strip() in MISSING) for cell in cells):
        raise ValueError("1_000 and digits of other scripts are numbers in Python but not in a table")
    suspicious = np.flatnonzero((values == 0) | (np.isfinite(values) & (np.abs(values) >= EXACT_INTEGER))).tolist()
    if suspicious and (lost := {cells[k] for k in suspicious if _loses_digits(cells[k])}):
        raise LostDigitsError(next(k for k in suspicious if cells[k] in lost))
    return values


def _loses_digits(text: str) -> bool:
    """Whether the number in a text is turned into 0, or a whole number beyond 2**53 into another one."""
    if text in ("0", "0.0"):
        return False
    mantissa, exponent, _ = text.lower().partition("e")
    if float(text) == 0:
        return any(character.isdecimal() and int(character) > 0 for character in mantissa)
    return not exponent and Decimal(text.strip()) != Decimal(float(text))


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, or nothing."""
    try:
        numbers_of_texts([cell])
    except LostDigitsError:
        return True
    except ValueError:
        return False
    return True


def _of_sample(samples: Orientation, row: str, column: str) -> tuple[str, str]:
    return (row, column) if samples == "rows" else (column, row)


def _lost_digits(path: Path, samples: Orientation, row: str, column: str, text: str) -> InputError:
    sample, feature = _of_sample(samples, row, column)
    return InputError(
        f"sample {sample!r} of {path.name!r} has the number {text.strip()} for feature {feature!r}, which float64 "
        "cannot tell from other numbers: rescale the values, or take the feature out"
    )


def _not_a_number(
    path: Path,
    samples: Orientation,
    row: str,
    columns: list[str],
    line: list[str],
    sep: str | None,
    opens: OpensTable,
) -> InputError:
    position = next(k for k, cell in enumerate(line) if not is_number(cell))
    column, text = columns[position], line[position]
    sample, feature = _of_sample(samples, row, column)
    if _DECIMAL_COMMA.fullmatch(text.strip()):
        advice = Sentence("write numbers with a decimal point")
    elif samples == "columns" and len(columns) > 1 and _holds_text_only(path, position, sep, opens):
        return InputError(
            f"column {column!r} of {path.name!r} holds text, such as {text!r}, and is no sample: take it out, and "
            "keep one column of names"
        )
    else:
        other = "columns" if samples == "rows" else "rows"
        advice = Sentence(
            "a missing value is empty, NA or NaN; if {feature!r} contains labels write {label}, and if the samples are "
            "the table's {other} write {samples}{first}",
            feature=feature,
            label=Argument("label", feature),
            other=other,
            samples=Argument("samples", other),
            first="; if it names the samples, move it to the front" if samples == "rows" else "",
        )
    return InputError(
        "sample {sample!r} of {file!r} has the text {text!r} for feature {feature!r}: {advice}",
        sample=sample,
        file=path.name,
        text=text,
        feature=feature,
        advice=advice,
    )


def _holds_text_only(path: Path, position: int, sep: str | None, opens: OpensTable) -> bool:
    """Whether no row has a number in this column, and at least two have a text."""
    texts = 0
    with opens(path, sep) as (_, rows):
        for _, line in rows:
            if line[position].strip() not in MISSING:
                if is_number(line[position]):
                    return False
                texts += 1
    return texts > 1
