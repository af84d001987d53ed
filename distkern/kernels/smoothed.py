"""The Kendall kernel smoothed over noise in the values: exactly, or by Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from distkern.compiled import concordance as counting
from distkern.compiled.inversions import rank
from distkern.compiled.panels import STEP
from distkern.compiled.products import mirror_upper
from distkern.compiled.smoothed import (
    TINY,
    Signs,
    feature_products,
    feature_squares,
    gaussian_signs,
    laplace_pair_signs,
    laplace_signs,
    product_bytes,
    scaled_differences,
    uniform_pair_signs,
    uniform_signs,
)
from distkern.core.errors import InputError
from distkern.core.random import sample_keys, uniforms
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, refuse_infinite, refuse_nan, refuse_single_feature
from distkern.io.digests import dense_digests
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.kendall import Kendall, concordance
from distkern.kernels.parameters import check_number, check_whole, plain_value
from distkern.kernels.planning import bytes_per_tile
from distkern.kernels.trust import is_valid

COPIES = "copies."
"""Prefix of the arrays that the Kendall kernel prepared from the jittered copies."""


@dataclass(frozen=True)
class SmoothedKendall(Kernel):
    """k(x, y) = ⟨Ψ(x), Ψ(y)⟩ with Ψ(x)_ij = E sgn(x_i + ε_i − x_j − ε_j) / sqrt(C(n, 2)), i < j.

    The Kendall kernel depends on the sign of x_i − x_j only, and jumps where two values cross. Here independent noise
    ε_i is added to each value, and the sign is replaced by its expectation. With t = x_i − x_j the expected sign is odd
    in t, and for t ≥ 0 it is,

    - uniform noise on [−a/2, a/2], a = ``window``: 2u − u² with u = min(t/a, 1);
    - Gaussian noise of standard deviation s = ``window``: erf(t / (2 s));
    - Laplace noise of scale b = ``window`` (standard deviation b √2): 1 − (1 + t/(2b)) exp(−t/b).

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, equations 9 to 13 and Theorem 3 (uniform
    noise); the other noises, and windows that differ from item to item, follow from equation 9.

    Parameters
    ----------
    window
        Size of the noise, in the unit of the values, 0 or more: one number, or one per feature (n,), where some
        features are measured less precisely than others. A pair of features with two windows has: uniform, a ≥ b,
        (2 min(t, (a+b)/2) − w²/b) / a with w = t − (a−b)/2 clipped to [0, b]; Gaussian erf(t / sqrt(2 (s_i² + s_j²)));
        Laplace 1 − (b² exp(−t/b) − c² exp(−t/c)) / (b² − c²). With ``window=0`` it is ``Kendall(ties="zero")``. For a
        window per sample, divide each sample by its own and leave ``window=1``: that is the same kernel.
    method
        ``"exact"``, or ``"monte-carlo"``: (1/D²) Σ_p Σ_q K(x + ε_p, y + ε'_q) over D jittered copies of each sample,
        K the Kendall kernel.
    noise
        ``"uniform"``, ``"gaussian"`` or ``"laplace"``.
    draws
        D, number of copies for Monte Carlo; see `draws_for`.
    seed
        Seed for Monte Carlo. The noise is a function of the seed, the values of the sample and the number of the draw:
        a sample has the same copies in any tile, on any worker, in training and in prediction, and equal samples have
        equal copies.
    bias
        For Monte Carlo, the estimate of k(x, x), where both samples have the same copies. ``"paper"``: the mean over
        all D² pairs, with E k(x, x) = G + (1 − G) / D for the exact value G (without ties); positive semidefinite.
        ``"none"``: the mean over p ≠ q, with E k(x, x) = G; the matrix need not be positive
        semidefinite, and learners refuse one that is not.

    Raises
    ------
    SampleError
        If a sample holds NaN or an infinite value; the message names it.
    InputError
        If a parameter is out of its range, or the number of windows is not that of the features.

    See Also
    --------
    Kendall : Without noise.
    draws_for : Number of noisy copies for a given error.
    WeightedKendall : Pairs weighted by rank.

    Notes
    -----
    Samples are rows (m, n) of finite values. Values lie in [−1, 1] and have no unit. Exact: n²/2 multiplications per
    pair of samples, at the speed of matrix products, and n²/2 expected signs per sample and tile, in blocks of 128
    pairs of features. Expected signs have an error of at most 1e-15. Monte Carlo: O(D² n log n) per pair, O(D n log n)
    per sample, and 5 D n bytes of prepared data up to n = 65,536.

    Examples
    --------
    >>> SmoothedKendall(window=1.0)([[0.0, 0.5]], [[0.0, 2.0]])
    array([[0.75]])
    """

    name: ClassVar[str] = "smoothed-kendall"
    window: float | tuple[float, ...]
    method: Literal["exact", "monte-carlo"] = "exact"
    noise: Literal["uniform", "gaussian", "laplace"] = "uniform"
    draws: int = 20
    seed: int = 0
    bias: Literal["paper", "none"] = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        for window in self.window if isinstance(self.window, tuple) else (self.window,):
            check_number(window, "window")
        check_whole(self.draws, f'with bias="{self.bias}" draws', 2 if self.bias == "none" else 1)
        check_whole(self.seed, "seed", 1 - 2**63, 2**63 - 1)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing or infinite values, and windows that are not one per feature."""
        refuse_single_feature(X)
        refuse_nan(X, ids, features)
        refuse_infinite(X, ids, features)
        self._widths(X.shape[1])

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Exact: the values and Σ Ψ². Monte Carlo: D jittered copies, sorted and ranked, and their own concordance."""
        values = np.ascontiguousarray(X, dtype=np.float64)
        if self.method == "monte-carlo":
            return self._prepared_copies(values, start)
        if self.window == 0:  # ranks differ by one at least, however close the values
            values = rank(values)[1].astype(np.float64)
        return Prepared(
            {"values": values, "squares": feature_squares(values, self.expected_signs(values.shape[1]))}, start
        )

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        A.refuse_unlike(B)
        if self.method == "monte-carlo":
            return self._mean_over_copies(A, B)
        x, y = A.arrays["values"], None if A is B else B.arrays["values"]
        values = feature_products(x, y, self.expected_signs(x.shape[1]))
        values /= math.comb(x.shape[1], 2)
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """‖Ψ(x)‖² of each prepared sample, or its Monte Carlo estimate."""
        if self.method == "exact":
            return A.arrays["squares"] / math.comb(A.arrays["values"].shape[1], 2)
        pairs = math.comb(A.arrays[f"{COPIES}order"].shape[2], 2)
        if self.bias == "paper":
            return A.arrays["all"] / (pairs * self.draws**2)
        return (A.arrays["all"] - A.arrays["own"]) / (pairs * self.draws * (self.draws - 1))

    # Expected signs ------------------------------------------------------------------------------------------

    def _widths(self, n: int) -> float | Floats:
        """The window, or that of each feature."""
        if not isinstance(self.window, tuple):
            return self.window
        if len(self.window) != n:
            raise InputError(f"window has {len(self.window)} numbers for {n} features: give one number, or one each")
        return np.array(self.window)

    def expected_signs(self, n: int) -> Signs:
        """Expected signs of pairs of ``n`` features."""
        widths = self._widths(n)
        return _one_window(self.noise, widths) if isinstance(widths, float | int) else _window_each(self.noise, widths)

    # Monte Carlo ---------------------------------------------------------------------------------------------

    def _prepared_copies(self, values: Floats, start: int) -> Prepared:
        widths = self._widths(values.shape[1])
        digests = dense_digests(values)
        arrays: dict[str, list[Array]] = {}
        totals = np.empty((2, len(values)), dtype=np.int64)
        for row, key in enumerate(sample_keys(int(self.seed), digests)):
            jitters = np.stack([_unit_noise(self.noise, key, draw, values.shape[1]) for draw in range(self.draws)])
            copies = Kendall().prepare(values[row] + widths * jitters)
            counts, _ = concordance(copies, copies)
            totals[:, row] = counts.sum(), np.trace(counts)
            for name, array in copies.arrays.items():
                arrays.setdefault(f"{COPIES}{name}", []).append(array)
        content = digests.view(np.uint64)  # to find equal samples, which have equal copies
        stacked = {name: np.stack(of_each) for name, of_each in arrays.items()}
        return Prepared(stacked | {"all": totals[0], "own": totals[1], "content": content}, start)

    def _mean_over_copies(self, A: Prepared, B: Prepared) -> Floats:
        rows = A.under(COPIES)
        cols = rows if A is B else B.under(COPIES)
        totals = np.zeros((len(A), len(B)))  # sums of integers, exact below 2⁵³
        for i in range(len(A)):
            first = i + 1 if A is B else 0
            if first == len(B):
                break
            own = Prepared({name: array[i] for name, array in rows.arrays.items()})
            others = Prepared({name: _flat(array[first:]) for name, array in cols.arrays.items()})
            counts, _ = concordance(own, others)
            totals[i, first:] = counts.reshape(self.draws, len(B) - first, self.draws).sum(axis=(0, 2))
        values = totals / (math.comb(rows.arrays["order"].shape[2], 2) * self.draws**2)
        if self.bias == "none":
            same = (A.arrays["content"][:, None, 0] == B.arrays["content"][:, 0]) & (
                A.arrays["content"][:, None, 1] == B.arrays["content"][:, 1]
            )
            twins, _ = np.nonzero(same)
            values[same] = self.diagonal(A)[twins]
        if A is B:
            np.fill_diagonal(mirror_upper(values), self.diagonal(A))
        return values


@is_valid.register
def _(kernel: SmoothedKendall, A: Prepared) -> bool:
    """Whether the values are finite, or the copies are valid rankings."""
    if kernel.method == "exact":
        return bool(np.isfinite(A.arrays["values"]).all())
    return is_valid(Kendall(), Prepared({name: _flat(array) for name, array in A.under(COPIES).arrays.items()}))


@bytes_per_tile.register
def _(kernel: SmoothedKendall, a: int, b: int, n: int) -> int:
    """Bytes of the blocks of Ψ and their products; of Monte Carlo, of one sample's D × bD concordances."""
    if kernel.method == "exact":
        return product_bytes(a, b, n)
    return 8 * a * b + counting.bytes_needed(kernel.draws, kernel.draws * b, n)


def draws_for(m: int, lam: float, delta: float = 0.05, epsilon: float | None = None) -> int:
    """D = ⌈8 (2 + sqrt(8 log(m / δ)))² / (λ ε²)⌉: number of copies per sample that Theorem 3 requires.

    With D copies per sample the support vector machine trained on the Monte Carlo kernel comes, with probability above
    1 − δ, within sqrt(8 / (λ D)) (2 + sqrt(8 log(m / δ))) of the least objective λ/2 ‖w‖² + mean hinge loss of the
    exact smoothed kernel. The bound is a worst case with large constants: far fewer copies often suffice.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, Theorem 3, solved for D. It holds for
    the positive semidefinite estimator, ``bias="paper"``.

    Parameters
    ----------
    m
        Number of training samples.
    lam
        λ > 0. A machine with penalty C on the sum of the losses has λ = 1 / (C m).
    delta
        δ, the probability of missing the bound, above 0 and at most 1.
    epsilon
        ε > 0, distance from the least objective. By default 1 / sqrt(m), which suffices for the best statistical
        accuracy according to the paper (after Bottou & Bousquet, 2008).

    Raises
    ------
    InputError
        If a number is out of its range.

    See Also
    --------
    SmoothedKendall : The kernel.

    Examples
    --------
    >>> draws_for(100, lam=0.1, delta=0.05, epsilon=0.5)
    30720
    """
    m, lam, delta = plain_value("m", m, int), plain_value("lam", lam, float), plain_value("delta", delta, float)
    check_whole(m, "m", most=2**62)
    error = 1 / math.sqrt(m) if epsilon is None else plain_value("epsilon", epsilon, float)
    check_number(lam, "lam", "more than 0")
    check_number(error, "epsilon", "more than 0")
    if not 0 < delta <= 1:
        raise InputError(f"delta must be a probability above 0, not {delta!r}")
    return math.ceil(8 * (2 + math.sqrt(8 * math.log(m / delta))) ** 2 / (lam * error**2))


def _one_window(noise: str, window: float) -> Signs:
    """Expected signs where all features have the same window."""
    scale = np.full(STEP, (0.5 if noise == "gaussian" else 1.0) / max(window, TINY))
    replace = {"uniform": uniform_signs, "gaussian": gaussian_signs, "laplace": laplace_signs}[noise]
    return lambda first, second: _filled(first, second, scale, replace)


def _window_each(noise: str, widths: Floats) -> Signs:
    """Expected signs where each feature has its own window."""

    def signs(first: Array, second: Array) -> Callable[[Floats, Floats], None]:
        one, other = widths[first], widths[second]
        if noise == "gaussian":
            return _filled(first, second, math.sqrt(0.5) / np.maximum(np.hypot(one, other), TINY), gaussian_signs)
        wide = np.maximum(np.maximum(one, other), TINY)
        ratio = np.maximum(np.minimum(one, other) / wide, TINY)
        if noise == "uniform":
            return _filled(first, second, 1 / wide, uniform_pair_signs, ratio, 1 / ratio)
        return _filled(first, second, 1 / wide, laplace_pair_signs, (1 - ratio) / ratio, ratio / (1 + ratio))

    return signs


def _filled(
    first: Array, second: Array, scale: Floats, replace: Callable[..., None], *parameters: Floats
) -> Callable[[Floats, Floats], None]:
    """Make the function that scales the differences of a block of pairs and replaces them by expected signs."""

    def fill(X: Floats, out: Floats) -> None:
        scaled_differences(X, first, second, scale, out)
        replace(out, *parameters)

    return fill


def _unit_noise(noise: str, key: Array, draw: int, n: int) -> Floats:
    """Noise of window 1 for the n values of a sample, from the same uniform numbers for every window and noise."""
    u = uniforms(key, draw, n)
    if noise == "uniform":
        return u - 0.5
    u = np.clip(u, 2.0**-54, None)
    if noise == "laplace":
        return np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
    from scipy.special import ndtri  # here, so that a worker that computes tiles need not load it

    return ndtri(u)


def _flat(array: Array) -> Array:
    """Copies of all samples, concatenated."""
    return array.reshape(-1, *array.shape[2:])
