"""The support vector machine of the R package kernlab on a kernel matrix, with its fault.

kernlab solves min ½ αᵀ Q α − Σ αᵢ subject to yᵀ α = 0 and 0 ≤ αᵢ ≤ C, with Qᵢⱼ = yᵢ yⱼ Kᵢⱼ, by the algorithm of LIBSVM
(Chang and Lin, "LIBSVM: a library for support vector machines", 2011): two variables a step by second-order selection
(Fan, Chen and Lin, 2005), rows of Q in single precision that are filled when they are first needed, and *shrinking*:
variables that seem to stay at a bound are swapped to the end and left alone.

The fault: a swap exchanges labels, diagonal and the rows of Q that are already filled, but a value that is filled
later is read as K[i, j] at the *present* places i and j. From then on Q mixes values of different samples. The solution
can be wrong, and the steps need not end.

This module computes what kernlab computed, to explain published numbers. Use `distkern.KernelSVC` for everything else.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from distkern.core.jit import compiled
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.memory import read_matrix
from distkern.operators.base import BaseGram

TOLERANCE = 1e-3
"""Largest violation of the optimality conditions at which kernlab stops."""

LEAST_CURVATURE = 1e-12
"""Curvature of a step along which the objective is not convex."""

STEPS = 100_000
"""Steps after which a fit is given up. Fits that end take a few thousand at most."""

INFINITE = np.inf


class KernlabSVC(ClassifierMixin, BaseEstimator):
    """kernlab's ``ksvm(K, y, type = "C-svc")`` on a kernel matrix K.

    Parameters
    ----------
    C
        Bound of the dual variables.
    second
        The label of the class with the sign +1, the second level of the factor in R; by default the last label. The
        samples of the other class come first. Both determine the steps, and so the wrong solutions.
    faulty
        Read values of K by place, as kernlab does; otherwise by sample.
    max_iter
        Steps after which a fit is given up.

    Attributes
    ----------
    classes_
        The labels, sorted.
    dual_coef_, intercept_
        yᵢ αᵢ (m,) and b of the decision function Σ yᵢ αᵢ k(x, xᵢ) + b.
    objective_
        ½ αᵀ Q α − Σ αᵢ, as the solver believes it to be.
    n_iter_
        Number of steps.

    Examples
    --------
    >>> x = np.array([-3.0, -2.0, 2.0, 3.0])
    >>> model = KernlabSVC(1.0, "b").fit(np.outer(x, x), np.array(["a", "a", "b", "b"]))
    >>> model.predict(np.outer([-1.0, 1.0], x))
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, C: float = 1.0, second: Any = None, faulty: bool = True, max_iter: int = STEPS) -> None:
        self.C = C
        self.second = second
        self.faulty = faulty
        self.max_iter = max_iter

    def fit(self, K: Any, y: Array) -> KernlabSVC:
        """Fit to the training matrix (m, m) and two classes (m,).

        Warns
        -----
        ConvergenceWarning
            If the steps do not end within ``max_iter``.
        """
        self.classes_ = np.unique(y)
        positive = y == (self.classes_[-1] if self.second is None else self.second)
        order = np.concatenate([np.flatnonzero(~positive), np.flatnonzero(positive)])
        signs = np.where(positive[order], 1.0, -1.0)
        matrix = np.ascontiguousarray(_values(K)[np.ix_(order, order)])
        alpha, offset, self.objective_, self.n_iter_ = solve(matrix, signs, float(self.C), self.max_iter, self.faulty)
        self.dual_coef_ = np.zeros(len(y))
        self.dual_coef_[order] = signs * alpha
        self.intercept_ = -offset
        if self.n_iter_ == self.max_iter:
            warnings.warn(ConvergenceWarning(f"kernlab's solver did not end in {self.max_iter:,} steps"), stacklevel=2)
        return self

    def decision_function(self, K: Any) -> Floats:
        """Scores of samples from their kernel values with the training samples, positive for ``second``."""
        return _values(K) @ self.dual_coef_ + self.intercept_

    def predict(self, K: Any) -> Array:
        """Label of each sample."""
        second = self.classes_[-1] if self.second is None else self.second
        first = self.classes_[self.classes_ != second][0]
        return np.where(self.decision_function(K) > 0, second, first)


def _values(K: Any) -> Floats:
    return read_matrix(K) if isinstance(K, BaseGram) else np.asarray(K, dtype=np.float64)


# The solver ----------------------------------------------------------------------------------------------------------


