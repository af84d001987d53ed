import numpy as np
import pytest
from figure_data import axes

from distkern import InputError, kaplan_meier
from distkern.core.errors import InputTypeError
from distkern.plot import plot_survival
from distkern.plot.axes import OKABE_ITO

TIME = np.array([1.0, 2.0, 3.0, 4.0, 2.0, 5.0])
EVENT = np.array([1, 0, 1, 1, 1, 0])
GROUPS = np.array(["$a", "$a", "$a", "$a", "_b", "_b"])
CURVES = kaplan_meier(TIME, EVENT, GROUPS)


def steps(ax):
    return [line for line in ax.lines if line.get_drawstyle() == "steps-post"]


def test_curves_begin_at_one_and_fall_at_events():
    ax = plot_survival(CURVES, pvalue=0.0123, xlabel="days", ax=axes())
    first, second = steps(ax)
    assert first.get_xydata().tolist() == [[0, 1], [1, 0.75], [2, 0.75], [3, 0.375], [4, 0]]
    assert second.get_xydata().tolist() == [[0, 1], [2, 0.5], [5, 0.5]]
    assert (first.get_color(), second.get_color()) == OKABE_ITO[:2]
    assert len(ax.collections) == 2  # a band each
    marks = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "|"]
    assert marks[:2] == [[[2, 0.75]], [[5, 0.5]]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$a", "_b", "censored"]
    assert "log-rank p = 0.012" in [text.get_text() for text in ax.texts]
    assert ax.get_xlabel() == "days"


def test_numbers_at_risk_are_those_of_the_samples():
    ax = plot_survival(CURVES, ax=axes())
    ticks = ax.get_xticks()
    numbers = [text for text in ax.texts if text.get_text().isdigit()]
    assert len(numbers) == 2 * len(ticks)
    for line, group in enumerate(("$a", "_b")):
        own = numbers[line * len(ticks) : (line + 1) * len(ticks)]
        assert [int(text.get_text()) for text in own] == [(TIME[GROUPS == group] >= tick).sum() for tick in ticks]
        assert {text.get_color() for text in own} == {OKABE_ITO[line]}
    heights = sorted({text.get_position()[1] for text in numbers})
    assert len(heights) == 2
    assert max(heights) < 0


def test_order_chooses_groups():
    ax = plot_survival(CURVES, order=["_b"], ax=axes())
    assert len(steps(ax)) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["_b", "censored"]


@pytest.mark.parametrize(
    ("curves", "options", "error", "fault"),
    [
        ([1, 2], {}, InputTypeError, "give the result of kaplan_meier, not list"),
        (CURVES, {"order": ["c"]}, InputError, "there is no group 'c'"),
        (CURVES, {"order": []}, InputError, "0 groups have no room"),
        (kaplan_meier(np.arange(1.0, 12), np.ones(11), np.arange(11)), {}, InputError, "11 groups have no room"),
    ],
)
def test_what_cannot_be_drawn_is_refused(curves, options, error, fault):
    with pytest.raises(error, match=fault):
        plot_survival(curves, ax=axes(), **options)
