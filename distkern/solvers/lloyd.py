"""Kernel k-means: k-means++ seeding and Lloyd's iterations; all starts are columns of one matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.solvers.definite import indefinite
from distkern.solvers.distances import NEGATIVE, not_negative

TRIALS = 4
"""Candidates drawn for each seed after the first; the best one is kept. scikit-learn draws 2 + ⌊log k⌋."""

ROUNDING = 1e-9
"""Relative difference up to which two inertias count as equal."""


@dataclass(frozen=True)
class Clustering:
    """A partition of the samples, with its centres.

    Parameters
    ----------
    labels
        Nearest centre of each sample, (m,); ties go to the first centre.
    members
        Centre whose mean contains each sample, (m,). Equal to ``labels`` after convergence, unless two centres
        coincide.
    inertia
        Σ_i w_i ‖φ(x_i) − μ‖², where μ is the nearest centre.
    closest
        ‖φ(x_i) − μ‖² of each sample, (m,).
    norms
        ‖μ_c‖² of each centre, (k,).
    n_iter
        Passes of this start.
    converged
        Whether the labels no longer changed or the inertia fell by at most ``tol``.
    history
        Inertia after each pass of this start.
    passes
        Passes over the matrix, for all starts together.
    bytes_read
        Bytes read from storage in these passes.
    """

    labels: Indices
    members: Indices
    inertia: float
    closest: Floats
    norms: Floats
    n_iter: int
    converged: bool
    history: tuple[float, ...]
    passes: int = 0
    bytes_read: int = 0

    @property
    def n_clusters(self) -> int:
        """Number of centres, k."""
        return len(self.norms)


@dataclass(frozen=True)
class Start:
    """An initial partition: the nearest seed of each sample, (m,), and its squared distance, (m,)."""

    n_clusters: int
    labels: Indices
    closest: Floats

    @classmethod
    def unseeded(cls, samples: int) -> Start:
        """No seeds: all distances are infinite."""
        return cls(0, np.zeros(samples, np.intp), np.full(samples, np.inf))


def memory_of_a_start(samples: int, n_clusters: int) -> int:
    """Bytes of one start: its columns of the operand and the product, and temporaries of both."""
    return 8 * samples * (4 * n_clusters + 4)


# Seeds -------------------------------------------------------------------------------------------------------------


def plus_plus(
    gram: BaseGram, n_clusters: Sequence[int], weights: Floats, generators: Sequence[np.random.Generator]
) -> dict[int, list[Start]]:
    """Seeds of several starts by k-means++: each seed is drawn with probability proportional to w(x) d²(x, seeds).

    `TRIALS` candidates are drawn for each seed, and the one with the least inertia is kept. Arthur and Vassilvitskii,
    "k-means++: the advantages of careful seeding", SODA 2007. Only the columns of the candidates are read, for all
    starts together. The first k seeds do not depend on the number of clusters.

    Parameters
    ----------
    gram
        Kernel values between the m samples.
    n_clusters
        Numbers of clusters; starts are returned for each.
    weights
        Weight of each sample, (m,).
    generators
        One random generator for each start.

    Returns
    -------
    dict
        List of starts by number of clusters.
    """
    diagonal, starts = gram.diag(), [Start.unseeded(len(weights)) for _ in generators]
    found: dict[int, list[Start]] = {}
    for number in range(max(n_clusters)):
        tried = 1 if number == 0 else TRIALS
        chances = [weights if number == 0 else weights * start.closest for start in starts]
        seeds = np.array([_drawn(g, p, weights, tried) for g, p in zip(generators, chances, strict=True)])
        columns = _columns(gram, seeds.ravel())
        for position, start in enumerate(starts):
            own = columns[:, position * tried : (position + 1) * tried]
            after = [_with_seed(start, own[:, trial], diagonal, seed) for trial, seed in enumerate(seeds[position])]
            starts[position] = min(after, key=lambda start: float(weights @ start.closest))
        if number + 1 in n_clusters:
            found[number + 1] = list(starts)
    return found


def at_samples(gram: BaseGram, seeds: Indices) -> Start:
    """Start with the given samples (k,) as seeds."""
    diagonal, columns = gram.diag(), _columns(gram, seeds)
    start = Start.unseeded(len(diagonal))
    for column, seed in zip(columns.T, seeds, strict=True):
        start = _with_seed(start, column, diagonal, seed)
    return start


def _columns(gram: BaseGram, samples: Indices) -> Floats:
    """Columns of some samples, (m, samples), by a product with unit vectors, so that workers read the tiles."""
    distinct, inverse = np.unique(samples, return_inverse=True)
    return gram[:, distinct].matmat(np.eye(len(distinct)))[:, inverse]


def _drawn(generator: np.random.Generator, chances: Floats, weights: Floats, count: int) -> Indices:
    """Draw samples with probability proportional to ``chances``, or to the weights if all chances are zero."""
    if not chances.max() > 0:
        chances = weights
    possible = np.flatnonzero(chances > 0)
    sums = np.cumsum(chances[possible])
    drawn = np.searchsorted(sums, generator.random(count) * sums[-1], side="right")
    return possible[np.minimum(drawn, len(possible) - 1)]


def _with_seed(start: Start, column: Floats, diagonal: Floats, seed: int) -> Start:
    """Add a seed, and assign to it the samples that are nearer to it than to all earlier seeds."""
    distances = not_negative(diagonal - 2 * column + diagonal[seed], diagonal)
    nearer = distances < start.closest
    labels = np.where(nearer, start.n_clusters, start.labels)
    return Start(start.n_clusters + 1, labels, np.where(nearer, distances, start.closest))


# Lloyd's iterations ------------------------------------------------------------------------------------------------


def lloyd(gram: BaseGram, weights: Floats, starts: Sequence[Start], *, max_iter: int, tol: float) -> list[Clustering]:
    """Lloyd's iterations for several starts together, with one matrix product a pass.

    A centre is μ_c = Σ_i a_ic φ(x_i), with a_ic = w_i / W_c for the members of c. The centres of all unconverged starts
    are the columns of A, and K A gives all squared distances k(x, x) − 2 (K A)_xc + a_cᵀ K a_c. An empty cluster gets
    the sample that is farthest from its centre. The inertia of a start never increases.

    Parameters
    ----------
    gram
        Kernel values between the m samples.
    weights
        Weight of each sample, (m,).
    starts
        Initial partitions; their numbers of clusters may differ.
    max_iter
        Maximum number of passes of a start.
    tol
        A start stops when a pass reduces its inertia by at most this fraction, or its labels do not change.

    Returns
    -------
    list
        Final partition of each start.

    Raises
    ------
    InputError
        If the matrix has values that are not finite, or a negative squared distance or an increasing inertia shows that
        it is not positive semidefinite.
    """
    before, diagonal, samples = gram.bytes_read(), gram.diag(), np.arange(len(weights))
    runs = [_initial(start, weights) for start in starts]
    active, passes = list(range(len(runs))), 0
    while active:
        ends = np.cumsum([runs[number].n_clusters for number in active])
        parts = [slice(end - runs[number].n_clusters, end) for number, end in zip(active, ends, strict=True)]
        coefficients = np.zeros((len(weights), ends[-1]))
        for number, part in zip(active, parts, strict=True):
            members = runs[number].members
            coefficients[samples, part.start + members] = shares(members, weights)
        products = gram.matmat(coefficients)
        passes += 1
        for number, part in zip(active, parts, strict=True):
            runs[number] = _reassigned(runs[number], coefficients[:, part], products[:, part], diagonal, weights, tol)
        active = [number for number in active if not runs[number].converged and runs[number].n_iter < max_iter]
        for number in active:
            members = without_empty(runs[number].labels, runs[number].closest, weights, runs[number].n_clusters)
            runs[number] = replace(runs[number], members=members)
    return [replace(run, passes=passes, bytes_read=gram.bytes_read() - before) for run in runs]


def best_of(runs: Sequence[Clustering]) -> Clustering:
    """First run with the least inertia up to rounding, because several starts often find the same partition."""
    least = min(run.inertia for run in runs)
    return next(run for run in runs if run.inertia <= least * (1 + ROUNDING))


def shares(members: Indices, weights: Floats) -> Floats:
    """Weight of each sample divided by the total weight of its cluster, (m,)."""
    masses = np.bincount(members, weights)
    return weights / np.where(masses > 0, masses, 1.0)[members]


def without_empty(labels: Indices, closest: Floats, weights: Floats, n_clusters: int) -> Indices:
    """Assign to each empty cluster the sample farthest from its centre whose own cluster has further samples, (m,)."""
    members = labels.copy()
    sizes = np.bincount(members[weights > 0], minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return members
    farthest = iter(np.lexsort((np.arange(len(labels)), -closest)))
    for cluster in empty:
        moved = next(i for i in farthest if weights[i] > 0 and sizes[members[i]] > 1)
        sizes[members[moved]] -= 1
        sizes[cluster] = 1
        members[moved] = cluster
    return members


def _initial(start: Start, weights: Floats) -> Clustering:
    members = without_empty(start.labels, start.closest, weights, start.n_clusters)
    return Clustering(start.labels, members, np.inf, start.closest, np.zeros(start.n_clusters), 0, False, ())


def _reassigned(
    run: Clustering, coefficients: Floats, products: Floats, diagonal: Floats, weights: Floats, tol: float
) -> Clustering:
    """Assign every sample to its nearest centre, given the products of the centres with all samples."""
    norms = np.einsum("ic,ic->c", coefficients, finite(products))
    relative = norms - 2 * products
    labels = relative.argmin(axis=1)
    closest = not_negative(diagonal + relative[np.arange(len(labels)), labels], diagonal)
    inertia = float(weights @ closest)
    if not np.isfinite(inertia):
        raise InputError("the weighted sum of squared distances is beyond what float64 holds: scale the weights down")
    if inertia > run.inertia + NEGATIVE * float(weights @ np.abs(diagonal)):
        raise indefinite("an iteration of k-means increased the sum of squared distances")
    converged = bool(np.array_equal(labels, run.members)) or run.inertia - inertia <= tol * run.inertia < np.inf
    return Clustering(labels, run.members, inertia, closest, norms, run.n_iter + 1, converged, (*run.history, inertia))


def medoids(labels: Indices, closest: Floats, weights: Floats, n_clusters: int) -> Indices:
    """Position of the sample nearest to its centre in each cluster, (k,); −1 for a cluster without samples.

    This is the medoid: the mean squared distance of x to all members is d²(x, μ) plus a constant.
    """
    found = np.full(n_clusters, -1, dtype=np.intp)
    order = np.lexsort((np.arange(len(labels)), closest))[::-1]
    order = order[weights[order] > 0]
    found[labels[order]] = order  # the last assignment wins, which is the nearest sample
    return found
