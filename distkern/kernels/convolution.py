"""The convolution of any kernel on rankings: its mean over all rankings that agree with what was observed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from distkern.compiled.extensions import count_extensions
from distkern.compiled.permutations import cayley_tables, diffuse, jump_chances
from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared, check_source
from distkern.kernels.kendall import Kendall
from distkern.kernels.mallows import Mallows
from distkern.kernels.parameters import check_whole
from distkern.kernels.partial import PartialKendall, PartialKernel, Unobserved, arranged
from distkern.kernels.partial_mallows import PartialMallows, extended
from distkern.kernels.permutation import Diffusion, EqualRank, refuse_far, refuse_many, signs
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid
from distkern.kernels.vectors import Linear

STEP = 512.0
"""Most expected jumps of a step of diffusion."""


@dataclass(frozen=True)
class Convolution(PartialKernel):
    """k(R, R') = mean of κ(σ, σ') over the rankings σ compatible with R and σ' with R', for any kernel κ on rankings.

    - κ = `EqualRank`: ⟨E Π_R, E Π_R'⟩ with the mean permutation matrices, exactly. The a-th of k observed items of
      unknown ranks (interleaving) has rank r with probability C(r−1, a−1) C(n−r, k−a) / C(n, k); the items that are not
      observed share the rest equally; tied items share their ranks.
    - κ = `Diffusion`: over all compatible rankings of n ≤ 8 items, exactly.
    - κ = `Kendall`: `PartialKendall`, in closed form. κ = `Mallows`: `PartialMallows`.
    - Other κ: over all compatible rankings of a sample if they are at most ``draws``, else over as many drawn ones. κ
      sees the ranks 0 … n − 1, larger = preferred.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 3, equation 4.

    Parameters
    ----------
    base
        κ, a kernel on rankings, with all parameters given.
    kind
        Meaning of NaN, as for `PartialKendall`: ``"interleaving"``, the rank is unknown; ``"top"``, the item comes
        last.
    draws
        D ≥ 2, number of rankings that represent a sample with more compatible ones, where κ needs draws.
    seed
        Seed of the draws, 0 to 2⁶⁴ − 1. The draws of a sample depend on the seed and on its ranking only.

    Raises
    ------
    InputError
        If there is only one item, κ has a parameter that depends on the cohort, κ takes no rankings of so many items,
        or `Rankings` of kind interleaving are given to a kernel of kind top.

    See Also
    --------
    PartialKendall : Its closed form for Kendall's kernel.
    PartialMallows : Its value for Mallows' kernel.

    Notes
    -----
    Samples are rows (m, n), larger = preferred, ±infinity included; ties are broken at random, with equal
    probabilities. Positive semidefinite if κ is, since the rankings of a sample are the same in every pair. EqualRank:
    O(n²) per sample and per pair. Diffusion: n! n per step and sample, n! per pair. Others: D² values of κ per pair;
    `standard_error` estimates the error that is due to the draws.

    Examples
    --------
    >>> Convolution(EqualRank(), kind="top")([[3, np.nan, np.nan]], [[3, 2, 1]])  # one equal rank, and two of ½ each
    array([[2.]])
    >>> Convolution(Diffusion(0.5))([[1, np.nan]], [[1, 2]])  # (0.684 + 0.316) / 2
    array([[0.5]])
    """

    name: ClassVar[str] = "convolution"
    base: Kernel = field(default_factory=EqualRank)
    kind: Unobserved = "interleaving"
    draws: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.draws, "draws", 2)
        check_whole(self.seed, "seed", 0, 2**64 - 1)
        if self.base.takes_bags or isinstance(self.base, PartialKernel):
            raise InputTypeError(f"base must be a kernel on total rankings, such as EqualRank(), not {self.base!r}")

    @property
    def equal(self) -> Kernel | None:
        """The kernel that has these values in another way, if there is one."""
        if isinstance(self.base, Kendall):
            return PartialKendall(self.kind)
        if isinstance(self.base, Mallows):
            given = {"draws": self.draws, "seed": self.seed, "scaled": self.base.scaled}
            return PartialMallows(self.base.lam, self.kind, **given)  # type: ignore[arg-type]
        return None

    @property
    def explicit(self) -> bool:
        """Whether samples have features whose inner products are the kernel."""
        return isinstance(self.base, (EqualRank, Diffusion))

    @property
    def _sampler(self) -> PartialMallows:
        """The kernel that represents samples by rankings in the same way."""
        return PartialMallows(0.0, self.kind, draws=self.draws, seed=self.seed)

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Refuse a base kernel with parameters that depend on the cohort, and a cohort of another kind."""
        super().resolve(X, seed)
        n = as_source(X).shape[1]
        if self.base.resolve(np.array([np.arange(n), np.arange(n)[::-1]], dtype=np.float64)) != self.base:
            raise InputError(f"{self.base!r} has parameters that depend on the cohort: give them as numbers")
        return self

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples of one feature, and of as many as the base kernel refuses."""
        super().check(X, ids, features)
        self.base.check(np.arange(X.shape[1], dtype=np.float64)[None])

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Mean features of the rankings of each sample, or what represents it."""
        if self.equal is not None:
            return self.equal.prepare(X, start)
        if not self.explicit:
            return self._sampler.prepare(X, start)
        block = super().prepare(X, start)
        of_one = _mean_permutation if isinstance(self.base, EqualRank) else self._diffused
        n = block.arrays["order"].shape[1]
        if isinstance(self.base, Diffusion):
            refuse_many(n)  # also here, where no check comes before
        size = n * n if isinstance(self.base, EqualRank) else math.factorial(n)
        values = np.empty((len(block), size))
        for row in range(len(block)):
            values[row] = of_one(block.take(slice(row, row + 1)))
        return Linear().prepare(values, start)

    def _diffused(self, sample: Prepared) -> Floats:
        """e^{βΔ/2} of the uniform distribution on the compatible rankings of one sample, by number, (n!,)."""
        arrays = sample.arrays
        n, members = arrays["order"].shape[1], np.empty(1, dtype=np.int64)
        count_extensions(arrays["balance"], arrays["observed"], arrays["last"], math.factorial(n), members)
        every: dict[str, Array] = {
            "members": members,
            "whole": np.ones(1, np.uint8),
            "keys": np.zeros((1, 4), np.uint64),
        }
        codes = extended(Prepared(dict(arrays) | every))[0].arrays["codes"].astype(np.int64)
        numbers = np.zeros(len(codes), dtype=np.int64)
        for place in range(n):  # Lehmer codes
            numbers = numbers * (n - place) + (codes[:, place + 1 :] < codes[:, place : place + 1]).sum(axis=1)
        shares = np.bincount(numbers, minlength=math.factorial(n)) / len(codes)
        beta: float = self.base.beta  # type: ignore[attr-defined]
        if beta < 0:  # e^{−bΔ} = e^{2b(n−1)} S e^{bΔ} S, with the signs S of the permutations
            refuse_far(n, beta)
            shares = shares * signs(n) * math.exp(-beta * (n - 1))
        return _walked(shares, n, abs(beta) / 2)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        if self.equal is not None:
            return self.equal.tile(A, B)
        return Linear().tile(A, B) if self.explicit else self._means(A, B)[0]

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        if self.equal is not None:
            return self.equal.diagonal(A)
        if self.explicit:
            return Linear().diagonal(A)
        singles = (A.part(i, i + 1) for i in range(len(A)))
        return np.array([self._means(single, single)[0][0, 0] for single in singles])

    def standard_error(self, X: Any, Y: Any = None) -> Floats:
        """Standard error of each entry of ``kernel(X, Y)`` that is due to the draws; 0 where there are none.

        Examples
        --------
        >>> from distkern import Gaussian
        >>> kernel = Convolution(Gaussian(3.0), draws=50)
        >>> kernel.standard_error([[1, 2, 3, 4, 5], [1, np.nan, np.nan, np.nan, 2]]).round(2)
        array([[0.  , 0.03],
               [0.03, 0.01]])
        """
        if isinstance(self.equal, PartialMallows):
            return self.equal.standard_error(X, Y)
        rows = as_source(self._by_kind(X))
        cols = rows if Y is None else as_source(self._by_kind(Y))
        if self.equal is not None or self.explicit:
            return np.zeros((len(rows), len(cols)))
        A = self.prepare(check_source(self, rows))
        return self._means(A, A if Y is None else self.prepare(check_source(self, cols)))[1]

    def _means(self, A: Prepared, B: Prepared) -> tuple[Floats, Floats]:
        """Mean of κ over the rankings of two samples, and its standard error."""
        A.refuse_unlike(B)
        means, errors = np.empty((len(A), len(B))), np.empty((len(A), len(B)))
        right = list(self._rankings(B))
        left = right if A is B else list(self._rankings(A))
        for i, mine in enumerate(left):
            for j in range(i if A is B else 0, len(right)):
                values = np.ascontiguousarray(self.base.tile(mine, right[j]))
                same = np.array_equal(A.arrays["keys"][i], B.arrays["keys"][j])
                whole = bool(A.arrays["whole"][i]), bool(B.arrays["whole"][j])
                means[i, j], errors[i, j] = values.mean(), _error(values, *whole, same=same)
                if A is B:
                    means[j, i], errors[j, i] = means[i, j], errors[i, j]
        return means, errors

    def _rankings(self, A: Prepared) -> Iterator[Prepared]:
        """The rankings of each sample, prepared by κ."""
        for row in range(len(A)):
            rankings, _ = extended(A.take(slice(row, row + 1)))
            yield self.base.prepare(rankings.arrays["codes"].astype(np.float64))


