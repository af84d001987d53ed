"""Nested cross-validation against GridSearchCV, step by step, and the arithmetic of its summary."""

import inspect
import json

import numpy as np
import pytest
from marks import with_slow
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from distkern.build.compute import compute_gram
from distkern.core.errors import InputError, InputTypeError
from distkern.kernels.kendall import Kendall
from distkern.kernels.vectors import Gaussian
from distkern.learners.discriminant import KernelFisherDiscriminant
from distkern.learners.folds import Folds
from distkern.learners.multiclass import sigmoid
from distkern.learners.selection import Choice, Evaluation, best_value, cross_validate_gram
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.operators.array import ArrayGram

GRID = (0.01, 0.1, 1.0, 10.0)


def cohort(classes=2, count=40, seed=0, shift=0.8):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(count, 12)), np.arange(count) % classes
    X[np.arange(count), y] += shift
    return X, np.array(["ctl", "one", "two"])[y]


def model():
    return make_pipeline(KernelStandardizer(), KernelSVC())


def by_scikit_learn(gram, y, splits, inner_of):
    """The same protocol from scikit-learn's parts: accuracy, balanced accuracy and C of every fold."""
    rows = []
    for train, test in splits:
        search = GridSearchCV(model(), {"kernelsvc__C": GRID}, cv=inner_of(train, len(rows)))
        search.fit(gram[np.ix_(train, train)], y[train])
        best = np.flatnonzero(search.cv_results_["mean_test_score"] >= search.best_score_ - 1e-12)[0]
        best_model = clone(model()).set_params(kernelsvc__C=GRID[best]).fit(gram[np.ix_(train, train)], y[train])
        predicted = best_model.predict(gram[np.ix_(test, train)])
        rows.append((np.mean(predicted == y[test]), balanced_accuracy_score(y[test], predicted), GRID[best]))
    return np.array(rows).T


# Equal to scikit-learn's parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", with_slow(range(2), range(2, 6)))
@pytest.mark.parametrize("in_memory", [True, False])
def test_the_inner_search_equals_grid_search(seed, in_memory):
    X, y = cohort(classes=2 + seed % 2, count=36, seed=seed, shift=0.4)
    gram = ArrayGram(Kendall("b")(X))
    folds = StratifiedKFold(4, shuffle=True, random_state=seed)
    search = GridSearchCV(model(), {"kernelsvc__C": GRID}, cv=folds).fit(gram, y)
    means = search.cv_results_["mean_test_score"]
    expected = GRID[int(np.argmax(means >= means.max() - 1e-12))]
    found = best_value(model(), gram, y, Choice("C", [*GRID]), list(folds.split(y, y)), in_memory=in_memory)
    assert found == expected
    if np.sum(np.abs(means - means.max()) < 1e-12) == 1:
        assert found == search.best_params_["kernelsvc__C"]


