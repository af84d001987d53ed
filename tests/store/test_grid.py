from hypothesis import given
from strategies import grids

from distkern.store.grid import Grid


@given(grids())
def test_tiles_cover_every_entry_exactly_once(drawn):
    rows, cols, side, symmetric = drawn
    grid = Grid(rows, cols, side, symmetric)
    seen = {}
    for i, j in grid.tiles():
        for r in range(*grid.row_range(i)):
            for c in range(*grid.col_range(j)):
                assert (r, c) not in seen
                seen[r, c] = True
    needed = {(r, c) for r in range(rows) for c in range(cols) if not symmetric or r <= c}
    assert needed <= set(seen)
    assert len(list(grid.tiles())) == grid.count
    assert len(seen) == grid.entries
    if not symmetric:
        assert set(seen) == needed
