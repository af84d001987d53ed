"""Pairwise ranking losses on a Gram matrix: min ½ βᵀKβ + C · mean over pairs of ℓ(f_i − f_j), with f = Kβ.

A pair (i, j) consists of two samples of the same group with y_i > y_j. Computing the loss and its gradient takes
O(m log m), for any number of pairs. The hinge loss is minimised by cutting planes, the squared hinge loss by Newton's
method with conjugate gradients (`newton_cg`). Both need one product with the matrix a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.compiled.preferences import simplex_ascent, sums_of_overtaken, sums_of_overtakers
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.solvers.definite import largest_diagonal, names, refuse_negative, refuse_negative_diagonal
from distkern.solvers.losses import Product
from distkern.solvers.newton_cg import Problem, minimize

TOWARDS = 0.1
"""Step from the best point towards the minimum of the cutting-plane model, as in OCAS."""

BISECTIONS = 40
"""Number of bisections in a line search."""


@dataclass(frozen=True, eq=False)
class PairSolution:
    """Solution of a pairwise ranking problem.

    Parameters
    ----------
    coefficients
        β, (m,).
    objective
        ½ βᵀKβ + C · mean loss.
    gap
        Hinge: difference between the objective and its lower bound by the cutting planes. Squared hinge: norm of the
        gradient in function space, relative to its norm at 0.
    converged
        Whether the gap is within the tolerance, which is relative to the objective for the hinge loss.
    iterations, passes
        Cutting planes or Newton steps, and passes over the matrix.
    history
        Objective after each iteration; it never increases.
    """

    coefficients: Floats
    objective: float
    gap: float
    converged: bool
    iterations: int
    passes: int
    history: tuple[float, ...]


class Pairs:
    """Pairs of samples of the same group with different targets.

    Parameters
    ----------
    targets
        y, (m,).
    groups
        Group of each sample, (m,); one group by default.
    lower
        Which samples may be the one of the lower target, (m,); all by default. In survival analysis these are the
        samples with an event, and the targets are times.

    Raises
    ------
    InputError
        If there is no such pair.

    Examples
    --------
    >>> pairs = Pairs(np.array([1.0, 2.0, 2.0]))
    >>> pairs.count, pairs.hinge(np.zeros(3))
    (2, (1.0, array([ 1. , -0.5, -0.5])))
    """

    def __init__(self, targets: Floats, groups: Array | None = None, lower: Array | None = None) -> None:
        self._mask = None if lower is None else np.asarray(lower, dtype=np.float64)[:, None]
        numbers = np.zeros(len(targets), dtype=np.intp) if groups is None else np.unique(groups, return_inverse=True)[1]
        order = np.argsort(numbers, kind="stable")
        cuts = np.flatnonzero(np.diff(numbers[order])) + 1
        self._parts: list[tuple[Indices, Indices]] = []
        self.count = 0
        for part in np.split(order, cuts):
            levels = np.unique(targets[part], return_inverse=True)[1].astype(np.intp)
            sizes = np.bincount(levels)
            if len(sizes) > 1:
                self._parts.append((part, levels))
                own = sizes if lower is None else np.bincount(levels[np.asarray(lower)[part]], minlength=len(sizes))
                higher = len(part) - np.cumsum(sizes.astype(np.int64))
                self.count += int(own.astype(np.int64) @ higher)
        if self.count == 0:
            raise InputError("no two samples of one group have unlike targets: there is no pair to rank")

    def _sums(self, f: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Sums of ``values`` over pairs with f_i − f_j < 1: over j for each i, and over i for each j, (m, columns)."""
        lower, upper = np.zeros_like(values), np.zeros_like(values)
        masked = values if self._mask is None else self._mask * values
        for part, levels in self._parts:
            scores, inside, counted = f[part], np.ascontiguousarray(values[part]), np.ascontiguousarray(masked[part])
            order, thresholds, out = np.argsort(-scores, kind="stable"), scores - 1.0, np.empty_like(inside)
            sums_of_overtakers(levels, order, scores, thresholds, counted, True, out)
            lower[part] = out
            sums_of_overtaken(levels, order, scores, thresholds, inside, out)
            upper[part] = out
        return lower, upper if self._mask is None else self._mask * upper

    def hinge(self, f: Floats) -> tuple[float, Floats]:
        """Mean of max(0, 1 − (f_i − f_j)) and a subgradient, (m,)."""
        lower, upper = self._sums(f, np.column_stack([np.ones(len(f)), f]))
        loss = lower[:, 0] @ (1 - f) + lower[:, 1].sum()
        return max(float(loss), 0.0) / self.count, (upper[:, 0] - lower[:, 0]) / self.count

    def squared_hinge(self, f: Floats) -> tuple[float, Floats]:
        """Mean of max(0, 1 − (f_i − f_j))² and its gradient, (m,)."""
        lower, upper = self._sums(f, np.column_stack([np.ones(len(f)), f, f**2]))
        room = 1 - f
        loss = lower[:, 0] @ room**2 + 2 * lower[:, 1] @ room + lower[:, 2].sum()
        gradient = upper[:, 0] * (1 + f) - upper[:, 1] - lower[:, 0] * room - lower[:, 1]
        return max(float(loss), 0.0) / self.count, 2 * gradient / self.count

    def curvature(self, f: Floats, V: Floats) -> Floats:
        """Product of the generalised second derivative of the mean squared hinge at f with V, (m,) or (m, columns)."""
        columns = V.reshape(len(f), -1)
        lower, upper = self._sums(f, np.column_stack([np.ones(len(f)), columns]))
        product = (lower[:, :1] + upper[:, :1]) * columns - lower[:, 1:] - upper[:, 1:]
        return 2 * product.reshape(V.shape) / self.count


