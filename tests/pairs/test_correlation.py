"""kendalltau_matrix: pandas' and SciPy's values, choices about missing values, refusals."""

import warnings

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import kendalltau

from distkern import InputError, MemoryLimitError, SampleError, compute_gram, kendalltau_matrix, open_gram
from distkern import Kendall as KendallKernel

nan = np.nan
GAPS = pd.DataFrame(
    {
        "a": [1, 2, 3, nan, nan, nan, 1, 2, 3],
        "b": [1, 2, 3, 1, 2, 3, nan, nan, nan],
        "c": [nan, nan, nan, 1, 2, 3, 3, 2, 1],
    }
)


def matrix(frame, *args, **options):
    return kendalltau_matrix(frame, *args, **{"executor": "serial", "progress": False} | options)


def by_scipy(X, **options):
    """Every pair by SciPy on its complete observations: statistics and p-values."""
    found = np.full((2, X.shape[1], X.shape[1]), nan)
    for i, x in enumerate(X.T):
        for j, y in enumerate(X.T):
            seen = ~np.isnan(x) & ~np.isnan(y)
            if seen.sum() > 1:  # SciPy warns of fewer, and gives NaN
                found[:, i, j] = kendalltau(x[seen], y[seen], **options)
    return found


def off_diagonal(values):
    values = np.array(values)
    np.fill_diagonal(values, 0)
    return values


@st.composite
def frames(draw, elements, max_rows=20):
    n, p = draw(st.integers(3, max_rows)), draw(st.integers(1, 5))
    if draw(st.booleans()):
        return np.array([draw(st.permutations(range(n))) for _ in range(p)], dtype=float).T
    return draw(arrays(np.float64, (n, p), elements=elements))


ties = st.integers(-2, 2).map(float)


@settings(max_examples=15)
@given(frames(ties), st.sampled_from(["two-sided", "less", "greater"]), st.sampled_from(["auto", "asymptotic"]))
def test_equals_scipy_statistic_and_pvalue_with_and_without_ties(X, alternative, method):
    tau, p = matrix(X, pvalue=True, alternative=alternative, method=method)
    expected_tau, expected_p = by_scipy(X, alternative=alternative, method=method)
    np.testing.assert_allclose(off_diagonal(tau), off_diagonal(expected_tau), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(p, expected_p, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.diag(tau), 1)


@settings(max_examples=12)
@given(frames(st.one_of(ties, st.just(nan))))
def test_pairwise_equals_pandas_scipy_and_the_naive_loop(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tau, p = matrix(X, pvalue=True, missing="pairwise")
        expected = pd.DataFrame(X).corr(method="kendall", min_periods=1).to_numpy()
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(p, by_scipy(X)[1], rtol=1e-9, atol=1e-12)
    looped = [[naive.tau_b(x.tolist(), y.tolist()) for y in X.T] for x in X.T]
    np.testing.assert_allclose(off_diagonal(tau), off_diagonal(looped), rtol=1e-12, atol=1e-12)


def test_pandas_frames_keep_their_names_types_and_repeated_rows():
    rng = np.random.default_rng(1)
    columns = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)])
    frame = pd.DataFrame(rng.integers(0, 5, (12, 3)), columns=columns, index=[0] * 12)
    frame[("x", 2)] = frame[("x", 2)].astype("Int64")
    tau, p = matrix(frame, pvalue=True)
    pd.testing.assert_frame_equal(tau, frame.astype(float).corr(method="kendall"))
    assert p.index.equals(columns)
    assert p.columns.equals(columns)


def test_a_constant_feature_is_nan_off_the_diagonal_as_in_pandas():
    frame = pd.DataFrame({"flat": [1.0, 1, 1, 1], "up": [1.0, 2, 3, 4]})
    tau, p = matrix(frame, pvalue=True)
    pd.testing.assert_frame_equal(tau, frame.corr(method="kendall"))
    assert p.isna().to_numpy().tolist() == [[True, True], [True, False]]


