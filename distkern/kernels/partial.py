"""The convolution Kendall kernel on partial rankings: some items are not observed, and observed ones may be tied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled.partial import arrange, partial_tile, self_sums
from distkern.compiled.validation import are_arranged
from distkern.core.errors import InputError
from distkern.core.rankings import Rankings
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, refuse_single_feature
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.kendall import Kendall
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

Unobserved = Literal["interleaving", "top"]


def unobserved_last(rankings: Rankings) -> Rankings:
    """Write the kind of each ranking into its values: items that a top-k ranking does not observe become −infinity.

    −infinity is the least value and is tied with itself, which is the meaning of kind ``"top"`` for items that are not
    observed. An item that stays NaN has an unknown rank.

    Examples
    --------
    >>> votes = Rankings.from_ranks([[3, np.nan, np.nan], [3, np.nan, 1]], kind=["top", "interleaving"])
    >>> unobserved_last(votes).values
    array([[  3., -inf, -inf],
           [  3.,  nan,   1.]])
    """
    top = np.array(rankings.kind) == "top"
    values = rankings.values.copy()
    for row in np.flatnonzero(top & np.isneginf(values).any(axis=1)):  # observed ones come before those not observed
        seen = ~np.isnan(values[row])
        values[row, seen] = np.unique(values[row, seen], return_inverse=True)[1]
    values[top] = np.where(np.isnan(values[top]), -np.inf, values[top])
    kinds = tuple("total" if word == "top" else word for word in rankings.kind)
    return Rankings(values, rankings.items, kinds, rankings.counts, rankings.ids, rankings.metadata)


class PartialKernel(Kernel):
    """A kernel of the order of the observed features only; NaN is a feature that is not observed."""

    kind: Unobserved

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Kernel matrix between the rows of X and the rows of Y (X by default); `Rankings` are read by their kinds."""
        return super().__call__(self._by_kind(X), None if Y is None else self._by_kind(Y))

    @property
    def directed(self) -> bool:
        """Items without a value come last, after the worst that has one."""
        return self.kind == "top"

    def _by_kind(self, X: Any) -> Any:
        if not isinstance(X, Rankings):
            return X
        self.refuse_other_kind(X.kind)
        return unobserved_last(X)

    def refuse_other_kind(self, kinds: tuple[str, ...]) -> None:
        """Refuse rankings of kind interleaving, whose unobserved items have unknown ranks, if this kernel is "top"."""
        if self.kind == "top" and "interleaving" in kinds:
            raise InputError(
                f'{type(self).__name__}(kind="top") takes unobserved items as last, but ranking '
                f'{kinds.index("interleaving")} says kind="interleaving": leave the kind of the kernel at its default, '
                "which reads every ranking by its own kind"
            )

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Refuse a cohort whose own kinds contradict the kind of this kernel; no parameter depends on the data."""
        self.refuse_other_kind(getattr(X, "kinds", None) or ())
        return self

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort the observed items of each sample, and count for each the items below it minus those above it."""
        order, balance, observed, last = arrange(X, self.kind == "top")
        return Prepared({"order": order, "balance": balance, "observed": observed, "last": last}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples of one feature; missing values are allowed."""
        refuse_single_feature(X)


@is_valid.register
def valid_partial_rankings(kernel: PartialKernel, A: Prepared) -> bool:
    """Whether order and balance are those of partial rankings."""
    return bool(are_arranged(*arranged(A)))


@dataclass(frozen=True)
class PartialKendall(PartialKernel):
    """k(R, R') = mean of (n_c − n_d)(σ, σ') / C(n, 2) over the rankings σ compatible with R and σ' with R'.

    A sample that orders only some of the n items represents all total rankings that agree with it. Their mean needs no
    enumeration: k(R, R') = Σ_{i<j} s_ij s'_ij / C(n, 2), where s_ij = 2 P(i above j) − 1 over R. With k items observed
    and a the mid-rank of i among them (1 = best), s_ij is the sign of the order where both are observed; where i is and
    j is not, 1 (top) or (k + 1 − 2a) / (k + 1) (interleaving); and 0 where neither is. The sums close over the items
    that both samples observe. An inner product of the s, hence positive semidefinite, kinds mixed or not.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 3 (equation 5 for interleaving, 6
    for top-k); the closed forms with ties and mixed kinds are derived in ``docs/kernels/partial.md``.

    Parameters
    ----------
    kind
        Meaning of NaN. ``"interleaving"``: the rank of the item is unknown, and all ranks are equally likely.
        ``"top"``: the item comes after all observed items. For samples of both kinds in one cohort give a `Rankings`,
        or write −infinity for items that come last and NaN for unknown ranks, and leave the kind at its default.

    Raises
    ------
    InputError
        If there is only one item, or `Rankings` of kind interleaving are given to a kernel of kind top.

    See Also
    --------
    Kendall : Total rankings.
    PartialMallows : The same mean of Mallows' kernel.
    Convolution : The same mean of any kernel.

    Notes
    -----
    Samples are rows (m, n) of any real values, larger = preferred, ±infinity included. Ties are broken either way with
    equal probability, through mid-ranks, at no extra cost. O(k log k) per sample and O(k + k' + q log q)
    per pair with k and k' observed items, q of them common; exact up to two divisions. k(R, R) < 1 unless R is total,
    so use ``.normalized()`` where samples observe different numbers of items. A sample of kind interleaving with 0 or 1
    observed items has k = 0 with every sample.

    Examples
    --------
    >>> PartialKendall(kind="top")([[3, np.nan, np.nan]], [[2, 3, 1]])
    array([[0.]])
    >>> PartialKendall()([[3, np.nan, 1]], [[3, 2, 1]])  # the mean of 1, 1/3 and 1/3
    array([[0.55555556]])
    """

    name: ClassVar[str] = "partial-kendall"
    kind: Unobserved = "interleaving"

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        sums = np.empty((len(A), len(B)))
        partial_tile(*arranged(A), *arranged(B), A is B, sums)
        return sums / _pairs(A)

    def diagonal(self, A: Prepared) -> Floats:
        """Σ s² / C(n, 2)."""
        sums = np.empty(len(A))
        self_sums(A.arrays["balance"], A.arrays["observed"], A.arrays["last"], sums)
        return sums / _pairs(A)


@bytes_per_tile.register
def _(kernel: PartialKendall, a: int, b: int, n: int) -> int:
    """Bytes of the sums and of the result."""
    return 16 * a * b


def interleaved(kernel: Kernel) -> Kernel:
    """The kernel that treats NaN as a feature of unknown rank, and equals ``kernel`` on samples without NaN.

    Raises
    ------
    InputError
        If the kernel has no such form.

    Examples
    --------
    >>> from distkern import Kendall
    >>> interleaved(Kendall(ties="b"))
    Normalized(base=PartialKendall(kind='interleaving'))
    """
    if kernel == Kendall():
        return PartialKendall(kind="interleaving")
    if kernel == Kendall(ties="b"):
        return PartialKendall(kind="interleaving").normalized()
    raise InputError(
        f'missing="interleaving" is for Kendall kernels; for {kernel!r} use missing="drop-features", or PartialMallows '
        "as the kernel"
    )


def arranged(A: Prepared) -> tuple[Array, Array, Array, Array]:
    """Order and balance (m, n), number of observed items and whether the others come last (m,) of a prepared block."""
    return A.arrays["order"], A.arrays["balance"], A.arrays["observed"], A.arrays["last"]


def _pairs(A: Prepared) -> int:
    n = A.arrays["order"].shape[1]
    return n * (n - 1) // 2
