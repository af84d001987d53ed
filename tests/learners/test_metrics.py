"""The measures of ranking against double loops."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import somersd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from distkern import (
    InputError,
    mean_absolute_difference,
    mean_squared_difference,
    ranking_error,
    ranking_measures,
)

values = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100, allow_subnormal=False, width=32))


@st.composite
def targets_and_scores(draw):
    m = draw(st.integers(2, 14))
    return draw(arrays(np.float64, m, elements=values)), draw(arrays(np.float64, m, elements=values))


@given(targets_and_scores())
def test_equal_the_double_loops(pair):
    y, f = pair
    near = {"rel": 1e-9, "abs": 1e-9}
    assert mean_squared_difference(y, f) == pytest.approx(naive.mean_over_pairs(y, f, lambda e: e * e), **near)
    assert mean_absolute_difference(y, f) == pytest.approx(naive.mean_over_pairs(y, f, abs), **near)
    if np.ptp(y) > 0:
        assert ranking_error(y, f) == pytest.approx(naive.ranking_error(y, f), **near)


def test_a_common_offset_costs_no_digits_and_changes_nothing():
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=50), rng.normal(size=50)
    for measure in (ranking_error, mean_squared_difference, mean_absolute_difference):
        assert measure(y + 1e6, f) == pytest.approx(measure(y, f), rel=1e-9)
    assert ranking_error(y, y) == 0
    assert ranking_error(y, np.zeros(50)) == pytest.approx(ranking_error(y, -y) / 2)


def test_all_measures_of_a_table():
    measures = ranking_measures([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])
    assert measures == pytest.approx(
        {"error": 1 / 6, "corr": 0.8, "tau": 2 / 3, "somers_d": 2 / 3, "rho": 0.8, "msd": 1.0, "m1d": 0.75}
    )
    constant = ranking_measures([1.0, 2.0], [0.0, 0.0])
    assert np.isnan([constant["corr"], constant["tau"], constant["rho"]]).all()
    assert constant["somers_d"] == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_somers_d_counts_pairs_of_different_targets(pairs):
    y, f = (np.array(values, dtype=float) for values in zip(*pairs, strict=True))
    if np.ptp(y) == 0:
        return
    signs = [(np.sign(y[i] - y[j]), np.sign(f[i] - f[j])) for i in range(len(y)) for j in range(i)]
    expected = sum(a * b for a, b in signs) / sum(a != 0 for a, _ in signs)
    found = ranking_measures(y, f)["somers_d"]
    assert found == pytest.approx(expected, abs=1e-14)
    if np.ptp(f) > 0:
        assert found == pytest.approx(somersd(y, f).statistic, abs=1e-14)


def test_scikit_learn_makes_scorers_of_them():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    y = X @ [1.0, 2.0]
    for measure in (ranking_error, mean_squared_difference, mean_absolute_difference):
        scores = cross_val_score(LinearRegression(), X, y, cv=3, scoring=make_scorer(measure, greater_is_better=False))
        np.testing.assert_allclose(scores, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "f", "message"),
    [
        ([1.0, 1.0], [1.0, 2.0], "all targets are equal"),
        ([1.0, 2.0], [1.0], "one of each for every sample"),
        ([1.0, np.nan], [1.0, 2.0], "not finite"),
        ([1.0, 2.0], [1.0, np.inf], "not finite"),
        ([], [], "one of each"),
    ],
)
def test_invalid_targets_and_scores_are_refused(y, f, message):
    with pytest.raises(InputError, match=message):
        ranking_error(y, f)
