"""Lloyd's iterations on kernel values against plain ones in explicit feature space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans

from distkern.core.errors import InputError
from distkern.operators.array import ArrayGram
from distkern.solvers import lloyd as lloyd_module
from distkern.solvers.lloyd import TRIALS, Start, at_samples, best_of, lloyd, medoids, plus_plus, without_empty

finite = st.floats(-10, 10, allow_subnormal=False, width=16)


class CountingGram(ArrayGram):
    """Remembers the shape of every product that was asked of it, whole or of some columns."""

    def __init__(self, values):
        super().__init__(values)
        self.products, self.parts = [], []

    def _product(self, V, rows=None, cols=None):
        (self.products if rows is None else self.parts).append(V.shape)
        return self._values @ V if rows is None else self._values[np.ix_(rows, cols)] @ V


def blobs(m=60, k=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 3)) + 6 * rng.normal(size=(k, 3))[np.arange(m) % k]


def generators(count, seed=0):
    return [np.random.default_rng([seed, r]) for r in range(count)]


def plain_lloyd(X, weights, centres, iterations):
    """Assign, average, repeat: the textbook, with no empty cluster."""
    for _ in range(iterations):
        distances = ((X[:, None] - centres) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        centres = np.array(
            [np.average(X[labels == c], axis=0, weights=weights[labels == c]) for c in range(len(centres))]
        )
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    return distances.argmin(axis=1), weights @ distances.min(axis=1)


# Equal to others -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_equals_scikit_learn_from_the_same_start(seed, weighted):
    """tslearn leaves ‖μ‖² out, which assigns other samples than these."""
    X = blobs(seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 3, len(X)) if weighted else np.ones(len(X))
    seeds = np.random.default_rng(seed).choice(len(X), 4, replace=False)
    theirs = KMeans(4, init=X[seeds], n_init=1, tol=0, algorithm="lloyd").fit(X, sample_weight=weights)
    gram = ArrayGram(X @ X.T)
    ours = best_of(lloyd(gram, weights, [at_samples(gram, seeds)], max_iter=300, tol=0.0))
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-10)
    np.testing.assert_allclose(ours.norms, (theirs.cluster_centers_**2).sum(axis=1), rtol=1e-10)
    assert ours.converged


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_equals_textbook_lloyd_after_every_iteration(iterations):
    X, weights = blobs(200, 6, seed=3), np.random.default_rng(3).uniform(0.5, 2, 200)
    seeds = np.array([0, 6, 12, 18, 24, 30])  # all in one blob, so that it takes longer
    gram = ArrayGram(X @ X.T)
    ours = best_of(lloyd(gram, weights, [at_samples(gram, seeds)], max_iter=iterations, tol=0.0))
    labels, inertia = plain_lloyd(X, weights, X[seeds], iterations)
    np.testing.assert_array_equal(ours.labels, labels)
    assert ours.inertia == pytest.approx(inertia, rel=1e-10)
    assert (ours.n_iter, ours.converged) == (iterations, False)


@given(st.data())
def test_the_inertia_never_increases_and_is_that_of_the_labels(data):
    m, k = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 4))
    k = min(m, k)
    X = data.draw(arrays(np.float64, (m, 2), elements=finite))
    weights = data.draw(arrays(np.float64, m, elements=st.sampled_from([0.5, 1.0, 3.0])))
    gram = ArrayGram(X @ X.T)
    found = best_of(lloyd(gram, weights, plus_plus(gram, [k], weights, generators(2))[k], max_iter=50, tol=0.0))
    slack = 1e-9 * (1 + weights @ (X**2).sum(axis=1))
    assert (np.diff(found.history) <= slack).all()
    centres = np.array(
        [np.average(X[found.members == c], axis=0, weights=weights[found.members == c]) for c in range(k)]
    )
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    assert found.inertia == pytest.approx(weights @ distances.min(axis=1), abs=slack)
    assert (distances[np.arange(m), found.labels] <= distances.min(axis=1) + slack).all()
    assert found.converged


# What it reads -------------------------------------------------------------------------------------------------------


def test_starts_share_one_product_and_converged_starts_are_removed():
    X = blobs(120, 5, seed=1)
    gram = CountingGram(X @ X.T)
    starts = plus_plus(gram, [5], np.ones(120), generators(8))[5]
    assert gram.products == []
    assert len(gram.parts) == 5  # seed by seed, the columns of all starts at once
    assert all(shape[0] == shape[1] <= 8 * TRIALS for shape in gram.parts)
    found = best_of(lloyd(gram, np.ones(120), starts, max_iter=100, tol=0.0))
    widths = [shape[1] for shape in gram.products]
    assert widths[0] == 8 * 5
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0]
    alone = [lloyd(gram, np.ones(120), [start], max_iter=100, tol=0.0)[0] for start in starts]
    assert len(widths) == found.passes == max(run.n_iter for run in alone)
    assert found.inertia == pytest.approx(min(run.inertia for run in alone))


def test_more_starts_do_not_change_the_first_ones():
    gram = ArrayGram(blobs() @ blobs().T)
    few, many = (plus_plus(gram, [4], np.ones(60), generators(count))[4] for count in (2, 6))
    for one, other in zip(few, many[:2], strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)


def test_several_numbers_of_clusters_share_seeds_and_passes():
    X = blobs(90, 5, seed=2)
    gram, weights = CountingGram(X @ X.T), np.ones(90)
    starts = plus_plus(gram, [2, 5, 7], weights, generators(3))
    assert len(gram.parts) == 7
    both = lloyd(gram, weights, [*starts[2], *starts[7]], max_iter=100, tol=0.0)
    assert len(gram.products) == max(run.n_iter for run in both)
    for k, runs in ((2, both[:3]), (7, both[3:])):
        alone = lloyd(gram, weights, plus_plus(gram, [k], weights, generators(3))[k], max_iter=100, tol=0.0)
        for run, other in zip(runs, alone, strict=True):
            np.testing.assert_array_equal(run.labels, other.labels)
            assert run.inertia == pytest.approx(other.inertia)


@pytest.mark.slow
def test_seeds_are_drawn_by_squared_distance_and_weight_and_the_best_of_some_is_taken():
    """Three points on a line at 0, 1 and 3 with weights 1, 2, 1: of two possible seeds the better one is drawn first
    unless all trials, each with probability w d², miss it."""
    X, weights = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 1.0])
    gram, count = ArrayGram(X @ X.T), 4000
    seen = {(0, 1): 0, (0, 2): 0, (1, 2): 0}
    for start in plus_plus(gram, [2], weights, generators(count))[2]:
        seen[tuple(np.flatnonzero(start.closest == 0).tolist())] += 1
    squares = (X - X.T) ** 2
    expected = dict.fromkeys(seen, 0.0)
    for first in range(3):
        others = [other for other in range(3) if other != first]
        better, worse = sorted(others, key=lambda o: weights @ np.minimum(squares[first], squares[o]))
        chance = weights[worse] * squares[first, worse] / (weights @ squares[first])
        expected[tuple(sorted((first, worse)))] += weights[first] / 4 * chance**TRIALS
        expected[tuple(sorted((first, better)))] += weights[first] / 4 * (1 - chance**TRIALS)
    for pair, times in seen.items():
        spread = np.sqrt(expected[pair] * (1 - expected[pair]) / count)
        assert abs(times / count - expected[pair]) < 5 * spread + 1e-12


def test_several_candidates_for_a_seed_find_more_blobs(monkeypatch):
    blob = np.arange(400) % 20
    X = np.random.default_rng(0).normal(size=(400, 2)) + 10 * np.column_stack([blob // 5, blob % 5])
    gram, found = ArrayGram(X @ X.T), []
    for trials in (1, TRIALS):
        monkeypatch.setattr(lloyd_module, "TRIALS", trials)
        starts = plus_plus(gram, [20], np.ones(400), generators(10))[20]
        found.append(np.mean([len(set(blob[start.closest == 0])) for start in starts]))
    assert found[1] > found[0] + 1
    assert found[1] > 18


# Empty clusters and bad input ----------------------------------------------------------------------------------------


def test_empty_cluster_gets_the_farthest_sample_of_a_larger_cluster():
    labels, closest = np.array([0, 0, 0, 1, 1]), np.array([0.0, 1.0, 4.0, 9.0, 0.0])
    np.testing.assert_array_equal(without_empty(labels, closest, np.ones(5), 4), [0, 0, 3, 2, 1])
    np.testing.assert_array_equal(without_empty(labels, closest, np.array([1, 1, 1, 1, 0]), 3), [0, 0, 2, 1, 1])
    np.testing.assert_array_equal(without_empty(labels, closest, np.ones(5), 2), labels)


def test_clusters_that_become_empty_are_filled():
    """Two seeds on one point: the second is nobody's nearest centre, and the far point becomes its own."""
    X = np.array([[0.0], [0.0], [1.0], [50.0]])
    gram = ArrayGram(X @ X.T)
    found = best_of(lloyd(gram, np.ones(4), [at_samples(gram, np.array([0, 1, 2]))], max_iter=20, tol=0.0))
    assert sorted(np.bincount(found.labels, minlength=3)) == [1, 1, 2]
    assert found.inertia == pytest.approx(0, abs=1e-9)


