"""What is looked at before any work: every sample is checked and digested, and what is repeated is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Indices
from distkern.core.validation import refuse_other_features
from distkern.io.source import Source, as_source, fingerprint, sample_digests
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.registry import from_spec
from distkern.matrix.base import name_samples

SCAN_BYTES = 2**23
"""Bytes of samples checked and digested at a time."""

MEASURED = 16
"""Samples on which tiles are timed for the plan."""

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
    """

    source: Source
    ids: tuple[str, ...]
    named: bool
    digests: Array
    index: Indices | None
    fingerprint: str
    described: str


@dataclass(frozen=True)
class Job:
    """A kernel with its parameters resolved, the samples of each side, and a few of them prepared."""

    kernel: Kernel
    sides: dict[str, Side]
    sample: Prepared

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


def inspect(kernel: Kernel, X: Any, Y: Any, ids: Any) -> Job:
    """Check every sample, digest its values, and resolve what the kernel takes from the data.

    Raises
    ------
    InputError
        If the kernel is none, or a sample or a pair of cohorts cannot be used.
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"the kernel comes first, such as Kendall(); got {type(kernel).__name__}")
    if from_spec(kernel.spec()) != kernel:
        raise InputError(
            f"{kernel!r} is not the kernel that the name {kernel.name!r} stands for: workers cannot build it"
        )
    sources = {"rows": as_source(X, ids=ids)} | ({} if Y is None else {"cols": as_source(Y)})
    rows, cols = sources["rows"], sources.get("cols", sources["rows"])
    if rows.shape[1] != cols.shape[1]:
        raise InputError(f"X has {rows.shape[1]} features and Y has {cols.shape[1]}; they must be the same")
    refuse_other_features(cols.features, rows.features, "X")
    resolved = kernel.resolve(cols)
    sides = {name: _scan(resolved, source) for name, source in sources.items()}
    return Job(resolved, sides, resolved.stored().prepare(rows.read(slice(0, MEASURED))))


def _scan(kernel: Kernel, source: Source) -> Side:
    m, n = source.shape
    ids = name_samples(m) if source.ids is None else source.ids
    height = max(1, SCAN_BYTES // (8 * n))
    digests = np.empty((m, 16), dtype=np.uint8)
    for start in range(0, m, height):
        part = slice(start, min(start + height, m))
        values = source.read(part)
        kernel.check(values, ids[part], source.features)
        digests[part] = sample_digests(values)
    whole = fingerprint(digests, n)
    index = None
    described = source.describe()
    if kernel.collapses:
        _, firsts, which = np.unique(digests, axis=0, return_index=True, return_inverse=True)
        if len(firsts) <= COLLAPSE * m:
            order = np.argsort(firsts)  # distinct samples in the order in which they first appear
            firsts, index = firsts[order], np.argsort(order)[which.ravel()]
            source, digests = source.part(firsts), digests[firsts]
            described += f", {len(firsts):,} distinct"
    return Side(source, ids, source.ids is not None, digests, index, whole, described)
