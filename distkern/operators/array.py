"""A Gram matrix over an array in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite


def name_samples(count: int) -> tuple[str, ...]:
    """Names for samples that came without: their positions, as text."""
    return tuple(str(position) for position in range(count))


class ArrayGram(BaseGram):
    """A Gram matrix over an array in memory.

    Parameters
    ----------
    values
        Kernel values (rows, cols); kept as they are, never written to.
    row_diag, col_diag
        k(x, x) of the samples where the matrix does not hold it. A square matrix without them is taken as symmetric,
        and its own diagonal serves.
    row_ids, col_ids
        Names of the samples; positions by default.

    Raises
    ------
    InputError
        If the values are not a finite matrix.

    Examples
    --------
    >>> gram = ArrayGram([[2.0, 1.0], [1.0, 2.0]])
    >>> gram.unit_norm().to_numpy()
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def __init__(
        self,
        values: Any,
        *,
        row_diag: Any = None,
        col_diag: Any = None,
        row_ids: Sequence[str] | None = None,
        col_ids: Sequence[str] | None = None,
    ) -> None:
        self._values: Floats = np.asarray(values, dtype=np.float64)
        if self._values.ndim != 2:
            raise InputError(f"a Gram matrix has two axes; got an array of shape {self._values.shape}")
        finite(self._values)
        rows, cols = self._values.shape
        self._symmetric = rows == cols and row_diag is None and col_diag is None
        self._row_diag = self._given(row_diag, rows, "row_diag")
        self._col_diag = self._given(col_diag, cols, "col_diag")
        self._row_ids = name_samples(rows) if row_ids is None else tuple(row_ids)
        self._col_ids = (
            (self._row_ids if self._symmetric else name_samples(cols)) if col_ids is None else tuple(col_ids)
        )

    @staticmethod
    def _given(values: Any, count: int, name: str) -> Floats | None:
        if values is None:
            return None
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (count,):
            raise InputError(f"{name} has shape {array.shape}; the matrix needs ({count},)")
        return array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""
        return self._values.shape[0], self._values.shape[1]

    @property
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""
        return self._symmetric

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        return self._row_ids

    @property
    def col_ids(self) -> tuple[str, ...]:
        """Names of the column samples."""
        return self._col_ids

    @property
    def values(self) -> Floats:
        """The array itself: not to be written to."""
        return self._values

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self._values[np.ix_(rows, cols)]

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        return self._values @ V if rows is None or cols is None else super()._product(V, rows, cols)

    def _known_diag(self, values: Floats | None, side: str) -> Floats:
        if values is not None:
            return values
        if self._symmetric:
            return self._values.diagonal().copy()
        raise InputError(
            f"a rectangular array does not hold k(x, x) of its {side}s: give it as {side}_diag= to ArrayGram, or as "
            "diagonal= to KernelStandardizer"
        )

    def row_diag(self) -> Floats:
        """k(x, x) of the row samples; an error where the matrix does not hold it and it was not given."""
        return self._known_diag(self._row_diag, "row")

    def col_diag(self) -> Floats:
        """k(x, x) of the column samples; an error where the matrix does not hold it and it was not given."""
        return self._known_diag(self._col_diag, "col")

    def bytes_read(self) -> int:
        """Nothing is stored, so nothing is read: 0."""
        return 0
