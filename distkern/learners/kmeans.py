"""Kernel k-means on a Gram matrix or samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.sentences import OptionalPart, Parameter, Sentence
from distkern.core.typing import Floats, Indices
from distkern.core.warning import warn
from distkern.core.weights import sample_weights
from distkern.learners.ballots import voters_of, weights_or_counts
from distkern.learners.base import KernelEstimator, read_samples
from distkern.learners.memory import memory_allowed, require_memory, row_blocks
from distkern.learners.randomness import random_state_of
from distkern.learners.registry import saveable
from distkern.learners.validation import REPEATS, not_negative, refuse_misaligned, whole
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite, is_symmetric
from distkern.operators.indexing import as_indices
from distkern.solvers.lloyd import (
    Clustering,
    Start,
    at_samples,
    best_of,
    lloyd,
    medoids,
    memory_of_a_start,
    plus_plus,
    shares,
)


def generators_of(random_state: Any, count: int) -> list[np.random.Generator]:
    """Make a random generator for each start; generator i does not depend on ``count``."""
    seeds = random_state_of(random_state).randint(2**31 - 1, size=count)
    return [np.random.default_rng(seed) for seed in seeds]


@saveable
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator):
    r"""Kernel k-means: a partition of least squared distances to the cluster centres in feature space.

    .. math::

        \min\ \sum_i w_i \|\varphi(x_i) - \mu_{c(i)}\|^2,\qquad
        \mu_c = \frac{1}{W_c}\sum_{c(i) = c} w_i \varphi(x_i),\qquad
        \|\varphi(x) - \mu_c\|^2 = k(x, x) - \frac{2}{W_c} \sum_{c(i) = c} w_i k(x, x_i) + \|\mu_c\|^2

    Minimised by Lloyd's iterations from several k-means++ starts. An iteration is one pass over the matrix: the centres
    of all starts are columns of one product. Schölkopf, Smola and Müller, "Nonlinear component analysis as a kernel
    eigenvalue problem", Neural Computation 10 (1998), section 5; k-means++: Arthur and Vassilvitskii, SODA 2007.

    Parameters
    ----------
    n_clusters
        Number of clusters, k.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    init
        ``"k-means++"``, or the positions of k samples as the initial centres of a single start.
    n_init
        Number of starts; the best result is kept. Start i does not depend on the number of starts.
    max_iter
        Maximum number of iterations of a start.
    tol
        A start stops when an iteration reduces its inertia by at most this fraction; 0 to stop only when the partition
        no longer changes.
    random_state
        Seed of k-means++.
    memory_limit
        Memory to use, in bytes or text such as ``"2GiB"``; by default half of the available memory.
        A start needs 32 m (k + 1) bytes; as many starts as fit share each pass. The matrix is not kept in memory.

    Attributes
    ----------
    labels_
        Cluster of each training sample, (m,).
    inertia_, objective_
        The minimised sum of squared distances, under two names.
    n_iter_
        Iterations of the best start.
    medoid_indices_
        Position of the medoid of each cluster, (k,): the member nearest to the centre, which has the least mean squared
        distance to all members. −1 for a cluster without samples.
    center_labels_, center_weights_
        Centre that contains each training sample, and the weight of the sample in it, (m,).
    center_norms_
        ‖μ_c‖² of each centre, (k,).
    diagonal_
        k(x, x) of the training samples, (m,).
    n_passes_, bytes_read_
        Passes over the matrix, for all starts together, and bytes read from storage. k-means++ also reads the columns
        of the seeds.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared training samples; only if X contains samples.
    n_features_in_, training_ids_, feature_names_in_
        See `KernelSVC`.

    See Also
    --------
    cluster_numbers : How many clusters.
    kernel_silhouette, kernel_medoids : How well samples lie in their clusters, and the most central ones.
    MallowsMixture : A model of rankings with clusters.
    sklearn.cluster.KMeans : Samples as vectors.

    Notes
    -----
    A sample of weight w is equivalent to w equal samples. A sample of weight 0 gets a label but does not
    affect centres.

    Examples
    --------
    >>> samples = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> model = KernelKMeans(2, random_state=0).fit(samples @ samples.T)
    >>> model.inertia_, bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    (1.0, True)
    >>> model.predict([[-3.0], [20.0]] @ samples.T) == model.labels_[[0, 2]]
    array([ True,  True])
    """

    labels_: Indices
    center_labels_: Indices
    center_weights_: Floats
    center_norms_: Floats
    diagonal_: Floats

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "precomputed",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Cluster the samples of a training matrix (m, m), or samples (m, n), with weights (m,).

        Without weights, rankings have their counts of voters, and other samples have weight 1.

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, a value is not finite, there are fewer samples than clusters, or
            the matrix is not positive semidefinite.
        MemoryLimitError
            If a single start does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If the best start did not converge, or has fewer than ``n_clusters`` distinct clusters.
        """
        self._check_parameters()
        refuse_misaligned(y, X)
        gram = self._training_gram(X, self.memory_limit)
        weights, kept = sample_weights(weights_or_counts(X, sample_weight), gram)
        if len(kept) < self.n_clusters:
            raise InputError(
                f"got n_samples={len(kept)} with a weight for n_clusters={self.n_clusters}: ask for fewer clusters"
            )
        at_once = self._starts_at_once(gram.shape[0])
        before = gram.bytes_read()
        self.diagonal_ = finite(gram.diag())
        found = self._best(gram, weights, at_once)
        self.labels_, self.inertia_, self.n_iter_ = found.labels, found.inertia, found.n_iter
        self.objective_ = self.inertia_
        self.medoid_indices_ = medoids(found.labels, found.closest, weights, self.n_clusters)
        self.center_labels_, self.center_norms_ = found.members, found.norms
        self.center_weights_ = shares(found.members, weights)
        self.n_passes_, self.bytes_read_ = found.passes, gram.bytes_read() - before
        self._warn(found)
        return self

    def predict(self, X: Any) -> Indices:
        """Cluster with the nearest centre for each sample, (samples,). k(x, x) is not needed.

        Raises
        ------
        InputError
            If X has another number of columns than the training matrix, or values that are not finite.
        """
        return self._relative_distances(X).argmin(axis=1)

    def transform(self, X: Any) -> Floats:
        """Distance ‖φ(x) − μ_c‖ of each sample from each centre, (samples, k).

        Raises
        ------
        InputError
            If k(x, x) of the rows is not known, which is the case for an array other than the training matrix. Give
            ``ArrayGram(X, row_diag=...)`` instead.
        """
        return np.sqrt(self._squared_distances(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum of squared distances of the samples to their nearest centres."""
        closest = self._squared_distances(X).min(axis=1)
        return -float(voters_of(X, sample_weight) @ closest)

    # Training ------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "max_iter"):
            whole(getattr(self, name), name)
        whole(self.n_init, "n_init", REPEATS)
        not_negative(self.tol, "tol")

    def _starts_at_once(self, samples: int) -> int:
        """Number of starts that fit in memory together; refuse if a single start does not fit."""
        one = memory_of_a_start(samples, self.n_clusters)
        require_memory(one, self.memory_limit, f"a start of {self.n_clusters} clusters on {samples:,} samples")
        return min(self.n_init, memory_allowed(self.memory_limit) // one)

    def _best(self, gram: BaseGram, weights: Floats, at_once: int) -> Clustering:
        """Best result of all starts; groups of ``at_once`` starts share their passes."""
        found: list[Clustering] = []
        for starts in self._starts(gram, weights, at_once):
            found.append(best_of(lloyd(gram, weights, starts, max_iter=self.max_iter, tol=self.tol)))
        return replace(best_of(found), passes=sum(clustering.passes for clustering in found))

    def _starts(self, gram: BaseGram, weights: Floats, at_once: int) -> Iterator[list[Start]]:
        if not isinstance(self.init, str):
            yield [at_samples(gram, self._positions(gram.shape[0]))]
            return
        if self.init != "k-means++":
            raise InputError(f"init must be 'k-means++' or the positions of n_clusters samples; got {self.init!r}")
        generators = generators_of(self.random_state, self.n_init)
        for first in range(0, self.n_init, at_once):
            part = generators[first : first + at_once]
            yield plus_plus(gram, [self.n_clusters], weights, part)[self.n_clusters]

    def _positions(self, samples: int) -> Indices:
        positions = np.asarray(self.init)
        if positions.shape != (self.n_clusters,) or positions.dtype.kind not in "iu":
            raise InputError(f"init must be 'k-means++' or the positions of n_clusters samples; got {self.init!r}")
        return as_indices(positions, samples, "init")

    def _warn(self, found: Clustering) -> None:
        distinct = len(np.unique(found.labels))
        if distinct < self.n_clusters:
            warn(
                f"found {distinct} distinct clusters, fewer than n_clusters={self.n_clusters}: the samples have "
                "duplicates in feature space",
                ConvergenceWarning,
            )
        if not found.converged:
            message = Sentence(
                "k-means stopped after {iterations} iterations before it converged{advice}",
                iterations=self.max_iter,
                advice=OptionalPart(
                    ": raise {max_iter} or {tol}", max_iter=Parameter("max_iter"), tol=Parameter("tol")
                ),
            )
            warn(ConvergenceWarning(message))

    # Distances -----------------------------------------------------------------------------------------------------

    def _relative_distances(self, X: Any) -> Floats:
        """‖μ_c‖² − 2 ⟨φ(x), μ_c⟩, (samples, k): squared distances minus k(x, x)."""
        check_is_fitted(self)
        coefficients = np.zeros((len(self.center_labels_), len(self.center_norms_)))
        coefficients[np.arange(len(coefficients)), self.center_labels_] = self.center_weights_
        return self.center_norms_ - 2 * self._expansion(X, coefficients)

    def _squared_distances(self, X: Any) -> Floats:
        relative = self._relative_distances(X)
        return np.maximum(relative + self._row_diagonal(X)[:, None], 0.0)

    def _row_diagonal(self, X: Any) -> Floats:
        """k(x, x) of the rows of X, which `_relative_distances` has validated."""
        if self._takes_samples():
            source = self._samples(X, reset=False)
            parts = [np.empty(0)]
            for rows in row_blocks(len(source), source.shape[1]):
                block = self.kernel_.prepare(read_samples(self.kernel_, source, rows), rows.start)
                parts.append(self.kernel_.diagonal(block))
            return np.concatenate(parts)
        X = self._matrix(X, reset=False)
        if isinstance(X, BaseGram):
            return X.row_diag()
        if self._is_training_array(X):
            return self.diagonal_
        raise InputError(
            "distances need k(x, x) of the samples, which a bare array between them and the training samples does not "
            "hold: give ArrayGram(X, row_diag=...), or a Gram matrix, which keeps it"
        )

    def _is_training_array(self, X: Floats) -> bool:
        """Whether an array is square and symmetric, with k(x, x) of the training samples on its diagonal."""
        if X.shape[0] != X.shape[1] or not np.array_equal(X.diagonal(), self.diagonal_):
            return False
        return is_symmetric(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.center_norms_)
