"""Top-scoring pairs: equal to loops over pairs, invariant where they must be, and clear where they refuse."""

import warnings
from itertools import combinations

import naive_pairs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from distkern import (
    InputError,
    KTopScoringPairs,
    Linear,
    MemoryLimitError,
    SampleError,
    Serial,
    TopScoringPair,
    compute_gram,
)
from distkern.learners.folds import Folds
from distkern.learners.multiclass import sigmoid

QUIET = {"executor": "serial"}


def sides(labels, positive, negative=None):
    """Positions of the samples of class 1 and of class 0."""
    ones = [i for i, label in enumerate(labels) if label == positive]
    return ones, [i for i, label in enumerate(labels) if (label != positive if negative is None else label == negative)]


def naive_machine(X, ones, zeros, k, disjoint=True, groups=None):
    """The best k pairs by double loops."""
    rows = X.tolist()
    parts = [0] * len(rows) if groups is None else groups
    comparisons = []
    for part in sorted(set(parts)):
        own, other = ([rows[i] for i in side if parts[i] == part] for side in (ones, zeros))
        if own and other:
            comparisons.append([(own, other)])
    ordered = naive_pairs.ordered_pairs(comparisons, X.shape[1])
    return (naive_pairs.greedy(ordered) if disjoint else ordered)[:k]


def naive_votes(x, pairs):
    return [int(x[a] < x[b]) - int(x[a] > x[b]) for _, _, a, b in pairs]


def naive_decision(x, pairs, weighted=False):
    signed = [(float(pair[0]) if weighted else 1) * v for pair, v in zip(pairs, naive_votes(x, pairs), strict=True)]
    cast = sum(map(abs, signed))
    return sum(signed) / cast if cast else 0.0


@st.composite
def labelled_samples(draw, classes):
    """Samples with ties and infinities, and labels, two samples of each class at least."""
    m = draw(st.integers(2 * classes, 2 * classes + 5))
    values = draw(st.sampled_from([st.integers(0, 3).map(float), st.floats(allow_nan=False, width=16)]))
    X = draw(arrays(np.float64, (m, draw(st.integers(4, 7))), elements=values))
    labels = [*range(classes), *range(classes), *(draw(st.integers(0, classes - 1)) for _ in range(m - 2 * classes))]
    return X, np.array(labels)


