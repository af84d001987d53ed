"""The convex relaxation of models with a learned target: a matrix M of small trace norm instead of rank one.

    min over M, b   Σ_i s_i l(⟨M, Π_{x_i}⟩ + b, y_i)   with ‖M‖_* ≤ T.

A model W fᵀ with ‖f‖ = √p has the trace norm √p ‖w‖. Frank-Wolfe adds an atom −T u vᵀ at a time, with (u, v) the
leading singular pair of the gradient G = Σ_i ρ_i Π_{x_i}. Then all weights of the atoms are optimised, with the
intercept. The gap Σ_i ρ_i z_i + T σ₁(G) bounds how far the objective is above its minimum.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), which name the trace norm as "a natural convex
surrogate for the rank"; Jaggi, "Revisiting Frank-Wolfe" (2013), algorithm 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.typing import Floats
from distkern.solvers.rank_requests import Algorithm, Request, Sums
from distkern.solvers.target_learning import Task
from distkern.solvers.target_svd import leading_pair

RELATIVE = 1e-6
"""Precision of the singular pairs, relative to σ₁; the gap counts what it leaves out."""

INNER = 3000
"""Most steps of the weights of the atoms, which take no pass."""


@dataclass(frozen=True)
class Relaxed:
    """M = Σ_k w_k f_kᵀ as columns W and F (p, r) with ‖f_k‖ = √p, b, the objective after each step, and the gap."""

    W: Floats
    F: Floats
    b: float
    objective: tuple[float, ...]
    gap: float
    converged: bool


def relax(task: Task, p: int, trace_norm: float, tol: float, most: int) -> Algorithm[Relaxed]:
    """Minimise until the gap is ``tol`` times the loss of the constant model, or ``most`` atoms are there."""
    left: list[Floats] = []
    right: list[Floats] = []
    outputs = np.zeros((len(task.Y), 0))
    weights, b, value = _weights(task, outputs, np.zeros(0), 0.0)
    objective, gap = [value], np.inf
    for _ in range(most + 1):
        z = outputs @ weights
        rho = task.shares * task.loss.derivatives(z[:, None] + b, task.Y)[:, 0]
        if not np.abs(rho).sum() > 1e-14:
            gap = 0.0
            break
        pair = yield from leading_pair(rho, p, RELATIVE)
        gap = float(rho @ z) + trace_norm * pair.first * (1 + RELATIVE)
        if gap <= tol * objective[0] or len(left) == most:
            break
        left.append(-trace_norm * pair.u / np.sqrt(p))
        right.append(pair.v * np.sqrt(p))
        added = yield from _outputs(left[-1], right[-1], len(task.Y))
        outputs = np.column_stack([outputs, added])
        weights, b, value = _weights(task, outputs, np.append(weights, 0.0), b)
        objective.append(min(value, objective[-1]))
    kept = np.flatnonzero(weights > 0)
    W = np.array([weights[k] * left[k] for k in kept]).reshape(len(kept), p).T
    F = np.array([right[k] for k in kept]).reshape(len(kept), p).T
    return Relaxed(W, F, b, tuple(objective), gap, gap <= tol * objective[0])


def _outputs(w: Floats, f: Floats, m: int) -> Algorithm[Floats]:
    found = np.empty(m)

    def respond(rows: slice, Z: Floats) -> Floats:
        found[rows] = Z[:, 0]
        return Z

    _: Sums = yield Request(w[:, None], f[:, None], respond)
    return found


def _weights(task: Task, outputs: Floats, weights: Floats, b: float) -> tuple[Floats, float, float]:
    """Minimise the loss over weights ≥ 0 with a sum of 1 or less, and the intercept, from a feasible start.

    Accelerated projected gradient with restarts; the best point that was met is returned.
    """
    center = task.shares @ outputs
    moved = outputs - center
    largest = float(np.linalg.eigvalsh(moved.T @ (task.shares[:, None] * moved))[-1]) if len(weights) else 0.0
    step = 1 / (task.loss.curvature * largest) if largest > 0 else 0.0

    def evaluate(a: Floats, c: float) -> tuple[float, Floats]:
        z = (moved @ a + c)[:, None]
        return float(task.shares @ task.loss.values(z, task.Y)), task.shares * task.loss.derivatives(z, task.Y)[:, 0]

    a, c = weights, b + float(center @ weights)
    best = (evaluate(a, c)[0], a, c)
    u, v, momentum = a, c, 1.0
    for _ in range(INNER):
        _, rho = evaluate(u, v)
        new, intercept = in_simplex(u - step * (moved.T @ rho)), v - float(rho.sum()) / task.loss.curvature
        change = np.append(new - a, intercept - c)
        if np.append(u - new, v - intercept) @ change > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (momentum - 1) / following
        u, v = new + ahead * (new - a), intercept + ahead * (intercept - c)
        a, c, momentum = new, intercept, following
        if np.abs(change).max() <= 1e-12 * (1 + abs(c)):
            break
    value = evaluate(a, c)[0]
    if value < best[0]:
        best = (value, a, c)
    return best[1], best[2] - float(center @ best[1]), best[0]


def in_simplex(a: Floats) -> Floats:
    """Nearest weights ≥ 0 with a sum of 1 or less.

    Examples
    --------
    >>> in_simplex(np.array([0.9, 0.5, -1.0])), in_simplex(np.array([0.1, -0.2]))
    (array([0.7, 0.3, 0. ]), array([0.1, 0. ]))
    """
    positive = np.maximum(a, 0.0)
    if positive.sum() <= 1:
        return positive
    descending = np.sort(a)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(a) + 1)
    return np.maximum(a - excess[np.flatnonzero(descending > excess)[-1]], 0.0)
