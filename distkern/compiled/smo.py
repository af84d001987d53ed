"""Sequential minimal optimisation of the dual problems of support vector machines, on kernel values in memory.

min ½ αᵀ Q α + pᵀ α with Q_ij = y_i y_j k_ij, y = ±1, 0 ≤ α ≤ C and yᵀ α as at the start. Where libsvm changes two
variables and then the gradient of all, this takes a *block* of them: those that violate the optimality conditions most,
and free ones of the block before. It solves the block by pairs, chosen by second-order information (Fan, Chen and Lin,
"Working set selection using second order information", JMLR 6, 2005), on a copy of its kernel values that stays in the
processor's cache, and changes the gradient of all once a block.

The kernel may be a centred and scaled view of the values in memory, k_ij = (K_ij − r_i − r_j + g) / (s_i s_j), so that
many views share one matrix. ``F`` is y times the gradient: α is optimal where no F of a variable that may grow in the
direction of y lies below the F of one that may shrink.
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats, Indices

BLOCK = 256
"""Variables of a block: its kernel values take 512 KiB."""

LOCAL = 0.2
"""A block is solved up to this share of the largest violation among all variables, or half the tolerance."""

FLAT = 1e-12
"""Curvature along a pair of variables, where rounding or a kernel that is not positive leaves less."""


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
    """Solve a problem from where α stands; α and F are changed in place.

    Parameters
    ----------
    K
        Symmetric matrix of kernel values (m, m), C order.
    at
        Row of K of each variable, (n,); rows may repeat.
    y, C
        Sign and upper bound of each variable.
    means, grand, scale
        r, g and s of the view, (n,), a number and (n,); zeros, 0 and ones for the values as they are.
    alpha, F
        Coefficients, and y times the gradient, (n,).
    tol
        Largest violation to stop at.
    max_iter, max_blocks
        Most pairs to change, and most blocks to change them in.

    Returns
    -------
    tuple
        Number of pairs that were changed, and the largest violation that is left.
    """
    n = len(y)
    block = np.empty(min(BLOCK, n), np.int64)
    count = done = 0
    inside = np.zeros(n, np.bool_)
    rising, falling = np.empty(n), np.empty(n)
    sums = np.empty(K.shape[1])
    while True:
        low, high = _sides(y, C, alpha, F, rising, falling)
        if high - low <= tol or done >= max_iter or max_blocks <= 0:
            return done, high - low
        max_blocks -= 1
        count = _choose(block, count, inside, rising, falling, alpha, C, low, high)
        chosen = block[:count]
        values = local(K, at, means, grand, scale, chosen)
        signs, bounds, now, slopes = _of(y, chosen), _of(C, chosen), _of(alpha, chosen), _of(F, chosen)
        goal = max(0.5 * tol, LOCAL * (high - low))
        done += _pairs(values, signs, bounds, now, slopes, goal, max_iter - done)
        for k in range(count):
            slopes[k] = signs[k] * (now[k] - alpha[chosen[k]])
            alpha[chosen[k]] = now[k]
        follow(K, at, means, grand, scale, chosen, slopes, F, sums)


@compiled
def _of(values: Floats, where: Indices) -> Floats:
    """Some of the values."""
    out = np.empty(len(where))
    for k in range(len(where)):
        out[k] = values[where[k]]
    return out


@compiled
def _sides(y: Floats, C: Floats, alpha: Floats, F: Floats, rising: Floats, falling: Floats) -> tuple[float, float]:
    """Least F of what may rise, largest of what may fall, and both lists with infinity for all others."""
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
def _choose(
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
    """Fill the block: those that violate most on either side, then free ones of the block before, then its others."""
    old = block[:before].copy()
    for k in old:
        inside[k] = False
    share = len(block) // 2 if before == 0 else len(block) // 4
    count = _take(rising, high, max(1, share), block, 0, inside)
    count = _take(falling, -low, max(1, share), block, count, inside)
    for free in (True, False):
        for k in old:
            if count < len(block) and not inside[k] and (0 < alpha[k] < C[k]) == free:
                block[count] = k
                inside[k] = True
                count += 1
    return count


@compiled
def _take(values: Floats, limit: float, share: int, block: Indices, count: int, inside: Array) -> int:
    """Put the smallest values below a limit into the block, ``share`` at most: all below the last one, then ties."""
    last = np.partition(values, min(share, len(values)) - 1)[min(share, len(values)) - 1]
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
def local(K: Array, at: Indices, means: Floats, grand: float, scale: Floats, chosen: Indices) -> Floats:
    """Kernel values of the view within a block."""
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
def _pairs(K: Floats, y: Floats, C: Floats, alpha: Floats, F: Floats, tol: float, max_iter: int) -> int:
    """Change pairs of variables of a block until none violates the conditions by more than ``tol``; how many."""
    n = len(y)
    shut_up, shut_down = np.empty(n), np.empty(n)  # 0, or infinite where a variable cannot go that way
    square, gains = np.empty(n), np.empty(n)
    for k in range(n):
        shut_up[k], shut_down[k] = _shut(y[k], C[k], alpha[k])
        square[k] = K[k, k]
    i, low, high = _extremes(F, shut_up, shut_down)
    for done in range(max_iter):
        if high - low <= tol:
            return done
        row = K[i]
        for k in range(n):  # loops without branches, so that they run on vectors
            rise = F[k] - low - shut_down[k]
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
        shut_up[i], shut_down[i] = _shut(y[i], C[i], alpha[i])
        shut_up[j], shut_down[j] = _shut(y[j], C[j], alpha[j])
        other = K[j]
        for k in range(n):
            F[k] += step * (row[k] - other[k])
        i, low, high = _extremes(F, shut_up, shut_down)
    return max_iter


@compiled
def _shut(y: float, C: float, alpha: float) -> tuple[float, float]:
    """Whether a variable cannot go along its sign, and against it: infinity where it cannot."""
    top, bottom = np.inf if alpha >= C else 0.0, np.inf if alpha <= 0.0 else 0.0
    return (top, bottom) if y > 0 else (bottom, top)


@compiled
def _extremes(F: Floats, shut_up: Floats, shut_down: Floats) -> tuple[int, float, float]:
    """Where F is least among what may go up, its value there, and the largest among what may go down."""
    i, low, high = -1, np.inf, -np.inf
    for k in range(len(F)):
        rising, falling = F[k] + shut_up[k], F[k] - shut_down[k]
        if rising < low:
            i, low = k, rising
        if falling > high:
            high = falling
    return i, low, high


@compiled
def _moved(alpha: float, C: float, grows: bool, step: float, room: float) -> float:
    """Where a step takes a variable; one that uses all its room ends at its bound exactly."""
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
    """Add to F what some changes of y α bring."""
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
    """Σ_r factor_r K[r, at], where few columns are wanted."""
    out[: len(at)] = 0.0
    for r in range(len(rows)):
        row, factor = K[rows[r]], factors[r]
        for k in range(len(at)):
            out[k] += factor * row[at[k]]


@compiled
def asymmetry(K: Floats) -> tuple[float, float]:
    """Largest |K_ij| and largest |K_ij − K_ji|; both NaN where a value is not finite."""
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
