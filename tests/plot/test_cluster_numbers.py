import numpy as np
import pytest
from figure_data import axes

import distkern as dk
from distkern import InputError
from distkern.plot import plot_cluster_numbers


@pytest.fixture(scope="module")
def numbers():
    X = dk.datasets.load_apa()
    options = {
        "kernel": dk.Kendall(),
        "sample_weight": X.counts,
        "references": 2,
        "resamples": 2,
        "n_init": 2,
        "random_state": 0,
    }
    return dk.cluster_numbers(X, [1, 2, 3], **options)


@pytest.mark.parametrize("measure", ["silhouette", "gap", "stability", "inertia"])
def test_the_curve_shows_the_measure_and_marks_the_chosen_number(numbers, measure):
    ax = plot_cluster_numbers(numbers, measure, ax=axes())
    np.testing.assert_array_equal(ax.lines[0].get_xydata()[:, 1], getattr(numbers, measure))
    marked = [line.get_xdata()[0] for line in ax.lines[1:] if line.get_fillstyle() == "none"]
    assert marked == ([] if measure == "inertia" else [getattr(numbers, f"by_{measure}")])


def test_an_unknown_or_missing_measure_is_refused():
    found = dk.cluster_numbers(np.eye(4), [2], random_state=0)
    with pytest.raises(InputError, match="no gap without reference data"):
        plot_cluster_numbers(found, "gap", ax=axes())
    with pytest.raises(InputError, match="measure must be one of silhouette, gap, stability, inertia"):
        plot_cluster_numbers(found, "elbow", ax=axes())
