"""Dual problems of support vector machines: what is asked, where a solver stands, and what it found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.typing import Array, Floats, Indices


@dataclass(frozen=True, eq=False)
class Problem:
    """min ½ αᵀ Q α + pᵀ α with Q_ij = y_i y_j k(x_i, x_j), 0 ≤ α ≤ C and yᵀ α as at the start.

    Parameters
    ----------
    samples
        Position in the Gram matrix of each variable's sample, (n,); samples may repeat.
    signs, bounds, linear
        y = ±1, C and p of each variable, (n,).
    start
        α to start from, (n,); zeros by default.
    means, grand, scale
        The kernel is k(x_i, x_j) = (K_ij − r_i − r_j + g) / (s_i s_j): centred on some samples and scaled, (n,), a
        number and (n,). The values as they are by default.
    """

    samples: Indices
    signs: Floats
    bounds: Floats
    linear: Floats
    start: Floats | None = None
    means: Floats | None = None
    grand: float = 0.0
    scale: Floats | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """What `solve` found for a problem.

    Parameters
    ----------
    alpha
        Coefficients, (n,).
    offset
        ρ: the decision for a sample x is Σ_i y_i α_i k(x_i, x) − ρ.
    objective, gap
        Value of the minimised objective, and by how much it may lie above the minimum: with the gradient G and
        d = G − ρ y, Σ_i max(α_i d_i, (α_i − C_i) d_i); the difference of primal and dual.
    violation
        Largest violation of the optimality conditions.
    converged
        Whether that is within the tolerance.
    iterations
        Pairs of coefficients that were changed.
    passes, bytes_read
        Passes over the matrix until this problem was solved, and bytes read from storage in them; problems share them.
    objectives
        The objective after each round.
    """

    alpha: Floats
    offset: float
    objective: float
    gap: float
    violation: float
    converged: bool
    iterations: int
    passes: int
    bytes_read: int
    objectives: tuple[float, ...]


class State:
    """Where a problem stands: α, and F, y times the gradient."""

    def __init__(self, problem: Problem) -> None:
        n = len(problem.samples)
        self.samples = np.ascontiguousarray(problem.samples, dtype=np.int64)
        self.signs, self.bounds, self.linear = (
            np.ascontiguousarray(values, dtype=np.float64) for values in (problem.signs, problem.bounds, problem.linear)
        )
        self.means = np.zeros(n) if problem.means is None else np.ascontiguousarray(problem.means, dtype=np.float64)
        self.scale = np.ones(n) if problem.scale is None else np.ascontiguousarray(problem.scale, dtype=np.float64)
        self.grand = float(problem.grand)
        self.has_start = problem.start is not None
        self.is_new = not self.has_start
        self.alpha = np.zeros(n) if problem.start is None else np.array(problem.start, dtype=np.float64)
        self.F = self.signs * self.linear
        self.iterations, self.passes, self.bytes_read = 0, 0, 0
        self.objectives: list[float] = []

    def follow(self, before: State | None) -> None:
        """Start from the solution before in proportion, if this problem is that one but for bounds larger by a factor.

        With larger bounds, coefficients at theirs mostly stay there, and the others grow too.
        """
        if before is None or not self.is_new or before.has_start or not self._is_like(before):
            return
        factor = float((self.bounds / before.bounds).max())
        self.alpha = np.where(
            before.alpha >= before.bounds, self.bounds, np.minimum(factor * before.alpha, self.bounds)
        )
        constant = self.signs * self.linear
        self.F, self.is_new = constant + factor * (before.F - constant), False

    def _is_like(self, other: State) -> bool:
        """Whether the other problem differs by its bounds alone, which are smaller by one factor."""
        mine, theirs = ((s.signs, s.linear) for s in (self, other))
        alike = self.sees_as(other) and all(_equal(a, b) for a, b in zip(mine, theirs, strict=True))
        if not alike or not (other.bounds > 0).all():
            return False
        factors = self.bounds / other.bounds
        return bool(factors.min() >= 1 and np.allclose(factors, factors[0], rtol=1e-12, atol=0))

    def sees_as(self, other: State) -> bool:
        """Whether another problem has the same samples, and sees the same kernel values between them."""
        mine, theirs = ((s.samples, s.means, s.scale) for s in (self, other))
        return self.grand == other.grand and all(_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    def vector(self, at: Indices | None, size: int) -> Floats:
        """The vector to multiply the matrix by for the gradient, (size,); ``at`` is the row of each sample."""
        rows = self.samples if at is None else at[self.samples]
        return np.bincount(rows, self.signs * self.alpha / self.scale, minlength=size).astype(np.float64, copy=False)

    def receive(self, product: Floats) -> None:
        """Take the gradient from the product of the matrix with the vector, at the samples of the variables."""
        v = self.signs * self.alpha / self.scale
        total, shift = v.sum(), v @ self.means
        values = (product - self.means * total - shift + self.grand * total) / self.scale
        self.F = values + self.signs * self.linear
        self.is_new = False

    def note(self) -> None:
        """Remember the objective of this round."""
        self.objectives.append(self.objective())

    def urgency(self) -> Floats:
        """By how much each variable violates the conditions, in terms of the largest violation; negative for slack."""
        low, high = self.extremes()
        rising, falling = self.sides()
        most = np.maximum(np.where(rising, high - self.F, -np.inf), np.where(falling, self.F - low, -np.inf))
        return most / max(high - low, np.finfo(np.float64).tiny)

    def sides(self) -> tuple[Array, Array]:
        """Which variables may grow along their sign, and which may shrink."""
        below, above = self.alpha < self.bounds, self.alpha > 0
        return np.where(self.signs > 0, below, above), np.where(self.signs > 0, above, below)

    def extremes(self) -> tuple[float, float]:
        """Least F of what may grow, and largest of what may shrink."""
        rising, falling = self.sides()
        return float(self.F[rising].min(initial=np.inf)), float(self.F[falling].max(initial=-np.inf))

    def violation(self) -> float:
        """How far the conditions are violated at most."""
        low, high = self.extremes()
        return max(high - low, 0.0)

    def objective(self) -> float:
        """½ αᵀ Q α + pᵀ α."""
        return float(0.5 * self.alpha @ (self.signs * self.F + self.linear))

    def solution(self, tol: float) -> Solution:
        """What has been found."""
        low, high = self.extremes()
        free = (self.alpha > 0) & (self.alpha < self.bounds)
        middle = [value for value in (low, high) if np.isfinite(value)]
        offset = float(self.F[free].mean()) if free.any() else float(np.mean(middle or [0.0]))
        slack = self.signs * (self.F - offset)
        gap = float(np.maximum(self.alpha * slack, (self.alpha - self.bounds) * slack).sum())
        violation, objective = max(high - low, 0.0), self.objective()
        return Solution(
            self.alpha,
            offset,
            objective,
            gap,
            violation,
            violation <= tol,
            self.iterations,
            self.passes,
            self.bytes_read,
            tuple(self.objectives or [objective]),
        )


def _equal(left: Array, right: Array) -> bool:
    return left is right or np.array_equal(left, right)
