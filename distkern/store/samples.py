"""The samples of one side of a stored Gram matrix: their names, and what the kernel prepared of each, by blocks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import google_crc32c
import numpy as np

from distkern.core.errors import CorruptTileError, IncompleteGramError, StoreError
from distkern.core.sentences import Argument, Call, OptionalPart, SameCall
from distkern.core.typing import Array, Indices, Spec
from distkern.io.digests import fingerprint
from distkern.store.grid import generations

GENERATION = 32
"""Bits of a checksum; those above them in a mark say of which generation of the cohort it is, so that none is 0."""

DIAGONAL = "diagonal"
"""Name under which k(x, x) is stored beside what the kernel prepared."""


def checksum(array: Array, generation: int = 1) -> int:
    """Mark of an array: 2^32 × the generation of the cohort + crc32c of its bytes in C order.

    Examples
    --------
    >>> hex(checksum(np.frombuffer(b"123456789", dtype=np.uint8)))
    '0x1e3069283'
    """
    held = np.ascontiguousarray(array).reshape(-1).view(np.uint8)  # no copy
    return (generation << GENERATION) + google_crc32c.value(held)


def generation_of(mark: int) -> int:
    """Generation of the cohort that a mark was made in; 0 if nothing is marked."""
    return int(mark) >> GENERATION


def merge(known: Array, found: Array) -> None:
    """Add to the marks that a client knows those that it finds in the store and that are newer, in place."""
    np.copyto(known, found, where=(known >> GENERATION) < (found >> GENERATION))


def valid(marks: Array, needed: Array) -> Array:
    """Keep the marks of what covers all the samples there are now: those of the needed generations or newer."""
    return np.where(marks >> GENERATION >= needed, marks, 0).astype(np.uint64)


def written_whole(side: str, what: str, meta: Spec) -> str:
    """Name of the array of all ``ids``, ``digests`` or ``index`` of a side; of rows that grew each plan has its own."""
    grown = side == "rows" and len(meta["generations"]) > 1
    return f"{side}/{what}.{meta['id']}" if grown else f"{side}/{what}"


def grown_since(path: str) -> StoreError:
    """Say that a store has grown since it was opened."""
    return StoreError(
        "{store!r} has grown since it was opened: {reopen}repeat {again}",
        store=path,
        reopen=OptionalPart("open it again with {call} and ", call=Call("open_gram")),
        again=SameCall(),
    )


class Arrays(Protocol):
    """What a store offers for reading and writing its arrays."""

    path: str
    bytes_read: int
    meta: Spec

    def write(self, name: str, where: Any, values: Array) -> None: ...
    def read(self, name: str, where: Any = ...) -> Array: ...
    def decoded_together(self, parts: Sequence[tuple[str, Any]]) -> list[Array | None]: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def item_bytes(self, name: str) -> int: ...
    def has_changed(self) -> bool: ...
    def still_there(self) -> None: ...


class StoredSamples:
    """The samples of one side, ``"rows"`` or ``"cols"``.

    Parameters
    ----------
    store
        The store that holds them.
    side
        Which samples.
    counts
        Number of computed samples in each generation of the cohort, the present one last.
    block
        Samples in a block.
    samples
        Number of all samples, repeated ones included.
    """

    def __init__(self, store: Arrays, side: str, counts: Sequence[int], block: int, samples: int) -> None:
        self._store, self.side, self.block = store, side, block
        self._counts, self.count, self._samples = counts, counts[-1], samples
        self.names = sorted([*store.meta["prepared"], DIAGONAL])

    @cached_property
    def generations(self) -> Array:
        """Generation that the marks of each block must be of, or newer."""
        return np.array(generations(self._counts, self.block), dtype=np.uint64)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of all samples, repeated ones included."""
        text, meta = self._store.read(written_whole(self.side, "ids", self._store.meta)), self._store.meta
        names: Any = None
        if checksum(text) == meta["ids"][self.side]:
            with suppress(ValueError, RecursionError):
                names = json.loads(bytes(text))
        count = self._samples
        if not (isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names)):
            raise CorruptTileError(
                "the names of the {axis} of {store!r} are damaged: compute it with {overwrite}",
                axis=self.side,
                store=self._store.path,
                overwrite=Argument("overwrite", True),
            )
        return tuple(names)

    @cached_property
    def index(self) -> Indices | None:
        """Which of the computed samples each sample equals; None where each is computed."""
        if self.side not in self._store.meta["index"]:
            return None
        index = self._store.read(written_whole(self.side, "index", self._store.meta))
        if checksum(index) != self._store.meta["index"][self.side] or index.min() < 0 or index.max() >= self.count:
            raise CorruptTileError(
                "the record of equal {axis} of {store!r} is damaged: compute it with {overwrite}",
                axis=self.side,
                store=self._store.path,
                overwrite=Argument("overwrite", True),
            )
        return index.astype(np.intp)

    def digests(self, start: int, stop: int) -> Array:
        """Digests of the values of some samples."""
        return self._store.read(written_whole(self.side, "digests", self._store.meta), slice(start, stop))

    def all_digests(self) -> Array:
        """Digests of all samples, repeated ones included, compared with the fingerprint of the cohort.

        Raises
        ------
        CorruptTileError
            If they are damaged.
        """
        digests, index, meta = self.digests(0, self.count), self.index, self._store.meta
        every = digests if index is None else digests[index]
        known = meta["fingerprint"].get(self.side)  # none of landmarks, which are samples of the rows
        if known not in (None, fingerprint(every, meta["n_features"])):
            raise CorruptTileError(
                "{damage}: bring back a copy of them, or compute it with {overwrite}; the matrix can be read as it is, "
                "and not grow",
                damage=f"the digests of the {self.side} of {self._store.path!r} do not match their checksum",
                overwrite=Argument("overwrite", True),
            )
        return every

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the one after its last."""
        return block * self.block, min((block + 1) * self.block, self.count)

    def marks(self) -> Array:
        """Marks (blocks, arrays) as they are now; a block is prepared when none of its marks is 0."""
        return valid(self.marks_of_all_generations(), self.generations[:, None])

    def marks_of_all_generations(self) -> Array:
        """Marks (blocks, arrays) as they are now, also of blocks that have more samples since they were prepared."""
        return self._store.read(f"{self.side}/marks", slice(0, len(self.generations)))

    def mark(self, marks: Array) -> None:
        """Add marks to those that are there, perhaps from another client; ``marks`` is brought up to date."""
        self._store.still_there()
        merge(marks, self.marks_of_all_generations())
        self._store.write(f"{self.side}/marks", slice(0, len(marks)), marks)

    def unmark(self, blocks: Iterable[int]) -> None:
        """Take the marks of some blocks away."""
        marks = self.marks_of_all_generations()
        marks[list(blocks)] = 0
        self._store.write(f"{self.side}/marks", slice(0, len(marks)), marks)

    def missing(self, generation: int | None = None) -> list[int]:
        """Blocks that are not prepared; or of which that is not that they held in an earlier generation."""
        needed = np.array(generations(self._counts[:generation], self.block), dtype=np.uint64)
        marks = valid(self.marks_of_all_generations()[: len(needed)], needed[:, None])
        return [int(block) for block in np.flatnonzero((marks == 0).any(axis=1))]

    def prepared(self) -> dict[int, Array]:
        """Marks of the blocks that are prepared, or were before they had more samples."""
        marks = self.marks_of_all_generations()
        return {int(block): marks[block] for block in np.flatnonzero((marks != 0).all(axis=1))}

    def write(self, block: int, arrays: Mapping[str, Array], held: Mapping[str, Array]) -> tuple[int, ...]:
        """Write what a kernel prepared of a block, after what is held of it; return the marks of its arrays."""
        whole = {name: self.widened(name, array) for name, array in arrays.items()}
        for name in self.names:
            if name in held:
                whole[name] = np.concatenate([held[name], whole[name]])
            self._store.write(f"{self.side}/prepared/{name}", slice(*self.span(block)), whole[name])
        return tuple(checksum(whole[name], len(self._counts)) for name in self.names)

    def widened(self, name: str, array: Array) -> Array:
        """Fill up with zeros what is narrower than the fullest sample of the cohort."""
        wanted = self._store.shape(f"{self.side}/prepared/{name}")[1:]
        if array.shape[1:] == wanted:
            return array
        return np.pad(array, [(0, 0), *((0, wide - own) for wide, own in zip(wanted, array.shape[1:], strict=True))])

    def read(
        self, block: int, marks: Iterable[int] | None = None, only: Iterable[str] | None = None
    ) -> dict[str, Array]:
        """Read arrays of one block, checked against their marks; ``marks`` saves reading those.

        With marks of an earlier generation the samples are read that the block had then.

        Raises
        ------
        IncompleteGramError, CorruptTileError
            If the block is not prepared, or an array does not match its checksum.
        """
        expected = dict(zip(self.names, self.marks()[block] if marks is None else marks, strict=True))
        start, last = self.span(block)
        where = f"the prepared {self.side} {start}–{last - 1} of {self._store.path!r}"
        arrays, names = {}, list(self.names if only is None else only)
        made = {name: generation_of(expected[name]) for name in names}
        if 0 in made.values():
            raise IncompleteGramError(
                "{where} are not there yet: run {call} again, it goes on from there",
                where=where,
                call=Call("compute_gram"),
            )
        unheard_of = any(generation > len(self._counts) for generation in made.values())
        if unheard_of and self._store.has_changed():
            raise grown_since(self._store.path)
        stops = [min(last, self._counts[min(made[name], len(self._counts)) - 1]) for name in names]
        parts = [(f"{self.side}/prepared/{name}", slice(start, stop)) for name, stop in zip(names, stops, strict=True)]
        for name, array in zip(names, self._store.decoded_together(parts), strict=True):
            if unheard_of or array is None or checksum(array, made[name]) != expected[name]:
                raise CorruptTileError(
                    "{damage}: run {repair}, which unmarks them, then {compute} with the same data (all samples, where "
                    "some were added), to prepare them again",
                    damage=f"{where} do not match their checksum",
                    repair=Call("repair_gram", (self._store.path,)),
                    compute=Call("compute_gram"),
                )
            self._store.bytes_read += array.nbytes
            arrays[name] = array
        return arrays

    def bytes_of_sample(self) -> int:
        """Bytes of what is prepared of one sample, k(x, x) apart."""
        arrays = [f"{self.side}/prepared/{name}" for name in self.names if name != DIAGONAL]
        return sum(self._store.item_bytes(name) * math.prod(self._store.shape(name)[1:]) for name in arrays)

    def column(self, name: str) -> Array:
        """Read one array of all samples."""
        marks = self.marks()
        return np.concatenate([self.read(block, marks[block], [name])[name] for block in range(len(marks))])


def among(samples: StoredSamples, positions: Indices) -> Indices:
    """Positions of samples among the computed ones."""
    return positions if samples.index is None else samples.index[positions]


def standing_for(samples: StoredSamples, computed: Indices) -> tuple[Indices, Indices] | None:
    """Samples that a run of computed ones stands for, and which of the run each equals; None where itself alone."""
    if samples.index is None:
        return None
    which = samples.index - computed[0]
    where = np.flatnonzero((which >= 0) & (which < len(computed)))
    return where, which[where]
