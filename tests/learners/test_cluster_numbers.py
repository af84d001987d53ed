"""Inertia, silhouette and gap by the number of clusters."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score

from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.rankings import Rankings
from distkern.datasets import load_apa
from distkern.kernels.kendall import Kendall
from distkern.kernels.partial import PartialKendall
from distkern.kernels.vectors import Linear
from distkern.learners.cluster_numbers import _draws, cluster_numbers
from distkern.learners.kmeans import KernelKMeans
from distkern.operators.array import ArrayGram


def blobs(k=3, m=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 4)) + 10 * np.eye(4)[np.arange(m) % k]


def test_each_number_is_that_of_the_estimator_and_of_scikit_learn():
    X = blobs()
    K = Linear()(X)
    found = cluster_numbers(K, [5, 1, 3], random_state=7, tol=0)
    assert found.n_clusters.tolist() == [1, 3, 5]
    for row, k in enumerate(found.n_clusters):
        model = KernelKMeans(int(k), random_state=7, tol=0).fit(K)
        np.testing.assert_array_equal(found.labels[row], model.labels_)
        np.testing.assert_array_equal(found.medoids[row], model.medoid_indices_)
        assert found.inertia[row] == pytest.approx(model.inertia_)
    assert found.inertia[1] == pytest.approx(KMeans(3, n_init=10, random_state=0).fit(X).inertia_)
    assert np.isnan(found.silhouette[0])
    assert found.silhouette[1] == pytest.approx(silhouette_score(X, found.labels[1]))
    assert found.by_silhouette == 3
    assert np.isnan(found.gap).all()
    assert found.table()[0] == {
        "n_clusters": 1,
        "inertia": found.inertia[0],
        "silhouette": None,
        "gap": None,
        "gap_error": None,
        "stability": None,
    }


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("reference", ["components", "features"])
def test_the_gap_finds_the_blobs(k, reference):
    X = blobs(k)
    if reference == "components":
        found = cluster_numbers(Linear()(X), range(1, 7), references=10, n_init=4, random_state=0)
    else:
        found = cluster_numbers(X, range(1, 7), kernel=Linear(), references=10, n_init=4, random_state=0)
    assert (found.reference, found.by_gap) == (reference, k)
    assert (found.gap_error > 0).all()


def test_gap_of_random_rankings_is_zero():
    """The references are drawn as the data were, so that the gap is zero but for chance."""
    X = np.random.default_rng(5).permuted(np.tile(np.arange(6.0), (100, 1)), axis=1)
    found = cluster_numbers(X, range(1, 5), kernel=Kendall(), references=10, random_state=0, n_init=4)
    assert found.reference == "rankings"
    assert (np.abs(found.gap) < 3.5 * found.gap_error).all()
    assert found.by_gap == 1


def test_weights_count_as_samples():
    votes = load_apa()
    some = np.where(np.arange(120) % 3 == 0, votes.counts // 4, 0)
    ballots = np.repeat(np.arange(120), some)
    K = Kendall()(votes)
    options = {"references": 3, "random_state": 1, "tol": 0, "n_init": 3}
    weighted = cluster_numbers(K, [2, 3], sample_weight=some, **options)
    every = cluster_numbers(K[np.ix_(ballots, ballots)], [2, 3], **options)
    for name in ("inertia", "silhouette"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(every, name), rtol=1e-7)
    spread = np.hypot(weighted.gap_error, every.gap_error)
    assert (np.abs(weighted.gap - every.gap) < 6 * spread + 0.01).all()  # other draws of the same box


def test_the_components_span_the_samples():
    """Coordinates along the components give the centred distances back, weights or not."""
    from distkern.learners.cluster_numbers import _component_ranges

    X, weights = np.array([[0.0, 0], [4, 0], [0, 1], [4, 1]]), np.array([1.0, 1, 1, 1])
    box = _component_ranges(ArrayGram(Linear()(X)), weights, None)
    np.testing.assert_allclose(np.sort(box[1] - box[0]), [1, 4])
    twice = _component_ranges(ArrayGram(Linear()(X)), 2 * weights, None)
    np.testing.assert_allclose(np.abs(twice), np.abs(box))


def test_starts_that_do_not_fit_together_run_in_groups():
    K = ArrayGram(Linear()(blobs()))
    one = sum(8 * 60 * (4 * k + 4) for k in (2, 3))
    together = cluster_numbers(K, [2, 3], random_state=0)
    in_turns = cluster_numbers(K, [2, 3], random_state=0, memory_limit=8 * 60 * 60 * 4 + 3 * 8 * 60 * 5)
    np.testing.assert_array_equal(in_turns.labels, together.labels)
    with pytest.raises(MemoryLimitError):
        cluster_numbers(K, [2, 3], memory_limit=one)


def test_matrix_that_does_not_fit_is_refused():
    K = Linear()(blobs())
    with pytest.raises(InputError, match="whole numbers of 1 or more"):
        cluster_numbers(K, [0, 2])
    with pytest.raises(InputError, match="whole numbers of 1 or more"):
        cluster_numbers(K, [])
    with pytest.raises(InputError, match="60 samples with a weight for 61 clusters"):
        cluster_numbers(K, [2, 61])
    with pytest.raises(InputError, match="give samples and their kernel"):
        cluster_numbers(K, [2], references=1, reference="rankings")
    with pytest.raises(InputError, match="reference must be one of"):
        cluster_numbers(blobs(), [2], kernel=Linear(), references=1, reference="box")
    with pytest.raises(InputError, match="no gap without reference data"):
        _ = cluster_numbers(K, [2]).by_gap
    with pytest.raises(InputError, match="two clusters or more"):
        _ = cluster_numbers(K, [1]).by_silhouette


# Rankings with items that are not ranked --------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [PartialKendall(), PartialKendall(kind="top"), PartialKendall().normalized()])
def test_gap_of_random_top_k_rankings_is_zero(kernel):
    """The references have as many ranked items as the ballots, so that the gap is zero but for chance."""
    random = np.random.default_rng(3)
    ballots = [list(random.permutation(6)[: 1 + number % 4]) for number in range(80)]
    votes = Rankings.from_orderings(ballots, kind="top", items="abcdef")
    found = cluster_numbers(votes, [1, 2, 3], kernel=kernel, references=8, n_init=2, random_state=0)
    assert found.reference == "rankings"
    assert (np.abs(found.gap) <= 4 * found.gap_error + 0.05).all()


def test_gap_finds_the_parties_of_top_k_rankings():
    left, right = [["a", "b"], ["b", "a"], ["a"]], [["y", "x"], ["x", "y"], ["y"]]
    votes = Rankings.from_orderings((left + right) * 8, kind="top", items="abcxyz")
    found = cluster_numbers(votes, range(1, 5), kernel=PartialKendall(), references=8, n_init=2, random_state=0)
    assert found.gap[1] > found.gap[0] + 3 * found.gap_error[1]
    assert found.by_silhouette >= 2


def test_references_of_partial_rankings_keep_values_and_gaps(monkeypatch):
    values = np.array([[3.0, np.nan, -np.inf, 1.0], [2.0, 2.0, np.nan, np.nan]])
    drawn = []

    def kernel(X):
        drawn.append(X)
        return np.eye(len(X))

    model = KernelKMeans()
    model.kernel_ = kernel
    monkeypatch.setattr(model, "_require_memory", lambda *given: None)
    weights, random = np.array([3.0, 2.0]), np.random.default_rng(0)
    ((_, counts),) = _draws("rankings", 1, values, ArrayGram(np.eye(2)), weights, model, random, None)
    every = np.repeat(drawn[0], counts.astype(int), axis=0)
    assert sorted(map(_contents, every)) == sorted(map(_contents, values[[0, 0, 0, 1, 1]]))


def _contents(ballot):
    return sorted(map(str, ballot))


def test_features_of_rankings_with_gaps_have_no_range():
    votes = Rankings.from_orderings([["a"], ["b", "a"], ["c"]], kind="top")
    with pytest.raises(InputError, match="some values are missing or infinite: use reference='rankings'"):
        cluster_numbers(votes, [1], kernel=PartialKendall(), references=2, reference="features")


def test_numbers_that_did_not_converge_are_named():
    X = np.random.default_rng(0).normal(size=(60, 5))
    with pytest.warns(ConvergenceWarning) as caught:
        cluster_numbers(X, [1, 4, 5], kernel=Linear(), max_iter=1, n_init=1, random_state=0, tol=0)
    said = str(caught[0].message)
    assert said.startswith("kernel k-means with 4, 5 clusters did not converge in 1 iterations: raise max_iter=")


def test_the_labels_of_a_number_of_clusters_and_a_short_text():
    found = cluster_numbers(Linear()(blobs()), [1, 3, 5], random_state=7)
    for row, k in enumerate((1, 3, 5)):
        np.testing.assert_array_equal(found.labels_of(k), found.labels[row])
    assert len(np.unique(found.labels_of(found.by_silhouette))) == 3
    with pytest.raises(InputError, match=r"no labels for 2 clusters: choose from \[1, 3, 5\]"):
        found.labels_of(2)
    assert repr(found) == "<ClusterNumbers: 60 samples, n_clusters 1 to 5, by_silhouette 3>"
    assert repr(cluster_numbers(np.eye(4), [1], random_state=0)) == "<ClusterNumbers: 4 samples, n_clusters 1>"


def test_there_may_be_as_many_clusters_as_samples():
    found = cluster_numbers(np.eye(4), [4], n_init=1, random_state=0)
    assert sorted(found.labels[0]) == [0, 1, 2, 3]


def jaccard(c, d):
    return len(c & d) / len(c | d) if c | d else 0.0


def test_stability_is_that_of_separate_fits_by_loops():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + 6.0])
    found = cluster_numbers(X @ X.T, [1, 2, 4], resamples=5, random_state=0)
    assert found.resampled.shape == (3, 5, 24)
    for row, k in enumerate((1, 2, 4)):
        sums = {c: [] for c in range(k)}
        for drawn in found.resampled[row]:
            kept = set(np.flatnonzero(drawn >= 0).tolist())
            assert len(set(drawn[sorted(kept)].tolist())) == k
            clusters = [{i for i in kept if drawn[i] == d} for d in range(k)]
            for c in range(k):
                own = {i for i in kept if found.labels[row][i] == c}
                if own:
                    sums[c].append(max(jaccard(own, d) for d in clusters))
        expected = [np.mean(sums[c]) for c in range(k)]
        assert found.jaccard[row] == pytest.approx(expected)
    assert np.isnan(found.stability[0])
    assert found.stability[1] == pytest.approx(found.jaccard[1].mean())
    assert found.by_stability == 2
    assert found.jaccard[1] == pytest.approx([1.0, 1.0])
    assert "by_stability 2" in repr(found)


def test_consensus_matrix_counts_resamples_with_both():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(15, 2))
    found = cluster_numbers(X @ X.T, [3], resamples=8, random_state=0)
    matrix = found.together(3)
    for i in range(15):
        for j in range(15):
            both = [row for row in found.resampled[0] if row[i] >= 0 and row[j] >= 0]
            if both:
                assert matrix[i, j] == pytest.approx(np.mean([row[i] == row[j] for row in both]), abs=1e-6)
            else:
                assert np.isnan(matrix[i, j])


def test_resamples_draw_voters_and_do_not_change_the_partitions():
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=(20, 2)), np.r_[np.zeros(3), np.full(17, 40)]
    plain = cluster_numbers(X @ X.T, [2, 3], sample_weight=weights, references=2, random_state=0)
    found = cluster_numbers(X @ X.T, [2, 3], sample_weight=weights, references=2, resamples=4, random_state=0)
    assert np.array_equal(plain.labels, found.labels)
    assert np.array_equal(plain.gap, found.gap)
    assert (found.resampled[:, :, :3] == -1).all()
    assert (found.resampled[:, :, 3:] >= 0).all()  # 40 voters each: all are drawn
    for refused in (lambda: plain.by_stability, lambda: plain.together(2)):
        with pytest.raises(InputError, match="ask for resamples"):
            refused()
    with pytest.raises(InputError, match="too few for 20 clusters"):
        cluster_numbers(X @ X.T, [20], resamples=2, random_state=0)
