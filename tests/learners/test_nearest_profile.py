"""Labels by the nearest profile: the scores of a double loop, the same calls for the same order, features by name."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import kendalltau, spearmanr

import distkern as dk
from distkern.learners import nearest_profile
from distkern.learners.nearest_profile import markers_of

RNG = np.random.default_rng(3)
GENES = [f"g{k}" for k in range(12)]
PROFILES = pd.DataFrame(RNG.normal(8, 2, (7, 12)).round(1), columns=GENES, index=[f"p{k}" for k in range(7)])
LABELS = np.array(["B", "T", "B", "NK", "T", "B", "T"])
CELLS = pd.DataFrame(RNG.poisson(0.4, (9, 12)), columns=GENES, index=[f"c{k}" for k in range(9)])
CELLS.iloc[:, 3] += 1  # each cell orders a pair
CORRELATIONS = {None: kendalltau, dk.Spearman(): spearmanr}


def by_loops(correlation, cells, profiles, labels, quantile):
    """Score of each label from one correlation after another."""
    scores = []
    for cell in cells:
        own = {label: [] for label in sorted(set(labels))}
        for profile, label in zip(profiles, labels, strict=True):
            own[label].append(correlation(cell, profile).statistic)
        scores.append([np.quantile(found, quantile) for found in own.values()])
    return np.array(scores)


@pytest.mark.parametrize("kernel", CORRELATIONS, ids=["Kendall", "Spearman"])
@given(data=st.data(), quantile=st.sampled_from([0.0, 0.5, 0.8, 1.0]))
def test_scores_and_labels_are_those_of_a_double_loop(kernel, data, quantile):
    n = data.draw(st.integers(2, 7))
    value = st.integers(-2, 3)
    ordered = st.lists(value, min_size=n, max_size=n).filter(lambda row: len(set(row)) > 1)
    cells, profiles = (np.array(data.draw(st.lists(ordered, min_size=k, max_size=6)), float) for k in (1, 2))
    labels = np.array([*"ab", *data.draw(st.lists(st.sampled_from("abc"), min_size=4, max_size=4))][: len(profiles)])
    margin = data.draw(st.sampled_from([None, 0.0, 0.3]))
    model = dk.NearestProfile(kernel, quantile, margin).fit(profiles, labels)
    expected = by_loops(CORRELATIONS[kernel], cells, profiles, labels, quantile)
    scores = model.scores(cells)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    for called, own in zip(model.predict(cells).tolist(), scores.tolist(), strict=True):
        first, second = sorted(own, reverse=True)[:2]
        best = model.classes_[own.index(first)]
        assert called == (best if margin is None or first - second > margin else "unassigned")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.scores(sparse.csr_array(cells)), scores)


@pytest.mark.parametrize("kernel", CORRELATIONS, ids=["Kendall", "Spearman"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_raw_log_and_scaled_values_have_the_same_scores_bit_for_bit(kernel, container):
    counts = RNG.poisson(1.0, (40, 200)) * RNG.integers(1, 400, (40, 200))
    reference, labels = RNG.normal(size=(6, 200)), list("aabbcc")
    model = dk.NearestProfile(kernel).fit(reference, labels)
    raw = model.scores(container(counts.astype(np.float64)))
    scaled = (counts * (1e4 / counts.sum(axis=1, keepdims=True))).astype(np.float32)
    for values in (np.log1p(counts), np.log1p(counts).astype(np.float32), scaled, np.log1p(scaled)):
        assert values.max() != counts.max()
        np.testing.assert_array_equal(model.scores(container(values)), raw)


def test_samples_are_compared_some_at_a_time_and_without_zeros(monkeypatch):
    cells = sparse.random(50, 300, density=0.1, format="csr", random_state=0)
    adata = anndata.AnnData(cells, var=pd.DataFrame(index=[f"g{k}" for k in range(300)]))
    reference = pd.DataFrame(RNG.normal(size=(4, 300)), columns=adata.var_names)
    model = dk.NearestProfile().fit(reference, list("aabb"))
    whole, seen = model.scores(adata), []
    monkeypatch.setattr(
        nearest_profile, "row_blocks", lambda rows, cols: (slice(k, min(k + 20, rows)) for k in range(0, rows, 20))
    )
    prepare = nearest_profile.prepare_source

    def watched(kernel, source, like=None):
        seen.append((len(source), prepare(kernel, source, like).is_sparse))
        return prepare(kernel, source, like)

    monkeypatch.setattr(nearest_profile, "prepare_source", watched)
    np.testing.assert_array_equal(model.scores(adata), whole)
    assert seen == [(20, True), (4, True), (20, True), (10, True)]  # and the profiles, once
    adata.X[30, 5] = np.nan
    with pytest.raises(dk.SampleError, match=r"sample '30' has no value \(NaN\) for feature 'g5'"):
        model.predict(adata)


def test_features_are_found_by_name():
    model = dk.NearestProfile().fit(PROFILES, LABELS)
    calls = model.predict(CELLS).tolist()
    shuffled = CELLS.iloc[:, RNG.permutation(12)].assign(another=99)
    assert model.predict(shuffled).tolist() == calls
    fewer = shuffled.drop(columns=["g1", "g7"])
    with pytest.raises(
        dk.InputError, match=r"lacks 2 of the 12 features that are needed: 'g1', 'g7'.*with missing='drop'"
    ):
        model.predict(fewer)
    model.set_params(missing="drop")
    both = [gene for gene in GENES if gene not in ("g1", "g7")]
    expected = dk.NearestProfile().fit(PROFILES[both], LABELS).scores(CELLS[both])
    np.testing.assert_array_equal(model.scores(fewer), expected)
    assert model.predict(CELLS).tolist() == calls
    with pytest.raises(dk.InputError, match="X has none of the 12 features that are needed: it has 'ENSG0', "):
        model.predict(CELLS.rename(columns=lambda name: f"ENSG{name[1:]}"))
    with pytest.raises(dk.InputError, match="lacks 11 of the 12 features"):
        model.predict(CELLS[["g0"]])
    with pytest.raises(dk.InputError, match="two features of X are called 'g0'"):
        model.predict(pd.concat([CELLS, CELLS[["g0"]]], axis=1))
    with pytest.raises(dk.InputError, match="X is transposed: its samples are called 'g0', 'g1', 'g2'"):
        model.predict(CELLS.T)


@given(
    values=st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=3, max_size=6),
    count=st.integers(1, 6),
)
def test_markers_are_those_of_a_double_loop(values, count):
    values, labels = np.array(values, float), np.arange(len(values)) % 3
    medians = [np.median(values[labels == label], axis=0) for label in range(3)]
    kept = set()
    for own in medians:
        for other in medians:
            above = [(other[k] - own[k], k) for k in range(5) if own[k] > other[k]]
            kept |= {k for _, k in sorted(above)[:count]}
    if len(kept) < 2:
        with pytest.raises(dk.InputError, match="features differ between labels"):
            markers_of(values, labels, count)
        return
    assert markers_of(values, labels, count).tolist() == sorted(kept)


def test_only_markers_are_compared(tmp_path):
    model = dk.NearestProfile(markers=1).fit(PROFILES, LABELS)
    names = np.array(GENES)[model.features_]
    assert 2 <= len(names) <= 6
    expected = dk.NearestProfile().fit(PROFILES[names], LABELS).scores(CELLS[names])
    np.testing.assert_array_equal(model.scores(CELLS), expected)
    np.testing.assert_array_equal(model.scores(CELLS[names[::-1]]), expected)
    loaded = dk.load_model(dk.save_model(model, tmp_path / "types.npz"))
    np.testing.assert_array_equal(loaded.predict(CELLS), model.predict(CELLS))
    with pytest.raises(dk.SampleError, match="sample 'p0' has an infinite value"):
        dk.NearestProfile(markers=1).fit(PROFILES.mask(PROFILES == PROFILES.iloc[0, 0], np.inf), LABELS)


def test_samples_without_an_order_have_no_label():
    empty = CELLS.assign(**dict.fromkeys(GENES, 0)).head(1)
    with pytest.raises(dk.SampleError, match="sample 'c0' is constant, so it orders no pair"):
        dk.NearestProfile().fit(PROFILES, LABELS).predict(empty)
    with pytest.raises(dk.SampleError, match=r"'c0' has k\(x, x\) = 0, .*: leave it out, or set margin=0, so that it"):
        dk.NearestProfile(dk.Kendall()).fit(PROFILES, LABELS).predict(empty)
    assert dk.NearestProfile(dk.Kendall(), margin=0).fit(PROFILES, LABELS).predict(empty).tolist() == ["unassigned"]


@pytest.mark.parametrize("dtype", ["<U2", object])
def test_labels_have_room_for_unassigned(dtype):
    model = dk.NearestProfile(margin=5.0).fit(PROFILES, LABELS.astype(dtype))
    assert set(model.predict(CELLS)) == {"unassigned"}
    assert model.score(CELLS, ["B"] * 9) == 0.0


@pytest.mark.parametrize(
    ("options", "labels", "said"),
    [
        ({"margin": 0.1}, [0, 1, 2, 0, 1, 2, 0], "the labels are numbers"),
        ({"margin": 0.1}, ["unassigned", *LABELS[1:]], "a profile has the label 'unassigned'"),
        ({"margin": -1}, LABELS, "margin must be a finite number of 0 or more"),
        ({"quantile": 1.5}, LABELS, "quantile must be a fraction from 0 to 1"),
        ({"markers": 0}, LABELS, "markers must be a whole number of 1 or more"),
        ({"missing": "ignore"}, LABELS, "missing must be one of error, drop, not 'ignore'"),
        ({"kernel": "kendall"}, LABELS, "kernel must be a kernel such as"),
        ({}, ["B"] * 7, "a classifier needs samples of two or more"),
        ({}, None, "requires y to be passed"),
        ({}, pd.Series(LABELS, PROFILES.index[::-1]), "order"),
    ],
)
def test_what_cannot_be_is_refused(options, labels, said):
    with pytest.raises((dk.InputError, dk.InputTypeError), match=said):
        dk.NearestProfile(**options).fit(PROFILES, labels)
