"""Sums over risk sets against loops over events and samples."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.compiled.cox import log_denominators, means_at_risk, sums_of_weights


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 6), st.integers(1, 3))
def test_sums_over_risk_sets_equal_the_naive_loops(ties, seed, m, levels, strata):
    rng = np.random.default_rng(seed)
    t, s, e, f = rng.integers(0, levels, m), rng.integers(0, strata, m), rng.random(m) < 0.6, rng.normal(size=m)
    order = np.lexsort((t, s))
    t, s, V = t[order], s[order], rng.normal(size=(m, 2))
    firsts = [k for k in range(m) if k == 0 or (t[k], s[k]) != (t[k - 1], s[k - 1])]
    groups = np.array([*firsts, m]), s[firsts]
    parts = naive.cox_denominators(t, e, f, ties, s)
    shares = np.zeros(m)
    for k, counted in parts:
        shares[k] = 1 - counted[k]
    logs, means, sums = np.zeros(m), np.zeros((m, 2)), np.empty((m, 2))
    log_denominators(f, e, shares, *groups, logs)
    means_at_risk(f, V, e, shares, *groups, logs, means)
    sums_of_weights(f, V, e, shares, *groups, logs, sums)
    expected_means, expected_sums = np.zeros((m, 2)), np.zeros((m, 2))
    for k, counted in parts:
        total = sum(share * np.exp(f[j]) for j, share in counted.items())
        assert logs[k] == pytest.approx(np.log(total), abs=1e-12)
        for j, share in counted.items():
            weight = share * np.exp(f[j]) / total
            expected_means[k] += weight * V[j]
            expected_sums[j] += weight * V[k]
    np.testing.assert_allclose(means, expected_means, atol=1e-12)
    np.testing.assert_allclose(sums, expected_sums, atol=1e-12)
