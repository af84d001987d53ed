"""Sets of positions: the plain Python body and the compiled body equal a naive count."""

import numpy as np
import pytest

from distkern.compiled import bit_ranks
from distkern.compiled.simd import LANES
from distkern.core.jit import compiled

RNG = np.random.default_rng(0)


@compiled
def compiled_increment(counts, start, lane):
    bit_ranks.increment_after(counts, start, lane)


@pytest.mark.parametrize("increment", [bit_ranks.increment_after, compiled_increment])
@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
@pytest.mark.parametrize("lane", [-30_000, -1, 0, 17, 30, 31, 30_000])
def test_counts_after_a_lane_are_incremented(increment, kind, lane):
    counts = RNG.integers(0, 2**15, 3 * LANES).astype(kind)
    expected = counts.astype(np.int64)
    expected[LANES : 2 * LANES] += np.arange(LANES) > lane
    increment(counts, LANES, lane)
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("positions", [1, 63, 64, 65, 2047, 2048, 5000, 65_535, 65_536, 150_000])
def test_members_below_every_position_equal_the_naive_count(positions):
    whole = bit_ranks.empty_set(positions + 7000)
    members = bit_ranks.part_of_set(whole, positions)
    order = RNG.permutation(positions)[:200]
    for position in order:
        bit_ranks.add_member(members, position)
    for position in [0, positions, *RNG.integers(0, positions + 1, 50).tolist()]:
        assert bit_ranks.count_below(members, position) == (order < position).sum()
    bit_ranks.remove_all(members)
    assert not any(part.any() for part in whole)
