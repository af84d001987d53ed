import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_cohort

from distkern.compiled.inversions import rank
from distkern.compiled.sign_sums import add_products, arrange, sign_sums, sign_tables


def summed(X, coefficients, rows, cols):
    _, codes, _, untied = rank(X)
    ties = untied < X.shape[1] * (X.shape[1] - 1) // 2
    return sign_sums(arrange(codes), sign_tables(coefficients, ties), rows, cols)


def by_loops(X, coefficients, rows, cols):
    """Naive double loop over pairs, and the samples of each."""
    return [
        [
            [sum(c * naive.direction(x, i, j) for c, x in zip(own, X, strict=True)) for j in range(*cols.indices(999))]
            for i in range(*rows.indices(999))
        ]
        for own in coefficients.T
    ]


@given(any_cohort, st.integers(1, 3), st.data())
def test_equals_the_naive_loop(X, machines, data):
    m, n = X.shape
    coefficients = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=m * machines, max_size=m * machines)))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    rows, cols = slice(start, stop), slice(data.draw(st.integers(0, n - 1)), n)
    found = summed(X, coefficients.reshape(m, machines), rows, cols)
    np.testing.assert_allclose(
        found, np.reshape(by_loops(X, coefficients.reshape(m, machines), rows, cols), found.shape), atol=1e-12
    )


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("samples", [63, 64, 65, 200])
def test_equals_the_naive_loop_in_several_batches(samples, levels):
    rng = np.random.default_rng(samples)
    X = rng.permuted(np.tile(np.arange(9.0), (samples, 1)), axis=1)
    X = X if levels is None else X // levels
    X[70:, :2] = 5.0  # ties in a later batch only
    coefficients = rng.normal(size=(samples, 2))
    found = summed(X, coefficients, slice(0, 9), slice(0, 9))
    np.testing.assert_allclose(found, by_loops(X, coefficients, slice(0, 9), slice(0, 9)), atol=1e-12)


def test_bits_do_not_depend_on_the_tile_and_change_their_sign_with_the_pair():
    rng = np.random.default_rng(1)
    X, coefficients = rng.normal(size=(100, 30)), rng.normal(size=(100, 1))
    whole = summed(X, coefficients, slice(0, 30), slice(0, 30))[0]
    np.testing.assert_array_equal(whole, -whole.T)
    part = summed(X, coefficients, slice(7, 20), slice(11, 30))[0]
    np.testing.assert_array_equal(part, whole[7:20, 11:30])


def test_coefficients_of_whole_numbers_give_exact_integers():
    rng = np.random.default_rng(2)
    X, coefficients = rng.integers(0, 4, (130, 12)).astype(float), rng.integers(-9, 9, (130, 1)).astype(float)
    found = summed(X, coefficients, slice(0, 12), slice(0, 12))
    assert found.tolist() == by_loops(X, coefficients, slice(0, 12), slice(0, 12))


def test_products_equal_the_naive_sum():
    rng = np.random.default_rng(3)
    coefficients, entries, out = rng.normal(size=(5, 2)), rng.normal(size=(5, 7)), np.ones((2, 7))
    add_products(coefficients, entries, out)
    expected = [[1 + sum(coefficients[s, k] * entries[s, p] for s in range(5)) for p in range(7)] for k in range(2)]
    np.testing.assert_allclose(out, expected, atol=1e-12)
