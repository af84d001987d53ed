"""Lazy Dask arrays made of tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import numpy as np
from dask import array as da
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from distkern.core.typing import Floats


def tiled_array(
    read: Callable[[int, int], Floats],
    rows: Sequence[int],
    cols: Sequence[int],
    *,
    symmetric: bool,
    identity: Any,
) -> da.Array:
    """Make a float64 Dask array whose chunk (i, j) is ``read(i, j)``, called where the chunk is computed.

    Parameters
    ----------
    read
        Reads a tile; must be picklable. Of a symmetric matrix only tiles with i ≤ j are read, each once even if a
        computation needs its transpose too.
    rows, cols
        Height of each row of tiles, and width of each column.
    symmetric
        Whether chunk (j, i) is the transpose of chunk (i, j).
    identity
        Identifies the values; arrays of equal identity have equal names, so that Dask computes a shared chunk once.

    Examples
    --------
    >>> sums = tiled_array(lambda i, j: np.full((2, 2), 1.0 * i + j), [2, 2], [2, 2], symmetric=True, identity="sums")
    >>> sums.compute()
    array([[0., 0., 1., 1.],
           [0., 0., 1., 1.],
           [1., 1., 2., 2.],
           [1., 1., 2., 2.]])
    """
    name = f"gram-{tokenize(identity)}"
    mirror = methodcaller("transpose")
    graph: dict[Any, Any] = {}
    for i in range(len(rows)):
        for j in range(len(cols)):
            mirrored = symmetric and i > j
            graph[name, i, j] = (mirror, (name, j, i)) if mirrored else (read, i, j)
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[])
    return da.Array(layers, name, (tuple(rows), tuple(cols)), dtype=np.float64, meta=np.empty((0, 0)))