def fitted_if_there_are_pairs(model, X, y, chosen):
    """Fit without the warnings of constant samples; None where a machine has too few pairs, which is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if all(len(pairs) == model.k for pairs in chosen):
            return model.fit(X, y)
        with pytest.raises(InputError, match=r"ask for fewer|separates|constant"):
            model.fit(X, y)
    return None


@pytest.mark.filterwarnings("ignore:.*tie.* all features")
@settings(max_examples=60)
@given(labelled_samples(2), st.integers(1, 3), st.booleans(), st.booleans())
def test_two_classes_equal_double_loops(data, k, disjoint, weighted):
    X, y = data
    ones, zeros = sides(y, 1)
    expected = naive_machine(X, ones, zeros, k, disjoint)
    model = KTopScoringPairs(k, disjoint=disjoint, weights="score" if weighted else "none", **QUIET)
    if fitted_if_there_are_pairs(model, X, y, [expected]) is None:
        return
    assert model.pairs_.tolist() == [[a, b] for _, _, a, b in expected]
    np.testing.assert_allclose(model.scores_, [float(row[0]) for row in expected], rtol=1e-15)
    np.testing.assert_allclose(model.secondary_, [float(row[1]) for row in expected], rtol=1e-12, atol=1e-12)
    assert model.votes(X).tolist() == [naive_votes(x, expected) for x in X]
    f = [naive_decision(x, expected, weighted) for x in X]
    np.testing.assert_allclose(model.decision_function(X), f, rtol=1e-14, atol=1e-15)
    larger = int(len(ones) > len(zeros))
    assert model.predict(X).tolist() == [larger if value == 0 else int(value > 0) for value in f]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], (1 + np.array(f)) / 2, atol=1e-15)
    for (_, _, a, b), counts in zip(expected, model.counts_, strict=True):
        for label, (less, greater) in enumerate(counts.tolist()):
            own = X[y == label]
            assert (less, greater) == ((own[:, a] < own[:, b]).sum(), (own[:, a] > own[:, b]).sum())


@pytest.mark.filterwarnings("ignore:.*tie.* all features")
@settings(max_examples=40)
@given(labelled_samples(3), st.sampled_from(["ovr", "ovo"]))
def test_several_classes_equal_loops_over_machines(data, multi_class):
    X, y = data
    count = 3
    machines = [(c, None) for c in range(count)] if multi_class == "ovr" else list(combinations(range(count), 2))
    chosen = [naive_machine(X, *sides(y, *machine), 2) for machine in machines]
    model = fitted_if_there_are_pairs(KTopScoringPairs(2, multi_class=multi_class, **QUIET), X, y, chosen)
    if model is None:
        return
    assert model.pairs_.tolist() == [[a, b] for pairs in chosen for _, _, a, b in pairs]
    assert model.problem_.tolist() == [number for number in range(len(machines)) for _ in range(2)]
    assert model.n_pairs_.tolist() == [2] * len(machines)
    predicted, values = model.predict(X), model.decision_function(X)
    np.testing.assert_array_equal(values.argmax(axis=1), predicted)
    np.testing.assert_array_equal(
        model.predict_proba(X).argmax(axis=1) if multi_class == "ovr" else predicted, predicted
    )
    for x, label in zip(X, predicted.tolist(), strict=True):
        f = [naive_decision(x, pairs) for pairs in chosen]
        if multi_class == "ovr":
            support = [
                sum(pair[0] for pair, vote in zip(pairs, naive_votes(x, pairs), strict=True) if vote > 0)
                for pairs in chosen
            ]
            assert label == max(range(count), key=lambda c: (f[c], support[c], -c))
        else:
            won, total = [0.0] * count, [0.0] * count
            for (a, b), value in zip(machines, f, strict=True):
                won[a] += 0.5 if value == 0 else value > 0
                won[b] += 0.5 if value == 0 else value < 0
                total[a], total[b] = total[a] + value, total[b] - value
            assert label == max(range(count), key=lambda c: (won[c], round(total[c], 12), -c))


RNG = np.random.default_rng(5)
NAMES = [f"g{k:02d}" for k in range(12)]


def cohort(m=40, classes=2, seed=5):
    """Samples whose first features differ between the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % classes
    X = rng.normal(size=(m, len(NAMES)))
    for label in range(classes):
        X[y == label, label] += 1.5
        X[y == label, label + 4] -= 1.0
    frame = pd.DataFrame(X, columns=NAMES, index=[f"p{k:02d}" for k in range(m)])
    return frame, np.array(["ill", "well", "other"])[y]


def test_scores_of_groups_are_means_within_groups():
    X, y = cohort()
    groups = np.array(["agilent", "affymetrix", "array"])[np.arange(len(y)) % 7 % 3]
    ones, zeros = sides(y, "well")
    expected = naive_machine(X.to_numpy(), ones, zeros, 3, groups=groups.tolist())
    model = KTopScoringPairs(3, **QUIET).fit(X, y, groups)
    assert model.pairs_.tolist() == [[a, b] for _, _, a, b in expected]
    np.testing.assert_allclose(model.scores_, [float(row[0]) for row in expected], rtol=1e-14)


