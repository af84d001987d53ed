import math
from statistics import median

import naive
import numpy as np
import pytest
from contracts import KernelContract
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from distkern import Gaussian, InputError, Linear, Polynomial, SampleError


class TestLinear(KernelContract):
    kernel = Linear()
    tolerance = 1e-9

    def naive(self, x, y):
        return naive.linear(x, y)


class TestPolynomial(KernelContract):
    kernel = Polynomial(degree=3, coef0=1.5)
    tolerance = 1e-7

    def naive(self, x, y):
        return naive.polynomial(x, y, 3, 1.5)


class TestGaussian(KernelContract):
    kernel = Gaussian(sigma=2.5)

    def naive(self, x, y):
        return naive.gaussian(x, y, 2.5)


def test_equal_scikit_learn():
    X, Y = np.random.default_rng(0).normal(size=(2, 70, 2100))
    np.testing.assert_allclose(Linear()(X, Y), X @ Y.T, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(Polynomial(2, 1.0)(X, Y), polynomial_kernel(X, Y, 2, gamma=1, coef0=1), rtol=1e-10)
    np.testing.assert_allclose(Gaussian(60.0)(X, Y), rbf_kernel(X, Y, gamma=1 / (2 * 60.0**2)), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0), Gaussian(50.0), Gaussian(50.0) + Linear() * Linear()])
def test_bits_do_not_depend_on_the_tile_side_at_many_features(kernel):
    X = np.random.default_rng(0).normal(size=(150, 7129))
    whole = kernel(X)
    for side in (1, 50, 64, 100):
        A, B = kernel.prepare(X[:side]), kernel.prepare(X[side : 2 * side], side)
        np.testing.assert_array_equal(kernel.tile(A, A), whole[:side, :side])
        np.testing.assert_array_equal(kernel.tile(A, B), whole[:side, side : 2 * side])


def test_a_large_common_offset_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(20, 300))
    np.testing.assert_allclose(Gaussian(20.0)(X + 2.0**24), Gaussian(20.0)((X + 2.0**24) - 2.0**24), rtol=1e-12)
    K = Gaussian(20.0)(np.vstack([X, X]) + 1e8)
    assert K.max() == 1.0
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_array_equal(np.diag(K[:20, 20:]), 1.0)


def test_the_median_bandwidth_is_the_median_distance():
    X = np.random.default_rng(2).normal(size=(12, 5))
    distances = [math.dist(x, y) for i, x in enumerate(X) for y in X[:i]]
    assert Gaussian("median").resolve(X).sigma == pytest.approx(median(distances), rel=1e-12)
    np.testing.assert_array_equal(Gaussian("median")(X), Gaussian(Gaussian("median").resolve(X).sigma)(X))
    np.testing.assert_array_equal(Gaussian("median")(X[:3], X), Gaussian("median").resolve(X)(X[:3], X))


@pytest.mark.slow
def test_the_median_of_a_large_cohort_comes_from_a_seeded_draw():
    X = np.random.default_rng(3).normal(size=(1500, 4))
    assert Gaussian().resolve(X, seed=1) == Gaussian().resolve(X, seed=1)
    assert Gaussian().resolve(X, seed=1) != Gaussian().resolve(X, seed=2)
    assert Gaussian().resolve(X).sigma == pytest.approx(math.sqrt(8), rel=0.1)


def test_bad_values_and_parameters_are_refused():
    with pytest.raises(SampleError, match=r"sample number 1 has an infinite value for feature number 0"):
        Linear()([[1.0, 2.0], [np.inf, 2.0]])
    with pytest.raises(InputError, match="median distance between two samples is zero"):
        Gaussian("median")([[1.0, 2.0], [1.0, 2.0]])
    with pytest.raises(InputError, match="two samples or more"):
        Gaussian("median")([[1.0, 2.0]])
    for bad in (0, -1, np.inf, "mean"):
        with pytest.raises(InputError, match="sigma"):
            Gaussian(bad)
    with pytest.raises(InputError, match="degree"):
        Polynomial(degree=1.5)
    with pytest.raises(InputError, match="coef0"):
        Polynomial(coef0=-1)


@pytest.mark.parametrize("row", [0, 200, 299])
def test_each_of_many_samples_is_checked(row):
    X = np.ones((300, 1000))  # more than are checked at a time
    X[row, 7] = 1e200
    with pytest.raises(SampleError, match=f"sample number {row} has values of up to 1e\\+200"):
        Linear().check(X)