class Dual(NamedTuple):
    """The dual problem and the state of its solution, by place; all arrays have m entries, or m × m.

    Parameters
    ----------
    C
        Largest α.
    K
        Kernel matrix, by sample.
    y, alpha, slope, diagonal
        Sign, α, slope of the objective and K[i, i].
    of_bounded
        The part of the slope that comes from variables at C.
    sample
        The sample at each place.
    read
        Where values of K are read for each place. kernlab's fault is that a place reads at itself.
    rows, filled
        Q, and the length to which each row is filled.
    """

    C: float
    K: Floats
    y: Floats
    alpha: Floats
    slope: Floats
    diagonal: Floats
    of_bounded: Floats
    sample: Indices
    read: Indices
    rows: Array
    filled: Indices


@compiled
def solve(K: Floats, signs: Floats, C: float, max_iter: int, faulty: bool) -> tuple[Floats, float, float, int]:
    """Return α (m,), the offset, the objective and the number of steps."""
    m = len(signs)
    zeros, whole = np.zeros((2, m)), np.zeros((3, m), dtype=np.intp)
    whole[:2] = np.arange(m)
    rows = np.zeros((m, m), dtype=np.float32)
    dual = Dual(
        C, K, signs.copy(), zeros[0], -np.ones(m), np.diag(K).copy(), zeros[1], whole[0], whole[1], rows, whole[2]
    )
    active, all_were_back, steps, wait = m, False, 0, m + 1
    while steps < max_iter:
        wait -= 1
        if wait == 0:
            wait = m
            up, down = _violations(dual, active)
            if not all_were_back and up + down <= 10 * TOLERANCE:
                all_were_back = True
                _restore(dual, active)
                active = m
            active = _shrink(dual, active, up, down, faulty)
        i, j, optimal = _choose(dual, active)
        if optimal:
            _restore(dual, active)
            active = m
            i, j, optimal = _choose(dual, active)
            if optimal:
                break
            wait = 1
        steps += 1
        _step(dual, active, i, j)
    by_sample = np.empty(m)
    by_sample[dual.sample] = dual.alpha
    return by_sample, _offset(dual, active), 0.5 * (dual.alpha * (dual.slope - 1)).sum(), steps


@compiled
def _fill(dual: Dual, i: int, length: int) -> None:
    """Fill the row of place i up to a length; values that it has are not read again."""
    for j in range(dual.filled[i], length):
        dual.rows[i, j] = np.float32(dual.y[i] * dual.y[j] * dual.K[dual.read[i], dual.read[j]])
    dual.filled[i] = max(dual.filled[i], length)


@compiled
def _can_rise(dual: Dual, i: int, sign: float) -> bool:
    """Whether sign · α can become larger."""
    return dual.alpha[i] < dual.C if sign > 0 else dual.alpha[i] > 0


@compiled
def _is_free(dual: Dual, i: int) -> bool:
    return 0 < dual.alpha[i] < dual.C


@compiled
def _violations(dual: Dual, active: int) -> tuple[float, float]:
    """Return the largest −y G where y α can rise, and the largest y G where it can fall; G is the slope."""
    up = down = -INFINITE
    for i in range(active):
        if _can_rise(dual, i, dual.y[i]):
            up = max(up, -dual.y[i] * dual.slope[i])
        if _can_rise(dual, i, -dual.y[i]):
            down = max(down, dual.y[i] * dual.slope[i])
    return up, down


@compiled
def _choose(dual: Dual, active: int) -> tuple[int, int, bool]:
    """Return the variables of the next step, and whether no step is needed. Of equal variables the last is taken."""
    y, slope, diagonal = dual.y, dual.slope, dual.diagonal
    up, down, i, j, best = -INFINITE, -INFINITE, -1, -1, INFINITE
    for t in range(active):
        if _can_rise(dual, t, y[t]) and -y[t] * slope[t] >= up:
            up, i = -y[t] * slope[t], t
    if i >= 0:
        _fill(dual, i, active)
    for t in range(active):
        if _can_rise(dual, t, -y[t]):
            down = max(down, y[t] * slope[t])
            gain = up + y[t] * slope[t]
            if gain > 0:
                curvature = diagonal[i] + diagonal[t] - 2 * y[i] * y[t] * dual.rows[i, t]
                change = -gain * gain / (curvature if curvature > 0 else LEAST_CURVATURE)
                if change <= best:
                    best, j = change, t
    return i, j, up + down < TOLERANCE


