import numpy as np

from distkern.gram.tile_groups import GROUP_SIDE, tile_groups
from distkern.store.grid import Grid


def test_groups_hold_each_tile_once_and_stay_small():
    for grid in (Grid(97, 97, 3, True), Grid(97, 40, 3, False), Grid(10, 10, 20, True), Grid(9000, 9000, 500, True)):
        groups = tile_groups(grid)
        assert sorted(tile for group in groups for tile in group.tiles) == list(grid.tiles())
        for group in groups:
            for i, j in group.tiles:
                assert group.top <= grid.row_range(i)[0] < grid.row_range(i)[1] <= group.bottom
                assert group.left <= grid.col_range(j)[0] < grid.col_range(j)[1] <= group.right
            assert max(group.bottom - group.top, group.right - group.left) <= max(GROUP_SIDE, grid.side)


def test_groups_of_a_part_hold_only_tiles_that_it_touches():
    grid, rows, cols = Grid(97, 97, 5, True), np.array([5, 50]), np.array([51, 6])
    assert [tile for group in tile_groups(grid, rows, cols) for tile in group.tiles] == [(1, 1), (1, 10), (10, 10)]
