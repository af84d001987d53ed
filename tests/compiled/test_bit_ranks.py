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
@pytest.mark.parametrize("lane", [-70_000, -1, 0, 17, 30, 31, 70_000])
def test_counts_after_a_lane_are_incremented(increment, lane):
    counts = RNG.integers(0, 2**31, 3 * LANES).astype(np.uint32)
    expected = counts.astype(np.int64)
    expected[LANES : 2 * LANES] += np.arange(LANES) > lane
    increment(counts, LANES, lane)
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("positions", [1, 63, 64, 65, 2047, 2048, 5000])
def test_members_below_every_position_equal_the_naive_count(positions):
    words = bit_ranks.words_of(positions)
    bits, below = np.zeros(words, np.uint64), np.zeros(words, np.uint32)
    order = RNG.permutation(positions)[:200]
    one_by_one = order[::2]
    for position in one_by_one:
        bit_ranks.add_member(bits, below, position)
    assert_counted(bits, below, one_by_one, positions)
    for position in order[1::2]:
        bit_ranks.mark(bits, position)
    bit_ranks.recount(bits, below, positions // 64 + 1)
    assert_counted(bits, below, order, positions)


def assert_counted(bits, below, members, positions):
    for position in [0, positions, *RNG.integers(0, positions + 1, 50).tolist()]:
        assert bit_ranks.count_below(bits, below, position) == (members < position).sum()
