import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import tau_b
from naive_ranks import comparison, false_discovery_rates
from scipy import sparse
from scipy.stats import false_discovery_control, mannwhitneyu
from strategies import tied_values

from distkern import InputError, MemoryLimitError, SampleError, rank_markers
from distkern.pairs import columns

QUIET = {"progress": False, "executor": "serial"}
MEASURES = ["auroc", "log_fold_change", "tau", "z", "p", "q"]
quiet = pytest.mark.filterwarnings("ignore:.*:UserWarning")
rng = np.random.default_rng(7)
X = np.where(rng.random((40, 12)) < 0.6, 0.0, rng.normal(size=(40, 12)).round(1))
GROUPS = np.array(["a", "b", "c"])[rng.integers(0, 3, 40)]


@st.composite
def cohorts(draw):
    """Samples, some features of which are equal or constant, and labels of two groups or more."""
    m, n = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    elements = st.one_of(tied_values, st.sampled_from([np.inf, -np.inf, 0.0, 0.0]))
    values = np.array(draw(st.lists(elements, min_size=m * n, max_size=m * n))).reshape(m, n)
    values = np.column_stack([values, values[:, 0], np.full(m, draw(tied_values))])
    groups = draw(st.lists(st.integers(0, 2), min_size=m, max_size=m).filter(lambda drawn: len(set(drawn)) > 1))
    return values, np.array(groups)


def by_feature(table, group, versus="rest"):
    rows = table[(table["group"] == group) & (table["versus"] == versus)]
    return rows.set_index("feature").sort_index()


@quiet
@given(cohorts(), st.booleans())
def test_values_equal_scipy_and_the_naive_twin(drawn, continuity):
    values, groups = drawn
    table = rank_markers(values, groups, continuity=continuity, **QUIET)
    for group in np.unique(groups):
        found = by_feature(table, group)
        for feature, x in enumerate(values.T):
            row = found.loc[str(feature)]
            one, other = x[groups == group], x[groups != group]
            expected = mannwhitneyu(one, other, use_continuity=continuity, method="asymptotic")
            U, pairs, variance, _ = comparison(
                x, np.flatnonzero(groups == group), np.flatnonzero(groups != group), [0] * len(x)
            )
            assert expected.statistic == U
            assert row["auroc"] == pytest.approx(U / pairs, rel=1e-14)
            constant = len(set(x)) == 1
            assert row["p"] == pytest.approx(1.0 if constant else expected.pvalue, rel=1e-10)
            departure = 0 if constant else max(abs(U - pairs / 2) - continuity / 2, 0) / np.sqrt(variance)
            assert row["z"] == pytest.approx(np.sign(U - pairs / 2) * departure, abs=1e-12)
            if constant:
                assert np.isnan(row["tau"])
            else:
                assert row["tau"] == pytest.approx(tau_b(x, (groups == group).astype(float)))
            if np.isfinite(x).all():
                assert row["log_fold_change"] == pytest.approx(one.mean() - other.mean(), abs=1e-12)


@quiet
@settings(max_examples=10)
@given(cohorts())
def test_false_discovery_rates_are_those_of_each_comparison(drawn):
    values, groups = drawn
    table = rank_markers(values, groups, versus="each", **QUIET)
    for _, rows in table.groupby(["group", "versus"], observed=True):
        np.testing.assert_allclose(rows["q"], false_discovery_control(rows["p"]), rtol=1e-12)
        np.testing.assert_allclose(rows["q"], false_discovery_rates(rows["p"].tolist()), rtol=1e-12)


@quiet
@settings(max_examples=10)
@given(cohorts())
def test_a_comparison_of_two_groups_is_that_of_their_samples_alone(drawn):
    values, groups = drawn
    known = np.unique(groups)
    table = rank_markers(values, groups, versus="each", **QUIET)
    for group in known:
        for other in known[known != group]:
            pair = np.isin(groups, [group, other])
            alone = rank_markers(values[pair], groups[pair], **QUIET)
            reference = rank_markers(values, groups, versus=other, **QUIET)
            expected = by_feature(alone, group)[MEASURES]
            for found in (table, reference):
                pd.testing.assert_frame_equal(by_feature(found, group, other)[MEASURES], expected, rtol=1e-12)
        assert group not in set(table[table["group"] == group]["versus"])


