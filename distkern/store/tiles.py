"""A Gram matrix that is stored: tiles, prepared samples, and a mark with a checksum for each that is done.

A tile is done when its mark is written, which happens after its bytes are on disk. Marks are rewritten a row of blocks
at a time by whoever coordinates a run, merged with those that are there. Two coordinators on one store both end with
all marks, and equal ones: each remembers every tile that it found done or had computed, and tiles are deterministic. At
worst one loses a mark of the other in the instant between reading and writing a row, and computes that tile once more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from uuid import uuid4

import numpy as np

from distkern.core.errors import (
    CorruptTileError,
    IncompleteGramError,
    StoreError,
    StoreMismatchError,
)
from distkern.core.sentences import Call, OptionalPart, SameCall
from distkern.core.typing import Array, Floats, Spec
from distkern.store.addresses import explained, place
from distkern.store.arrays import StoredArrays
from distkern.store.layout import (
    AxisSamples,
    Layout,
    arrays_of,
    as_json,
    document_of,
    empty_store,
    grid_of,
    group_document,
    growing_axes,
)
from distkern.store.location import ROOT, Place, at
from distkern.store.samples import StoredSamples, checksum, generation_of, grown_since, merge, valid, written_whole
from distkern.store.schema import array_in, folder_in, plan_in, run_in, run_names_in


class GramStore(StoredArrays):
    """An open store. Made by `create` or `opened`.

    Parameters
    ----------
    lies
        Where it lies.
    meta
        The plan in it.
    """

    def __init__(self, lies: Place, meta: Spec) -> None:
        super().__init__(lies, meta)
        self.bytes_read = 0
        self._root: bytes | None = None
        self.grid = grid_of(meta)
        self.generations: list[Spec] = meta["generations"]

    # Opening and creating ------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str,
        meta: Spec,
        axes: Mapping[str, AxisSamples],
        features: Sequence[str] | None,
        prepared: Mapping[str, Array],
        *,
        overwrite: bool = False,
    ) -> GramStore:
        """Lay out an empty store, all at once.

        Parameters
        ----------
        path
            Folder or URL to create; folders above it are created too. Where another client has just
            made it, that one is opened.
        meta
            The plan: shape, tile, symmetric, dtype, kernel, and whatever identifies the computation.
        axes
            For ``"rows"`` and, where rectangular, ``"cols"``: the samples.
        features
            Names of the features, if they have any.
        prepared
            The prepared arrays of some samples, whose types and shapes tell those of all.
        overwrite
            Whether a store that lies there is replaced; anything else is never deleted.
        """
        with explained(path, "create the store"):
            lies = at(path)
            replaced = _folder_to_replace(lies) if overwrite and lies.exists() else None
            lies.create(empty_store(meta, axes, features, prepared, own_folder=not lies.renames), replaced)
        return cls.opened(path)

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> GramStore:
        """Open an existing store.

        Raises
        ------
        StoreError
            If there is none, it is of another format, or its metadata are damaged.
        """
        where = place(path)
        with explained(where, "open the store"):
            lies = at(where)
            meta = _plan_at(lies)
            if meta is None and not lies.exists():
                raise StoreError(
                    "there is no store at {store!r}: check the path, or make one with {call}",
                    store=where,
                    call=Call("compute_gram"),
                )
        if meta is None:
            raise StoreError(f"{where!r} is not a distkern store: give the path of one, or another path to make one")
        return cls(lies, meta)

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
                "{where} is not computed yet: run {compute} again, or {append} where samples were being added; it goes "
                "on where it stopped",
                where=where,
                compute=Call("compute_gram"),
                append=Call("append_gram"),
            )
        unheard_of = generation_of(mark) > len(self.generations)
        if unheard_of and self.has_changed():
            raise grown_since(self.path)
        stored = self.decoded("gram", (slice(top, bottom), slice(left, right)))
        if unheard_of or stored is None or checksum(stored, generation_of(mark)) != mark:
            raise CorruptTileError(
                "{damage}: recompute it with {repair}",
                damage=f"{where} does not match its checksum",
                repair=Call("repair_gram", (self.path,)),
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
        return self.read("marks")

    def mark(self, marks: Array, row: int) -> None:
        """Add marks to those of a row of blocks, perhaps from another client; ``marks`` is brought up to date."""
        self.still_there()
        where = (row, slice(0, self.grid.col_blocks))
        merge(marks[row], self.read("marks", where))
        self.write("marks", where, marks[row])

    def unmark(self, tiles: Iterable[tuple[int, int]]) -> None:
        """Take the marks of some tiles away."""
        marks = self.marks_of_all_generations()
        for i, j in tiles:
            marks[i, j] = 0
        self.write("marks", ..., marks)

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

    # Growing -------------------------------------------------------------------------------------------------

    def grow(self, meta: Spec, ids: Iterable[str], digests: Array, index: Array | None) -> GramStore | None:
        """Make room for more row samples (and columns, where they are the same); all at once, when the plan changes.

        What is stored stays valid throughout: what is written before the plan is this client's own, and arrays only
        become longer, in which marks tell of which generation they are.

        Parameters
        ----------
        meta
            What changes in the plan: shape, samples, and whatever is computed from all samples.
        ids
            Names of all row samples.
        digests
            Of all that are computed.
        index
            Where samples repeat: which computed sample each equals.

        Returns
        -------
        GramStore
            The grown store; None where another client has made it grow, or replaced it, since it was opened.
        """
        if self.has_changed():
            return None
        before = self._root
        assert before is not None
        text = np.frombuffer(json.dumps(list(ids)).encode(), dtype=np.uint8)
        generations = [*self.generations, {"shape": meta["shape"], "samples": meta["samples"]}]
        plan: Spec = {**self.meta, **meta, "id": uuid4().hex, "generations": generations}
        plan["ids"] = plan["ids"] | {"rows": checksum(text)}
        whole = {"ids": text, "digests": digests}
        if index is not None:
            whole["index"] = index.astype("<i4")
            plan["index"] = plan["index"] | {"rows": checksum(whole["index"])}
        own = {self._key(written_whole("rows", what, plan)): array for what, array in whole.items()}
        with explained(self.path, "write to the store"):
            for key, array in own.items():
                layout = Layout(array.shape, array.shape, array.dtype.name)
                self._lies.put(f"{key}/{ROOT}", as_json(layout.document()))
                self._lies.put(f"{key}/c/{'/'.join('0' * array.ndim)}", array.tobytes())
            if self._lies.replace_root(before, document_of(plan)):
                return GramStore(self._lies, plan)
            for key in own:
                self._lies.remove(key)
        return None

    # Housekeeping --------------------------------------------------------------------------------------------

    def runs(self) -> list[Spec]:
        """What is known of each run, in the order in which they began: when, on what, how long, how much memory.

        What a crash has made unreadable is left out: nothing depends on it.
        """
        with explained(self.path, "read the store"):
            found = [(name, self._lies.get(self._key(f"runs/{name}/{ROOT}"))) for name in self.run_names()]
        runs = [run_in(self.path, name, raw) for name, raw in found if raw is not None]
        return [run for run in runs if run is not None]

    def new_run(self) -> str:
        """Name a run, so that those that begin later come after it; no clock is asked."""
        number = 1 + max((int(name.partition("-")[0]) for name in self.run_names()), default=0)
        return f"{number:06d}-{uuid4().hex[:8]}"

    def log_run(self, name: str, run: Spec) -> None:
        """Write what is known of a run in the place of what was; nobody else writes there."""
        self.still_there()
        with explained(self.path, "write to the store"):
            self._lies.put(self._key(f"runs/{name}/{ROOT}"), group_document(run))
            names = self.run_names()
            if name not in names:  # at the first time, or where a run that began in the same instant left it out
                self._lies.put(self._key(f"runs/{ROOT}"), group_document({"runs": sorted([*names, name])}))

    def run_names(self) -> list[str]:
        """Names of the runs, in the order in which they began; none where their list is lost or cannot be read."""
        with explained(self.path, "read the store"):
            raw = self._lies.get(self._key(f"runs/{ROOT}"))
        return [] if raw is None else run_names_in(self.path, raw)

    def sweep(self) -> None:
        """Delete what killed writers left behind, in the store and beside it; what a live one writes is younger.

        Where a cohort has grown, write how long the arrays are by now: other readers go by that, distkern by the plan.
        """
        self.still_there()  # else its folder would be another one than the one that is kept
        with explained(self.path, "clean the store"):
            for name in arrays_of(self.meta) if len(self.generations) > 1 else ():
                key = self._key(f"{name}/{ROOT}")
                if growing_axes(name) and (raw := self._lies.get(key)) is not None:
                    longest = as_json(array_in(self.path, name, raw, self.meta).document())
                    if raw != longest:
                        self._lies.put(key, longest)
            self._lies.sweep(self.meta["folder"])

    def still_there(self) -> None:
        """Refuse to write where this store has been replaced by another one since it was opened."""
        if self.has_changed():
            raise StoreMismatchError(f"{self.path!r} was replaced by another store, or grew, while it was computed")

    def has_changed(self) -> bool:
        """Say whether this store has grown, or been replaced, since it was opened."""
        with explained(self.path, "open the store"):
            raw = self._lies.root()
        if raw is not None and raw == self._root:  # it is long where features have names
            return False
        now = None if raw is None else plan_in(self.path, raw)
        if now is None or now["id"] != self.meta["id"]:
            return True
        self._root = raw
        return False


def same_store(path: str, store_id: str) -> GramStore:
    """Open the store that a handle was of.

    Raises
    ------
    StoreMismatchError
        If another one lies there by now, or it has grown.
    """
    store = GramStore.opened(path)
    if store.meta["id"] != store_id:
        raise StoreMismatchError(
            "{store!r} was replaced, or has grown, since it was opened: {reopen}repeat {again}",
            store=path,
            reopen=OptionalPart("open it again with {call} and ", call=Call("open_gram")),
            again=SameCall(),
        )
    return store


def _plan_at(lies: Place) -> Spec | None:
    """The plan of the store that lies somewhere; None where something else does, or nothing."""
    raw = lies.root()
    return None if raw is None else plan_in(lies.path, raw)


def _folder_to_replace(lies: Place) -> str:
    """Refuse to delete anything but a store, so that no other folder is lost to a mistyped path."""
    folder = folder_in(lies.path, lies.get(ROOT))
    if folder is None:
        raise StoreError(
            f"{lies.path!r} is not a distkern store and will not be overwritten: remove it, or give another path"
        )
    return folder
