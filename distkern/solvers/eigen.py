"""Largest eigenvalues of a Gram matrix, by LAPACK in memory or by block Lanczos with matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite

GUARD = 10
"""Additional vectors in a block: they cost no further reading, and speed up convergence."""

BLOCKS = 6
"""Blocks of vectors in the search space before a restart."""

KEPT = 2
"""Blocks of vectors that are kept in a restart."""

SAME = 1e-6
"""Relative difference up to which two entries count as equally large when the sign of a vector is chosen."""


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenpairs K v = λ v with the largest λ.

    Parameters
    ----------
    values
        λ, descending, (k,).
    vectors
        v, of norm 1, in columns (m, k). The entry of largest size of each column is positive.
    residuals
        ‖K v − λ v‖ of each pair, (k,). K has an eigenvalue within this distance of λ.
    converged
        Whether all residuals are within the tolerance.
    passes
        Number of products with the matrix.
    bytes_read
        Bytes read from storage.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    converged: bool
    passes: int
    bytes_read: int


def dense_eigenpairs(values: Floats, count: int) -> Eigenpairs:
    """Largest eigenpairs of a symmetric array, by LAPACK.

    Examples
    --------
    >>> dense_eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]), 1).values
    array([3.])
    """
    m = len(values)
    _check_count(count, m)
    found, vectors = eigh(values, subset_by_index=[m - count, m - 1])
    found, vectors = found[::-1].copy(), with_fixed_signs(vectors[:, ::-1])
    residuals = np.linalg.norm(values @ vectors - vectors * found, axis=0)
    return Eigenpairs(found, vectors, residuals, True, 0, 0)


def largest_eigenpairs(
    gram: BaseGram, count: int, *, tol: float = 1e-8, max_passes: int = 100, seed: int = 0
) -> Eigenpairs:
    r"""Largest eigenpairs of a symmetric Gram matrix, by block Lanczos with thick restarts.

    Each step extends the search space by the residuals of the best Ritz vectors, which span the next Krylov block, and
    computes the Ritz pairs of the matrix in this space. A full space is reduced to its best Ritz vectors, whose
    products with the matrix are known. See Saad, *Numerical Methods for Large Eigenvalue Problems* (2011), chapters 6
    and 7.

    Parameters
    ----------
    gram
        Symmetric matrix (m, m).
    count
        Number of pairs, k.
    tol
        Largest residual, relative to the largest |λ|.
    max_passes
        Maximum number of products with the matrix, of about k + 10 vectors each.
    seed
        Seed of the random start vectors.

    Returns
    -------
    Eigenpairs
        The converged pairs, or after ``max_passes`` products the current ones with ``converged`` False.

    Raises
    ------
    InputError
        If a product with the matrix is not finite, or the matrix has fewer than ``count`` samples.

    Examples
    --------
    >>> from distkern.operators.array import ArrayGram
    >>> gram = ArrayGram(np.diag(np.arange(100.0)))
    >>> found = largest_eigenpairs(gram, 2)
    >>> found.values.round(9), found.converged
    (array([99., 98.]), True)
    """
    m, before = gram.shape[0], gram.bytes_read()
    _check_count(count, m)
    block = min(m, count + GUARD)
    width = min(m, BLOCKS * block)
    basis, images = np.empty((2, m, width))  # orthonormal columns, and their products with the matrix
    fresh = qr(np.random.default_rng(seed).standard_normal((m, block)), mode="economic")[0]
    size = passes = 0
    while True:
        grown = slice(size, size + fresh.shape[1])
        basis[:, grown], images[:, grown] = fresh, _product(gram, fresh)
        size, passes = grown.stop, passes + 1
        ritz, turn = eigh(basis[:, :size].T @ images[:, :size])
        ritz, turn = ritz[::-1], turn[:, ::-1]
        vectors, turned = basis[:, :size] @ turn[:, :block], images[:, :size] @ turn[:, :block]
        errors = turned - vectors * ritz[:block]
        residuals = np.linalg.norm(errors, axis=0)
        allowed = tol * np.abs(ritz).max()
        converged = size == m or bool((residuals[:count] <= allowed).all())
        if converged or passes >= max_passes:
            break
        if size == width:
            size = min(KEPT * block, width - block)
            basis[:, :size], images[:, :size] = basis @ turn[:, :size], images @ turn[:, :size]
        fresh = _new_directions(errors[:, residuals > allowed], basis[:, :size])[:, : width - size]
    return Eigenpairs(
        ritz[:count].copy(),
        with_fixed_signs(vectors[:, :count]),
        residuals[:count],
        converged,
        passes,
        gram.bytes_read() - before,
    )


def bytes_of_search(samples: int, count: int) -> int:
    """Bytes of `largest_eigenpairs` in addition to the matrix: search space, products and temporaries of a restart."""
    block = min(samples, count + GUARD)
    width = min(samples, BLOCKS * block)
    return 8 * samples * (3 * width + 6 * block)


def with_fixed_signs(vectors: Floats) -> Floats:
    """Flip columns so that the entry of largest size is positive; of entries equal up to rounding, the first one.

    Examples
    --------
    >>> with_fixed_signs(np.array([[-0.6, 0.7], [-0.8, -0.7]]))
    array([[ 0.6,  0.7],
           [ 0.8, -0.7]])
    """
    sizes = np.abs(vectors)
    first = (sizes >= (1 - SAME) * sizes.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _new_directions(errors: Floats, basis: Floats) -> Floats:
    """Orthonormal basis of the components of the errors orthogonal to the search space, without rounding noise."""
    fresh = errors / np.linalg.norm(errors, axis=0)
    fresh -= basis @ (basis.T @ fresh)
    fresh, triangle, _ = qr(fresh, mode="economic", pivoting=True)
    sizes = np.abs(triangle.diagonal())
    fresh = fresh[:, sizes > 1e-10 * sizes[0]]
    fresh -= basis @ (basis.T @ fresh)
    return qr(fresh, mode="economic")[0]


def _product(gram: BaseGram, vectors: Floats) -> Floats:
    return finite(gram.matmat(vectors))


def _check_count(count: int, samples: int) -> None:
    if not 1 <= count <= samples:
        raise InputError(f"a matrix of {samples} samples has {samples} eigenvalues; got count={count}")
