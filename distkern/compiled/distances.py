"""Distances in feature space from kernel values, and the nearest samples of each while tiles of them go by."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def squares(values, row_diag, col_diag, rows, cols, out):  # type: ignore[no-untyped-def]
    """Squared distances (a, b) into ``out``, from kernel values and k(x, x) of both sides; return the least one.

    It is 0 where the positions ``rows`` (a,) and ``cols`` (b,) are the same, and where it is less by rounding, or
    otherwise: that is the caller's to judge from what is returned, which is NaN where one is no finite number.
    """
    least, proof = 0.0, 0.0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            distance = row_diag[i] + col_diag[j] - 2 * values[i, j]
            if rows[i] == cols[j]:
                distance = 0.0
            proof += 0.0 * distance
            least = min(least, distance)
            out[i, j] = max(distance, 0.0)
    return least if proof == 0.0 else np.nan


@compiled
def insert(distance, index, distances, indices):  # type: ignore[no-untyped-def]
    """Put a sample into the list of the nearest ones of another, (k,), if it is one; by distance, then by position."""
    place = indices.shape[0] - 1
    last = distances[place]
    if not (distance < last or (distance == last and index < indices[place])):
        return
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and indices[place - 1] > index)
    ):
        distances[place] = distances[place - 1]
        indices[place] = indices[place - 1]
        place -= 1
    distances[place] = distance
    indices[place] = index


@compiled
def keep_nearest(tile, positions, distances, indices):  # type: ignore[no-untyped-def]
    """Merge distances (a, b) to samples at ``positions`` (b,) into the lists of a samples, (a, k), in place.

    The lists go by distance and then by position, so that equal ones do not depend on the order of the tiles; they
    begin with infinity.
    """
    k = indices.shape[1]
    for i in range(tile.shape[0]):
        own_distances, own_indices = distances[i], indices[i]
        for j in range(tile.shape[1]):
            if tile[i, j] <= own_distances[k - 1]:  # seldom
                insert(tile[i, j], positions[j], own_distances, own_indices)


@compiled
def merge_nearest(distances, indices, more_distances, more_indices):  # type: ignore[no-untyped-def]
    """Merge lists of the nearest samples, (a, k), into others of the same samples, in place."""
    for i in range(distances.shape[0]):
        for j in range(more_distances.shape[1]):
            if more_distances[i, j] < np.inf:
                insert(more_distances[i, j], more_indices[i, j], distances[i], indices[i])


@compiled
def expand_nearest(distances, indices, group, members, starts):  # type: ignore[no-untyped-def]
    """The nearest samples, (a, k), where every one that is listed stands for a group of equal ones.

    ``group`` is the group of a listed sample by its position, and ``members[starts[g]:starts[g + 1]]`` are the
    positions of the samples of group g, ascending.
    """
    a, k = distances.shape
    more_distances, more_indices = np.full((a, k), np.inf), np.full((a, k), -1, dtype=indices.dtype)
    for i in range(a):
        for j in range(k):
            if distances[i, j] < np.inf:
                first = starts[group[indices[i, j]]]
                stop = starts[group[indices[i, j]] + 1]
                for place in range(first, min(stop, first + k)):
                    insert(distances[i, j], members[place], more_distances[i], more_indices[i])
    return more_distances, more_indices
