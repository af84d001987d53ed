"""Rankings in memory."""

from __future__ import annotations

from distkern.core.rankings import Rankings
from distkern.io.blocks import ArrayReader
from distkern.io.format import Container, Opened


def _open_rankings(rankings: Rankings) -> Opened:
    return Opened(ArrayReader(rankings.scores, "Rankings"), features=rankings.items, kinds=rankings.kind)


CONTAINERS = (Container("distkern.core.rankings", ("Rankings",), _open_rankings),)
