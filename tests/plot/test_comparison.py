import numpy as np
import pandas as pd
import pytest
from figure_data import axes, legend

from distkern import InputError
from distkern.plot import plot_comparison
from distkern.plot.axes import OKABE_ITO

SCORES = pd.DataFrame({"Kendall": [0.8, 0.9, 0.7, *[np.nan] * 3], "linear": [0.5, 0.6, 0.9, 0.7, 0.62, -0.5]})


@pytest.mark.parametrize("scores", [SCORES, {name: SCORES[name].to_numpy() for name in SCORES}])
def test_boxes_are_the_quartiles_of_the_scores(scores):
    ax = plot_comparison(scores, label="accuracy", ax=axes())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["Kendall", "linear"]
    quantiles = np.nanquantile(SCORES, [0, 0.25, 0.5, 0.75, 1], axis=0)
    medians = [line.get_ydata()[0] for line in ax.lines if line.get_color() == OKABE_ITO[0]]
    np.testing.assert_allclose(medians, quantiles[2])
    drawn = {round(float(value), 6) for line in ax.lines for value in line.get_ydata()}
    assert drawn == {round(float(value), 6) for value in quantiles.ravel()}
    assert ax.get_ylabel() == "accuracy"
    assert ax.get_legend() is None


def test_other_scores_are_dots_at_their_method():
    ax = plot_comparison(SCORES, others={"linear": [0.55, 0.65]}, others_label="the paper", ax=axes())
    assert legend(ax) == ["the paper"]
    np.testing.assert_array_equal(ax.lines[-1].get_xydata(), [[1, 0.55], [1, 0.65]])


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="'poly', which is not among the methods"):
        plot_comparison(SCORES, others={"poly": [1.0]}, ax=axes())
    with pytest.raises(InputError, match="'a' has no score"):
        plot_comparison({"a": [np.nan]}, ax=axes())
    with pytest.raises(InputError, match="room for 1 to 40 methods, not for 0"):
        plot_comparison({}, ax=axes())
