"""Products of a stored matrix with vectors, as a map-reduce over its tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from distkern.core.errors import MemoryLimitError
from distkern.core.events import Listener, Progress
from distkern.core.typing import Floats, Indices
from distkern.core.units import readable_bytes
from distkern.engine.memory import largest
from distkern.gram.batches import BATCH, Batch, batches_of
from distkern.gram.map_reduce import MapReduce
from distkern.gram.tile_groups import TileGroup
from distkern.kernels.base import Kernel
from distkern.operators.pairwise import SampleArrays, State
from distkern.store.tiles import GramStore


@dataclass(frozen=True)
class Product:
    """Multiply tiles by the "vectors" at their columns, and their transposes by the "vectors" at their rows."""

    phase: ClassVar[str] = "multiply"

    def start(self, group: TileGroup, on_diagonal: bool, rows: SampleArrays, cols: SampleArrays) -> _Sums:
        """Make the sums of a tile group, given the vectors at its rows or columns, or both."""
        at_rows, at_cols = (batches_of(axis["vectors"]) if "vectors" in axis else [] for axis in (rows, cols))
        return _Sums(group, on_diagonal, at_rows, at_cols)

    def merge(self, state: State, part: State) -> None:
        """Add the partial sums of a tile group."""
        state[0][:] += part[0]


class _Sums:
    """Sums of products with a tile group, for its rows and for its columns."""

    def __init__(self, group: TileGroup, on_diagonal: bool, at_rows: list[Batch], at_cols: list[Batch]) -> None:
        self._at_rows, self._at_cols, self._on_diagonal = at_rows, at_cols, on_diagonal
        self._of_rows = [batch.zeros(group.bottom - group.top) for batch in at_cols]
        self._of_cols = self._of_rows if on_diagonal else [batch.zeros(group.right - group.left) for batch in at_rows]

    def add(self, rows: slice, cols: slice, values: Floats, mirrored: bool) -> None:
        transpose = np.ascontiguousarray(values.T) if any(batch.sparse for batch in self._at_cols) else values.T
        for batch, sums in zip(self._at_cols, self._of_rows, strict=True):
            batch.add(sums, rows, values, transpose, cols)
        if mirrored:
            for batch, sums in zip(self._at_rows, self._of_cols, strict=True):
                batch.add(sums, cols, values.T, values, rows)

    def states(self) -> tuple[State | None, State | None]:
        of_cols = None if self._on_diagonal else _side_by_side(self._at_rows, self._of_cols)
        return _side_by_side(self._at_cols, self._of_rows), of_cols


def _side_by_side(batches: list[Batch], sums: list[Floats]) -> State | None:
    """Sums of all batches in one array, and each freed as it is copied; None where there is no batch."""
    if not batches:
        return None
    return (np.concatenate([batch.product(sums.pop(0)) for batch in batches], axis=1),)


def product(
    store: GramStore,
    kernel: Kernel,
    V: Floats,
    summaries: tuple[SampleArrays, SampleArrays],
    *,
    executor: Any,
    listener: Listener,
    top: Indices | None = None,
    left: Indices | None = None,
    transposed: bool = False,
) -> Floats:
    """K V, or Kᵀ V, for some rows and columns of a stored matrix; a pass reads each stored byte once.

    All vectors share a pass if a task and the client have the memory for it, else groups of whole batches have a pass
    each. The bits do not depend on that, nor on the executor.

    Parameters
    ----------
    kernel
        The kernel of the values, which follow from the stored ones.
    V
        Vectors in columns, with a row for each of the columns or, if ``transposed``, for each of the rows.
    summaries
        Summaries of all computed row samples and column samples.
    top, left
        The rows and columns, as positions of computed samples, which may repeat; all by default.

    Raises
    ------
    MemoryLimitError
        If the memory of a task does not suffice for a batch.
    """
    grid, vectors = store.grid, V.shape[1]
    passes = MapReduce(store, kernel, summaries, executor, listener, top, left)
    of_result, of_vectors = (left, top) if transposed else (top, left)
    result_length, length = (grid.cols, grid.rows) if transposed else (grid.rows, grid.cols)
    out, operand = np.zeros((result_length, vectors)), V
    if of_vectors is not None:
        operand = np.zeros((length, vectors))
        np.add.at(operand, of_vectors, V)
    together = _vectors_together(passes, vectors)
    starts = range(0, vectors, together)
    for number, first in enumerate(starts):
        columns = slice(first, first + together)
        at_vectors = {"vectors": np.ascontiguousarray(operand[:, columns])}
        rows, cols = (at_vectors, {}) if transposed or grid.symmetric else ({}, at_vectors)

        def in_all(event: Progress, before: int = number * len(passes.groups)) -> None:
            listener(replace(event, done=before + event.done, total=len(starts) * len(passes.groups)))

        passes.run(Product(), rows, cols, (out[:, columns],), in_all)
    return out if of_result is None else out[of_result]


def _vectors_together(passes: MapReduce, vectors: int) -> int:
    """Number of vectors of a pass: whole batches, as many as fit the memory of a task and of the client."""

    def fits(vectors: int) -> bool:
        return passes.task_bytes(vectors) <= passes.memory_per_task

    if fits(vectors):
        batches = -(-vectors // BATCH)
    else:
        batches = largest(lambda batches: fits(BATCH * batches), vectors // BATCH)
    if batches == 0 < vectors:
        fewest, fitting = min(vectors, BATCH), largest(fits, BATCH)
        remedy = f"multiply by {fitting} at a time" if fitting else "give the workers more memory, or fewer threads"
        raise MemoryLimitError(
            f"a task that multiplies tiles of side {passes.store.grid.side} by {fewest} vector{'s' * (fewest > 1)} "
            f"takes {readable_bytes(passes.task_bytes(fewest))} and may take {readable_bytes(passes.memory_per_task)}: "
            f"{remedy}"
        )
    return BATCH * max(1, min(batches, passes.numbers_to_hold() // BATCH))
