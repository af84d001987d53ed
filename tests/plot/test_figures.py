import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from distkern import Evaluation
from distkern.core.errors import InputError
from distkern.report import plot_accuracy, plot_chosen_C, plot_gram, plot_kernel_pca


def evaluation(C=(1.0, 1.0, 10.0, 1.0), accuracy=(0.8, 0.6, 1.0, 0.8), **settings):
    columns = ([0, 0, 1, 1], [0, 1, 0, 1], [5, 5, 5, 5], accuracy, accuracy, accuracy, C)
    return Evaluation(*map(np.array, columns), classes=("a", "b"), settings=settings, seconds=0.1)


def gram(m=12, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, 6)) + 1.0
    return X @ X.T


def axes():
    return Figure().subplots()


def fresh(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    ).stdout


# The heat map --------------------------------------------------------------------------------------------------


def test_the_heat_map_shows_the_values_in_the_order_of_the_classes():
    values = np.array([[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]])
    ax = plot_gram(values, ["b", "a", "b"], ax=axes(), within="given")
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(shown, [[0.6, 0.2, 0.4], [0.2, 0.6, 0.6], [0.4, 0.6, 0.6]])  # the diagonal is cut at 0.6
    assert ax.images[0].get_clim() == (0.2, 0.6)
    assert ax.images[0].get_cmap().name == "viridis"


def test_class_boundaries_and_names_lie_where_the_classes_do():
    ax = plot_gram(gram(10), ["x"] * 4 + ["y"] * 6, ax=axes())
    assert [line[0].tolist() for line in ax.collections[-1].get_segments()] == [[3.5, -0.5], [-0.5, 3.5]]
    _, left, top = ax.child_axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["x (4)", "y (6)"]
    assert left.get_yticks().tolist() == [1.5, 6.5]
    assert len(left.patches) == len(top.patches) == 2
    assert left.patches[0].get_facecolor() == top.patches[0].get_facecolor() != left.patches[1].get_facecolor()


def test_values_on_both_sides_of_zero_get_colours_that_diverge_from_it():
    values = np.array([[2.0, -0.3, 0.1], [-0.3, 2.0, 0.2], [0.1, 0.2, 2.0]])
    image = plot_gram(values, ax=axes()).images[0]
    assert image.get_clim() == (-0.3, 0.3)
    assert image.get_cmap().name == "RdBu_r"


def test_small_classes_are_named_in_a_legend():
    ax = plot_gram(gram(60), ["rare"] * 2 + ["usual"] * 58, ax=axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rare (2)", "usual (58)"]


def test_a_large_matrix_says_what_it_shows():
    ax = plot_gram(np.eye(2000), ax=axes())
    assert ax.images[0].get_array().shape == (334, 334)  # 1,000 samples, 3 to a pixel
    assert ax.get_xlabel() == "1,000 of 2,000 samples, evenly spaced;\neach pixel averages up to 3 × 3 entries"


@pytest.mark.parametrize("values", [[[1.0]], np.ones((4, 4)), np.zeros((3, 3))])
def test_matrices_without_contrast_can_be_drawn(values):
    ax = plot_gram(values, ax=axes(), title="a $title$")
    low, high = ax.images[0].get_clim()
    assert low < high
    assert ax.get_title() == "a $title$"


@pytest.mark.parametrize("draw", [plot_gram, plot_kernel_pca])
def test_names_are_text_and_not_mathematics(draw):
    ax = draw(gram(60), ["$x$"] * 2 + ["_y"] * 28 + ["a very long name of a class"] * 30, ax=axes())
    ax.figure.canvas.draw()
    texts = ax.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["$x$ (2)", "_y (28)", "a very long name of… (30)"]
    assert not any(text.get_parse_math() for text in texts)


@pytest.mark.parametrize("draw", [plot_gram, plot_kernel_pca])
def test_what_cannot_be_drawn_is_refused(draw):
    from distkern import ArrayGram

    with pytest.raises(InputError, match=r"\(2,\) for 12 samples"):
        draw(gram(), ["a", "b"], ax=axes())
    with pytest.raises(InputError, match="3 × 2 lies between different samples"):
        draw(np.ones((3, 2)), ax=axes())
    with pytest.raises(InputError, match="12 × 5 lies between different samples"):
        draw(ArrayGram(gram())[:, :5], ax=axes())


# Components ----------------------------------------------------------------------------------------------------


def test_every_class_has_its_samples_its_colour_and_its_marker():
    ax = plot_kernel_pca(gram(12), ["a"] * 5 + ["b"] * 7, ax=axes())
    first, second = ax.collections
    assert (len(first.get_offsets()), len(second.get_offsets())) == (5, 7)
    assert first.get_facecolor().tolist() != second.get_facecolor().tolist()
    assert len(first.get_paths()[0].vertices) != len(second.get_paths()[0].vertices)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a (5)", "b (7)"]


def test_two_samples_make_no_plane():
    with pytest.raises(InputError, match="3 samples or more"):
        plot_kernel_pca(np.eye(2), ax=axes())


# Scores --------------------------------------------------------------------------------------------------------


def test_every_fold_every_mean_and_the_published_number_are_there():
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


def test_a_fraction_is_a_percentage_too():
    ax = plot_accuracy(evaluation(), reference=0.8578, ax=axes())
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 85.78)
    with pytest.raises(InputError, match="between 0 and 100"):
        plot_accuracy(evaluation(), reference=857.8, ax=axes())


def test_undefined_folds_are_left_out():
    ax = plot_accuracy(evaluation(accuracy=(np.nan, np.nan, 1.0, 0.8)), ax=axes())
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 90)
    with pytest.raises(InputError, match="no metric is called 'loss'"):
        plot_accuracy(evaluation(), metric="loss", ax=axes())


def test_the_chosen_C_are_counted_over_the_whole_grid():
    ax = plot_chosen_C(evaluation(), ax=axes())
    assert [bar.get_height() for bar in ax.patches] == [3, 1]
    chosen = evaluation()
    chosen.settings["C"] = [0.1, 1.0, 10.0]
    ax = plot_chosen_C(chosen, ax=axes())
    assert [bar.get_height() for bar in ax.patches] == [0, 3, 1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "1", "10"]
    with pytest.raises(InputError, match="chose no C"):
        plot_chosen_C(evaluation(C=(np.nan,) * 4), ax=axes())


# Where they draw -----------------------------------------------------------------------------------------------


def test_the_state_of_pyplot_is_not_touched():
    code = (
        "import sys; from distkern.report import plot_gram; ax = plot_gram([[1, 0], [0, 1]]); "
        "print(type(ax.figure).__name__, 'matplotlib.pyplot' in sys.modules)"
    )
    assert fresh(code).split() == ["Figure", "False"]


def test_whoever_uses_pyplot_gets_a_figure_of_pyplot():
    code = (
        "import matplotlib; matplotlib.use('agg'); from matplotlib import pyplot as plt; "
        "from distkern.report import plot_gram; ax = plot_gram([[1, 0], [0, 1]]); print(plt.gcf() is ax.figure)"
    )
    assert fresh(code).split() == ["True"]


def test_the_package_loads_nothing_before_it_draws():
    code = "import sys, distkern.report; print(*(name in sys.modules for name in ('matplotlib', 'sklearn', 'jinja2')))"
    assert fresh(code).split() == ["False", "False", "False"]


@pytest.mark.parametrize("name", ["plot_gram", "plot_accuracy"])
def test_a_missing_extra_is_named(name):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from distkern import MissingExtraError\n"
        f"try:\n    from distkern.report import {name}\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    assert "pip install 'distkern[report]'" in fresh(code)
