"""Counts of pairs, keys and planes of signs equal double loops over samples, with ties, infinite and missing values."""

from fractions import Fraction
from itertools import combinations

import naive_pairs as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, rankdata
from strategies import any_cohort, with_gaps

from distkern.compiled import pair_signs
from distkern.pairs.codes import sign_codes
from distkern.pairs.signs import places_of
from distkern.pairs.tiles import tile_counts


def coded(X, cells, missing=False):
    return sign_codes(X, np.asarray(cells), missing="skip" if missing else "error")


@st.composite
def celled(draw):
    """A cohort, perhaps with gaps, and the cells of its samples; each cell below the largest has samples."""
    X = draw(any_cohort)
    if draw(st.booleans()):
        X = with_gaps(X)
    count = draw(st.integers(1, min(3, len(X))))
    cells = [*range(count), *(draw(st.integers(-1, count - 1)) for _ in range(len(X) - count))]
    return X, np.array(cells)


@given(celled())
def test_codes_and_mid_rank_sums_equal_the_naive_ones(drawn):
    X, cells = drawn
    codes = coded(X, cells, missing=True)
    assert codes.rows.tolist() == sorted(np.flatnonzero(cells >= 0).tolist(), key=lambda row: (cells[row], row))
    for column, row in enumerate(codes.rows):
        x, own = X[row], codes.codes[:, column]
        assert ((own == codes.lowest) == np.isnan(x)).all()
        for i, j in combinations(np.flatnonzero(~np.isnan(x)).tolist(), 2):
            assert (own[i] < own[j], own[i] > own[j]) == (x[i] < x[j], x[i] > x[j])
    for cell in range(cells.max() + 1):
        members = X[cells == cell].tolist()
        for feature in range(X.shape[1]):
            seen = [x for x in members if x[feature] == x[feature]]
            assert codes.observed[cell, feature] == len(seen)
            assert codes.rank_sums[cell, feature] == sum(2 * naive.mid_rank(x, feature) for x in seen)
        assert codes.plain[cell] == all(len(set(x)) == len(x) and not np.isnan(x).any() for x in members)
    tied = [row for row in codes.rows.tolist() if len({x for x in X[row].tolist() if x == x}) < 2]
    assert codes.constant.tolist() == sorted(tied)


@pytest.mark.parametrize("p", [65_534, 65_535])
def test_codes_take_two_bytes_as_long_as_they_fit(p):
    X = np.arange(p, dtype=float)[None, ::-1]
    codes = coded(X, [0])
    assert codes.codes.dtype == (np.int16 if p == 65_534 else np.int32)
    np.testing.assert_array_equal(np.argsort(codes.codes[:, 0]), np.arange(p)[::-1])
    assert codes.codes.min() == codes.lowest + 1


@given(celled(), st.integers(0, 3), st.integers(1, 4))
def test_counts_of_a_tile_equal_the_naive_ones(drawn, start, width):
    X, cells = drawn
    codes = coded(X, cells, missing=True)
    start = min(start, X.shape[1] - 1)
    left, right = codes.codes, codes.codes[start : start + width]
    counts, observed = tile_counts(left, right, codes.starts, codes.plain, codes.complete)
    for cell in range(cells.max() + 1):
        members = X[cells == cell].tolist()
        for i in range(len(left)):
            for j in range(len(right)):
                less, greater, n = naive.counts(members, i, start + j)
                assert counts[cell, i, j] == less - greater or (i == start + j and codes.plain[cell])
                assert observed is None or observed[cell, i, j] == n


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("m", [1, 63, 64, 65, 130, 200])
def test_counts_of_many_samples_equal_the_naive_ones(m, levels):
    """More samples than one chunk, and numbers of samples that no step divides."""
    rng = np.random.default_rng(m)
    X = (
        rng.permuted(np.tile(np.arange(6.0), (m, 1)), axis=1)
        if levels is None
        else rng.integers(0, levels, (m, 6)) * 1.0
    )
    codes = coded(X, np.arange(m) % 2)
    assert codes.plain.all() == (levels is None)
    counts, _ = tile_counts(codes.codes, codes.codes, codes.starts, codes.plain, True)
    for cell in range(len(codes.plain)):
        signs = np.sign(X[cell::2, None, :] - X[cell::2, :, None]).sum(axis=0)
        off = ~np.eye(6, dtype=bool)
        np.testing.assert_array_equal(counts[cell][off], signs[off])