def test_one_sample_in_a_group_and_two_in_all():
    with pytest.warns(UserWarning, match="groups 'a', 'b' have one sample, .* approximation of p is poor"):
        table = rank_markers([[1.0, 0.0], [3.0, 0.0]], ["a", "b"], **QUIET)
    row = by_feature(table, "b").loc["0"]
    assert (row["auroc"], row["tau"], row["z"], row["p"]) == (1.0, 1.0, 0.0, 1.0)
    assert row["p"] == mannwhitneyu([3.0], [1.0], method="asymptotic").pvalue
    constant = by_feature(table, "b").loc["1"]
    assert (constant["auroc"], constant["z"], constant["p"]) == (0.5, 0.0, 1.0)
    assert np.isnan(constant["tau"])


def test_some_of_many_small_groups_are_named():
    groups = [*"abcdefg", *"hh"]
    with pytest.warns(UserWarning, match="groups 'a', 'b', 'c', 'd', 'e' and 2 more have one sample"):
        rank_markers(rng.normal(size=(9, 2)), groups, **QUIET)


def test_a_category_without_samples_is_no_group():
    groups = pd.Categorical(GROUPS, categories=["d", "c", "b", "a"])
    expected = rank_markers(X, GROUPS, **QUIET)
    pd.testing.assert_frame_equal(rank_markers(X, groups, **QUIET), expected, check_exact=True)
    with pytest.raises(InputError, match="'d' is neither 'rest' nor 'each' nor a group"):
        rank_markers(X, groups, versus="d", **QUIET)


# Strata --------------------------------------------------------------------------------------------------------------


@quiet
@given(cohorts(), st.data(), st.sampled_from(["rest", "each"]))
def test_strata_sum_what_is_compared_within_them(drawn, data, versus):
    values, groups = drawn
    strata = np.array(data.draw(st.lists(st.sampled_from("de"), min_size=len(values), max_size=len(values))))
    table = rank_markers(values, groups, versus=versus, strata=strata, **QUIET)
    for (group, other), rows in table.groupby(["group", "versus"], observed=True):
        first = np.flatnonzero(groups == group)
        second = np.flatnonzero(groups != group if versus == "rest" else groups == other)
        for row in rows.to_dict("records"):
            x = values[:, int(row["feature"])]
            U, pairs, variance, _ = comparison(x, first, second, strata)
            if pairs == 0:
                assert all(np.isnan(row[name]) for name in ("auroc", "tau", "z", "p", "q"))
                continue
            assert row["auroc"] == pytest.approx(U / pairs)
            z = max(abs(U - pairs / 2) - 0.5, 0) / np.sqrt(variance) if variance > 0 else 0.0
            assert abs(row["z"]) == pytest.approx(z, abs=1e-12)


def test_a_shift_between_strata_is_no_marker():
    values = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    groups, donors = ["b", "b", "a", "b", "a", "a"], ["d"] * 3 + ["e"] * 3
    table = rank_markers(values, groups, strata=donors, **QUIET)
    assert by_feature(table, "a").loc["0", "auroc"] == 1.0
    assert by_feature(table, "a").loc["0", "tau"] == pytest.approx(4 / np.sqrt(6 * 4))
    with pytest.warns(UserWarning, match="no stratum holds groups 'a', 'b' together with an opponent"):
        table = rank_markers(values, ["a"] * 3 + ["b"] * 3, strata=donors, **QUIET)
    assert table[["auroc", "tau", "z", "p", "q"]].isna().all(axis=None)
    assert by_feature(table, "b").loc["0", "log_fold_change"] == 10.0


# Containers ----------------------------------------------------------------------------------------------------------


