import numpy as np
import pytest
from figure_data import axes, held_out, legend
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

from distkern import InputError
from distkern.plot import plot_calibration

TWO = held_out()


def test_points_are_those_of_scikit_learn_and_the_line_is_isotonic():
    ax = plot_calibration(TWO, bins=6, ax=axes())
    truth, chances = np.tile(TWO.truth, 2), TWO.probabilities[:, :, 1].ravel()
    observed, predicted = calibration_curve(truth, chances, n_bins=6, strategy="quantile")
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.stack([predicted, observed], axis=1))
    assert np.ptp(ax.collections[0].get_sizes()) == 0  # 240 chances in six bins of 40
    line = ax.lines[1].get_xydata()
    expected = IsotonicRegression().fit(chances, truth).predict(chances)
    np.testing.assert_allclose(np.interp(chances, *line.T), expected)


def test_sizes_are_those_of_the_bins():
    ax = plot_calibration(TWO.of_samples(np.arange(10)), bins=3, ax=axes())
    sizes = ax.collections[0].get_sizes()
    np.testing.assert_allclose(sizes / sizes[0], [1, 1, 6 / 7])  # 20 chances: 7, 7, 6


def test_bars_count_the_probabilities():
    ax = plot_calibration(TWO, ax=axes())
    counts, _ = np.histogram(TWO.probabilities[:, :, 1], bins=40, range=(0, 1))
    heights = np.array([-bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
    assert all(bar.get_y() < 0 for bar in ax.patches)


def test_several_cohorts_and_classes():
    ax = plot_calibration({"held out": TWO, "other": held_out(seed=1)}, ax=axes())
    assert legend(ax) == ["held out", "other"]
    assert len(ax.patches) == 80
    many = held_out(classes=tuple("abcdefg"), m=140)
    ax = plot_calibration(many, ax=axes())
    assert legend(ax) == list("abcdefg")
    assert not ax.patches  # too many for histograms
    with pytest.raises(InputError, match="no probabilities"):
        plot_calibration(held_out(probabilities=False), ax=axes())