@pytest.mark.parametrize("levels", [None, 3])
def test_wide_codes_are_counted_like_narrow_ones(levels):
    rng = np.random.default_rng(0)
    X = rng.integers(0, levels, (30, 6)) * 1.0 if levels else rng.normal(size=(30, 6))
    codes = coded(X, np.arange(30) % 2)
    narrow, _ = tile_counts(codes.codes, codes.codes, codes.starts, codes.plain, True)
    wide = codes.codes.astype(np.int32)
    np.testing.assert_array_equal(tile_counts(wide, wide, codes.starts, codes.plain, True)[0], narrow)


def test_counts_of_more_samples_than_sixteen_bits_hold():
    m = 40_000
    X = np.tile([[0.0, 1.0, 1.0]], (m, 1))
    for ties in (False, True):
        codes = coded(X if ties else X + np.array([[0, 0, 1]]), np.zeros(m, dtype=int))
        counts, _ = tile_counts(codes.codes, codes.codes, codes.starts, codes.plain, True)
        assert counts[0, 0].tolist()[1:] == [m, m]


@given(celled())
def test_counts_of_listed_pairs_equal_the_naive_ones(drawn):
    X, cells = drawn
    codes = coded(X, cells, missing=True)
    pairs = np.array(list(combinations(range(X.shape[1]), 2)))
    found = np.empty((3, len(pairs), cells.max() + 1), dtype=np.int64)
    pair_signs.list_counts(codes.codes, codes.lowest, codes.starts, *pairs.T, *found)
    for q, (i, j) in enumerate(pairs.tolist()):
        for cell in range(cells.max() + 1):
            assert tuple(found[:, q, cell]) == naive.counts(X[cells == cell].tolist(), i, j)


# Keys -----------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 2**31 - 1), st.data())
def test_fractions_are_cut_as_the_naive_ones(denominator, data):
    numerator = data.draw(st.integers(-denominator, denominator))
    bits = data.draw(st.integers(1, 62))
    size = abs(numerator) * 2**bits // denominator
    assert pair_signs._fraction(numerator, denominator, bits) == (size if numerator >= 0 else -size)


