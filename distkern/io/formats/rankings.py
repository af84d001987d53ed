"""Rankings in memory, and their files that are no tables: PrefLib, BLT, and orders as text."""

from __future__ import annotations

from pathlib import Path

from distkern.core.errors import InputError
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.rankings import Rankings
from distkern.io.blocks import ArrayReader
from distkern.io.format import Container, Format, Opened, ReadOptions
from distkern.io.rankings.lines import Options
from distkern.io.rankings.read import SUFFIXES, ballots_in, read_votes

_TABLES = (".csv", ".tsv", ".txt", ".tab")
"""Endings of text tables, which orders as text may have too."""


def _open_rankings(rankings: Rankings) -> Opened:
    return Opened(
        ArrayReader(rankings.scores, "Rankings"),
        ids=rankings.ids,
        features=rankings.items,
        columns={"count": rankings.counts},
        kinds=rankings.kind,
        counts=rankings.counts,
    )


def _open_file(path: Path, options: ReadOptions) -> Opened:
    votes = read_votes(path, Options())
    if isinstance(votes, PairwiseVotes):
        raise InputError(
            f"{path.name!r} holds pairwise votes, which are no ballots: read it with distkern.read_rankings"
        )
    return _open_rankings(votes)


BALLOTS = Format(
    "ballots of PrefLib, BLT, or orders as text",
    tuple(f"{ending}{compressed}" for ending in (*SUFFIXES, *_TABLES) for compressed in ("", ".gz")),
    _open_file,
    lambda path, head: ballots_in(path, head) is not None,
)
FORMATS = (BALLOTS,)
CONTAINERS = (Container("distkern.core.rankings", ("Rankings",), _open_rankings),)
