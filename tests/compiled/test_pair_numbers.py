import math

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.compiled.inversions import rank
from distkern.compiled.pair_numbers import fill_contributions, fill_signs, reduce_tile

tiles = arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 11)), elements=st.integers(-3, 3).map(float))


@given(st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 2.0, math.inf]), min_size=2, max_size=9), st.data())
def test_signs_equal_the_naive_ones(sample, data):
    top, left = data.draw(st.integers(0, len(sample) - 1)), data.draw(st.integers(0, len(sample) - 1))
    out = np.empty((len(sample) - top, len(sample) - left))
    fill_signs(rank(np.array([sample]))[1][0], top, left, out)
    rows, cols = range(top, len(sample)), range(left, len(sample))
    assert out.tolist() == [[naive.direction(sample, i, j) for j in cols] for i in rows]


def test_contributions_equal_the_naive_formula():
    rng = np.random.default_rng(0)
    weights, mean, entries = rng.normal(size=(3, 4, 5))
    out = np.empty((4, 5))
    fill_contributions(weights, mean, entries, 0.5, 3.0, out)
    expected = [[weights[i, j] * (0.5 * entries[i, j] - mean[i, j]) / 3.0 for j in range(5)] for i in range(4)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@given(tiles, st.sampled_from([1.0, -1.0]), st.integers(0, 3))
def test_sums_of_a_tile_equal_the_naive_loop(numbers, turned, least):
    rows, cols = numbers.shape
    sums, squares = np.ones((2, rows + cols))
    hits = reduce_tile(numbers, False, float(least), turned, sums, squares, 0, rows)
    expected = [1 + sum(row) for row in numbers.tolist()] + [1 + turned * sum(col) for col in numbers.T.tolist()]
    assert sums.tolist() == expected
    size = [1 + sum(v * v for v in line) for line in [*numbers.tolist(), *numbers.T.tolist()]]
    assert squares.tolist() == size
    assert hits == sum(abs(v) >= least for v in numbers.ravel().tolist())


@given(tiles, st.sampled_from([1.0, -1.0]))
def test_a_tile_on_the_diagonal_counts_each_pair_once_as_the_naive_loop(numbers, turned):
    side = min(numbers.shape)
    square = np.ascontiguousarray(numbers[:side, :side])
    sums, squares = np.zeros((2, side))
    hits = reduce_tile(square, True, 2.0, turned, sums, squares, 0, 0)
    expected, size = [0.0] * side, [0.0] * side
    for i in range(side):
        for j in range(i + 1, side):
            expected[i] += square[i, j]
            expected[j] += turned * square[i, j]
            size[i] += square[i, j] ** 2
            size[j] += square[i, j] ** 2
    assert sums.tolist() == expected
    assert squares.tolist() == size
    assert hits == sum(abs(square[i, j]) >= 2 for i in range(side) for j in range(i + 1, side))
