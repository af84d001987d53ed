"""Arrays of a store are read within the memory of their values, whatever their files hold."""

import os
import tracemalloc

import numpy as np
import pytest

from distkern import CorruptTileError, Kendall, StoreError, compute_gram, open_gram
from distkern.store.arrays import _is_empty
from distkern.store.checksums import merge_newer
from distkern.store.layout import PACKING

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (7, 6)).astype(float)
MEMORY = 100 * 2**20


@pytest.fixture
def store(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=3, executor="serial")
    return tmp_path / "k.zarr"


def test_chunk_that_would_unpack_to_more_than_its_tile_is_not_unpacked(store):
    from numcodecs import Blosc

    packed = Blosc(PACKING["cname"], 9, 1).encode(np.zeros(2**30, dtype=np.uint8))
    assert len(packed) < 2**24
    chunk = store / "gram" / "c" / "0" / "1"
    chunk.write_bytes(packed)
    tracemalloc.start()
    with pytest.raises(CorruptTileError, match=r"tile \(0, 1\)"):
        open_gram(store).to_numpy()
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    tracemalloc.stop()


def test_no_more_bytes_of_a_long_file_are_read_than_the_array_has(store):
    for key in ("gram/c/0/1", "rows/prepared/diagonal/c/1"):
        os.truncate(store / key, 2**40)  # takes no room on the disk
    tracemalloc.start()
    (wrong,) = open_gram(store).verify(progress=False)
    assert "prepared rows 3–5" in wrong  # the tile is whole, and what follows it does not matter
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    tracemalloc.stop()
    os.truncate(store / "zarr.json", 2**40)
    with pytest.raises(StoreError, match=r"'zarr.json' of .* would take"):
        open_gram(store)


@pytest.mark.parametrize(
    ("values", "empty"),
    [
        (np.zeros(3), True),
        (np.full(3, np.nan), True),
        (np.zeros(3, dtype=np.uint8), True),
        (np.array([np.nan, 0.0]), False),
        (np.array([0.0, 1.0]), False),
        (np.array([0, 1]), False),
    ],
)
def test_an_array_of_the_fill_value_is_empty(values, empty):
    assert _is_empty(values) == empty


def test_checksums_of_a_newer_cohort_replace_older_ones_only():
    known = np.array([1 << 32 | 5, 2 << 32 | 6, 3 << 32 | 7, 0], dtype=np.uint64)
    found = np.array([2 << 32 | 8, 2 << 32 | 9, 1 << 32 | 9, 1 << 32 | 4], dtype=np.uint64)
    merge_newer(known, found)
    assert known.tolist() == [2 << 32 | 8, 2 << 32 | 6, 3 << 32 | 7, 1 << 32 | 4]
