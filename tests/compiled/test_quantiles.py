import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import rankdata
from strategies import cohorts, few_values, ordered_values, sparse_cohorts, with_gaps

from distkern.compiled.quantiles import add_rows, put_on_target

TIES = ("mean", "mid")
SAMPLES = st.one_of(cohorts(few_values), cohorts(ordered_values), sparse_cohorts())
NUMBERS = st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float)


def targets(least=2, most=14):
    return st.lists(NUMBERS, min_size=least, max_size=most).map(lambda numbers: np.sort(np.array(numbers)))


def assert_is_naive(X, target, ties):
    values, distinct = put_on_target(X, target, ties)
    expected = [naive.on_target(x, target.tolist(), ties) for x in X.tolist()]
    np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-13 * np.abs(target).max())
    assert distinct.tolist() == [len({value for value in x if value == value}) for x in X.tolist()]
    as_sparse, again = put_on_target(sparse.csr_array(X), target, ties)
    np.testing.assert_array_equal(as_sparse, values)
    np.testing.assert_array_equal(again, distinct)


@given(SAMPLES, st.data(), st.sampled_from(TIES))
def test_equals_the_naive_loop_with_ties_and_zeros(X, data, ties):
    assert_is_naive(X, data.draw(targets(X.shape[1], X.shape[1])), ties)


@given(SAMPLES, targets(), st.sampled_from(TIES), st.booleans())
def test_equals_the_naive_loop_with_missing_values_and_other_lengths(X, target, ties, gaps):
    assert_is_naive(with_gaps(X) if gaps else X, target, ties)


def test_ranks_not_their_inverse():
    """The slide prints the transpose of Π: for this sample, which is no involution, that gives (30, 10, 20)."""
    np.testing.assert_array_equal(
        put_on_target(np.array([[2.0, 3.0, 1.0]]), np.array([10.0, 20.0, 30.0]))[0], [[20, 30, 10]]
    )


@pytest.mark.parametrize("ties", TIES)
def test_published_reference_values(ties):
    C = np.array([[5.0, 2, 3, 4], [4, 1, 4, 2], [3, 4, 6, 8]])
    target = np.sort(C, axis=1).mean(axis=0)
    np.testing.assert_allclose(target, [2, 3, 14 / 3, 17 / 3], rtol=1e-15)
    expected = [[17 / 3, 2, 3, 14 / 3], [31 / 6, 2, 31 / 6, 3], [2, 3, 14 / 3, 17 / 3]]
    np.testing.assert_allclose(put_on_target(C, target, ties)[0], expected, rtol=1e-15)
    np.testing.assert_array_equal(
        put_on_target(np.array([[4.0, 3, 2, 1]]), np.array([8.0, 9, 10, 11]))[0], [[11, 10, 9, 8]]
    )


def test_the_two_treatments_of_ties_differ_for_three_or_more():
    x, target = np.array([[5.0, 1.0, 5.0, 5.0]]), np.array([0.0, 1.0, 2.0, 9.0])
    np.testing.assert_array_equal(put_on_target(x, target, "mean")[0], [[4, 0, 4, 4]])
    np.testing.assert_array_equal(put_on_target(x, target, "mid")[0], [[2, 0, 2, 2]])


@given(cohorts(few_values), st.booleans(), st.data())
def test_middle_ranks_are_those_of_limma(X, gaps, data):
    """limma: ``approx(i, m, (rank(x) - 1) / (nobs - 1))`` with average ranks over the observed values."""
    X, target = with_gaps(X) if gaps else X, data.draw(targets(X.shape[1], X.shape[1]))
    for x, found in zip(X, put_on_target(X, target, "mid")[0], strict=True):
        seen = ~np.isnan(x)
        if seen.sum() > 1:
            expected = np.interp((rankdata(x[seen]) - 1) / (seen.sum() - 1), np.linspace(0, 1, len(target)), target)
            np.testing.assert_allclose(found[seen], expected, rtol=1e-9, atol=1e-9 * np.abs(target).max())


def test_a_large_part_of_a_target_costs_its_small_part_no_digits():
    target = np.concatenate([[-1e12] * 5, np.linspace(0, 1e-3, 7), [1e12] * 3])
    x = np.concatenate([np.arange(5.0) - 9, np.zeros(7), [1.0, 2.0, 3.0]])[None]
    assert put_on_target(x, target)[0][0, 5] == pytest.approx(5e-4, rel=1e-14)


@given(SAMPLES, targets(), st.sampled_from(TIES))
def test_the_order_of_the_values_stays(X, target, ties):
    values = put_on_target(X, target, ties)[0]
    assert values.min() >= target[0]
    assert values.max() <= target[-1]
    for x, found in zip(X, values, strict=True):
        order = np.argsort(x, kind="stable")
        assert (np.diff(found[order]) >= 0).all()
        assert (np.diff(found[order])[x[order][1:] == x[order][:-1]] == 0).all()


def test_negative_zero_is_zero_and_negative_values_come_before_it():
    values, distinct = put_on_target(np.array([[-0.0, -1.0, 0.0, 2.0]]), np.array([1.0, 2.0, 4.0, 8.0]))
    assert (values.tolist(), distinct.tolist()) == ([[3.0, 1.0, 3.0, 8.0]], [3])


@example(np.array([[1e16], [1.0], [-1e16]]), 2)
@given(cohorts(st.floats(-1e9, 1e9)), st.integers(1, 3))
def test_sums_are_exact_and_do_not_depend_on_the_blocks(rows, height):
    from math import fsum

    whole, parts = (np.zeros((2, rows.shape[1])) for _ in range(2))
    add_rows(rows, *whole)
    for start in range(0, len(rows), height):
        add_rows(rows[start : start + height], *parts)
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_allclose(whole.sum(axis=0), [fsum(column) for column in rows.T], rtol=1e-15, atol=1e-20)
