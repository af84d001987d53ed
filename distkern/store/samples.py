"""The samples of one axis of a stored Gram matrix: their names and, block by block, their prepared arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from distkern.core.errors import CorruptTileError, IncompleteGramError, StoreError
from distkern.core.sentences import Argument, Call, OptionalPart, SameCall
from distkern.core.typing import Array, Indices
from distkern.io.digests import fingerprint
from distkern.store.checksums import checksum, merge_newer, only_current, version_of
from distkern.store.grid import version_of_blocks
from distkern.store.layout import DIAGONAL
from distkern.store.manifest import Manifest


def grown_since(path: str) -> StoreError:
    """Make the error of a store that has grown since it was opened."""
    return StoreError(
        "{store!r} has grown since it was opened: {reopen}repeat {again}",
        store=path,
        reopen=OptionalPart("open it again with {call} and ", call=Call("open_gram")),
        again=SameCall(),
    )


class Arrays(Protocol):
    """The methods of a store that read and write its arrays."""

    path: str
    bytes_read: int
    manifest: Manifest

    def write(self, name: str, where: Any, values: Array) -> None: ...
    def read(self, name: str, where: Any = ...) -> Array: ...
    def decoded_together(self, parts: Sequence[tuple[str, Any]]) -> list[Array | None]: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def has_changed(self) -> bool: ...
    def refuse_if_changed(self) -> None: ...


class StoredSamples:
    """The samples of one axis.

    Parameters
    ----------
    store
        The store that holds them.
    axis
        ``"rows"`` or ``"cols"``.
    """

    def __init__(self, store: Arrays, axis: str) -> None:
        manifest, number = store.manifest, 0 if axis == "rows" else 1
        self._store, self.axis, self.block = store, axis, manifest.tile
        self._counts = [version.shape[number] for version in manifest.versions]
        self.count, self._samples = manifest.shape[number], manifest.samples[number]
        self.names = sorted([*manifest.prepared, DIAGONAL])

    @cached_property
    def needed_versions(self) -> Array:
        """For each block, the oldest version of the cohort in which it had all its samples."""
        return self._needed(self._counts)

    def _needed(self, counts: Sequence[int]) -> Array:
        return np.array(version_of_blocks(counts, self.block), dtype=np.uint64)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of all samples, repeated ones included."""
        manifest = self._store.manifest
        text = self._store.read(manifest.array_name(self.axis, "ids"))
        names: Any = None
        if checksum(text) == manifest.ids[self.axis]:
            with suppress(ValueError, RecursionError):
                names = json.loads(bytes(text))
        count = self._samples
        if not (isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names)):
            raise CorruptTileError(
                "the names of the {axis} of {store!r} are damaged: compute it with {overwrite}",
                axis=self.axis,
                store=self._store.path,
                overwrite=Argument("overwrite", True),
            )
        return tuple(names)

    @cached_property
    def index(self) -> Indices | None:
        """Which of the computed samples each sample equals; None where each is computed."""
        manifest = self._store.manifest
        if self.axis not in manifest.index:
            return None
        index = self._store.read(manifest.array_name(self.axis, "index"))
        if checksum(index) != manifest.index[self.axis] or index.min() < 0 or index.max() >= self.count:
            raise CorruptTileError(
                "the record of equal {axis} of {store!r} is damaged: compute it with {overwrite}",
                axis=self.axis,
                store=self._store.path,
                overwrite=Argument("overwrite", True),
            )
        return index.astype(np.intp)

    def digests(self, start: int, stop: int) -> Array:
        """Digests of the values of some samples."""
        return self._store.read(self._store.manifest.array_name(self.axis, "digests"), slice(start, stop))

    def all_digests(self) -> Array:
        """Digests of all samples, repeated ones included, compared with the fingerprint of the cohort.

        Raises
        ------
        CorruptTileError
            If they are damaged.
        """
        digests, index, manifest = self.digests(0, self.count), self.index, self._store.manifest
        every = digests if index is None else digests[index]
        known = manifest.fingerprint.get(self.axis)  # None for landmarks, which are samples of the rows
        if known not in (None, fingerprint(every, manifest.n_features)):
            raise CorruptTileError(
                "{damage}: restore a copy of them, or compute it with {overwrite}; the matrix can be read as it is, "
                "and not grow",
                damage=f"the digests of the {self.axis} of {self._store.path!r} do not match their checksum",
                overwrite=Argument("overwrite", True),
            )
        return every

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the one after its last."""
        return block * self.block, min((block + 1) * self.block, self.count)

    def checksums(self) -> Array:
        """Checksums (blocks, arrays) as they are now; a block is prepared when none of its checksums is 0."""
        return only_current(self.all_checksums(), self.needed_versions[:, None])

    def all_checksums(self) -> Array:
        """Checksums (blocks, arrays) as they are now, also of blocks to which samples were added since."""
        return self._store.read(f"{self.axis}/marks", slice(0, len(self.needed_versions)))

    def add_checksums(self, checksums: Array) -> None:
        """Write checksums, merged with the checksums of other clients; ``checksums`` is updated in place."""
        self._store.refuse_if_changed()
        merge_newer(checksums, self.all_checksums())
        self._store.write(f"{self.axis}/marks", slice(0, len(checksums)), checksums)

    def clear_checksums(self, blocks: Iterable[int]) -> None:
        """Set the checksums of some blocks to 0, so that they are prepared again."""
        checksums = self.all_checksums()
        checksums[list(blocks)] = 0
        self._store.write(f"{self.axis}/marks", slice(0, len(checksums)), checksums)

    def missing(self, version: int | None = None) -> list[int]:
        """Blocks that are not prepared, with the samples of a version of the cohort; by default of the present one."""
        needed = self._needed(self._counts[:version])
        checksums = only_current(self.all_checksums()[: len(needed)], needed[:, None])
        return [int(block) for block in np.flatnonzero((checksums == 0).any(axis=1))]

    def prepared(self) -> dict[int, Array]:
        """Checksums of the blocks that are prepared, or were before samples were added to them."""
        checksums = self.all_checksums()
        return {int(block): checksums[block] for block in np.flatnonzero((checksums != 0).all(axis=1))}

    def write(self, block: int, arrays: Mapping[str, Array], stored: Mapping[str, Array]) -> tuple[int, ...]:
        """Write the prepared arrays of a block, after the stored arrays of earlier samples; return their checksums."""
        whole = {name: self.widened(name, array) for name, array in arrays.items()}
        for name in self.names:
            if name in stored:
                whole[name] = np.concatenate([stored[name], whole[name]])
            self._store.write(f"{self.axis}/prepared/{name}", slice(*self.span(block)), whole[name])
        return tuple(checksum(whole[name], len(self._counts)) for name in self.names)

    def widened(self, name: str, array: Array) -> Array:
        """Pad an array with zeros to the width of the fullest sample of the cohort."""
        wanted = self._store.shape(f"{self.axis}/prepared/{name}")[1:]
        if array.shape[1:] == wanted:
            return array
        return np.pad(array, [(0, 0), *((0, wide - own) for wide, own in zip(wanted, array.shape[1:], strict=True))])

    def read(
        self, block: int, checksums: Iterable[int] | None = None, only: Iterable[str] | None = None
    ) -> dict[str, Array]:
        """Read arrays of one block and compare them with their checksums, which are read too unless they are given.

        With checksums of an earlier version of the cohort, the samples that the block had then are read.

        Raises
        ------
        IncompleteGramError, CorruptTileError
            If the block is not prepared, or an array does not match its checksum.
        """
        expected = dict(zip(self.names, self.checksums()[block] if checksums is None else checksums, strict=True))
        start, last = self.span(block)
        where = f"the prepared {self.axis} {start}–{last - 1} of {self._store.path!r}"
        arrays, names = {}, list(self.names if only is None else only)
        made = {name: version_of(expected[name]) for name in names}
        if 0 in made.values():
            raise IncompleteGramError(
                "{where} are not there yet: run {call} again, it goes on from there",
                where=where,
                call=Call("compute_gram"),
            )
        unknown = any(version > len(self._counts) for version in made.values())
        if unknown and self._store.has_changed():
            raise grown_since(self._store.path)
        stops = [min(last, self._counts[min(made[name], len(self._counts)) - 1]) for name in names]
        parts = [(f"{self.axis}/prepared/{name}", slice(start, stop)) for name, stop in zip(names, stops, strict=True)]
        for name, array in zip(names, self._store.decoded_together(parts), strict=True):
            if unknown or array is None or checksum(array, made[name]) != expected[name]:
                raise CorruptTileError(
                    "{damage}: run {repair}, which clears their checksums, then {compute} with the same data (all "
                    "samples, where some were added), to prepare them again",
                    damage=f"{where} do not match their checksum",
                    repair=Call("repair_gram", (self._store.path,)),
                    compute=Call("compute_gram"),
                )
            self._store.bytes_read += array.nbytes
            arrays[name] = array
        return arrays

    def column(self, name: str) -> Array:
        """Read one array of all samples."""
        checksums = self.checksums()
        return np.concatenate([self.read(block, checksums[block], [name])[name] for block in range(len(checksums))])


def among(samples: StoredSamples, positions: Indices) -> Indices:
    """Positions of samples among the computed samples."""
    return positions if samples.index is None else samples.index[positions]


def standing_for(samples: StoredSamples, computed: Indices) -> tuple[Indices, Indices] | None:
    """Samples that equal one of some consecutive computed samples, and which; None where each sample is computed."""
    if samples.index is None:
        return None
    which = samples.index - computed[0]
    where = np.flatnonzero((which >= 0) & (which < len(computed)))
    return where, which[where]
