import numpy as np
import pytest
from figure_data import axes

from distkern import InputError
from distkern.plot import plot_estimates
from distkern.plot.axes import OKABE_ITO


def drawn(ax):
    """Ends of each interval, its colour, and the dot."""
    found = []
    for container in ax.containers:
        dot, _, (bar,) = container.lines
        (segment,) = bar.get_segments()
        found.append((segment[:, 0].tolist(), dot.get_color(), dot.get_xydata()[0].tolist()))
    return found


def test_intervals_are_two_standard_errors_wide_on_both_sides():
    ax = plot_estimates(["$a", "_b"], [1.0, 3.0], [1.0, 1.25], reference=0.0, label="gain", ax=axes())
    assert drawn(ax) == [([-1.0, 3.0], OKABE_ITO[0], [1.0, 0.0]), ([0.5, 5.5], OKABE_ITO[5], [3.0, 1.0])]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["$a", "_b"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is at the top
    assert ax.get_xlabel() == "gain"


def test_without_a_reference_nothing_is_red():
    ax = plot_estimates(["a"], np.array([50.0]), [np.nan], ax=axes())
    assert drawn(ax) == [([50.0, 50.0], OKABE_ITO[0], [50.0, 0.0])]


def test_given_intervals_are_drawn_as_they_are_and_red_where_they_leave_the_reference_out():
    ax = plot_estimates(["a", "b"], [1.0, 3.0], intervals=[[-1.0, 2.0], [0.5, 8.0]], reference=0.0, ax=axes())
    assert drawn(ax) == [([-1.0, 2.0], OKABE_ITO[0], [1.0, 0.0]), ([0.5, 8.0], OKABE_ITO[5], [3.0, 1.0])]


def test_a_line_without_an_estimate_stays_empty():
    ax = plot_estimates(["a", "b"], [np.nan, 3.0], intervals=[[np.nan, np.nan], [0.5, 8.0]], reference=0.0, ax=axes())
    assert drawn(ax) == [([0.5, 8.0], OKABE_ITO[5], [3.0, 1.0])]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"intervals": [[0.0, 2.0, 3.0]]}, r"1 values and intervals of shape \(1, 3\)"),
        ({"intervals": [[0.0, 2.0], [0.0, 2.0]]}, r"intervals of shape \(2, 2\)"),
        ({"intervals": [[2.0, 0.0]]}, "outside of its interval"),
        ({"intervals": [[np.nan, 2.0]]}, "outside of its interval"),
        ({"intervals": [[0.0, 2.0]], "errors": [1.0]}, "either standard errors or intervals"),
        ({}, "either standard errors or intervals"),
    ],
)
def test_intervals_that_cannot_be_drawn_are_refused(given, fault):
    with pytest.raises(InputError, match=fault):
        plot_estimates(["a"], [1.0], ax=axes(), **given)


@pytest.mark.parametrize(
    ("names", "values", "errors", "fault"),
    [
        (["a"], [1.0, 2.0], [1.0], "got 1 names, 2 values and 1 errors"),
        (["a"], [1.0], [-1.0], "a standard error is negative"),
        (["a"], [[1.0]], [1.0], "got values of shape"),
        ([], [], [], "no estimate to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused(names, values, errors, fault):
    with pytest.raises(InputError, match=fault):
        plot_estimates(names, values, errors, ax=axes())
