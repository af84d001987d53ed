import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import tau_b
from naive_ranks import false_discovery_rates
from scipy import sparse
from scipy.stats import kendalltau
from strategies import tied_values

from distkern import InputError, MemoryLimitError, SampleError, kendalltau_against, rank_markers
from distkern.pairs import columns

QUIET = {"progress": False, "executor": "serial"}
rng = np.random.default_rng(11)
CELLS = [f"c{k}" for k in range(40)]
PEAKS = pd.DataFrame((rng.random((40, 15)) < 0.3).astype(float), CELLS, [f"e{k}" for k in range(15)])
GENES = pd.DataFrame(rng.poisson(1.0, size=(40, 3)).astype(float), CELLS, ["MYC", "TP53", "KRAS"])


@given(st.data(), st.sampled_from(["two-sided", "less", "greater"]))
def test_values_equal_scipy_and_the_naive_twin(data, alternative):
    m, n = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 4))
    elements = st.one_of(tied_values, st.sampled_from([np.inf, -np.inf, 0.0, 0.0]), st.floats(-5, 5, width=16))
    X = np.array(data.draw(st.lists(elements, min_size=m * n, max_size=m * n))).reshape(m, n)
    y = np.array(data.draw(st.lists(elements, min_size=m, max_size=m)))
    table = kendalltau_against(X, y, alternative=alternative, **QUIET)
    assert table["feature"].tolist() == [str(k) for k in range(n)]
    for x, row in zip(X.T, table.to_dict("records"), strict=True):
        if len(set(x)) == 1 or len(set(y)) == 1:
            assert np.isnan([row[name] for name in ("tau", "p", "q")]).all()
            continue
        assert row["tau"] == pytest.approx(tau_b(x, y), abs=1e-12)
        codes = [np.unique(part, return_inverse=True)[1] for part in (x, y)]  # scipy drops infinite values
        assert row["p"] == pytest.approx(kendalltau(*codes, alternative=alternative).pvalue, abs=1e-12)
    tested = table.dropna()
    if len(tested):
        np.testing.assert_allclose(tested["q"], false_discovery_rates(tested["p"].tolist()), rtol=1e-12)


def test_open_enhancers_are_compared_with_chosen_genes():
    whole = kendalltau_against(PEAKS, GENES, **QUIET).set_index(["feature", "variable"])
    assert len(whole) == 45
    pairs = [("e7", "KRAS"), ("e1", "MYC"), ("e7", "MYC"), ("e1", "MYC")]
    found = kendalltau_against(PEAKS, GENES, pairs=pairs, **QUIET)
    assert list(zip(found["feature"], found["variable"], strict=True)) == pairs
    for row in found.to_dict("records"):
        expected = kendalltau(PEAKS[row["feature"]], GENES[row["variable"]])
        assert (row["tau"], row["p"]) == pytest.approx(tuple(expected), rel=1e-10)
        assert whole.loc[(row["feature"], row["variable"]), "tau"] == row["tau"]
    frame = pd.DataFrame(pairs, columns=["enhancer", "gene"])
    shuffled = PEAKS[PEAKS.columns[::-1]]
    other = kendalltau_against(shuffled, GENES[["TP53", "KRAS", "MYC"]], pairs=frame, **QUIET)
    pd.testing.assert_frame_equal(other, found, check_exact=True)


def test_the_tau_of_a_group_is_that_of_its_indicator():
    groups = np.where(GENES["MYC"] > 0, "on", "off")
    markers = rank_markers(GENES, groups, **QUIET)
    found = kendalltau_against(GENES, (groups == "on").astype(float), **QUIET)
    expected = markers[markers["group"] == "on"].set_index("feature").loc[GENES.columns, "tau"]
    np.testing.assert_allclose(found["tau"], expected, rtol=1e-14)


@pytest.mark.parametrize("signed", [False, True])
def test_the_bits_do_not_depend_on_containers_bands_threads_and_workers(tmp_path, monkeypatch, client, signed):
    values = np.where(PEAKS == 0, 0.0, rng.normal(size=PEAKS.shape)) if signed else PEAKS.to_numpy()
    frame = pd.DataFrame(values, PEAKS.index, PEAKS.columns)
    expected = kendalltau_against(frame, GENES, **QUIET)
    cells = anndata.AnnData(sparse.csr_array(values), obs=PEAKS.iloc[:, :0], var=PEAKS.iloc[:0].T)
    cells.write_h5ad(tmp_path / "peaks.h5ad")
    genes = anndata.AnnData(sparse.csr_array(GENES.to_numpy()), obs=GENES.iloc[:, :0], var=GENES.iloc[:0].T)
    for executor in (1, 2, client):
        for X in (cells, tmp_path / "peaks.h5ad"):
            found = kendalltau_against(X, genes, executor=executor, progress=False)
            pd.testing.assert_frame_equal(found, expected, check_exact=True)
    real = columns.bands
    monkeypatch.setattr(columns, "bands", lambda weights, room: real(weights, weights.max()))
    pd.testing.assert_frame_equal(kendalltau_against(cells, genes, **QUIET), expected, check_exact=True)


def test_what_cannot_be_compared_is_refused_by_name():
    for pair, message in (
        (("e1", "MYCN"), "a pair has the variable 'MYCN', and there is none of that name; did you mean 'MYC'"),
        (("e99", "MYC"), "a pair has the feature 'e99', and there is none of that name"),
        (("e1",), "pairs must be a list of .feature, variable."),
    ):
        with pytest.raises(InputError, match=message):
            kendalltau_against(PEAKS, GENES, pairs=[pair], **QUIET)
    with pytest.raises(InputError, match="pairs must be a list"):
        kendalltau_against(PEAKS, GENES, pairs=[], **QUIET)
    twice = pd.DataFrame(PEAKS.to_numpy(), PEAKS.index, ["e0", *PEAKS.columns[:-1]])
    with pytest.raises(InputError, match="the feature 'e0', and several have that name"):
        kendalltau_against(twice, GENES, pairs=[("e0", "MYC")], **QUIET)
    with pytest.raises(InputError, match="y has the samples of X in another order"):
        kendalltau_against(PEAKS, GENES[::-1], **QUIET)
    with pytest.raises(InputError, match="y has 39 samples and X 40"):
        kendalltau_against(PEAKS.to_numpy(), GENES["MYC"].to_numpy()[1:], **QUIET)
    gaps = GENES.copy()
    gaps.loc["c3", "TP53"] = np.nan
    with pytest.raises(SampleError, match=r"sample 'c3' has no value \(NaN\) for feature 'TP53'"):
        kendalltau_against(PEAKS, gaps, **QUIET)
    with pytest.raises(SampleError, match=r"sample 'c3' has no value \(NaN\) for feature 'TP53'"):
        kendalltau_against(gaps, PEAKS, **QUIET)
    with pytest.raises(InputError, match="there is one: give more"):
        kendalltau_against(PEAKS[:1], GENES[:1], **QUIET)
    for limit, message in (
        ("1KB", "3 variables of 40 samples take"),
        ("6KB", "the table of 45 pairs and the variables"),
    ):
        with pytest.raises(MemoryLimitError, match=message):
            kendalltau_against(PEAKS, GENES, memory_limit=limit, **QUIET)
