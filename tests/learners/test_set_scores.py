import gzip

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_ranks import singscore, ucell
from scipy import sparse

from distkern import InputError, InputTypeError, MemoryLimitError, SampleError, score_sets
from distkern.build import look

QUIET = {"progress": False, "executor": "serial"}
rng = np.random.default_rng(3)
X = np.where(rng.random((30, 20)) < 0.5, 0.0, rng.normal(size=(30, 20)).round(1))
GENES = [f"g{k}" for k in range(20)]
CELLS = pd.DataFrame(X, index=[f"c{k}" for k in range(30)], columns=GENES)
SETS = {"one": ["g3", "g1"], "signed": ["g0+", "g5", "g7-", "g2-"], "alone": ["g19"]}

values = st.sampled_from([0.0, 0.0, 0.0, -0.0, 1.0, 2.0, 2.0, -1.0, 0.5, np.inf, -np.inf])


@st.composite
def scored(draw):
    """Samples, and the features in the up part and the down part of some sets."""
    m, n = draw(st.integers(1, 5)), draw(st.integers(3, 9))
    X = np.array(draw(st.lists(values, min_size=m * n, max_size=m * n))).reshape(m, n)
    sets = []
    for _ in range(draw(st.integers(1, 3))):
        genes = draw(st.permutations(range(n)))
        up = draw(st.integers(1, n - 2))
        sets.append((genes[:up], genes[up : up + draw(st.integers(0, n - 1 - up))]))
    return X, sets


@given(scored(), st.integers(1, 12), st.sampled_from([0.0, 0.5, 1.0]))
def test_scores_equal_the_naive_formulas(drawn, max_rank, weight):
    X, sets = drawn
    n = X.shape[1]
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(n)])
    named = {f"s{k}": tuple([f"g{gene}" for gene in part] for part in parts) for k, parts in enumerate(sets)}
    found = score_sets(frame, named, method="singscore", **QUIET)
    expected = [[singscore(x, *parts) for parts in sets] for x in X.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    most = min(max_rank, n)
    if max(len(part) for parts in sets for part in parts) > most:
        with pytest.raises(InputError, match=f"and only {most} are ranked: raise max_rank="):
            score_sets(frame, named, max_rank=max_rank, **QUIET)
        return
    found = score_sets(frame, named, max_rank=max_rank, negative_weight=weight, **QUIET)
    expected = [[ucell(x, *parts, most, weight) for parts in sets] for x in X.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_set_at_the_top_scores_one_and_at_the_bottom_zero():
    frame = pd.DataFrame([[9.0, 8.0, 1.0, 2.0], [1.0, 2.0, 8.0, 9.0]], columns=list("abcd"))
    for method in ("ucell", "singscore"):
        found = score_sets(frame, {"s": ["a", "b"]}, method=method, max_rank=2, **QUIET)
        assert found["s"].tolist() == [1.0, 0.25 if method == "ucell" else 0.0]
    assert score_sets(frame, {"s": ["a", "b", "c-", "d-"]}, method="singscore", **QUIET)["s"].tolist() == [1.0, -1.0]


# Sets ----------------------------------------------------------------------------------------------------------------


def test_signs_pairs_and_joined_sets_are_one():
    expected = score_sets(CELLS, {"s": (["g0", "g5"], ["g7", "g2"])}, **QUIET)
    for sets, options in (
        ({"s": ["g0+", "g5", "g7-", "g2-", "g5"]}, {}),
        ({"s_UP": ["g5", "g0"], "s_DN": ["g2", "g7"]}, {"up_down": ("_UP", "_DN")}),
        ({"s_DN": ["g2", "g7"], "s_UP": ["g5", "g0"]}, {"up_down": ["_UP", "_DN"]}),
    ):
        pd.testing.assert_frame_equal(score_sets(CELLS, sets, **options, **QUIET), expected, check_exact=True)
    unlike = {"a_UP": ["g0"], "b_DN": ["g1"], "c": ["g2"]}
    with pytest.warns(UserWarning, match="none is called NAME_UP with another called NAME_DN .the sets are 'a_UP'"):
        found = score_sets(CELLS, unlike, up_down=("_UP", "_DN"), **QUIET)
    assert list(found.columns) == ["a_UP", "b_DN", "c"]


def test_a_feature_of_the_very_name_is_taken_with_its_sign():
    frame = pd.DataFrame([[3.0, 2.0, 1.0, 0.0]], columns=["CD3-", "CD4", "CD8+", "X"])
    found = score_sets(frame, {"a": ["CD3-"], "b": ["CD8+", "CD4-"]}, method="singscore", **QUIET)
    assert found.loc[0].tolist() == [1.0, 1 / 3 - 2 / 3]


def test_a_gmt_file_gives_the_same_scores(tmp_path):
    path = tmp_path / "sets.gmt.gz"
    path.write_bytes(gzip.compress("".join("\t".join([n, "", *genes]) + "\n" for n, genes in SETS.items()).encode()))
    expected = score_sets(CELLS, SETS, **QUIET)
    for given_path in (path, str(path)):
        pd.testing.assert_frame_equal(score_sets(CELLS, given_path, **QUIET), expected, check_exact=True)


def test_genes_that_the_cohort_lacks_are_named():
    sets = SETS | {"lacking": ["g1", "X1", "g2", "X2"], "up": ["X1"], "down": ["g1", "X1-", "X2-"]}
    with pytest.warns(UserWarning, match="the cohort lacks genes") as caught:
        found = score_sets(CELLS, sets, **QUIET)
    (message,) = [str(one.message) for one in caught]
    assert message == (
        "the cohort lacks genes of 3 of 6 sets: 2 of 4 genes of 'lacking' remain (without 'X1', 'X2'); "
        "0 of 1 genes of 'up' remain (without 'X1'), which has no up gene: its scores are NaN; "
        "1 of 3 genes of 'down' remain (without 'X1', 'X2'), which has no down gene: its scores are NaN"
    )
    expected = score_sets(CELLS, SETS | {"lacking": ["g1", "g2"]}, **QUIET)
    pd.testing.assert_frame_equal(found[[*SETS, "lacking"]], expected, check_exact=True)
    assert found[["up", "down"]].isna().all(axis=None)
    many = {f"s{k}": [f"g{k}", *(f"X{gene}" for gene in range(5))] for k in range(8)}
    with pytest.warns(UserWarning, match=r"\(without 'X0', 'X1', 'X2', …\); .*; and genes of 3 more sets$"):
        score_sets(CELLS, many, **QUIET)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({}, "there are no sets"),
        ({"a": ["TP53"], "b": ["MYC"]}, "none of the 2 genes .* begin 'TP53', 'MYC', and the features 'g0'"),
        ({"a": ["g1-"]}, "the set 'a' has no gene that speaks for it"),
        ({"a": []}, "the set 'a' has no gene that speaks for it"),
        ({"a": ["g1", "g1-"]}, "the gene 'g1' speaks for and against the set 'a'"),
        ({"a": ["g1"], 1: ["g1"], "1": ["g2"]}, "two sets have the name '1'"),
    ],
)
def test_sets_that_cannot_be_scored_are_refused_by_name(sets, message):
    with pytest.raises(InputError, match=message):
        score_sets(CELLS, sets, **QUIET)


