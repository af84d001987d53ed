import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern import ArrayGram, InputError


@given(st.integers(1, 9), st.data())
def test_selections_equal_those_of_numpy_and_compose(m, data):
    values = np.arange(m * m, dtype=float).reshape(m, m)
    gram = ArrayGram(values)
    positions = st.lists(st.integers(-m, m - 1), max_size=8)
    slices = st.slices(m)
    masks = st.lists(st.booleans(), min_size=m, max_size=m).map(np.array)
    rows = data.draw(st.one_of(positions, slices, masks))
    cols = data.draw(st.one_of(positions, slices, masks))
    rows_n = np.array(rows, dtype=int) if isinstance(rows, list) else rows
    cols_n = np.array(cols, dtype=int) if isinstance(cols, list) else cols
    expected = values[rows_n][:, cols_n]
    np.testing.assert_array_equal(gram[rows][:, cols].to_numpy(), expected)
    np.testing.assert_array_equal(gram.block(rows, cols), expected)
    again = gram[rows][:, cols][::-1][:, ::-1]
    np.testing.assert_array_equal(again.to_numpy(), expected[::-1, ::-1])


def test_ix_and_single_positions():
    gram = ArrayGram(np.arange(9.0).reshape(3, 3))
    assert gram[np.ix_([0, 2], [1])].to_numpy().tolist() == [[1.0], [7.0]]
    assert gram[1, 2] == 5.0
    assert gram[1].tolist() == [3.0, 4.0, 5.0]
    assert gram[:, -1].tolist() == [2.0, 5.0, 8.0]
    assert [row.tolist() for row in gram] == np.arange(9.0).reshape(3, 3).tolist()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (([0, 1], [0, 1]), "ambiguous"),
        ((0, [0], [0]), "two axes; got 3"),
        ((..., ...), "two axes; got 2"),
        ([0, 3], "from 0 to 3; there are 3"),
        ([True, False], r"mask .* shape \(2,\)"),
        ([0.5], "list of positions"),
        ("a", "list of positions"),
    ],
)
def test_ambiguous_and_invalid_keys_are_refused(key, said):
    with pytest.raises(InputError, match=said):
        ArrayGram(np.eye(3))[key]
