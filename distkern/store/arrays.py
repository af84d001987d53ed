"""The arrays of a store. Zarr reads and writes their chunks, and no chunk is read beyond the size of its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np
import zarr
from zarr.abc.store import ByteRequest, RangeByteRequest, Store
from zarr.core.array_spec import ArrayConfigParams
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import LocalStore, ObjectStore, StorePath, WrapperStore

from distkern.core.errors import CorruptTileError, MemoryLimitError, StoreError
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.core.typing import Array
from distkern.store.documents import as_json
from distkern.store.layout import (
    Layout,
    arrays_of,
    holds_names,
    read_layout,
    read_temporary_layout,
    unpacked_bytes,
)
from distkern.store.location import ROOT, SCRATCH, Location, explained, is_remote, refuse_beyond_memory
from distkern.store.manifest import Manifest

_WRITTEN_WHOLE: ArrayConfigParams = {"write_empty_chunks": True}

SCRATCH_ROWS = 4096
"""Rows of a temporary array in one chunk."""

LONGER = 4096
"""Bytes by which a chunk on disk may be longer than its values."""


class _Bounded(WrapperStore[Store]):
    """Reads chunks of an array, and refuses a chunk that would unpack to more bytes than its values take."""

    def __init__(self, store: Store, layout: Layout) -> None:
        super().__init__(store)
        self._layout = layout

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        size = self._layout.chunk_bytes
        byte_range = RangeByteRequest(0, size + LONGER)  # not more, however long the file or object is
        try:
            chunk = await self._store.get(key, prototype, byte_range)
        except Exception as error:
            if "InvalidRange" in str(error):  # the answer of object storage for an empty object
                raise ValueError(f"{key!r} is empty") from error
            raise
        if chunk is not None and self._layout.packed and unpacked_bytes(chunk[:16].to_bytes()) != size:
            raise ValueError(f"{key!r} does not hold {size} bytes")
        return chunk


class StoredArrays:
    """The arrays that a manifest lays out, read and written by parts.

    Parameters
    ----------
    location
        Where the store lies.
    manifest
        Its manifest.
    """

    def __init__(self, location: Location, manifest: Manifest) -> None:
        self.path = location.path
        self.manifest = manifest
        self._location = location
        self._arrays: dict[str, zarr.Array] = {}

    def _key(self, name: str) -> str:
        """Key of a part of the store, which on object storage lies in a folder of its own."""
        return f"{self.manifest.folder}/{name}".lstrip("/")

    @cached_property
    def _files(self) -> LocalStore | ObjectStore:
        target = self._location.target
        return LocalStore(target) if isinstance(target, str) else ObjectStore(target)

    def _at(self, name: str) -> zarr.Array:
        if name not in self._arrays:
            raw = self._location.get(self._key(f"{name}/{ROOT}"))
            if raw is None:
                self.refuse_if_gone()
                raise StoreError(f"the store {self.path!r} has lost its array {name!r}: compute it again")
            self._arrays[name] = self._zarr(name, read_layout(self.path, name, raw, self.manifest))
        return self._arrays[name]

    def _zarr(self, name: str, layout: Layout) -> zarr.Array:
        document: Any = layout.document()
        files = StorePath(_Bounded(self._files, layout), self._key(name))
        return zarr.Array(zarr.AsyncArray(document, files, _WRITTEN_WHOLE))

    def write(self, name: str, where: Any, values: Array) -> None:
        """Write part of an array."""
        with explained(self.path, "write to the store"):
            self._at(name)[self._planned(name) if where is ... else where] = values

    def read(self, name: str, where: Any = ...) -> Array:
        """Read part of an array.

        Raises
        ------
        CorruptTileError
            If its bytes cannot be decoded.
        """
        found = self.decoded(name, where)
        if found is None:
            raise CorruptTileError(
                "{array!r} of {store!r} is damaged: compute it with {overwrite}",
                array=name,
                store=self.path,
                overwrite=Argument("overwrite", True),
            )
        return found

    def decoded(self, name: str, where: Any = ...) -> Array | None:
        """Read part of an array; None where its bytes cannot even be decoded."""
        with explained(self.path, "read the store"):
            array = self._at(name)
            where = self._planned(name) if where is ... else where
            needed = array.dtype.itemsize * _entries(array.shape, where)
            refuse_beyond_memory(self.path, f"a part of {name!r}", needed, MemoryLimitError)
            try:
                found = np.asarray(array[where])
            except (ValueError, RuntimeError):
                return None
            if _is_empty(found):  # nothing is written there yet, or nothing is there any more
                self.refuse_if_gone()
            return found

    def refuse_if_gone(self) -> None:
        """Refuse to read where the whole store is gone: each missing chunk would be taken for one not written yet.

        Raises
        ------
        StoreError
            If there is no store at the path any more.
        """
        if self._location.root() is None:
            raise StoreError(
                "there is no store at {store!r} any more: it was moved, deleted or unmounted; bring it back{reopen}",
                store=self.path,
                reopen=OptionalPart(", or open it where it is now with {call}", call=Call("open_gram")),
            )

    def decoded_together(self, parts: Sequence[tuple[str, Any]]) -> list[Array | None]:
        """Read parts of several arrays; from object storage in parallel, since each part takes a request."""
        if len(parts) < 2 or not is_remote(self.path):
            return [self.decoded(*part) for part in parts]
        with ThreadPoolExecutor(len(parts)) as pool:
            return list(pool.map(lambda part: self.decoded(*part), parts))

    def _planned(self, name: str) -> Any:
        """Select the planned part of an array; an array is longer if a client was killed while it added samples."""
        shape = arrays_of(self.manifest)[name].shape
        return ... if holds_names(name) else tuple(slice(0, length) for length in shape)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array."""
        return self._at(name).shape

    # Temporary arrays ----------------------------------------------------------------------------------------

    def scatter(self, array: Array) -> str:
        """Write a temporary array for the workers; return the name to read it by.

        Raises
        ------
        StoreError
            If the store cannot be written.
        """
        name = f"{SCRATCH}/{uuid4().hex}"
        chunks = (min(len(array), SCRATCH_ROWS), *array.shape[1:])
        layout = Layout(array.shape, chunks, array.dtype.name)
        with explained(self.path, "write to the store"):
            self._location.put(self._key(f"{name}/{ROOT}"), as_json(layout.document()))
            self._zarr(name, layout)[...] = array
        return name

    def scattered(self, name: str, rows: slice) -> Array:
        """Read some rows of a temporary array."""
        with explained(self.path, "read the store"):
            raw = self._location.get(self._key(f"{name}/{ROOT}"))
            if raw is None:
                raise StoreError(f"{self.path!r} has lost a temporary array of vectors: multiply again")
            return np.asarray(self._zarr(name, read_temporary_layout(self.path, name, raw))[rows])

    def remove_scattered(self, name: str) -> None:
        """Delete a temporary array."""
        with explained(self.path, "write to the store"):
            self._location.remove(self._key(name))


def _is_empty(values: Array) -> bool:
    """Whether an array holds nothing but the fill value: zeros, or NaN for floating-point numbers."""
    return not values.any() or (values.dtype.kind == "f" and bool(np.isnan(values).all()))


def _entries(shape: tuple[int, ...], where: Any) -> int:
    """Number of entries that a part of an array has."""
    parts = where if isinstance(where, tuple) else () if where is ... else (where,)
    pairs = zip(shape, parts, strict=False)
    lengths = [len(range(*part.indices(n))) if isinstance(part, slice) else 1 for n, part in pairs]
    return math.prod([*lengths, *shape[len(parts) :]])
