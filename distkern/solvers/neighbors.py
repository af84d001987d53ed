"""Nearest neighbours in feature space, by a map-reduce over the tiles of a Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.compiled.distances import expand_nearest, keep_nearest, merge_nearest
from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.pairwise import PairWork, SampleArrays, State
from distkern.solvers.distances import least_allowed, squared_distances


@dataclass(frozen=True)
class Nearest(PairWork):
    """Squared distances and positions of the nearest samples of each sample, including itself.

    Parameters
    ----------
    count
        Number of nearest samples.
    floor
        Least (negative) squared distance that is attributed to rounding.
    """

    count: int
    floor: float

    @property
    def bytes_per_sample(self) -> int:
        """Bytes of the list of each sample."""
        return 16 * self.count

    def initial(self, samples: int) -> State:
        """Initialise the lists with infinite distances."""
        return np.full((samples, self.count), np.inf), np.full((samples, self.count), -1, dtype=np.intp)

    def add(self, state: State, mirror: State | None, values: Floats, own: SampleArrays, other: SampleArrays) -> None:
        """Insert the row and column samples of a tile into each other's lists."""
        distances = squared_distances(values, own, other, self.floor)
        keep_nearest(distances, other["position"], *state)
        if mirror is not None:
            keep_nearest(np.ascontiguousarray(distances.T), own["position"], *mirror)

    def merge(self, state: State, part: State) -> None:
        """Merge partial lists."""
        merge_nearest(*state, *part)

    def expand(self, state: State, where: Indices) -> State:
        """Replace each distinct sample in the lists by all samples that equal it."""
        members = np.argsort(where, kind="stable")
        starts = np.searchsorted(where[members], np.arange(len(state[0]) + 1))
        distances, indices = state
        expanded = expand_nearest(distances, indices, where, members, starts)
        return tuple(array[where] for array in expanded)


def nearest(gram: BaseGram, count: int) -> tuple[Indices, Floats]:
    """Positions (m, count) of the nearest other samples of each sample, and their distances, (m, count).

    Sorted by distance, then position. Only these lists are transferred from the workers.
    """
    diagonal = gram.diag()
    distances, indices = gram.map_reduce(Nearest(count + 1, least_allowed(diagonal)), {"diagonal": diagonal})
    others = indices != np.arange(len(indices))[:, None]
    others[others.all(axis=1), -1] = False  # equal samples of lower position can displace the sample itself
    return indices[others].reshape(-1, count), np.sqrt(distances[others]).reshape(-1, count)