def solve_hinge(gram: BaseGram, pairs: Pairs, C: float, *, tol: float = 1e-3, max_iter: int = 300) -> PairSolution:
    """Minimise with the hinge loss by cutting planes, which bound the gap to the minimum in every step.

    Franc and Sonnenburg, "Optimized cutting plane algorithm for large-scale risk minimization", JMLR 10 (2009).

    Raises
    ------
    InputError
        If the matrix is not positive semidefinite, or a value is not finite.
    """
    m, largest = gram.shape[0], largest_diagonal(gram)
    _refuse_large(C, largest)
    refuse_negative_diagonal(gram.diag(), largest, names(gram))
    slopes, images, offsets = np.zeros((m, 0)), np.zeros((m, 0)), np.zeros(0)
    inner, shares = np.zeros((0, 0)), np.zeros(0)
    beta, f, cut = np.zeros(m), np.zeros(m), np.zeros(m)
    best, bound, history = float("inf"), -float("inf"), []
    for iteration in range(1, max_iter + 1):
        loss, slope = pairs.hinge(cut)
        if iteration == 1:
            best = C * loss
        image = finite(gram.matmat(slope))
        cross = slopes.T @ image
        inner = np.block([[inner, cross[:, None]], [cross[None, :], np.array([[_square(slope, image, largest)]])]])
        slopes, images = np.column_stack([slopes, slope]), np.column_stack([images, image])
        offsets = np.append(offsets, loss - slope @ cut)
        shares = np.append(shares, 0.0 if iteration > 1 else 1.0)
        shares = simplex_ascent(C * offsets, C**2 * inner, shares)
        bound = max(bound, float(C * offsets @ shares - 0.5 * C**2 * shares @ inner @ shares))
        model_beta, model_f = -C * slopes @ shares, -C * images @ shares
        beta, f = _along(pairs, C, beta, f, model_beta - beta, model_f - f)
        best = min(best, float(0.5 * beta @ f + C * pairs.hinge(f)[0]))
        history.append(best)
        if best - bound <= tol * best:
            break
        cut = (1 - TOWARDS) * f + TOWARDS * model_f
    gap = max(best - bound, 0.0)
    return PairSolution(beta, best, gap, gap <= tol * best, iteration, iteration, tuple(history))


def solve_squared_hinge(
    gram: BaseGram, pairs: Pairs, C: float, *, tol: float = 1e-3, max_iter: int = 300
) -> PairSolution:
    """Minimise with the squared hinge loss by Newton's method in function space.

    Chapelle and Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13 (2010).

    Raises
    ------
    InputError
        If the matrix is not positive semidefinite, or a value is not finite.
    """
    largest = largest_diagonal(gram)
    _refuse_large(C, largest)
    refuse_negative_diagonal(gram.diag(), largest, names(gram))
    problem = Problem(_SquaredHinge(pairs), 1.0 / C, intercept=False)
    [found] = minimize(gram.matmat, [problem], gram.shape[0], largest, tol=tol, max_iter=max_iter)
    history = tuple(C * value for value in found.history[1:])
    return PairSolution(
        found.coefficients[:, 0],
        C * found.objective,
        found.residual,
        found.converged,
        max(found.iterations, 1),
        found.passes,
        history,
    )


class _SquaredHinge:
    """Mean squared hinge loss on pairs, as a loss of `newton_cg`."""

    columns, total = 1, 1.0

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def intercept(self) -> Floats:
        return np.zeros(1)  # a constant does not change any pair

    def value(self, f: Floats) -> float:
        return self._pairs.squared_hinge(f[:, 0])[0]

    def gradient(self, f: Floats) -> Floats:
        return self._pairs.squared_hinge(f[:, 0])[1][:, None]

    def curvature(self, f: Floats) -> Product:
        return lambda V: self._pairs.curvature(f[:, 0], V)


def _refuse_large(C: float, largest: float) -> None:
    """Refuse a C whose square times the largest k(x, x) is beyond floating point."""
    if not np.isfinite(float(C) * float(C) * max(largest, 1.0)):
        raise InputError(f"C={C:.3g} with k(x, x) up to {largest:.3g} is beyond what float64 holds: give a smaller C")


def _square(r: Floats, image: Floats, largest: float) -> float:
    """Squared norm rᵀ K r, from r and K r; refuse one that is negative beyond rounding, given the largest k(x, x)."""
    square = float(r @ image)
    refuse_negative(square, float(r @ r), len(r), largest)
    return max(square, 0.0)


def _along(pairs: Pairs, C: float, beta: Floats, f: Floats, step: Floats, step_image: Floats) -> tuple[Floats, Floats]:
    """Line search over β + t d, t ≥ 0, by bisection of the slope; t = 0 if no step decreases the objective."""
    linear, quadratic = float(step @ f), float(step @ step_image)

    def slope(t: float) -> float:
        return linear + t * quadratic + C * float(step_image @ pairs.hinge(f + t * step_image)[1])

    def value(t: float) -> float:
        return t * linear + 0.5 * t**2 * quadratic + C * float(pairs.hinge(f + t * step_image)[0])

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 2.0**20:
        low, high = high, 2 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    t = min((0.0, low, high), key=value)
    return beta + t * step, f + t * step_image
