"""Tables of ballots: an item a column (wide), a voter and an item a row (long), or a result a row (pairwise)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from distkern.core.ballots import may_be_ranks, place_number
from distkern.core.containers import EXACT_INTEGER
from distkern.core.errors import InputError
from distkern.core.names import checked_names
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.rankings import Rankings
from distkern.core.sentences import Argument, OptionalPart, Sentence
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Floats
from distkern.io.rankings.lines import Options, bad_line, in_order, reported, whole
from distkern.io.rankings.meaning import gaps_of, refuse_either, refuse_places
from distkern.io.rankings.orders import ROWS, Orders, batched
from distkern.io.tables import MISSING, numbers_of_texts
from distkern.io.typed_tables import table_of_texts

Kind = Literal["wide", "long", "pairwise"]

_PEOPLE = (
    "voter|judge|rater|respondent|user|participant|subject|person|annotator|assessor|evaluator|juror|ballot|sample"
)
_PATTERNS = {
    "voter": rf"(?:{_PEOPLE})s?(?:[ _.-]?(?:id|no|nr|number|name))?",
    "item": r"(?:item|candidate|alternative|option|object|product)(?:[ _.-]?(?:id|name))?",
    "rank": r"rank|ranking|place|position",
    "score": r"score|rating|grade|stars|points|value",
    "winner": r"winner|preferred|chosen",
    "loser": r"loser|rejected",
    "tie": r"ties?|tied|is_tie|draws?",
    "count": r"counts?|frequency|freq|n_?voters|n_?votes|n_?ballots|multiplicity",
}
"""Names of columns that say what they hold."""

_ADVICE = {
    "voter": OptionalPart(": name it with {option}", option=Argument("voter")),
    "item": OptionalPart(": name it with {option}", option=Argument("item")),
    "rank": OptionalPart(": name it with {option}", option=Argument("rank")),
    "score": OptionalPart(": name it with {option}", option=Argument("score")),
    "winner": OptionalPart(": name it with {option}", option=Argument("winner")),
    "loser": OptionalPart(": name it with {option}", option=Argument("loser")),
    "tie": OptionalPart(": name it with {option}", option=Argument("tie")),
    "count": OptionalPart(": name it with {option}", option=Argument("count")),
}
"""What to do about a column that is not found."""

_NAMES = re.compile(
    rf"|{_PATTERNS['voter']}|(?:.*[ _.-])?(?:ids?|identifier|name)|index|unnamed: \d+|no|nr|number", re.I
)
"""Names of a first column that names the ballots."""

_MARKS = {
    **dict.fromkeys(("yes", "y", "true", "x", "✓", "✔", "approve", "approved", "for", "+", "1"), 1.0),
    **dict.fromkeys(("neutral", "abstain", "maybe", "0"), 0.0),
    **dict.fromkeys(("no", "n", "false", "disapprove", "against", "-", "−", "-1", "−1"), -1.0),
}
"""Values of approval and ternary votes; only their order counts."""

_TIED = frozenset({"1", "true", "yes", "y", "t", "tie", "tied", "draw", "both", "equal"})
_NOT_TIED = frozenset({"", "0", "false", "no", "n", "f", "na", "nan"})
_ENDS = (("a", "b"), ("1", "2"), ("left", "right"))
"""Ends of the names of two columns with the two items of a result."""


@dataclass(frozen=True)
class Opened:
    """An open table: the names of its columns, and the number and cells of each row."""

    path: Path
    names: list[str]
    rows: Iterator[tuple[int, list[str]]]

    def text(self, cells: Sequence[str]) -> str:
        """A row as a message shows it."""
        return ",".join(cells)

    def place(self, name: str) -> int:
        """Position of a column."""
        if name not in self.names:
            raise InputError(
                f"{self.path.name!r} has no column {name!r}: name one of its columns{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)


@contextmanager
def _opened(path: Path, options: Options) -> Iterator[Opened]:
    with table_of_texts(path, options.sep) as (names, rows, file):
        repeated = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if repeated is not None:
            raise InputError(f"{path.name!r} has two columns {repeated!r}: rename one of them")
        yield Opened(path, names, rows if file is None else reported(rows, file, path, options.progress))


# Columns -----------------------------------------------------------------------------------------------------------


def kind_of_table(names: Sequence[str], options: Options) -> Kind:
    """Find the shape of a table from the names of its columns and the options.

    Examples
    --------
    >>> kind_of_table(["voter", "item", "rank"], Options()), kind_of_table(["", "ann", "bob"], Options())
    ('long', 'wide')
    >>> kind_of_table(["winner", "loser"], Options()), kind_of_table(["model_a", "model_b", "winner"], Options())
    ('pairwise', 'pairwise')
    """
    known = {name for name in _PATTERNS if getattr(options, name) or _matches(names, name)}
    if "winner" in known and ("loser" in known or _pair(names) is not None):
        return "pairwise"
    if {"voter", "item"} <= known and known & {"rank", "score"}:
        return "long"
    return "wide"


def _matches(names: Sequence[str], role: str) -> list[str]:
    return [name for name in names if re.fullmatch(_PATTERNS[role], name.strip(), re.I)]


def says_count(name: str) -> bool:
    """Whether the name of a column says that it holds numbers of voters.

    Examples
    --------
    >>> says_count("Count"), says_count("account")
    (True, False)
    """
    return bool(_matches([name], "count"))


def _column(table: Opened, role: str, given: str | None) -> int | None:
    """Position of the column with a role; None if there is none."""
    if given is not None:
        return table.place(given) if given else None
    found = _matches(table.names, role)
    if len(found) > 1:
        raise InputError(
            "the columns {first!r} and {second!r} of {file!r} may both hold the {role}{advice}",
            first=found[0],
            second=found[1],
            file=table.path.name,
            role=role,
            advice=_ADVICE[role],
        )
    return table.names.index(found[0]) if found else None


def _needed(table: Opened, role: str, given: str | None) -> int:
    found = _column(table, role, given)
    if found is None:
        raise InputError(
            "{file!r} has no column of the {role}{advice}",
            file=table.path.name,
            role=role,
            advice=_ADVICE[role],
        )
    return found


def _pair(names: Sequence[str]) -> tuple[str, str] | None:
    """Names of the two columns with the items of a result, such as model_a and model_b."""
    for first, second in _ENDS:
        for name in names:
            other = name[: -len(first)] + second
            if name.lower().endswith(first) and len(name) > len(first) and other in names:
                return name, other
    return None


def _count(table: Opened, number: int, cells: list[str], place: int | None) -> int:
    if place is None:
        return 1
    count = whole(cells[place].strip().removesuffix(".0"))
    if count is None:
        reason = f"has the text {cells[place].strip()!r} in the column {table.names[place]!r}"
        raise bad_line(table.path, number, table.text(cells), reason, "counts of voters are whole numbers")
    return count


def _is_blank(text: str, options: Options) -> bool:
    return text in MISSING or text in options.blank


def _number(table: Opened, number: int, cells: list[str], place: int, options: Options) -> float:
    text = cells[place].strip()
    if _is_blank(text, options):
        return np.nan
    if (rank := whole(text)) is not None and rank < EXACT_INTEGER:
        return float(rank)
    try:
        value = float(numbers_of_texts([text])[0])
    except ValueError:
        value = np.inf
    if not np.isfinite(value):
        raise _no_number(table, number, cells, place)
    return value


def _no_number(table: Opened, number: int, cells: list[str], place: int) -> InputError:
    advice = Sentence(
        "write a number, or leave the cell empty if there is none; {blank} names other texts that mean so",
        blank=Argument("blank"),
    )
    reason = f"has the text {cells[place].strip()!r} in the column {table.names[place]!r}"
    return bad_line(table.path, number, table.text(cells), reason, advice)


# Long tables -------------------------------------------------------------------------------------------------------


def read_long(path: Path, options: Options) -> Rankings:
    """Read a table with a row for each voter and item, and a column of ranks or of scores."""
    with _opened(path, options) as table:
        voters = [table.place(name) for name in options.voter or () if name] or [_needed(table, "voter", None)]
        item = _needed(table, "item", options.item)
        value, values = _value_column(table, options)
        count = _column(table, "count", options.count)
        rows: dict[str, int] = {}
        columns: dict[str, int] = {} if options.items is None else {name: k for k, name in enumerate(options.items)}
        counts: list[int] = []
        cells_at, numbers, lines = array("q"), array("d"), array("q")
        pairs = array("q")
        for number, cells in table.rows:
            names = [cells[place].strip() for place in voters]
            name = cells[item].strip()
            if not all(names) or not name:
                raise bad_line(path, number, table.text(cells), "names no voter or no item", "complete the line")
            if options.items is not None and name not in columns:
                continue
            weight = _count(table, number, cells, count)
            row = rows.setdefault(", ".join(names), len(rows))
            if row == len(counts):
                counts.append(weight)
            elif counts[row] != weight:
                reason = f"gives this voter the count {weight}, and {counts[row]} before"
                raise bad_line(path, number, table.text(cells), reason, "correct one of them")
            cells_at.append(row)
            pairs.append(columns.setdefault(name, len(columns)))
            numbers.append(_number(table, number, cells, value, options))
            lines.append(number)
    if not rows:
        raise InputError(f"{path.name!r} holds no values: give the whole file")
    _refuse_repeated(path, np.array(cells_at), np.array(pairs), np.array(lines), list(rows), list(columns))
    order = list(range(len(columns))) if options.items is not None else in_order(list(columns))
    place = np.empty(len(columns), dtype=np.intp)
    place[order] = np.arange(len(order))
    matrix = np.full((len(rows), len(columns)), np.nan)
    matrix[np.array(cells_at), place[np.array(pairs)]] = np.array(numbers)
    names = [list(columns)[k] for k in order]
    return _rankings(path, matrix, values, names, counts, list(rows), options, "long table")


def _value_column(table: Opened, options: Options) -> tuple[int, str]:
    """The column of ranks or of scores, and which of them it holds."""
    given = {"ranks": options.rank, "scores": options.score}
    told = [values for values, name in given.items() if name]
    if len(told) == 2:
        raise InputError(
            "{rank} and {score} say that the values are ranks, and that they are scores: give one of them",
            rank=Argument("rank"),
            score=Argument("score"),
        )
    if told:
        return table.place(str(given[told[0]])), told[0]
    found = {values: _column(table, role, None) for role, values in (("rank", "ranks"), ("score", "scores"))}
    able = [values for values, place in found.items() if place is not None and options.values in (None, values)]
    if len(able) != 1:
        raise InputError(
            "{file!r} has {what} of ranks (1 is the best) or scores (the largest is the best): name one with {rank} or "
            "{score}",
            file=table.path.name,
            what="two columns" if able else "no column",
            rank=Argument("rank"),
            score=Argument("score"),
        )
    place = found[able[0]]
    assert place is not None
    return place, able[0]


def _refuse_repeated(
    path: Path, rows: Floats, columns: Floats, lines: Floats, voters: list[str], items: list[str]
) -> None:
    codes = rows * len(items) + columns
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(np.diff(codes[order]) == 0)
    if len(again):
        k = min(again.tolist(), key=lambda k: lines[order[k + 1]])
        first, second = order[k], order[k + 1]
        raise InputError(
            "lines {first} and {second} of {file!r} both hold {item!r} of the voter {voter!r}: leave one, or name more "
            "columns of the voter with {option} if these are two voters",
            first=int(lines[first]),
            second=int(lines[second]),
            file=path.name,
            item=items[int(columns[first])],
            voter=voters[int(rows[first])],
            option=Argument("voter"),
        )


# Wide tables -------------------------------------------------------------------------------------------------------


def read_wide(path: Path, options: Options) -> Rankings:
    """Read a table with a row for each ballot, and a column for each item or each place."""
    if options.samples == "columns":
        return _read_transposed(path, options)
    with _opened(path, options) as table:
        rows = list(table.rows)
        if not rows:
            raise InputError(f"{path.name!r} holds no ballots: it has a header only")
        count = _column(table, "count", options.count)
        dropped = {table.place(name) for name in options.ignore} | ({count} - {None})
        rest = [k for k in range(len(table.names)) if k not in dropped]
        named = _naming(table, rows, rest, options)
        rest = [k for k in rest if k not in named]
        if options.items is not None and options.values != "orderings":
            rest = [table.place(name) for name in options.items]
        counts = [_count(table, number, cells, count) for number, cells in rows]
        ids = _ids(table, rows, named)
        kept = [k for k, votes in enumerate(counts) if votes]
        rows, counts = [rows[k] for k in kept], [counts[k] for k in kept]
        ids = None if ids is None else [ids[k] for k in kept]
        if not rows or not rest:
            raise InputError(f"{path.name!r} holds no ballots with values: check its columns")
        if options.values == "orderings":
            return _orderings(table, rows, rest, counts, ids, options)
        matrix, values = _matrix(table, rows, rest, options)
    names = [table.names[k] for k in rest]
    return _rankings(path, matrix, values, names, counts, ids, options, "table", [line for line, _ in rows])


def _read_transposed(path: Path, options: Options) -> Rankings:
    """Read a table with a row for each item, and a column for each ballot."""
    with _opened(path, options) as table:
        rows = list(table.rows)
        names = [cells[0].strip() for _, cells in rows]
        for k, (number, cells) in enumerate(rows):
            if not names[k] or names[k] in names[:k]:
                reason = f"repeats the item {names[k]!r}" if names[k] else "names no item"
                raise bad_line(path, number, table.text(cells), reason, "give each item one line and one name")
        dropped = {table.place(name) for name in options.ignore}
        places = [k for k in range(1, len(table.names)) if k not in dropped]
        if not rows or not places:
            raise InputError(
                f"{path.name!r} holds no ballots: its first column names items, and each other is a ballot"
            )
        matrix, values = _matrix(table, rows, places, options, transposed=True)
    ids = [table.names[k] for k in places]
    return _rankings(path, matrix, values, names, [1] * len(ids), ids, options, "table")


def _naming(table: Opened, rows: list[tuple[int, list[str]]], rest: list[int], options: Options) -> list[int]:
    """Positions of the columns that name the ballots: those of the caller, or the first one if it does so."""
    if options.voter is not None:
        return [table.place(name) for name in options.voter if name]
    if not rest or rest[0] != 0:
        return []
    first = table.names[0]
    if _NAMES.fullmatch(first.strip()):
        return [0]
    if place_number(first) is not None:
        return []
    if options.values == "orderings":
        return [0]
    cells = [line[0].strip() for _, line in rows]
    if any(not _is_blank(cell, options) and cell.lower() not in _MARKS and not _is_numeric(cell) for cell in cells):
        return [0]
    counted = [whole(cell) for cell in cells]
    if (
        len(cells) >= len(rest)
        and len(cells) > 2
        and counted in (list(range(len(cells))), [k + 1 for k in range(len(cells))])
    ):
        raise InputError(
            "the column {name!r} of {file!r} may number the ballots or be an item: write {voter} if it numbers them, "
            "or {none} if it is an item",
            name=first,
            file=table.path.name,
            voter=Argument("voter", first),
            none=Argument("voter", ""),
        )
    return []


def _is_numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _ids(table: Opened, rows: list[tuple[int, list[str]]], named: list[int]) -> list[str] | None:
    if not named:
        return None
    lines: dict[str, int] = {}
    for number, cells in rows:
        name = ", ".join(cells[k].strip() for k in named)
        if not name:
            raise bad_line(table.path, number, table.text(cells), "names no voter", "give every ballot a name")
        if name in lines:
            reason = f"is of the voter {name!r}, as line {lines[name]} is"
            advice = Sentence(
                "give every ballot another name, or name its columns with {voter}; if a voter has a line for each "
                "item, name the columns with {voter}, {item}, and {rank} or {score}",
                voter=Argument("voter"),
                item=Argument("item"),
                rank=Argument("rank"),
                score=Argument("score"),
            )
            raise bad_line(table.path, number, table.text(cells), reason, advice)
        lines[name] = number
    return list(checked_names(lines, "voter", table.path.name))


def _matrix(
    table: Opened, rows: list[tuple[int, list[str]]], places: list[int], options: Options, transposed: bool = False
) -> tuple[Floats, str]:
    """Values of the ballots, ballots in rows, and what they are."""
    values: str | None = options.values
    names = [table.names[k] for k in places]
    if values is None and not transposed:
        refuse_places(table.path.name, names)
    if values is None and _are_marks(rows, places, options):
        values = "approval"
    parts = [_part(table, part, places, values, options) for part in batched(iter(rows), ROWS)]
    matrix = np.concatenate(parts).T.copy() if transposed else np.concatenate(parts)
    if np.isnan(matrix).all():
        raise InputError(f"{table.path.name!r} holds no ballot with a value: check the file")
    if values is None:
        if may_be_ranks(matrix, partial=options.gaps == "top"):
            items = [cells[0].strip() for _, cells in rows] if transposed else names
            refuse_either(table.path.name, matrix[0], items)
        values = "scores"
    return matrix, values


def _are_marks(rows: list[tuple[int, list[str]]], places: list[int], options: Options) -> bool:
    """Whether the cells are marks such as yes, no and x, not all of them numbers."""
    words = {cells[k].strip().lower() for _, cells in rows for k in places}
    words -= {word for word in words if word.upper() in MISSING or _is_blank(word, options)}
    return words <= set(_MARKS) and not all(map(_is_numeric, words))


def _part(
    table: Opened, rows: list[tuple[int, list[str]]], places: list[int], values: str | None, options: Options
) -> Floats:
    """Values of some rows, (k, n)."""
    if values == "approval":
        return np.array([[_mark(table, number, cells, k, options) for k in places] for number, cells in rows])
    texts = [cells[k] for _, cells in rows for k in places]
    if options.blank:
        texts = ["" if text.strip() in options.blank else text for text in texts]
    try:
        found = numbers_of_texts(texts).reshape(len(rows), len(places))
    except ValueError:
        found = None
    if found is None or np.isinf(found).any():  # find the cell
        return np.array([[_number(table, number, cells, k, options) for k in places] for number, cells in rows])
    return found


def _mark(table: Opened, number: int, cells: list[str], place: int, options: Options) -> float:
    text = cells[place].strip()
    if _is_blank(text, options):
        return np.nan
    if text.lower() not in _MARKS:
        reason = f"has the mark {text!r} in the column {table.names[place]!r}"
        advice = "approvals are yes, x or 1, refusals no or -1, and what is between them neutral or 0"
        raise bad_line(table.path, number, table.text(cells), reason, advice)
    return _MARKS[text.lower()]


def _orderings(
    table: Opened,
    rows: list[tuple[int, list[str]]],
    places: list[int],
    counts: list[int],
    ids: list[str] | None,
    options: Options,
) -> Rankings:
    """Rankings of a table whose columns are places and whose cells name items."""
    numbers = {k: place_number(table.names[k]) for k in places}
    other = next((k for k, number in numbers.items() if number is None), None)
    if other is not None:
        raise InputError(
            "the column {name!r} of {file!r} is no place such as rank_1: with {orderings} every column is one; take it "
            "out, or say with an option what it holds",
            name=table.names[other],
            file=table.path.name,
            orderings=Argument("values", "orderings"),
        )
    places = sorted(places, key=lambda k: numbers[k] or 0)
    index = {} if options.items is None else {name: k for k, name in enumerate(options.items)}
    orders, last = Orders(), True
    for (number, cells), count in zip(rows, counts, strict=True):
        texts = [cells[k].strip() for k in places]
        kept = [text for text in texts if not _is_blank(text, options)]
        line = table.text(cells)
        if any(not _is_blank(text, options) for text in texts[len(kept) :]):
            raise bad_line(table.path, number, line, "has an item after padding", "put all items first, best to worst")
        unknown = [text for text in kept if text not in index] if options.items is not None else []
        if unknown:
            reason = f"ranks {unknown[0]!r}, which is not among the items"
            raise bad_line(table.path, number, line, reason, "correct the name")
        if len(set(kept)) < len(kept):
            twice = next(text for k, text in enumerate(kept) if text in kept[:k])
            advice = Sentence(
                "rank each item once, or write {blank} if this text means no item", blank=Argument("blank", twice)
            )
            raise bad_line(table.path, number, line, f"ranks item {twice!r} twice", advice)
        orders.add_strict([index.setdefault(text, len(index)) for text in kept], count)
        last = last and "0" not in kept[:-1]
    if last and options.items is None and "0" in index and all(whole(text) is not None for text in index):
        raise InputError(
            "0 comes last in all ballots of {file!r} that have it: write {blank} if it means no item{items}",
            file=table.path.name,
            blank=Argument("blank", "0"),
            items=OptionalPart(", or name the items with {items}", items=Argument("items")),
        )
    given = options.items is not None
    metadata = {"format": "table of orderings"}
    names = checked_names(index, "item", table.path.name)
    if not names:
        raise InputError(f"{table.path.name!r} holds no ballot that ranks an item: check the file")
    named = None if ids is None else tuple(ids)
    found = orders.rankings(names, options.gaps or "top", in_given_order=given, ids=named, metadata=metadata)
    return gaps_of(table.path, found, options.gaps or "top", [line for line, _ in rows])


def _rankings(
    path: Path,
    matrix: Floats,
    values: str,
    items: Sequence[str],
    counts: Sequence[int],
    ids: Sequence[str] | None,
    options: Options,
    shape: str,
    lines: Sequence[int] | None = None,
) -> Rankings:
    """Rankings of a matrix of ranks, scores or marks."""
    found = Rankings.from_ranks(
        matrix, kind="interleaving", larger_is_preferred=values != "ranks", counts=np.array(counts), items=items
    )
    metadata = {"format": f"{shape} of {values}"}
    found = replace(found, ids=None if ids is None else tuple(ids), metadata=metadata)
    return gaps_of(path, found, options.gaps, lines)


# Pairwise results --------------------------------------------------------------------------------------------------


def read_pairwise(path: Path, options: Options) -> PairwiseVotes:
    """Read a table with a row for each result: a winner and a loser, or two items and which of them wins."""
    with _opened(path, options) as table:
        winner = _needed(table, "winner", options.winner)
        loser = _column(table, "loser", options.loser)
        pair = _pair(table.names) if loser is None else None
        if loser is None and pair is None:
            loser = _needed(table, "loser", None)
        tie, count = _column(table, "tie", options.tie), _column(table, "count", options.count)
        results: list[tuple[str, str, bool, int]] = []
        for number, cells in table.rows:
            if pair is None:
                assert loser is not None
                first, second, tied = cells[winner].strip(), cells[loser].strip(), False
            else:
                first, second, tied = _decided(table, number, cells, winner, pair)
            tied = tied or (tie is not None and _tied(table, number, cells, tie))
            if not first or not second or first == second:
                reason = f"is a result of {first!r} and {second!r}"
                raise bad_line(path, number, table.text(cells), reason, "name two different items")
            unknown = [name for name in (first, second) if options.items is not None and name not in options.items]
            if unknown:
                reason = f"names {unknown[0]!r}, which is not among the items"
                raise bad_line(path, number, table.text(cells), reason, "correct the name")
            weight = _count(table, number, cells, count)
            if weight:
                results.append((first, second, tied, weight))
    if not results:
        raise InputError(f"{path.name!r} holds no results: give the whole file")
    firsts, seconds, ties, counts = zip(*results, strict=True)
    names = sorted({*firsts, *seconds}) if options.items is None else list(options.items)
    items = names if options.items is not None else [names[k] for k in in_order(names)]
    metadata = {"format": "pairwise results"}
    return PairwiseVotes.from_results(firsts, seconds, counts=counts, tied=ties, items=items, metadata=metadata)


def _decided(table: Opened, number: int, cells: list[str], winner: int, pair: tuple[str, str]) -> tuple[str, str, bool]:
    """Winner, loser, and whether they are tied, of a row with two items and the name of the column that wins."""
    first, second = (cells[table.names.index(name)].strip() for name in pair)
    told = cells[winner].strip().lower()
    ends = next(ends for ends in _ENDS if pair[0].lower().endswith(ends[0]) and pair[1].lower().endswith(ends[1]))
    if told in (pair[0].lower(), first.lower(), ends[0]):
        return first, second, False
    if told in (pair[1].lower(), second.lower(), ends[1]):
        return second, first, False
    if told in _TIED or told.startswith("tie"):
        return first, second, True
    reason = f"has the winner {cells[winner].strip()!r}"
    advice = f"the winner is {pair[0]!r}, {pair[1]!r}, the item in one of them, or 'tie'"
    raise bad_line(table.path, number, table.text(cells), reason, advice)


def _tied(table: Opened, number: int, cells: list[str], place: int) -> bool:
    text = cells[place].strip().lower()
    if text in _TIED or text in _NOT_TIED:
        return text in _TIED
    reason = f"has the text {cells[place].strip()!r} in the column {table.names[place]!r}"
    raise bad_line(table.path, number, table.text(cells), reason, "write 1 for a tie and 0 for none")