@is_valid.register
def _(kernel: Convolution, A: Prepared) -> bool:
    """Whether what represents the samples is that of partial rankings."""
    if kernel.equal is not None:
        return is_valid(kernel.equal, A)
    return kernel.explicit or is_valid(kernel._sampler, A)


@bytes_per_tile.register
def _(kernel: Convolution, a: int, b: int, n: int) -> int:
    """Bytes of the inner products; or of the rankings of all samples, and of κ between those of two."""
    if kernel.equal is not None:
        return bytes_per_tile(kernel.equal, a, b, n)
    if kernel.explicit:
        return bytes_per_tile(Linear(), a, b, n)
    return 16 * a * b + (a + b) * kernel.draws * 24 * n + bytes_per_tile(kernel.base, kernel.draws, kernel.draws, n)


def _mean_permutation(sample: Prepared) -> Floats:
    """Probability of each rank of each item of one sample, (n · n,)."""
    (order,), (balance,), (k,), (last,) = arranged(sample)
    n, k = len(order), int(k)
    out = np.zeros((n, n))
    observed = np.zeros((k, n))
    if last:
        observed[np.arange(k), n - k + np.arange(k)] = 1.0
    elif k:
        observed[:] = _ranks_of_observed(n, k)
    borders = [0, *(np.flatnonzero(balance[1:k] != balance[: max(k - 1, 0)]) + 1).tolist(), k]
    for first, stop in pairwise(borders):
        out[order[first:stop]] = observed[first:stop].mean(axis=0) if stop - first > 1 else observed[first:stop]
    if k < n:
        out[order[k:]] = np.maximum(1.0 - observed.sum(axis=0), 0.0) / (n - k)
    return out.ravel()


