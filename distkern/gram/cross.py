"""The kernel between new samples and stored samples, whose prepared arrays are in the store."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.feature_names import WITHOUT_THEM
from distkern.core.sentences import Argument, Call
from distkern.core.typing import Floats
from distkern.core.units import readable_bytes
from distkern.engine.memory import share_of
from distkern.gram.prepared import prepared_block
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, finite_tile, prepare_source, strips
from distkern.kernels.incomplete import Incomplete
from distkern.kernels.planning import bytes_per_tile
from distkern.store.tiles import GramStore


def against_stored(store: GramStore, kernel: Kernel, X: Any) -> tuple[Source, Floats, Floats]:
    """Compute the kernel between new samples and the computed column samples.

    Returns
    -------
    Source
        The new samples, without the features that were dropped from the stored samples.
    ndarray
        k(x, y) of the new samples x in rows and the stored samples y in columns.
    ndarray
        k(x, x) of the new samples.

    Raises
    ------
    InputError
        If the new samples have another number of features, or the kernel is not defined for one of them.
    MemoryLimitError
        If the result does not fit in memory.
    """
    source = as_source(X).like(*known_features(store), "the cohort of new samples", WITHOUT_THEM)
    _refuse_many(store, kernel, source)
    values = np.empty((len(source), store.grid.cols))
    blocks = ((slice(*store.grid.col_range(j)), prepared_block(store, "cols", j)) for j in range(store.grid.col_blocks))
    if source.interleaving:
        X, squares = source.read(slice(0, None)), np.empty(len(source))
        for cols, block in blocks:
            values[:, cols], squares = Incomplete(kernel).against(X, block, source.ids)
        return source, values, squares
    new = prepare_source(kernel, source, like=prepared_block(store, "cols", 0))
    for cols, block in blocks:
        values[:, cols] = finite_tile(kernel, new, block, source.ids)
    return source, values, kernel.diagonal(new)


def first_difference(store: GramStore, X: Any) -> int | None:
    """Position of the first sample whose values are not those of the stored row sample; None where all are equal.

    Raises
    ------
    InputError
        If the number of samples or the features differ.
    """
    source = as_source(X).like(*known_features(store), "the cohort of these samples")
    stored = store.rows.all_digests()
    if len(source) != len(stored):
        raise InputError(f"the cohort has {len(source):,} samples, and {store.path!r} holds {len(stored):,}")
    read = source.read_sparse if source.sparse else source.read
    for part in strips(*source.shape):
        other = np.flatnonzero((store.manifest.digest_kind.of(read(part)) != stored[part]).any(axis=1))
        if len(other):
            return int(other[0]) + part.start
    return None


def known_features(store: GramStore) -> tuple[int, list[int], tuple[str, ...] | None]:
    """Number of compared features, positions of dropped features, and names of the compared ones."""
    return store.manifest.n_features, store.manifest.dropped, store.manifest.features


def _refuse_many(store: GramStore, kernel: Kernel, source: Source) -> None:
    (new, n), stored = source.shape, store.manifest.samples[1]
    needed = bytes_per_tile(kernel, new, stored, n) + 24 * new * n
    if needed > share_of(None, 1):
        raise MemoryLimitError(
            "the kernel between {new} new samples and {stored} stored ones takes {needed}: give fewer at a time, or "
            "use {call} with the stored samples as {Y}",
            new=new,
            stored=stored,
            needed=readable_bytes(needed),
            call=Call("compute_gram"),
            Y=Argument("Y"),
        )
