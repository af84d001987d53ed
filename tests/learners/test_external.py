"""Predictions for another cohort are those of the model, beside the labels by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import distkern as dk
from distkern.core.errors import InputError

RNG = np.random.default_rng(0)
NAMES = list("ABCDE")
OLD, NEW = (
    pd.DataFrame(RNG.normal(size=(m, 5)), columns=NAMES, index=[f"{p}{k}" for k in range(m)])
    for m, p in ((60, "o"), (30, "n"))
)


def labelled(table, classes):
    return pd.Series(np.array(classes)[table[NAMES[: len(classes)]].to_numpy().argmax(axis=1)], index=table.index)


@pytest.mark.parametrize("classes", [["x", "y"], ["x", "y", "z"]])
def test_predictions_are_those_of_the_model(classes):
    y, truth = labelled(OLD, classes), labelled(NEW, classes)
    model = dk.CalibratedClassifier(dk.KernelSVC(kernel=dk.Kendall())).fit(OLD, y)
    found = dk.predict_external(model, NEW[NAMES[::-1]], truth, groups=["g"] * 10 + ["h"] * 20)
    assert found.classes == tuple(classes)
    assert np.array(classes)[found.truth].tolist() == truth.tolist()
    assert np.array(classes)[found.predicted[0]].tolist() == model.predict(NEW).tolist()
    assert np.array_equal(found.probabilities[0], model.predict_proba(NEW))
    assert np.array_equal(np.squeeze(found.decisions), model.decision_function(NEW))
    assert len(np.unique(found.groups)) == 2


def test_models_of_scikit_learn_and_single_patients():
    y, truth = labelled(OLD, ["x", "y"]), labelled(NEW, ["x", "y"])
    model = SVC(kernel="linear").fit(OLD, y)
    found = dk.predict_external(model, NEW, truth)
    assert found.probabilities is None
    accuracy = found.scores(draws=0).set_index("score").loc["accuracy", "value"]
    assert accuracy == model.score(NEW, truth)
    one = dk.predict_external(model, NEW.iloc[:1], truth.iloc[:1])
    assert one.predicted.shape == (1, 1)


def test_labels_of_another_kind_or_order_are_refused():
    y, truth = labelled(OLD, ["x", "y"]), labelled(NEW, ["x", "y"])
    model = dk.KernelSVC(kernel=dk.Kendall()).fit(OLD, y)
    with pytest.raises(InputError, match="'1' of the other cohort is no class of the model"):
        dk.predict_external(model, NEW, truth.map({"x": "x", "y": "1"}))
    with pytest.raises(InputError, match="in another order"):
        dk.predict_external(model, NEW, truth[::-1])
