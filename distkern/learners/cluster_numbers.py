"""Inertia, silhouette, gap statistic and stability of kernel k-means for several numbers of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from distkern.core.errors import InputError
from distkern.core.events import Listener, Progress, silent
from distkern.core.parameters import entries, one_of, whole_number
from distkern.core.sentences import OptionalPart, Parameter, Sentence
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.core.warning import warn
from distkern.io.source import as_source
from distkern.kernels.base import Kernel
from distkern.kernels.kendall import OrderingKernel
from distkern.kernels.partial import PartialKernel
from distkern.learners.ballots import weights_or_counts
from distkern.learners.kmeans import KernelKMeans, generators_of
from distkern.learners.memory import memory_allowed, read_matrix, require_memory, within_limit
from distkern.learners.partition import require_silhouette_memory, whole_weights
from distkern.learners.validation import as_training_gram
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.lowrank import ArrayFeatures, LowRankGram
from distkern.solvers.lloyd import Clustering, best_of, lloyd, medoids, memory_of_a_start, plus_plus
from distkern.solvers.partition import silhouettes

Reference = Literal["rankings", "features", "components"]
REFERENCES = ("rankings", "features", "components")

EQUAL = 1e-12
"""Stabilities that differ by less than this are equal up to rounding."""

NULL = 1e-10
"""A component with a variance below this fraction of the largest one is caused by rounding."""


@dataclass(frozen=True, repr=False)
class ClusterNumbers:
    """Results of kernel k-means for several numbers of clusters.

    Parameters
    ----------
    n_clusters
        Numbers of clusters k, ascending, (numbers,).
    labels
        Cluster of each sample for each k, (numbers, m).
    medoids
        Positions of the medoids for each k, an array (k,); −1 for a cluster without samples.
    inertia
        Sum of squared distances to the centres for each k, (numbers,).
    silhouette
        Mean silhouette of the samples for each k, (numbers,); NaN for k = 1.
    gap
        Gap statistic for each k, (numbers,): mean log inertia of reference data minus log inertia of the data. NaN
        without references.
    gap_error
        Standard error s_k of the gap statistic, (numbers,).
    reference
        Distribution of the reference data, or None.
    silhouettes
        Silhouette of each sample for each k, (numbers, m); NaN for k = 1.
    stability
        Mean over the clusters of ``jaccard`` for each k, (numbers,); NaN without resamples and for k = 1.
    jaccard
        For each k the stability of each cluster, an array (k,); NaN for a cluster that was never drawn. Empty without
        resamples.
    resampled
        Cluster of each sample in each resample for each k, (numbers, resamples, m); −1 where it was not drawn.
    settings
        Arguments of `cluster_numbers`, JSON-ready.

    See Also
    --------
    cluster_numbers : Makes it.
    """

    n_clusters: Indices
    labels: Indices
    medoids: tuple[Indices, ...]
    inertia: Floats
    silhouette: Floats
    gap: Floats
    gap_error: Floats
    reference: Reference | None
    silhouettes: Floats
    stability: Floats
    jaccard: tuple[Floats, ...]
    resampled: Array
    settings: Spec

    def labels_of(self, k: int) -> Indices:
        """Cluster of each sample for k clusters, (m,), such as ``found.labels_of(found.by_silhouette)``.

        Raises
        ------
        InputError
            If k is none of ``n_clusters``.
        """
        return np.asarray(self.labels[self._row(k)])

    def together(self, k: int) -> Floats:
        """Consensus matrix for k clusters, (m, m): of the resamples with both samples, the share that join them.

        Source: Monti, Tamayo, Mesirov & Golub, *Consensus clustering*, Machine Learning 52 (2003). NaN where no
        resample has both.

        Raises
        ------
        InputError
            If k is none of ``n_clusters``, or there are no resamples.
        """
        self._refuse_without_resamples()
        drawn = self.resampled[self._row(k)]
        require_memory(24 * drawn.shape[1] ** 2, None, f"a consensus matrix of {drawn.shape[1]:,} samples")
        joint, both = np.zeros((2, drawn.shape[1], drawn.shape[1]), dtype=np.float32)
        for labels in drawn:
            members = (labels[:, None] == np.arange(k)).astype(np.float32)
            joint += members @ members.T
            seen = (labels >= 0).astype(np.float32)
            both += np.outer(seen, seen)
        return np.divide(joint, both, out=np.full(joint.shape, np.nan), where=both > 0)

    @property
    def by_stability(self) -> int:
        """Number of clusters, two or more, with the highest mean stability; of equal ones the largest."""
        self._refuse_without_resamples()
        if np.isnan(self.stability).all():
            raise InputError("stability compares two clusters or more: ask for such numbers of clusters")
        best = np.nanmax(self.stability)
        return int(self.n_clusters[np.flatnonzero(self.stability >= best - EQUAL)[-1]])

    def _row(self, k: int) -> int:
        rows = np.flatnonzero(self.n_clusters == k)
        if not len(rows):
            raise InputError(f"there are no labels for {k!r} clusters: choose from {self.n_clusters.tolist()}")
        return int(rows[0])

    def _refuse_without_resamples(self) -> None:
        if not self.jaccard:
            raise InputError("there is no stability without resamples: ask for resamples=50, say")

    @property
    def by_silhouette(self) -> int:
        """Number of clusters with the highest mean silhouette."""
        if np.isnan(self.silhouette).all():
            raise InputError("silhouettes compare two clusters or more: ask for such numbers of clusters")
        return int(self.n_clusters[np.nanargmax(self.silhouette)])

    @property
    def by_gap(self) -> int:
        """Least k with gap(k) ≥ gap(k') − s(k'), where k' is the next number; the last number if there is no such k."""
        if self.reference is None:
            raise InputError("there is no gap without reference data: ask for references=20, say")
        enough = self.gap[:-1] >= self.gap[1:] - self.gap_error[1:]
        return int(self.n_clusters[np.argmax(np.append(enough, True))])

    def __repr__(self) -> str:
        numbers, samples = self.n_clusters.tolist(), self.labels.shape[1]
        found = [
            f"{samples:,} samples",
            f"n_clusters {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"n_clusters {numbers[0]}",
        ]
        if not np.isnan(self.silhouette).all():
            found.append(f"by_silhouette {self.by_silhouette}")
        if self.reference is not None:
            found.append(f"by_gap {self.by_gap}")
        if self.jaccard and not np.isnan(self.stability).all():
            found.append(f"by_stability {self.by_stability}")
        return f"<ClusterNumbers: {', '.join(found)}>"

    def table(self) -> list[dict[str, float | None]]:
        """One row for each k, JSON-ready: n_clusters and the measures of quality; None instead of NaN."""
        columns = {name: getattr(self, name) for name in ("inertia", "silhouette", "gap", "gap_error", "stability")}
        return [
            {"n_clusters": int(k)}
            | {name: None if np.isnan(values[row]) else float(values[row]) for name, values in columns.items()}
            for row, k in enumerate(self.n_clusters)
        ]


