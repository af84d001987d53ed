import naive
import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given
from marks import with_slow
from scipy import sparse
from scipy.stats import kendalltau
from strategies import any_cohort

from distkern import InputError, Kendall, SampleError, datasets
from distkern.kernels.kendall import Concordance, concordance
from distkern.kernels.planning import stored_dtype


class TestTiesZero(KernelContract):
    kernel = Kendall()
    orderings = True

    def naive(self, x, y):
        return naive.kendall(x, y)


class TestTiesB(KernelContract):
    kernel = Kendall(ties="b")
    orderings = True
    refuses_constant = True

    def naive(self, x, y):
        return naive.kendall(x, y, ties="b")


@given(any_cohort)
def test_concordance_and_joint_ties_are_exact_integers(X):
    prepared = Kendall().prepare(X)
    S, joint = concordance(prepared, prepared)
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            concordant, discordant, _, _, both = naive.pair_counts(x, y)
            assert (S[i, j], joint[i, j]) == (concordant - discordant, both)


@pytest.mark.slow
def test_equals_scipy_on_every_pair_of_the_colon_cohort():
    X, _ = datasets.load_colon(return_X_y=True)
    K = Kendall(ties="b")(X)
    for i in range(len(X)):
        for j in range(i, len(X)):
            assert K[i, j] == pytest.approx(kendalltau(X[i], X[j]).statistic, rel=0, abs=1e-12)


@pytest.mark.parametrize("levels", [2, 3, 20, 1000])
@pytest.mark.parametrize("n", [2, 15, 16, 17, 33, 500])
def test_equals_scipy_with_heavy_ties(levels, n):
    rng = np.random.default_rng(levels * n)
    X = rng.integers(0, levels, (6, n)).astype(float)
    X[:, 0], X[:, 1] = -1, levels  # no sample is constant
    K = Kendall(ties="b")(X)
    expected = [[kendalltau(x, y).statistic for y in X] for x in X]
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "tau"),
    [
        ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.4714045207910316),  # scipy issue 7955, pandas issue 43401
        ([1, 0, 0], [0, 0, 1], -0.5),  # scipy issue 5755
        ([1, 2, 3, np.inf], [1, 2, 3, 0], 0.0),  # infinity is a value like another
        ([-np.inf, 0, np.inf], [1, 2, 3], 1.0),
    ],
)
def test_cases_from_public_reports(x, y, tau):
    assert Kendall(ties="b")([x], [y])[0, 0] == pytest.approx(tau, rel=0, abs=1e-15)


@pytest.mark.parametrize("n", [pytest.param(n, marks=pytest.mark.slow) for n in (65_536, 65_537, 77_937, 200_000)])
def test_no_overflow_at_large_n(n):
    x = np.arange(n, dtype=float)
    for ties in ("zero", "b"):
        K = Kendall(ties)(np.array([x, x[::-1]]))
        np.testing.assert_array_equal(K, [[1.0, -1.0], [-1.0, 1.0]])


@pytest.mark.parametrize("n", with_slow([78_500], [200_000]))
def test_random_values_at_large_n_equal_python_integers(n):
    rng = np.random.default_rng(n)
    x, y = rng.permutation(n), rng.integers(0, n // 3, n)
    discordant, joint_y = _discordant_by_fenwick_tree(x.tolist(), y.tolist())
    pairs = n * (n - 1) // 2
    S = pairs - joint_y - 2 * discordant
    expected = S / (pairs**0.5 * (pairs - joint_y) ** 0.5)
    value = Kendall(ties="b")([x], [y])[0, 0]
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert abs(value) < 0.02


def _discordant_by_fenwick_tree(x, y):
    """Discordant pairs where x has no ties, and pairs tied in y, in Python integers."""
    size = max(y) + 2
    tree, discordant, tied, seen = [0] * (size + 1), 0, 0, {}
    for count, value in enumerate(y_value for _, y_value in sorted(zip(x, y, strict=True))):
        position, below = value + 1, 0
        while position > 0:
            below += tree[position]
            position -= position & -position
        discordant += count - below
        tied += seen.get(value, 0)
        seen[value] = seen.get(value, 0) + 1
        position = value + 1
        while position <= size:
            tree[position] += 1
            position += position & -position
    return discordant, tied


def test_a_constant_sample_has_value_zero_or_is_refused_by_name():
    X = [[1, 1, 1, 1], [1, 2, 3, 4]]
    np.testing.assert_array_equal(Kendall()(X), [[0, 0], [0, 1]])
    with pytest.raises(SampleError, match=r"sample number 0 is constant.*Kendall\(ties='zero'\)"):
        Kendall(ties="b")(X)


def test_one_feature_and_unknown_ties_are_refused():
    with pytest.raises(InputError, match="pairs of features; the samples have 1"):
        Kendall()([[1.0], [2.0]])
    with pytest.raises(InputError, match="'c'"):
        Kendall(ties="c")


def test_values_do_not_change_under_monotone_maps():
    X = np.random.default_rng(1).normal(size=(5, 40)).round(1)
    np.testing.assert_array_equal(Kendall(ties="b")(X), Kendall(ties="b")(np.exp(X)))


@pytest.mark.parametrize(("n", "dtype"), [(65_536, "int32"), (65_537, "int64")])
def test_the_stored_integers_hold_every_number_of_pairs(n, dtype):
    assert np.iinfo(np.int32).max == 2**31 - 1
    assert stored_dtype(Concordance(), n, "float32") == dtype


@pytest.mark.parametrize("ties", ["zero", "b"])
def test_zeros_of_a_sparse_matrix_are_not_written_out(ties):
    """Samples of ten million features, of which 250 are not zero."""
    assert Kendall(ties).takes_sparse
    n, rng = 10**7, np.random.default_rng(0)
    where = np.sort(rng.choice(n, 250, replace=False))
    values = rng.integers(1, 9, (2, 250)).astype(float)
    X = sparse.csr_array((values.ravel(), np.tile(where, 2), [0, 250, 500]), shape=(2, n))
    shorter = np.hstack([values, np.zeros((2, 50))])
    # a further zero is tied with all other zeros, and below all 250 values in both samples
    expected = concordance(*[Kendall().prepare(shorter)] * 2)[0] + 250.0 * (n - 300)
    own = expected.diagonal()
    expected /= n * (n - 1) / 2 if ties == "zero" else np.sqrt(np.outer(own, own))
    np.testing.assert_allclose(Kendall(ties)(X), expected, rtol=1e-14)
