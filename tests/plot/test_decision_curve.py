import pytest
from figure_data import axes, held_out, legend

from distkern import InputError
from distkern.plot import plot_decision_curve


def test_the_curve_is_its_formula():
    found = held_out(repeats=1)
    ax = plot_decision_curve(found, ax=axes())
    every, model = (line.get_xydata() for line in ax.lines[:2])
    m, chances = len(found.truth), found.probabilities[0, :, 1]
    for (t, of_all), (_, of_model) in zip(every, model, strict=True):
        true = sum(p > t and y == 1 for p, y in zip(chances, found.truth, strict=True))
        false = sum(p > t and y == 0 for p, y in zip(chances, found.truth, strict=True))
        assert of_model == pytest.approx(true / m - false / m * t / (1 - t))
        assert of_all == pytest.approx(found.truth.mean() - (1 - found.truth.mean()) * t / (1 - t))
    assert legend(ax) == ["well", "treating all"]
    assert ax.get_ylim()[0] < 0 < ax.get_ylim()[1] < 0.6


def test_several_cohorts_and_classes():
    cohorts = {"held out": held_out(), "other": held_out(seed=1)}
    assert legend(plot_decision_curve(cohorts, ax=axes())) == ["held out", "other", "treating all"]
    ax = plot_decision_curve(held_out(classes=("a", "b", "c")), ax=axes())
    assert legend(ax) == ["a", "b", "c", "treating all"]
    assert len(ax.lines) == 7
    with pytest.raises(InputError, match="no probabilities"):
        plot_decision_curve(held_out(probabilities=False), ax=axes())
