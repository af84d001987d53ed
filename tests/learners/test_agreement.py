"""Kendall's W equals loops, SciPy's Friedman statistic, and a published example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, spearmanr

import distkern as dk
from distkern.core.errors import InputError


@st.composite
def judges(draw):
    m, n = draw(st.integers(2, 6)), draw(st.integers(3, 6))
    rows = draw(st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=m, max_size=m))
    kept = [row for row in rows if len(set(row)) > 1]
    return np.array(kept + [[*range(n)]] * max(0, 2 - len(kept)), dtype=float)


@given(judges())
def test_statistic_equals_the_friedman_test(values):
    found = dk.kendall_w(values)
    if len(values) > 2:
        expected = friedmanchisquare(*values.T)
        assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert found.pvalue == pytest.approx(expected.pvalue, abs=1e-9)
    assert found.df == values.shape[1] - 1
    assert -1e-12 <= found.w <= 1 + 1e-12


def test_mean_of_spearman_correlations_without_ties():
    values = np.array([np.random.default_rng(k).permutation(7) for k in range(5)], dtype=float)
    pairs = [spearmanr(values[i], values[j]).statistic for i in range(5) for j in range(i)]
    assert dk.kendall_w(values).mean_spearman == pytest.approx(np.mean(pairs))


def test_counts_are_voters():
    votes = dk.Rankings.from_orderings([["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]], counts=[5, 2, 3])
    found, expanded = dk.kendall_w(votes, permutations=99), dk.kendall_w(votes.expand(), permutations=99)
    assert found == expanded
    assert found.voters == 10


def test_permutations_agree_with_the_distribution_for_many_voters():
    values = np.array([np.random.default_rng(k).permutation(5) for k in range(60)], dtype=float)
    found = dk.kendall_w(values, permutations=999)
    assert found.permutation_pvalue == pytest.approx(found.pvalue, abs=0.06)
    agreed = dk.kendall_w(values + 2 * np.arange(5), permutations=199)
    assert agreed.permutation_pvalue == 1 / 200


def test_incomplete_and_flat_rankings_are_refused():
    with pytest.raises(InputError, match="ranking 1 ties all items"):
        dk.kendall_w([[1, 2, 3], [2, 2, 2]])
    top = dk.Rankings.from_ranks([[1, 2, np.nan], [1, 2, 3]], kind=["top", "total"])
    with pytest.raises(InputError, match="ranking 0 lacks an item"):
        dk.kendall_w(top)
    with pytest.raises(InputError, match="two rankings and two items"):
        dk.kendall_w([[1, 2, 3]])
