"""Kernels on permutations as such: how many ranks two samples share, and diffusion over the symmetric group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from distkern.compiled.inversions import rank
from distkern.compiled.permutations import diffusion_from_identity, diffusion_tile, equal_ranks_tile, tie_spans
from distkern.compiled.validation import are_rankings
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of, refuse_nan
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

MOST_ITEMS = 8
"""Diffusion keeps one number for each of the n! rankings: 40,320 at 8 items, and about ten times as many at 9."""


@dataclass(frozen=True)
class EqualRank(Kernel):
    """k(x, y) = ⟨Π_x, Π_y⟩ = number of features that have the same rank in x and in y.

    Π_x is the permutation matrix that sorts the features of x. With ties it is the mean of these matrices over all ways
    of breaking the ties: a feature of a tie group of s features has each of the group's s ranks with weight 1/s. Then k
    is the expected number of equal ranks, Σ over the features of #(P ∩ Q) / (#P #Q), with P and Q the ranks of its tie
    groups in x and in y. It is an inner product, hence positive semidefinite, with any ties.

    Source: Vert's slides on supervised quantile normalisation (SUQUAN), the permutation kernel: the matrix of the
    quantile normalisation Φ_f(x) = Π_x f stands for x.

    Raises
    ------
    SampleError
        If a sample holds NaN; the message names it.

    See Also
    --------
    Diffusion : Also counts rankings that are nearly equal.
    Kendall : Compares the orders of pairs.

    Notes
    -----
    Samples are rows (m, n) of any real values, ±infinity included; only their order counts. O(n log n) per sample, O(n)
    a pair. Values lie in [0, n], and are whole numbers where neither sample has ties; k(x, x) is the number of distinct
    values of x, exactly. ``EqualRank().normalized()`` is the fraction of equal ranks.

    Examples
    --------
    >>> EqualRank()([[1, 2, 3, 4]], [[1, 2, 4, 3], [7, 7, 7, 7]])  # two ranks in common; on average one
    array([[2., 1.]])
    """

    name: ClassVar[str] = "equal-rank"

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort each sample: first rank and size of every feature's tie group, and the number of tie groups."""
        order, codes, tied, _ = rank(X)
        starts, sizes = np.empty_like(codes), np.empty(codes.shape, dtype=np.int32)
        tie_spans(order, tied, starts, sizes)
        groups = codes.max(axis=1).astype(np.int64) + 1
        return Prepared({"starts": starts, "sizes": sizes, "groups": groups}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values."""
        refuse_nan(X, ids, features)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        values = np.empty((len(A), len(B)))
        a, b = A.arrays, B.arrays
        equal_ranks_tile(a["starts"], a["sizes"], a["groups"], b["starts"], b["sizes"], b["groups"], A is B, values)
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """Number of tie groups: a group of s features adds s · s/s² = 1."""
        return A.arrays["groups"].astype(np.float64)


@bytes_per_tile.register
def _(kernel: EqualRank, a: int, b: int, n: int) -> int:
    """Bytes of the result."""
    return 8 * a * b


@dataclass(frozen=True)
class Diffusion(Kernel):
    """k(σ, σ') = [e^{βΔ}]_{σσ'}, with Δ the Laplacian of the graph of all n! rankings.

    Two rankings are neighbours if exchanging two items of adjacent ranks turns one into the other (the Cayley graph of
    the adjacent transpositions, multiplied from the left). Δ is 1 between neighbours and −(n − 1) on the diagonal. The
    distance in this graph is the number n_d of discordant pairs; k sums over all paths, whereas Mallows uses the
    shortest only. k depends on σσ'⁻¹ alone, so that one vector of n! numbers contains every value.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 5, after Kondor & Barbosa (2010).

    Parameters
    ----------
    beta
        β, the time of diffusion: at 0 different rankings have k = 0; as β grows all values become equal. For β < 0
        the kernel is e^{−2β(n−1)} (−1)^{n_d} times that of −β, positive definite too, since an exchange of two ranks
        changes the sign of a permutation.

    Raises
    ------
    InputError
        If there are more than 8 items, or β is so far below 0 that the values are beyond floating point.
    SampleError
        If a sample holds NaN or ties two items, since the graph has no rankings with ties; the message names it.

    See Also
    --------
    EqualRank : Counts equal ranks.
    Mallows : Exponential in the discordant pairs.
    network_kernel : Diffusion on a network of features.

    Notes
    -----
    Samples are rows (m, n) of real values, ±infinity included, whose order is a ranking without ties, n ≤ 8. For one σ
    the values over all n! rankings sum to 1, so k(σ, σ) is the probability of return after time β;
    ``Diffusion(beta).normalized()`` has k(σ, σ) = 1. Positive definite for every β. O(n log n) per sample, O(n²) per
    pair, and once in each process n! n (β n + n²) for the vector. The vector is a sum of positive terms in one fixed
    order, correct to about 13 digits, the smallest value included.

    Examples
    --------
    >>> Diffusion(beta=0.5)([[1, 2]], [[1, 2], [2, 1]])  # (1 ± exp(-1)) / 2
    array([[0.68393972, 0.31606028]])
    """

    name: ClassVar[str] = "diffusion"
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.beta):
            raise InputError(f"beta must be a finite number, not {self.beta!r}")

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort each sample: the rank of every item, and the item of every rank."""
        refuse_many(X.shape[1])  # also here, where no check comes before
        order, codes, _, _ = rank(X)
        return Prepared({"order": order, "codes": codes}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse more than 8 items, missing values and ties."""
        refuse_many(X.shape[1])
        refuse_nan(X, ids, features)
        _refuse_ties(X, ids, features)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        values = np.empty((len(A), len(B)))
        diffusion_tile(A.arrays["codes"], B.arrays["order"], self._kappa(A), A is B, values)
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """κ at the identity, the same for every ranking."""
        return np.full(len(A), self._kappa(A)[0])

    def _kappa(self, A: Prepared) -> Floats:
        n = A.arrays["codes"].shape[1]
        if self.beta < 0:
            return _backwards(n, float(self.beta))
        return diffusion_from_identity(n, float(self.beta))


def refuse_far(n: int, beta: float) -> None:
    """Refuse a β so far below 0 that the values are beyond floating point."""
    farthest = math.log(np.finfo(np.float64).max) / (2 * max(n - 1, 1))
    if n > 1 and -beta >= farthest:
        raise InputError(
            f"beta={beta:g} makes values beyond what float64 holds for {n} items: give more than {-farthest:.6g}"
        )


@lru_cache(maxsize=8)
def signs(n: int) -> Floats:
    """(−1)^{n_d} of each permutation of n items, by its number; n_d is the sum of the digits of its Lehmer code.

    Examples
    --------
    >>> signs(2)
    array([ 1., -1.])
    """
    number, odd = np.arange(math.factorial(n)), np.zeros(math.factorial(n), dtype=np.int64)
    for base in range(1, n + 1):
        odd += number % base
        number //= base
    found: Floats = (1 - 2 * (odd % 2)).astype(np.float64)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=32)
def _backwards(n: int, beta: float) -> Floats:
    """e^{βΔ} from the identity to each of the n! permutations, by number, for β < 0.

    With S = diag(−1)^{n_d} and A the neighbours, SAS = −A. So e^{βΔ} = e^{2|β|(n−1)} S e^{|β|Δ} S: nothing cancels.
    """
    refuse_far(n, beta)
    kappa: Floats = diffusion_from_identity(n, -beta) * np.exp(-2 * beta * (n - 1)) * signs(n)
    kappa.flags.writeable = False
    return kappa


@is_valid.register
def _(kernel: Diffusion, A: Prepared) -> bool:
    """Whether order and codes are those of rankings without ties."""
    tied = np.zeros(A.arrays["order"].shape, dtype=np.uint8)
    return bool(are_rankings(A.arrays["order"], A.arrays["codes"], tied, np.empty(len(A), dtype=np.int64)))


@bytes_per_tile.register
def _(kernel: Diffusion, a: int, b: int, n: int) -> int:
    """Bytes of the result, and of the vector of shares and the graph it is computed on at 8 items."""
    return 8 * a * b + math.factorial(MOST_ITEMS) * (4 * MOST_ITEMS + 5 * 8)


def refuse_many(n: int) -> None:
    """Refuse more items than a vector of all rankings can have."""
    if n > MOST_ITEMS:
        raise InputError(
            f"Diffusion walks over all rankings of its items and takes at most {MOST_ITEMS}; the samples have {n}: "
            "use Mallows, which depends on the shortest path only"
        )


def _refuse_ties(X: Array, ids: Names, features: Names) -> None:
    order = np.argsort(X, axis=1, kind="stable")
    values = np.take_along_axis(X, order, axis=1)
    tied = values[:, 1:] == values[:, :-1]
    if tied.any():
        row, place = (int(position) for position in np.argwhere(tied)[0])
        first, second = (name_of(int(item), features) for item in order[row, place : place + 2])
        raise SampleError(
            f"sample {name_of(row, ids)} ties the features {first} and {second}, and Diffusion needs rankings without "
            "ties: break the ties or leave the sample out, or use Mallows, which takes ties",
            row,
        )
