"""Covariances of mixtures of two bags in unlike parts, and with a prior measure."""

from __future__ import annotations

import numpy as np

from distkern.compiled.bags import factor, inverse_form
from distkern.core.jit import compiled


@compiled
def weighted_pairs(means_a, covariances_a, masses_a, means_b, covariances_b, masses_b, same):  # type: ignore[no-untyped-def]
    """Log det of the covariance of each mixture of two bags, in parts w and w' proportional to their masses.

    The covariance is S + w w' δδᵀ, with S = wΣ + w'Σ' and δ = μ − μ'. Mirrored if both blocks are the ``same``.
    """
    a, b, d = len(means_a), len(means_b), means_a.shape[1]
    out = np.empty((a, b))
    mixed, difference = np.empty((d, d)), np.empty(d)
    for i in range(a):
        for j in range(i if same else 0, b):
            total = masses_a[i] + masses_b[j]
            one, other = masses_a[i] / total, masses_b[j] / total
            for row in range(d):
                difference[row] = means_a[i, row] - means_b[j, row]
                for col in range(row, d):
                    mixed[row, col] = one * covariances_a[i, row, col] + other * covariances_b[j, row, col]
            logdet = factor(mixed)
            out[i, j] = logdet + np.log1p(one * other * inverse_form(mixed, difference))
            if same:
                out[j, i] = out[i, j]
    return out


@compiled
def prior_pairs(means_a, covariances_a, means_b, covariances_b, mix, same):  # type: ignore[no-untyped-def]
    """Log det of the covariance of λ(μ + μ')/2 + (1 − λ)ρ for each pair, with ``mix`` λ.

    Means u and v are relative to that of the prior ρ, and covariances C = λΣ + (1 − λ)Σ(ρ). The covariance is
    S + a aᵀ + b bᵀ with S = (C + C')/2, a = √λ/2 (u − v) and b = √(λ(1 − λ))/2 (u + v). With x and y the solutions of
    the Cholesky factor of S for a and b, its log determinant is that of S plus log((1 + |x|²)(1 + |y|²) − (x·y)²),
    where the last two terms are computed from y without its part along x, so that nothing cancels.
    """
    n, m, d = len(means_a), len(means_b), means_a.shape[1]
    out = np.empty((n, m))
    mixed, first, second = np.empty((d, d)), np.empty(d), np.empty(d)
    near, far = np.sqrt(mix) / 2, np.sqrt(mix * (1 - mix)) / 2
    for i in range(n):
        for j in range(i if same else 0, m):
            for row in range(d):
                first[row] = near * (means_a[i, row] - means_b[j, row])
                second[row] = far * (means_a[i, row] + means_b[j, row])
                for col in range(row, d):
                    mixed[row, col] = 0.5 * (covariances_a[i, row, col] + covariances_b[j, row, col])
            logdet = factor(mixed)
            square, _ = inverse_form(mixed, first), inverse_form(mixed, second)
            along = 0.0
            for row in range(d):
                along += first[row] * second[row]
            rest = 0.0
            for row in range(d):
                part = second[row] - (along / square * first[row] if square > 0 else 0.0)
                rest += part * part
            # (1 + s)(1 + rest + c²/s) − c² = (1 + s)(1 + rest) + c²/s, with s = |x|² and c = x·y
            shared = along * along / square / (1 + square) if square > 0 else 0.0
            out[i, j] = logdet + np.log1p(square) + np.log1p(rest + shared)
            if same:
                out[j, i] = out[i, j]
    return out
