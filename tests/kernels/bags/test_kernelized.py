"""Kernels between bags through a base kernel of the points: printed forms, identities, base kernels, and refusals."""

import math

import naive_bags as naive
import numpy as np
import pytest
from contracts import BagContract
from hypothesis import given
from hypothesis import strategies as st
from strategies import bag_rows

from distkern import (
    Bags,
    Bhattacharyya,
    EqualRank,
    Gaussian,
    GeneralizedVariance,
    Kendall,
    KernelBhattacharyya,
    KernelIGV,
    Linear,
    Mallows,
    MeanMap,
    PartialKendall,
    Polynomial,
    SampleError,
    SmoothedKendall,
    WeightedKendall,
)


def rbf(x, y, sigma=1.5):
    return math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))


class KernelizedContract(BagContract):
    def shared(self, name):
        return name == "coordinates" or name.startswith("points.")  # of points that several bags have


class TestMeanMap(KernelizedContract):
    kernel = MeanMap(Gaussian(1.5))

    def naive(self, x, y):
        return naive.mean_map(naive.bag_of(x), naive.bag_of(y), rbf)


class TestKernelIGV(KernelizedContract):
    kernel = KernelIGV(Gaussian(1.5), eta=0.2, unit_norm=False)
    tolerance = 1e-9

    def naive(self, x, y):
        return naive.kernel_igv(naive.bag_of(x), naive.bag_of(y), 0.2, rbf)


class TestNormalizedKernelIGV(KernelizedContract):
    kernel = KernelIGV(Gaussian(1.5), eta=0.2)
    tolerance = 1e-9

    def naive(self, x, y):
        p, q = naive.bag_of(x), naive.bag_of(y)
        own = naive.kernel_igv(p, p, 0.2, rbf) * naive.kernel_igv(q, q, 0.2, rbf)
        return naive.kernel_igv(p, q, 0.2, rbf) / math.sqrt(own)


class TestKernelBhattacharyya(KernelizedContract):
    kernel = KernelBhattacharyya(Linear(), n_components=2, eta=0.4)  # both components of points in the plane
    tolerance = 1e-8

    def naive(self, x, y):
        return naive.bhattacharyya(naive.bag_of(x), naive.bag_of(y), 0.4)


@given(bag_rows(), st.sampled_from([0.05, 0.7]))
def test_kernelised_forms_on_a_linear_base_are_the_plain_ones(rows, eta):
    bags = Bags.from_rows(rows)
    np.testing.assert_allclose(KernelIGV(Linear(), eta)(bags), GeneralizedVariance(eta)(bags), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        KernelBhattacharyya(Linear(), 4, eta)(bags), Bhattacharyya(eta)(bags), rtol=1e-7, atol=1e-9
    )


def test_a_polynomial_base_equals_the_kernel_of_its_explicit_features():
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(k, 2)) for k in (4, 6, 5)]
    squares = [np.stack([x[:, 0] ** 2, x[:, 1] ** 2, math.sqrt(2) * x[:, 0] * x[:, 1]], axis=1) for x in points]
    bags, features = Bags.from_arrays(points), Bags.from_arrays(squares)
    np.testing.assert_allclose(KernelIGV(Polynomial(2), 0.5)(bags), GeneralizedVariance(0.5)(features), rtol=1e-9)
    np.testing.assert_allclose(
        KernelBhattacharyya(Polynomial(2), 3, 0.5)(bags), Bhattacharyya(0.5)(features), rtol=1e-9
    )


@pytest.mark.parametrize("r", [1, 2, 4])
def test_equals_bhattacharyya_of_gaussians_with_some_components_and_eta_elsewhere(r):
    """The mean difference counts where it leaves the span of both sets of components, too."""
    rng = np.random.default_rng(r)
    bags = Bags.from_arrays([rng.normal(size=(k, 6)) @ np.diag([3, 2, 1, 1, 0.5, 0.1]) + k / 10 for k in (9, 7, 12)])
    fitted = []
    for k in range(3):
        mean, covariance = naive.bag_moments(bags.weights_of(k), bags.points(k))
        values, vectors = np.linalg.eigh(covariance)
        fitted.append((mean, (vectors[:, -r:] * values[-r:]) @ vectors[:, -r:].T + 0.3 * np.eye(6)))
    expected = np.empty((3, 3))
    for i, (m, S) in enumerate(fitted):
        for j, (n, T) in enumerate(fitted):
            half, apart = (S + T) / 2, m - n
            volumes = (np.linalg.det(S) * np.linalg.det(T)) ** 0.25 / math.sqrt(np.linalg.det(half))
            expected[i, j] = volumes * math.exp(-apart @ np.linalg.solve(half, apart) / 8)
    np.testing.assert_allclose(KernelBhattacharyya(Linear(), r, 0.3)(bags), expected, rtol=1e-10)