def test_groups_with_one_class_are_named_and_do_not_count():
    X, y = cohort()
    groups = np.where(np.arange(len(y)) < 30, "mixed", "lonely")
    y = np.where(groups == "lonely", "ill", y)
    with pytest.warns(
        UserWarning, match="1 of 2 groups hold one side only of class 'well' against class 'ill'.*'lonely'"
    ):
        model = KTopScoringPairs(3, **QUIET).fit(X, y, groups)
    mixed = groups == "mixed"
    alone = KTopScoringPairs(3, **QUIET).fit(X[mixed], y[mixed])
    np.testing.assert_array_equal(model.pairs_, alone.pairs_)
    with pytest.raises(
        InputError, match=r"no group holds both sides of class 'well' against class 'ill'.*'ill', 'well'"
    ):
        KTopScoringPairs(3).fit(X, y, y)
    with (
        pytest.warns(UserWarning, match="hold one side only"),
        pytest.raises(InputError, match=r"without fold ., no group holds both sides of class 'well' against"),
    ):
        KTopScoringPairs("cv", cv=2).fit(X, y, np.where(X.index == "p01", "ill", y))
    with pytest.raises(InputError, match="groups has the samples of X in another order"):
        KTopScoringPairs(3).fit(X, y, pd.Series(groups, index=X.index[::-1]))


def test_a_mean_over_the_classes_of_the_rest_is_not_swayed_by_a_large_one():
    X, y = cohort(60, 3)
    many = np.concatenate([np.arange(60), np.flatnonzero(y == "other").repeat(20)])
    big, labels = X.iloc[many].reset_index(drop=True), y[many]
    balanced = KTopScoringPairs(3, rest="mean", **QUIET)
    np.testing.assert_array_equal(balanced.fit(big, labels).pairs_, clone(balanced).fit(X, y).pairs_)
    np.testing.assert_allclose(balanced.scores_, clone(balanced).fit(X, y).scores_, rtol=1e-12)
    pooled = KTopScoringPairs(3, **QUIET)
    assert pooled.fit(big, labels).pairs_.tolist() != pooled.fit(X, y).pairs_.tolist()


# What must not matter, and what must ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"features": 6}, {"k": "cv"}, {"features": "wilcoxon:5", "disjoint": False}])
def test_a_monotone_transformation_of_each_sample_changes_nothing(options):
    X, y = cohort()
    other = X.copy()
    for row, name in enumerate(X.index):
        other.loc[name] = [np.exp, np.cbrt, lambda x: 3 * x - 8][row % 3](X.loc[name])
    one, two = (KTopScoringPairs(**options, **QUIET).fit(part, y) for part in (X, other))
    np.testing.assert_array_equal(one.pairs_, two.pairs_)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.decision_function(X), one.decision_function(other))


def test_permuted_features_give_permuted_pairs():
    X, y = cohort()
    order = np.random.default_rng(0).permutation(len(NAMES))
    one = KTopScoringPairs(5, disjoint=False, **QUIET).fit(X, y)
    two = KTopScoringPairs(5, disjoint=False, **QUIET).fit(X.iloc[:, order], y)
    assert len({(s, t) for s, t in zip(one.scores_, one.secondary_, strict=True)}) == 5  # no tie is broken by position
    assert one.pair_names_.tolist() == two.pair_names_.tolist()
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_swapped_labels_flip_first_and_second():
    X, y = cohort()
    swapped = np.where(y == "ill", "well", "ill")
    one, two = (KTopScoringPairs(5, **QUIET).fit(X, labels) for labels in (y, swapped))
    np.testing.assert_array_equal(one.pairs_, two.pairs_[:, ::-1])
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.decision_function(X), -two.decision_function(X))


