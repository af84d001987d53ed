import numpy as np
import pytest
from figure_data import axes, gram

from distkern import ArrayGram, InputError
from distkern.plot import plot_gram, plot_kernel_pca


def test_the_heat_map_shows_the_values_in_the_order_of_the_classes():
    values = np.array([[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]])
    ax = plot_gram(values, ["b", "a", "b"], ax=axes(), within="given")
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(shown, [[0.6, 0.2, 0.4], [0.2, 0.6, 0.6], [0.4, 0.6, 0.6]])  # diagonal: clipped
    assert ax.images[0].get_clim() == (0.2, 0.6)
    assert ax.images[0].get_cmap().name == "viridis"


def test_class_boundaries_and_names_are_at_the_classes():
    ax = plot_gram(gram(10), ["x"] * 4 + ["y"] * 6, ax=axes())
    assert [line[0].tolist() for line in ax.collections[-1].get_segments()] == [[3.5, -0.5], [-0.5, 3.5]]
    _, left, top = ax.child_axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["x (4)", "y (6)"]
    assert left.get_yticks().tolist() == [1.5, 6.5]
    assert len(left.patches) == len(top.patches) == 2
    assert left.patches[0].get_facecolor() == top.patches[0].get_facecolor() != left.patches[1].get_facecolor()


def test_values_of_both_signs_get_colours_that_diverge_from_zero():
    values = np.array([[2.0, -0.3, 0.1], [-0.3, 2.0, 0.2], [0.1, 0.2, 2.0]])
    image = plot_gram(values, ax=axes()).images[0]
    assert image.get_clim() == (-0.3, 0.3)
    assert image.get_cmap().name == "RdBu_r"


def test_small_classes_are_named_in_a_legend():
    ax = plot_gram(gram(60), ["rare"] * 2 + ["usual"] * 58, ax=axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rare (2)", "usual (58)"]


def test_the_text_below_a_large_matrix_states_what_is_drawn():
    ax = plot_gram(np.eye(2000), ax=axes())
    assert ax.images[0].get_array().shape == (334, 334)  # 1,000 samples, 3 per pixel
    assert ax.get_xlabel() == "1,000 of 2,000 samples, evenly spaced;\neach pixel averages up to 3 × 3 entries"


@pytest.mark.parametrize("values", [[[1.0]], np.ones((4, 4)), np.zeros((3, 3))])
def test_matrices_without_contrast_can_be_drawn(values):
    ax = plot_gram(values, ax=axes(), title="a $title$")
    low, high = ax.images[0].get_clim()
    assert low < high
    assert ax.get_title() == "a $title$"


@pytest.mark.parametrize("draw", [plot_gram, plot_kernel_pca])
def test_names_of_classes_are_not_read_as_mathematics(draw):
    ax = draw(gram(60), ["$x$"] * 2 + ["_y"] * 28 + ["a very long name of a class"] * 30, ax=axes())
    ax.figure.canvas.draw()
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["$x$ (2)", "_y (28)", "a very long name of… (30)"]
    assert not any(text.get_parse_math() for text in texts)


@pytest.mark.parametrize("draw", [plot_gram, plot_kernel_pca])
def test_wrong_labels_and_rectangular_matrices_are_refused(draw):
    with pytest.raises(InputError, match=r"\(2,\) for 12 samples"):
        draw(gram(), ["a", "b"], ax=axes())
    with pytest.raises(InputError, match="3 × 2 lies between different samples"):
        draw(np.ones((3, 2)), ax=axes())
    with pytest.raises(InputError, match="12 × 5 lies between different samples"):
        draw(ArrayGram(gram())[:, :5], ax=axes())
