import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import sparse_cohorts

from distkern import Kendall
from distkern.compiled import sparse as compiled
from distkern.compiled.concordance import concordance as dense_concordance
from distkern.compiled.inversions import rank
from distkern.compiled.sparse import concordance, rank_sparse
from distkern.kernels.base import Prepared
from distkern.kernels.trust import could_have_prepared


def ranked(X, width=None):
    block = sparse.csr_array(X)
    return rank_sparse(block.data, block.indices, block.indptr, block.shape[1], width)


@pytest.fixture(params=[10**6, 0], ids=["table", "set"])
def road(request, monkeypatch):
    """Take one of the roads for all pairs, through the Python bodies: compiled code has the choice built in."""
    monkeypatch.setattr(compiled, "TABLE_SHARE", request.param)
    for name, routine in list(vars(compiled).items()):
        monkeypatch.setattr(compiled, name, getattr(routine, "py_func", routine))
    return compiled.sparse_tile


def equal_naive(X, Y, S, joint):
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            concordant, discordant, _, _, both = naive.pair_counts(x, y)
            assert S[i, j] == concordant - discordant
            assert joint[i, j] == both


@given(sparse_cohorts(), st.booleans())
def test_counts_equal_the_naive_double_loop(X, symmetric):
    Y = X if symmetric else X[::-1]
    A, B = ranked(X), ranked(Y)
    equal_naive(X, Y, *concordance(A, A if symmetric else B, symmetric))


@pytest.mark.parametrize("seed", range(12))
def test_both_algorithms_equal_the_naive_double_loop(road, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    X = rng.integers(-3, 4, (5, n)) * (rng.random((5, n)) < rng.random()) * 1.0
    A = ranked(X)
    counts = np.full((2, 5, 5), -99, dtype=np.int64)
    parts = [A[name] for name in ("places", "scores", "nonzeros")]
    road(*parts, *parts, n, True, *counts)
    equal_naive(X, X, *counts)


@given(sparse_cohorts())
def test_untied_pairs_equal_naive_ones_and_scores_keep_order_and_sign(X):
    A = ranked(X, width=X.shape[1] + 3)
    for x, places, scores, k, balance, untied, n in zip(X, *A.values(), strict=True):
        assert n == len(x)
        _, _, _, _, tied = naive.pair_counts(x, x)
        assert untied == math.comb(len(x), 2) - tied
        assert balance == (x > 0).sum() - (x < 0).sum()
        assert sorted(places[:k].tolist()) == np.flatnonzero(x).tolist()
        assert np.sign(scores[:k]).tolist() == np.sign(x[places[:k]]).tolist()
        assert np.sign(np.diff(scores[:k])).tolist() == [naive.direction(x[places], p + 1, p) for p in range(k - 1)]


@given(st.data())
def test_damaged_indices_are_refused_or_stay_inside_the_arrays(data):
    X = data.draw(sparse_cohorts())
    n, whole = X.shape[1], Prepared(ranked(X))
    assert could_have_prepared(Kendall(), whole, n)
    assert not could_have_prepared(Kendall(), whole, n + 1)
    name = data.draw(st.sampled_from([name for name, array in whole.arrays.items() if array.size]))
    array = whole.arrays[name].copy()
    ends = np.iinfo(array.dtype)
    value = data.draw(st.sampled_from([ends.min, ends.max, -1, 0, 1, n - 1, n]))
    array.flat[data.draw(st.integers(0, array.size - 1))] = value
    damaged = Prepared({**whole.arrays, name: array})
    if could_have_prepared(Kendall(), damaged, n):
        for A, B in ((damaged, damaged), (damaged, whole), (whole, damaged)):
            concordance(A.arrays, B.arrays, A is B)


def test_naive_counts_with_two_features():
    X = np.array([[0, 0], [0, 1], [-1, 0], [2, 2], [-1, 3.0]])
    A = ranked(X)
    equal_naive(X, X, *concordance(A, A, True))


@pytest.mark.parametrize("continuous", [False, True])
def test_exact_integers_with_many_features_and_few_that_are_not_zero(continuous):
    """S is near n² / 2 = 2·10¹⁰, beyond 32 bits: checked against sums over the classes of pairs in whole numbers."""
    n, k = 200_000, 300
    values = np.arange(1, k + 1) if continuous else np.arange(1, k + 1) % 3 + 1
    x = sparse.coo_array((values.astype(float), (np.zeros(k, int), np.arange(k) * 600)), shape=(1, n)).tocsr()
    A = rank_sparse(x.data, x.indices, x.indptr, n)
    S, joint = concordance(A, A, True)
    tied = sum(math.comb(group, 2) for group in naive.tie_groups(values.tolist()))
    assert S[0, 0] == A["untied"][0] == k * (n - k) + math.comb(k, 2) - tied
    assert joint[0, 0] == math.comb(n - k, 2) + tied
    B = A | {"places": (A["places"] + 1).astype(np.int32)}  # nothing shared: only pairs of one from each count
    S, joint = concordance(A, B, False)
    assert S[0, 0] == -k * k
    assert joint[0, 0] == math.comb(n - 2 * k, 2) + 2 * tied


def test_equals_the_dense_kernel_on_counts_and_on_values_with_few_and_without_ties():
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(0.5, 3, 6000) * rng.uniform(0.2, 2, (6, 1))).astype(float)
    signed = counts * rng.normal(0.3, 1, counts.shape)
    assert (np.count_nonzero(counts, axis=1) > 2048).any()
    for X in (counts, signed, signed.round(2), np.abs(signed), np.vstack([counts, signed])):
        dense = dict(zip(("order", "codes", "tied", "untied"), rank(X), strict=True))
        S, joint = dense_concordance(dense, dense, True)
        A = ranked(X)
        found = concordance(A, A, True)
        np.testing.assert_array_equal(found[0], S)
        np.testing.assert_array_equal(found[1], joint)
