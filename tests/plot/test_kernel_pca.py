import numpy as np
import pytest
from figure_data import axes, gram

from distkern import InputError
from distkern.plot import plot_kernel_pca


def test_each_class_has_its_samples_one_colour_and_one_marker():
    ax = plot_kernel_pca(gram(12), ["a"] * 5 + ["b"] * 7, ax=axes())
    first, second = ax.collections
    assert (len(first.get_offsets()), len(second.get_offsets())) == (5, 7)
    assert first.get_facecolor().tolist() != second.get_facecolor().tolist()
    assert len(first.get_paths()[0].vertices) != len(second.get_paths()[0].vertices)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a (5)", "b (7)"]


def test_less_than_three_samples_are_refused():
    with pytest.raises(InputError, match="3 samples or more"):
        plot_kernel_pca(np.eye(2), ax=axes())
