"""kendalltau_matrix: pandas' and SciPy's values, missing values, two tables, lists, strata, edges, refusals."""

import warnings

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import with_slow
from scipy import sparse
from scipy.stats import false_discovery_control, kendalltau
from tau_loops import Naive

from distkern import (
    InputError,
    InputTypeError,
    MemoryLimitError,
    SampleError,
    StoreMismatchError,
    compute_gram,
    kendalltau_matrix,
    open_gram,
)
from distkern import Kendall as KendallKernel
from distkern.pairs import tasks

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
    whole, gapped = matrix(X, pvalue=True), None
    np.testing.assert_array_equal(whole[0], KendallKernel(ties="b")(X.T))
    with pytest.warns(UserWarning, match="semidefinite"):
        gapped = matrix(gaps, pvalue=True, missing="pairwise")
    for executor in (3, client):
        np.testing.assert_array_equal(matrix(X, pvalue=True, executor=executor), whole)
        with pytest.warns(UserWarning, match="semidefinite"):
            np.testing.assert_array_equal(matrix(gaps, pvalue=True, missing="pairwise", executor=executor), gapped)
    monkeypatch.setattr("distkern.pairs.correlation.STRIP_ENTRIES", 50)
    np.testing.assert_array_equal(matrix(X, pvalue=True), whole)


def test_store_of_features_is_kept_and_resumed(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(10, 4)), columns=list("wxyz"))
    first = matrix(frame, store=tmp_path / "tau.zarr")
    assert open_gram(tmp_path / "tau.zarr").row_ids == tuple("wxyz")
    pd.testing.assert_frame_equal(matrix(frame, store=tmp_path / "tau.zarr"), first)
    assert len(open_gram(tmp_path / "tau.zarr").info()["runs"]) == 1


STORED = {
    "edges": {"output": "edges", "fdr": 0.9, "min_tau": 0.1},
    "edges of strata": {"output": "edges", "fdr": 0.9, "strata": [0, 1] * 15},
    "matrix of strata": {"pvalue": True, "strata": [0, 1] * 15},
    "list": {"pvalue": True, "pairs": [(i, j) for i in range(9) for j in range(9)]},
}


def as_arrays(result):
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("result", STORED)
def test_an_interrupted_pass_goes_on_from_its_store(tmp_path, monkeypatch, result):
    X, store = cohort_with_edges(30, 9), tmp_path / "tau"
    expected = as_arrays(matrix(X, **STORED[result]))
    monkeypatch.setattr(tasks, "TASK_SECONDS", 1e-6)
    monkeypatch.setattr(tasks, "LARGEST_SIDE", 2)
    finished, most = [], [4]

    def counting(compute):
        def counted(task):
            if len(finished) == most[0]:
                raise KeyboardInterrupt
            finished.append(task.part)
            return compute(task)

        return counted

    for name in ("compute_tile", "spill_tile", "compute_part"):
        monkeypatch.setattr(tasks, name, counting(getattr(tasks, name)))
    with pytest.raises(KeyboardInterrupt):
        matrix(X, store=store, **STORED[result])
    most[0] = 1000
    monkeypatch.setattr(tasks, "LARGEST_SIDE", 3)  # the parts stay those of the first run
    for _ in range(2):
        for found, whole in zip(as_arrays(matrix(X, store=store, **STORED[result])), expected, strict=True):
            np.testing.assert_array_equal(found, whole)
    kept = sorted(store.glob("*-*.npz"))
    assert len(finished) == len(set(finished)) == len(kept) > 5
    kept[0].write_bytes(kept[0].read_bytes()[:-30])  # damaged: computed again
    for found, whole in zip(as_arrays(matrix(X, store=store, **STORED[result])), expected, strict=True):
        np.testing.assert_array_equal(found, whole)
    assert len(finished) == len(kept) + 1
    assert not list(store.glob(".distkern-*"))


def test_a_store_of_other_pairs_is_refused(tmp_path):
    X, store = cohort_with_edges(30, 9), tmp_path / "tau"
    matrix(X, output="edges", store=store)
    others = [{"fdr": 0.1}, {"min_tau": 0.5}, {"alternative": "less"}, {"strata": [0, 1] * 15}, {"Y": X.iloc[:, :3]}]
    for other in others:
        with pytest.raises(StoreMismatchError, match="holds tau of pairs of another cohort, or with other parameters"):
            matrix(X, **{"output": "edges", "store": store} | other)
    with pytest.raises(StoreMismatchError, match="another cohort"):
        matrix(-X, output="edges", store=store)
    with pytest.raises(StoreMismatchError, match="another cohort"):
        matrix(X, pairs=[(0, 1)], store=store)
    matrix(X, pairs=[(0, 1)], store=tmp_path / "list")
    with pytest.raises(StoreMismatchError, match="another cohort"):
        matrix(X, pairs=[(0, 2)], store=tmp_path / "list")
    matrix(X, store=tmp_path / "tau.zarr")
    with pytest.raises(StoreMismatchError, match="holds other files, and no tau of pairs"):
        matrix(X, output="edges", store=tmp_path / "tau.zarr")
    (store / "tau.json").write_text("{")
    with pytest.raises(StoreMismatchError, match=r"tau\.json' is damaged"):
        matrix(X, output="edges", store=store)


