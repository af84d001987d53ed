"""Held-out predictions from one spectrum against training without every fold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.solvers.holdout import HoldOut


def trained_without(K, y, fold, alpha):
    """Least squares with a free intercept on all but a fold, as one system; its prediction of the fold."""
    rest = np.setdiff1d(np.arange(len(y)), fold)
    m = len(rest)
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = K[np.ix_(rest, rest)] + alpha * np.eye(m)
    system[:m, m] = system[m, :m] = 1
    solution = np.linalg.solve(system, np.append(y[rest], 0.0))
    return K[np.ix_(fold, rest)] @ solution[:m] + solution[m]


@given(st.integers(0, 10**6), st.integers(3, 20), st.integers(1, 20), st.integers(1, 6))
def test_equals_training_without_the_fold(seed, m, rank, folds):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(m, rank)) + 1
    K, y = features @ features.T, rng.normal(size=m) + 5
    parts = [part for part in np.array_split(rng.permutation(m), min(folds, m)) if len(part) <= m - 2]
    parts = parts or [np.array([0])]
    alphas = rng.uniform(0.01, 3.0, len(parts))
    found = HoldOut(K.copy()).predictions(y, parts, list(alphas))
    for part, alpha in zip(parts, alphas, strict=True):
        np.testing.assert_allclose(found[part], trained_without(K, y, part, alpha), rtol=1e-6, atol=1e-6)
    assert np.isnan(found[np.setdiff1d(np.arange(m), np.concatenate(parts))]).all()


@given(st.integers(0, 10**6), st.floats(1e-3, 10.0))
def test_one_left_out_at_a_time_equals_folds_of_one(seed, alpha):
    rng = np.random.default_rng(seed)
    features, y = rng.normal(size=(9, 4)), rng.normal(size=9)
    spectrum, singles = HoldOut(features @ features.T), [np.array([i]) for i in range(9)]
    at_once = spectrum.predictions(y, singles, [alpha] * 9)
    one_by_one = [
        spectrum.predictions(y, [fold, np.array([(fold[0] + 1) % 9])], [alpha, 1.0])[fold[0]] for fold in singles
    ]
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-9)


def test_a_matrix_that_is_not_positive_semidefinite_is_refused():
    with pytest.raises(InputError, match="has the eigenvalue -2"):
        HoldOut(np.diag([1.0, 1.0, 1.0]) * np.array([1.0, 1.0, 1.0]) - 3 * np.eye(3))
    with pytest.raises(InputError, match="not finite"):
        HoldOut(np.full((3, 3), np.nan))
    HoldOut(np.ones((3, 3)))
