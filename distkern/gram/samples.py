"""The samples of one side of a stored Gram matrix: their names, and what the kernel prepared of each, by blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import google_crc32c
import numpy as np

from distkern.core.errors import CorruptTileError, IncompleteGramError
from distkern.core.typing import Array, Floats, Indices, Spec

DONE = 1 << 32
"""Added to a checksum to make a mark, so that no mark of something done is 0."""

DIAGONAL = "diagonal"
"""Name under which k(x, x) is stored beside what the kernel prepared."""


def checksum(array: Array) -> int:
    """Mark of an array: 2^32 + crc32c of its bytes in C order.

    Examples
    --------
    >>> hex(checksum(np.frombuffer(b"123456789", dtype=np.uint8)))
    '0x1e3069283'
    """
    return DONE + google_crc32c.value(np.ascontiguousarray(array).tobytes())


def merge(known: Array, found: Array) -> None:
    """Add to the marks that a client knows those that it finds in the store, in place."""
    np.copyto(known, found, where=known == 0)


class Arrays(Protocol):
    """What a store offers for reading and writing its arrays."""

    path: str
    bytes_read: int
    meta: Spec

    def write(self, name: str, where: Any, values: Array) -> None: ...
    def read(self, name: str, where: Any = ...) -> Array: ...
    def decoded(self, name: str, where: Any) -> Array | None: ...
    def shape(self, name: str) -> tuple[int, ...]: ...


class StoredSamples:
    """The samples of one side, ``"rows"`` or ``"cols"``.

    Parameters
    ----------
    store
        The store that holds them.
    side
        Which samples.
    count, block
        Number of samples, and of those in a block.
    """

    def __init__(self, store: Arrays, side: str, count: int, block: int) -> None:
        self._store, self.side, self.count, self.block = store, side, count, block
        self.names = sorted([*store.meta["prepared"], DIAGONAL])

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of all samples, repeated ones included."""
        text, meta = self._store.read(f"{self.side}/ids"), self._store.meta
        names: Any = None
        if checksum(text) == meta["ids"][self.side]:
            with suppress(ValueError, RecursionError):
                names = json.loads(bytes(text))
        count = meta["samples"][0 if self.side == "rows" else 1]
        if not (isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names)):
            raise CorruptTileError(
                f"the names of the {self.side} of {self._store.path!r} are damaged: compute it with overwrite=True"
            )
        return tuple(names)

    @cached_property
    def index(self) -> Indices | None:
        """Which of the computed samples each sample equals; None where each is computed."""
        if self.side not in self._store.meta["index"]:
            return None
        index = self._store.read(f"{self.side}/index")
        if checksum(index) != self._store.meta["index"][self.side] or index.min() < 0 or index.max() >= self.count:
            raise CorruptTileError(
                f"which {self.side} of {self._store.path!r} are equal is damaged: compute it with overwrite=True"
            )
        return index.astype(np.intp)

    def digests(self, start: int, stop: int) -> Array:
        """Digests of the values of some samples."""
        return self._store.read(f"{self.side}/digests", slice(start, stop))

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the one after its last."""
        return block * self.block, min((block + 1) * self.block, self.count)

    def marks(self) -> Array:
        """Marks (blocks, arrays) as they are now; a block is prepared when none of its marks is 0."""
        return self._store.read(f"{self.side}/marks")

    def mark(self, marks: Array) -> None:
        """Add marks to those that are there, perhaps from another client; ``marks`` is brought up to date."""
        merge(marks, self.marks())
        self._store.write(f"{self.side}/marks", ..., marks)

    def unmark(self, blocks: Iterable[int]) -> None:
        """Take the marks of some blocks away."""
        marks = self.marks()
        marks[list(blocks)] = 0
        self._store.write(f"{self.side}/marks", ..., marks)

    def missing(self) -> list[int]:
        """Blocks that are not prepared."""
        return [int(block) for block in np.flatnonzero((self.marks() == 0).any(axis=1))]

    def write(self, block: int, arrays: Mapping[str, Array], diagonal: Floats) -> tuple[int, ...]:
        """Write what a kernel prepared of a block; return the marks of its arrays."""
        held = {name: self._widened(name, array) for name, array in arrays.items()} | {DIAGONAL: diagonal}
        for name in self.names:
            self._store.write(f"{self.side}/prepared/{name}", slice(*self.span(block)), held[name])
        return tuple(checksum(held[name]) for name in self.names)

    def _widened(self, name: str, array: Array) -> Array:
        """Fill up with zeros what is narrower than the fullest sample of the cohort."""
        wanted = self._store.shape(f"{self.side}/prepared/{name}")[1:]
        if array.shape[1:] == wanted:
            return array
        return np.pad(array, [(0, 0), *((0, wide - own) for wide, own in zip(wanted, array.shape[1:], strict=True))])

    def read(
        self, block: int, marks: Iterable[int] | None = None, only: Iterable[str] | None = None
    ) -> dict[str, Array]:
        """Read arrays of one block, checked against their marks; ``marks`` saves reading those.

        Raises
        ------
        IncompleteGramError, CorruptTileError
            If the block is not prepared, or an array does not match its checksum.
        """
        expected = dict(zip(self.names, self.marks()[block] if marks is None else marks, strict=True))
        start, stop = self.span(block)
        where = f"the prepared {self.side} {start}–{stop - 1} of {self._store.path!r}"
        arrays = {}
        for name in self.names if only is None else only:
            if expected[name] == 0:
                raise IncompleteGramError(f"{where} are not there yet: run compute_gram again, it goes on from there")
            array = self._store.decoded(f"{self.side}/prepared/{name}", slice(start, stop))
            if array is None or checksum(array) != expected[name]:
                raise CorruptTileError(
                    f"{where} do not match their checksum: run repair_gram({self._store.path!r}), which unmarks them, "
                    "then compute_gram with the same data, which prepares them again"
                )
            self._store.bytes_read += array.nbytes
            arrays[name] = array
        return arrays

    def column(self, name: str) -> Array:
        """Read one array of all samples."""
        marks = self.marks()
        return np.concatenate([self.read(block, marks[block], [name])[name] for block in range(len(marks))])
