"""Rankings from files of any format, which the content of the file tells."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from distkern.core.errors import InputError
from distkern.core.events import Listener, silent
from distkern.core.files import as_path
from distkern.core.names import checked_names
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.parameters import entries, flag, one_of
from distkern.core.rankings import Rankings
from distkern.core.sentences import Argument, OptionalPart
from distkern.io.compression import beginning_of
from distkern.io.foreign import head_of, refuse_foreign
from distkern.io.rankings.blt import is_blt, read_blt
from distkern.io.rankings.lines import Gaps, Options, Values
from distkern.io.rankings.preflib import is_preflib, read_preflib
from distkern.io.rankings.tables import kind_of_table, read_long, read_pairwise, read_wide
from distkern.io.rankings.text import is_text, read_text
from distkern.io.sheets import file_and_sheet
from distkern.io.tables import head_text
from distkern.io.typed_tables import columns_of_table, is_typed_table

Format = Literal["preflib", "blt", "text", "wide", "long", "pairwise"]

READERS: dict[str, Callable[[Path, Options], Rankings | PairwiseVotes]] = {
    "preflib": read_preflib,
    "blt": read_blt,
    "text": read_text,
    "wide": read_wide,
    "long": read_long,
    "pairwise": read_pairwise,
}
"""The reader of each format."""

PREFLIB = (".soc", ".soi", ".toc", ".toi", ".cat", ".wmd")
SUFFIXES = {**dict.fromkeys(PREFLIB, "preflib"), ".blt": "blt"}
"""Formats that the name of a file tells, if its content does not."""

VALUES = ("scores", "ranks", "orderings", "approval")
GAPS = ("top", "interleaving")

_TABLE_ONLY = {
    "values": OptionalPart(": leave out {option}", option=Argument("values")),
    "voter": OptionalPart(": leave out {option}", option=Argument("voter")),
    "item": OptionalPart(": leave out {option}", option=Argument("item")),
    "rank": OptionalPart(": leave out {option}", option=Argument("rank")),
    "score": OptionalPart(": leave out {option}", option=Argument("score")),
    "winner": OptionalPart(": leave out {option}", option=Argument("winner")),
    "loser": OptionalPart(": leave out {option}", option=Argument("loser")),
    "tie": OptionalPart(": leave out {option}", option=Argument("tie")),
    "count": OptionalPart(": leave out {option}", option=Argument("count")),
    "blank": OptionalPart(": leave out {option}", option=Argument("blank")),
    "sep": OptionalPart(": leave out {option}", option=Argument("sep")),
}
"""Options of tables, and what to do about each where there is no table."""


def read_rankings(
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    values: Values | None = None,
    gaps: Gaps | None = None,
    voter: str | Iterable[str] | None = None,
    item: str | None = None,
    rank: str | None = None,
    score: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    count: str | None = None,
    items: Iterable[Any] | None = None,
    samples: Literal["rows", "columns"] = "rows",
    blank: Iterable[str] = (),
    sep: str | None = None,
    merge: bool = False,
    progress: Listener | None = None,
) -> Rankings | PairwiseVotes:
    r"""Read ballots from a file, compressed with gzip or not, whose format follows from its content.

    Parameters
    ----------
    path
        A file of PrefLib (``.soc``, ``.soi``, ``.toc``, ``.toi``, ``.cat``, ``.wmd``), BLT, orders as text
        (``12: a > b = c``), or a table: an item a column (wide), a voter and an item a row (long), or a winner and a
        loser a row (pairwise). Tables are text, Excel (``"book.xlsx#sheet"`` if several sheets have cells), Parquet or
        Feather.
    format
        ``"preflib"``, ``"blt"``, ``"text"``, ``"wide"``, ``"long"`` or ``"pairwise"``; by default found.
    values
        Meaning of the cells of a wide table. ``"scores"``: the largest is the best. ``"ranks"``: 1 is the best.
        ``"orderings"``: the columns are places, the best first, and each cell names an item. ``"approval"``: marks such
        as yes and no, x, or 1, 0, −1. Numbers that cannot be ranks are scores; others are asked about.
    gaps
        Kind of ballots that lack an item: ``"top"`` if it comes last, ``"interleaving"`` if it was not observed. Orders
        that end early are ``"top"`` by default. For tables and categories with gaps it must be given.
    voter, item, rank, score
        Columns of a long table: one or several that name the voter, that of the item, and that of ranks or scores. By
        default found by their names. ``voter`` also names the ballots of a wide table; ``voter=""`` if no column does.
    winner, loser, tie
        Columns of a pairwise table; ``tie`` marks ties. Instead of a loser there may be two columns with the items,
        such as model_a and model_b, of which the winner is one.
    count
        Column of the number of voters; by default one of a name such as ``count``. Ballots of no voter are left out.
    items
        Names of the items in their order; by default all that occur. Of a table, other items are not read.
    samples
        Whether the ballots are the rows or the columns of a wide table.
    blank
        Texts that mean "no value", besides an empty cell, ``NA`` and ``NaN``, such as ``"0"`` or ``"DNF"``.
    sep
        Separator of the columns of a table; by default tab, comma or semicolon, found from the header.
    merge
        Make one ranking of equal ballots, with the sum of their counts; memory then grows with the different ballots
        only, for PrefLib, BLT and text. Names of voters are left out.
    progress
        A function that is called with events of `distkern.core.events.Progress`.

    Returns
    -------
    Rankings or PairwiseVotes
        `PairwiseVotes` of ``.wmd`` files and pairwise tables. ``metadata["format"]`` names the format that was found.

    Raises
    ------
    InputError
        If the file is of another format, the meaning of its values cannot be told, or a line cannot be read: the
        message names the line and says what to do. Also if the header of a file of PrefLib counts other numbers.

    See Also
    --------
    write_rankings : Writes such files.
    Rankings, PairwiseVotes : What it returns.
    read_expression : Cohorts instead of ballots.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "votes.txt")
    ...     _ = file.write_text("3: ann > bob = cid\n2: bob > ann\n")
    ...     votes = read_rankings(file)
    >>> votes
    <Rankings: 2 rankings of 3 items (total and top), 5 voters>
    >>> votes.items, votes.values
    (('ann', 'bob', 'cid'), array([[3. , 1.5, 1.5],
                                   [2. , 3. , nan]]))
    """
    if values is not None:
        one_of(values, "values", VALUES)
    if gaps is not None:
        one_of(gaps, "gaps", GAPS)
    one_of(samples, "samples", ("rows", "columns"))
    options = Options(
        values=values,
        gaps=gaps,
        samples=samples,
        voter=None if voter is None else (voter,) if isinstance(voter, str) else tuple(voter),
        item=item,
        rank=rank,
        score=score,
        winner=winner,
        loser=loser,
        tie=tie,
        count=count,
        items=None if items is None else checked_names(items, "item"),
        blank=frozenset([blank] if isinstance(blank, str) else map(str, entries(blank, "blank"))),
        sep=sep,
        merge=flag(merge, "merge"),
        progress=progress or silent,
    )
    return read_votes(as_path(path), options, format)


def read_votes(path: Path, options: Options, format: str | None = None) -> Rankings | PairwiseVotes:
    """Read ballots with checked options; see `read_rankings`."""
    found = format_of(path, options) if format is None else one_of(format, "format", tuple(READERS))
    if found not in ("wide", "long", "pairwise"):
        given = [name for name in _TABLE_ONLY if getattr(options, name) not in (None, frozenset())]
        if given:
            raise InputError(
                "{file!r} is {format}, not a table{advice}",
                file=path.name,
                format=NAMES[found],
                advice=_TABLE_ONLY[given[0]],
            )
    if found in ("preflib", "blt") and options.items is not None:
        raise InputError(
            "{file!r} names its items itself{advice}",
            file=path.name,
            advice=OptionalPart(": leave out {option}", option=Argument("items")),
        )
    read = READERS[found](path, options)
    if found in ("wide", "long") and options.merge and isinstance(read, Rankings):
        return read.distinct()[0]
    return read


NAMES = {"preflib": "a file of PrefLib", "blt": "a BLT file", "text": "orders as text"}


def format_of(path: Path, options: Options | None = None) -> str:
    """Find the format of a file of ballots: by its content, then by its name; it is a table if neither tells.

    Raises
    ------
    InputError
        If there is no such file, or it is of a kind that is known and not read.
    """
    file, sheet = file_and_sheet(path)
    if not file.is_file():
        raise InputError(f"there is no file {str(file)!r}: check the path")
    head = head_of(file)
    refuse_foreign(file, head)
    if sheet is not None or is_typed_table(head):
        return table_in(path, options or Options())
    if b"\0" in beginning_of(head):
        raise InputError(f"{path.name!r} is no text file: save its table as text ('CSV UTF-8' in a spreadsheet)")
    return ballots_in(path, head) or table_in(path, options or Options())


def ballots_in(path: Path, head: bytes) -> str | None:
    """Find the format of a file that is no table, from its first bytes and its name."""
    text = head_text(head).lstrip("\r\n ")
    for name, matches in (("preflib", is_preflib), ("blt", is_blt)):
        if matches(text):
            return name
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    return "text" if is_text(text) else None


def table_in(path: Path, options: Options) -> str:
    """Find the shape of a table from its header."""
    return kind_of_table(columns_of_table(path, options.sep), options)


def described(votes: Rankings | PairwiseVotes, *, decided: bool = True) -> str:
    """Describe what was read from a file, in a line; whether it is ``decided`` what a missing value means.

    Examples
    --------
    >>> votes = Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]], counts=[3, 1, 1])
    >>> described(votes)
    '5 ballots (2 different) of 2 items, all total'
    """
    source = f"; {votes.metadata['format']}" if "format" in votes.metadata else ""
    if isinstance(votes, PairwiseVotes):
        return repr(votes).partition(": ")[2].removesuffix(">") + source
    different = len(votes.distinct()[0])
    kinds = {word: int(votes.counts[[kind == word for kind in votes.kind]].sum()) for word in set(votes.kind)}
    words = {"total": "total", "top": "with unranked items last", "interleaving": "with items not observed"}
    if not decided:
        words["interleaving"] = "with gaps"
    said = (
        f"all {words[votes.kind[0]]}"
        if len(kinds) == 1
        else " and ".join(f"{kinds[word]:,} {words[word]}" for word in words if word in kinds)
    )
    return f"{int(votes.counts.sum()):,} ballots ({different:,} different) of {votes.n_items:,} items, {said}{source}"
