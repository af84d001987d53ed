"""Kendall kernels between new samples that lack features and training samples that have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.compiled.partial import arrange, partial_tile, self_sums
from distkern.core.errors import InputError, SampleError
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.kendall import Kendall
from distkern.kernels.partial import PartialKendall, arranged

STRIP_BYTES = 2**26
"""Bytes of training samples that are arranged anew at a time, as float64."""


@dataclass(frozen=True)
class Incomplete:
    """k(x, y) = ‖Φ(x_O)‖ ⟨E Φ(x), Φ(y)⟩ / ‖E Φ(x)‖, of a new sample x that is observed on the features O alone.

    Φ(y) has the sign of y_i − y_j for each pair of features, scaled as in the training kernel. E Φ(x) is its mean over
    all rankings that agree with x on O: an unobserved feature takes every place with equal probability. This mean is
    the shorter, the fewer features are observed, so that decision values would shrink to the intercept. It is therefore
    scaled to the norm of the order within O, which is 1 without ties. The kernel is an inner product of these vectors,
    hence positive semidefinite, and without unobserved features it is the training kernel.

    Source: Jiao & Vert, *The Kendall and Mallows kernels for permutations*, section 3, equation 5. The norm is ours.

    Parameters
    ----------
    kernel
        Training kernel: `Kendall`, or what `compute_gram` makes of it for ``missing="interleaving"``.

    Raises
    ------
    InputError
        If it is another kernel.

    Examples
    --------
    >>> training = Kendall().prepare(np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]))
    >>> new = np.array([[1.0, np.nan, 3.0, np.nan], [1.0, 2.0, 3.0, 4.0]])
    >>> values, squares = Incomplete(Kendall()).against(new, training)
    >>> values.round(3), squares
    (array([[ 0.566, -0.566],
           [ 1.   , -1.   ]]), array([1., 1.]))
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        if self.kernel not in (*_ZERO, *_UNIT):
            raise InputError(
                "{missing} averages over the places of unobserved features, which is for Kendall kernels, and the "
                "model has {kernel}: give all features, or train on the common ones",
                missing=Argument("missing", "interleaving"),
                kernel=repr(self.kernel),
            )

    def against(self, X: Floats, training: Prepared, ids: Names = None) -> tuple[Floats, Floats]:
        """Kernel values of new samples (k, n), NaN = unobserved, with prepared training samples (k, m); k(x, x) (k,).

        Raises
        ------
        SampleError
            If a sample orders no two features, or has fewer than two; it is named.
        """
        new, scales, squares = self._arranged(X, ids)
        total = X.shape[1] * (X.shape[1] - 1) / 2
        values, lengths = np.empty((len(X), len(training))), np.full(len(training), np.sqrt(total))
        for start, columns in _strips(training, X.shape[1]):
            stop = start + len(columns[0])
            part = np.empty((len(X), stop - start))
            compute: Any = partial_tile
            compute(*new, *columns, False, part)
            values[:, start:stop] = part
            if self.kernel in _UNIT:
                lengths[start:stop] = np.sqrt(_squares(*columns))
        return values * scales[:, None] / lengths, squares

    def scales(self, X: Floats, ids: Names = None) -> Floats:
        """‖Φ(x_O)‖ / ‖E Φ(x)‖ of new samples (k, n) for signs that are not scaled, (k,): what E sgn(x_i − x_j) takes.

        Raises
        ------
        SampleError
            As for `against`.
        """
        return self._arranged(X, ids)[1]

    def _arranged(self, X: Floats, ids: Names) -> tuple[Any, Floats, Floats]:
        """Arrange new samples; their scales, and k(x, x)."""
        new, seen = arrange(X, False), np.count_nonzero(~np.isnan(X), axis=1)
        own = _squares(*new)
        untied = _untied(*new)
        if not untied.all():
            row = int(np.flatnonzero(untied == 0)[0])
            raise SampleError(
                "sample {sample} orders no two of the {count} features that it has: leave it out",
                row,
                sample=name_of(row, ids),
                count=int(seen[row]),
            )
        unit = self.kernel in _UNIT
        squares = np.ones(len(X)) if unit else untied / (seen * (seen - 1) / 2)
        return new, np.sqrt(squares / own), squares


_ZERO = (Kendall(), PartialKendall())
_UNIT = (Kendall(ties="b"), PartialKendall().normalized())
"""Kernels whose samples have the norm of their untied pairs, and norm 1."""


def _squares(order: Array, balance: Array, observed: Array, last: Array) -> Floats:
    """‖E Φ(x)‖² of arranged samples."""
    squares = np.empty(len(order))
    self_sums(balance, observed, last, squares)
    return squares


def _untied(order: Array, balance: Array, observed: Array, last: Array) -> Floats:
    """Number of pairs of observed features that each arranged sample does not tie.

    Items in a lowest tie group count as observed here, although `arrange` writes them as items that come last.
    """
    untied, k = np.empty(len(order)), observed.astype(np.int64)
    self_sums(balance, observed, np.ones_like(last), untied)
    return np.where(last, untied, untied - (order.shape[1] - k) * k)


def _strips(training: Prepared, n: int) -> Iterator[tuple[int, tuple[Array, Array, Array, Array]]]:
    """Arrange training samples, some at a time, as `PartialKendall` does; yield the first position of each strip."""
    if "balance" in training.arrays and not training.is_sparse:
        yield 0, arranged(training)
        return
    height = max(1, STRIP_BYTES // (8 * n))
    for start in range(0, len(training), height):
        yield start, arrange(_scores(training, slice(start, start + height), n), False)


def _scores(training: Prepared, rows: slice, n: int) -> Floats:
    """Numbers in the order of the values of prepared samples (rows, n)."""
    if not training.is_sparse:
        return training.arrays["codes"][rows].astype(np.float64)
    places, scores, nonzeros = (training.arrays[name][rows] for name in ("places", "scores", "nonzeros"))
    values = np.zeros((len(places), n))
    for value, place, score, k in zip(values, places, scores, nonzeros, strict=True):
        value[place[:k]] = score[:k]
    return values