@pytest.mark.parametrize("classes", with_slow([2], [3]))
def test_equals_nested_grid_search(classes):
    X, y = cohort(classes)
    gram = ArrayGram(Kendall("b")(X))
    found = cross_validate_gram(None, gram, y, C=GRID, outer=4, repeats=2, inner=3, seed=7)
    outer = [split for r in (7, 8) for split in StratifiedKFold(4, shuffle=True, random_state=r).split(y, y)]
    accuracy, balanced, chosen = by_scikit_learn(
        gram, y, outer, lambda train, fold: StratifiedKFold(3, shuffle=True, random_state=7 + fold)
    )
    np.testing.assert_array_equal(found.accuracy, accuracy)
    np.testing.assert_allclose(found.balanced_accuracy, balanced, atol=1e-15)
    np.testing.assert_array_equal(found.C, chosen)
    np.testing.assert_array_equal(found.n_test, [len(test) for _, test in outer])
    np.testing.assert_array_equal(found.repeat, [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(found.fold, [0, 1, 2, 3] * 2)


@pytest.mark.parametrize("classes", [2, 3])
def test_groups_are_never_split(classes):
    X, y = cohort(classes, count=60)
    groups = np.array([f"patient {i // (2 * classes)}" for i in range(60)])
    gram = ArrayGram(Kendall("b")(X))
    found = cross_validate_gram(None, gram, y, C=GRID, outer=3, repeats=1, inner=2, groups=groups, seed=1)
    outer = list(StratifiedGroupKFold(3, shuffle=True, random_state=1).split(y, y, groups))
    inner = [
        list(StratifiedGroupKFold(2, shuffle=True, random_state=1 + fold).split(train, y[train], groups[train]))
        for fold, (train, _) in enumerate(outer)
    ]
    accuracy, _, chosen = by_scikit_learn(gram, y, outer, lambda train, fold: inner[fold])
    np.testing.assert_array_equal(found.accuracy, accuracy)
    np.testing.assert_array_equal(found.C, chosen)
    assert found.settings["grouped"]


def test_area_under_the_curve():
    for classes in (2, 3):
        X, y = cohort(classes)
        gram = ArrayGram(Kendall("b")(X))
        found = cross_validate_gram(None, gram, y, C=[1.0], outer=3, repeats=1, seed=2)
        for area, (train, test) in zip(
            found.auc, StratifiedKFold(3, shuffle=True, random_state=2).split(y, y), strict=True
        ):
            scores = model().fit(gram[np.ix_(train, train)], y[train]).decision_function(gram[np.ix_(test, train)])
            if classes == 2:
                expected = roc_auc_score(y[test] == "one", scores)
            else:
                expected = np.mean([roc_auc_score(y[test] == c, scores[:, k]) for k, c in enumerate(np.unique(y))])
            assert area == pytest.approx(expected, abs=1e-14)


def test_without_a_choice_of_C_it_is_cross_validation():
    X, y = cohort()
    gram = ArrayGram(Kendall("b")(X))
    for C, estimator in ((None, make_pipeline(KernelStandardizer(), KernelSVC(C=3.0))), ([3.0], None)):
        found = cross_validate_gram(estimator, gram, y, C=C, outer=5, repeats=1, seed=3)
        folds = StratifiedKFold(5, shuffle=True, random_state=3)
        expected = cross_val_score(make_pipeline(KernelStandardizer(), KernelSVC(C=3.0)), gram, y, cv=folds)
        np.testing.assert_array_equal(found.accuracy, expected)
        assert np.isnan(found.C).all() == (C is None)


def test_a_bare_classifier_and_an_array():
    X, y = cohort()
    found = cross_validate_gram(KernelSVC(), X @ X.T, y, C=GRID, outer=3, repeats=1, inner=3)
    lazy = cross_validate_gram(KernelSVC(), ArrayGram(X @ X.T)[:][:], y, C=GRID, outer=3, repeats=1, inner=3)
    np.testing.assert_array_equal(found.accuracy, lazy.accuracy)
    np.testing.assert_array_equal(found.auc, lazy.auc)


# All folds together --------------------------------------------------------------------------------------------------


class OneByOne(KernelSVC):
    """What is not a KernelSVC itself is fitted fold by fold."""


HEADS = {
    "none": [],
    "standardizer": [KernelStandardizer()],
    "centred": [KernelStandardizer(unit_norm=False)],
    "scaled": [KernelStandardizer(center=False)],
}


@pytest.mark.parametrize(
    ("head", "where", "options"),
    [
        *with_slow(
            [
                ("none", "array", {}),
                ("standardizer", "array", {"multi_class": "ovr"}),
                ("centred", "stored", {"class_weight": "balanced", "C": 7.0}),
                ("scaled", "out of core", {"class_weight": "balanced", "C": 7.0}),
            ],
            [
                ("none", "out of core", {"multi_class": "ovr"}),
                ("standardizer", "stored", {}),
                ("standardizer", "out of core", {}),
            ],
        )
    ],
)
def test_all_folds_together_equal_one_by_one(head, where, options, tmp_path):
    X, y = cohort(classes=3, count=75)
    y[:10] = "ctl"
    gram, kept = ArrayGram(Kendall("b")(X)), {}
    if where != "array":
        gram = compute_gram(Kendall("b"), X, store=tmp_path / "gram.zarr", tile=20, progress=False)
        kept = {"max_bytes": 1000}
    options = {"tol": 1e-7, **options}
    grid = None if "C" in options else GRID
    asked = {"C": grid, "outer": 3, "inner": 3, "repeats": 1, "seed": 4}
    limit = {"memory_limit": 2_500_000} if where == "out of core" else {}
    found = cross_validate_gram(make_pipeline(*HEADS[head], KernelSVC(**options, **limit)), gram, y, **asked, **kept)
    expected = cross_validate_gram(
        make_pipeline(*HEADS[head], OneByOne(**options)), ArrayGram(Kendall("b")(X)), y, **asked
    )
    for name in ("accuracy", "balanced_accuracy", "C", "n_test"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.auc, expected.auc, atol=1e-9)


@pytest.mark.slow
def test_a_few_passes_serve_every_fold_and_value_of_C(tmp_path):
    X, y = cohort(count=120)
    gram = compute_gram(Kendall("b"), X, store=tmp_path / "gram.zarr", tile=30, progress=False)
    before = gram.bytes_read()
    gram.matmat(np.ones(120))
    one_pass = gram.bytes_read() - before
    cross_validate_gram(None, gram, y, C=GRID, outer=5, inner=5, repeats=1, max_bytes=1000)
    assert gram.bytes_read() - before <= 8 * one_pass  # 125 models: twice means, values and scores


def test_a_sample_of_norm_zero_is_named_in_whatever_fold():
    X, y = cohort(count=30)
    X[7] = 0.0
    with pytest.raises(InputError, match="sample '7' has norm zero"):
        cross_validate_gram(make_pipeline(KernelStandardizer(center=False), KernelSVC()), X @ X.T, y, outer=3, inner=2)


def test_models_that_stopped_early_warn_once():
    X, y = cohort()
    with pytest.warns(ConvergenceWarning, match="stopped early") as heard:
        cross_validate_gram(KernelSVC(max_iter=2), X @ X.T, y, C=[1.0], outer=3, repeats=1)
    assert len(heard) == 1


# Where the matrix lies -----------------------------------------------------------------------------------------------


def test_a_stored_gram_is_read_once_or_piece_by_piece_with_the_same_scores(tmp_path):
    X, y = cohort(count=24)
    options = {"C": GRID, "outer": 3, "repeats": 1, "inner": 2}
    expected = cross_validate_gram(None, Kendall("b")(X), y, **options)
    for max_bytes in (None, 24 * 24 * 8, "1kB"):
        gram = compute_gram(Kendall("b"), X, store=tmp_path / f"{max_bytes}.zarr", tile=8, progress=False)
        found = cross_validate_gram(None, gram, y, max_bytes=max_bytes, **options)
        for name in ("accuracy", "C"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        np.testing.assert_allclose(found.auc, expected.auc, atol=1e-12)
        one_pass = 3 * 8 * 8 * 8 + 3 * 8 * 8 * 8  # six tiles of 8 × 8 in the upper triangle
        assert (gram.bytes_read() <= one_pass) == (max_bytes != "1kB")


def test_progress_and_the_same_seed():
    X, y = cohort()
    events = []
    first = cross_validate_gram(None, X @ X.T, y, C=GRID, outer=2, repeats=2, inner=2, seed=5, on_event=events.append)
    assert [(event.phase, event.done, event.total) for event in events] == [("evaluate", i, 4) for i in (1, 2, 3, 4)]
    again = cross_validate_gram(None, X @ X.T, y, C=GRID, outer=2, repeats=2, inner=2, seed=5).to_dict()
    assert {**again, "seconds": 0} == {**first.to_dict(), "seconds": 0}


def test_repeats_are_shuffled_differently():
    _, y = cohort()
    X = np.random.default_rng(0).normal(size=(40, 5))
    found = cross_validate_gram(None, X @ X.T, y, C=[1.0], outer=4, repeats=3)
    assert len({tuple(found.auc[found.repeat == r]) for r in range(3)}) == 3
    assert RepeatedStratifiedKFold(n_splits=4, n_repeats=3).get_n_splits() == len(found.accuracy)


# Summary -------------------------------------------------------------------------------------------------------------


def summary(accuracy, auc):
    number = np.arange(len(accuracy))
    filler = np.ones(len(accuracy))
    return Evaluation(
        number // 2, number % 2, np.full(len(accuracy), 5), np.array(accuracy), filler, np.array(auc), filler,
        ("a", "b"), {"outer": 2}, 1.5,
    )  # fmt: skip


def test_means_and_deviations_by_hand():
    found = summary([0.6, 0.8, 1.0, 0.6], [np.nan, 0.5, 0.9, 0.7])
    assert found.mean() == pytest.approx(0.75)
    assert found.std() == pytest.approx(np.std([0.7, 0.8], ddof=1))
    assert found.std("accuracy", over="folds") == pytest.approx(np.std([0.6, 0.8, 1.0, 0.6], ddof=1))
    assert found.mean("auc") == pytest.approx((0.5 + 0.8) / 2)
    assert found.std("auc", over="folds") == pytest.approx(np.std([0.5, 0.9, 0.7], ddof=1))
    one = summary([0.5, 0.7], [np.nan, np.nan])
    assert np.isnan([one.std(), one.mean("auc"), one.std("auc", over="folds")]).all()
    with pytest.raises(InputError, match="metric must be one of accuracy, balanced_accuracy, auc, not 'f1'"):
        found.mean("f1")
    with pytest.raises(InputError, match="over must be"):
        found.std(over="samples")


def test_json_round_trip():
    found = summary([0.6, 0.8], [np.nan, 0.5])
    text = json.dumps(found.to_dict(), allow_nan=False)
    back = Evaluation.from_dict(json.loads(text))
    assert back.to_dict() == found.to_dict()
    assert np.isnan(back.auc[0])
    assert back.classes == ("a", "b")
    with pytest.raises(InputError, match="fields"):
        Evaluation.from_dict({"accuracy": [1.0]})


def test_a_whole_evaluation_is_json_ready():
    X, y = cohort()
    found = cross_validate_gram(None, X @ X.T, (y == "one").astype(int), C=None, outer=2, repeats=1)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert Evaluation.from_dict(json.loads(text)).classes == (0, 1)
    assert found.settings["samples"] == 40


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outer": 6}, "class 'rare' has 5 samples, too few for 6 outer folds"),
        ({"outer": 5, "inner": 5}, "class 'rare' has 4 samples of the training part"),
        ({"outer": 1}, "2 outer folds or more"),
        ({"repeats": 0}, "repeats"),
        ({"inner": 1}, "2 inner folds or more"),
        ({"inner": 0}, "2 inner folds or more"),
        ({"seed": 10**400}, "seed must be at most 2,147,483,647"),
        ({"inner": np.array([1.0, 2.0])}, "2 inner folds or more"),
        ({"C": []}, "C must be"),
        ({"C": [-1.0]}, "C must be"),
        ({"groups": [0, 1]}, "got groups of shape"),
        ({"groups": [0] * 15 + [1, 2, 3, 4, 5], "outer": 3}, "class 'many' has 1 groups, too few for 3 outer"),
    ],
)
def test_invalid_evaluation_is_refused_before_fitting(options, message):
    X, _ = cohort(count=20)
    y = np.array(["many"] * 15 + ["rare"] * 5)
    with pytest.raises(InputError, match=message):
        cross_validate_gram(None, X @ X.T, y, **{"outer": 4, "inner": 3, "repeats": 1, **options}, on_event=pytest.fail)


@pytest.mark.parametrize("steps", [[KernelStandardizer()], [FunctionTransformer(), KernelStandardizer()]])
def test_estimator_that_is_not_a_classifier_is_refused(steps):
    with pytest.raises(InputTypeError, match="decision_function"):
        cross_validate_gram(make_pipeline(*steps), np.eye(20), [0, 1] * 10, on_event=pytest.fail)


def test_a_fold_of_groups_that_takes_a_whole_class_is_refused():
    y, groups = [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 1, 2]  # drawn: each class lies in two groups, and still
    with pytest.raises(InputError, match="takes all samples of class"):
        cross_validate_gram(None, np.eye(6), y, groups=groups, outer=2, repeats=1, C=[1.0])


def test_invalid_matrices_and_labels_are_refused():
    with pytest.raises(InputError, match="square"):
        cross_validate_gram(None, np.ones((3, 4)), [0, 1, 0])
    with pytest.raises(InputError, match="not symmetric"):
        cross_validate_gram(None, np.arange(16.0).reshape(4, 4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="same samples"):
        cross_validate_gram(None, ArrayGram(np.eye(4))[:2][:, 2:], [0, 1])
    with pytest.raises(InputError, match="1 class"):
        cross_validate_gram(None, np.eye(4), [0, 0, 0, 0])


def test_an_estimator_without_C_is_refused():
    class Other(KernelSVC):
        def __init__(self):
            pass

    with pytest.raises(InputError, match="no parameter C"):
        cross_validate_gram(Other(), np.eye(20), [0, 1] * 10)


def test_the_defaults_are_the_protocol_of_the_paper():
    defaults = {name: value.default for name, value in inspect.signature(cross_validate_gram).parameters.items()}
    assert defaults["C"] == tuple(10.0**power for power in range(-2, 4))
    assert (defaults["outer"], defaults["inner"], defaults["repeats"], defaults["seed"]) == (5, 5, 10, 0)


# Held-out predictions ------------------------------------------------------------------------------------------------


def held_out_cohort(classes=2, m=60):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(m, 6)), np.array(["a", "b", "c"])[rng.permutation(np.arange(m) % classes)]
    X[y == "b", :2] += 1.0
    X[y == "c", 2:4] += 1.5
    return Gaussian(3.0)(X), y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model", [KernelSVC(), make_pipeline(KernelStandardizer(), KernelFisherDiscriminant())], ids=["jointly", "by fold"]
)
def test_held_out_predictions_give_the_scores_of_the_folds(model, classes):
    K, y = held_out_cohort(classes)
    grid = [0.1, 10.0] if isinstance(model, KernelSVC) else None
    found = cross_validate_gram(model, K, y, C=grid, outer=3, inner=2, repeats=2)
    table = found.held_out
    for repeat in range(2):
        for fold in range(3):
            row = repeat * 3 + fold
            test = table.folds[repeat] == fold
            assert test.sum() == found.n_test[row]
            assert (table.predicted[repeat, test] == table.truth[test]).mean() == pytest.approx(found.accuracy[row])
    assert table.classes == tuple(np.unique(y).tolist())
    again = Evaluation.from_dict(json.loads(json.dumps(found.to_dict())))
    np.testing.assert_array_equal(again.held_out.predicted, table.predicted)
    old = found.to_dict()
    del old["held_out"]
    assert Evaluation.from_dict(old).held_out is None