def test_sets_of_rankings():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([np.argsort(rng.normal(size=(k, 6)), axis=1) for k in (3, 5, 4)])
    K = KernelIGV(Kendall(), 0.1)(bags)
    expected = naive.kernel_igv(
        (bags.weights_of(0), bags.points(0)),
        (bags.weights_of(1), bags.points(1)),
        0.1,
        lambda x, y: Kendall()([x], [y])[0, 0],
    )
    own = [
        naive.kernel_igv(*[(bags.weights_of(k), bags.points(k))] * 2, 0.1, lambda x, y: Kendall()([x], [y])[0, 0])
        for k in (0, 1)
    ]
    np.testing.assert_allclose(K[0, 1], expected / math.sqrt(own[0] * own[1]), rtol=1e-10)


@pytest.mark.parametrize(
    "base",
    [
        Mallows(0.3),
        SmoothedKendall(1.0),
        WeightedKendall("additive"),
        EqualRank(),
        PartialKendall(kind="top").normalized(),
        Kendall("b") * Gaussian(2.0) + 0.5 * Polynomial(2),
    ],
    ids=lambda base: base.name,
)
def test_any_kernel_is_a_base(base):
    rng = np.random.default_rng(0)
    points = np.argsort(rng.normal(size=(12, 5)), axis=1) + 1.0
    bags = Bags.from_arrays(np.split(points, 4))
    of_points = base(points)
    np.testing.assert_allclose(MeanMap(base)(bags), of_points.reshape(4, 3, 4, 3).mean(axis=(1, 3)), rtol=1e-10)
    K = KernelIGV(base, 0.1, unit_norm=False)(bags)
    held = of_points[:6, :6]
    expected = 1 / np.linalg.det(
        np.eye(6) + (held - held.mean(axis=0) - held.mean(axis=1)[:, None] + held.mean()) / 0.6
    )
    np.testing.assert_allclose(K[0, 1], expected, rtol=1e-9)
    assert KernelBhattacharyya(base, 2, 0.1)(bags)[0, 1] < 1


def test_sets_of_sets():
    rng = np.random.default_rng(0)
    inner = [Bags.from_arrays(list(rng.normal(size=(3, 4, 2)))).rows() for _ in range(5)]
    K = MeanMap(KernelIGV(Gaussian(1.0), 0.1))(Bags.from_arrays(inner))
    base = KernelIGV(Gaussian(1.0), 0.1)(np.concatenate(inner))
    np.testing.assert_allclose(K, base.reshape(5, 3, 5, 3).mean(axis=(1, 3)), rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [MeanMap(Gaussian(1.0)), KernelIGV(Gaussian(1.0), 0.1), KernelBhattacharyya(Linear(), 3, 0.1)],
    ids=lambda kernel: kernel.name,
)
def test_small_bags_in_tiles_with_large_ones_have_the_same_bits(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.normal(size=(size, 2)) for size in (3, 70, 5, 64, 1, 9, 66, 2)])
    rows, roads = bags.rows(), []
    for most, side in ((2**20, 8), (2**20, 3), (2**20, 1), (0, 8)):  # several bags at a time, or one
        monkeypatch.setattr("distkern.kernels.bags.kernelized.CROSS_BYTES", most)
        blocks = [kernel.prepare(rows[start : start + side], start) for start in range(0, 8, side)]
        roads.append(np.triu(np.block([[kernel.tile(A, B) for B in blocks] for A in blocks])))
    for road in roads[1:]:
        np.testing.assert_array_equal(road, roads[0])
    pairs = [[kernel(bags[[i]], bags[[j]])[0, 0] for j in range(8)] for i in range(8)]  # no larger bag beside them
    np.testing.assert_allclose(roads[0], np.triu(pairs), rtol=1e-9)


def test_a_point_that_the_base_kernel_refuses_is_named():
    bags = Bags.from_arrays([[[1.0, 2.0]], [[1.0, 2.0], [3.0, 3.0]]], ids=["a", "b"])
    with pytest.raises(SampleError, match="sample '1 of bag b' is constant"):
        MeanMap(Kendall("b"))(bags)
