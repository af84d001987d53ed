import json
from fractions import Fraction
from itertools import combinations, permutations, product
from math import log2

import naive
import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import weightedtau
from strategies import any_cohort

from distkern import InputError, Kendall, WeightedKendall, from_spec

ALL = [
    WeightedKendall(),
    WeightedKendall("multiplicative", u="logarithmic"),
    WeightedKendall("top", k=3),
    WeightedKendall("average"),
]


def hyperbolic(n):
    return [1 / (1 + r) for r in range(1, n + 1)]


class TestAdditive(KernelContract):
    kernel = WeightedKendall()
    orderings = True

    def naive(self, x, y):
        return naive.weighted_kendall(x, y, lambda a, b: a + b, hyperbolic(len(x)))


class TestAdditiveLogarithmic(KernelContract):
    kernel = WeightedKendall("additive", u="logarithmic")
    orderings = True

    def naive(self, x, y):
        return naive.weighted_kendall(x, y, lambda a, b: a + b, [1 / log2(1 + r) for r in range(1, len(x) + 1)])


class TestMultiplicative(KernelContract):
    kernel = WeightedKendall("multiplicative")
    orderings = True

    def naive(self, x, y):
        return naive.weighted_kendall(x, y, lambda a, b: a * b, hyperbolic(len(x)))


class TestTop(KernelContract):
    kernel = WeightedKendall("top", k=3)
    orderings = True

    def naive(self, x, y):
        return naive.top_kendall(x, y, 3)


class TestAverage(KernelContract):
    kernel = WeightedKendall("average")
    orderings = True

    def naive(self, x, y):
        return naive.average_kendall(x, y)


class TestMultiplicativeNormalized(KernelContract):
    kernel = WeightedKendall("multiplicative").normalized()
    orderings = True
    refuses_constant = True

    def naive(self, x, y):
        products = [TestMultiplicative.naive(self, *pair) for pair in ((x, y), (x, x), (y, y))]
        return products[0] / (products[1] * products[2]) ** 0.5


@given(any_cohort, st.data())
def test_any_weights_of_the_ranks_equal_the_naive_double_loop(X, data):
    n = X.shape[1]
    u = tuple(data.draw(st.lists(st.sampled_from([0.0, 1e-9, 0.25, 1.0, 7.0]), min_size=n, max_size=n)))
    for weights, pair in (("additive", lambda a, b: a + b), ("multiplicative", lambda a, b: a * b)):
        kernel = WeightedKendall(weights, u=u)
        expected = np.array(naive.matrix(naive.weighted_kendall, X, X, pair_weight=pair, u=u))
        norms = np.sqrt(np.diag(expected))  # 0, exactly, where a sample ties or weighs nothing that counts
        assert (np.abs(kernel(X) - expected) <= 1e-13 * np.multiply.outer(norms, norms)).all()
        spec = json.loads(json.dumps(kernel.spec()))
        assert spec == kernel.spec()
        assert from_spec(spec) == kernel


def tie_breaks(x):
    """All rankings of x, its ties broken: rank 1 for the largest value."""
    groups = [[i for i in range(len(x)) if x[i] == value] for value in sorted(set(x), reverse=True)]
    for orders in product(*(permutations(group) for group in groups)):
        order = [i for part in orders for i in part]
        yield tuple(order.index(i) + 1 for i in range(len(x)))


def exact(a, b, weight):
    """The kernel of two rankings without ties, in fractions."""
    total = Fraction(0)
    for i, j in combinations(range(len(a)), 2):
        signs = (1 if a[i] < a[j] else -1) * (1 if b[i] < b[j] else -1)
        total += signs * weight(a[i], a[j], b[i], b[j])
    return total


