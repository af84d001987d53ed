"""Features of one gene become one, against a double loop."""

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import distkern as dk
from distkern.io import collapse

PROBES = pd.DataFrame(
    [[1.0, 5.0, 3.0, 0.5, np.nan], [2.0, 9.0, 3.0, 0.5, 7.0], [4.0, 1.0, 3.0, 0.5, np.nan]],
    columns=["p1", "p2", "p3", "p4", "p5"],
    index=["a", "b", "c"],
)
GENES = {"p1": "TP53", "p2": "TP53", "p3": "MYC", "p5": "MYC", "p9": "EGFR"}


def naive(X, genes, how):
    """One loop over the genes in the order of their appearance, one over the samples."""
    columns = {}
    for gene in dict.fromkeys(gene for gene in genes if gene):
        own = [j for j, other in enumerate(genes) if other == gene]
        if how == "most-variable":
            variances = [np.nanvar(X[:, j]) if not np.isnan(X[:, j]).all() else -1.0 for j in own]
            columns[gene] = X[:, own[int(np.argmax(np.round(variances, 12)))]]
            continue
        rows = []
        for row in X[:, own]:
            seen = row[~np.isnan(row)]
            rows.append(np.nan if not len(seen) else seen.mean() if how == "mean" else seen.max())
        columns[gene] = np.array(rows)
    return columns


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.5, -3.0, np.nan]), min_size=5, max_size=5), min_size=2, max_size=4),
    st.lists(st.sampled_from(["A", "B", "C", ""]), min_size=5, max_size=5),
    st.sampled_from(collapse.WAYS),
)
def test_every_way_equals_a_double_loop(rows, genes, how):
    X = np.array(rows)
    if not any(genes):
        return
    found = dk.collapse_features(pd.DataFrame(X, columns=list("vwxyz")), dict(zip("vwxyz", genes, strict=True)), how)
    expected = naive(X, genes, how)
    assert list(found.var_names) == list(expected)
    np.testing.assert_allclose(found.X, np.stack(list(expected.values()), axis=1))
    assert found.var["features"].tolist() == [genes.count(gene) for gene in expected]


def test_genes_from_a_mapping_a_series_a_table_or_a_column(tmp_path):
    expected = dk.collapse_features(PROBES, GENES)
    assert expected.to_df().equals(pd.DataFrame({"TP53": [5.0, 9.0, 1.0], "MYC": [3.0, 3.0, 3.0]}, index=list("abc")))
    assert expected.var["feature"].tolist() == ["p2", "p3"]
    table = tmp_path / "genes.tsv"
    table.write_text("probe\tEntrez\tSymbol\n" + "".join(f"{p}\t{k}\t{g}\n" for k, (p, g) in enumerate(GENES.items())))
    adata = anndata.AnnData(
        PROBES, var=pd.DataFrame({"symbol": ["TP53", "TP53", "MYC", None, "MYC"]}, index=PROBES.columns)
    )
    adata.obs["er"] = ["yes", "no", "no"]
    for cohort, genes in ((PROBES, pd.Series(GENES)), (PROBES, table), (PROBES, str(table)), (adata, "symbol")):
        assert dk.collapse_features(cohort, genes).to_df().equals(expected.to_df())
    assert dk.collapse_features(adata, "symbol").obs["er"].tolist() == ["yes", "no", "no"]


def test_features_that_are_called_by_their_genes():
    twice = PROBES.set_axis(["TP53", "TP53", "MYC", "EGFR", "MYC"], axis=1)
    assert dk.collapse_features(twice, how="max").to_df()["MYC"].tolist() == [3.0, 7.0, 3.0]
    assert dk.collapse_features(twice, how="mean").to_df()["TP53"].tolist() == [3.0, 5.5, 2.5]


def test_blocks_and_missing_zeros_do_not_change_the_values(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 12), density=0.3, rng=rng).tocsr()
    names, genes = [f"p{k}" for k in range(12)], {f"p{k}": f"g{k % 4}" for k in range(12)}
    dense = pd.DataFrame(X.toarray(), columns=names)
    cells = anndata.AnnData(X, var=pd.DataFrame(index=names))
    for how in collapse.WAYS:
        whole = dk.collapse_features(dense, genes, how).X
        monkeypatch.setattr(collapse, "BLOCK_BYTES", 8 * 12 * 7)
        np.testing.assert_allclose(dk.collapse_features(cells, genes, how).X, whole, rtol=1e-14)
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("cohort", "genes", "how", "said"),
    [
        (PROBES, {"q1": "TP53"}, "mean", "no feature has a gene: .* such as 'p1'"),
        (PROBES.to_numpy(), GENES, "mean", "the features have no names"),
        (PROBES[:1], GENES, "most-variable", "shows only in several samples, and there is 1"),
        (PROBES, GENES, "median", "how must be one of most-variable, mean, max"),
        (PROBES, pd.Series(["A", "B"], index=["p1", "p1"]), "mean", "feature 'p1' has two genes"),
        (PROBES, [1, 2], "mean", "genes= must be a mapping .* got list"),
    ],
)
def test_what_cannot_be_collapsed_is_refused(cohort, genes, how, said):
    with pytest.raises(dk.InputError, match=said):
        dk.collapse_features(cohort, genes, how)


def test_a_table_without_a_clear_column_of_genes_is_refused(tmp_path):
    table = tmp_path / "genes.csv"
    table.write_text("probe,a,b\np1,x,y\n")
    with pytest.raises(dk.InputError, match="has the columns 'a', 'b' beside the features: call the one"):
        dk.collapse_features(PROBES, table)


def test_tables_with_repeated_genes_are_read_and_collapsed(tmp_path):
    table = tmp_path / "cohort.csv"
    table.write_text("gene,s1,s2\nTP53,1,2\nMYC,5,6\nTP53,7,0\n")
    with pytest.raises(dk.InputError, match=r"two features .* 'TP53', number 1 and 3: .* collapse="):
        dk.read_expression(table, samples="columns")
    found = dk.read_expression(table, samples="columns", collapse="most-variable")
    assert found.to_df().to_dict("list") == {"TP53": [7.0, 0.0], "MYC": [5.0, 6.0]}
    genes = tmp_path / "genes.csv"
    genes.write_text("probe,gene\nTP53,A\nMYC,A\n")
    assert dk.read_expression(table, samples="columns", collapse="max", genes=genes).to_df()["A"].tolist() == [7.0, 6.0]
    with pytest.raises(dk.InputError, match="genes= without collapse="):
        dk.read_expression(table, samples="columns", genes=genes)
