"""Ranks of a cohort, sorted once: what models of quantile-normalised samples read in every pass.

Only the order of the values of a sample enters such models. A store of ranks keeps, for each value, the first rank of
its tie group as uint16 (uint32 above 65,535 features): 2 bytes a value. The number of features, p, stands for a missing
value. It is in memory, or in a folder:

* ``ranks.npy``: (m, p), the ranks.
* ``groups.npy``: (m,), int64, the number of distinct values of each sample.
* ``blocks.txt``: a line for each finished block of samples: a digest of its values, and one of its ranks.
* ``ranks.json``: shape, names of samples and features, and whether values may be missing.

A block is finished when its line is written. A store that was interrupted goes on after the last of them, and compares
the samples of finished blocks with their digests.

`RankStore.pass_over` multiplies by the matrices Π_x in one pass over the ranks, for several vectors at a time: see
`distkern.compiled.rank_passes`. Sums are taken by blocks, and those of blocks in their order, so that the number of
threads does not change a bit.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from distkern.compiled.lanes import TOGETHER, from_lanes, in_lanes, zeros
from distkern.compiled.rank_passes import add_to_features, add_to_ranks, first_ranks, outputs
from distkern.compiled.rank_ties import fill_rows, separate, share_rows
from distkern.core.errors import InputError, StoreError, StoreMismatchError
from distkern.core.events import Progress
from distkern.core.files import as_path, write_text
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Floats, Indices
from distkern.engine.executors import usable_cores
from distkern.engine.progress import progress_listener
from distkern.io.digests import fingerprint, sample_digests
from distkern.io.source import Source, as_source
from distkern.kernels.quantile_targets import TIES, read_block, refuse_unranked

FORMAT = 1
"""Version of the files."""

BLOCK_BYTES = 2**23
"""Bytes of the ranks of a block, about: so many that the sums of a block are little beside the work on it."""

ROOM = 4
"""Tie groups of a block that have rows of their own, at most: the number of features divided by this,"""

LEAST_ROOM = 512
"""or so many. More of them would fill the cache; the samples they belong to are taken one by one."""

REMEMBERED = 2**25
"""Bytes of tie groups that are remembered from one pass to the next."""

MOST_ROWS = 512
"""Most samples of a block."""

MISSING = ("error", "interpolate")
"""Treatments of missing values."""

MOST_SHORT = 2**16 - 1
"""Most features whose ranks are stored in two bytes."""

Respond = Callable[[slice, Floats], Floats]
"""Given the positions of some samples and their outputs (k, C), return the weights ρ (k, C) of both sums."""


class RankStore:
    """Ranks of the values within each sample, (m, p): in memory, or in a folder.

    Make one with `of` (in memory) or `write` (a folder), and open a folder with `open`. Models of quantile-normalised
    samples, such as `SUQUANClassifier`, take it in the place of samples, so that the cohort is sorted once.

    Source: Vert's slides on supervised quantile normalisation (SUQUAN): "sorted once at the first iteration".

    Attributes
    ----------
    ranks
        First rank, from 0, of the tie group of each value, (m, p), uint16 or uint32; p where it is missing.
    groups
        Number of distinct values of each sample, (m,).
    ids, features
        Names of samples and features, or None.
    shape
        (m, p).
    missing
        ``"error"``: no value is missing. ``"interpolate"``: some may be; see `SUQUANClassifier`.
    ties
        What equal values have: ``"mean"``, the same part of each of their ranks, or ``"mid"``; see `with_ties`.

    Raises
    ------
    SampleError
        If a value is infinite, or missing with ``"error"``, or a sample has no value; it is named.
    InputError
        If there are fewer than two features.
    StoreError
        If the folder holds something else, is not finished or is damaged.
    StoreMismatchError
        If `write` finds the ranks of other samples there.

    See Also
    --------
    SUQUANClassifier, SUQUANRegressor : Learners that read it.

    Examples
    --------
    >>> store = RankStore.of([[7.0, 5.0, 9.0], [4.0, 4.0, 1.0]])
    >>> store.ranks
    array([[1, 0, 2],
           [1, 1, 0]], dtype=uint16)
    >>> store.normalised(np.array([10.0, 20.0, 30.0]))
    array([[20., 10., 30.],
           [25., 25., 10.]])
    """

    def __init__(
        self,
        ranks: Array,
        groups: Array,
        ids: tuple[str, ...] | None = None,
        features: tuple[str, ...] | None = None,
        path: Path | None = None,
        missing: str = "error",
    ) -> None:
        self.ranks, self.groups, self.ids, self.features, self.path = ranks, groups, ids, features, path
        self.shape: tuple[int, int] = ranks.shape
        self.missing, self.ties = missing, "mean"
        self._ties = _KnownTies()

    @classmethod
    def of(cls, X: Any, missing: str = "error") -> RankStore:
        """Rank samples in memory; X is anything that `compute_gram` takes, or a store, which is returned."""
        if isinstance(X, RankStore):
            return X
        source = _checked(X, missing)
        ranks, groups = np.empty(source.shape, _dtype(source.shape[1])), np.empty(len(source), np.int64)
        for rows in _blocks(*source.shape):
            first_ranks(_values(source, rows, missing), ranks[rows], groups[rows])
        return cls(ranks, groups, source.ids, source.features, missing=missing)

    @classmethod
    def of_rows(cls, source: Source, rows: slice, missing: str = "error") -> RankStore:
        """Rank some samples of a source in memory; errors name them."""
        values = _values(source, rows, missing)
        ranks, groups = np.empty(values.shape, _dtype(values.shape[1])), np.empty(len(values), np.int64)
        first_ranks(values, ranks, groups)
        ids = None if source.ids is None else source.ids[rows]
        return cls(ranks, groups, ids, source.features, missing=missing)

    @classmethod
    def write(cls, X: Any, path: str | os.PathLike[str], missing: str = "error", *, progress: Any = False) -> RankStore:
        """Rank samples block by block into a folder; go on where an earlier call was interrupted.

        Parameters
        ----------
        X
            Samples.
        path
            Folder, which is made; or that of an earlier call for the same samples.
        missing
            ``"error"``: missing values are refused. ``"interpolate"``: they are kept as such.
        progress
            As for `compute_gram`.

        Raises
        ------
        SampleError, InputError, StoreError, StoreMismatchError
            See the class.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     RankStore.write([[7.0, 5.0, 9.0]], f"{folder}/ranks").shape
        (1, 3)
        """
        source, folder = _checked(X, missing), as_path(path)
        _begin(source, folder, missing)
        ranks, groups = (np.load(folder / name, mmap_mode="r+") for name in ("ranks.npy", "groups.npy"))
        known, listener = _finished(folder), progress_listener(progress)
        with (folder / "blocks.txt").open("a") as lines:
            for number, rows in enumerate(_blocks(*source.shape)):
                values = _values(source, rows, missing)
                digest = fingerprint(sample_digests(values), source.shape[1])
                if number < len(known):
                    _refuse_other_samples(known[number][0], digest, rows, folder)
                else:
                    first_ranks(values, ranks[rows], groups[rows])
                    ranks.flush()
                    groups.flush()
                    lines.write(f"{digest} {_digest(ranks[rows], groups[rows])}\n")
                    lines.flush()
                    os.fsync(lines.fileno())
                listener(Progress("rank samples", rows.stop, len(source)))
        return cls.open(folder)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RankStore:
        """Open a folder that `write` has finished; the ranks stay on disk and are read in each pass.

        Raises
        ------
        StoreError
            See the class.
        """
        folder = as_path(path)
        described = _described(folder)
        shape = (described["samples"], described["features"])
        try:
            ranks, groups = (np.load(folder / name, mmap_mode="r") for name in ("ranks.npy", "groups.npy"))
        except (OSError, ValueError) as error:
            raise StoreError(f"the ranks in {str(folder)!r} are damaged ({error}): write them anew") from error
        if ranks.shape != shape or groups.shape != shape[:1] or ranks.dtype != _dtype(shape[1]):
            raise StoreError(f"the ranks in {str(folder)!r} are damaged (their shape is another): write them anew")
        done, needed = len(_finished(folder)), sum(1 for _ in _blocks(*shape))
        if done < needed:
            raise StoreError(
                f"the ranks in {str(folder)!r} are not finished ({done:,} of {needed:,} blocks): call RankStore.write "
                "with the same samples again, which goes on"
            )
        ids, names = (None if described[key] is None else tuple(described[key]) for key in ("ids", "names"))
        return cls(ranks, np.array(groups), ids, names, folder, described["missing"])

    def verify(self) -> None:
        """Compare all ranks with their digests.

        Raises
        ------
        StoreError
            If a block differs; names its samples.
        """
        if self.path is None:
            return
        for (_, digest), rows in zip(_finished(self.path), _blocks(*self.shape), strict=True):
            if _digest(self.ranks[rows], self.groups[rows]) != digest:
                raise StoreError(
                    f"the ranks of samples {rows.start} to {rows.stop - 1} in {str(self.path)!r} are damaged: write "
                    "them anew"
                )

    @property
    def digest(self) -> str:
        """Digest of all ranks, 32 hexadecimal digits."""
        found = blake2b(digest_size=16)
        for rows in _blocks(*self.shape):
            found.update(_digest(self.ranks[rows], self.groups[rows]).encode())
        return found.hexdigest()

    def with_ties(self, ties: str) -> RankStore:
        """The same ranks, with another treatment of equal values: ``"mean"`` or ``"mid"``; see `SUQUANClassifier`."""
        other = copy(self)
        other.ties = one_of(ties, "ties", TIES)
        return other

    def gap(self) -> tuple[int, int] | None:
        """Sample and feature of the first missing value, or None."""
        if self.missing == "error":
            return None
        p = self.shape[1]
        for i in np.flatnonzero(self.groups < p).tolist():
            found = np.flatnonzero(self.ranks[i] == p)
            if len(found):
                return i, int(found[0])
        return None

    # Passes ----------------------------------------------------------------------------------------------------------

    def pass_over(
        self,
        W: Floats | None,
        F: Floats | None,
        respond: Respond,
        *,
        by_feature: bool | Indices = False,
        by_rank: bool | Indices = False,
    ) -> tuple[Floats | None, Floats | None]:
        """Go over all ranks once: outputs z_ic = w_cᵀ Π_{x_i} f_c, and weighted sums of what they are made of.

        Parameters
        ----------
        W, F
            w_c and f_c as columns, (p, C) each. One of them may be None: then there are no outputs (``respond`` is
            given zeros), and only the sums that need the other one.
        respond
            Is given the positions of some samples and their outputs, (k, C), and returns ρ, (k, C). Blocks may come in
            any order, and from several threads.
        by_feature
            Whether to return Σ_i ρ_ic Π_{x_i} f_c, (p, C); or the columns c for which.
        by_rank
            Whether to return Σ_i ρ_ic Π_{x_i}ᵀ w_c, (p, C); or the columns c for which.

        Returns
        -------
        Both sums, or None.

        Examples
        --------
        >>> store, w, f = RankStore.of([[7.0, 5.0, 9.0]]), np.array([[1.0], [0.0], [2.0]]), np.array([[1.0], [2], [4]])
        >>> seen = []
        >>> found = store.pass_over(w, f, lambda rows, z: seen.append(z) or 10 * z, by_feature=True, by_rank=True)
        >>> seen[0], found[0].ravel(), found[1].ravel()
        (array([[10.]]), array([200., 100., 400.]), array([  0., 100., 200.]))
        """
        columns = (W if W is not None else F).shape[1]  # type: ignore[union-attr]
        left, right = (None if V is None else in_lanes(V) for V in (W, F))
        jobs: list[_Sum] = [
            _ByFeature(_chosen(by_feature, columns) if F is not None else _chosen(False, columns), F, right),
            _ByRank(_chosen(by_rank, columns) if W is not None else _chosen(False, columns), W, left),
        ]

        def work(rows: slice) -> list[list[Floats]]:
            block = self._block(rows)
            Z = np.zeros((len(block.groups), columns))
            if left is not None and right is not None:
                found = in_lanes(Z)
                for w, f, z in zip(left, block.with_ties(right), found, strict=True):
                    outputs(block.ranks, block.groups, block.mid, w, f, z)
                Z = from_lanes(found, columns)
            R = np.asarray(respond(rows, Z), dtype=np.float64)
            return [job.part(block, R) for job in jobs]

        for parts in _in_order(work, _blocks(*self.shape)):
            for job, part in zip(jobs, parts, strict=True):
                job.add(part)
        return jobs[0].total(), jobs[1].total()

    def _block(self, rows: slice) -> _Block:
        """Some samples, whose tie groups have rows of their own where there are few."""
        ranks, groups, p = self._read(rows), self.groups[rows], self.shape[1]
        mid = self.ties == "mid"
        if not (groups < p).any():
            return _Block(ranks, groups, np.zeros((0, 2), np.int64), mid)
        own = ranks if self.path is not None else ranks.copy()
        known = self._ties.of(rows, own, groups)
        own.reshape(-1)[known.places] = known.numbers
        return _Block(own, known.groups, known.found, mid)

    def normalised(self, f: Floats) -> Floats:
        """Φ_f(x) = Π_x f of each sample, (m, p), for f of any order, (p,)."""
        return self.normalised_rows(f, slice(0, len(self)))

    def normalised_rows(self, f: Floats, rows: slice) -> Floats:
        """Φ_f(x) of some samples, (k, p)."""
        block, one = self._block(rows), np.ones(1)
        [table] = block.with_ties([np.array(f, dtype=np.float64)])
        out = np.empty(block.ranks.shape)
        for i, own in enumerate(out):
            if block.groups[i] == len(own):
                np.take(table, block.ranks[i], out=own, mode="clip")  # "raise" takes a copy
            else:
                own[:] = 0.0
                add_to_features(block.ranks[i : i + 1], block.groups[i : i + 1], block.mid, one, table, own)
        return out

    def _read(self, rows: slice) -> Array:
        """Ranks of some samples, C-contiguous; from a file without mapping it, so that its pages take no memory."""
        if self.path is None:
            return np.ascontiguousarray(self.ranks[rows])
        start, stop, _ = rows.indices(len(self))
        p, dtype = self.shape[1], self.ranks.dtype
        place = self.ranks.offset + start * p * dtype.itemsize  # type: ignore[attr-defined]
        found = np.fromfile(self.path / "ranks.npy", dtype, (stop - start) * p, offset=place)
        if len(found) < (stop - start) * p:
            raise StoreError(f"the ranks in {str(self.path)!r} are damaged (the file is too short): write them anew")
        return found.reshape(stop - start, p)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"at {str(self.path)!r}"
        return f"<RankStore {where}: {self.shape[0]:,} samples, {self.shape[1]:,} features>"


@dataclass(frozen=True, eq=False)
class _Ties:
    """Tie groups of some samples that have rows of their own: numbers of these rows, and where they belong."""

    places: Indices
    numbers: Array
    groups: Array
    found: Array

    @classmethod
    def of(cls, ranks: Array, groups: Array) -> _Ties:
        """Look for the tie groups among the ranks of some samples."""
        p = ranks.shape[1]
        separated, counts = ranks.copy(), groups.copy()
        found = np.empty((min(max(p // ROOM, LEAST_ROOM), int(np.iinfo(ranks.dtype).max) - p), 2), np.int64)
        used = separate(separated, counts, found)
        places = np.flatnonzero(separated != ranks)
        return cls(places, separated.reshape(-1)[places], counts, found[:used].copy())

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.places, self.numbers, self.groups, self.found))


class _KnownTies:
    """Tie groups of blocks, remembered as far as they take little memory."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, int], _Ties] = {}
        self._nbytes = 0

    def of(self, rows: slice, ranks: Array, groups: Array) -> _Ties:
        """Those of some samples, whose ranks and numbers of groups these are."""
        known = self.blocks.get((rows.start, rows.stop))
        if known is None:
            known = _Ties.of(ranks, groups)
            if self._nbytes + known.nbytes <= REMEMBERED:
                self._nbytes += known.nbytes
                self.blocks[rows.start, rows.stop] = known
        return known


