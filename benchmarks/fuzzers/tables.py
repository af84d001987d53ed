"""Text tables of expression, labels, ballots and points, written in many ways; read as they are meant, or refused."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import distkern as dk
from distkern.cli.main import main
from fuzzers.inputs import pick
from fuzzers.judge import Case, Wrong, fault_of_words, require, require_close, require_refused

Generator = np.random.Generator

MISSING = ("", "NA", "NaN", "nan", "N/A", "null", " ")
ODD_CELLS = (
    "abc", "?", "1e400", "1e-400", "9007199254740993", "1,5", "1.000,5", "1,000", "1_000", "0x1F", "1d3", "TRUE", "inf",
    "-Inf", "1 000", "+1", "1.", ".5", "1e3", "１２", "1\x00", "--1", "=1+1", "'1", "1%", "12:30", "2020-01-01",
    "\x1b[31m1",
    "1;2", "1\n2", '1"', "-", "#N/A", "None", "NULL", "9" * 400,
)  # fmt: skip
ODD_NAMES = (
    "", " ", "a\tb", "a\nb", "a\rb", "a\x00b",
    "\x1b]0;x\x07", "é", "Straße", "001", "1", "NA", "nan", 'say "x"', "a,b", "a;b",
    " padded ", "x" * 5_000, "#comment", "-", "2-Sep", "\u200b", "\ufeff", "\u202e", "a\u0085b", "=1", "\x7f",
)  # fmt: skip


@dataclass
class Sheet:
    """A table and how it is written."""

    header: list[str]
    rows: list[list[str]]
    sep: str = ","
    how: list[str] = field(default_factory=list)
    end: str = "\n"
    quote: str = "needed"
    encoding: str = "utf-8"
    after_header: str = ""
    after_row: str = ""
    before: str = ""
    between: str = ""
    last_end: bool = True

    def text(self) -> str:
        """The text of the table."""
        lines = [self._line(self.header) + self.after_header, *(self._line(row) + self.after_row for row in self.rows)]
        middle = self.between.join(line + self.end for line in lines)
        return self.before + (middle if self.last_end else middle.removesuffix(self.end))

    def _line(self, cells: Sequence[str]) -> str:
        return self.sep.join(map(self._cell, cells))

    def _cell(self, cell: str) -> str:
        special = self.sep in cell or any(char in cell for char in '"\n\r')
        if self.quote == "all" or (self.quote == "needed" and special):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def write(self, path: Path) -> Path:
        """Write the table; return the path, with ``.gz`` where it is compressed."""
        content = self.text().encode(self.encoding, errors="replace")
        if "gzip" in self.how:
            path = path.with_name(path.name + ".gz")
            content = gzip.compress(content)
        path.write_bytes(content)
        return path


def mutated(rng: Generator, sheet: Sheet, times: int) -> None:
    """Write the table in another way that means the same, or break it."""
    for _ in range(times):
        if not sheet.rows:
            return
        how = pick(rng, sorted(WAYS))
        sheet.how.append(how)
        WAYS[how](rng, sheet)


def _set(**values: Any) -> Callable[[Generator, Sheet], None]:
    def change(rng: Generator, sheet: Sheet) -> None:
        for name, value in values.items():
            setattr(sheet, name, value)

    return change


def _after_rows(rng: Generator, sheet: Sheet) -> None:
    sheet.after_row = sheet.sep


def _after_all(rng: Generator, sheet: Sheet) -> None:
    sheet.after_row = sheet.after_header = sheet.sep


def _after_header(rng: Generator, sheet: Sheet) -> None:
    sheet.after_header = sheet.sep


def _no_corner(rng: Generator, sheet: Sheet) -> None:
    sheet.header = sheet.header[1:]


def _spaces(rng: Generator, sheet: Sheet) -> None:
    sheet.rows = [[f" {cell} " for cell in row] for row in sheet.rows]


def _short_row(rng: Generator, sheet: Sheet) -> None:
    pick(rng, sheet.rows).pop()


def _long_row(rng: Generator, sheet: Sheet) -> None:
    pick(rng, sheet.rows).append("7")


def _row_twice(rng: Generator, sheet: Sheet) -> None:
    sheet.rows.append(list(pick(rng, sheet.rows)))


def _header_twice(rng: Generator, sheet: Sheet) -> None:
    sheet.rows.insert(int(rng.integers(len(sheet.rows) + 1)), list(sheet.header))


def _odd_cell(rng: Generator, sheet: Sheet) -> None:
    row = pick(rng, sheet.rows)
    if len(row) > 1:
        row[int(rng.integers(1, len(row)))] = pick(rng, (*ODD_CELLS, *MISSING))


def _odd_name(rng: Generator, sheet: Sheet) -> None:
    if rng.random() < 0.5:
        pick(rng, sheet.rows)[0] = pick(rng, ODD_NAMES)
    else:
        sheet.header[int(rng.integers(len(sheet.header)))] = pick(rng, ODD_NAMES)


def _column_twice(rng: Generator, sheet: Sheet) -> None:
    sheet.header[-1] = sheet.header[min(1, len(sheet.header) - 1)]


def _separator(rng: Generator, sheet: Sheet) -> None:
    sheet.sep = pick(rng, [",", "\t", ";", "|", " ", "\t\t"])
    sheet.after_row = sheet.after_row and sheet.sep
    sheet.after_header = sheet.after_header and sheet.sep


def _nothing(rng: Generator, sheet: Sheet) -> None:
    sheet.rows = []


WAYS: dict[str, Callable[[Generator, Sheet], None]] = {
    "gzip": _set(), "crlf": _set(end="\r\n"), "cr": _set(end="\r"), "quotes": _set(quote="all"),
    "raw": _set(quote="never"),
    "bom": _set(encoding="utf-8-sig"), "utf-16": _set(encoding="utf-16"), "latin-1": _set(encoding="latin-1"),
    "no last line end": _set(last_end=False), "blank line first": _set(before="\n"),
    "comment": _set(before="# made by x\n"),
    "blank lines between": _set(between="\n"), "sep=": _set(before="sep=,\n"), "delimiter after rows": _after_rows,
    "delimiter after all": _after_all, "delimiter after header": _after_header, "no corner": _no_corner,
    "spaces": _spaces,
    "short row": _short_row, "long row": _long_row, "row twice": _row_twice, "header twice": _header_twice,
    "odd cell": _odd_cell, "odd cell ": _odd_cell, "odd name": _odd_name, "odd name ": _odd_name,
    "column twice": _column_twice, "separator": _separator, "no rows": _nothing,
}  # fmt: skip
"""Ways to write a table."""


# Meaning --------------------------------------------------------------------------------------------------------------


def number_of(cell: str) -> float | None:
    """What a cell means: a number, NaN where it is missing, None where it is no number that float64 holds."""
    bare = cell.strip()
    if bare in MISSING or bare in ("#N/A", "None", "NULL", "-", "?"):
        return float("nan")
    if bare == "1,5":
        return 1.5
    if bare == "1,000":
        return 1000.0
    try:
        meant = Decimal(bare)
    except InvalidOperation:
        return None
    if not meant.is_finite() or "_" in bare or not bare.isascii():
        return None
    value = float(meant)
    if not np.isfinite(value) or (value == 0) != (meant == 0) or (meant == int(meant) and Decimal(value) != meant):
        return None
    return value


def matrix_of(rows: Sequence[Sequence[str]], skip: int) -> np.ndarray | None:
    """Numbers of all cells after the first ``skip``; None where one has no meaning."""
    if len({len(row) for row in rows}) != 1:
        return None
    found = [[number_of(cell) for cell in row[skip:]] for row in rows]
    if not found or not found[0] or any(value is None for row in found for value in row):
        return None
    return np.array(found, dtype=np.float64)


def check_names(found: Sequence[str], meant: Sequence[str], what: str) -> None:
    """Names are those of the table, without blanks around them and without control characters."""
    require([name.strip() for name in found] == [name.strip() for name in meant], f"{what} {found} instead of {meant}")
    for name in found:
        require(all(ord(char) >= 32 and char != "\x7f" for char in name), f"{what} {name!r} holds control characters")


# Kinds of tables ------------------------------------------------------------------------------------------------------


def draw(rng: Generator, folder: Path) -> Case:
    """Write a table of some kind, and read it."""
    return pick(rng, [expression, expression, expression, labels, ballots, points])(rng, folder)


def numbers_as_text(rng: Generator, m: int, n: int) -> list[list[str]]:
    """Cells of numbers in some notation."""
    values = pick(rng, [rng.normal(size=(m, n)), rng.integers(0, 50, (m, n)), rng.normal(size=(m, n)) * 1e9])
    notation = pick(rng, [str, repr, "{:.3f}".format, "{:.3e}".format])
    cells = [[notation(value.item()) for value in row] for row in values]
    if rng.random() < 0.3:
        pick(rng, cells)[int(rng.integers(n))] = pick(rng, MISSING)
    return cells


def sheet_of(rng: Generator, corner: str, rows: str, columns: str, m: int, n: int) -> Sheet:
    """A table of numbers with names."""
    cells = numbers_as_text(rng, m, n)
    named = [[f"{rows}{k}", *line] for k, line in enumerate(cells)]
    return Sheet([corner, *(f"{columns}{k}" for k in range(n))], named, pick(rng, [",", "\t", ";"]))


def expression(rng: Generator, folder: Path) -> Case:
    """read_expression and `distkern gram` of samples in rows or columns."""
    across, m, n = pick(rng, ["rows", "columns"]), int(rng.integers(2, 5)), int(rng.integers(2, 5))
    sheet = sheet_of(rng, pick(rng, ["", "gene", "id"]), "r", "c", m, n)
    with_label = across == "rows" and rng.random() < 0.4
    if with_label:
        where = int(rng.integers(1, n + 2))
        sheet.header.insert(where, "group")
        for k, row in enumerate(sheet.rows):
            row.insert(where, ["ill", "well"][k % 2])
    mutated(rng, sheet, int(rng.integers(0, 4)))
    path = sheet.write(folder / pick(rng, ["x.csv", "x.tsv", "x.txt"]))

    def read() -> Any:
        return dk.read_expression(path, samples=across, label="group" if with_label else None)

    def act() -> None:
        adata = read()
        found = adata.X.toarray() if hasattr(adata.X, "toarray") else adata.X
        header, rows = list(sheet.header), [list(row) for row in sheet.rows]
        corner = 0 if sheet.how.count("no corner") == 1 else 1
        if sheet.after_row:  # after the last cell but one it says that the last one is empty
            rows = [[*row, ""] if len(row) == len(header) - corner else row for row in rows]
        if with_label:
            require("group" in [name.strip() for name in header], "accepted a table without the column of labels")
            where = [name.strip() for name in header].index("group") + 1 - corner
            require(all(len(row) > where for row in rows), "accepted a short row")
            meant = [row[where].strip() for row in rows]
            require(list(adata.obs["group"]) == meant, f"labels {list(adata.obs['group'])} instead of {meant}")
            rows = [row[:where] + row[where + 1 :] for row in rows]
            header.pop(where - 1 + corner)
        X = matrix_of(rows, 1)
        if X is None or any(len(row) - 1 != len(header) - corner for row in rows):
            require_refused(found, "a table without meaning")
        require_close(found if across == "rows" else found.T, X, rtol=1e-15)
        names = [row[0] for row in rows], header[corner:]
        ids, features = names if across == "rows" else names[::-1]
        check_names(list(adata.obs_names), ids, "samples")
        check_names(list(adata.var_names), features, "features")

    def command() -> None:
        words = ["gram", path, folder / "k.zarr", "--kernel", "linear", "--samples", across, "--threads", 1]
        if run(*words, *(["--label", "group"] if with_label else [])):
            adata = read()
            require(dk.open_gram(folder / "k.zarr").ids == tuple(adata.obs_names), "other ids than read_expression")

    if rng.random() < 0.15:
        return Case(f"`gram` of {path.name}, samples={across}, {sheet.how}: {sheet.text()[:300]!r}", command)
    return Case(f"read_expression({path.name}, {across}, label={with_label}), {sheet.how}: {sheet.text()[:300]!r}", act)


def labels(rng: Generator, folder: Path) -> Case:
    """Labels of a second file, matched by the ids."""
    m = int(rng.integers(3, 6))
    np.savez(folder / "X.npz", X=np.eye(m), samples=np.array([f"p{k}" for k in range(m)]))
    groups, ages = [["ill", "well"][k % 2] for k in range(m)], [str(30 + k) for k in range(m)]
    order = rng.permutation(m)
    sheet = Sheet(["id", "group", "age"], [[f"p{k}", groups[k], ages[k]] for k in order], pick(rng, [",", "\t", ";"]))
    mutated(rng, sheet, int(rng.integers(0, 4)))
    path = sheet.write(folder / "labels.csv")

    def act() -> None:
        found = list(dk.read_expression(folder / "X.npz", labels=path, label="group").obs["group"])
        header, rows = sheet.header, sheet.rows
        corner = 1 if "no corner" in sheet.how else 0
        names = [name.strip() for name in header]
        require("group" in names, "accepted a table without the column")
        where = names.index("group") + corner
        meant: dict[str, set[str]] = {}
        for row in rows:
            require(len(row) > where, "accepted a short row")
            meant.setdefault(row[0].strip(), set()).add(row[where].strip())
        for k, label in enumerate(found):
            require(meant.get(f"p{k}") == {label}, f"label {label!r} of p{k} instead of {meant.get(f'p{k}')}")
            require(label not in MISSING, f"label {label!r} is missing")

    return Case(f"labels, {sheet.how}: {sheet.text()[:300]!r}", act)


def ballots(rng: Generator, folder: Path) -> Case:
    """`distkern cluster` with Kemeny's consensus of all voters."""
    m, n = int(rng.integers(2, 6)), int(rng.integers(3, 5))
    scores = rng.permuted(np.tile(np.arange(1, n + 1), (m, 1)), axis=1)
    header = ["", *NAMES_OF_ITEMS[:n]]
    sheet = Sheet(header, [[f"v{k}", *map(str, row)] for k, row in enumerate(scores)], pick(rng, [",", "\t"]))
    mutated(rng, sheet, int(rng.integers(0, 3)))
    path = sheet.write(folder / "ballots.csv")
    words = [
        "cluster",
        path,
        "-k",
        1,
        "--kernel",
        "kendall",
        "--samples",
        "rows",
        "--consensus",
        "kemeny",
        "--threads",
        1,
    ]

    def act() -> None:
        printed = run(*words)
        if not printed:
            return
        header, rows = sheet.header, sheet.rows
        X = matrix_of(rows, 1)
        if X is None or np.isnan(X).any():
            require_refused(printed, "a table without meaning")
        items = [name.strip() for name in (header if "no corner" in sheet.how else header[1:])]
        if len(set(items)) < len(items) or any(not name.isalnum() for name in items) or X.shape[1] != len(items):
            return

        def distance(order: Sequence[int]) -> int:
            return sum(int((X[:, a] < X[:, b]).sum()) for k, a in enumerate(order) for b in order[k + 1 :])

        best = min(map(distance, itertools.permutations(range(len(items)))))
        lines = [line for line in printed.splitlines() if " > " in line]
        require(len(lines) >= 1, f"no consensus in {printed!r}")
        said = lines[0].rpartition(":")[2] if ":" in lines[0] else lines[0]
        order = [items.index(word.split()[-1 if k == 0 else 0]) for k, word in enumerate(said.split(" > "))]
        require(distance(order) == best, f"consensus {said!r} has distance {distance(order)} instead of {best}")

    return Case(f"ballots, {sheet.how}: {sheet.text()[:300]!r}", act)


