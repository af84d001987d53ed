"""Newton's step on the free coefficients of a dual problem, where pairs of them go on for long.

Between bounds, a dual problem is a system of linear equations: k u = ρ − F with Σ u = 0, for the change u of y α. Where
C is large the system is ill conditioned, and pairs of coefficients approach its solution in millions of small steps
that Cholesky's decomposition takes at once. Coefficients that the step would push far over a bound are left to pairs.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from distkern.compiled import smo
from distkern.core.typing import Array, Floats, Indices

MOST = 2048
"""Free coefficients that a step is made for, at most."""

TRIES = 6
"""How often coefficients are left out before the step is made as far as it goes."""

NEAR = 0.5
"""Coefficients that can make less than this part of their step are left out."""

RIDGE = 1e-10
"""Added to the diagonal, as a share of its mean: kernels need not be of full rank."""

FIRST = 60
"""Blocks of pairs before the first step."""

PAIRS = 500
"""Pairs that are changed in the time of a block, beside those of the block."""

BLOCK_SECONDS, ROW_SECONDS, FLOP_SECONDS = 3e-4, 5e-10, 4e-11
"""Rough costs of a block of pairs, of a kernel value in an update, and of an operation: so pairs and steps balance."""


def blocks_before(free: int, variables: int) -> int:
    """Blocks of pairs that cost as much as a step: so many come before the next."""
    step = 3 * (free**3 / 3 * FLOP_SECONDS + 10 * free**2 * ROW_SECONDS) + free * variables * ROW_SECONDS
    return max(FIRST, int(step / (BLOCK_SECONDS + smo.BLOCK * variables * ROW_SECONDS)))


def may_step(free: int, spare: int) -> bool:
    """Whether a step for so many free coefficients fits in ``spare`` bytes."""
    return 2 <= free <= MOST and 24 * free**2 <= spare


def step(
    K: Array,
    at: Indices,
    y: Floats,
    C: Floats,
    means: Floats,
    grand: float,
    scale: Floats,
    alpha: Floats,
    F: Floats,
) -> None:
    """Move the free coefficients towards where all of them are optimal, as far as the bounds let them.

    The arguments are those of `distkern.compiled.smo.minimize`; α and F are changed in place. The objective falls.
    """
    free = np.flatnonzero((alpha > 0) & (alpha < C))
    values = smo.local(K, at, means, grand, scale, free)
    values[np.diag_indices(len(free))] += RIDGE * np.mean(values.diagonal())
    for attempt in range(TRIES):
        try:
            lower = np.linalg.cholesky(values)
        except np.linalg.LinAlgError:  # not positive: nothing that a step would help with
            return
        pulled, ones = cho_solve((lower, True), np.stack([F[free], np.ones(len(free))], axis=1), check_finite=False).T
        u = ones * (pulled.sum() / ones.sum()) - pulled
        u -= u.mean()  # what rounding left of the sum
        change = y[free] * u
        room = np.where(change > 0, C[free] - alpha[free], alpha[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(change == 0, np.inf, room / np.abs(change))
        kept = part >= NEAR
        if kept.all() or attempt == TRIES - 1 or kept.sum() < 2:
            break
        free, values = free[kept], np.ascontiguousarray(values[np.ix_(kept, kept)])
    slope, curve = float(u @ F[free]), float(u @ values @ u)
    if not slope < 0 < curve:
        return
    length = min(-slope / curve, float(part.min()))
    moved = alpha[free] + length * change
    moved = np.where(part <= length, np.where(change > 0, C[free], 0.0), np.clip(moved, 0.0, C[free]))
    difference = y[free] * (moved - alpha[free])
    alpha[free] = moved
    smo.follow(K, at, means, grand, scale, free, difference, F, np.empty(K.shape[1]))
