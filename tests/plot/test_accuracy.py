import numpy as np
import pytest
from figure_data import axes, evaluation

from distkern import InputError
from distkern.plot import plot_accuracy


def test_folds_means_and_the_published_score_are_drawn():
    ax = plot_accuracy(evaluation(), reference=85.78, reference_label="published", ax=axes())
    dots, mean, reference = ax.lines
    np.testing.assert_allclose(dots.get_ydata(), [80, 60, 100, 80])
    assert np.round(dots.get_xdata()).tolist() == [1, 1, 2, 2]
    assert len(set(dots.get_xdata())) == 4
    np.testing.assert_allclose(mean.get_ydata(), 80)
    np.testing.assert_allclose(reference.get_ydata(), 85.78)
    np.testing.assert_allclose([line[0, 1] for line in ax.collections[0].get_segments()], [70, 90])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["a fold", "mean of a repeat", "mean of all: 80.0 %", "published: 85.78 %"]
    assert ax.get_ylim()[0] < 60


def test_a_fraction_is_converted_to_per_cent():
    ax = plot_accuracy(evaluation(), reference=0.8578, ax=axes())
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 85.78)
    with pytest.raises(InputError, match="between 0 and 100"):
        plot_accuracy(evaluation(), reference=857.8, ax=axes())


def test_undefined_folds_are_left_out():
    ax = plot_accuracy(evaluation(accuracy=(np.nan, np.nan, 1.0, 0.8)), ax=axes())
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 90)
    with pytest.raises(InputError, match="metric must be one of accuracy, balanced_accuracy, auc, not 'loss'"):
        plot_accuracy(evaluation(), metric="loss", ax=axes())
