import tempfile
from types import SimpleNamespace

import naive
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from strategies import cohorts, with_gaps

from distkern import (
    InputError,
    KernelSVC,
    Linear,
    MemoryLimitError,
    QuantileNormalizer,
    SampleError,
    load_model,
    save_model,
)

C = np.array([[5.0, 2, 3, 4], [4, 1, 4, 2], [3, 4, 6, 8]])
NAMES = ["TP53", "MYC", "KRAS", "EGFR"]
FRAME = pd.DataFrame(C, columns=NAMES, index=["p1", "p2", "p3"])
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 17))


def test_reference_values_of_mean_target():
    normalizer = QuantileNormalizer("mean").fit(C)
    np.testing.assert_allclose(normalizer.target_, [2, 3, 14 / 3, 17 / 3], rtol=1e-15)
    expected = [[5.666667, 2, 3, 4.666667], [5.166667, 2, 5.166667, 3], [2, 3, 4.666667, 5.666667]]
    np.testing.assert_allclose(normalizer.transform(C), expected, atol=5e-7)
    np.testing.assert_allclose(QuantileNormalizer("mean").fit_transform(C), expected, atol=5e-7)
    np.testing.assert_array_equal(QuantileNormalizer([8, 9, 10, 11]).fit_transform([[4, 3, 2, 1]]), [[11, 10, 9, 8]])


def test_ranks_not_their_inverse():
    np.testing.assert_array_equal(
        QuantileNormalizer([10, 20, 30]).fit([[0, 1, 2]]).transform([[2, 3, 1]]), [[20, 30, 10]]
    )


def test_limma_examples_with_missing_values():
    """What ``limma::normalizeQuantiles`` does by its definition, step by step: approx() of sorted and of ranks."""
    Y = X.copy()
    Y[rng.random(Y.shape) < 0.2] = np.nan
    grid = np.linspace(0, 1, 17)
    rows = []
    for y in Y:
        seen = np.sort(y[~np.isnan(y)])
        rows.append(np.interp(grid, np.linspace(0, 1, len(seen)), seen))
    target = np.mean(rows, axis=0)
    normalizer = QuantileNormalizer("mean", ties="mid", missing="interpolate").fit(Y)
    np.testing.assert_allclose(normalizer.target_, target, rtol=1e-13)
    for y, found in zip(Y, normalizer.transform(Y), strict=True):
        seen = ~np.isnan(y)
        places = (stats.rankdata(y[seen]) - 1) / (seen.sum() - 1)
        np.testing.assert_allclose(found[seen], np.interp(places, grid, target), rtol=1e-12, atol=1e-14)
        assert np.isnan(found[~seen]).all()


@given(cohorts(), st.sampled_from(["mean", "median"]), st.sampled_from(["mean", "mid"]), st.booleans())
@pytest.mark.filterwarnings("ignore:.*constant")
def test_equals_the_naive_loop(X, how, ties, gaps):
    X = with_gaps(X) if gaps else X
    X = X[~np.isnan(X).all(axis=1)]
    if not len(X):
        return
    n = X.shape[1]
    rows = [sorted(value for value in x if value == value) for x in X.tolist()]
    spread = [[float(naive.interpolated(row, naive.place_of_rank(r, n, len(row)))) for r in range(n)] for row in rows]
    target = getattr(np, how)(spread, axis=0)
    normalizer = QuantileNormalizer(how, ties, "interpolate").fit(X)
    np.testing.assert_allclose(normalizer.target_, target, rtol=1e-12, atol=1e-12)
    expected = [naive.on_target(x, normalizer.target_.tolist(), ties) for x in X.tolist()]
    np.testing.assert_allclose(normalizer.transform(X), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "law"),
    [("normal", stats.norm), ("uniform", stats.uniform), ("exponential", stats.expon), ("cauchy", stats.cauchy)],
)
def test_targets_by_formula(name, law):
    normalizer = QuantileNormalizer(name).fit(X)
    np.testing.assert_allclose(normalizer.target_, law.ppf(np.arange(1, 18) / 18), rtol=1e-12, atol=1e-14)
    ranks = stats.rankdata(X, axis=1)
    np.testing.assert_allclose(normalizer.transform(X), law.ppf(ranks / 18), rtol=1e-12, atol=1e-14)


def test_the_target_is_frozen_and_every_sample_is_alone():
    normalizer = QuantileNormalizer().fit(X[:20])
    whole = normalizer.transform(X)
    for i in (0, 7, 25):
        np.testing.assert_array_equal(normalizer.transform(X[i : i + 1]), whole[i : i + 1])
    np.testing.assert_array_equal(np.sort(whole, axis=1), np.tile(normalizer.target_, (30, 1)))
    np.testing.assert_allclose(normalizer.target_, np.median(np.sort(X[:20], axis=1), axis=0), rtol=1e-15)


