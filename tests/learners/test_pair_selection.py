"""What is chosen from, the criterion of separation, and folds that hold each sample out once."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from distkern import InputError
from distkern.io.source import as_source
from distkern.learners.pair_selection import (
    PairOptions,
    by_variance,
    candidates,
    first_maximum,
    fold_of_samples,
    labelled,
    possible,
)


def test_candidates_are_sorted_and_distinct():
    assert candidates(np.int64(4), None).tolist() == [4]
    assert candidates((5, 3, 5), None).tolist() == [3, 5]
    assert candidates("cv", [2, 2]).tolist() == [2]
    for wrong in (True, 0, 2.0, None, [1, "2"], "all"):
        with pytest.raises(InputError):
            candidates(wrong, (2, 10))
    for wrong in ((2,), (3, 2), (0, 4)):
        with pytest.raises(InputError):
            candidates("variance", wrong)


def test_the_candidates_that_every_training_set_allows():
    assert possible(np.array([1, 3, 5]), [[range(4), range(9)], [range(3)]]).tolist() == [1, 3]
    assert possible(np.array([5, 7]), [[range(4)]]).tolist() == [4]
    with pytest.raises(InputError, match="no pair of features"):
        possible(np.array([1]), [[range(4)], [range(0)]])


def test_the_statistic_of_separation_by_hand():
    kappas, positive = np.array([[4, 5], [2, 6], [1, 1], [3, 3]]), np.array([True, True, False, False])
    expected = [abs(3 - 2) / np.sqrt(2 + 2 + 1e-9), abs(5.5 - 2) / np.sqrt(0.5 + 2 + 1e-9)]
    np.testing.assert_allclose(by_variance(kappas, positive, np.array([5, 7])), expected, rtol=1e-14)
    alone = by_variance(kappas[1:], positive[1:], np.array([5, 7]))  # one sample has no variance
    np.testing.assert_allclose(alone, [0.0, abs(6 - 2) / np.sqrt(2 + 1e-9)], atol=1e-15)


def test_the_first_maximum_up_to_rounding():
    assert first_maximum(np.array([1.0, 3.0, 3.0 + 1e-14, 2.0])) == 1
    assert first_maximum(np.array([-1.0, -1.0])) == 0
    assert first_maximum(np.array([1e9, 1e9 + 1.0])) == 1
    assert first_maximum(np.array([1e9, 1e9 + 1e-4])) == 0


@pytest.fixture
def training():
    X = np.random.default_rng(0).normal(size=(12, 3))
    return labelled(as_source(X), 12, np.array(["a", "b"] * 6), None, "ovr")


def test_each_sample_is_held_out_once(training):
    for cv in (3, KFold(4), LeaveOneOut(), list(KFold(2).split(np.zeros(12)))):
        fold = fold_of_samples(cv, training, 0)
        assert fold.min() == 0
        assert len(np.unique(fold)) == fold.max() + 1
    assert (np.bincount(fold_of_samples(3, training, 0)) == 4).all()
    assert (fold_of_samples(3, training, 0) != fold_of_samples(3, training, 1)).any()
    splits = list(KFold(3).split(np.zeros(12)))
    for cv in (ShuffleSplit(2, random_state=0), splits[:2], [*splits, splits[0]]):
        with pytest.raises(InputError, match=r"hold each sample out once|never holds out"):
            fold_of_samples(cv, training, 0)
    with pytest.raises(InputError, match="too few for 7 outer folds"):
        fold_of_samples(7, training, 0)


@pytest.mark.parametrize(
    ("features", "wanted"),
    [(None, None), (5, 5), (np.int64(5), 5), ("wilcoxon:20", 20), (["a"], None), (np.array([1, 2]), None)],
)
def test_a_number_of_features_is_chosen_by_rank_sum(features, wanted):
    assert PairOptions(features=features).wanted_features() == wanted


@pytest.mark.parametrize("features", [1, True, 2.5, "20", "wilcoxon:", "wilcoxon:1", "t-test:5"])
def test_other_choices_of_features_are_refused(features):
    with pytest.raises(InputError, match="features must be"):
        PairOptions(features=features).wanted_features()