def test_containers_give_the_same_answer(tmp_path):
    X, y = cohort()
    counts = np.round(np.exp(X)).clip(0, 9) * (np.random.default_rng(1).random(X.shape) < 0.6)
    expected = KTopScoringPairs(3, **QUIET).fit(counts.to_numpy(), y)
    np.save(tmp_path / "X.npy", counts.to_numpy())
    for container in (sparse.csr_array(counts.to_numpy()), str(tmp_path / "X.npy"), counts.to_numpy().tolist()):
        model = KTopScoringPairs(3, **QUIET).fit(container, y)
        np.testing.assert_array_equal(model.pairs_, expected.pairs_)
        np.testing.assert_array_equal(model.predict(container), expected.predict(counts.to_numpy()))
    gram = compute_gram(Linear(), X, store=tmp_path / "k.zarr", progress=False)
    with pytest.raises(TypeError, match="takes samples, not a Gram matrix"):
        KTopScoringPairs().fit(gram, y)


def test_one_pair_is_the_best_of_several():
    X, y = cohort()
    one, several = TopScoringPair(**QUIET).fit(X, y), KTopScoringPairs(4, **QUIET).fit(X, y)
    np.testing.assert_array_equal(one.pairs_, several.pairs_[:1])
    assert one.n_pairs_ == 1
    others = several.get_params()
    assert one.get_params() == {name: others[name] for name in one.get_params()}
    assert one.set_params(absent="abstain", min_pairs=0.1).predict(X).tolist() == one.predict(X).tolist()


# The number of pairs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["error", "skip"])
def test_k_by_variance_equals_loops(missing):
    X, y = cohort()
    if missing == "skip":
        X = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    model = KTopScoringPairs("variance", k_range=(2, 6), missing=missing, **QUIET).fit(X, y)
    whole = KTopScoringPairs(6, missing=missing, **QUIET).fit(X, y)
    best, path = None, []
    for k in range(2, 7):
        kappa = (whole.votes(X)[:, :k] > 0).sum(axis=1)
        own, other = kappa[y == "well"], kappa[y != "well"]
        t = abs(own.mean() - other.mean()) / np.sqrt(own.var(ddof=1) + other.var(ddof=1) + 1e-9)
        path.append((k, t))
        best = (k, t) if best is None or t > best[1] else best
    np.testing.assert_allclose(model.k_path_, path, rtol=1e-12)
    assert model.n_pairs_ == best[0]


@pytest.mark.parametrize(
    "options", [{}, {"features": 6}, {"weights": "score"}, {"multi_class": "ovo"}, {"pivot": ["g00"]}]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_inner_folds_equal_refits(classes, options):
    X, y = cohort(45, classes)
    options = {"disjoint": False} | options | QUIET
    model = KTopScoringPairs("cv", k_range=(1, 5), cv=3, **options).fit(X, y)
    expected = np.zeros(5)
    for train, test, _ in Folds(y, None, None, 0).outer(3, 1):
        for k in range(1, 6):
            refit = KTopScoringPairs(k, **options).fit(X.iloc[train], y[train])
            expected[k - 1] += balanced_accuracy_score(y[test], refit.predict(X.iloc[test])) / 3
    np.testing.assert_array_equal(model.k_path_[:, 0], np.arange(1, 6))
    np.testing.assert_allclose(model.k_path_[:, 1], expected, rtol=1e-12)
    chosen = int(np.flatnonzero(expected >= expected.max() - 1e-12)[0]) + 1
    assert np.unique(model.n_pairs_).tolist() == [chosen]


def test_a_list_of_numbers_a_splitter_and_another_score():
    X, y = cohort()
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    model = KTopScoringPairs([5, 1, 3], cv=folds, scoring="accuracy", **QUIET).fit(X, y)
    own = KTopScoringPairs([1, 3, 5], cv=list(folds.split(X, y)), scoring=lambda a, b: np.mean(a == b), **QUIET).fit(
        X, y
    )
    np.testing.assert_allclose(model.k_path_, own.k_path_)
    assert model.k_path_[:, 0].tolist() == [1, 3, 5]
    with pytest.raises(InputError, match="must hold each sample out once"):
        KTopScoringPairs([1, 3], cv=[(np.arange(20), np.arange(20, 30))]).fit(X, y)


def test_fewer_pairs_than_the_range_are_all_taken():
    X, y = cohort()
    for k in ("variance", "cv"):
        model = KTopScoringPairs(k, **QUIET).fit(X.iloc[:, :2], y)
        assert (model.n_pairs_, model.k_path_[:, 0].tolist()) == (1, [1])
    with pytest.raises(InputError, match="k is 2, and 1 disjoint pair tells"):
        KTopScoringPairs([2, 3], **QUIET).fit(X.iloc[:, :2], y)


# Missing values and absent features -----------------------------------------------------------------------------------


def test_features_are_found_by_name_in_any_order_among_others():
    X, y = cohort()
    model = KTopScoringPairs(3, **QUIET).fit(X, y)
    needed = list(dict.fromkeys(model.pair_names_.ravel()))
    wide = X.iloc[:, ::-1].assign(more=0.0)
    for part in (wide, X[needed[::-1]]):
        np.testing.assert_array_equal(model.decision_function(part), model.decision_function(X))
    with pytest.raises(InputError, match=rf"lacks 1 feature that 1 of 3 pairs compare \('{needed[0]}'\)"):
        model.predict(X.drop(columns=needed[0]))
    with pytest.raises(InputError, match=f"two features of X are called '{needed[0]}'"):
        model.predict(pd.concat([X, X[[needed[0]]]], axis=1))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(X.to_numpy()), model.predict(X))
    unnamed = KTopScoringPairs(3, **QUIET).fit(X.to_numpy(), y)
    for part in (X.to_numpy()[:, :5], X.to_numpy()[:, :5].tolist()):
        with pytest.raises(InputError, match="X has 5 features, but KTopScoringPairs is expecting 12"):
            unnamed.predict(part)