def test_infinite_values_are_values():
    assert matrix(np.array([[1, 2, 3, np.inf], [1, 2, 3, 0]]).T)[0, 1] == 0.0


def test_other_containers_give_the_same():
    import anndata

    X = np.random.default_rng(2).poisson(0.5, (15, 6)).astype(float)
    expected = matrix(X)
    assert isinstance(expected, np.ndarray)
    np.testing.assert_array_equal(matrix(sparse.csr_array(X)), expected)
    for values in (X, sparse.csr_matrix(X)):
        adata = anndata.AnnData(values, var=pd.DataFrame(index=list("abcdef")))
        found = matrix(adata)
        assert found.columns.tolist() == list("abcdef")
        np.testing.assert_array_equal(found.to_numpy(), expected)


def test_bits_do_not_depend_on_executor_and_store(client, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (40, 23)).astype(float)
    gaps = np.where(rng.random(X.shape) < 0.1, nan, X)
    whole, gapped = matrix(X, True), None
    np.testing.assert_array_equal(whole[0], KendallKernel(ties="b")(X.T))
    with pytest.warns(UserWarning, match="semidefinite"):
        gapped = matrix(gaps, True, "pairwise")
    for executor in (3, client):
        np.testing.assert_array_equal(matrix(X, True, executor=executor), whole)
        with pytest.warns(UserWarning, match="semidefinite"):
            np.testing.assert_array_equal(matrix(gaps, True, "pairwise", executor=executor), gapped)
    monkeypatch.setattr("distkern.pairs.correlation.STRIP_ENTRIES", 50)
    np.testing.assert_array_equal(matrix(X, True), whole)


def test_store_of_features_is_kept_and_resumed(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(10, 4)), columns=list("wxyz"))
    first = matrix(frame, store=tmp_path / "tau.zarr")
    assert open_gram(tmp_path / "tau.zarr").row_ids == tuple("wxyz")
    pd.testing.assert_frame_equal(matrix(frame, store=tmp_path / "tau.zarr"), first)
    assert len(open_gram(tmp_path / "tau.zarr").info()["runs"]) == 1


# Missing values ----------------------------------------------------------------------------------------------------


def test_a_missing_value_is_refused_by_name():
    frame = pd.DataFrame({"TP53": [1.0, 2, 3], "MYC": [1, nan, 2]}, index=["p1", "p2", "p3"])
    with pytest.raises(SampleError, match=r"sample 'p2' .*NaN.* feature 'MYC'.*drop-samples.*pairwise") as caught:
        matrix(frame)
    assert caught.value.row == 1


def test_samples_that_lack_a_value_are_left_out_and_counted():
    frame = pd.DataFrame({"a": [1.0, 2, nan, 3, 5], "b": [2.0, 1, 7, nan, 9]})
    with pytest.warns(UserWarning, match="2 of 5 samples"):
        tau = matrix(frame, missing="drop-samples")
    pd.testing.assert_frame_equal(tau, frame.dropna().corr(method="kendall"))


@pytest.mark.parametrize("missing", ["raise", "drop-samples", "pairwise"])
def test_complete_samples_give_no_warning(missing):
    frame = pd.DataFrame({"a": [1.0, 2, 4, 3], "b": [2.0, 1, 7, 8]})
    pd.testing.assert_frame_equal(matrix(frame, missing=missing), frame.corr(method="kendall"))


def test_pairwise_deletion_is_not_positive_semidefinite_and_what_is_offered_instead_is():
    with pytest.warns(UserWarning, match="need not be positive semidefinite"):
        tau = matrix(GAPS, missing="pairwise")
    np.testing.assert_allclose(np.linalg.eigvalsh(tau), [-1, 2, 2], atol=1e-12)
    with pytest.raises(InputError, match="0 of 9 can be compared"):
        matrix(GAPS, missing="drop-samples")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 4, (30, 8)).astype(float)).mask(rng.random((30, 8)) < 0.05)
    with pytest.warns(UserWarning, match="left out"):
        kept = matrix(frame, missing="drop-samples")
    assert np.linalg.eigvalsh(kept).min() > -1e-12
    filled = matrix(GAPS.fillna(GAPS.median()))
    assert np.linalg.eigvalsh(filled).min() > -1e-12


