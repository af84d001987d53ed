"""Files of PrefLib, the library of preferences: orders (.soc, .soi, .toc, .toi), categories (.cat), edges (.wmd).

Source: N. Mattei and T. Walsh, "PrefLib: A Library for Preferences", ADT 2013, and the specification of its formats of
2022 (``# KEY: value``). Files of the older format, which begin with the number of alternatives, are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.rankings import Rankings
from distkern.core.typing import Floats
from distkern.core.warning import warn
from distkern.io.rankings.lines import Options, bad_line, numbered_lines, whole
from distkern.io.rankings.meaning import gaps_of
from distkern.io.rankings.orders import Orders, groups_in
from distkern.io.tables import open_text

ORDERS = ("soc", "soi", "toc", "toi")
TYPES = (*ORDERS, "cat", "wmd")
"""Types of data: orders, strict (s) or with ties (t), complete (c) or incomplete (i); categories; weighted edges."""

_HEADER = re.compile(r"#\s*([A-Z][A-Z ]*[A-Z])(?:\s+(\d+))?\s*:\s*(.*)")
_GROUP = re.compile(r"\s*(?:\{([^{}]*)\}|([^,{}]*))\s*(?:,|$)")
_OLD = re.compile(r"\d+(,\s*\d+)?[ \t]*\r?\n\s*1\s*,\s*\S")

_COUNTED = frozenset(
    f"NUMBER {what}"
    for what in ("ALTERNATIVES", "VOTERS", "UNIQUE ORDERS", "UNIQUE PREFERENCES", "CATEGORIES", "EDGES")
)
_WRITTEN = (
    "title",
    "description",
    "modification_type",
    "relates_to",
    "related_files",
    "publication_date",
    "modification_date",
)
"""Metadata of a file that are written as they were read."""


def is_preflib(head: str) -> bool:
    r"""Whether a file that begins so is one of PrefLib.

    Examples
    --------
    >>> is_preflib("# NUMBER ALTERNATIVES: 2\n"), is_preflib("2\n1,ann\n2,bob\n"), is_preflib("a,b\n")
    (True, True, False)
    """
    if not head.startswith("#"):
        return _OLD.match(head) is not None
    for line in head.splitlines():
        if not line.startswith("#"):
            return False
        found = _HEADER.fullmatch(line.strip())
        if found and found[1] in ("NUMBER ALTERNATIVES", "ALTERNATIVE NAME"):
            return True
    return False


@dataclass
class Header:
    """What the header of a file says.

    Parameters
    ----------
    type
        Type of the data; None if neither the header nor the name of the file says it.
    names
        Names of the alternatives, by their numbers.
    lines
        Lines of these names.
    numbers
        Numbers such as that of the voters, by key.
    categories
        Names of the categories, by their numbers.
    metadata
        All else, such as the title.
    old
        Whether the file is of the format before 2022.
    """

    type: str | None = None
    names: dict[int, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    old: bool = False

    def name(self, path: Path, number: int, line: str, alternative: int, name: str) -> None:
        """Keep the name of an alternative."""
        if not name:
            raise bad_line(path, number, line, f"gives alternative {alternative} no name", "name it")
        if name in self.lines:
            reason = f"gives alternative {alternative} the name of line {self.lines[name]}"
            raise bad_line(path, number, line, reason, "rename one of them")
        if alternative in self.names:
            raise bad_line(path, number, line, f"names alternative {alternative} a second time", "take one name out")
        self.names[alternative], self.lines[name] = name, number

    def items(self, path: Path) -> dict[int, str]:
        """Names of all alternatives, those without a name by their numbers."""
        n = self.numbers.get("NUMBER ALTERNATIVES", max(self.names, default=0))
        if n < 1:
            raise InputError(f"the header of {path.name!r} names no alternatives: give the whole file")
        beyond = [number for number in self.names if not 1 <= number <= n]
        if beyond:
            raise InputError(
                f"the header of {path.name!r} counts {n} alternatives and names number {beyond[0]}: correct one of them"
            )
        unnamed = [number for number in range(1, n + 1) if number not in self.names]
        if unnamed:
            warn(
                f"the header of {path.name!r} gives alternative {unnamed[0]} no name"
                + (f", nor {len(unnamed) - 1} others" if len(unnamed) > 1 else "")
                + ": it is called by its number"
            )
        found = {number: self.names.get(number, str(number)) for number in range(1, n + 1)}
        checked_names(found.values(), "alternative", path.name)
        return found


def read_preflib(path: Path, options: Options) -> Rankings | PairwiseVotes:
    """Read a file of PrefLib; the messages name lines."""
    with open_text(path) as file:
        lines = numbered_lines(file, path, options.progress)
        header, first = _header(path, lines)
        header.type = header.type or _suffix(path)
        rest = lines if first is None else _again(first, lines)
        items = header.items(path)
        if header.type == "wmd":
            return _edges(path, rest, header, items)
        if header.type == "cat":
            return _categories(path, rest, header, items, options)
        return _orders(path, rest, header, items, options)


def _again(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from lines


def _suffix(path: Path) -> str | None:
    ends = Path(path.name.lower().removesuffix(".gz")).suffix.removeprefix(".")
    return ends if ends in TYPES else None


# Header ------------------------------------------------------------------------------------------------------------


def _header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[Header, tuple[int, str] | None]:
    """Read the header, and the first line after it."""
    header = Header()
    for number, line in lines:
        if not line.startswith("#"):
            if number == 1 and whole(line.partition(",")[0]) is not None:
                return _old_header(path, number, line, lines), None
            return header, (number, line)
        found = _HEADER.fullmatch(line)
        if found is None:
            continue  # a comment
        key, position, value = found[1], found[2], found[3].strip()
        if key in ("ALTERNATIVE NAME", "CATEGORY NAME") and position is not None:
            if key == "ALTERNATIVE NAME":
                header.name(path, number, line, int(position), value)
            else:
                header.categories[int(position)] = value
        elif key in _COUNTED:
            told = whole(value)
            if told is None:
                raise bad_line(path, number, line, "does not hold a whole number", "correct the header")
            header.numbers[key] = told
        elif key == "DATA TYPE":
            header.type = value.lower().removeprefix(".")
            if header.type not in TYPES:
                raise bad_line(path, number, line, "names no type that is read", f"those are {', '.join(TYPES)}")
        else:
            header.metadata[key.lower().replace(" ", "_")] = value
    return header, None


def _old_header(path: Path, number: int, line: str, lines: Iterator[tuple[int, str]]) -> Header:
    """Read the header of the format before 2022: the number of alternatives, their names, and totals."""
    header = Header(old=True)
    count = whole(line.partition(",")[0])
    assert count is not None
    header.numbers["NUMBER ALTERNATIVES"] = count
    for alternative in range(1, count + 1):
        number, line = next(lines, (number + 1, ""))
        told, comma, name = line.partition(",")
        if not comma or whole(told) != alternative:
            advice = f"the {count} alternatives that the first line counts are named one a line, as in '1,Ann'"
            raise bad_line(path, number, line, f"does not name alternative {alternative}", advice)
        header.name(path, number, line, alternative, name.strip())
    if _suffix(path) != "wmd":
        number, line = next(lines, (number + 1, ""))
        totals = [whole(cell) for cell in line.split(",")]
        if len(totals) != 3 or totals[0] is None:
            advice = "after the names come the numbers of voters, of their sum, and of different orders, as in '9,9,4'"
            raise bad_line(path, number, line, "does not hold three numbers", advice)
        header.numbers["NUMBER VOTERS"] = totals[0]
    return header


# Ballots -----------------------------------------------------------------------------------------------------------


def _orders(
    path: Path, lines: Iterator[tuple[int, str]], header: Header, items: dict[int, str], options: Options
) -> Rankings:
    index = _index(items)
    orders, n, voters = Orders(options.merge), len(items), 0
    complete = header.type in ("soc", "toc")
    strict = header.type in ("soc", "soi")
    for number, line in lines:
        count, text = _counted(path, number, line, header.old)
        voters += count
        if orders.repeats(text, count):
            continue
        ballot = [index.get(cell, -1) for cell in text.split(",")]
        size = len(ballot)
        if -1 not in ballot and len(set(ballot)) == size:  # an order without ties, as most are
            orders.add_strict(ballot, count)
        else:
            groups = _groups(path, number, line, text, index, n)
            size = sum(map(len, groups))
            if strict and size > len(groups):
                advice = "take the braces out, or call the file .toc or .toi"
                raise bad_line(path, number, line, f"has ties, and {header.type} files have none", advice)
            if any(not group for group in groups):
                raise bad_line(path, number, line, "has empty braces", "take them out")
            orders.add(groups, count)
        if complete and size < n:
            reason = f"ranks {size} of {n} alternatives, and {header.type} files rank all"
            raise bad_line(path, number, line, reason, "complete it, or call the file .soi or .toi")
    _refuse_other_numbers(path, header, len(orders), voters)
    metadata = _metadata(header, orders)
    return orders.rankings(list(items.values()), options.gaps or "top", metadata=metadata)


def _categories(
    path: Path, lines: Iterator[tuple[int, str]], header: Header, items: dict[int, str], options: Options
) -> Rankings:
    index, n = _index(items), len(items)
    orders, voters = Orders(options.merge), 0
    many = header.numbers.get("NUMBER CATEGORIES", len(header.categories)) or None
    for number, line in lines:
        count, text = _counted(path, number, line, header.old)
        voters += count
        if orders.repeats(text, count):
            continue
        groups = _groups(path, number, line, text, index, n)
        many = many or len(groups)
        if len(groups) != many:
            advice = "write {} for a category without alternatives"
            raise bad_line(path, number, line, f"has {len(groups)} categories, not {many}", advice)
        orders.add_categories(groups, count)
    _refuse_other_numbers(path, header, len(orders), voters)
    metadata = _metadata(header, orders, {f"category_{k}": name for k, name in sorted(header.categories.items())})
    found = orders.rankings(list(items.values()), best=many, metadata=metadata)
    return gaps_of(path, found, options.gaps)


def _index(items: Mapping[int, str]) -> dict[str, int]:
    """Position of an alternative by its number as it is written, with a space before it or not."""
    return {before + str(number): number - 1 for number in items for before in ("", " ")}


def _counted(path: Path, number: int, line: str, old: bool) -> tuple[int, str]:
    """Number of voters of an order, and the order."""
    told, colon, text = line.partition("," if old else ":")
    count = whole(told)
    if not colon or count is None:
        form = "'12,3,1,2'" if old else "'12: 3,1,2'"
        advice = f"a line is the number of voters and their order, as in {form}"
        raise bad_line(path, number, line, "does not begin with a number of voters", advice)
    if count < 1:
        raise bad_line(path, number, line, "is the order of no voter", "take it out")
    return count, text


def _groups(path: Path, number: int, line: str, text: str, index: dict[str, int], n: int) -> list[list[int]]:
    """Positions of the tied alternatives of each group of an order."""
    groups: list[list[int]] = []
    seen: set[int] = set()
    position = 0
    while position <= len(text):
        found = _GROUP.match(text, position)
        if found is None:
            advice = "write tied alternatives as in '{2,3}'"
            raise bad_line(path, number, line, "has braces that do not match, or no comma beside them", advice)
        cells = [found[2]] if found[1] is None else found[1].split(",") if found[1].strip() else []
        group = []
        for cell in cells:
            item = index.get(cell.strip())
            if item is None:
                reason = f"ranks {cell.strip()!r}" if cell.strip() else "has an empty place"
                advice = f"alternatives are the numbers 1 to {n}" if cell.strip() else "take out a comma"
                raise bad_line(path, number, line, reason, advice)
            if item in seen:
                raise bad_line(path, number, line, f"ranks {item + 1} twice", "rank each alternative once")
            seen.add(item)
            group.append(item)
        groups.append(group)
        if not text[found.start() : found.end()].endswith(","):
            break
        position = found.end()
    return groups


def _refuse_other_numbers(path: Path, header: Header, lines: int, voters: int) -> None:
    told = header.numbers.get("NUMBER VOTERS", voters)
    if not lines:
        raise InputError(f"{path.name!r} holds no orders: give the whole file")
    if told != voters:
        raise InputError(
            f"the header of {path.name!r} counts {told:,} voters, and its lines {voters:,}: get the file again if it "
            "is cut off, or correct the header"
        )


def _metadata(header: Header, orders: Orders, more: Mapping[str, str] | None = None) -> dict[str, str]:
    kind = {} if header.type is None else {"data_type": header.type}
    return {"format": " ".join(["PrefLib", *kind.values()]), **header.metadata, **kind, **(more or {})}


# Edges -------------------------------------------------------------------------------------------------------------


def _edges(path: Path, lines: Iterator[tuple[int, str]], header: Header, items: dict[int, str]) -> PairwiseVotes:
    index, wins, edges = _index(items), np.zeros((len(items), len(items))), 0
    for number, line in lines:
        cells = line.split(",")
        places = [index.get(cell.strip(), -1) for cell in cells[:2]]
        if len(cells) != 3 or -1 in places or places[0] == places[1]:
            advice = f"a line is two different alternatives from 1 to {len(items)} and a weight, as in '1,5,2.0'"
            raise bad_line(path, number, line, "is no edge", advice)
        if wins[places[0], places[1]]:
            raise bad_line(path, number, line, "repeats an edge", "add the weights, and write one line")
        wins[places[0], places[1]] = _weight(path, number, line, cells[2])
        edges += 1
    told = header.numbers.get("NUMBER EDGES", edges)
    if told != edges:
        raise InputError(
            f"the header of {path.name!r} counts {told:,} edges, and the file has {edges:,}: get the file again if it "
            "is cut off, or correct the header"
        )
    metadata = {"format": "PrefLib wmd", **header.metadata, "data_type": "wmd"}
    return PairwiseVotes(tuple(items.values()), wins, metadata=metadata)


def _weight(path: Path, number: int, line: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 < weight < np.inf:
        raise bad_line(path, number, line, f"has the weight {text.strip()!r}", "weights are positive numbers")
    return weight


# Writing -----------------------------------------------------------------------------------------------------------


def preflib_text(votes: Rankings | PairwiseVotes, kind: str | None, file: str) -> Iterator[str]:
    """Lines of a file of PrefLib; without a kind, that of the most restrictive type."""
    if isinstance(votes, PairwiseVotes):
        _refuse_type(kind, ("wmd",), "pairwise votes")
        if votes.ties is not None and votes.ties.any():
            raise InputError("a .wmd file holds no ties: write the votes as a table, format='pairwise'")
        yield from _head(votes.items, "wmd", file, votes.metadata)
        rows, columns = np.nonzero(votes.wins)
        yield f"# NUMBER EDGES: {len(rows)}\n"
        yield from _named(votes.items)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            yield f"{row + 1},{column + 1},{float(votes.wins[row, column])!r}\n"
        return
    exact = type_of(votes)
    told = kind or exact
    able = [one for one in ORDERS if (one[0] == "t" or exact[0] == "s") and (one[2] == "i" or exact[2] == "c")]
    _refuse_type(told, (*able, "cat"), f"these rankings ({exact})")
    yield from _head(votes.items, told, file, votes.metadata)
    yield f"# NUMBER VOTERS: {int(votes.counts.sum())}\n"
    levels = np.empty(0)
    if told == "cat":
        levels = _levels(np.unique(votes.values[~np.isnan(votes.values)])[::-1], votes.metadata)
        yield f"# NUMBER UNIQUE PREFERENCES: {len(votes)}\n# NUMBER CATEGORIES: {len(levels)}\n"
        for k in range(len(levels)):
            yield f"# CATEGORY NAME {k + 1}: {votes.metadata.get(f'category_{k + 1}', k + 1)}\n"
    else:
        yield f"# NUMBER UNIQUE ORDERS: {len(votes)}\n"
    yield from _named(votes.items)
    found = groups_in(votes) if told != "cat" else _categories_in(votes, levels)
    for groups, count in zip(found, votes.counts.tolist(), strict=True):
        yield f"{count}: {','.join(map(_group, groups))}\n"


def _categories_in(votes: Rankings, levels: Floats) -> Iterator[list[list[int]]]:
    """Items of each category, for each ballot."""
    for row in votes.values:
        yield [np.flatnonzero(row == value).tolist() for value in levels]


def type_of(rankings: Rankings) -> str:
    """The most restrictive type of orders that holds rankings.

    Examples
    --------
    >>> type_of(Rankings.from_orderings([["a", "b"], ["b"]], kind=["total", "top"]))
    'soi'
    """
    ties = any(len(group) > 1 for groups in groups_in(rankings) for group in groups)
    return ("t" if ties else "s") + "o" + ("i" if np.isnan(rankings.values).any() else "c")


def _levels(found: Floats, metadata: Mapping[str, str]) -> Floats:
    """Value of each category, the best first; of empty ones too, if the values are those of categories in a file."""
    many = max((int(key[9:]) for key in metadata if re.fullmatch(r"category_\d+", key)), default=0)
    known = np.arange(many, 0, -1.0)
    return known if np.isin(found, known).all() else found


def _refuse_type(kind: str | None, able: tuple[str, ...], what: str) -> None:
    if kind is not None and kind not in able:
        raise InputError(f"a .{kind} file cannot hold {what}: call it .{' or .'.join(able)}")


def _group(items: list[int]) -> str:
    return str(items[0] + 1) if len(items) == 1 else "{" + ",".join(str(item + 1) for item in items) + "}"


def _head(items: tuple[str, ...], kind: str, file: str, metadata: Mapping[str, str]) -> Iterator[str]:
    yield f"# FILE NAME: {file}\n"
    for key in _WRITTEN:
        yield f"# {key.upper().replace('_', ' ')}: {metadata.get(key, '')}\n"
        if key == "description":
            yield f"# DATA TYPE: {kind}\n"
    yield f"# NUMBER ALTERNATIVES: {len(items)}\n"


def _named(items: tuple[str, ...]) -> Iterator[str]:
    for number, name in enumerate(items, start=1):
        yield f"# ALTERNATIVE NAME {number}: {name}\n"
