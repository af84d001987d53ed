"""Linear models of quantile-normalised samples whose target is learned with them.

    min over W, b, f ∈ F   Σ_i s_i l(z_i, y_i) + λ ‖W‖² + penalty(f),   z_ic = w_cᵀ Π_{x_i} f + b_c,

with shares s_i of the samples, Σ s_i = 1 (1/m each without weights), and a set F of `target_sets`. The objective is
convex in (W, b) and in (f, b), not in all of them. Algorithm 2 minimises it in (W, b) at a given target, then in
(f, b), and so on. Each of these steps ends where the objective is not higher than it was.

The step in f is accelerated proximal gradient descent. With v_i = Π_{x_i}ᵀ w, centred to v_i − v̄ and a moved intercept,
the second derivative is block diagonal, and the step for f is 1/L with L = l'' ‖V − v̄‖² (largest singular value, by
Lanczos). It restarts when (u − f_new)ᵀ(f_new − f_old) > 0.

After it, f and W are scaled to s f and W/s, which changes no output, with the s of the least objective such that f
stays in the ball: ‖f‖ = √p where there is no penalty. Where f is constant, or W is zero, the ranks explain nothing: the
first target is kept, and the model says so.

Source: Vert's slides on supervised quantile normalisation (SUQUAN), Algorithm 2 and "From QN to supervised QN"; the
intercept is optimised with f, which the slides leave fixed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from distkern.core.typing import Floats
from distkern.solvers.lbfgs import minimise
from distkern.solvers.rank_requests import Algorithm, Request, Sums
from distkern.solvers.target_losses import Loss
from distkern.solvers.target_sets import TargetSet, at_radius

LANCZOS = 10
"""Passes that the largest singular value takes."""

ROUNDING = 1e-14
"""Norm of the gradient that is zero but for rounding."""

NEGLIGIBLE = 1e-10
"""Norm of W or of f/√p, relative to what it might be, below which it explains nothing."""


@dataclass(frozen=True)
class Task:
    """What is fitted to: loss, responses (m, K), shares of the samples (m,) that sum to 1, and λ.

    ``tol`` is the norm of the gradient at the end relative to that of the constant model; ``most`` the largest number
    of iterations of each step.
    """

    loss: Loss
    Y: Floats
    shares: Floats
    lam: float
    tol: float = 1e-6
    most: int = 500


@dataclass(frozen=True)
class Fitted:
    """A model: W (p, K), b (K,), f (p,), the objective after each step, and how it went."""

    W: Floats
    b: Floats
    f: Floats
    objective: tuple[float, ...]
    converged: bool = True
    degenerate: bool = False


@dataclass
class _At:
    """Value of the loss at a point, derivatives by the outputs (m, K), and the sums of a pass."""

    loss: float
    rho: Floats
    by_feature: Floats | None
    by_rank: Floats | None
    Z: Floats = field(repr=False)


def _evaluate(task: Task, W: Floats, b: Floats, f: Floats, **wanted: bool) -> Algorithm[_At]:
    """Loss and gradients at (W, b, f) in one pass; the sum by rank is over the outputs."""
    m, K = task.Y.shape
    losses, rho, outputs = np.empty(m), np.empty((m, K)), np.empty((m, K))

    def respond(rows: slice, Z: Floats) -> Floats:
        outputs[rows] = Z + b
        losses[rows] = task.loss.values(outputs[rows], task.Y[rows])
        rho[rows] = task.shares[rows, None] * task.loss.derivatives(outputs[rows], task.Y[rows])
        return rho[rows]

    sums: Sums = yield Request(W, _columns(f, K), respond, **wanted)
    by_rank = None if sums[1] is None else sums[1].sum(axis=1)
    used = task.shares > 0  # 0 · ∞ is no number
    return _At(float(task.shares[used] @ losses[used]), rho, sums[0], by_rank, outputs)


def _columns(f: Floats, K: int) -> Floats:
    return np.repeat(f[:, None], K, axis=1)


def _mean_features(task: Task, f: Floats) -> Algorithm[Floats]:
    """Σ_i s_i Π_{x_i} f, (p,)."""
    column = f[:, None]
    sums: Sums = yield Request(np.zeros_like(column), column, lambda rows, Z: task.shares[rows, None], by_feature=True)
    assert sums[0] is not None
    return sums[0][:, 0]


def outputs_of(fitted: Fitted, m: int) -> Algorithm[Floats]:
    """Outputs of a model for all m samples of the store, (m, K)."""
    outputs = np.empty((m, fitted.W.shape[1]))

    def respond(rows: slice, Z: Floats) -> Floats:
        outputs[rows] = Z + fitted.b
        return Z

    _: Sums = yield Request(fitted.W, _columns(fitted.f, fitted.W.shape[1]), respond)
    return outputs


# The step in W --------------------------------------------------------------------------------------------------------


def fit_weights(task: Task, f: Floats, start: tuple[Floats, Floats] | None = None) -> Algorithm[Fitted]:
    """Minimise the objective in (W, b) at a target f, from ``start`` or from W = 0; ``objective`` holds the end only.

    Features are centred, which moves only the intercept, and the target is scaled to the norm √p meanwhile.
    """
    p, K = len(f), task.Y.shape[1]
    shift = float(f.mean())
    unit = at_radius(f)
    scale = float(np.linalg.norm(f - shift)) / math.sqrt(p) if unit.any() else 1.0
    mean = yield from _mean_features(task, unit)
    lam = task.lam / scale**2

    def function(point: Floats) -> Generator[Any, Any, tuple[float, Floats]]:
        W, b = point[:-K].reshape(p, K), point[-K:]
        at = yield from _evaluate(task, W, b - mean @ W, unit, by_feature=True)
        total = at.rho.sum(axis=0)
        gradient = at.by_feature - np.outer(mean, total) + 2 * lam * W
        return at.loss + lam * float((W * W).sum()), np.concatenate([gradient.ravel(), total])

    origin = np.zeros(p * K + K)
    _, slopes = yield from function(origin)
    small = max(task.tol * float(np.linalg.norm(slopes)), ROUNDING)  # where W = 0 is the minimum, it is rounding
    if start is not None:
        W, b = start
        origin = np.concatenate([(W * scale).ravel(), b + shift * W.sum(axis=0) + mean @ W * scale])
    found = yield from minimise(function, origin, small, task.most)
    W, b = found.point[:-K].reshape(p, K), found.point[-K:]
    b = b - mean @ W
    W = W / scale
    return Fitted(W, b - shift * W.sum(axis=0), f, (found.value,), found.converged)


WeightStep = Callable[[Task, Floats, tuple[Floats, Floats] | None], Algorithm[Fitted]]
"""What `fit_weights` does, or another algorithm for the same minimum."""


# The step in f --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """How the features of the step in f, v_i = Π_{x_i}ᵀ w, spread: their means v̄, (p, K), and ‖V − v̄‖²."""

    means: Floats
    largest: float


def spread_of(task: Task, W: Floats) -> Algorithm[Spread]:
    """Find the spread at W; it does not depend on the set of f."""
    shares = np.repeat(task.shares[:, None], W.shape[1], axis=1)
    sums: Sums = yield Request(W, np.zeros(W.shape), lambda rows, Z: shares[rows], by_rank=True)
    assert sums[1] is not None
    return Spread(sums[1], (yield from _largest(task, W, sums[1])))


def fit_target(
    task: Task, within: TargetSet, model: Fitted, spread: Spread | None = None
) -> Algorithm[tuple[Floats, Floats]]:
    """Minimise the objective in (f, b) at the W of a model, from its f and b; return both.

    ``spread`` is that of its W, if it is known.
    """
    W, p = model.W, len(model.f)
    spread = (yield from spread_of(task, W)) if spread is None else spread
    means, curvature = spread.means, task.loss.curvature * spread.largest
    if curvature <= 0:
        return model.f, model.b
    step, f, b = 1 / curvature, model.f, model.b + means.T @ model.f
    u, v, momentum = f, b, 1.0
    for _ in range(task.most):
        at = yield from _evaluate(task, W, v - means.T @ u, u, by_rank=True)
        total = at.rho.sum(axis=0)
        new = within.proximal(u - step * (at.by_rank - means @ total), step)
        intercept = v - total / task.loss.curvature
        moved = float(np.linalg.norm(new - f))
        if moved <= math.sqrt(task.tol) * 1e-2 * math.sqrt(p) and momentum > 1:
            f, b = new, intercept
            break
        if (u - new) @ (new - f) > 0:
            momentum = 1.0
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (momentum - 1) / following
        u, v = new + ahead * (new - f), intercept + ahead * (intercept - b)
        f, b, momentum = new, intercept, following
    return f, b - means.T @ f


def _largest(task: Task, W: Floats, means: Floats) -> Algorithm[float]:
    """Largest eigenvalue of Σ_i s_i Σ_c (v_ic − v̄_c)(v_ic − v̄_c)ᵀ by Lanczos, with its residual added."""
    p, K = W.shape
    vector = np.cos(np.arange(p) * 2.399963)  # any start that is nothing special, and the same every time
    basis, diagonal, beside = [(vector - vector.mean()) / np.linalg.norm(vector - vector.mean())], [], []
    for _ in range(min(LANCZOS, p - 1)):
        last = basis[-1]
        moved = means.T @ last
        respond = _weighted(task.shares, moved)
        sums: Sums = yield Request(W, _columns(last, K), respond, by_rank=True)
        assert sums[1] is not None
        image = sums[1].sum(axis=1)  # the mean of ρ is zero, so that v̄ drops out
        diagonal.append(float(last @ image))
        for one in (*basis, *basis):
            image = image - (one @ image) * one
        beside.append(float(np.linalg.norm(image)))
        if beside[-1] <= 1e-12 * max(abs(one) for one in diagonal) or not np.isfinite(beside[-1]):
            break
        basis.append(image / beside[-1])
    size = len(diagonal)
    values, vectors = np.linalg.eigh(
        np.diag(diagonal) + np.diag(beside[: size - 1], 1) + np.diag(beside[: size - 1], -1)
    )
    return float(max(values[-1], 0.0) + beside[-1] * abs(vectors[-1, -1]))


def _weighted(shares: Floats, moved: Floats) -> Callable[[slice, Floats], Floats]:
    return lambda rows, Z: shares[rows, None] * (Z - moved)


# Algorithm 2 ----------------------------------------------------------------------------------------------------------


def alternate(
    task: Task,
    within: TargetSet,
    first: Fitted,
    n_iter: int,
    spread: Spread | None = None,
    refit: WeightStep = fit_weights,
) -> Algorithm[Fitted]:
    """Alternate steps in f and in W, from a model whose W is fitted and whose f lies in the set.

    ``spread`` is that of its W, if it is known, and ``refit`` the step in W. The objective after each pair of steps is
    appended; it never increases.
    """
    model = replace(first, objective=(first.objective[-1] + within.penalty(first.f),))
    p = len(first.f)
    for _ in range(n_iter):
        if not explains(model):
            return replace(first, objective=model.objective, degenerate=True)
        f, b = yield from fit_target(task, within, model, spread)
        spread = None
        if not np.linalg.norm(f) > NEGLIGIBLE * math.sqrt(p):
            return replace(first, objective=model.objective[:1], degenerate=True)
        scale = _scale(task, within, model.W, f)
        new = yield from refit(task, scale * f, (model.W / scale, b))
        value = new.objective[-1] + within.penalty(new.f)
        if value > model.objective[-1]:  # only by rounding, at a minimum
            return replace(model, objective=(*model.objective, model.objective[-1]))
        model = replace(new, objective=(*model.objective, value))
    return model


def explains(model: Fitted) -> bool:
    """Whether W differs from zero."""
    return bool(np.linalg.norm(model.W) * np.linalg.norm(model.f) > NEGLIGIBLE)


def _scale(task: Task, within: TargetSet, W: Floats, f: Floats) -> float:
    """Minimise λ ‖W‖²/s² + penalty(s f) over s from 1 to where s f leaves the ball."""
    most = max(1.0, math.sqrt(len(f)) / float(np.linalg.norm(f)))
    weights, rough = task.lam * float((W * W).sum()), within.penalty(f)
    return most if rough == 0 else min(most, max(1.0, (weights / rough) ** 0.25))
