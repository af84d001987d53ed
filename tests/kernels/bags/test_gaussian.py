"""Kernels between bags: their printed forms, identities of the papers, and what they refuse."""

import math

import naive_bags as naive
import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given
from hypothesis import strategies as st
from strategies import bag_rows

from distkern import (
    Bags,
    Bhattacharyya,
    Entropy,
    EqualRank,
    ExponentialFamily,
    Gaussian,
    GeneralizedVariance,
    InputError,
    InputTypeError,
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
from distkern.core.bags import split_rows
from distkern.kernels.bags import table
from distkern.kernels.planning import bytes_per_tile


def bag_of(row):
    """(weights, points) of a row, as lists."""
    weights, points = split_rows(np.array([row]))
    held = weights[0] > 0
    return weights[0][held].tolist(), points[0][held].tolist()


def rbf(x, y, sigma=1.5):
    return math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))


class BagContract(KernelContract):
    def cohorts(self):
        return bag_rows()

    def test_diagonal_equals_that_of_the_matrix(self):
        X = Bags.from_arrays(list(np.random.default_rng(0).normal(size=(9, 4, 2)))).rows()
        np.testing.assert_allclose(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)), rtol=1e-14)

    def test_nan_is_refused_by_name(self):
        rows = Bags.from_arrays([[1.0, 2.0], [3.0, 5.0]]).rows()
        rows[1, 3] = np.nan
        with pytest.raises(SampleError, match=r"sample number 1 .*NaN"):
            self.kernel(rows)

    def test_unlike_numbers_of_features_are_refused(self):
        wide, narrow = Bags.from_arrays([[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]]), Bags.from_arrays([[1.0, 2.0]])
        with pytest.raises(InputError, match="2 dimensions and those of the cohort have 1"):
            self.kernel(wide, narrow)

    def test_prepared_blocks_of_other_features_are_refused(self):
        kernel = self.kernel
        A, B = (kernel.prepare(Bags.from_arrays([np.eye(3)[:, :d]]).rows()) for d in (1, 2))
        for first, second in ((A, B), (B, A)):
            with pytest.raises(InputError, match="prepare both with this kernel, from samples with the same features"):
                kernel.tile(first, second)

    def test_plain_samples_are_refused(self):
        with pytest.raises(InputError, match="the samples are no bags"):
            self.kernel(np.arange(1.0, 9.0).reshape(2, 4))

    def test_planned_memory_is_positive_and_grows_with_the_tile(self):
        assert 0 < bytes_per_tile(self.kernel, 10, 10, 50) < bytes_per_tile(self.kernel, 9000, 9000, 50)

    @given(st.data())
    def test_neither_the_order_of_points_nor_the_scale_of_weights_matters(self, data):
        bags = Bags.from_rows(data.draw(bag_rows()))
        seed = data.draw(st.integers(0, 99))
        orders = [np.random.default_rng(seed + k).permutation(size) for k, size in enumerate(bags.sizes)]
        turned = Bags.from_arrays(
            [points[order] for points, order in zip(bags, orders, strict=True)],
            [(k + 2) * bags.weights_of(k)[order] for k, order in enumerate(orders)],
        )
        np.testing.assert_allclose(self.kernel(turned), self.kernel(bags), rtol=1e-9, atol=1e-12)

    @given(st.data())
    def test_copies_of_points_are_the_sum_of_their_weights(self, data):
        """The kernel sees a measure: any base of points that carries it will do."""
        bags = Bags.from_rows(data.draw(bag_rows()))
        split = Bags.from_arrays(
            [np.vstack([points, points]) for points in bags],
            [np.concatenate([0.25 * bags.weights_of(k), 0.75 * bags.weights_of(k)]) for k in range(len(bags))],
        )
        np.testing.assert_allclose(self.kernel(split), self.kernel(bags), rtol=1e-8, atol=1e-10)

    def test_larger_bags_meet_smaller_ones(self):
        rng = np.random.default_rng(0)
        small = Bags.from_arrays([rng.normal(size=(k, 2)) for k in (1, 3, 2)])
        large = Bags.from_arrays([rng.normal(size=(k, 2)) for k in (5, 4)])
        both = Bags.from_arrays([*large, *small])
        fixed = self.kernel.resolve(both)
        np.testing.assert_allclose(fixed(large, small), fixed(both)[:2, 2:], rtol=1e-9, atol=1e-12)


class TestBhattacharyya(BagContract):
    kernel = Bhattacharyya(eta=0.5)
    tolerance = 1e-9

    def naive(self, x, y):
        return naive.bhattacharyya(bag_of(x), bag_of(y), 0.5)


class TestGeneralizedVariance(BagContract):
    kernel = GeneralizedVariance(eta=0.3, unit_norm=False)
    tolerance = 1e-10

    def naive(self, x, y):
        return naive.generalized_variance(bag_of(x), bag_of(y), 0.3)


