import numpy as np
import pytest
from figure_data import axes

import distkern as dk
from distkern import InputError
from distkern.plot import plot_preferences

VOTES = dk.Rankings.from_ranks([[3, 2, 1], [3, 1, 2], [1, 3, 3]], items=["ann", "bob", "cid"], counts=[5, 2, 1])


def test_cells_are_the_shares_in_the_order_asked_for():
    ax = plot_preferences(VOTES, order=[2, 0, 1], ax=axes())
    drawn = ax.images[0].get_array()
    expected = np.array([[np.nan, 1 / 8, 2.5 / 8], [7 / 8, np.nan, 7 / 8], [5.5 / 8, 1 / 8, np.nan]])
    np.testing.assert_allclose(np.ma.filled(drawn, np.nan), expected)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cid", "ann", "bob"]
    assert sorted(text.get_text() for text in ax.texts) == sorted(["12", "31", "88", "88", "69", "12"])


def test_a_wrong_order_is_refused():
    with pytest.raises(InputError, match="positions of the 3 items, each once"):
        plot_preferences(VOTES, order=[0, 1, 1], ax=axes())