@within_limit
def cluster_numbers(
    X: Any,
    n_clusters: Iterable[int] = range(1, 11),
    *,
    kernel: Any = "precomputed",
    sample_weight: Any = None,
    references: int = 0,
    reference: Reference | None = None,
    resamples: int = 0,
    squared: bool = False,
    n_init: int = 10,
    max_iter: int = 300,
    tol: float = 1e-5,
    random_state: Any = None,
    memory_limit: int | str | None = None,
    on_event: Listener = silent,
) -> ClusterNumbers:
    r"""Cluster for several numbers of clusters k, and compute inertia, silhouette and gap statistic of each.

    .. math::

        \mathrm{gap}(k) = \tfrac1B \sum_b \log W_{kb} - \log W_k, \qquad
        s_k = \sqrt{1 + 1/B}\ \mathrm{sd}_b(\log W_{kb})

    where W_k is the inertia of the data and W_kb the inertia of the b-th of B reference data sets without clusters.
    Tibshirani, Walther and Hastie, J. R. Statist. Soc. B 63 (2001).

    The stability of a cluster c is the mean over bootstrap resamples of max_d #(c ∩ d) / #(c ∪ d), with d the clusters
    that kernel k-means finds in the resample, and both sets restricted to the samples drawn. Hennig, *Cluster-wise
    assessment of cluster stability*, Computational Statistics & Data Analysis 52 (2007): below 0.6 a cluster is no
    pattern of the data, from 0.85 on it is highly stable.

    All k and all starts share each pass over the matrix. The partition for k equals that of ``KernelKMeans(k)`` with
    the same random state. One more pass gives all silhouettes.

    Parameters
    ----------
    X
        Gram matrix or array (m, m); or samples (m, n) if there is a kernel.
    n_clusters
        Numbers of clusters k.
    kernel
        See `KernelKMeans`.
    sample_weight
        Multiplicity of each sample, (m,), integers; by default the counts of `Rankings`, else 1.
    references
        B, the number of reference data sets.
    reference
        Distribution of the reference data. ``"rankings"``: uniformly random rankings, the default for kernels of
        orderings; where some items have no value, as many have none in each, and as many are tied, as in the ballot
        that it stands for. ``"features"``: uniform over the range of each feature, the default for other kernels.
        ``"components"``: uniform over the range of each principal component in feature space; the default and only
        choice for a matrix, which is read into memory to compute them.
    resamples
        Number of bootstrap resamples for the stability: as many samples (or voters, by their weights) drawn with
        replacement.
    squared
        Compute silhouettes of squared distances; see `kernel_silhouette`.
    n_init, max_iter, tol, random_state, memory_limit
        See `KernelKMeans`.
    on_event
        Called with a `Progress` event after the samples, and after each reference data set and each resample.

    Raises
    ------
    InputError
        If a number of clusters exceeds the number of samples, or the reference is not possible for X.
    MemoryLimitError
        If one start of each k does not fit in memory, or the matrix does not fit for ``"components"``.

    Warns
    -----
    ConvergenceWarning
        If the best start of some k did not converge.

    See Also
    --------
    KernelKMeans : One number of clusters.
    choose_components : Numbers of components of a mixture.
    distkern.plot.plot_cluster_numbers : The figure.

    Examples
    --------
    >>> x = np.concatenate([np.arange(0.0, 1.0, 0.1), np.arange(9.0, 10.0, 0.1)])
    >>> found = cluster_numbers(np.outer(x, x), range(1, 5), references=10, random_state=0)
    >>> found
    <ClusterNumbers: 20 samples, n_clusters 1 to 4, by_silhouette 2, by_gap 2>
    >>> np.bincount(found.labels_of(found.by_silhouette))
    array([10, 10])
    """
    model = KernelKMeans(kernel=kernel)
    if isinstance(kernel, Kernel) or model._takes_samples():  # refuses what is no kernel
        gram = model._training_gram(X, memory_limit)
    else:
        gram = as_training_gram(X)
    weights = whole_weights(weights_or_counts(X, sample_weight), gram)
    numbers = _numbers(n_clusters, int(np.count_nonzero(weights)))
    require_silhouette_memory(gram, sum(numbers), memory_limit)
    whole_number(references, "references", 0)
    whole_number(resamples, "resamples", 0)
    done = 0

    def cluster(matrix: BaseGram, counts: Floats, seed: Any) -> list[Clustering]:
        nonlocal done
        generators = generators_of(seed, n_init)
        runs = _partitions(matrix, counts, numbers, generators, max_iter, tol, memory_limit)
        done += 1
        if references or resamples:
            on_event(Progress("cluster", done, 1 + references + resamples))
        return runs

    found = cluster(gram, weights, random_state)
    _warn_of_unfinished(found, max_iter)
    labels, inertia = np.array([run.labels for run in found]), np.array([run.inertia for run in found])
    gap = gap_error = np.full(len(numbers), np.nan)
    drawn_from = _reference(reference, getattr(model, "kernel_", None)) if references else None
    if drawn_from is not None:
        random = generators_of(random_state, n_init + 1)[-1]  # the other generators seed the starts
        logs = []
        for matrix, counts in _draws(drawn_from, references, X, gram, weights, model, random, memory_limit):
            logs.append(_logarithms([run.inertia for run in cluster(matrix, counts, int(random.integers(2**31)))]))
        gap = np.mean(logs, axis=0) - _logarithms(inertia)
        gap_error = np.sqrt(1 + 1 / references) * np.std(logs, axis=0)
    drawn: Array = np.empty((len(numbers), 0, len(gram)), dtype=np.int16)
    if resamples:
        require_memory(2 * drawn.itemsize * len(numbers) * resamples * len(gram), memory_limit, "the resamples")
        random = generators_of(random_state, n_init + 2)[-1]
        drawn = _resampled(gram, weights, resamples, numbers[-1], random, cluster)
    jaccard = tuple(mean_jaccards(labels[row], drawn[row], weights, k) for row, k in enumerate(numbers) if resamples)
    each = _silhouettes(gram, labels, weights, squared)
    settings: Spec = {"references": references, "resamples": resamples, "squared": squared, "n_init": n_init}
    if isinstance(random_state, (int, np.integer)):
        settings["random_state"] = int(random_state)
    return ClusterNumbers(
        np.array(numbers),
        labels,
        tuple(medoids(run.labels, run.closest, weights, run.n_clusters) for run in found),
        inertia,
        np.average(each, axis=1, weights=weights),
        gap,
        gap_error,
        drawn_from,
        each,
        np.array([np.nan if k == 1 or not resamples else np.nanmean(jaccard[row]) for row, k in enumerate(numbers)]),
        jaccard,
        drawn,
        settings,
    )


