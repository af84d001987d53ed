"""Kernels between bags against the integrals that they are closed forms of, in one and two dimensions."""

import math

import naive_bags as naive
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from distkern import Bags, Bhattacharyya, Entropy, ExponentialFamily, Gaussian, GeneralizedVariance, MeanMap

rng = np.random.default_rng(0)
ON_A_LINE = Bags.from_arrays([[0.0, 1.0, 4.0], [1.5, 2.0, 2.2, 7.0]], [[1, 2, 1], [1, 1, 3, 1]])
IN_THE_PLANE = Bags.from_arrays([rng.normal(size=(9, 2)), rng.normal(size=(7, 2)) @ [[2, 0.5], [0, 0.7]] + 0.5])

AXIS = np.linspace(-12, 12, 801)
PLANE = np.stack(np.meshgrid(AXIS, AXIS), axis=-1)


def moments(bags):
    return [naive.bag_moments(bags.weights_of(k), bags.points(k)) for k in range(len(bags))]


def sum_over_the_plane(values):
    return values.sum() * (AXIS[1] - AXIS[0]) ** 2


def smoothed(bags, width):
    """Densities of two bags in the plane, each point spread by a normal distribution."""
    return [
        np.mean([multivariate_normal(place, width**2).pdf(PLANE) for place in bags.points(k)], axis=0) for k in (0, 1)
    ]


def phi(t):
    return -t * np.log(np.maximum(t, 1e-300))


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_bhattacharyya_is_the_integral_of_the_roots_in_one_dimension(eta):
    p, q = (norm(m[0], math.sqrt(S[0, 0] + eta)) for m, S in moments(ON_A_LINE))
    integral = quad(lambda x: math.sqrt(p.pdf(x) * q.pdf(x)), -40, 40, limit=200)[0]
    np.testing.assert_allclose(Bhattacharyya(eta)(ON_A_LINE)[0, 1], integral, rtol=1e-9)


def test_bhattacharyya_is_the_integral_of_the_roots_in_two_dimensions():
    p, q = (multivariate_normal(*each).pdf(PLANE) for each in moments(IN_THE_PLANE))
    np.testing.assert_allclose(Bhattacharyya()(IN_THE_PLANE)[0, 1], sum_over_the_plane(np.sqrt(p * q)), rtol=1e-9)


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_the_root_of_the_generalised_variance_is_an_integral_of_exponentials_in_one_dimension(eta):
    """Proposition 3 of the paper: π^(−d/2) ∫ e^(−yᵀΣy) dy = (det Σ)^(−1/2), Σ that of the mixture."""
    bags = [(ON_A_LINE.weights_of(k), ON_A_LINE.points(k)) for k in (0, 1)]
    variance = naive.bag_moments(*naive.mixture(*bags))[1][0, 0]
    scaled = variance / eta + 1 if eta else variance
    integral = quad(lambda y: math.exp(-(y**2) * scaled), -40, 40, points=[0])[0] / math.sqrt(math.pi)
    np.testing.assert_allclose(GeneralizedVariance(eta, unit_norm=False)(ON_A_LINE)[0, 1], integral**2, rtol=1e-8)


def test_the_root_of_the_generalised_variance_is_an_integral_of_exponentials_in_two_dimensions():
    bags = [(IN_THE_PLANE.weights_of(k), IN_THE_PLANE.points(k)) for k in (0, 1)]
    covariance = naive.bag_moments(*naive.mixture(*bags))[1]
    integral = sum_over_the_plane(np.exp(-np.einsum("ija,ab,ijb->ij", PLANE, covariance, PLANE))) / math.pi
    value = GeneralizedVariance(unit_norm=False)(IN_THE_PLANE)[0, 1]
    np.testing.assert_allclose(value, integral**2, rtol=1e-9)


@pytest.mark.parametrize("beta", [0.7, 3.0])
def test_the_exponential_family_kernel_is_the_integral_over_normal_distributions(beta):
    """φ(μ) = ∫ e^(μ[log p_θ]) ω(dθ) under Jeffreys' prior ds dm / s², which Laplace's method finds exactly here."""
    (_, p), (_, q) = moments(ON_A_LINE)
    _, mixed = naive.bag_moments(*naive.mixture(*((ON_A_LINE.weights_of(k), ON_A_LINE.points(k)) for k in (0, 1))))
    log_s = np.linspace(-6, 30, 4001)[:, None]
    off = np.linspace(-15, 15, 501)  # (m − mean) / s, so that ds dm / s² is d(log s) d(off)

    def log_phi(variance, mass):
        return math.log(np.exp(-mass * (log_s + variance / (2 * np.exp(2 * log_s)) + off**2 / 2)).sum())

    of_both, own, other = (log_phi(float(S[0, 0]), 2 * beta) for S in (mixed, p, q))
    value = ExponentialFamily(beta=beta)(ON_A_LINE)[0, 1]
    np.testing.assert_allclose(value, math.exp(of_both - (own + other) / 2), rtol=1e-9)


def test_the_mean_map_is_the_integral_of_the_product_of_smoothed_densities():
    width = 0.6
    p, q = smoothed(IN_THE_PLANE, width)
    value = MeanMap(Gaussian(math.sqrt(2) * width))(IN_THE_PLANE)[0, 1]
    np.testing.assert_allclose(value / (4 * math.pi * width**2), sum_over_the_plane(p * q), rtol=1e-9)


def test_the_smoothed_entropy_kernel_is_the_integral_within_its_standard_error():
    bags = Bags.from_arrays([[0.0, 1.0], [0.5, 3.0, 3.5]])
    x = np.linspace(-8, 12, 20001)
    f, g = (np.mean([norm.pdf(x, place, 0.6) for place in bags.points(k)[:, 0]], axis=0) for k in (0, 1))
    divergence = np.sum(phi((f + g) / 2) - (phi(f) + phi(g)) / 2) * (x[1] - x[0])
    kernel = Entropy(beta=2.0, bandwidth=0.6, draws=20000)
    error = kernel.standard_error(bags)[0, 1]
    assert 0 < error < 0.01
    assert abs(kernel(bags)[0, 1] - math.exp(-2 * divergence)) < 4 * error
    far = [Entropy(2.0, 0.6, 500, seed)(bags)[0, 1] - math.exp(-2 * divergence) for seed in range(200)]
    stated = Entropy(2.0, 0.6, 500).standard_error(bags)[0, 1]
    assert 0.7 < np.std(far) / stated < 1.4


def test_the_smoothed_entropy_kernel_is_the_integral_in_two_dimensions():
    f, g = smoothed(IN_THE_PLANE, 0.6)
    divergence = sum_over_the_plane(phi((f + g) / 2) - (phi(f) + phi(g)) / 2)
    kernel = Entropy(bandwidth=0.6, draws=20000)
    error = kernel.standard_error(IN_THE_PLANE)[0, 1]
    assert 0 < error < 0.01
    assert abs(kernel(IN_THE_PLANE)[0, 1] - math.exp(-divergence)) < 4 * error