def test_absent_features_and_missing_values_abstain():
    X, y = cohort()
    model = KTopScoringPairs(3, absent="abstain", missing="skip", **QUIET).fit(X, y)
    lacking = X.drop(columns=model.pair_names_[0, 0])
    votes = model.votes(X)
    np.testing.assert_array_equal(model.votes(lacking)[:, 0], 0)
    np.testing.assert_array_equal(model.votes(lacking)[:, 1:], votes[:, 1:])
    rest = votes[:, 1:].sum(axis=1) / np.abs(votes[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(lacking), rest)
    gap = X.copy()
    gap.loc["p03", model.pair_names_[0, 0]] = gap.loc["p03", model.pair_names_[1, 1]] = np.nan
    f = model.decision_function(gap)
    assert np.isnan(f).tolist() == [name == "p03" for name in X.index]
    with pytest.raises(InputError, match=r"1 of 40 samples have values for too few pairs to be classified \('p03'\)"):
        model.predict(gap)
    assert model.set_params(min_pairs=0.3).predict(gap)[3] in ("ill", "well")


def test_missing_values_are_refused_by_name_unless_they_are_skipped():
    X, y = cohort()
    gap = X.copy()
    gap.iloc[4, 2] = np.nan
    with pytest.raises(SampleError, match=r"sample 'p04' has no value \(NaN\) for feature 'g02'"):
        KTopScoringPairs(3).fit(gap, y)
    model = KTopScoringPairs(3, **QUIET).fit(X, y)
    name = model.pair_names_[0, 0]
    gap = X.copy()
    gap.loc["p07", name] = np.nan
    with pytest.raises(SampleError, match=rf"sample 'p07' has no value \(NaN\) for feature '{name}'"):
        model.predict(gap)


def test_a_feature_without_values_is_no_feature():
    X, y = cohort()
    options = {"k": 4, "missing": "skip"} | QUIET
    without = KTopScoringPairs(**options).fit(X.drop(columns="g03"), y)
    empty = KTopScoringPairs(**options).fit(X.assign(g03=np.nan), y)
    assert without.pair_names_.tolist() == empty.pair_names_.tolist()
    np.testing.assert_array_equal(without.scores_, empty.scores_)


def test_a_pair_that_few_samples_of_a_class_observe_does_not_compete():
    X, y = cohort()
    gap = X.copy()
    gap.loc[X.index[np.flatnonzero(y == "well")[:14]], "g00"] = np.nan  # 6 of 20 are left
    strict, lax = (KTopScoringPairs(3, missing="skip", min_observed=least, **QUIET).fit(gap, y) for least in (0.5, 0.3))
    assert "g00" not in strict.pair_names_
    assert "g00" in lax.pair_names_
    row = int(np.argwhere(lax.pair_names_ == "g00")[0, 0])
    assert lax.observed_[row].tolist() == [20, 6]
    assert f"well {lax.counts_[row, 1, 0]} of 6" in lax.rules()


# Filters --------------------------------------------------------------------------------------------------------------


def test_only_chosen_features_pairs_and_pivots_compete():
    X, y = cohort()
    some = ["g00", "g04", "g07", "g09"]
    named = KTopScoringPairs(2, features=some, **QUIET).fit(X, y)
    assert set(named.pair_names_.ravel()) <= set(some)
    assert named.pair_names_.tolist() == KTopScoringPairs(2, **QUIET).fit(X[some], y).pair_names_.tolist()
    listed = KTopScoringPairs(1, pairs=[("g09", "g00"), ("g04", "g11")], **QUIET).fit(X, y)
    assert {*listed.pair_names_[0]} in ({"g09", "g00"}, {"g04", "g11"})
    both = KTopScoringPairs(1, features=["g09", "g00", "g04"], pairs=[("g09", "g00"), ("g04", "g11")], **QUIET)
    assert {*both.fit(X, y).pair_names_[0]} == {"g09", "g00"}
    pivoted = KTopScoringPairs(3, pivot="g05", disjoint=False, **QUIET).fit(X, y)
    assert all("g05" in pair for pair in pivoted.pair_names_.tolist())
    filtered = KTopScoringPairs(2, features=4, **QUIET).fit(X, y)
    np.testing.assert_array_equal(filtered.pairs_, KTopScoringPairs(2, features="wilcoxon:4", **QUIET).fit(X, y).pairs_)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"features": ["g00", "BRCA1"]}, "BRCA1"),
        ({"features": 13}, "features=13 is not from 2 to 12, the number of features"),
        ({"features": 1}, "features must be 2 or more"),
        ({"features": "best:5"}, "wilcoxon:2000"),
        ({"pairs": [("g00",)]}, "pairs must be pairs of features"),
        ({"pairs": ["g00"]}, "pairs must be pairs of features"),
        ({"pairs": [("g00", "g00")]}, "the feature 'g00' twice"),
        ({"pairs": [("g00", "TP53")]}, "TP53"),
        ({"pivot": ["EGFR"]}, "EGFR"),
        ({"k": 7}, "k is 7, and 6 disjoint pairs tell class .* apart: ask for fewer, or give disjoint=False"),
        ({"k": 0}, "whole numbers of 1 or more"),
        ({"k": "best"}, "must be one of variance, cv"),
        ({"k": []}, "k is empty"),
        ({"k_range": (5, 2)}, "k_range must be the least and the largest"),
        ({"missing": "drop"}, "missing must be one of"),
        ({"absent": "skip"}, "absent must be one of"),
        ({"multi_class": "all"}, "multi_class must be one of"),
        ({"rest": "none"}, "rest must be one of"),
        ({"weights": "votes"}, "weights must be one of"),
        ({"group_agg": "max"}, "group_agg must be one of"),
        ({"min_pairs": 2}, "min_pairs must be a fraction"),
        ({"min_observed": -0.1}, "min_observed must be a fraction"),
        ({"features": ["g00", "g00"]}, "a pair takes two features, and features has fewer"),
        ({"pivot": []}, "pivot is empty"),
        ({"pivot": ["g01"], "pairs": [("g00", "g02"), ("g03", "g04")]}, "pairs and pivot leave no pair"),
        ({"features": ["g01", "g02"], "pairs": [("g00", "g02")]}, "features and pairs leave no pair"),
        ({"features": ["g01", "g02"], "pivot": "g05"}, "features and pivot leave no pair"),
        ({"k": 1, "calibrate": True, "cv": 0}, "there must be 2 outer folds or more, not 0"),
        ({"k": [1, 2], "scoring": lambda y, p: np.nan}, "mean score for k = 1 is not a finite number"),
        ({"k": "cv", "scoring": "auc"}, "scoring must be one of"),
        ({"k": "cv", "cv": 30}, "too few for 30 outer folds"),
    ],
)
def test_wrong_parameters_are_refused(options, said):
    X, y = cohort()
    with pytest.raises(InputError, match=said):
        KTopScoringPairs(**options).fit(X, y)


