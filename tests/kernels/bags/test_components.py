"""Components of a bag: by the definition in loops, by other software, and the Gaussian of the bag."""

import math

import naive_bags as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.decomposition import KernelPCA
from strategies import bag_rows

from distkern import (
    Bags,
    Gaussian,
    InputError,
    InputTypeError,
    Kendall,
    Linear,
    LowRank,
    Polynomial,
    SampleError,
    bag_components,
)
from distkern.kernels.bags.components import components_of, shares_in_mixture


def rbf(x, y, sigma=1.5):
    return math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))


def centred_by_loops(weights, points, base):
    """Weights a of sum 1, and K̃_ij = ⟨φ(x_i) − m, φ(x_j) − m⟩."""
    a = [w / math.fsum(weights) for w in weights]
    K = [[base(x, y) for y in points] for x in points]
    row = [math.fsum(a[j] * K[i][j] for j in range(len(a))) for i in range(len(a))]
    whole = math.fsum(a[i] * row[i] for i in range(len(a)))
    return a, [[K[i][j] - row[i] - row[j] + whole for j in range(len(a))] for i in range(len(a))]


@given(bag_rows(), st.integers(0, 2**32 - 1))
def test_they_are_the_definition_in_loops(rows, seed):
    weights, points = naive.bag_of(rows[0])
    a, centred = centred_by_loops(weights, points, rbf)
    found = components_of(np.array(a), np.array(points), Gaussian(1.5), 0.1)
    expected = np.sort(np.linalg.eigvals(np.array(centred) @ np.diag(a)).real)[::-1]
    count = len(found.eigenvalues)
    np.testing.assert_allclose(found.eigenvalues, expected[:count], atol=1e-12)
    np.testing.assert_allclose(expected[count:], 0, atol=1e-12)
    assert found.variance == pytest.approx(sum(a[i] * centred[i][i] for i in range(len(a))), abs=1e-12)
    new = np.random.default_rng(seed).normal(size=(3, len(points[0])))
    clear = found.eigenvalues > 1e-9
    for number in np.flatnonzero(clear):
        u = found(points)[:, number] / math.sqrt(found.eigenvalues[number])
        assert math.fsum(w * v**2 for w, v in zip(a, u, strict=True)) == pytest.approx(1, rel=1e-5)
        for i in range(len(a)):  # K̃Δ u = λ u
            product = math.fsum(centred[i][j] * a[j] * u[j] for j in range(len(a)))
            assert product == pytest.approx(found.eigenvalues[number] * u[i], abs=1e-8)
        for x, value in zip(new, found(new)[:, number], strict=True):
            by_loops = math.fsum(
                a[i] * u[i] * (rbf(points[i], x) - math.fsum(a[j] * rbf(points[i], y) for j, y in enumerate(points)))
                for i in range(len(a))
            )
            assert value == pytest.approx(by_loops / math.sqrt(found.eigenvalues[number]), abs=1e-5)
        assert u[np.argmax(abs(u) >= (1 - 1e-8) * max(abs(u)))] > 0


