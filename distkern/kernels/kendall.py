"""The Kendall kernel on total rankings and on the ordering of any real-valued sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from distkern.compiled.inversions import concordance_tile, rank
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, refuse_constant, refuse_nan, refuse_single_feature
from distkern.kernels.base import Kernel, Prepared


@dataclass(frozen=True)
class OrderingKernel(Kernel):
    """A kernel that sees only the order of each sample's features: ±infinity is a value like another, NaN is none."""

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort and rank each sample: order, dense ranks, tie flags, and t = number of untied pairs."""
        order, codes, tied, untied = rank(X)
        return Prepared({"order": order, "codes": codes, "tied": tied, "untied": untied}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values, and samples of one feature."""
        refuse_single_feature(X)
        refuse_nan(X, ids, features)

    def cost(self, a: int, b: int, n: int) -> float:
        """Seconds of a × b merge sorts of n features."""
        return 3e-9 * a * b * n * max(1.0, math.log2(n))

    def bytes_per_tile(self, a: int, b: int) -> int:
        """Bytes of the two integer counts, of the result, and of one intermediate of its size."""
        return 32 * a * b


def concordance(A: Prepared, B: Prepared) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, as int64 (len(A), len(B)), exact."""
    counts = np.empty((len(A), len(B)), dtype=np.int64)
    joint = np.empty_like(counts)
    a, b = A.arrays, B.arrays
    concordance_tile(a["order"], a["tied"], a["untied"], b["codes"], b["untied"], A is B, counts, joint)
    return counts, joint


def total_pairs(A: Prepared) -> int:
    """C(n, 2), the number of pairs of features."""
    n = A.arrays["order"].shape[1]
    return n * (n - 1) // 2


@dataclass(frozen=True)
class Kendall(OrderingKernel):
    """k(x, y) = (n_c − n_d) / C(n, 2), or tau-b: (n_c − n_d) / sqrt(t_x t_y).

    n_c and n_d are the numbers of pairs of features that x and y order the same way and the opposite way; a pair tied
    in either sample counts in neither. t_x is the number of pairs that x does not tie. Both forms are inner products of
    sign vectors, hence positive semidefinite, with any ties.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, equations 2 and 3; the form with ties
    (section on ties) is what its experiments use.

    Parameters
    ----------
    ties
        ``"zero"``: tied pairs count zero and the divisor stays C(n, 2), so that k(x, x) < 1 for a sample with ties, and
        a constant sample has k = 0 with every sample. ``"b"``: Kendall's tau-b, so that k(x, x) = 1.

    Raises
    ------
    SampleError
        If a sample holds NaN; under ``ties="b"`` also if it is constant. The sample is named.

    Notes
    -----
    Samples are rows (m, n) of any real values, ±infinity included; only their order counts. O(n log n) a pair, exact in
    64-bit integers. Values lie in [−1, 1] and have no unit.

    Examples
    --------
    >>> Kendall(ties="b")([[1, 0, 0]], [[0, 0, 1]])
    array([[-0.5]])
    """

    name: ClassVar[str] = "kendall"
    ties: Literal["zero", "b"] = "zero"

    def __post_init__(self) -> None:
        if self.ties not in ("zero", "b"):
            raise InputError(f'ties must be "zero" or "b", not {self.ties!r}')

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values; under tau-b also constant samples."""
        super().check(X, ids, features)
        if self.ties == "b":
            refuse_constant(X, ids, 'leave it out, or use Kendall(ties="zero"), where it has kernel value 0')

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        counts, _ = concordance(A, B)
        if self.ties == "zero":
            return counts / total_pairs(A)
        return counts / np.sqrt(np.multiply.outer(A.arrays["untied"].astype(float), B.arrays["untied"].astype(float)))

    def diagonal(self, A: Prepared) -> Floats:
        """T / C(n, 2), or ones for tau-b."""
        return A.arrays["untied"] / total_pairs(A) if self.ties == "zero" else np.ones(len(A))
