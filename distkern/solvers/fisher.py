"""Linear systems of the kernel Fisher discriminant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.solvers.conjugate import block_conjugate_gradients
from distkern.solvers.definite import (
    largest_diagonal,
    names,
    refuse_indefinite,
    refuse_negative_curvature,
    refuse_negative_diagonal,
)


@dataclass(frozen=True, eq=False)
class FisherDirections:
    """Solutions of (N + μ W⁻¹) α_c = M_c − M_1.

    Parameters
    ----------
    directions
        α_c of all classes except the first, (m, classes − 1).
    class_means
        M_c, the mean of the columns of each class, (m, classes).
    residuals
        ‖(N + μ W⁻¹) α_c − (M_c − M_1)‖ / ‖M_c − M_1‖ in the norm of W, (classes − 1,).
    converged
        Whether all residuals are within the tolerance.
    iterations
        Steps of conjugate gradients; each advances all directions. 0 for the direct solver.
    passes
        Number of products with the matrix.
    bytes_read
        Bytes read from storage.
    """

    directions: Floats
    class_means: Floats
    residuals: Floats
    converged: bool
    iterations: int
    passes: int
    bytes_read: int


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes as orthonormal columns U, with which scatter and means are products of the weighted matrix G.

    With s = √w, G = s K s and U_ic = s_i / √W_c for i in class c, the within-class scatter of the weighted samples is
    G (I − U Uᵀ) G, and the class means are G U / √W_c, both in the coordinates α = s β.
    """

    roots: Floats
    members: Floats
    totals: Array

    @classmethod
    def of(cls, codes: Indices, weights: Floats) -> _Classes:
        totals = np.bincount(codes, weights=weights)
        roots = np.sqrt(weights)
        members = np.zeros((len(codes), len(totals)))
        members[np.arange(len(codes)), codes] = roots / np.sqrt(totals[codes])
        return cls(roots, members, totals)

    def means(self, product: Floats) -> Floats:
        """Weighted class means, from the product G U."""
        return finite(product) / np.sqrt(self.totals)

    def without_means(self, V: Floats) -> Floats:
        """(I − U Uᵀ) V."""
        return V - self.members @ (self.members.T @ V)


def solve_directly(
    values: Floats,
    codes: Indices,
    weights: Floats,
    mu: float,
    *,
    largest: float | None = None,
    named: Callable[[int], str] | None = None,
) -> FisherDirections:
    r"""Solve the system by Cholesky factorisation, in memory.

    Parameters
    ----------
    values
        K, symmetric and positive semidefinite, (m, m); overwritten.
    codes
        Class number of each sample, from 0, (m,).
    weights
        w, positive, (m,).
    mu
        μ, positive.
    largest
        Largest |k(x, x)|, the measure of rounding; by default that of ``values``.
    named
        Function that names the samples, for messages; by default their positions.

    Raises
    ------
    InputError
        If the matrix is not positive semidefinite, or the system is not finite.

    Examples
    --------
    >>> found = solve_directly(np.diag([1.0, 3.0]), np.array([0, 1]), np.ones(2), 1.0)
    >>> found.directions.round(9)
    array([[-1.],
           [ 3.]])
    """
    classes = _Classes.of(codes, weights)
    refuse_indefinite(
        values, float(np.abs(values.diagonal()).max()) if largest is None else largest, named=named or str
    )
    values *= np.outer(classes.roots, classes.roots)
    product = values @ classes.members
    means = classes.means(product)
    wanted = means[:, 1:] - means[:, :1]
    values -= product @ classes.members.T  # B = G (I − U Uᵀ); the scatter is B Bᵀ
    scatter = values @ values.T
    if not np.isfinite(scatter).all():
        raise InputError("the scatter of the classes is beyond what float64 holds: scale the kernel down")
    scatter.flat[:: len(scatter) + 1] += mu
    try:
        factor = cho_factor(scatter.T, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise InputError(f"mu={mu:.3g} is too small for the digits of this matrix: give a larger mu") from error
    solved = cho_solve(factor, wanted)
    left = values @ (values.T @ solved) + mu * solved - wanted
    residuals = _relative(left, wanted)
    return FisherDirections(classes.roots[:, None] * solved, means / classes.roots[:, None], residuals, True, 0, 0, 0)


def solve_by_products(
    gram: BaseGram, codes: Indices, weights: Floats, mu: float, *, tol: float = 1e-8, max_iter: int = 1000
) -> FisherDirections:
    """Solve the system by conjugate gradients, with two matrix products a step for all directions together.

    Parameters
    ----------
    gram
        K, symmetric, (m, m).
    codes
        Class number of each sample, from 0, (m,).
    weights
        w, positive, (m,).
    mu
        μ, positive.
    tol
        Largest residual of a direction, relative to the difference of the means.
    max_iter
        Maximum number of steps.

    Examples
    --------
    >>> from distkern.operators.array import ArrayGram
    >>> solve_by_products(ArrayGram(np.diag([1.0, 3.0])), np.array([0, 1]), np.ones(2), 1.0).directions.round(9)
    array([[-1.],
           [ 3.]])
    """
    classes, before = _Classes.of(codes, weights), gram.bytes_read()
    passes, largest = 0, largest_diagonal(gram)
    refuse_negative_diagonal(gram.diag(), largest, names(gram))

    def weighted(V: Floats) -> Floats:
        nonlocal passes
        passes += 1
        weighted_vectors = classes.roots[:, None] * V
        product = gram.matmat(weighted_vectors)
        refuse_negative_curvature(weighted_vectors, product, largest)
        return classes.roots[:, None] * product

    def scatter(V: Floats) -> Floats:
        return weighted(classes.without_means(weighted(V)))

    means = classes.means(weighted(classes.members))
    wanted = means[:, 1:] - means[:, :1]
    shifts = np.full(wanted.shape[1], mu)
    solved, products, iterations = block_conjugate_gradients(scatter, wanted, shifts, tol, max_iter)
    residuals = _relative(products + mu * solved - wanted, wanted)
    return FisherDirections(
        classes.roots[:, None] * solved,
        means / classes.roots[:, None],
        residuals,
        bool((residuals <= 10 * tol).all()),  # true residuals differ from the recurrence by rounding
        iterations,
        passes,
        gram.bytes_read() - before,
    )


def _relative(left: Floats, wanted: Floats) -> Floats:
    sizes = np.linalg.norm(wanted, axis=0)
    return np.linalg.norm(left, axis=0) / np.where(sizes > 0, sizes, 1.0)
