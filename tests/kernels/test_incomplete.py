"""New samples without some features, against the mean over all rankings that agree with them, by enumeration."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import distkern as dk
from distkern.kernels.incomplete import Incomplete
from distkern.kernels.kendall import Kendall
from distkern.kernels.partial import PartialKendall

N = 5
PAIRS = [(i, j) for i in range(N) for j in range(i)]
values = st.lists(st.lists(st.integers(0, 3), min_size=N, max_size=N), min_size=1, max_size=4).map(
    lambda rows: np.array(rows, dtype=float)
)


def signs(x):
    return np.array([np.sign(x[i] - x[j]) for i, j in PAIRS])


def embedded(x):
    """E Φ(x), scaled to the norm of the order of the observed features."""
    seen = [i for i in range(N) if not np.isnan(x[i])]
    agreeing = [
        signs(np.array(ranks))
        for ranks in permutations(range(N))
        if all(ranks[i] < ranks[j] for i in seen for j in seen if x[i] < x[j])
    ]
    mean = np.mean(agreeing, axis=0)
    own = [np.sign(x[i] - x[j]) for i in seen for j in seen if j < i]
    return mean * np.sqrt(np.square(own).mean()) / np.linalg.norm(mean)


@given(values, values, st.lists(st.booleans(), min_size=N, max_size=N))
@pytest.mark.parametrize("ties", ["zero", "b"])
def test_it_is_the_mean_over_all_rankings_that_agree_scaled_to_the_norm_of_the_observed_order(ties, new, old, hidden):
    new[:, hidden] = np.nan
    new = new[[len({*row[~np.isnan(row)]}) > 1 for row in new]]
    old = old[old.min(axis=1) < old.max(axis=1)]
    if not (len(new) and len(old)):
        return
    kernel = Kendall(ties)
    found, squares = Incomplete(kernel).against(new, kernel.prepare(old))
    A, B = np.array([embedded(x) for x in new]), np.array([signs(y) for y in old])
    if ties == "b":
        A, B = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (A, B))
    else:
        B = B / np.sqrt(len(PAIRS))
    np.testing.assert_allclose(found, A @ B.T, atol=1e-12)
    np.testing.assert_allclose(squares, np.square(A).sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("kernel", [Kendall(), Kendall(ties="b"), PartialKendall().normalized()])
def test_without_unobserved_features_it_is_the_training_kernel(kernel):
    rng = np.random.default_rng(0)
    new, old = rng.integers(0, 9, (6, 40)).astype(float), rng.integers(0, 9, (5, 40)).astype(float)
    found, squares = Incomplete(kernel).against(new, kernel.prepare(old))
    np.testing.assert_allclose(found, kernel(new, old), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(squares, kernel.diagonal(kernel.prepare(new)), rtol=1e-13)


def test_training_samples_without_their_zeros_give_the_same_values():
    rng = np.random.default_rng(1)
    old = rng.random((7, 60)) * (rng.random((7, 60)) < 0.2) - (rng.random((7, 60)) < 0.05)
    new = rng.random((3, 60))
    new[:, ::3] = np.nan
    for kernel in (Kendall(), Kendall(ties="b")):
        prepared = kernel.prepare(sparse.csr_array(old))
        assert prepared.is_sparse
        dense = Incomplete(kernel).against(new, kernel.prepare(old))
        for found, expected in zip(Incomplete(kernel).against(new, prepared), dense, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_strips_of_the_training_samples_do_not_change_the_values(monkeypatch):
    rng = np.random.default_rng(2)
    old, new = rng.random((9, 30)), rng.random((2, 30))
    new[:, 20:] = np.nan
    whole = Incomplete(Kendall()).against(new, Kendall().prepare(old))
    monkeypatch.setattr("distkern.kernels.incomplete.STRIP_BYTES", 8 * 30 * 2)
    for found, expected in zip(Incomplete(Kendall()).against(new, Kendall().prepare(old)), whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_sample_that_orders_nothing_is_refused_by_name():
    new = np.array([[1.0, 2.0, np.nan], [5.0, np.nan, np.nan], [3.0, 3.0, np.nan]])
    old = Kendall().prepare(np.array([[1.0, 2.0, 3.0]]))
    with pytest.raises(dk.SampleError, match="sample 'q' orders no two of the 1 features"):
        Incomplete(Kendall()).against(new[:2], old, ("p", "q"))
    with pytest.raises(dk.SampleError, match="sample number 2 orders no two of the 2 features"):
        Incomplete(Kendall()).against(new[[0, 0, 2]], old)


def test_other_kernels_are_refused():
    for kernel in (dk.Gaussian(1.0), dk.Mallows(1.0), PartialKendall(kind="top")):
        with pytest.raises(dk.InputError, match="is for Kendall kernels, and the model has"):
            Incomplete(kernel)
