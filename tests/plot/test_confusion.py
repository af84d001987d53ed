import numpy as np
from figure_data import axes, held_out
from sklearn.metrics import confusion_matrix

from distkern.plot import plot_confusion


def test_counts_and_shares_are_those_of_scikit_learn():
    found = held_out(repeats=3, classes=("a", "b", "c"))
    ax = plot_confusion(found, ax=axes())
    counts = np.mean([confusion_matrix(found.truth, call) for call in found.predicted], axis=0)
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ax.collections[0].get_array(), shares)
    for text, count, share in zip(ax.texts, counts.ravel(), shares.ravel(), strict=True):
        number, of_row = text.get_text().split("\n")
        assert abs(float(number) - count) < 0.06
        assert of_row == f"{100 * share:.0f} %"
    assert ax.yaxis_inverted()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]


def test_a_class_without_samples_has_no_share():
    found = held_out(repeats=1)
    ax = plot_confusion(found.of_samples(np.flatnonzero(found.truth == 1)), ax=axes())
    assert [text.get_text() for text in ax.texts[:2]] == ["–", "–"]


def test_many_classes_have_colours_instead_of_numbers():
    ax = plot_confusion(held_out(m=240, classes=tuple(f"$type$ {k:02d}" for k in range(12))), ax=axes())
    assert not ax.texts
    assert len(ax.child_axes) == 1
    assert ax.get_xticklabels()[0].get_text() == "$type$ 00"
    ax.figure.canvas.draw()
