import pytest
from figure_data import axes, held_out, legend

from distkern import InputError, InputTypeError
from distkern.plot import plot_roc


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (None, InputTypeError, "attribute held_out of an evaluation, not NoneType"),
        ({"a": held_out(), "b": [1]}, InputTypeError, "not list"),
        ({}, InputError, "no predictions"),
        ({"a": held_out(), "b": held_out(classes=("x", "y"))}, InputError, "the same classes"),
    ],
)
def test_what_is_no_prediction_is_refused(given, error, said):
    with pytest.raises(error, match=said):
        plot_roc(given)


def test_a_legend_of_too_many_curves_is_left_out():
    assert plot_roc(held_out(m=340, classes=tuple(f"{k:02d}" for k in range(17))), ax=axes()).get_legend() is None


def test_names_are_shortened_and_taken_literally():
    ax = plot_roc({"$x$ " + "long " * 20: held_out()}, draws=0, ax=axes())
    assert legend(ax)[0].startswith("$x$ long")
    assert len(legend(ax)[0]) < 50
    ax.figure.canvas.draw()
