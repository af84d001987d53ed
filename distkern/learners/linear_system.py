"""Base class of the learners that solve one linear system."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from distkern.core.parameters import one_of
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Floats
from distkern.core.warning import warn
from distkern.learners.base import KernelEstimator
from distkern.learners.memory import memory_allowed
from distkern.learners.validation import positive
from distkern.operators.base import BaseGram
from distkern.solvers.conjugate import Solution, solve

METHODS = ("auto", "direct", "cg")


class LinearSystemEstimator(KernelEstimator):
    """An estimator whose coefficients solve (S K S + μI) x = b.

    Subclasses have the parameters ``solver``, ``tol``, ``max_iter`` and ``memory_limit``.
    """

    solver: str
    tol: float
    max_iter: int
    memory_limit: int | str | None

    def _solve_system(self, gram: BaseGram, targets: Floats, shifts: Floats, scale: Floats | None = None) -> Solution:
        """Solve the system, set the fitted attributes that describe the solution, and warn if it did not converge."""
        one_of(self.solver, "solver", METHODS)
        found = solve(
            gram,
            targets,
            shifts,
            scale=scale,
            method=self.solver,
            tol=positive(self.tol, "tol"),
            max_iter=self.max_iter,
            memory=memory_allowed(self.memory_limit),
        )
        self.residual_ = float(found.residual.max(initial=0.0))
        self.n_iter_ = max(found.iterations, 1)  # scikit-learn requires n_iter_ >= 1 of a direct solver too
        self.n_passes_, self.bytes_read_ = found.passes, found.bytes_read
        if not found.converged:
            message = Sentence(
                "{estimator} stopped after {iterations} iterations at a relative residual of {residual:.2g}, above "
                "tol={tol:.2g}: raise {max_iter} or the regularisation",
                estimator=type(self).__name__,
                iterations=found.iterations,
                residual=self.residual_,
                tol=self.tol,
                max_iter=Parameter("max_iter"),
            )
            warn(ConvergenceWarning(message))
        return found
