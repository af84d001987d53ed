"""Digests of samples and of cohorts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from distkern.io.digests import fingerprint, sample_digests
from distkern.io.source import as_source

VALUES = np.array([[1, 0, 3], [0, 5, 0], [7, 0, 9], [2, 2, 0]])


def test_digests_ignore_the_sign_of_zero_and_the_bits_of_nan():
    odd_nan = np.array([[0xFFF8_0000_0000_0001, 0x8000_0000_0000_0000]], dtype=np.uint64).view(np.float64)
    np.testing.assert_array_equal(sample_digests(odd_nan), sample_digests(np.array([[np.nan, 0.0]])))


def test_digests_do_not_change_the_block():
    block = np.array([[-0.0, np.nan]])
    before = block.tobytes()
    sample_digests(block)
    assert block.tobytes() == before


@settings(max_examples=50, deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(width=32)))
def test_digests_do_not_depend_on_container_or_grouping(X):
    digests = sample_digests(X)
    np.testing.assert_array_equal(digests, sample_digests(X.astype(np.float64)))
    np.testing.assert_array_equal(digests, sample_digests(as_source(sparse.csr_matrix(X)).read(slice(None))))
    np.testing.assert_array_equal(digests, np.concatenate([sample_digests(row[None]) for row in X]))


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (2, 3), elements=st.floats(allow_nan=False)))
def test_digests_differ_if_values_differ(X):
    first, second = sample_digests(X)
    assert (first.tobytes() == second.tobytes()) == bool((X[0] == X[1]).all())


def test_the_fingerprint_depends_on_order_and_width():
    digests = sample_digests(VALUES)
    prints = {
        fingerprint(digests, 3),
        fingerprint(digests[::-1], 3),
        fingerprint(digests, 4),
        fingerprint(digests[:3], 3),
    }
    assert len(prints) == 4
    assert fingerprint(digests.copy(), 3) == fingerprint(digests, 3)


def test_digests_of_many_samples_are_those_of_each():
    samples = np.random.default_rng(0).normal(size=(300, 1000))  # more than are copied at a time
    each = [sample_digests(sample[None]) for sample in samples]
    np.testing.assert_array_equal(sample_digests(samples), np.concatenate(each))
