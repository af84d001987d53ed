import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from distkern import (
    InputError,
    KernelSVC,
    KTopScoringPairs,
    PairAgreement,
    SampleError,
    TopPairGenes,
    TopPairs,
    load_model,
    save_model,
)

NAMES = [f"g{k}" for k in range(9)]


@pytest.fixture
def cohort():
    rng = np.random.default_rng(4)
    y = np.arange(36) % 3
    X = rng.normal(size=(36, 9))
    X[np.arange(36), y] += 2
    return pd.DataFrame(X, columns=NAMES, index=[f"p{k}" for k in range(36)]), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("disjoint", [False, True])
def test_signs_are_the_votes_of_the_classifier(cohort, disjoint):
    X, y = cohort
    two = y != "c"
    model = KTopScoringPairs(4, disjoint=disjoint).fit(X[two], y[two])
    top = TopPairs(4, disjoint=disjoint).fit(X[two], y[two])
    np.testing.assert_array_equal(top.pairs_, model.pairs_)
    signs = top.transform(X)
    np.testing.assert_array_equal(signs, model.votes(X))
    assert signs.dtype == np.int8
    assert top.get_feature_names_out().tolist() == [f"{a}<{b}" for a, b in model.pair_names_]
    np.testing.assert_allclose(signs.astype(int) @ signs.T.astype(int) / 4, PairAgreement(top.pairs_)(X))
    frame = top.set_output(transform="pandas").transform(X)
    assert frame.index.tolist() == X.index.tolist()
    assert frame.columns.tolist() == top.get_feature_names_out().tolist()


def test_a_pair_of_several_machines_counts_once(cohort):
    X, y = cohort
    model, top = KTopScoringPairs(5, disjoint=False).fit(X, y), TopPairs(5).fit(X, y)
    kept, seen = [], set()
    for number, pair in enumerate(model.pairs_.tolist()):
        if frozenset(pair) not in seen:
            seen.add(frozenset(pair))
            kept.append(number)
    assert len(kept) < 15
    assert top.n_pairs_ == len(kept)
    for name in ("pairs_", "pair_names_", "scores_", "secondary_", "problem_"):
        np.testing.assert_array_equal(getattr(top, name), getattr(model, name)[kept])


def test_genes_are_in_the_order_of_their_first_appearance(cohort):
    X, y = cohort
    genes, top = TopPairGenes(4).fit(X, y), TopPairs(4).fit(X, y)
    expected = list(dict.fromkeys(name for pair in top.pair_names_.tolist() for name in pair))
    assert genes.get_feature_names_out().tolist() == expected
    np.testing.assert_array_equal(genes.transform(X), X[expected])
    np.testing.assert_array_equal(genes.transform(X.iloc[:, ::-1].assign(more=0.0)), X[expected])
    assert [NAMES[k] for k in genes.get_support(indices=True)] == expected
    assert {NAMES[k] for k in np.flatnonzero(genes.get_support())} == set(expected)


def test_absent_features_and_missing_values(cohort):
    X, y = cohort
    options = {"absent": "abstain", "missing": "skip"}
    top, genes = TopPairs(3, **options).fit(X, y), TopPairGenes(3, **options).fit(X, y)
    name = top.pair_names_[0, 0]
    gap = X.drop(columns=name)
    touched = (top.pair_names_ == name).any(axis=1)
    np.testing.assert_array_equal(top.transform(gap)[:, touched], 0)
    np.testing.assert_array_equal(top.transform(gap)[:, ~touched], top.transform(X)[:, ~touched])
    column = genes.get_feature_names_out().tolist().index(name)
    values = genes.transform(gap)
    assert np.isnan(values[:, column]).all()
    np.testing.assert_array_equal(np.delete(values, column, axis=1), np.delete(genes.transform(X), column, axis=1))
    for strict in (TopPairs(3).fit(X, y), TopPairGenes(3).fit(X, y)):
        with pytest.raises(InputError, match=f"lacks 1 feature that .* pairs compare .'{name}'"):
            strict.transform(gap)
        with pytest.raises(SampleError, match=rf"sample 'p2' has no value \(NaN\) for feature '{name}'"):
            strict.transform(X.mask((X.index == "p2")[:, None] & (X.columns == name)[None, :]))


def test_any_learner_takes_the_signs(cohort):
    X, y = cohort
    assert cross_val_score(make_pipeline(TopPairs(3), LogisticRegression()), X, y, cv=3).mean() > 0.6


@pytest.mark.parametrize("transformer", [TopPairs(3), TopPairGenes(3)])
def test_a_saved_pipeline_predicts_as_before(cohort, tmp_path, transformer):
    X, y = cohort
    from distkern import Linear

    model = make_pipeline(transformer, KernelSVC(kernel=Linear())).fit(X, y)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(X.iloc[:, ::-1]), model.predict(X))


def test_names_of_other_features_are_refused(cohort):
    X, y = cohort
    top = TopPairs(2).fit(X, y)
    with pytest.raises(InputError, match="feature_names_in_"):
        top.get_feature_names_out([f"h{k}" for k in range(9)])
    unnamed = TopPairs(2).fit(X.to_numpy(), y)
    assert all(name.startswith("x") and "<x" in name for name in unnamed.get_feature_names_out())