def test_wrong_data_are_refused():
    X, y = cohort()
    with pytest.raises(InputError, match="got 1 class"):
        KTopScoringPairs().fit(X, ["ill"] * 40)
    with pytest.raises(InputError, match="n_features = 1"):
        KTopScoringPairs().fit(X.iloc[:, :1], y)
    with pytest.raises(InputError, match="two features are called 'g00'"):
        KTopScoringPairs().fit(pd.concat([X, X[["g00"]]], axis=1), y)
    with pytest.raises(InputError, match="the label of sample 'p03' is missing"):
        KTopScoringPairs().fit(X, np.where(X.index == "p03", None, y))
    with pytest.raises(InputError, match="y has the samples of X in another order"):
        KTopScoringPairs().fit(X, pd.Series(y, index=X.index[::-1]))
    with pytest.raises(InputError, match="every sample is constant"):
        KTopScoringPairs().fit(X * 0, y)
    with pytest.raises(InputError, match="no pair of features separates class 'well' against class 'ill' at all"):
        KTopScoringPairs().fit(X * 0 + np.arange(12.0), y)
    flat = X.copy()
    flat.loc["p05"] = 3.0
    with pytest.warns(UserWarning, match="1 sample ties all features.*'p05'"):
        KTopScoringPairs(3).fit(flat, y)
    with pytest.warns(UserWarning, match="class 'ill' has 1 sample"):
        KTopScoringPairs(3).fit(X.iloc[:21], ["well"] * 20 + ["ill"])
    few = [f"c{number}" for number in range(7)]
    with pytest.warns(UserWarning, match=r"7 classes have 1 sample.*: 'c0', 'c1', 'c2', 'c3', 'c4', …") as warned:
        KTopScoringPairs(1, **QUIET).fit(X.iloc[:20], ["well"] * 13 + few)
    assert sum("1 sample" in str(one.message) for one in warned) == 1


