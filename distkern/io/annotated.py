"""Tables of text whose kind settles what is what: features in rows, samples in columns, and texts beside the numbers.

GCT, GEO and the tables of portals are such. A wrong line is refused by its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.core.typing import Floats
from distkern.io.format import Opened
from distkern.io.tables import LostDigitsError, is_number, numbers_of_texts, open_text

NULL = frozenset({"null", "NULL", "Null"})
"""What GEO and portals write where a value is missing, beside ``NA`` and nothing."""


class Lines:
    """The lines of a text file, cut at tabs, with the number of the last one read.

    Parameters
    ----------
    path, file
        The file, and the same file open.
    kind
        Kind of file in messages, with its article.
    """

    def __init__(self, path: Path, file: TextIO, kind: str) -> None:
        self.path, self.kind, self.number = path, kind, 0
        self._file = file

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the cells of each line that is not empty, without the quotation marks around them."""
        for line in self._file:
            self.number += 1
            bare = line.rstrip("\r\n")
            if bare.strip():
                yield [_unquoted(cell) for cell in bare.split("\t")]

    def next(self, what: str) -> list[str]:
        """Return the cells of the next line.

        Raises
        ------
        InputError
            If the file ends; the message says that ``what`` is missing.
        """
        found = next(iter(self), None)
        if found is None:
            raise self.cut_off(f"before {what}")
        return found

    def wrong(self, what: str) -> InputError:
        """Return the error for the last line."""
        return InputError(f"line {self.number:,} of {self.path.name!r}, {self.kind}, {what}")

    def cut_off(self, where: str) -> InputError:
        """Return the error for a file that ends too early."""
        return InputError(
            f"{self.path.name!r} is {self.kind} that is cut off after line {self.number:,}, {where}: get it again"
        )


@contextmanager
def lines_of(path: Path, kind: str) -> Iterator[Lines]:
    """Open a text file as `Lines`, decompressed."""
    with open_text(path) as file:
        yield Lines(path, file, kind)


def _unquoted(cell: str) -> str:
    bare = cell.strip()
    return bare[1:-1].replace('""', '"').strip() if len(bare) > 1 and bare[0] == bare[-1] == '"' else bare


@dataclass
class Block:
    """Rows of features: the values of each, its name and its texts.

    Parameters
    ----------
    header
        Names of all columns.
    samples
        Positions of the columns of samples.
    name
        Position of the column with the names of the features.
    notes
        Positions of the columns with other texts of the features.
    """

    header: list[str]
    samples: list[int]
    name: int = 0
    notes: Sequence[int] = ()
    rows: list[Floats] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)

    def ids(self) -> list[str]:
        """Names of the samples."""
        return [self.header[place] for place in self.samples]

    def add(self, lines: Lines, cells: list[str]) -> None:
        """Take a line.

        Raises
        ------
        InputError
            If it has another number of cells than the header, or a value is no number.
        """
        width = len(self.header)
        while len(cells) > width and not cells[-1]:
            cells.pop()
        if len(cells) != width:
            raise lines.wrong(
                f"has {len(cells):,} cells, and the header has {width:,}: the file is cut off or damaged, get it again"
            )
        texts = [cells[place] for place in self.samples]
        try:
            self.rows.append(numbers_of_texts(texts))
        except LostDigitsError as error:
            raise lines.wrong(
                f"has the number {texts[error.position]} for sample {self.ids()[error.position]!r}, which float64 "
                "cannot tell from other numbers: rescale the values, or take the line out"
            ) from error
        except ValueError:
            self.rows.append(self._with_nulls(lines, texts))
        self.features.append(cells[self.name])
        self.texts.append([cells[place] for place in self.notes])

    def _with_nulls(self, lines: Lines, texts: list[str]) -> Floats:
        known = ["" if text in NULL else text for text in texts]
        wrong = next((k for k, text in enumerate(known) if not is_number(text)), None)
        if wrong is not None:
            raise lines.wrong(
                f"has the text {texts[wrong]!r} for sample {self.ids()[wrong]!r}, where a number must be: correct it; "
                "a missing value is empty, NA, NaN or null"
            )
        return numbers_of_texts(known)

    def opened(self, path: Path, columns: Mapping[str, Sequence[str]]) -> Opened:
        """Give the values as samples × features, with all names and texts.

        Raises
        ------
        InputError
            If there are no values, or a name holds control characters.
        """
        checked_names(self.features, "row", path.name)
        checked_names(self.ids(), "column", path.name)
        values = np.empty((len(self.samples), len(self.rows)))
        for k, row in enumerate(self.rows):
            values[:, k] = row
        about = {self.header[place]: [texts[k] for texts in self.texts] for k, place in enumerate(self.notes)}
        return Opened(values, self.ids(), self.features, dict(columns), about=about)


def columns_by_sample(ids: Sequence[str], columns: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Turn columns of texts into those by name of the sample.

    Examples
    --------
    >>> columns_by_sample(["a", "b"], {"sex": ["F", "M"]})
    {'sex': {'a': 'F', 'b': 'M'}}
    """
    return {name: dict(zip(ids, map(str, texts), strict=True)) for name, texts in columns.items()}
