"""GCT 1.2 and 1.3: text tables of the Broad Institute, with features in rows and samples in columns.

Format: https://software.broadinstitute.org/software/igv/GCT (1.2), https://clue.io/connectopedia/gct_format (1.3).
"""

from __future__ import annotations

from pathlib import Path

from distkern.core.errors import InputError
from distkern.io.annotated import Block, Lines, columns_by_sample, lines_of
from distkern.io.compression import ENDINGS, beginning_of
from distkern.io.format import Columns, Format, Opened, ReadOptions

VERSIONS = ("#1.2", "#1.3")
NO_TEXT = frozenset({"-666", "-666.0"})
"""What GCT 1.3 writes for a text that is missing."""


class _Head:
    """The first lines: the size, the columns, and the texts of the samples."""

    def __init__(self, lines: Lines) -> None:
        version = lines.next("its version")[0]
        lines.kind = f"a GCT {version.removeprefix('#')} file"
        if version not in VERSIONS:
            raise InputError(f"{lines.path.name!r} begins with {version!r}: a GCT file begins with #1.2 or #1.3")
        self.counts = _counts(lines, lines.next("its size"), 2 if version == "#1.2" else 4)
        header = lines.next("its header")
        while header and not header[-1]:
            header.pop()
        rows, samples = self.counts[:2]
        first = len(header) - samples
        if first < 1 or (len(self.counts) == 4 and first != 1 + self.counts[2]):
            raise lines.wrong(
                f"names {len(header):,} columns, which is not what the second line says: the file is damaged, get it "
                "again"
            )
        name = header[:first].index("Name") if version == "#1.2" and "Name" in header[:first] else 0
        notes = [place for place in range(first) if place != name]
        self.rows = rows
        self.block = Block(header, list(range(first, len(header))), name, notes)
        self.columns: dict[str, list[str]] = {}
        for _ in range(self.counts[3] if len(self.counts) == 4 else 0):
            cells = lines.next("the texts of the samples end")
            if len(cells) != len(header):
                raise lines.wrong(f"has {len(cells):,} cells, and the header has {len(header):,}: get the file again")
            self.columns[cells[0]] = ["" if text in NO_TEXT else text for text in cells[first:]]


def _counts(lines: Lines, cells: list[str], count: int) -> list[int]:
    """Numbers of the second line: rows, samples, and in 1.3 texts of the rows and of the samples."""
    given = [cell for cell in cells if cell]
    if len(given) != count or not all(cell.isdecimal() for cell in given):
        raise lines.wrong(f"must hold {count} whole numbers, the size of the matrix: the file is damaged, get it again")
    return [int(cell) for cell in given]


def _open(path: Path, options: ReadOptions) -> Opened:
    with lines_of(path, "a GCT file") as lines:
        head = _Head(lines)
        for cells in lines:
            head.block.add(lines, cells)
        found = len(head.block.rows)
        if found != head.rows:
            raise InputError(
                f"{path.name!r} is {lines.kind} whose second line promises {head.rows:,} rows, and it has {found:,} up "
                f"to line {lines.number:,}: if it is cut off, get it again; if rows were chosen, write {found} in its "
                "second line"
            )
    return head.block.opened(path, head.columns)


def _columns(path: Path, options: ReadOptions) -> Columns:
    with lines_of(path, "a GCT file") as lines:
        head = _Head(lines)
    return columns_by_sample(head.block.ids(), head.columns)


def _is_gct(path: Path, head: bytes) -> bool:
    return beginning_of(head).startswith(tuple(version.encode() for version in VERSIONS))


_SUFFIXES = tuple(f"{name}{end}" for name in (".gct", ".txt") for end in ENDINGS)
FORMATS = (Format("GCT", _SUFFIXES, _open, _is_gct, samples="columns", columns=_columns),)
