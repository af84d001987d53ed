"""Witness functions: by the definitions in loops, as derivatives of the kernels, and what their values add up to."""

import math

import naive_bags as naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import bag_rows

from distkern import (
    Bags,
    Bhattacharyya,
    Gaussian,
    InputError,
    InputTypeError,
    KernelIGV,
    Linear,
    LowRank,
    MeanMap,
    SampleError,
    witness,
)


def rbf(x, y, sigma=1.5):
    return math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * sigma**2))


def mixture(bags):
    """Weights and points of the mixture of some bags in equal parts, by loops."""
    weights, points = [], []
    for w, x in bags:
        weights += [one / math.fsum(w) / len(bags) for one in w]
        points += x
    return weights, points


def igv_by_loops(p, q, eta, base, x):
    """½ [g_q(x) − g_p(x)], each distance by the inverse of the Gram matrix of the points and x, centred at the mean."""
    distances = []
    for weights, points in (p, q):
        a, everything = np.array(weights) / math.fsum(weights), [*points, x]
        K = np.array([[base(y, z) for z in everything] for y in everything])
        H = np.eye(len(K)) - np.outer(np.ones(len(K)), np.append(a, 0))
        centred = H @ K @ H.T
        # (Σ + ηI)⁻¹ = (I − Φ (ηI + Δ½ Φᵀ Φ Δ½)⁻¹ Φᵀ) / η
        roots = np.sqrt(a)
        inner = roots * centred[:-1, -1]
        middle = eta * np.eye(len(a)) + roots[:, None] * centred[:-1, :-1] * roots
        distances.append((centred[-1, -1] - inner @ np.linalg.solve(middle, inner)) / eta)
    return (distances[1] - distances[0]) / 2


@given(bag_rows(), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_they_are_the_definitions_in_loops(rows, cut, seed):
    assume(len(rows) > 1)
    bags, cut = Bags.from_rows(rows), min(cut, len(rows) - 1)
    first, second = bags[:cut], bags[cut:]
    p, q = (mixture([naive.bag_of(row) for row in part]) for part in (rows[:cut], rows[cut:]))
    new = np.random.default_rng(seed).normal(size=(3, bags.dimensions))
    means = witness(first, second, MeanMap(Gaussian(1.5)))
    variances = witness(first, second, KernelIGV(Gaussian(1.5), 0.2))
    for x, mean, variance in zip(new, means(new), variances(new), strict=True):
        by_loops = [math.fsum(w * rbf(y, x) for w, y in zip(*part, strict=True)) for part in (p, q)]
        assert mean == pytest.approx(by_loops[0] - by_loops[1], abs=1e-12)
        assert variance == pytest.approx(igv_by_loops(p, q, 0.2, rbf, x), abs=1e-8)
    squares = [naive.mean_map(*pair, rbf) for pair in ((p, p), (p, q), (q, q))]
    assert means.distance == pytest.approx(squares[0] - 2 * squares[1] + squares[2], abs=1e-12)
    logs = [math.log(naive.kernel_igv(*pair, 0.2, rbf)) for pair in ((p, p), (p, q), (q, q))]
    assert variances.distance == pytest.approx((logs[0] + logs[2]) / 2 - logs[1], abs=1e-8)
    for found in (means, variances):
        np.testing.assert_array_equal(found.of_first, found(first.values))
        np.testing.assert_array_equal(found.of_second, found(second.values))


def two_bags(seed=0, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, d)), rng.normal(size=(17, d)) + 0.5


def test_the_values_of_mean_map_add_up_to_the_distance():
    first, second = two_bags()
    found = witness(first, second, MeanMap(Gaussian(1.0)))
    assert found.of_first.mean() - found.of_second.mean() == pytest.approx(found.distance)
    K = MeanMap(Gaussian(1.0))(Bags.from_arrays([first, second]))
    assert found.distance == pytest.approx(K[0, 0] - 2 * K[0, 1] + K[1, 1])


