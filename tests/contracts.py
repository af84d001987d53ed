"""Contract tests, which every kernel and every executor inherits."""

import json
import pickle
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_cohort, bag_rows, finite_cohort

from distkern import Bags, InputError, SampleError, from_spec
from distkern.kernels.base import Prepared
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import could_have_prepared

FEWER = settings(max_examples=settings.default.max_examples // 3)
"""For properties that many kernels share the code of; each kernel meets its naive twin in all examples."""


class KernelContract:
    """A kernel equals its naive twin, is symmetric and positive semidefinite, and has the same bits in every tile.

    A subclass gives ``kernel`` and ``naive(x, y)``; ``orderings`` is True if the kernel depends on orderings only.
    """

    kernel = None
    orderings = False
    tolerance = 1e-12
    refuses_constant = False

    def naive(self, x, y):
        raise AssertionError("every kernel has a naive twin")

    def cohorts(self):
        """Strategy of the cohorts on which the properties are tested."""
        return any_cohort if self.orderings else finite_cohort

    def shared(self, name):
        """Whether samples share values of a prepared array, so that damage to one may change the kernel of others."""
        return False

    def usable(self, X):
        """Replace samples that the kernel refuses by its definition."""
        X = X.copy()
        if self.refuses_constant:
            X[X.min(axis=1) == X.max(axis=1), :2] = [0.0, 1.0]
        return X

    @given(st.data())
    def test_equals_the_naive_double_loop(self, data):
        X = self.usable(data.draw(self.cohorts()))
        expected = np.zeros((len(X), len(X)))
        for i, j in combinations_with_replacement(range(len(X)), 2):
            expected[i, j] = expected[j, i] = self.naive(list(X[i]), list(X[j]))
        np.testing.assert_allclose(self.kernel(X), expected, rtol=self.tolerance, atol=self.tolerance)
        np.testing.assert_allclose(self.kernel(X[:1], X), expected[:1], rtol=self.tolerance, atol=self.tolerance)

    @FEWER
    @given(st.data())
    def test_symmetric_and_positive_semidefinite_with_ties_and_duplicates(self, data):
        X = self.usable(data.draw(self.cohorts()))
        K = self.kernel(X)
        np.testing.assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)

    @FEWER
    @given(st.data(), st.integers(1, 7))
    def test_tiles_have_the_same_bits_wherever_their_borders_fall(self, data, side):
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

    @FEWER
    @given(st.data())
    def test_own_blocks_are_trusted_and_blocks_of_other_shapes_or_types_are_not(self, data):
        X = self.usable(data.draw(self.cohorts()))
        kernel, n = self.kernel.resolve(X), X.shape[1]
        block = kernel.prepare(X)
        assert could_have_prepared(kernel, block, n)
        np.testing.assert_array_equal(kernel.tile(block, block), self.kernel(X))
        assert not could_have_prepared(kernel, block, n + 1)
        name = data.draw(st.sampled_from(sorted(block.arrays)))
        array = block.arrays[name]
        shorter = [array[1:]] if len(block.arrays) > 1 else []
        for other in (array[..., None], np.zeros(array.shape, np.float16), *shorter):
            assert not could_have_prepared(kernel, Prepared({**block.arrays, name: other}), n)

    @FEWER
    @given(st.data())
    def test_a_damaged_sample_is_refused_or_changes_its_own_values_only(self, data):
        X = self.usable(data.draw(self.cohorts()))
        kernel, n = self.kernel.resolve(X), X.shape[1]
        block = kernel.prepare(X)
        name = data.draw(st.sampled_from(sorted(block.arrays)))
        array, row = block.arrays[name].copy(), data.draw(st.integers(0, len(block) - 1))
        floats, sample = array.dtype.kind == "f", array.reshape(len(array), -1)[row]
        ends = np.finfo(array.dtype) if floats else np.iinfo(array.dtype)
        values = [ends.min, ends.max, 0, 1, n - 1, n, *([np.nan, np.inf] if floats else [])]
        sample[data.draw(st.integers(0, len(sample) - 1))] = data.draw(st.sampled_from(values))
        damaged = Prepared({**block.arrays, name: array})
        if could_have_prepared(kernel, damaged, n):
            others, whole = np.arange(len(block)) != row, kernel.tile(block, block.take(slice(None)))
            with np.errstate(all="ignore"):
                by_row, by_col = kernel.tile(damaged, block), kernel.tile(block, damaged)
            assert by_row.shape == by_col.shape == whole.shape
            if not self.shared(name):
                np.testing.assert_array_equal(by_row[others], whole[others])
                np.testing.assert_array_equal(by_col[:, others], whole[:, others])

    def test_diagonal_equals_that_of_the_matrix(self):
        X = self.usable(np.random.default_rng(0).integers(0, 4, (9, 30)).astype(float))
        np.testing.assert_allclose(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)), rtol=1e-14)

    def test_spec_is_json_and_builds_the_kernel_back(self):
        assert from_spec(json.loads(json.dumps(self.kernel.spec()))) == self.kernel

    def test_pickles_compares_and_hashes_as_a_value(self):
        copy = pickle.loads(pickle.dumps(self.kernel))
        assert copy == self.kernel
        assert hash(copy) == hash(self.kernel)

    def test_parameters_round_trip_and_set_params_does_not_change_the_kernel(self):
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

    def test_planned_memory_is_positive_and_grows_with_the_tile(self):
        assert 0 < bytes_per_tile(self.kernel, 10, 10, 50) < bytes_per_tile(self.kernel, 900, 900, 50)