# Containers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["mean", "median", "normal"])
def test_all_containers_give_the_same_bits(tmp_path, how):
    counts = rng.poisson(0.6, size=(9, 17)).astype(float)
    names = [f"g{j}" for j in range(17)]
    np.save(tmp_path / "c.npy", counts)
    adata = AnnData(sparse.csr_matrix(counts), var=pd.DataFrame(index=names))
    adata.write_h5ad(tmp_path / "c.h5ad")
    expected = QuantileNormalizer(how).fit(counts)
    others = [
        counts.tolist(),
        tmp_path / "c.npy",
        tmp_path / "c.h5ad",
        adata,
        sparse.csr_array(counts),
        sparse.csc_matrix(counts),
    ]
    for other in [*others, pd.DataFrame(counts, columns=names)]:
        found = QuantileNormalizer(how).fit(other)
        np.testing.assert_array_equal(found.target_, expected.target_)
        np.testing.assert_array_equal(found.transform(other), expected.transform(counts))
        assert found.n_features_in_ == 17


def test_features_go_by_name():
    normalizer = QuantileNormalizer().fit(FRAME)
    assert normalizer.feature_names_in_.tolist() == NAMES
    assert normalizer.get_feature_names_out().tolist() == NAMES
    whole = normalizer.transform(FRAME)
    np.testing.assert_array_equal(normalizer.transform(FRAME.iloc[:, ::-1]), whole)
    np.testing.assert_array_equal(normalizer.transform(FRAME.iloc[:, ::-1].assign(EXTRA=99.0)), whole)
    named = clone(normalizer).set_output(transform="pandas").fit(FRAME).transform(FRAME.iloc[:, [2, 0, 1, 3]])
    pd.testing.assert_frame_equal(named, pd.DataFrame(whole, columns=NAMES, index=FRAME.index))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(normalizer.transform(C), whole)


def test_lacking_features_interpolate_the_target_and_say_so():
    normalizer = QuantileNormalizer([0, 10, 20, 30]).fit(FRAME)
    with pytest.warns(UserWarning, match=r"X lacks 1 of 4 features \('MYC'\): the target is interpolated to the 3"):
        found = normalizer.transform(FRAME[["EGFR", "TP53", "KRAS"]].iloc[:1])
    np.testing.assert_array_equal(found, [[30, 0, 15]])  # TP53, KRAS, EGFR = 5, 3, 4
    with pytest.raises(InputError, match=r"X has 1 of the 4 features .* \(it lacks 'MYC', 'KRAS', 'EGFR'\)"):
        normalizer.transform(FRAME[["TP53"]].assign(OTHER=1.0))


def test_another_number_of_features_interpolates_the_target_and_says_so():
    normalizer = QuantileNormalizer([0, 10, 20, 30]).fit(C)
    for new in ([[2.0, 3.0, 1.0]], np.array([[2.0, 3.0, 1.0]]), sparse.csr_array([[2.0, 3.0, 1.0]])):
        with pytest.warns(UserWarning, match="X has 3 features and the target 4 numbers: the target is interpolated"):
            np.testing.assert_array_equal(normalizer.transform(new), [[15, 30, 0]])
    with pytest.warns(UserWarning, match="X has 7 features"):
        np.testing.assert_allclose(normalizer.transform([np.arange(7.0)]), [np.arange(7) * 5])
    with pytest.raises(InputError, match="X has 1 features, but QuantileNormalizer is expecting 4 features"):
        normalizer.transform([[1.0]])


def test_in_a_pipeline_and_a_file(tmp_path):
    y = np.repeat(["a", "b"], 15)
    model = make_pipeline(QuantileNormalizer("normal"), KernelSVC(kernel=Linear())).fit(X, y)
    expected = KernelSVC(kernel=Linear()).fit(QuantileNormalizer("normal").fit_transform(X), y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(QuantileNormalizer("normal").fit_transform(X)))
    normalizer = QuantileNormalizer().fit(FRAME)
    loaded = load_model(save_model(normalizer, tmp_path / "target.npz"))
    np.testing.assert_array_equal(loaded.transform(FRAME), normalizer.transform(FRAME))
    given = QuantileNormalizer(np.arange(17.0)).fit(X)
    np.testing.assert_array_equal(
        load_model(save_model(given, tmp_path / "given.npz")).transform(X), given.transform(X)
    )


# Any size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["mean", "median"])
@pytest.mark.parametrize("limit", [200, 3000, 20_000])
def test_bits_do_not_depend_on_the_memory(how, limit, tmp_path):
    from distkern.io.source import as_source
    from distkern.kernels.quantile_targets import Learner

    Y = rng.normal(size=(101, 13)) * 10.0 ** rng.integers(-8, 8, (101, 13))
    whole = Learner(how).learn(as_source(Y))
    np.testing.assert_array_equal(Learner(how, limit=limit).learn(as_source(Y)), whole)
    np.testing.assert_array_equal(QuantileNormalizer(how).fit(Y).target_, whole)
    np.testing.assert_allclose(whole, getattr(np, how)(np.sort(Y, axis=1), axis=0), rtol=1e-13)


