"""Dual problems of support vector machines: problem, state of the solver, and solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.solvers.definite import refuse_negative


@dataclass(frozen=True, eq=False)
class Problem:
    """min ½ αᵀ Q α + pᵀ α subject to 0 ≤ α ≤ C and yᵀ α = yᵀ α₀, with Q_ij = y_i y_j k(x_i, x_j).

    Parameters
    ----------
    samples
        Position in the Gram matrix of the sample of each variable, (n,); samples may repeat.
    signs, bounds, linear
        y = ±1, C and p of each variable, (n,).
    start
        Initial coefficients α₀, (n,); zeros by default.
    means, grand, scale
        r, (n,), g, a number, and s, (n,), of a centred and scaled kernel k(x_i, x_j) = (K_ij − r_i − r_j + g) / (s_i
        s_j). By default k = K.
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
    """Solution of a dual problem.

    Parameters
    ----------
    alpha
        Coefficients, (n,).
    offset
        ρ in the decision function Σ_i y_i α_i k(x_i, x) − ρ.
    objective, gap
        Value of the minimised objective, and the duality gap Σ_i max(α_i d_i, (α_i − C_i) d_i), where d = G − ρ y and G
        is the gradient.
    violation
        Largest violation of the optimality conditions.
    converged
        Whether the violation is within the tolerance.
    iterations
        Number of changed pairs of coefficients.
    passes, bytes_read
        Passes over the matrix until this problem was solved, and bytes read in them; all problems share these passes.
    objectives
        Objective after each round.
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
    """State of the solver for one problem: the coefficients α, and F = y · gradient."""

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

    def warm_start(self, before: State | None) -> None:
        """Start from the scaled solution of another problem, if the two differ only by a common factor of the bounds.

        When bounds grow, coefficients at their bounds mostly stay at their bounds, and the others grow too.
        """
        if before is None or not self.is_new or before.has_start or not self._is_scaled(before):
            return
        factor = float((self.bounds / before.bounds).max())
        self.alpha = np.where(
            before.alpha >= before.bounds, self.bounds, np.minimum(factor * before.alpha, self.bounds)
        )
        constant = self.signs * self.linear
        self.F, self.is_new = constant + factor * (before.F - constant), False

    def _is_scaled(self, other: State) -> bool:
        """Whether the problems differ only in their bounds, by a common factor of at least 1."""
        mine, theirs = ((s.signs, s.linear) for s in (self, other))
        alike = self.has_kernel_of(other) and all(_equal(a, b) for a, b in zip(mine, theirs, strict=True))
        if not alike or not (other.bounds > 0).all():
            return False
        factors = self.bounds / other.bounds
        return bool(factors.min() >= 1 and np.allclose(factors, factors[0], rtol=1e-12, atol=0))

    def has_kernel_of(self, other: State) -> bool:
        """Whether both problems have the same samples and the same kernel values between them."""
        mine, theirs = ((s.samples, s.means, s.scale) for s in (self, other))
        return self.grand == other.grand and all(_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    def vector(self, at: Indices | None, size: int) -> Floats:
        """Vector (size,) whose product with the matrix gives the gradient; ``at`` is the row of each sample."""
        rows = self.samples if at is None else at[self.samples]
        return np.bincount(rows, self.signs * self.alpha / self.scale, minlength=size).astype(np.float64, copy=False)

    def set_gradient(self, product: Floats) -> None:
        """Set the gradient from the product of the matrix with `vector`, at the samples of the variables."""
        v = self.signs * self.alpha / self.scale
        total, shift = v.sum(), v @ self.means
        values = (product - self.means * total - shift + self.grand * total) / self.scale
        self.F = values + self.signs * self.linear
        self.is_new = False

    def record_objective(self) -> None:
        """Append the current objective to the history."""
        self.objectives.append(self.objective())

    def relative_violations(self) -> Floats:
        """Violation of the optimality conditions by each variable, relative to the largest; negative if satisfied."""
        low, high = self.extremes()
        rising, falling = self.directions()
        most = np.maximum(np.where(rising, high - self.F, -np.inf), np.where(falling, self.F - low, -np.inf))
        return most / max(high - low, np.finfo(np.float64).tiny)

    def directions(self) -> tuple[Array, Array]:
        """Masks of the variables for which y α can increase, and for which it can decrease."""
        below, above = self.alpha < self.bounds, self.alpha > 0
        return np.where(self.signs > 0, below, above), np.where(self.signs > 0, above, below)

    def extremes(self) -> tuple[float, float]:
        """Least F among variables that can increase, and largest F among variables that can decrease."""
        rising, falling = self.directions()
        return float(self.F[rising].min(initial=np.inf)), float(self.F[falling].max(initial=-np.inf))

    def violation(self) -> float:
        """Largest violation of the optimality conditions."""
        low, high = self.extremes()
        return max(high - low, 0.0)

    def objective(self) -> float:
        """½ αᵀ Q α + pᵀ α."""
        return float(0.5 * self.alpha @ (self.signs * self.F + self.linear))

    def refuse_negative_curvature(self, largest: float) -> None:
        """Refuse a matrix for which αᵀ Q α is too negative for rounding, given its largest k(x, x)."""
        curvature = float(self.alpha @ (self.signs * self.F - self.linear))
        refuse_negative(curvature, float(((self.alpha / self.scale) ** 2).sum()), len(self.alpha), largest)

    def is_view(self) -> bool:
        """Whether the kernel is a centred or scaled view of the matrix."""
        return bool(self.grand != 0 or self.means.any() or (self.scale != 1).any())

    def solution(self, tol: float) -> Solution:
        """The solution for the current coefficients.

        Raises
        ------
        InputError
            If it is not finite, because the linear term or the bounds are too large.
        """
        low, high = self.extremes()
        free = (self.alpha > 0) & (self.alpha < self.bounds)
        middle = [value for value in (low, high) if np.isfinite(value)]
        offset = float(self.F[free].mean()) if free.any() else float(np.mean(middle or [0.0]))
        slack = self.signs * (self.F - offset)
        gap = float(np.maximum(self.alpha * slack, (self.alpha - self.bounds) * slack).sum())
        violation, objective = max(high - low, 0.0), self.objective()
        if not np.isfinite([offset, objective, gap]).all() or np.isnan(violation) or np.isposinf(violation):
            raise InputError(
                "the solution has numbers beyond what float64 holds: scale the targets, the weights, C or the kernel "
                "down"
            )
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
