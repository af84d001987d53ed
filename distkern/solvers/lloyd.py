"""k-means in feature space: D² seeding and Lloyd's iterations, all restarts as columns of one product a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.solvers.distances import NEGATIVE, indefinite, not_negative

TRIALS = 4
"""Samples drawn for each next seed. Taking the best of some is worth many starts; scikit-learn draws 2 + ⌊log k⌋."""

ROUNDING = 1e-9
"""Inertias within this fraction of each other are equal."""


@dataclass(frozen=True)
class Clustering:
    """A partition of the samples and the centres that it belongs to.

    Parameters
    ----------
    labels
        Nearest centre of each sample, (m,); the first one among equals.
    members
        Centre that each sample is averaged into, (m,). The same as ``labels`` once they stay as they are, but where two
        centres coincide.
    inertia
        Σ_i w_i ‖φ(x_i) − μ‖² over the nearest centres μ.
    closest
        ‖φ(x_i) − μ‖² of each sample, (m,).
    norms
        ‖μ_c‖² of each centre, (k,).
    n_iter
        Passes that this start took.
    converged
        Whether it ended because nothing changed any more, or less than ``tol``.
    history
        The inertia after each of its passes.
    passes
        Passes over the matrix, of all starts together.
    bytes_read
        Bytes that those passes read from storage.
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
    """A partition to begin with, and the squared distance of each sample from the seed that it is nearest to."""

    n_clusters: int
    labels: Indices
    closest: Floats

    @classmethod
    def unseeded(cls, samples: int) -> Start:
        """No seed yet, and every sample infinitely far."""
        return cls(0, np.zeros(samples, np.intp), np.full(samples, np.inf))


def memory_of_a_start(samples: int, n_clusters: int) -> int:
    """Bytes that one of several starts takes: its columns of the operand, of the product, and of making either."""
    return 8 * samples * (4 * n_clusters + 4)


# Seeds -------------------------------------------------------------------------------------------------------------


def plus_plus(
    gram: BaseGram, n_clusters: Sequence[int], weights: Floats, generators: Sequence[np.random.Generator]
) -> dict[int, list[Start]]:
    """Seeds drawn by k-means++ for several starts side by side: each next one with probability w(x) d²(x, seeds).

    Of `TRIALS` that are drawn the one that leaves the least inertia is taken. Arthur and Vassilvitskii, "k-means++: the
    advantages of careful seeding", SODA 2007. Only the columns of the drawn samples are read: those of all starts
    together, seed by seed. The seeds for fewer clusters are the first ones for more.

    Parameters
    ----------
    gram
        Kernel values between the m samples.
    n_clusters
        Numbers of clusters, for each of which the starts are returned.
    weights
        Weight of each sample, (m,).
    generators
        One for each start, so that the number of starts changes none of them.
    """
    diagonal, starts = gram.diag(), [Start.unseeded(len(weights)) for _ in generators]
    found: dict[int, list[Start]] = {}
    for number in range(max(n_clusters)):
        tried = 1 if number == 0 else TRIALS
        chances = [weights if number == 0 else weights * start.closest for start in starts]
        seeds = np.array([_drawn(g, p, weights, tried) for g, p in zip(generators, chances, strict=True)])
        columns = _columns(gram, seeds.ravel())
        for place, start in enumerate(starts):
            own = columns[:, place * tried : (place + 1) * tried]
            after = [_nearer(start, own[:, trial], diagonal, seed) for trial, seed in enumerate(seeds[place])]
            starts[place] = min(after, key=lambda start: float(weights @ start.closest))
        if number + 1 in n_clusters:
            found[number + 1] = list(starts)
    return found


def at_samples(gram: BaseGram, seeds: Indices) -> Start:
    """Begin at given samples (k,)."""
    diagonal, columns = gram.diag(), _columns(gram, seeds)
    start = Start.unseeded(len(diagonal))
    for column, seed in zip(columns.T, seeds, strict=True):
        start = _nearer(start, column, diagonal, seed)
    return start


def _columns(gram: BaseGram, samples: Indices) -> Floats:
    """Kernel values with some samples, (m, samples), read where the tiles lie."""
    distinct, places = np.unique(samples, return_inverse=True)
    return gram[:, distinct].matmat(np.eye(len(distinct)))[:, places]


def _drawn(generator: np.random.Generator, chances: Floats, weights: Floats, count: int) -> Indices:
    """Samples with probability in proportion to ``chances``; by weight alone where all lie on seeds."""
    if not chances.max() > 0:
        chances = weights
    possible = np.flatnonzero(chances > 0)
    sums = np.cumsum(chances[possible])
    places = np.searchsorted(sums, generator.random(count) * sums[-1], side="right")
    return possible[np.minimum(places, len(possible) - 1)]