def test_probabilities_come_from_the_values_that_inner_folds_held_out():
    K, y = held_out_cohort()
    found = cross_validate_gram(KernelSVC(), K, y, C=[0.1, 10.0], outer=3, inner=3, repeats=1, seed=4)
    codes, table = (y == "b").astype(int), found.held_out
    for fold, (train, test, inner) in enumerate(Folds(y, None, 3, 4).outer(3, 1)):
        model = KernelSVC(C=found.C[fold])
        values, truth = [], []
        for part, other in inner:
            a, b = train[part], train[other]
            values.append(model.fit(K[np.ix_(a, a)], y[a]).decision_function(K[np.ix_(b, a)]))
            truth.append(codes[b])
        A, B = sigmoid(np.concatenate(values), np.concatenate(truth) == 1, np.ones(len(train)))
        f = model.fit(K[np.ix_(train, train)], y[train]).decision_function(K[np.ix_(test, train)])
        np.testing.assert_allclose(table.probabilities[0, test, 1], 1 / (1 + np.exp(A * f + B)), atol=1e-3)
    assert {"Brier score", "log loss", "sensitivity"} <= set(table.scores(draws=10)["score"])


def test_a_cohort_or_a_group_is_left_out_and_inner_folds_keep_groups():
    K, y = held_out_cohort()
    hospital = np.repeat(["north", "south", "west"], 20)
    patient = np.arange(60) // 2
    found = cross_validate_gram(KernelSVC(), K, y, C=[0.1, 10.0], inner=3, cohorts=hospital, groups=patient)
    assert found.settings["outer"] == "leave-one-cohort-out"
    assert found.n_test.tolist() == [20, 20, 20]
    for fold, name in enumerate(["north", "south", "west"]):
        train, test = np.flatnonzero(hospital != name), np.flatnonzero(hospital == name)
        assert (found.held_out.folds[0, test] == fold).all()
        model = KernelSVC(C=found.C[fold]).fit(K[np.ix_(train, train)], y[train])
        assert found.accuracy[fold] == pytest.approx(model.score(K[np.ix_(test, train)], y[test]))
    plan = Folds(y, patient, 3, 0)
    for train, _, inner in plan.leaving_out(hospital):
        for part, other in inner:
            assert not set(patient[train[part]]) & set(patient[train[other]])
    each = cross_validate_gram(
        KernelSVC(), K, y, C=None, outer="leave-one-group-out", groups=hospital, repeats=7, inner=2
    )
    assert each.settings["outer"] == "leave-one-group-out"
    assert each.n_test.tolist() == [20, 20, 20]
    assert each.settings["repeats"] == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"outer": "leave-one-group-out"}, "leave-one-group-out needs groups"),
        ({"outer": "leave-one-out", "groups": np.arange(60)}, "outer must be one of leave-one-group-out"),
        ({"cohorts": ["x"] * 60}, "all samples are of 'x'"),
        ({"cohorts": held_out_cohort()[1]}, "'a' has all samples of class 'a': it cannot be left out"),
    ],
)
def test_cohorts_that_cannot_be_left_out_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        cross_validate_gram(KernelSVC(), *held_out_cohort(), **given)
