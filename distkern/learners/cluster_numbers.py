"""How many clusters: inertia, silhouette and gap by the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.io.source import as_source
from distkern.kernels.base import Kernel
from distkern.kernels.kendall import OrderingKernel
from distkern.learners.checks import memory_allowed, read_matrix, require_memory
from distkern.learners.cluster import KernelKMeans, generators_of
from distkern.learners.partition import as_training_gram, require_silhouette_memory, whole_weights
from distkern.matrix.array import ArrayGram
from distkern.matrix.base import BaseGram
from distkern.matrix.lowrank import ArrayFeatures, LowRankGram
from distkern.solvers.lloyd import Clustering, best_of, lloyd, memory_of_a_start, plus_plus
from distkern.solvers.partition import silhouettes

Reference = Literal["rankings", "features", "components"]
REFERENCES = ("rankings", "features", "components")

NULL = 1e-10
"""Components whose variance is below this fraction of the largest one are rounding."""


@dataclass(frozen=True)
class ClusterNumbers:
    """What kernel k-means finds for several numbers of clusters.

    Parameters
    ----------
    n_clusters
        The numbers k, ascending.
    labels
        Cluster of each sample for every k, (numbers, m).
    inertia
        Sum of squared distances from the centres; it falls with k, and the elbow of its curve is one way to choose.
    silhouette
        Mean silhouette of the samples; NaN for one cluster.
    gap
        Gap statistic: mean logarithm of the inertia of reference data, less that of the data. NaN without references.
    gap_error
        Its standard error s_k, which counts the spread of the references.
    reference
        What the references were, or None.
    passes
        Passes over the matrix of all k together, that for the silhouettes included.
    """

    n_clusters: Indices
    labels: Indices
    inertia: Floats
    silhouette: Floats
    gap: Floats
    gap_error: Floats
    reference: Reference | None
    passes: int

    @property
    def by_silhouette(self) -> int:
        """Number of clusters with the highest mean silhouette."""
        if np.isnan(self.silhouette).all():
            raise InputError("silhouettes compare two clusters or more: ask for such numbers of clusters")
        return int(self.n_clusters[np.nanargmax(self.silhouette)])

    @property
    def by_gap(self) -> int:
        """Least k with gap(k) ≥ gap(k') − s(k'), k' the next number, as Tibshirani and others choose; else the last."""
        if self.reference is None:
            raise InputError("there is no gap without reference data: ask for references=20, say")
        enough = self.gap[:-1] >= self.gap[1:] - self.gap_error[1:]
        return int(self.n_clusters[np.argmax(np.append(enough, True))])

    def table(self) -> list[dict[str, float | None]]:
        """Rows by k, JSON-ready: n_clusters, inertia, silhouette, gap, gap_error; None where there is no number."""
        columns = {name: getattr(self, name) for name in ("inertia", "silhouette", "gap", "gap_error")}
        return [
            {"n_clusters": int(k)}
            | {name: None if np.isnan(values[row]) else float(values[row]) for name, values in columns.items()}
            for row, k in enumerate(self.n_clusters)
        ]


def cluster_numbers(
    X: Any,
    n_clusters: Iterable[int] = range(1, 11),
    *,
    kernel: Any = "precomputed",
    sample_weight: Any = None,
    references: int = 0,
    reference: Reference | None = None,
    squared: bool = False,
    n_init: int = 10,
    max_iter: int = 300,
    tol: float = 1e-5,
    random_state: Any = None,
    memory_limit: int | str | None = None,
) -> ClusterNumbers:
    r"""Cluster for several numbers of clusters k and say how good each is.

    .. math::

        \mathrm{gap}(k) = \tfrac1B \sum_b \log W_{kb} - \log W_k, \qquad
        s_k = \sqrt{1 + 1/B}\ \mathrm{sd}_b(\log W_{kb})

    with W_k the inertia of the data and W_kb that of reference data without clusters. Tibshirani, Walther and Hastie,
    J. R. Statist. Soc. B 63 (2001). All k and all starts share each pass over the matrix, and seeds: the partition for
    a k is that of ``KernelKMeans(k)`` with the same random state. One more pass tells all silhouettes.

    Parameters
    ----------
    X
        Gram matrix or array (m, m); or samples (m, n), where there is a kernel.
    n_clusters
        Numbers k to try.
    kernel
        As in `KernelKMeans`.
    sample_weight
        How many samples each one stands for, (m,), in whole numbers.
    references
        B, the number of reference data sets; none by default.
    reference
        Their distribution, for as many samples as the data stand for. ``"rankings"``: uniformly random rankings, the
        default where the kernel sees orderings. ``"features"``: uniform over the range of each feature, the default of
        other kernels. ``"components"``: uniform over the range of each principal component in feature space, the
        default and only choice for a matrix, which is read into memory for them.
    squared
        Silhouettes of squared distances; see `kernel_silhouette`.
    n_init, max_iter, tol, random_state, memory_limit
        As in `KernelKMeans`.

    Raises
    ------
    InputError
        If a number of clusters exceeds that of samples, or the reference does not fit X.
    MemoryLimitError
        If one start of each k does not fit the memory allowed, or the matrix for ``"components"`` does not.

    Examples
    --------
    >>> x = np.concatenate([np.arange(0.0, 1.0, 0.1), np.arange(9.0, 10.0, 0.1)])
    >>> found = cluster_numbers(np.outer(x, x), range(1, 5), references=10, random_state=0)
    >>> found.by_silhouette, found.by_gap
    (2, 2)
    """
    gram, resolved = _matrix_of(X, kernel, memory_limit)
    weights = whole_weights(sample_weight, len(gram))
    numbers = _numbers(n_clusters, int(np.count_nonzero(weights)))
    options = {"n_init": n_init, "max_iter": max_iter, "tol": tol, "memory_limit": memory_limit}
    random = np.random.default_rng([] if random_state is None else generators_of(random_state, 1)[0].integers(2**31))
    require_silhouette_memory(gram, sum(numbers), memory_limit)
    found, passes = _partitions(gram, weights, numbers, random_state=random_state, **options)
    labels, inertia = np.array([run.labels for run in found]), np.array([run.inertia for run in found])
    silhouette = _mean_silhouettes(gram, labels, weights, squared)
    gap = gap_error = np.full(len(numbers), np.nan)
    if references:
        reference = _reference(reference, resolved)
        draw = _Draws(X, gram, resolved, weights, reference, memory_limit)
        logs = np.empty((references, len(numbers)))
        for row in logs:
            drawn, counts = draw(random)
            runs, _ = _partitions(drawn, counts, numbers, random_state=random.integers(2**31), **options)
            row[:] = np.log([run.inertia for run in runs])
        gap = logs.mean(axis=0) - np.log(inertia)
        gap_error = np.sqrt(1 + 1 / references) * logs.std(axis=0)
    return ClusterNumbers(
        np.array(numbers), labels, inertia, silhouette, gap, gap_error, reference if references else None, passes + 1
    )