# Probabilities and text -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["none", "score"])
@pytest.mark.parametrize("k", [3, "variance"])
@pytest.mark.parametrize("classes", [2, 3])
def test_calibrated_probabilities_are_sigmoids_of_held_out_decisions(classes, k, weights):
    X, y = cohort(45, classes)
    options = {"disjoint": False, "weights": weights} | QUIET
    model = KTopScoringPairs(k, calibrate=True, cv=3, **options).fit(X, y)
    numbers, f = np.atleast_1d(model.n_pairs_), np.empty((45, len(model.probA_)))
    for train, test, _ in Folds(y, None, None, 0).outer(3, 1):
        refit = KTopScoringPairs(int(numbers.max()), **options).fit(X.iloc[train], y[train])
        for problem, number in enumerate(numbers):
            own = np.flatnonzero(refit.problem_ == problem)[:number]
            w = refit.scores_[own] if weights == "score" else np.ones(number)
            votes = refit.votes(X.iloc[test])[:, own] * w
            f[test, problem] = votes.sum(axis=1) / np.abs(votes).sum(axis=1)
    for problem, label in enumerate(["well"] if classes == 2 else model.classes_):
        A, B = sigmoid(f[:, problem], y == label, np.ones(45))
        np.testing.assert_allclose([model.probA_[problem], model.probB_[problem]], [A, B], rtol=1e-6)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    if classes == 2:
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(A * model.decision_function(X) + B)), rtol=1e-6)
    assert not hasattr(model.set_params(calibrate=False).fit(X, y), "probA_")


