"""Lazy views of a Gram matrix that transform its values: centred in feature space, scaled to unit norm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.matrix.base import BaseGram
from distkern.matrix.indexing import as_indices
from distkern.matrix.pairs import Numbers, PairWork, Seen, State

ROUNDING = 1e-10
"""A squared distance from the centre below this fraction of the largest k(x, x) has lost six digits to rounding, or is
what rounding leaves of zero."""


class View(BaseGram):
    """A view that keeps the samples of its parent and changes their values."""

    def __init__(self, parent: BaseGram) -> None:
        self._parent = parent

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""
        return self._parent.shape

    @property
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""
        return self._parent.is_symmetric

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        return self._parent.row_ids

    @property
    def col_ids(self) -> tuple[str, ...]:
        """Names of the column samples."""
        return self._parent.col_ids

    def bytes_read(self) -> int:
        """Bytes read from storage through the parent so far."""
        return self._parent.bytes_read()

    @abstractmethod
    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Values of the view from the parent's values of some rows and columns."""

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self.transformed(self._parent._block(rows, cols), rows, cols)

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Pass over the parent's tiles once."""
        for rows, cols, values in self._parent.tiles():
            yield rows, cols, self.transformed(values, rows, cols)

    def _fold_seen(
        self,
        work: PairWork,
        transform: Callable[..., Floats],
        own: dict[str, Array],
        numbers: Numbers,
        masses: Numbers,
        part: Indices | None,
    ) -> State:
        """Work on values that the parent's become by a function of them and of own numbers of each sample."""
        unique = {name: f"{name} of view {len(numbers)}" for name in own}  # the view may be of a view of its kind
        known = {unique[name]: _some(array, part) for name, array in own.items()}
        seen = Seen(work, transform, (*known, "position"))
        return self._parent._fold(seen, {**numbers, **known}, masses, part)


class CenteredGram(View):
    """k(x, y) − r(x) − c(y) + g: centred in feature space on a set of samples.

    Parameters
    ----------
    parent
        The matrix to centre.
    row_means, col_means
        r(x) and c(y): mean kernel value between the sample and the centring samples, (rows,) and (cols,).
    grand_mean
        g: mean kernel value among the centring samples.
    """

    def __init__(self, parent: BaseGram, row_means: Floats, col_means: Floats, grand_mean: float) -> None:
        super().__init__(parent)
        self.row_means, self.col_means, self.grand_mean = row_means, col_means, grand_mean

    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Centred values."""
        return _centred(values, self.row_means[rows], rows, self.col_means[cols], cols, grand_mean=self.grand_mean)

    def _fold(self, work: PairWork, numbers: Numbers, masses: Numbers, part: Indices | None) -> State:
        transform = partial(_centred, grand_mean=self.grand_mean)
        return self._fold_seen(work, transform, {"means": self.row_means}, numbers, masses, part)

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        row_means, col_means = _some(self.row_means, rows), _some(self.col_means, cols)
        sums = V.sum(axis=0)
        return (
            self._parent._product(V, rows, cols)
            - np.multiply.outer(row_means, sums)
            - col_means @ V
            + self.grand_mean * sums
        )

    def row_diag(self) -> Floats:
        """Squared distance of each row sample from the centre."""
        return self._parent.row_diag() - 2 * self.row_means + self.grand_mean

    def col_diag(self) -> Floats:
        """Squared distance of each column sample from the centre."""
        return self._parent.col_diag() - 2 * self.col_means + self.grand_mean

    def norm_floor(self) -> float:
        """Squared distances from the centre up to this are rounding."""
        largest = max(self._parent.row_diag().max(initial=0.0), self._parent.col_diag().max(initial=0.0))
        return ROUNDING * float(largest)


def center(gram: BaseGram, on: Any = None) -> CenteredGram:
    """Centre a symmetric Gram matrix on the mean of the samples ``on``; all of them by default.

    Raises
    ------
    InputError
        If rows and columns are not the same samples, or no sample is given to centre on.
    """
    if not gram.is_symmetric:
        raise InputError(
            "only a matrix whose rows and columns are the same samples can centre itself: for test × train matrices "
            "fit a KernelStandardizer on the training matrix, or centre the whole matrix on the training samples first"
        )
    samples = as_indices(slice(None) if on is None else on, gram.shape[0], "centring samples")
    if len(samples) == 0:
        raise InputError("no sample to centre on")
    weights = np.bincount(samples, minlength=gram.shape[0]) / len(samples)
    means = gram.matmat(weights)
    return CenteredGram(gram, means, means, float(weights @ means))


class UnitNormGram(View):
    """k(x, y) / sqrt(k(x, x) k(y, y)): every sample scaled to norm 1 in feature space.

    Raises
    ------
    InputError
        If a sample has norm zero; it is named.
    """

    def __init__(self, parent: BaseGram) -> None:
        super().__init__(parent)
        floor = parent.norm_floor()
        self.row_norms = _norms(parent.row_diag(), parent.row_ids, floor)
        self.col_norms = self.row_norms if parent.is_symmetric else _norms(parent.col_diag(), parent.col_ids, floor)

    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Values divided by the norms."""
        return _scaled(values, self.row_norms[rows], rows, self.col_norms[cols], cols, symmetric=self.is_symmetric)

    def _fold(self, work: PairWork, numbers: Numbers, masses: Numbers, part: Indices | None) -> State:
        return self._fold_seen(work, _scaled, {"norms": self.row_norms}, numbers, masses, part)

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        scaled = (V.T / _some(self.col_norms, cols)).T
        return (self._parent._product(scaled, rows, cols).T / _some(self.row_norms, rows)).T

    def row_diag(self) -> Floats:
        """Ones."""
        return np.ones(self.shape[0])

    def col_diag(self) -> Floats:
        """Ones."""
        return np.ones(self.shape[1])


def _centred(
    values: Floats, row_means: Floats, rows: Indices, col_means: Floats, cols: Indices, *, grand_mean: float
) -> Floats:
    # r + c first: a sum of two terms commutes, so the block of a symmetric matrix is symmetric to the bit
    return values - np.add.outer(row_means, col_means) + grand_mean


def _scaled(
    values: Floats, row_norms: Floats, rows: Indices, col_norms: Floats, cols: Indices, *, symmetric: bool = True
) -> Floats:
    values = values / np.multiply.outer(row_norms, col_norms)
    if symmetric:
        values[np.equal.outer(rows, cols)] = 1.0
    return values


def _some(values: Floats, positions: Indices | None) -> Floats:
    return values if positions is None else values[positions]


def _norms(diagonal: Floats, ids: tuple[str, ...], floor: float) -> Floats:
    null = np.flatnonzero(~(diagonal > floor))
    if len(null):
        raise InputError(
            f"sample {ids[null[0]]!r} has norm zero in feature space ({len(null)} such in all): a constant sample, or, "
            "after centring, one that equals the mean as far as its digits tell; leave it out, take a common offset "
            "from the values first, or do without unit norm"
        )
    return np.sqrt(diagonal)
