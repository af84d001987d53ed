"""Pure integers: which samples lie in which block, and which tiles make up the matrix."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A matrix of ``rows`` × ``cols`` entries cut into square tiles; the last ones of a row or column may be smaller.

    Parameters
    ----------
    rows, cols
        Number of samples of each axis.
    side
        Rows and columns of a tile.
    symmetric
        Whether rows and columns are the same samples; then only tiles (i, j) with i ≤ j exist.

    Examples
    --------
    >>> grid = Grid(rows=5, cols=5, side=2, symmetric=True)
    >>> list(grid.tiles())
    [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    >>> grid.row_range(2)
    (4, 5)
    """

    rows: int
    cols: int
    side: int
    symmetric: bool

    @property
    def row_blocks(self) -> int:
        """Number of blocks of row samples."""
        return -(-self.rows // self.side)

    @property
    def col_blocks(self) -> int:
        """Number of blocks of column samples."""
        return -(-self.cols // self.side)

    @property
    def count(self) -> int:
        """Number of tiles."""
        if self.symmetric:
            return self.row_blocks * (self.row_blocks + 1) // 2
        return self.row_blocks * self.col_blocks

    @property
    def entries(self) -> int:
        """Number of entries that are computed and stored."""
        if not self.symmetric:
            return self.rows * self.cols
        return sum(
            (stop - start) * (self.cols - start) for start, stop in (self.row_range(i) for i in range(self.row_blocks))
        )

    def row_range(self, i: int) -> tuple[int, int]:
        """First row of block i, and the one after its last."""
        return i * self.side, min((i + 1) * self.side, self.rows)

    def col_range(self, j: int) -> tuple[int, int]:
        """First column of block j, and the one after its last."""
        return j * self.side, min((j + 1) * self.side, self.cols)

    def tiles(self) -> Iterator[tuple[int, int]]:
        """All tiles, row by row."""
        for i in range(self.row_blocks):
            for j in range(i if self.symmetric else 0, self.col_blocks):
                yield i, j


def version_of_blocks(counts: Sequence[int], side: int) -> list[int]:
    """For each block: the first version of a growing cohort, from 1, in which the block had all its samples.

    Parameters
    ----------
    counts
        Number of samples in each version, the present one last.
    side
        Samples in a block.

    Examples
    --------
    >>> version_of_blocks([5, 7], side=2)
    [1, 1, 2, 2]
    """
    stops = (min(start + side, counts[-1]) for start in range(0, counts[-1], side))
    return [bisect_left(counts, stop) + 1 for stop in stops]
