"""Landmarks as they are asked for, and what a store of the m × k part at them needs: columns, and true entries."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from distkern.build.choice import BY_KERNEL, CHOICES, Pool, pool_bytes, pool_size
from distkern.build.plan import GramPlan
from distkern.build.validate import Job, Side
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.random import sample_keys, uniforms
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.core.units import readable_bytes
from distkern.kernels.base import Kernel, Prepared
from distkern.operators.indexing import as_indices
from distkern.store.true_entries import as_sample

ENTRIES = 1000
"""True entries that are computed beside the part, for an estimate of the error."""

TOGETHER = 16
"""Pairs whose samples are read and compared at a time: of that square of values the diagonal is kept."""


@dataclass(frozen=True)
class Landmarks:
    """Landmarks as they were asked for.

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

    def identity(self, job: Job) -> Spec:
        """What makes two choices on the same samples the same one."""
        spec: Spec = {"choice": self.choice, "count": self.count}
        if self.given is not None:
            return spec | {"digest": blake2b(self.given.astype("<i8").tobytes(), digest_size=8).hexdigest()}
        return spec | {"seed": self.seed} | ({} if self.choice == "random" else {"of": job.kernel.spec()})


def asked_landmarks(job: Job, landmarks: Any, choice: str, seed: Any) -> Landmarks | None:
    """Check what the user asked for; None where that is the full matrix.

    Raises
    ------
    InputError
        If there are not as many different samples, two landmarks are equal, or an argument is none.
    """
    if landmarks is None:
        return None
    if len(job.sides) > 1:
        raise InputError(
            "landmarks approximate the matrix of one cohort: leave out {Y} or {landmarks}{cross}",
            Y=Argument("Y"),
            landmarks=Argument("landmarks"),
            cross=OptionalPart(
                ", or compute the matrix of the training samples with landmarks and use its {cross}(new)",
                cross=Call("cross"),
            ),
        )
    if choice not in CHOICES:
        raise InputError(f"landmark_choice must be one of {', '.join(map(repr, CHOICES))}, not {choice!r}")
    seed = _whole(seed, "landmark_seed")
    if isinstance(landmarks, (str, bytes)) or not isinstance(landmarks, Iterable):
        count = _whole(landmarks, "landmarks")
        distinct = len(_distinct(job.sides["rows"]))
        if not 1 <= count <= distinct:
            samples = f"{distinct:,} different samples" if distinct < job.samples[0] else f"{distinct:,} samples"
            raise InputError(f"landmarks must be 1 or more and at most the {samples} of the cohort, not {count:,}")
        return Landmarks(choice, count, seed)
    given = _positions(job, list(landmarks))
    return Landmarks("given", len(given), given=given)


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
    rows = job.sides["rows"]
    if landmarks and all(isinstance(one, str) for one in landmarks):
        places = {name: position for position, name in enumerate(rows.ids)}
        unknown = [name for name in landmarks if name not in places]
        if unknown:
            raise InputError(
                f"landmarks: the cohort has no sample {unknown[0]!r}: give names or positions of its samples"
            )
        landmarks = [places[name] for name in landmarks]
    given = np.sort(as_indices(landmarks, len(rows.ids), "landmarks"))
    if len(given) == 0:
        raise InputError("landmarks is an empty list: give at least one sample")
    _, firsts, which = np.unique(rows.digests[_computed(rows, given)], axis=0, return_index=True, return_inverse=True)
    if len(firsts) < len(given):
        again = next(k for k in range(len(given)) if firsts[which.ravel()[k]] != k)
        one, other = given[firsts[which.ravel()[again]]], given[again]
        raise InputError(
            f"landmarks: the samples {rows.ids[one]!r} and {rows.ids[other]!r} are the same: give each sample once"
        )
    return given


def _computed(rows: Side, positions: Indices) -> Indices:
    """Positions among the computed samples, which may stand for many equal ones."""
    return positions if rows.index is None else rows.index[positions]


def _distinct(rows: Side) -> Indices:
    """Positions, among all samples, of the first of each group of equal ones, ascending."""
    same: Array = rows.digests if rows.index is None else rows.index
    return np.sort(np.unique(same, axis=0, return_index=True)[1])


# The column samples ------------------------------------------------------------------------------------------------


def at_landmarks(job: Job, positions: Indices) -> Job:
    """Turn the job of a symmetric matrix into that of its columns at some samples."""
    rows = job.sides["rows"]
    places = _computed(rows, positions)
    cols = replace(
        rows,
        source=rows.source.part(places),
        ids=tuple(rows.ids[position] for position in positions),
        named=False,  # after the rows, whose names are compared
        digests=rows.digests[places],
        index=None,
        described=f"{len(positions):,} landmarks",
    )
    return replace(job, sides={"rows": rows, "cols": cols})


