"""From samples to a stored Gram matrix: validate, plan, prepare samples, compute tiles; or resume where it stopped."""

from __future__ import annotations

import json
import os
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from distkern.build.landmarks import landmark_job
from distkern.build.look import SHORT_SECONDS, Looking
from distkern.build.plan import make_plan, refuse_full_disk
from distkern.build.schedule import fill
from distkern.build.validate import Job, validate
from distkern.core.errors import InputError, StoreError, StoreMismatchError
from distkern.core.events import silent
from distkern.core.sentences import Argument, Call, Sentence
from distkern.core.units import parse_bytes
from distkern.engine.base import Executor
from distkern.engine.memory import Watched, free_within, resident_bytes, share_of
from distkern.engine.progress import Late, progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import await_workers
from distkern.gram.base import StoredGram
from distkern.gram.open import handle_of
from distkern.kernels.base import Kernel
from distkern.store.location import absolute_path, exists
from distkern.store.manifest import GramPlan
from distkern.store.runs import Receipt, this_process
from distkern.store.tiles import GramStore
from distkern.store.view import record_asked


def compute_gram(
    kernel: Kernel,
    X: Any,
    Y: Any = None,
    *,
    store: str | os.PathLike[str],
    executor: Any = None,
    memory_limit: int | str | None = None,
    dtype: str = "float64",
    tile: int | None = None,
    ids: Any = None,
    missing: str = "error",
    landmarks: Any = None,
    landmark_choice: str = "random",
    landmark_seed: int = 0,
    resume: bool = True,
    overwrite: bool = False,
    progress: Any = None,
) -> StoredGram:
    """K_ij = k(x_i, y_j), in tiles, into a store; goes on where an earlier call stopped.

    Parameters
    ----------
    kernel
        A kernel, such as ``Kendall(ties="b")``.
    X
        Samples in rows: a `numpy.ndarray`, `pandas.DataFrame`, `scipy.sparse.csr_array`, dask array, `zarr.Array`,
        `anndata.AnnData`, `Rankings`, or another container; or the path of a file that holds one.
    Y
        Other samples, for a rectangular matrix (test × training); by default the symmetric matrix of X is computed, of
        which only the upper triangle is computed and stored.
    store
        Folder of the store, or its URL on object storage (``s3://``, ``gs://``, ``az://``), with credentials from the
        environment here and on every worker. Results of the same kernel and data in it are kept and completed. If the
        values of the kernel follow from those in it (see `StoredGram.with_kernel`), nothing is computed, and the store
        records the kernel as the one that `open_gram` takes from then on.
    executor
        ``None``: the Dask client that exists in this process, else threads; in a task of a Dask cluster the thread of
        that task. ``"serial"``, ``"threads"``, a number of threads, a ``distributed.Client``, or an executor. The
        matrix is multiplied by it too, for as long as it is there.
    memory_limit
        Bytes that each process may take for this work, as a number or text such as ``"2GiB"``; by default 60 % of what
        is free here, or of each Dask worker's limit. On a cluster it also binds this process, which prepares a cohort
        that lies in its memory.
    dtype
        Type of the stored values, ``"float64"`` or ``"float32"``; the whole numbers of kernels on orderings are stored
        exactly, as integers, whatever it is.
    tile
        Rows and columns of a tile; chosen by default. A number above 4,096 is reduced to the
        number of samples.
        The values do not depend on it. A resumed store keeps its own.
    ids
        Names of the samples of X; its own by default, else positions.
    missing
        Treatment of NaN in samples. ``"error"``: the kernel refuses it by name, or defines its meaning.
        ``"drop-features"``: leave out every feature that has no value in some sample. ``"interleaving"``, for Kendall
        kernels: take NaN as a feature of unknown rank, averaged over all ranks; the matrix stays positive
        semidefinite, which comparing each pair of samples on its own common features would not.
    landmarks
        For cohorts too large for the whole matrix: compute its columns at so many landmark samples only, and get the
        Nyström approximation by them, a lazy `NystromGram`. A number k, or the landmarks themselves: positions or names
        of samples. Time and disk are those of m × k entries; m / (2 k) times less than the symmetric matrix takes.
    landmark_choice
        ``"random"``: uniform, without replacement. ``"kmeans++"``: far from one another in feature space, so that small
        groups are met, too. ``"leverage"``: by approximate ridge leverage scores. Equal samples count once. The last
        two look at kernel values of min(m, max(2,000, 10 k)) random candidates, which this process reads and prepares:
        `plan_gram` counts their time, and what cannot fit in memory is refused.
    landmark_seed
        Seed of the choice. The same samples, kernel, number, choice and seed give the same landmarks.
    resume
        Whether an existing store of the same computation is completed; if False it is an error.
    overwrite
        Whether an existing store is deleted first. Nothing but a distkern store is ever deleted. Where ``store`` is a
        symbolic link, the store that it points to is replaced, and the link stays.
    progress
        ``None``: a bar on a terminal or in a notebook. ``True``, ``False``, or a function of `Progress` events.

    Returns
    -------
    Gram or NystromGram
        The lazy handle of the complete matrix, or of its approximation by landmarks.

    Raises
    ------
    InputError
        If a sample or parameter cannot be used; it is named.
    MemoryLimitError
        If the work cannot fit the memory or disk; before any of it starts.
    StoreMismatchError
        If the store holds another computation; both are named.
    TaskError
        If tasks failed; what had finished is stored.

    See Also
    --------
    plan_gram : What it will cost, before anything is computed.
    open_gram : Open the matrix again.
    append_gram : Add samples to it.

    Examples
    --------
    >>> import tempfile
    >>> from distkern import Kendall
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gram = compute_gram(Kendall(), [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], store=folder + "/gram.zarr")
    ...     gram.to_numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    pool = resolve_executor(executor)
    listener = progress_listener(progress)
    path = absolute_path(store)
    there = exists(path)
    if there and not (resume or overwrite):
        raise StoreError(
            "{store!r} exists: leave out {resume} to complete it, or pass {overwrite} to replace it",
            store=path,
            resume=Argument("resume", False),
            overwrite=Argument("overwrite", True),
        )
    opened = GramStore.opened(path) if there and not overwrite else None
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    to_choose = share_of(limit, 1) if opened is None else None
    await_workers(pool, listener)
    looking, collapsed = Looking(pool, Late(listener, SHORT_SECONDS), limit), None
    if opened is not None:
        looking = replace(looking, format=opened.manifest.format)
        collapsed = {axis: opened.samples(axis).index is not None for axis in opened.axes}
    job = validate(kernel, X, Y, ids, missing, looking, collapsed)
    job = landmark_job(job, landmarks, landmark_choice, landmark_seed, to_choose)
    prepared = opened is not None and not any(opened.samples(axis).missing() for axis in opened.axes)
    given_tile = tile if opened is None else opened.manifest.tile
    plan = _plan(job, pool, limit, dtype, given_tile, prepared=prepared)
    before = [receipt for samples in job.axes.values() for receipt in samples.receipts]
    if opened is None:
        refuse_full_disk(plan.bytes_stored, path)
        opened, receipt = _created(path, plan, job, overwrite)
        before.append(receipt)
    _refuse_mismatch(opened, plan, job)
    job = job.with_columns(opened.manifest.landmark_columns)
    _record(opened, job.kernel)
    opened.sweep()
    sources = {axis: samples.source for axis, samples in job.axes.items()}
    fill(opened, job.kernel.stored(), sources, pool, listener, limit=limit, before=before)
    return handle_of(opened, job.kernel, None if executor is None else pool)


def _record(store: GramStore, kernel: Kernel) -> None:
    """Record the kernel for which the store is asked, which `open_gram` then takes; warn if that is not possible."""
    try:
        record_asked(store, kernel)
    except StoreError as error:
        warnings.warn(
            RuntimeWarning(
                Sentence(
                    "{reason}, so that {store!r} does not know that it was asked for {kernel!r}: name the kernel with "
                    "{option} when you open it again",
                    reason=error.sentence,
                    store=store.path,
                    kernel=kernel,
                    option=Call("with_kernel"),
                )
            ),
            stacklevel=3,
        )


def _created(path: str, plan: GramPlan, job: Job, overwrite: bool) -> tuple[GramStore, Receipt]:
    """Choose the columns where they are to be chosen, and lay out the store; tell the time and memory of the choice."""
    began, rest = time.perf_counter(), resident_bytes()
    with Watched() as memory:
        columns = job.choose_columns()
        receipt = Receipt(0, 0, (), time.perf_counter() - began, 0.0, memory.most, rest, this_process())
    axes = {axis: samples.stored() for axis, samples in job.with_columns(columns).axes.items()}
    features, prepared = job.axes["rows"].source.features, job.sample.arrays
    store = GramStore.create(path, plan, axes, features, prepared, landmark_columns=columns, overwrite=overwrite)
    return store, receipt


def plan_gram(
    kernel: Kernel,
    X: Any,
    Y: Any = None,
    *,
    executor: Any = None,
    memory_limit: int | str | None = None,
    dtype: str = "float64",
    tile: int | None = None,
    missing: str = "error",
    workers: int | None = None,
    landmarks: Any = None,
    landmark_choice: str = "random",
    landmark_seed: int = 0,
) -> GramPlan:
    """Plan what `compute_gram` would do with the same arguments, and do none of it.

    Parameters
    ----------
    kernel, X, Y, executor, memory_limit, dtype, tile, missing
        As for `compute_gram`.
    workers
        Plan for this number of workers of one thread and ``memory_limit`` bytes each, instead of the executor.

    Raises
    ------
    InputError, MemoryLimitError
        As `compute_gram` does.

    See Also
    --------
    compute_gram : Do what was planned.

    Examples
    --------
    >>> from distkern.kernels.kendall import Kendall
    >>> plan_gram(Kendall(), [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], executor="serial", tile=1).tiles
    3
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers must be a whole number of 1 or more, not {workers!r}")
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    pool = resolve_executor(executor)
    await_workers(pool, silent)
    job = validate(kernel, X, Y, None, missing, Looking(pool, silent, limit))
    job = landmark_job(job, landmarks, landmark_choice, landmark_seed, share_of(limit, 1))
    return _plan(job, pool, limit, dtype, tile, workers)


