"""Work on all pairs of samples of a stored matrix, as a map-reduce over its tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.core.errors import MemoryLimitError
from distkern.core.events import Listener
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import readable_bytes
from distkern.gram.map_reduce import MapReduce
from distkern.gram.tile_groups import TileGroup
from distkern.kernels.base import Kernel
from distkern.operators.pairwise import PairWork, SampleArrays, State, arrays_at
from distkern.store.tiles import GramStore

EXCLUDED = -1
"""Position of a computed sample that does not take part."""


@dataclass(frozen=True)
class AllPairs:
    """Do some work on all pairs of samples of a tile; samples whose "position" is `EXCLUDED` are left out."""

    work: PairWork
    phase: ClassVar[str] = "compare"

    def start(self, group: TileGroup, on_diagonal: bool, rows: SampleArrays, cols: SampleArrays) -> _States:
        """Make the states of the samples of a tile group before any pair is added."""
        return _States(self.work, group, on_diagonal, rows, cols)

    def merge(self, state: State, part: State) -> None:
        """Merge into the state, in place, the state of the same samples from another tile group."""
        self.work.merge(state, part)


class _States:
    """States of the row samples and of the column samples of a tile group."""

    def __init__(
        self, work: PairWork, group: TileGroup, on_diagonal: bool, rows: SampleArrays, cols: SampleArrays
    ) -> None:
        self._work, self._rows, self._cols, self._on_diagonal = work, rows, cols, on_diagonal
        self._of_rows = work.initial(group.bottom - group.top)
        self._of_cols = self._of_rows if on_diagonal else work.initial(group.right - group.left)

    def add(self, rows: slice, cols: slice, values: Floats, mirrored: bool) -> None:
        own, other = arrays_at(self._rows, rows), arrays_at(self._cols, cols)
        row_part, col_part = _included(own), _included(other)
        values = values[row_part][:, col_part]
        if not values.size:
            return
        state = tuple(array[rows][row_part] for array in self._of_rows)
        mirror = tuple(array[cols][col_part] for array in self._of_cols) if mirrored else None
        self._work.add(state, mirror, values, arrays_at(own, row_part), arrays_at(other, col_part))
        _write_back(self._of_rows, rows, row_part, state)
        if mirror is not None:
            _write_back(self._of_cols, cols, col_part, mirror)

    def states(self) -> tuple[State | None, State | None]:
        return self._of_rows, None if self._on_diagonal else self._of_cols


def _included(arrays: SampleArrays) -> slice | Indices:
    """Positions of the samples that take part; a slice, which copies nothing, if all samples do."""
    included = arrays["position"] != EXCLUDED
    return slice(None) if included.all() else np.flatnonzero(included)


def _write_back(state: State, where: slice, chosen: slice | Indices, part: State) -> None:
    """Write the states of chosen samples, if these are copies, into the state of all."""
    if not isinstance(chosen, slice):
        for array, updated in zip(state, part, strict=True):
            array[where][chosen] = updated


def work_on_pairs(
    store: GramStore,
    kernel: Kernel,
    work: PairWork,
    arrays: SampleArrays,
    additive: SampleArrays,
    summary: SampleArrays,
    *,
    executor: Any,
    listener: Listener,
    where: Indices | None,
) -> State:
    """Do some work on all pairs of samples of a symmetric stored matrix, reading each stored byte once.

    Parameters
    ----------
    arrays, additive
        Arrays of the samples, as in `BaseGram.map_reduce`.
    summary
        Summary of all computed samples.
    where
        For each sample the computed sample that it is or equals; by default each is computed.

    Raises
    ------
    MemoryLimitError
        If the memory of a task does not suffice; before anything is read.
    """
    known = _of_computed(arrays, additive, where, store.grid.rows)
    one_pass = MapReduce(store, kernel, (summary, summary), executor, listener, where, where)
    per_sample = work.bytes_per_sample + sum(array.nbytes // max(1, len(array)) for array in known.values())
    needed, allowed = one_pass.task_bytes(-(-per_sample // 8)), one_pass.memory_per_task
    if needed > allowed:
        raise MemoryLimitError(
            f"a task that works on the pairs of tiles of side {store.grid.side} takes {readable_bytes(needed)}, "
            f"{per_sample} bytes for each sample, and may take {readable_bytes(allowed)}: ask for less at a time, or "
            "give the workers more memory, or fewer threads"
        )
    state = work.initial(store.grid.rows)
    one_pass.run(AllPairs(work), known, known, state, listener)
    return state if where is None else work.expand(state, where)


def _of_computed(arrays: SampleArrays, additive: SampleArrays, where: Indices | None, count: int) -> dict[str, Array]:
    """Arrays of the computed samples, and the position of the first sample that each is or equals."""
    if where is None:
        return {**arrays, **additive, "position": np.arange(count)}
    known = {"position": np.full(count, EXCLUDED)}
    known["position"][where[::-1]] = np.arange(len(where))[::-1]  # the last position written is the first sample's
    for name, array in arrays.items():
        known[name] = np.zeros((count, *array.shape[1:]), array.dtype)
        known[name][where] = array
    for name, array in additive.items():
        known[name] = np.zeros((count, *array.shape[1:]), array.dtype)
        np.add.at(known[name], where, array)
    return known
