import json

import naive
import numpy as np
import pandas as pd
import pytest
from contracts import KernelContract
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_cohort, cohorts, ordered_values, tied_values

from distkern import InputError, Kendall, KernelSVC, PairAgreement, SampleError, compute_gram, from_spec, open_gram
from distkern.core.errors import ParameterTypeError
from distkern.kernels.base import Prepared
from distkern.kernels.pair_agreement import STEP, pair_signs, products_of_signs
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import could_have_prepared

PAIRS = ((0, 3), (2, 1), (1, 3), (2, 3), (3, 0))


class TestPairAgreement(KernelContract):
    kernel = PairAgreement(PAIRS)

    def cohorts(self):
        return st.one_of(cohorts(tied_values, min_features=4), cohorts(ordered_values, min_features=4))

    def naive(self, x, y):
        return naive.pair_agreement(x, y, PAIRS)

    def test_prepared_blocks_of_other_features_are_refused(self):
        """Blocks tell their pairs, not their number of features: those of other pairs are refused."""
        X = np.random.default_rng(0).normal(size=(4, 6))
        A, B = self.kernel.prepare(X), PairAgreement(PAIRS[:2]).prepare(X)
        for first, second in ((A, B), (B, A)):
            with pytest.raises(InputError, match="prepare both with this kernel"):
                self.kernel.tile(first, second)

    @given(st.data())
    def test_own_blocks_are_trusted_and_blocks_of_other_shapes_or_types_are_not(self, data):
        X = data.draw(self.cohorts())
        kernel, n = self.kernel, X.shape[1]
        block = kernel.prepare(X)
        assert could_have_prepared(kernel, block, n)
        assert not could_have_prepared(kernel, block, 3)  # which lacks a feature of a pair
        signs = block.arrays["signs"]
        for other in (signs[..., None], np.zeros(signs.shape, np.float16), signs[:, 1:], np.full_like(signs, 2)):
            assert not could_have_prepared(kernel, Prepared({"signs": other}), n)


@given(any_cohort)
def test_all_pairs_are_the_kendall_kernel(X):
    n = X.shape[1]
    pairs = [(a, b) for a in range(n) for b in range(a)]
    np.testing.assert_allclose(PairAgreement(pairs)(X), Kendall()(X), rtol=1e-12, atol=1e-12)


def test_signs_are_those_of_the_differences_and_missing_values_abstain():
    X = np.array([[1.0, 2.0, 2.0, np.nan, -np.inf, np.inf]])
    first, second = np.array([0, 1, 1, 0, 4, 5, 3]), np.array([1, 0, 2, 3, 0, 4, 3])
    assert pair_signs(X, first, second).tolist() == [[1, -1, 0, 0, 1, -1, 0]]


def test_products_are_exact_beyond_one_step():
    signs = np.random.default_rng(0).integers(-1, 2, (5, 2 * STEP + 7)).astype(np.int8)
    np.testing.assert_array_equal(products_of_signs(signs, signs[:3]), signs.astype(int) @ signs[:3].T.astype(int))


def test_names_become_positions_in_the_cohort_and_in_the_store(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(7, 4)), columns=["A", "B", "C", "D"])
    named = PairAgreement([("D", "A"), ("B", "C")])
    expected = PairAgreement([(3, 0), (1, 2)])
    np.testing.assert_array_equal(named(frame), expected(frame))
    gram = compute_gram(named, frame, store=tmp_path / "k.zarr", tile=3, progress=False)
    assert open_gram(tmp_path / "k.zarr").kernel == expected
    np.testing.assert_array_equal(gram.to_numpy(), expected(frame))
    y = ["a", "b", "a", "b", "a", "b", "b"]
    fitted = KernelSVC(kernel=named).fit(frame, y)
    assert fitted.kernel_ == expected
    assert from_spec(json.loads(json.dumps(named.spec()))) == named


def test_a_missing_value_of_another_feature_does_not_matter():
    X = np.array([[1.0, 2.0, np.nan], [2.0, 1.0, 3.0]])
    np.testing.assert_array_equal(PairAgreement([(0, 1)])(X), [[1.0, -1.0], [-1.0, 1.0]])
    with pytest.raises(SampleError, match=r"sample 'p' has no value .* feature 'C', which a pair compares"):
        PairAgreement([(0, 2)])(pd.DataFrame(X, columns=["A", "B", "C"], index=["p", "q"]))


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "pairs is empty"),
        ([(0, 0)], "number 0 has the feature 0 twice"),
        ([(0, 1), ("A", "B")], "names for all, or positions"),
        ([(0, "A")], "names for all, or positions"),
        ([(0, 1), (-1, 2)], "number 1, .*negative position"),
    ],
)
def test_wrong_pairs_are_refused(pairs, said):
    with pytest.raises(InputError, match=said):
        PairAgreement(pairs)


@pytest.mark.parametrize("pairs", [3, "AB", [3], [(0, 1, 2)], ["AB"], [(0, 1.5)], [(True, 1)], np.ones((2, 2))])
def test_what_is_no_list_of_pairs_is_refused(pairs):
    with pytest.raises(ParameterTypeError, match="pairs must be"):
        PairAgreement(pairs)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(0, 1), (4, 2)], r"number 1, \(4, 2\), has a feature beyond the last of 3"),
        ([("ESR1", "GATA3"), ("ESR1", "GATA4")], "number 1 names the feature 'GATA4'.*did you mean 'GATA3'"),
    ],
)
def test_features_that_the_samples_lack_are_named(pairs, said):
    frame = pd.DataFrame(np.eye(3), columns=["ESR1", "GATA3", "MYC"])
    with pytest.raises(InputError, match=said):
        PairAgreement(pairs)(frame)


def test_names_need_names_that_occur_once():
    with pytest.raises(InputError, match="samples have no names of features"):
        PairAgreement([("A", "B")])(np.eye(3))
    twice = pd.DataFrame(np.eye(3), columns=["A", "B", "A"])
    with pytest.raises(InputError, match="two features are called 'A'"):
        PairAgreement([("A", "B")])(twice)
    with pytest.raises(InputError, match="call resolve"):
        PairAgreement([("A", "B")]).prepare(np.eye(3))


def test_a_long_list_is_shortened_in_messages():
    assert repr(PairAgreement(PAIRS[:2])) == "PairAgreement([(0, 3), (2, 1)])"
    assert repr(PairAgreement(PAIRS)) == "PairAgreement([(0, 3), (2, 1), (1, 3), … 5 in all])"


def test_planned_memory_counts_the_signs_that_are_multiplied():
    assert bytes_per_tile(PairAgreement(PAIRS), 10, 20, 4) == 12 * 200 + 4 * 30 * 5
