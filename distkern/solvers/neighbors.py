"""The nearest samples of every sample in feature space, in one pass over the tiles."""

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
    """Find, of each sample, the squared distances and the positions of the nearest ones, itself among them.

    Parameters
    ----------
    count
        How many of them.
    floor
        The least squared distance that may be rounding.
    """

    count: int
    floor: float

    @property
    def bytes_per_sample(self) -> int:
        """Bytes of the state for each sample."""
        return 16 * self.count

    def initial(self, samples: int) -> State:
        """Know nobody, infinitely far."""
        return np.full((samples, self.count), np.inf), np.full((samples, self.count), -1, dtype=np.intp)

    def add(self, state: State, mirror: State | None, values: Floats, own: SampleArrays, other: SampleArrays) -> None:
        """Put the samples of a tile into each other's lists."""
        distances = squared_distances(values, own, other, self.floor)
        keep_nearest(distances, other["position"], *state)
        if mirror is not None:
            keep_nearest(np.ascontiguousarray(distances.T), own["position"], *mirror)

    def merge(self, state: State, part: State) -> None:
        """Put the lists of a part into those of all."""
        merge_nearest(*state, *part)

    def expand(self, state: State, where: Indices) -> State:
        """Put into the lists, for every distinct sample, all that equal it."""
        members = np.argsort(where, kind="stable")
        starts = np.searchsorted(where[members], np.arange(len(state[0]) + 1))
        distances, indices = state
        expanded = expand_nearest(distances, indices, where, members, starts)
        return tuple(array[where] for array in expanded)


def nearest(gram: BaseGram, count: int) -> tuple[Indices, Floats]:
    """Positions of the ``count`` nearest other samples of each one, (m, count), and their distances; nearest first.

    Of samples at one distance the one with the lower position comes first. Tiles are looked at where they lie, and the
    lists are all that moves.
    """
    diagonal = gram.diag()
    distances, indices = gram.map_reduce(Nearest(count + 1, least_allowed(diagonal)), {"diagonal": diagonal})
    others = indices != np.arange(len(indices))[:, None]
    others[others.all(axis=1), -1] = False  # so many equal ones come first that the sample itself is not listed
    return indices[others].reshape(-1, count), np.sqrt(distances[others]).reshape(-1, count)