@compiled
def _step(dual: Dual, active: int, i: int, j: int) -> None:
    """Minimise over two variables, and update the slopes of the active ones."""
    alpha, slope, rows, C = dual.alpha, dual.slope, dual.rows, dual.C
    _fill(dual, i, active)
    _fill(dual, j, active)
    together = dual.y[i] != dual.y[j]
    sign = 1.0 if together else -1.0
    curvature = dual.diagonal[i] + dual.diagonal[j] + 2 * sign * rows[i, j]
    step = -(slope[i] + sign * slope[j]) / (curvature if curvature > 0 else LEAST_CURVATURE)
    before = alpha[i], alpha[j]
    alpha[i], alpha[j] = _moved(alpha[i], alpha[j], step, together, C)
    for t in range(active):
        slope[t] += rows[i, t] * (alpha[i] - before[0]) + rows[j, t] * (alpha[j] - before[1])
    for k, old in ((i, before[0]), (j, before[1])):
        if (old >= C) != (alpha[k] >= C):
            _fill(dual, k, len(alpha))
            for t in range(len(alpha)):
                dual.of_bounded[t] += (C if alpha[k] >= C else -C) * rows[k, t]


@compiled
def _moved(a: float, b: float, step: float, together: bool, C: float) -> tuple[float, float]:
    """Return a + step and b ± step, cut where one of them leaves [0, C]; their difference or sum stays."""
    if together:
        apart = a - b
        a, b = a + step, b + step
        if apart > 0 and b < 0:
            a, b = apart, 0.0
        elif apart <= 0 and a < 0:
            a, b = 0.0, -apart
        if apart > 0 and a > C:
            a, b = C, C - apart
        elif apart <= 0 and b > C:
            a, b = C + apart, C
        return a, b
    total = a + b
    a, b = a + step, b - step
    if total > C and a > C:
        a, b = C, total - C
    elif total <= C and b < 0:
        a, b = total, 0.0
    if total > C and b > C:
        a, b = total - C, C
    elif total <= C and a < 0:
        a, b = 0.0, total
    return a, b


@compiled
def _restore(dual: Dual, active: int) -> None:
    """Compute the slopes of the variables that were left alone; from their rows or from those of the free variables."""
    m, free = len(dual.alpha), 0
    for t in range(active, m):
        dual.slope[t] = dual.of_bounded[t] - 1
    for i in range(active):
        free += _is_free(dual, i)
    by_own_rows = free * m > 2 * active * (m - active)
    for t in range(active, m if by_own_rows else active):
        _fill(dual, t, active)
    for i in range(active):
        if _is_free(dual, i) and active < m:
            if not by_own_rows:
                _fill(dual, i, m)
            for t in range(active, m):
                dual.slope[t] += dual.alpha[i] * (dual.rows[t, i] if by_own_rows else dual.rows[i, t])


@compiled
def _stays(dual: Dual, i: int, up: float, down: float) -> bool:
    """Whether a variable seems to stay at its bound."""
    if dual.alpha[i] >= dual.C:
        return -dual.slope[i] > (up if dual.y[i] > 0 else down)
    if dual.alpha[i] <= 0:
        return dual.slope[i] > (down if dual.y[i] > 0 else up)
    return False


@compiled
def _shrink(dual: Dual, active: int, up: float, down: float, faulty: bool) -> int:
    """Swap variables that seem to stay at a bound to the end, and return the number of the others."""
    i = 0
    while i < active:
        if _stays(dual, i, up, down):
            active -= 1
            while active > i and _stays(dual, active, up, down):
                active -= 1
            if active > i:
                _swap(dual, i, active, faulty)
        i += 1
    return active


@compiled
def _swap(dual: Dual, i: int, j: int, faulty: bool) -> None:
    """Exchange the samples at places i < j. A row of Q that is filled to between them is given up."""
    for values in (dual.y, dual.alpha, dual.slope, dual.diagonal, dual.of_bounded):
        values[i], values[j] = values[j], values[i]
    for numbers in (dual.sample, dual.filled):
        numbers[i], numbers[j] = numbers[j], numbers[i]
    if not faulty:
        dual.read[i], dual.read[j] = dual.read[j], dual.read[i]
    rows = dual.rows
    for t in range(len(rows)):
        rows[i, t], rows[j, t] = rows[j, t], rows[i, t]
    for t in range(len(rows)):
        if dual.filled[t] > j:
            rows[t, i], rows[t, j] = rows[t, j], rows[t, i]
        elif dual.filled[t] > i:
            dual.filled[t] = 0


@compiled
def _offset(dual: Dual, active: int) -> float:
    """Return the mean of y G over the free variables; without any, the middle of the interval that is allowed."""
    total, free, upper, lower = 0.0, 0, INFINITE, -INFINITE
    for i in range(active):
        value = dual.y[i] * dual.slope[i]
        if _is_free(dual, i):
            total, free = total + value, free + 1
        elif _can_rise(dual, i, dual.y[i]):
            upper = min(upper, value)
        else:
            lower = max(lower, value)
    return total / free if free else (upper + lower) / 2
