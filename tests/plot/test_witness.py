import numpy as np
import pytest
from figure_data import axes

from distkern import Gaussian, InputError, MeanMap, witness
from distkern.plot import plot_witness
from distkern.plot import witness as module


def found(first=7, second=5, d=3):
    rng = np.random.default_rng(0)
    return witness(rng.normal(size=(first, d)), 1 + rng.normal(size=(second, d)), MeanMap(Gaussian(1.0)))


def test_points_lie_at_their_coordinates_and_have_the_colour_of_their_value():
    shown = found()
    ax = plot_witness(shown, (2, 0), names=("ill", "well"), ax=axes())
    first, second = ax.collections
    np.testing.assert_array_equal(first.get_offsets(), shown.first.values[:, [2, 0]])
    np.testing.assert_array_equal(second.get_array(), shown.of_second)
    limit = max(abs(shown.of_first).max(), abs(shown.of_second).max())
    assert first.get_clim() == second.get_clim() == (-limit, limit)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ill", "well"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 2", "coordinate 0")


def test_in_one_dimension_the_value_is_drawn_upwards():
    shown = found(d=1)
    ax = plot_witness(shown, ax=axes())
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 1], shown.of_first)
    assert ax.get_ylabel() == "witness function"


def test_of_many_points_some_are_drawn(monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    ax = plot_witness(found(), ax=axes())
    assert [len(drawn.get_offsets()) for drawn in ax.collections] == [3, 3]


def test_a_coordinate_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no coordinate 3; they have 3, counted from 0"):
        plot_witness(found(), (0, 3))
