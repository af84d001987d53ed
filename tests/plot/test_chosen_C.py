import numpy as np
import pytest
from figure_data import axes, evaluation

from distkern import InputError
from distkern.plot import plot_chosen_C


def test_each_C_of_the_grid_is_counted():
    ax = plot_chosen_C(evaluation(), ax=axes())
    assert [bar.get_height() for bar in ax.patches] == [3, 1]
    chosen = evaluation()
    chosen.settings["C"] = [0.1, 1.0, 10.0]
    ax = plot_chosen_C(chosen, ax=axes())
    assert [bar.get_height() for bar in ax.patches] == [0, 3, 1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "1", "10"]
    with pytest.raises(InputError, match="chose no C"):
        plot_chosen_C(evaluation(C=(np.nan,) * 4), ax=axes())
