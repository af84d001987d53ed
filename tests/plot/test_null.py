import numpy as np
import pytest
from figure_data import axes, legend

from distkern import InputTypeError, PermutationTest
from distkern.plot import plot_null


def permuted(score, scoring, null):
    return PermutationTest(score, 0.0123, np.array(null), scoring, {}, 0.1)


def test_every_permutation_is_in_a_bar_at_its_score():
    null = np.random.default_rng(0).normal(0.5, 0.05, size=300)
    ax = plot_null(permuted(0.9, "balanced_accuracy", null), ax=axes())
    for bar in ax.patches:
        low, high = bar.get_x() / 100, (bar.get_x() + bar.get_width()) / 100
        assert bar.get_height() == np.sum((null >= low - 1e-12) & (null < high - 1e-12))
    assert sum(bar.get_height() for bar in ax.patches) == 300
    assert ax.lines[0].get_xdata()[0] == pytest.approx(90)
    assert legend(ax) == ["300 permutations of the labels", "labels as they are: 90.0 %, p = 0.012"]
    assert ax.get_xlabel() == "Balanced accuracy (%)"


def test_an_area_is_no_percentage():
    ax = plot_null(permuted(0.5, "auc", [0.5, 0.5]), ax=axes())
    assert legend(ax)[1] == "labels as they are: 0.500, p = 0.012"
    assert ax.lines[0].get_xdata()[0] == 0.5
    assert sum(bar.get_height() for bar in ax.patches) == 2
    with pytest.raises(InputTypeError, match="not dict"):
        plot_null({}, ax=axes())
