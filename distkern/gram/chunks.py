"""A stored matrix cut into chunks of tiles, the tasks of a pass over it, and the memory that a task takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.typing import Array, Indices
from distkern.operators.pairwise import STRIP_ENTRIES, STRIP_ROWS
from distkern.store.arrays import SCRATCH_ROWS
from distkern.store.grid import Grid

CHUNK_SIDE = 4096
"""Rows and columns of a chunk at most, unless a tile is larger: what travels is 2/4096 of what is read for a vector."""

CHUNKS_ACROSS = 8
"""Chunks in a row of the matrix at least, where it has so many tiles: enough of them to share among workers."""

BESIDE_BYTES = 2**21
"""Bytes that a worker takes for a task beside its arrays: messages, documents of the store, what is freed later."""


@dataclass(frozen=True)
class Chunk:
    """A rectangle of tiles: rows top to bottom, columns left to right, and those of its tiles that are needed."""

    top: int
    bottom: int
    left: int
    right: int
    tiles: tuple[tuple[int, int], ...]


def chunks(grid: Grid, top: Indices | None = None, left: Indices | None = None) -> list[Chunk]:
    """Cut a matrix into chunks, in an order that follows from the grid alone.

    Parameters
    ----------
    top, left
        Rows and columns that take part, all by default. Chunks hold only the tiles that have some of both.

    Examples
    --------
    >>> [len(chunk.tiles) for chunk in chunks(Grid(rows=100, cols=100, side=5, symmetric=True))][:8]
    [6, 9, 9, 9, 9, 9, 6, 6]
    """
    step = _tiles_across(grid)
    rows, cols = _touched(top, grid.side, grid.row_blocks), _touched(left, grid.side, grid.col_blocks)
    found = []
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
                found.append(Chunk(i * grid.side, bottom, j * grid.side, right, tiles))
    return found


def _tiles_across(grid: Grid) -> int:
    """Tiles in a row of a chunk."""
    across = max(grid.row_blocks, grid.col_blocks)
    return max(1, min(CHUNK_SIDE // grid.side, -(-across // CHUNKS_ACROSS)))


def _touched(positions: Indices | None, side: int, blocks: int) -> Array:
    """Which blocks hold some of the positions."""
    touched = np.full(blocks, positions is None)
    if positions is not None:
        touched[positions // side] = True
    return touched


def task_bytes(grid: Grid, item: int, vectors: int) -> int:
    """Most bytes that a task of a pass takes: a tile, held thrice by Zarr, a strip of it, vectors and their products.

    Parameters
    ----------
    item
        Bytes of a stored value.
    vectors
        Number of vectors that are multiplied.
    """
    height, width = min(grid.side, grid.rows), min(grid.side, grid.cols)
    strip = width * max(STRIP_ROWS, STRIP_ENTRIES // width)
    longest = max(grid.rows, grid.cols)
    span = min(_tiles_across(grid) * grid.side, longest)
    multiplying, reading = 5 * span, 2 * span + min(2 * SCRATCH_ROWS, longest)  # two chunks of Zarr have what is needed
    arrays = 3 * item * height * width + 48 * strip + 8 * (max(multiplying, reading) * vectors + 2 * span)
    return BESIDE_BYTES + arrays
