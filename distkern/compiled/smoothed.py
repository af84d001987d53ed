"""Inner products of smoothed sign vectors, computed in blocks of feature pairs.

A smoothed sign vector Ψ has one entry for each of the n(n−1)/2 pairs of features, and is never stored as a whole. For
each block of `STEP` pairs, the entries of all samples of a tile are computed and multiplied (see
`distkern.compiled.panels`). The blocks depend only on n, so a kernel value has the same bits in any tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from distkern.compiled.elementary import erf, falling
from distkern.compiled.panels import STEP, WIDTH, add_products, add_squares, empty_panels, panel_count, panels
from distkern.compiled.products import mirror_upper
from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats

TINY = 2.0**-500
"""Lower bound of a width, so that its reciprocal does not overflow."""

LAPLACE_END = 48.0
"""The expected sign after Laplace jitters rounds to 1 from this difference on, in units of their scale."""

AHEAD = 16
"""Blocks of pairs that are listed at a time."""

GROUP = 128
"""Samples whose norms are computed at a time."""

Signs = Callable[[Array, Array], Callable[[Floats, Floats], None]]
"""Makes, for a block of pairs (i, j), the function that takes panels of samples x and fills the expected signs of
x_i − x_j (panels, `STEP`, 16)."""


def pair_blocks(n: int) -> Iterator[tuple[Array, Array]]:
    """Cut the pairs (0, 1), …, (0, n − 1), (1, 2), … of ``n`` features into blocks of `STEP`: first, second features.

    The last block is filled up with pairs (0, 0). Their expected sign is 0.

    Examples
    --------
    >>> [(first[:4].tolist(), second[:4].tolist()) for first, second in pair_blocks(3)]
    [([0, 0, 1, 0], [1, 2, 2, 0])]
    """
    features = np.arange(n)
    before = features * (2 * n - 1 - features) // 2  # pairs of all smaller features
    for begin in range(0, int(before[-1]), AHEAD * STEP):
        number = np.arange(begin, min(begin + AHEAD * STEP, -(-before[-1] // STEP) * STEP))
        first = np.searchsorted(before, number, side="right") - 1
        second = number - before[first] + first + 1
        is_pair = second < n
        yield from zip((first * is_pair).reshape(-1, STEP), (second * is_pair).reshape(-1, STEP), strict=True)


# Expected signs ------------------------------------------------------------------------------------------------------


@compiled
def scaled_differences(X, first, second, scale, out):  # type: ignore[no-untyped-def]
    """Fill (x_i − x_j) s for each sample of panels ``X`` and each pair (i, j), with the factor s of the pair."""
    for panel in range(out.shape[0]):
        for k in range(STEP):
            i, j = np.uint64(first[k]), np.uint64(second[k])  # unsigned, which avoids the check for negative indices
            factor = scale[k]
            for lane in range(WIDTH):
                out[panel, k, lane] = (X[panel, i, lane] - X[panel, j, lane]) * factor


@compiled
def uniform_signs(T):  # type: ignore[no-untyped-def]
    """Replace t, in units of the window, by u (2 − |u|) with u = t clipped to [−1, 1]."""
    values = T.reshape(-1)
    for k in range(values.shape[0]):
        u = min(max(values[k], -1.0), 1.0)  # branch-free, so that it vectorises
        values[k] = u * (2.0 - abs(u))


@compiled
def gaussian_signs(T):  # type: ignore[no-untyped-def]
    """Replace t by erf(t)."""
    values = T.reshape(-1)
    for k in range(values.shape[0]):
        values[k] = math.copysign(erf(abs(values[k])), values[k])


@compiled
def laplace_signs(T):  # type: ignore[no-untyped-def]
    """Replace t, in units of the scale, by sgn(t) (1 − (1 + |t| / 2) e^(−|t|))."""
    values = T.reshape(-1)
    for k in range(values.shape[0]):
        v = min(abs(values[k]), LAPLACE_END)
        gone, left = falling(v)
        values[k] = math.copysign(gone - 0.5 * v * left, values[k])


@compiled
def uniform_pair_signs(T, ratio, inverse):  # type: ignore[no-untyped-def]
    """Replace t, in units of the window a, by its expected sign after jitters with windows a ≥ b, for each pair.

    With ρ = b / a (``ratio``, ``inverse`` = 1 / ρ), the density of the difference of the jitters is a trapezium,
    constant up to (1 − ρ) / 2 and zero from (1 + ρ) / 2 on. The expected sign of t ≥ 0 is 2 min(t, (1 + ρ) / 2) − w² /
    ρ, where w = t − (1 − ρ) / 2 is clipped to [0, ρ].
    """
    for panel in range(T.shape[0]):
        for k in range(STEP):
            rho, factor = ratio[k], inverse[k]
            for lane in range(WIDTH):
                t = abs(T[panel, k, lane])
                w = min(max(t - 0.5 * (1.0 - rho), 0.0), rho)
                value = 2.0 * min(t, 0.5 * (1.0 + rho)) - w * w * factor
                T[panel, k, lane] = math.copysign(value, T[panel, k, lane])


@compiled
def laplace_pair_signs(T, slope, weight):  # type: ignore[no-untyped-def]
    """Replace t, in units of the scale b, by its expected sign after jitters with scales b ≥ c, for each pair.

    With ρ = c / b, v = |t| and δ = v (1 − ρ) / ρ (v times ``slope``), the expected sign is 1 − e^(−v) (1 + v (1 −
    e^(−δ)) / δ · ρ / (1 + ρ)), the last factor being ``weight``. This equals the textbook form with
    (b² e^(−t/b) − c² e^(−t/c)) / (b² − c²), without its cancellation at b = c.
    """
    for panel in range(T.shape[0]):
        for k in range(STEP):
            per_unit, factor = slope[k], weight[k]
            for lane in range(WIDTH):
                v = min(abs(T[panel, k, lane]), LAPLACE_END)
                gone, left = falling(v)
                delta = max(v * per_unit, TINY)
                faded, _ = falling(min(delta, LAPLACE_END))
                T[panel, k, lane] = math.copysign(gone - left * (v * faded / delta * factor), T[panel, k, lane])


# Products ------------------------------------------------------------------------------------------------------------


def feature_squares(X: Floats, signs: Signs) -> Floats:
    """Σ_pairs Ψ(x)² for every row x of ``X`` (m, n), (m,), with the bits of `feature_products`."""
    total = np.zeros(panel_count(len(X)) * WIDTH)
    for start in range(0, len(X), GROUP):
        samples = panels(X[start : start + GROUP])
        values = empty_panels(WIDTH * len(samples), STEP)
        for first, second in pair_blocks(X.shape[1]):
            signs(first, second)(samples, values)
            add_squares(values, total[start : start + GROUP])
    return total[: len(X)]


def feature_products(A: Floats, B: Floats | None, signs: Signs) -> Floats:
    """Σ_pairs Ψ(x) Ψ(y) for every row x of A (a, n) and every row y of B (b, n), or of A if B is None.

    Parameters
    ----------
    A, B
        Samples in rows, float64.
    signs
        See `Signs`.

    Examples
    --------
    >>> def signs(first, second):
    ...     def fill(X, out):
    ...         scaled_differences(X, first, second, np.ones(STEP), out)
    ...         uniform_signs(out)
    ...     return fill
    >>> feature_products(np.array([[3.0, 1.0, 1.5]]), None, signs)
    array([[2.5625]])
    """
    rows, cols = panels(A), None if B is None else panels(B)
    left = empty_panels(len(A), STEP)
    right = left if B is None else empty_panels(len(B), STEP)
    total = np.zeros((WIDTH * len(left), WIDTH * len(right)))
    for first, second in pair_blocks(A.shape[1]):
        fill = signs(first, second)
        fill(rows, left)
        if cols is not None:
            fill(cols, right)
        add_products(left, right, cols is None, total)
    if B is None:
        return mirror_upper(np.ascontiguousarray(total[: len(A), : len(A)]))
    return np.ascontiguousarray(total[: len(A), : len(B)])


def product_bytes(a: int, b: int, n: int) -> int:
    """Bytes of `feature_products`: samples and Ψ in panels, the padded product, the result and its mirror."""
    return 8 * (a + WIDTH) * (b + WIDTH) + 8 * (n + STEP) * (a + b + 2 * WIDTH) + 32 * a * b + 2**17
