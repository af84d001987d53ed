"""Sequential minimal optimisation (SMO) of the dual problems of support vector machines, in memory.

min ½ αᵀ Q α + pᵀ α subject to 0 ≤ α ≤ C and constant yᵀ α, with Q_ij = y_i y_j k_ij and y = ±1. LIBSVM changes two
variables and then updates the whole gradient. Here, a *block* of variables is selected: those that violate the
optimality conditions most, and free variables of the last block. The block is solved by pairwise steps, with pairs
selected by second-order information (Fan, Chen and Lin, "Working set selection using second order information", JMLR 6,
2005), on a copy of its kernel values that fits in the cache. The whole gradient is updated once for each block.

The kernel may be a centred and scaled view of the matrix, k_ij = (K_ij − r_i − r_j + g) / (s_i s_j), so that many views
share one matrix. ``F`` is y times the gradient. α is optimal if F of every variable that can increase (along y) is at
least F of every variable that can decrease.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats, Indices

BLOCK = 256
"""Variables in a block; its kernel values take 512 KiB."""

LOCAL = 0.2
"""A block is solved to this fraction of the largest violation of all variables, or to half the tolerance if larger."""

FLAT = 1e-12
"""Lower bound of the curvature along a pair of variables, for singular or indefinite kernels."""


@compiled
def minimize(
    K: Array,
    at: Indices,
    y: Floats,
    C: Floats,
    means: Floats,
    grand: float,
    scale: Floats,
    alpha: Floats,
    F: Floats,
    tol: float,
    max_iter: int,
    max_blocks: int,
) -> tuple[int, float]:
    """Solve a problem from the given α; α and F are updated in place.

    Parameters
    ----------
    K
        Symmetric matrix of kernel values (m, m), C order.
    at
        Row of K of each variable, (n,); rows may repeat.
    y, C
        Sign and upper bound of each variable, (n,).
    means, grand, scale
        r, g and s of the view, (n,), a number and (n,); zeros, 0 and ones for k = K.
    alpha, F
        Coefficients, and y times the gradient, (n,).
    tol
        Violation at which to stop.
    max_iter, max_blocks
        Maximum numbers of changed pairs and of blocks.

    Returns
    -------
    tuple
        Number of changed pairs, and the remaining largest violation.
    """
    n = len(y)
    block = np.empty(min(BLOCK, n), np.int64)
    count: Any = np.int64(0)  # a literal 0 would be a type of its own, for which the callee is compiled again
    done = 0
    inside = np.zeros(n, np.bool_)
    rising, falling = np.empty(n), np.empty(n)
    sums = np.empty(K.shape[1])
    while True:
        low, high = _split_directions(y, C, alpha, F, rising, falling)
        if high - low <= tol or done >= max_iter or max_blocks <= 0:
            return done, high - low
        max_blocks -= 1
        count = _select_block(block, count, inside, rising, falling, alpha, C, low, high)
        chosen = block[:count]
        values = local(K, at, means, grand, scale, chosen)
        signs, bounds, now, slopes = _take(y, chosen), _take(C, chosen), _take(alpha, chosen), _take(F, chosen)
        goal = max(0.5 * tol, LOCAL * (high - low))
        done += _solve_block(values, signs, bounds, now, slopes, goal, max_iter - done)
        moved = False
        for k in range(count):
            slopes[k] = signs[k] * (now[k] - alpha[chosen[k]])
            moved = moved or slopes[k] != 0.0
            alpha[chosen[k]] = now[k]
        if not moved:  # all steps were lost in rounding, or are not finite
            return done, high - low
        follow(K, at, means, grand, scale, chosen, slopes, F, sums)


@compiled
def _take(values: Floats, where: Indices) -> Floats:
    """Values at the given positions."""
    out = np.empty(len(where))
    for k in range(len(where)):
        out[k] = values[where[k]]
    return out


@compiled
def _split_directions(
    y: Floats, C: Floats, alpha: Floats, F: Floats, rising: Floats, falling: Floats
) -> tuple[float, float]:
    """Return the least F of variables that can increase, and the largest F of variables that can decrease.

    Fills ``rising`` with F, and ``falling`` with −F, of these variables, and with infinity for all others.
    """
    low, high = np.inf, -np.inf
    for k in range(len(y)):
        above, below = alpha[k] > 0, alpha[k] < C[k]
        if y[k] < 0:
            above, below = below, above
        rising[k] = F[k] if below else np.inf
        falling[k] = -F[k] if above else np.inf
        if below and F[k] < low:
            low = F[k]
        if above and F[k] > high:
            high = F[k]
    return low, high


@compiled
def _select_block(
    block: Indices,
    before: int,
    inside: Array,
    rising: Floats,
    falling: Floats,
    alpha: Floats,
    C: Floats,
    low: float,
    high: float,
) -> int:
    """Fill the block: variables of largest violation in both directions, then free and other ones of the last block."""
    old = block[:before].copy()
    for k in old:
        inside[k] = False
    share = len(block) // 2 if before == 0 else len(block) // 4
    none: Any = np.int64(0)
    count = _add_smallest(rising, high, max(1, share), block, none, inside)
    count = _add_smallest(falling, -low, max(1, share), block, count, inside)
    for free in (True, False):
        for k in old:
            if count < len(block) and not inside[k] and (0 < alpha[k] < C[k]) == free:
                block[count] = k
                inside[k] = True
                count += 1
    return count


@compiled
def _add_smallest(values: Floats, limit: float, share: int, block: Indices, count: int, inside: Array) -> int:
    """Add up to ``share`` variables with the smallest values below ``limit`` to the block; return its new size."""
    last = kth_smallest(values, min(share, len(values)) - 1)
    taken = 0
    for tied in (False, True):
        for k in range(len(values)):
            if taken == share or count == len(block):
                return count
            if values[k] < limit and (values[k] == last if tied else values[k] < last):
                taken += 1
                if not inside[k]:
                    block[count] = k
                    inside[k] = True
                    count += 1
    return count


@compiled
def kth_smallest(values: Floats, k: int) -> float:
    """The value at position k of the sorted values (Hoare, "Algorithm 65: Find", Comm. ACM 4, 1961).

    ``np.partition`` does the same, and takes six seconds to compile.
    """
    found = values.copy()
    low, high = 0, len(found) - 1
    while low < high:
        pivot, left, right = found[(low + high) // 2], low, high
        while left <= right:
            while found[left] < pivot:
                left += 1
            while found[right] > pivot:
                right -= 1
            if left <= right:
                found[left], found[right] = found[right], found[left]
                left += 1
                right -= 1
        if right < k < left:
            break
        low, high = (low, right) if k <= right else (left, high)
    return found[k]


@compiled
def local(K: Array, at: Indices, means: Floats, grand: float, scale: Floats, chosen: Indices) -> Floats:
    """Kernel values of the view between the chosen variables."""
    count = len(chosen)
    values = np.empty((count, count))
    for i in range(count):
        row, mean, inverse = K[at[chosen[i]]], means[chosen[i]] - grand, 1.0 / scale[chosen[i]]
        for j in range(i + 1):
            value = (row[at[chosen[j]]] - mean - means[chosen[j]]) * inverse / scale[chosen[j]]
            values[i, j] = value
            values[j, i] = value
    return values


@compiled
def _solve_block(K: Floats, y: Floats, C: Floats, alpha: Floats, F: Floats, tol: float, max_iter: int) -> int:
    """Change pairs of variables of a block until the violation is at most ``tol``; return the number of changes."""
    n = len(y)
    no_rise, no_fall = np.empty(n), np.empty(n)  # 0, or infinity if a variable cannot change in that direction
    square, gains = np.empty(n), np.empty(n)
    for k in range(n):
        no_rise[k], no_fall[k] = _blocked(y[k], C[k], alpha[k])
        square[k] = K[k, k]
    i, low, high = _extremes(F, no_rise, no_fall)
    for done in range(max_iter):
        if high - low <= tol:
            return done
        row = K[i]
        for k in range(n):  # branch-free, so that it vectorises
            rise = F[k] - low - no_fall[k]
            rise = rise if rise > 0.0 else 0.0
            curve = square[i] + square[k] - 2.0 * row[k]
            gains[k] = rise * rise / (curve if curve > FLAT else FLAT)
        j = 0
        for k in range(1, n):
            if gains[k] > gains[j]:
                j = k
        curve = square[i] + square[j] - 2.0 * row[j]
        step = (F[j] - low) / (curve if curve > FLAT else FLAT)
        room_i = C[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else C[j] - alpha[j]
        step = min(step, room_i, room_j)
        alpha[i] = _moved(alpha[i], C[i], y[i] > 0, step, room_i)
        alpha[j] = _moved(alpha[j], C[j], y[j] < 0, step, room_j)
        no_rise[i], no_fall[i] = _blocked(y[i], C[i], alpha[i])
        no_rise[j], no_fall[j] = _blocked(y[j], C[j], alpha[j])
        other = K[j]
        for k in range(n):
            F[k] += step * (row[k] - other[k])
        i, low, high = _extremes(F, no_rise, no_fall)
    return max_iter


@compiled
def _blocked(y: float, C: float, alpha: float) -> tuple[float, float]:
    """Infinity if y α cannot increase, else 0; and infinity if y α cannot decrease, else 0."""
    top, bottom = np.inf if alpha >= C else 0.0, np.inf if alpha <= 0.0 else 0.0
    return (top, bottom) if y > 0 else (bottom, top)


@compiled
def _extremes(F: Floats, no_rise: Floats, no_fall: Floats) -> tuple[int, float, float]:
    """Position and value of the least F of variables that can increase; largest F of those that can decrease."""
    i, low, high = -1, np.inf, -np.inf
    for k in range(len(F)):
        rising, falling = F[k] + no_rise[k], F[k] - no_fall[k]
        if rising < low:
            i, low = k, rising
        if falling > high:
            high = falling
    return i, low, high


@compiled
def _moved(alpha: float, C: float, grows: bool, step: float, room: float) -> float:
    """Value of a variable after a step; exactly its bound if the step uses all its room."""
    if step >= room:
        return C if grows else 0.0
    return min(max(alpha + step if grows else alpha - step, 0.0), C)


@compiled
def follow(
    K: Array,
    at: Indices,
    means: Floats,
    grand: float,
    scale: Floats,
    chosen: Indices,
    changes: Floats,
    F: Floats,
    sums: Floats,
) -> None:
    """Update F for the given changes of y α."""
    rows, factors = np.empty(len(chosen), np.int64), np.empty(len(chosen))
    total = shift = 0.0
    count = 0
    for k in range(len(chosen)):
        if changes[k] != 0.0:
            rows[count], factors[count] = at[chosen[k]], changes[k] / scale[chosen[k]]
            total += factors[count]
            shift += factors[count] * means[chosen[k]]
            count += 1
    rows, factors = rows[:count], factors[:count]
    if 4 * len(at) < len(sums):
        _gather_sums(K, rows, factors, at, sums)
        for k in range(len(at)):
            F[k] += (sums[k] - means[k] * total - shift + grand * total) / scale[k]
        return
    _sum_rows(K, rows, factors, sums)
    for k in range(len(at)):
        F[k] += (sums[at[k]] - means[k] * total - shift + grand * total) / scale[k]


@compiled
def _sum_rows(K: Array, rows: Indices, factors: Floats, out: Floats) -> None:
    """Σ_r factor_r K[r], four rows at a time."""
    out[:] = 0.0
    whole = len(rows) // 4 * 4
    for r in range(0, whole, 4):
        first, second, third, fourth = K[rows[r]], K[rows[r + 1]], K[rows[r + 2]], K[rows[r + 3]]
        a, b, c, d = factors[r], factors[r + 1], factors[r + 2], factors[r + 3]
        for k in range(len(out)):
            out[k] += (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])
    for r in range(whole, len(rows)):
        first, a = K[rows[r]], factors[r]
        for k in range(len(out)):
            out[k] += a * first[k]


@compiled
def _gather_sums(K: Array, rows: Indices, factors: Floats, at: Indices, out: Floats) -> None:
    """Σ_r factor_r K[r, at], for few columns."""
    out[: len(at)] = 0.0
    for r in range(len(rows)):
        row, factor = K[rows[r]], factors[r]
        for k in range(len(at)):
            out[k] += factor * row[at[k]]


@compiled
def asymmetry(K: Floats) -> tuple[float, float]:
    """Largest |K_ij| and largest |K_ij − K_ji|; both NaN if a value is not finite."""
    side = 64
    largest, difference, proof = 0.0, 0.0, 0.0
    for top in range(0, len(K), side):
        for left in range(0, top + 1, side):
            for i in range(top, min(top + side, len(K))):
                for j in range(left, min(left + side, i + 1)):
                    proof += 0.0 * K[i, j] + 0.0 * K[j, i]
                    largest = max(largest, abs(K[i, j]))
                    difference = max(difference, abs(K[i, j] - K[j, i]))
    return (largest, difference) if proof == 0.0 else (np.nan, np.nan)


@compiled
def excess(K: Array, shift: float, roots: Floats) -> tuple[float, int, int]:
    """Largest |K_ij + shift| − r_i r_j below the diagonal, with r = ``roots``, and its position; −inf for none."""
    largest, x, y = -np.inf, 0, 0
    for i in range(len(K)):
        row, root = K[i], roots[i]
        most = -np.inf
        for j in range(i):
            most = max(most, abs(row[j] + shift) - root * roots[j])
        if most > largest:
            for j in range(i):
                if abs(row[j] + shift) - root * roots[j] == most:
                    largest, x, y = most, i, j
    return largest, x, y
