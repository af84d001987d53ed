"""Add samples to a store; only the rows and columns of the new samples are computed."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from distkern.build.landmarks import ENTRIES, drawn_pairs, pair_values
from distkern.build.look import SHORT_SECONDS, Looking, look
from distkern.build.plan import bytes_in_store, bytes_of_preparing, bytes_of_task, bytes_read_of, refuse_full_disk
from distkern.build.schedule import fill
from distkern.build.validate import distinct
from distkern.core.errors import InputError, MemoryLimitError, StoreError, StoreMismatchError
from distkern.core.sentences import Argument, Call, OptionalPart, SameCall
from distkern.core.typing import Array, Indices
from distkern.core.units import parse_bytes, readable_bytes
from distkern.engine.base import Executor
from distkern.engine.memory import free_within
from distkern.engine.progress import Late, progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import await_workers
from distkern.gram.base import StoredGram
from distkern.gram.cross import known_features
from distkern.gram.open import handle_of
from distkern.gram.prepared import prepared_block
from distkern.io.digests import fingerprint
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.registry import from_spec
from distkern.operators.array import name_samples
from distkern.store.grid import Grid
from distkern.store.layout import AxisSamples
from distkern.store.manifest import CohortVersion, Manifest, TrueEntries
from distkern.store.runs import Receipt
from distkern.store.tiles import GramStore
from distkern.store.view import asked_kernel


@dataclass(frozen=True)
class Added:
    """Samples to add to a store.

    Parameters
    ----------
    source
        Reads the samples that are to be computed.
    ids
        Names of all samples, stored and added.
    digests
        Digests of the samples that are to be computed.
    index
        The computed sample that each added sample equals; None where each is computed.
    all_digests
        Digests of all added samples.
    receipts
        Time and memory of looking at them.
    """

    source: Source
    ids: tuple[str, ...]
    digests: Array
    index: Indices | None
    all_digests: Array
    receipts: list[Receipt]


def append_gram(
    gram: StoredGram | str | os.PathLike[str],
    X: Any,
    *,
    ids: Any = None,
    executor: Any = None,
    memory_limit: int | str | None = None,
    progress: Any = None,
) -> StoredGram:
    """K_ij for samples that are added to a store: only the rows and columns of the new ones are computed.

    The store ends with the same bytes as if it had been computed from all samples at once. After an interruption, the
    same call continues. After its end, the same call changes nothing: the samples that were added last are not added
    again, unless they have other names. Two clients may add the same samples at the same time; both complete them. A
    client that adds other samples is refused until the first client has ended.

    Parameters
    ----------
    gram
        A stored Gram matrix, or the folder of its store, complete. To a rectangular one rows are added, and to an
        approximation by landmarks too: its landmarks stay, and its true entries become a sample of all pairs.
    X
        The new samples in rows, in whatever `compute_gram` takes. Parameters that the kernel took from the first
        samples, such as a median bandwidth, stay as they are.
    ids
        Names of the new samples; their own by default, else positions.
    executor, memory_limit, progress
        As for `compute_gram`.

    Returns
    -------
    Gram
        The handle of the grown matrix. Older handles raise an error when they read a tile that has grown.

    Raises
    ------
    InputError
        If a sample cannot be used, its name is taken, or features differ.
    StoreMismatchError
        If the store no longer holds the values that the handle's kernel is a function of.
    MemoryLimitError
        If the work cannot fit the memory or disk; before any of it starts.
    StoreError
        If the store is not complete, and not because these same samples are being added to it.

    See Also
    --------
    compute_gram : Compute the matrix that is extended.
    repair_gram : Recompute damaged tiles.

    Examples
    --------
    >>> import tempfile
    >>> from distkern import Kendall, append_gram, compute_gram
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gram = compute_gram(Kendall(), [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], store=folder + "/gram.zarr")
    ...     append_gram(gram, [[1.0, 3.0, 2.0]]).to_numpy().round(3)
    array([[ 1.   , -1.   ,  0.333],
           [-1.   ,  1.   , -0.333],
           [ 0.333, -0.333,  1.   ]])
    """
    store = GramStore.opened(gram.path if isinstance(gram, StoredGram) else gram)
    kernel: Kernel = gram.kernel if isinstance(gram, StoredGram) else asked_kernel(store)
    if kernel.stored().spec() != store.manifest.stored:
        raise StoreMismatchError(
            "{store!r} was replaced by a store of another kernel: {reopen}repeat {again}",
            store=store.path,
            reopen=OptionalPart("open it again with {call} and ", call=Call("open_gram")),
            again=SameCall(),
        )
    pool, listener = resolve_executor(executor), progress_listener(progress)
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    await_workers(pool, listener)
    known = known_features(store)
    source = as_source(X, ids=ids).like(*known, "the cohort of new samples").widened(known[0])
    complete = np.count_nonzero(store.checksums(refresh=True)) == store.grid.count
    versions = store.manifest.versions
    before = versions[-1 if complete or len(versions) == 1 else -2]
    looking = Looking(pool, Late(listener, SHORT_SECONDS), limit, store.manifest.format)
    added = _compared(store, before, kernel, source, looking)
    if complete and _are_the_last(store, source, added):
        return handle_of(store, kernel, None if executor is None else pool)
    if complete:
        _refuse_taken_names(store, added)
        _refuse_lost_samples(store, len(versions))
        grown = _grown(store, added)
        _refuse_what_cannot_fit(store, grown, pool, added.source, limit)
        larger = store.grow(_with_true_entries(grown, store, added), _all_rows(store, added))
        if larger is None:  # another client was faster
            return append_gram(gram, X, ids=ids, executor=executor, memory_limit=memory_limit, progress=progress)
        store = larger
    elif not np.array_equal(store.rows.all_digests()[before.samples[0] :], added.all_digests):
        raise StoreError(
            f"{store.path!r} is not complete, and samples are added to a complete one: let the call end that fills it, "
            "or run it again if it was interrupted, which goes on where it stopped; then run this one again"
        )
    elif source.ids is not None and store.rows.ids != added.ids:
        raise StoreError(
            f"{store.path!r} is growing by the same samples under other names: give the names of the first call"
        )
    else:
        _refuse_lost_samples(store, len(versions) - 1)
        _refuse_what_cannot_fit(store, store.manifest, pool, added.source, limit)
    store.sweep()
    if len(added.digests):
        fill(store, kernel.stored(), {"rows": added.source}, pool, listener, before.shape[0], limit, added.receipts)
    return handle_of(store, kernel, None if executor is None else pool)


def _compared(store: GramStore, before: CohortVersion, kernel: Kernel, source: Source, looking: Looking) -> Added:
    """Check the new samples, and find which of them equal earlier ones where equal samples are computed once."""
    first, samples = before.shape[0], before.samples[0]
    names = name_samples(samples + source.shape[0])[samples:] if source.ids is None else source.ids
    kernels = {repr(one): one for one in (from_spec(store.manifest.kernel), kernel, asked_kernel(store))}
    digests, filled, receipts = look([*kernels.values()], source, names, looking)
    _refuse_fuller(store, filled, names)
    whole = (*store.rows.ids[:samples], *names)
    if store.rows.index is None:
        return Added(source, whole, digests, None, digests, receipts)
    firsts, which = distinct(np.concatenate([store.rows.digests(0, first), digests]))
    new = firsts[first:] - first  # the earlier ones are distinct and come first
    return Added(source.part(new), whole, digests[new], which[first:], digests, receipts)


def _are_the_last(store: GramStore, source: Source, added: Added) -> bool:
    """Whether these very samples were the last ones to be added: the call is repeated, and nothing is left to do."""
    if not store.manifest.has_grown:
        return False
    first = store.manifest.earlier_versions[-1].samples[0]
    named = source.ids is None or store.rows.ids[first:] == source.ids
    return named and np.array_equal(store.rows.all_digests()[first:], added.all_digests)


def _refuse_fuller(store: GramStore, filled: Indices, names: tuple[str, ...]) -> None:
    widths = [store.shape(f"rows/prepared/{name}")[1] for name in store.rows.names if name.endswith("places")]
    if widths and filled.max() > min(widths):
        fullest = int(filled.argmax())
        raise InputError(
            f"sample {names[fullest]!r} has {filled[fullest]} values that are not zero, and {store.path!r} has room "
            f"for {min(widths)}: compute the matrix of all samples into another store"
        )


def _refuse_lost_samples(store: GramStore, version: int) -> None:
    """Refuse if prepared arrays of stored samples are lost, since they can be computed from those samples only."""
    if any(store.samples(axis).missing(version) for axis in store.axes):
        raise StoreError(
            "prepared arrays of some samples of {store!r} are lost: run {call} with the same kernel and all "
            "{samples:,} samples in it, which prepares them again; then repeat {again}",
            store=store.path,
            call=Call("compute_gram"),
            samples=store.manifest.samples[0],
            again=SameCall(),
        )


def _all_rows(store: GramStore, added: Added) -> AxisSamples:
    """All row samples, stored and added."""
    digests = np.concatenate([store.rows.digests(0, store.grid.rows), added.digests])
    index = store.rows.index
    whole = None if index is None or added.index is None else np.concatenate([index, added.index])
    return AxisSamples(added.ids, digests, whole)


def _refuse_taken_names(store: GramStore, added: Added) -> None:
    known: set[str] = set()
    for name in added.ids:
        if name in known:
            raise InputError(
                "{store!r} holds a sample named {sample!r} already: give the new samples other names{ids}",
                store=store.path,
                sample=name,
                ids=OptionalPart(" with {ids}", ids=Argument("ids")),
            )
        known.add(name)


def _grown(store: GramStore, added: Added) -> Manifest:
    """Make the manifest of the grown store, but for its true entries."""
    manifest, grid, new, more = store.manifest, store.grid, len(added.digests), len(added.all_digests)
    rows, cols = grid.rows + new, grid.cols + (new if grid.symmetric else 0)
    samples = manifest.samples[0] + more, manifest.samples[1] + (more if grid.symmetric else 0)
    larger = Grid(rows, cols, grid.side, grid.symmetric)
    item, prepared, n = np.dtype(manifest.dtype).itemsize, manifest.sample_bytes, manifest.n_features
    every = np.concatenate([store.rows.all_digests(), added.all_digests])
    return manifest.grown(
        CohortVersion((rows, cols), samples),
        fingerprint=manifest.fingerprint | {"rows": fingerprint(every, n)},
        bytes_stored=bytes_in_store(larger, rows + (0 if grid.symmetric else cols), prepared, item),
        bytes_per_task=bytes_of_task(from_spec(manifest.stored), larger, n, prepared, bytes_read_of(manifest), item),
    )


def _with_true_entries(grown: Manifest, store: GramStore, added: Added) -> Manifest:
    """Bring the true entries up to date, where the store has some."""
    columns = store.manifest.landmark_columns
    if columns is None:
        return grown
    seed = (store.manifest.landmarks or {}).get("seed", 0)
    entries = _more_true_entries(store, added, columns.true_entries, seed)
    return replace(grown, landmark_columns=replace(columns, true_entries=entries))


def _more_true_entries(store: GramStore, added: Added, stored: TrueEntries, seed: int) -> TrueEntries:
    """Compute the true entries of the grown cohort whose draw moves to a pair with a new sample; keep the others."""
    samples, index = store.manifest.samples[0], store.rows.index
    every = samples + len(added.all_digests)
    computed = np.arange(every) if index is None or added.index is None else np.concatenate([index, added.index])
    known_pairs, known_values = stored.arrays(store.path)
    entries = len(known_values) or ENTRIES  # one sample has no pair
    pairs, values = drawn_pairs(seed, every, entries), np.empty(entries)
    kept, moved = (np.flatnonzero(some) for some in (pairs[1] < samples, pairs[1] >= samples))
    pairs[:, kept], values[kept] = known_pairs[:, kept], known_values[kept]
    moved = moved[np.argsort(computed[pairs[0, moved]], kind="stable")]  # so that few stored blocks are read twice
    grown = _GrownSamples(store, added.source)
    values[moved] = pair_values(grown.kernel, pairs[:, moved], moved, lambda some: grown.prepared(computed[some]))
    return TrueEntries.of(pairs, values)


class _GrownSamples:
    """The computed samples of a store and, numbered after them, the added ones; at most four blocks are cached."""

    def __init__(self, store: GramStore, source: Source) -> None:
        self.kernel = from_spec(store.manifest.stored)
        self._samples = store.rows
        self._read = source.read_sparse if store.manifest.sparse else source.read
        self._block = lru_cache(maxsize=4)(partial(prepared_block, store, "rows"))

    def prepared(self, computed: Indices) -> Prepared:
        """Some of the samples, prepared."""
        samples, blocks = self._samples, computed // self._samples.block
        blocks[computed >= samples.count] = -1
        order, parts = np.argsort(blocks, kind="stable"), []
        for block in np.unique(blocks):
            some = computed[blocks == block]
            if block < 0:
                parts.append(self.kernel.prepare(self._read(some - samples.count)))
            else:
                parts.append(self._block(int(block)).take(some - block * samples.block))
        back = np.argsort(order)
        whole = {name: [samples.widened(name, part.arrays[name]) for part in parts] for name in parts[0].arrays}
        return Prepared({name: np.concatenate(arrays)[back] for name, arrays in whole.items()})


def _refuse_what_cannot_fit(
    store: GramStore, grown: Manifest, pool: Executor, source: Source, limit: int | None
) -> None:
    side, prepared = min(grown.tile, grown.shape[0]), grown.sample_bytes
    works = [("a task", grown.bytes_per_task, pool.memory_per_task(limit))]
    if pool.remote and not source.portable:
        needed = bytes_of_preparing(side, prepared, bytes_read_of(grown))
        works.append(("preparing samples that lie in the memory of this process", needed, free_within(limit)))
    for work, needed, allowed in works:
        if needed > allowed:
            raise MemoryLimitError(
                "{work} on tiles of side {tile}, which {store!r} has, takes {needed} and may take {allowed}: raise "
                "{memory_limit}, or use fewer threads",
                work=work,
                tile=store.grid.side,
                store=store.path,
                needed=readable_bytes(needed),
                allowed=readable_bytes(allowed),
                memory_limit=Argument("memory_limit"),
            )
    refuse_full_disk(grown.bytes_stored - store.manifest.bytes_stored, store.path)
