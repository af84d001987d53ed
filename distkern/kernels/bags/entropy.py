"""The entropy kernel between weighted sets of points: on their atoms, or on densities smoothed around them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.compiled.bags import atom_pairs, density_pairs
from distkern.core.bag_rows import split_rows
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.io.source import as_source
from distkern.kernels.bags.gaussian import BagKernel, check_number, refuse_other_points
from distkern.kernels.bags.points import points_of
from distkern.kernels.base import Kernel, Prepared, strips

WIDER = 1.5
"""The draws are spread this many times as far as the points of the cohort."""

DENSITY_BYTES = 2**23
"""Bytes of squared distances between the draws and the points of a bag, at a time."""


@dataclass(frozen=True)
class Entropy(BagKernel):
    """k(p, q) = e^(−β J), J = h((p + q)/2) − (h(p) + h(q))/2 with h the entropy: the Jensen–Shannon divergence.

    J is conditionally negative definite, so that k is positive definite at every β.

    Source: Cuturi, Fukumizu & Vert, *Semigroup kernels on measures* (2005), section 4; Fuglede & Topsøe (2004).

    Parameters
    ----------
    beta
        β > 0.
    bandwidth
        None: p is the distribution on the points themselves, which are equal or not, as for histograms and
        multinomials; exact. A number κ > 0, in the unit of the points: p is smoothed to Σ_i p_i N(x_i, κ² I)
        (Parzen), and J is the mean over random draws that all bags share, which keeps the kernel positive semidefinite.
    draws, seed
        Number of the draws, and what they come from; with a bandwidth only.
    center, spread
        Mean and standard deviation of the normal distribution that the draws come from, in each dimension; those of the
        cohort, widened, when not given.

    Notes
    -----
    Samples are `Bags`; for histograms `Bags.from_counts`. O(L log L) a bag and O(L + L') a pair on atoms; with a
    bandwidth O(L · draws · d) a bag and O(draws) a pair. Values lie in (0, 1]. `standard_error` tells how far an entry
    may be off for the draws.

    Examples
    --------
    >>> from distkern.core.bags import Bags
    >>> bags = Bags.from_counts([[1, 1, 0], [0, 1, 1]])
    >>> Entropy()(bags)  # one of two atoms is shared: J = log(2) / 2
    array([[1.        , 0.70710678],
           [0.70710678, 1.        ]])
    """

    name: ClassVar[str] = "entropy"
    beta: float = 1.0
    bandwidth: float | None = None
    draws: int = 2048
    seed: int = 0
    center: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_number(self.beta, "beta", "more than 0")
        if self.bandwidth is not None:
            check_number(self.bandwidth, "bandwidth", "more than 0")
        if not isinstance(self.draws, (int, np.integer)) or self.draws < 2:
            raise InputError(f"draws must be a whole number of 2 or more, not {self.draws!r}")
        if not isinstance(self.seed, (int, np.integer)) or not 0 <= self.seed < 2**64:
            raise InputError(f"seed must be a whole number from 0 to 2**64 - 1, not {self.seed!r}")
        if (self.center is None) != (self.spread is None):
            raise InputError("give both center= and spread= of the draws, or neither")
        if self.center is not None and self.spread is not None:
            object.__setattr__(self, "center", tuple(map(float, self.center)))
            object.__setattr__(self, "spread", tuple(map(float, self.spread)))
            if len(self.center) != len(self.spread) or not all(0 < value < np.inf for value in self.spread):
                raise InputError("center and spread must be as many numbers as points have dimensions, spread above 0")

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Settle the number of dimensions, and where the draws come from."""
        kernel: Any = super().resolve(X, seed)
        if self.bandwidth is None or self.center is not None:
            return kernel
        points = points_of(X)
        center = sum(points.read(rows).sum(axis=0) for rows in strips(*points.shape)) / len(points)
        squares = sum(((points.read(rows) - center) ** 2).sum(axis=0) for rows in strips(*points.shape))
        spread = WIDER * np.sqrt(squares / len(points) + self.bandwidth**2)
        return dataclasses.replace(kernel, center=tuple(center.tolist()), spread=tuple(spread.tolist()))

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort the atoms of each bag; or find its density at each draw, over that of the draws, and its entropy."""
        weights, points = split_rows(np.ascontiguousarray(X, dtype=np.float64))
        shares = weights / weights.sum(axis=1, keepdims=True)
        if self.bandwidth is None:
            return Prepared(_atoms(shares, points), start)
        drawn, log_density = self._drawn()
        densities = np.empty((len(shares), len(drawn)))
        for row, (share, place) in enumerate(zip(shares, points, strict=True)):
            densities[row] = self._density(drawn, share[share > 0], place[share > 0]) * np.exp(-log_density)
        logs = np.log(densities, where=densities > 0, out=np.zeros_like(densities))
        return Prepared({"densities": densities, "entropies": -(densities * logs).mean(axis=1)}, start)

    def _drawn(self) -> tuple[Floats, Floats]:
        """The draws (draws, d), and the logarithm of the density that they come from."""
        if self.center is None or self.spread is None:
            raise InputError("the draws depend on the cohort: call resolve(X) first, or give center= and spread=")
        scale = np.array(self.spread)
        normal = np.random.default_rng(self.seed).standard_normal((self.draws, len(scale)))
        log_density = -0.5 * (normal**2).sum(axis=1) - np.log(scale * np.sqrt(2 * np.pi)).sum()
        return np.array(self.center) + normal * scale, log_density

    def _density(self, drawn: Floats, shares: Floats, points: Floats) -> Floats:
        """Σ_i p_i N(z; x_i, κ² I) at each draw z."""
        width, d = self.bandwidth or 1.0, points.shape[1]
        out = np.empty(len(drawn))
        step = max(1, DENSITY_BYTES // (8 * len(points) * d))
        for first in range(0, len(drawn), step):
            apart = (drawn[first : first + step, None, :] - points) / width
            out[first : first + step] = np.exp(-0.5 * (apart**2).sum(axis=2)) @ shares
        return out / (2 * np.pi * width**2) ** (d / 2)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        values = np.exp(-self.beta * self._divergences(A, B))
        if A is B:
            np.fill_diagonal(values, 1.0)
        return values

    def _divergences(self, A: Prepared, B: Prepared) -> Floats:
        if self.bandwidth is None:
            refuse_other_points(A, B, "atoms")
        else:
            A.refuse_unlike(B)
        a, b = A.arrays, B.arrays
        if self.bandwidth is None:
            return atom_pairs(a["shares"], a["atoms"], a["counts"], b["shares"], b["atoms"], b["counts"], A is B)
        return density_pairs(a["densities"], a["entropies"], b["densities"], b["entropies"], A is B)

    def is_sound(self, A: Prepared) -> bool:
        """Whether the number of atoms of each bag is one."""
        counts = A.arrays.get("counts")
        return counts is None or bool(((counts >= 0) & (counts <= A.arrays["atoms"].shape[1])).all())

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return np.ones(len(A))

    def standard_error(self, X: Any, Y: Any = None) -> Floats:
        """Standard error of each entry of ``kernel(X, Y)`` for the draws; 0 on atoms, where nothing is drawn.

        Examples
        --------
        >>> from distkern.core.bags import Bags
        >>> bags = Bags.from_arrays([[0.0], [1.0]])
        >>> Entropy(bandwidth=1.0).standard_error(bags).round(3)
        array([[0.   , 0.001],
               [0.001, 0.   ]])
        """
        rows = as_source(X)
        kernel: Any = self.resolve(rows if Y is None else as_source(Y))
        A = kernel.prepared(rows)
        B = A if Y is None else kernel.prepared(as_source(Y))
        if self.bandwidth is None:
            return np.zeros((len(A), len(B)))
        out = np.empty((len(A), len(B)))
        for i, f in enumerate(A.arrays["densities"]):
            for j, g in enumerate(B.arrays["densities"]):
                each = _phi((f + g) / 2) - (_phi(f) + _phi(g)) / 2
                out[i, j] = self.beta * np.exp(-self.beta * each.mean()) * each.std(ddof=1) / np.sqrt(len(each))
        return out

    def bytes_per_tile(self, a: int, b: int, n: int) -> int:
        """Bytes of the divergences and of the result; preparing takes those of the draws."""
        return 24 * a * b + 2 * DENSITY_BYTES


def _phi(density: Floats) -> Floats:
    """−t log t, 0 at 0."""
    return -density * np.log(density, where=density > 0, out=np.zeros_like(density))


def _atoms(shares: Floats, points: Floats) -> dict[str, Array]:
    """Distinct points of each bag in ascending order, their shares, and their number."""
    bags, length, d = points.shape
    atoms, held = np.zeros((bags, length, d)), np.zeros((bags, length))
    counts = np.empty(bags, dtype=np.int64)
    for row in range(bags):
        given = shares[row] > 0
        distinct, which = np.unique(points[row][given] + 0.0, axis=0, return_inverse=True)
        counts[row] = len(distinct)
        atoms[row, : len(distinct)] = distinct
        held[row, : len(distinct)] = np.bincount(which.ravel(), weights=shares[row][given], minlength=len(distinct))
    return {"shares": held, "atoms": atoms, "counts": counts}
