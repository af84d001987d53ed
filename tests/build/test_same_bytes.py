"""Law 1 across versions: the values of fixed cohorts are those that an earlier version of the code stored.

The files in ``data/`` were written by the code of November 2026, before its store and its kernels were taken apart.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from fixed_cohorts import FLOATING, INTEGER
from marks import with_slow

from distkern import Kendall, compute_gram
from distkern.store.tiles import GramStore

DATA = Path(__file__).parent / "data"
TILES = json.loads((DATA / "integer_tiles.json").read_text())
VALUES = np.load(DATA / "floating_values.npz")
CHECKSUM = 2**32 - 1


def test_all_that_was_stored_is_compared():
    assert TILES.keys() == INTEGER.keys()
    assert {*VALUES} == FLOATING.keys()


@pytest.mark.parametrize("tile", with_slow([8], [16]))
@pytest.mark.parametrize("name", INTEGER)
def test_integer_tiles_have_the_same_bytes(name, tile, tmp_path):
    compute_gram(Kendall(), INTEGER[name](), store=tmp_path / "k.zarr", tile=tile)
    store, expected = GramStore.opened(tmp_path / "k.zarr"), TILES[name][str(tile)]
    marks = store.checksums()
    assert store.stored_tile(0, 0).dtype == expected["dtype"]
    assert [int(marks[i, j]) & CHECKSUM for i, j in store.grid.tiles()] == expected["tiles"]


@pytest.mark.parametrize("name", FLOATING)
def test_floating_point_values_agree_to_twelve_digits(name, tmp_path):
    kernel, X = FLOATING[name]
    gram = compute_gram(kernel, X, store=tmp_path / "k.zarr", tile=5)
    scale = np.abs(VALUES[name]).max()
    np.testing.assert_allclose(gram.to_numpy(), VALUES[name], rtol=1e-12, atol=1e-12 * scale)
