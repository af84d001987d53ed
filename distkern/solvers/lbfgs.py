"""Minimisation of a smooth convex function by L-BFGS, as a generator.

The function is a generator too: it yields what it asks for, and returns its value and its gradient. So many problems
can take turns, and share the work that they ask for.

Source: Nocedal and Wright, "Numerical optimization" (2006), algorithm 7.4, with backtracking.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.typing import Floats

PAIRS = 12
"""Number of steps that are remembered."""

DECREASE = 1e-4
"""Part of the decrease that the slope promises, which a step must give."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative change of the value that may be rounding; the slope then decides about a step."""

HALVINGS = 40
"""Most times that a step is shortened."""

Evaluation = Generator[Any, Any, tuple[float, Floats]]


@dataclass(frozen=True)
class Minimum:
    """What was found: the point, values at the start and at the end, the gradient, and whether it is small."""

    point: Floats
    first: float
    value: float
    gradient: Floats
    converged: bool


def minimise(
    function: Callable[[Floats], Evaluation], start: Floats, small: float, most: int
) -> Generator[Any, Any, Minimum]:
    """Minimise until the gradient's norm is ``small``, relative to that at the start if negative, or ``most`` steps.

    The value never increases.
    """
    point = start
    value, gradient = yield from function(point)
    first, limit = value, small if small >= 0 else -small * float(np.linalg.norm(gradient))
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=PAIRS)
    for _ in range(most):
        norm = float(np.linalg.norm(gradient))
        if norm <= limit:
            return Minimum(point, first, value, gradient, True)
        direction = _direction(gradient, pairs)
        slope = float(gradient @ direction)
        if slope >= 0:
            pairs.clear()
            direction, slope = -gradient, -norm * norm
        length = 1.0 if pairs else min(1.0, 1.0 / norm)
        for _ in range(HALVINGS):
            trial = point + length * direction
            found, slopes = yield from function(trial)
            falls = found <= value + DECREASE * length * slope
            if falls or (found <= value + ROUNDING * abs(value) and abs(float(slopes @ direction)) <= -0.5 * slope):
                break
            curved = found - value - length * slope
            length *= min(0.5, max(0.1, -slope * length / (2 * curved))) if np.isfinite(curved) else 0.1
        else:  # rounding hides any decrease
            return Minimum(point, first, value, gradient, norm <= 1e3 * limit)
        step, change = trial - point, slopes - gradient
        inner = float(step @ change)
        if inner > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            pairs.append((step, change, inner))
        point, value, gradient = trial, min(found, value), slopes
    return Minimum(point, first, value, gradient, False)


def _direction(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """−H g, with H the approximate inverse of the second derivative."""
    direction, factors = -gradient, []
    for step, change, inner in reversed(pairs):
        factor = float(step @ direction) / inner
        direction = direction - factor * change
        factors.append(factor)
    if pairs:
        _, change, inner = pairs[-1]
        direction = direction * (inner / float(change @ change))
    for (step, change, inner), factor in zip(pairs, reversed(factors), strict=True):
        direction = direction + (factor - float(change @ direction) / inner) * step
    return direction