def _plan(
    job: Job,
    pool: Executor,
    limit: int | None,
    dtype: str,
    tile: Any,
    workers: int | None = None,
    prepared: bool = False,
) -> GramPlan:
    """Plan a job for an executor, or for a number of workers; ``prepared``: whether all samples are."""
    share = limit if workers is not None and limit is not None else pool.memory_per_task(limit)
    elsewhere = pool.remote or workers is not None
    here = elsewhere and not prepared and not all(samples.source.portable for samples in job.axes.values())
    return make_plan(
        job,
        dtype=_floating(dtype),
        tile=tile,
        workers=pool.workers if workers is None else workers,
        memory_per_task=share,
        memory_here=free_within(limit) if here else None,
    )


def _floating(dtype: Any) -> str:
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in ("float64", "float32"):
        raise InputError(f'dtype must be "float64" or "float32", not {name!r}')
    return name


def _refuse_mismatch(store: GramStore, plan: GramPlan, job: Job) -> None:
    """Refuse to mix two computations in one store."""
    wanted, found = plan.identity(), store.manifest.identity()
    differing = [key for key in wanted if wanted[key] != found[key]]
    if set(differing) == {"fingerprint", "shape"}:
        _refuse_grown(store, plan, job)
    if differing:
        details = "; ".join(f"{key}: stored {_short(found[key])}, asked for {_short(wanted[key])}" for key in differing)
        raise StoreMismatchError(
            "{store!r} holds another computation ({details}): give another path, or {overwrite} to replace it",
            store=store.path,
            details=details,
            overwrite=Argument("overwrite", True),
        )
    features, given = store.manifest.features, job.axes["rows"].source.features
    if None not in (features, given) and features != given:
        _refuse_renamed(store, "features", features, given)
    for axis, samples in job.axes.items():
        stored = store.samples(axis).ids
        if samples.named and samples.ids != stored:
            _refuse_renamed(store, "samples", stored, samples.ids)


