"""What a partition of samples is like, from kernel values alone: medoids and silhouettes, each in one pass."""

from __future__ import annotations

import numpy as np

from distkern.core.typing import Floats, Indices
from distkern.matrix.base import BaseGram
from distkern.solvers.distances import not_finite, squared_distances
from distkern.solvers.lloyd import medoids, shares


def partition_medoids(gram: BaseGram, labels: Indices, weights: Floats, n_clusters: int) -> Indices:
    """Position of the sample in each cluster with the least mean squared distance from its members, (k,).

    That is the one nearest to the centre, so one product with k vectors tells it.
    """
    samples = np.arange(len(labels))
    coefficients = np.zeros((len(labels), n_clusters))
    coefficients[samples, labels] = shares(labels, weights)
    products = gram.matmat(coefficients)
    if not np.isfinite(products).all():
        raise not_finite()
    norms = np.einsum("ic,ic->c", coefficients, products)
    own = gram.diag() + norms[labels] - 2 * products[samples, labels]
    return medoids(labels, own, weights, n_clusters)


def silhouettes(gram: BaseGram, partitions: list[Indices], weights: Floats, *, squared: bool = False) -> list[Floats]:
    """Silhouette of each sample in each of several partitions, in one pass over the tiles.

    Distances sqrt(k(x, x) + k(y, y) − 2 k(x, y)) are no linear function of the matrix, so it is read tile by tile; the
    sums of distances to each cluster of all partitions, (m, Σ k), are all that is held.

    Parameters
    ----------
    gram
        Kernel values between the m samples.
    partitions
        Labels 0, 1, … of the samples, (m,) each.
    weights
        How many samples each one stands for, (m,).
    squared
        Use the squared distances, which for Kendall's kernel are the numbers of discordant pairs but for a factor.
    """
    diagonal, samples = gram.diag(), len(weights)
    sizes = [int(labels.max()) + 1 for labels in partitions]
    first = np.cumsum([0, *sizes])
    indicators = np.zeros((samples, first[-1]))
    for start, labels in zip(first, partitions, strict=False):
        indicators[np.arange(samples), start + labels] = weights
    sums = np.zeros_like(indicators)
    for rows, cols, values in gram.tiles():
        distances = squared_distances(values, diagonal[rows], diagonal[cols])
        distances[np.equal.outer(rows, cols)] = 0.0
        sums[rows] += (distances if squared else np.sqrt(distances)) @ indicators[cols]
    masses = indicators.sum(axis=0)
    return [
        _silhouette(sums[:, start : start + size], masses[start : start + size], labels, weights)
        for start, size, labels in zip(first, sizes, partitions, strict=False)
    ]


def _silhouette(sums: Floats, masses: Floats, labels: Indices, weights: Floats) -> Floats:
    """(b − a) / max(a, b): a the mean distance to the others of the own cluster, b to those of the nearest other."""
    samples = np.arange(len(labels))
    others = masses[labels] - (weights > 0)  # of what a sample stands for all but itself
    alone = others <= 0
    inside = sums[samples, labels] / np.where(alone, 1.0, others)
    means = sums / np.where(masses > 0, masses, np.nan)
    means[samples, labels] = np.nan
    outside = np.nanmin(means, axis=1)
    widest = np.maximum(inside, outside)
    return np.where(alone | (widest == 0), 0.0, (outside - inside) / np.where(widest == 0, 1.0, widest))
