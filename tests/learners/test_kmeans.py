"""KernelKMeans: scikit-learn's answers, wherever the kernel values lie."""

import tracemalloc

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from distkern import Dask, Serial, Threads, compute_gram, open_gram
from distkern.core.errors import InputError, InputTypeError, MemoryLimitError
from distkern.datasets import load_apa
from distkern.gram import map_reduce
from distkern.kernels.kendall import Kendall
from distkern.kernels.mallows import Mallows
from distkern.kernels.vectors import Gaussian, Linear
from distkern.learners.cluster_numbers import cluster_numbers
from distkern.learners.kmeans import KernelKMeans, generators_of
from distkern.learners.persist import load_model, save_model
from distkern.learners.predictor import CohortPredictor
from distkern.operators.array import ArrayGram
from distkern.solvers.lloyd import memory_of_a_start


def cohort(m=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 8)) + 2.5 * rng.normal(size=(k, 8))[np.arange(m) % k]


def test_equals_scikit_learn_with_a_linear_kernel():
    X, new, seeds = cohort(), cohort(seed=1), [4, 9, 14]
    weights = np.random.default_rng(2).uniform(0.5, 2, 60)
    theirs = KMeans(3, init=X[seeds], n_init=1, tol=0).fit(X, sample_weight=weights)
    ours = KernelKMeans(3, kernel=Linear(), init=seeds, tol=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), rtol=1e-9)
    assert ours.score(new, sample_weight=weights) == pytest.approx(theirs.score(new, sample_weight=weights))
    assert ours.inertia_ == ours.objective_ == pytest.approx(theirs.inertia_)
    assert ours.get_feature_names_out().tolist() == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]


@pytest.mark.parametrize("make", ["array", "Gram", "slice", "stored", "samples"])
def test_all_forms_of_X_give_the_same_result(make, tmp_path):
    X, kernel = cohort(), Kendall("b")
    train, test = np.arange(0, 40), np.arange(40, 60)
    K = kernel(X)
    options = {"n_clusters": 3, "random_state": 4, "tol": 0}
    expected = KernelKMeans(**options).fit(K[:40, :40])
    if make == "array":
        fitted, new = K[:40, :40], ArrayGram(K[40:, :40], row_diag=K.diagonal()[40:], col_diag=K.diagonal()[:40])
    elif make in ("Gram", "slice"):
        gram = ArrayGram(K)
        fitted = ArrayGram(K[:40, :40]) if make == "Gram" else gram[np.ix_(train, train)]
        new = gram[np.ix_(test, train)]
    elif make == "stored":
        gram = compute_gram(kernel, X, store=tmp_path / "cohort.zarr", tile=16, progress=False)
        fitted, new = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
    else:
        fitted, new, options = X[:40], X[40:], options | {"kernel": kernel}
    model = KernelKMeans(**options).fit(fitted)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-12)
    np.testing.assert_array_equal(model.predict(fitted), model.labels_)
    np.testing.assert_array_equal(model.predict(new), expected.predict(K[40:, :40]))
    explicit = np.array(
        [
            [1 - 2 * K[i, own].mean() + K[np.ix_(own, own)].mean() for own in map(np.flatnonzero, members(expected))]
            for i in test
        ]
    )
    np.testing.assert_allclose(model.transform(new), np.sqrt(explicit), rtol=1e-10)
    assert (model.bytes_read_ > 0) == (make == "stored")


def members(model):
    return [model.labels_ == cluster for cluster in range(model.n_clusters)]


def test_a_centred_view_has_the_same_clusters():
    K = Gaussian(sigma=3.0)(cohort())
    plain = KernelKMeans(3, random_state=0, tol=0).fit(K)
    centred = KernelKMeans(3, random_state=0, tol=0).fit(ArrayGram(K).centered())
    np.testing.assert_array_equal(centred.labels_, plain.labels_)
    assert centred.inertia_ == pytest.approx(plain.inertia_)


