"""Medoids and silhouettes of a partition of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.labels import encoded_labels
from distkern.core.typing import Floats
from distkern.core.weights import sample_weights
from distkern.learners.matrices import training_matrix
from distkern.learners.memory import block_bytes, limited_to, require_memory
from distkern.operators.base import COPIES, BaseGram
from distkern.solvers.partition import partition_medoids, silhouettes


def kernel_medoids(gram: Any, labels: Any, *, kernel: Any = "precomputed", sample_weight: Any = None) -> dict[Any, int]:
    r"""Medoid of each cluster: the member with the least weighted sum of squared distances to all members.

    .. math:: \arg\min_{i \in c}\ \sum_{j \in c} w_j \|\varphi(x_i) - \varphi(x_j)\|^2

    Parameters
    ----------
    gram
        Gram matrix or array, (m, m), which is read in one pass; or samples (m, n) if there is a kernel.
    labels
        Cluster of each sample, (m,).
    kernel
        ``"precomputed"``, or the kernel of the samples.
    sample_weight
        Weight of each sample, (m,). A sample of weight 0 cannot be a medoid.

    Returns
    -------
    dict
        Position of the medoid by label.

    Raises
    ------
    InputError
        If the matrix is not square and symmetric, a label is missing, or labels or weights have another length or the
        names of other samples.

    See Also
    --------
    KernelKMeans : The clusters.
    consensus_ranking : A ranking that need not be one of the samples.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0, 10.0, 11.0, 13.0])
    >>> kernel_medoids(np.outer(x, x), ["left"] * 3 + ["right"] * 3)
    {'left': 1, 'right': 4}
    """
    matrix = training_matrix(gram, kernel)
    weights, kept = sample_weights(sample_weight, matrix)
    names, codes = encoded_labels(labels, matrix)
    found = partition_medoids(matrix, codes, weights, len(names))
    present = set(codes[kept].tolist())
    return {name: int(found[code]) for code, name in enumerate(names.tolist()) if code in present}


def kernel_silhouette(
    gram: Any,
    labels: Any,
    *,
    kernel: Any = "precomputed",
    sample_weight: Any = None,
    squared: bool = False,
    memory_limit: int | str | None = None,
) -> Floats:
    r"""Silhouette of each sample, (m,), between −1 and 1; large if its own cluster is much nearer than all others.

    .. math::

        s(x) = \frac{b(x) - a(x)}{\max(a(x), b(x))}, \qquad d(x, y)^2 = k(x, x) + k(y, y) - 2 k(x, y)

    where a(x) is the mean distance to the other samples of its cluster, and b(x) the least mean distance to the samples
    of another cluster. The silhouette of a sample that is alone in its cluster is 0. Exact, in one pass over the tiles.
    Rousseeuw, J. Computational and Applied Mathematics 20 (1987).

    Parameters
    ----------
    gram
        Gram matrix or array, (m, m); or samples (m, n) if there is a kernel.
    labels
        Cluster of each sample, (m,); at least two clusters.
    kernel
        ``"precomputed"``, or the kernel of the samples.
    sample_weight
        Multiplicity of each sample, (m,), integers. The mean silhouette is then
        ``np.average(kernel_silhouette(...), weights=sample_weight)``.
    squared
        Use squared distances d(x, y)². For Kendall's kernel they are proportional to the numbers of discordant pairs.
    memory_limit
        Memory to use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Raises
    ------
    InputError
        If there are fewer than two clusters, a label is missing, a weight is not an integer, or labels or weights have
        the names of other samples.
    MemoryLimitError
        If the distance sums do not fit in memory; raised before the matrix is read.

    See Also
    --------
    KernelKMeans : The clusters.
    distkern.plot.plot_silhouettes : The figure.
    sklearn.metrics.silhouette_samples : The same from distances in memory.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> kernel_silhouette(np.outer(x, x), [0, 0, 1, 1]).round(3)
    array([0.905, 0.895, 0.895, 0.905])
    """
    matrix = training_matrix(gram, kernel, memory_limit)
    weights = whole_weights(sample_weight, matrix)
    names, codes = encoded_labels(labels, matrix)
    if len(np.unique(codes[weights > 0])) < 2:
        raise InputError(f"got one cluster of {len(codes)} samples: silhouettes compare two or more")
    require_silhouette_memory(matrix, len(names), memory_limit)
    with limited_to(memory_limit):
        return silhouettes(matrix, [codes], weights, squared=squared)[0]


def require_silhouette_memory(gram: BaseGram, clusters: int, limit: int | str | None) -> None:
    """Refuse silhouettes that do not fit in memory; ``clusters`` counts the clusters of all partitions."""
    needed = 3 * 8 * len(gram) * clusters + block_bytes(*gram.shape, COPIES, limit)
    require_memory(needed, limit, f"the silhouettes of {len(gram):,} samples in {clusters} clusters")


def whole_weights(sample_weight: Any, samples: Any) -> Floats:
    """Validate sample weights that are multiplicities, so integers."""
    weights, _ = sample_weights(sample_weight, samples)
    if not (weights == np.round(weights)).all():
        raise InputError("sample_weight must hold whole numbers here: how many samples each one stands for")
    return weights