def test_features_that_share_no_sample_have_no_tau():
    frame = pd.DataFrame({"a": [1.0, 2, nan, nan], "b": [nan, nan, 1.0, 2], "void": [nan] * 4})
    with pytest.warns(UserWarning, match="semidefinite"):
        tau, p = matrix(frame, pvalue=True, missing="pairwise")
    np.testing.assert_array_equal(tau, [[1, nan, nan], [nan, 1, nan], [nan] * 3])
    assert np.isnan(p.to_numpy()[~np.eye(3, dtype=bool)]).all()


# Refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [{"missing": "omit"}, {"alternative": "both"}, {"method": "z"}])
def test_an_unknown_choice_names_those_there_are(option):
    (name,) = option
    with pytest.raises(InputError, match=f"{name} must be one of "):
        matrix(np.eye(3), **option)


def test_exact_p_values_need_features_without_ties():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [1, 1, 2, 3], "flat": [0, 0, 0, 0]})
    with pytest.raises(InputError, match="feature 'b' has ties"):
        matrix(frame, pvalue=True, method="exact")
    assert matrix(frame[["a", "flat"]], pvalue=True, method="exact")[1].loc["a", "a"] == pytest.approx(2 / 24)
    gaps = frame.astype(float).mask(frame == 4)
    with pytest.warns(UserWarning, match="semidefinite"), pytest.raises(InputError, match="features 'a' and 'b' have"):
        matrix(gaps, pvalue=True, method="exact", missing="pairwise")


def test_one_sample_is_too_few():
    with pytest.raises(InputError, match="1 of 1 can be compared"):
        matrix(np.ones((1, 3)))


def test_result_that_does_not_fit_is_refused_before_any_work():
    with pytest.raises(MemoryLimitError, match="the matrix of 200 features takes"):
        matrix(np.eye(200), memory_limit="100KiB")


def test_pairwise_has_no_store(tmp_path):
    with pytest.warns(UserWarning, match="semidefinite"), pytest.raises(InputError, match="leave store= out"):
        matrix(GAPS, missing="pairwise", store=tmp_path / "k.zarr")


def test_text_columns_are_refused():
    with pytest.raises(InputError, match="column 1 of the cohort contains"):
        matrix(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


def test_the_matrix_of_a_tall_cohort_is_that_of_compute_gram(tmp_path):
    X = np.random.default_rng(6).normal(size=(300, 7))
    gram = compute_gram(KendallKernel(ties="b"), X.T, store=tmp_path / "k.zarr", executor="serial", progress=False)
    np.testing.assert_array_equal(matrix(X), gram.to_numpy())


def test_many_samples_overflow_nothing():
    n = 78_500
    x = np.arange(n, dtype=float)
    y = np.random.default_rng(7).integers(0, 1000, n).astype(float)
    tau, p = matrix(np.column_stack([x, x[::-1], y]), pvalue=True)
    expected = kendalltau(x, y)
    np.testing.assert_allclose(tau[0], [1, -1, expected.statistic], rtol=1e-12)
    np.testing.assert_allclose(p[0], [0, 0, expected.pvalue], rtol=1e-9)


def test_repeated_features_are_features_like_others():
    X = np.random.default_rng(8).integers(0, 4, (12, 3)).astype(float)[:, [0, 1, 0, 0, 2, 1, 1, 0]]
    tau, p = matrix(X, pvalue=True)
    expected_tau, expected_p = by_scipy(X)
    np.testing.assert_allclose(tau, expected_tau, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(p, expected_p, rtol=1e-9)
