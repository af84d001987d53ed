"""Validate the samples before any work, hash their values, and find equal ones."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.build.look import Looking, empty_features, look, resolved
from distkern.core.errors import InputError
from distkern.core.feature_names import WITHOUT_THEM
from distkern.core.parameters import one_of
from distkern.core.typing import Array, Indices, Spec
from distkern.core.validation import warn_without_names
from distkern.io.digests import fingerprint
from distkern.io.source import Source, as_source
from distkern.kernels.base import SPARSE, Kernel, Prepared
from distkern.kernels.partial import interleaved
from distkern.kernels.registry import from_spec
from distkern.operators.array import name_samples
from distkern.store.layout import AxisSamples
from distkern.store.manifest import LandmarkColumns
from distkern.store.runs import Receipt

MISSING = ("error", "drop-features", "interleaving")
"""Treatments of NaN in samples."""

MEASURED = 16
"""Samples on which tiles are timed for the plan."""

MEASURED_BYTES = 2**28
"""Bytes that these may take once prepared, beyond one sample."""

READ_BYTES, SPARSE_READ_BYTES = 24, 36
"""Bytes that a value takes as it is read: in the container, as float64, and as it is digested or prepared; and those of
a value and its feature, where zeros are left out."""

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
    receipts
        Time and memory of looking at them.
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
    receipts: list[Receipt]

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
    def bytes_read(self) -> int:
        """Most bytes that a sample takes as it is read."""
        shapes = {name: array.shape[1:] for name, array in self.sample.arrays.items()}
        return bytes_as_read(self.n_features, shapes, self.sparse)

    @property
    def bytes_to_choose(self) -> int:
        """Most bytes that choosing the columns takes, in this process."""
        return 0

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
    looking: Looking | None = None,
    collapsed: Mapping[str, bool] | None = None,
) -> Job:
    """Validate all samples, hash their values, and fix data-dependent kernel parameters.

    This process reads a few samples; all are read by tasks.

    Parameters
    ----------
    missing
        ``"error"``: the kernel decides about NaN. ``"drop-features"``: features with a NaN in any sample are left out.
        ``"interleaving"``: NaN is a feature of unknown rank.
    looking
        How the samples are looked at; by default in this thread, for a new store.
    collapsed
        For each axis, whether equal samples are computed once; None to decide it.

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
    cols = sources.get("cols", sources["rows"])
    rows = sources["rows"].interleaved() if missing == "interleaving" else sources["rows"]
    rows = sources["rows"] = rows.selected(cols.features, "X", WITHOUT_THEM)
    if rows.shape[1] != cols.shape[1]:
        raise InputError(f"X has {rows.shape[1]} features and Y has {cols.shape[1]}; they must be the same")
    if Y is not None and not cols.ragged:
        warn_without_names(cols.features, rows.features, "X")
    if missing == "interleaving":
        kernel = interleaved(kernel)
    looking = Looking() if looking is None else looking
    dropped = empty_features([*sources.values()], looking) if missing == "drop-features" else np.empty(0, dtype=np.intp)
    if len(dropped) == cols.shape[1]:
        raise InputError("every feature has no value (NaN) in some sample: none is left when those are dropped")
    if len(dropped):
        sources = {axis: source.without_features(dropped) for axis, source in sources.items()}
        rows, cols = sources["rows"], sources.get("cols", sources["rows"])
    kernel = resolved(kernel, cols, looking)
    decided = collapsed or {}
    axes = {axis: _looked_at(kernel, source, looking, decided.get(axis)) for axis, source in sources.items()}
    stored = kernel.stored()
    sparse = stored.takes_sparse and all(map(_is_sparse, axes.values()))
    values = _fullest(axes.values()) if sparse else rows.read(slice(0, MEASURED))
    first = stored.prepare(values[:1])  # compiles outside the timing
    few = max(1, MEASURED_BYTES // max(1, first.nbytes))
    began = time.perf_counter()
    sample = stored.prepare(values[:few])
    return Job(kernel, axes, sample, (time.perf_counter() - began) / len(sample), sparse, dropped)


def _fullest(axes: Iterable[ValidatedSamples]) -> Any:
    """The sample with the fewest zeros, which decides the width of the prepared arrays, and some others."""
    fullest = max(axes, key=lambda samples: samples.source.read_sparse([samples.fullest]).nnz)
    return fullest.source.read_sparse([fullest.fullest, *range(min(MEASURED, len(fullest.source)) - 1)])


def _is_sparse(samples: ValidatedSamples) -> bool:
    m, n = len(samples.ids), samples.source.shape[1]
    return samples.source.sparse and samples.nonzeros <= SPARSE * m * n


def _looked_at(kernel: Kernel, source: Source, looking: Looking, collapsed: bool | None) -> ValidatedSamples:
    m, n = source.shape
    ids = name_samples(m) if source.ids is None else source.ids
    digests, filled, receipts = look([kernel], source, ids, looking)
    whole = fingerprint(digests, n)
    index, named = None, source.ids is not None
    description = source.describe()
    if kernel.collapses and collapsed is not False:
        firsts, which = distinct(digests)
        if collapsed or len(firsts) <= COLLAPSE * m:
            source, digests, filled, index = source.part(firsts), digests[firsts], filled[firsts], which
            description += f", {len(firsts):,} distinct"
    counts = int(filled.sum()), int(filled.argmax())
    return ValidatedSamples(source, ids, named, digests, index, whole, description, *counts, receipts)


def bytes_as_read(n: int, shapes: Mapping[str, tuple[int, ...]], sparse: bool) -> int:
    """Most bytes that a sample takes as it is read, converted and digested.

    Parameters
    ----------
    n
        Number of features.
    shapes
        Shapes of the prepared arrays of a sample. Those of sparse samples are as wide as the fullest one.
    sparse
        Whether samples are read without their zeros.
    """
    if not sparse:
        return READ_BYTES * n
    width = max((shape[0] for name, shape in shapes.items() if name.endswith("places")), default=n)
    return SPARSE_READ_BYTES * width


def distinct(digests: Array) -> tuple[Indices, Indices]:
    """Find distinct samples: the first position of each, ascending, and the one that each sample equals."""
    whole = np.ascontiguousarray(digests).view(f"V{digests.shape[1]}").ravel()  # compared as a whole, which is fast
    _, firsts, which = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return firsts[order], np.argsort(order)[which]
