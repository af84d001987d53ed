"""Naive twins of the kernels between bags: the printed forms of the papers, on sets given as (weights, points)."""

import math

import numpy as np

from distkern.core.bags import split_rows


def bag_of(row):
    """Weights and points of a row of numbers, as lists."""
    weights, points = split_rows(np.array([row]))
    weighted = weights[0] > 0
    return weights[0][weighted].tolist(), points[0][weighted].tolist()


def bag_moments(weights, points):
    """Mean and covariance of a weighted set."""
    total, d, bag = math.fsum(weights), len(points[0]), list(zip(weights, points, strict=True))
    mean = [math.fsum(w * x[a] for w, x in bag) / total for a in range(d)]
    covariance = [
        [
            math.fsum(w * (x[a] - mean[a]) * (x[b] - mean[b]) for w, x in zip(weights, points, strict=True)) / total
            for b in range(d)
        ]
        for a in range(d)
    ]
    return np.array(mean), np.array(covariance)


def bhattacharyya(p, q, eta):
    (m, S), (n, T) = bag_moments(*p), bag_moments(*q)
    S, T = S + eta * np.eye(len(m)), T + eta * np.eye(len(m))
    # the printed form of the paper, with Σ† and μ†
    inverse, other = np.linalg.inv(S), np.linalg.inv(T)
    dagger = np.linalg.inv(inverse / 2 + other / 2)
    center = inverse @ m / 2 + other @ n / 2
    exponent = -m @ inverse @ m / 4 - n @ other @ n / 4 + center @ dagger @ center / 2
    return (np.linalg.det(S) * np.linalg.det(T)) ** -0.25 * np.linalg.det(dagger) ** 0.5 * math.exp(exponent)


def mixture(p, q):
    """(μ + μ')/2 of two weighted sets, each normalised to mass 1."""
    weights = [w / math.fsum(p[0]) / 2 for w in p[0]] + [w / math.fsum(q[0]) / 2 for w in q[0]]
    return weights, list(p[1]) + list(q[1])


def generalized_variance(p, q, eta):
    return 1 / np.linalg.det(bag_moments(*mixture(p, q))[1] / eta + np.eye(len(p[1][0])))


def kernel_igv(p, q, eta, base):
    """1 / det(K̃Δ/η + I) on all points of both sets, as printed in the paper."""
    weights, points = mixture(p, q)
    count, delta = len(points), np.diag(weights)
    K = np.array([[base(x, y) for y in points] for x in points])
    H = np.eye(count) - np.ones((count, count)) @ delta
    return 1 / np.linalg.det(H @ K @ H.T @ delta / eta + np.eye(count))


def mean_map(p, q, base):
    total = math.fsum(p[0]) * math.fsum(q[0])
    return math.fsum(w * v * base(x, y) for w, x in zip(*p, strict=True) for v, y in zip(*q, strict=True)) / total


def shannon(shares):
    return -math.fsum(share * math.log(share) for share in shares if share > 0)


def share_of(bag, atom):
    return math.fsum(w for w, x in zip(*bag, strict=True) if tuple(x) == atom) / math.fsum(bag[0])


def entropy_kernel(p, q, beta):
    atoms = sorted({tuple(x) for x in p[1]} | {tuple(x) for x in q[1]})
    f, g = ([share_of(bag, atom) for atom in atoms] for bag in (p, q))
    mixed = [(a + b) / 2 for a, b in zip(f, g, strict=True)]
    return math.exp(-beta * (shannon(mixed) - (shannon(f) + shannon(g)) / 2))
