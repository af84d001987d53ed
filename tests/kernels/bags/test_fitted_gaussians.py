"""Kernels through the Gaussians fitted to two bags: printed forms, identities, and refusals."""

import json
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
    ExponentialFamily,
    GeneralizedVariance,
    InputError,
    SampleError,
    compute_gram,
    from_spec,
)


class TestBhattacharyya(BagContract):
    kernel = Bhattacharyya(eta=0.5)
    tolerance = 1e-9

    def naive(self, x, y):
        return naive.bhattacharyya(naive.bag_of(x), naive.bag_of(y), 0.5)


class TestGeneralizedVariance(BagContract):
    kernel = GeneralizedVariance(eta=0.3, unit_norm=False)
    tolerance = 1e-10

    def naive(self, x, y):
        return naive.generalized_variance(naive.bag_of(x), naive.bag_of(y), 0.3)


class TestNormalizedVariance(BagContract):
    kernel = GeneralizedVariance(eta=0.3)
    tolerance = 1e-10

    def naive(self, x, y):
        p, q = naive.bag_of(x), naive.bag_of(y)
        own = naive.generalized_variance(p, p, 0.3) * naive.generalized_variance(q, q, 0.3)
        return naive.generalized_variance(p, q, 0.3) / math.sqrt(own)


class TestExponentialFamily(BagContract):
    kernel = ExponentialFamily(eta=0.5, beta=0.7)
    tolerance = 1e-10

    def naive(self, x, y):
        p, q = naive.bag_of(x), naive.bag_of(y)

        def entropy(bag):
            covariance = naive.bag_moments(*bag)[1]
            return 0.5 * math.log(np.linalg.det(covariance + 0.5 * np.eye(len(covariance))))

        return math.exp(-2 * 0.7 * (entropy(naive.mixture(p, q)) - (entropy(p) + entropy(q)) / 2))


@given(bag_rows())
def test_the_exponential_family_kernel_of_mass_one_is_the_normalised_generalised_variance(rows):
    bags = Bags.from_rows(rows)
    np.testing.assert_allclose(ExponentialFamily(eta=0.5)(bags), GeneralizedVariance(0.5)(bags), rtol=1e-9)


def test_a_beta_without_positive_semidefinite_kernel_is_refused():
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


def test_a_singular_covariance_is_named():
    bags = Bags.from_arrays([np.eye(3), [[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]], ids=["a", "b"])
    flat = Bags.from_arrays([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]], ids=["a", "b"])
    for kernel in (Bhattacharyya(), GeneralizedVariance(), ExponentialFamily()):
        with pytest.raises(SampleError, match=r"covariance of bag 'a' is singular \(3 points in 3 dimensions\)"):
            kernel(bags)
        with pytest.raises(SampleError, match=r"covariance of bag 'b' is singular \(2 points in 2 dimensions\)"):
            kernel(flat)


@pytest.mark.parametrize("kernel", [Bhattacharyya, GeneralizedVariance, ExponentialFamily])
def test_parameters_of_every_one_are_checked(kernel):
    with pytest.raises(InputError, match="eta must be"):
        kernel(eta=-0.1)
    with pytest.raises(InputError, match="dimensions must be"):
        kernel(eta=0.1, dimensions=0)


# A prior in the mixture ---------------------------------------------------------------------------------------------

PRIOR = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 2.0], [-1.0, 0.3]])


def mixed_variance(p, q, mix, eta):
    """1 / det of the covariance of λ(μ + μ')/2 + (1 − λ)ρ, from its raw moments."""
    weights, points = naive.mixture(p, q)
    d = len(points[0])
    weights = [mix * w for w in weights] + [(1 - mix) / len(PRIOR)] * len(PRIOR)
    covariance = naive.bag_moments(weights, [*points, *PRIOR[:, :d].tolist()])[1]
    return 1 / np.linalg.det(covariance / eta + np.eye(d) if eta else covariance)


