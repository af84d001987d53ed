"""Landmarks: choose the columns of a job among its row samples, and compute true entries for an estimate of the error.

A job at landmarks is a `LandmarkJob`: it is planned with as many columns as there will be landmarks, chooses them when
its store is made, and takes them from the store when that is completed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from distkern.build.landmark_choice import BY_KERNEL, CHOICES, Pool, pool_bytes, pool_size
from distkern.build.validate import Job, ValidatedSamples
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.events import silent
from distkern.core.parameters import is_sequence, one_of
from distkern.core.random import sample_keys, uniforms
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.core.units import readable_bytes
from distkern.engine.base import Executor
from distkern.engine.executors import Serial, Threads
from distkern.engine.run import run
from distkern.kernels.base import Kernel, Prepared
from distkern.operators.indexing import as_indices
from distkern.store.manifest import LandmarkColumns, TrueEntries

ENTRIES = 1000
"""True entries that are computed beside the matrix, for an estimate of the error."""

TOGETHER = 16
"""Pairs that are read and compared at a time: the values are the diagonal of a square tile."""


@dataclass(frozen=True)
class LandmarkRequest:
    """Landmarks as the user asked for them.

    Parameters
    ----------
    choice
        One of `CHOICES`, or ``"given"``.
    count, seed
        Number of landmarks, and seed of the choice.
    given
        Positions among all samples, ascending, where they were given.
    """

    choice: str
    count: int
    seed: int = 0
    given: Indices | None = None

    def identity(self, kernel: Kernel) -> Spec:
        """Values that are equal for two choices of the same landmarks of a cohort."""
        spec: Spec = {"choice": self.choice, "count": self.count}
        if self.given is not None:
            return spec | {"digest": blake2b(self.given.astype("<i8").tobytes(), digest_size=8).hexdigest()}
        return spec | {"seed": self.seed} | ({} if self.choice == "random" else {"of": kernel.spec()})


@dataclass(frozen=True)
class LandmarkJob(Job):
    """A job whose columns are chosen among the row samples.

    Until they are, the columns are as many other row samples: a plan depends on their number alone.

    Parameters
    ----------
    request
        Number of landmarks, and how they are chosen.
    """

    request: LandmarkRequest

    @property
    def landmarks(self) -> Spec:
        """How the columns are chosen among the row samples."""
        return self.request.identity(self.kernel)

    @property
    def extra_work(self) -> float:
        """Work before the first tile, as a fraction of that of the tiles: two passes of the pool over k samples."""
        rows = len(self.axes["rows"].digests)
        return 2 * pool_size(self.request.count, rows) / rows if self.request.choice in BY_KERNEL else 0.0

    @property
    def bytes_to_choose(self) -> int:
        """Most bytes that choosing the landmarks takes, in this process."""
        if self.request.choice not in BY_KERNEL:
            return 0
        return _bytes_to_choose(self, self.request)

    def choose_columns(self) -> LandmarkColumns:
        """Choose the landmarks, and compute the true entries."""
        positions = choose(self, self.request)
        return LandmarkColumns(tuple(positions.tolist()), true_entries(self, self.request.seed))

    def with_columns(self, columns: LandmarkColumns | None) -> LandmarkJob:
        """The job with the chosen columns."""
        return self if columns is None else replace(self, axes=_with_columns(self, np.array(columns.positions)))


def landmark_job(job: Job, landmarks: Any, choice: str, seed: Any, memory: int | None) -> Job:
    """Turn the job of a symmetric matrix into that of its columns at landmarks, if the user asked for landmarks.

    Parameters
    ----------
    landmarks, choice, seed
        Arguments of `compute_gram`.
    memory
        Bytes that this process may take to choose the landmarks; None where they have been chosen.

    Raises
    ------
    InputError
        If there are not as many different samples, two landmarks are equal, or an argument is not valid.
    MemoryLimitError
        If the samples among which to choose do not fit in memory.
    """
    if landmarks is None:
        return job
    request = _requested(job, landmarks, choice, seed)
    if memory is not None and request.choice in BY_KERNEL:
        _refuse_large_pool(job, request, memory)
    stand_ins = np.arange(request.count) if request.given is None else request.given
    return LandmarkJob(**vars(replace(job, axes=_with_columns(job, stand_ins))), request=request)


def _requested(job: Job, landmarks: Any, choice: str, seed: Any) -> LandmarkRequest:
    """Validate the arguments of the user."""
    if len(job.axes) > 1:
        raise InputError(
            "landmarks approximate the matrix of one cohort: leave out {Y} or {landmarks}{cross}",
            Y=Argument("Y"),
            landmarks=Argument("landmarks"),
            cross=OptionalPart(
                ", or compute the matrix of the training samples with landmarks and use its {cross}(new)",
                cross=Call("cross"),
            ),
        )
    one_of(choice, "landmark_choice", CHOICES)
    seed = _whole(seed, "landmark_seed")
    if isinstance(landmarks, (str, bytes)) or not is_sequence(landmarks):
        count = _whole(landmarks, "landmarks")
        distinct = len(_distinct(job.axes["rows"]))
        if not 1 <= count <= distinct:
            samples = f"{distinct:,} different samples" if distinct < job.samples[0] else f"{distinct:,} samples"
            raise InputError(f"landmarks must be 1 or more and at most the {samples} of the cohort, not {count:,}")
        return LandmarkRequest(choice, count, seed)
    given = _positions(job, list(landmarks))
    return LandmarkRequest("given", len(given), given=given)


def _whole(value: Any, name: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        also = ", or positions or names of samples" if name == "landmarks" else ""
        raise InputError(f"{name} must be a whole number{also}, not {value!r}") from None


def _positions(job: Job, landmarks: list[Any]) -> Indices:
    """Positions of given landmarks, ascending; no two of them are, or equal, the same sample."""
    rows = job.axes["rows"]
    if landmarks and all(isinstance(one, str) for one in landmarks):
        positions = {name: position for position, name in enumerate(rows.ids)}
        unknown = [name for name in landmarks if name not in positions]
        if unknown:
            raise InputError(
                f"landmarks: the cohort has no sample {unknown[0]!r}: give names or positions of its samples"
            )
        landmarks = [positions[name] for name in landmarks]
    given = np.sort(as_indices(landmarks, len(rows.ids), "landmarks"))
    if len(given) == 0:
        raise InputError("landmarks is an empty list: give at least one sample")
    _, firsts, which = np.unique(rows.digests[rows.computed(given)], axis=0, return_index=True, return_inverse=True)
    if len(firsts) < len(given):
        again = next(k for k in range(len(given)) if firsts[which.ravel()[k]] != k)
        one, other = given[firsts[which.ravel()[again]]], given[again]
        raise InputError(
            f"landmarks: the samples {rows.ids[one]!r} and {rows.ids[other]!r} are the same: give each sample once"
        )
    return given


def _distinct(rows: ValidatedSamples) -> Indices:
    """Positions of the first sample of each group of equal samples, ascending."""
    same: Array = rows.digests if rows.index is None else rows.index
    return np.sort(np.unique(same, axis=0, return_index=True)[1])


# The columns ---------------------------------------------------------------------------------------------------------


def _with_columns(job: Job, positions: Indices) -> dict[str, ValidatedSamples]:
    """The axes of the matrix between all row samples and some of them."""
    rows = job.axes["rows"]
    computed = rows.computed(positions)
    cols = replace(
        rows,
        source=rows.source.part(computed),
        ids=tuple(rows.ids[position] for position in positions),
        named=False,  # names are compared for the rows
        digests=rows.digests[computed],
        index=None,
        fingerprint=None,
        description=f"{len(positions):,} landmarks",
    )
    return {"rows": rows, "cols": cols}


def _refuse_large_pool(job: Job, request: LandmarkRequest, memory: int) -> None:
    """Refuse a choice among more candidates than fit in memory."""
    pool = pool_size(request.count, len(job.axes["rows"].digests))
    needed = _bytes_to_choose(job, request)
    if needed > memory:
        raise MemoryLimitError(
            "choosing {count:,} landmarks by {choice} among {pool:,} samples takes {needed} and may take "
            "{allowed}: use {random}, which takes none, fewer landmarks, or raise {memory_limit}",
            count=request.count,
            choice=request.choice,
            pool=pool,
            needed=readable_bytes(needed),
            allowed=readable_bytes(memory),
            random=Argument("landmark_choice", "random"),
            memory_limit=Argument("memory_limit"),
        )


def _bytes_to_choose(job: Job, request: LandmarkRequest) -> int:
    """Bytes that a choice by kernel values takes."""
    prepared, samples = job.sample.nbytes // len(job.sample), len(job.axes["rows"].digests)
    sizes = request.count, samples, job.n_features
    return pool_bytes(request.choice, job.kernel, prepared, job.bytes_read, *sizes)


def choose(job: Job, request: LandmarkRequest) -> Indices:
    """Choose the landmarks; return their positions among all samples, ascending.

    The same samples, kernel, choice, number and seed give the same landmarks on every machine.
    """
    if request.given is not None:
        return request.given
    rows = job.axes["rows"]
    candidates = _distinct(rows)
    if request.count == len(candidates):
        return candidates
    key = _key(request.seed, "landmarks")
    drawn = candidates[np.argsort(uniforms(key, 0, len(candidates)), kind="stable")]
    if request.choice == "random":
        return np.sort(drawn[: request.count])
    drawn = drawn[: pool_size(request.count, len(drawn))]
    pool = Pool(job.kernel, lambda computed: _prepared(job, job.kernel, computed), rows.computed(drawn), key)
    return np.sort(drawn[BY_KERNEL[request.choice](pool, request.count)])


# True entries ------------------------------------------------------------------------------------------------------


def true_entries(job: Job, seed: int) -> TrueEntries:
    """Compute values of the stored kernel at some pairs of different samples."""
    rows, kernel = job.axes["rows"], job.kernel.stored()
    pairs = drawn_pairs(seed, job.samples[0], ENTRIES)
    draws = np.arange(pairs.shape[1])
    values = pair_values(kernel, pairs, draws, lambda some: _prepared(job, kernel, rows.computed(some)), Threads())
    return TrueEntries.of(pairs, values)


def drawn_pairs(seed: int, samples: int, entries: int) -> Indices:
    """Draw pairs (2, entries) of different samples, uniform and independent, each with the smaller position first.

    The pair {i, j} with i < j has the number j (j − 1) / 2 + i, so that a growing cohort adds pairs at the end. A draw
    is a jump consistent hash: when the cohort grows, it stays or moves to a pair with a new sample, with the
    probability that keeps it uniform. So a grown cohort has the same draws as one with all samples from the start.

    Source: Lamping & Veach, *A fast, minimal memory, consistent hash algorithm* (2014).

    Examples
    --------
    >>> drawn_pairs(0, 60, 4).tolist()
    [[9, 21, 18, 45], [59, 54, 48, 56]]
    >>> drawn_pairs(0, 90, 4).tolist()
    [[2, 12, 18, 45], [79, 71, 48, 56]]
    """
    key, count = _key(seed, "true entries"), samples * (samples - 1) // 2
    if count == 0:
        return np.empty((2, 0), dtype=np.intp)
    number, following = np.zeros(entries), np.zeros(entries)
    step = 0
    while (moving := following < count).any():
        number[moving] = following[moving]  # a draw moves to the pair that is added
        following[moving] = np.floor((number[moving] + 1) / (1 - uniforms(key, step, entries)[moving]))
        step += 1
    second = [(1 + math.isqrt(1 + 8 * int(one))) // 2 for one in number]
    first = [int(one) - j * (j - 1) // 2 for one, j in zip(number, second, strict=True)]
    return np.array([first, second], dtype=np.intp)


def pair_values(
    kernel: Kernel,
    pairs: Indices,
    draws: Indices,
    prepared: Callable[[Indices], Prepared],
    pool: Executor | None = None,
) -> Floats:
    """Kernel values at pairs (2, entries) of samples: the diagonals of small tiles.

    Parameters
    ----------
    draws
        Number of each pair among all draws. It fixes the position of the pair in its tile, and so the bits of its
        value, whichever other pairs are computed.
    prepared
        Function that reads and prepares some samples.
    pool
        Executor that runs it; by default this thread.

    Raises
    ------
    InputError
        If a value is not finite.
    """
    values: Floats = np.empty(len(draws))
    slots = draws % TOGETHER
    order = np.argsort(slots, kind="stable")
    turns = np.empty_like(draws)
    turns[order] = np.arange(len(draws)) - np.searchsorted(slots[order], slots[order])

    def fill(turn: int) -> None:
        some = np.flatnonzero(turns == turn)
        tile = np.full(slots[some].max() + 1, some[0])
        tile[slots[some]] = some
        read = prepared(pairs[:, tile].ravel())
        values[some] = kernel.tile(read.take(slice(len(tile))), read.take(slice(len(tile), None))).diagonal()[
            slots[some]
        ]

    tasks = range(turns.max(initial=-1) + 1)
    run(pool or Serial(), fill, tasks, lambda _: None, phase="compute true entries", listener=silent)
    if not np.isfinite(values).all():
        wrong = int(np.flatnonzero(~np.isfinite(values))[0])
        first, second = pairs[:, wrong]
        raise InputError(f"k(x, y) is {values[wrong]} for samples number {first} and {second}: scale the data down")
    return values


def _prepared(job: Job, kernel: Any, computed: Indices) -> Prepared:
    """Read and prepare some computed samples, with or without their zeros as the store keeps them."""
    source = job.axes["rows"].source
    return kernel.prepare(source.read_sparse(computed) if job.sparse else source.read(computed))


def _key(seed: int, what: str) -> Array:
    return sample_keys(seed, np.frombuffer(what.encode(), dtype=np.uint8)[None])[0]