def test_tiles_of_a_store_that_no_longer_fit_are_refused(tmp_path, monkeypatch):
    X = cohort_with_edges(30, 9)
    monkeypatch.setattr(tasks, "LARGEST_SIDE", 2)
    matrix(X, output="edges", store=tmp_path)
    monkeypatch.setattr(tasks, "tile_bytes", lambda work, side: 1 if side < 2 else 10**15)
    with pytest.raises(MemoryLimitError, match="a tile as in the store takes"):
        matrix(X, output="edges", store=tmp_path)


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


def test_text_columns_are_refused():
    with pytest.raises(InputError, match="column 1 of the cohort contains"):
        matrix(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


def test_the_matrix_of_a_tall_cohort_is_that_of_compute_gram(tmp_path):
    X = np.random.default_rng(6).normal(size=(300, 7))
    gram = compute_gram(KendallKernel(ties="b"), X.T, store=tmp_path / "k.zarr", executor="serial", progress=False)
    np.testing.assert_array_equal(matrix(X), gram.to_numpy())


@pytest.mark.slow
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


# Two tables, lists, strata ------------------------------------------------------------------------------------------


small = st.integers(2, 9)
some = st.integers(-2, 2).map(float)


@st.composite
def tables(draw, elements=some, max_rows=7):
    """X, Y and a label of each sample; every stratum has two samples or more."""
    n = draw(st.integers(2, max_rows))
    X, Y = (draw(arrays(np.float64, (n, draw(st.integers(1, 4))), elements=elements)) for _ in range(2))
    strata = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    return X, Y, strata if np.bincount(strata, minlength=2).min() > 1 else np.zeros(n, dtype=int)


def quiet(call):
    """Constant features are warned of, and are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=10)
@given(tables(st.one_of(some, st.sampled_from([np.inf, -np.inf]))))
def test_two_tables_lists_and_strata_equal_double_loops(drawn):
    X, Y, strata = drawn
    expected = Naive(X, Y, strata)
    options = {"Y": Y, "strata": strata, "pvalue": True}
    tau, p = quiet(lambda: matrix(X, method="asymptotic", **options))
    close(tau, expected.tau)
    close(p, expected.p)
    first, second = (part.ravel() for part in np.indices(tau.shape))
    listed = quiet(lambda: matrix(X, pairs=np.stack([first, second], axis=1), method="asymptotic", **options))
    np.testing.assert_array_equal(listed["tau"], tau.ravel())
    np.testing.assert_array_equal(listed["p"], p.ravel())
    squared = quiet(lambda: matrix(X, strata=strata))
    np.testing.assert_array_equal(np.diag(squared), 1)
    close(off_diagonal(squared), off_diagonal(Naive(X, X, strata).tau))


@settings(max_examples=15)
@given(tables(max_rows=12), st.sampled_from(["two-sided", "less", "greater"]))
def test_two_tables_equal_scipy(drawn, alternative):
    X, Y, _ = drawn
    tau, p = quiet(lambda: matrix(X, Y=Y, pvalue=True, alternative=alternative))
    close(tau, Naive(X, Y).tau)
    close(p, quiet(lambda: Naive(X, Y).scipy_p(alternative=alternative)))


@settings(max_examples=6)
@given(tables(), st.sampled_from(["csr", "csc"]))
def test_columns_without_zeros_equal_dense_ones(drawn, layout):
    X, Y, strata = drawn
    X = np.hstack([X, np.zeros_like(X)])  # at most half full
    thin = sparse.csr_array(X).asformat(layout)
    for options in (
        {},
        {"Y": Y},
        {"strata": strata},
        {"pairs": [(0, 1), (1, 0), (1, 1)]},
        {"output": "edges", "fdr": 1},
    ):
        found = quiet(lambda options=options: matrix(thin, pvalue=True, **options))
        expected = quiet(lambda options=options: matrix(X, pvalue=True, **options))
        for one, two in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
            np.testing.assert_array_equal(np.asarray(one), np.asarray(two))


def test_samples_of_two_tables_are_matched_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(8, 3)), columns=list("abc"), index=[f"p{k}" for k in range(8)])
    Y = pd.DataFrame(rng.normal(size=(8, 2)), columns=["age", "dose"], index=X.index)
    tau = matrix(X, Y=Y)
    close(tau, Naive(X, Y).tau)
    assert (list(tau.index), list(tau.columns)) == (list("abc"), ["age", "dose"])
    pd.testing.assert_frame_equal(matrix(X, Y=Y.sample(frac=1, random_state=1)), tau)
    pd.testing.assert_frame_equal(matrix(X, Y=Y["age"]), tau[["age"]])
    with pytest.raises(InputError, match="lacks 1 of 8 samples of the first one, such as 'p5'"):
        matrix(X, Y=Y.drop("p5"))


def test_lists_name_their_features_and_keep_their_order():
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(9, 4)), columns=["TP53", "MYC", "KRAS", "EGFR"])
    whole, p = matrix(X, pvalue=True)
    pairs = pd.DataFrame({"first": ["KRAS", "TP53", "KRAS"], "second": ["TP53", "EGFR", "TP53"]})
    found = matrix(X, pvalue=True, pairs=pairs)
    assert found[["first", "second"]].equals(pairs)
    for _, (first, second, tau, chance) in found.iterrows():
        assert (tau, chance) == (whole.loc[first, second], p.loc[first, second])
    assert found.attrs["tests"] == 3
    with pytest.raises(InputError, match=r"'KRAZ', which is no feature.*did you mean 'KRAS'"):
        matrix(X, pairs=[("KRAZ", "TP53")])


def test_a_constant_feature_has_no_tau_for_a_reason():
    X = np.array([[1.0, 5], [2, 5], [3, 5]])
    with pytest.warns(UserWarning, match="1 of 2 features have no tau, the first of them number 1: they are constant"):
        found = matrix(X, pairs=[(0, 1), (0, 0)], pvalue=True)
    assert found["tau"].isna().tolist() == found["p"].isna().tolist() == [True, False]
    assert (found.attrs["tests"], found.attrs["undefined"]) == (1, 1)


@pytest.mark.parametrize("output", ["matrix", "edges"])
def test_missing_values_of_lists_and_two_tables_are_compared_pairwise(output):
    X, Y = GAPS[["a", "b"]], GAPS[["c", "a"]]
    tau = matrix(X, Y=Y, missing="pairwise", output="matrix", pvalue=True)[0]
    close(tau, [[-1, 1], [1, 1]])
    fdr = 1 if output == "edges" else None
    listed = matrix(X, Y=Y, missing="pairwise", pairs=[("a", "c"), ("b", "c")], output=output, fdr=fdr)
    assert listed["tau"].tolist() == [-1, 1]
    with pytest.raises(SampleError, match="choose missing='drop-samples'"):
        matrix(X, Y=Y)


def test_strata_of_exact_p_values_are_refused():
    with pytest.raises(InputError, match="p-values of several strata are asymptotic"):
        matrix(np.eye(4), pvalue=True, strata=[0, 0, 1, 1], method="exact")


def test_strata_that_tell_nothing_have_no_p_value():
    """Each feature varies in one stratum only, where the other one does not: S is 0 whatever the ordering."""
    X = np.array([[0.1, 5], [0.2, 5], [0.3, 5], [7, 0.3], [7, 0.1], [7, 0.2]])
    tau, p = matrix(X, pvalue=True, strata=list("aaabbb"))
    assert tau[0, 1] == 0
    assert np.isnan(p[0, 1])
    listed = matrix(X, pvalue=True, strata=list("aaabbb"), pairs=[(0, 1), (0, 0)])
    assert listed.attrs["undefined"] == 1


# Edges --------------------------------------------------------------------------------------------------------------


def cohort_with_edges(rows=40, features=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    X[:, : features // 2] += rng.normal(size=(rows, 1)) * 2
    return pd.DataFrame(X.round(1), columns=[f"g{k}" for k in range(features)])


def edges_of(tau, p, fdr, min_tau, square=True):
    """Edges of whole matrices, by SciPy on all p-values."""
    first, second = np.triu_indices(len(tau), 1) if square else (part.ravel() for part in np.indices(tau.shape))
    tau, p = np.asarray(tau)[first, second], np.asarray(p)[first, second]
    known = ~np.isnan(p)
    q = np.full(len(p), np.inf)
    q[known] = false_discovery_control(p[known])
    kept = (q <= fdr) & (np.abs(np.nan_to_num(tau)) >= min_tau)
    return [part[kept] for part in (first, second, tau, p, q)]


@pytest.mark.parametrize(
    ("fdr", "min_tau", "sorted_bytes"),
    with_slow(
        [(0.05, None, 2**28), (0.001, 0.3, 1000), (1.0, None, 1000), (0.05, 0.3, 1000)],
        [
            *((fdr, None, 2**28) for fdr in (0.001, 1.0)),
            *((fdr, 0.3, 2**28) for fdr in (0.001, 0.05, 1.0)),
            *((fdr, None, 1000) for fdr in (0.001, 0.05)),
            (1.0, 0.3, 1000),
        ],
    ),
)
def test_edges_equal_those_of_the_whole_matrix(monkeypatch, fdr, min_tau, sorted_bytes):
    monkeypatch.setattr("distkern.pairs.correlation.SORTED_BYTES", sorted_bytes)
    monkeypatch.setattr("distkern.pairs.tasks.LARGEST_SIDE", 7)
    X = cohort_with_edges()
    tau, p = matrix(X, pvalue=True)
    first, second, *expected = edges_of(tau, p, fdr, min_tau or 0)
    found = matrix(X, output="edges", fdr=fdr, min_tau=min_tau)
    assert found["first"].tolist() == [f"g{k}" for k in first]
    assert found["second"].tolist() == [f"g{k}" for k in second]
    np.testing.assert_array_equal(found[["tau", "p", "q"]].to_numpy().T, expected)
    assert 0 < len(found) <= 300
    assert found.attrs["tests"] == 300
    assert found.attrs["undefined"] == 0
    assert found.attrs["disk_bytes"] > 0


def test_edges_of_two_tables_strata_and_lists():
    X = cohort_with_edges()
    strata = np.arange(40) % 3
    Y = X[["g1", "g3", "g20"]].rename(columns=str.upper)
    tau, p = matrix(X, Y=Y, strata=strata, pvalue=True)
    first, second, *expected = edges_of(tau, p, 0.05, 0.2, square=False)
    found = matrix(X, Y=Y, strata=strata, output="edges", min_tau=0.2)
    assert list(zip(found["first"], found["second"], strict=True)) == [
        (X.columns[i], Y.columns[j]) for i, j in zip(first, second, strict=True)
    ]
    np.testing.assert_array_equal(found[["tau", "p", "q"]].to_numpy().T, expected)
    pairs = np.stack([part.ravel() for part in np.indices(tau.shape)], axis=1)
    listed = matrix(X, Y=Y, strata=strata, output="edges", min_tau=0.2, pairs=pairs)
    pd.testing.assert_frame_equal(listed, found, check_exact=True)


def test_constant_features_are_no_tests():
    X = cohort_with_edges(features=6).assign(flat=1.0)
    with pytest.warns(UserWarning, match="'flat': they are constant"):
        found = matrix(X, output="edges", fdr=1)
    assert (found.attrs["tests"], found.attrs["undefined"]) == (15, 6)
    pd.testing.assert_frame_equal(found, matrix(X.drop(columns="flat"), output="edges", fdr=1))


def test_bits_of_edges_do_not_depend_on_the_executor(client, tmp_path):
    X = cohort_with_edges()
    found = matrix(X, output="edges")
    for executor in (2, client):
        pd.testing.assert_frame_equal(matrix(X, output="edges", executor=executor), found, check_exact=True)
        thin = sparse.csr_array(np.where(X > 1, X, 0))
        listed = matrix(thin, pairs=[(0, 1), (2, 9)], executor=executor)
        pd.testing.assert_frame_equal(listed, matrix(thin, pairs=[(0, 1), (2, 9)]), check_exact=True)


@pytest.mark.parametrize("name", ["net.csv", "net.parquet", "net.graphml"])
def test_edges_are_written_to_files_and_replace_none(tmp_path, name):
    X = cohort_with_edges()
    table, file = matrix(X, output="edges"), tmp_path / name
    written = matrix(X, output="edges", path=file)
    assert (written.path, written.edges, written.tests, written.undefined) == (file, len(table), 300, 0)
    if name == "net.csv":
        pd.testing.assert_frame_equal(pd.read_csv(file, float_precision="round_trip"), table, check_exact=True)
    elif name == "net.parquet":
        pd.testing.assert_frame_equal(pd.read_parquet(file), table, check_exact=True)
    before = file.read_bytes()
    with pytest.raises(InputError, match="exists: give another path, or overwrite=True"):
        matrix(X, output="edges", path=file)
    assert file.read_bytes() == before
    matrix(X, output="edges", path=file, overwrite=True)
    assert file.read_bytes() == before


def test_lists_are_written_to_files(tmp_path):
    X = cohort_with_edges()
    pairs = [("g3", "g1"), ("g0", "g7")]
    assert matrix(X, pairs=pairs, path=tmp_path / "list.csv").edges == 2
    found = pd.read_csv(tmp_path / "list.csv", float_precision="round_trip")
    pd.testing.assert_frame_equal(found, matrix(X, pairs=pairs), check_exact=True)


def test_varp_of_anndata_takes_matrices_and_graphs():
    import anndata

    X = cohort_with_edges()
    adata = anndata.AnnData(X.to_numpy(), var=pd.DataFrame(index=X.columns))
    assert matrix(adata, pvalue=True, key_added="tau") is None
    tau, p = matrix(X, pvalue=True)
    np.testing.assert_array_equal(adata.varp["tau"], tau)
    np.testing.assert_array_equal(adata.varp["tau_p"], p)
    with pytest.raises(InputError, match=r"holds 'tau' in varp already.*overwrite=True"):
        matrix(adata, key_added="tau")
    assert matrix(adata, output="edges", key_added="tau", overwrite=True) is None
    table = matrix(X, output="edges")
    graph = adata.varp["tau"]
    assert graph.nnz == 2 * len(table)
    assert abs(graph - graph.T).max() == 0
    row = table.iloc[3]
    i, j = X.columns.get_loc(row["first"]), X.columns.get_loc(row["second"])
    assert (graph[i, j], adata.varp["tau_p"][i, j], adata.varp["tau_q"][j, i]) == (row["tau"], row["p"], row["q"])
    assert adata.uns["tau"]["fdr"] == 0.05
    assert adata.uns["tau"]["tests"] == 300


def test_a_file_is_read_by_path(tmp_path):
    import anndata

    X = sparse.random(30, 12, density=0.3, format="csr", random_state=0)
    adata = anndata.AnnData(X, var=pd.DataFrame(index=[f"g{k}" for k in range(12)]))
    adata.obs["donor"] = ["d1", "d2", "d3"] * 10
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = matrix(tmp_path / "cells.h5ad", output="edges", fdr=1, strata="donor")
    dense = pd.DataFrame(X.toarray(), columns=adata.var_names)
    pd.testing.assert_frame_equal(
        found, matrix(dense, output="edges", fdr=1, strata=list(adata.obs["donor"])), check_exact=True
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "table"}, "output must be one of matrix, edges"),
        ({"output": "edges", "fdr": 0}, "fdr must be a number above 0"),
        ({"min_tau": 0.5}, "min_tau= chooses edges: add output='edges'"),
        ({"fdr": 0.05}, "fdr= chooses edges: add output='edges'"),
        ({"path": "tau.csv"}, "path= takes edges or a list"),
        ({"output": "edges", "path": "tau.xlsx"}, "does not end with .csv"),
        ({"Y": np.eye(3), "key_added": "tau"}, "key_added= keeps all pairs of one table"),
        ({"pairs": [(0, 7)]}, "second of pair 0 is 7"),
        ({"strata": [0, 0, 1, 1], "store": "tau.zarr"}, "4 samples|for 3 samples"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        matrix(np.eye(3), **options)


def test_a_table_of_edges_that_does_not_fit_is_refused():
    X = cohort_with_edges(30, 60)
    with pytest.raises(MemoryLimitError, match=r"a table of 1,770 pairs takes .* write them to a file"):
        matrix(X, output="edges", fdr=1, memory_limit="200KiB")


def test_cells_need_not_fit_in_memory_as_a_dense_table():
    """18 bytes for each of 2 million values would not fit; the nonzeros do."""
    cells = sparse.random(100_000, 20, density=0.001, format="csr", random_state=0)
    tau = matrix(cells, memory_limit="16MiB")
    assert tau[3, 4] == pytest.approx(kendalltau(*cells[:, [3, 4]].toarray().T).statistic, rel=1e-12)


def test_the_second_argument_is_a_second_table():
    """What was `pvalue` before, given by its place, is refused and not taken for a table."""
    genes, ages = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 4.5]]), np.array([[30.0], [20.0], [40.0]])
    found = matrix(genes, ages)
    np.testing.assert_allclose(found, [[kendalltau(gene, ages[:, 0])[0]] for gene in genes.T])
    with pytest.raises(InputTypeError, match="second table of the samples: for p-values write pvalue=True"):
        matrix(genes, True)
    with pytest.raises(InputTypeError, match="pvalue must be True or False, not 1"):
        matrix(genes, pvalue=1)
