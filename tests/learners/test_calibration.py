"""Probabilities and sets of classes, against loops over folds and samples, and against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import distkern as dk
from distkern.learners.folds import Folds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 6))
TWO = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=90) > 0, "well", "ill")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * RNG.normal(size=90), [-0.4, 0.4])]
NEW = RNG.normal(size=(25, 6))
FOLDS = [(train, test) for train, test, _ in Folds(TWO, None, None, 0).outer(5, 1)]
MODEL = make_pipeline(dk.KernelStandardizer(kernel=dk.Kendall()), dk.KernelSVC())


def held_out(model, y, folds):
    """Decision values of samples that the model has not seen, with a column for each class."""
    values = {}
    for train, test in folds:
        found = clone(model).fit(X[train], y[train]).decision_function(X[test])
        for k, value in zip(test, found, strict=True):
            values[k] = [-value, value] if np.ndim(value) == 0 else list(value)
    return np.array([values[k] for k in range(len(y))])


@pytest.mark.parametrize(
    ("y", "estimator"),
    [(TWO, MODEL), (THREE, MODEL), (TWO, dk.KTopScoringPairs(2))],
    ids=["two classes", "three classes", "votes, many of them equal"],
)
def test_conformal_p_values_are_those_of_a_double_loop(y, estimator):
    folds = [(train, test) for train, test, _ in Folds(y, None, None, 0).outer(5, 1)]
    scores = held_out(estimator, y, folds)
    model = dk.CalibratedClassifier(estimator).fit(X, y)
    new = model.decision_function(NEW)
    new = np.stack([-new, new], axis=1) if new.ndim == 1 else new
    expected = np.empty(new.shape)
    for row, values in enumerate(new):
        for c, label in enumerate(model.classes_):
            at_least = [1 for k in range(len(y)) if y[k] == label and -scores[k, c] >= -values[c]]
            expected[row, c] = (1 + len(at_least)) / (1 + (y == label).sum())
    np.testing.assert_allclose(model.conformal_pvalues(NEW), expected, rtol=1e-14)
    np.testing.assert_array_equal(model.predict_set(NEW, error=0.2), expected > 0.2)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.filterwarnings("ignore:a class has")
def test_probabilities_of_two_classes_are_those_of_scikit_learn(method):
    svc = SVC(kernel="linear")
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, TWO))
    theirs = CalibratedClassifierCV(svc, method=method, cv=splits, ensemble=False).fit(X, TWO)
    ours = dk.CalibratedClassifier(svc, method).fit(X, TWO)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=2e-4)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(NEW)), ours.predict_proba(NEW))


@pytest.mark.filterwarnings("ignore:a class has")
def test_probabilities_of_three_classes_are_those_of_scikit_learn():
    logistic = LogisticRegression()
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, THREE))
    for method in ("sigmoid", "isotonic"):
        theirs = CalibratedClassifierCV(logistic, method=method, cv=splits, ensemble=False).fit(X, THREE)
        ours = dk.CalibratedClassifier(logistic, method).fit(X, THREE)
        np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=2e-4)


def test_matrices_frames_and_samples_agree(tmp_path):
    frame = pd.DataFrame(X, columns=list("ABCDEF"), index=[f"p{k}" for k in range(90)])
    gram = dk.compute_gram(dk.Kendall(), frame, store=tmp_path / "gram.zarr", progress=False)
    on_samples = dk.CalibratedClassifier(MODEL).fit(frame, TWO)
    on_matrix = dk.CalibratedClassifier().fit(gram, TWO)
    predictor = dk.CohortPredictor(on_matrix, gram)
    loaded = dk.load_model(dk.save_model(on_matrix, tmp_path / "model.npz", gram))
    new = pd.DataFrame(NEW, columns=list("ABCDEF"))[list("FEDCBA")]
    for method in ("predict", "decision_function", "predict_proba", "conformal_pvalues", "predict_set"):
        expected = getattr(on_samples, method)(new)
        for model in (predictor, loaded):
            found = getattr(model, method)(new)
            if found.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=method)
            else:
                np.testing.assert_array_equal(found, expected, err_msg=method)
    assert on_samples.feature_names_in_.tolist() == list("ABCDEF")
    pairs = dk.explain(predictor).pairs
    assert pairs["weight"].tolist() == pytest.approx(dk.explain(on_matrix.estimator_, gram).pairs["weight"].tolist())


def test_a_fraction_calibrates_samples_that_no_model_has_seen():
    model = dk.CalibratedClassifier(MODEL, cv=0.25).fit(X, TWO)
    train, test, _ = next(iter(Folds(TWO, None, None, 0).outer(4, 1)))
    alone = clone(MODEL).fit(X[train], TWO[train])
    np.testing.assert_array_equal(model.decision_function(NEW), alone.decision_function(NEW))
    assert sum(map(len, model.strangeness_)) == len(test)


def test_a_small_class_has_a_sample_in_as_many_folds_as_it_can():
    y = np.where(np.arange(90) < 3, "rare", "common")
    model = dk.CalibratedClassifier(MODEL).fit(X, y)
    assert [len(values) for values in model.strangeness_] == [87, 3]
    assert dk.CalibratedClassifier(MODEL, cv=3).fit(X, y).strangeness_[1].tolist() == model.strangeness_[1].tolist()


def test_groups_are_not_divided():
    groups = np.arange(90) // 3
    model = dk.CalibratedClassifier(MODEL).fit(X, TWO, groups=groups)
    folds = [(train, test) for train, test, _ in Folds(TWO, groups, None, 0).outer(5, 1)]
    scores = held_out(MODEL, TWO, folds)
    np.testing.assert_allclose(model.strangeness_[1], np.sort(-scores[TWO == "well", 1]), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("cv", [0.5, 5])
def test_the_error_is_at_most_what_was_asked_for_in_each_class(cv):
    """600 draws of a training set and new samples: the rate of sets without the true class, and its own error."""
    rng, missed = np.random.default_rng(1), {"no": [], "yes": []}
    for _ in range(150):
        y = np.where(rng.random(120) < 0.3, "yes", "no")
        samples = rng.normal(size=(120, 3)) + (y == "yes")[:, None] * 0.8
        model = dk.CalibratedClassifier(dk.KernelSVC(kernel=dk.Linear()), cv=cv).fit(samples[:80], y[:80])
        sets = model.predict_set(samples[80:], error=0.2)
        for label, own in zip(y[80:], sets, strict=True):
            missed[label].append(not own[["no", "yes"].index(label)])
    for label, values in missed.items():
        assert np.mean(values) < 0.2 + 3 * np.sqrt(0.2 * 0.8 / len(values)) + 0.01, label
        assert np.mean(values) > 0.1, label  # sets that always hold all classes would pass otherwise


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dk.CalibratedClassifier(MODEL, method="beta").fit(X, TWO), "method must be one of sigmoid, isotonic"),
        (lambda: dk.CalibratedClassifier(MODEL, cv=0.9).fit(X, TWO), "cv must be a number of folds, or a fraction"),
        (lambda: dk.CalibratedClassifier(MODEL, cv=1).fit(X, TWO), "cv must be"),
        (lambda: dk.CalibratedClassifier(MODEL).fit(X[:6], ["a"] * 5 + ["b"]), "class 'b' has 1 samples, too few"),
        (
            lambda: dk.CalibratedClassifier(MODEL).fit(X, TWO).predict_set(NEW, 10),
            "error must be between 0 and 1",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(dk.InputError, match=said):
        make()


def test_other_estimators_and_isotonic_regression_of_few_samples():
    with pytest.raises(dk.InputTypeError, match="KernelRidge has no decision_function"):
        dk.CalibratedClassifier(dk.KernelRidge(kernel=dk.Linear())).fit(X, TWO)
    with pytest.warns(UserWarning, match="a class has 4. samples, few for isotonic regression"):
        dk.CalibratedClassifier(MODEL, "isotonic").fit(X, TWO)


def test_a_model_of_somebody_else_is_not_saved(tmp_path):
    model = dk.CalibratedClassifier(LogisticRegression()).fit(X, TWO)
    with pytest.raises(dk.InputTypeError, match="estimator is a LogisticRegression, which a file cannot hold"):
        dk.save_model(model, tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()
