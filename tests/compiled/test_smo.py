"""The compiled solver of dual problems against the same conditions checked one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.compiled.smo import BLOCK, asymmetry, follow, kth_smallest, local, minimize


def drawn(n, m, seed=0, C=2.0):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(m, 3))
    K = np.exp(-((factor[:, None] - factor[None]) ** 2).sum(axis=2))
    at = np.sort(rng.choice(m, n, replace=False))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    means = K[:, at].mean(axis=1)
    return K, at, y, np.full(n, C), means[at], float(means[at].mean()), rng.uniform(0.5, 2.0, n)


def naive_gradient(K, at, y, means, grand, scale, alpha):
    """Y times the gradient of ½ αᵀ Q α − Σ α, from the definition."""
    k = np.array(
        [
            [(K[at[i], at[j]] - means[i] - means[j] + grand) / (scale[i] * scale[j]) for j in range(len(at))]
            for i in range(len(at))
        ]
    )
    return k @ (y * alpha) - y


@pytest.mark.parametrize(("n", "m"), [(20, 20), (20, 200), (BLOCK + 40, BLOCK + 60)])
def test_conditions_hold_as_a_naive_gradient_shows(n, m):
    K, at, y, C, means, grand, scale = drawn(n, m)
    alpha, F = np.zeros(n), -y.copy()
    done, violation = minimize(K, at, y, C, means, grand, scale, alpha, F, 1e-2, 10**6, 10**6)
    assert done > 0
    expected = naive_gradient(K, at, y, means, grand, scale, alpha)
    np.testing.assert_allclose(F, expected, atol=1e-9)
    rising, falling = np.where(y > 0, alpha < C, alpha > 0), np.where(y > 0, alpha > 0, alpha < C)
    assert expected[falling].max() - expected[rising].min() == pytest.approx(violation, abs=1e-9)
    assert violation <= 1e-2
    assert y @ alpha == pytest.approx(0, abs=1e-9)


def test_a_naive_sum_follows_a_change():
    for n, m in ((20, 25), (20, 200)):  # all columns at once, or those alone that are wanted
        K, at, y, _, means, grand, scale = drawn(n, m)
        chosen, changes = np.array([3, 7, 8, 11, 12, 19]), np.array([0.5, -0.25, 0.0, 1.0, -1.25, 0.125])
        alpha = np.zeros(n)
        alpha[chosen] = y[chosen] * changes
        F = -y.copy()
        follow(K, at, means, grand, scale, chosen, changes, F, np.empty(m))
        np.testing.assert_allclose(F, naive_gradient(K, at, y, means, grand, scale, alpha), atol=1e-12)
        unit = local(K, at, means, grand, scale, chosen)
        np.testing.assert_allclose(unit[2, 4] * scale[8] * scale[12], K[at[8], at[12]] - means[8] - means[12] + grand)


@given(st.data(), st.lists(st.integers(-3, 3) | st.floats(allow_nan=False), min_size=1, max_size=40))
def test_the_kth_smallest_is_at_position_k_of_the_sorted_values(data, values):
    """With ties and infinities, as of variables that cannot change."""
    k = data.draw(st.integers(0, len(values) - 1))
    array = np.array(values, dtype=np.float64)
    assert kth_smallest(array, k) == sorted(values)[k]
    assert array.tolist() == values


def test_a_selection_ends_with_values_that_are_missing():
    for k in range(5):
        found = kth_smallest(np.array([np.nan, 2.0, np.nan, 1.0, np.nan]), k)
        assert np.isnan(found) or found in (1.0, 2.0)


def test_naive_asymmetry():
    K = np.random.default_rng(0).normal(size=(150, 150))
    found = asymmetry(K)
    assert found == (np.abs(K).max(), np.abs(K - K.T).max())
    for value in (np.nan, np.inf):
        K[140, 3] = value
        with np.errstate(invalid="ignore"):
            assert np.isnan(asymmetry(K)).all()