def containers(tmp_path):
    explicit = sparse.csr_array(X)
    explicit.data[:3] = 0.0  # zeros that are stored
    plain = explicit.toarray()
    adata = anndata.AnnData(plain, obs=pd.DataFrame({"kind": GROUPS}, index=[f"c{k}" for k in range(40)]))
    adata.write_h5ad(tmp_path / "dense.h5ad")
    anndata.AnnData(explicit, obs=adata.obs, var=adata.var).write_h5ad(tmp_path / "sparse.h5ad")
    np.save(tmp_path / "X.npy", plain)
    stored = [tmp_path / name for name in ("dense.h5ad", "sparse.h5ad", "X.npy")]
    return plain, [explicit, sparse.csc_matrix(explicit), sparse.coo_array(explicit), adata, *stored]


def test_sparse_equals_dense_in_every_bit_whatever_the_container(tmp_path):
    plain, others = containers(tmp_path)
    expected = rank_markers(plain, GROUPS, **QUIET)
    for other in others:
        pd.testing.assert_frame_equal(rank_markers(other, GROUPS, **QUIET), expected, check_exact=True)


@pytest.mark.parametrize("versus", ["rest", "each", "b"])
def test_the_bits_do_not_depend_on_bands_blocks_threads_and_workers(tmp_path, monkeypatch, client, versus):
    _, others = containers(tmp_path)
    expected = rank_markers(others[0], GROUPS, versus=versus, **QUIET)
    for executor in (1, 2, client):
        found = rank_markers(tmp_path / "sparse.h5ad", GROUPS, versus=versus, executor=executor, progress=False)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    seen, real = [], columns.bands

    def narrow(weights, room):
        seen.append(list(real(weights, weights.max())))
        return seen[-1]

    monkeypatch.setattr(columns, "bands", narrow)
    found = rank_markers(tmp_path / "dense.h5ad", GROUPS, versus=versus, executor=2, progress=False)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert len(seen[0]) > 5


def test_groups_are_found_by_name_in_anndata_and_in_a_file(tmp_path):
    plain, _ = containers(tmp_path)
    expected = rank_markers(plain, GROUPS, **QUIET)
    adata = anndata.read_h5ad(tmp_path / "sparse.h5ad")
    for X_, groups in ((adata, "kind"), (tmp_path / "sparse.h5ad", "kind"), (adata, adata.obs["kind"])):
        pd.testing.assert_frame_equal(rank_markers(X_, groups, **QUIET), expected, check_exact=True)
    adata.obs["donor"] = ["d", "e"] * 20
    stratified = rank_markers(plain, GROUPS, strata=adata.obs["donor"].to_numpy(), **QUIET)
    pd.testing.assert_frame_equal(rank_markers(adata, "kind", strata="donor", **QUIET), stratified, check_exact=True)
    with pytest.raises(InputError, match=r"no column 'kinds': it has .*; did you mean 'kind'"):
        rank_markers(adata, "kinds", **QUIET)
    with pytest.raises(InputError, match="groups must hold a label for each sample, not 'kind'"):
        rank_markers(plain, "kind", **QUIET)
    with pytest.raises(InputError, match="groups has the samples of X in another order"):
        rank_markers(adata, adata.obs["kind"][::-1], **QUIET)


def test_features_keep_their_names_in_any_order():
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(12)])
    shuffled = frame[frame.columns[::-1]]
    one, other = (rank_markers(part, GROUPS, **QUIET) for part in (frame, shuffled))
    for group in "abc":
        pd.testing.assert_frame_equal(by_feature(one, group), by_feature(other, group), check_exact=True)
    assert list(one.columns[:3]) == ["feature", "group", "versus"]
    assert (one.groupby("group", observed=True)["z"].diff().dropna() <= 0).all()


