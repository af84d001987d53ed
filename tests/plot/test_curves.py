import numpy as np
import pytest
from figure_data import axes, legend

from distkern import InputError
from distkern.plot import plot_curves


def test_a_curve_is_drawn_in_the_order_of_x_with_its_band():
    x, y, spread = [10.0, 1.0, 100.0, 5.0], [3.0, 1.0, 2.0, np.nan], [0.5, 0.2, np.nan, 0.1]
    ax = plot_curves({"a": (x, y, spread)}, log="x", xlabel="width", ylabel="accuracy", ax=axes())
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 1], [10, 3], [100, 2]])
    band = ax.collections[0].get_paths()[0].vertices
    assert {(1.0, 0.8), (1.0, 1.2), (10.0, 2.5), (10.0, 3.5), (100.0, 2.0)} <= {
        tuple(p) for p in band.round(6).tolist()
    }
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "accuracy")
    assert ax.get_legend() is None  # one curve needs none


def test_references_and_places_are_lines_with_names():
    curves = {"a": ([1, 2], [3, 4]), "b": ([1, 2], [4, 3])}
    ax = plot_curves(curves, reference={"chance": 2.5}, at={"killed": 1.5}, ax=axes())
    assert legend(ax) == ["a", "b", "chance"]
    assert list(ax.lines[2].get_ydata()) == [2.5, 2.5]
    assert list(ax.lines[3].get_xdata()) == [1.5, 1.5]
    assert [text.get_text() for text in ax.texts] == ["killed"]


def test_chosen_points_have_a_ring():
    ax = plot_curves({"a": ([3, 1, 2], [0.3, 0.1, 0.2])}, chosen={"a": [3, 1]}, ax=axes())
    ring = ax.lines[1]
    assert ring.get_fillstyle() == "none"
    np.testing.assert_array_equal(ring.get_xydata(), [[1, 0.1], [3, 0.3]])
    with pytest.raises(InputError, match="no point at the chosen 5"):
        plot_curves({"a": ([1], [1])}, chosen={"a": [5]}, ax=axes())
    with pytest.raises(InputError, match="no curve is named 'b': there are 'a'"):
        plot_curves({"a": ([1], [1])}, chosen={"b": [1]}, ax=axes())


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "no curve to draw"),
        ({"a": ([1], [1], [1], [1])}, "has 4 parts"),
        ({"a": ([1, 2], [1])}, r"shapes \(2,\), \(1,\): give one number for each point"),
        ({"a": ([1], [1], [-1])}, "is negative"),
        ({"a": ([1], [np.nan])}, "has no point to draw"),
        ({"a": ([0, 1], [1, 1])}, "has a value of x that is not positive"),
    ],
)
def test_what_cannot_be_drawn_is_refused(curves, message):
    with pytest.raises(InputError, match=message):
        plot_curves(curves, log="x", ax=axes())


def test_the_scale_is_one_of_four():
    with pytest.raises(InputError, match="log must be one of none, x, y, both"):
        plot_curves({"a": ([1], [1])}, log="xy", ax=axes())
