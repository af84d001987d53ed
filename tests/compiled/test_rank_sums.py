import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_ranks import comparison, mid_ranks
from scipy import sparse

from distkern.compiled.rank_sums import Cells, against_groups, against_rest, set_rank_sums

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # ∞ − ∞, where nothing is compiled
values = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.0, 2.0, 2.0, -1.0, 0.5, np.inf, -np.inf])


@st.composite
def grouped(draw):
    """A matrix, and the group and the stratum of each sample; the numbers are dense, as of labels."""
    m, n = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(values, min_size=m * n, max_size=m * n))).reshape(m, n)
    labels = [draw(st.lists(st.integers(0, most), min_size=m, max_size=m)) for most in (3, 2)]
    return X, *(np.unique(part, return_inverse=True)[1] for part in labels)


def columns_of(X):
    columns = sparse.csc_array(np.where(X == 0, 0.0, X))
    return columns.data, columns.indices.astype(np.int32), columns.indptr.astype(np.int64)


@given(grouped())
def test_each_group_against_the_rest_equals_the_naive_twin(drawn):
    X, groups, strata = drawn
    found = against_rest(*columns_of(X), Cells.of(groups, strata))
    for column, x in enumerate(X.T):
        everyone = range(len(x))
        for group in range(max(groups) + 1):
            first = [i for i in everyone if groups[i] == group]
            U, _, variance, _ = comparison(x, first, [i for i in everyone if i not in first], strata)
            assert found.twice_U[column, group] == 2 * U
            assert found.variance[column, group] == pytest.approx(variance, rel=1e-12, abs=1e-12)
            finite = [x[i] for i in first if np.isfinite(x[i])]
            if len(finite) == len(first):
                assert found.sums[column, group] == pytest.approx(sum(finite))
        untied = sum(x[i] != x[j] and strata[i] == strata[j] for i in everyone for j in everyone) // 2
        assert found.untied[column] == untied


@given(grouped(), st.data())
def test_each_group_against_others_equals_the_naive_twin(drawn, data):
    X, groups, strata = drawn
    count = int(max(groups)) + 1
    opponents = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True)))
    found = against_groups(*columns_of(X), Cells.of(groups, strata), opponents)
    for column, x in enumerate(X.T):
        for group in range(count):
            for place, other in enumerate(opponents):
                if group == other:
                    continue
                first, second = ([i for i in range(len(x)) if groups[i] == which] for which in (group, other))
                U, _, variance, untied = comparison(x, first, second, strata)
                assert found.twice_U[column, group, place] == 2 * U
                assert found.variance[column, group, place] == pytest.approx(variance, rel=1e-12, abs=1e-12)
                assert found.untied[column, group, place] == untied


def test_many_distinct_values_equal_the_naive_twin():
    """More values than are sorted by insertion, with both signs and ties."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((150, 3)) < 0.3, 0, rng.normal(size=(150, 3)).round(1))
    groups, strata = rng.integers(0, 3, 150), rng.integers(0, 2, 150)
    rest = against_rest(*columns_of(X), Cells.of(groups, strata))
    pairs = against_groups(*columns_of(X), Cells.of(groups, strata), np.arange(3))
    for column, x in enumerate(X.T):
        first = [i for i in range(150) if groups[i] == 1]
        U, _, variance, untied = comparison(x, first, [i for i in range(150) if groups[i] != 1], strata)
        assert rest.twice_U[column, 1] == 2 * U
        assert rest.variance[column, 1] == pytest.approx(variance)
        assert rest.untied[column] == untied
        second = [i for i in range(150) if groups[i] == 2]
        U, _, variance, untied = comparison(x, first, second, strata)
        assert (pairs.twice_U[column, 1, 2], pairs.untied[column, 1, 2]) == (2 * U, untied)
        assert pairs.variance[column, 1, 2] == pytest.approx(variance)


@given(grouped(), st.integers(1, 10), st.data())
def test_rank_sums_of_sets_equal_the_naive_twin(drawn, most, data):
    X = drawn[0]
    n = X.shape[1]
    parts = data.draw(st.lists(st.lists(st.integers(0, n - 1), unique=True), min_size=1, max_size=4))
    members = [[number for number, part in enumerate(parts) if feature in part] for feature in range(n)]
    first_set = np.cumsum([0, *map(len, members)])
    sets = np.array([number for part in members for number in part], dtype=np.int64)
    rows = sparse.csr_array(np.where(X == 0, 0.0, X))
    starts, features = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    found = set_rank_sums(rows.data, features, starts, n, first_set, sets, np.array([*map(len, parts)]), most)
    for sample, x in enumerate(X):
        ranks = [rank if rank <= most else most + 1 for rank in mid_ranks(x, descending=True)]
        for number, part in enumerate(parts):
            assert found[sample, number] == 2 * sum(ranks[feature] for feature in part)


def test_ties_of_millions_of_samples_do_not_overflow():
    """t³ of the zeros exceeds 64 bits: three million samples, of which two have a value."""
    m = 3_000_000
    groups = np.zeros(m, dtype=np.int64)
    groups[:1000] = 1
    found = against_rest(np.array([1.0, 1.0]), np.array([0, 5], np.int32), np.array([0, 2]), Cells.of(groups))
    n1, n0 = 1000, m - 1000
    assert found.twice_U[0, 1] == 2 * (2 * n0 + (n1 - 2) * n0 / 2)
    assert found.variance[0, 1] == pytest.approx(n1 * n0 / (m * (m - 1)) * (2 * (m - 2) * m / 4), rel=1e-9)
