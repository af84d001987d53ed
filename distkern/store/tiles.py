"""A stored Gram matrix: tiles, prepared samples, and a checksum of everything that is done.

A tile is done when its checksum is written, which happens after its bytes are on disk. Checksums are rewritten a row of
blocks at a time by the client of a run, merged with those in the store. Two clients on one store both end with all
checksums, and equal ones: each remembers every tile that it found done or had computed, and tiles are deterministic. At
worst one loses a checksum of the other between reading and writing a row, and that tile is computed once more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from distkern.core.errors import (
    CorruptTileError,
    IncompleteGramError,
    StoreError,
    StoreMismatchError,
)
from distkern.core.sentences import Call, OptionalPart, SameCall
from distkern.core.typing import Array, Floats, Spec
from distkern.store.arrays import StoredArrays
from distkern.store.checksums import checksum, merge_newer, only_current, version_of
from distkern.store.documents import as_json, group_document
from distkern.store.layout import AxisSamples, array_files, arrays_of, growing_axes, new_store, read_layout
from distkern.store.location import ROOT, Location, absolute_path, explained, location_of
from distkern.store.manifest import GramPlan, LandmarkColumns, Manifest, folder_in_root
from distkern.store.samples import StoredSamples, grown_since


class GramStore(StoredArrays):
    """An open store. Made by `create` or `opened`.

    Parameters
    ----------
    location
        Where it lies.
    manifest
        Its manifest.
    """

    def __init__(self, location: Location, manifest: Manifest) -> None:
        super().__init__(location, manifest)
        self.bytes_read = 0
        self._root: bytes | None = None
        self._checksums: Array | None = None
        self.grid = manifest.grid

    # Opening and creating ------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str,
        plan: GramPlan,
        axes: Mapping[str, AxisSamples],
        features: Sequence[str] | None,
        prepared: Mapping[str, Array],
        *,
        landmark_columns: LandmarkColumns | None = None,
        overwrite: bool = False,
    ) -> GramStore:
        """Lay out an empty store, all at once.

        Parameters
        ----------
        path
            Folder or URL to create; folders above it are created too. If another client has just made it, that store is
            opened.
        plan
            The plan of the computation.
        axes
            For ``"rows"`` and, where rectangular, ``"cols"``: the samples.
        features
            Names of the features, if they have any.
        prepared
            The prepared arrays of some samples; their types, and the shape of one sample, hold for all samples.
        landmark_columns
            The landmarks, where the columns are some of the row samples.
        overwrite
            Whether an existing store is replaced; anything else is never deleted.
        """
        with explained(path, "create the store"):
            location = location_of(path)
            replaced = _folder_to_replace(location) if overwrite and location.exists() else None
            own_folder = not location.renames
            files = new_store(plan, axes, features, prepared, own_folder=own_folder, landmark_columns=landmark_columns)
            location.create(files, replaced)
        return cls.opened(path)

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> GramStore:
        """Open an existing store.

        Raises
        ------
        StoreError
            If there is none, it is of another format, or its metadata are damaged.
        """
        where = absolute_path(path)
        with explained(where, "open the store"):
            location = location_of(where)
            raw = location.root()
            manifest = None if raw is None else Manifest.from_root(location.path, raw)
            if manifest is None and not location.exists():
                raise StoreError(
                    "there is no store at {store!r}: check the path, or make one with {call}",
                    store=where,
                    call=Call("compute_gram"),
                )
        if manifest is None:
            raise StoreError(f"{where!r} is not a distkern store: give the path of one, or another path to make one")
        return cls(location, manifest)

    # Tiles ---------------------------------------------------------------------------------------------------

    def write_tile(self, i: int, j: int, values: Floats) -> int:
        """Write tile (i, j) in the store's type; return its checksum."""
        (top, bottom), (left, right) = self.grid.row_range(i), self.grid.col_range(j)
        stored = np.ascontiguousarray(values, dtype=self.manifest.dtype)
        self.write("gram", (slice(top, bottom), slice(left, right)), stored)
        return checksum(stored, len(self.manifest.versions))

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
        expected = self.checksums()[i, j]
        if expected == 0:
            expected = self.checksums(refresh=True)[i, j]
        where = f"tile ({i}, {j}) of {self.path!r} (rows {top}–{bottom - 1}, columns {left}–{right - 1})"
        if expected == 0:
            raise IncompleteGramError(
                "{where} is not computed yet: run {compute} again, or {append} where samples were being added; it goes "
                "on where it stopped",
                where=where,
                compute=Call("compute_gram"),
                append=Call("append_gram"),
            )
        unknown = version_of(expected) > len(self.manifest.versions)
        if unknown and self.has_changed():
            raise grown_since(self.path)
        stored = self.decoded("gram", (slice(top, bottom), slice(left, right)))
        if unknown or stored is None or checksum(stored, version_of(expected)) != expected:
            raise CorruptTileError(
                "{damage}: recompute it with {repair}",
                damage=f"{where} does not match its checksum",
                repair=Call("repair_gram", (self.path,)),
            )
        self.bytes_read += stored.nbytes
        return stored

    def read_part(self, i: int, j: int, expected: int) -> Array | None:
        """Read the entries of a tile in the version of a checksum, in the stored type; None if they do not match it."""
        (top, bottom), (left, right) = self.grid.row_range(i), self.grid.col_range(j)
        rows, cols = self.manifest.versions[version_of(expected) - 1].shape
        part = self.decoded("gram", (slice(top, min(bottom, rows)), slice(left, min(right, cols))))
        return None if part is None or checksum(part, version_of(expected)) != expected else part

    def checksums(self, refresh: bool = False) -> Array:
        """Checksums of the tiles that are done, as read when first needed or, with ``refresh``, now."""
        if refresh or self._checksums is None:
            needed = np.maximum(self.rows.needed_versions[:, None], self.cols.needed_versions)
            self._checksums = only_current(self.all_checksums(), needed)
        return self._checksums

    def all_checksums(self) -> Array:
        """Checksums of all tiles as they are now, including tiles to which samples were added since."""
        return self.read("marks")

    def add_checksums(self, checksums: Array, row: int) -> None:
        """Write the checksums of a row of blocks, merged with the checksums of other clients; update them in place."""
        self.refuse_if_changed()
        where = (row, slice(0, self.grid.col_blocks))
        merge_newer(checksums[row], self.read("marks", where))
        self.write("marks", where, checksums[row])

    def clear_checksums(self, tiles: Iterable[tuple[int, int]]) -> None:
        """Set the checksums of some tiles to 0, so that they are computed again."""
        checksums = self.all_checksums()
        for i, j in tiles:
            checksums[i, j] = 0
        self.write("marks", ..., checksums)

    # Samples -------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes whose samples the store holds: ``rows``, and ``cols`` where they are other samples."""
        return self.manifest.axes

    @cached_property
    def rows(self) -> StoredSamples:
        """The row samples."""
        return StoredSamples(self, "rows")

    @cached_property
    def cols(self) -> StoredSamples:
        """The column samples; the row samples where they are the same."""
        return self.rows if self.grid.symmetric else StoredSamples(self, "cols")

    def samples(self, axis: str) -> StoredSamples:
        """The samples of an axis by its name."""
        return self.rows if axis == "rows" else self.cols

    # Growing -------------------------------------------------------------------------------------------------

    def grow(self, grown: Manifest, rows: AxisSamples) -> GramStore | None:
        """Make room for more row samples (and columns, where they are the same), with one write of the manifest.

        All stored data stay valid throughout: arrays that are written before the manifest are this client's own, other
        arrays only become longer, and checksums tell the version of the cohort.

        Parameters
        ----------
        grown
            The manifest of the grown store, but for the checksums of its names and index.
        rows
            All row samples.

        Returns
        -------
        GramStore
            The grown store; None where another client has made it grow, or replaced it, since it was opened.
        """
        if self.has_changed():
            return None
        before = self._root
        assert before is not None
        whole = rows.arrays()
        sums = {what: {"rows": checksum(whole[what])} for what in ("ids", "index") if what in whole}
        grown = replace(grown, ids=grown.ids | sums["ids"], index=grown.index | sums.get("index", {}))
        own = {self._key(grown.array_name("rows", what)): array for what, array in whole.items()}
        with explained(self.path, "write to the store"):
            for name, array in own.items():
                for key, content in array_files(name, array).items():
                    self._location.put(key, content)
            if self._location.replace_root(before, grown.to_root()):
                return GramStore(self._location, grown)
            for name in own:
                self._location.remove(name)
        return None

    # Groups of documents -------------------------------------------------------------------------------------

    def read_group(self, name: str) -> bytes | None:
        """Read the document of a group; None where there is none."""
        with explained(self.path, "read the store"):
            return self._location.get(self._key(f"{name}/{ROOT}"))

    def write_group(self, name: str, attributes: Spec) -> None:
        """Write the document of a group, in the place of the old one."""
        with explained(self.path, "write to the store"):
            self._location.put(self._key(f"{name}/{ROOT}"), group_document(attributes))

    # Housekeeping --------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Delete unfinished files of killed writers in the store and beside it; files of a live writer are younger.

        Where a cohort has grown, write how long the arrays are now: other readers rely on it, distkern on the manifest.
        """
        self.refuse_if_changed()  # else its folder would be another one than the one that is kept
        with explained(self.path, "clean the store"):
            for name in arrays_of(self.manifest) if self.manifest.has_grown else ():
                key = self._key(f"{name}/{ROOT}")
                if growing_axes(name) and (raw := self._location.get(key)) is not None:
                    longest = as_json(read_layout(self.path, name, raw, self.manifest).document())
                    if raw != longest:
                        self._location.put(key, longest)
            self._location.sweep(self.manifest.folder)

    def refuse_if_changed(self) -> None:
        """Refuse to write where this store has grown, or was replaced by another one, since it was opened."""
        if self.has_changed():
            raise StoreMismatchError(f"{self.path!r} was replaced by another store, or grew, while it was computed")

    def has_changed(self) -> bool:
        """Whether this store has grown, or was replaced, since it was opened."""
        with explained(self.path, "open the store"):
            raw = self._location.root()
            if raw is None:
                self.refuse_if_gone()
        if raw is not None and raw == self._root:  # parsing it is slow where features have names
            return False
        now = None if raw is None else Manifest.from_root(self.path, raw)
        if now is None or now.id != self.manifest.id:
            return True
        self._root = raw
        return False


def same_store(path: str, store_id: str) -> GramStore:
    """Open the store that has a known identifier.

    Raises
    ------
    StoreMismatchError
        If another store is there now, or the store has grown.
    """
    store = GramStore.opened(path)
    if store.manifest.id != store_id:
        raise StoreMismatchError(
            "{store!r} was replaced, or has grown, since it was opened: {reopen}repeat {again}",
            store=path,
            reopen=OptionalPart("open it again with {call} and ", call=Call("open_gram")),
            again=SameCall(),
        )
    return store


def _folder_to_replace(location: Location) -> str:
    """Refuse to delete anything but a store, so that no other folder is lost to a mistyped path."""
    folder = folder_in_root(location.path, location.get(ROOT))
    if folder is None:
        raise StoreError(
            f"{location.path!r} is not a distkern store and will not be overwritten: remove it, or give another path"
        )
    return folder