# Fold changes --------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # scanpy takes a minute to import
def test_fold_changes_are_those_of_scanpy():
    import scanpy

    counts = rng.poisson(2.0, size=(30, 8)).astype(float)
    kinds = pd.DataFrame({"kind": pd.Categorical(["a", "b", "c"] * 10)}, index=[f"c{k}" for k in range(30)])
    adata = anndata.AnnData(counts, obs=kinds)
    scanpy.pp.log1p(adata)
    with np.errstate(all="ignore"):
        scanpy.tl.rank_genes_groups(adata, "kind", method="wilcoxon", tie_correct=True)
    ours = rank_markers(adata, "kind", fold_change="log1p", continuity=False, **QUIET)
    for group in "abc":
        theirs = scanpy.get.rank_genes_groups_df(adata, group).set_index("names").sort_index()
        found = by_feature(ours, group)
        np.testing.assert_allclose(found["z"], theirs["scores"], rtol=1e-5)
        np.testing.assert_allclose(found["p"], theirs["pvals"], rtol=1e-6)
        np.testing.assert_allclose(found["q"], theirs["pvals_adj"], rtol=1e-6)
        np.testing.assert_allclose(found["log_fold_change"], theirs["logfoldchanges"], rtol=1e-4, atol=1e-5)
    ratio = rank_markers(counts, adata.obs["kind"].to_numpy(), fold_change="ratio", versus="c", **QUIET)
    means = [counts[np.array(adata.obs["kind"]) == group].mean(axis=0) for group in "ac"]
    expected = np.log2(means[0] / means[1])
    np.testing.assert_allclose(by_feature(ratio, "a", "c")["log_fold_change"], expected, rtol=1e-6)


def test_a_negative_mean_has_no_logarithm():
    frame = pd.DataFrame({"g0": [0.5, 0.5, 3.0, 4.0], "g1": [1.0, -2.0, 0.0, 1.0]})
    for fold_change, kind in (("log1p", "logarithms of 1"), ("ratio", "counts")):
        with pytest.raises(InputError, match=f"feature 'g1' has a negative mean in group 'a', .* no {kind}"):
            rank_markers(frame, ["a", "a", "b", "b"], fold_change=fold_change, **QUIET)


# Refusals ------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_compared_is_refused_by_name():
    frame = pd.DataFrame(X.copy(), index=[f"p{k}" for k in range(40)], columns=[f"g{k}" for k in range(12)])
    frame.loc["p7", "g3"] = np.nan
    frame.loc["p9", "g1"] = np.nan
    cells = anndata.AnnData(sparse.csr_array(frame.to_numpy()), obs=frame.iloc[:, :0], var=frame.iloc[:0].T)
    for values in (frame, cells):
        with pytest.raises(SampleError, match=r"sample 'p7' has no value \(NaN\) for feature 'g3'"):
            rank_markers(values, GROUPS, **QUIET)
    for groups, message in (
        (["a"] * 40, "all samples are in the group 'a'"),
        ([*GROUPS[:-1], None], "the group of sample 39 is missing"),
        (GROUPS[:-1], "got groups of shape"),
    ):
        with pytest.raises(InputError, match=message):
            rank_markers(X, groups, **QUIET)
    with pytest.raises(
        InputError, match="versus='d' is neither 'rest' nor 'each' nor a group: the groups are 'a', 'b'"
    ):
        rank_markers(X, GROUPS, versus="d", **QUIET)
    with pytest.raises(InputError, match=r"versus='0' is neither .*: the groups are 0, 1$"):
        rank_markers(X, (GROUPS == "a").astype(int), versus="0", **QUIET)
    for versus in (None, pd.NA, ["a"], 3):
        with pytest.raises(InputError, match="nor a group: the groups are"):
            rank_markers(X, GROUPS, versus=versus, **QUIET)
    with pytest.raises(InputError, match="fold_change must be one of difference"):
        rank_markers(X, GROUPS, fold_change="log2", **QUIET)
    with pytest.raises(MemoryLimitError, match="the table of 12 features and 9 comparisons"):
        rank_markers(X, GROUPS, versus="each", memory_limit="10KB", **QUIET)


def test_a_feature_that_does_not_fit_is_named():
    tall = np.ones((200_000, 1))
    with pytest.raises(MemoryLimitError, match=r"feature number 0 with 200,000 values takes .* raise memory_limit="):
        rank_markers(tall, np.arange(200_000) % 2, memory_limit="5MiB", **QUIET)
