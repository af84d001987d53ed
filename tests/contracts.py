"""Tests that every implementation of a contract inherits."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_cohort, finite_cohort

from distkern import InputError, SampleError, from_spec
from distkern.kernels.base import Prepared


class KernelContract:
    """A kernel equals its naive twin, is symmetric and positive semidefinite, and has the same bits in every tile.

    A subclass gives ``kernel`` and ``naive(x, y)``, and says whether the kernel sees orderings only.
    """

    kernel = None
    orderings = False
    tolerance = 1e-12
    refuses_constant = False

    def naive(self, x, y):
        raise AssertionError("every kernel has a naive twin")

    def cohorts(self):
        """Cohorts that the properties are tried on."""
        return any_cohort if self.orderings else finite_cohort

    def usable(self, X):
        """Replace what the kernel rightly refuses."""
        X = X.copy()
        if self.refuses_constant:
            X[X.min(axis=1) == X.max(axis=1), :2] = [0.0, 1.0]
        return X

    @given(st.data())
    def test_equals_the_naive_double_loop(self, data):
        X = self.usable(data.draw(self.cohorts()))
        expected = np.array([[self.naive(list(x), list(y)) for y in X] for x in X])
        np.testing.assert_allclose(self.kernel(X), expected, rtol=self.tolerance, atol=self.tolerance)
        np.testing.assert_allclose(self.kernel(X[:1], X), expected[:1], rtol=self.tolerance, atol=self.tolerance)

    @given(st.data())
    def test_symmetric_and_positive_semidefinite_with_ties_and_duplicates(self, data):
        X = self.usable(data.draw(self.cohorts()))
        K = self.kernel(X)
        np.testing.assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)

    @given(st.data(), st.integers(1, 7))
    def test_a_tile_has_the_same_bits_wherever_its_borders_fall(self, data, side):
        X = self.usable(data.draw(self.cohorts()))
        whole, kernel = self.kernel(X), self.kernel
        blocks = [kernel.prepare(X[start : start + side], start) for start in range(0, len(X), side)]
        for i, A in enumerate(blocks):
            for j, B in enumerate(blocks[i:], start=i):
                tile = kernel.tile(A, A if i == j else B)
                np.testing.assert_array_equal(tile, whole[i * side : (i + 1) * side, j * side : (j + 1) * side])

    def test_prepared_blocks_of_other_features_are_refused(self):
        X = self.usable(np.random.default_rng(0).permuted(np.tile(np.arange(6.0), (4, 1)), axis=1))
        A, B = self.kernel.prepare(X), self.kernel.prepare(X[:, :-1])
        for first, second in ((A, B), (B, A)):
            with pytest.raises(InputError, match="prepare both with this kernel, from samples with the same features"):
                self.kernel.tile(first, second)

    @given(st.data())
    def test_what_it_prepared_is_known_as_that_and_damaged_indices_are_not(self, data):
        X = self.usable(data.draw(self.cohorts()))
        kernel = self.kernel.resolve(X)
        block = kernel.prepare(X)
        assert kernel.could_have_prepared(block, X.shape[1])
        assert not kernel.could_have_prepared(block, X.shape[1] + 1)
        name = data.draw(st.sampled_from(sorted(block.arrays)))
        array = block.arrays[name].copy()
        floats, n = array.dtype.kind == "f", X.shape[1]
        ends = np.finfo(array.dtype) if floats else np.iinfo(array.dtype)
        values = [ends.min, ends.max, 0, 1, n - 1, n, *([np.nan, np.inf] if floats else [])]
        array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(values))
        damaged = Prepared({**block.arrays, name: array})
        if kernel.could_have_prepared(damaged, n):
            with np.errstate(all="ignore"):  # other values of another sample: what they are is nobody's matter
                kernel.tile(damaged, damaged), kernel.tile(damaged, block), kernel.tile(block, damaged)

    def test_diagonal_is_that_of_the_matrix(self):
        X = self.usable(np.random.default_rng(0).integers(0, 4, (9, 30)).astype(float))
        np.testing.assert_allclose(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)), rtol=1e-14)

    def test_spec_is_json_and_builds_the_kernel_back(self):
        assert from_spec(json.loads(json.dumps(self.kernel.spec()))) == self.kernel

    def test_pickles_compares_and_hashes_as_a_value(self):
        copy = pickle.loads(pickle.dumps(self.kernel))
        assert copy == self.kernel
        assert hash(copy) == hash(self.kernel)

    def test_parameters_round_trip_and_set_params_leaves_the_kernel_alone(self):
        params = self.kernel.get_params(deep=False)
        assert self.kernel.set_params(**params) == self.kernel
        with pytest.raises(InputError, match="no parameter 'nonsense'"):
            self.kernel.set_params(nonsense=1)

    def test_nan_is_refused_by_name(self):
        X = self.usable(np.arange(12.0).reshape(3, 4))
        X[1, 2] = np.nan
        with pytest.raises(SampleError, match=r"sample number 1 .*NaN.* feature number 2"):
            self.kernel(X)

    def test_unlike_numbers_of_features_are_refused(self):
        with pytest.raises(InputError, match="3 features and Y has 4"):
            self.kernel(np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 4))

    def test_plan_figures_are_positive_and_grow(self):
        assert 0 < self.kernel.bytes_per_tile(10, 10, 50) < self.kernel.bytes_per_tile(900, 900, 50)
        assert 0 < self.kernel.cost(10, 10, 8) < self.kernel.cost(1000, 1000, 8)
