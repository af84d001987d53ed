import numpy as np
import pytest
from figure_data import axes, held_out, legend
from sklearn.metrics import average_precision_score, precision_recall_curve

from distkern import InputError
from distkern.plot import plot_precision_recall

TWO, THREE = held_out(), held_out(classes=("a", "b", "c"))


def test_the_curve_is_that_of_scikit_learn():
    ax = plot_precision_recall(TWO, ax=axes())
    precision, recall, _ = precision_recall_curve(np.tile(TWO.truth, 2), TWO.decisions.ravel())
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.stack([recall, precision], axis=1))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), TWO.truth.mean())
    mean = np.mean([average_precision_score(TWO.truth, f[:, 0]) for f in TWO.decisions])
    assert legend(ax) == [f"well: average precision {mean:.3f}"]
    assert ax.lines[1].get_drawstyle() == "steps-post"  # recall descends


def test_several_classes_and_cohorts():
    some = THREE.of_samples(np.flatnonzero(THREE.truth != 1))
    ax = plot_precision_recall({"held out": THREE, "other": some}, ax=axes())
    names = [name.partition(":")[0] for name in legend(ax)]
    assert names == ["a, held out", "b, held out", "c, held out", "a, other", "c, other"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), (THREE.truth == 0).mean())
    with pytest.raises(InputError, match="curve needs two"):
        plot_precision_recall(TWO.of_samples(np.flatnonzero(TWO.truth == 0)), ax=axes())
