from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from distkern.core.errors import InputError
from distkern.operators.array import ArrayGram
from distkern.plot.sample_order import as_classes, by_similarity, draw_samples, leading_components, to_pixels

IDS = tuple("abcdef")


class CountingGram(ArrayGram):
    """Records the shape of every block that is read."""

    def __init__(self, values):
        super().__init__(values)
        self.blocks = []

    def _block(self, rows, cols):
        self.blocks.append((len(rows), len(cols)))
        return super()._block(rows, cols)


def test_samples_are_ordered_by_class_and_keep_their_order_within():
    labels = ["tumour", "normal", "tumour", "normal", "normal", "tumour"]
    values = np.arange(36.0).reshape(6, 6)
    classes = as_classes(labels, IDS)
    drawn = draw_samples(ArrayGram(values), classes.codes, within="given")
    assert classes.names == ("normal", "tumour")
    assert drawn.samples.tolist() == [1, 3, 4, 0, 2, 5]
    assert drawn.codes.tolist() == [0, 0, 0, 1, 1, 1]
    assert drawn.values[0].tolist() == [7, 9, 10, 6, 8, 11]
    assert not drawn.is_part


def test_similar_samples_are_side_by_side_within_a_class():
    position = np.array([0.0, 2.0, 1.0, 5.0, 3.0, 4.0])
    values = np.exp(-(np.subtract.outer(position, position) ** 2) / 8)
    drawn = draw_samples(ArrayGram(values), as_classes(["a", "a", "a", "b", "b", "b"], IDS).codes)
    assert drawn.samples.tolist() == [0, 2, 1, 3, 5, 4]
    np.testing.assert_array_equal(drawn.values, values[np.ix_(drawn.samples, drawn.samples)])


def test_the_order_does_not_depend_on_the_sign_of_the_eigenvector():
    values = np.exp(-(np.subtract.outer(np.arange(5), np.arange(5)) ** 2) / 8)
    assert by_similarity(values).tolist() == [0, 1, 2, 3, 4]
    turned = [3, 4, 1, 0, 2]
    assert [turned[i] for i in by_similarity(values[np.ix_(turned, turned)])] == [4, 3, 2, 1, 0]


def test_every_class_of_a_large_matrix_is_drawn_and_only_drawn_samples_are_read():
    codes = np.array([0] * 90 + [1] * 9 + [2])
    gram = CountingGram(np.eye(100))
    drawn = draw_samples(gram, codes, limit=10, within="given")
    assert drawn.samples.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99]
    assert drawn.codes.tolist() == [0] * 9 + [1, 2]
    assert gram.blocks == [(11, 11)]
    assert drawn.is_part
    assert drawn.total == 100


def test_pixels_are_means_within_pairs_of_classes():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(11, 11)), np.array([0] * 5 + [1] * 6)
    means, pixel_codes, most = to_pixels(values, codes, pixels=4)
    assert most == 3
    assert pixel_codes.tolist() == [0, 0, 1, 1]
    edges = [0, 3, 5, 8, 11]
    expected = [[values[a:b, c:d].mean() for c, d in pairwise(edges)] for a, b in pairwise(edges)]
    np.testing.assert_allclose(means, expected)


def test_a_small_matrix_keeps_its_entries():
    values, _, most = to_pixels(np.eye(3), np.array([0, 0, 1]))
    assert most == 1
    assert values.tolist() == np.eye(3).tolist()


def test_components_are_those_of_the_centred_vectors():
    X = np.random.default_rng(1).normal(size=(12, 4))
    shares, coordinates = leading_components(X @ X.T, 2)
    centred = X - X.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(shares, (sizes**2 / (sizes**2).sum())[:2])
    np.testing.assert_allclose(np.abs(coordinates), np.abs(left[:, :2] * sizes[:2]), atol=1e-12)
    assert (coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]] > 0).all()


def test_constant_values_have_no_components():
    shares, coordinates = leading_components(np.ones((4, 4)), 2)
    assert shares.tolist() == [0, 0]
    assert not coordinates.any()


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["x", "y", "x"], index=[7, 8, 9]),
        pd.Categorical(["x", "y", "x"]),
        np.array(["x", "y", "x"], dtype=object),
        ["x", "y", "x"],
    ],
)
def test_labels_are_taken_from_any_container(labels):
    classes = as_classes(labels, IDS[:3])
    assert classes.names == ("x", "y")
    assert classes.codes.tolist() == [0, 1, 0]
    assert classes.counts == [2, 1]


def test_numbers_are_sorted_by_value_and_mixed_labels_as_text():
    assert as_classes([10, 9, 2], IDS[:3]).names == ("2", "9", "10")
    assert as_classes(np.array([1, "b", 1], dtype=object), IDS[:3]).names == ("1", "b")


def test_wrong_labels_are_refused():
    with pytest.raises(InputError, match=r"shape \(2,\) for 3 samples"):
        as_classes(["x", "y"], IDS[:3])
    with pytest.raises(InputError, match="label of sample 'b' is missing"):
        as_classes([1.0, np.nan, 2.0], IDS[:3])
    with pytest.raises(InputError, match="label of sample 'c' is missing"):
        as_classes(np.array(["x", "y", None], dtype=object), IDS[:3])
    with pytest.raises(InputError, match="within must be"):
        draw_samples(ArrayGram(np.eye(2)), np.zeros(2, dtype=int), within="random")
