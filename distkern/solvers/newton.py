"""Newton step on the free coefficients of a dual problem, for problems on which pairwise steps converge slowly.

If no bound is active, a dual problem is a linear system: k u = ρ − F with Σ u = 0, for the change u of y α. For large C
this system is ill-conditioned, and pairwise steps may need millions of iterations where one Cholesky factorisation
suffices. Coefficients that a Newton step would move far beyond a bound are left to the pairwise steps.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from distkern.compiled import smo
from distkern.core.typing import Array, Floats, Indices

MOST = 2048
"""Maximum number of free coefficients for a Newton step."""

TRIES = 6
"""Maximum number of attempts to exclude coefficients before the step is shortened instead."""

NEAR = 0.5
"""Coefficients whose bounds allow less than this fraction of the step are excluded."""

RIDGE = 1e-10
"""Added to the diagonal, relative to its mean, because the matrix may be singular."""

FIRST = 60
"""Number of blocks of pairwise steps before the first Newton step."""

PAIRS = 500
"""Maximum number of changed pairs in a block, on average."""

BLOCK_SECONDS, ROW_SECONDS, FLOP_SECONDS = 3e-4, 5e-10, 4e-11
"""Approximate costs of a block of pairwise steps, of one kernel value in an update, and of one operation."""


def blocks_before(free: int, variables: int) -> int:
    """Number of blocks of pairwise steps before the next Newton step; they cost as much as the Newton step."""
    step = 3 * (free**3 / 3 * FLOP_SECONDS + 10 * free**2 * ROW_SECONDS) + free * variables * ROW_SECONDS
    return max(FIRST, int(step / (BLOCK_SECONDS + smo.BLOCK * variables * ROW_SECONDS)))


def may_step(free: int, spare: int) -> bool:
    """Whether a Newton step for this number of free coefficients fits in ``spare`` bytes."""
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
    """Move the free coefficients towards the optimum of the unconstrained problem, as far as the bounds allow.

    The arguments are those of `distkern.compiled.smo.minimize`. α and F are updated in place, and the objective
    decreases.
    """
    free = np.flatnonzero((alpha > 0) & (alpha < C))
    values = smo.local(K, at, means, grand, scale, free)
    values[np.diag_indices(len(free))] += RIDGE * np.mean(values.diagonal())
    for attempt in range(TRIES):
        try:
            lower = np.linalg.cholesky(values)
        except np.linalg.LinAlgError:  # not positive definite: a Newton step does not apply
            return
        pulled, ones = cho_solve((lower, True), np.stack([F[free], np.ones(len(free))], axis=1), check_finite=False).T
        u = ones * (pulled.sum() / ones.sum()) - pulled
        u -= u.mean()  # the sum is zero up to rounding; make it exact
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
