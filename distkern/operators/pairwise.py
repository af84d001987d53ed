"""Work on all pairs of samples, such as sums of distances, in one pass over the tiles of their matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.typing import Array, Floats, Indices

STRIP_ENTRIES = 2**14
"""Entries of a tile that are converted to kernel values and worked on at a time."""

STRIP_ROWS = 16
"""Minimum number of rows that are worked on at a time."""

SampleArrays = Mapping[str, Array]
"""Arrays with one row per sample, by name; "position" is that of the sample, or of the first sample that equals it."""

State = tuple[Array, ...]
"""Results of some samples: arrays with one row per sample."""


class PairWork(ABC):
    """A computation on the kernel values of all pairs; an immutable value, which is sent to the workers.

    A worker makes the initial state of the samples of a tile group and adds the tiles of the group to it, strip by
    strip. The states of all groups are merged in a fixed order. Equal samples that a matrix holds once take part once.
    """

    @property
    @abstractmethod
    def bytes_per_sample(self) -> int:
        """Bytes of the state for each sample."""

    @abstractmethod
    def initial(self, samples: int) -> State:
        """Make the state of some samples before any pair is added."""

    @abstractmethod
    def add(self, state: State, mirror: State | None, values: Floats, own: SampleArrays, other: SampleArrays) -> None:
        """Add kernel values (a, b) between a row samples and b column samples, in place.

        Parameters
        ----------
        state
            State of the row samples.
        mirror
            State of the column samples; None where the mirrored pairs are added separately.
        own, other
            Arrays of the row samples and of the column samples.
        """

    @abstractmethod
    def merge(self, state: State, part: State) -> None:
        """Merge into the state, in place, the state of the same samples from another tile group."""

    def expand(self, state: State, where: Indices) -> State:
        """Repeat the states of distinct samples for all samples; ``where`` holds the distinct sample of each."""
        return tuple(array[where] for array in state)


@dataclass(frozen=True)
class Transformed(PairWork):
    """Work on the values of a view, which are an elementwise function of the values of its parent.

    Parameters
    ----------
    work
        The work on the values of the view.
    transform
        Function of the parent's values and of the named arrays: of the row samples, then of the column samples.
    names
        Names of these arrays.
    """

    work: PairWork
    transform: Callable[..., Floats]
    names: tuple[str, ...]

    @property
    def bytes_per_sample(self) -> int:
        """Bytes of the state for each sample."""
        return self.work.bytes_per_sample

    def initial(self, samples: int) -> State:
        """Make the state of some samples before any pair is added."""
        return self.work.initial(samples)

    def add(self, state: State, mirror: State | None, values: Floats, own: SampleArrays, other: SampleArrays) -> None:
        """Transform kernel values of the parent and add them."""
        arrays = [axis[name] for axis in (own, other) for name in self.names]
        self.work.add(state, mirror, self.transform(values, *arrays), own, other)

    def merge(self, state: State, part: State) -> None:
        """Merge into the state, in place, the state of the same samples from another tile group."""
        self.work.merge(state, part)

    def expand(self, state: State, where: Indices) -> State:
        """Repeat the states of distinct samples for all samples."""
        return self.work.expand(state, where)


def strips(values: Array) -> Iterator[tuple[slice, Floats]]:
    """Cut a tile into strips of rows that fit the processor's cache, as float64, each with its range of rows."""
    height = max(STRIP_ROWS, STRIP_ENTRIES // max(1, values.shape[1]))
    for start in range(0, len(values), height):
        strip = values[start : start + height].astype(np.float64, copy=False)
        yield slice(start, start + len(strip)), strip


def arrays_at(arrays: SampleArrays, where: Any) -> dict[str, Array]:
    """Rows of some of the samples."""
    return {name: array[where] for name, array in arrays.items()}
