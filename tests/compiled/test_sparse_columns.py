import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import sparse_cohorts, tied_values

from distkern.compiled import sparse_columns
from distkern.compiled.inversions import concordance as merged
from distkern.compiled.inversions import rank
from distkern.compiled.significance import tie_sums
from distkern.compiled.sparse_columns import concordance, count_nonzeros, gather, rank_columns, scatter, scatter_dense


def ranked(X):
    """Columns of a table (columns, n) as a block, and what was found about their ties."""
    rows = sparse.csr_array(X, dtype=np.float64)
    count, n = X.shape
    places, scores = np.full((2, max(1, rows.nnz)), -9, dtype=np.int32)
    sums, starts = np.empty((3, count)), rows.indptr.astype(np.int64)
    rank_columns(rows.data, rows.indices.astype(np.int32), starts, np.full(count, n), places, scores, *sums)
    return places, scores, starts, sums


def gathered(X):
    places, scores, starts, _ = ranked(X)
    return gather(places, scores, starts[:-1], starts[1:])


def naive_S(x, y):
    concordant, discordant, *_ = naive.pair_counts(x, y)
    return concordant - discordant


@given(sparse_cohorts(), st.data())
def test_listed_counts_equal_the_naive_double_loop(X, data):
    Y = X[::-1]
    ends = st.integers(0, len(X) - 1)
    pairs = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=12))
    first, second = np.array(pairs).T
    S = concordance(gathered(X), gathered(Y), X.shape[1], first, second)
    assert S.tolist() == [naive_S(X[i], Y[j]) for i, j in pairs]


