"""The largest eigenvalues of a Gram matrix, in memory or by products with it alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr

from distkern.core.errors import InputError
from distkern.core.typing import Floats
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite

GUARD = 10
"""Vectors multiplied beyond those asked for: a pass reads the same bytes, and the wanted ones settle sooner."""

BLOCKS = 6
"""Blocks of vectors that the search space holds before it starts again from the best."""

KEPT = 2
"""Blocks of the best vectors that it starts again from."""

SAME = 1e-6
"""Entries whose sizes differ by less than this fraction count as equally large where a sign is settled."""


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """K v = λ v for the largest λ.

    Parameters
    ----------
    values
        λ, descending, (k,).
    vectors
        v, of norm 1, in columns (m, k); the largest entry of each is positive.
    residuals
        ‖K v − λ v‖ of each pair, (k,): some eigenvalue of K is at most this far from λ.
    converged
        Whether all residuals are as small as was asked for.
    passes
        Products with the matrix.
    bytes_read
        Bytes they read from storage.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    converged: bool
    passes: int
    bytes_read: int


def dense_eigenpairs(values: Floats, count: int) -> Eigenpairs:
    """Largest eigenpairs of a symmetric matrix in memory, by LAPACK.

    Examples
    --------
    >>> dense_eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]), 1).values
    array([3.])
    """
    m = len(values)
    _check_count(count, m)
    found, vectors = eigh(values, subset_by_index=[m - count, m - 1])
    found, vectors = found[::-1].copy(), with_settled_signs(vectors[:, ::-1])
    residuals = np.linalg.norm(values @ vectors - vectors * found, axis=0)
    return Eigenpairs(found, vectors, residuals, True, 0, 0)


def largest_eigenpairs(
    gram: BaseGram, count: int, *, tol: float = 1e-8, max_passes: int = 100, seed: int = 0
) -> Eigenpairs:
    r"""Largest eigenpairs of a symmetric Gram matrix by products with it: block Lanczos with thick restarts.

    The search space grows by the residuals of its best vectors, which span the next Krylov block; the pairs are those
    of the matrix within that space (Rayleigh and Ritz). A full space shrinks to its best vectors, whose products are
    known. See Saad, *Numerical Methods for Large Eigenvalue Problems* (2011), chapters 6 and 7.

    Parameters
    ----------
    gram
        Symmetric matrix (m, m).
    count
        Number of pairs, k.
    tol
        Largest residual allowed, as a fraction of the largest |λ|.
    max_passes
        Most products with the matrix, of some k + 10 vectors each.
    seed
        Of the random vectors to start from.

    Returns
    -------
    Eigenpairs
        After ``max_passes`` products the best so far, with ``converged`` false.

    Raises
    ------
    InputError
        If a product with the matrix is not finite, or it has fewer than ``count`` samples.

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
        with_settled_signs(vectors[:, :count]),
        residuals[:count],
        converged,
        passes,
        gram.bytes_read() - before,
    )


def bytes_of_search(samples: int, count: int) -> int:
    """Bytes that `largest_eigenpairs` takes beside the matrix: its space, the products, and what a restart makes."""
    block = min(samples, count + GUARD)
    width = min(samples, BLOCKS * block)
    return 8 * samples * (3 * width + 6 * block)


def with_settled_signs(vectors: Floats) -> Floats:
    """Columns turned so that their entry of largest size is positive; the first of those equal but for rounding.

    Examples
    --------
    >>> with_settled_signs(np.array([[-0.6, 0.7], [-0.8, -0.7]]))
    array([[ 0.6,  0.7],
           [ 0.8, -0.7]])
    """
    sizes = np.abs(vectors)
    first = (sizes >= (1 - SAME) * sizes.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _new_directions(errors: Floats, basis: Floats) -> Floats:
    """Orthonormal columns that span what the errors have outside of the space, less what is only rounding."""
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
        raise InputError(f"a matrix of {samples} samples has as many eigenvalues; {count} were asked for")
