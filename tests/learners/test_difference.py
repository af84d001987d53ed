"""Statistics equal naive double sums, p-values are exact under the null, and planted differences are found."""

from __future__ import annotations

from itertools import permutations as orders

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import kstest

import distkern as dk
from distkern.core.errors import InputError
from distkern.solvers.labelings import every_labeling, number_of_labelings


def naive_mmd(K, group, w):
    total = {True: 0.0, False: 0.0}
    mass = {True: 0.0, False: 0.0}
    across = 0.0
    for i in range(len(K)):
        for j in range(len(K)):
            if group[i] != group[j]:
                across += w[i] * w[j] * K[i, j] / 2
            elif i != j:
                total[group[i]] += w[i] * w[j] * K[i, j]
                mass[group[i]] += w[i] * w[j]
    sums = {side: sum(w[i] for i in range(len(K)) if group[i] == side) for side in (True, False)}
    return sum(total[side] / mass[side] for side in (True, False)) - 2 * across / (sums[True] * sums[False])


def naive_f(K, labels, w):
    """Anderson's sums of squared distances."""

    def scatter(members):
        of_pairs = sum(w[i] * w[j] * (K[i, i] + K[j, j] - 2 * K[i, j]) for i in members for j in members)
        return of_pairs / (2 * sum(w[i] for i in members))

    groups = sorted(set(labels))
    within = sum(scatter([i for i, label in enumerate(labels) if label == group]) for group in groups)
    m, a = len(labels), len(groups)
    return (scatter(range(m)) - within) / (a - 1) / (within / (m - a))


def naive_hsic(K, L, w):
    p = np.array(w) / sum(w)
    m = len(p)
    centred = K - (K @ p)[:, None] - (p @ K)[None] + p @ K @ p
    return sum(p[i] * p[j] * centred[i, j] * L[i, j] for i in range(m) for j in range(m))


@st.composite
def drawn(draw, kinds):
    m = draw(st.integers(2 * kinds + 1, 9))
    X = np.array(draw(st.lists(st.integers(-4, 4), min_size=2 * m, max_size=2 * m)), dtype=float).reshape(m, 2)
    extra = draw(st.lists(st.integers(0, kinds - 1), min_size=m - 2 * kinds, max_size=m - 2 * kinds))
    labels = np.array([*range(kinds), *range(kinds), *extra])
    w = np.array(draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=m, max_size=m)))
    return X @ X.T + np.eye(m), labels, w


@given(drawn(2))
def test_mmd_equals_a_double_sum(case):
    K, labels, w = case
    found = dk.mmd_test(K, labels, sample_weight=w, permutations=5)
    assert found.statistic == pytest.approx(naive_mmd(K, labels == 1, w), abs=1e-9)


@given(drawn(3))
def test_permanova_equals_sums_of_distances(case):
    K, labels, w = case
    found = dk.permanova(K, labels, sample_weight=w, permutations=5)
    assert found.statistic == pytest.approx(naive_f(K, labels.tolist(), w), rel=1e-9)


@given(drawn(3))
def test_hsic_of_categories_equals_a_double_sum(case):
    K, labels, w = case
    L = (labels[:, None] == labels).astype(float)
    found = dk.hsic_test(K, labels.astype(str), sample_weight=w, permutations=5)
    assert found.statistic == pytest.approx(naive_hsic(K, L, w), abs=1e-9)
    coded = dk.hsic_test(K, labels, covariate_kernel="delta", sample_weight=w, permutations=5)
    assert coded.statistic == found.statistic


@given(drawn(3), st.integers(1, 2))
def test_hsic_of_numbers_equals_a_double_sum(case, width):
    K, labels, w = case
    values = np.stack([labels * 1.5, labels**2], axis=1)[:, :width].astype(float)
    distinct = np.unique(values, axis=0)
    sigma = np.median(pdist(distinct))
    squares = ((values[:, None] - values) ** 2).sum(axis=2)
    found = dk.hsic_test(K, values if width > 1 else values[:, 0], sample_weight=w, permutations=5)
    assert found.settings["sigma"] == pytest.approx(sigma)
    assert found.statistic == pytest.approx(naive_hsic(K, np.exp(-squares / (2 * sigma**2)), w), abs=1e-5)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.data())
def test_labelings_are_all_the_distinct_ones(codes, data):
    codes = np.array(codes)
    blocks = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(codes), max_size=len(codes))))
    wanted = set()
    for order in orders(range(len(codes))):
        if all(blocks[i] == blocks[j] for i, j in enumerate(order)):
            wanted.add(tuple(codes[list(order)].tolist()))
    found = [tuple(labels.tolist()) for labels in every_labeling(codes, blocks)]
    assert len(found) == len(set(found)) == number_of_labelings(codes, blocks) == len(wanted)
    assert set(found) == wanted


