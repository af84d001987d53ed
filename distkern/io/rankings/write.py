"""Rankings and pairwise votes into files of the formats that are read."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from distkern.core.errors import InputError
from distkern.core.files import as_path, written_whole
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.parameters import one_of
from distkern.core.rankings import Rankings
from distkern.core.sentences import Argument
from distkern.io.rankings.blt import blt_text
from distkern.io.rankings.lines import Options
from distkern.io.rankings.orders import ROWS, batched, groups_in
from distkern.io.rankings.preflib import preflib_text
from distkern.io.rankings.read import PREFLIB, READERS, SUFFIXES, Format
from distkern.io.rankings.tables import kind_of_table, says_count
from distkern.io.rankings.text import text_of
from distkern.io.tables import MISSING

VALUES = ("scores", "ranks", "orderings")
TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
"""Separator of the columns of a table by the ending of its name."""

COLUMNS = ("voter", "count")
"""Columns of a wide table before those of the items or places."""


def write_rankings(
    rankings: Rankings | PairwiseVotes,
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    values: Literal["scores", "ranks", "orderings"] = "ranks",
    overwrite: bool = False,
) -> None:
    r"""Write rankings, or pairwise votes, into a file that `read_rankings` reads.

    Only tables keep the names of the voters, and only ``values="scores"`` keeps the values; other formats keep their
    order. No format tells whether items without a value come last: say so with ``gaps=`` when the file is read.

    Parameters
    ----------
    rankings
        What is written.
    path
        File; a name that ends in ``.gz`` is compressed.
    format
        As for `read_rankings`. By default the ending of the name tells it: those of PrefLib, ``.blt``, and ``.txt`` for
        orders as text. For ``.csv`` and ``.tsv`` it must be given: ``"wide"``, ``"long"``, or ``"pairwise"``, which is
        the default for pairwise votes.
    values
        What a table holds: ``"scores"``, ``"ranks"`` (1 = best, tied items share the mean) or, if it is wide,
        ``"orderings"``.
    overwrite
        Replace an existing file.

    Raises
    ------
    InputError
        If the format cannot hold the rankings (ties, gaps of two kinds), or the file exists.

    See Also
    --------
    read_rankings : Reads what was written.

    Examples
    --------
    >>> import tempfile
    >>> votes = Rankings.from_orderings([["ann", ("bob", "cid")], ["bob"]], kind=["total", "top"], counts=[3, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rankings(votes, f"{folder}/votes.txt")
    ...     print(Path(folder, "votes.txt").read_text(), end="")
    3: ann > bob = cid
    1: bob
    """
    file = as_path(path)
    ending = Path(file.name.lower().removesuffix(".gz")).suffix
    pairwise = isinstance(rankings, PairwiseVotes)
    found = _format(file, ending, pairwise) if format is None else one_of(format, "format", tuple(READERS))
    one_of(values, "values", VALUES)
    if isinstance(rankings, Rankings):
        _refuse_two_kinds(rankings)
        if found == "pairwise":
            raise InputError(f"{file.name!r} would hold pairwise votes, and these are rankings: choose another format")
    elif found not in ("pairwise", "preflib"):
        raise InputError(f"{file.name!r} would hold rankings, and these are pairwise votes: use format='pairwise'")
    lines = _lines(rankings, found, ending, values, file.name)
    with written_whole(file, overwrite=overwrite) as raw:
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if file.name.lower().endswith(".gz") else None
        out = packed or raw
        for line in lines:
            out.write(line.encode("utf-8"))
        if packed is not None:
            packed.close()


def _format(path: Path, ending: str, pairwise: bool) -> str:
    if ending in SUFFIXES:
        return SUFFIXES[ending]
    if pairwise and ending in TABLES:
        return "pairwise"
    if ending == ".txt":
        return "text"
    raise InputError(
        "{path!r} does not tell how to write it: give {option}, which is 'wide' or 'long' for a table, or another "
        "ending: {endings}",
        path=path.name,
        option=Argument("format"),
        endings=", ".join([*SUFFIXES, ".txt"]),
    )


def _refuse_two_kinds(rankings: Rankings) -> None:
    if {"top", "interleaving"} <= set(rankings.kind):
        raise InputError(
            "some rankings have unranked items last (top), others items that were not observed (interleaving), and no "
            "format tells them apart: write each kind into a file of its own"
        )


def _lines(votes: Rankings | PairwiseVotes, format: str, ending: str, values: str, file: str) -> Iterator[str]:
    """Lines of the file; what the format cannot hold is refused when they are made."""
    if format == "preflib":
        yield from preflib_text(votes, ending.removeprefix(".") if ending in PREFLIB else None, file)
        return
    if isinstance(votes, PairwiseVotes):
        yield from _table(_results(votes), ending)
        return
    if format in ("blt", "text"):
        empty = np.isnan(votes.values).all(axis=1)
        if empty.any():
            raise InputError(f"ranking {int(np.flatnonzero(empty)[0])} ranks no item, and has no line: leave it out")
        yield from blt_text(votes) if format == "blt" else text_of(votes)
    elif format == "wide":
        yield from _table(_orderings(votes) if values == "orderings" else _wide(votes, values), ending)
    else:
        if values == "orderings":
            raise InputError("a long table holds ranks or scores: choose one of them, or a wide table of orderings")
        yield from _table(_long(votes, values), ending)


# Tables ------------------------------------------------------------------------------------------------------------


def _table(rows: Iterable[list[str]], ending: str) -> Iterator[str]:
    text = io.StringIO()
    out = csv.writer(text, delimiter=TABLES.get(ending, ","), lineterminator="\n")
    for batch in batched(iter(rows), ROWS):
        out.writerows(batch)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _names(rankings: Rankings) -> list[str]:
    return [str(k + 1) for k in range(len(rankings))] if rankings.ids is None else list(rankings.ids)


def _numbers(rankings: Rankings, values: str) -> Iterator[list[str]]:
    """The cells of each ranking."""
    if values == "ranks":
        for groups in groups_in(rankings):
            cells, before = [""] * rankings.n_items, 0
            for group in groups:
                rank = _written(before + (len(group) + 1) / 2)
                before += len(group)
                for item in group:
                    cells[item] = rank
            yield cells
        return
    if np.isinf(rankings.values).any():
        raise InputError(
            "an infinite score cannot be written: write {ranks}, or replace it", ranks=Argument("values", "ranks")
        )
    for row in rankings.values:
        yield ["" if math.isnan(value) else _written(value) for value in row.tolist()]


def _written(value: float) -> str:
    return repr(value).removesuffix(".0")


def _wide(rankings: Rankings, values: str) -> Iterator[list[str]]:
    header = [*COLUMNS, *rankings.items]
    taken = next((name for name in rankings.items if name in COLUMNS or says_count(name)), None)
    if taken is not None or kind_of_table(header, Options()) != "wide":
        raise InputError(
            f"the item {taken or rankings.items[0]!r} would be read as another column of the table: rename it, or "
            "write another format"
        )
    yield header
    for name, count, cells in zip(_names(rankings), rankings.counts.tolist(), _numbers(rankings, values), strict=True):
        yield [name, str(count), *cells]


def _orderings(rankings: Rankings) -> Iterator[list[str]]:
    longest = int((~np.isnan(rankings.values)).sum(axis=1).max())
    missing = next((name for name in rankings.items if name in MISSING), None)
    if missing is not None:
        raise InputError(f"the item {missing!r} would be read as an empty cell: rename it, or write another format")
    yield [*COLUMNS, *(f"rank_{k + 1}" for k in range(longest))]
    for name, count, groups in zip(_names(rankings), rankings.counts.tolist(), groups_in(rankings), strict=True):
        if any(len(group) > 1 for group in groups):
            raise InputError(
                "ranking {name!r} has ties, which orderings cannot hold: write {ranks}",
                name=name,
                ranks=Argument("values", "ranks"),
            )
        yield [name, str(count), *(rankings.items[item] for (item,) in groups), *[""] * (longest - len(groups))]


def _long(rankings: Rankings, values: str) -> Iterator[list[str]]:
    yield ["voter", "item", values.removesuffix("s"), "count"]
    for name, count, cells in zip(_names(rankings), rankings.counts.tolist(), _numbers(rankings, values), strict=True):
        for item, cell in zip(rankings.items, cells, strict=True):
            yield [name, item, cell, str(count)]


def _results(votes: PairwiseVotes) -> Iterator[list[str]]:
    assert votes.ties is not None
    if (votes.wins % 1).any() or (votes.ties % 1).any():
        raise InputError("some numbers of votes are no whole numbers: write a .wmd file")
    yield ["winner", "loser", "count", "tie"]
    for tied, counts in (("0", votes.wins), ("1", np.triu(votes.ties))):
        for row, column in np.argwhere(counts).tolist():
            yield [votes.items[row], votes.items[column], str(int(counts[row, column])), tied]
