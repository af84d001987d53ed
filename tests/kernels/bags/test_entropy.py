"""The entropy kernel: printed form, Jensen–Shannon divergence, and random draws."""

import json
import math

import naive_bags as naive
import numpy as np
import pytest
from contracts import BagContract
from hypothesis import given, settings
from strategies import bag_rows

from distkern import (
    Bags,
    Entropy,
    InputError,
)


class TestEntropy(BagContract):
    kernel = Entropy(beta=1.3)
    tolerance = 1e-12

    def naive(self, x, y):
        return naive.entropy_kernel(naive.bag_of(x), naive.bag_of(y), 1.3)


@settings(max_examples=10)
@given(bag_rows())
def test_the_smoothed_entropy_kernel_is_positive_semidefinite_for_any_draws(rows):
    K = Entropy(bandwidth=0.5, draws=7)(Bags.from_rows(rows))
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(K)
    assert np.linalg.eigvalsh(Entropy(0.1, 0.5, 7)(Bags.from_rows(rows))).min() >= -1e-10 * len(K)


def test_entropies_of_histograms_are_those_of_jensen_and_shannon():
    from scipy.spatial.distance import jensenshannon

    counts = np.random.default_rng(0).integers(0, 4, (5, 8)) + np.eye(5, 8, dtype=int)
    K = Entropy(beta=0.8)(Bags.from_counts(counts))
    for i in range(5):
        for j in range(5):
            np.testing.assert_allclose(K[i, j], math.exp(-0.8 * jensenshannon(counts[i], counts[j]) ** 2), rtol=1e-10)


def test_defaults_are_those_of_the_documentation():
    assert Entropy().spec() == {
        "kernel": "entropy", "beta": 1.0, "bandwidth": None, "draws": 2048, "seed": 0, "center": None, "spread": None,
        "dimensions": None,
    }  # fmt: skip


def test_the_smoothed_kernel_equals_a_mean_over_the_draws():
    """exp(−β J), where J = h(p/2 + q/2) − h(p)/2 − h(q)/2 and h(p) = −mean of r log r, r the ratio of densities."""
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(count, 2)) for count in (1, 3, 4)]
    kernel = Entropy(beta=0.7, bandwidth=0.4, draws=50, seed=3).resolve(Bags.from_arrays(bags))
    normal = np.random.default_rng(3).standard_normal((50, 2))
    drawn = np.array(kernel.center) + normal * kernel.spread

    def density(z, centers, widths):
        terms = [
            math.prod(
                math.exp(-(((a - b) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))
                for a, b, s in zip(z, c, widths, strict=True)
            )
            for c in centers
        ]
        return math.fsum(terms) / len(terms)

    def entropy(ratios):
        return -math.fsum(r * math.log(r) if r > 0 else 0.0 for r in ratios) / len(ratios)

    drawn_from = [density(z, [kernel.center], kernel.spread) for z in drawn]
    ratios = [[density(z, bag, (0.4, 0.4)) / q for z, q in zip(drawn, drawn_from, strict=True)] for bag in bags]
    for p, row in zip(ratios, kernel(Bags.from_arrays(bags)), strict=True):
        for q, value in zip(ratios, row, strict=True):
            mixed = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
            divergence = entropy(mixed) - entropy(p) / 2 - entropy(q) / 2
            np.testing.assert_allclose(value, math.exp(-0.7 * divergence), rtol=1e-10)


def test_centre_and_spread_are_given_together_as_numbers_of_one_length():
    kernel = Entropy(bandwidth=1.0, center=[1, 2], spread=np.array([0.5, 1.5]))
    assert (kernel.center, kernel.spread) == ((1.0, 2.0), (0.5, 1.5))
    assert json.loads(json.dumps(kernel.spec()))["spread"] == [0.5, 1.5]
    for options in ({"center": [1.0]}, {"center": [1.0], "spread": [1.0, 2.0]}, {"center": [1.0], "spread": [0.0]}):
        with pytest.raises(InputError, match="center"):
            Entropy(bandwidth=1.0, **options)
