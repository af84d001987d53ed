"""A Gram matrix over an array in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames, aligned
from distkern.core.containers import as_floats, plain
from distkern.core.errors import InputError
from distkern.core.parameters import entries
from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite
from distkern.operators.identity import Identity


def name_samples(count: int) -> tuple[str, ...]:
    """Default names of samples: their positions, as text."""
    return tuple(str(position) for position in range(count))


class ArrayGram(BaseGram):
    """A Gram matrix over an array in memory.

    Parameters
    ----------
    values
        Kernel values (rows, cols); float64 arrays are not copied, and never changed. Masked and missing values are
        refused.
    row_diag, col_diag
        k(x, x) of the row samples and of the column samples. A square matrix without them is taken as symmetric, with
        these values on its diagonal.
    row_ids, col_ids
        Names of the samples; by default those of the rows and columns of a DataFrame, else positions.
    identity
        Identity of the column samples and of the values, where it is known, as in ``gram.identity``.

    Raises
    ------
    InputError
        If the values are not a finite matrix, or a diagonal has the names of other samples.

    See Also
    --------
    Gram : A matrix in a store, of any size.
    SumGram : A weighted sum of Gram matrices.

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
        identity: Identity | None = None,
    ) -> None:
        found = plain(values, "the matrix")
        dense = found.values.toarray() if hasattr(found.values, "toarray") else found.values
        self._values: Floats = as_floats(dense, "the matrix")
        if self._values.ndim != 2:
            raise InputError(f"a Gram matrix has two axes; got an array of shape {self._values.shape}")
        finite(self._values)
        rows, cols = self._values.shape
        row_names, col_names = (
            own if given is None else tuple(given if isinstance(given, str) else entries(given, "row_ids and col_ids"))
            for own, given in zip(found.names, (row_ids, col_ids), strict=True)
        )
        self._identity = identity
        self._symmetric = rows == cols and row_diag is None and col_diag is None
        if self._symmetric:
            row_names, col_names = row_names or col_names, col_names or row_names
            self._symmetric = row_names == col_names
        self._has_names = row_names is not None
        self._row_ids = name_samples(rows) if row_names is None else row_names
        self._col_ids = name_samples(cols) if col_names is None else col_names
        self._row_diag = self._as_diagonal(row_diag, SampleNames(rows, row_names), "row_diag")
        self._col_diag = self._as_diagonal(col_diag, SampleNames(cols, col_names), "col_diag")

    @staticmethod
    def _as_diagonal(values: Any, samples: SampleNames, name: str) -> Floats | None:
        if values is None:
            return None
        array = as_floats(aligned(values, samples, name), name)
        if array.shape != (samples.count,):
            raise InputError(f"{name} has shape {array.shape}; the matrix needs ({samples.count},)")
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
    def identity(self) -> Identity | None:
        """Identity of the column samples and of the values; None where it is not known."""
        return self._identity

    @property
    def row_samples(self) -> SampleNames:
        """Names of the row samples, if they were given."""
        return SampleNames(len(self._row_ids), self._row_ids if self._has_names else None)

    @property
    def values(self) -> Floats:
        """The array itself, not a copy: do not change it."""
        return self._values

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self._values[np.ix_(rows, cols)]

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        return self._values @ V if rows is None or cols is None else super()._product(V, rows, cols)

    def _diagonal(self, values: Floats | None, axis: str) -> Floats:
        if values is not None:
            return values
        if self._symmetric:
            return self._values.diagonal().copy()
        raise InputError(
            f"a rectangular array does not hold k(x, x) of its {axis}s: give it as {axis}_diag= to ArrayGram, or as "
            "diagonal= to KernelStandardizer"
        )

    def row_diag(self) -> Floats:
        """k(x, x) of the row samples; an error if the matrix is rectangular and it was not given."""
        return self._diagonal(self._row_diag, "row")

    def col_diag(self) -> Floats:
        """k(x, x) of the column samples; an error if the matrix is rectangular and it was not given."""
        return self._diagonal(self._col_diag, "col")

    def bytes_read(self) -> int:
        """Bytes read from storage: 0, since the array is in memory."""
        return 0
