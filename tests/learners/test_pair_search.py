"""The joint search equals machines that are fitted one by one on transformed samples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import with_slow
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline

from distkern import (
    InputError,
    KernelStandardizer,
    KernelSVC,
    Linear,
    MemoryLimitError,
    PairAgreement,
    Polynomial,
    SampleError,
    TopPairGenes,
    TopPairs,
    cross_validate_pairs,
    pair_grid,
)
from distkern.learners.pair_search import PairSearch, _batches, standardised
from distkern.operators.array import ArrayGram

PAPER = (
    *(1, 3, 5, 7, 9, 13, 17, 25, 33, 45, 61, 81, 109, 147, 197, 265, 355, 477, 639, 857, 1151, 1543, 2071, 2777),
    *(3727, 4999),
)


def cohort(classes=2):
    rng = np.random.default_rng(7)
    y = np.arange(45) % classes
    X = rng.normal(size=(45, 10)).round(1)
    X[np.arange(45), y] += 1
    return pd.DataFrame(X, columns=[f"g{k}" for k in range(10)], index=[f"p{k}" for k in range(45)]), y


def test_the_grid_of_the_paper():
    assert tuple(pair_grid().tolist()) == PAPER


def one_by_one(X, y, train, test, k, C, kernel, **options):
    """Accuracy of one machine, by the public transformers, kernels and learners."""
    if kernel == "agreement":
        pairs = TopPairs(k, **options).fit(X.iloc[train], y[train]).pairs_
        values = PairAgreement(pairs)(X)
    else:
        genes = TopPairGenes(k, **options).fit(X.iloc[train], y[train]).transform(X)
        values = (Linear() if kernel == "linear" else Polynomial(2, 0.0))(genes)
    gram = ArrayGram(values)
    model = make_pipeline(KernelStandardizer(), KernelSVC(C=C, multi_class=options.get("multi_class", "ovr")))
    model.fit(gram[np.ix_(train, train)], y[train])
    return np.mean(model.predict(gram[np.ix_(test, train)]) == y[test])


@pytest.mark.parametrize(
    ("kernel", "options"),
    with_slow(
        [("agreement", {}), ("agreement", {"disjoint": True}), ("linear", {}), ("polynomial", {"features": 6})],
        [
            ("agreement", {"features": 6}),
            ("linear", {"disjoint": True}),
            ("linear", {"features": 6}),
            ("polynomial", {}),
            ("polynomial", {"disjoint": True}),
        ],
    ),
)
def test_every_cell_equals_a_machine_of_its_own(kernel, options):
    X, y = cohort()
    splits = list(StratifiedKFold(3).split(X, y))
    found = cross_validate_pairs(X, y, splits, [5, 3, 2], [1.0, 0.1], kernel, **options)
    assert found.k.tolist() == [2, 3, 5]
    if "features" in options and options:
        assert found.accuracy.shape == (3, 3, 2)
    for row, (train, test) in enumerate(splits):
        for column, k in enumerate(found.k.tolist()):
            for place, C in enumerate([0.1, 1.0]):
                expected = one_by_one(X, y, train, test, k, C, kernel, **options)
                assert found.accuracy[row, column, place] == expected


def test_several_classes_take_the_pairs_of_each_machine():
    X, y = cohort(3)
    found = cross_validate_pairs(X, y, 3, [1], [1.0], "linear")
    from distkern.learners.folds import Folds

    for row, (train, test, _) in enumerate(Folds(y, None, None, 0).outer(3, 1)):
        assert found.accuracy[row, 0, 0] == one_by_one(X, y, train, test, 1, 1.0, "linear")


def test_repeated_folds_equal_each_repetition():
    X, y = cohort()
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    splits = list(folds.split(X, y))
    both = cross_validate_pairs(X, y, folds, [1, 3], [1.0])
    parts = [cross_validate_pairs(X, y, part, [1, 3], [1.0]).accuracy for part in (splits[:3], splits[3:])]
    np.testing.assert_array_equal(both.accuracy, np.concatenate(parts))


def test_inner_folds_do_not_see_the_other_samples():
    X, y = cohort()
    inside = np.arange(36)
    splits = [(inside[inside % 3 != k], inside[inside % 3 == k]) for k in range(3)]
    other = X.copy()
    other.iloc[36:] = 0.0
    one, two = (cross_validate_pairs(part, y, splits, [1, 3], [1.0]) for part in (X, other))
    np.testing.assert_array_equal(one.accuracy, two.accuracy)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=8))
def test_batches_hold_splits_of_the_same_samples_without_overlap(drawn):
    samples = np.arange(12)
    splits = []
    for size, place in drawn:
        inside = samples[: 4 * size]
        splits.append((inside[inside % 4 != place], inside[inside % 4 == place]))
    batches = list(_batches(splits, 12))
    assert sorted(number for batch in batches for number in batch) == list(range(len(splits)))
    for batch in batches:
        tests = np.concatenate([splits[number][1] for number in batch])
        assert len(np.unique(tests)) == len(tests)
        assert len({len(np.concatenate(splits[number])) for number in batch}) == 1


def test_the_best_is_the_first_maximum():
    X, y = cohort()
    found = cross_validate_pairs(X, y, 3, [1, 3], [0.1, 1.0])
    cells = [(row["accuracy"], -row["k"], -row["C"]) for row in found.table()]
    _, k, C = max((round(accuracy, 12), k, C) for accuracy, k, C in cells)
    assert found.best == (-k, -C)
    assert len(found.table()) == 4


def test_a_search_is_shown_in_one_line():
    found = PairSearch(np.array([1, 9]), np.array([0.1, 10.0]), np.array([[[0.5, 0.5], [0.5, 0.9]]] * 3), "linear")
    shown = "9 pairs and C=10 predict 90.0 % correctly, the best of 2 numbers of pairs and 2 of C; 3 splits"
    assert repr(found) == f"<PairSearch: {shown}>"


def test_a_sample_at_the_mean_has_kernel_values_of_zero():
    rng = np.random.default_rng(0)
    V = rng.integers(-1, 2, (8, 5)).astype(float)
    V[7] = V[:7].mean(axis=0)
    values = standardised(V @ V.T, 7)
    centred = V[:7] - V[:7].mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1)[:, None]
    np.testing.assert_allclose(values[:7, :7], unit @ unit.T, atol=1e-12)
    assert not values[7].any()


def test_numbers_without_enough_pairs_are_left_out():
    X, y = cohort()
    found = cross_validate_pairs(X.iloc[:, :4], y, 3, None, [1.0])
    assert found.k.max() <= 6
    with pytest.raises(InputError, match="fewer than the least of k_grid"):
        cross_validate_pairs(X.iloc[:, :4], y, 3, [50], [1.0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kernel": "gaussian"}, "kernel must be one of"),
        ({"C_grid": []}, "C_grid is empty"),
        ({"C_grid": [0.0]}, "C_grid must be a positive"),
        ({"k_grid": []}, "k is empty"),
        ({"folds": []}, "folds holds no split|No"),
        ({"folds": [(np.arange(30), np.arange(20, 45))]}, "split number 0 of folds holds a sample twice"),
        ({"folds": [(np.arange(30), np.arange(40, 50))]}, "positions beyond the 45 samples"),
        ({"folds": 1}, "2 outer folds or more"),
        ({"folds": [("a", "b")]}, "invalid literal"),
        ({"folds": [(0, 1)]}, "training samples of split number 0 have none of class 1"),
        ({"missing": "drop"}, "missing must be one of"),
    ],
)
def test_wrong_arguments_are_refused(change, said):
    X, y = cohort()
    with pytest.raises(InputError, match=said):
        cross_validate_pairs(X, y, **({"k_grid": [1], "C_grid": [1.0], "folds": 3} | change))


def test_missing_and_infinite_values():
    X, y = cohort()
    gap = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    with pytest.raises(SampleError, match="has no value"):
        cross_validate_pairs(gap, y, 3, [1], [1.0])
    assert cross_validate_pairs(gap, y, 3, [1, 3], [1.0], missing="skip").accuracy.shape == (3, 2, 1)
    with pytest.raises(SampleError, match=r"sample 'p.*' has no value"):
        cross_validate_pairs(gap, y, 3, [5], [1.0], "linear", missing="skip")
    with pytest.raises(SampleError, match="infinite value"):
        cross_validate_pairs(X.replace(X.iloc[0, 0], np.inf), y, 3, [5], [1.0], "linear")
    with pytest.raises(MemoryLimitError, match="the kernel matrix of a split needs"):
        cross_validate_pairs(X, y, memory_limit="1KiB")
