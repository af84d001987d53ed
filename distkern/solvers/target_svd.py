"""The leading singular vectors of M = Σ_i ρ_i Π_{x_i}, without the matrix M: the target of Algorithm 1.

With ρ_i = 1/n₊ for samples of one class and −1/n₋ for the other, M is the difference of the mean matrices of ranks, the
classifier of linear discriminant analysis with identity covariance. Its nearest matrix of rank one is σ₁ u vᵀ. The
target is the right singular vector v, because [Π_x]_jr = 1 where feature j has rank r. M 1 = 0, so v is centred by
itself. Its sign is such that Σ r v_r ≥ 0. It need not ascend.

Golub-Kahan-Lanczos bidiagonalisation with full reorthogonalisation takes two passes a step. If σ₁/σ₂ is close to 1, v
is arbitrary.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), Algorithm 1; the slide prints the same class under
both sums. Golub and Kahan, "Calculating the singular values and pseudo-inverse of a matrix" (1965).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.typing import Floats
from distkern.solvers.rank_requests import Algorithm, Request, Sums

MOST_STEPS = 300
"""Most steps; each takes two passes and keeps two vectors."""


@dataclass(frozen=True)
class Leading:
    """σ₁, σ₂, and the singular vectors u (features) and v (ranks) of σ₁; whether they were found to the tolerance."""

    first: float
    second: float
    u: Floats
    v: Floats
    converged: bool


def leading_pair(rho: Floats, p: int, tol: float = 1e-8) -> Algorithm[Leading]:
    """Find the leading singular pair of Σ_i ρ_i Π_{x_i}; ``tol`` is relative to σ₁."""
    start = np.cos(np.arange(p) * 2.399963)  # any vector that is nothing special, and the same every time
    start -= start.mean()
    right: list[Floats] = [start / np.linalg.norm(start)]
    left: list[Floats] = []
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(MOST_STEPS, p - 1)):
        u = yield from _times(rho, right[-1], False)
        u, alpha = _orthogonal(u, left)
        left.append(u)
        diagonal.append(alpha)
        v = yield from _times(rho, u, True)
        v, beta = _orthogonal(v, right)
        P, values, Qt = np.linalg.svd(np.diag(diagonal) + np.diag(beside, 1))
        remainder = beta * abs(float(P[-1, 0]))
        exhausted = beta <= 1e-13 * values[0]
        if remainder <= tol * values[0] or exhausted:
            return _leading(P, values, Qt, left, right, True)
        right.append(v)
        beside.append(beta)
    return _leading(P, values, Qt, left, right, len(diagonal) == p - 1)


def _leading(
    P: Floats, values: Floats, Qt: Floats, left: list[Floats], right: list[Floats], converged: bool
) -> Leading:
    size = len(values)
    u, v = np.stack(left).T @ P[:, 0], np.stack(right[:size]).T @ Qt[0]
    sign = -1.0 if np.arange(len(v)) @ v < 0 else 1.0
    return Leading(float(values[0]), float(values[1]) if size > 1 else 0.0, sign * u, sign * v, converged)


def _times(rho: Floats, vector: Floats, transposed: bool) -> Algorithm[Floats]:
    """M v, or Mᵀ u; the latter centred, as it would be without rounding."""
    column = vector[:, None]
    W, F = (column, np.zeros_like(column)) if transposed else (np.zeros_like(column), column)
    sums: Sums = yield Request(W, F, lambda rows, Z: rho[rows, None], by_feature=not transposed, by_rank=transposed)
    found = sums[1] if transposed else sums[0]
    assert found is not None
    return np.asarray(found[:, 0] - (found.mean() if transposed else 0.0), dtype=np.float64)


def _orthogonal(vector: Floats, basis: list[Floats]) -> tuple[Floats, float]:
    """Take a vector's part orthogonal to a basis, at norm 1, and its norm; zero if there is no such part."""
    before = float(np.linalg.norm(vector))
    for one in (*basis, *basis):
        vector = vector - (one @ vector) * one
    norm = float(np.linalg.norm(vector))
    if norm <= 1e-14 * before or norm == 0:
        return np.zeros(len(vector)), 0.0
    return vector / norm, norm


def class_differences(codes: Floats, shares: Floats) -> Floats:
    """ρ: shares of the samples within the second class (y = 1), and minus those within the first (y = −1).

    Examples
    --------
    >>> class_differences(np.array([1.0, -1.0, 1.0]), np.ones(3))
    array([ 0.5, -1. ,  0.5])
    """
    totals = {sign: float(shares[codes == sign].sum()) for sign in (-1.0, 1.0)}
    return np.where(codes > 0, shares / totals[1.0], -shares / totals[-1.0])
