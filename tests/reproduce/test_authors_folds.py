"""caret's folds of 1, …, n and kernlab's bandwidth, against versions that follow their documentation word by word.

That the folds are those of the paper is shown in test_authors_table.py: they give its accuracies.
"""

import itertools

import numpy as np
import pytest

from distkern.reproduce.authors_folds import groups_by_position, median_squared_distance, multi_folds
from distkern.reproduce.r_random import RRandom


def naive_groups(n, folds):
    """Groups of R's ``cut(1:n, quantile(1:n, ...), include.lowest = TRUE)``: intervals that are closed on the right."""
    cuts = 5 if n // folds > 5 else 2 if n // folds < 2 else n // folds
    borders = [1 + (n - 1) * step / (cuts - 1) for step in range(cuts)]
    groups = {}
    for low, high in itertools.pairwise(borders):
        label = f"{'[' if low == 1 else '('}{low:.3g},{high:.3g}]"
        groups[label] = [x - 1 for x in range(1, n + 1) if low < x <= high or x == low == 1]
    return [groups[label] for label in sorted(groups)]


@pytest.mark.parametrize("n", [8, 11, 16, 21, 49, 50, 60, 62, 86, 102, 253])
def test_groups_are_quantiles_of_the_positions(n):
    found = groups_by_position(n, 5)
    assert [group.tolist() for group in found] == naive_groups(n, 5)
    assert sorted(np.concatenate(found)) == list(range(n))


def test_groups_are_in_the_order_of_their_labels_as_text():
    """``(127,190]``, ``(190,253]``, ``(64,127]``, ``[1,64]``: neither by number, nor with the first group first."""
    assert [int(group[0]) + 1 for group in groups_by_position(253, 5)] == [128, 191, 65, 1]


@pytest.mark.parametrize(("n", "repeats"), [(62, 10), (49, 1), (21, 3)])
def test_every_repeat_is_a_partition_that_spreads_each_group(n, repeats):
    splits = multi_folds(n, 5, repeats, RRandom(206))
    assert len(splits) == 5 * repeats
    for repeat in range(repeats):
        own = splits[5 * repeat : 5 * repeat + 5]
        assert sorted(np.concatenate([test for _, test in own])) == list(range(n))
        for train, test in own:
            assert sorted([*train, *test]) == list(range(n))
            assert (np.diff(train) > 0).all()
            assert (np.diff(test) > 0).all()
        for group in groups_by_position(n, 5):
            counts = [len(np.intersect1d(group, test)) for _, test in own]
            assert max(counts) - min(counts) <= 1


def test_draws_are_in_the_order_of_caret():
    """Groups of 3 of 6 samples, 2 folds: for each group the rest, one fold number, and then the shuffle of three."""
    random, fold = RRandom(5), np.empty(6, dtype=int)
    for group in ([3, 4, 5], [0, 1, 2]):
        rest = random.sample(2, 1)
        fold[group] = np.array([0, 1, rest[0]])[random.sample(3)]
    splits = multi_folds(6, 2, 1, RRandom(5))
    assert [test.tolist() for _, test in splits] == [np.flatnonzero(fold == number).tolist() for number in (0, 1)]


def test_a_group_with_fewer_samples_than_folds_has_different_folds():
    splits = multi_folds(8, 10, 1, RRandom(1))
    assert max(len(test) for _, test in splits) == 1


def test_the_bandwidth_is_the_median_over_drawn_pairs_of_different_samples():
    """R: ``set.seed(3); runif(4)`` are 0.168, 0.808, 0.385, 0.328: the pairs are (1, 2) and (5, 2)."""
    X = np.array([[0.0], [1.0], [4.0], [9.0], [16.0]])
    assert median_squared_distance(X, RRandom(3)) == np.median([1.0, 225.0])
    X[4] = X[1]  # the second pair has distance 0 and does not count
    assert median_squared_distance(X, RRandom(3)) == 1.0
