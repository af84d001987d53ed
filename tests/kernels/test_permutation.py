from fractions import Fraction
from functools import lru_cache
from itertools import permutations, product
from math import exp, factorial

import naive
import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.sparse import coo_array
from scipy.sparse.linalg import expm_multiply
from strategies import any_cohort

from distkern import Diffusion, EqualRank, InputError, Mallows, SampleError
from distkern.compiled.permutations import cayley_tables, diffusion_from_identity, number_of, permutation_of


def tie_breaks(x):
    """All ways of ordering x, as ranks from 0 of the items."""
    groups = [[i for i in range(len(x)) if x[i] == value] for value in sorted(set(x))]
    for orders in product(*(permutations(group) for group in groups)):
        order = [i for part in orders for i in part]
        yield tuple(order.index(i) for i in range(len(x)))


def all_rankings(n):
    return np.array(list(permutations(range(n))), dtype=float).reshape(-1, n)


class TestEqualRank(KernelContract):
    kernel = EqualRank()
    orderings = True

    def naive(self, x, y):
        return naive.equal_rank(x, y)


class TestEqualRankNormalized(KernelContract):
    kernel = EqualRank().normalized()
    orderings = True

    def naive(self, x, y):
        return naive.equal_rank(x, y) / (naive.equal_rank(x, x) * naive.equal_rank(y, y)) ** 0.5


def ranked(X):
    """Rankings without ties of at most 6 items, in the order of the values."""
    return np.argsort(np.argsort(X[:, :6], axis=1, kind="stable"), axis=1, kind="stable").astype(float)


class TestDiffusion(KernelContract):
    kernel = Diffusion(0.7)
    orderings = True

    def usable(self, X):
        return ranked(X)

    def naive(self, x, y):
        return naive.diffusion(x, y, 0.7)


class TestDiffusionBackwards(TestDiffusion):
    kernel = Diffusion(-0.4)
    tolerance = 1e-11

    def naive(self, x, y):
        discordant = naive.pair_counts(x, y)[1]
        return exp(0.8 * (len(x) - 1)) * (-1) ** discordant * naive.diffusion(x, y, 0.4)


class TestDiffusionNormalized(TestDiffusion):
    kernel = Diffusion(2).normalized()

    def naive(self, x, y):
        return naive.diffusion(x, y, 2) / naive.diffusion(x, x, 2)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.data())
def test_equal_ranks_are_the_mean_over_all_ways_of_breaking_ties(x, data):
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(x), max_size=len(x)))
    counts = [sum(a == b for a, b in zip(s, t, strict=True)) for s in tie_breaks(x) for t in tie_breaks(y)]
    assert EqualRank()([x], [y])[0, 0] == pytest.approx(float(Fraction(sum(counts), len(counts))), rel=1e-14)


def test_equal_ranks_are_inner_products_of_permutation_matrices():
    X = np.random.default_rng(0).normal(size=(20, 30))
    X[5] = X[3]
    matrices = np.zeros((20, 30, 30))
    for matrix, order in zip(matrices, np.argsort(X, axis=1), strict=True):
        matrix[np.arange(30), order] = 1
    flat = matrices.reshape(20, -1)
    np.testing.assert_array_equal(EqualRank()(X), flat @ flat.T)


@given(any_cohort)
def test_equal_rank_has_the_same_bits_with_its_samples_exchanged_and_a_whole_diagonal(X):
    Y = X[::-1]
    np.testing.assert_array_equal(EqualRank()(X, Y), EqualRank()(Y, X).T)
    np.testing.assert_array_equal(np.diag(EqualRank()(X)), [len(set(x)) for x in X.tolist()])


def test_the_path_for_samples_without_ties_gives_the_same_values():
    X = np.array([np.random.default_rng(seed).permutation(40) for seed in range(6)], dtype=float)
    prepared = EqualRank().prepare(X)
    one_tie_less = type(prepared)(prepared.arrays | {"groups": prepared.arrays["groups"] - 1})  # forces the general way
    np.testing.assert_array_equal(EqualRank().tile(prepared, prepared.take(slice(None))), EqualRank()(X))
    np.testing.assert_array_equal(EqualRank().tile(one_tie_less, prepared.take(slice(None))), EqualRank()(X))