class TestNormalizedVariance(BagContract):
    kernel = GeneralizedVariance(eta=0.3)
    tolerance = 1e-10

    def naive(self, x, y):
        p, q = bag_of(x), bag_of(y)
        own = naive.generalized_variance(p, p, 0.3) * naive.generalized_variance(q, q, 0.3)
        return naive.generalized_variance(p, q, 0.3) / math.sqrt(own)


class TestExponentialFamily(BagContract):
    kernel = ExponentialFamily(eta=0.5, beta=0.7)
    tolerance = 1e-10

    def naive(self, x, y):
        p, q = bag_of(x), bag_of(y)

        def entropy(bag):
            covariance = naive.bag_moments(*bag)[1]
            return 0.5 * math.log(np.linalg.det(covariance + 0.5 * np.eye(len(covariance))))

        return math.exp(-2 * 0.7 * (entropy(naive.mixture(p, q)) - (entropy(p) + entropy(q)) / 2))


class TestMeanMap(BagContract):
    kernel = MeanMap(Gaussian(1.5))

    def naive(self, x, y):
        return naive.mean_map(bag_of(x), bag_of(y), rbf)


class TestKernelIGV(BagContract):
    kernel = KernelIGV(Gaussian(1.5), eta=0.2, unit_norm=False)
    tolerance = 1e-9

    def naive(self, x, y):
        return naive.kernel_igv(bag_of(x), bag_of(y), 0.2, rbf)


class TestNormalizedKernelIGV(BagContract):
    kernel = KernelIGV(Gaussian(1.5), eta=0.2)
    tolerance = 1e-9

    def naive(self, x, y):
        p, q = bag_of(x), bag_of(y)
        own = naive.kernel_igv(p, p, 0.2, rbf) * naive.kernel_igv(q, q, 0.2, rbf)
        return naive.kernel_igv(p, q, 0.2, rbf) / math.sqrt(own)


class TestKernelBhattacharyya(BagContract):
    kernel = KernelBhattacharyya(Linear(), n_components=2, eta=0.4)  # both components of points in the plane
    tolerance = 1e-8

    def naive(self, x, y):
        return naive.bhattacharyya(bag_of(x), bag_of(y), 0.4)


class TestEntropy(BagContract):
    kernel = Entropy(beta=1.3)
    tolerance = 1e-12

    def naive(self, x, y):
        return naive.entropy_kernel(bag_of(x), bag_of(y), 1.3)


# Draws ---------------------------------------------------------------------------------------------------------------


@given(bag_rows())
def test_the_smoothed_entropy_kernel_is_positive_semidefinite_for_any_draws(rows):
    K = Entropy(bandwidth=0.5, draws=7)(Bags.from_rows(rows))
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(K)
    assert np.linalg.eigvalsh(Entropy(0.1, 0.5, 7)(Bags.from_rows(rows))).min() >= -1e-10 * len(K)


# Identities of the papers --------------------------------------------------------------------------------------------


@given(bag_rows(), st.sampled_from([0.05, 0.7]))
def test_kernelised_forms_on_a_linear_base_are_the_plain_ones(rows, eta):
    bags = Bags.from_rows(rows)
    np.testing.assert_allclose(KernelIGV(Linear(), eta)(bags), GeneralizedVariance(eta)(bags), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        KernelBhattacharyya(Linear(), 4, eta)(bags), Bhattacharyya(eta)(bags), rtol=1e-7, atol=1e-9
    )


def test_a_kernel_of_features_is_the_plain_one_on_the_features():
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(k, 2)) for k in (4, 6, 5)]
    squares = [np.stack([x[:, 0] ** 2, x[:, 1] ** 2, math.sqrt(2) * x[:, 0] * x[:, 1]], axis=1) for x in points]
    bags, features = Bags.from_arrays(points), Bags.from_arrays(squares)
    np.testing.assert_allclose(KernelIGV(Polynomial(2), 0.5)(bags), GeneralizedVariance(0.5)(features), rtol=1e-9)
    np.testing.assert_allclose(
        KernelBhattacharyya(Polynomial(2), 3, 0.5)(bags), Bhattacharyya(0.5)(features), rtol=1e-9
    )


@pytest.mark.parametrize("r", [1, 2, 4])
def test_some_components_and_eta_in_all_other_directions_are_a_gaussian(r):
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


@given(bag_rows())
def test_the_exponential_family_kernel_of_mass_one_is_the_normalised_generalised_variance(rows):
    bags = Bags.from_rows(rows)
    np.testing.assert_allclose(ExponentialFamily(eta=0.5)(bags), GeneralizedVariance(0.5)(bags), rtol=1e-9)


def test_a_mass_for_which_the_exponential_family_kernel_is_not_positive_semidefinite_is_refused():
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays(list(rng.normal(size=(60, 2, 3))))
    of_mass_one = ExponentialFamily(0.01)(bags)
    assert np.linalg.eigvalsh(of_mass_one**0.1).min() < -0.2
    for beta in (0.1, 0.8):
        with pytest.raises(InputError, match=r"3 dimensions is not positive semidefinite: .* a number above 1$"):
            ExponentialFamily(0.01, beta)(bags)
    for beta in (0.5, 1.3):
        K = ExponentialFamily(0.01, beta)(bags)
        np.testing.assert_allclose(K, of_mass_one**beta, rtol=1e-9)
        assert np.linalg.eigvalsh(K).min() > -1e-12


