"""Distances and lists of nearest samples against sorting."""

import numpy as np
import pytest

from distkern.compiled.distances import expand_nearest, keep_nearest, merge_nearest, squares

rng = np.random.default_rng(0)
POINTS = rng.integers(0, 4, size=(14, 2)).astype(float)  # many distances are equal


def naive_nearest(distances, positions, count):
    order = np.lexsort((np.broadcast_to(positions, distances.shape), distances), axis=1)[:, :count]
    return np.take_along_axis(distances, order, axis=1), positions[order]


def empty(samples, count):
    return np.full((samples, count), np.inf), np.full((samples, count), -1)


def distances():
    K, diagonal, places = POINTS @ POINTS.T, (POINTS**2).sum(axis=1), np.arange(14)
    out = np.empty((14, 14))
    assert squares(K, diagonal, diagonal, places, places, out) == 0.0
    return out


def test_naive_squares_and_what_they_prove():
    expected = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances(), expected)
    K, diagonal, out = POINTS @ POINTS.T, (POINTS**2).sum(axis=1) - 2.0, np.empty((6, 8))
    least = squares(K[:6, 6:], diagonal[:6], diagonal[6:], np.arange(6), np.arange(6, 14), out)
    assert least == expected[:6, 6:].min() - 4.0 < 0
    np.testing.assert_array_equal(out, np.maximum(expected[:6, 6:] - 4.0, 0))
    for value in (np.nan, np.inf):
        diagonal[3] = value
        with np.errstate(invalid="ignore"):
            assert np.isnan(squares(K[:6, 6:], diagonal[:6], diagonal[6:], np.arange(6), np.arange(6, 14), out))


@pytest.mark.parametrize("count", [1, 3, 20])
def test_naive_lists_do_not_depend_on_how_tiles_come(count):
    D, places = distances(), np.arange(14)
    expected = tuple(np.full((14, count), fill) for fill in (np.inf, -1))
    for whole, part in zip(expected, naive_nearest(D, places, count), strict=True):
        whole[:, : part.shape[1]] = part
    found, left = empty(14, count), empty(14, count)
    keep_nearest(D[:, 9:], places[9:], *found)
    keep_nearest(D[:, 5:9], places[5:9], *left)
    keep_nearest(D[:, :5], places[:5], *left)
    merge_nearest(*found, *left)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_naive_lists_of_groups_are_those_of_all_their_samples():
    group = rng.integers(0, 5, 30)
    first = np.array([np.flatnonzero(group == g)[0] for g in range(5)])
    members = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[members], np.arange(6))
    D = distances()[:5, :5]
    listed = empty(5, 4)
    keep_nearest(D, first, *listed)
    found = expand_nearest(*listed, group, members, starts)
    for ours, theirs in zip(found, naive_nearest(D[:, group], np.arange(30), 4), strict=True):
        np.testing.assert_array_equal(ours, theirs)
