"""Work on all pairs of features, in tiles of two blocks of features, with a reduction: no matrix of pairs is kept."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from distkern.compiled.pair_signs import CHUNK, WORD, common_samples, observed_bits, tile_differences
from distkern.core.allowance import allowed_bytes
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.events import Listener
from distkern.core.typing import Array, Indices
from distkern.core.units import readable_bytes
from distkern.engine.base import Executor
from distkern.engine.executors import Serial
from distkern.engine.run import await_workers, run
from distkern.pairs.codes import SignCodes
from distkern.pairs.kept import Kept, digest_of, read_part, write_part
from distkern.pairs.keys import KeyRule

SIDE = 256
"""Features of a block."""

WIDTH = 1024
"""Most features that a few rows are compared with at a time."""

COUNT_BYTES = 2**23
"""Most bytes of the counts of a tile; with many cells a tile has fewer rows."""

GROUP_COMPARISONS = 1e10
"""Comparisons of a group of tiles, the work of a task: up to a second."""

GROUPS_ACROSS = 12
"""Least number of groups in a row of groups, if there are so many tiles: enough to share among workers."""

FEW_COMPARISONS = 2e8
"""Comparisons that this thread does itself, since it has done them before workers have started."""


# Arrays and tiles ----------------------------------------------------------------------------------------------------


class SharedArrays:
    """Arrays that all tasks read: from memory in this process, from files of a folder in other processes."""

    def __init__(self, arrays: Mapping[str, Array], folder: str | None) -> None:
        self._arrays, self._folder = dict(arrays), folder
        if folder is not None:
            for name, array in arrays.items():
                np.save(os.path.join(folder, f"{name}.npy"), array)

    def __getstate__(self) -> dict[str, Any]:
        return {"_arrays": {}, "_folder": self._folder}

    def __getitem__(self, name: str) -> Array:
        if name not in self._arrays:
            self._arrays[name] = load_array(os.path.join(self._folder or "", f"{name}.npy"))
        return self._arrays[name]


def load_array(path: str, mode: Any = "r") -> Array:
    """Map an array of a folder that all workers share.

    Raises
    ------
    InputError
        If the folder is not there, because this is another machine.
    """
    try:
        return np.load(path, mmap_mode=mode)
    except FileNotFoundError:
        raise InputError(
            f"the temporary folder {os.path.dirname(path)!r} is not there on this worker: put the store, or TMPDIR if "
            "there is no store, on a disk that all workers share, or compute with executor='threads'"
        ) from None


@dataclass(frozen=True)
class Tile:
    """Keys of the pairs of some row features and some column features, for one contrast.

    The array of keys is used again for the next contrast.

    Parameters
    ----------
    contrast
        Number of the contrast.
    rows, cols
        Positions of the features among those of the pass.
    keys
        Scores as whole numbers, int64 (a, b); 0 where a pair does not compete.
    row_sums, col_sums, shift
        T of the features: the secondary score is abs(T_i − T_j), rounded to a multiple of 2^shift.
    row_features, col_features
        Positions of the features in the cohort.
    """

    contrast: int
    rows: slice
    cols: slice
    keys: Array
    row_sums: Array
    col_sums: Array
    shift: int
    row_features: Indices
    col_features: Indices


@dataclass(frozen=True)
class PairWork:
    """The pairs of a pass, and how they are scored.

    Parameters
    ----------
    arrays
        ``codes`` (p, m), ``sums`` T (contrasts, p), ``features`` the positions in the cohort (p,), and ``allowed``
        (contrasts, p): whether a feature competes.
    starts, plain
        As in `SignCodes`, for the features of the pass.
    whole
        Whether no rule asks how many samples observe a pair.
    rules
        One for each contrast.
    numbers
        Numbers of the contrasts to score.
    row_count, col_count
        Number of features that may stand in rows, the first ones: all, or the pivots; and number of all features. A
        pair is a row feature and a later one.
    """

    arrays: SharedArrays
    starts: Indices
    plain: Array
    whole: bool
    rules: tuple[KeyRule, ...]
    numbers: tuple[int, ...]
    row_count: int
    col_count: int

    @property
    def height(self) -> int:
        """Rows of a tile."""
        return max(8, min(SIDE, COUNT_BYTES // (SIDE * self._bytes_of_pair)))

    @property
    def _bytes_of_pair(self) -> int:
        """Bytes of the counts of a pair."""
        return 4 * len(self.plain) * (1 if self.whole else 2)

    @property
    def bytes(self) -> int:
        """Bytes that a tile takes: counts, keys, and the codes of a few samples."""
        counts = SIDE * self.height * self._bytes_of_pair
        return counts + SIDE * (16 * SIDE + 2 * CHUNK * self.arrays["codes"].itemsize)

    def tiles(self, rows: slice, cols: slice) -> Iterator[Tile]:
        """Score the pairs of two ranges of features of the pass: a tile for each contrast and part of the rows."""
        for start in range(rows.start, rows.stop, self.height):
            part = slice(start, min(start + self.height, rows.stop))
            for block in _blocks(cols, SIDE):
                if block.stop - 1 > start:  # a feature of the block comes after a row
                    yield from self._scored(part, part, block, _not_later(part, block))

    def of_rows(self, rows: Indices) -> Iterator[Tile]:
        """Score the pairs of some features with all others; the rows of a tile are positions in ``rows``."""
        width = max(SIDE, min(WIDTH, COUNT_BYTES // (len(rows) * self._bytes_of_pair)))
        for block in _blocks(slice(0, self.col_count), width):
            cols = np.arange(block.start, block.stop)
            excluded = (rows[:, None] == cols) | ((rows[:, None] >= self.row_count) & (cols >= self.row_count))
            yield from self._scored(rows, slice(0, len(rows)), block, excluded)

    def _scored(self, which: slice | Indices, rows: slice, cols: slice, excluded: Array | None) -> Iterator[Tile]:
        codes, features, allowed = (self.arrays[name] for name in ("codes", "features", "allowed"))
        counts, observed = tile_counts(codes[which], codes[cols], self.starts, self.plain, self.whole)
        keys = np.empty(counts.shape[1:], dtype=np.int64)
        for number in self.numbers:
            rule, sums = self.rules[number], self.arrays["sums"][number]
            rule.fill(counts, observed, keys)
            if excluded is not None:
                keys[excluded] = 0
            if not allowed[number].all():
                keys[~allowed[number, which]] = 0
                keys[:, ~allowed[number, cols]] = 0
            yield Tile(number, rows, cols, keys, sums[which], sums[cols], rule.shift, features[which], features[cols])


def _blocks(cols: slice, width: int) -> Iterator[slice]:
    for left in range(cols.start, cols.stop, width):
        yield slice(left, min(left + width, cols.stop))


def _not_later(rows: slice, cols: slice) -> Array | None:
    """Where a column is not after a row; None if all are."""
    if cols.start >= rows.stop:
        return None
    return np.arange(cols.start, cols.stop) <= np.arange(rows.start, rows.stop)[:, None]


def tile_counts(left: Array, right: Array, starts: Indices, plain: Array, whole: bool) -> tuple[Array, Array | None]:
    """D = L − G of all pairs of two blocks of features by cell, and n unless ``whole``: int32 (cells, a, b)."""
    left, right = read_only(left), read_only(right)
    limits = np.iinfo(left.dtype)
    counts = np.zeros((len(plain), len(left), len(right)), dtype=np.int32)
    tile_differences(left, right, starts, plain, limits.min, limits.max, counts)
    if whole:
        return counts, None
    observed = np.empty_like(counts)
    for cell in range(len(plain)):
        columns = slice(starts[cell], starts[cell + 1])
        words = -(-(columns.stop - columns.start) // WORD)
        of_left, of_right = (np.empty((len(side), words), dtype=np.uint64) for side in (left, right))
        for side, found in ((left, of_left), (right, of_right)):
            observed_bits(side[:, columns], limits.min, found)
        common_samples(of_left, of_right, observed[cell])
    return counts, observed


def read_only(array: Array) -> Array:
    """View an array, or what a file is mapped to, as a read-only array: one type for the compiled routines."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


