"""The authors' pairs equal a double loop over the features, with ties of every kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from distkern.reproduce.authors_pairs import all_votes, dense_ranks, pair_numbers, ranked_pairs
from distkern.reproduce.authors_table import second_class
from distkern.reproduce.cancer_cohorts import load


def test_the_numbers_of_pairs_are_those_of_the_script():
    printed = "1 3 5 7 9 13 17 25 33 45 61 81 109 147 197 265 355 477 639 857 1151 1543 2071 2777 3727 4999"
    assert pair_numbers() == tuple(map(int, printed.split()))


def naive_pairs(X, first_class, kept):
    """The pairs i > j with both scores, inserted one after the other into a list that keeps the best."""
    ones, twos = X[first_class], X[~first_class]
    ranks = rankdata(X, axis=1)
    best = []
    for i in range(X.shape[1]):
        for j in range(i):
            shares = [sum(x[i] < x[j] for x in part) / len(part) for part in (ones, twos)]
            means = [
                float((ranks[part, i] - ranks[part, j]).sum()) / len(of)
                for part, of in ((first_class, ones), (~first_class, twos))
            ]
            found = (
                *((i, j) if shares[0] > shares[1] else (j, i)),
                abs(shares[0] - shares[1]),
                abs(means[0] - means[1]),
            )
            place = next((at for at, other in enumerate(best) if not stays_before(other, found)), len(best))
            best.insert(place, found)
            del best[kept:]
    return best


def stays_before(other, found):
    """Whether a pair in the list stays before a new one: scores that differ by less than 1e-16 are equal."""
    if abs(found[2] - other[2]) >= 1e-16:
        return found[2] < other[2]
    return found[3] <= other[3]


@st.composite
def cohorts(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, p = draw(st.integers(2, 7)), draw(st.integers(2, 8))
    X = rng.integers(0, draw(st.sampled_from([2, 4, 50])), (m, p)).astype(float)
    first_class = rng.permutation(np.arange(m) < draw(st.integers(1, m - 1)))
    return X, first_class


@given(cohorts(), st.integers(1, 12))
def test_the_best_pairs_equal_a_double_loop(cohort, kept):
    X, first_class = cohort
    best = ranked_pairs(dense_ranks(X), rankdata(X, axis=1), first_class, kept)
    expected = naive_pairs(X, first_class, kept)
    assert list(zip(best.first, best.second, strict=True)) == [pair[:2] for pair in expected]
    np.testing.assert_allclose(best.score, [pair[2] for pair in expected], atol=1e-15)
    np.testing.assert_array_equal(best.secondary, [pair[3] for pair in expected])
    for x, classes in zip(X, best.class_one(X), strict=True):
        votes = [x[i] < x[j] for i, j, *_ in expected]
        assert classes.tolist() == [2 * sum(votes[:k]) > k for k in range(1, len(votes) + 1)]


@given(cohorts())
def test_the_votes_of_all_pairs_equal_a_double_loop(cohort):
    X, first_class = cohort
    ones, twos = X[first_class], X[~first_class]
    pairs = [(i, j) for i in range(X.shape[1]) for j in range(i + 1, X.shape[1])]
    if len(pairs) % 2 == 0:
        pairs.pop()
    found = all_votes(dense_ranks(X), first_class, dense_ranks(X))
    for t, x in enumerate(X):
        informed, uninformed = [], []
        for i, j in pairs:
            share = (ones[:, i] < ones[:, j]).mean() - (twos[:, i] < twos[:, j]).mean()
            even = sum(ones[:, i] < ones[:, j]) * len(twos) == sum(twos[:, i] < twos[:, j]) * len(ones)
            vote = bool(x[i] < x[j]) if share > 0 and not even else bool(x[j] < x[i])
            (uninformed if even else informed).append(vote)
        assert (found.informed[t], found.informed_pairs) == (sum(informed), len(informed))
        assert (found.uninformed[t], found.uninformed_pairs) == (sum(uninformed), len(uninformed))
        assert found.class_one()[t] == (2 * sum(informed + uninformed) > len(pairs))
        assert found.class_one(abstaining=True)[t] == (2 * sum(informed) > len(informed))


def test_more_features_than_short_integers_are_ranked():
    ranks = dense_ranks(np.arange(40_000.0)[None])
    assert ranks.dtype == np.int32
    assert ranks[0, -1] == 39_999


def test_a_full_list_keeps_the_best_pairs():
    """More candidates than the list holds twice, many of equal score."""
    X = np.random.default_rng(0).integers(0, 3, (9, 30)).astype(float)
    first_class = np.arange(9) < 4
    best = ranked_pairs(dense_ranks(X), rankdata(X, axis=1), first_class, 7)
    expected = naive_pairs(X, first_class, 7)
    assert list(zip(best.first, best.second, strict=True)) == [pair[:2] for pair in expected]


def test_scores_that_differ_by_rounding_are_equal():
    """1/3 − 0 and 1 − 2/3 differ in double precision; the secondary score orders such pairs."""
    assert 1 / 3 != 1 - 2 / 3
    first_class = np.arange(6) < 3
    for seed in range(40):
        X = np.random.default_rng(seed).permuted(np.tile(np.arange(7.0), (6, 1)), axis=1)
        best = ranked_pairs(dense_ranks(X), rankdata(X, axis=1), first_class, 21)
        expected = naive_pairs(X, first_class, 21)
        assert list(zip(best.first, best.second, strict=True)) == [pair[:2] for pair in expected]


def test_the_best_pairs_of_the_cohorts_that_ship():
    """As found from outside: the first three of CT, the first one of MB."""
    known = {
        "CT": [(1634, 1770, 0.879545, 1208.7409), (1422, 600, 0.854545, None), (492, 1324, 0.825, None)],
        "MB": [(5599, 5616, 0.641026, 1099.0348)],
    }
    for cohort, pairs in known.items():
        samples = load(cohort)
        first_class = samples.y != second_class(cohort, samples)
        best = ranked_pairs(dense_ranks(samples.X), rankdata(samples.X, axis=1), first_class)
        assert len(best.first) == 4999
        for found, (first, second, score, secondary) in zip(zip(*best, strict=True), pairs, strict=False):
            assert {found[0], found[1]} == {first, second}
            assert found[2] == pytest.approx(score, abs=5e-7)
            assert secondary is None or found[3] == pytest.approx(secondary, abs=5e-5)
