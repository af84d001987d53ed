"""Distances in feature space from kernel values, and lists of nearest samples that are updated tile by tile."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def squares(values, row_diag, col_diag, rows, cols, out):  # type: ignore[no-untyped-def]
    """Fill squared distances (a, b), from kernel values and k(x, x) of rows and columns; return the least one.

    Distances are set to 0 if the positions ``rows`` (a,) and ``cols`` (b,) are equal, or if they are negative. The
    value returned is the least one before this, so that the caller can judge whether it is caused by rounding; NaN if a
    distance is not finite.
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
    """Insert a sample into the list of nearest samples of another, (k,), sorted by distance, then position."""
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
    """Merge distances (a, b) to samples at ``positions`` (b,) into the lists of the row samples, (a, k), in place.

    The lists are sorted by distance, then position, so that ties do not depend on the order of the tiles. Empty entries
    have infinite distance.
    """
    k = indices.shape[1]
    for i in range(tile.shape[0]):
        own_distances, own_indices = distances[i], indices[i]
        for j in range(tile.shape[1]):
            if tile[i, j] <= own_distances[k - 1]:  # rarely true
                insert(tile[i, j], positions[j], own_distances, own_indices)


@compiled
def merge_nearest(distances, indices, more_distances, more_indices):  # type: ignore[no-untyped-def]
    """Merge lists of nearest samples, (a, k), into other lists of the same samples, in place."""
    for i in range(distances.shape[0]):
        for j in range(more_distances.shape[1]):
            if more_distances[i, j] < np.inf:
                insert(more_distances[i, j], more_indices[i, j], distances[i], indices[i])


@compiled
def expand_nearest(distances, indices, group, members, starts):  # type: ignore[no-untyped-def]
    """Lists of nearest samples, (a, k), in which each listed sample is replaced by its group of equal samples.

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
