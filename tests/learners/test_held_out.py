"""Scores and curves of held-out predictions, against scikit-learn and loops."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from distkern.core.errors import InputError
from distkern.learners.held_out import HeldOut

RNG = np.random.default_rng(0)
M = 120
TRUTH = (RNG.random(M) < 0.4).astype(int)
F = (TRUTH - 0.4)[None, :, None] + RNG.normal(size=(3, M, 1))
CHANCES = 1 / (1 + np.exp(-2 * F))
FOLDS = np.array([RNG.permutation(np.arange(M) % 4) for _ in range(3)])
TWO = HeldOut(("ill", "well"), TRUTH, (F[:, :, 0] > 0).astype(int), F, np.concatenate([1 - CHANCES, CHANCES], 2), FOLDS)
KINDS = RNG.integers(3, size=M)
G = np.eye(3)[KINDS][None] + RNG.normal(size=(2, M, 3))
P3 = np.exp(G) / np.exp(G).sum(axis=2, keepdims=True)
THREE = HeldOut(("a", "b", "c"), KINDS, G.argmax(axis=2), G, P3)


def value(found, name):
    return found.scores(draws=0).set_index("score")["value"][name]


def mean(score):
    return np.mean([score(repeat) for repeat in range(3)])


def test_scores_of_two_classes_are_those_of_scikit_learn():
    call = TWO.predicted
    expected = {
        "accuracy": mean(lambda r: metrics.accuracy_score(TRUTH, call[r])),
        "balanced accuracy": mean(lambda r: metrics.balanced_accuracy_score(TRUTH, call[r])),
        "sensitivity": mean(lambda r: metrics.recall_score(TRUTH, call[r])),
        "specificity": mean(lambda r: metrics.recall_score(TRUTH, call[r], pos_label=0)),
        "positive predictive value": mean(lambda r: metrics.precision_score(TRUTH, call[r])),
        "negative predictive value": mean(lambda r: metrics.precision_score(TRUTH, call[r], pos_label=0)),
        "average precision": mean(lambda r: metrics.average_precision_score(TRUTH, F[r, :, 0])),
        "Brier score": mean(lambda r: metrics.brier_score_loss(TRUTH, CHANCES[r, :, 0])),
        "log loss": mean(lambda r: metrics.log_loss(TRUTH, CHANCES[r, :, 0])),
    }
    for name, number in expected.items():
        assert value(TWO, name) == pytest.approx(number, rel=1e-12), name


def test_the_auc_counts_pairs_within_folds():
    areas = []
    for r in range(3):
        right = pairs = 0.0
        for i in np.flatnonzero(TRUTH == 1):
            for j in np.flatnonzero(TRUTH == 0):
                if FOLDS[r, i] == FOLDS[r, j]:
                    right += float(F[r, i, 0] > F[r, j, 0]) + 0.5 * float(F[r, i, 0] == F[r, j, 0])
                    pairs += 1
        areas.append(right / pairs)
    assert value(TWO, "auc") == pytest.approx(np.mean(areas), rel=1e-12)
    whole = [np.mean([metrics.roc_auc_score(KINDS == c, G[r, :, c]) for c in range(3)]) for r in range(2)]
    assert value(THREE, "auc") == pytest.approx(np.mean(whole), rel=1e-12)


def test_scores_of_three_classes():
    assert value(THREE, "balanced accuracy") == pytest.approx(
        np.mean([metrics.balanced_accuracy_score(KINDS, call) for call in THREE.predicted])
    )
    brier = np.mean([((P3[r] - np.eye(3)[KINDS]) ** 2).sum(axis=1).mean() for r in range(2)])
    assert value(THREE, "Brier score") == pytest.approx(brier)
    assert "sensitivity" not in THREE.scores(draws=0)["score"].tolist()
    expected = sum(metrics.confusion_matrix(KINDS, call) for call in THREE.predicted) / 2
    np.testing.assert_allclose(THREE.confusion(), expected)
    assert list(THREE.confusion()) == ["a", "b", "c"]


def test_intervals_are_those_of_a_binomial_where_it_is_known():
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1], 400)
    call = np.where(rng.random(800) < 0.8, truth, 1 - truth)
    one = HeldOut(("a", "b"), truth, call[None], call[None, :, None].astype(float))
    table = one.scores(draws=1000).set_index("score")
    for name in ("sensitivity", "specificity"):
        p = table["value"][name]
        width = 2 * 1.96 * np.sqrt(p * (1 - p) / 400)
        assert table["high"][name] - table["low"][name] == pytest.approx(width, rel=0.12)
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
    pairs = HeldOut(("a", "b"), np.repeat(truth, 2), np.repeat(call, 2)[None], np.repeat(call, 2)[None, :, None] * 1.0)
    grouped = HeldOut(pairs.classes, pairs.truth, pairs.predicted, pairs.decisions, groups=np.repeat(np.arange(800), 2))
    of_groups, of_samples = (each.scores(draws=400).set_index("score") for each in (grouped, pairs))
    ratio = (of_groups["high"] - of_groups["low"])["accuracy"] / (of_samples["high"] - of_samples["low"])["accuracy"]
    assert ratio == pytest.approx(np.sqrt(2), rel=0.25)  # each sample is there twice, and counts once


@pytest.mark.parametrize("groups", [None, np.arange(M) // 3])
def test_intervals_are_those_of_scores_of_the_drawn_samples(groups):
    F_tied = np.round(F, 1)
    found = HeldOut(TWO.classes, TRUTH, TWO.predicted, F_tied, TWO.probabilities, None, groups)
    drawn = []
    for rows in found._drawn(40, 3):
        truth, one = TRUTH[rows], range(3)
        drawn.append(
            {
                "auc": np.mean([metrics.roc_auc_score(truth, F_tied[r, rows, 0]) for r in one]),
                "average precision": np.mean([metrics.average_precision_score(truth, F_tied[r, rows, 0]) for r in one]),
                "positive predictive value": np.mean(
                    [metrics.precision_score(truth, TWO.predicted[r, rows]) for r in one]
                ),
                "log loss": np.mean([metrics.log_loss(truth, CHANCES[r, rows, 0]) for r in one]),
            }
        )
    table = found.scores(draws=40, seed=3).set_index("score")
    for name in drawn[0]:
        ends = np.quantile([own[name] for own in drawn], [0.025, 0.975])
        np.testing.assert_allclose(table.loc[name, ["low", "high"]].astype(float), ends, rtol=1e-10)


def test_batches_of_draws_do_not_change_intervals(monkeypatch):
    from distkern.learners import held_out

    whole, band = TWO.scores(draws=30), TWO.roc_band(draws=30)
    monkeypatch.setattr(held_out, "BATCH", 7 * M)
    pd.testing.assert_frame_equal(TWO.scores(draws=30), whole)
    pd.testing.assert_frame_equal(TWO.roc_band(draws=30), band)


def test_scores_of_one_class_are_those_of_scikit_learn():
    for c in range(3):
        areas = [metrics.roc_auc_score(KINDS == c, G[r, :, c]) for r in range(2)]
        precisions = [metrics.average_precision_score(KINDS == c, G[r, :, c]) for r in range(2)]
        assert THREE.auc(c) == pytest.approx(np.mean(areas))
        assert THREE.average_precision(c) == pytest.approx(np.mean(precisions))
    assert TWO.auc() == pytest.approx(value(TWO, "auc"))


def test_the_band_is_that_of_curves_of_the_drawn_samples():
    F_tied = np.round(F, 1)
    found = HeldOut(TWO.classes, TRUTH, TWO.predicted, F_tied)
    grid, curves = np.linspace(0, 1, 101), []
    for rows in found._drawn(40, 0):
        fpr, tpr, _ = metrics.roc_curve(np.tile(TRUTH[rows], 3), F_tied[:, rows, 0].ravel(), drop_intermediate=False)
        curves.append(np.interp(grid, fpr, tpr))
    band = found.roc_band(draws=40)
    np.testing.assert_allclose(band["fpr"], grid)
    np.testing.assert_allclose(band[["low", "high"]], np.quantile(curves, [0.025, 0.975], axis=0).T, atol=1e-12)


def test_curves_are_those_of_scikit_learn():
    truth, f = np.tile(TRUTH, 3), F.ravel()
    fpr, tpr, _ = metrics.roc_curve(truth, f)
    np.testing.assert_allclose(TWO.roc()[["fpr", "tpr"]], np.stack([fpr, tpr], axis=1))
    precision, recall, _ = metrics.precision_recall_curve(truth, f)
    np.testing.assert_allclose(TWO.precision_recall()[["recall", "precision"]], np.stack([recall, precision], axis=1))
    observed, predicted = calibration_curve(truth, CHANCES.ravel(), n_bins=6, strategy="quantile")
    found = TWO.calibration(bins=6)
    np.testing.assert_allclose(found["predicted"], predicted, atol=0.01)
    np.testing.assert_allclose(found["observed"], observed, atol=0.02)
    assert found["samples"].sum() == pytest.approx(M)
    assert np.all(np.diff(found["isotonic"]) >= -1e-12)
    assert len(THREE.roc(column=0)) > 2


def test_net_benefit_is_its_formula():
    t = np.array([0.1, 0.5, 0.8])
    truth, chances = np.tile(TRUTH, 3), CHANCES.ravel()
    for row in TWO.net_benefit(t).itertuples():
        true = np.mean((chances > row.threshold) & (truth == 1))
        false = np.mean((chances > row.threshold) & (truth == 0))
        assert row.model == pytest.approx(true - false * row.threshold / (1 - row.threshold))
        assert row.all == pytest.approx(truth.mean() - (1 - truth.mean()) * row.threshold / (1 - row.threshold))
    assert isinstance(TWO.net_benefit(), pd.DataFrame)


ONE = HeldOut(("a", "b"), np.zeros(3, dtype=int), np.array([[0, 1, 0]]), np.array([[[-1.0], [2.0], [-0.5]]]))


def test_a_cohort_of_one_class_has_scores_but_no_area():
    table = ONE.scores(draws=20).set_index("score")
    assert table.loc["specificity", "value"] == pytest.approx(2 / 3)
    assert table.loc[["auc", "sensitivity", "average precision"]].isna().to_numpy().all()


def test_the_isotonic_function_is_scikit_learns():
    from sklearn.isotonic import IsotonicRegression

    truth, chances = np.tile(TRUTH, 3), CHANCES.ravel()
    expected = IsotonicRegression().fit(chances, truth).predict(chances)
    corners = TWO.isotonic()
    np.testing.assert_allclose(np.interp(chances, corners["predicted"], corners["observed"]), expected)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: TWO.scores(level=2), "level must be between 0 and 1"),
        (lambda: TWO.net_benefit([0.5, 1.0]), "thresholds must be probabilities"),
        (lambda: TWO.calibration(bins=0), "bins"),
        (lambda: ONE.roc(), "no sample is of class 'b'"),
        (lambda: ONE.precision_recall(), "no sample is of class 'b'"),
        (
            lambda: HeldOut(("a", "b"), ONE.truth + 1, ONE.predicted, ONE.decisions).roc_band(),
            "all samples are of class",
        ),
        (lambda: HeldOut(("a", "b"), TRUTH, TWO.predicted, F).calibration(), "there are no probabilities"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_they_are_kept_as_json():
    import json

    for found in (TWO, THREE):
        again = HeldOut.from_dict(json.loads(json.dumps(found.to_dict())))
        pd.testing.assert_frame_equal(again.scores(draws=20), found.scores(draws=20), rtol=1e-4)


def test_groups_are_kept_without_their_names():
    found = HeldOut(TWO.classes, TRUTH, TWO.predicted, F, groups=np.array([f"patient {i // 2}" for i in range(M)]))
    kept = found.to_dict()
    assert "patient" not in str(kept)
    again = HeldOut.from_dict(kept)
    assert sorted(np.bincount(again.groups)) == [2] * (M // 2)
    HeldOut.from_dict({name: value for name, value in kept.items() if name != "groups"})  # of an earlier version


def test_samples_without_a_call_are_wrong_and_in_no_column():
    found = HeldOut(("a", "b"), np.array([0, 1]), np.array([[0, -1]]), np.array([[[-1.0], [0.0]]]))
    assert value(found, "accuracy") == 0.5
    assert value(found, "sensitivity") == 0
    assert np.isnan(value(found, "positive predictive value"))
    assert found.confusion().to_numpy().sum() == 1


def test_cohort_of_one_class_has_no_area_and_no_interval_of_it():
    found = HeldOut(("a", "b"), np.array([1, 1, 1]), np.array([[1, 0, 1]]), np.array([[[1.0], [-1.0], [2.0]]]))
    table = found.scores(draws=20).set_index("score")
    assert table.loc["accuracy", "value"] == pytest.approx(2 / 3)
    assert table.loc[["auc", "specificity"]].isna().all(axis=None)
