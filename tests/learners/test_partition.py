"""Medoids and silhouettes of a partition against scikit-learn and brute force."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

from distkern import compute_gram
from distkern.core.errors import InputError, MemoryLimitError
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian
from distkern.learners.partition import kernel_medoids, kernel_silhouette
from distkern.operators.array import ArrayGram
from distkern.solvers.partition import silhouettes


def case(seed=0, m=40, k=3):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(m, 5)), rng.integers(0, k, m)
    K = Gaussian(sigma=2.0)(X)
    return K, np.array(["c", "a", "b", "d"])[labels], np.sqrt(np.maximum(2 - 2 * K, 0))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_silhouettes_are_those_of_scikit_learn(seed, squared):
    K, labels, distances = case(seed)
    labels[:1] = "d"  # alone
    expected = silhouette_samples(distances**2 if squared else distances, labels, metric="precomputed")
    for gram in (K, ArrayGram(K), ArrayGram(K).centered()):
        np.testing.assert_allclose(kernel_silhouette(gram, labels, squared=squared), expected, atol=1e-7)
    assert expected[0] == 0


@pytest.mark.parametrize("tile", [7, 64])
def test_silhouettes_of_a_stored_matrix_read_it_once(tile, tmp_path):
    X = np.random.default_rng(0).permuted(np.tile(np.arange(6.0), (30, 1)), axis=1)
    gram = compute_gram(Kendall(), X, store=tmp_path / "cohort.zarr", tile=tile, progress=False)
    labels = np.arange(30) % 4
    before = gram.bytes_read()
    gram.matmat(np.ones(30))
    a_pass = gram.bytes_read() - before
    found = kernel_silhouette(gram, labels)
    assert gram.bytes_read() - before == 2 * a_pass
    distances = np.sqrt(np.maximum(2 - 2 * Kendall()(X), 0))
    np.testing.assert_allclose(found, silhouette_samples(distances, labels, metric="precomputed"), atol=1e-12)


def test_weights_count_as_samples():
    K, labels, _ = case()
    weights = np.random.default_rng(1).integers(0, 4, len(K))
    repeated = np.repeat(np.arange(len(K)), weights)
    every = kernel_silhouette(K[np.ix_(repeated, repeated)], labels[repeated])
    found = kernel_silhouette(K, labels, sample_weight=weights)
    np.testing.assert_allclose(found[repeated], every, atol=1e-7)
    assert np.average(found, weights=weights) == pytest.approx(every.mean())


def test_several_partitions_share_a_pass():
    class OncePassed(ArrayGram):
        passes = 0

        def tiles(self):
            self.passes += 1
            return super().tiles()

    K, labels, _ = case()
    one, other = np.unique(labels, return_inverse=True)[1], np.arange(len(K)) % 5
    gram = OncePassed(K)
    both = silhouettes(gram, [one, other], np.ones(len(K)))
    assert gram.passes == 1
    for found, partition in zip(both, (one, other), strict=True):
        np.testing.assert_allclose(found, kernel_silhouette(K, partition), atol=1e-12)


def test_equal_samples_have_silhouette_zero():
    np.testing.assert_array_equal(kernel_silhouette(np.ones((4, 4)), [0, 0, 1, 1]), np.zeros(4))


def test_medoids_are_those_of_brute_force():
    K, labels, distances = case(7)
    weights = np.random.default_rng(1).integers(0, 4, len(K)).astype(float)
    for gram in (K, ArrayGram(K), ArrayGram(K).centered()):
        found = kernel_medoids(gram, labels, sample_weight=weights)
        for label, medoid in found.items():
            own = np.flatnonzero((labels == label) & (weights > 0))
            assert medoid == own[((distances**2)[np.ix_(own, own)] @ weights[own]).argmin()]
    assert list(found) == ["a", "b", "c"]
    assert list(kernel_medoids(K, labels, sample_weight=labels != "a")) == ["b", "c"]


def test_matrix_that_does_not_fit_is_refused():
    K, labels, _ = case()
    with pytest.raises(InputError, match="got one cluster"):
        kernel_silhouette(K, np.zeros(len(K)))
    with pytest.raises(InputError, match="labels of shape"):
        kernel_silhouette(K, labels[1:])
    with pytest.raises(InputError, match="whole numbers"):
        kernel_silhouette(K, labels, sample_weight=np.full(len(K), 0.5))
    with pytest.raises(InputError, match="square"):
        kernel_silhouette(K[1:], labels[1:])
    with pytest.raises(InputError, match="not symmetric"):
        kernel_medoids(np.triu(K), labels)
    with pytest.raises(InputError, match="not positive semidefinite"):
        kernel_silhouette(K * 3 - 2 * np.eye(len(K)), labels)
    with pytest.raises(MemoryLimitError, match="silhouettes of 40 samples in 3 clusters"):
        kernel_silhouette(ArrayGram(K), labels, memory_limit=1000)
    gram = ArrayGram(K.copy())
    gram._values[3, 4] = np.nan
    for function in (kernel_silhouette, kernel_medoids):
        with pytest.raises(InputError, match="not finite"):
            function(gram, labels)


def test_the_blocks_of_a_pass_over_all_distances_follow_the_memory_limit():
    K, labels, distances = case(m=600)
    gram, limit = ArrayGram(K), 1_200_000  # a block of the whole takes 2.9 MB
    kernel_silhouette(gram, labels)  # loads what is compiled
    tracemalloc.start()
    try:
        found = kernel_silhouette(gram, labels, memory_limit=limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limit
    np.testing.assert_allclose(found, silhouette_samples(distances, labels, metric="precomputed"), atol=1e-7)
