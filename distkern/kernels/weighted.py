"""The weighted Kendall kernels: pairs of items count by the ranks of the two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from distkern.compiled.inversions import rank
from distkern.compiled.weighted import average_tile, spread_weights, weighted_tile
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names
from distkern.kernels.base import Prepared
from distkern.kernels.kendall import OrderingKernel, valid_ordering
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

RULES = {"hyperbolic": lambda r: 1 / (1 + r), "logarithmic": lambda r: 1 / math.log2(1 + r)}
"""Weight of rank r = 1 (the most preferred), 2, …, by the name of the rule."""


@dataclass(frozen=True)
class WeightedKendall(OrderingKernel):
    """k(x, y) = Σ_{i<j} w_ij(x) w_ij(y) sgn(x_i − x_j) sgn(y_i − y_j).

    The weight of a pair of items depends on their ranks a and b in the sample, 1 for the largest value, which is the
    most preferred: u_a + u_b (``"additive"``), u_a u_b (``"multiplicative"``), or 1 if both are among the k best
    (``"top"``). ``"average"`` is the mean of the top-k kernels over k = 1 … n, which without ties weighs a pair by
    (n + 1 − the worst of its four ranks) / n.

    With ties, the features w_ij sgn are averaged over all ways of breaking them. In closed form, a pair that a sample
    ties contributes 0, and a tied item has the mean of u, or of 1[rank ≤ k], over the ranks of its tie group. So each
    of the four kernels is an inner product, hence positive semidefinite, with any ties.

    Source: Jiao & Vert, *The weighted Kendall and high-order kernels for permutations*, ICML 2018, with their weights;
    they count concordant pairs only, whereas this kernel subtracts the discordant pairs, as Kendall's tau does.

    Parameters
    ----------
    weights
        Weight of a pair as a function of the two ranks, as above.
    u
        Weights of the ranks, for additive and multiplicative ones: ``"hyperbolic"`` for 1/(1 + rank), ``"logarithmic"``
        for 1/log₂(1 + rank), or n numbers of 0 or more, the first for the most preferred item. Top and average do
        not use it.
    k
        Number of best items, 2 or more, for ``weights="top"`` only; from n on the kernel is n_c − n_d.

    Raises
    ------
    InputError
        If a parameter has another value, or ``u`` does not have one number per feature.
    SampleError
        If a sample holds NaN; the message names it.

    See Also
    --------
    Kendall : All pairs count alike.
    PairAgreement : Chosen pairs count, others do not.
    scipy.stats.weightedtau : Weighted tau of two samples.

    Notes
    -----
    Samples are rows (m, n) of any real values, ±infinity included; only their order counts. O(n log n) per sample and
    per pair; ``"top"`` O(k log k) per pair where no tie group contains both rank k and rank k + 1. The values are sums,
    not divided by the number of pairs: ``.normalized()`` divides by the norms (a cosine). Divided by Σ w_ij(x) w_ij(y)
    instead, a quotient in use elsewhere, it would *not* be positive semidefinite. Rounding errors are relative to the
    norms of the two samples. Without ties ``"top"`` and ``"average"`` are sums of integers, and exact.

    Examples
    --------
    >>> x, y = [4, 3, 2, 1], [3, 4, 2, 1]  # they disagree on the two best items
    >>> WeightedKendall("multiplicative", u=(1, 1, 0.5, 0))([x], [y])  # -1 + 0.25 + 0.25; the last item counts nothing
    array([[-0.5]])
    >>> [WeightedKendall("top", k=k)([x], [y]).item() for k in (2, 3, 4)]
    [-1.0, 1.0, 4.0]
    """

    name: ClassVar[str] = "weighted-kendall"
    weights: Literal["additive", "multiplicative", "top", "average"] = "additive"
    u: str | Sequence[float] = "hyperbolic"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rule(self.u)
        if self.weights != "top" and self.k is not None:
            raise InputError(f'k = {self.k!r} belongs to weights="top"; leave it out for weights={self.weights!r}')
        if self.weights == "top":
            if self.k is None or self.k < 2:
                raise InputError(f'weights="top" needs k, a whole number of 2 or more best items; got {self.k!r}')

    @property
    def directed(self) -> bool:
        """The weights are those of ranks from the best item."""
        return True

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort and rank each sample from the best item, compute the weight of each item, and k(x, x)."""
        order, codes, tied, _ = rank(-np.asarray(X, dtype=np.float64))
        arrays: dict[str, Array] = {"order": order, "codes": codes, "tied": tied}
        if self.weights != "average":
            weights = np.empty(order.shape)
            spread_weights(self._table(order.shape[1]), order, tied, weights)
            arrays |= {"weights": weights, "kept": self._kept(order, weights)}
        blocks = Prepared(arrays)
        samples = [blocks.take(slice(i, i + 1)) for i in range(len(order))]
        arrays["squares"] = np.array([self._values(sample, sample)[0, 0] for sample in samples])
        return Prepared(arrays, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing values, of one feature, or of another number of features than of weights."""
        super().check(X, ids, features)
        if not isinstance(self.u, str) and self._weighs_ranks and len(self.u) != X.shape[1]:
            raise InputError(
                f"u holds {len(self.u)} weights and the samples have {X.shape[1]} features: give one weight for each "
                "rank, or the name of a rule"
            )

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return self._values(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """Σ of the squared weights of the pairs that a sample does not tie."""
        return A.arrays["squares"].copy()

    @property
    def _weighs_ranks(self) -> bool:
        return self.weights in ("additive", "multiplicative")

    def _table(self, n: int) -> Floats:
        """Weight of each rank; the top-k weight of a pair is the product of 1[rank ≤ k]."""
        if self.weights == "top":
            return (np.arange(n) < (self.k or n)).astype(np.float64)
        if isinstance(self.u, str):
            return np.array([RULES[self.u](r) for r in range(1, n + 1)])
        return np.array(self.u, dtype=np.float64)

    def _kept(self, order: Array, weights: Floats) -> Array:
        """Number of items up to the last one with a nonzero weight."""
        m, n = order.shape
        if self.weights == "additive":
            return np.full(m, n, dtype=np.int64)
        present = np.take_along_axis(weights, order.astype(np.int64), axis=1) != 0
        return np.where(present.any(axis=1), n - np.argmax(present[:, ::-1], axis=1), 0).astype(np.int64)

    def _values(self, A: Prepared, B: Prepared) -> Floats:
        A.refuse_unlike(B)
        values = np.empty((len(A), len(B)))
        a, b = A.arrays, B.arrays
        if self.weights == "average":
            average_tile(a["order"], a["tied"], a["codes"], b["order"], b["tied"], b["codes"], A is B, values)
        else:
            additive = self.weights == "additive"
            sides = a["codes"], a["weights"], b["order"], b["codes"], b["weights"], b["kept"]
            weighted_tile(additive, *sides, A is B, values)
        return values


@is_valid.register
def _(kernel: WeightedKendall, A: Prepared) -> bool:
    """Whether order, codes and ties are those of rankings, and the numbers of weighted items are possible."""
    kept = A.arrays.get("kept", np.zeros(1, dtype=np.int64))
    return valid_ordering(kernel, A) and bool(((kept >= 0) & (kept <= A.arrays["order"].shape[1])).all())


@bytes_per_tile.register
def _(kernel: WeightedKendall, a: int, b: int, n: int) -> int:
    """Bytes of the result, and of one pair's items while they are merged."""
    return 8 * a * b + 56 * n


def _check_rule(u: str | Sequence[float]) -> None:
    if isinstance(u, str) and u not in RULES:
        raise InputError(f"u must be {' or '.join(map(repr, RULES))}, or one weight for each rank; got {u!r}")
    wrong = [] if isinstance(u, str) else [weight for weight in u if weight < 0]
    if wrong:
        raise InputError(f"the weights u of the ranks must be finite numbers of 0 or more; one is {wrong[0]!r}")
