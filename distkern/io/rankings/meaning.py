"""What the cells of ballots mean, and what an item without a value means: asked for where it cannot be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from distkern.core.ballots import are_places, first_items
from distkern.core.errors import InputError
from distkern.core.rankings import Rankings
from distkern.core.sentences import Argument
from distkern.core.typing import Floats
from distkern.core.warning import warn


def refuse_either(file: str, ballot: Floats, items: Sequence[str]) -> None:
    """Refuse a table whose values may be ranks or scores; say what the first ballot would mean.

    Raises
    ------
    InputError
        Always.
    """
    raise InputError(
        "the values of {file!r} may be ranks or scores: write {ranks} if 1 is the best, so that the first ballot puts "
        "{first} first, or {scores} if the largest value is the best, so that it puts {last} first",
        file=file,
        ranks=Argument("values", "ranks"),
        first=_named(first_items(-ballot, items)),
        scores=Argument("values", "scores"),
        last=_named(first_items(ballot, items)),
    )


def _named(items: Sequence[str]) -> str:
    return " and ".join(map(repr, items)) or "nothing"


def refuse_places(file: str, names: Sequence[str] | None) -> None:
    """Refuse a table whose columns are places, so that its cells may name items, be ranks, or be scores.

    Raises
    ------
    InputError
        If all columns are places.
    """
    if names is not None and are_places(names):
        raise InputError(
            "the columns of {file!r} ({first}, …, {last}) look like places, whose cells name items: write {orderings} "
            "if they do, or {scores} or {ranks} if every column is an item",
            file=file,
            first=names[0],
            last=names[-1],
            orderings=Argument("values", "orderings"),
            scores=Argument("values", "scores"),
            ranks=Argument("values", "ranks"),
        )


def gaps_of(path: Path, rankings: Rankings, gaps: str | None, lines: Sequence[int] | None = None) -> Rankings:
    """Give ballots that lack items the kind that the caller says; leave out those without any item, with a warning.

    Raises
    ------
    InputError
        If a ballot lacks an item and the caller does not say what that means; its line is named, if ``lines`` has it.
    """
    missing = np.isnan(rankings.values)
    seen = (~missing).sum(axis=1)
    if gaps is None and missing.any():
        row, item = np.argwhere(missing)[0].tolist()
        where = f"line {lines[row]}" if lines is not None else f"ballot {row + 1}"
        where = f"the ballot of {rankings.ids[row]!r}" if lines is None and rankings.ids is not None else where
        raise InputError(
            "{where} in {file!r} has no value for {item!r}: write {top} if items without a value come last, as in "
            "elections, or {interleaving} if they were not observed, as in ratings",
            where=where,
            file=path.name,
            item=rankings.items[item],
            top=Argument("gaps", "top"),
            interleaving=Argument("gaps", "interleaving"),
        )
    kinds = tuple("total" if size == rankings.n_items else str(gaps) for size in seen.tolist())
    found, empty = replace(rankings, kind=kinds), np.flatnonzero(seen == 0)
    if len(empty) == len(seen):
        raise InputError(f"{path.name!r} holds no ballot with a value: check the file")
    if len(empty):
        first = int(empty[0])
        where = f"number {first + 1}" if lines is None else f"line {lines[first]}"
        warn(f"{len(empty):,} ballots of {path.name!r} have no value at all and are left out (first: {where})")
        return found[np.flatnonzero(seen)]
    return found
