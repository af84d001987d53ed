"""Validate the samples before any work, hash their values, and find equal ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Indices, Spec
from distkern.core.validation import refuse_other_features
from distkern.io.digests import DIGEST_KINDS, DigestKind, fingerprint
from distkern.io.source import Source, as_source
from distkern.kernels.base import SPARSE, Kernel, Prepared, refuse_bags, strips
from distkern.kernels.partial import interleaved
from distkern.kernels.registry import from_spec
from distkern.operators.array import name_samples
from distkern.store.layout import AxisSamples
from distkern.store.manifest import FORMAT, LandmarkColumns

MISSING = ("error", "drop-features", "interleaving")
"""Treatments of NaN in samples."""

MEASURED = 16
"""Samples on which tiles are timed for the plan."""

MEASURED_BYTES = 2**28
"""Bytes that these may take once prepared, beyond one sample."""

COLLAPSE = 0.5
"""Equal samples are computed once where at most this fraction of all is distinct."""


@dataclass(frozen=True)
class ValidatedSamples:
    """The samples of one axis, validated and hashed.

    Parameters
    ----------
    source
        Reads the computed samples.
    ids, named
        Names of all samples, and whether they came with the samples.
    digests
        Digests of the computed samples.
    index
        The computed sample that each sample equals; None where each is computed.
    fingerprint
        Digest of all samples; None where they are some samples of the rows.
    description
        Description of their container, for people.
    nonzeros, fullest
        Number of values that are not zero, and the computed sample with most of them.
    """

    source: Source
    ids: tuple[str, ...]
    named: bool
    digests: Array
    index: Indices | None
    fingerprint: str | None
    description: str
    nonzeros: int
    fullest: int

    def computed(self, positions: Indices) -> Indices:
        """Positions of samples among the computed samples, which may stand for many equal ones."""
        return positions if self.index is None else self.index[positions]

    def stored(self) -> AxisSamples:
        """The data of these samples that the store keeps."""
        return AxisSamples(self.ids, self.digests, self.index)


@dataclass(frozen=True)
class Job:
    """A Gram matrix to compute: a kernel without data-dependent parameters, and the samples of each axis.

    Parameters
    ----------
    kernel
        The kernel, with every data-dependent parameter as a number.
    axes
        The samples: ``rows``, and ``cols`` where they are other samples.
    sample
        A few prepared samples.
    prepare_seconds
        Seconds to prepare a sample.
    sparse
        Whether samples are prepared without their zeros.
    dropped
        Features that are left out because some sample has no value.
    """

    kernel: Kernel
    axes: dict[str, ValidatedSamples]
    sample: Prepared
    prepare_seconds: float
    sparse: bool
    dropped: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """Number of computed samples of each axis."""
        counts = [len(samples.digests) for samples in self.axes.values()]
        return counts[0], counts[-1]

    @property
    def samples(self) -> tuple[int, int]:
        """Number of samples of each axis."""
        counts = [len(samples.ids) for samples in self.axes.values()]
        return counts[0], counts[-1]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.axes["rows"].source.shape[1]

    @property
    def fingerprint(self) -> dict[str, str]:
        """Digests of all samples of each axis that has samples of its own."""
        return {axis: one.fingerprint for axis, one in self.axes.items() if one.fingerprint is not None}

    @property
    def landmarks(self) -> Spec | None:
        """How the columns were chosen among the row samples; None where they were not."""
        return None

    @property
    def extra_work(self) -> float:
        """Work before the first tile, as a fraction of that of the tiles."""
        return 0.0

    def choose_columns(self) -> LandmarkColumns | None:
        """Choose the columns among the row samples; None where they are not to be chosen."""
        return None

    def with_columns(self, columns: LandmarkColumns | None) -> Job:
        """The job with the chosen columns; the job itself where they are not to be chosen."""
        return self


def validate(
    kernel: Kernel,
    X: Any,
    Y: Any,
    ids: Any,
    missing: str,
    collapsed: Mapping[str, bool] | None = None,
    kind: DigestKind = DIGEST_KINDS[FORMAT],
) -> Job:
    """Validate all samples, hash their values, and fix data-dependent kernel parameters.

    Parameters
    ----------
    missing
        ``"error"``: the kernel decides about NaN. ``"drop-features"``: features with a NaN in any sample are left out.
        ``"interleaving"``: NaN is a feature of unknown rank.
    collapsed
        For each axis, whether equal samples are computed once; None to decide it.
    kind
        How the samples are digested.

    Raises
    ------
    InputError
        If the first argument is no kernel that can be stored, or samples cannot be used.
    """
    one_of(missing, "missing", MISSING)
    if not isinstance(kernel, Kernel):
        raise InputError(f"the kernel comes first, such as Kendall(); got {type(kernel).__name__}")
    if from_spec(kernel.spec()) != kernel:
        raise InputError(
            f"{kernel!r} is not the kernel that the name {kernel.name!r} stands for: workers cannot build it"
        )
    sources = {"rows": as_source(X, ids=ids)} | ({} if Y is None else {"cols": as_source(Y)})
    width = max(source.shape[1] for source in sources.values())
    sources = {axis: source.widened(width) for axis, source in sources.items()}
    rows, cols = sources["rows"], sources.get("cols", sources["rows"])
    refuse_other_features(cols.features, rows.features, "X")
    if rows.shape[1] != cols.shape[1]:
        raise InputError(f"X has {rows.shape[1]} features and Y has {cols.shape[1]}; they must be the same")
    if missing == "interleaving":
        kernel = interleaved(kernel)
    dropped = _incomplete(sources.values()) if missing == "drop-features" else np.empty(0, dtype=np.intp)
    if len(dropped):
        sources = {axis: source.without_features(dropped) for axis, source in sources.items()}
        rows, cols = sources["rows"], sources.get("cols", sources["rows"])
    resolved = kernel.resolve(cols)
    decided = collapsed or {}
    axes = {axis: _scanned(resolved, source, decided.get(axis), kind) for axis, source in sources.items()}
    stored = resolved.stored()
    sparse = stored.takes_sparse and all(map(_is_sparse, axes.values()))
    values = _fullest(axes.values()) if sparse else rows.read(slice(0, MEASURED))
    first = stored.prepare(values[:1])  # compiles outside the timing
    few = max(1, MEASURED_BYTES // max(1, first.nbytes))
    began = time.perf_counter()
    sample = stored.prepare(values[:few])
    return Job(resolved, axes, sample, (time.perf_counter() - began) / len(sample), sparse, dropped)


def _fullest(axes: Iterable[ValidatedSamples]) -> Any:
    """The sample with the fewest zeros, which decides the width of the prepared arrays, and some others."""
    fullest = max(axes, key=lambda samples: samples.source.read_sparse([samples.fullest]).nnz)
    return fullest.source.read_sparse([fullest.fullest, *range(min(MEASURED, len(fullest.source)) - 1)])


def _incomplete(sources: Iterable[Source]) -> Indices:
    """Features that have no value in some sample."""
    lacking = [np.isnan(source.read(part)).any(axis=0) for source in sources for part in strips(*source.shape)]
    somewhere: Array = np.logical_or.reduce(lacking)
    dropped = np.flatnonzero(somewhere)
    if len(dropped) == len(somewhere):
        raise InputError("every feature has no value (NaN) in some sample: none is left when those are dropped")
    return dropped


def _is_sparse(samples: ValidatedSamples) -> bool:
    m, n = len(samples.ids), samples.source.shape[1]
    return samples.source.sparse and samples.nonzeros <= SPARSE * m * n


def _scanned(kernel: Kernel, source: Source, collapsed: bool | None, kind: DigestKind) -> ValidatedSamples:
    m, n = source.shape
    ids = name_samples(m) if source.ids is None else source.ids
    digests, filled = validated_digests(kernel, source, ids, kind)
    whole = fingerprint(digests, n)
    index, named = None, source.ids is not None
    description = source.describe()
    if kernel.collapses and collapsed is not False:
        firsts, which = distinct(digests)
        if collapsed or len(firsts) <= COLLAPSE * m:
            source, digests, filled, index = source.part(firsts), digests[firsts], filled[firsts], which
            description += f", {len(firsts):,} distinct"
    return ValidatedSamples(
        source, ids, named, digests, index, whole, description, int(filled.sum()), int(filled.argmax())
    )


def validated_digests(kernel: Kernel, source: Source, ids: Sequence[str], kind: DigestKind) -> tuple[Array, Indices]:
    """Validate all samples; return the digest of each, and its number of values that are not zero.

    Raises
    ------
    SampleError
        Names the first sample for which the kernel is not defined.
    """
    refuse_bags(kernel, source)
    m, n = source.shape
    digests, filled = np.empty((m, kind.size), dtype=np.uint8), np.zeros(m, dtype=np.intp)
    for part in strips(m, n):
        values = source.read(part)
        kernel.check(values, ids[part], source.features)
        digests[part] = kind.of(values)
        filled[part] = np.count_nonzero(values, axis=1)
        del values  # before the next ones are read
    return digests, filled


def distinct(digests: Array) -> tuple[Indices, Indices]:
    """Find distinct samples: the first position of each, ascending, and the one that each sample equals."""
    _, firsts, which = np.unique(digests, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return firsts[order], np.argsort(order)[which.ravel()]