@lru_cache(maxsize=64)
def _ranks_of_observed(n: int, k: int) -> Floats:
    """C(r−1, a−1) C(n−r, k−a) / C(n, k) for a = 1 … k and r = 1 … n, (k, n)."""

    def log_choose(m: Array, c: Array) -> Floats:
        inside = (c >= 0) & (c <= m)
        m, c = np.where(inside, m, 0), np.where(inside, c, 0)
        return np.where(inside, gammaln(m + 1) - gammaln(c + 1) - gammaln(m - c + 1), -np.inf)

    a, r = np.arange(1, k + 1)[:, None], np.arange(1, n + 1)[None, :]
    both = log_choose(r - 1, a - 1) + log_choose(n - r, k - a)
    chances: Floats = np.exp(both - log_choose(np.array(n), np.array(k)))
    chances.flags.writeable = False
    return chances


@lru_cache(maxsize=8)
def _neighbours(n: int) -> Array:
    count = math.factorial(n)
    neighbours, inverses = np.empty((count, n - 1), dtype=np.int32), np.empty(count, dtype=np.int32)
    cayley_tables(neighbours, inverses)
    return neighbours


def _walked(shares: Floats, n: int, time: float) -> Floats:
    """e^{tΔ} of a vector over all rankings, as sums in one fixed order."""
    count = len(shares)
    gap = 2 - 2 * math.cos(math.pi / n)  # slowest rate at which a vector approaches its mean
    if time == 0:
        return shares
    if time * gap >= math.log(1e17 * count):
        return np.full(count, shares.mean())
    steps = max(1, math.ceil(time * (n - 1) / STEP))
    jumps = jump_chances(time * (n - 1) / steps, n * (n - 1) // 2)
    for _ in range(steps):
        shares = diffuse(shares, _neighbours(n), jumps)
    return shares


def _error(values: Floats, whole_rows: bool, whole_cols: bool, *, same: bool) -> float:
    """Standard error of a mean over pairs of draws, from the variances of row means, column means and interaction."""
    a, b = values.shape
    if whole_rows and whole_cols:
        return 0.0
    mean, rows, cols = values.mean(), values.mean(axis=1), values.mean(axis=0)
    by_rows, by_cols = ((rows - mean) ** 2).sum(), ((cols - mean) ** 2).sum()
    rest = values - rows[:, None] - cols + mean  # the interaction; each variance of means contains a part of it
    if same:  # rows and columns are the same draws, which count twice
        off = (rest**2).sum() - (np.diag(rest) ** 2).sum()
        return math.sqrt(max(4 * by_rows / ((a - 1) * a) - 2 * off / ((a - 1) * a) / a**2, 0.0))
    variance = 0.0 if whole_rows else by_rows / ((a - 1) * a)
    variance += 0.0 if whole_cols else by_cols / ((b - 1) * b)
    if not whole_rows and not whole_cols:
        variance -= (rest**2).sum() / ((a - 1) * (b - 1)) / (a * b)
    return math.sqrt(max(variance, 0.0))
