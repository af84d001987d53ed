"""Digests of samples and of cohorts."""

from __future__ import annotations

import struct
from hashlib import blake2b, sha256

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from distkern.io.digests import DIGEST_KINDS, dense_digests, fingerprint, sample_digests
from distkern.io.source import as_source

VALUES = np.array([[1, 0, 3], [0, 5, 0], [7, 0, 9], [2, 2, 0]])

KINDS = pytest.mark.parametrize("digests", [sample_digests, dense_digests])


def naive_digest(row):
    """As docs/format.md says it."""
    values = [float("nan") if x != x else float(x) + 0.0 for x in row.tolist()]
    filled = [place for place, x in enumerate(values) if x != 0]
    if 3 * len(filled) < 2 * len(values):
        hashed = b"".join(struct.pack("<id", place, values[place]) for place in filled)
    else:
        hashed = struct.pack(f"<{len(values)}d", *values)
    return sha256(struct.pack("<Q", len(values)) + hashed).digest()


def naive_dense_digest(row):
    values = [float("nan") if x != x else float(x) + 0.0 for x in row.tolist()]
    return blake2b(struct.pack(f"<{len(values)}d", *values), digest_size=16).digest()


ROWS = arrays(
    st.sampled_from([np.float64, np.float32, np.int8]),
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.sampled_from([0, 0, 0, 1, 2, -3]),
)


@settings(max_examples=100, deadline=None)
@given(ROWS)
@example(np.array([[0.0, -0.0, np.inf], [np.nan, -np.inf, -0.0], [-np.nan, 1e-320, 1.0]]))
def test_digests_are_those_of_the_naive_twin_whether_zeros_are_stored_or_not(X):
    for digests, naive in ((sample_digests, naive_digest), (dense_digests, naive_dense_digest)):
        expected = [naive(row) for row in X]
        for samples in (X, as_source(sparse.csc_array(X)).read_sparse(slice(None))):
            assert [row.tobytes() for row in digests(samples)] == expected


@KINDS
def test_digests_ignore_the_sign_of_zero_and_the_bits_of_nan(digests):
    odd_nan = np.array([[0xFFF8_0000_0000_0001, 0x8000_0000_0000_0000]], dtype=np.uint64).view(np.float64)
    np.testing.assert_array_equal(digests(odd_nan), digests(np.array([[np.nan, 0.0]])))


@KINDS
def test_digests_do_not_change_the_block(digests):
    block = np.array([[-0.0, np.nan]])
    before = block.tobytes()
    digests(block)
    assert block.tobytes() == before
    rows = sparse.csr_array(np.array([[0, 0, 0, -np.nan]]))
    before = rows.data.tobytes()
    digests(rows)
    assert rows.data.tobytes() == before


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (2, 4), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf])))
def test_digests_differ_if_values_differ(X):
    first, second = sample_digests(X)
    assert (first.tobytes() == second.tobytes()) == bool((X[0] == X[1]).all())


def test_digests_differ_if_a_value_is_at_another_place_or_there_are_more_features():
    rows = [np.eye(1, n, place) for n in (4, 5, 400) for place in range(4)]
    assert len({sample_digests(row).tobytes() for row in [*rows, np.zeros((1, 4)), np.zeros((1, 5))]}) == 14


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


@KINDS
def test_digests_of_many_samples_are_those_of_each(digests):
    samples = np.random.default_rng(0).normal(size=(300, 1000))  # more than are copied at a time
    samples[:150] *= samples[:150] > 0.5
    each = np.concatenate([digests(sample[None]) for sample in samples])
    np.testing.assert_array_equal(digests(samples), each)
    np.testing.assert_array_equal(digests(as_source(sparse.csr_array(samples)).read_sparse(slice(None))), each)


def test_each_format_of_the_store_has_digests_of_its_size():
    for kind in DIGEST_KINDS.values():
        assert kind.of(VALUES).shape == (4, kind.size)
    assert DIGEST_KINDS[1].of is dense_digests
