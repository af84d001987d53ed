"""Suquan slides, "Application: clustering": silhouettes of the 5,738 full ballots of the APA by number of clusters.

Kernel k-means with the Kendall and the Mallows kernel is compared with k-means in S₅, whose centres are rankings (of
Kemeny or Borda), and with mixtures of Mallows models. As in the authors' analysis
(github.com/YunlongJiao/kendallkernel, APA/analysis.md), the distance of the silhouette is the number of discordant
pairs of candidates for every method, and every voter counts. ``distkern reproduce apa-clusters --out FILE`` writes the
points of the figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from distkern.compiled.consensus import preferences
from distkern.core.rankings import Rankings
from distkern.core.typing import Floats, Indices
from distkern.datasets import load_apa
from distkern.kernels.kendall import Concordance, Kendall
from distkern.kernels.mallows import Mallows
from distkern.learners.cluster_numbers import cluster_numbers
from distkern.learners.consensus import Method, best_order
from distkern.learners.mixture import MallowsMixture
from distkern.learners.partition import kernel_silhouette
from distkern.reproduce.tables import Row, read_rows

NUMBERS = range(2, 11)
"""Numbers of clusters, as in the authors' script."""

STARTS = 50
"""Starts of every method, as in the authors' script; the start with the best objective is used."""

LAMBDAS = (0.1, 1.0)
"""λ of the Mallows kernels."""

CENTRES: tuple[Method, ...] = ("kemeny", "borda")
"""Centres of the k-means in S₅."""


@dataclass(frozen=True)
class Point:
    """A point of the figure.

    Parameters
    ----------
    method
        ``"kernel k-means, Kendall"``, ``"kernel k-means, Mallows 0.1"``, ``"k-means, Kemeny"``, ``"Mallows mixture"``,
        and so on.
    n_clusters
        Number of clusters.
    silhouette
        Mean over the voters, with discordant pairs as the distance.
    objective
        The minimised objective: squared distances in feature space, discordant pairs to the centres, or the negative
        log-likelihood.
    """

    method: str
    n_clusters: int
    silhouette: float
    objective: float


def permutation_kmeans(
    ranks: Floats, counts: Floats, n_clusters: int, centres: Method, generators: Iterable[np.random.Generator]
) -> tuple[Indices, float]:
    """Cluster rankings by k-means: minimise Σ_i c_i min_k d(x_i, z_k), d the number of discordant pairs.

    The centres z_k are consensus rankings.

    Parameters
    ----------
    ranks
        Distinct total rankings, larger = preferred, (m, n).
    counts
        Voters of each, (m,).
    n_clusters
        Number of centres.
    centres
        ``"kemeny"`` centres minimise the objective, ``"borda"`` centres approximately.
    generators
        Random generator of each start, which draws its seeds by k-means++.

    Returns
    -------
    Labels and total of discordant pairs of the best start.

    Examples
    --------
    >>> ranks = np.array([[1.0, 2, 3], [2, 1, 3], [3, 2, 1]])
    >>> labels, distance = permutation_kmeans(ranks, np.ones(3), 2, "kemeny", [np.random.default_rng(0)])
    >>> distance, bool(labels[0] == labels[1] != labels[2])
    (1.0, True)
    """
    starts = [_lloyd(ranks, counts, _seeds(ranks, counts, n_clusters, random), centres) for random in generators]
    return min(starts, key=lambda start: start[1])


def _lloyd(ranks: Floats, counts: Floats, centres: Floats, method: Method) -> tuple[Indices, float]:
    best: tuple[Indices, float] | None = None
    while True:
        distances = discordant_pairs(ranks, centres)
        labels = distances.argmin(axis=1)
        total = float(counts @ distances.min(axis=1))
        if best is not None and total >= best[1]:
            return best
        best = labels, total
        counted = preferences(ranks, counts[:, None] * (labels[:, None] == np.arange(len(centres))))
        centres = centres.copy()
        for c in np.unique(labels):  # a centre of no sample is kept
            centres[c, best_order(counted[c], method)] = np.arange(ranks.shape[1], 0, -1)


def _seeds(ranks: Floats, counts: Floats, n_clusters: int, random: np.random.Generator) -> Floats:
    chances, seeds = counts, np.empty((0, ranks.shape[1]))
    for _ in range(n_clusters):
        seeds = np.vstack([seeds, ranks[random.choice(len(ranks), p=chances / chances.sum())]])
        chances = counts * discordant_pairs(ranks, seeds).min(axis=1)
    return seeds


def discordant_pairs(ranks: Floats, others: Floats) -> Floats:
    """Count the pairs of items that two total rankings order differently, (m, k).

    Examples
    --------
    >>> discordant_pairs(np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 3], [3, 2, 1]]))
    array([[0., 3.]])
    """
    kernel, n = Concordance(), ranks.shape[1]
    return (n * (n - 1) / 2 - kernel.tile(kernel.prepare(ranks), kernel.prepare(others))) / 2


def figure(
    votes: Rankings, numbers: Sequence[int] = NUMBERS, *, starts: int = STARTS, seed: int = 0
) -> Iterator[Point]:
    """Compute all points of the figure: each method for every number of clusters.

    Parameters
    ----------
    votes
        Distinct total rankings and their voters.
    numbers
        Numbers of clusters.
    starts
        Starts of every method.
    seed
        Seed of the starts.

    Examples
    --------
    >>> points = list(figure(load_apa(), [2], starts=2))
    >>> points[0].method, round(points[0].silhouette, 2)
    ('kernel k-means, Kendall', 0.37)
    """
    gram, counts = Kendall()(votes), votes.counts.astype(np.float64)

    def point(method: str, k: int, labels: Indices, objective: float) -> Point:
        each = kernel_silhouette(gram, labels, sample_weight=counts, squared=True)
        return Point(method, k, float(np.average(each, weights=counts)), objective)

    kernels = {"Kendall": gram} | {f"Mallows {lam:g}": Mallows(lam)(votes) for lam in LAMBDAS}
    for name, values in kernels.items():
        found = cluster_numbers(values, numbers, sample_weight=counts, n_init=starts, tol=0.0, random_state=seed)
        for k, labels, inertia in zip(found.n_clusters, found.labels, found.inertia, strict=True):
            yield point(f"kernel k-means, {name}", int(k), labels, float(inertia))
    for centres in CENTRES:
        for k in numbers:
            generators = (np.random.default_rng([seed, start]) for start in range(starts))
            clusters = permutation_kmeans(votes.values, counts, k, centres, generators)
            yield point(f"k-means, {centres.capitalize()}", k, *clusters)
    for k in numbers:
        model = MallowsMixture(k, n_init=starts, tol=1e-5, random_state=seed).fit(votes)
        yield point("Mallows mixture", k, model.labels_, model.objective_)


# The table ---------------------------------------------------------------------------------------------------------


def rows(*, repeats: int = STARTS, seed: int = 0) -> Iterator[Row]:
    """Yield the rows of the figure; ``repeats`` is the number of starts of every method."""
    yield from (asdict(point) for point in figure(load_apa(), starts=repeats, seed=seed))


def read_points(path: str | Path) -> list[Point]:
    """Read the points from a file of ``distkern reproduce apa-clusters --out``."""
    return [
        Point(row["method"], int(row["n_clusters"]), float(row["silhouette"]), float(row["objective"]))
        for row in read_rows(Path(path))
    ]
