"""Naive twins of explanations: the entry of each pair of features in each sample, and sums of them, by loops."""

import math
from itertools import combinations

import naive


def entries(kernel, X):
    """φ_ij of each sample as a dict from (i, j), i < j, for the kernels that are sums over pairs."""
    return [{pair: kernel(list(x), *pair) for pair in combinations(range(len(x)), 2)} for x in X]


def sign(x, i, j):
    return float(naive.direction(x, i, j))


def zero(x, i, j):
    """Kendall's kernel: signs over sqrt(C(n, 2))."""
    return naive.direction(x, i, j) / math.sqrt(math.comb(len(x), 2))


def tau_b(x, i, j):
    """Signs over the square root of the number of untied pairs."""
    untied = sum(naive.direction(x, *pair) != 0 for pair in combinations(range(len(x)), 2))
    return naive.direction(x, i, j) / math.sqrt(untied)


def partial(kind):
    def phi(x, i, j):
        return float(naive.expected_direction(x, i, j, kind)) / math.sqrt(math.comb(len(x), 2))

    return phi


def smoothed(window):
    """Uniform noise: 2u − u² with u = min(t / window, 1), odd in t."""

    def phi(x, i, j):
        t = x[i] - x[j]
        u = min(abs(t) / window, 1.0)
        return math.copysign(2 * u - u * u, t) / math.sqrt(math.comb(len(x), 2))

    return phi


def inner(one, other):
    return math.fsum(one[pair] * other[pair] for pair in one)


def combined(coefficients, vectors):
    """Σ_s c_s φ(x_s), as a dict."""
    return {pair: math.fsum(c * v[pair] for c, v in zip(coefficients, vectors, strict=True)) for pair in vectors[0]}


def standardized(vectors, training, center, unit_norm):
    """(φ − μ) / ν of each vector, with the mean of the training vectors."""
    mean = combined([1 / len(training)] * len(training), training) if center else dict.fromkeys(training[0], 0.0)
    found = []
    for vector in vectors:
        moved = {pair: vector[pair] - mean[pair] for pair in vector}
        norm = math.sqrt(inner(moved, moved)) if unit_norm else 1.0
        found.append({pair: value / norm for pair, value in moved.items()})
    return found


def heaviest(numbers, k):
    """The k pairs of the largest absolute numbers: by size, then by the pair; zeros are none."""
    ranked = sorted((pair for pair in numbers if numbers[pair] != 0), key=lambda pair: (-abs(numbers[pair]), pair))
    return ranked[:k]


def of_feature(numbers, i, turned=1):
    """v_ij over all j, where v_ji is ``turned`` times v_ij."""
    return [value if pair[0] == i else turned * value for pair, value in numbers.items() if i in pair]