# Groups of tiles, and reductions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """A rectangle of pairs: the work of a task. It depends on the sizes of the cohort alone."""

    rows: slice
    cols: slice


Part = dict[str, Array]
"""What a reduction makes of the pairs of a group, or of all groups: arrays by name."""


class Reduction(ABC):
    """What is kept of all pairs; it does not depend on how the pairs are divided into tiles and groups."""

    @abstractmethod
    def start(self, work: Any, group: Group) -> Any:
        """Return an accumulator for the pairs of a group, with methods ``add(tile)`` and ``part()``."""

    @abstractmethod
    def merge(self, group: Group, part: Part) -> None:
        """Add the part of a group to what is known of all pairs."""

    @abstractmethod
    def bytes(self, group: Group) -> int:
        """Bytes that an accumulator takes."""

    @abstractmethod
    def describe(self) -> str:
        """Describe all parameters, for the digest of the work."""


@dataclass(frozen=True)
class GroupTask:
    """Score the pairs of a group, and reduce them."""

    number: int
    group: Group
    work: Any
    reduction: Reduction


@dataclass(frozen=True)
class GroupDone:
    """The reduced pairs of a group."""

    number: int
    part: Part


def score_group(task: GroupTask) -> GroupDone:
    """Score and reduce the pairs of a group."""
    accumulator = task.reduction.start(task.work, task.group)
    for tile in task.work.tiles(task.group.rows, task.group.cols):
        accumulator.add(tile)
    return GroupDone(task.number, accumulator.part())


