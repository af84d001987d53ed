"""Symmetric positive definite systems (S A S + μI) x = b, where A is a Gram matrix, for several b and μ together.

A matrix that fits in memory is read once and factorised in place (Cholesky). Otherwise, preconditioned conjugate
gradients advance the systems of all b and μ with one pass over the matrix an iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from distkern.core.allowance import allowing
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Floats, Indices
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite

BLOCK_BYTES = 2**26
"""Bytes of one block while the matrix is read."""

BLOCKS = 8
"""Maximum number of blocks in memory while a view of a view of a matrix is read."""

SKETCH = 128
"""Maximum rank of the preconditioner, which needs one product with as many random vectors."""

VECTORS = 8
"""Number of arrays of the size of b in conjugate gradients."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Solution of (S A S + μ_k I) x_k = b_k for every column k.

    Parameters
    ----------
    coefficients
        x, (m, columns).
    products
        S A S x, (m, columns).
    residual
        ‖b_k − (S A S + μ_k I) x_k‖ / ‖b_k‖ of each column, computed from the solution; 0 if b_k = 0.
    converged
        Whether every residual is within the tolerance; always True for a direct solution.
    iterations
        Iterations of conjugate gradients; 0 for a direct solution.
    passes
        Passes over the matrix.
    bytes_read
        Bytes read from storage.
    """

    coefficients: Floats
    products: Floats
    residual: Floats
    converged: bool
    iterations: int
    passes: int
    bytes_read: int


def solve(
    gram: BaseGram,
    targets: Floats,
    shifts: Floats,
    *,
    scale: Floats | None = None,
    method: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    memory: int,
) -> Solution:
    """Solve (S A S + μ_k I) x_k = b_k for every column k.

    Parameters
    ----------
    gram
        A, symmetric (m, m). S A S + μ I must be positive definite.
    targets
        b, (m, columns).
    shifts
        μ ≥ 0, (columns,).
    scale
        Diagonal of S, (m,); ones by default.
    method
        ``"direct"``, ``"cg"``, or ``"auto"``: direct if it fits in memory.
    tol
        Relative residual at which conjugate gradients stop.
    max_iter
        Maximum number of iterations of conjugate gradients; each is a pass over the matrix.
    memory
        Bytes to use.

    Raises
    ------
    InputError
        If the system is not positive definite, or a value is not finite.
    MemoryLimitError
        If the vectors do not fit in memory, or the matrix does not for ``"direct"``.

    Examples
    --------
    >>> from distkern.operators.array import ArrayGram
    >>> gram = ArrayGram([[2.0, 1.0], [1.0, 2.0]])
    >>> solve(gram, np.array([[4.0], [5.0]]), np.array([1.0]), memory=10**9).coefficients
    array([[0.875],
           [1.375]])
    """
    before = gram.bytes_read()
    scale = np.ones(gram.shape[0]) if scale is None else scale
    needed = direct_bytes(*targets.shape)
    direct = method == "direct" or (method == "auto" and needed <= memory)
    if direct:
        if needed > memory:
            raise _beyond(needed, memory, ", or use conjugate gradients, which do not keep the matrix in memory")
        found = _by_cholesky(gram, targets, shifts, scale)
    else:
        found = _by_gradients(_Operator(gram, scale), targets, shifts, tol, max_iter, memory)
    x, products, iterations, passes = found
    residual = _relative(targets - products - shifts * x, targets)
    converged = direct or bool((residual <= tol).all())
    return Solution(x, products, residual, converged, iterations, passes, gram.bytes_read() - before)


def direct_bytes(samples: int, columns: int) -> int:
    """Bytes of a direct solution: the matrix, blocks while it is read, and vectors."""
    return 8 * samples**2 + BLOCKS * min(8 * samples**2, BLOCK_BYTES) + 4 * 8 * samples * columns


def gradient_bytes(samples: int, columns: int, reading: int = 0) -> int:
    """Bytes of conjugate gradients without preconditioner: vectors, and what a part of the matrix takes on its way."""
    return VECTORS * 8 * samples * columns + reading


def _beyond(needed: int, memory: int, remedy: str) -> MemoryLimitError:
    return MemoryLimitError(
        "the system needs {needed:,} bytes of memory and {allowed:,} are allowed: {limit}solve for fewer targets at a "
        "time{remedy}",
        needed=needed,
        allowed=memory,
        limit=OptionalPart("raise {memory_limit}, ", memory_limit=Parameter("memory_limit")),
        remedy=remedy,
    )


def _relative(difference: Floats, targets: Floats) -> Floats:
    sizes = np.linalg.norm(targets, axis=0)
    return np.linalg.norm(difference, axis=0) / np.where(sizes > 0, sizes, 1.0)


def not_positive(shift: float) -> InputError:
    """Error for a system that is not positive definite."""
    return InputError(
        f"the Gram matrix plus {shift:.3g} on the diagonal is not positive definite: the kernel is not positive "
        "semidefinite, or the regularisation is too small for the rounding of the matrix; raise it, or check the kernel"
    )


# Direct ----------------------------------------------------------------------------------------------------------


def read_scaled(gram: BaseGram, scale: Floats | None = None) -> Floats:
    """Read S A S into an array, block by block; A itself by default."""
    values = np.empty(gram.shape)
    for rows, cols, block in gram.tiles():
        scaled = finite(block) if scale is None else finite(block) * np.multiply.outer(scale[rows], scale[cols])
        values[np.ix_(rows, cols)] = scaled
    return values


def _by_cholesky(gram: BaseGram, targets: Floats, shifts: Floats, scale: Floats) -> tuple[Floats, Floats, int, int]:
    """Factorise in the lower triangle; the upper triangle keeps the matrix for the next shift and the residuals."""
    values = read_scaled(gram, scale).T  # Fortran order, so that LAPACK works in place
    diagonal = values.diagonal().copy()
    x, products = np.empty_like(targets), np.empty_like(targets)
    for number, shift in enumerate(np.unique(shifts)):
        columns = np.flatnonzero(shifts == shift)
        if number:
            _restore_lower(values)
        np.fill_diagonal(values, diagonal + shift)
        factor, info = lapack.dpotrf(values, lower=1, clean=0, overwrite_a=1)
        if info > 0:
            raise not_positive(shift)
        x[:, columns] = lapack.dpotrs(factor, targets[:, columns], lower=1)[0]
        np.fill_diagonal(values, diagonal)
        products[:, columns] = blas.dsymm(1.0, values, x[:, columns], lower=0)
    return x, products, 0, 1


def _restore_lower(values: Floats) -> None:
    """Copy the upper triangle to the lower one, in strips of rows."""
    m = len(values)
    height = max(1, BLOCK_BYTES // (8 * m))
    for start in range(0, m, height):
        stop = min(start + height, m)
        square = np.triu(values[start:stop, start:stop])
        values[start:stop, start:stop] = square + np.triu(square, 1).T
        values[stop:, start:stop] = values[start:stop, stop:].T


# Conjugate gradients -----------------------------------------------------------------------------------------------


class _Operator:
    """Product with S A S; counts the passes over the matrix."""

    def __init__(self, gram: BaseGram, scale: Floats) -> None:
        self.gram, self.scale, self.passes = gram, scale[:, None], 0

    def __call__(self, V: Floats) -> Floats:
        self.passes += 1
        return self.scale * finite(self.gram.matmat(self.scale * V))


class _LowRank:
    """Preconditioner (U diag(λ) Uᵀ + μI)⁻¹, scaled to the identity outside U, for all μ from one random sketch.

    Frangella, Tropp and Udell, "Randomized Nyström preconditioning", SIAM J. Matrix Anal. Appl. 44 (2023).
    """

    def __init__(self, operator: _Operator, rank: int) -> None:
        m = operator.gram.shape[0]
        sketch = np.linalg.qr(np.random.default_rng(0).standard_normal((m, rank)))[0]
        image = operator(sketch)
        values, vectors = np.linalg.eigh(sketch.T @ image)
        good = values > 1e-12 * max(values[-1], 0.0)
        self.vectors, roots, _ = np.linalg.svd(image @ (vectors[:, good] / np.sqrt(values[good])), full_matrices=False)
        self.values = roots**2

    def solve(self, R: Floats, shifts: Floats) -> Floats:
        if not len(self.values):
            return R.copy()
        shrink = (self.values[-1] + shifts) / np.add.outer(self.values, shifts) - 1.0
        return R + self.vectors @ (shrink * (self.vectors.T @ R))


def _by_gradients(
    operator: _Operator, targets: Floats, shifts: Floats, tol: float, max_iter: int, memory: int
) -> tuple[Floats, Floats, int, int]:
    m, count = targets.shape
    reading = 0 if isinstance(operator.gram, ArrayGram) else operator.gram.reading_bytes()
    needed = gradient_bytes(m, count, reading)
    if needed > memory:
        remedy = ", or compute the matrix with smaller tiles, of which one is in memory at a time" if reading else ""
        raise _beyond(needed, memory, remedy)
    sketch_bytes = 5 * 8 * m  # its vectors, their image, and copies while they are made orthogonal
    rank = min(SKETCH, m // 4, (memory - needed) // sketch_bytes)
    with allowing(memory - VECTORS * 8 * m * count - rank * sketch_bytes):
        preconditioner = _LowRank(operator, rank) if rank > 0 else None
        x, products, iterations = block_conjugate_gradients(operator, targets, shifts, tol, max_iter, preconditioner)
    return x, products, iterations, operator.passes


def block_conjugate_gradients(
    operator: Callable[[Floats], Floats],
    targets: Floats,
    shifts: Floats,
    tol: float,
    max_iter: int,
    preconditioner: _LowRank | None = None,
) -> tuple[Floats, Floats, int]:
    """Solve (A + μ_k I) x_k = b_k for all columns together; each step multiplies A by all unconverged columns.

    The recurrence for the residual drifts by rounding. At convergence, the true residual is therefore computed, and the
    iteration restarts from it as long as that halves the residual.

    Parameters
    ----------
    operator
        Function that multiplies A, symmetric and positive semidefinite (m, m), by a matrix of column vectors.
    targets, shifts
        b, (m, columns), and μ, (columns,).
    tol
        Relative residual at which a column has converged.
    max_iter
        Maximum number of steps.
    preconditioner
        Approximate inverse for each shift.

    Returns
    -------
    tuple
        x, A x, and the number of steps.
    """
    x, products, iterations = np.zeros_like(targets), np.zeros_like(targets), 0
    residual = targets.copy()
    size = np.linalg.norm(targets, axis=0)
    open_columns = np.flatnonzero(size > 0)
    while len(open_columns) and iterations < max_iter:
        part = open_columns
        step, used = _descend(
            operator, preconditioner, residual[:, part], shifts[part], tol * size[part], max_iter - iterations
        )
        iterations += used
        x[:, part] += step
        products[:, part] = operator(x[:, part])
        before = np.linalg.norm(residual[:, part], axis=0)
        residual[:, part] = targets[:, part] - products[:, part] - shifts[part] * x[:, part]
        after = np.linalg.norm(residual[:, part], axis=0)
        open_columns = part[(after > tol * size[part]) & (after < 0.5 * before)]
    return x, products, iterations


def _descend(
    operator: Callable[[Floats], Floats],
    preconditioner: _LowRank | None,
    b: Floats,
    shifts: Floats,
    goal: Floats,
    max_iter: int,
) -> tuple[Floats, int]:
    """Conjugate gradients from zero: independent recurrences with a common product; converged columns are removed."""

    def solved(R: Floats, columns: Indices) -> Floats:
        return R.copy() if preconditioner is None else preconditioner.solve(R, shifts[columns])

    x = np.zeros_like(b)
    active = np.arange(b.shape[1])
    r, z = b.copy(), solved(b, active)
    p, rz = z.copy(), np.einsum("ik,ik->k", b, z)
    for iteration in range(1, max_iter + 1):
        image = operator(p) + shifts[active] * p
        curvature = np.einsum("ik,ik->k", p, image)
        if not (curvature > 0).all():
            raise not_positive(float(shifts[active[np.argmin(curvature)]]))
        step = rz / curvature
        x[:, active] += step * p
        r -= step * image
        unconverged = np.linalg.norm(r, axis=0) > goal[active]
        if not unconverged.any():
            return x, iteration
        active, r, p, rz = active[unconverged], r[:, unconverged], p[:, unconverged], rz[unconverged]
        z = solved(r, active)
        fresh = np.einsum("ik,ik->k", r, z)
        p = z + (fresh / rz) * p
        rz = fresh
    return x, max_iter
