"""The protocol of comparisons: splits, the machine by other software, and that nothing sees a test sample."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import KernelCenterer, StandardScaler
from sklearn.svm import SVC

from distkern import Kendall, Linear, SmoothedKendall
from distkern.learners.selection import GRID
from distkern.reproduce import comparison
from distkern.reproduce.comparison import across, changed, gain, held_out, machine, within, z_scores
from distkern.reproduce.kernels_compared import APART, METHODS


def samples(seed=0, m=40, n=12):
    rng = np.random.default_rng(seed)
    y = (np.arange(m) % 3 > 0).astype(np.intp)
    return rng.normal(size=(m, n)) + np.outer(y, np.arange(n) < 3), y


# Questions -----------------------------------------------------------------------------------------------------------


def test_every_sample_is_tested_once_in_a_repetition_and_never_trains_then():
    X, y = samples()
    question = within("q", X, y, 3, 0)
    assert len(question.repeats) == 3
    assert question.tested.tolist() == list(range(40))
    for splits in question.repeats:
        assert sorted(np.concatenate([test for _, test, _ in splits])) == list(range(40))
        for train, test, inner in splits:
            assert sorted([*train, *test]) == list(range(40))
            assert sorted(np.concatenate([held for _, held in inner])) == list(range(len(train)))
    assert question.repeats[0][0][1].tolist() != question.repeats[1][0][1].tolist()


def test_only_the_tested_samples_are_changed():
    X, y = samples()
    cohort = within("q", X, y, 2, 0)
    question = changed("c", cohort, np.exp)
    assert question.tested.tolist() == list(range(40, 80))
    for before, after in zip(cohort.repeats[1], question.repeats[1], strict=True):
        np.testing.assert_array_equal(question.X[after[0]], X[before[0]])
        np.testing.assert_array_equal(question.X[after[1]], np.exp(X[before[1]]))
        np.testing.assert_array_equal(question.y[after[1]], y[before[1]])


def test_across_cohorts_one_trains_and_all_of_the_other_are_tested():
    X, y = samples()
    other, truth = samples(1, 25)
    question = across("a", (X, y), (other, truth), 0)
    (((train, test, inner),),) = question.repeats
    np.testing.assert_array_equal(question.X[train], X)
    np.testing.assert_array_equal(question.X[test], other)
    np.testing.assert_array_equal(question.y[question.tested], truth)
    assert sorted(np.concatenate([held for _, held in inner])) == list(range(40))


# The machine ---------------------------------------------------------------------------------------------------------


def by_scikit_learn(K, train, test, y, C):
    """Decision values of scikit-learn's machine on centred kernel values of unit norm."""
    both = np.concatenate([train, test])
    centring = KernelCenterer().fit(K[np.ix_(train, train)])
    means = K[np.ix_(both, train)].mean(axis=1)
    norms = np.sqrt(K.diagonal()[both] - 2 * means + K[np.ix_(train, train)].mean())
    own, new = norms[: len(train)], norms[len(train) :]
    model = SVC(C=C, kernel="precomputed", class_weight="balanced", tol=1e-6)
    model.fit(centring.transform(K[np.ix_(train, train)]) / np.outer(own, own), y[train])
    return model.decision_function(centring.transform(K[np.ix_(test, train)]) / np.outer(new, own))


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_is_that_of_scikit_learn_with_the_choice_of_inner_folds(seed):
    X, y = samples(seed)
    matrices = [Kendall(ties="b")(X), SmoothedKendall(1.0)(X), Linear()(X)]
    split = train, test, folds = within("q", X, y, 1, seed).repeats[0][0]
    best = None
    for K in matrices:
        for C in GRID:
            right = []
            for a, b in folds:
                called = by_scikit_learn(K, train[a], train[b], y, C) >= 0
                right.append(balanced_accuracy_score(y[train[b]], called))
            if best is None or np.mean(right) > best[0] + 1e-9:
                best = np.mean(right), K, C
    predicted, decisions = machine(matrices, y, split)
    np.testing.assert_allclose(decisions, by_scikit_learn(best[1], train, test, y, best[2]), atol=0.01)
    np.testing.assert_array_equal(predicted, decisions >= 0)


@pytest.mark.parametrize("method", [*METHODS, APART], ids=lambda method: method.name)
def test_no_label_of_a_test_sample_and_no_other_test_sample_is_seen(method):
    X, y = samples()
    split = within("q", X, y, 1, 0).repeats[0][0]
    test = split[1]
    predicted, decisions = method.start(X, y)(split)
    other, wrong = X.copy(), y.copy()
    other[test[1:]] = np.random.default_rng(5).normal(2.0, 3.0, size=(len(test) - 1, X.shape[1]))
    wrong[test] = 1 - y[test]
    again, moved = method.start(other, wrong)(split)
    if method is APART:  # needs the whole new cohort
        assert moved[0] != decisions[0]
    else:
        assert again[0] == predicted[0]
        assert moved[0] == pytest.approx(decisions[0], abs=1e-9)


def test_z_scores_are_those_of_scikit_learn():
    X, _ = samples()
    np.testing.assert_allclose(z_scores(X, np.arange(20)), StandardScaler().fit(X[:20]).transform(X))


# Scores --------------------------------------------------------------------------------------------------------------


def test_scores_are_means_over_repetitions():
    X, y = samples()
    question = within("q", X, y, 2, 0)
    found = held_out(question, METHODS[0].start(X, y))
    row = comparison.scores(found, 0)
    each = [balanced_accuracy_score(y, called) for called in found.predicted]
    assert [row["repeat_1"], row["repeat_2"]] == pytest.approx(each)
    assert row["balanced"] == pytest.approx(np.mean(each))
    assert row["balanced_low"] < row["balanced"] < row["balanced_high"]


def test_the_area_across_cohorts_is_that_of_all_tested_samples():
    question = across("a", samples(), samples(1, 25), 0)
    found = held_out(question, METHODS[0].start(question.X, question.y))
    area = roc_auc_score(samples(1, 25)[1], found.decisions[0, :, 0])
    assert comparison.scores(found, 0)["auc"] == pytest.approx(area)


def test_the_interval_of_a_gain_is_that_of_a_mean_of_paired_differences():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [120, 200])
    called = [np.where(rng.random((2, 320)) < part, truth, 1 - truth) for part in (0.8, 0.7)]
    mine, theirs = (comparison.HeldOut((0, 1), truth, own, np.zeros((2, 320, 1))) for own in called)
    row = gain(mine, theirs, 0)
    each = [balanced_accuracy_score(truth, own) for own in [*called[0], *called[1]]]
    assert row["gain"] == pytest.approx(np.mean(each[:2]) - np.mean(each[2:]))
    right = (called[0] == truth).mean(axis=0) - (called[1] == truth).mean(axis=0)
    error = np.sqrt(sum(np.var(right[truth == label]) / np.sum(truth == label) for label in (0, 1))) / 2
    assert row["gain_high"] - row["gain_low"] == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert row["gain_low"] < row["gain"] < row["gain_high"]
