"""What is looked at before any work: every sample is checked and digested, and what is repeated is found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Indices
from distkern.core.validation import refuse_other_features
from distkern.io.digests import DIGEST_BYTES, fingerprint, sample_digests
from distkern.io.source import Source, as_source
from distkern.kernels.base import SPARSE, Kernel, Prepared, refuse_bags, strips
from distkern.kernels.partial import interleaved
from distkern.kernels.registry import from_spec
from distkern.operators.array import name_samples
from distkern.store.layout import AxisSamples

MISSING = ("error", "drop-features", "interleaving")
"""What can be done where samples hold NaN."""

MEASURED = 16
"""Samples on which tiles are timed for the plan."""

MEASURED_BYTES = 2**28
"""Bytes that what is prepared of them may take, beyond one sample."""

COLLAPSE = 0.5
"""Repeated samples are computed once where at most this fraction of all is distinct."""


@dataclass(frozen=True)
class Side:
    """The samples of one side.

    Parameters
    ----------
    source
        Where to read those that are computed.
    ids, named
        Names of all samples, and whether they came with the samples.
    digests
        Digests of those that are computed.
    index
        Which of those each sample equals; None where each is computed.
    fingerprint, described
        Of all samples.
    nonzeros, fullest
        Where the container leaves zeros out: number of values that are not zero, and the computed sample with most.
    """

    source: Source
    ids: tuple[str, ...]
    named: bool
    digests: Array
    index: Indices | None
    fingerprint: str
    described: str
    nonzeros: int
    fullest: int

    def stored(self) -> AxisSamples:
        """What the store keeps of them."""
        return AxisSamples(self.ids, self.digests, self.index)


@dataclass(frozen=True)
class Job:
    """A kernel with its parameters resolved, the samples of each side, and a few of them prepared.

    Parameters
    ----------
    kernel, sides, sample
        As said.
    prepare_seconds
        Time that preparing a sample takes.
    sparse
        Whether samples are prepared without their zeros.
    dropped
        Features that were left out because some sample has no value.
    """

    kernel: Kernel
    sides: dict[str, Side]
    sample: Prepared
    prepare_seconds: float
    sparse: bool
    dropped: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples of each side that are computed."""
        counts = [len(side.digests) for side in self.sides.values()]
        return counts[0], counts[-1]

    @property
    def samples(self) -> tuple[int, int]:
        """Number of samples of each side."""
        counts = [len(side.ids) for side in self.sides.values()]
        return counts[0], counts[-1]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.sides["rows"].source.shape[1]