def test_equal_ranks_of_one_feature_constant_samples_and_long_ones():
    np.testing.assert_array_equal(EqualRank()([[3.0], [5.0]]), [[1, 1], [1, 1]])
    np.testing.assert_allclose(EqualRank()([[7, 7, 7, 7]], [[7, 7, 7, 7], [1, 2, 3, 4], [1, 1, 2, 2]]), [[1, 1, 1]])
    n = 70_000  # ranks need more than 16 bits, and the product of two group sizes more than 32
    x = np.arange(n, dtype=float)
    np.testing.assert_allclose(EqualRank()([x, np.zeros(n)]), [[n, 1], [1, 1]], rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_numbers_of_permutations_run_in_lexicographic_order_and_back(n):
    ranks = np.empty(n, dtype=np.int64)
    for number, permutation in enumerate(permutations(range(n))):
        assert number_of(np.array(permutation)) == number
        permutation_of(number, ranks)
        assert tuple(ranks) == permutation


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_distance_in_the_graph_is_the_number_of_discordant_pairs(n):
    rankings = all_rankings(n)
    neighbours, inverses = np.empty((factorial(n), n - 1), dtype=np.int32), np.empty(factorial(n), dtype=np.int32)
    cayley_tables(neighbours, inverses)
    distance, front = {0: 0}, [0]
    while front:  # breadth first from the identity
        front = sorted({int(b) for a in front for b in neighbours[a]} - distance.keys())
        distance |= dict.fromkeys(front, max(distance.values()) + 1)
    for number, ranking in enumerate(rankings.tolist()):
        assert distance[number] == naive.pair_counts(range(n), ranking)[1]
    for ranking, inverse in zip(rankings.astype(int), inverses, strict=True):
        np.testing.assert_array_equal(ranking[rankings[inverse].astype(int)], range(n))


@lru_cache
def laplacian(n):
    """From the definition: neighbours are the rankings with one discordant pair."""
    rankings = all_rankings(n)
    discordant = np.array([[naive.pair_counts(x, y)[1] for y in rankings.tolist()] for x in rankings.tolist()])
    return (discordant == 1) - (n - 1.0) * np.eye(len(rankings))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("beta", [0, 0.03, 1, 4, 300.0])
def test_diffusion_is_the_exponential_of_the_laplacian(n, beta):
    rankings = all_rankings(n)
    K = Diffusion(beta)(rankings)
    np.testing.assert_allclose(K, expm(beta * laplacian(n)), rtol=0, atol=1e-13)
    np.testing.assert_allclose(K.sum(axis=1), 1, rtol=1e-13)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)
    np.testing.assert_array_equal(
        Diffusion(beta)(rankings, rankings[::-1]), Diffusion(beta)(rankings[::-1], rankings).T
    )
    np.testing.assert_allclose(Diffusion(beta).normalized()(rankings), K / K[0, 0], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("beta", [-0.03, -1, -4])
def test_diffusion_back_in_time_is_the_exponential_too(n, beta):
    rankings, expected = all_rankings(n), expm(beta * laplacian(n))
    K = Diffusion(beta)(rankings)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-11 * expected.max())
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)
    assert np.linalg.eigvalsh(Diffusion(beta).normalized()(rankings)).min() >= -1e-10 * len(K)


def test_a_beta_far_below_zero_is_refused():
    with pytest.raises(InputError, match=r"beta=-400 makes values beyond .* for 2 items: give more than -354.891"):
        Diffusion(-400)([[1, 2]])
    assert np.isfinite(Diffusion(-354.8)([[1, 2]])).all()
    np.testing.assert_array_equal(Diffusion(-1e9)([[1.0]]), [[1.0]])


@pytest.mark.parametrize("beta", [0.01, 0.5, 20])
def test_diffusion_of_two_items_and_of_the_farthest_ranking(beta):
    np.testing.assert_allclose(
        Diffusion(beta)([[1, 2]], [[1, 2], [2, 1]]), [[(1 + exp(-2 * beta)) / 2, (1 - exp(-2 * beta)) / 2]], rtol=1e-13
    )


