"""Groups of neighbouring tiles: the tasks of a pass over a stored matrix, and the memory that a task needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.typing import Array, Indices
from distkern.operators.pairwise import STRIP_ENTRIES, STRIP_ROWS
from distkern.store.arrays import SCRATCH_ROWS
from distkern.store.grid import Grid

GROUP_SIDE = 4096
"""Maximum number of rows and columns of a group of several tiles: 2/4096 of the values read are sent for a vector."""

GROUPS_ACROSS = 8
"""Minimum number of groups in a row of the matrix, if it has so many tiles: enough to share among workers."""

OVERHEAD_BYTES = 2**21
"""Bytes that a task takes in addition to its arrays: messages, documents of the store, memory that is freed later."""


@dataclass(frozen=True)
class TileGroup:
    """A rectangle of tiles: rows top to bottom, columns left to right, and the tiles in it that a pass needs."""

    top: int
    bottom: int
    left: int
    right: int
    tiles: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        """Number of its rows and columns together."""
        return self.bottom - self.top + self.right - self.left


def tile_groups(grid: Grid, top: Indices | None = None, left: Indices | None = None) -> list[TileGroup]:
    """Cut a matrix into groups of tiles, in an order that depends on the grid alone.

    Parameters
    ----------
    top, left
        Positions of the rows and columns that take part, all by default. Groups hold only tiles that contain some.

    Examples
    --------
    >>> [len(group.tiles) for group in tile_groups(Grid(rows=100, cols=100, side=5, symmetric=True))][:8]
    [6, 9, 9, 9, 9, 9, 6, 6]
    """
    step = _tiles_across(grid)
    rows, cols = _touched(top, grid.side, grid.row_blocks), _touched(left, grid.side, grid.col_blocks)
    groups = []
    for i in range(0, grid.row_blocks, step):
        for j in range(i if grid.symmetric else 0, grid.col_blocks, step):
            last_row, last_col = min(i + step, grid.row_blocks), min(j + step, grid.col_blocks)
            needed = np.logical_and.outer(rows[i:last_row], cols[j:last_col])
            if grid.symmetric:
                needed |= np.logical_and.outer(cols[i:last_row], rows[j:last_col])
                needed &= np.arange(i, last_row)[:, None] <= np.arange(j, last_col)
            tiles = tuple((i + int(row), j + int(col)) for row, col in np.argwhere(needed))
            if tiles:
                bottom, right = grid.row_range(last_row - 1)[1], grid.col_range(last_col - 1)[1]
                groups.append(TileGroup(i * grid.side, bottom, j * grid.side, right, tiles))
    return groups


def _tiles_across(grid: Grid) -> int:
    """Tiles in a row of a group."""
    across = max(grid.row_blocks, grid.col_blocks)
    return max(1, min(GROUP_SIDE // grid.side, -(-across // GROUPS_ACROSS)))


def _touched(positions: Indices | None, side: int, blocks: int) -> Array:
    """Whether each block holds some of the positions."""
    touched = np.full(blocks, positions is None)
    if positions is not None:
        touched[positions // side] = True
    return touched


def task_bytes(grid: Grid, item: int, numbers: int) -> int:
    """Bytes that a task needs at most: a tile (three copies in Zarr), a strip of it, arrays and results of its samples.

    Parameters
    ----------
    item
        Bytes of a stored value.
    numbers
        Numbers of each sample in the arrays, such as the vectors of a product, or in the results.
    """
    height, width = min(grid.side, grid.rows), min(grid.side, grid.cols)
    longest = max(grid.rows, grid.cols)
    span = min(_tiles_across(grid) * grid.side, longest)
    working, reading = 5 * span, 2 * span + min(2 * SCRATCH_ROWS, longest)  # rows of a group lie in two Zarr chunks
    arrays = 3 * item * height * width + 8 * (max(working, reading) * numbers + 2 * span)
    return overhead_bytes(grid) + arrays


def overhead_bytes(grid: Grid) -> int:
    """Bytes that a task takes whatever its tiles and vectors: a strip of bounded size, and what is not data."""
    width = min(grid.side, grid.cols)
    return OVERHEAD_BYTES + 48 * width * max(STRIP_ROWS, STRIP_ENTRIES // width)
