"""Inner products of smoothed sign vectors, computed in blocks of feature pairs.

A smoothed sign vector Ψ has one entry for each of the n(n−1)/2 pairs of features, and is never stored as a whole. For
each block of pairs, the entries of all samples of a tile are computed and multiplied in micro-blocks of a fixed shape
(see `distkern.compiled.products`). The blocks depend only on n, so a kernel value has the same bits in any tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from distkern.compiled.products import SIDE, mirror_upper, padded_rows, row_squares
from distkern.core.blas import one_blas_thread
from distkern.core.jit import compiled
from distkern.core.typing import Floats

STEP = 1024
"""Pairs of features in a block."""

TAYLOR = 8
"""Number of coefficients of a Taylor polynomial."""

U1, U2, U3, U4, U5, U6, U7 = (np.uint32(place) for place in range(1, TAYLOR))

TINY = 2.0**-500
"""Lower bound of a width, so that its reciprocal does not overflow."""


class PairBlock(NamedTuple):
    """``size`` consecutive pairs of features from (``first``, ``second``), in the order (0, 1), …, (1, 2), …."""

    first: int
    second: int
    size: int

    def items(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """First and second feature of each pair, of ``n`` features.

        Examples
        --------
        >>> [features.tolist() for features in PairBlock(0, 2, 3).items(4)]
        [[0, 0, 1], [2, 3, 2]]
        """
        left, right = np.empty((2, self.size), dtype=np.intp)
        filled, i, j = 0, self.first, self.second
        while filled < self.size:
            run = min(n - j, self.size - filled)
            left[filled : filled + run] = i
            right[filled : filled + run] = np.arange(j, j + run)
            filled, i, j = filled + run, i + 1, i + 2
        return left, right


Signs = Callable[[Floats, PairBlock], None]
"""Replaces the differences x_i − x_j (rows, pairs) of a block of pairs by expected signs, in place."""


def pair_blocks(n: int) -> Iterator[PairBlock]:
    """Cut the pairs of ``n`` features into blocks of `STEP` pairs.

    Examples
    --------
    >>> list(pair_blocks(46))
    [PairBlock(first=0, second=1, size=1024), PairBlock(first=40, second=45, size=11)]
    """
    left, i, j = n * (n - 1) // 2, 0, 1
    while left > 0:
        count = min(STEP, left)
        yield PairBlock(i, j, count)
        left -= count
        while count > 0:
            run = min(n - j, count)
            count, j = count - run, j + run
            if j == n:
                i, j = i + 1, i + 2


@compiled
def fill_differences(X, first, second, out):  # type: ignore[no-untyped-def]
    """Fill x_i − x_j (m, pairs) for each row x of ``X`` (m, n) and each pair from (first, second) on."""
    n, count = X.shape[1], out.shape[1]
    for row in range(X.shape[0]):
        filled, i, j = 0, first, second
        while filled < count:
            run = min(n - j, count - filled)
            value = X[row, i]
            others, differences = X[row, j : j + run], out[row, filled : filled + run]
            for k in range(run):
                differences[k] = value - others[k]
            filled += run
            i += 1
            j = i + 1


@compiled
def uniform_signs(T, inverse):  # type: ignore[no-untyped-def]
    """Replace t by u (2 − |u|), u = t / a clipped to [−1, 1], where ``inverse`` = 1 / a."""
    for row in range(T.shape[0]):
        values = T[row]
        for k in range(values.shape[0]):
            u = min(max(values[k] * inverse, -1.0), 1.0)  # branch-free, so that it vectorises
            values[k] = u * (2.0 - abs(u))


@compiled
def uniform_pair_signs(T, wide, narrow, inverse_wide, inverse_narrow):  # type: ignore[no-untyped-def]
    """Replace t by its expected sign after two uniform jitters, with widths a ≥ b for each pair.

    The difference of the jitters has a trapezoidal density, constant up to q = (a − b) / 2 and zero from p = (a + b) /
    2. The expected sign is (2 min(|t|, p) − w² / b) / a with w = |t| − q clipped to [0, b].
    """
    for row in range(T.shape[0]):
        values = T[row]
        for k in range(values.shape[0]):
            u = abs(values[k])
            w = min(max(u - 0.5 * (wide[k] - narrow[k]), 0.0), narrow[k])
            reach = 2.0 * min(u, 0.5 * (wide[k] + narrow[k]))
            values[k] = math.copysign((reach - w * w * inverse_narrow[k]) * inverse_wide[k], values[k])


@compiled
def tabulated_signs(T, inverse, table, density):  # type: ignore[no-untyped-def]
    """Replace t by sgn(t) f(|t| ``inverse``) for each pair, with the Taylor polynomial of f about the nearest node.

    Coefficients r `TAYLOR` to r `TAYLOR` + 7 of ``table`` belong to the node r / ``density``; f is 1 after the last
    node. Only the middle loop reads the table, so that the other loops vectorise.
    """
    count, width = T.shape[1], 1.0 / density
    last = (table.shape[0] // TAYLOR - 1) * width
    offsets, nodes, inverse = np.empty(count), np.empty(count, dtype=np.int32), inverse[:count]
    for row in range(T.shape[0]):
        values = T[row]
        for k in range(count):
            v = min(abs(values[k]) * inverse[k], last)
            node = np.int32(v * density + 0.5)
            nodes[k] = node
            offsets[k] = v - np.float64(node) * width
        for k in range(count):
            d = offsets[k]
            c = np.uint32(nodes[k]) * np.uint32(TAYLOR)  # unsigned, which avoids the check for negative indices
            low = table[c] + d * (table[c + U1] + d * (table[c + U2] + d * table[c + U3]))
            high = table[c + U4] + d * (table[c + U5] + d * (table[c + U6] + d * table[c + U7]))
            offsets[k] = low + (d * d) * (d * d) * high
        for k in range(count):
            values[k] = math.copysign(offsets[k], values[k])


@compiled
def laplace_pair_signs(T, inverse_wide, ratio, slope):  # type: ignore[no-untyped-def]
    """Replace t by its expected sign after two Laplace jitters, with scales b ≥ c for each pair.

    With v = |t| / b, ρ = c / b (``ratio``) and δ = v (1 − ρ) / ρ (v times ``slope``), the expected sign is
    1 − e^(−v) (1 + ρ v (1 − e^(−δ)) / (δ (1 + ρ))). This equals the textbook form with
    (b² e^(−t/b) − c² e^(−t/c)) / (b² − c²), without its cancellation at b = c.
    """
    for row in range(T.shape[0]):
        values = T[row]
        for k in range(values.shape[0]):
            v = min(abs(values[k]) * inverse_wide[k], LAPLACE_END)
            delta = v * slope[k]
            phi = -math.expm1(-delta) / delta if delta > 0.0 else 1.0
            both = ratio[k] * v * phi / (1.0 + ratio[k])
            values[k] = math.copysign(1.0 - math.exp(-v) * (1.0 + both), values[k])


# Tables ------------------------------------------------------------------------------------------------------------

GAUSSIAN_END, GAUSSIAN_DENSITY = 6, 32.0
LAPLACE_END, LAPLACE_DENSITY = 48, 16.0


@lru_cache(maxsize=1)
def gaussian_table() -> Floats:
    """Taylor coefficients of erf(v) about the nodes 0, 1/32, …, 6.

    The k-th derivative of erf is (−1)^(k−1) H_(k−1)(v) 2 e^(−v²) / √π, with the Hermite polynomials H.
    """
    nodes = np.arange(int(GAUSSIAN_END * GAUSSIAN_DENSITY) + 1) / GAUSSIAN_DENSITY
    table = np.empty((len(nodes), TAYLOR))
    table[:, 0] = [math.erf(node) for node in nodes]
    before, hermite = np.zeros_like(nodes), np.ones_like(nodes)
    for k in range(1, TAYLOR):
        sign = (-1) ** (k - 1)
        table[:, k] = sign * hermite * 2 * np.exp(-(nodes**2)) / (math.sqrt(math.pi) * math.factorial(k))
        before, hermite = hermite, 2 * nodes * hermite - 2 * (k - 1) * before
    return table.ravel()


@lru_cache(maxsize=1)
def laplace_table() -> Floats:
    """Taylor coefficients of 1 − (1 + v/2) e^(−v) about the nodes 0, 1/16, …, 48."""
    nodes = np.arange(int(LAPLACE_END * LAPLACE_DENSITY) + 1) / LAPLACE_DENSITY
    table = np.empty((len(nodes), TAYLOR))
    for k in range(TAYLOR):
        table[:, k] = -((-1) ** k) * np.exp(-nodes) * (1 + (nodes - k) / 2) / math.factorial(k)
    table[:, 0] += 1
    return table.ravel()


# Products ----------------------------------------------------------------------------------------------------------


def feature_squares(X: Floats, signs: Signs) -> Floats:
    """Σ_pairs Ψ(x)² for every row x of ``X`` (m, n), (m,)."""
    n = X.shape[1]
    total, buffer = np.zeros(len(X)), np.empty((SIDE, STEP))
    for start in range(0, len(X), SIDE):
        rows = X[start : start + SIDE]
        for block in pair_blocks(n):
            features = buffer[: len(rows), : block.size]
            fill_differences(rows, block.first, block.second, features)
            signs(features, block)
            total[start : start + SIDE] += row_squares(features)
    return total


def feature_products(A: Floats, B: Floats | None, signs: Signs, start_a: int = 0, start_b: int = 0) -> Floats:
    """Σ_pairs Ψ(x) Ψ(y) for every row x of A (a, n) and every row y of B (b, n), or of A if B is None.

    Parameters
    ----------
    A, B
        Samples in rows, C-contiguous float64.
    signs
        Function that replaces differences by expected signs.
    start_a, start_b
        Number of the first sample of each block in its cohort; it determines the position of a sample in its
        micro-block.

    Examples
    --------
    >>> feature_products(np.array([[3.0, 1.0, 1.5]]), None, lambda T, block: uniform_signs(T, 1.0))
    array([[2.5625]])
    """
    height, width = padded_rows(len(A), start_a), padded_rows(len(A if B is None else B), start_b)
    offset_a, offset_b = start_a % SIDE, start_b % SIDE
    left = np.zeros((height, STEP))
    right = left if B is None else np.zeros((width, STEP))
    total, part = np.zeros((height, width)), np.empty((SIDE, SIDE))
    with one_blas_thread():
        for block in pair_blocks(A.shape[1]):
            _fill(A, signs, block, left[offset_a : offset_a + len(A), : block.size])
            if B is not None:
                _fill(B, signs, block, right[offset_b : offset_b + len(B), : block.size])
            for i in range(0, height, SIDE):
                rows = left[i : i + SIDE, : block.size]
                for j in range(i if B is None else 0, width, SIDE):
                    cols = right[j : j + SIDE, : block.size]
                    # a copy, because NumPy uses another BLAS routine for the product of an array with its own transpose
                    np.matmul(rows, (cols.copy() if B is None and i == j else cols).T, out=part)
                    total[i : i + SIDE, j : j + SIDE] += part
    if B is None:
        return mirror_upper(np.ascontiguousarray(total[offset_a : offset_a + len(A), offset_a : offset_a + len(A)]))
    return np.ascontiguousarray(total[offset_a : offset_a + len(A), offset_b : offset_b + len(B)])


def _fill(X: Floats, signs: Signs, block: PairBlock, out: Floats) -> None:
    fill_differences(X, block.first, block.second, out)
    signs(out, block)


def product_bytes(a: int, b: int) -> int:
    """Bytes of `feature_products`: padded product, two blocks of Ψ, the result and its trimmed copy."""
    return 8 * (a + 128) * (b + 128) + 8 * STEP * (a + b + 256) + 32 * a * b + 2**17
