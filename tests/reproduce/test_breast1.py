"""The preparation of BC1: equal to a naive one, and used where only the measurements are there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import InputError
from distkern.reproduce import cancer_cohorts
from distkern.reproduce.breast1 import read_measurements, without_missing_values
from distkern.reproduce.cancer_cohorts import at_hand, load
from distkern.reproduce.kendall_accuracy import Cohort


def naive(X, is_test, share):
    """Positions of the samples and features that are left, by loops."""
    samples = [
        i for i, row in enumerate(X) if is_test[i] or sum(bool(np.isnan(value)) for value in row) <= share * len(row)
    ]
    features = [j for j in range(X.shape[1]) if not any(np.isnan(X[i, j]) for i in samples)]
    return samples, features


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 45))
def test_what_is_left_equals_loops(seed, m, n):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((m, n)) < rng.choice([0.0, 0.02, 0.2], size=(m, 1)), np.nan, rng.normal(size=(m, n)))
    y, is_test = rng.choice(["DM", "NODM"], m), rng.random(m) < 0.3
    found = without_missing_values(X, y, is_test)
    samples, features = naive(X, is_test, 0.05)
    train, test = ([i for i in samples if is_test[i] == wanted] for wanted in (False, True))
    np.testing.assert_array_equal(found.X, X[np.ix_(train, features)])
    np.testing.assert_array_equal(found.X_test, X[np.ix_(test, features)])
    assert (list(found.y), list(found.y_test)) == (list(y[train]), list(y[test]))
    assert list(np.flatnonzero(found.features)) == features
    assert list(np.flatnonzero(~is_test)[found.samples]) == train


@pytest.fixture
def measured():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 40))
    X[2, :10], X[5, 3], X[8, 7] = np.nan, np.nan, np.nan
    y = np.array(["DM", "DM", "DM", "DM", "NODM", "NODM", "NODM", "DM", "NODM"])
    return {"X": X, "y": y, "is_test": np.arange(9) >= 7}


def test_measurements_stand_in_for_the_prepared_file(measured, tmp_path, monkeypatch):
    small = Cohort("small", 38, (("non-relapse", 3, 1), ("relapse", 3, 1)))
    monkeypatch.setattr(cancer_cohorts, "COHORTS", cancer_cohorts.COHORTS | {"BC1": small})
    np.savez(tmp_path / "breast1_vantveer_raw97.npz", **measured)
    assert "BC1" in at_hand(tmp_path)
    found = load("BC1", tmp_path)
    kept, features = [0, 1, 3, 4, 5, 6, 7, 8], [j for j in range(40) if j not in (3, 7)]
    np.testing.assert_array_equal(found.X, measured["X"][np.ix_(kept, features)])
    np.testing.assert_array_equal(found.y, measured["y"][kept])
    assert list(found.test) == [6, 7]
    prepared = {"X": found.X[:6] + 1, "y": found.y[:6], "X_test": found.X[6:] + 1, "y_test": found.y[6:]}
    np.savez(tmp_path / "breast1_vantveer.npz", **prepared)
    np.testing.assert_array_equal(load("BC1", tmp_path).X, found.X + 1)


def test_a_file_without_an_array_is_refused(measured, tmp_path):
    del measured["is_test"]
    np.savez(tmp_path / "raw.npz", **measured)
    with pytest.raises(InputError, match=r"raw\.npz' has no array 'is_test'; it needs X, y, is_test"):
        read_measurements(tmp_path / "raw.npz")
