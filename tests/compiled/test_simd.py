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
def compiled_within(values, start):
    return simd.inversions_within(values, start)


@compiled
def compiled_between(values, first, second):
    return simd.inversions_between(values, first, second)


@compiled
def compiled_untied_within(values, start, untied, at):
    return simd.untied_inversions(values, start, None, untied, at)


@compiled
def compiled_untied_between(values, first, second, untied, at):
    return simd.untied_inversions(values, first, second, untied, at)


@compiled
def compiled_equals_within(values, start, untied, at):
    return simd.tied_equals(values, start, None, untied, at)


@compiled
def compiled_equals_between(values, first, second, untied, at):
    return simd.tied_equals(values, first, second, untied, at)


@compiled
def compiled_later_counts(later, counts, rows):
    return simd.add_later_counts(later, counts, rows)


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
    codes = values((2 * GROUP + 1) * LANES)
    rows = codes[LANES : LANES * (GROUP + 1)].reshape(GROUP, LANES)
    assert count(codes, LANES) == sum((rows[i] > rows[j]).sum() for j in range(GROUP) for i in range(j))


@pytest.mark.parametrize("count", [simd.inversions_between, compiled_between])
def test_inversions_between_equal_naive_count(count):
    codes = values(2 * GROUP * LANES)
    earlier, later = codes.reshape(2, GROUP, LANES)
    naive = sum((earlier[i] > later[j]).sum() for j in range(GROUP) for i in range(GROUP))
    assert count(codes, 0, GROUP * LANES) == naive


@pytest.mark.parametrize("count", [simd.inversions_within, compiled_within])
def test_a_sum_of_all_lanes_does_not_overflow(count):
    codes = np.arange(GROUP * LANES, 0, -1).astype(np.uint16)
    assert count(codes, 0) == LANES * GROUP * (GROUP - 1) // 2


def tied_pairs(codes, first, second, untied, at):
    """Inverted pairs that are not tied, and equal pairs that are, of the lanes of rows of two groups or of one."""
    inverted = equal = 0
    for later in range(GROUP):
        for earlier in range(GROUP if second is not None else later):
            for lane in range(LANES):
                a = codes[first + earlier * LANES + lane]
                b = codes[(first if second is None else second) + later * LANES + lane]
                tied = not int(untied[at + GROUP * later + earlier]) >> lane & 1
                inverted += bool(a > b) and not tied
                equal += bool(a == b) and tied
    return inverted, equal


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_counts_that_leave_out_tied_pairs_equal_naive_ones(share):
    size = GROUP * LANES
    codes = values(2 * size + 1)
    bits = RNG.random((3 + GROUP * GROUP, LANES)) < share
    untied = (bits << np.arange(LANES, dtype=np.uint64)).sum(axis=1).astype(np.uint32)
    inverted, equal = tied_pairs(codes, 1, None, untied, 3)
    for found in (simd.untied_inversions(codes, 1, None, untied, 3), compiled_untied_within(codes, 1, untied, 3)):
        assert found == inverted
    for found in (simd.tied_equals(codes, 1, None, untied, 3), compiled_equals_within(codes, 1, untied, 3)):
        assert found == equal
    inverted, equal = tied_pairs(codes, 1, 1 + size, untied, 3)
    for count in (simd.untied_inversions, compiled_untied_between):
        assert count(codes, 1, 1 + size, untied, 3) == inverted
    for count in (simd.tied_equals, compiled_equals_between):
        assert count(codes, 1, 1 + size, untied, 3) == equal


@pytest.mark.parametrize("add", [simd.add_later_counts, compiled_later_counts])
@pytest.mark.parametrize("rows", [1, 2, 5, 16, 33, 64])
def test_later_counts_equal_naive_sums(add, rows):
    buckets, size = LANES * rows, (rows + 1) * LANES
    later, counts = np.full(size, 7, np.uint16), np.full(size, 9, np.uint16)
    index = np.array([b % rows * LANES + b // rows for b in range(buckets)])
    before = RNG.integers(0, 30_000, buckets)
    new = np.bincount(RNG.integers(0, buckets, 20_000), minlength=buckets)
    later[index], counts[index] = before, new
    add(later, counts, rows)
    np.testing.assert_array_equal(later[index], [before[b] + new[b + 1 :].sum() for b in range(buckets)])
    assert not counts[index].any()
    assert (later[buckets:] == 7).all()
    assert (counts[buckets:] == 9).all()
