"""What a partition of the samples of a Gram matrix is like: its medoids and silhouettes."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.checks import as_training_gram, memory_at_work, require_memory, sample_weights
from distkern.operators.base import BaseGram
from distkern.solvers.partition import partition_medoids, silhouettes


def kernel_medoids(gram: Any, labels: Any, *, sample_weight: Any = None) -> dict[Any, int]:
    r"""Position of the medoid of each cluster, by label: the member with the least mean squared distance from all.

    .. math:: \arg\min_{i \in c}\ \sum_{j \in c} w_j \|\varphi(x_i) - \varphi(x_j)\|^2

    Parameters
    ----------
    gram
        Gram matrix or array of kernel values, (m, m); it is read in one pass.
    labels
        Cluster of each sample, (m,).
    sample_weight
        Weight of each sample, (m,); one of weight 0 is no medoid.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0, 10.0, 11.0, 13.0])
    >>> kernel_medoids(np.outer(x, x), ["left"] * 3 + ["right"] * 3)
    {'left': 1, 'right': 4}
    """
    matrix = as_training_gram(gram)
    weights, kept = sample_weights(sample_weight, len(matrix))
    names, places = as_labels(labels, len(matrix))
    found = partition_medoids(matrix, places, weights, len(names))
    present = set(places[kept].tolist())
    return {name.item(): int(found[place]) for place, name in enumerate(names) if place in present}


def kernel_silhouette(
    gram: Any, labels: Any, *, sample_weight: Any = None, squared: bool = False, memory_limit: int | str | None = None
) -> Floats:
    r"""Silhouette of each sample, (m,): how much nearer its own cluster is than the nearest other one, from −1 to 1.

    .. math::

        s(x) = \frac{b(x) - a(x)}{\max(a(x), b(x))}, \qquad d(x, y)^2 = k(x, x) + k(y, y) - 2 k(x, y)

    with a(x) the mean distance from the other samples of its cluster and b(x) the least mean distance from those of
    another one; 0 for a sample alone in its cluster. Exact, in one pass over the tiles. Rousseeuw, J. Computational and
    Applied Mathematics 20 (1987).

    Parameters
    ----------
    gram
        Gram matrix or array of kernel values, (m, m).
    labels
        Cluster of each sample, (m,); two clusters or more.
    sample_weight
        How many samples each one stands for, (m,), in whole numbers. Their mean silhouette is
        ``np.average(kernel_silhouette(...), weights=sample_weight)``.
    squared
        Use squared distances, d(x, y)², instead: for Kendall's kernel they are the numbers of discordant pairs but for
        a factor, which does not count here.
    memory_limit
        Bytes, or text such as ``"2GiB"``, that may be taken; half of the memory available when not given.

    Raises
    ------
    InputError
        If there are fewer than two clusters, or the weights are no whole numbers.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> kernel_silhouette(np.outer(x, x), [0, 0, 1, 1]).round(3)
    array([0.905, 0.895, 0.895, 0.905])
    """
    matrix = as_training_gram(gram)
    weights = whole_weights(sample_weight, len(matrix))
    names, places = as_labels(labels, len(matrix))
    if len(np.unique(places[weights > 0])) < 2:
        raise InputError(f"got one cluster of {len(places)} samples: silhouettes compare two or more")
    require_silhouette_memory(matrix, len(names), memory_limit)
    return silhouettes(matrix, [places], weights, squared=squared)[0]


def require_silhouette_memory(gram: BaseGram, clusters: int, limit: int | str | None) -> None:
    """Refuse silhouettes of partitions with so many clusters in all where they do not fit."""
    needed = 3 * 8 * len(gram) * clusters + memory_at_work(len(gram), len(gram), 4)
    require_memory(needed, limit, f"the silhouettes of {len(gram):,} samples in {clusters} clusters")


def as_labels(labels: Any, samples: int) -> tuple[Array, Indices]:
    """Names of the clusters, sorted, and which of them each sample is in."""
    given = np.asarray(labels)
    if given.shape != (samples,):
        raise InputError(f"got labels of shape {given.shape} for {samples} samples: give one for each")
    names, places = np.unique(given, return_inverse=True)
    return names, places


def whole_weights(sample_weight: Any, samples: int) -> Floats:
    """Check weights that say how many samples each one stands for."""
    weights, _ = sample_weights(sample_weight, samples)
    if not (weights == np.round(weights)).all():
        raise InputError("sample_weight must hold whole numbers here: how many samples each one stands for")
    return weights