class BagContract(KernelContract):
    """A kernel between bags sees weighted sets of points: neither their order nor the scale of the weights matters."""

    def cohorts(self):
        return bag_rows()

    def test_diagonal_equals_that_of_the_matrix(self):
        X = Bags.from_arrays(list(np.random.default_rng(0).normal(size=(9, 4, 2)))).rows()
        np.testing.assert_allclose(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)), rtol=1e-14)

    def test_nan_is_refused_by_name(self):
        rows = Bags.from_arrays([[1.0, 2.0], [3.0, 5.0]]).rows()
        rows[1, 3] = np.nan
        with pytest.raises(SampleError, match=r"sample number 1 .*NaN"):
            self.kernel(rows)

    def test_unlike_numbers_of_features_are_refused(self):
        wide, narrow = Bags.from_arrays([[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]]), Bags.from_arrays([[1.0, 2.0]])
        with pytest.raises(InputError, match="2 dimensions and those of the cohort have 1"):
            self.kernel(wide, narrow)

    def test_prepared_blocks_of_other_features_are_refused(self):
        kernel = self.kernel
        A, B = (kernel.prepare(Bags.from_arrays([np.eye(3)[:, :d]]).rows()) for d in (1, 2))
        for first, second in ((A, B), (B, A)):
            with pytest.raises(InputError, match="prepare both with this kernel, from samples with the same features"):
                kernel.tile(first, second)

    def test_plain_samples_are_refused(self):
        with pytest.raises(InputError, match="the samples are not bags"):
            self.kernel(np.arange(1.0, 9.0).reshape(2, 4))

    def test_planned_memory_is_positive_and_grows_with_the_tile(self):
        assert 0 < bytes_per_tile(self.kernel, 10, 10, 50) < bytes_per_tile(self.kernel, 9000, 9000, 50)

    @FEWER
    @given(st.data())
    def test_neither_the_order_of_points_nor_the_scale_of_weights_matters(self, data):
        bags = Bags.from_rows(data.draw(bag_rows()))
        seed = data.draw(st.integers(0, 99))
        orders = [np.random.default_rng(seed + k).permutation(size) for k, size in enumerate(bags.sizes)]
        turned = Bags.from_arrays(
            [points[order] for points, order in zip(bags, orders, strict=True)],
            [(k + 2) * bags.weights_of(k)[order] for k, order in enumerate(orders)],
        )
        np.testing.assert_allclose(self.kernel(turned), self.kernel(bags), rtol=1e-9, atol=1e-12)

    @FEWER
    @given(st.data())
    def test_copies_of_points_are_the_sum_of_their_weights(self, data):
        bags = Bags.from_rows(data.draw(bag_rows()))
        split = Bags.from_arrays(
            [np.vstack([points, points]) for points in bags],
            [np.concatenate([0.25 * bags.weights_of(k), 0.75 * bags.weights_of(k)]) for k in range(len(bags))],
        )
        np.testing.assert_allclose(self.kernel(split), self.kernel(bags), rtol=1e-8, atol=1e-10)

    def test_larger_bags_meet_smaller_ones(self):
        rng = np.random.default_rng(0)
        small = Bags.from_arrays([rng.normal(size=(k, 2)) for k in (1, 3, 2)])
        large = Bags.from_arrays([rng.normal(size=(k, 2)) for k in (5, 4)])
        both = Bags.from_arrays([*large, *small])
        fixed = self.kernel.resolve(both)
        np.testing.assert_allclose(fixed(large, small), fixed(both)[:2, 2:], rtol=1e-9, atol=1e-12)