NAMES_OF_ITEMS = ("ash", "beech", "cedar", "elm")


def points(rng: Generator, folder: Path) -> Case:
    """`distkern bags` of points with the names of their bags."""
    m = int(rng.integers(3, 7))
    cells = numbers_as_text(rng, m, 2)
    sheet = Sheet(
        ["donor", "x", "y"], [[f"d{k % 2}", *line] for k, line in enumerate(cells)], pick(rng, [",", "\t", ";"])
    )
    mutated(rng, sheet, int(rng.integers(0, 4)))
    path = sheet.write(folder / "points.csv")

    def act() -> None:
        printed = run("bags", path, folder / "b.zarr", "--by", "donor", "--columns", "x,y")
        if not printed:
            return
        found, (header, rows) = dk.load_bags(folder / "b.zarr"), (sheet.header, sheet.rows)
        names = [name.strip() for name in header]
        X = matrix_of(rows, 1)
        if X is None or np.isnan(X).any() or "no corner" in sheet.how or names[:1] != ["donor"]:
            require_refused(printed, "a table without meaning")
        require(sorted(names[1:]) == ["x", "y"], "accepted other columns")
        meant: dict[str, list[list[float]]] = {}
        for row, values in zip(rows, X[:, [names.index("x") - 1, names.index("y") - 1]], strict=True):
            meant.setdefault(row[0].strip(), []).append(list(values))
        require(sorted(found.ids) == sorted(meant), f"bags {found.ids} instead of {sorted(meant)}")
        for name in found.ids:
            require_close(found.points(name), meant[name], rtol=1e-15)

    return Case(f"points, {sheet.how}: {sheet.text()[:300]!r}", act)


def run(*words: object) -> str:
    """Run a command; return what it printed, empty where it refused in one sentence."""
    done = CliRunner().invoke(main, list(map(str, words)))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise Wrong(f"the command raised {type(done.exception).__name__}: {done.exception}") from done.exception
    fault = fault_of_words(f"an error says: {done.stderr}") if done.exit_code else None
    require(fault is None, f"the command {fault}: {done.stderr[:300]}")
    require(done.exit_code in (0, 2, 3, 4, 5), f"exit code {done.exit_code}: {done.stderr[:300]}")
    return done.stdout if done.exit_code == 0 else ""
