from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from distkern import KernelKMeans
from distkern.datasets import load_apa
from distkern.kernels.kendall import Kendall
from distkern.reproduce import TABLES, apa_clusters
from distkern.reproduce.apa_clusters import (
    CENTRES,
    LAMBDAS,
    NUMBERS,
    Point,
    discordant_pairs,
    figure,
    permutation_kmeans,
    read_points,
)
from distkern.reproduce.tables import write_rows

COMMITTED = Path(__file__).parents[2] / "docs" / "figures" / "apa-clusters.csv"
METHODS = [
    "kernel k-means, Kendall",
    *(f"kernel k-means, Mallows {lam:g}" for lam in LAMBDAS),
    *(f"k-means, {centres.capitalize()}" for centres in CENTRES),
    "Mallows mixture",
]


def generators(count):
    return [np.random.default_rng(start) for start in range(count)]


@pytest.fixture(scope="module")
def votes():
    return load_apa()


def test_silhouettes_equal_those_of_scikit_learn_on_single_ballots(votes):
    few = apa_clusters.Rankings(votes.values, votes.items, votes.kind, votes.counts // 10 + 1)
    points = list(figure(few, [3], starts=3))
    ballots = np.repeat(np.arange(120), few.counts)
    distances = discordant_pairs(votes.values, votes.values)[np.ix_(ballots, ballots)]
    model = KernelKMeans(3, n_init=3, tol=0, random_state=0).fit(Kendall()(votes), sample_weight=few.counts)
    expected = silhouette_score(distances, model.labels_[ballots], metric="precomputed")
    assert [point.method for point in points] == METHODS
    assert points[0].silhouette == pytest.approx(expected)
    assert points[0].objective == pytest.approx(model.inertia_)


def test_one_centre_is_the_best_ranking(votes):
    counts = votes.counts.astype(float)
    every = np.array(list(permutations(range(1, 6))), dtype=float)
    labels, total = permutation_kmeans(votes.values, counts, 1, "kemeny", generators(3))
    assert total == (counts @ discordant_pairs(votes.values, every)).min()
    assert set(labels) == {0}


def test_two_centres_are_the_best_pair_of_rankings(votes):
    """Compared with all pairs of the 120 rankings."""
    counts = votes.counts.astype(float)
    distances = discordant_pairs(votes.values, np.array(list(permutations(range(1, 6))), dtype=float))
    least = min(float((counts @ np.minimum(distances[:, [c]], distances)).min()) for c in range(120))
    labels, total = permutation_kmeans(votes.values, counts, 2, "kemeny", generators(30))
    assert total == least
    assert set(labels) == {0, 1}


def test_points_are_read_back_from_their_file(tmp_path, monkeypatch):
    points = [Point("kernel k-means, Kendall", 2, 0.25, 100.5), Point("Mallows mixture", 10, 0.5, 2.0)]
    asked = []
    monkeypatch.setattr(apa_clusters, "figure", lambda votes, **options: iter([asked.append(options), *points][1:]))
    write_rows(tmp_path / "points.csv", list(TABLES["apa-clusters"].rows(repeats=4, seed=9)))
    assert asked == [{"starts": 4, "seed": 9}]
    assert read_points(tmp_path / "points.csv") == points


def test_the_committed_table_agrees_with_the_slides(votes):
    points = read_points(COMMITTED)
    assert [(point.method, point.n_clusters) for point in points] == [(m, k) for m in METHODS for k in NUMBERS]
    curves = {method: np.array([point.silhouette for point in points if point.method == method]) for method in METHODS}
    assert (curves["kernel k-means, Kendall"] > curves["k-means, Kemeny"]).all()  # higher is better
    assert (curves["kernel k-means, Kendall"] > curves["k-means, Borda"]).all()
    # some points computed now: fewer starts are about as good, and never better
    for point in figure(votes, [2], starts=10):
        known = next(other for other in points if (other.method, other.n_clusters) == (point.method, 2))
        assert known.objective * (1 - 1e-6) <= point.objective <= known.objective * 1.01
        if point.method == "kernel k-means, Kendall":
            assert point.silhouette == pytest.approx(known.silhouette, abs=1e-3)
