"""A weighted sum of Gram matrices of the same samples, lazily: several kernels as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram

Names = tuple[str, ...]


class SumGram(BaseGram):
    """k(x, y) = Σ_t c_t k_t(x, y): a weighted sum of Gram matrices of the same samples; nothing is computed.

    A product is one pass over each part, where that part lies. Positive semidefinite where the parts are and c ≥ 0.

    Parameters
    ----------
    parts
        Gram matrices k_t, whose rows are the same samples in the same order, and whose columns are.
    factors
        c_t, one finite number a part; ones when not given.

    Raises
    ------
    InputError
        If there is no part, the parts differ in shape or samples, or a factor is missing or not finite.
    InputTypeError
        If a part is no Gram matrix.

    Notes
    -----
    Samples are compared by their names; a matrix whose samples are named by their positions, such as an array, has none
    to compare. ``bytes_read()`` adds up the parts; two views of one store both count all that is read from it.

    Examples
    --------
    >>> from distkern.operators.array import ArrayGram
    >>> total = SumGram([ArrayGram(np.eye(2)), ArrayGram(np.ones((2, 2)))], [2.0, 0.5])
    >>> total.to_numpy()
    array([[2.5, 0.5],
           [0.5, 2.5]])
    >>> total.matmat([1.0, 1.0])
    array([3., 3.])
    """

    def __init__(self, parts: Sequence[BaseGram], factors: Any = None) -> None:
        self._parts = tuple(parts)
        if not self._parts:
            raise InputError("there is no Gram matrix to add up: give one part or more")
        for part in self._parts:
            if not isinstance(part, BaseGram):
                raise InputTypeError(
                    f"a part of a sum must be a Gram matrix, not a {type(part).__name__}: wrap an array in ArrayGram"
                )
        self._factors: Floats = np.ones(len(self._parts)) if factors is None else np.array(factors, dtype=np.float64)
        if self._factors.shape != (len(self._parts),) or not np.isfinite(self._factors).all():
            raise InputError(f"factors must be one finite number for each of the {len(self._parts)} parts: {factors!r}")
        first = self._parts[0]
        for number, part in enumerate(self._parts):
            if part.shape != first.shape or part.is_symmetric != first.is_symmetric:
                raise InputError(
                    f"part {number} of the sum is {part.shape[0]} × {part.shape[1]} and part 0 is {first.shape[0]} × "
                    f"{first.shape[1]}, or only one of them is symmetric: slice them alike"
                )
        self._row_ids = _shared_names([part.row_ids for part in self._parts], "row")
        self._col_ids = _shared_names([part.col_ids for part in self._parts], "column")

    @property
    def parts(self) -> tuple[BaseGram, ...]:
        """The matrices that are added up."""
        return self._parts

    @property
    def factors(self) -> Floats:
        """c_t of each part."""
        return self._factors.copy()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""
        return self._parts[0].shape

    @property
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""
        return self._parts[0].is_symmetric

    @property
    def row_ids(self) -> Names:
        """Names of the row samples."""
        return self._row_ids

    @property
    def col_ids(self) -> Names:
        """Names of the column samples."""
        return self._col_ids

    # Reading -----------------------------------------------------------------------------------------------------

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        total = self._factors[0] * self._parts[0]._block(rows, cols)
        return self._with_others(total, rows, cols)

    def _with_others(self, total: Floats, rows: Indices, cols: Indices) -> Floats:
        for factor, part in zip(self._factors[1:], self._parts[1:], strict=True):
            total += factor * part._block(rows, cols)
        return total

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Pass over the tiles of the first part, and read the same entries of the others; a mirror image once."""
        before: tuple[Indices, Indices, Floats] | None = None
        for rows, cols, values in self._parts[0].tiles():
            if before is not None and self.is_symmetric and _are_mirrored(before, rows, cols):
                yield rows, cols, before[2].T
                continue
            before = rows, cols, self._with_others(self._factors[0] * values, rows, cols)
            yield before

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        total = self._factors[0] * self._parts[0]._product(V, rows, cols)
        for factor, part in zip(self._factors[1:], self._parts[1:], strict=True):
            total += factor * part._product(V, rows, cols)
        return total

    def row_diag(self) -> Floats:
        """k(x, x) of the row samples."""
        return self._factors @ np.array([part.row_diag() for part in self._parts])

    def col_diag(self) -> Floats:
        """k(x, x) of the column samples."""
        return self._factors @ np.array([part.col_diag() for part in self._parts])

    def norm_floor(self) -> float:
        """Squared norms up to this are zero or what rounding has left of it."""
        return float(np.abs(self._factors) @ [part.norm_floor() for part in self._parts])

    def bytes_read(self) -> int:
        """Bytes read from storage through the parts so far."""
        return sum(part.bytes_read() for part in self._parts)

    # The samples behind the columns --------------------------------------------------------------------------------

    def cross(self, X: Any) -> SumGram:
        """Kernel between new raw samples (rows) and the column samples, from what every part knows of them."""
        return SumGram([part.cross(X) for part in self._parts], self._factors)

    @property
    def kernel(self) -> Any:
        """Σ_t c_t k_t as a kernel of samples; the factors must be positive."""
        terms = [float(factor) * part.kernel for factor, part in zip(self._factors, self._parts, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def prepared_columns(self) -> Any:
        """Refuse: every part has prepared the samples for its own kernel."""
        raise InputError(
            "the parts of a sum of Gram matrices prepared their samples each for its own kernel, and a model file "
            "holds one: predict with CohortPredictor(model, gram), or compute the Gram matrix of the sum of the kernels"
        )

    @cached_property
    def _same_features(self) -> bool:
        first = self._parts[0]
        about = (first.features, first.n_features, first.dropped)
        return all((part.features, part.n_features, part.dropped) == about for part in self._parts)

    @property
    def features(self) -> Names | None:
        """Names of the features that the kernels compared; None where they are not known or not the same."""
        return self._parts[0].features if self._same_features else None

    @property
    def n_features(self) -> int | None:
        """Number of the features that the kernels compared; None where it is not known or not the same."""
        return self._parts[0].n_features if self._same_features else None

    @property
    def dropped(self) -> tuple[int, ...]:
        """Positions of the features that the samples came with and the kernels did not compare."""
        return self._parts[0].dropped if self._same_features else ()


def _shared_names(every: list[Names], side: str) -> Names:
    """Names that all parts give their samples, those that only number them aside."""
    named = [(number, ids) for number, ids in enumerate(every) if not _only_numbered(ids)]
    if not named:
        return every[0]
    reference, names = named[0]
    for number, ids in named[1:]:
        if ids != names:
            place = next(k for k, pair in enumerate(zip(ids, names, strict=True)) if pair[0] != pair[1])
            raise InputError(
                f"the {side}s of part {number} of the sum are other samples than those of part {reference}: number "
                f"{place} is {ids[place]!r}, not {names[place]!r}; slice the parts to the same samples, in one order"
            )
    return names


def _only_numbered(ids: Names) -> bool:
    return all(name == str(position) for position, name in enumerate(ids))


def _are_mirrored(before: tuple[Indices, Indices, Floats], rows: Indices, cols: Indices) -> bool:
    return np.array_equal(before[0], cols) and np.array_equal(before[1], rows)
