import math

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from strategies import any_cohort, cohorts

from distkern.compiled.significance import (
    ALTERNATIVES,
    inversion_probabilities,
    null_variance,
    p_values,
    tau_from_counts,
    tie_sums,
    variance_tile,
)

small = st.lists(st.integers(0, 3), min_size=2, max_size=5)


def sums_of(x):
    return tuple(float(part[0]) for part in tie_sums(np.array([x], dtype=float)))


def variance_of(x, y):
    (tied_x, third_x, fifth_x), (tied_y, third_y, fifth_y) = sums_of(x), sums_of(y)
    return null_variance(float(len(x)), tied_x, tied_y, third_x, third_y, fifth_x, fifth_y)


@given(any_cohort)
def test_tie_sums_equal_naive_ones(X):
    for x, tied, third, fifth in zip(X, *tie_sums(X), strict=True):
        groups = naive.tie_groups(x.tolist())
        assert tied == sum(t * (t - 1) // 2 for t in groups)
        assert third == sum(t * (t - 1) * (t - 2) for t in groups)
        assert fifth == sum(t * (t - 1) * (2 * t + 5) for t in groups)


@settings(max_examples=30)
@given(small, st.randoms(use_true_random=False))
def test_the_variance_equals_that_of_naive_shuffling(x, random):
    y = [random.randrange(3) for _ in x]
    assert variance_of(x, y) == pytest.approx(naive.variance_of_concordance(x, y), abs=1e-9)


@given(cohorts(min_features=2))
def test_the_variances_of_a_tile_equal_naive_ones_pair_by_pair(X):
    sums = tie_sums(X)
    out = np.empty((len(X), len(X)))
    variance_tile(X.shape[1], *sums, *sums, out)
    np.testing.assert_array_equal(out, [[variance_of(x, y) for y in X] for x in X])


@settings(max_examples=30)
@given(st.permutations(range(5)), st.sampled_from(ALTERNATIVES))
def test_exact_p_values_equal_naive_counting_of_all_orderings(y, alternative):
    x = list(range(5))
    concordant, discordant, *_ = naive.pair_counts(x, y)
    found = p_values(
        np.array([concordant - discordant]), 5, np.array([True]), np.ones(1), alternative=alternative, method="exact"
    )
    assert found[0] == pytest.approx(naive.chance_of_concordance(x, y, alternative), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 20])
def test_inversion_probabilities_are_counts_over_the_factorial(n):
    counts = [1]
    for j in range(2, n + 1):  # whole numbers, by the generating function (1 + q + … + q^{j−1})
        counts = [sum(counts[max(0, c - j + 1) : c + 1]) for c in range(len(counts) + j - 1)]
    half = math.comb(n, 2) // 2
    mass, below = inversion_probabilities(n, half)
    expected = np.array([count / math.factorial(n) for count in counts[: half + 1]])
    np.testing.assert_allclose(mass, expected, rtol=1e-12)
    np.testing.assert_allclose(below, np.cumsum(expected), rtol=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", ["auto", "exact", "asymptotic"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 20, 33, 34, 60, 175])
def test_equal_to_scipy_without_ties_however_far_out(n, method, alternative):
    if (n, method) == (2, "asymptotic"):
        pytest.skip("SciPy divides by n − 2")
    x = np.arange(n)
    rng = np.random.default_rng(n)
    orders = [x, x[::-1], np.roll(x, 1), np.r_[1, 0, x[2:]], np.r_[x[::-1][:-2], 0, 1]]
    orders += [rng.permutation(n) for _ in range(6)]
    expected = [kendalltau(x, y, method=method, alternative=alternative) for y in orders]
    pairs = math.comb(n, 2)
    S = np.array([round(result.statistic * pairs) for result in expected])
    found = p_values(
        S,
        n,
        np.ones(len(S), dtype=bool),
        np.full(len(S), variance_of(x, x)),
        alternative=alternative,
        method=method,
    )
    np.testing.assert_allclose(found, [result.pvalue for result in expected], rtol=1e-9, atol=1e-300)


def test_sizes_may_differ_from_pair_to_pair():
    found = p_values(np.array([[6, 3, 0]]), np.array([[4, 3, 1]]), np.ones((1, 3), dtype=bool), np.array([[1.0, 1, 0]]))
    np.testing.assert_allclose(found[0, :2], [2 / 24, 2 / 6])


def test_the_product_of_untied_pairs_does_not_overflow():
    t = np.array([math.comb(200_000, 2)])
    assert tau_from_counts(t[:, None], t, t) == 1.0
    assert tau_from_counts(-t[:, None], t, t) == -1.0


def test_tie_sums_of_a_huge_group_do_not_overflow():
    n = 2**22
    _, third, _ = sums_of(np.zeros(n))
    assert third == pytest.approx(float(n * (n - 1) * (n - 2)), rel=1e-15)