def _nearer(start: Start, column: Floats, diagonal: Floats, seed: int) -> Start:
    """Samples that are nearer to a new seed than to all before it."""
    distances = not_negative(diagonal - 2 * column + diagonal[seed], diagonal)
    nearer = distances < start.closest
    labels = np.where(nearer, start.n_clusters, start.labels)
    return Start(start.n_clusters + 1, labels, np.where(nearer, distances, start.closest))


# Lloyd's iterations ------------------------------------------------------------------------------------------------


def lloyd(gram: BaseGram, weights: Floats, starts: Sequence[Start], *, max_iter: int, tol: float) -> list[Clustering]:
    """Improve several starts side by side: Lloyd's iterations with one product a pass, whatever their clusters.

    A centre is μ_c = Σ_i a_ic φ(x_i) with a_ic = w_i / W_c for the members of c. So the centres of all starts that
    still go on are columns of A, and K A gives every squared distance k(x, x) − 2 (K A)_xc + a_cᵀ K a_c. An empty
    cluster takes the sample that is farthest from its centre. The inertia of a start never increases.

    Parameters
    ----------
    gram
        Kernel values between the m samples.
    weights
        Weight of each sample, (m,).
    starts
        Partitions to begin with.
    max_iter
        Most passes of a start.
    tol
        A start ends when a pass lowers its inertia by no more than this fraction, or its labels stay as they are.

    Returns
    -------
    list
        Where each start ended, in their order.

    Raises
    ------
    InputError
        If the matrix holds values that are not finite, or is not positive semidefinite as far as can be seen.
    """
    before, diagonal, samples = gram.bytes_read(), gram.diag(), np.arange(len(weights))
    runs = [_begun(start, weights) for start in starts]
    going, passes = list(range(len(runs))), 0
    while going:
        ends = np.cumsum([runs[number].n_clusters for number in going])
        parts = [slice(end - runs[number].n_clusters, end) for number, end in zip(going, ends, strict=True)]
        coefficients = np.zeros((len(weights), ends[-1]))
        for number, part in zip(going, parts, strict=True):
            members = runs[number].members
            coefficients[samples, part.start + members] = shares(members, weights)
        products = gram.matmat(coefficients)
        passes += 1
        for number, part in zip(going, parts, strict=True):
            runs[number] = _assigned(runs[number], coefficients[:, part], products[:, part], diagonal, weights, tol)
        going = [number for number in going if not runs[number].converged and runs[number].n_iter < max_iter]
        for number in going:
            members = repaired(runs[number].labels, runs[number].closest, weights, runs[number].n_clusters)
            runs[number] = replace(runs[number], members=members)
    return [replace(run, passes=passes, bytes_read=gram.bytes_read() - before) for run in runs]


def best_of(runs: Sequence[Clustering]) -> Clustering:
    """The first of those with the least inertia, but for rounding: starts often end at one partition, numbered anew."""
    least = min(run.inertia for run in runs)
    return next(run for run in runs if run.inertia <= least * (1 + ROUNDING))


def shares(members: Indices, weights: Floats) -> Floats:
    """Share of each sample in the centre that it belongs to, (m,): its weight over that of all members."""
    masses = np.bincount(members, weights)
    return weights / np.where(masses > 0, masses, 1.0)[members]


def repaired(labels: Indices, closest: Floats, weights: Floats, n_clusters: int) -> Indices:
    """Give each cluster without weight the sample farthest from its centre that leaves none behind empty, (m,)."""
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


def _begun(start: Start, weights: Floats) -> Clustering:
    members = repaired(start.labels, start.closest, weights, start.n_clusters)
    return Clustering(start.labels, members, np.inf, start.closest, np.zeros(start.n_clusters), 0, False, ())


def _assigned(
    run: Clustering, coefficients: Floats, products: Floats, diagonal: Floats, weights: Floats, tol: float
) -> Clustering:
    """Assign every sample to the nearest of the centres whose products with all samples are known."""
    norms = np.einsum("ic,ic->c", coefficients, finite(products))
    relative = norms - 2 * products
    labels = relative.argmin(axis=1)
    closest = not_negative(diagonal + relative[np.arange(len(labels)), labels], diagonal)
    inertia = float(weights @ closest)
    if inertia > run.inertia + NEGATIVE * float(weights @ np.abs(diagonal)):
        raise indefinite("an iteration of k-means raised the sum of the squared distances")
    still = bool(np.array_equal(labels, run.members)) or run.inertia - inertia <= tol * run.inertia < np.inf
    return Clustering(labels, run.members, inertia, closest, norms, run.n_iter + 1, still, (*run.history, inertia))


def medoids(labels: Indices, closest: Floats, weights: Floats, n_clusters: int) -> Indices:
    """Position of the sample nearest to its centre in each cluster, (k,); −1 for a cluster without samples.

    Of all members it has the least mean squared distance from the members, which is d²(x, μ) and a constant.
    """
    found = np.full(n_clusters, -1, dtype=np.intp)
    order = np.lexsort((np.arange(len(labels)), closest))[::-1]
    order = order[weights[order] > 0]
    found[labels[order]] = order  # of several the last one stays, which is the nearest
    return found
