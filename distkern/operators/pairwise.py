"""Work on all pairs of samples while the tiles of their matrix go by, wherever those lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.typing import Array, Floats, Indices

STRIP_ENTRIES = 2**14
"""Entries of a tile that are turned into the kernel's values and worked on at a time."""

STRIP_ROWS = 16
"""Rows that are worked on at a time, at least."""

Numbers = Mapping[str, Array]
"""Numbers of some samples by name, a row for each; "position" is that of the sample, or of the first one it equals."""

State = tuple[Array, ...]
"""What is found of some samples: arrays with a row for each."""


class PairWork(ABC):
    """What is done with the kernel values of all pairs: an immutable value, which travels to the workers.

    Each of them begins a state for the samples of its part and adds the tiles of the part to it, strip by strip; the
    states are merged in a fixed order. Samples that a matrix holds once for many equal ones are met once.
    """

    @property
    @abstractmethod
    def bytes_per_sample(self) -> int:
        """Bytes of the state for each sample."""

    @abstractmethod
    def begin(self, samples: int) -> State:
        """Make the state of samples of which nothing is known yet."""

    @abstractmethod
    def add(self, state: State, mirror: State | None, values: Floats, own: Numbers, other: Numbers) -> None:
        """Take in kernel values (a, b) between a row samples and b column samples, in place.

        Parameters
        ----------
        state
            Of the row samples.
        mirror
            Of the column samples, where these pairs are not met the other way round.
        own, other
            Numbers of the row samples and of the column samples.
        """

    @abstractmethod
    def merge(self, state: State, part: State) -> None:
        """Take in, in place, what another worker found of the same samples."""

    def spread(self, state: State, where: Indices) -> State:
        """States of samples from those of the distinct ones that they equal, which are at ``where``."""
        return tuple(array[where] for array in state)


@dataclass(frozen=True)
class Seen(PairWork):
    """Work on the values of a view, which are made of those of its parent entry by entry.

    Parameters
    ----------
    work
        What is done with the values of the view.
    transform
        Gives them from the parent's values and the numbers of the row and of the column samples, in that order.
    names
        Names of those numbers.
    """

    work: PairWork
    transform: Callable[..., Floats]
    names: tuple[str, ...]

    @property
    def bytes_per_sample(self) -> int:
        """Bytes of the state for each sample."""
        return self.work.bytes_per_sample

    def begin(self, samples: int) -> State:
        """Make the state of samples of which nothing is known yet."""
        return self.work.begin(samples)

    def add(self, state: State, mirror: State | None, values: Floats, own: Numbers, other: Numbers) -> None:
        """Take in kernel values of the parent, in place."""
        numbers = [side[name] for side in (own, other) for name in self.names]
        self.work.add(state, mirror, self.transform(values, *numbers), own, other)

    def merge(self, state: State, part: State) -> None:
        """Take in, in place, what another worker found of the same samples."""
        self.work.merge(state, part)

    def spread(self, state: State, where: Indices) -> State:
        """States of samples from those of the distinct ones that they equal."""
        return self.work.spread(state, where)


def strips(values: Array) -> Iterator[tuple[slice, Floats]]:
    """Cut a tile into strips of rows that the processor's cache holds, as float64, each with its place."""
    height = max(STRIP_ROWS, STRIP_ENTRIES // max(1, values.shape[1]))
    for start in range(0, len(values), height):
        strip = values[start : start + height].astype(np.float64, copy=False)
        yield slice(start, start + len(strip)), strip


def numbers_at(numbers: Numbers, where: Any) -> dict[str, Array]:
    """Numbers of some of the samples."""
    return {name: array[where] for name, array in numbers.items()}
