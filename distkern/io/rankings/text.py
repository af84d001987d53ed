"""Orders as text: ``a > b = c > d`` in each line, with a number of voters before (``12: …``) or after (``…, 12``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.core.rankings import Rankings
from distkern.io.rankings.lines import Options, bad_line, numbered_lines, whole
from distkern.io.rankings.orders import Orders, groups_in
from distkern.io.tables import open_text

LOOKED_AT = 30
"""Lines from which the format is found."""

_BEFORE = re.compile(r"(\d+)\s*:\s*")
_AFTER = re.compile(r"\s*[,;\t]\s*(\d+)$")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^">=]*))\s*([>=]|$)')
_ORDER = re.compile(r"(\d+\s*:)?[^,;\t>]*[^,;\t>\s]\s*>[^,;\t]*([,;\t]\s*\d+)?")
_LINE = re.compile(r"(\d+\s*:)?[^,;\t]*([,;\t]\s*\d+)?")
_HEADING = re.compile(
    r"(ballots?|rankings?|orders?|orderings?|preferences?|votes?)(\s*[,;\t]\s*(counts?|voters|frequency|freq|n))?", re.I
)
_PLAIN = re.compile(r"[^\W\d_]([\w .()'/&+-]*[\w.)'+])?")
"""Names that need no quotation marks."""


def is_text(head: str) -> bool:
    r"""Whether a file that begins so holds orders as text.

    Examples
    --------
    >>> is_text("a > b = c\n3: b > a\n"), is_text("ranking,count\na > b,12\n"), is_text("id,a>b,c\nx,1,2\n")
    (True, True, False)
    """
    lines = [bare for line in head.splitlines()[:LOOKED_AT] if (bare := line.strip()) and not bare.startswith("#")]
    if lines and _HEADING.fullmatch(lines[0]):
        del lines[0]
    plain = [_QUOTED.sub("x", line) for line in lines]
    return any(map(_ORDER.fullmatch, plain)) and all(map(_LINE.fullmatch, plain))


def read_text(path: Path, options: Options) -> Rankings:
    """Read orders as text; the messages name lines. Lines that begin with ``#`` are comments."""
    known = None if options.items is None else {name: k for k, name in enumerate(options.items)}
    index: dict[str, int] = {} if known is None else known
    orders = Orders(options.merge)
    heading = True
    with open_text(path) as file:
        for number, line in numbered_lines(file, path, options.progress):
            if line.startswith("#") or (heading and _HEADING.fullmatch(line)):
                heading = heading and line.startswith("#")
                continue
            heading = False
            count, text = _counted(path, number, line)
            if orders.repeats(text, count):
                continue
            plain = '"' not in text and "=" not in text
            ballot = [index.get(name.strip(), -1) for name in text.split(">")] if plain else [-1]
            if -1 not in ballot and len(set(ballot)) == len(ballot):  # known items without ties, as most lines are
                orders.add_strict(ballot, count)
            else:
                orders.add(_groups(path, number, line, text, index, known is not None), count)
    if not len(orders):
        raise InputError(f"{path.name!r} holds no orders: write one a line, as in 'ann > bob = cid'")
    names = checked_names(index, "item", path.name)
    metadata = {"format": "orders as text"}
    return orders.rankings(names, options.gaps or "top", in_given_order=known is not None, metadata=metadata)


def _counted(path: Path, number: int, line: str) -> tuple[int, str]:
    before, after = _BEFORE.match(line), _AFTER.search(line)
    if before and after:
        advice = "write the number of voters once; a name with a comma or a colon needs quotation marks"
        raise bad_line(path, number, line, "has two numbers of voters", advice)
    text = line[before.end() :] if before else line[: after.start()] if after else line
    told = before or after
    count = 1 if told is None else whole(told[1])
    if not count:
        raise bad_line(path, number, line, "is the order of no voter", "take it out")
    return count, text


def _groups(path: Path, number: int, line: str, text: str, index: dict[str, int], fixed: bool) -> list[list[int]]:
    """Positions of the tied items of each group; new items enter the index unless it is fixed."""
    groups: list[list[int]] = []
    seen: set[int] = set()
    before = ">"
    for name, sign in _items(path, number, line, text):
        if not name:
            raise bad_line(path, number, line, "has an empty place", "take out a '>' or '=', or name the item")
        if name not in index and fixed:
            raise bad_line(path, number, line, f"ranks {name!r}, which is not among the items", "correct the name")
        item = index.setdefault(name, len(index))
        if item in seen:
            raise bad_line(path, number, line, f"ranks {name!r} twice", "rank each item once")
        seen.add(item)
        if before == ">":
            groups.append([])
        groups[-1].append(item)
        before = sign
    return groups


def _items(path: Path, number: int, line: str, text: str) -> Iterator[tuple[str, str]]:
    """Each item and the sign after it."""
    if '"' not in text:
        for group in text.split(">"):
            *tied, last = group.split("=")
            yield from ((name.strip(), "=") for name in tied)
            yield last.strip(), ">"
        return
    position = 0
    while True:
        found = _ITEM.match(text, position)
        if found is None:
            advice = 'put a name with quotation marks, as in "Ann ""A"" Lee" > Bob'
            raise bad_line(path, number, line, "has quotation marks inside a name", advice)
        name = found[2].strip() if found[1] is None else found[1].replace('""', '"')
        if position == 0 and found.end() == len(text) and line.startswith('"') and ">" in name:
            raise bad_line(path, number, line, "is one name in quotation marks", "take the quotation marks out")
        yield name, found[3]
        if not found[3]:
            return
        position = found.end()


def text_of(rankings: Rankings) -> Iterator[str]:
    """Lines of orders as text."""
    names = list(map(_written, rankings.items))
    for groups, count in zip(groups_in(rankings), rankings.counts.tolist(), strict=True):
        yield f"{count}: {' > '.join(' = '.join(names[item] for item in group) for group in groups)}\n"


def _written(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'
