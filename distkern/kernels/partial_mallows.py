"""The convolution Mallows kernel on partial rankings: a mean over all compatible rankings, or over drawn ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled import concordance as counting
from distkern.compiled.extensions import count_extensions, extend_rows, means_tile
from distkern.core.errors import SampleError
from distkern.core.random import sample_keys
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of
from distkern.io.digests import dense_digests
from distkern.io.source import as_source
from distkern.kernels.base import Prepared, check_source
from distkern.kernels.kendall import concordance, total_pairs
from distkern.kernels.parameters import check_number, check_whole
from distkern.kernels.partial import PartialKernel, Unobserved, arranged, valid_partial_rankings
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

EXACT_LIMIT = 1_000
"""Most compatible rankings of a sample for ``method="exact"``: a million comparisons per pair."""

ROWS = 1024
"""Most rankings of rows, and of columns, that are compared at a time, unless one sample has more."""

VALUES = 2**20
"""Most ranks of rows, and of columns, in memory at a time, unless one sample has more."""


@dataclass(frozen=True)
class PartialMallows(PartialKernel):
    """k(R, R') = mean of exp(−λ n_d(σ, σ')) over the rankings σ compatible with R and σ' with R'.

    n_d is the number of discordant pairs of items. Unlike the mean of Kendall's kernel, this one is not a sum over
    pairs of items. It is taken over all compatible rankings where they are few, else over D rankings drawn uniformly
    for each sample: D⁻² Σ_d Σ_d' exp(−λ n_d(σ_d, σ'_d')). The rankings of a sample are the same in every pair, so that
    this is an inner product of mean feature vectors, hence positive semidefinite.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 3 with equation 4.

    Parameters
    ----------
    lam
        λ ≥ 0, per discordant pair; with ``scaled=True`` per fraction of all pairs.
    kind
        Meaning of NaN, as for `PartialKendall`: ``"interleaving"``, the rank is unknown; ``"top"``, the item comes
        last.
    method
        ``"auto"``: all rankings of a sample if they are at most ``draws``, else draws. ``"exact"``: all rankings; a
        sample with more than 1,000 is refused. ``"monte-carlo"``: draws.
    draws
        D ≥ 2, number of rankings drawn per sample.
    seed
        Seed of the draws, 0 to 2⁶⁴ − 1. The draws of a sample depend on the seed and on its ranking only, not on the
        cohort, its order or tiles.
    scaled
        Whether n_d is divided by C(n, 2).

    Raises
    ------
    InputError
        If a parameter is out of range, or `Rankings` of kind interleaving are given to a kernel of kind top.
    SampleError
        Under ``method="exact"``, if a sample has too many compatible rankings; the message names it.

    See Also
    --------
    Mallows : Total rankings.
    PartialKendall : The same mean of Kendall's kernel.
    Convolution : The same mean of any kernel.

    Notes
    -----
    Samples are rows (m, n), larger = preferred, ±infinity included; ties are broken at random, with equal
    probabilities. A sample with k observed items has n! / k! compatible rankings (interleaving) or (n − k)! (top),
    times g! for each group of g tied items. A pair takes D² comparisons of two total rankings, O(D² n); the draws,
    repeated for each part of a tile, take little time in comparison. `standard_error` estimates the error of an entry.
    The estimate of k(R, R) also pairs each draw with itself, so that it is too large by (1 − k) / D on average; no
    positive semidefinite estimate avoids it.

    Examples
    --------
    >>> PartialMallows(lam=1.0, kind="top")([[3, np.nan, np.nan]], [[3, 2, 1]])  # (1 + exp(-1)) / 2
    array([[0.68393972]])
    """

    name: ClassVar[str] = "partial-mallows"
    lam: float = 1.0
    kind: Unobserved = "interleaving"
    method: Literal["auto", "exact", "monte-carlo"] = "auto"
    draws: int = 128
    seed: int = 0
    scaled: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.lam, "lam")
        check_whole(self.draws, "draws", 2)
        check_whole(self.seed, "seed", 0, 2**64 - 1)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Sort the observed items of each sample, count its compatible rankings, and key its random stream."""
        arrays = dict(super().prepare(X, start).arrays)
        arrays["members"], arrays["whole"] = self.counted(arrays)
        arrays["keys"] = sample_keys(self.seed, dense_digests(_canonical(arrays)))
        return Prepared(arrays, start)

    def counted(self, arrays: Mapping[str, Array]) -> tuple[Array, Array]:
        """Number of rankings that represent each sample, and whether they are all compatible rankings."""
        limit = EXACT_LIMIT if self.method == "exact" else self.draws
        members = np.empty(len(arrays["observed"]), dtype=np.int64)
        count_extensions(arrays["balance"], arrays["observed"], arrays["last"], limit, members)
        whole = (members <= limit) & (self.method != "monte-carlo")
        return np.where(whole, members, self.draws), whole.astype(np.uint8)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples of one feature; for the exact mean also those with too many compatible rankings."""
        super().check(X, ids, features)
        if self.method == "exact":
            whole = self.prepare(X).arrays["whole"]
            if not whole.all():
                row = int(np.flatnonzero(whole == 0)[0])
                raise SampleError(
                    f"sample {name_of(row, ids)} has more than {EXACT_LIMIT:,} compatible rankings, too many for "
                    'method="exact": use method="auto" or "monte-carlo"',
                    row,
                )

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return self._means(A, B)[0]

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        singles = (A.take(slice(i, i + 1)) for i in range(len(A)))
        return np.array([self._means(single, single)[0][0, 0] for single in singles])

    def standard_error(self, X: Any, Y: Any = None) -> Floats:
        """Standard error of each entry of ``kernel(X, Y)`` that is due to the draws; 0 where all rankings are used.

        Examples
        --------
        >>> kernel = PartialMallows(lam=0.1, draws=50)
        >>> kernel.standard_error([[1, 2, 3, 4, 5], [1, np.nan, np.nan, np.nan, 2]]).round(2)
        array([[0.  , 0.01],
               [0.01, 0.01]])
        """
        rows = as_source(self._by_kind(X))
        A = self.prepare(check_source(self, rows))
        return self._means(A, A if Y is None else self.prepare(check_source(self, as_source(self._by_kind(Y)))))[1]

    def compatible(self, X: Any) -> list[Array]:
        """Rankings that represent each sample, all or drawn: arrays (members, n) of ranks, n − 1 = most preferred.

        Examples
        --------
        >>> PartialMallows(kind="top").compatible([[9, np.nan, np.nan]])[0].tolist()
        [[2, 0, 1], [2, 1, 0]]
        """
        A = self.prepare(check_source(self, as_source(self._by_kind(X))))
        rankings, borders = extended(A)
        return np.split(rankings.arrays["codes"], borders[1:-1])

    def _means(self, A: Prepared, B: Prepared) -> tuple[Floats, Floats]:
        A.refuse_unlike(B)
        means, errors = np.empty((len(A), len(B))), np.empty((len(A), len(B)))
        pairs = total_pairs(A)
        lam = self.lam / pairs if self.scaled else float(self.lam)
        for rows in _parts(A):
            for cols in _parts(B):
                if A is B and cols.start < rows.start:
                    means[rows, cols], errors[rows, cols] = means[cols, rows].T, errors[cols, rows].T
                    continue
                part_a, part_b = A.take(rows), B.take(cols)
                (left, borders_a), (right, borders_b) = extended(part_a), extended(part_b)
                S, _ = concordance(left, right)
                a, b = part_a.arrays, part_b.arrays
                sides = (borders_a, borders_b, a["keys"], b["keys"], a["whole"], b["whole"])
                means_tile(S, *sides, lam, pairs, means[rows, cols], errors[rows, cols])
        return means, errors


@is_valid.register
def _(kernel: PartialMallows, A: Prepared) -> bool:
    """Whether order and balance are those of partial rankings, and the numbers of compatible rankings are right."""
    if not valid_partial_rankings(kernel, A):
        return False
    members, whole = kernel.counted(A.arrays)
    return np.array_equal(members, A.arrays["members"]) and np.array_equal(whole, A.arrays["whole"])


@bytes_per_tile.register
def _(kernel: PartialMallows, a: int, b: int, n: int) -> int:
    """Bytes of the means and errors, of the comparisons of a part of the tile, and of its rankings."""
    rankings = max(ROWS, EXACT_LIMIT if kernel.method == "exact" else kernel.draws)
    return 16 * a * b + 64 * VALUES + counting.bytes_needed(rankings, rankings, n)


def _parts(A: Prepared) -> Iterator[slice]:
    """Cut the samples into runs with a bounded number of rankings, at least one sample each."""
    most = min(ROWS, VALUES // A.arrays["order"].shape[1])
    start, total = 0, 0
    for row, members in enumerate(A.arrays["members"]):
        if row > start and total + members > most:
            yield slice(start, row)
            start, total = row, 0
        total += members
    yield slice(start, len(A))


def extended(A: Prepared) -> tuple[Prepared, Array]:
    """Rankings of all samples as one prepared block of total rankings, and the position of the first of each sample."""
    arrays = A.arrays
    borders = np.concatenate(([0], np.cumsum(arrays["members"]))).astype(np.int64)
    shape, kind = (int(borders[-1]), arrays["order"].shape[1]), arrays["order"].dtype
    order, codes = np.empty(shape, dtype=kind), np.empty(shape, dtype=kind)
    extend_rows(*arranged(A), arrays["keys"], arrays["whole"], borders, order, codes)
    untied = np.full(shape[0], total_pairs(A), dtype=np.int64)
    ranked = {"order": order, "codes": codes, "tied": np.zeros(shape, dtype=np.uint8), "untied": untied}
    return Prepared(ranked), borders


def _canonical(arrays: dict[str, Array]) -> Floats:
    """Values that are equal for equal rankings, whatever their scale and their kind of container."""
    order, balance = arrays["order"], arrays["balance"].astype(float)
    places = np.arange(order.shape[1])
    unobserved = np.where(arrays["last"] == 1, -np.inf, np.nan)[:, None]
    values = np.empty(order.shape)
    observed = places < arrays["observed"][:, None]
    np.put_along_axis(values, order.astype(np.intp), np.where(observed, balance, unobserved), axis=1)
    return values