class _Block:
    """Samples of a pass, with what is known of their tie groups: see `distkern.compiled.rank_ties`."""

    def __init__(self, ranks: Array, groups: Array, found: Array, mid: bool) -> None:
        self.ranks, self.groups, self.found, self.mid = ranks, groups, found, mid
        self._known: dict[int, list[Floats]] = {}

    def rows(self, tables: list[Floats]) -> list[Floats]:
        """Zeros for tables, and for the tie groups."""
        p, *lanes = tables[0].shape
        return list(zeros(len(tables), p + 1 + len(self.found) if len(self.found) else p, *lanes))

    def with_ties(self, tables: list[Floats]) -> list[Floats]:
        """Tables with the rows of the tie groups."""
        if not len(self.found) or not tables:
            return tables
        if id(tables) not in self._known:
            self._known[id(tables)] = extended = self.rows(tables)
            for table, own in zip(tables, extended, strict=True):
                own[: len(table)] = table
                fill_rows(own, len(table), self.found, self.mid)
        return self._known[id(tables)]

    def shared(self, sums: list[Floats]) -> list[Floats]:
        """Sums without the rows of the tie groups, whose ranks share them."""
        p = self.ranks.shape[1]
        for own in sums:
            share_rows(own, p, self.found, self.mid)
        return [own[:p] for own in sums]


