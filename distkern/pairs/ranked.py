"""The columns of a cohort, ranked once and written to files, from which every task reads those that it compares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.compiled import sparse_columns
from distkern.compiled.inversions import place_dtype, rank
from distkern.compiled.pairwise import rank_observed
from distkern.compiled.significance import tie_sums
from distkern.core.events import Listener, Progress, silent
from distkern.core.typing import Array, Floats, Indices
from distkern.engine.base import Executor
from distkern.engine.executors import Serial
from distkern.engine.memory import share_of
from distkern.engine.run import run
from distkern.pairs.cohorts import Cohort, Table, strips
from distkern.pairs.tiles import load_array, read_only

Form = Literal["dense", "sparse", "gaps"]
"""Complete columns; columns without their zeros; columns with missing values."""

RANK_BYTES = 2**31
"""Most bytes of columns that are ranked at a time."""

ENTRY_BYTES = 40
"""Bytes of a value of a column while it is ranked: it, its copy in a stratum, ranks, and scratch."""

NONZERO_BYTES = 12
"""The same of a nonzero of a column without its zeros: its value and its sample."""

PART_NONZEROS = 2**20
"""Nonzeros that a thread ranks at a time, of whole columns."""

ARRAYS: dict[Form, tuple[str, ...]] = {"dense": ("order", "codes", "tied"), "gaps": ("order", "codes")}
"""Arrays of a form that have an entry for each sample of a column."""


@dataclass(frozen=True)
class Block:
    """Some ranked columns on the samples of one stratum.

    Parameters
    ----------
    form
        How they are ranked.
    n
        Number of samples.
    arrays
        ``untied`` and ``sums`` (columns, 3) from `tie_sums`, unless values are missing; else of the form:
        `inversions.rank`, `rank_observed`, or `sparse_columns.gather`.
    """

    form: Form
    n: int
    arrays: dict[str, Array]

    def __len__(self) -> int:
        return len(self.arrays["observed" if self.form == "gaps" else "untied"])


@dataclass(frozen=True)
class Columns:
    """Ranked columns in the files of a folder.

    Parameters
    ----------
    folder, name
        The folder, and the prefix of the names of the files.
    form
        How the columns are ranked.
    count
        Number of columns.
    bounds
        First sample of each stratum, and the number of all.
    """

    folder: str
    name: str
    form: Form
    count: int
    bounds: tuple[int, ...]

    def file(self, name: str) -> str:
        """Path of an array."""
        return os.path.join(self.folder, f"{self.name}-{name}.npy")

    def array(self, name: str, mode: Any = "r") -> Array:
        """Map an array.

        Raises
        ------
        InputError
            If the folder is not there, because this is another machine.
        """
        return load_array(self.file(name), mode)

    def blocks(self, positions: slice | Indices) -> list[Block]:
        """Read columns: a block for each stratum."""
        if self.form == "sparse":
            return self._sparse_blocks(positions)
        whole = {name: np.array(self.array(name)[positions]) for name in ARRAYS[self.form]}
        per_column = ("observed",) if self.form == "gaps" else ("untied", "sums")
        known = {name: np.array(self.array(name)[positions]) for name in per_column}
        blocks = []
        for k, (start, stop) in enumerate(self.strata()):
            arrays = {name: np.ascontiguousarray(array[:, start:stop]) for name, array in whole.items()}
            arrays |= {name: np.ascontiguousarray(array[:, k]) for name, array in known.items()}
            blocks.append(Block(self.form, stop - start, arrays))
        return blocks

    def strata(self) -> list[tuple[int, int]]:
        """First sample of each stratum, and the one after its last."""
        return list(zip(self.bounds, self.bounds[1:], strict=False))

    def largest(self, side: int) -> int:
        """Entries, of samples or of nonzeros, of the largest block of ``side`` neighbouring columns."""
        if self.form != "sparse":
            return min(side, self.count) * self.bounds[-1]
        starts = self.array("starts")[:: len(self.bounds) - 1]
        return int(np.diff(np.append(starts[:-1:side], starts[-1])).max(initial=0))

    @property
    def widest(self) -> int:
        """Most entries of a column in one stratum."""
        if self.form != "sparse":
            return int(np.diff(self.bounds).max())
        return int(np.diff(self.array("starts")).max(initial=0))

    def _sparse_blocks(self, positions: slice | Indices) -> list[Block]:
        strata = len(self.bounds) - 1
        starts, rows = np.array(self.array("starts")), np.arange(self.count)[positions]
        parts = (rows[:, None] * strata + np.arange(strata)).ravel()  # columns of one stratum after the other
        places, scores = (read_only(self.array(name)) for name in ("places", "scores"))
        found = sparse_columns.gather(places, scores, starts[parts], starts[parts + 1])._asdict()
        known = {name: np.array(self.array(name)[positions]) for name in ("untied", "sums")}
        blocks = []
        for k, (first, last) in enumerate(self.strata()):
            arrays = found | {name: np.ascontiguousarray(array[:, k]) for name, array in known.items()}
            arrays |= {name: np.ascontiguousarray(found[name][k::strata]) for name in ("starts", "nonzeros", "about")}
            blocks.append(Block("sparse", last - first, arrays))
        return blocks


# Ranking ------------------------------------------------------------------------------------------------------------


def rank_cohort(
    cohort: Cohort, folder: str, limit: int | None, pool: Executor | None = None, listener: Listener = silent
) -> tuple[Columns, Columns]:
    """Rank all columns within each stratum, and write them to files; return those of the rows and of the columns.

    Columns are ranked some at a time, in a pass over the table each, so that half of ``limit`` suffices for any table.
    Columns without their zeros are ranked by the threads of ``pool``, unless its workers are other processes.
    """
    form: Form = "gaps" if cohort.gaps else "sparse" if cohort.sparse else "dense"
    budget = min(RANK_BYTES, share_of(limit, 2))
    threads = Serial() if pool is None or pool.remote else pool
    ranked = []
    for name, table in (("X", cohort.X), ("Y", cohort.Y)):
        if table is not None:
            columns = Columns(folder, name, form, table.count, cohort.bounds)
            parts = _rank_sparse(table, columns, budget, threads) if form == "sparse" else None
            for done in parts or _rank_dense(table, columns, budget):
                listener(Progress("rank columns", done, table.count))
            ranked.append(columns)
    return ranked[0], ranked[-1]


def disk_bytes(columns: tuple[Columns, Columns]) -> int:
    """Bytes of the files of ranked columns."""
    return sum(map(os.path.getsize, _files(columns)))


def ranked_arrays(columns: tuple[Columns, Columns]) -> Iterator[Array]:
    """Map the arrays of ranked columns, one after the other."""
    yield from (load_array(file, "r") for file in _files(columns))


def _files(columns: tuple[Columns, Columns]) -> list[str]:
    """Paths of all arrays; columns that are compared with themselves are given twice, and have one set of files."""
    folder, names = columns[0].folder, {f"{one.name}-" for one in columns}
    return [os.path.join(folder, file) for file in sorted(os.listdir(folder)) if any(map(file.startswith, names))]


def _create(columns: Columns, **arrays: tuple[tuple[int, ...], Any]) -> None:
    for name, (shape, dtype) in arrays.items():
        np.lib.format.open_memmap(columns.file(name), "w+", dtype, tuple(max(1, int(size)) for size in shape)).flush()


def _rank_dense(table: Table, columns: Columns, budget: int) -> Iterator[int]:
    """Rank complete columns, or columns with missing values; yield how many are ranked."""
    p, n, strata = columns.count, columns.bounds[-1], columns.strata()
    kind = np.int32 if columns.form == "gaps" else place_dtype(max(stop - start for start, stop in strata))
    _create(columns, order=((p, n), kind), codes=((p, n), kind))
    if columns.form == "gaps":
        _create(columns, observed=((p, len(strata)), np.int64))
    else:
        _create(columns, tied=((p, n), np.uint8), untied=((p, len(strata)), np.int64))
        _create(columns, sums=((p, len(strata), 3), np.float64))
    height = max(1, budget // (ENTRY_BYTES * n))
    for first in range(0, p, height):
        part = slice(first, min(first + height, p))
        values = table.dense(part.start, part.stop)
        for k, (start, stop) in enumerate(strata):
            _rank_stratum(columns, np.ascontiguousarray(values[:, start:stop]), part, slice(start, stop), k)
        yield part.stop


def _rank_stratum(columns: Columns, values: Floats, part: slice, samples: slice, k: int) -> None:
    if columns.form == "gaps":
        order, observed, codes = rank_observed(values)
        arrays = {"order": order, "codes": codes}
        columns.array("observed", "r+")[part, k] = observed
    else:
        order, codes, tied, untied = rank(values)
        arrays = {"order": order, "codes": codes, "tied": tied}
        columns.array("untied", "r+")[part, k] = untied
        columns.array("sums", "r+")[part, k] = np.stack(tie_sums(values), axis=1)
    for name, array in arrays.items():
        columns.array(name, "r+")[part, samples] = array


def _rank_sparse(table: Table, columns: Columns, budget: int, threads: Executor) -> Iterator[int]:
    """Rank columns without their zeros; yield how many are ranked."""
    p, strata = columns.count, len(columns.bounds) - 1
    group, item = _places_of(table, columns.bounds)
    starts = np.concatenate([[0], np.cumsum(table.nonzeros if table.nonzeros is not None else _count(table, group))])
    np.save(columns.file("starts"), starts)
    _create(columns, places=((starts[-1],), np.int32), scores=((starts[-1],), np.int32))
    _create(columns, untied=((p, strata), np.int64), sums=((p, strata, 3), np.float64))
    for first, last in _groups(starts[::strata], budget // NONZERO_BYTES):
        own = starts[first * strata : last * strata + 1]
        count = own[-1] - own[0]
        values, items = np.empty(count), np.empty(count, dtype=np.int32)
        fill = (own[:-1] - own[0]).reshape(last - first, strata)
        for rows in strips(table.source):
            block = table.source.read_sparse(rows)
            sparse_columns.scatter(
                block.data, block.indices, block.indptr, group[rows], item[rows], first, fill, values, items
            )
        _rank_band(columns, first, own, values, items, threads)
        yield last


def _rank_band(columns: Columns, first: int, starts: Indices, values: Floats, items: Array, threads: Executor) -> None:
    """Rank neighbouring columns, some of them in each thread, and write them to the files."""
    sizes = np.diff(columns.bounds)
    strata = len(sizes)

    def rank_part(part: tuple[int, int]) -> None:
        own = starts[part[0] * strata : part[1] * strata + 1]
        here, whole = slice(own[0] - starts[0], own[-1] - starts[0]), slice(own[0], own[-1])
        n = np.tile(sizes, part[1] - part[0])
        places, scores = np.empty((2, own[-1] - own[0]), dtype=np.int32)
        sums = np.empty((3, len(n)))
        sparse_columns.rank_columns(values[here], items[here], own - own[0], n, places, scores, *sums)
        columns.array("places", "r+")[whole], columns.array("scores", "r+")[whole] = places, scores
        rows = slice(first + part[0], first + part[1])
        columns.array("untied", "r+")[rows] = (n * (n - 1) // 2 - sums[0].astype(np.int64)).reshape(-1, strata)
        columns.array("sums", "r+")[rows] = sums.T.reshape(-1, strata, 3)

    parts = list(_groups(starts[::strata] - starts[0], PART_NONZEROS))
    run(threads, rank_part, parts, lambda _: None, phase="rank columns", listener=silent)


def _count(table: Table, group: Indices) -> Array:
    """Nonzeros of each column in each stratum."""
    counts = np.zeros((table.count, int(group.max()) + 1), dtype=np.int64)
    for rows in strips(table.source):
        block = table.source.read_sparse(rows)
        sparse_columns.count_nonzeros(block.indices, block.indptr, group[rows], counts)
    return counts


def _places_of(table: Table, bounds: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Stratum of each sample of a table, or −1, and its number in the stratum."""
    group = np.where(table.slots < 0, -1, np.searchsorted(bounds, table.slots, "right") - 1)
    return group.astype(np.int64), (table.slots - np.asarray(bounds)[group]).astype(np.int64)


def _groups(starts: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Divide columns into groups of at most ``most`` nonzeros, or of one column."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + most, "right")) - 1)
        yield first, last
        first = last