def test_serial_threads_and_dask_have_the_same_bits(client, tmp_path, monkeypatch):
    monkeypatch.setattr(map_reduce, "SMALL_BYTES", 0)
    compute_gram(Kendall(), cohort(), store=tmp_path / "cohort.zarr", tile=20, progress=False)
    runs = []
    for executor in (Serial(), Threads(2), Dask(client)):
        gram = open_gram(tmp_path / "cohort.zarr", executor=executor)
        runs.append(KernelKMeans(3, n_init=2, random_state=1).fit(gram))
    for other in runs[1:]:
        np.testing.assert_array_equal(other.labels_, runs[0].labels_)
        np.testing.assert_array_equal(other.center_norms_, runs[0].center_norms_)
        assert (other.inertia_, other.n_passes_) == (runs[0].inertia_, runs[0].n_passes_)
        assert other.bytes_read_ == runs[0].bytes_read_ > 0


@pytest.mark.parametrize("kernel", [Kendall(), Mallows(0.3)])
def test_rankings_with_counts_are_the_ballots(kernel):
    """120 distinct rankings stand for 5,738 voters."""
    votes = load_apa()
    ballots = np.repeat(np.arange(len(votes)), votes.counts)
    model = KernelKMeans(4, kernel=kernel, random_state=3, n_init=3, tol=0).fit(votes, sample_weight=votes.counts)
    every = KernelKMeans(4, random_state=3, n_init=3, tol=0).fit(ArrayGram(kernel(votes))[np.ix_(ballots, ballots)])
    np.testing.assert_array_equal(every.labels_, model.labels_[ballots])
    assert every.inertia_ == pytest.approx(model.inertia_, rel=1e-10)
    assert every.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(ballots[every.medoid_indices_], model.medoid_indices_)


def test_rankings_count_their_voters_without_being_asked():
    votes = load_apa()
    asked, model = (
        KernelKMeans(3, kernel=Kendall(), n_init=2, random_state=0).fit(votes, sample_weight=weights)
        for weights in (votes.counts, None)
    )
    assert model.inertia_ == asked.inertia_
    np.testing.assert_array_equal(model.labels_, asked.labels_)
    assert model.score(votes) == asked.score(votes, sample_weight=votes.counts)
    alone = KernelKMeans(3, kernel=Kendall(), n_init=2, random_state=0).fit(votes, sample_weight=np.ones(len(votes)))
    assert alone.inertia_ < model.inertia_
    tried = [
        cluster_numbers(votes, [2], kernel=Kendall(), random_state=0, sample_weight=w) for w in (votes.counts, None)
    ]
    assert tried[0].inertia == tried[1].inertia


def test_samples_of_weight_zero_get_a_label_but_do_not_move_centres():
    X = cohort()
    weights = (np.arange(60) % 4 > 0).astype(float)
    kept = np.flatnonzero(weights)
    K = X @ X.T
    some = KernelKMeans(3, random_state=0, tol=0).fit(K[np.ix_(kept, kept)])
    model = KernelKMeans(3, random_state=0, tol=0).fit(K, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_[kept], some.labels_)
    np.testing.assert_array_equal(model.labels_, some.predict(K[:, kept]))
    assert model.inertia_ == pytest.approx(some.inertia_)
    with pytest.raises(InputError, match=r"got n_samples=3 with a weight for n_clusters=4"):
        KernelKMeans(4).fit(K, sample_weight=np.arange(60) < 3)


def test_saved_and_loaded(tmp_path):
    X = cohort()
    gram = compute_gram(Kendall("b"), X, store=tmp_path / "cohort.zarr", tile=16, progress=False)
    model = KernelKMeans(3, random_state=0).fit(gram)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(gram), model.labels_)
    np.testing.assert_array_equal(loaded.transform(gram), model.transform(gram))
    of_samples = load_model(save_model(CohortPredictor(model, gram), tmp_path / "cohort.npz"))
    np.testing.assert_array_equal(of_samples.predict(X), model.labels_)
    raw = KernelKMeans(3, kernel=Kendall("b"), random_state=0).fit(X)
    np.testing.assert_array_equal(load_model(save_model(raw, tmp_path / "raw.npz")).predict(X), raw.labels_)


# Memory --------------------------------------------------------------------------------------------------------------


def test_memory_limit_is_checked_before_reading_and_divides_the_starts():
    K = cohort() @ cohort().T
    one = 8 * 4 * 60 * 4
    with pytest.raises(MemoryLimitError, match=r"a start of 3 clusters on 60 samples needs 7,680 bytes"):
        KernelKMeans(3, memory_limit=one - 1).fit(ArrayGram(K))
    together = KernelKMeans(3, random_state=0).fit(K)
    in_turns = KernelKMeans(3, random_state=0, memory_limit=3 * one).fit(ArrayGram(K))
    np.testing.assert_array_equal(in_turns.labels_, together.labels_)
    assert in_turns.n_passes_ > together.n_passes_


