"""Programmes in 0 and 1 with too many constraints to list: constraints are added where a solution violates them."""

from __future__ import annotations

import time
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, linprog, milp

from distkern.core.typing import Floats, Indices

Solution = TypeVar("Solution")
Found = TypeVar("Found", covariant=True)

FEASIBLE = 1e-6
"""A constraint is violated beyond this; HiGHS solves to 1e-7."""


class Rows(NamedTuple):
    """Constraints Σ_s signs[r, s] x[columns[r, s]] ≤ limits[r]."""

    columns: Indices
    signs: Floats
    limits: Floats


class Program(Protocol[Found]):
    """Minimise constant + costs·x over x in {0, 1}ᴺ that satisfy all constraints.

    Parameters
    ----------
    costs, constant
        (N,), and a number.
    always
        Constraints A x ≤ b that hold from the start: A (rows, N) sparse, and b.
    """

    costs: Floats
    constant: float
    always: tuple[sp.csr_matrix, Floats]

    def violated(self, x: Floats, whole: bool = False) -> Indices:
        """Keys of constraints that a point violates, (rows, 3), possibly repeated; a ``whole`` one has only 0 and 1."""

    def rows(self, keys: Indices) -> Rows:
        """The constraints of some keys."""

    def rounded(self, x: Floats) -> tuple[float, Found] | None:
        """A solution near a point, and its value; None if none was found."""


class CuttingPlanes(Generic[Solution]):
    """Bounds and solutions of a programme, from its linear relaxation, then from branch and bound.

    Each bound is the value of a Lagrangian function at nonnegative multipliers. It holds whatever the accuracy with
    which the relaxation was solved.

    Parameters
    ----------
    program
        What is minimised.
    value, solution
        The best solution so far, and its value. Solutions that are not better are of no interest.
    step
        The values of all solutions are multiples of this number; 0 if nothing is known.
    deadline
        Time of `time.monotonic` at which the work ends.
    """

    def __init__(
        self, program: Program[Solution], value: float, solution: Solution | None, step: float, deadline: float
    ) -> None:
        self.program, self.value, self.solution = program, value, solution
        self.step, self.deadline = step, deadline
        self.bound = -np.inf
        """Proven lower bound of the minimum, at most the value of the solution."""
        count = len(program.costs)
        self._low, self._high = np.zeros(count), np.ones(count)
        self._keys = np.empty((0, 3), dtype=np.int64)
        self._scale = max(1.0, float(np.abs(program.costs).max(initial=0)))

    @property
    def is_proven(self) -> bool:
        """Whether no solution is better, up to rounding."""
        return self.bound >= self.value - 1e-9 * (abs(self.value) + self._scale)

    def run(self, start: Floats) -> None:
        """Solve the relaxation, and the programme if that leaves a gap; ``start`` is a point to begin with."""
        relaxed = self._relax(start)
        if not self.is_proven and relaxed:
            self._branch()

    def _left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def _relax(self, x: Floats) -> bool:
        """Solve the relaxation with all constraints; False if the time was over before."""
        while True:
            self._take(x)
            added = self._add(x)
            if self.is_proven or (not added and self.bound > -np.inf):
                return True
            before = self.bound
            A, b = self._constraints()
            left = self._left()
            if left <= 0:
                return False
            options = {"time_limit": left} if np.isfinite(left) else {}
            bounds = np.stack([self._low, self._high], axis=1)
            c = self.program.costs / self._scale
            found = linprog(c, A_ub=A, b_ub=b, bounds=bounds, method="highs-ds", options=options)
            if found.status == 2:  # no point is left that could be better
                self.bound = self.value
                return True
            if found.status != 0:
                return False
            x = found.x
            self._learn(A, b, -found.ineqlin.marginals * self._scale)
            if self.bound - before > 1e-3 * abs(self.bound):  # only then, so that no set of constraints comes twice
                self._keys = self._keys[found.slack[len(self.program.always[1]) :] < 1e-7]

    def _branch(self) -> None:
        """Solve the programme by branch and bound, until its solution violates no constraint."""
        while not self.is_proven:
            left = self._left()
            if left <= 0:
                return
            A, b = self._constraints()
            options = {"mip_rel_gap": 0.0} | ({"time_limit": left} if np.isfinite(left) else {})
            found = milp(
                self.program.costs / self._scale,
                integrality=np.ones(len(self.program.costs)),
                bounds=(self._low, self._high),
                constraints=LinearConstraint(A, ub=b),
                options=options,
            )
            if found.status == 2:
                self.bound = self.value
                return
            if found.mip_dual_bound is not None:
                self._raise(found.mip_dual_bound * self._scale + self.program.constant - FEASIBLE * self._scale)
            if found.x is None:
                return
            x = np.round(found.x)
            self._take(x)
            if not self._add(x, whole=True):
                if found.status == 0:
                    self.bound = self.value
                return

    def _constraints(self) -> tuple[sp.csr_matrix, Floats]:
        columns, signs, limits = self.program.rows(self._keys)
        starts = np.arange(0, columns.size + 1, 3)
        shape = (len(columns), len(self.program.costs))
        added = sp.csr_matrix((signs.ravel(), columns.ravel(), starts), shape=shape)
        always, most = self.program.always
        return sp.vstack([always, added], format="csr"), np.concatenate([most, limits])

    def _add(self, x: Floats, whole: bool = False) -> bool:
        """Add the constraints that a point violates; tell whether there were any."""
        new = np.concatenate([self._keys, self.program.violated(x, whole)])
        new = np.unique(new, axis=0)
        grown = len(new) > len(self._keys)
        self._keys = new
        return grown

    def _take(self, x: Floats) -> None:
        """Round a point to a solution, and keep it if it is better."""
        found = self.program.rounded(x)
        if found is not None and found[0] < self.value:
            self.value, self.solution = found

    def _learn(self, A: sp.csr_matrix, b: Floats, multipliers: Floats) -> None:
        """Raise the bound by multipliers of the constraints, and fix entries that no better solution changes."""
        multipliers = np.maximum(multipliers, 0)
        reduced = self.program.costs + A.T @ multipliers
        bound = self.program.constant - multipliers @ b + np.minimum(reduced * self._low, reduced * self._high).sum()
        self._raise(bound)
        wanted = self.value - self.step + 1e-7 * self._scale
        if not np.isfinite(wanted):
            return
        free = self._low < self._high
        self._high[free & (bound + reduced > wanted) & (reduced > 0)] = 0.0
        self._low[free & (bound - reduced > wanted) & (reduced < 0)] = 1.0

    def _raise(self, bound: float) -> None:
        if not np.isfinite(bound):
            return
        if self.step > 0:
            bound = float(np.ceil(bound / self.step - 1e-6)) * self.step
        self.bound = max(self.bound, min(bound, self.value))


def common_step(*values: Floats) -> float:
    """The largest number of which all values are multiples, if they are multiples of ½; else 0.

    Examples
    --------
    >>> common_step(np.array([4.0, -6.0])), common_step(np.array([1.5, 3.0])), common_step(np.array([0.1]))
    (2.0, 1.5, 0.0)
    """
    doubled = 2 * np.concatenate([np.ravel(part) for part in values])
    if not np.array_equal(doubled, np.rint(doubled)) or np.abs(doubled).max(initial=0) > 2.0**50:
        return 0.0
    return float(np.gcd.reduce(np.abs(doubled).astype(np.int64), initial=0)) / 2
