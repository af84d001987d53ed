"""Landmarks: the Nyström approximation equals its naive twin, its errors are the true ones, its choices repeat."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from distkern import (
    CohortPredictor,
    Gaussian,
    Gram,
    InputError,
    Kendall,
    KernelStandardizer,
    KernelSVC,
    Linear,
    Mallows,
    MemoryLimitError,
    NystromGram,
    StoreError,
    StoreMismatchError,
    TaskError,
    Threads,
    append_gram,
    compute_gram,
    cross_validate_gram,
    open_gram,
    plan_gram,
    repair_gram,
)
from distkern.build import landmark_choice as choice
from distkern.build import landmarks
from distkern.gram import map_reduce
from distkern.gram.nystrom import whitening
from distkern.operators.lowrank import LowRankGram
from distkern.store.manifest import json_checksum

X = np.random.default_rng(0).normal(size=(90, 12))
KERNELS = [Gaussian(3.0), Kendall(ties="b"), Mallows(0.05), Linear(), Gaussian(2.0) + Linear()]


def nystrom(K, L):
    """K[:, L] pinv(K[L, L]) K[L, :]."""
    return K[:, L] @ np.linalg.pinv(K[np.ix_(L, L)], rcond=1e-12, hermitian=True) @ K[L]


def clusters(seed):
    """One crowd of 600 samples, and ten groups of six far from it and from one another."""
    rng = np.random.default_rng(seed)
    groups = [rng.normal(size=5) * 30 + rng.normal(size=(6, 5)) for _ in range(10)]
    return np.vstack([rng.normal(size=(600, 5)), *groups])


class TestValues:
    @pytest.mark.parametrize(
        ("kernel", "how"),
        with_slow(
            [(KERNELS[1], "kmeans++"), (KERNELS[-1], "leverage"), (KERNELS[2], "random")],
            [(KERNELS[1], "leverage"), (KERNELS[-1], "kmeans++"), *((KERNELS[k], "random") for k in (0, 1, 3, 4))],
        ),
        ids=lambda value: value if isinstance(value, str) else value.name,
    )
    def test_equals_the_naive_formula(self, kernel, how, tmp_path):
        gram = compute_gram(
            kernel, X, store=tmp_path / "k.zarr", landmarks=11, landmark_choice=how, tile=16, executor="serial"
        )
        expected = nystrom(kernel(X), gram.landmarks)
        np.testing.assert_allclose(gram.to_numpy(), expected, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(gram.part.to_numpy(), kernel(X)[:, gram.landmarks], rtol=1e-13, atol=1e-13)
        V = np.random.default_rng(1).normal(size=(90, 3))
        np.testing.assert_allclose(gram.matmat(V), expected @ V, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
        np.testing.assert_allclose(gram.diag(), np.diag(expected), rtol=1e-9, atol=1e-9)
        rows, cols = [5, 80, 5, 17], np.arange(20, 70)
        part = gram[np.ix_(rows, cols)]
        np.testing.assert_allclose(part.matmat(V[cols]), expected[np.ix_(rows, cols)] @ V[cols], rtol=1e-8, atol=1e-8)
        center = np.eye(90) - 1 / 90
        np.testing.assert_allclose(
            gram.centered().to_numpy(), center @ expected @ center, atol=1e-9 * np.abs(expected).max()
        )
        new = X[:4] + 0.25
        cross = kernel(new, X[gram.landmarks]) @ np.linalg.pinv(kernel(X[gram.landmarks]), rcond=1e-12, hermitian=True)
        cross = cross @ kernel(X[gram.landmarks], X)
        np.testing.assert_allclose(gram.cross(new).to_numpy(), cross, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
        assert len(set(gram.landmarks.tolist())) == 11

    def test_exact_where_the_landmarks_are_all_or_span_all(self, tmp_path):
        whole = compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", landmarks=90, landmark_choice="kmeans++")
        np.testing.assert_allclose(whole.to_numpy(), Gaussian(3.0)(X), atol=1e-9)
        low = X[:, :3] @ np.random.default_rng(2).normal(size=(3, 12))
        for how in ("random", "kmeans++", "leverage"):
            gram = compute_gram(
                Linear(), low, store=tmp_path / "l.zarr", landmarks=20, landmark_choice=how, overwrite=True
            )
            assert gram.rank == 3
            np.testing.assert_allclose(gram.to_numpy(), low @ low.T, atol=1e-9)
            error = gram.error()
            assert abs(error.trace) < 1e-12
            assert error.frobenius < 1e-12
            assert error.largest < 1e-11

    def test_equals_scikit_learn_on_the_same_landmarks(self, tmp_path):
        gram = compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", landmarks=list(range(0, 90, 6)))
        theirs = Nystroem(gamma=1 / 18, n_components=15).fit(X[::6]).transform(X)  # 15 of 15: all, in some order
        np.testing.assert_allclose(gram.to_numpy(), theirs @ theirs.T, atol=1e-10)
        np.testing.assert_allclose(gram.embedding() @ gram.embedding().T, theirs @ theirs.T, atol=1e-10)

    @settings(max_examples=25)
    @given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0, 1e-6))
    def test_near_singular_landmarks_give_a_projection_and_no_garbage(self, seed, rank, noise):
        rng = np.random.default_rng(seed)
        low = rng.normal(size=(40, rank)) @ rng.normal(size=(rank, 10)) + noise * rng.normal(size=(40, 10))
        K = low @ low.T
        B = whitening(K[:15, :15], np.finfo(float).eps)
        features = K[:, :15] @ B
        assert np.linalg.eigvalsh(features @ features.T).min() >= -1e-12 * np.trace(K)
        assert np.linalg.eigvalsh(K - features @ features.T).min() >= -1e-7 * np.trace(K)  # never more than K
        assert np.trace(K - features @ features.T) <= 1e-4 * np.trace(K) + 40 * 10 * noise**2

    def test_a_matrix_of_zeros(self, tmp_path):
        gram = compute_gram(Linear(), np.zeros((5, 3)), store=tmp_path / "z.zarr", landmarks=[2])
        np.testing.assert_array_equal(gram.to_numpy(), np.zeros((5, 5)))
        assert (gram.rank, gram.error().trace, gram.error().frobenius) == (0, 0.0, 0.0)

    def test_single_precision_is_cut_off_at_its_own_rounding(self, tmp_path):
        low = X[:, :3] @ np.random.default_rng(2).normal(size=(3, 12))
        gram = compute_gram(Linear(), low, store=tmp_path / "l.zarr", landmarks=20, dtype="float32")
        assert gram.rank == 3
        np.testing.assert_allclose(gram.to_numpy(), low @ low.T, atol=1e-4)

    def test_another_kernel_on_the_same_landmarks(self, tmp_path):
        gram = compute_gram(Kendall(ties="b"), X, store=tmp_path / "k.zarr", landmarks=9)
        for kernel in (Mallows(0.2), Mallows(2.0, scaled=True), Kendall()):
            K = kernel(X)
            expected = nystrom(K, gram.landmarks)
            for view in (gram.with_kernel(kernel), compute_gram(kernel, X, store=gram.path, landmarks=9)):
                np.testing.assert_allclose(view.to_numpy(), expected, atol=1e-10)
                assert view.error().trace == pytest.approx(1 - np.trace(expected) / np.trace(K))
                assert pickle.loads(pickle.dumps(view)).kernel == kernel
        assert len(gram.info()["runs"]) == 1


class TestCohorts:
    def test_equal_samples_are_computed_once_and_are_one_landmark(self, tmp_path):
        few = np.random.default_rng(3).integers(0, 4, (15, 8)).astype(float)
        many = few[np.random.default_rng(4).integers(0, 15, 400)]
        for how in ("random", "kmeans++", "leverage"):
            gram = compute_gram(
                Kendall(), many, store=tmp_path / f"{how}.zarr", landmarks=7, landmark_choice=how, tile=4
            )
            assert gram.info()["samples_computed"] == [15, 7]
            assert len(np.unique(many[gram.landmarks], axis=0)) == 7
            expected = nystrom(Kendall()(many), gram.landmarks)
            np.testing.assert_allclose(gram.to_numpy(), expected, atol=1e-12)
            V = np.random.default_rng(1).normal(size=400)
            np.testing.assert_allclose(gram.matmat(V), expected @ V, atol=1e-10)
            read = gram.bytes_read()
            gram.matmat(V)
            assert gram.bytes_read() - read == 2 * 15 * 7 * 4  # two passes over what is stored, 32 bits an entry
        with pytest.raises(InputError, match="at most the 15 different samples of the cohort, not 16"):
            compute_gram(Kendall(), many, store=tmp_path / "k.zarr", landmarks=16)
        all_of_them = compute_gram(Kendall(), many, store=tmp_path / "a.zarr", landmarks=15)
        np.testing.assert_allclose(all_of_them.to_numpy(), Kendall()(many), atol=1e-10)

    def test_equal_samples_of_a_kernel_that_computes_each(self, tmp_path):
        twice = np.vstack([X[:20], X[:20]])
        gram = compute_gram(Linear(), twice, store=tmp_path / "l.zarr", landmarks=20)
        np.testing.assert_array_equal(gram.landmarks, np.arange(20))
        with pytest.raises(InputError, match="the samples '3' and '23' are the same"):
            compute_gram(Linear(), twice, store=tmp_path / "m.zarr", landmarks=[23, 5, 3])

    @pytest.mark.parametrize("how", with_slow(["kmeans++"], ["random", "leverage"]))
    def test_a_sparse_cohort_gives_the_same_landmarks_and_values(self, how, tmp_path):
        thin = np.where(np.random.default_rng(5).random((80, 60)) < 0.1, np.abs(X).mean() + X[:80, :1], 0.0)
        thin += (np.arange(60) == np.arange(80)[:, None] % 60) * (1.0 + np.arange(80)[:, None])
        grams = [
            compute_gram(Kendall(), cohort, store=tmp_path / f"{name}.zarr", landmarks=12, landmark_choice=how, tile=32)
            for name, cohort in (("dense", thin), ("sparse", sparse.csr_array(thin)))
        ]
        assert [gram.info()["sparse"] for gram in grams] == [False, True]
        np.testing.assert_array_equal(grams[0].landmarks, grams[1].landmarks)
        np.testing.assert_array_equal(grams[0].part.to_numpy(), grams[1].part.to_numpy())
        assert grams[0].error() == grams[1].error()

    def test_names(self, tmp_path):
        names = [f"p{i}" for i in range(90)]
        gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", landmarks=["p7", "p3"], ids=names)
        np.testing.assert_array_equal(gram.landmarks, [3, 7])
        assert gram.part.col_ids == ("p3", "p7")
        assert gram.ids == tuple(names)
        assert gram[5:][:, 5:].col_ids == tuple(names[5:])


class TestErrors:
    def test_the_estimate_is_the_error_on_a_small_cohort(self, tmp_path, monkeypatch):
        monkeypatch.setattr(landmarks, "ENTRIES", 20_000)
        for kernel in (Gaussian(3.0), Mallows(0.05)):
            gram = compute_gram(kernel, X, store=tmp_path / "k.zarr", landmarks=10, overwrite=True)
            K = kernel(X)
            off = K - nystrom(K, gram.landmarks)
            error = gram.error()
            true = np.linalg.norm(off) / np.linalg.norm(K)
            assert error.trace == pytest.approx(np.trace(off) / np.trace(K), abs=1e-12)
            assert error.trace == pytest.approx(np.linalg.norm(off, "nuc") / np.linalg.norm(K, "nuc"), abs=1e-9)
            assert abs(error.frobenius - true) < 4 * error.frobenius_se < 0.05 * true
            apart = ~np.eye(90, dtype=bool)
            assert error.rms == pytest.approx(np.sqrt(np.mean(off[apart] ** 2)), rel=0.05)
            assert error.largest == pytest.approx(np.abs(off[apart]).max(), rel=1e-6)  # 20,000 draws of 4,005 pairs
            assert error.entries == 20_000
            assert f"{error.trace:.2%}" in str(error)

    @pytest.mark.slow
    def test_the_standard_error_is_that_of_many_samples(self, tmp_path):
        K = Gaussian(3.0)(X)
        estimates, stated = [], []
        gram = compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", landmarks=8)
        for seed in range(25):
            entries = landmarks.true_entries(job_of(Gaussian(3.0), X), seed)
            columns = replace(gram._store.manifest.landmark_columns, true_entries=entries)
            gram._store.manifest = replace(gram._store.manifest, landmark_columns=columns)
            error = gram.error()
            estimates.append(error.frobenius)
            stated.append(error.frobenius_se)
        off = K - nystrom(K, gram.landmarks)
        assert np.std(estimates) == pytest.approx(np.mean(stated), rel=0.5)
        assert np.mean(estimates) == pytest.approx(np.linalg.norm(off) / np.linalg.norm(K), rel=0.02)

    def test_a_damaged_sample_of_entries_or_landmark_is_noticed(self, tmp_path):
        compute_gram(Linear(), X, store=tmp_path / "l.zarr", landmarks=4)
        file = tmp_path / "l.zarr" / "zarr.json"
        whole = json.loads(file.read_text())
        for damage, said in (("error_sample", "true entries .* do not match"), ("landmark_positions", "damaged")):
            meta = json.loads(json.dumps(whole))
            if damage == "error_sample":
                meta["attributes"]["distkern"][damage]["values"][0] += 1
            else:
                meta["attributes"]["distkern"][damage][0] = 90
            meta["attributes"]["checksum"] = json_checksum(meta["attributes"]["distkern"])
            file.write_text(json.dumps(meta))
            with pytest.raises(StoreError, match=said):
                open_gram(tmp_path / "l.zarr").error()


def job_of(kernel, samples):
    from distkern.build.validate import validate

    return validate(kernel, samples, None, None, "error")


class TestPairs:
    def test_each_pair_is_as_likely_as_any_other(self):
        counts = np.zeros((12, 12))
        np.add.at(counts, tuple(landmarks.drawn_pairs(0, 12, 20_000)), 1)
        above = np.triu_indices(12, 1)
        assert counts.sum() == counts[above].sum() == 20_000
        expected = 20_000 / 66
        assert ((counts[above] - expected) ** 2 / expected).sum() < 107  # 65 degrees of freedom: once in a thousand

    @settings(max_examples=30)
    @given(st.integers(0, 2**60), st.integers(2, 10**6), st.integers(0, 10**6))
    def test_draws_stay_or_move_to_pairs_with_a_new_sample(self, seed, samples, more):
        before, after = landmarks.drawn_pairs(seed, samples, 50), landmarks.drawn_pairs(seed, samples + more, 50)
        assert (before[0] >= 0).all()
        assert (before[0] < before[1]).all()
        assert (before[1] < samples).all()
        stayed = after[1] < samples
        np.testing.assert_array_equal(after[:, stayed], before[:, stayed])

    def test_of_large_cohorts_the_draws_are_uniform_too(self):
        first, second = landmarks.drawn_pairs(1, 10**6, 20_000) / 10**6
        grid = np.linspace(0, 1, 101)
        assert abs((second[:, None] <= grid).mean(axis=0) - grid**2).max() < 1.95 / np.sqrt(20_000)  # Kolmogorov, 0.1 %
        assert abs((first / second <= grid[:, None]).mean(axis=1) - grid).max() < 1.95 / np.sqrt(20_000)

    def test_the_estimate_of_a_grown_cohort_is_its_error(self, tmp_path):
        mixed = np.vstack([X[:60], 3.0 * X[60:] + 5.0])  # the new ones are far from all landmarks
        gram = compute_gram(Gaussian(3.0), mixed[:60], store=tmp_path / "g.zarr", landmarks=[0, 10, 20, 30, 40, 50])
        grown, K = append_gram(gram, mixed[60:]), Gaussian(3.0)(mixed)
        off = (K - nystrom(K, grown.landmarks))[np.triu_indices(90, 1)]
        old = (K - nystrom(K, grown.landmarks))[np.triu_indices(60, 1)]
        error = grown.error()
        spread = np.std(off**2) / np.sqrt(error.entries)
        assert abs(error.rms**2 - np.mean(off**2)) < 4 * spread < abs(np.mean(old**2) - np.mean(off**2))


class TestChoices:
    @pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
    @pytest.mark.parametrize("how", ["random", "kmeans++", "leverage"])
    def test_values_beyond_range_are_refused_whatever_the_choice(self, how, tmp_path):
        with pytest.raises(InputError, match="scale the data down"):
            compute_gram(Linear(), X * 1e200, store=tmp_path / "l.zarr", landmarks=4, landmark_choice=how)

    @pytest.mark.parametrize(("how", "most"), with_slow([("kmeans++", 0.25)], [("leverage", 0.75)]))
    def test_better_than_random_on_an_unbalanced_cohort(self, how, most):
        kernel, errors = Gaussian(10.0), {"random": [], how: []}
        for seed in range(10):
            cohort = clusters(seed)
            job = job_of(kernel, cohort)
            K = kernel(cohort)
            for name, found in errors.items():
                L = landmarks.choose(job, landmarks.LandmarkRequest(name, 20, seed))
                assert len(set(L.tolist())) == 20
                found.append(1 - np.trace(nystrom(K, L)) / np.trace(K))
        assert np.mean(errors[how]) < most * np.mean(errors["random"])

    @pytest.mark.slow
    def test_kmeans_in_batches_draws_from_the_distribution_of_one_at_a_time(self):
        points = np.array([[0.0], [1.0], [3.0], [7.0]])
        squares = (points - points.T) ** 2
        expected = np.zeros((4, 4, 4))
        for a in range(4):
            for b in range(4):
                p = squares[a, b] / squares[a].sum() / 4
                left = np.minimum(squares[a], squares[b])
                expected[a, b] += p * left / left.sum()
        job, counts = job_of(Linear(), points), np.zeros((4, 4, 4))
        for seed in range(1500):
            key = landmarks._key(seed, "landmarks")
            pool = choice.Pool(Linear(), lambda at: landmarks._prepared(job, Linear(), at), np.arange(4), key)
            counts[tuple(choice.kmeans_pp(pool, 3))] += 1
        possible = expected > 0
        assert counts[~possible].sum() == 0
        chi2 = ((counts - 1500 * expected)[possible] ** 2 / (1500 * expected[possible])).sum()
        assert chi2 < 50  # 23 degrees of freedom: exceeded once in a thousand

    def test_leverage_scores_are_those_of_the_whole_matrix_where_all_is_chosen(self):
        K = Gaussian(3.0)(X)
        scores = choice._ridge_scores(K, np.arange(90), np.ones(90), np.diag(K), np.log(20), 20)
        rank = int(np.ceil(20 / (4 * np.log(20))))
        ridge = np.linalg.eigvalsh(K)[::-1][rank:].sum() / rank
        np.testing.assert_allclose(scores, np.diag(K @ np.linalg.inv(K + ridge * np.eye(90))), rtol=1e-8)

    def test_a_pool_is_a_bounded_draw_and_kernel_values_are_taken_of_it_alone(self, monkeypatch, tmp_path):
        monkeypatch.setattr(choice, "FEWEST", 50)
        monkeypatch.setattr(choice, "CANDIDATES", 2)
        monkeypatch.setattr(choice, "BLOCK", 16)
        for how in ("kmeans++", "leverage"):
            gram = compute_gram(Gaussian(3.0), X, store=tmp_path / f"{how}.zarr", landmarks=20, landmark_choice=how)
            job = job_of(Gaussian(3.0), X)
            drawn = np.argsort(landmarks.uniforms(landmarks._key(0, "landmarks"), 0, 90), kind="stable")[:50]
            assert set(gram.landmarks) <= set(drawn)
            assert len(set(gram.landmarks)) == 20
            np.testing.assert_array_equal(gram.landmarks, landmarks.choose(job, landmarks.LandmarkRequest(how, 20)))

    def test_a_block_of_candidates_that_fails_is_no_block_of_garbage(self, monkeypatch):
        def fail(self, A, B):
            raise MemoryError

        monkeypatch.setattr(Linear, "tile", fail)
        job = job_of(Gaussian(3.0), X)
        pool = choice.Pool(Linear(), lambda at: landmarks._prepared(job, Linear(), at), np.arange(90), None)
        with pytest.raises(TaskError, match="MemoryError"):
            pool.columns(np.arange(3))

    def test_samples_equal_in_feature_space_still_fill_the_number_of_landmarks(self, tmp_path):
        shifted = np.vstack([X[:3] + shift for shift in range(8)])  # three orderings, all values differ
        for how in ("kmeans++", "leverage"):
            gram = compute_gram(Kendall(), shifted, store=tmp_path / f"{how}.zarr", landmarks=6, landmark_choice=how)
            assert len(set(gram.landmarks)) == 6
            np.testing.assert_allclose(gram.to_numpy(), Kendall()(shifted), atol=1e-12)


class TestStores:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "how", ["random", *(pytest.param(how, marks=pytest.mark.slow) for how in ("kmeans++", "leverage"))]
    )
    def test_the_same_bits_whatever_the_executor_and_tile_and_after_an_interruption(self, how, tmp_path, client):
        asked = {"landmarks": 10, "landmark_choice": how, "landmark_seed": 3}
        np.save(tmp_path / "x.npy", X)
        one = compute_gram(Gaussian(3.0), X, store=tmp_path / "1.zarr", tile=7, executor="serial", **asked)
        two = compute_gram(Gaussian(3.0), tmp_path / "x.npy", store=tmp_path / "2.zarr", tile=33, **asked)
        assert "Dask cluster" in two.info()["runs"][0]["executor"]

        def stop(event):
            if event.phase == "compute tiles" and event.done == 5:
                raise KeyboardInterrupt

        path = tmp_path / "3.zarr"
        with pytest.raises(KeyboardInterrupt):
            compute_gram(Gaussian(3.0), X, store=path, tile=7, executor="serial", progress=stop, **asked)
        assert not open_gram(path).is_complete
        three = compute_gram(Gaussian(3.0), X, store=path, executor=2, **asked)
        assert three.info()["runs"][1]["tiles_computed"] == one.info()["tiles"] - 5
        for other in (two, three):
            np.testing.assert_array_equal(one.landmarks, other.landmarks)
            np.testing.assert_array_equal(one.part.to_numpy(), other.part.to_numpy())
            assert one.error() == other.error()

    def test_its_products_are_passes_over_the_part_with_the_same_bits_on_any_executor(
        self, tmp_path, client, monkeypatch
    ):
        monkeypatch.setattr(map_reduce, "SMALL_BYTES", 0)
        many = X[np.random.default_rng(6).integers(0, 70, 200)].round(1)  # equal samples too
        path, V = tmp_path / "k.zarr", np.random.default_rng(1).normal(size=(200, 40))
        compute_gram(Kendall(ties="b"), many, store=path, landmarks=12, tile=5, executor="serial")
        multiplied, made = map_reduce.map_group, []
        monkeypatch.setattr(map_reduce, "map_group", lambda task: made.append(task) or multiplied(task))
        rows, cols = np.array([150, 3, 3, 77]), np.arange(20, 120)
        found = []
        for executor in ("serial", Threads(3)):
            gram = open_gram(path, executor=executor)
            found.append((gram.matmat(V), gram[rows][:, cols].matmat(V[cols, 0]), gram.centered().matmat(V)))
            assert {task.kernel for task in made} == {Kendall(ties="b")}
            assert len(made) > 3 * 2 * 7  # centring takes a product
            made.clear()
        monkeypatch.setattr(map_reduce, "map_group", multiplied)
        gram = open_gram(path, executor=client)
        found.append((gram.matmat(V), gram[rows][:, cols].matmat(V[cols, 0]), gram.centered().matmat(V)))
        for others in zip(*found, strict=True):
            np.testing.assert_array_equal(others[0], others[1])
            np.testing.assert_array_equal(others[0], others[2])
        K = nystrom(Kendall(ties="b")(many), gram.landmarks)
        np.testing.assert_allclose(found[0][0], K @ V, atol=1e-9)
        np.testing.assert_allclose(found[0][1], K[np.ix_(rows, cols)] @ V[cols, 0], atol=1e-9)
        before = gram.bytes_read()
        gram.matmat(V)
        assert gram.bytes_read() - before == 2 * gram.part._grid.entries * 4  # two passes, 32 bits an entry

    def test_opened_again_pickled_and_resumed_it_is_the_same(self, tmp_path, monkeypatch):
        gram = compute_gram(
            Gaussian(3.0), X, store=tmp_path / "g.zarr", landmarks=10, landmark_choice="leverage", tile=32
        )
        monkeypatch.setattr("distkern.build.landmarks.choose", None)  # nothing is chosen twice
        again = compute_gram(Gaussian(3.0), X, store=gram.path, landmarks=10, landmark_choice="leverage")
        for same in (open_gram(gram.path), pickle.loads(pickle.dumps(gram)), again):
            assert isinstance(same, NystromGram)
            np.testing.assert_array_equal(same.to_numpy(), gram.to_numpy())
            assert same.error() == gram.error()
        part = gram[np.ix_(range(5, 50), range(5, 50))]
        assert len(pickle.dumps(part)) < 3000
        copy = pickle.loads(pickle.dumps(part))
        assert copy.is_symmetric
        np.testing.assert_array_equal(copy.to_numpy(), part.to_numpy())
        assert len(gram.info()["runs"]) == 1
        assert "error_sample" not in gram.info()

    def test_another_choice_or_cohort_is_refused(self, tmp_path):
        path = tmp_path / "g.zarr"
        compute_gram(Gaussian(3.0), X, store=path, landmarks=10, landmark_choice="kmeans++")
        others = [
            {"landmarks": 9, "landmark_choice": "kmeans++"},
            {"landmarks": 10, "landmark_choice": "leverage"},
            {"landmarks": 10, "landmark_choice": "kmeans++", "landmark_seed": 1},
            {"landmarks": list(range(10))},
            {},
        ]
        for other in others:
            with pytest.raises(StoreMismatchError, match="landmarks"):
                compute_gram(Gaussian(3.0), X, store=path, **other)
        with pytest.raises(StoreMismatchError, match="fingerprint"):
            compute_gram(Gaussian(3.0), X + 1, store=path, landmarks=10, landmark_choice="kmeans++")
        compute_gram(Linear(), X, store=tmp_path / "l.zarr", landmarks=[4, 1])
        compute_gram(Linear(), X, store=tmp_path / "l.zarr", landmarks=[1, 4])
        with pytest.raises(StoreMismatchError, match="landmarks"):
            compute_gram(Linear(), X, store=tmp_path / "l.zarr", landmarks=[1, 5])
        compute_gram(Linear(), X, store=tmp_path / "f.zarr")
        with pytest.raises(StoreMismatchError, match="landmarks"):
            compute_gram(Linear(), X, store=tmp_path / "f.zarr", landmarks=3)

    def test_a_damaged_tile_is_found_and_repaired(self, tmp_path):
        gram = compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", landmarks=10, tile=32)
        whole = gram.part.to_numpy()
        file = tmp_path / "g.zarr" / "gram" / "c" / "1" / "0"
        data = bytearray(file.read_bytes())
        data[40] ^= 1
        file.write_bytes(bytes(data))
        opened = open_gram(gram.path)
        assert len(opened.verify(progress=False)) == 1
        assert repair_gram(gram.path) == 1
        np.testing.assert_array_equal(open_gram(gram.path).part.to_numpy(), whole)

    def test_a_narrow_part_takes_no_disk_for_columns_that_are_not_there(self, tmp_path):
        gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", landmarks=4, tile=45)
        files = [f for f in (tmp_path / "l.zarr" / "gram" / "c").rglob("*") if f.is_file()]
        assert sum(f.stat().st_size for f in files) == 90 * 4 * 8
        assert gram.info()["bytes_stored"] < 90 * 4 * 8 + 94 * (12 * 8 + 8 + 24) + 100

    def test_the_plan_knows_the_landmarks_and_chooses_none(self, monkeypatch):
        monkeypatch.setattr("distkern.build.landmarks.choose", None)
        monkeypatch.setattr("distkern.build.landmarks.true_entries", None)
        plan = plan_gram(Linear(), X, landmarks=10, landmark_choice="leverage", tile=30)
        assert (plan.shape, plan.tiles, plan.symmetric) == ((90, 10), 3, False)
        assert plan.landmarks["count"] == 10
        assert "at landmarks (10 by leverage, seed 0)" in str(plan)
        monkeypatch.setattr(landmarks, "pool_bytes", lambda *_: 2**40)
        with pytest.raises(MemoryLimitError, match="use landmark_choice='random'"):
            plan_gram(Linear(), X, landmarks=10, landmark_choice="leverage")
        plan_gram(Linear(), X, landmarks=10)


class TestRefusals:
    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"landmarks": 0}, "1 or more and at most the 90 samples of the cohort, not 0"),
            ({"landmarks": 91}, "not 91"),
            ({"landmarks": -3}, "not -3"),
            ({"landmarks": True}, "whole number, or positions or names"),
            ({"landmarks": 2.5}, "whole number, or positions or names"),
            ({"landmarks": "p1"}, "whole number, or positions or names"),
            ({"landmarks": []}, "empty list"),
            ({"landmarks": [3, 3]}, "'3' and '3' are the same"),
            ({"landmarks": [3, -87]}, "'3' and '3' are the same"),
            ({"landmarks": [90]}, "reach from 90 to 90; there are 90 samples"),
            ({"landmarks": ["x"]}, "no sample 'x'"),
            ({"landmarks": 3, "landmark_choice": "best"}, r"one of random, kmeans\+\+, leverage, not 'best'"),
            ({"landmarks": 3, "landmark_seed": None}, "landmark_seed must be a whole number, not None"),
            ({"landmarks": 3, "Y": X}, "leave out Y= or landmarks="),
        ],
    )
    def test_invalid_landmarks_are_refused(self, asked, said, tmp_path):
        with pytest.raises(InputError, match=said):
            compute_gram(Linear(), X, store=tmp_path / "l.zarr", **asked)
        assert not (tmp_path / "l.zarr").exists()


@pytest.fixture(scope="module")
def gram(tmp_path_factory):
    path = tmp_path_factory.mktemp("landmarks") / "g.zarr"
    return compute_gram(Gaussian(3.0), X, store=path, landmarks=30, executor="serial")


class TestLearners:
    def test_learners_take_it_as_any_matrix(self, gram):
        y = np.where(X[:, 0] + X[:, 1] > 0, "a", "b")
        K = gram.to_numpy()
        train, test = np.arange(0, 60), np.arange(60, 90)
        for ours, plain in (
            (gram, K),
            (KernelStandardizer().fit_transform(gram), KernelStandardizer().fit_transform(K)),
        ):
            model = KernelSVC(C=2.0, tol=1e-9).fit(ours[np.ix_(train, train)], y[train])
            expected = KernelSVC(C=2.0, tol=1e-9).fit(plain[np.ix_(train, train)], y[train])
            np.testing.assert_allclose(
                model.decision_function(ours[np.ix_(test, train)]),
                expected.decision_function(plain[np.ix_(test, train)]),
                atol=1e-4,
            )
        scores = [
            cross_validate_gram(None, matrix, y, outer=3, inner=2, repeats=1).mean("accuracy") for matrix in (gram, K)
        ]
        assert scores[0] == scores[1] > 0.6

    def test_new_samples_are_compared_by_the_landmarks_alone(self, gram):
        y = np.where(X[:, 0] > 0, "a", "b")
        model = KernelSVC().fit(gram, y)
        predictor = CohortPredictor(model, gram)
        assert predictor.score(X, y) == model.score(gram, y) > 0.8

    def test_a_linear_learner_on_the_embedding_is_one_on_the_kernel(self, gram):
        y = X[:, 0] > 0
        train, new = gram[:60].embedding(), gram.cross(X[60:]).embedding()
        np.testing.assert_allclose(new, gram[60:].embedding(), atol=1e-9)
        assert LinearSVC().fit(train, y[:60]).score(new, y[60:]) > 0.8

    def test_nothing_makes_the_square_matrix(self, gram, monkeypatch):
        largest = 0
        read = Gram._computed

        def watched(self, rows, cols):
            nonlocal largest
            largest = max(largest, len(rows) * len(cols))
            return read(self, rows, cols)

        monkeypatch.setattr(Gram, "_computed", watched)
        opened = open_gram(gram.path)
        monkeypatch.setattr(LowRankGram, "_block", None)
        monkeypatch.setattr(LowRankGram, "tiles", None)
        view = opened.centered()
        view.matmat(np.ones(90))
        view.row_diag()
        opened.unit_norm().matmat(np.ones((90, 2)))
        opened[np.ix_(range(50), range(50))].centered().unit_norm().matmat(np.ones(50))
        KernelStandardizer().fit(opened)
        opened.error()
        assert 0 < largest <= 90 * 30  # a block of the part


def test_samples_that_were_added_change_the_features_of_the_others_by_rounding_alone(tmp_path):
    """C and W keep their bits; BLAS sums the k products of a number of C W^(−1/2) in an order of its own."""
    old = compute_gram(Gaussian(3.0), X[:60], store=tmp_path / "o.zarr", landmarks=[0, 20, 40])
    features, basis = old.embedding(), old._rows.basis
    whole = append_gram(old, X[60:])
    np.testing.assert_array_equal(whole._rows.basis, basis)
    size = abs(whole.part.to_numpy()[:60]) @ abs(basis)
    assert (abs(whole[:60].embedding() - features) <= 2 * 3 * np.finfo(float).eps * size).all()
