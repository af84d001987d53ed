from itertools import combinations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_cohort

from distkern.compiled.inversions import count_inversions, place_dtype, rank


@given(st.lists(st.integers(0, 20), max_size=70))
def test_inversions_are_counted_and_the_values_sorted(values):
    array = np.array(values, dtype=np.uint16)
    count = count_inversions(array, np.empty_like(array))
    assert count == sum(a > b for a, b in combinations(values, 2))
    assert array.tolist() == sorted(values)


@given(any_cohort)
def test_ranks_order_the_samples_as_their_values_do(X):
    order, codes, tied, untied = rank(X)
    for x, o, c, t, u in zip(X, order, codes, tied, untied, strict=True):
        assert sorted(o.tolist()) == list(range(len(x)))
        assert [x[k] for k in o] == sorted(x)
        levels = sorted(set(x.tolist()))
        assert c.tolist() == [levels.index(value) for value in x.tolist()]
        assert t.tolist() == [0] + [int(x[o[k]] == x[o[k - 1]]) for k in range(1, len(x))]
        _, _, _, _, both = naive.pair_counts(list(x), list(x))
        assert u == len(x) * (len(x) - 1) // 2 - both


@pytest.mark.parametrize(("n", "dtype"), [(10, np.uint16), (65_536, np.uint16), (65_537, np.int32)])
def test_the_smallest_type_that_holds_the_ranks(n, dtype):
    assert place_dtype(n) is dtype
    order, codes, _, _ = rank(np.arange(n, dtype=float)[None])
    assert order.dtype == codes.dtype == dtype
    assert codes.max() == n - 1
