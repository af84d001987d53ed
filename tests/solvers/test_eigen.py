"""Largest eigenpairs by products alone, against LAPACK's on the whole matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

from distkern.core.errors import InputError
from distkern.operators.array import ArrayGram
from distkern.solvers.eigen import BLOCKS, GUARD, dense_eigenpairs, largest_eigenpairs, with_fixed_signs


class CountingGram(ArrayGram):
    """Remembers how many vectors each product had."""

    def __init__(self, values):
        super().__init__(values)
        self.products = []

    def _product(self, V, rows=None, cols=None):
        self.products.append(V.shape[1])
        return super()._product(V, rows, cols)

    def bytes_read(self):
        return 100 * len(self.products)


def with_spectrum(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    K = (turn * values) @ turn.T
    return (K + K.T) / 2


spectra = {
    "decaying": 0.8 ** np.arange(150.0),
    "flat": np.linspace(1.0, 2.0, 150),
    "low rank": np.r_[5.0, 4.0, 3.0, np.zeros(147)],
    "multiple": np.r_[np.full(4, 2.0), np.full(146, 1.0)],
    "indefinite": np.r_[np.linspace(0.1, 1.0, 75), np.linspace(-1.5, -0.1, 75)],
    "zero": np.zeros(150),
    "identity": np.ones(150),
}


@pytest.mark.parametrize("name", spectra)
@pytest.mark.parametrize("count", [1, 4, 20])
def test_equals_lapack(name, count):
    K = with_spectrum(spectra[name])
    found = largest_eigenpairs(ArrayGram(K), count, tol=1e-10)
    expected = eigh(K, eigvals_only=True)[::-1][:count]
    assert found.converged
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-12)
    true = np.linalg.norm(K @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, true, atol=1e-12)
    assert (true <= 1e-9).all()


@given(st.integers(1, 30), st.data())
def test_equals_lapack_on_drawn_matrices(m, data):
    """Few samples: the search space soon is the whole space."""
    seed, count = data.draw(st.integers(0, 99)), data.draw(st.integers(1, m))
    values = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-7, 3.0, 1e4, -2.0]), min_size=m, max_size=m))
    )
    K = with_spectrum(values, seed)
    scale = max(1.0, np.abs(values).max())
    for found in (largest_eigenpairs(ArrayGram(K), count, tol=1e-12), dense_eigenpairs(K, count)):
        np.testing.assert_allclose(found.values, np.sort(values)[::-1][:count], atol=1e-11 * scale)
        assert (np.linalg.norm(K @ found.vectors - found.vectors * found.values, axis=0) <= 1e-11 * scale).all()


def test_vectors_are_those_of_lapack_where_eigenvalues_are_apart():
    K = with_spectrum(0.9 ** np.arange(200.0))
    theirs = dense_eigenpairs(K, 6).vectors
    np.testing.assert_allclose(largest_eigenpairs(ArrayGram(K), 6, tol=1e-12).vectors, theirs, atol=1e-10)


def test_restart_from_the_best_vectors_converges():
    K = with_spectrum(np.linspace(1.0, 2.0, 400) ** 0.5)
    gram = CountingGram(K)
    found = largest_eigenpairs(gram, 2, tol=1e-9)
    assert sum(gram.products) > 2 * BLOCKS * (2 + GUARD)  # beyond what the space holds
    assert found.converged
    np.testing.assert_allclose(found.values, eigh(K, eigvals_only=True)[::-1][:2], atol=1e-12)


def test_passes_and_bytes_are_those_of_the_products():
    gram = CountingGram(with_spectrum(0.8 ** np.arange(150.0)))
    found = largest_eigenpairs(gram, 3)
    assert found.passes == len(gram.products)
    assert found.bytes_read == 100 * found.passes
    assert max(gram.products) <= 3 + GUARD


def test_early_stop_returns_the_current_pairs_and_warns():
    K = with_spectrum(spectra["flat"])
    residuals = []
    for passes in (1, 3, 6):
        found = largest_eigenpairs(ArrayGram(K), 3, tol=1e-12, max_passes=passes)
        assert not found.converged
        assert found.passes == passes
        residuals.append(found.residuals.max())
        assert (found.values <= 2.0 + 1e-12).all()  # from below
    assert residuals[0] > residuals[1] > residuals[2]


def test_the_seed_determines_all_results():
    gram = ArrayGram(with_spectrum(spectra["flat"]))
    one, two, other = (largest_eigenpairs(gram, 3, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert not np.array_equal(one.vectors, other.vectors)
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-5)


def test_sign_does_not_depend_on_rounding():
    v = np.array([[-0.5], [0.5], [0.1]])
    for noise in (0.0, 1e-15, -1e-15):
        turned = with_fixed_signs(v + np.array([[0.0], [noise], [0.0]]))
        assert turned[0, 0] > 0


def test_unsolvable_problem_is_refused():
    K = np.eye(3)
    for count in (0, 4):
        with pytest.raises(InputError, match="3 samples"):
            largest_eigenpairs(ArrayGram(K), count)
        with pytest.raises(InputError, match="3 samples"):
            dense_eigenpairs(K, count)

    class Broken(ArrayGram):
        def _product(self, V, rows=None, cols=None):
            return np.full((3, V.shape[1]), np.nan)

    with pytest.raises(InputError, match="not finite"):
        largest_eigenpairs(Broken(K), 1)


def test_the_largest_entry_is_positive_and_of_equal_ones_the_first():
    vectors = np.array([[0.1, -0.5, 0.7, -0.7], [-0.9, 0.5, -0.7 * (1 + 1e-13), 0.7 * (1 + 1e-13)]])
    expected = np.array([[-0.1, 0.5, 0.7, 0.7], [0.9, -0.5, -0.7, -0.7]])
    np.testing.assert_allclose(with_fixed_signs(vectors), expected, rtol=1e-12)
