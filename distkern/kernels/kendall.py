"""The Kendall kernel on total rankings and on the ordering of any real-valued sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled import concordance as counting
from distkern.compiled import sparse
from distkern.compiled.inversions import rank
from distkern.compiled.sparse import rank_sparse
from distkern.compiled.validation import are_rankings, are_sparse_rankings
from distkern.core.errors import InputTypeError
from distkern.core.sentences import Argument, Call, Sentence
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, constant_sample, refuse_constant, refuse_nan, refuse_single_feature
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.planning import bytes_per_tile, stored_dtype
from distkern.kernels.trust import is_valid

CONSTANT_REMEDY = Sentence(
    "leave it out, or use {kernel}, where it has kernel value 0",
    kernel=Call("Kendall", (Argument("ties", "zero"),)),
)


@dataclass(frozen=True)
class OrderingKernel(Kernel):
    """A kernel of the order of each sample's features only: ±infinity is a value like any other, NaN is refused."""

    collapses: ClassVar[bool] = True

    def prepare(self, X: Any, start: int = 0) -> Prepared:
        """Sort and rank each sample: order, dense ranks, tie flags, and t = number of untied pairs.

        In a SciPy CSR array only nonzero values are ranked: all zeros are one tie group.
        """
        if hasattr(X, "indptr"):
            return Prepared(rank_sparse(X.data, X.indices, X.indptr, X.shape[1]), start)
        order, codes, tied, untied = rank(X)
        return Prepared({"order": order, "codes": codes, "tied": tied, "untied": untied}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values, and samples of one feature."""
        refuse_single_feature(X)
        refuse_nan(X, ids, features)


_RANKED = {"order", "codes", "tied", "untied"}

_STRIP = 2**23
"""Codes that are ranked at a time."""


def codes_alone(prepared: Prepared) -> Array | None:
    """Dense ranks of prepared samples, from which all else follows; None if another kernel prepared them."""
    return prepared.arrays["codes"] if prepared.arrays.keys() == _RANKED else None


def from_codes(codes: Array, start: int = 0) -> Prepared:
    """Prepare samples again from their dense ranks (m, n).

    Examples
    --------
    >>> prepared = Kendall().prepare(np.array([[0.5, -2.0, 0.5]]))
    >>> again = from_codes(codes_alone(prepared))
    >>> all((again.arrays[name] == prepared.arrays[name]).all() for name in prepared.arrays)
    True
    """
    height = max(1, _STRIP // max(1, codes.shape[1]))
    strips = [rank(codes[first : first + height].astype(np.float64)) for first in range(0, max(1, len(codes)), height)]
    names = ("order", "codes", "tied", "untied")
    return Prepared(
        {name: np.concatenate(parts) for name, parts in zip(names, zip(*strips, strict=True), strict=True)}, start
    )


@is_valid.register
def valid_ordering(kernel: OrderingKernel, A: Prepared) -> bool:
    """Whether order, codes and ties are those of rankings, and t agrees with them."""
    arrays, untied = A.arrays, np.empty(len(A), dtype=np.int64)
    if A.is_sparse:
        places, scores, n = arrays["places"], arrays["scores"], int(arrays["features"][0])
        valid = places.shape == scores.shape and bool((arrays["features"] == n).all())
        valid = valid and are_sparse_rankings(places, scores, arrays["nonzeros"], arrays["balance"], n, untied)
    else:
        valid = are_rankings(arrays["order"], arrays["codes"], arrays["tied"], untied)
    return valid and np.array_equal(arrays.get("untied", untied), untied)


@bytes_per_tile.register
def _(kernel: OrderingKernel, a: int, b: int, n: int) -> int:
    """Bytes of counting, of the result, and of one intermediate of its size."""
    return 16 * a * b + counting.bytes_needed(a, b, n)


@dataclass(frozen=True)
class Concordance(OrderingKernel):
    """k(x, y) = n_c − n_d, the number of concordant minus that of discordant pairs of features; an integer.

    A store keeps these values for the Kendall kernel with either treatment of ties and for the Mallows kernel at every
    λ, which are functions of them and of t, the number of pairs that a sample does not tie.

    Raises
    ------
    SampleError
        If a sample holds NaN; the message names it.

    Examples
    --------
    >>> Concordance()([[1, 2, 3]], [[3, 1, 2]])
    array([[-1.]])
    """

    name: ClassVar[str] = "concordance"

    takes_sparse = True

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks; float64 holds them exactly up to 94 million features."""
        return concordance(A, B)[0].astype(np.float64)

    def diagonal(self, A: Prepared) -> Floats:
        """t, the number of pairs that each sample does not tie."""
        return A.arrays["untied"].astype(np.float64)


@stored_dtype.register
def _(kernel: Concordance, n: int, dtype: str) -> str:
    """The smaller integer type that holds C(n, 2), whatever type the user asks for: the values stay exact."""
    return "int32" if n * (n - 1) // 2 < 2**31 else "int64"


@dataclass(frozen=True)
class ConcordanceView(OrderingKernel):
    """A kernel that is a function of the concordance S = n_c − n_d and of the untied pairs t of each sample."""

    takes_sparse = True

    def from_counts(self, S: Array, t_rows: Array, t_cols: Array, pairs: int) -> Floats:
        """Kernel values from the concordance, the untied pairs and C(n, 2)."""
        raise InputTypeError(f"{type(self).__name__} is not a kernel itself: use one of its subclasses")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        S, _ = concordance(A, B)
        return self.from_counts(S, A.arrays["untied"][:, None], B.arrays["untied"][None, :], total_pairs(A))

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample: there S = t."""
        t = A.arrays["untied"]
        return self.from_counts(t, t, t, total_pairs(A))

    def stored(self) -> Kernel:
        """The concordance."""
        return Concordance()

    @property
    def summary(self) -> tuple[str, ...]:
        """The number of untied pairs."""
        return ("untied",)

    def from_stored(self, values: Floats, rows: Mapping[str, Array], cols: Mapping[str, Array], n: int) -> Floats:
        """Values of this kernel from the stored concordance."""
        return self.from_counts(values, rows["untied"], cols["untied"], n * (n - 1) // 2)


def concordance(A: Prepared, B: Prepared) -> tuple[Array, Array]:
    """S = n_c − n_d and the number of pairs tied in both, as int64 (len(A), len(B)), exact."""
    A.refuse_unlike(B)
    if A.is_sparse:
        return sparse.concordance(A.arrays, B.arrays, A is B)
    return counting.concordance(A.arrays, B.arrays, A is B)


def total_pairs(A: Prepared) -> int:
    """C(n, 2), the number of pairs of features."""
    n = int(A.arrays["features"][0]) if A.is_sparse else A.arrays["order"].shape[1]
    return n * (n - 1) // 2


@dataclass(frozen=True)
class Kendall(ConcordanceView):
    """k(x, y) = (n_c − n_d) / C(n, 2), or tau-b: (n_c − n_d) / sqrt(t_x t_y).

    n_c and n_d are the numbers of pairs of features that x and y order the same way and the opposite way; a pair tied
    in either sample counts in neither. t_x is the number of pairs that x does not tie. Both forms are inner products of
    sign vectors, hence positive semidefinite, with any ties.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, equation 3; section 6 for the form
    with ties.

    Parameters
    ----------
    ties
        ``"zero"``: tied pairs count zero and the divisor stays C(n, 2), so that k(x, x) < 1 for a sample with ties, and
        a constant sample has k = 0 with every sample. ``"b"``: Kendall's tau-b, so that k(x, x) = 1.

    Raises
    ------
    SampleError
        If a sample holds NaN; under ``ties="b"`` also if it is constant. The sample is named.

    See Also
    --------
    Mallows : exp(−λ n_d), from the same counts.
    Spearman : A correlation of ranks that is much cheaper.
    SmoothedKendall : Small differences count less.
    WeightedKendall : Some ranks count more.
    PartialKendall : Top-k lists, and missing values.
    kendalltau_matrix : Tau between features instead of samples.
    scipy.stats.kendalltau : Tau-b of two samples.

    Notes
    -----
    Samples are rows (m, n) of any real values, ±infinity included; only their order counts. Exact in 64-bit integers.
    Values lie in [−1, 1] and have no unit. Cost: O(n log n) per sample; a pair takes n²/2 bit operations, 64 or more at
    a time, where n is small, O(n) beyond a few thousand, and O(n log n) above 65,535 (see docs/benchmarks.md).

    Examples
    --------
    >>> Kendall(ties="b")([[1, 0, 0]], [[0, 0, 1]])
    array([[-0.5]])
    """

    name: ClassVar[str] = "kendall"
    ties: Literal["zero", "b"] = "zero"

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values; under tau-b also constant samples."""
        super().check(X, ids, features)
        if self.ties == "b":
            refuse_constant(X, ids, CONSTANT_REMEDY)

    def check_summary(self, summary: Mapping[str, Array], ids: Names = None) -> None:
        """Under tau-b refuse constant samples."""
        constant = np.flatnonzero(summary["untied"] == 0)
        if self.ties == "b" and len(constant):
            raise constant_sample(int(constant[0]), ids, CONSTANT_REMEDY)

    def from_counts(self, S: Array, t_rows: Array, t_cols: Array, pairs: int) -> Floats:
        """Kernel values from the concordance, the untied pairs and C(n, 2)."""
        return S / pairs if self.ties == "zero" else S / np.sqrt(t_rows.astype(float) * t_cols.astype(float))
