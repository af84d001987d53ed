"""Products of panels: in both bodies, against exact arithmetic, and the same bits in any shape."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from distkern.compiled.panels import (
    LINE,
    STEP,
    WIDTH,
    add_panel_products,
    add_products,
    add_squares,
    empty_panels,
    panels,
)


def product(X, Y, upper=False):
    """X Yᵀ for rows of `STEP` features."""
    left, right = panels(X), panels(Y)
    total = np.zeros((WIDTH * len(left), WIDTH * len(right)))
    add_products(left, right, upper, total)
    return total


@given(st.integers(0, 40), st.integers(1, 5))
def test_panels_hold_each_sample_once_and_then_zeros(samples, features):
    X = np.arange(1.0, samples * features + 1).reshape(samples, features)
    P = panels(X)
    assert P.shape == (-(-samples // WIDTH), features, WIDTH)
    flat = P.transpose(0, 2, 1).reshape(-1, features)
    np.testing.assert_array_equal(flat[:samples], X)
    assert not flat[samples:].any()


def test_panels_begin_at_a_line_of_the_cache():
    for samples in range(1, 200, 20):
        assert empty_panels(samples, STEP).ctypes.data % LINE == 0


def test_every_entry_is_the_naive_sum_rounded_after_each_term():
    """The naive twin adds the exact product of each feature in turn, rounding once: a fused multiply-add."""
    X, Y = np.random.default_rng(0).normal(size=(2, 20, STEP))
    total = product(X, Y)
    for i, j in [(0, 0), (3, 17), (15, 15), (16, 2), (19, 19)]:
        entry = 0.0
        for x, y in zip(X[i], Y[j], strict=True):
            entry = entry + x * y if config.DISABLE_JIT else float(Fraction(x) * Fraction(y) + Fraction(entry))
        assert total[i, j] == entry


@pytest.mark.parametrize(("a", "b"), [(1, 1), (16, 16), (17, 40), (33, 5)])
def test_products_of_exact_integers_equal_those_of_numpy_in_both_bodies(a, b):
    rng = np.random.default_rng(1)
    X, Y = (rng.integers(-9, 10, size=(count, STEP)).astype(float) for count in (a, b))
    total = product(X, Y)
    np.testing.assert_array_equal(total[:a, :b], X @ Y.T)
    assert not total[a:].any()
    assert not total[:, b:].any()
    plain = np.ones(WIDTH * (WIDTH + 3))
    add_panel_products(panels(X)[0], panels(Y)[0], plain, 2, WIDTH + 3)
    np.testing.assert_array_equal(
        np.array([plain[2 + row * (WIDTH + 3) :][:WIDTH] for row in range(WIDTH)]), 1 + total[:WIDTH, :WIDTH]
    )


def test_bits_depend_on_the_two_samples_only():
    X = np.random.default_rng(2).normal(size=(50, STEP))
    X[49] = X[0]
    whole = product(X, X)[:50, :50]
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(whole[49], whole[0])
    np.testing.assert_array_equal(product(X[7:30], X[3:])[:23, :47], whole[7:30, 3:])
    upper = product(X, X, upper=True)[:50, :50]
    np.testing.assert_array_equal(np.triu(upper), np.triu(whole))
    squares = np.zeros(4 * WIDTH)
    add_squares(panels(X), squares)
    np.testing.assert_array_equal(squares[:50], np.diag(whole))