@given(st.lists(st.integers(0, 2), min_size=2, max_size=4), st.data())
def test_ties_are_the_mean_over_all_ways_of_breaking_them(x, data):
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(x), max_size=len(x)))
    n = len(x)
    u = [Fraction(1, 1 + r) for r in range(n + 1)]
    definitions = [
        (WeightedKendall(), lambda a, b, c, d: (u[a] + u[b]) * (u[c] + u[d])),
        (WeightedKendall("multiplicative"), lambda a, b, c, d: u[a] * u[b] * u[c] * u[d]),
        (WeightedKendall("top", k=2), lambda a, b, c, d: int(max(a, b, c, d) <= 2)),
        (WeightedKendall("average"), lambda a, b, c, d: Fraction(n + 1 - max(a, b, c, d), n)),
    ]
    broken = [(a, b) for a in tie_breaks(x) for b in tie_breaks(y)]
    for kernel, weight in definitions:
        mean = sum(exact(a, b, weight) for a, b in broken) / len(broken)
        assert kernel([x], [y])[0, 0] == pytest.approx(float(mean), rel=1e-13, abs=1e-15)


@given(any_cohort)
def test_unit_weights_and_all_ranks_give_concordant_minus_discordant_pairs(X):
    n = X.shape[1]
    counts = np.array([[sum(np.multiply(naive.pair_counts(x, y)[:2], (1, -1))) for y in X] for x in X])
    np.testing.assert_array_equal(WeightedKendall("multiplicative", u=(1,) * n)(X), counts)
    np.testing.assert_array_equal(WeightedKendall("additive", u=(0.5,) * n)(X), counts)
    np.testing.assert_array_equal(WeightedKendall("top", k=max(n, 2))(X), counts)
    np.testing.assert_array_equal(WeightedKendall("top", k=n + 5)(X), counts)


@pytest.mark.slow
def test_long_samples_with_unit_weights_equal_kendall():
    rng = np.random.default_rng(0)
    n = 3000
    X = np.vstack([rng.normal(size=(3, n)), rng.integers(0, 7, (3, n)), rng.integers(0, 1500, (2, n))])
    counts = np.rint(Kendall()(X) * (n * (n - 1) / 2))
    np.testing.assert_array_equal(WeightedKendall("multiplicative", u=(1,) * n)(X), counts)
    np.testing.assert_array_equal(WeightedKendall("additive", u=(0.5,) * n)(X), counts)


def test_top_and_average_without_ties_are_the_exact_integers_of_the_definition():
    X = np.array([np.random.default_rng(seed).permutation(40) for seed in range(8)], dtype=float)
    X[5] = X[2]
    signs = np.sign(X[:, :, None] - X[:, None, :])
    ranks = 40 - X
    total = np.zeros((8, 8))
    for k in range(2, 41):
        inside = (ranks[:, :, None] <= k) & (ranks[:, None, :] <= k)
        features = (inside * signs).reshape(8, -1)
        expected = features @ features.T / 2
        np.testing.assert_array_equal(WeightedKendall("top", k=k)(X), expected)
        total += expected
    np.testing.assert_array_equal(WeightedKendall("average")(X), total / 40)


def test_average_equals_the_mean_of_the_top_kernels_with_heavy_ties():
    X = np.random.default_rng(4).integers(0, 6, (7, 50)).astype(float)
    X[:2] = np.random.default_rng(5).normal(size=(2, 50))
    total = sum(WeightedKendall("top", k=k)(X) for k in range(2, 51))
    np.testing.assert_allclose(WeightedKendall("average")(X), total / 50, rtol=1e-12, atol=1e-9)


