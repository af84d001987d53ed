"""How a Gram matrix lies on disk: a Zarr group of tiles, prepared samples, checksums and the plan that made them.

::

    cohort.zarr/
      gram                  (rows, cols), one chunk a tile, and no wider than a matrix that is not symmetric; below the
                            diagonal of a symmetric matrix nothing is stored
      marks                 (row blocks, column blocks) uint64: 0 = not done, else 2^32 g + crc32c of the tile, g = 1
      rows/ids              names of the samples: a JSON list as UTF-8 bytes
      rows/digests          (rows, 16) uint8: a digest of each sample's values
      rows/marks            (row blocks, arrays) uint64: as above, of each prepared array in the order of their names
      rows/prepared/...     what the kernel prepared once per sample, and ``diagonal``: k(x, x)
      rows/index            (samples,) int32, only where many samples are equal: which row each of them is
      cols/...              the same for the columns of a rectangular matrix
      runs/...              a group for each run that computed something; its attributes say when, on what, how far
      scratch/...           vectors on their way to workers that multiply; nothing to read

A cohort that grows has another generation g = 2, 3, …; the plan lists the number of samples of each. Arrays become
longer, and the names of the samples go to ``rows/ids.g``. A mark of generation g is of what the tile held then: a tile
that has more samples since is not done, but what it holds is kept and only the rest is computed.

A tile is done when its mark is written, which happens after its bytes are on disk. Marks are rewritten a row of blocks
at a time by whoever coordinates a run, merged with those that are there. Two coordinators on one store both end with
all marks, and equal ones: each remembers every tile that it found done or had computed, and tiles are deterministic. At
worst one loses a mark of the other in the instant between reading and writing a row, and computes that tile once more.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import numpy as np
import zarr
from zarr.core.array_spec import ArrayConfigParams
from zarr.errors import ZarrUserWarning

from distkern._version import __version__
from distkern.core.errors import (
    CorruptTileError,
    IncompleteGramError,
    InputError,
    StoreError,
    StoreMismatchError,
)
from distkern.core.typing import Array, Floats, Spec
from distkern.gram.grid import Grid
from distkern.gram.inspect import Side
from distkern.gram.samples import (
    DIAGONAL,
    StoredSamples,
    checksum,
    generation_of,
    grown_since,
    ids_array,
    merge,
    valid,
)

FORMAT = 1
"""Version of the layout above; a store of another version is refused."""

STALE_SECONDS = 3600
"""A temporary file older than this was left by a writer that was killed."""

SCRATCH = "scratch"
"""Group of what is spooled to the workers for as long as a pass over the matrix takes."""

SCRATCH_ROWS = 4096
"""Rows of a spooled array that are stored together."""

SCRATCH_SECONDS = 7 * 24 * 3600
"""What was spooled longer ago was left by a client that was killed; no pass takes as long."""

_WRITTEN_WHOLE: ArrayConfigParams = {"write_empty_chunks": True}


@contextmanager
def _explained(path: str, doing: str) -> Iterator[None]:
    """Turn what the file system or Zarr raises into one sentence that names the store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot {doing} {path!r}: {error.strerror or error}") from error


def _damaged(path: str, name: str) -> StoreError:
    return StoreError(f"{name!r} in the store {path!r} is damaged: compute it again with overwrite=True")