def inspect(kernel: Kernel, X: Any, Y: Any, ids: Any, missing: str, collapsed: Mapping[str, bool] | None = None) -> Job:
    """Check every sample, digest its values, and resolve what the kernel takes from the data.

    Parameters
    ----------
    missing
        ``"error"``: NaN is what the kernel takes it for. ``"drop-features"``: features with a NaN in any sample are
        left out. ``"interleaving"``: NaN is a feature of unknown place.
    collapsed
        For each side, whether equal samples are computed once; None to decide it.

    Raises
    ------
    InputError
        If the kernel is none, or a sample or a pair of cohorts cannot be used.
    """
    if missing not in MISSING:
        raise InputError(f"missing must be one of {', '.join(map(repr, MISSING))}, not {missing!r}")
    if not isinstance(kernel, Kernel):
        raise InputError(f"the kernel comes first, such as Kendall(); got {type(kernel).__name__}")
    if from_spec(kernel.spec()) != kernel:
        raise InputError(
            f"{kernel!r} is not the kernel that the name {kernel.name!r} stands for: workers cannot build it"
        )
    sources = {"rows": as_source(X, ids=ids)} | ({} if Y is None else {"cols": as_source(Y)})
    width = max(source.shape[1] for source in sources.values())
    sources = {side: source.widened(width) for side, source in sources.items()}
    rows, cols = sources["rows"], sources.get("cols", sources["rows"])
    if rows.shape[1] != cols.shape[1]:
        raise InputError(f"X has {rows.shape[1]} features and Y has {cols.shape[1]}; they must be the same")
    refuse_other_features(cols.features, rows.features, "X")
    if missing == "interleaving":
        kernel = interleaved(kernel)
    dropped = _incomplete(sources.values()) if missing == "drop-features" else np.empty(0, dtype=np.intp)
    if len(dropped):
        sources = {name: source.without_features(dropped) for name, source in sources.items()}
        rows, cols = sources["rows"], sources.get("cols", sources["rows"])
    resolved = kernel.resolve(cols)
    decided = collapsed or {}
    sides = {name: _scan(resolved, source, decided.get(name)) for name, source in sources.items()}
    stored = resolved.stored()
    sparse = stored.takes_sparse and all(_is_sparse(side) for side in sides.values())
    values = _fullest(sides.values()) if sparse else rows.read(slice(0, MEASURED))
    first = stored.prepare(values[:1])  # compiles, which is no part of the time
    few = max(1, MEASURED_BYTES // max(1, first.nbytes))
    began = time.perf_counter()
    sample = stored.prepare(values[:few])
    return Job(resolved, sides, sample, (time.perf_counter() - began) / len(sample), sparse, dropped)


def _fullest(sides: Iterable[Side]) -> Any:
    """The sample with the fewest zeros, whose width is that of the store, and some others."""
    side = max(sides, key=lambda side: side.source.read_sparse([side.fullest]).nnz)
    return side.source.read_sparse([side.fullest, *range(min(MEASURED, len(side.source)) - 1)])


def _incomplete(sources: Iterable[Source]) -> Indices:
    """Features that have no value in some sample."""
    lacking = [np.isnan(source.read(part)).any(axis=0) for source in sources for part in strips(*source.shape)]
    somewhere: Array = np.logical_or.reduce(lacking)
    dropped = np.flatnonzero(somewhere)
    if len(dropped) == len(somewhere):
        raise InputError("every feature has no value (NaN) in some sample: none is left when those are dropped")
    return dropped


def _is_sparse(side: Side) -> bool:
    m, n = len(side.ids), side.source.shape[1]
    return side.source.sparse and side.nonzeros <= SPARSE * m * n


def _scan(kernel: Kernel, source: Source, collapsed: bool | None) -> Side:
    m, n = source.shape
    ids = name_samples(m) if source.ids is None else source.ids
    digests, filled = look(kernel, source, ids)
    whole = fingerprint(digests, n)
    index, named = None, source.ids is not None
    described = source.describe()
    if kernel.collapses and collapsed is not False:
        firsts, which = distinct(digests)
        if collapsed or len(firsts) <= COLLAPSE * m:
            source, digests, filled, index = source.part(firsts), digests[firsts], filled[firsts], which
            described += f", {len(firsts):,} distinct"
    return Side(source, ids, named, digests, index, whole, described, int(filled.sum()), int(filled.argmax()))


def look(kernel: Kernel, source: Source, ids: Sequence[str]) -> tuple[Array, Indices]:
    """Check every sample; return the digest of each, and how many of its values are not zero.

    Raises
    ------
    SampleError
        Names the first sample for which the kernel is not defined.
    """
    refuse_bags(kernel, source)
    m, n = source.shape
    digests, filled = np.empty((m, DIGEST_BYTES), dtype=np.uint8), np.zeros(m, dtype=np.intp)
    for part in strips(m, n):
        values = source.read(part)
        kernel.check(values, ids[part], source.features)
        digests[part] = sample_digests(values)
        filled[part] = np.count_nonzero(values, axis=1)
    return digests, filled


def distinct(digests: Array) -> tuple[Indices, Indices]:
    """Find distinct samples: where each first appears, in order, and which of them each sample equals."""
    _, firsts, which = np.unique(digests, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return firsts[order], np.argsort(order)[which.ravel()]