def test_fewer_points_than_clusters_give_no_nan():
    gram = ArrayGram(np.ones((4, 4)))
    found = best_of(lloyd(gram, np.ones(4), plus_plus(gram, [3], np.ones(4), generators(3))[3], max_iter=20, tol=0.0))
    assert found.inertia == 0
    assert found.converged
    assert np.isfinite(found.norms).all()
    np.testing.assert_array_equal(medoids(found.labels, found.closest, np.ones(4), 3), [0, -1, -1])


def test_a_matrix_that_is_not_positive_semidefinite_is_refused():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    gram = ArrayGram(K)
    with pytest.raises(InputError, match=r"not positive semidefinite.* a squared distance is -2"):
        plus_plus(gram, [2], np.ones(3), generators(5))[2]
    starts = [at_samples(gram, np.array([2]))]
    with pytest.raises(InputError, match="not positive semidefinite"):
        lloyd(ArrayGram(K - 0.9 * np.eye(3)), np.ones(3), starts, max_iter=5, tol=0.0)


def test_an_increasing_inertia_shows_an_indefinite_matrix():
    """All squared distances, between samples and to the centres, are positive here; only the objective increases."""
    above = [6, 3, 7, 6, 6, 8, 3, 3, 9, 6, 6, 9, 6, 5, 6, 6, 4, 9, 7, 5, 7, 4, 6, 8, 6, 6, 6, 5]
    squares = np.zeros((8, 8))
    squares[np.triu_indices(8, 1)] = above
    gram = ArrayGram(10 - (squares + squares.T) / 2)
    start = Start(2, np.array([1, 1, 0, 0, 0, 0, 1, 0]), np.ones(8))
    with pytest.raises(InputError, match=r"not positive semidefinite.*k-means increased the sum of squared distances"):
        lloyd(gram, np.ones(8), [start], max_iter=10, tol=0.0)


def test_medoids_have_the_least_mean_squared_distance_from_their_cluster():
    X, weights = blobs(40, 3, seed=5), np.random.default_rng(5).integers(0, 4, 40).astype(float)
    gram = ArrayGram(X @ X.T)
    found = best_of(lloyd(gram, weights, plus_plus(gram, [3], weights, generators(5))[3], max_iter=100, tol=0.0))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    for cluster, medoid in enumerate(medoids(found.labels, found.closest, weights, 3)):
        own = np.flatnonzero((found.labels == cluster) & (weights > 0))
        assert medoid == own[(squares[np.ix_(own, own)] @ weights[own]).argmin()]
