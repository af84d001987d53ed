"""Every kernel with an embedding is the inner product of its entries, which are those of the naive twin."""

import naive_explanation as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import any_cohort, finite_cohort, partial_cohorts

from distkern import (
    Diffusion,
    Gaussian,
    InputError,
    Kendall,
    Mallows,
    PairAgreement,
    PartialKendall,
    PartialMallows,
    SmoothedKendall,
    WeightedKendall,
)
from distkern.compiled.sign_sums import LIMIT
from distkern.kernels.kendall import Concordance
from distkern.pairs.embeddings import SignEmbedding, embed


def all_pairs(n):
    return np.triu_indices(n, 1)


def vectors(kernel, X):
    """φ of the samples, (m, pairs)."""
    found = embed(kernel, kernel.prepare(X))
    return found.scales[:, None] * found.entries(*all_pairs(found.n_features))


def assert_is(kernel, X, phi=None):
    found = vectors(kernel, X)
    np.testing.assert_allclose(found @ found.T, kernel(X), atol=1e-12)
    if phi is not None:
        expected = [list(vector.values()) for vector in naive.entries(phi, X)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(any_cohort)
def test_kendall_is_its_signs(X):
    assert_is(Kendall(), X, naive.zero)
    assert_is(Concordance(), X, naive.sign)
    assert_is(2.5 * Kendall(), X)
    varied = X[(X != X[:, :1]).any(axis=1)]
    if len(varied):
        assert_is(Kendall(ties="b"), varied, naive.tau_b)
        assert_is(Kendall().normalized(), varied, naive.tau_b)
        assert_is(3.0 * Kendall(ties="b"), varied)


@given(partial_cohorts())
def test_partial_kendall_is_its_expected_signs(drawn):
    X, _ = drawn
    for kind in ("top", "interleaving"):
        assert_is(PartialKendall(kind=kind), X, naive.partial(kind))


@given(finite_cohort)
def test_smoothed_kendall_is_its_expected_signs(X):
    assert_is(SmoothedKendall(window=1.5), X, naive.smoothed(1.5))
    assert_is(SmoothedKendall(window=0.0), X, naive.zero)
    assert_is(SmoothedKendall(window=tuple(np.linspace(0.5, 2, X.shape[1])), noise="laplace"), X)


@given(any_cohort)
def test_weighted_kendall_is_its_weighted_signs(X):
    assert_is(WeightedKendall("additive"), X)
    assert_is(WeightedKendall("multiplicative", u="logarithmic"), X)
    assert_is(WeightedKendall("top", k=2), X)


def test_samples_without_their_zeros_are_the_same():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 9, (12, 30)) * (rng.random((12, 30)) < 0.2)
    for kernel in (Kendall(), Kendall(ties="b")):
        prepared = kernel.prepare(sparse.csr_array(X.astype(float)))
        assert prepared.is_sparse
        found = embed(kernel, prepared)
        np.testing.assert_array_equal(
            found.entries(*all_pairs(30)), embed(kernel, kernel.prepare(X)).entries(*all_pairs(30))
        )


@given(finite_cohort, st.data())
def test_sums_and_tiles_are_those_of_the_entries(X, data):
    m, n = X.shape
    coefficients = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=2 * m, max_size=2 * m))).reshape(m, 2)
    rows = slice(*sorted((data.draw(st.integers(0, n)), data.draw(st.integers(0, n)))))
    cols = slice(0, n)
    for kernel in (Kendall(), SmoothedKendall(window=1.0), PartialKendall(), WeightedKendall()):
        found = embed(kernel, kernel.prepare(X))
        tile = found.tile(rows, cols)
        i, j = np.arange(rows.start, rows.stop), np.arange(n)
        for row, feature in enumerate(i):
            np.testing.assert_array_equal(tile[:, row], found.entries(np.full(n, feature), j))
        expected = np.einsum("sk,sij->kij", coefficients, tile)
        np.testing.assert_allclose(found.sums(coefficients)(rows, cols), expected, atol=1e-12)


def test_ranks_beyond_the_tables_are_summed_too():
    codes = np.array([[0, LIMIT, 5], [LIMIT + 1, 2, 2]])
    found = SignEmbedding(np.ones(2), 1.0, codes).sums(np.array([[1.0], [0.5]]))(slice(0, 3), slice(0, 3))
    np.testing.assert_array_equal(found[0], [[0, -0.5, -0.5], [0.5, 0, 1], [0.5, -1, 0]])


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (Mallows(0.1), "Fit the model on Kendall's kernel"),
        (PartialMallows(0.1), "no sum over pairs of features"),
        (Gaussian(1.0), "no sum over pairs of features"),
        (Diffusion(1.0), "no sum over pairs of features"),
        (Kendall() + Kendall(ties="b"), "fit a model on one of its kernels"),
        (Kendall() ** 2, "no sum over pairs of features"),
        (PairAgreement([(0, 1)]), "fit a linear model on the signs that TopPairs makes"),
        (WeightedKendall("average"), "is a mean of kernels"),
        (SmoothedKendall(window=1.0, method="monte-carlo", draws=3), "method='exact'"),
    ],
)
def test_other_kernels_are_refused_with_what_to_do(kernel, said):
    with pytest.raises(InputError, match=said):
        embed(kernel, kernel.prepare(np.array([[3.0, 1.0, 2.0]])))