def test_the_smallest_value_is_accurate_to_thirteen_digits():
    beta, n = Fraction(1, 50), 4
    term, shares = {(0, 1, 2, 3): Fraction(1)}, {}
    for k in range(1, 30):
        following = {}
        for ranks, share in term.items():
            shares[ranks] = shares.get(ranks, 0) + share
            for r in range(n - 1):
                swapped = tuple({r: r + 1, r + 1: r}.get(rank, rank) for rank in ranks)
                following[swapped] = following.get(swapped, 0) + share * beta / k
        term = following
    expected = [float(shares[p]) * exp(-(n - 1) / 50) for p in permutations(range(n))]
    assert expected[-1] < 1e-10
    np.testing.assert_allclose(diffusion_from_identity(n, 0.02), expected, rtol=1e-13)


def test_eight_items_equal_scipy_on_the_sparse_graph():
    count = factorial(8)
    neighbours, inverses = np.empty((count, 7), dtype=np.int32), np.empty(count, dtype=np.int32)
    cayley_tables(neighbours, inverses)
    rows = np.repeat(np.arange(count), 7)
    ones = coo_array((np.ones(7 * count), (rows, neighbours.ravel())), shape=(count, count))
    graph = ones.tocsr() - 7 * coo_array((np.ones(count), (np.arange(count), np.arange(count)))).tocsr()
    start = np.zeros(count)
    start[0] = 1
    shares = diffusion_from_identity(8, 0.4)
    np.testing.assert_allclose(shares, expm_multiply(0.4 * graph, start, traceA=-7 * 0.4 * count), rtol=0, atol=1e-13)
    assert shares.sum() == pytest.approx(1, abs=1e-13)
    assert shares.min() > 0
    X = np.array([np.random.default_rng(seed).permutation(8) for seed in range(30)])
    K = Diffusion(0.4)(X)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_long_diffusion_converges_at_the_rate_of_the_spectral_gap(n):
    rate = 2 - 2 * np.cos(np.pi / n)
    assert np.linalg.eigvalsh(-laplacian(n))[1] == pytest.approx(rate, rel=1e-12)
    alike = np.log(1e17 * factorial(n)) / rate
    for beta in (alike * 0.999, alike * 1.001, 1e300):
        np.testing.assert_allclose(diffusion_from_identity(n, beta), 1 / factorial(n), rtol=1e-13)


def test_diffusion_at_time_zero_is_the_identity():
    np.testing.assert_array_equal(Diffusion(1e9)([[1.0]]), [[1.0]])
    np.testing.assert_allclose(Diffusion(5e-324)(all_rankings(3)), np.eye(6), atol=1e-300)
    np.testing.assert_array_equal(Diffusion(0)(all_rankings(4)), np.eye(24))


def test_short_diffusion_counts_the_shortest_paths():
    rankings, beta = all_rankings(4), 1e-4
    shares = diffusion_from_identity(4, beta)
    for ranking, share, mallows in zip(rankings.tolist(), shares, Mallows(1.0)(rankings[:1], rankings)[0], strict=True):
        distance = naive.pair_counts(range(4), ranking)[1]
        assert mallows == pytest.approx(exp(-distance))
        paths = share * factorial(distance) / beta**distance  # the number of shortest paths
        assert paths == pytest.approx(round(paths), rel=2e-3)
        assert round(paths) >= 1


def test_renumbering_the_items_does_not_change_the_bits_of_a_diffusion():
    X, names = all_rankings(5), [3, 0, 4, 1, 2]
    np.testing.assert_array_equal(Diffusion(0.3)(X), Diffusion(0.3)(X[:, names]))


def test_too_many_items_ties_and_wrong_parameters_are_refused():
    with pytest.raises(InputError, match=r"at most 8; the samples have 9: use Mallows"):
        Diffusion(1.0)([list(range(9))])
    with pytest.raises(InputError, match="the samples have 100"):
        Diffusion(1.0).prepare(np.ones((1, 100)))
    with pytest.raises(SampleError, match=r"sample number 1 ties the features number 0 and number 2.*Mallows"):
        Diffusion(1.0)([[1, 2, 3], [1, 2, 1]])
    with pytest.raises(SampleError, match="ties the features"):
        Diffusion(1.0)([[np.inf, np.inf]])
    for beta in (-np.inf, np.nan, np.inf):
        with pytest.raises(InputError, match="beta must be a finite number"):
            Diffusion(beta)
