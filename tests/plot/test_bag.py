import numpy as np
import pytest
from figure_data import axes

from distkern import Bags, Gaussian, InputError, Linear, MeanMap, bag_components, bags_from_images, witness
from distkern.plot import plot_bag, plot_function

POINTS = np.random.default_rng(0).normal(size=(40, 3)) * [3.0, 1.0, 2.0]


def test_points_are_drawn_with_areas_by_weight():
    bag = Bags.from_arrays([[[0.0, 1.0], [2.0, 3.0]]], [[1.0, 3.0]])
    ax = plot_bag(bag, (1, 0), ax=axes())
    (dots,) = ax.collections
    np.testing.assert_array_equal(dots.get_offsets(), [[1, 0], [3, 2]])
    small, large = dots.get_sizes()
    assert large == pytest.approx(3 * small)
    assert not ax.yaxis_inverted()
    assert not ax.images
    assert plot_bag(bag, downwards=True, ax=axes()).yaxis_inverted()


def test_an_image_lies_under_its_points():
    image = np.array([[0, 255, 0], [255, 0, 255]])
    bag = bags_from_images([image])
    ax = plot_bag(bag, image=image, ax=axes())
    assert ax.yaxis_inverted()
    left, right, bottom, top = ax.images[0].get_extent()
    width, height = (right - left) / 3, (bottom - top) / 2
    for x, y in ax.collections[0].get_offsets():  # a point lies in the middle of a bright pixel
        column, row = (x - left) / width - 0.5, (y - top) / height - 0.5
        assert (column, row) == (pytest.approx(round(column)), pytest.approx(round(row)))
        assert image[round(row), round(column)] == 255


def test_the_axes_are_those_of_the_components_of_a_linear_kernel():
    bag = POINTS[:, :2]
    found = bag_components(bag, Linear(), n=2)
    ax = plot_bag(bag, gaussian=True, ax=axes())
    for line, variance, column in zip(ax.lines, found.eigenvalues, range(2), strict=True):
        ends = line.get_xydata()
        np.testing.assert_allclose(ends.mean(axis=0), bag.mean(axis=0))
        values = found(ends)  # coordinates along both components: ± 2 standard deviations along its own
        np.testing.assert_allclose(np.abs(values[:, column]), 2 * np.sqrt(variance))
        np.testing.assert_allclose(values[:, 1 - column], 0, atol=1e-9)


def test_several_bags_are_their_mixture_in_equal_parts():
    few, many = [[0.0, 0.0]], np.tile([[4.0, 0.0]], (7, 1))
    ax = plot_bag(Bags.from_arrays([few, many]), gaussian=True, ax=axes())
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[-2, 0], [6, 0]], atol=1e-12)


def test_a_function_is_drawn_where_it_is():
    ax = plot_function(lambda points: points[:, 0] + 10 * points[:, 1], limits=(0, 2), resolution=3, ax=axes())
    np.testing.assert_allclose(ax.images[0].get_array(), [[0, 1, 2], [10, 11, 12], [20, 21, 22]])
    assert ax.images[0].get_extent() == pytest.approx([-0.5, 2.5, 2.5, -0.5])
    assert ax.images[0].get_cmap().name == "Greys"


def test_components_and_witnesses_are_functions():
    found = bag_components(POINTS[:, :2], Gaussian(1.0), n=3)
    for which in range(3):
        ax = plot_function(found, which=which, limits=(-1, 1), resolution=4, ax=axes())
        side = np.linspace(-1, 1, 4)
        expected = [[found([[x, y]])[0, which] for x in side] for y in side]
        np.testing.assert_allclose(ax.images[0].get_array(), expected)
    difference = witness(POINTS[:20, :2], POINTS[20:, :2], MeanMap(Gaussian(1.0)))
    ax = plot_function(difference, limits=(-4, 4), ax=axes())
    low, high = ax.images[0].get_clim()
    assert low == -high
    assert ax.images[0].get_cmap().name == "RdBu_r"


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="no coordinate 3; they have 3"):
        plot_bag(POINTS, (0, 3), ax=axes())
    with pytest.raises(InputError, match="image of shape"):
        plot_bag(POINTS, image=[1.0, 2.0], ax=axes())
    with pytest.raises(InputError, match="a lower and a higher number"):
        plot_function(lambda points: points[:, 0], limits=(1, 0), ax=axes())
    with pytest.raises(InputError, match="gave values of shape"):
        plot_function(lambda points: points[:1, 0], ax=axes())
    with pytest.raises(InputError, match="which=2 must be the position"):
        plot_function(lambda points: points, which=2, ax=axes())
    with pytest.raises(InputError, match="missing or infinite"), np.errstate(divide="ignore"):
        plot_function(lambda points: 1 / points[:, 0], ax=axes())
