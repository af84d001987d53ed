import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import pair_counts
from scipy import sparse
from scipy.stats import rankdata

from distkern.compiled.significance import tie_sums, variance_tile
from distkern.compiled.sparse_tau import Variables, sparse_concordance

values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, -1.0, 0.5, np.inf, -np.inf])


def ranked(Y):
    codes = rankdata(Y, method="dense", axis=1).astype(np.uint32)
    return Variables((2 * rankdata(Y, axis=1) - Y.shape[1] - 1).astype(np.int64), codes, *tie_sums(Y))


def columns_of(X):
    columns = sparse.csc_array(X)
    return columns.data, columns.indices.astype(np.int32), columns.indptr.astype(np.int64)


def check(X, Y, chosen):
    """Compare the pairs of each column of X with some rows of Y by a double loop."""
    first_pair = np.cumsum([0, *map(len, chosen)])
    listed = np.array([y for part in chosen for y in part], dtype=np.intp)
    found = sparse_concordance(*columns_of(X), first_pair, listed, ranked(Y))
    sums = [tie_sums(part) for part in (np.ascontiguousarray(X.T), Y)]
    variance = np.empty((X.shape[1], len(Y)))
    variance_tile(len(X), *sums[0], *sums[1], variance)
    pair = 0
    for column, part in enumerate(chosen):
        for y in part:
            concordant, discordant, x_only, _, both = pair_counts(X[:, column], Y[y])
            assert found.concordance[pair] == concordant - discordant
            assert found.untied[pair] == len(X) * (len(X) - 1) // 2 - x_only - both
            assert found.variance[pair] == pytest.approx(variance[column, y], rel=1e-12)
            pair += 1


@given(st.data())
def test_concordance_equals_the_naive_twin(data):
    m, n, q = (data.draw(st.integers(low, high)) for low, high in ((2, 9), (1, 3), (1, 3)))
    X = np.array(data.draw(st.lists(values, min_size=m * n, max_size=m * n))).reshape(m, n)
    Y = np.array(data.draw(st.lists(values, min_size=m * q, max_size=m * q))).reshape(q, m)
    check(X, Y, [data.draw(st.lists(st.integers(0, q - 1))) for _ in range(n)])


@pytest.mark.parametrize("kind", ["binary", "positive", "both signs"])
def test_many_values_equal_the_naive_twin(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((120, 2)) < 0.5, 0.0, rng.normal(size=(120, 2)).round(1))
    X = {"binary": (X > 0).astype(float), "positive": np.abs(X), "both signs": X}[kind]
    check(X, rng.normal(size=(2, 120)).round(1), [[0, 1], [1]])
