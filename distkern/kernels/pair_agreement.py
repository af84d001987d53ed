"""Agreement of two samples on chosen pairs of features."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError, ParameterTypeError, SampleError
from distkern.core.parameters import is_sequence
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names, name_of
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared, strips
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

STEP = 2**12
"""Pairs whose signs are multiplied at a time. Sums of fewer than 2²⁴ signs are exact in single precision."""

SHOWN = 3
"""Most pairs that the representation of a kernel shows."""

Pairs = tuple[tuple[int | str, int | str], ...]
"""Pairs of features, all by position or all by name."""


def pair_signs(X: Array, first: Indices, second: Indices) -> Array:
    """sgn(x_b − x_a) of each pair (a, b) in each sample, (samples, pairs) int8: +1 for x_a < x_b, −1 for x_a > x_b.

    It is 0 where the two values are equal or one of them is missing. ±infinity is a value like any other.

    Parameters
    ----------
    X
        Samples in rows, (samples, n).
    first, second
        Positions of the features a and b of each pair.

    Examples
    --------
    >>> pair_signs(np.array([[1.0, 2.0, 2.0]]), np.array([0, 1, 1]), np.array([1, 0, 2]))
    array([[ 1, -1,  0]], dtype=int8)
    """
    signs = np.empty((len(X), len(first)), dtype=np.int8)
    for rows in strips(len(X), max(1, 2 * len(first))):
        a, b = X[rows][:, first], X[rows][:, second]
        np.subtract(a < b, a > b, out=signs[rows], dtype=np.int8)
    return signs


def checked_pairs(pairs: Any) -> Pairs:
    """Validate pairs of features: all by position or all by name, and two different features in each.

    Raises
    ------
    ParameterTypeError
        If they are no list of pairs.
    InputError
        If there are none, some are names and others positions, or a pair has one feature twice.

    Examples
    --------
    >>> checked_pairs(np.array([[3, 1], [0, 2]])), checked_pairs([("ESR1", "GATA3")])
    (((3, 1), (0, 2)), (('ESR1', 'GATA3'),))
    """
    if isinstance(pairs, (str, bytes)) or not is_sequence(pairs):
        raise ParameterTypeError(f"pairs must be a list of pairs of features, not {pairs!r:.60}")
    found = tuple(_one_pair(pair, number) for number, pair in enumerate(pairs))
    if not found:
        raise InputError("pairs is empty: give one pair of features or more")
    if len({isinstance(feature, str) for pair in found for feature in pair}) > 1:
        raise InputError("pairs has names of features and positions of others: give names for all, or positions")
    return found


def _one_pair(pair: Any, number: int) -> tuple[int | str, int | str]:
    given = list(pair) if isinstance(pair, (Sequence, np.ndarray)) and not isinstance(pair, (str, bytes)) else []
    plain = [value.item() if isinstance(value, np.generic) else value for value in given]
    if len(plain) != 2 or not all(isinstance(value, (int, str)) and not isinstance(value, bool) for value in plain):
        raise ParameterTypeError(
            "pairs must be pairs of features, by position or by name, such as [('ESR1', 'GATA3')]; number "
            f"{number} is {pair!r:.60}"
        )
    if any(isinstance(value, int) and value < 0 for value in plain):
        raise InputError(f"pair number {number}, {tuple(plain)}, has a negative position: positions count from 0")
    if plain[0] == plain[1]:
        raise InputError(f"pair number {number} has the feature {plain[0]!r} twice: give two different features")
    return plain[0], plain[1]


def positions_of_pairs(pairs: Pairs, features: Names, count: int) -> Indices:
    """Positions (q, 2) of pairs among ``count`` features with these names.

    Raises
    ------
    InputError
        If a feature does not exist, its name occurs twice, or the features have no names.
    """
    if isinstance(pairs[0][0], str):
        return _positions_of_names(pairs, features)
    found = np.array(pairs, dtype=np.intp)
    beyond = np.argwhere(found >= count)
    if len(beyond):
        number = int(beyond[0, 0])
        raise InputError(
            f"pair number {number}, {tuple(pairs[number])}, has a feature beyond the last of {count}, number "
            f"{count - 1}: positions count from 0"
        )
    return found


def _positions_of_names(pairs: Pairs, features: Names) -> Indices:
    if features is None:
        raise InputError(
            f"pairs names features such as {pairs[0][0]!r}, and the samples have no names of features: give positions, "
            "or samples with names"
        )
    place: dict[Any, int] = {}
    repeated = {name for position, name in enumerate(features) if place.setdefault(name, position) != position}
    for number, pair in enumerate(pairs):
        for name in pair:
            if name not in place:
                raise InputError(
                    f"pair number {number} names the feature {name!r}, which the samples do not have"
                    f"{did_you_mean(name, place)}"
                )
            if name in repeated:
                raise InputError(f"two features are called {name!r}, which pair number {number} names: rename one")
    return np.array([[place[a], place[b]] for a, b in pairs], dtype=np.intp)


@dataclass(frozen=True, repr=False)
class PairAgreement(Kernel):
    """k(x, y) = ⟨v(x), v(y)⟩ / q, where v_p(x) = sgn(x_b − x_a) for each of q chosen pairs p = (a, b) of features.

    A pair that both samples order the same way adds 1/q, a pair that they order in opposite ways takes 1/q, and a pair
    that one of them ties adds nothing. It is an inner product of sign vectors, hence positive semidefinite. With all
    pairs of features it is `Kendall` with ``ties="zero"``.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 6, the kernel of SVMkdtTOP. The
    paper's program counts the fraction of pairs on which two samples agree, (1 + k)/2 without ties: equal after
    centring and scaling to unit norm.

    Parameters
    ----------
    pairs
        The pairs (a, b), (q, 2): positions of features from 0 on, or names. Names become positions in the first cohort.

    Raises
    ------
    SampleError
        If a sample holds NaN for a feature of a pair; the message names both.
    InputError
        If a pair has one feature twice, or a feature that the samples do not have.

    See Also
    --------
    Kendall : All pairs of features.
    KTopScoringPairs : Finds pairs, and lets them vote.
    TopPairs : The signs of the best pairs as features.

    Notes
    -----
    Samples are rows (m, n) of any real values, ±infinity included; only the order of two values counts. Values lie in
    [−1, 1] and have no unit; k(x, x) is the fraction of pairs that x does not tie. O(q) per sample and per pair of
    samples, in single precision without rounding.

    Examples
    --------
    >>> PairAgreement([(0, 1), (1, 2)])([[1, 2, 3]], [[1, 2, 3], [1, 3, 2], [2, 2, 5]])
    array([[1. , 0. , 0.5]])
    """

    name: ClassVar[str] = "pair-agreement"
    collapses: ClassVar[bool] = True
    pairs: Pairs

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pairs", checked_pairs(self.pairs))

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Replace names of features by their positions in a cohort."""
        if not self._are_names():
            return self
        source = as_source(X)
        positions = positions_of_pairs(self.pairs, source.features, source.shape[1])
        return dataclasses.replace(self, pairs=tuple(map(tuple, positions.tolist())))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples without a feature of a pair, or with a missing value for one."""
        used = np.unique(self._positions(X.shape[1]))
        lacking = np.argwhere(np.isnan(X[:, used]))
        if len(lacking):
            row, col = lacking[0].tolist()
            raise SampleError(
                "sample {sample} has no value (NaN) for feature {feature}, which a pair compares: leave the sample or "
                "the pair out, or fill the value in",
                row,
                sample=name_of(row, ids),
                feature=name_of(int(used[col]), features),
            )

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Compute v, (samples, q) int8."""
        positions = self._positions(X.shape[1])
        return Prepared({"signs": pair_signs(X, positions[:, 0], positions[:, 1])}, start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks; the sums are whole numbers, exact in any order."""
        A.refuse_unlike(B)
        values = products_of_signs(A.arrays["signs"], B.arrays["signs"])
        values /= len(self.pairs)
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """Fraction of pairs that each sample does not tie."""
        return np.count_nonzero(A.arrays["signs"], axis=1) / len(self.pairs)

    def _are_names(self) -> bool:
        return isinstance(self.pairs[0][0], str)

    def _positions(self, count: int) -> Indices:
        if self._are_names():
            raise InputError("the pairs are names of features: call resolve(X) first, with samples that have names")
        return positions_of_pairs(self.pairs, None, count)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.pairs[:SHOWN]))
        rest = f", … {len(self.pairs):,} in all" if len(self.pairs) > SHOWN else ""
        return f"PairAgreement([{shown}{rest}])"


def products_of_signs(A: Array, B: Array) -> Floats:
    """⟨v, w⟩ for all rows v of A (a, q) and w of B (b, q) of −1, 0 and 1: float64 (a, b), exact.

    Examples
    --------
    >>> products_of_signs(np.array([[1, -1]], dtype=np.int8), np.array([[1, 1], [0, -1]], dtype=np.int8))
    array([[0., 1.]])
    """
    total = np.zeros((len(A), len(B)))
    with one_blas_thread():
        for first in range(0, A.shape[1], STEP):
            part = slice(first, first + STEP)
            total += A[:, part].astype(np.float32) @ B[:, part].T.astype(np.float32)
    return total


@is_valid.register
def _(kernel: PairAgreement, A: Prepared) -> bool:
    """Whether all signs are −1, 0 or 1."""
    signs = A.arrays["signs"]
    return bool(((signs >= -1) & (signs <= 1)).all())


@bytes_per_tile.register
def _(kernel: PairAgreement, a: int, b: int, n: int) -> int:
    """Bytes of the result, of one product in single precision, and of the signs that are multiplied."""
    return 12 * a * b + 4 * (a + b) * min(STEP, len(kernel.pairs))