@given(bag_rows(), st.sampled_from([0.0, 0.2, 0.6, 0.95]), st.sampled_from([0.0, 0.3]))
def test_a_prior_is_a_part_of_every_mixture_as_in_the_naive_form(rows, mix, eta):
    bags = [naive.bag_of(row) for row in rows]
    d = len(bags[0][1][0])
    expected = np.array([[mixed_variance(p, q, mix, eta) for q in bags] for p in bags])
    known = naive.bag_moments([1.0] * len(PRIOR), PRIOR[:, :d].tolist())
    for prior in (PRIOR[:, :d], known, Bags.from_arrays([PRIOR[:, :d]])):
        K = GeneralizedVariance(eta, False, prior=prior, mix=mix)(Bags.from_rows(rows))
        np.testing.assert_allclose(K, expected, rtol=1e-9)
    norms = np.sqrt(np.diag(expected))
    unit = GeneralizedVariance(eta, prior=PRIOR[:, :d], mix=mix)(Bags.from_rows(rows))
    np.testing.assert_allclose(unit, expected / np.outer(norms, norms), rtol=1e-9)
    assert np.linalg.eigvalsh(unit).min() >= -1e-10 * len(unit)
    np.testing.assert_array_equal(unit, unit.T)


def test_points_far_from_the_prior_cost_no_digits():
    single = Bags.from_arrays([[[1e6, 0.0]], [[1e6, 1.0]]])
    K = GeneralizedVariance(prior=([0.0, 0.0], np.eye(2)), mix=0.5, unit_norm=False)(single)
    # S = I/2, a = (0, 1)/√8, b = (2e6, 1)/4: det = |S| ((1 + x·x)(1 + y·y) − (x·y)²)
    x, y = (0.0, 2 / 8), (2 * 4e12 / 16, 2 / 16)
    expected = 0.25 * ((1 + x[1]) * (1 + y[0] + y[1]) - x[1] * y[1])
    np.testing.assert_allclose(1 / K[0, 1], expected, rtol=1e-13)


def test_a_kernel_with_a_prior_is_a_value_and_wrong_priors_are_refused():
    kernel = GeneralizedVariance(prior=PRIOR, mix=0.3)
    assert from_spec(json.loads(json.dumps(kernel.spec()))) == kernel
    assert hash(kernel) == hash(kernel.set_params(mix=0.3))
    for make, said in [
        (lambda: GeneralizedVariance(prior=PRIOR, mix=1.5), "mix must be a number from 0 to 1"),
        (lambda: GeneralizedVariance(prior=PRIOR[:2]), "the covariance of the prior is singular"),
        (lambda: GeneralizedVariance(prior=Bags.from_arrays([PRIOR, PRIOR])), "the prior has 2 bags: give one"),
        (lambda: GeneralizedVariance(prior=([0.0], np.eye(2))), "a covariance of 1 × 1"),
        (lambda: GeneralizedVariance(prior=([0.0, 0.0], [[1.0, 1.0], [0.0, 1.0]])), "not symmetric"),
        (lambda: GeneralizedVariance(prior=([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])), "not positive semidefinite"),
        (lambda: GeneralizedVariance(prior=(0.0, 1.0)), "the prior must be a bag of points"),
        (lambda: GeneralizedVariance(prior="rho"), "the prior"),
        (lambda: kernel(Bags.from_arrays([[1.0, 2.0]])), "the prior has 2 dimensions, and the points have 1"),
    ]:
        with pytest.raises(InputError, match=said):
            make()
    with pytest.raises(SampleError, match="singular"):
        GeneralizedVariance(prior=PRIOR, mix=1.0)(Bags.from_arrays([[[0.0, 1.0]]]))


def test_a_store_with_a_prior_equals_the_kernel(tmp_path):
    bags = Bags.from_arrays(list(np.random.default_rng(0).normal(size=(7, 2, 2))))
    kernel = GeneralizedVariance(prior=PRIOR, mix=0.3)
    gram = compute_gram(kernel, bags, store=tmp_path / "k.zarr", tile=3, progress=False)
    np.testing.assert_allclose(gram.to_numpy(), kernel(bags), rtol=1e-13)
