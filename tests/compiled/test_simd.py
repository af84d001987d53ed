"""Vector operations: the plain Python body and the compiled body equal a naive count."""

import numpy as np
import pytest

from distkern.compiled import simd
from distkern.compiled.simd import GROUP, LANES
from distkern.core.jit import compiled

RNG = np.random.default_rng(0)


@compiled
def compiled_popcount(word):
    return simd.popcount(word)


@compiled
def compiled_greater_bits(values, left, right):
    return simd.greater_bits(values, left, right)


@compiled
def compiled_unequal_bits(values, left, right):
    return simd.unequal_bits(values, left, right)


@compiled
def compiled_within(values, start, counts):
    simd.inversions_within(values, start, counts)


@compiled
def compiled_between(values, first, second, counts):
    simd.inversions_between(values, first, second, counts)


@compiled
def compiled_later_counts(later, counts, rows):
    simd.add_later_counts(later, counts, rows)


def values(size):
    """Ranks with repetitions, up to the largest 16-bit number: comparisons must be unsigned."""
    return RNG.choice(np.array([0, 1, 2, 32_767, 32_768, 65_535], dtype=np.uint16), size)


@pytest.mark.parametrize("popcount", [simd.popcount, compiled_popcount])
@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF])
def test_popcount_equals_naive_count(popcount, word):
    assert popcount(np.uint64(word)) == bin(word).count("1")


@pytest.mark.parametrize("bits", [simd.greater_bits, compiled_greater_bits])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 1), (3, 64)])
def test_greater_bits_equal_naive_comparisons(bits, left, right):
    codes = values(128)
    found = int(bits(codes, left, right))
    assert [found >> k & 1 for k in range(64)] == [int(codes[left + k] > codes[right + k]) for k in range(64)]


@pytest.mark.parametrize("bits", [simd.unequal_bits, compiled_unequal_bits])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 1), (3, 64)])
def test_unequal_bits_equal_naive_comparisons(bits, left, right):
    codes = values(128)
    found = int(bits(codes, left, right))
    assert [found >> k & 1 for k in range(64)] == [int(codes[left + k] != codes[right + k]) for k in range(64)]


@pytest.mark.parametrize("count", [simd.inversions_within, compiled_within])
def test_inversions_within_equal_naive_count(count):
    codes, counts = values((2 * GROUP + 1) * LANES), np.ones(LANES, np.uint16)
    count(codes, LANES, counts)
    rows = codes[LANES : LANES * (GROUP + 1)].reshape(GROUP, LANES)
    naive = sum((rows[i] > rows[j]).astype(int) for j in range(GROUP) for i in range(j))
    np.testing.assert_array_equal(counts, 1 + naive)


@pytest.mark.parametrize("count", [simd.inversions_between, compiled_between])
def test_inversions_between_equal_naive_count(count):
    codes, counts = values(2 * GROUP * LANES), np.ones(LANES, np.uint16)
    count(codes, 0, GROUP * LANES, counts)
    earlier, later = codes.reshape(2, GROUP, LANES)
    naive = sum((earlier[i] > later[j]).astype(int) for j in range(GROUP) for i in range(GROUP))
    np.testing.assert_array_equal(counts, 1 + naive)


@pytest.mark.parametrize("add", [simd.add_later_counts, compiled_later_counts])
@pytest.mark.parametrize("rows", [16, 32])
def test_later_counts_equal_naive_sums(add, rows):
    buckets, size = LANES * rows, LANES * LANES
    later, counts = np.zeros(size, np.uint16), np.zeros(size, np.uint16)
    index = np.array([b % rows * LANES + b // rows for b in range(buckets)])
    before, new = RNG.integers(0, 50, (2, buckets)).astype(np.uint16)
    later[index], counts[index] = before, new
    add(later, counts, rows)
    naive = [int(before[b]) + int(new[b + 1 :].sum()) for b in range(buckets)]
    np.testing.assert_array_equal(later[index], naive)
    assert not counts.any()
