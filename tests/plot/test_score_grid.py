import numpy as np
import pandas as pd
import pytest
from figure_data import axes

from distkern import InputError
from distkern.plot import plot_score_grid

TABLE = pd.DataFrame([[61.26, 70.0], [np.nan, 66.0]], index=[0.1, 1.0], columns=["poly", "$rbf$"])


def test_cells_have_their_colours_and_numbers():
    ax = plot_score_grid(TABLE.rename_axis(index="σ", columns="kernel"), label="accuracy", decimals=1, ax=axes())
    np.testing.assert_array_equal(np.ma.filled(ax.images[0].get_array(), np.nan), TABLE.to_numpy())
    assert {text.get_position(): text.get_text() for text in ax.texts} == {
        (0, 0): "61.3",
        (1, 0): "70.0",
        (1, 1): "66.0",
    }
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0.1", "1"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["poly", "$rbf$"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("kernel", "σ")


@pytest.mark.parametrize(("best", "middle"), [("largest", (1, 0)), ("smallest", (0, 0))])
def test_the_best_cell_has_a_frame(best, middle):
    ax = plot_score_grid(TABLE, best=best, ax=axes())
    corners = ax.lines[0].get_xydata()
    np.testing.assert_array_equal((corners.min(axis=0) + corners.max(axis=0)) / 2, middle)


def test_an_array_has_positions():
    ax = plot_score_grid([[1.0, 2.0, 3.0]], ax=axes())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2"]
    assert ax.get_xlabel() == ""


def test_what_is_no_table_of_numbers_is_refused():
    for scores in ([1.0, 2.0], [[np.nan]], [["a"]]):
        with pytest.raises(InputError):
            plot_score_grid(scores, ax=axes())
    with pytest.raises(InputError, match="best must be one of largest, smallest"):
        plot_score_grid(TABLE, best="first", ax=axes())
