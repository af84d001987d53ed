"""BLT, the format of ballots of programs that count single transferable votes.

Source: I. D. Hill, B. A. Wichmann and D. R. Woodall, "Algorithm 123: single transferable vote by Meek's method",
The Computer Journal 30 (1987); ``=`` between tied candidates and comments after ``#`` are later extensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.core.rankings import Rankings
from distkern.core.warning import warn
from distkern.io.rankings.lines import Options, bad_line, numbered_lines, whole
from distkern.io.rankings.orders import Orders, groups_in
from distkern.io.tables import open_text

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|([^\s"]+)')
_FIRST = re.compile(
    r"\s*\d+[ \t]+\d+[ \t]*(#[^\n]*)?\r?\n"
    r"\s*(-\d+([ \t]+-\d+)*|\d+([ \t]+\d+(=\d+)*)*)[ \t]*(#[^\n]*)?\r?(\n|$)"
)
"""The first two lines: numbers of candidates and seats; then those withdrawn, or a ballot."""


def is_blt(head: str) -> bool:
    r"""Whether a file that begins so is BLT.

    Examples
    --------
    >>> is_blt("4 2\n-2\n3 1 3 4 0\n"), is_blt("3 1\n2 1=2 0\n0\n"), is_blt("a b\n1 2\n")
    (True, True, False)
    """
    return _FIRST.match(head) is not None


def read_blt(path: Path, options: Options) -> Rankings:
    """Read a BLT file; the messages name lines. Blank ballots are left out, with a warning."""
    with open_text(path) as file:
        lines = numbered_lines(file, path, options.progress)
        number, line = next(lines, (1, ""))
        sizes = [whole(cell) for cell in line.partition("#")[0].split()]
        if len(sizes) != 2 or None in sizes or not sizes[0]:
            advice = "the first line of a BLT file holds the numbers of candidates and of seats, as in '4 2'"
            raise bad_line(path, number, line, "does not hold two numbers", advice)
        n = int(sizes[0])
        orders, blank, withdrawn, number = _ballots(path, lines, n, Orders(options.merge))
        names = [word for _, line in lines for word in _words(line)]
    if len(names) not in (n, n + 1):
        raise InputError(
            f"after the ballots, {path.name!r} has {len(names)} names and not those of {n} candidates and the title: "
            'complete it; names of several words need quotation marks, as in "Ann Lee"'
        )
    if not len(orders):
        raise InputError(f"{path.name!r} holds no ballot that ranks a candidate: check the file")
    if blank:
        warn(f"{blank:,} blank ballots of {path.name!r} are left out")
    metadata = {"format": "BLT", "seats": str(sizes[1])} | ({"title": names[n]} if len(names) > n else {})
    if withdrawn:
        metadata["withdrawn"] = ",".join(map(str, withdrawn))
    return orders.rankings(checked_names(names[:n], "candidate", path.name), options.gaps or "top", metadata=metadata)


def _words(line: str) -> list[str]:
    found = []
    for match in _TOKEN.finditer(line):
        if match[2] is not None and match[2].startswith("#"):
            break
        found.append(match[1].replace('""', '"') if match[1] is not None else match[2])
    return found


def _ballots(
    path: Path, lines: Iterator[tuple[int, str]], n: int, orders: Orders
) -> tuple[Orders, int, list[int], int]:
    """Read ballots up to the final 0: them, the number of blank ones, those withdrawn, and the last line."""
    blank, withdrawn, number = 0, [], 1
    closed: bool | None = None  # whether a 0 ends each ballot
    for number, line in lines:
        bare = line.partition("#")[0].strip()
        cells = bare.split()
        if cells and not len(orders) and not blank and all(cell.startswith("-") for cell in cells):
            withdrawn += [_candidate(path, number, line, cell[1:], n) + 1 for cell in cells]
            continue
        if not cells:
            continue
        if cells == ["0"]:
            return orders, blank, withdrawn, number
        if closed is None:
            closed = cells[-1] == "0"
        if closed != (cells[-1] == "0"):
            advice = "end each ballot with 0 on its own line, or none of them"
            raise bad_line(path, number, line, "ends otherwise than the ballots before", advice)
        if (cells[:-1] if closed else cells).count("0"):
            raise bad_line(path, number, line, "has a 0 inside", "write one ballot a line, and end the ballots with 0")
        count, text = whole(cells[0]), " ".join(cells[1 : -1 if closed else None])
        if count is None or count < 1:
            advice = "a ballot begins with the number of voters, as in '3 1 4 2 0'"
            raise bad_line(path, number, line, "does not begin with a number of voters", advice)
        if not text:
            blank += count
        elif not orders.repeats(text, count):
            orders.add(_groups(path, number, line, text.split(), n), count)
    raise InputError(f"{path.name!r} has no line 0 after its ballots: it is cut off, or no BLT file; get it again")


def _groups(path: Path, number: int, line: str, cells: list[str], n: int) -> list[list[int]]:
    groups = [[_candidate(path, number, line, word, n) for word in cell.split("=")] for cell in cells]
    flat = [item for group in groups for item in group]
    if len(set(flat)) < len(flat):
        twice = next(item for item in flat if flat.count(item) > 1)
        raise bad_line(path, number, line, f"ranks candidate {twice + 1} twice", "rank each candidate once")
    return groups


def _candidate(path: Path, number: int, line: str, word: str, n: int) -> int:
    found = whole(word)
    if found is None or not 1 <= found <= n:
        advice = f"candidates are the numbers 1 to {n}, ties are written 1=2, and skipped places are left out"
        raise bad_line(path, number, line, f"ranks {word!r}", advice)
    return found - 1


def blt_text(rankings: Rankings) -> Iterator[str]:
    """Lines of a BLT file; one seat unless the metadata say otherwise."""
    n, metadata = rankings.n_items, rankings.metadata
    yield f"{n} {metadata.get('seats', '1')}\n"
    if "withdrawn" in metadata:
        yield " ".join(f"-{number}" for number in metadata["withdrawn"].split(",")) + "\n"
    for groups, count in zip(groups_in(rankings), rankings.counts.tolist(), strict=True):
        yield " ".join([str(count), *("=".join(str(item + 1) for item in group) for group in groups), "0"]) + "\n"
    yield "0\n"
    for name in (*rankings.items, metadata.get("title", "")):
        yield '"' + name.replace('"', '""') + '"\n'
