"""Concordance against double loops and scikit-survival."""

import math

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import InputError, concordance_index, survival_y
from distkern.learners.concordance import concordant_pairs


def drawn(seed, m, levels, censored=0.4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, m) / 2.0, rng.random(m) >= censored, rng.integers(0, levels, m) / 4.0, rng


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 20), st.integers(1, 3))
def test_sums_are_the_integers_of_the_naive_loop(seed, m, levels, strata):
    t, e, risk, rng = drawn(seed, m, levels)
    s = rng.integers(0, strata, m)
    expected = np.zeros(2, dtype=int)
    for k in range(strata):
        own = s == k
        expected += naive.concordant_pairs(t[own], e[own], risk[own])
    found = concordant_pairs(t, e, risk, strata=s)
    assert (found.found, found.comparable) == tuple(expected)
    if found.comparable:
        assert concordance_index(t, e, risk, strata=s) == expected[0] / expected[1]
    else:
        with pytest.raises(InputError, match="there is no comparable pair"):
            concordance_index(t, e, risk, strata=s)


@given(st.integers(0, 10**6), st.integers(3, 25), st.integers(2, 20), st.floats(1.0, 8.0))
def test_unos_index_equals_the_naive_loop(seed, m, levels, tau):
    t, e, risk, rng = drawn(seed, m, levels)
    train_t, train_e = np.append(rng.integers(0, levels, m) / 2.0, 100.0), np.append(rng.random(m) < 0.6, True)
    weights = [1 / naive.still_observed(train_t, train_e, s) ** 2 for s in t]
    found, comparable = naive.concordant_pairs(t, e, risk, weights, tau)
    if comparable:
        got = concordance_index(t, e, risk, "uno", train=(train_t, train_e), tau=tau)
        assert got == pytest.approx(found / comparable, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_equals_scikit_survival(seed):
    metrics = pytest.importorskip("sksurv.metrics")
    t, e, risk, rng = drawn(seed, 200, 60)
    theirs = metrics.concordance_index_censored(e, t, risk)
    assert concordance_index(t, e, risk) == pytest.approx(theirs[0], rel=1e-12)
    found = concordant_pairs(t, e, risk)
    assert found.found == 2 * theirs[1] + theirs[3]
    train = rng.integers(0, 80, 300) / 2.0, rng.random(300) < 0.6
    tau = 15.0
    theirs = metrics.concordance_index_ipcw(survival_y(*train), survival_y(t, e), risk, tau)
    assert concordance_index(t, e, risk, "uno", train=train, tau=tau) == pytest.approx(theirs[0], rel=1e-9)


def test_integers_are_exact_for_many_samples():
    m = 200_000
    t = np.arange(m, dtype=float)
    found = concordant_pairs(t, np.ones(m, dtype=bool), -t)
    assert (found.found, found.comparable) == (m * (m - 1), m * (m - 1))
    assert concordance_index(t, np.ones(m), np.zeros(m)) == 0.5


def test_pairs_of_one_time():
    assert concordance_index([1, 1], [1, 0], [2, 1]) == 1  # the censored sample lived on
    assert concordance_index([1, 1], [1, 0], [1, 1]) == 0.5
    with pytest.raises(InputError, match="no comparable pair"):
        concordance_index([1, 1], [1, 1], [2, 1])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2], [0, 0], [1, 2]), {}, "there is no comparable pair"),
        (([1, np.nan], [1, 0], [1, 2]), {}, "sample 1 has nan"),
        (([1, 2], [1, 3], [1, 2]), {}, "events must be 1"),
        (([1, 2], [1, 0], [1, np.inf]), {}, "risk must be finite; sample 1 has inf"),
        (([1, 2], [1, 0], [1]), {}, r"got risk of shape \(1,\) for 2 samples"),
        (([1, 2], [1, 0], [1, 2]), {"method": "somers"}, "method must be one of harrell, uno"),
        (([1, 2], [1, 0], [1, 2]), {"method": "uno"}, "train= is needed for the method 'uno'"),
        (([1, 2], [1, 0], [1, 2]), {"train": ([1], [1])}, "train= is only for the method 'uno'"),
        (([1, 2], [1, 0], [1, 2]), {"tau": 0.0}, "tau must be a positive"),
        (([1, 2], [1, 0], [1, 2]), {"tau": 1.0}, "no comparable pair"),
        (([3, 4], [1, 0], [1, 2]), {"method": "uno", "train": ([1, 2], [1, 0])}, "give tau=3 or less"),
        (
            (pd.Series([1, 2], index=list("ab")), [1, 0], pd.Series([1, 2], index=list("ba"))),
            {},
            "risk has the samples",
        ),
    ],
)
def test_mistakes_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        concordance_index(*arguments, **options)


def test_uno_without_censoring_is_harrell():
    t, _, risk, _ = drawn(1, 50, 30)
    e = np.ones(50)
    assert math.isclose(concordance_index(t, e, risk, "uno", train=(t, e)), concordance_index(t, e, risk))
