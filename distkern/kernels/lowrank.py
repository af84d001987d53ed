"""A kernel through its values at a few landmarks: each sample becomes as many features, with a known error."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from distkern.compiled.bags import factor, whiten_rows
from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.vectors import Gaussian, Linear, VectorKernel

CANDIDATES = 10_000
"""Landmarks are chosen among at most so many samples of the cohort, drawn where there are more."""

TOLERANCE = 1e-3
"""Mean residual that is left where neither a rank nor a tolerance is given, in parts of the mean of κ(x, x)."""

EXHAUSTED = 1e-12
"""No landmark adds anything once all residuals are below this part of the largest κ(x, x)."""

TOGETHER = 4096
"""Samples whose features are made at a time."""


@dataclass(frozen=True)
class LowRank(VectorKernel):
    """κ̂(x, y) = κ(x, Z) κ(Z, Z)⁻¹ κ(Z, y): a kernel κ through R landmarks Z, the inner product of R features a sample.

    With R features a sample, kernels between bags of points no longer depend on the number of points: `KernelIGV`,
    `KernelBhattacharyya` and `MeanMap` on this base take O(R³), O(R r² + r³) and O(R) a pair.

    The landmarks are samples of the cohort, chosen by incomplete Cholesky factorisation: each one is the sample with
    the largest residual κ(x, x) − κ̂(x, x), times the number of its copies. They become part of the kernel when it is
    resolved, so that new samples get the same features.

    Source: Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations* (2001); Williams & Seeger,
    *Using the Nyström method to speed up kernel machines* (2001).

    Parameters
    ----------
    base
        κ, the kernel to approximate.
    rank
        R, the most landmarks; as many as the tolerance takes by default.
    tolerance
        No more landmarks are taken when the mean residual is at most this part of the mean of κ(x, x); from 0 to 1. By
        default 0 where a rank is given, and else 0.001.
    landmarks
        The landmarks themselves, as rows of numbers; chosen from the cohort when not given.

    Raises
    ------
    InputError
        If landmarks are given that depend on each other, so that κ(Z, Z) is singular.

    Notes
    -----
    κ − κ̂ is positive semidefinite, so that |κ(x, y) − κ̂(x, y)| ≤ √(ρ(x) ρ(y)) with the residuals ρ of `residuals`.
    Landmarks: O(m R²) for m samples, once. Features: R values of κ and O(R²) a sample, then O(R) a pair. Where the
    cohort has more than 10,000 samples, landmarks are chosen among 10,000 that are drawn.

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
        if not isinstance(self.base, Kernel):
            raise InputTypeError(f"base must be a kernel, such as Gaussian(0.1); got {self.base!r}")
        if self.rank is not None and (not isinstance(self.rank, (int, np.integer)) or self.rank < 1):
            raise InputError(f"rank must be a whole number of 1 or more, or None, not {self.rank!r}")
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance must be a number from 0 to 1, and less than 1, not {self.tolerance!r}")
        if self.landmarks is not None:
            rows = tuple(tuple(map(float, row)) for row in self.landmarks)
            if len(rows) == 0 or len({len(row) for row in rows}) > 1:
                raise InputError("landmarks must be one or more rows of as many numbers each")
            object.__setattr__(self, "landmarks", rows)

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

    def drawn(self, count: int, n: int) -> Array:
        """Samples to measure the kernel on: those of the base kernel."""
        return self.base.drawn(count, n)

    def features(self, X: Array, start: int = 0) -> Floats:
        """Features (m, R) of samples in rows, whose inner products are the kernel.

        Parameters
        ----------
        X
            Samples (m, n).
        start
            Number of the first one in its cohort.
        """
        Z, upper = _landmarks(self.base, self._settled())
        out = np.empty((len(X), len(upper)))
        for first in range(0, len(X), TOGETHER):
            rows = slice(first, min(first + TOGETHER, len(X)))
            out[rows] = self.base.tile(Z, self.base.prepare(X[rows], start + first)).T
        whiten_rows(upper, out)
        return out

    def residuals(self, X: Any) -> Floats:
        """κ(x, x) − κ̂(x, x) of each sample: what is lost of it, 0 or more.

        Examples
        --------
        >>> LowRank(Gaussian(1.0), landmarks=((0.0,),)).residuals([[0.0], [1.0]]).round(3)  # 0, and 1 − 1/e
        array([0.   , 0.632])
        """
        source = as_source(X)
        kernel: Any = self.resolve(source)
        values = kernel.checked(source)
        diagonal = kernel.base.diagonal(kernel.base.prepare(values))
        return np.maximum(diagonal - (kernel.features(values) ** 2).sum(axis=1), 0.0)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Make the features of each sample, and square their norms."""
        return super().prepare(self.features(np.ascontiguousarray(X, dtype=np.float64), start), start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return Linear().tile(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """Squared norm of the features of each prepared sample."""
        return Linear().diagonal(A)

    def could_have_prepared(self, A: Prepared, n: int) -> bool:
        """Whether a block that came out of a file may be one of this kernel, of samples of n numbers."""
        return len(self._settled()[0]) == n and super().could_have_prepared(A, n)

    def _settled(self) -> tuple[tuple[float, ...], ...]:
        if self.landmarks is None:
            raise InputError("the landmarks depend on the cohort: call resolve(X) first, or give landmarks=")
        return self.landmarks


@lru_cache(maxsize=16)
def _landmarks(base: Kernel, rows: tuple[tuple[float, ...], ...]) -> tuple[Prepared, Floats]:
    """What the base kernel prepares of the landmarks, and U with UᵀU = κ(Z, Z)."""
    prepared = base.prepare(np.array(rows))
    upper = base.tile(prepared, prepared)
    if not np.isfinite(factor(upper)):
        raise InputError("the landmarks depend on each other in feature space: leave some of them out")
    upper.flags.writeable = False
    return prepared, upper


def pivots(base: Kernel, samples: Array, counts: Array, rank: int | None, tolerance: float) -> Indices:
    """Choose landmarks among distinct samples: time after time that with the largest residual times number of copies.

    Parameters
    ----------
    base
        A kernel with all parameters resolved.
    samples, counts
        Distinct samples (m, n), and how often each occurs.
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
        raise InputError("all samples are 0 in feature space: no landmark says anything of them")
    return np.array(picked)