def _warn_of_unfinished(found: Sequence[Clustering], max_iter: int) -> None:
    unfinished = [str(run.n_clusters) for run in found if not run.converged]
    if unfinished:
        warn(
            ConvergenceWarning(
                Sentence(
                    "kernel k-means with {numbers} clusters did not converge in {iterations} iterations{remedy}",
                    numbers=", ".join(unfinished),
                    iterations=max_iter,
                    remedy=OptionalPart(
                        ": raise {max_iter} or {tol}", max_iter=Parameter("max_iter"), tol=Parameter("tol")
                    ),
                )
            ),
        )


def _numbers(n_clusters: Iterable[int], samples: int) -> list[int]:
    numbers = entries(n_clusters, "n_clusters")
    if not numbers or not all(isinstance(k, (int, np.integer)) and k >= 1 for k in numbers):
        raise InputError(f"n_clusters must be whole numbers of 1 or more; got {numbers}")
    numbers = sorted(set(numbers))
    if numbers[-1] > samples:
        raise InputError(f"got {samples} samples with a weight for {numbers[-1]} clusters: ask for fewer clusters")
    return [int(k) for k in numbers]


def _partitions(
    gram: BaseGram,
    weights: Floats,
    numbers: Sequence[int],
    generators: Sequence[np.random.Generator],
    max_iter: int,
    tol: float,
    limit: int | str | None,
) -> list[Clustering]:
    """Best partition for each number of clusters; as many starts as fit in memory share their passes."""
    one = sum(memory_of_a_start(len(gram), k) for k in numbers)
    require_memory(one, limit, f"a start of each of {len(numbers)} numbers of clusters on {len(gram):,} samples")
    together = memory_allowed(limit) // one
    runs: dict[int, list[Clustering]] = {k: [] for k in numbers}
    for first in range(0, len(generators), together):
        seeded = plus_plus(gram, numbers, weights, generators[first : first + together])
        starts = [start for k in numbers for start in seeded[k]]
        for run in lloyd(gram, weights, starts, max_iter=max_iter, tol=tol):
            runs[run.n_clusters].append(run)
    return [best_of(runs[k]) for k in numbers]