@given(bag_rows())
def test_the_root_of_the_generalised_variance_has_the_determinant_of_bhattacharyya(rows):
    """√(normalised IGV) = the determinant factor · (1 + Q/4)^(−1/2), where Bhattacharyya has e^(−Q/8)."""
    bags, eta = Bags.from_rows(rows), 0.4
    factor, q = np.empty((2, len(bags), len(bags)))
    moments = [naive.bag_moments(bags.weights_of(k), bags.points(k)) for k in range(len(bags))]
    for i, (m, S) in enumerate(moments):
        for j, (n, T) in enumerate(moments):
            S_, T_ = S + eta * np.eye(len(m)), T + eta * np.eye(len(m))
            mixed = (S_ + T_) / 2
            factor[i, j] = (np.linalg.det(S_) * np.linalg.det(T_)) ** 0.25 / math.sqrt(np.linalg.det(mixed))
            q[i, j] = (m - n) @ np.linalg.solve(mixed, m - n)
    np.testing.assert_allclose(np.sqrt(GeneralizedVariance(eta)(bags)), factor / np.sqrt(1 + q / 4), rtol=1e-8)
    np.testing.assert_allclose(Bhattacharyya(eta)(bags), factor * np.exp(-q / 8), rtol=1e-8)


def test_entropies_of_histograms_are_those_of_jensen_and_shannon():
    from scipy.spatial.distance import jensenshannon

    counts = np.random.default_rng(0).integers(0, 4, (5, 8)) + np.eye(5, 8, dtype=int)
    K = Entropy(beta=0.8)(Bags.from_counts(counts))
    for i in range(5):
        for j in range(5):
            np.testing.assert_allclose(K[i, j], math.exp(-0.8 * jensenshannon(counts[i], counts[j]) ** 2), rtol=1e-10)


# Sets of other things ------------------------------------------------------------------------------------------------


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


def test_points_that_bags_share_meet_once_with_the_same_values(monkeypatch):
    rng = np.random.default_rng(0)
    bags = Bags.from_arrays([rng.integers(1, 4, (8, 2)) / 3 for _ in range(20)])
    for base in (Gaussian(0.3), Linear(), Polynomial(2, 1.0)):  # ⟨x, x⟩ may round otherwise than ‖x‖²
        for kernel in (KernelIGV(base, 0.05), KernelBhattacharyya(base, 3, 0.05), MeanMap(base)):
            shared = kernel(bags)
            with monkeypatch.context() as patched:
                patched.setattr(table, "TABLE_BYTES", 0)
                np.testing.assert_array_equal(kernel(bags), shared)


# What they refuse ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [MeanMap(Gaussian(1.0)), KernelIGV(Gaussian(1.0), 0.1), KernelBhattacharyya(Linear(), 3, 0.1)],
    ids=lambda kernel: kernel.name,
)
def test_small_bags_beside_large_ones_have_the_same_bits_in_any_tiles(kernel, monkeypatch):
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


def test_a_singular_covariance_is_named():
    bags = Bags.from_arrays([np.eye(3), [[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]], ids=["a", "b"])
    flat = Bags.from_arrays([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]], ids=["a", "b"])
    for kernel in (Bhattacharyya(), GeneralizedVariance(), ExponentialFamily()):
        with pytest.raises(SampleError, match=r"covariance of bag 'a' is singular \(3 points in 3 dimensions\)"):
            kernel(bags)
        with pytest.raises(SampleError, match=r"covariance of bag 'b' is singular \(2 points in 2 dimensions\)"):
            kernel(flat)


def test_a_point_that_the_base_kernel_refuses_is_named():
    bags = Bags.from_arrays([[[1.0, 2.0]], [[1.0, 2.0], [3.0, 3.0]]], ids=["a", "b"])
    with pytest.raises(SampleError, match="sample '1 of bag b' is constant"):
        MeanMap(Kendall("b"))(bags)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Bhattacharyya(-1.0), "eta must be a finite number of 0 or more"),
        (lambda: KernelIGV(Linear(), 0.0), "eta must be a finite number of more than 0"),
        (lambda: KernelIGV("rbf"), "base must be a kernel of the points"),
        (lambda: KernelBhattacharyya(Linear(), 0), "n_components must be a whole number"),
        (lambda: ExponentialFamily(beta=0), "beta must be a finite number of more than 0"),
        (lambda: Entropy(bandwidth=-1.0), "bandwidth must be a finite number of more than 0"),
        (lambda: Entropy(draws=1), "draws must be a whole number of 2 or more"),
        (lambda: Entropy(center=(0.0,)), "give both center= and spread="),
    ],
)
def test_wrong_parameters_are_refused(make, said):
    with pytest.raises((InputError, InputTypeError), match=said):
        make()