class GramStore:
    """An open store. Made by `create` or `opened`.

    Parameters
    ----------
    path
        Folder of the store.
    group
        The open Zarr group.
    """

    def __init__(self, path: str, group: zarr.Group) -> None:
        self.path = path
        self.bytes_read = 0
        self._group = group
        self._arrays: dict[str, zarr.Array] = {}
        self.meta: Spec = cast(Spec, group.attrs["distkern"])
        self.grid = grid_of(self.meta)
        self.generations: list[Spec] = self.meta.get("generations") or [
            {"shape": self.meta["shape"], "samples": self.meta["samples"]}
        ]

    # Opening and creating ------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str,
        meta: Spec,
        sides: Mapping[str, Side],
        prepared: Mapping[str, Array],
        *,
        overwrite: bool = False,
    ) -> GramStore:
        """Lay out an empty store, all at once: it is built beside its place and then renamed into it.

        Parameters
        ----------
        path
            Folder to create; folders above it are created too. Where another client has just made
            it, that one is opened.
        meta
            The plan: shape, tile, symmetric, dtype, kernel, and whatever identifies the computation.
        sides
            For ``"rows"`` and, where rectangular, ``"cols"``: the samples.
        prepared
            The prepared arrays of some samples, whose types and shapes tell those of all.
        overwrite
            Whether a store that lies there is replaced; anything else is never deleted.
        """
        building = f"{path}.{uuid4().hex}.new"
        with _explained(path, "create the store"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                _lay_out(building, meta, sides, prepared)
                if overwrite and exists(path):
                    _require_store(path)
                    replaced = f"{path}.{uuid4().hex}.old"
                    os.rename(path, replaced)
                    shutil.rmtree(replaced)
                os.rename(building, path)
            except OSError:
                if overwrite or not exists(path):  # else another client has made it in the meantime
                    raise
            finally:
                shutil.rmtree(building, ignore_errors=True)
        return cls.opened(path)

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> GramStore:
        """Open an existing store.

        Raises
        ------
        StoreError
            If there is none, or it is of another format.
        """
        where = place(path)
        if not os.path.exists(where):
            raise StoreError(f"there is no store at {where!r}: check the path, or make one with compute_gram")
        group = _store_at(where)
        if group is None:
            raise StoreError(f"{where!r} is not a distkern store: give the path of one, or another path to make one")
        meta = cast(Spec, group.attrs["distkern"])
        if meta["format"] != FORMAT:
            raise StoreError(
                f"{where!r} has store format {meta['format']}, written by distkern {meta.get('version')}; distkern "
                f"{__version__} reads format {FORMAT}: use that version, or compute the matrix again into another path"
            )
        return cls(where, group)

    def _at(self, name: str) -> zarr.Array:
        if name not in self._arrays:
            array = self._member(name)
            assert isinstance(array, zarr.Array)
            self._arrays[name] = array.with_config(_WRITTEN_WHOLE)
        return self._arrays[name]

    def _member(self, name: str) -> zarr.Array | zarr.Group:
        """Find an array or group of the store.

        Raises
        ------
        StoreError
            If it is lost, or its metadata cannot be read.
        """
        try:
            return self._group[name]
        except KeyError:
            raise StoreError(f"the store {self.path!r} has lost its array {name!r}: compute it again") from None
        except (ValueError, TypeError) as error:
            raise _damaged(self.path, name) from error

    # Tiles ---------------------------------------------------------------------------------------------------

    def write_tile(self, i: int, j: int, values: Floats) -> int:
        """Write tile (i, j) in the store's type; return its mark."""
        (top, bottom), (left, right) = self.grid.row_range(i), self.grid.col_range(j)
        stored = np.ascontiguousarray(values, dtype=self.meta["dtype"])
        self.write("gram", (slice(top, bottom), slice(left, right)), stored)
        return checksum(stored, len(self.generations))

    def read_tile(self, i: int, j: int) -> Floats:
        """Read tile (i, j), as float64; see `stored_tile`."""
        return self.stored_tile(i, j).astype(np.float64, copy=False)

    def stored_tile(self, i: int, j: int) -> Array:
        """Read tile (i, j), in the type in which it is stored.

        Raises
        ------
        IncompleteGramError
            If it has not been computed.
        CorruptTileError
            If it does not match its checksum.
        """
        (top, bottom), (left, right) = self.grid.row_range(i), self.grid.col_range(j)
        mark = self.marks()[i, j]
        if mark == 0:
            mark = self.marks(refresh=True)[i, j]
        where = f"tile ({i}, {j}) of {self.path!r} (rows {top}–{bottom - 1}, columns {left}–{right - 1})"
        if mark == 0:
            raise IncompleteGramError(
                f"{where} is not computed yet: run compute_gram again, it goes on where it stopped"
            )
        unheard_of = generation_of(mark) > len(self.generations)
        if unheard_of and self.has_changed():
            raise grown_since(self.path)
        stored = self.decoded("gram", (slice(top, bottom), slice(left, right)))
        if unheard_of or stored is None or checksum(stored, generation_of(mark)) != mark:
            raise CorruptTileError(
                f"{where} does not match its checksum: recompute it with repair_gram({self.path!r}), or "
                f"`distkern verify --repair {self.path}`"
            )
        self.bytes_read += stored.nbytes
        return stored

    def read_part(self, i: int, j: int, mark: int) -> Array | None:
        """Read what a tile held in the generation of a mark, in the stored type; None if it does not match the mark."""
        (top, bottom), (left, right) = self.grid.row_range(i), self.grid.col_range(j)
        rows, cols = self.generations[generation_of(mark) - 1]["shape"]
        part = self.decoded("gram", (slice(top, min(bottom, rows)), slice(left, min(right, cols))))
        return None if part is None or checksum(part, generation_of(mark)) != mark else part

    def marks(self, refresh: bool = False) -> Array:
        """Marks of the tiles that are done, as read when first needed or, with ``refresh``, now."""
        if refresh or not hasattr(self, "_marks"):
            needed = np.maximum(self.rows.generations[:, None], self.cols.generations)
            self._marks: Array = valid(self.marks_of_all_generations(), needed)
        return self._marks

    def marks_of_all_generations(self) -> Array:
        """Marks of all tiles as they are now, also of those that have more samples since they were computed."""
        return self.read("marks", (slice(0, self.grid.row_blocks), slice(0, self.grid.col_blocks)))

    def mark(self, marks: Array, row: int) -> None:
        """Add marks to those of a row of blocks, perhaps from another client; ``marks`` is brought up to date."""
        where = (row, slice(0, self.grid.col_blocks))
        merge(marks[row], self.read("marks", where))
        self.write("marks", where, marks[row])

    def unmark(self, tiles: Iterable[tuple[int, int]]) -> None:
        """Take the marks of some tiles away."""
        marks = self.marks_of_all_generations()
        for i, j in tiles:
            marks[i, j] = 0
        self.write("marks", (slice(0, self.grid.row_blocks), slice(0, self.grid.col_blocks)), marks)

    # Samples -------------------------------------------------------------------------------------------------

    @property
    def sides(self) -> tuple[str, ...]:
        """Which samples the store holds: ``rows``, and ``cols`` where rows and columns differ."""
        return ("rows",) if self.grid.symmetric else ("rows", "cols")

    @cached_property
    def rows(self) -> StoredSamples:
        """The row samples."""
        return self._side("rows", 0)

    @cached_property
    def cols(self) -> StoredSamples:
        """The column samples; the row samples where they are the same."""
        return self.rows if self.grid.symmetric else self._side("cols", 1)

    def _side(self, name: str, axis: int) -> StoredSamples:
        counts = [generation["shape"][axis] for generation in self.generations]
        return StoredSamples(self, name, counts, self.grid.side, self.meta["samples"][axis])

    def samples(self, side: str) -> StoredSamples:
        """The samples of a side by its name."""
        return self.rows if side == "rows" else self.cols

    # Arrays --------------------------------------------------------------------------------------------------

    def write(self, name: str, where: Any, values: Array) -> None:
        """Write part of an array."""
        with _explained(self.path, "write to the store"):
            self._at(name)[where] = values

    def read(self, name: str, where: Any = ...) -> Array:
        """Read part of an array.

        Raises
        ------
        StoreError
            If its metadata or bytes cannot be decoded.
        """
        found = self.decoded(name, where)
        if found is None:
            raise _damaged(self.path, name)
        return found

    def decoded(self, name: str, where: Any) -> Array | None:
        """Read part of an array; None where its bytes cannot even be decoded."""
        with _explained(self.path, "read the store"):
            array = self._at(name)
            try:
                return np.asarray(array[where])
            except (ValueError, RuntimeError):
                return None

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array."""
        return self._at(name).shape

    def item_bytes(self, name: str) -> int:
        """Bytes of a value of an array."""
        return self._at(name).dtype.itemsize

    def names(self, group: str) -> list[str]:
        """Names of the arrays of a group, sorted."""
        found = self._member(group)
        assert isinstance(found, zarr.Group)
        try:
            return sorted(found.array_keys())
        except (ValueError, TypeError) as error:
            raise _damaged(self.path, group) from error

    # Growing -------------------------------------------------------------------------------------------------

    def grow(self, meta: Spec, ids: Iterable[str], digests: Array, index: Array | None) -> GramStore:
        """Make room for more row samples (and columns, where they are the same); all at once, when the plan changes.

        What is stored stays valid throughout: arrays only become longer, and marks tell of which generation they are.

        Parameters
        ----------
        meta
            What changes in the plan: shape, samples, and whatever is computed from all samples.
        ids
            Names of all row samples.
        digests
            Of the computed ones that are added.
        index
            Where samples repeat: which computed sample each added one equals.
        """
        grid = grid_of({**self.meta, **meta})
        names = [f"rows/prepared/{name}" for name in self.rows.names]
        text = np.frombuffer(json.dumps(list(ids)).encode(), dtype=np.uint8)
        generations = [*self.generations, {"shape": meta["shape"], "samples": meta["samples"]}]
        with _explained(self.path, "write to the store"):
            for name in ["rows/digests", *names]:
                self._lengthen(name, grid.rows)
            self._lengthen("marks", grid.row_blocks, grid.col_blocks if grid.symmetric else None)
            self._lengthen("gram", grid.rows, grid.cols if grid.symmetric else None)
            self._lengthen("rows/marks", grid.row_blocks)
            self.write("rows/digests", slice(self.grid.rows, grid.rows), digests)
            if index is not None:
                self._lengthen("rows/index", meta["samples"][0])
                self.write("rows/index", slice(self.meta["samples"][0], meta["samples"][0]), index)
            where = ids_array("rows", len(generations))
            _array(self._group, where, text.shape, text.shape, "uint8", overwrite=True)[...] = text
            changed = {
                "id": uuid4().hex,
                "generations": generations,
                "ids": self.meta["ids"] | {"rows": checksum(text)},
            }
            self._group.attrs["distkern"] = {**self.meta, **meta, **changed}
        return GramStore.opened(self.path)

    def _lengthen(self, name: str, rows: int, cols: int | None = None) -> None:
        array = self._at(name)
        array.resize((rows, *(array.shape[1:] if cols is None else (cols,))))

    # Housekeeping --------------------------------------------------------------------------------------------

    def runs(self) -> list[Spec]:
        """What is known of each run, in the order in which they began: when, on what, how long, how much memory."""
        with _explained(self.path, "read the store"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ZarrUserWarning)  # of a run whose first entry is just being written
            found = dict(self._runs().groups())
        return [found[name].attrs.asdict() for name in sorted(found)]

    def new_run(self) -> str:
        """Name a run, so that those that begin later come after it; no clock is asked."""
        with _explained(self.path, "read the store"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ZarrUserWarning)
            names = list(self._runs().group_keys())
        number = 1 + max((int(name.partition("-")[0]) for name in names), default=0)
        return f"{number:06d}-{uuid4().hex[:8]}"

    def log_run(self, name: str, run: Spec) -> None:
        """Write what is known of a run in the place of what was: one small write, and nobody else writes there."""
        self.still_there()
        with _explained(self.path, "write to the store"):
            self._runs().require_group(name).attrs.put(run)

    def _runs(self) -> zarr.Group:
        runs = self._member("runs")
        assert isinstance(runs, zarr.Group)
        return runs

    def sweep(self) -> None:
        """Delete what killed writers left behind, in the store and beside it; what a live one writes is younger."""
        now, store = time.time(), Path(self.path)
        building = [*store.rglob("*.partial"), *store.parent.glob(f"{store.name}.*.new")]
        spooled = [*(store / SCRATCH).glob("*/")]
        for left in [*building, *spooled]:
            with suppress(OSError):  # someone else has swept it
                if left.stat().st_mtime < now - (SCRATCH_SECONDS if left in spooled else STALE_SECONDS):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()

    def still_there(self) -> None:
        """Refuse to write where this store has been replaced by another one since it was opened."""
        if self.has_changed():
            raise StoreMismatchError(
                f"{self.path!r} was replaced by another store, or has grown, while it was computed"
            )

    def has_changed(self) -> bool:
        """Say whether this store has grown, or been replaced, since it was opened."""
        now = _store_at(self.path)
        return now is None or cast(Spec, now.attrs["distkern"])["id"] != self.meta["id"]

    # Vectors on their way to the workers ---------------------------------------------------------------------

    def spool(self, array: Array) -> str:
        """Lay an array beside the tiles for as long as a pass takes; return the name to read it by.

        Raises
        ------
        StoreError
            If the store cannot be written.
        """
        name = f"{SCRATCH}/{uuid4().hex}"
        chunks = (min(len(array), SCRATCH_ROWS), *array.shape[1:])
        with _explained(self.path, "write to the store"):
            try:
                _array(self._group, name, array.shape, chunks, array.dtype)[...] = array
            except ValueError as error:  # what Zarr says of a store that was opened for reading only
                raise StoreError(f"cannot write to the store {self.path!r}: {error}") from error
        return name

    def spooled(self, name: str, rows: slice) -> Array:
        """Read some rows of a spooled array."""
        with _explained(self.path, "read the store"):
            return np.asarray(self._group[name][rows])  # type: ignore[index]

    def unspool(self, name: str) -> None:
        """Delete a spooled array."""
        with _explained(self.path, "write to the store"):
            del self._group[name]


def _array(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    dtype: Any,
    fill: Any = 0,
    overwrite: bool = False,
) -> zarr.Array:
    return group.create_array(
        name,
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        fill_value=fill,
        compressors=None,
        config=_WRITTEN_WHOLE,
        overwrite=overwrite,
    )


def grid_of(meta: Spec) -> Grid:
    """Cut the matrix that a plan describes into its tiles."""
    rows, cols = meta["shape"]
    return Grid(rows, cols, meta["tile"], meta["symmetric"])


def place(path: Any) -> str:
    """Absolute path of a store, so that it means the same to workers in other folders.

    Raises
    ------
    InputError
        If it is not a path.
    """
    try:
        return os.path.abspath(os.path.expanduser(os.fspath(path)))
    except TypeError:
        raise InputError(f"store must be a path, not {path!r}") from None


def exists(path: str) -> bool:
    """Whether anything lies at the path; an empty folder counts as nothing."""
    return os.path.exists(path) and not (os.path.isdir(path) and not os.listdir(path))


def _store_at(path: str) -> zarr.Group | None:
    """Open the store at a path, of whatever format; None where something else lies there."""
    with _explained(path, "open the store"):
        try:
            group = zarr.open_group(path, mode="r+", use_consolidated=False)
            meta = group.attrs.get("distkern")
        except (FileNotFoundError, FileExistsError, NotADirectoryError, ValueError, KeyError):
            return None
    return group if isinstance(meta, dict) and "format" in meta else None


def _require_store(path: str) -> None:
    """Refuse to delete anything but a store, so that no other folder is lost to a mistyped path."""
    if _store_at(path) is None:
        raise StoreError(
            f"{path!r} is not a distkern store and will not be overwritten: remove it, or give another path"
        )


def _lay_out(path: str, meta: Spec, sides: Mapping[str, Side], prepared: Mapping[str, Array]) -> None:
    """Make the groups and arrays of an empty store."""
    grid = grid_of(meta)
    texts = {name: np.frombuffer(json.dumps(list(side.ids)).encode(), dtype=np.uint8) for name, side in sides.items()}
    identity = {
        "format": FORMAT,
        "version": __version__,
        "id": uuid4().hex,
        "ids": {name: checksum(text) for name, text in texts.items()},
        "features": list(next(iter(sides.values())).source.features or ()) or None,
    }
    group = zarr.create_group(path, attributes={"distkern": {**identity, **meta}})
    empty = np.nan if np.dtype(meta["dtype"]).kind == "f" else 0
    _array(
        group,
        "gram",
        (grid.rows, grid.cols),
        (grid.side, grid.side if grid.symmetric else min(grid.side, grid.cols)),
        meta["dtype"],
        empty,
    )
    _array(group, "marks", (grid.row_blocks, grid.col_blocks), (1, grid.col_blocks), "uint64")
    for name, side in sides.items():
        part, count = group.create_group(name), len(side.digests)
        _array(part, "ids", texts[name].shape, texts[name].shape, "uint8")[...] = texts[name]
        _array(part, "digests", side.digests.shape, side.digests.shape, "uint8")[...] = side.digests
        if side.index is not None:
            _array(part, "index", side.index.shape, side.index.shape, "int32")[...] = side.index
        blocks = (-(-count // grid.side), len(prepared) + 1)
        _array(part, "marks", blocks, blocks, "uint64")
        inner = part.create_group("prepared")
        _array(inner, DIAGONAL, (count,), (grid.side,), "float64")
        for array, one in prepared.items():
            _array(inner, array, (count, *one.shape[1:]), (grid.side, *one.shape[1:]), one.dtype)
    group.create_group("runs")
