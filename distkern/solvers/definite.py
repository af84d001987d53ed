"""Whether a matrix can be positive semidefinite, from the values that a solver has read anyway.

The problems of the solvers are convex, and their solutions the best there are, for positive semidefinite matrices only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from distkern.compiled.smo import excess
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats
from distkern.operators.base import BaseGram, SliceGram, View

ROUNDING = 1e-5
"""Fraction of the largest k(x, x) that is attributed to rounding, as in single precision or in a text file."""

EIGEN = 512
"""Most samples between which all values are tested; their number is that of the samples of the matrix if it is less."""


def names(gram: BaseGram) -> Callable[[int], str]:
    """Function that names a sample of a matrix by its position."""
    return lambda position: repr(gram.row_ids[position])


def largest_diagonal(gram: BaseGram) -> float:
    """Largest |k(x, x)| of a matrix, or of the matrix that it is a view of: the measure of rounding."""
    largest = float(np.abs(gram.diag()).max(initial=0.0))
    while isinstance(gram, (View, SliceGram)):
        gram = gram._parent
        largest = max(largest, float(np.abs(gram.row_diag()).max(initial=0.0)))
    return largest


def refuse_indefinite(K: Array, largest: float, *, shift: float = 0.0, named: Callable[[int], str]) -> None:
    """Refuse a matrix that no positive semidefinite kernel has.

    Every such kernel has k(x, x) ≥ 0 and |k(x, y)| ≤ sqrt(k(x, x) k(y, y)), which a matrix of distances has not, and
    all principal blocks of its matrices have eigenvalues of 0 or more; one block is factorised.

    Parameters
    ----------
    K
        Symmetric kernel values of some samples, minus ``shift``; single precision suffices.
    largest
        Largest |k(x, x)|, the measure of rounding; see `largest_diagonal`.
    named
        Function that names the sample of a row of K, for the message.

    Raises
    ------
    InputError
        If the matrix is not positive semidefinite; states what shows it.
    """
    diagonal, allowed = K.diagonal().astype(np.float64) + shift, ROUNDING * largest
    refuse_negative_diagonal(diagonal, largest, named)
    beyond, x, y = excess(K, shift, np.sqrt(np.maximum(diagonal, 0.0)))
    if beyond > allowed:
        bound = float(np.sqrt(np.maximum(diagonal[[x, y]], 0.0)).prod())
        raise indefinite(
            f"k(x, y) = {K[x, y] + shift:.3g} for the samples {named(int(x))} and {named(int(y))} is larger in size "
            f"than sqrt(k(x, x) k(y, y)) = {bound:.3g}, as in a matrix of distances"
        )
    chosen = np.unique(np.linspace(0, len(K) - 1, min(len(K), EIGEN)).astype(np.intp))
    refuse_negative_eigenvalue(K[np.ix_(chosen, chosen)].astype(np.float64) + shift, largest)


def refuse_negative_diagonal(diagonal: Floats, largest: float, named: Callable[[int], str]) -> None:
    """Refuse a matrix with a k(x, x) that is too negative for rounding."""
    least = int(diagonal.argmin())
    if diagonal[least] < -ROUNDING * largest:
        raise indefinite(f"k(x, x) is {diagonal[least]:.3g} for sample {named(least)}")


def refuse_negative_eigenvalue(block: Floats, largest: float) -> None:
    """Refuse a symmetric block with an eigenvalue that is too negative for rounding."""
    allowed = ROUNDING * np.sqrt(len(block)) * largest
    if allowed == 0.0:
        return
    lifted = block + allowed * np.eye(len(block))
    if lapack.dpotrf(lifted, lower=1, clean=0, overwrite_a=1)[1] > 0:
        raise indefinite(f"it has the eigenvalue {np.linalg.eigvalsh(block)[0]:.3g}")


def refuse_negative_curvature(V: Floats, product: Floats, largest: float) -> None:
    """Refuse a matrix whose product with some vector v makes vᵀKv too negative for rounding; (m, columns) both."""
    for curvature, size in zip(np.einsum("ik,ik->k", V, product), np.einsum("ik,ik->k", V, V), strict=True):
        refuse_negative(float(curvature), float(size), len(V), largest)


def refuse_negative(curvature: float, size: float, samples: int, largest: float) -> None:
    """Refuse a matrix with this vᵀKv and vᵀv, if that is too negative for rounding."""
    if curvature < -ROUNDING * np.sqrt(samples) * largest * size:
        raise indefinite(f"vᵀKv / vᵀv is {curvature / size:.3g} for a vector v")


def indefinite(what: str) -> InputError:
    """Error for a matrix that is not positive semidefinite; ``what`` states the evidence."""
    return InputError(
        f"the matrix is not positive semidefinite, so it belongs to no feature space: {what}; check the kernel"
    )
