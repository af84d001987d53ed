"""Bags of the bright pixels of images."""

import numpy as np
import pytest

from distkern import InputError, bags_from_images


def test_drawn_pixels_depend_on_the_image_and_the_seed_only():
    images = np.random.default_rng(0).integers(0, 256, (4, 9, 7))
    drawn = bags_from_images(images, 5, seed=3)
    again = bags_from_images(images[2:3], 5, seed=3)
    np.testing.assert_array_equal(drawn.points(2), again.points(0))
    assert not np.array_equal(drawn.points(2), bags_from_images(images, 5, seed=4).points(2))
    every = {tuple(place) for place in bags_from_images(images).points(2)}
    assert {tuple(place) for place in drawn.points(2)} < every
    assert len(drawn.points(2)) == 5
    rows, cols = np.nonzero(images[2] > 190)
    assert every == {(c / 6, r / 8) for r, c in zip(rows, cols, strict=True)}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bags_from_images(np.zeros((1, 3, 3))), "image '0' has no pixel brighter than 190"),
        (lambda: bags_from_images(np.zeros((3, 3))), r"images have shape \(3, 3\)"),
    ],
)
def test_images_without_bright_pixels_and_other_arrays_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()