def test_multiplicative_weights_equal_scipy_weighted_tau_with_the_products_of_weights():
    rng = np.random.default_rng(1)
    n = 200
    for _ in range(5):
        x, y = rng.permutation(n), rng.permutation(n)
        v = 1 / (1 + (n - x)) / (1 + (n - y))
        tau = weightedtau(x, y, rank=np.arange(n), weigher=lambda r, v=v: v[r], additive=False).statistic
        all_pairs = (v.sum() ** 2 - (v**2).sum()) / 2  # scipy divides by it
        assert WeightedKendall("multiplicative")([x], [y])[0, 0] == pytest.approx(tau * all_pairs, rel=1e-10)


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.weights)
def test_positive_semidefinite_with_ties_duplicates_and_constant_samples(kernel):
    rng = np.random.default_rng(2)
    X = np.vstack([rng.integers(0, 3, (40, 6)), rng.integers(0, 9, (20, 6)), np.ones((1, 6))]).astype(float)
    K = kernel(X)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)
    np.testing.assert_array_equal(K[-1], 0)


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.weights)
def test_depends_on_the_order_only_and_not_on_the_numbering_of_items(kernel):
    X = np.random.default_rng(3).normal(size=(6, 50)).round(1)
    np.testing.assert_array_equal(kernel(X), kernel(np.exp(X)))
    np.testing.assert_allclose(kernel(X), kernel(X[:, ::-1]), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, X[::-1]), kernel(X[::-1], X).T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.weights)
def test_two_items_and_the_diagonal(kernel):
    K = kernel([[1, 2], [2, 1], [3, 3]])
    np.testing.assert_array_equal(K, K[0, 0] * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0]]))
    assert K[0, 0] > 0
    unit = kernel.normalized()(np.random.default_rng(0).normal(size=(4, 30)))
    assert np.abs(unit).max() == 1


def test_average_has_the_same_bits_with_its_samples_exchanged():
    X = np.random.default_rng(6).integers(0, 9, (10, 40)).astype(float)
    kernel = WeightedKendall("average")
    np.testing.assert_array_equal(kernel(X[:5], X[5:]), kernel(X[5:], X[:5]).T)


def test_swaps_of_the_best_items_lower_the_kernel_most():
    best_swapped, worst_swapped = [[1, 2, 3, 5, 4]], [[2, 1, 3, 4, 5]]
    for kernel in ALL:
        assert kernel([[1, 2, 3, 4, 5]], best_swapped) < kernel([[1, 2, 3, 4, 5]], worst_swapped)


def test_wrong_parameters_are_refused():
    for wrong in (
        {"weights": "mean"},
        {"u": "linear"},
        {"u": (1.0, -0.5)},
        {"u": (1.0, np.nan)},
        {"u": 3},
        {"u": ("a", "b")},
        {"weights": "top"},
        {"weights": "top", "k": 1},
        {"weights": "top", "k": 2.5},
        {"weights": "top", "k": True},
        {"weights": "average", "k": 3},
    ):
        with pytest.raises(InputError, match=r"weights|u must|k = 3|needs k|k must"):
            WeightedKendall(**wrong)
    with pytest.raises(InputError, match="u holds 2 weights and the samples have 3 features"):
        WeightedKendall(u=(1, 2))([[1, 2, 3]])
    with pytest.raises(InputError, match="the samples have 1"):
        WeightedKendall()([[1.0]])


def test_the_quotient_by_the_sum_of_weights_is_not_positive_semidefinite():
    X = np.array(list(permutations(range(4))), dtype=float)
    u = hyperbolic(4)
    weights = np.array([[[x_i * x_j for x_i, x_j in combinations([u[3 - int(v)] for v in x], 2)]] for x in X])[:, 0]
    quotient = WeightedKendall("multiplicative")(X) / (weights @ weights.T)
    cosine = WeightedKendall("multiplicative").normalized()(X)
    assert np.linalg.eigvalsh(quotient).min() < -1e-3 * np.trace(quotient)
    assert np.linalg.eigvalsh(cosine).min() > -1e-10 * np.trace(cosine)


def test_numbers_of_numpy_are_numbers_in_the_spec():
    kernel = WeightedKendall("top", k=np.int64(3))
    assert kernel == WeightedKendall("top", k=3)
    assert json.loads(json.dumps(kernel.spec())) == kernel.spec()
