import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distkern.compiled.radix import DIGITS, stable_order


def ordered(values):
    k = len(values)
    keys, order = np.empty((2, k + 1), np.uint64), np.empty((2, k + 1), np.uint32)
    row = stable_order(values, keys, order, np.empty(DIGITS, np.uint32))
    return order[row, :k]


@given(st.lists(st.floats(allow_nan=False) | st.integers(-3, 3).map(float) | st.floats(width=32, allow_nan=False)))
@example([np.inf, -np.inf, 5e-324, -5e-324, 1.0, -np.inf, np.inf])
def test_order_is_that_of_a_stable_sort_and_equal_values_keep_their_order(values):
    values = np.array([value for value in values if value != 0], dtype=np.float64)  # the zeros are two values
    np.testing.assert_array_equal(ordered(values), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("draw", ["normal", "poisson"])
def test_order_of_many_values(draw):
    values = getattr(np.random.default_rng(0), draw)(size=3000) + 0.5
    np.testing.assert_array_equal(ordered(values), np.argsort(values, kind="stable"))


def test_zeros_of_both_signs_and_missing_values_are_placed():
    values = np.array([np.nan, 0.0, -0.0, 1.0, -np.nan, -1.0])
    assert ordered(values).tolist() in ([4, 5, 2, 1, 3, 0], [0, 5, 2, 1, 3, 4])
