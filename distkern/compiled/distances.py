"""Distances in feature space while the tiles of a matrix go by: the nearest samples of each, and sums by cluster."""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def keep_nearest(rows, cols, values, row_diag, col_diag, floor, distances, indices):  # type: ignore[no-untyped-def]
    """Merge a tile into the lists of nearest samples, in place; return whether all squared distances could be.

    ``distances`` and ``indices`` (m, k) hold the nearest others of each sample, by distance and then by position, so
    that equal ones do not depend on the order of the tiles; they begin with infinity. ``values`` is the tile at
    ``rows`` and ``cols``, ``row_diag`` and ``col_diag`` are k(x, x) of its samples. A distance below ``floor``, or one
    that is no finite number, ends the work.
    """
    k = indices.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(cols.shape[0]):
            col = cols[j]
            if row == col:
                continue
            distance = row_diag[i] + col_diag[j] - 2 * values[i, j]
            if not (distance >= floor and distance < np.inf):
                return False
            distance = max(distance, 0.0)
            last = distances[row, k - 1]
            if distance > last or (distance == last and col > indices[row, k - 1]):
                continue
            place = k - 1
            while place > 0 and (
                distances[row, place - 1] > distance
                or (distances[row, place - 1] == distance and indices[row, place - 1] > col)
            ):
                distances[row, place] = distances[row, place - 1]
                indices[row, place] = indices[row, place - 1]
                place -= 1
            distances[row, place] = distance
            indices[row, place] = col
    return True


@compiled
def add_distances(rows, cols, values, row_diag, col_diag, floor, squared, weights, clusters, sums):  # type: ignore[no-untyped-def]
    """Add the distances of a tile to their sums by cluster, in place; return whether all of them could be.

    ``sums`` (m, c) holds, for each sample, the weighted sum of its distances to the samples of each cluster of several
    partitions, and ``clusters`` (m, partitions) the column of each sample in it. The others are as for `keep_nearest`.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(cols.shape[0]):
            col = cols[j]
            if row == col:
                continue
            distance = row_diag[i] + col_diag[j] - 2 * values[i, j]
            if not (distance >= floor and distance < np.inf):
                return False
            distance = max(distance, 0.0)
            distance = weights[col] * (distance if squared else np.sqrt(distance))
            for partition in range(clusters.shape[1]):
                sums[row, clusters[col, partition]] += distance
    return True