@given(drawn(2), st.booleans())
def test_small_cohorts_are_enumerated(case, split):
    K, labels, _ = case
    strata = np.arange(len(labels)) % 2 if split else None
    blocks = np.zeros(len(labels), dtype=int) if strata is None else strata
    if all(len(set(labels[blocks == b])) < 2 for b in (0, 1)):
        with pytest.raises(InputError, match="no permutation changes it"):
            dk.mmd_test(K, labels, strata=strata)
        return
    found = dk.mmd_test(K, labels, strata=strata)
    ones = np.ones(len(labels))
    null = [naive_mmd(K, other == 1, ones) for other in every_labeling(labels, blocks)]
    observed = naive_mmd(K, labels == 1, ones)
    assert found.exact
    assert found.permutations == len(null)
    assert np.sort(found.null) == pytest.approx(np.sort(null), abs=1e-9)
    assert found.pvalue == pytest.approx(np.mean(np.array(null) >= observed - 1e-9))


TESTS = {
    "mmd": lambda K, rng, **how: dk.mmd_test(K, rng.permutation(np.arange(len(K)) % 2), **how),
    "hsic": lambda K, rng, **how: dk.hsic_test(K, rng.normal(size=len(K)).round(1), **how),
    "permanova": lambda K, rng, **how: dk.permanova(K, rng.permutation(np.arange(len(K)) % 3), **how),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTS)
def test_p_values_are_uniform_under_the_null(name):
    """500 draws: the distance of their p-values from the uniform distribution has p > 0.001."""
    rng = np.random.default_rng(7)
    found = []
    for draw in range(500):
        X = rng.normal(size=(24, 3))
        found.append(TESTS[name](X @ X.T, rng, permutations=199, random_state=draw).pvalue)
    found = np.array(found) - rng.uniform(0, 1 / 200, size=500)  # p-values are multiples of 1/200
    assert kstest(found, "uniform").pvalue > 1e-3
    assert 0.02 < (found <= 0.05).mean() < 0.09


def test_planted_difference_of_rankings_is_found_and_order_does_not_matter():
    rng = np.random.default_rng(3)
    women = np.array([rng.permutation(6) for _ in range(40)])
    men = np.sort(np.array([rng.permutation(6) for _ in range(40)]) + 3.0 * np.arange(6), axis=1)
    X, who = np.concatenate([women, men]).astype(float), np.array(["women"] * 40 + ["men"] * 40)
    table = pd.DataFrame(X, index=[f"voter {k}" for k in range(80)])
    for test in (dk.mmd_test, dk.permanova, dk.hsic_test):
        found = test(table, pd.Series(who, index=table.index), kernel=dk.Kendall(), permutations=499)
        assert found.pvalue == 1 / 500, test
        with pytest.raises(InputError, match="in another order"):
            test(table, pd.Series(who, index=table.index[::-1]), kernel=dk.Kendall(), permutations=9)


def test_strata_that_explain_the_difference_take_it_away():
    rng = np.random.default_rng(5)
    hospital = np.repeat([0, 1], 40)
    group = np.concatenate([rng.permutation([0] * 30 + [1] * 10), rng.permutation([0] * 10 + [1] * 30)])
    X = rng.normal(size=(80, 3)) + 2.0 * hospital[:, None]
    assert dk.mmd_test(X @ X.T, group, permutations=499).pvalue < 0.01
    assert dk.mmd_test(X @ X.T, group, strata=hospital, permutations=499).pvalue > 0.05


def test_batches_and_stored_matrices_give_the_same(tmp_path):
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(50, 4)), rng.integers(0, 2, size=50)
    gram = dk.compute_gram(dk.Kendall(), X, store=tmp_path / "gram.zarr")
    whole = dk.mmd_test(gram, labels, permutations=99)
    small = dk.mmd_test(gram, labels, permutations=99, memory_limit=8 * 4 * 50 * 7)
    assert np.allclose(small.null, whole.null, atol=1e-12)
    assert small.pvalue == whole.pvalue
    with pytest.raises(dk.core.errors.MemoryLimitError, match="one permutation of 50 samples"):
        dk.mmd_test(gram, labels, memory_limit=100)


def test_samples_of_weight_zero_are_left_out():
    rng = np.random.default_rng(4)
    X, labels, age = rng.normal(size=(30, 3)), rng.integers(0, 2, size=30), rng.normal(size=30)
    w = np.ones(30)
    w[:5] = 0
    K, kept = X @ X.T, slice(5, None)
    for test, labelled in ((dk.mmd_test, labels), (dk.permanova, labels), (dk.hsic_test, age)):
        found = test(K, labelled, sample_weight=w, permutations=49)
        expected = test(K[kept, kept], labelled[kept], permutations=49)
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.pvalue == expected.pvalue
        assert found.settings["samples"] == 25


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda K: dk.mmd_test(K, [0, 1, 2, 0, 1, 2]), "MMD compares two groups, and there are 3 (0, 1, 2)"),
        (lambda K: dk.mmd_test(K, [0, 0, 0, 0, 0, 1]), "group 1 has one sample"),
        (lambda K: dk.mmd_test(K, [0] * 6), "one value only"),
        (lambda K: dk.hsic_test(K, [1.0, np.nan, 2, 3, 4, 5]), "is not a finite number"),
        (lambda K: dk.permanova(K, list("abcdef")), "more samples than groups"),
        (lambda K: dk.hsic_test(K, [1.0, 2.0]), "give one for each"),
        (lambda K: dk.mmd_test(K, ["a", None, "a", "b", "b", "b"]), "missing"),
    ],
)
def test_what_cannot_be_tested_is_refused(call, said):
    with pytest.raises(InputError) as error:
        call(np.eye(6))
    assert said in str(error.value)