@pytest.mark.slow
def test_peak_memory_stays_below_the_limit(tmp_path):
    """What NumPy holds at most while it passes over a stored matrix, which is never in memory as a whole."""
    m, k, starts = 1024, 8, 6
    X = np.random.default_rng(0).normal(size=(m, 6))
    compute_gram(Kendall(), X, store=tmp_path / "cohort.zarr", tile=128, progress=False)
    gram = open_gram(tmp_path / "cohort.zarr", executor="serial")
    gram.matmat(np.ones(m))  # compile and import
    model = KernelKMeans(k, n_init=starts, max_iter=3, tol=0, random_state=0)
    tracemalloc.start()
    try:
        with pytest.warns(ConvergenceWarning):
            model.fit(gram)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    of_a_pass = 2**20  # some tiles and their products
    assert peak <= starts * memory_of_a_start(m, k) + of_a_pass < gram.nbytes


# Input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [np.asarray, ArrayGram])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.arange(16.0).reshape(4, 4), "not symmetric|not positive semidefinite"),
        (np.where(np.eye(4) == 1, np.nan, 0.0), "NaN"),
    ],
)
def test_invalid_matrices_are_refused(wrap, matrix, message):
    with pytest.raises(InputError, match=message):
        KernelKMeans(2).fit(wrap(matrix))


def test_values_that_are_not_finite_are_refused():
    gram = ArrayGram(np.eye(6))
    model = KernelKMeans(2, random_state=0).fit(gram)
    gram._values[4, 5] = gram._values[5, 4] = np.nan
    with pytest.raises(InputError, match="not finite"):
        KernelKMeans(2, init=[0, 1]).fit(gram)
    with pytest.raises(InputError, match="not finite"):
        model.predict(gram)


def test_the_wrong_matrix_at_predict_is_refused():
    gram = ArrayGram(Kendall("b")(cohort()), row_ids=[f"p{i}" for i in range(60)])
    model = KernelKMeans(3, random_state=0).fit(gram[:30, :30])
    with pytest.raises(InputError, match="expecting 30 features"):
        model.predict(gram)
    with pytest.raises(InputError, match="not the samples that the model was fitted on"):
        model.predict(gram[:30, 30:])
    with pytest.raises(InputError, match=r"ArrayGram\(X, row_diag=...\)"):
        model.transform(np.ones((2, 30)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number"),
        ({"n_clusters": 2.5}, "n_clusters must be a whole number"),
        ({"n_init": 0}, "n_init must be"),
        ({"n_init": 2**31}, "n_init must be at most 2,147,483,647"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"init": "random"}, "init must be"),
        ({"init": [0, 1, 2]}, "init must be"),
        ({"init": [0, 99]}, "99"),
        ({"n_clusters": 7}, "n_samples=6"),
    ],
)
def test_invalid_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        KernelKMeans(**{"n_clusters": 2} | options).fit(np.eye(6))
    with pytest.raises(InputTypeError, match="takes samples"):
        KernelKMeans(2, kernel=Linear()).fit(ArrayGram(np.eye(6)))


def test_warnings_say_what_to_do():
    with pytest.warns(ConvergenceWarning, match="found 1 distinct clusters, fewer than n_clusters=3"):
        KernelKMeans(3, random_state=0).fit(np.ones((4, 4)))
    K = np.random.default_rng(0).normal(size=(200, 50))
    with pytest.warns(
        ConvergenceWarning, match="stopped after 1 iterations before it converged: raise max_iter= or tol="
    ):
        KernelKMeans(5, max_iter=1, random_state=0).fit(K @ K.T)


def test_every_start_draws_its_own_numbers_whatever_the_number_of_starts():
    first, more = ([draws.random() for draws in generators_of(0, count)] for count in (100, 300))
    assert len(set(more)) == 300
    assert more[:100] == first


def test_a_seed_means_the_same_starts_in_every_version():
    assert [int(rng.integers(10**6)) for rng in generators_of(0, 3)] == [368454, 931388, 103591]