def _refuse_renamed(store: GramStore, what: str, stored: Any, given: Any) -> None:
    first = next(k for k, pair in enumerate(zip(stored, given, strict=True)) if pair[0] != pair[1])
    raise StoreMismatchError(
        "{store!r} holds the same {what} under other names (number {number} is {stored!r} there, {given!r} here): give "
        "another path, or {overwrite} to replace it",
        store=store.path,
        what=what,
        number=first,
        stored=stored[first],
        given=given[first],
        overwrite=Argument("overwrite", True),
    )


def _refuse_grown(store: GramStore, plan: GramPlan, job: Job) -> None:
    """Refuse, with advice, if the samples are the first samples of the store, or the store holds the first of them."""
    stored, given = store.rows.digests(0, store.grid.rows), job.axes["rows"].digests
    cols = store.manifest.fingerprint.get("cols") == plan.fingerprint.get("cols")
    if cols and store.manifest.has_grown and np.array_equal(stored[: len(given)], given):
        raise StoreMismatchError(
            "{store!r} holds these {samples:,} samples and others that were added to them: open it, or, if adding was "
            "interrupted, run {call} again as before, which goes on from there",
            store=store.path,
            samples=job.samples[0],
            call=Call("append_gram"),
        )
    if cols and np.array_equal(given[: len(stored)], stored):
        raise StoreMismatchError(
            "{store!r} holds the first {stored:,} of these {samples:,} samples: add the others with {call}, or give "
            "another path, or {overwrite} to replace it",
            store=store.path,
            stored=store.manifest.samples[0],
            samples=job.samples[0],
            call=Call("append_gram"),
            overwrite=Argument("overwrite", True),
        )


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
