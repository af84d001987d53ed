"""Isotonic regression, plain and smoothed.

Plain: the nearest nondecreasing vector, argmin ½ ‖f − g‖² over f_0 ≤ … ≤ f_{p−1}. Adjacent blocks that violate the
order are pooled into their mean (pool adjacent violators), in O(p).

Smoothed: argmin ½ ‖f − g‖² + (τ/2) Σ (f_{r+1} − f_r)² over the same f. Every value begins as a block. The minimum
over vectors that are constant on blocks solves a tridiagonal system; with n_B the size, ḡ_B the mean of g and d_B the
number of neighbours of block B,

    (n_B + τ d_B) f_B − τ (f_{B−1} + f_{B+1}) = n_B ḡ_B.

All adjacent blocks with f_B > f_{B+1} are merged, and the system is solved again, until the solution ascends. A few
rounds suffice; the worst case takes p of them.

The system is solved without subtractions: with e_B the sum of row B once the blocks before it are eliminated,

    e_B = n_B + e_{B−1} τ / (e_{B−1} + τ),   s_B = n_B ḡ_B + s_{B−1} τ / (e_{B−1} + τ),
    f_B = (s_B + τ f_{B+1}) / (e_B + τ),

so that a large τ loses no digits.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), which name both as proximal maps; Barlow et al.,
"Statistical inference under order restrictions" (1972); Sysoev and Burdakov, "A smoothed monotonic regression via L2
regularization" (2019).
"""

from __future__ import annotations

import numpy as np

from distkern.core.jit import compiled


@compiled
def isotonic(g):  # type: ignore[no-untyped-def]
    """Nearest nondecreasing vector to g, (p,), float64 and finite.

    Examples
    --------
    >>> isotonic(np.array([1.0, 4.0, 2.0, 3.0, 9.0]))
    array([1., 3., 3., 3., 9.])
    """
    p = len(g)
    means, sizes = np.empty(p), np.empty(p, np.int64)
    blocks = 0
    for r in range(p):
        mean, size = g[r], 1
        while blocks > 0 and means[blocks - 1] >= mean:
            blocks -= 1
            both = size + sizes[blocks]
            mean = mean * (size / both) + means[blocks] * (sizes[blocks] / both)
            size = both
        means[blocks], sizes[blocks] = mean, size
        blocks += 1
    return _spread(means, sizes, blocks, p)


@compiled
def smooth_isotonic(g, tau):  # type: ignore[no-untyped-def]
    """Smoothed isotonic regression of g, (p,), float64 and finite, with the weight τ > 0, finite.

    Examples
    --------
    >>> smooth_isotonic(np.array([0.0, 3.0, 0.0, 3.0]), 1.0).round(2)
    array([0.75, 1.5 , 1.5 , 2.25])
    """
    p = len(g)
    sums, sizes, f = g.copy(), np.ones(p, np.int64), np.empty(p)
    inverses, right = np.empty(p), np.empty(p)
    blocks = p
    while True:
        _solve_blocks(sums, sizes, blocks, tau, inverses, right, f)
        kept = 0
        for block in range(1, blocks):
            if f[block - 1] > f[block]:
                sums[kept] += sums[block]
                sizes[kept] += sizes[block]
            else:
                kept += 1
                sums[kept], sizes[kept] = sums[block], sizes[block]
        if kept + 1 == blocks:
            return _spread(f, sizes, blocks, p)
        blocks = kept + 1


@compiled
def _solve_blocks(sums, sizes, blocks, tau, inverses, right, f):  # type: ignore[no-untyped-def]
    """Solve the tridiagonal system over the blocks."""
    passed_row = passed_right = row = 0.0
    for block in range(blocks):
        row, right[block] = sizes[block] + passed_row, sums[block] + passed_right
        inverses[block] = 1.0 / (row + tau)
        share = tau * inverses[block]
        passed_row, passed_right = row * share, right[block] * share
    f[blocks - 1] = right[blocks - 1] / row
    for block in range(blocks - 2, -1, -1):
        f[block] = (right[block] + tau * f[block + 1]) * inverses[block]


@compiled
def _spread(values, sizes, blocks, p):  # type: ignore[no-untyped-def]
    """Give each member of a block its value."""
    out = np.empty(p)
    start = 0
    for block in range(blocks):
        for r in range(start, start + sizes[block]):
            out[r] = values[block]
        start += sizes[block]
    return out