def test_they_are_the_kernel_pca_of_equally_heavy_points():
    rng = np.random.default_rng(0)
    points, new = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))
    found = bag_components(points, Gaussian(1.5), 4)
    theirs = KernelPCA(4, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(points)
    np.testing.assert_allclose(found.eigenvalues, theirs.eigenvalues_ / 30)
    np.testing.assert_allclose(abs(found(new)), abs(theirs.transform(new)), atol=1e-10)
    assert found.variance > found.eigenvalues.sum()


def test_over_the_bag_they_have_mean_0_and_variance_lambda():
    rng = np.random.default_rng(1)
    bags = Bags.from_arrays(
        [rng.normal(size=(9, 2)), rng.normal(size=(14, 2))], [rng.random(9) + 0.1, rng.random(14) + 0.1]
    )
    shares = shares_in_mixture(bags)
    assert [shares[:9].sum(), shares[9:].sum()] == pytest.approx([0.5, 0.5])
    for base in (Gaussian(1.0), Polynomial(2), LowRank(Gaussian(1.0), 12)):
        found = bag_components(bags, base, 3)
        values = found(bags.values)
        np.testing.assert_allclose(shares @ values, 0, atol=1e-12)
        np.testing.assert_allclose((values.T * shares) @ values, np.diag(found.eigenvalues), atol=1e-9)


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_the_density_is_that_of_the_gaussian(eta):
    rng = np.random.default_rng(2)
    points, new = rng.normal(size=(20, 3)) * [3.0, 2.0, 1.0], rng.normal(size=(6, 3))
    n = 3 if eta == 0 else 2
    values, vectors = np.linalg.eigh(np.cov(points.T, ddof=0))
    covariance = (vectors[:, -n:] * values[-n:]) @ vectors[:, -n:].T + eta * np.eye(3)
    expected = multivariate_normal(points.mean(axis=0), covariance).logpdf(new)
    found = bag_components(points, Linear(), n, eta)
    np.testing.assert_allclose(np.diff(found.log_density(new)), np.diff(expected))
    np.testing.assert_allclose(found.distances(new), -2 * found.log_density(new))


def test_all_landmarks_are_the_base_kernel():
    rng = np.random.default_rng(3)
    points, new = rng.normal(size=(15, 2)), rng.normal(size=(5, 2))
    plain, low = (bag_components(points, base, 4, 0.1) for base in (Gaussian(1.0), LowRank(Gaussian(1.0), 15)))
    np.testing.assert_allclose(low.eigenvalues, plain.eigenvalues, rtol=1e-6)
    assert low.variance == pytest.approx(plain.variance)
    np.testing.assert_allclose(low(new), plain(new), atol=1e-6)
    np.testing.assert_allclose(low.log_density(new), plain.log_density(new), rtol=1e-6)


def test_copies_of_points_and_a_common_offset_are_no_matter():
    rng = np.random.default_rng(4)
    points, new = rng.normal(size=(10, 2)) * [2.0, 1.0], rng.normal(size=(4, 2))
    plain = bag_components(points, Linear(), 2)
    twice = bag_components(np.repeat(points, 2, axis=0), Linear(), 2)
    away = bag_components(points + 1e8, Linear(), 2)
    np.testing.assert_allclose(twice.eigenvalues, plain.eigenvalues)
    np.testing.assert_allclose(twice(new), plain(new))
    np.testing.assert_allclose(away.eigenvalues, plain.eigenvalues, rtol=1e-6)
    np.testing.assert_allclose(away(new + 1e8), plain(new), atol=1e-6)


def test_points_may_be_rankings():
    rng = np.random.default_rng(5)
    rankings = np.argsort(rng.normal(size=(12, 6)), axis=1).astype(float)
    found = bag_components(Bags.from_arrays([rankings]), Kendall(), 3)
    assert found(rankings[:2]).shape == (2, 3)


def test_wrong_input_is_refused():
    line = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    with pytest.raises(InputError, match=r"only 1 components .* and n is 2: give n=1 or less"):
        bag_components(line, Linear(), 2)
    with pytest.raises(InputError, match="no component: all its points are equal"):
        bag_components([[1.0, 2.0]] * 3, Gaussian(1.0), 1)
    with pytest.raises(InputError, match="n must be a whole number"):
        bag_components(line, Linear(), 0)
    with pytest.raises(InputError, match="eta must be a finite number of 0 or more"):
        bag_components(line, Linear(), 1, eta=-1.0)
    for odd in ("a", None, True, [0.1]):
        with pytest.raises(InputTypeError, match="eta must be"):
            bag_components(line, Linear(), 1, eta=odd)
        with pytest.raises(InputTypeError, match="base must be"):
            bag_components(line, odd, 1)
    found = bag_components(line, Linear(), 1)
    for points in ([[1.0, 2.0, 3.0]], np.empty((0, 2)), [1.0, 2.0]):
        with pytest.raises(InputError, match=r"they must be \(points, 2\)"):
            found(points)
    with pytest.raises(SampleError, match="sample number 1 "):
        found([[0.0, 0.0], [np.nan, 0.0]])
    with pytest.raises(SampleError, match="2 of bag bag"):
        bag_components([[1.0, 2.0], [2.0, 1.0], [1e200, 0.0]], Linear(), 1)