def _silhouettes(gram: BaseGram, labels: Indices, weights: Floats, squared: bool) -> Floats:
    """Silhouettes of all partitions in one pass, (partitions, m); NaN for a partition with a single cluster."""
    several = [row for row, found in enumerate(labels) if len(np.unique(found[weights > 0])) > 1]
    each = np.full(labels.shape, np.nan)
    if several:
        each[several] = silhouettes(gram, [labels[row] for row in several], weights, squared=squared)
    return each


# Resamples -----------------------------------------------------------------------------------------------------------


def _resampled(
    gram: BaseGram,
    weights: Floats,
    resamples: int,
    most: int,
    random: np.random.Generator,
    cluster: Callable[[BaseGram, Floats, Any], list[Clustering]],
) -> Array:
    """Cluster of each sample in each resample for each number of clusters; −1 where it was not drawn."""
    total, found = int(weights.sum()), []
    for _ in range(resamples):
        counts = random.multinomial(total, weights / weights.sum()).astype(np.float64)
        kept = np.flatnonzero(counts)
        if len(kept) < most:
            raise InputError(
                f"a resample has {len(kept)} of {len(gram)} samples, too few for {most} clusters: ask for fewer"
            )
        runs = cluster(gram[np.ix_(kept, kept)], counts[kept], int(random.integers(2**31)))
        labels = np.full((len(runs), len(gram)), -1, dtype=np.int16)
        labels[:, kept] = [run.labels for run in runs]
        found.append(labels)
    return np.stack(found, axis=1)


def mean_jaccards(labels: Indices, resampled: Array, weights: Floats, k: int) -> Floats:
    """Mean over the resamples of the largest |c ∩ d| / |c ∪ d| for each cluster c, (k,); NaN if it was never drawn.

    Parameters
    ----------
    labels
        Cluster of each sample, (m,).
    resampled
        Cluster of each sample in each resample, −1 where it was not drawn, (resamples, m).
    weights
        Weights with which samples count in the sets, (m,).

    Examples
    --------
    >>> mean_jaccards(np.array([0, 0, 1, 1]), np.array([[1, 1, 0, 0], [0, 1, 1, -1]]), np.ones(4), 2)
    array([0.75, 0.75])
    """
    found = np.full((len(resampled), k), np.nan)
    for row, drawn in enumerate(resampled):
        kept = drawn >= 0
        shared = np.zeros((k, k))
        np.add.at(shared, (labels[kept], drawn[kept]), weights[kept])
        own = shared.sum(axis=1)
        union = own[:, None] + shared.sum(axis=0) - shared
        overlap = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0).max(axis=1)
        found[row, own > 0] = overlap[own > 0]
    known = ~np.isnan(found)
    return np.divide(
        np.where(known, found, 0.0).sum(axis=0), known.sum(axis=0), out=np.full(k, np.nan), where=known.any(axis=0)
    )


