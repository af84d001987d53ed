"""Kaplan-Meier curves and log-rank tests against loops, SciPy, statsmodels and scikit-survival."""

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData, logrank

from distkern import InputError, kaplan_meier, log_rank_test, survival_y


def drawn(seed, m, levels, groups=2, censored=0.4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, m) / 2.0, rng.random(m) >= censored, rng.integers(0, groups, m), rng


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 12), st.integers(1, 3))
def test_curves_equal_the_naive_loop(seed, m, levels, groups):
    t, e, g, _ = drawn(seed, m, levels, groups)
    found = kaplan_meier(t, e, g)
    for group in np.unique(g):
        own = found.table[found.table["group"] == group]
        expected = naive.survival_curve(t[g == group], e[g == group])
        columns = ["time", "at_risk", "events", "survival", "standard_error"]
        np.testing.assert_allclose(own[columns].to_numpy(), expected, rtol=1e-10, atol=1e-14)
        assert own["censored"].sum() == (~e[g == group]).sum()
        row = found.medians[found.medians["group"] == group].iloc[0]
        below = [line[0] for line in expected if line[3] <= 0.5 + 1e-12]
        assert row["median"] == below[0] if below else np.isnan(row["median"])


@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 12), st.integers(2, 4), st.integers(1, 3))
def test_log_rank_equals_the_naive_loop(seed, m, levels, groups, strata):
    t, e, g, rng = drawn(seed, m, levels, groups)
    s = rng.integers(0, strata, m)
    expected, covariance = map(np.array, naive.log_rank(t, e, g, s))
    if not np.abs(covariance).max() > 1e-12:
        with pytest.raises(InputError, match="no two groups are at risk together"):
            log_rank_test(t, e, g, s)
        return
    found = log_rank_test(t, e, g, strata=s)
    np.testing.assert_allclose(found.table["expected"], expected, rtol=1e-10)
    excess = found.table["events"].to_numpy() - expected
    assert found.table["events"].tolist() == [e[g == group].sum() for group in np.unique(g)]
    assert found.statistic == pytest.approx(excess @ np.linalg.lstsq(covariance, excess, rcond=1e-9)[0], abs=1e-7)
    assert found.df == np.linalg.matrix_rank(covariance, tol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_curves_equal_other_software(seed):
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    duration = pytest.importorskip("statsmodels.duration.survfunc")
    t, e, _, _ = drawn(seed, 150, 60)
    found = kaplan_meier(t, e).table
    times, survival, limits = nonparametric.kaplan_meier_estimator(e, t, conf_type="log-log")
    np.testing.assert_array_equal(found["time"], times)
    np.testing.assert_allclose(found["survival"], survival, rtol=1e-12)
    inside = (found["survival"] > 0) & (found["survival"] < 1)
    np.testing.assert_allclose(found.loc[inside, ["low", "high"]].to_numpy().T, limits[:, inside], rtol=1e-9)
    theirs = duration.SurvfuncRight(t, e.astype(int))
    own = found[found["events"] > 0]
    np.testing.assert_array_equal(own["time"], theirs.surv_times)
    np.testing.assert_array_equal(own["at_risk"], theirs.n_risk)
    kept = own["survival"].to_numpy() > 0  # at 0 theirs is NaN
    np.testing.assert_allclose(own["standard_error"].to_numpy()[kept], theirs.surv_prob_se[kept], rtol=1e-10)


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_log_rank_equals_other_software(seed, groups):
    compare = pytest.importorskip("sksurv.compare").compare_survival
    survdiff = pytest.importorskip("statsmodels.duration.survfunc").survdiff
    t, e, g, rng = drawn(seed, 120, 40, groups)
    found = log_rank_test(t, e, g)
    assert found.df == groups - 1
    for theirs in (compare(survival_y(t, e), g), survdiff(t, e.astype(int), g)):
        assert (found.statistic, found.pvalue) == pytest.approx((theirs[0], theirs[1]), rel=1e-9)
    s = rng.integers(0, 3, 120)
    stratified = log_rank_test(t, e, g, strata=s)
    theirs = survdiff(t, e.astype(int), g, strata=s)
    assert (stratified.statistic, stratified.pvalue) == pytest.approx(theirs, rel=1e-9)
    if groups == 2:
        theirs = logrank(*(CensoredData.right_censored(t[g == k], ~e[g == k]) for k in (0, 1)))
        assert (found.statistic, found.pvalue) == pytest.approx((theirs.statistic**2, theirs.pvalue), rel=1e-9)


def test_groups_of_different_strata_are_not_compared():
    t, e, g, _ = drawn(3, 80, 30, 4)
    found = log_rank_test(t, e, g, strata=g // 2)  # groups 0 and 1 in one, 2 and 3 in the other
    parts = [log_rank_test(t[g // 2 == k], e[g // 2 == k], g[g // 2 == k]) for k in (0, 1)]
    assert found.df == 2
    assert found.statistic == pytest.approx(sum(part.statistic for part in parts), rel=1e-10)


def test_a_group_that_is_never_at_risk_costs_no_degree_of_freedom():
    found = log_rank_test([1, 2, 3, 4, 0.5], [1, 1, 1, 0, 0], ["a", "b", "a", "b", "c"])
    assert found.df == 1
    assert found.table["expected"].tolist()[2] == 0


def test_limits_and_medians_where_a_curve_says_nothing():
    found = kaplan_meier([1.0, 2.0], [0, 0])
    assert found.table[["survival", "low", "high"]].to_numpy().tolist() == [[1, 1, 1]] * 2
    assert found.medians[["median", "low", "high"]].isna().all(axis=None)
    found = kaplan_meier([3.0, 5.0], [1, 1], level=0.5)
    assert found.medians["median"].tolist() == [3.0]  # S is 1/2 from there on
    assert found.table["survival"].tolist() == [0.5, 0.0]
    assert found.table[["low", "high"]].isna().any(axis=1).tolist() == [False, True]
    assert found.table["standard_error"].tolist() == [np.sqrt(0.125), 0.0]


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (kaplan_meier, ([], []), "there is no sample"),
        (kaplan_meier, ([1, np.nan], [1, 0]), "sample 1 has nan"),
        (kaplan_meier, ([1, 2], [1, 2]), "events must be 1"),
        (kaplan_meier, ([1, 2], [1, 0], ["a"]), "got groups of shape"),
        (log_rank_test, ([1, 2], [1, 0], ["a", "a"]), "no two groups"),
        (log_rank_test, ([1, 2], [0, 0], ["a", "b"]), "no two groups"),
        (log_rank_test, ([1, 2], [1, 0], ["a", None]), "groups"),
        (
            log_rank_test,
            (pd.Series([1, 2], index=list("ab")), [1, 0], pd.Series(["a", "b"], index=list("ba"))),
            "groups has the samples",
        ),
    ],
)
def test_mistakes_are_refused(function, arguments, message):
    with pytest.raises(InputError, match=message):
        function(*arguments)


def test_a_level_is_a_fraction():
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        kaplan_meier([1.0], [1], level=95)