def test_the_one_of_igv_is_the_derivative_of_the_distance():
    """Of −ln k when mass t moves to x in the first bag, minus the same in the second; differences of two points x."""
    first, second = two_bags()
    kernel, t = KernelIGV(Gaussian(1.0), 0.1), 1e-5

    def distance(x, of):
        bags = [first, second]
        weights = [np.full(len(bag), 1 / len(bag)) for bag in bags]
        bags[of] = np.vstack([bags[of], x])
        weights[of] = np.append((1 - t) * weights[of], t)
        return -np.log(kernel(Bags.from_arrays(bags, weights))[0, 1])

    new = np.random.default_rng(1).normal(size=(4, 2))
    found = witness(first, second, kernel)
    slopes = [(distance(x, 0) - distance(x, 1)) / t for x in new]
    np.testing.assert_allclose(np.diff(found(new)), np.diff(slopes), rtol=1e-2, atol=1e-2)
    assert found.distance == pytest.approx(-np.log(kernel(Bags.from_arrays([first, second]))[0, 1]))


def test_on_a_linear_base_it_compares_two_gaussians():
    first, second = two_bags(d=3)
    new = np.random.default_rng(2).normal(size=(5, 3))
    expected = np.zeros(5)
    for bag, sign in ((first, -0.5), (second, 0.5)):
        inverse = np.linalg.inv(np.cov(bag.T, ddof=0) + 0.3 * np.eye(3))
        expected += sign * np.einsum("id,de,ie->i", new - bag.mean(axis=0), inverse, new - bag.mean(axis=0))
    np.testing.assert_allclose(witness(first, second, KernelIGV(Linear(), 0.3))(new), expected)
    means = witness(first, second, MeanMap(Linear()))(new)
    np.testing.assert_allclose(means, new @ (first.mean(axis=0) - second.mean(axis=0)))


@pytest.mark.parametrize("kernel", [MeanMap, KernelIGV])
def test_all_landmarks_are_the_base_kernel(kernel):
    first, second = two_bags()
    new = np.random.default_rng(3).normal(size=(5, 2))
    plain, low = (witness(first, second, kernel(base)) for base in (Gaussian(1.0), LowRank(Gaussian(1.0), 29)))
    np.testing.assert_allclose(low(new), plain(new), rtol=1e-5, atol=1e-6)
    assert low.distance == pytest.approx(plain.distance, rel=1e-5)


@pytest.mark.parametrize("kernel", [MeanMap(Linear()), KernelIGV(Linear(), 0.3)])
def test_a_common_offset_costs_no_digits(kernel):
    first, second = two_bags()
    new = np.random.default_rng(3).normal(size=(5, 2))
    near, far = witness(first, second, kernel), witness(first + 1e7, second + 1e7, kernel)
    assert far.distance == pytest.approx(near.distance, rel=1e-6)
    np.testing.assert_allclose(np.diff(far(new + 1e7)), np.diff(near(new)), atol=1e-6)


def test_the_other_order_changes_the_sign():
    first, second = two_bags()
    for kernel in (MeanMap(Gaussian("median")), KernelIGV(Gaussian("median"), 0.1)):
        one, other = witness(first, second, kernel), witness(second, first, kernel)
        np.testing.assert_allclose(one.of_first, -other.of_second, atol=1e-10)
        assert one.distance == pytest.approx(other.distance)


def test_wrong_input_is_refused():
    first, second = two_bags()
    with pytest.raises(InputTypeError, match=r"MeanMap\(base\) or KernelIGV\(base, eta\), not Bhattacharyya"):
        witness(first, second, Bhattacharyya())
    with pytest.raises(InputError, match="first has points in 2 dimensions, and second in 1"):
        witness(first, second[:, :1], MeanMap(Linear()))
    with pytest.raises(InputError, match="those of the cohort have 3"):
        witness(first, second, MeanMap(Linear(), dimensions=3))
    found = witness(first, second, MeanMap(Gaussian(1.0)))
    with pytest.raises(InputError, match=r"they must be \(points, 2\)"):
        found([[1.0]])
    with pytest.raises(SampleError, match="sample number 0 "):
        found([[np.nan, 1.0]])
    with pytest.raises(SampleError, match="few right digits"):
        witness(first * 1e8, second, KernelIGV(Linear(), 1e-3))
