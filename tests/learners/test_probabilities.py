"""Probabilities of classifiers: a sigmoid of the decision values that folds hold out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import distkern as dk
from distkern.core.errors import InputError
from distkern.kernels.vectors import Linear
from distkern.learners.multiclass import sigmoid


def samples(classes, m=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 5))
    y = np.array([f"class {k}" for k in range(classes)])[np.arange(m) % classes]
    for k in range(classes):
        X[y == f"class {k}", k] += 1.0
    return X, y


MODELS = [
    dk.KernelFisherDiscriminant(kernel=Linear(), mu=1.0),
    dk.AllPairsMajorityVote(),
    dk.AllPairsMajorityVote(weighted=True),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_sigmoids_of_held_out_scores(model, classes):
    X, y = samples(classes)
    new, _ = samples(classes, seed=1)
    fitted = clone(model).set_params(probability=True).fit(X, y)
    scores = np.empty((len(y), classes))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        values = clone(model).fit(X[train], y[train]).decision_function(X[test])
        scores[test] = values if classes > 2 else np.stack([-values, values], axis=1)
    decided = clone(model).fit(X, y).decision_function(new)
    decided = decided if classes > 2 else np.stack([-decided, decided], axis=1)
    columns = np.empty((len(new), classes))
    for k, label in enumerate(np.unique(y)):
        slope, offset = sigmoid(scores[:, k], y == label, np.ones(len(y)))
        columns[:, k] = 1 / (1 + np.exp(slope * decided[:, k] + offset))
    expected = columns / columns.sum(axis=1, keepdims=True)
    assert np.allclose(fitted.predict_proba(new), expected, atol=1e-6)
    assert np.allclose(fitted.predict_log_proba(new), np.log(expected), atol=1e-5)
    assert np.array_equal(fitted.decision_function(new), clone(model).fit(X, y).decision_function(new))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:40])
def test_probabilities_are_there_only_where_they_are_asked_for(model):
    X, y = samples(2)
    fitted = clone(model).fit(X, y)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(fitted, "probA_")
    refitted = clone(model).set_params(probability=True).fit(X, y).set_params(probability=False).fit(X, y)
    assert not hasattr(refitted, "probA_")
    one = np.array(["a"] + ["b"] * 59)
    with pytest.raises(InputError, match="class 'a' has 1 sample, too few to calibrate"):
        clone(model).set_params(probability=True).fit(X, one)


def test_weights_count_in_the_folds():
    X, y = samples(2)
    weights = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    gram = X @ X.T
    model = dk.KernelFisherDiscriminant(mu=1.0, probability=True).fit(gram, y, weights)
    kept = np.flatnonzero(weights)
    scores = np.empty(len(kept))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(kept, y[kept]):
        rows, columns = kept[test], kept[train]
        fold = dk.KernelFisherDiscriminant(mu=1.0).fit(gram[np.ix_(columns, columns)], y[columns], weights[columns])
        scores[test] = fold.decision_function(gram[np.ix_(rows, columns)])
    slope, offset = sigmoid(scores, y[kept] == "class 1", weights[kept])
    assert (model.probA_[0], model.probB_[0]) == pytest.approx((slope, offset), rel=1e-6)


def test_saved_model_keeps_its_probabilities(tmp_path):
    X, y = samples(3)
    for number, model in enumerate(MODELS):
        fitted = clone(model).set_params(probability=True).fit(X, y)
        path = tmp_path / f"{number}.npz"
        dk.save_model(fitted, path)
        assert np.array_equal(dk.load_model(path).predict_proba(X), fitted.predict_proba(X))