def test_a_random_subset_determines_the_median_of_many_samples_and_is_announced():
    with pytest.warns(UserWarning, match="that of 12 random samples of 30"):
        some = QuantileNormalizer(max_samples=12, random_state=3).fit(X)
    chosen = np.sort(np.random.default_rng(3).choice(30, 12, replace=False))
    np.testing.assert_array_equal(some.target_, QuantileNormalizer().fit(X[chosen]).target_)
    assert not np.array_equal(QuantileNormalizer(max_samples=None).fit(X).target_, some.target_)
    np.testing.assert_array_equal(
        QuantileNormalizer("mean", max_samples=3).fit(X).target_, QuantileNormalizer("mean").fit(X).target_
    )


def test_a_full_folder_of_temporary_files_is_refused(monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(
        MemoryLimitError, match=f"{tempfile.gettempdir()}.*TMPDIR.*lower max_samples=, or raise memory_limit="
    ):
        QuantileNormalizer(memory_limit=1000).fit(X)


def test_blocks_and_memory(monkeypatch):
    normalizer = QuantileNormalizer().fit(X)
    monkeypatch.setattr("distkern.learners.quantile.BLOCK_BYTES", 8 * 17 * 4)
    parts = list(normalizer.blocks(X))
    assert [rows.stop for rows, _ in parts] == [4, 8, 12, 16, 20, 24, 28, 30]
    np.testing.assert_array_equal(np.concatenate([values for _, values in parts]), normalizer.transform(X))
    with pytest.raises(MemoryLimitError, match="normalising 30 samples of 17 features needs"):
        normalizer.set_params(memory_limit=100).transform(X)


# Refusals ------------------------------------------------------------------------------------------------------------


def test_constant_samples_are_announced():
    normalizer = QuantileNormalizer([1, 2, 6, 7]).fit(FRAME)
    new = pd.DataFrame([[3.0] * 4, [1, 2, 3, 4]], columns=NAMES, index=["flat", "steep"])
    with pytest.warns(UserWarning, match=r"1 sample of 2 is constant \('flat'\): all values"):
        np.testing.assert_array_equal(normalizer.transform(new), [[4, 4, 4, 4], [1, 2, 6, 7]])


def gap(value=np.nan):
    frame = FRAME.copy()
    frame.loc["p2", "KRAS"] = value
    return frame


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: QuantileNormalizer().fit(gap()),
            "sample 'p2' has no value .* feature 'KRAS': .*missing='interpolate'",
        ),
        (lambda: QuantileNormalizer("normal").fit(gap()), "sample 'p2' has no value"),
        (lambda: QuantileNormalizer().fit(FRAME).transform(gap()), "sample 'p2' has no value"),
        (lambda: QuantileNormalizer().fit(sparse.csr_array(gap().to_numpy())), "sample '1' has no value .*number 2"),
        (lambda: QuantileNormalizer().fit(gap(np.inf)), "sample 'p2' has an infinite value"),
        (
            lambda: QuantileNormalizer(missing="interpolate").fit(FRAME * np.array([[1], [np.nan], [1]])),
            "'p2' has no value at all",
        ),
        (lambda: QuantileNormalizer([1, 3, 2, 4]).fit(C), "must ascend, and number 2 is 2.0 after 3.0: sort it"),
        (lambda: QuantileNormalizer([1, 2, np.nan, 4]).fit(C), "must be finite numbers, and number 2 is nan"),
        (lambda: QuantileNormalizer([1, 2, 3]).fit(C), "holds 3 numbers and the samples have 4 features"),
        (lambda: QuantileNormalizer("avarage").fit(C), "target must be 'median', 'mean', .*got 'avarage'"),
        (lambda: QuantileNormalizer([[1, 2]]).fit(C), "target must be"),
        (lambda: QuantileNormalizer(ties="first").fit(C), "ties must be one of mean, mid"),
        (lambda: QuantileNormalizer(missing="skip").fit(C), "missing must be one of"),
        (lambda: QuantileNormalizer(max_samples=0).fit(C), "max_samples must be"),
        (lambda: QuantileNormalizer().fit(C[:, :1]), "n_features = 1"),
        (lambda: QuantileNormalizer().fit(np.full((2, 3), 1e308)), "too large for a target"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises((InputError, SampleError), match=said):
        call()


def test_one_observed_value_takes_the_middle_of_the_target():
    normalizer = QuantileNormalizer([0, 1, 5, 9], missing="interpolate").fit(C)
    with pytest.warns(UserWarning, match="constant"):
        found = normalizer.transform([[np.nan, 7.0, np.nan, np.nan]])
    np.testing.assert_array_equal(found, [[np.nan, 3.0, np.nan, np.nan]])
