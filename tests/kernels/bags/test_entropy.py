"""The entropy kernel: printed form, Jensen–Shannon divergence, and random draws."""

import math

import naive_bags as naive
import numpy as np
from contracts import BagContract
from hypothesis import given
from strategies import bag_rows

from distkern import (
    Bags,
    Entropy,
)


class TestEntropy(BagContract):
    kernel = Entropy(beta=1.3)
    tolerance = 1e-12

    def naive(self, x, y):
        return naive.entropy_kernel(naive.bag_of(x), naive.bag_of(y), 1.3)


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