def groups_of(rows: int, cols: int, samples: int) -> list[Group]:
    """Divide all pairs of a row feature and a later feature into groups of tiles.

    Examples
    --------
    >>> [len(groups_of(p, p, 100)) for p in (50, 600, 20_000)]
    [1, 6, 78]
    """
    across = -(-cols // SIDE)
    wanted = int((GROUP_COMPARISONS / max(1, samples)) ** 0.5) // SIDE
    step = SIDE * max(1, min(wanted, -(-across // GROUPS_ACROSS)))
    return [
        Group(slice(top, min(top + step, rows)), slice(left, min(left + step, cols)))
        for top in range(0, rows, step)
        for left in range(top, cols, step)
        if min(left + step, cols) - 1 > top
    ]


def reduce_pairs(
    codes: SignCodes,
    features: Indices,
    row_count: int,
    rules: Sequence[KeyRule],
    sums: Array,
    allowed: Array,
    reduction: Reduction,
    *,
    executor: Executor,
    listener: Listener,
    store: str | os.PathLike[str] | None,
) -> PairWork:
    """Score all pairs, merge them into a reduction, and return the work, with which single rows can be scored again.

    Parameters
    ----------
    codes
        The codes of the features of the pass, in the order of the pass.
    features
        Positions of these features in the cohort.
    row_count, allowed, rules, sums
        As in `PairWork`.
    store
        Folder that keeps the parts of finished groups; None to keep nothing.

    Raises
    ------
    MemoryLimitError
        If a task does not fit in memory.
    StoreMismatchError
        If the folder holds parts of other work.
    """
    p, samples = codes.codes.shape
    groups = groups_of(row_count, p, samples)
    if row_count * p * samples <= FEW_COMPARISONS:
        executor = Serial()
    await_workers(executor, listener)
    arrays = {"codes": codes.codes, "sums": sums, "features": features, "allowed": allowed}
    kept = None
    if store is not None:
        about = "".join(map(_text, rules)) + f"{row_count} {SIDE} {reduction.describe()}"
        kept = Kept(store, "pairs", "scores of pairs")
        kept.claim(digest_of((*arrays.values(), codes.starts), about))
    with _folder(executor, kept) as folder:
        shared = SharedArrays(arrays, folder)
        numbers = tuple(range(len(rules)))
        whole = all(rule.weights is not None for rule in rules)
        work = PairWork(shared, codes.starts, codes.plain, whole, tuple(rules), numbers, row_count, p)
        limit = _limit_beside(arrays, executor)
        run_groups(work, groups, reduction, samples, executor=executor, listener=listener, limit=limit, kept=kept)
    return replace(work, arrays=SharedArrays(arrays, None))


def run_groups(
    work: Any,
    groups: Sequence[Group],
    reduction: Reduction,
    samples: int,
    *,
    executor: Executor,
    listener: Listener,
    limit: int | None = None,
    kept: Kept | None = None,
    phase: str = "score pairs",
) -> None:
    """Work on all groups of pairs, and merge what the reduction makes of each.

    Parameters
    ----------
    work
        The numbers of pairs: ``tiles(rows, cols)`` yields those of two ranges of features; each takes ``bytes``.
    samples
        Number of samples, for messages.
    limit
        Bytes that tasks in this process may use together.
    kept
        The parts of groups that an earlier run finished.
    phase
        Name of the work, for those who are told of its progress.

    Raises
    ------
    MemoryLimitError
        If a task does not fit in memory.
    """
    needed = work.bytes + max((reduction.bytes(group) for group in groups), default=0)
    if needed > (may := executor.memory_per_task(limit)):
        raise MemoryLimitError(
            f"a task on the pairs of {samples:,} samples takes {readable_bytes(needed)} and may take "
            f"{readable_bytes(may)}: give the workers more memory, or fewer threads, or ask for fewer pairs"
        )
    left = []
    for number, group in enumerate(groups):
        part = None if kept is None else read_part(_file(kept, number))
        if part is None:
            left.append(GroupTask(number, group, work, reduction))
        else:
            reduction.merge(group, part)

    def merge(finished: GroupDone) -> None:
        if kept is not None:
            write_part(_file(kept, finished.number), finished.part)
        reduction.merge(groups[finished.number], finished.part)

    run(executor, score_group, left, merge, phase=phase, listener=listener, done=len(groups) - len(left))


def _file(kept: Kept, number: int) -> Path:
    return kept.file(f"part-{number}")


def _limit_beside(arrays: Mapping[str, Array], executor: Executor) -> int | None:
    """Bytes that this process may use beside the arrays; None without a limit, and for workers, who have their own."""
    limit = allowed_bytes()
    if limit is None or executor.remote:
        return None
    return max(0, limit - sum(array.nbytes for array in arrays.values()))


@contextmanager
def _folder(executor: Executor, kept: Kept | None) -> Iterator[str | None]:
    """Yield a folder for the arrays that workers in other processes read; None if there are no such workers."""
    if not executor.remote:
        yield None
    else:
        within = None if kept is None else kept.folder
        with tempfile.TemporaryDirectory(prefix="distkern-", dir=within, ignore_cleanup_errors=True) as folder:
            yield folder


def _text(rule: KeyRule) -> str:
    arrays = [rule.weights] if rule.table is None else vars(rule.table).values()
    return f"{[np.asarray(array).tolist() for array in arrays]} {rule.denominator} {rule.shift}"
