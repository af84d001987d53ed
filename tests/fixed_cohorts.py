"""Computations on fixed inputs: what an earlier version of the code stored of them is committed beside the tests."""

import numpy as np
from scipy.sparse import csr_array

import distkern as dk


def numbers(seed, *shape):
    """Whole numbers in [0, 2^32) by a 64-bit linear congruential generator: the same on every version of NumPy."""
    state, out = seed, np.empty(int(np.prod(shape)), dtype=np.int64)
    for place in range(len(out)):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        out[place] = state >> 32
    return out.reshape(shape)


def values(seed, *shape):
    """Values in [-1, 1), of 32 bits."""
    return numbers(seed, *shape) / 2.0**31 - 1


def sparse_counts(seed, m, n):
    """Counts of which a fifth is not zero."""
    drawn = numbers(seed, m, n)
    return csr_array(np.where(drawn % 5 == 0, drawn // 5 % 7, 0).astype(float))


def rankings(seed, m, n):
    return np.argsort(numbers(seed, m, n), axis=1).argsort(axis=1) + 1.0


INTEGER = {
    "no ties, 40 features": lambda: values(1, 30, 40),
    "no ties, 300 features": lambda: values(2, 21, 300),
    "ties, 9 levels": lambda: (numbers(3, 33, 50) % 9).astype(float),
    "ties, 2 levels and infinities": lambda: np.where(numbers(4, 18, 40) % 3 == 0, np.inf, numbers(5, 18, 40) % 2),
    "no ties, 70,000 features": lambda: values(6, 3, 70_000),
    "ties, 66,000 features": lambda: (numbers(7, 3, 66_000) % 1000).astype(float),
    "zeros left out": lambda: sparse_counts(8, 26, 120),
    "equal samples": lambda: (numbers(9, 6, 20) % 5).astype(float)[numbers(10, 40) % 6],
}
"""Cohorts whose stored concordance is compared byte by byte, by name."""


def bags(seed, count, dimension):
    sizes = numbers(seed, count) % 5 + 2
    return dk.Bags.from_arrays([values(seed + 1 + k, size, dimension) for k, size in enumerate(sizes.tolist())])


X = values(11, 14, 8)
TIED = (numbers(12, 14, 8) % 4).astype(float)
PARTIAL = np.where(numbers(13, 14, 8) % 4 == 0, np.nan, X)
RANKS = rankings(14, 14, 7)
BAGS = bags(15, 9, 2)
HISTOGRAMS = dk.Bags.from_arrays(
    [numbers(40 + k, 4, 2) % 3 for k in range(9)], weights=[numbers(60 + k, 4) % 9 + 1.0 for k in range(9)]
)

FLOATING = {
    "linear": (dk.Linear(), X),
    "polynomial": (dk.Polynomial(3, 0.5), X),
    "gaussian": (dk.Gaussian(0.7), X),
    "gaussian, median": (dk.Gaussian("median"), X),
    "sum": (dk.Kendall() + 0.5 * dk.Gaussian(1.0), X),
    "product": (dk.Kendall() * dk.Linear(), X),
    "power": (dk.Kendall() ** 2, X),
    "normalized": (dk.Linear().normalized(), X),
    "partial kendall": (dk.PartialKendall("interleaving"), PARTIAL),
    "partial mallows": (dk.PartialMallows(0.1, "interleaving"), PARTIAL),
    "smoothed, uniform": (dk.SmoothedKendall(0.3), X),
    "smoothed, gaussian": (dk.SmoothedKendall(0.3, noise="gaussian"), X),
    "smoothed, laplace": (dk.SmoothedKendall(0.3, noise="laplace"), X),
    "smoothed, Monte Carlo": (dk.SmoothedKendall(0.3, method="monte-carlo", draws=20, seed=1), X),
    "equal rank": (dk.EqualRank(), RANKS),
    "diffusion": (dk.Diffusion(0.3), RANKS),
    "weighted, additive": (dk.WeightedKendall("additive"), RANKS),
    "weighted, multiplicative": (dk.WeightedKendall("multiplicative"), RANKS),
    "weighted, average": (dk.WeightedKendall("average"), RANKS),
    "bhattacharyya": (dk.Bhattacharyya(0.1), BAGS),
    "generalized variance": (dk.GeneralizedVariance(0.1), BAGS),
    "exponential family": (dk.ExponentialFamily(2.0), BAGS),
    "mean map": (dk.MeanMap(dk.Gaussian(0.5)), BAGS),
    "k-IGV": (dk.KernelIGV(dk.Gaussian(0.5), 0.1), BAGS),
    "k-B": (dk.KernelBhattacharyya(dk.Gaussian(0.5)), BAGS),
    "entropy": (dk.Entropy(1.0), HISTOGRAMS),
    "low rank": (dk.LowRank(dk.Gaussian(0.5)), X),
}
"""Kernels with their samples, whose values are compared to 1e-12, by name."""
