"""Medoids and silhouettes of a partition, each in one pass over the Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.operators.pairwise import PairWork, SampleArrays, State
from distkern.solvers.distances import least_allowed, squared_distances
from distkern.solvers.lloyd import medoids, shares


def partition_medoids(gram: BaseGram, labels: Indices, weights: Floats, n_clusters: int) -> Indices:
    """Position of the medoid of each cluster, (k,), by one product with k vectors.

    The medoid has the least mean squared distance to the members of its cluster; it is the member nearest to the
    centre.
    """
    samples = np.arange(len(labels))
    coefficients = np.zeros((len(labels), n_clusters))
    coefficients[samples, labels] = shares(labels, weights)
    products = finite(gram.matmat(coefficients))
    norms = np.einsum("ic,ic->c", coefficients, products)
    own = gram.diag() + norms[labels] - 2 * products[samples, labels]
    return medoids(labels, own, weights, n_clusters)


@dataclass(frozen=True)
class DistanceSums(PairWork):
    """Σ_y d(x, y) mass(y) for each sample x and each column of "masses", (m, columns).

    Parameters
    ----------
    columns
        Number of columns.
    squared
        Use squared distances.
    floor
        Least (negative) squared distance that is attributed to rounding.
    """

    columns: int
    squared: bool
    floor: float

    @property
    def bytes_per_sample(self) -> int:
        """Bytes of the partial sums for each sample."""
        return 8 * self.columns

    def initial(self, samples: int) -> State:
        """Initialise the sums with zeros."""
        return (np.zeros((samples, self.columns)),)

    def add(self, state: State, mirror: State | None, values: Floats, own: SampleArrays, other: SampleArrays) -> None:
        """Add the distances of a tile."""
        distances = squared_distances(values, own, other, self.floor)
        if not self.squared:
            np.sqrt(distances, out=distances)
        state[0][:] += distances @ other["masses"]
        if mirror is not None:
            mirror[0][:] += distances.T @ own["masses"]

    def merge(self, state: State, part: State) -> None:
        """Add partial sums."""
        state[0][:] += part[0]


def silhouettes(gram: BaseGram, partitions: list[Indices], weights: Floats, *, squared: bool = False) -> list[Floats]:
    """Silhouette of each sample in each of several partitions, in one pass over the tiles.

    Distances sqrt(k(x, x) + k(y, y) − 2 k(x, y)) are not linear in the matrix, so this is a map-reduce over tiles
    instead of a product. Only the sums of distances to each cluster of all partitions, (m, Σ k), are transferred.

    Parameters
    ----------
    gram
        Kernel values between the m samples.
    partitions
        Labels 0, 1, … of the samples, (m,) each.
    weights
        Multiplicity of each sample, (m,).
    squared
        Use squared distances, which are proportional to the numbers of discordant pairs for Kendall's kernel.
    """
    diagonal, samples = gram.diag(), np.arange(len(weights))
    sizes = [int(labels.max()) + 1 for labels in partitions]
    first = np.cumsum([0, *sizes])
    masses = np.zeros((len(weights), first[-1]))
    for start, labels in zip(first, partitions, strict=False):
        masses[samples, start + labels] = weights
    work = DistanceSums(int(first[-1]), squared, least_allowed(diagonal))
    (sums,) = gram.map_reduce(work, {"diagonal": diagonal}, {"masses": masses})
    return [
        _silhouette(sums[:, start : start + size], masses[:, start : start + size].sum(axis=0), labels, weights)
        for start, size, labels in zip(first, sizes, partitions, strict=False)
    ]


def _silhouette(sums: Floats, masses: Floats, labels: Indices, weights: Floats) -> Floats:
    """(b − a) / max(a, b), where a and b are the mean distances to the own cluster and the nearest other cluster."""
    samples = np.arange(len(labels))
    others = masses[labels] - (weights > 0)  # multiplicity of the cluster without the sample itself
    alone = others <= 0
    inside = sums[samples, labels] / np.where(alone, 1.0, others)
    means = sums / np.where(masses > 0, masses, np.nan)
    means[samples, labels] = np.nan
    outside = np.nanmin(means, axis=1)
    widest = np.maximum(inside, outside)
    return np.where(alone | (widest == 0), 0.0, (outside - inside) / np.where(widest == 0, 1.0, widest))