class _Sum(ABC):
    """A weighted sum of a pass, for some of its columns.

    ``tables`` are those of all columns of V.
    """

    def __init__(self, chosen: Indices, V: Floats | None, tables: list[Floats] | None) -> None:
        self.chosen, self._tables = chosen, []
        if V is not None and tables is not None and len(chosen):
            self._tables = tables if len(chosen) == V.shape[1] else in_lanes(V[:, chosen])
        self._totals = [zeros(*table.shape) for table in self._tables]

    def part(self, block: _Block, R: Floats) -> list[Floats]:
        """The sum over some samples."""
        return self._sums(block, in_lanes(R[:, self.chosen])) if self._tables else []

    @abstractmethod
    def _sums(self, block: _Block, weights: list[Floats]) -> list[Floats]:
        """The sums over the samples of a block."""

    def add(self, parts: list[Floats]) -> None:
        for total, part in zip(self._totals, parts, strict=True):
            total += part

    def total(self) -> Floats | None:
        return from_lanes(self._totals, len(self.chosen)) if self._totals else None


class _ByFeature(_Sum):
    """Σ_i ρ_ic Π_{x_i} f_c."""

    def _sums(self, block: _Block, weights: list[Floats]) -> list[Floats]:
        p = block.ranks.shape[1]
        sums = list(zeros(len(self._tables), p, *self._tables[0].shape[1:]))
        for own, table, part in zip(weights, block.with_ties(self._tables), sums, strict=True):
            add_to_features(block.ranks, block.groups, block.mid, own, table, part)
        return sums


