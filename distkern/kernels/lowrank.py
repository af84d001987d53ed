"""Low-rank approximation of a kernel through landmarks: one feature per landmark and sample, with a known error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from distkern.compiled.bags import factor, whiten_rows
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared, check_source
from distkern.kernels.parameters import check_whole
from distkern.kernels.trust import draw_samples
from distkern.kernels.vectors import Gaussian, Linear, VectorKernel

CANDIDATES = 10_000
"""Most samples of the cohort among which landmarks are chosen; drawn from a larger cohort."""

TOLERANCE = 1e-3
"""Default tolerance where no rank is given: mean residual as a fraction of the mean of κ(x, x)."""

EXHAUSTED = 1e-12
"""Residuals below this fraction of the largest κ(x, x) are rounding errors: no further landmark is taken."""

BATCH = 4096
"""Samples whose features are computed at a time."""


@dataclass(frozen=True)
class LowRank(VectorKernel):
    """κ̂(x, y) = κ(x, Z) κ(Z, Z)⁻¹ κ(Z, y): a kernel κ approximated through R landmarks Z, by R features per sample.

    With R features per sample, the cost of a kernel between bags does not depend on the number of points:
    `KernelIGV`, `KernelBhattacharyya` and `MeanMap` on this base take O(R³), O(R r² + r³) and O(R) per pair.

    The landmarks are samples of the cohort, chosen by incomplete Cholesky factorisation: each one is the sample with
    the largest residual κ(x, x) − κ̂(x, x) times the number of its copies. They become parameters of the kernel when it
    is resolved, so that new samples get the same features.

    Source: Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations* (2001); Williams & Seeger,
    *Using the Nyström method to speed up kernel machines* (2001).

    Parameters
    ----------
    base
        κ, the kernel to approximate.
    rank
        R, the maximal number of landmarks; by default the tolerance decides.
    tolerance
        Mean residual, as a fraction of the mean of κ(x, x), at which no more landmarks are taken; from 0 to 1. By
        default 0 where a rank is given, else 0.001.
    landmarks
        The landmarks, as rows of numbers; chosen from the cohort by default.

    Raises
    ------
    InputError
        If the given landmarks are linearly dependent in feature space, so that κ(Z, Z) is singular.

    See Also
    --------
    NystromGram : The approximation of a whole matrix.
    sklearn.kernel_approximation.Nystroem : Features of the same approximation.

    Notes
    -----
    κ − κ̂ is positive semidefinite, so that abs(κ(x, y) − κ̂(x, y)) ≤ √(ρ(x) ρ(y)) with the residuals ρ of `residuals`.
    Landmarks: O(m R²) for m samples, once. Features: R values of κ and O(R²) per sample, then O(R) per pair. If a
    cohort has more than 10,000 samples, landmarks are chosen among 10,000 drawn samples.

    Examples
    --------
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> kernel = LowRank(Gaussian(0.3), tolerance=1e-6).resolve(X)
    >>> error = abs(kernel(X) - Gaussian(0.3)(X)).max()
    >>> len(kernel.landmarks), bool(np.isclose(error, kernel.residuals(X).max())), bool(error < 1e-6)
    (9, True, True)
    """

    name: ClassVar[str] = "low-rank"
    base: Kernel = field(default_factory=Gaussian)
    rank: int | None = None
    tolerance: float | None = None
    landmarks: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank is not None:
            check_whole(self.rank, "rank")
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance must be a number from 0 to 1, and less than 1, not {self.tolerance!r}")
        if self.landmarks is not None and len(self.landmarks) == 0:
            raise InputError("landmarks must be one or more rows of as many numbers each")

    @property
    def takes_bags(self) -> bool:
        """Whether the base kernel does."""
        return self.base.takes_bags

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Resolve the base kernel, and choose the landmarks among the samples of the cohort."""
        base = self.base.resolve(X, seed)
        if self.landmarks is not None:
            return dataclasses.replace(self, base=base)
        source = as_source(X)
        chosen = np.arange(len(source))
        if len(chosen) > CANDIDATES:
            chosen = np.sort(np.random.default_rng(seed).choice(len(chosen), CANDIDATES, replace=False))
        values = source.read(chosen)
        base.check(values, None if source.ids is None else [source.ids[i] for i in chosen], source.features)
        samples, counts = np.unique(values, axis=0, return_counts=True)
        tolerance = (TOLERANCE if self.rank is None else 0.0) if self.tolerance is None else self.tolerance
        picked = pivots(base, samples, counts, self.rank, tolerance)
        return dataclasses.replace(self, base=base, landmarks=tuple(map(tuple, samples[picked].tolist())))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that the base kernel refuses."""
        self.base.check(X, ids, features)

    def features(self, X: Array, start: int = 0) -> Floats:
        """Features (m, R) of samples in rows, whose inner products are the kernel.

        Parameters
        ----------
        X
            Samples (m, n).
        start
            Position of the first sample in its cohort.
        """
        Z, upper = _landmarks(self.base, self._resolved_landmarks())
        out = np.empty((len(X), len(upper)))
        for first in range(0, len(X), BATCH):
            rows = slice(first, min(first + BATCH, len(X)))
            out[rows] = self.base.tile(Z, self.base.prepare(X[rows], start + first)).T
        whiten_rows(upper, out)
        return out

    def residuals(self, X: Any) -> Floats:
        """κ(x, x) − κ̂(x, x) of each sample, the residual of the approximation, 0 or more.

        Examples
        --------
        >>> LowRank(Gaussian(1.0), landmarks=((0.0,),)).residuals([[0.0], [1.0]]).round(3)  # 0, and 1 − 1/e
        array([0.   , 0.632])
        """
        source = as_source(X)
        kernel: Any = self.resolve(source)
        values = check_source(kernel, source)
        diagonal = kernel.base.diagonal(kernel.base.prepare(values))
        return np.maximum(diagonal - (kernel.features(values) ** 2).sum(axis=1), 0.0)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Compute the features of each sample and their squared norm."""
        return super().prepare(self.features(np.ascontiguousarray(X, dtype=np.float64), start), start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return Linear().tile(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """Squared norm of the features of each prepared sample."""
        return Linear().diagonal(A)

    def _resolved_landmarks(self) -> tuple[tuple[float, ...], ...]:
        if self.landmarks is None:
            raise InputError("the landmarks depend on the cohort: call resolve(X) first, or give landmarks=")
        return self.landmarks


@draw_samples.register
def _(kernel: LowRank, n: int) -> Iterator[Array]:
    """Samples of the base kernel, none of another number of features than the landmarks have."""
    if kernel.landmarks is None or len(kernel.landmarks[0]) == n:
        yield from draw_samples(kernel.base, n)


@lru_cache(maxsize=16)
def _landmarks(base: Kernel, rows: tuple[tuple[float, ...], ...]) -> tuple[Prepared, Floats]:
    """Landmarks prepared by the base kernel, and U with UᵀU = κ(Z, Z)."""
    prepared = base.prepare(np.array(rows))
    upper = base.tile(prepared, prepared)
    if not np.isfinite(factor(upper)):
        raise InputError("the landmarks are linearly dependent in feature space: leave some of them out")
    upper.flags.writeable = False
    return prepared, upper


def pivots(base: Kernel, samples: Array, counts: Array, rank: int | None, tolerance: float) -> Indices:
    """Choose landmarks among distinct samples: repeatedly the sample with the largest residual times number of copies.

    Parameters
    ----------
    base
        A kernel with all parameters resolved.
    samples, counts
        Distinct samples (m, n), and the number of copies of each.
    rank, tolerance
        See `LowRank`.
    """
    block = base.prepare(samples)
    diagonal = base.diagonal(block)
    residual = diagonal.copy()
    rows: list[Floats] = []
    picked: list[int] = []
    enough, least = tolerance * (counts @ diagonal), EXHAUSTED * diagonal.max()
    while len(picked) < (rank or len(samples)) and counts @ residual > enough:
        pivot = int(np.argmax(counts * residual))
        if residual[pivot] <= least:
            break
        row = base.tile(block.take([pivot]), block)[0]
        for earlier in rows:
            row = row - earlier[pivot] * earlier
        rows.append(row / np.sqrt(residual[pivot]))
        picked.append(pivot)
        residual = np.maximum(residual - rows[-1] ** 2, 0.0)
        residual[pivot] = 0.0
    if not picked:
        raise InputError("all samples are 0 in feature space, so that there is no landmark: use another base kernel")
    return np.array(picked)
