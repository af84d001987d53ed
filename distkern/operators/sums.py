"""The lazy weighted sum of Gram matrices of the same samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames
from distkern.core.containers import as_floats, plain_values
from distkern.core.errors import InputError, InputTypeError
from distkern.core.parameters import entries
from distkern.core.typing import Floats, Indices
from distkern.operators.base import BaseGram
from distkern.operators.identity import Identity, total

Names = tuple[str, ...]


class SumGram(BaseGram):
    """k(x, y) = Σ_t c_t k_t(x, y): the lazy weighted sum of Gram matrices of the same samples.

    A product makes one pass over each part, on the executor of the part. The sum is positive semidefinite if all parts
    are and c ≥ 0.

    Parameters
    ----------
    parts
        Gram matrices k_t with the same row samples in the same order, and the same column samples.
    factors
        c_t, one finite number per part; 1 by default.

    Raises
    ------
    InputError
        If there is no part, parts differ in shape or samples, or the factors are not one finite number per part.
    InputTypeError
        If a part is not a Gram matrix.

    See Also
    --------
    ArrayGram : A matrix in memory.
    MLSRRanker : Learns one function for each kernel instead of weighting them.

    Notes
    -----
    Samples are compared by name. Matrices whose samples are named by position, such as arrays, are not compared.
    ``bytes_read()`` is the sum over the parts; two views of one store both count all bytes read from it.

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
        self._parts = tuple(entries(parts, "parts"))
        if not self._parts:
            raise InputError("there is no Gram matrix to add up: give one part or more")
        for part in self._parts:
            if not isinstance(part, BaseGram):
                raise InputTypeError(
                    f"a part of a sum must be a Gram matrix, not a {type(part).__name__}: wrap an array in ArrayGram"
                )
        self._factors: Floats = (
            np.ones(len(self._parts)) if factors is None else as_floats(plain_values(factors, "factors"), "factors")
        )
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
        """The matrices k_t."""
        return self._parts

    @property
    def factors(self) -> Floats:
        """c_t of all parts."""
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
    def row_samples(self) -> SampleNames:
        """Names and positions of the row samples, of the first part that has names."""
        every = [part.row_samples for part in self._parts]
        return next((names for names in every if names.ids is not None and not names.numbered), every[0])

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
        """Yield the sum once, by the tiles of the first part; mirrored tiles are read from the other parts once."""
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
        """Largest squared norm in feature space that counts as zero, because of rounding."""
        return float(np.abs(self._factors) @ [part.norm_floor() for part in self._parts])

    def bytes_read(self) -> int:
        """Bytes read from storage through the parts so far."""
        return sum(part.bytes_read() for part in self._parts)

    # The samples behind the columns --------------------------------------------------------------------------------

    def cross(self, X: Any) -> SumGram:
        """Kernel between new raw samples (rows) and the column samples, as the sum of the kernels of the parts."""
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
        """Always an error: each part prepared the samples for its own kernel."""
        raise InputError(
            "each part of a sum of Gram matrices prepared the samples for its own kernel, but a model file holds one "
            "kernel: predict with CohortPredictor(model, gram), or compute the Gram matrix of the sum of the kernels"
        )

    @property
    def identity(self) -> Identity | None:
        """Identities of the parts and their factors; None where one is not known."""
        return total([part.identity for part in self._parts], self._factors.tolist())

    @cached_property
    def _same_features(self) -> bool:
        first = self._parts[0]
        about = (first.features, first.n_features, first.dropped)
        return all((part.features, part.n_features, part.dropped) == about for part in self._parts)

    @property
    def features(self) -> Names | None:
        """Names of the features that the kernels compared; None if they are unknown or differ between parts."""
        return self._parts[0].features if self._same_features else None

    @property
    def n_features(self) -> int | None:
        """Number of the features that the kernels compared; None if it is unknown or differs between parts."""
        return self._parts[0].n_features if self._same_features else None

    @property
    def dropped(self) -> tuple[int, ...]:
        """Positions of the features that were left out before the kernels compared the samples."""
        return self._parts[0].dropped if self._same_features else ()


def _shared_names(every: list[Names], axis: str) -> Names:
    """Names of the samples, which must be equal in all parts, except in parts with default names."""
    named = [(number, ids) for number, ids in enumerate(every) if not _are_default(ids)]
    if not named:
        return every[0]
    reference, names = named[0]
    for number, ids in named[1:]:
        if ids != names:
            first = next(k for k, pair in enumerate(zip(ids, names, strict=True)) if pair[0] != pair[1])
            raise InputError(
                f"the {axis}s of part {number} of the sum are not the samples of part {reference}: number {first} is "
                f"{ids[first]!r}, not {names[first]!r}; slice the parts to the same samples, in the same order"
            )
    return names


def _are_default(ids: Names) -> bool:
    return all(name == str(position) for position, name in enumerate(ids))


def _are_mirrored(before: tuple[Indices, Indices, Floats], rows: Indices, cols: Indices) -> bool:
    return np.array_equal(before[0], cols) and np.array_equal(before[1], rows)