@pytest.mark.parametrize("seed", range(8))
def test_naive_counts_of_columns_that_differ_by_their_nonzeros(seed):
    """Both columns of a pair are walked in turn, and both roads of a pair are taken."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    values = rng.integers(-2, 4, (6, n)) if seed % 2 else rng.normal(size=(6, n))
    X = values * (rng.random((6, n)) < np.linspace(0, 1, 6)[:, None])
    first, second = (part.ravel() for part in np.indices((6, 6)))
    block = gathered(X)
    assert concordance(block, block, n, first, second).tolist() == [
        naive_S(X[i], X[j]) for i, j in zip(first, second, strict=True)
    ]


@given(sparse_cohorts())
def test_naive_ranks_and_tie_sums_of_all_items(X):
    places, scores, starts, sums = ranked(X)
    np.testing.assert_array_equal(sums, tie_sums(X))
    for x, start, stop in zip(X, starts, starts[1:], strict=False):
        own, ranks = places[start:stop], scores[start:stop]
        assert sorted(own.tolist()) == np.flatnonzero(x).tolist()
        assert np.sign(ranks).tolist() == np.sign(x[own]).tolist()
        steps = [naive.direction(x[own], p + 1, p) for p in range(len(own) - 1)]
        assert np.sign(np.diff(ranks)).tolist() == steps


@given(sparse_cohorts(), st.data())
def test_naive_tie_groups_and_levels_of_some_columns(X, data):
    places, scores, starts, _ = ranked(X)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=4)))
    found = gather(places, scores, starts[chosen], starts[chosen + 1])
    for j, x in enumerate(X[chosen]):
        part = slice(found.starts[j], found.starts[j] + found.nonzeros[j])
        values = x[found.places[part]]
        assert sorted(found.places[part].tolist()) == np.flatnonzero(x).tolist()
        assert values.tolist() == sorted(values.tolist())
        groups = [((values < value).sum(), (values <= value).sum()) for value in values]
        assert list(map(tuple, found.groups[part].tolist())) == groups
        distinct = sorted({0.0, *x.tolist()})
        assert found.levels[part].tolist() == [distinct.index(value) for value in values]
        tied = sum(math.comb(group, 2) for group in naive.tie_groups(values.tolist()))
        assert found.about[j].tolist() == [(x < 0).sum(), distinct.index(0.0), len(distinct), tied]


@given(sparse_cohorts(), st.data())
def test_naive_columns_of_some_rows_in_groups(X, data):
    """A table is read by rows; its columns are gathered by the groups of the rows, a part of the columns at a time."""
    m, n = X.shape
    group = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m)))
    item = np.array([(group[:row] == group[row]).sum() for row in range(m)])
    rows = sparse.csr_array(X, dtype=np.float64)
    counts = np.zeros((n, 3), dtype=np.int64)
    count_nonzeros(rows.indices, rows.indptr, group, counts)
    assert counts.tolist() == [[int((X[group == k, col] != 0).sum()) for k in range(3)] for col in range(n)]
    first = data.draw(st.integers(0, n - 1))
    last = data.draw(st.integers(first + 1, n))
    starts = np.concatenate([[0], np.cumsum(counts[first:last])])
    values, items = np.empty(starts[-1]), np.empty(starts[-1], dtype=np.int32)
    fill = starts[:-1].reshape(-1, 3).copy()
    scatter(rows.data, rows.indices, rows.indptr, group, item, first, fill, values, items)
    assert fill.ravel().tolist() == starts[1:].tolist()
    at = 0
    for col in range(first, last):
        for k in range(3):
            inside = X[group == k, col]
            filled = np.flatnonzero(inside)
            assert items[at : at + len(filled)].tolist() == filled.tolist()
            assert values[at : at + len(filled)].tolist() == inside[filled].tolist()
            at += len(filled)


@given(st.data())
def test_naive_columns_of_sparse_and_dense_blocks_of_rows(data):
    m, n = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 5))
    X = np.array(data.draw(st.lists(tied_values, min_size=m * n, max_size=m * n))).reshape(m, n)
    first = data.draw(st.integers(0, n - 1))
    last, border = data.draw(st.integers(first + 1, n)), data.draw(st.integers(0, m))
    expected = [(x, i) for column in X.T[first:last] for i, x in enumerate(column) if x != 0]
    starts = np.cumsum([0, *np.count_nonzero(X[:, first:last], axis=0)])
    for is_sparse in (True, False):
        fill, values, items = starts[:-1].copy(), np.empty(starts[-1]), np.empty(starts[-1], np.int32)
        for rows in (np.arange(border), np.arange(border, m)):
            if is_sparse:
                csr, group = sparse.csr_array(np.where(X[rows] == 0, 0.0, X[rows])), np.zeros_like(rows)
                scatter(csr.data, csr.indices, csr.indptr, group, rows, first, fill[:, None], values, items)
            else:
                scatter_dense(X[rows], rows, first, fill, values, items)
        assert list(zip(values.tolist(), items.tolist(), strict=True)) == expected
        assert fill.tolist() == starts[1:].tolist()


def test_exact_integers_with_many_items_and_few_that_are_not_zero():
    n, k = 200_000, 300
    X = sparse.coo_array((np.arange(1.0, k + 1), (np.zeros(k, int), np.arange(k) * 600)), shape=(1, n)).tocsr()
    places, scores = np.empty((2, k), dtype=np.int32)
    sums, starts = np.empty((3, 1)), np.array([0, k])
    rank_columns(X.data, X.indices.astype(np.int32), starts, np.array([n]), places, scores, *sums)
    block = gather(places, scores, starts[:1], starts[1:])
    pair = np.array([0]), np.array([0])
    assert concordance(block, block, n, *pair) == k * (n - k) + math.comb(k, 2)
    apart = block._replace(places=places + np.int32(1))
    assert concordance(block, apart, n, *pair) == -k * k
    assert sums[0, 0] == math.comb(n - k, 2)


@pytest.mark.parametrize("digits", [1, 9], ids=["ties", "few ties"])
def test_equals_merging_where_one_column_is_filled_and_the_other_is_not(digits):
    rng = np.random.default_rng(0)
    n = 60_000
    X = rng.normal(size=(4, n)).round(digits) * (rng.random((4, n)) < [[0.9], [0.5], [0.01], [0.001]])
    dense = rank(X)
    expected, _ = merged(dense, dense, True)
    first, second = np.triu_indices(4)
    block = gathered(X)
    assert concordance(block, block, n, first, second).tolist() == expected[first, second].tolist()


def test_bytes_grow_with_what_is_compared():
    small = sparse_columns.bytes_needed(10, 10, 1000, 500, 100, 100)
    assert small < sparse_columns.bytes_needed(10, 10, 1000, 5000, 100, 100)
