"""The nearest samples of every sample in feature space, in one pass over the tiles."""

from __future__ import annotations

import numpy as np

from distkern.compiled.distances import keep_nearest
from distkern.core.typing import Floats, Indices
from distkern.matrix.base import BaseGram
from distkern.solvers.distances import least_allowed, refuse_distances


def nearest(gram: BaseGram, count: int) -> tuple[Indices, Floats]:
    """Positions of the ``count`` nearest other samples of each one, (m, count), and their distances; nearest first.

    Of samples at one distance the one with the lower position comes first. Only the two results are held.
    """
    diagonal = gram.diag()
    floor = least_allowed(diagonal)
    indices = np.full((len(gram), count), -1, dtype=np.intp)
    distances = np.full(indices.shape, np.inf)
    for rows, cols, values in gram.tiles():
        of_tile = np.ascontiguousarray(values), diagonal[rows], diagonal[cols]
        if not keep_nearest(rows, cols, *of_tile, floor, distances, indices):
            refuse_distances(*of_tile)
    return indices, np.sqrt(distances)
