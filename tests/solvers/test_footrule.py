"""The median rank against brute force over all orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive_consensus import footrule

from distkern.solvers import footrule as room
from distkern.solvers.footrule import median_rank

scores = st.sampled_from([-np.inf, 0.0, 1.0, 2.0, 3.0, np.nan])


@given(st.data())
def test_the_least_footrule_of_all_orders(data):
    m, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    X = data.draw(arrays(np.float64, (m, n), elements=scores))
    weights = data.draw(arrays(np.float64, m, elements=st.integers(1, 5).map(float)))
    every = {order: footrule(order, X, weights) for order in permutations(range(n))}
    least = min(every.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "BLOCK", 2 * n)  # two ballots at a time
        order, total, unique = median_rank(X, weights)
    assert total == pytest.approx(least)
    assert every[tuple(order.tolist())] == pytest.approx(least)
    assert unique == (len({order[0] for order, cost in every.items() if cost <= least + 1e-9}) == 1)