@pytest.mark.parametrize("denominator", [2**31, 2**40 + 1, 2**60 - 1])
def test_fractions_of_large_denominators_are_cut_as_the_naive_ones(denominator):
    for numerator in (0, 1, denominator // 3, denominator - 1, denominator):
        assert pair_signs._fraction(-numerator, denominator, 62) == -(numerator * 2**62 // denominator)


@given(st.integers(1, 2**15 - 1), st.integers(1, 2**15 - 1), st.data())
def test_fractions_are_in_the_order_of_exact_integers(one, other, data):
    a, b = (Fraction(data.draw(st.integers(0, n)), n) for n in (2 * one * one, 2 * other * other))
    keys = [pair_signs._fraction(part.numerator, part.denominator, 62) for part in (a, b)]
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (a < b, a == b)


def test_weighted_keys_of_groups_take_the_one_closest_to_zero_as_the_naive_rule():
    rng = np.random.default_rng(0)
    counts = rng.integers(-3, 4, (4, 5, 7)).astype(np.int32)
    weights = np.array([[2, -3, 0, 0], [0, 0, 5, -1]])
    keys = np.empty((5, 7), dtype=np.int64)
    pair_signs.weighted_keys(counts, weights, keys)
    for i in range(5):
        for j in range(7):
            parts = [int(sum(w * d for w, d in zip(row, counts[:, i, j].tolist(), strict=True))) for row in weights]
            same = parts[0] * parts[1] > 0
            assert keys[i, j] == (min(parts, key=abs) if same else 0)


# The filter -----------------------------------------------------------------------------------------------------------


@given(any_cohort, st.integers(0, 2**6 - 1))
def test_rank_sum_scores_equal_scipy_and_naive_ranks(X, classes):
    side = np.array([1 if classes >> k & 1 else -1 for k in range(len(X))], dtype=np.int8)
    if abs(side.sum()) == len(X):
        return
    codes = coded(X, np.zeros(len(X), dtype=int))
    ranks = np.empty((len(X), X.shape[1]), dtype=np.int32)
    pair_signs.double_ranks(
        np.ascontiguousarray(codes.codes.T), codes.lowest, np.arange(X.shape[1], dtype=np.intp), ranks
    )
    np.testing.assert_array_equal(ranks, 2 * (rankdata(X, axis=1) - 1))
    scores = np.empty((1, X.shape[1]))
    pair_signs.rank_sum_scores(np.ascontiguousarray(ranks.T), side[None], scores)
    for feature in range(X.shape[1]):
        own, other = ranks[side > 0, feature], ranks[side < 0, feature]
        found = scores[0, feature]
        if len({*own.tolist(), *other.tolist()}) == 1:
            assert found == 0
        else:
            p = mannwhitneyu(own, other, use_continuity=False, method="asymptotic").pvalue
            from scipy.stats import norm

            np.testing.assert_allclose(2 * norm.sf(abs(found)), p, atol=1e-12)
            assert np.sign(found) == np.sign(2 * mannwhitneyu(own, other).statistic - len(own) * len(other))


# Planes of signs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [3, 64, 70])
def test_planes_of_signs_equal_the_naive_ones(width):
    keys = np.random.default_rng(width).integers(-1, 2, (4, width))
    words = -(-width // 64)
    planes = np.empty((2, 4, words), dtype=np.uint64)
    pair_signs.sign_planes(keys, *planes)
    for sign, plane in zip((1, -1), planes, strict=True):
        for i in range(4):
            bits = [int(plane[i, j // 64]) >> (j % 64) & 1 for j in range(64 * words)]
            assert bits[:width] == [int(key == sign) for key in keys[i].tolist()]
            assert not any(bits[width:])


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("p", [2, 5, 64, 67])
def test_votes_of_planes_equal_the_naive_ones(p, published):
    rng = np.random.default_rng(p)
    signs, X = rng.integers(-1, 2, (p, p)), rng.integers(0, 4, (2, p)).astype(float)
    if not published:
        X[1, ::3] = np.nan
    offsets, first_words, words = places_of(p)
    planes = np.zeros((2, words), dtype=np.uint64)
    part = np.empty((2, p, -(-p // 64)), dtype=np.uint64)
    pair_signs.sign_planes(np.triu(signs, 1), *part)
    for plane, own in zip(planes, part, strict=True):
        pair_signs.place_words(own, 0, 0, offsets, first_words, plane)
    votes = np.empty((2, 2), dtype=np.int64)
    pair_signs.majority(X, *planes, offsets, first_words, published, votes)
    pairs = list(combinations(range(p), 2))
    for x, found in zip(X.tolist(), votes.tolist(), strict=True):
        expected = [0, 0]
        for i, j in pairs[:-1] if published and len(pairs) % 2 == 0 else pairs:
            less, more = x[i] < x[j], x[i] > x[j]
            if published:
                expected[int({1: less, -1: not less, 0: more}[int(signs[i, j])])] += 1
            elif signs[i, j] and (less or more):
                expected[int((signs[i, j] > 0) == less)] += 1
        assert found == expected