def _logarithms(inertia: Floats | list[float]) -> Floats:
    """Logarithms of inertias; NaN for 0, where all samples lie on centres and the gap is undefined."""
    values = np.asarray(inertia, dtype=np.float64)
    return np.log(np.where(values > 0, values, np.nan))


# Reference data ------------------------------------------------------------------------------------------------------


def _reference(asked: Reference | None, kernel: Kernel | None) -> Reference:
    """Distribution of the reference data; refuse one that is not possible."""
    if kernel is None:
        if asked not in (None, "components"):
            raise InputError(f"reference={asked!r} draws samples: give samples and their kernel, or 'components'")
        return "components"
    if asked is None:
        ordering = isinstance(kernel, OrderingKernel)
        return "rankings" if ordering or any(isinstance(one, PartialKernel) for one in _parts(kernel)) else "features"
    one_of(asked, "reference", REFERENCES)
    return asked


def _parts(kernel: Kernel) -> list[Kernel]:
    """A kernel and the kernels that it is made of."""
    return [kernel, *(value for value in kernel.get_params().values() if isinstance(value, Kernel))]


def _draws(
    reference: Reference,
    count: int,
    X: Any,
    gram: BaseGram,
    weights: Floats,
    model: KernelKMeans,
    random: np.random.Generator,
    limit: int | str | None,
) -> Iterator[tuple[BaseGram, Floats]]:
    """Generate reference data sets: kernel values, and the multiplicity of each sample."""
    samples = int(weights.sum())
    if reference == "components":
        box = _component_ranges(gram, weights, limit)
        require_memory(24 * samples * box.shape[1], limit, f"{samples:,} samples of {box.shape[1]} components")
        for _ in range(count):
            features = ArrayFeatures(random.uniform(box[0], box[1], size=(samples, box.shape[1])))
            yield LowRankGram(features, features), np.ones(samples)
        return
    source = as_source(X)
    values = source.read(slice(0, len(source)))
    kept, whole = values[weights > 0], bool(np.isfinite(values[weights > 0]).all())
    if reference == "features" and not whole:
        raise InputError(
            "reference='features' draws between the least and the greatest value of a feature, and some values are "
            "missing or infinite: use reference='rankings'"
        )
    for _ in range(count):
        if reference == "features":
            drawn = random.uniform(kept.min(axis=0), kept.max(axis=0), size=(samples, values.shape[1]))
        elif whole:
            drawn = random.permuted(np.tile(np.arange(values.shape[1], dtype=np.float64), (samples, 1)), axis=1)
        else:  # as many items ranked, tied and without a value as in each ballot
            drawn = random.permuted(np.repeat(values, weights.astype(np.intp), axis=0), axis=1)
        distinct, counts = _distinct(drawn)
        model._require_memory(len(distinct), len(distinct), limit)
        yield ArrayGram(model.kernel_(distinct)), counts.astype(np.float64)


def _distinct(samples: Floats) -> tuple[Floats, Indices]:
    """Distinct samples in ascending order, and how often each occurs; NaN equals NaN."""
    keys = np.where(np.isnan(samples), np.finfo(np.float64).max, samples)
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    return samples[first], counts


def _component_ranges(gram: BaseGram, weights: Floats, limit: int | str | None) -> Floats:
    """Range of the coordinates along each principal component in feature space, (2, r)."""
    kept = np.flatnonzero(weights)
    require_memory(4 * 8 * len(kept) ** 2, limit, f"the principal components of {len(kept):,} samples")
    centred = gram.centered(on=np.repeat(np.arange(len(gram)), weights.astype(np.intp)))[np.ix_(kept, kept)]
    roots = np.sqrt(weights[kept])
    variances, vectors = np.linalg.eigh(roots[:, None] * read_matrix(centred) * roots)
    real = variances > NULL * variances[-1]
    scores = vectors[:, real] * np.sqrt(variances[real]) / roots[:, None]
    return np.array([scores.min(axis=0), scores.max(axis=0)])