@pytest.mark.filterwarnings("ignore:.*tie.* all features")
def test_draws_go_to_the_larger_class_and_the_decision_shows_them():
    X = pd.DataFrame({"A": [1.0, 1, 2, 2, 2], "B": [2.0, 2, 1, 1, 1], "C": [1.0, 1, 2, 2, 2], "D": [2.0, 2, 1, 1, 1]})
    for labels, larger in ((["x", "x", "y", "y", "y"], "y"), (["b", "b", "a", "a", "a"], "a")):
        model = KTopScoringPairs(2, **QUIET).fit(X, labels)
        new = pd.DataFrame({"A": [1.0, 3.0], "B": [2.0, 3.0], "C": [2.0, 3.0], "D": [1.0, 3.0]})
        assert model.decision_function(new).tolist() == [0.0, 0.0]
        assert model.predict(new).tolist() == [larger, larger]
        assert model.classes_[model.predict_proba(new).argmax(axis=1)].tolist() == [larger, larger]
        assert f"goes to {larger}, the larger class" in model.rules()


def test_rules_are_written_as_people_read_them():
    X, y = cohort(45, 3)
    two = TopScoringPair(**QUIET).fit(X[y != "other"], y[y != "other"])
    (a, b), score = two.pair_names_[0], two.scores_[0]
    less = [(X[a] < X[b])[y == label].sum() for label in ("ill", "well")]
    assert two.rules() == f"{a} < {b} → well   score {score:.4f}   ill {less[0]} of 15, well {less[1]} of 15"
    coded = TopScoringPair(**QUIET).fit(X[y != "other"], (y[y != "other"] == "well").astype(int))
    assert coded.rules() == f"{a} < {b} → 1   score {score:.4f}   '0' {less[0]} of 15, '1' {less[1]} of 15"
    three = TopScoringPair(**QUIET).fit(X, y).rules().split("\n")
    assert [line.partition(" → ")[2].split()[0] for line in three] == ["ill", "other", "well"]
    assert "the rest" in three[0]
    ovo = KTopScoringPairs(1, multi_class="ovo", **QUIET).fit(X, y).rules().split("\n")
    assert [line.partition(" → ")[2].split()[0] for line in ovo] == ["ill", "ill", "other"]


def test_what_does_not_fit_in_memory_is_refused_before_it_is_counted():
    X, y = cohort()
    for model in (KTopScoringPairs(3, memory_limit="1KiB"), TopScoringPair(memory_limit=100)):
        with pytest.raises(MemoryLimitError, match="may take"):
            model.fit(X, y)


class Uncopied(Serial):
    """An executor that cannot be copied, like a Dask client."""

    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle it")


def test_tools_of_scikit_learn_take_it():
    X, y = cohort()
    executor = Uncopied()
    other = clone(KTopScoringPairs(3, executor=executor))
    assert (other.executor, other.k) == (executor, 3)
    np.testing.assert_array_equal(
        cross_val_score(other, X, y, cv=3), cross_val_score(KTopScoringPairs(3, **QUIET), X, y, cv=3)
    )
    assert cross_val_score(KTopScoringPairs(3, **QUIET), X, y, cv=3).mean() > 0.5
    search = GridSearchCV(KTopScoringPairs(**QUIET), {"k": [1, 3]}, cv=2).fit(X, y)
    assert search.best_params_["k"] in (1, 3)