def planned(plan: GramPlan, job: Job, asked: Landmarks, memory: int | None) -> GramPlan:
    """Add to the plan of the m × k matrix which landmarks those are, and what choosing them takes.

    Parameters
    ----------
    memory
        Bytes that this process may take, where landmarks are yet to be chosen; None where they are known.

    Raises
    ------
    MemoryLimitError
        If the samples among which to choose do not fit in memory.
    """
    seconds = plan.seconds
    if memory is not None and asked.choice in BY_KERNEL:
        samples = len(job.sides["rows"].digests)
        pool = pool_size(asked.count, samples)
        needed = pool_bytes(job.kernel, job.sample.nbytes // len(job.sample), asked.count, samples, job.n_features)
        if needed > memory:
            raise MemoryLimitError(
                "choosing {count:,} landmarks by {choice} among {pool:,} samples takes {needed} and may take "
                "{allowed}: use {random}, which takes none, fewer landmarks, or raise {memory_limit}",
                count=asked.count,
                choice=asked.choice,
                pool=pool,
                needed=readable_bytes(needed),
                allowed=readable_bytes(memory),
                random=Argument("landmark_choice", "random"),
                memory_limit=Argument("memory_limit"),
            )
        seconds *= 1 + 2 * pool / plan.shape[0]  # two passes of the pool over about k samples
    return replace(
        plan,
        seconds=seconds,
        landmarks=asked.identity(job),
        fingerprint={"rows": plan.fingerprint["rows"]},
    )


def choose(job: Job, asked: Landmarks) -> Indices:
    """Choose the landmarks: positions among all samples, ascending.

    The same for the same samples, kernel, choice, number and seed, whoever computes and however often.
    """
    if asked.given is not None:
        return asked.given
    rows = job.sides["rows"]
    candidates = _distinct(rows)
    if asked.count == len(candidates):
        return candidates
    key = _key(asked.seed, "landmarks")
    drawn = candidates[np.argsort(uniforms(key, 0, len(candidates)), kind="stable")]
    if asked.choice == "random":
        return np.sort(drawn[: asked.count])
    drawn = drawn[: pool_size(asked.count, len(drawn))]
    pool = Pool(job.kernel, lambda places: _prepared(job, job.kernel, places), _computed(rows, drawn), key)
    return np.sort(drawn[BY_KERNEL[asked.choice](pool, asked.count)])


def stand_ins(asked: Landmarks) -> Indices:
    """Positions that stand in for landmarks that are not chosen yet, for a plan: it takes their number alone."""
    return np.arange(asked.count) if asked.given is None else asked.given


# True entries ------------------------------------------------------------------------------------------------------


def true_entries(job: Job, seed: int) -> Spec:
    """Values of the stored kernel at some pairs of different samples, JSON-ready and with a checksum."""
    rows, kernel = job.sides["rows"], job.kernel.stored()
    pairs = drawn_pairs(seed, job.samples[0], ENTRIES)
    draws = np.arange(pairs.shape[1])
    return as_sample(
        pairs, pair_values(kernel, pairs, draws, lambda some: _prepared(job, kernel, _computed(rows, some)))
    )


def drawn_pairs(seed: int, samples: int, entries: int) -> Indices:
    """Pairs (2, entries) of different samples, the first one before the second, each uniform and independent.

    Pairs are numbered as a growing cohort brings them, {i, j} with i < j as j (j − 1) / 2 + i, and a draw is a jump
    consistent hash: when the cohort grows, it stays or moves to a pair with a new sample, with the probability that
    keeps it uniform. So the draws of a cohort that has grown are those of one that was there at once.

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
        number[moving] = following[moving]  # at the size at which it moves, a draw moves to the pair that is added
        following[moving] = np.floor((number[moving] + 1) / (1 - uniforms(key, step, entries)[moving]))
        step += 1
    second = [(1 + math.isqrt(1 + 8 * int(one))) // 2 for one in number]
    first = [int(one) - j * (j - 1) // 2 for one, j in zip(number, second, strict=True)]
    return np.array([first, second], dtype=np.intp)


def pair_values(kernel: Kernel, pairs: Indices, draws: Indices, prepared: Callable[[Indices], Prepared]) -> Floats:
    """Kernel values at pairs (2, entries) of samples: the diagonals of small tiles.

    Parameters
    ----------
    draws
        Number of each pair among all that were drawn. It fixes the pair's place in its tile, and by that its bits,
        whichever others are computed.
    prepared
        Reads some samples.

    Raises
    ------
    InputError
        If a value is not finite.
    """
    values: Floats = np.empty(len(draws))
    places = draws % TOGETHER
    order = np.argsort(places, kind="stable")
    turns = np.empty_like(draws)
    turns[order] = np.arange(len(draws)) - np.searchsorted(places[order], places[order])
    for turn in range(turns.max(initial=-1) + 1):
        some = np.flatnonzero(turns == turn)
        tile = np.full(places[some].max() + 1, some[0])
        tile[places[some]] = some
        read = prepared(pairs[:, tile].ravel())
        values[some] = kernel.tile(read.take(slice(len(tile))), read.take(slice(len(tile), None))).diagonal()[
            places[some]
        ]
    if not np.isfinite(values).all():
        wrong = int(np.flatnonzero(~np.isfinite(values))[0])
        first, second = pairs[:, wrong]
        raise InputError(f"k(x, y) is {values[wrong]} for samples number {first} and {second}: scale the data down")
    return values


def _prepared(job: Job, kernel: Any, places: Indices) -> Prepared:
    """Read and prepare some of the computed samples, in the layout of the store."""
    source = job.sides["rows"].source
    return kernel.prepare(source.read_sparse(places) if job.sparse else source.read(places))


def _key(seed: int, what: str) -> Array:
    return sample_keys(seed, np.frombuffer(what.encode(), dtype=np.uint8)[None])[0]
