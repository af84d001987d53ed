"""Every way of counting gives the integers of the double loop, and the fastest way is chosen by size alone."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config
from strategies import any_cohort

from distkern.compiled import bitplanes, block_inversions, concordance, inversions, levels
from distkern.compiled.inversions import rank

FEW = 2 if config.DISABLE_JIT else None
"""Samples of an example: in plain Python the blocks, which always walk 2,048 items, take a tenth of a second a pair."""

NAMES = ("order", "codes", "tied", "untied")


def by_bitplanes(a, b, symmetric):
    n = a[0].shape[1]
    discordant, untied = bitplanes.concordance(a[1], b[1], True, symmetric)
    return untied - 2 * discordant, n * (n - 1) // 2 - np.add.outer(a[3], b[3]) + untied


WAYS = {
    "bitplanes": by_bitplanes,
    "levels": lambda a, b, symmetric: levels.concordance(a[1], b[1], symmetric),
    "blocks": block_inversions.concordance,
    "inversions": inversions.concordance,
}


def expected(X, Y):
    S, joint = np.zeros((2, len(X), len(Y)), dtype=np.int64)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            concordant, discordant, _, _, both = naive.pair_counts(list(x), list(y))
            S[i, j], joint[i, j] = concordant - discordant, both
    return S, joint


@pytest.mark.parametrize("way", WAYS)
@given(st.data())
def test_equals_the_naive_double_loop(way, data):
    X = data.draw(any_cohort)[:FEW]
    Y = X[data.draw(st.integers(0, len(X) - 1)) :][::-1]
    for A, B, symmetric in ((X, X, True), (X, Y, False)):
        counts, joint = WAYS[way](rank(A), rank(B), symmetric)
        S, both = expected(A, B)
        filled = np.triu(np.ones_like(S)) if symmetric else np.ones_like(S)
        np.testing.assert_array_equal(counts * filled, S * filled)
        np.testing.assert_array_equal(joint * filled, both * filled)


@pytest.mark.parametrize("n", [2, 3, 63, 64, 65, 127, 128, 129, 2047, 2048, 2049, 4500])
@pytest.mark.parametrize("distinct", [2, 7, 10**6])
def test_all_algorithms_agree_at_the_borders_of_words_blocks_and_runs(n, distinct):
    rng = np.random.default_rng(n + distinct)
    X = rng.integers(0, distinct, (5, n)).astype(float)
    X[-1] = rng.permutation(n)
    a, b = rank(X), rank(X[:3])
    counts = {way: count(a, b, False) for way, count in WAYS.items()}
    for way in WAYS:
        np.testing.assert_array_equal(counts[way][0], counts["inversions"][0], err_msg=way)
        np.testing.assert_array_equal(counts[way][1], counts["inversions"][1], err_msg=way)


@pytest.mark.parametrize("n", [32_768, 32_769, 65_535])
def test_blocks_agree_with_merging_up_to_their_limit(n):
    rng = np.random.default_rng(n)
    X = np.vstack([np.arange(n), np.arange(n)[::-1], rng.permutation(n), rng.integers(0, n // 4, n)]).astype(float)
    ranked = rank(X)
    upper = np.triu_indices(len(X))
    for ours, other in zip(
        block_inversions.concordance(ranked, ranked, True), inversions.concordance(ranked, ranked, True), strict=True
    ):
        np.testing.assert_array_equal(ours[upper], other[upper])


def groups_of(sizes, n):
    """A sample whose tie groups, in ascending order, have these sizes in turn."""
    sizes = np.resize(sizes, n)
    values = np.repeat(np.arange(len(sizes)), sizes)[:n]
    return np.random.default_rng(n).permutation(values).astype(float)


@pytest.mark.parametrize("n", [70, 2_500, 9_000])
def test_blocks_agree_with_merging_for_ties_of_every_pattern(n):
    rng = np.random.default_rng(n)
    patterns = (
        [1],
        [n],
        [2],
        [1, 64],
        [65],
        [1, 65],
        [8],
        [9, 1],
        [24, 25],
        [63, 2],
        [64, 64, 1],
        range(1, 90),
        [1] * 50 + [3],
    )
    samples = [groups_of(sizes, n) for sizes in patterns]
    zeros = np.where(rng.random(n) < 0.5, -0.0, rng.normal(size=n) ** 2)
    infinite = np.where(rng.random(n) < 0.1, np.inf, np.where(rng.random(n) < 0.1, -np.inf, rng.permutation(n)))
    ranked = rank(np.vstack([*samples, zeros, infinite, rng.permutation(n)]))
    upper = np.triu_indices(len(ranked[0]))
    for ours, other in zip(
        block_inversions.concordance(ranked, ranked, True), inversions.concordance(ranked, ranked, True), strict=True
    ):
        np.testing.assert_array_equal(ours[upper], other[upper])


def test_a_tie_group_of_most_items_agrees_with_merging():
    rng = np.random.default_rng(0)
    n = 50_000
    most = np.where(rng.random(n) < 0.8, 0, rng.permutation(n))
    ranked = rank(np.vstack([most, rng.permutation(most), np.zeros(n), rng.permutation(n)]).astype(float))
    for ours, other in zip(
        block_inversions.concordance(ranked, ranked, False), inversions.concordance(ranked, ranked, False), strict=True
    ):
        np.testing.assert_array_equal(ours, other)


def test_many_samples_cross_the_borders_of_blocks_of_samples(monkeypatch):
    monkeypatch.setattr(block_inversions, "SAMPLES", 4)
    monkeypatch.setattr(block_inversions, "HELD", 8)
    X = np.random.default_rng(0).integers(0, 9, (21, 12)).astype(float)
    S, joint = expected(X, X)
    block = dict(zip(NAMES, rank(X), strict=True))
    counts, both = concordance.concordance(block, block, True)
    np.testing.assert_array_equal(counts, S)
    np.testing.assert_array_equal(both, joint)
    counts, both = block_inversions.concordance(rank(X), rank(X), True)
    np.testing.assert_array_equal(np.triu(counts), np.triu(S))
    counts, both = block_inversions.concordance(rank(X), rank(X[:19]), False)
    np.testing.assert_array_equal(counts, S[:, :19])
    np.testing.assert_array_equal(both, joint[:, :19])


@pytest.mark.parametrize(
    ("n", "distinct", "ties", "way"),
    [
        (10, 10, False, "bitplanes"),
        (1000, 1000, True, "bitplanes"),
        (1000, 5, True, "levels"),
        (20_000, 20_000, False, "blocks"),
        (20_000, 15_000, True, "blocks"),
        (20_000, 20, True, "levels"),
        (65_536, 65_536, False, "inversions"),
        (200_000, 30, True, "levels"),
    ],
)
def test_the_fastest_algorithm_is_chosen_by_size(n, distinct, ties, way):
    assert concordance.fastest(n, distinct, distinct, ties) == way