class _ByRank(_Sum):
    """Σ_i ρ_ic Π_{x_i}ᵀ w_c."""

    def _sums(self, block: _Block, weights: list[Floats]) -> list[Floats]:
        sums = block.rows(self._tables)
        for own, table, part in zip(weights, self._tables, sums, strict=True):
            add_to_ranks(block.ranks, block.groups, block.mid, own, table, part)
        return block.shared(sums)


# Blocks --------------------------------------------------------------------------------------------------------------


def _dtype(p: int) -> Any:
    return np.uint16 if p <= MOST_SHORT else np.uint32


def _chosen(wanted: bool | Indices, columns: int) -> Indices:
    return np.arange(columns if wanted else 0) if isinstance(wanted, bool) else np.asarray(wanted, dtype=np.intp)


def _blocks(m: int, p: int) -> Iterator[slice]:
    """Positions of the samples of each block: a function of the shape alone."""
    height = max(1, min(MOST_ROWS, BLOCK_BYTES // (np.dtype(_dtype(p)).itemsize * p)))
    height = max(height // TOGETHER * TOGETHER, min(height, TOGETHER))
    return (slice(start, min(start + height, m)) for start in range(0, m, height))


def _in_order(work: Callable[[slice], Any], blocks: Iterator[slice]) -> Iterator[Any]:
    """Work on the blocks in threads, a few more at a time than there are cores; yield the results in order."""
    cores, waiting = usable_cores(), list(blocks)
    if cores == 1 or len(waiting) == 1:
        yield from map(work, waiting)
        return
    coming = iter(waiting)
    with ThreadPoolExecutor(cores, thread_name_prefix="distkern") as pool:
        begun: deque[Future[Any]] = deque(pool.submit(work, rows) for rows in islice(coming, cores + 1))
        while begun:
            done = begun.popleft().result()
            begun.extend(pool.submit(work, rows) for rows in islice(coming, 1))
            yield done


def _checked(X: Any, missing: str) -> Source:
    one_of(missing, "missing", MISSING)
    source = as_source(X)
    refuse_unranked(source)
    return source


def _values(source: Source, rows: slice, missing: str) -> Floats:
    block = read_block(source, rows, missing)
    return np.ascontiguousarray(block.toarray() if hasattr(block, "indptr") else block, dtype=np.float64)


def _digest(ranks: Array, groups: Array) -> str:
    found = blake2b(np.ascontiguousarray(ranks).astype(f"<u{ranks.dtype.itemsize}").tobytes(), digest_size=16)
    found.update(np.ascontiguousarray(groups).astype("<i8").tobytes())
    return found.hexdigest()


# The folder ----------------------------------------------------------------------------------------------------------


def _begin(source: Source, folder: Path, missing: str) -> None:
    """Lay out a new folder, or compare an earlier one with the samples."""
    wanted = {
        "format": FORMAT,
        "samples": source.shape[0],
        "features": source.shape[1],
        "ids": None if source.ids is None else list(source.ids),
        "names": None if source.features is None else list(source.features),
        "missing": missing,
    }
    if (folder / "ranks.json").exists():
        found = _described(folder)
        differ = [key for key in wanted if found.get(key) != wanted[key]]
        if differ:
            raise StoreMismatchError(
                f"{str(folder)!r} holds the ranks of other samples (their {' and '.join(differ)} differ): give another "
                "path, or remove the folder"
            )
        return
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise StoreError(f"{str(folder)!r} exists and holds no ranks: give another path")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        m, p = source.shape
        for name, dtype, shape in (("ranks.npy", _dtype(p), (m, p)), ("groups.npy", np.int64, (m,))):
            np.lib.format.open_memmap(folder / name, mode="w+", dtype=dtype, shape=shape)
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r}: {error.strerror or error}; give another path") from error
    write_text(folder / "ranks.json", json.dumps(wanted))  # last: a folder with it is laid out


def _described(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "ranks.json").read_text())
        known = {"samples", "features", "ids", "names", "missing"} <= found.keys() and found["format"] == FORMAT
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise StoreError(f"{str(folder)!r} holds no ranks: write them with RankStore.write") from error
    if not known:
        raise StoreError(f"the ranks in {str(folder)!r} were written by another version of distkern: write them anew")
    return dict(found)


def _finished(folder: Path) -> list[tuple[str, str]]:
    """Digests of the values and of the ranks of each finished block; a line that was cut off does not count."""
    try:
        text = (folder / "blocks.txt").read_text()
    except OSError:
        return []
    whole = text[: text.rfind("\n") + 1].splitlines()
    if len(text) > sum(len(line) + 1 for line in whole):
        (folder / "blocks.txt").write_text("".join(f"{line}\n" for line in whole))
    pairs = [line.split(" ") for line in whole]
    return [(values, ranks) for values, ranks in pairs]


def _refuse_other_samples(known: str, found: str, rows: slice, folder: Path) -> None:
    if known != found:
        raise StoreMismatchError(
            f"{str(folder)!r} holds the ranks of other samples: those of samples {rows.start} to {rows.stop - 1} have "
            "other values now; give another path, or remove the folder"
        )
