"""Suquan slides, "Application: clustering": silhouette by number of clusters of the 5,738 full ballots of the APA.

Kernel k-means with the Kendall and the Mallows kernel, against k-means in S₅, whose centres have to be rankings
themselves (Kemeny's or Borda's), and mixtures of Mallows' models. The silhouette counts discordant pairs of candidates
as the distance for every method, and every voter, as the authors' analysis does (github.com/YunlongJiao/kendallkernel,
APA/analysis.md). ``distkern reproduce apa-clusters --out FILE`` writes the points of the figure.
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
"""Starts of every method, as in the authors' script; the one with the best objective counts."""

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
        What the method minimises: squared distances in its feature space, discordant pairs from the centres, or minus
        the log-likelihood.
    """

    method: str
    n_clusters: int
    silhouette: float
    objective: float


def permutation_kmeans(
    ranks: Floats, counts: Floats, n_clusters: int, centres: Method, generators: Iterable[np.random.Generator]
) -> tuple[Indices, float]:
    """k-means in the rankings themselves: the nearest of k rankings by discordant pairs, each the consensus of its own.

    Parameters
    ----------
    ranks
        Distinct total rankings, larger = preferred, (m, n).
    counts
        Voters of each, (m,).
    n_clusters
        Number of centres.
    centres
        ``"kemeny"`` minimises the objective over rankings, ``"borda"`` need not.
    generators
        One for each start; its seeds are drawn by k-means++.

    Returns
    -------
    Labels and summed discordant pairs of the best start.

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
        for c in np.unique(labels):  # a centre that is nearest to none stays
            centres[c, best_order(counted[c], method)] = np.arange(ranks.shape[1], 0, -1)


def _seeds(ranks: Floats, counts: Floats, n_clusters: int, random: np.random.Generator) -> Floats:
    chances, seeds = counts, np.empty((0, ranks.shape[1]))
    for _ in range(n_clusters):
        seeds = np.vstack([seeds, ranks[random.choice(len(ranks), p=chances / chances.sum())]])
        chances = counts * discordant_pairs(ranks, seeds).min(axis=1)
    return seeds


def discordant_pairs(ranks: Floats, others: Floats) -> Floats:
    """Numbers of pairs of items that two total rankings order the other way round, (m, k).

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
    """Compute all points: each method for every number of clusters.

    Parameters
    ----------
    votes
        Distinct total rankings and their voters.
    numbers
        Numbers of clusters.
    starts
        Starts of every method.
    seed
        Draws them.

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
    """Rows of the figure; ``repeats`` is the number of starts of every method."""
    yield from (asdict(point) for point in figure(load_apa(), starts=repeats, seed=seed))


def read_points(path: str | Path) -> list[Point]:
    """Read the points of a table that ``distkern reproduce apa-clusters --out`` wrote."""
    return [
        Point(row["method"], int(row["n_clusters"]), float(row["silhouette"]), float(row["objective"]))
        for row in read_rows(Path(path))
    ]
