"""The order by bits is NumPy's stable order."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distkern.compiled.radix import FEW, MANY, order_scratch, stable_order


def ordered(values):
    return stable_order(values, order_scratch(len(values) + 1)).copy()


VALUES = st.floats() | st.integers(-3, 3).map(float) | st.floats(width=32)


@given(st.lists(VALUES) | st.lists(VALUES, min_size=FEW + 1))
@example([np.inf, -np.inf, 5e-324, -5e-324, 0.0, 1.0, -0.0, -np.inf, np.nan, np.inf, -np.nan, 0.0])
def test_order_is_that_of_a_stable_sort(values):
    values = np.array(values, dtype=np.float64)
    np.testing.assert_array_equal(ordered(values), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("draw", ["normal", "poisson"])
@pytest.mark.parametrize("k", [FEW, FEW + 1, MANY - 1, MANY, 3000])
def test_order_of_many_values(draw, k):
    values = getattr(np.random.default_rng(0), draw)(size=k) - 1.0
    np.testing.assert_array_equal(ordered(values), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("k", [FEW + 1, MANY])
@pytest.mark.parametrize("bit", [0, 8, 11, 16, 22, 24, 32, 33, 40, 44, 48])
def test_no_digit_that_differs_is_skipped(k, bit):
    bits = np.float64(1.5).view(np.uint64) ^ (np.arange(k, dtype=np.uint64)[::-1] % np.uint64(2) << np.uint64(bit))
    np.testing.assert_array_equal(ordered(bits.view(np.float64)), np.argsort(bits.view(np.float64), kind="stable"))