def test_what_is_not_a_set_is_refused():
    with pytest.raises(InputTypeError, match="sets must be a dict from name to list of genes, or the path"):
        score_sets(CELLS, ["g1"], **QUIET)
    with pytest.raises(InputTypeError, match="the genes of the set 'a' must be a list, not 'g1'"):
        score_sets(CELLS, {"a": "g1"}, **QUIET)
    for up_down in (("_UP",), ("_UP", "_UP"), ("", "_DN")):
        with pytest.raises(InputError, match="up_down must be two different ends"):
            score_sets(CELLS, SETS, up_down=up_down, **QUIET)
    with pytest.raises(InputError, match="become one set 'a', and have genes that speak against"):
        score_sets(CELLS, {"a_UP": ["g1", "g2-"], "a_DN": ["g3"]}, up_down=("_UP", "_DN"), **QUIET)
    with pytest.raises(InputError, match="two sets have the name 'a' after"):
        score_sets(CELLS, {"a": ["g5"], "a_UP": ["g1"], "a_DN": ["g3"]}, up_down=("_UP", "_DN"), **QUIET)


def test_cohorts_that_cannot_be_scored_are_refused_by_name():
    with pytest.raises(InputError, match="the cohort has no names of features"):
        score_sets(X, SETS, **QUIET)
    twice = pd.DataFrame(X, columns=[*GENES[:-1], "g3"])
    with pytest.raises(InputError, match="2 features have the name 'g3' of a gene"):
        score_sets(twice, {"one": ["g3", "g1"]}, **QUIET)
    gaps = CELLS.copy()
    gaps.loc["c9", "g7"] = gaps.loc["c20", "g1"] = np.nan
    cells = anndata.AnnData(sparse.csr_array(gaps.to_numpy()), obs=gaps.iloc[:, :0], var=gaps.iloc[:0].T)
    for values in (gaps, cells):
        with pytest.raises(SampleError, match=r"sample 'c9' has no value \(NaN\) for feature 'g7'"):
            score_sets(values, SETS, **QUIET)
    with pytest.raises(InputError, match="the set 'all' holds all 20 features"):
        score_sets(CELLS, {"all": GENES}, method="singscore", **QUIET)
    with pytest.raises(MemoryLimitError, match="the scores of 3 sets in 30 samples take"):
        score_sets(CELLS, SETS, memory_limit=100, **QUIET)
    with pytest.raises(InputError, match="method must be one of ucell, singscore"):
        score_sets(CELLS, SETS, method="ssgsea", **QUIET)
    with pytest.raises(InputError, match="max_rank must be a whole number of 1 or more"):
        score_sets(CELLS, SETS, max_rank=0, **QUIET)


# Containers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ucell", "singscore"])
def test_the_bits_do_not_depend_on_containers_blocks_threads_and_workers(tmp_path, monkeypatch, client, method):
    explicit = sparse.csr_array(X)
    explicit.data[:3] = 0.0  # zeros that are stored
    frame = pd.DataFrame(explicit.toarray(), index=CELLS.index, columns=GENES)
    expected = score_sets(frame, SETS, method=method, max_rank=8, **QUIET)
    adata = anndata.AnnData(explicit, obs=frame.iloc[:, :0], var=frame.iloc[:0].T)
    adata.write_h5ad(tmp_path / "sparse.h5ad")
    anndata.AnnData(frame).write_h5ad(tmp_path / "dense.h5ad")
    monkeypatch.setattr(look, "STRIP_BYTES", 3 * 8 * 20)
    monkeypatch.setattr(look, "LOOK_BYTES", 7 * 8 * 20)
    for container in (adata, frame, tmp_path / "sparse.h5ad", tmp_path / "dense.h5ad"):
        for executor in ("serial", 2, client):
            found = score_sets(container, SETS, method=method, max_rank=8, executor=executor, progress=False)
            pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_genes_are_found_in_any_order_of_the_features():
    shuffled = CELLS[GENES[::-1]]
    found = score_sets(shuffled, {"b": SETS["one"][::-1]}, **QUIET)
    assert found["b"].tolist() == score_sets(CELLS, SETS, **QUIET)["one"].tolist()
    assert list(found.index) == list(CELLS.index)
