import numpy as np
import pytest
from figure_data import axes, held_out, legend
from sklearn.metrics import auc, roc_curve

from distkern import InputError
from distkern.learners.held_out import HeldOut
from distkern.plot import plot_roc

TWO, THREE = held_out(), held_out(classes=("a", "b", "c"))


def test_the_curve_is_that_of_scikit_learn_and_the_area_that_of_the_scores():
    ax = plot_roc(TWO, draws=0, ax=axes())
    fpr, tpr, _ = roc_curve(np.tile(TWO.truth, 2), TWO.decisions.ravel())
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.stack([fpr, tpr], axis=1))
    area = TWO.scores(draws=0).set_index("score").loc["auc", "value"]
    assert legend(ax) == [f"well: AUC {area:.3f}"]
    assert abs(area - auc(fpr, tpr)) < 0.05
    assert "“well”" in ax.get_ylabel()
    assert not ax.collections


def test_cohorts_are_named_and_have_bands():
    other = held_out(seed=1, repeats=1)
    ax = plot_roc({"held out": TWO, "$other$": other}, draws=50, seed=3, ax=axes())
    assert [name.partition(":")[0] for name in legend(ax)] == ["held out", "$other$"]
    assert len({line.get_color() for line in ax.lines[1:]}) == 2
    band = other.roc_band(draws=50, seed=3)
    drawn = ax.collections[1].get_paths()[0].vertices
    for name in ("low", "high"):
        points = band[["fpr", name]].to_numpy()
        assert np.abs(drawn[:, None] - points[None]).sum(axis=2).min(axis=0).max() < 1e-12


def test_several_classes_have_a_curve_each():
    ax = plot_roc({"held out": THREE, "other": held_out(classes=("a", "b", "c"), seed=2)}, ax=axes())
    assert [name.partition(":")[0] for name in legend(ax)][:4] == [
        "a, held out",
        "b, held out",
        "c, held out",
        "a, other",
    ]
    for column, line in enumerate(ax.lines[1:4]):
        fpr, tpr, _ = roc_curve(np.tile(THREE.truth == column, 2), THREE.decisions[:, :, column].ravel())
        np.testing.assert_allclose(line.get_xydata(), np.stack([fpr, tpr], axis=1))
    assert ax.lines[1].get_color() == ax.lines[4].get_color()
    assert ax.lines[1].get_linestyle() != ax.lines[4].get_linestyle()
    assert not ax.collections


def test_a_class_without_samples_has_no_curve():
    rows = np.flatnonzero(THREE.truth != 1)
    assert [name[0] for name in legend(plot_roc(THREE.of_samples(rows), ax=axes()))] == ["a", "c"]
    with pytest.raises(InputError, match="all samples are of one class"):
        plot_roc(TWO.of_samples(np.flatnonzero(TWO.truth == 1)), ax=axes())


def test_equal_decision_values_are_one_step():
    f = np.array([[0.0, 0.0, 1.0, 1.0]])[:, :, None]
    found = HeldOut(("a", "b"), np.array([0, 1, 0, 1]), np.array([[0, 0, 1, 1]]), f)
    np.testing.assert_allclose(plot_roc(found, ax=axes()).lines[1].get_xydata()[[0, -1]], [[0, 0], [1, 1]])
    assert legend(plot_roc(found, ax=axes())) == ["b: AUC 0.500"]
