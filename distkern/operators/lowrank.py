"""Gram matrices of low rank: inner products of r features per sample, without an m × m array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames
from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.core.typing import Floats, Indices
from distkern.core.units import parse_bytes
from distkern.operators.array import ArrayGram
from distkern.operators.base import ASARRAY_LIMIT, PASS_BYTES, BaseGram, SliceGram
from distkern.operators.identity import Identity

TILE_SIDE = int((PASS_BYTES // 8) ** 0.5)
"""Rows and columns of the tiles in a pass over such a matrix."""


TOGETHER = 64
"""Samples whose features are multiplied together; the last bits of a product depend on the shapes of its operands."""


def _rows_times(values: Floats, basis: Floats) -> Floats:
    """Return c(x) B of some samples: each has the same bits whichever samples it is read with."""
    out = np.empty((len(values), basis.shape[1]))
    padded = np.zeros((TOGETHER, values.shape[1]))
    with one_blas_thread():
        for start in range(0, len(values), TOGETHER):
            part = values[start : start + TOGETHER]
            padded[: len(part)] = part
            out[start : start + TOGETHER] = (padded @ basis)[: len(part)]
    return out


class Features(ABC):
    """φ(x) = Bᵀ c(x), r features of each sample x, from k values c(x) of the sample and a small matrix B.

    Parameters
    ----------
    about
        Gram matrix with these samples among its rows; it provides their names, features and kernel.
    """

    def __init__(self, about: BaseGram) -> None:
        self.about = about

    @property
    @abstractmethod
    def basis(self) -> Floats:
        """B, (k, r)."""

    @property
    @abstractmethod
    def ids(self) -> tuple[str, ...]:
        """Names of the samples."""

    @property
    def samples(self) -> SampleNames:
        """Names and positions of the samples, with which labels and weights are aligned."""
        return self.about.row_samples

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def blocks(self) -> Iterator[tuple[Indices, Floats]]:
        """Yield all samples, reading each stored byte once: (positions, their c(x) in rows)."""

    @abstractmethod
    def take(self, positions: Indices) -> Features:
        """Select some samples; nothing is read."""

    @abstractmethod
    def adjoint(self, V: Floats) -> Floats:
        """Φᵀ V, in one pass."""

    @abstractmethod
    def times(self, U: Floats) -> Floats:
        """Φ U, in one pass."""

    @abstractmethod
    def of(self, X: Any) -> Features:
        """φ of new raw samples."""

    def equals(self, other: Features) -> bool:
        """Whether these are known, without reading, to be the features of the same samples in the same order."""
        return self is other

    @property
    def identity(self) -> Identity | None:
        """Identity of the samples, and of the kernel that the features represent; None where it is not known."""
        return None

    def transformed(self) -> Iterator[tuple[Indices, Floats]]:
        """Yield all samples: (positions, their φ(x) in rows)."""
        for positions, values in self.blocks():
            yield positions, _rows_times(values, self.basis)

    def read(self) -> Floats:
        """Φ, (samples, r), in memory."""
        out = np.empty((len(self), self.basis.shape[1]))
        for positions, values in self.transformed():
            out[positions] = values
        return out

    @cached_property
    def squares(self) -> Floats:
        """‖φ(x)‖² of each sample, in one pass."""
        out = np.empty(len(self))
        for positions, values in self.transformed():
            out[positions] = np.einsum("ij,ij->i", values, values)
        return out


class ArrayFeatures(Features):
    """φ(x) of some samples, in memory.

    Parameters
    ----------
    values
        φ(x) in rows, (samples, r).
    ids
        Names of the samples; positions by default.
    """

    def __init__(self, values: Any, ids: Any = None) -> None:
        self.values: Floats = np.asarray(values, dtype=np.float64)
        self._taken: SampleNames | None = None
        super().__init__(ArrayGram(self.values, row_ids=ids))

    @cached_property
    def basis(self) -> Floats:
        """The identity."""
        return np.eye(self.values.shape[1])

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the samples."""
        return self.about.row_ids

    @property
    def samples(self) -> SampleNames:
        """Names and positions of the samples; those of a part are positions in the whole."""
        return self.about.row_samples if self._taken is None else self._taken

    def __len__(self) -> int:
        return len(self.values)

    def blocks(self) -> Iterator[tuple[Indices, Floats]]:
        """Yield all samples at once."""
        yield np.arange(len(self)), self.values

    def take(self, positions: Indices) -> ArrayFeatures:
        """Select some samples."""
        part = ArrayFeatures(self.values[positions], [self.ids[position] for position in positions])
        part._taken = self.samples.take(positions)
        return part

    def adjoint(self, V: Floats) -> Floats:
        """Φᵀ V."""
        return self.values.T @ V

    def times(self, U: Floats) -> Floats:
        """Φ U."""
        return self.values @ U

    def of(self, X: Any) -> Features:
        """Always an error: the map from samples to features is not known."""
        raise InputError(
            "these features are an array, without a map from samples: compute the features of new samples yourself"
        )


class LowRankGram(BaseGram):
    """k(x, y) = ⟨φ(x), ψ(y)⟩, positive semidefinite if rows and columns are the same samples.

    Only features are read, by blocks. A product with vectors makes one pass over the features of the columns and one
    over the features of the rows. A slice is again a matrix of low rank.

    Parameters
    ----------
    rows, cols
        φ of the row samples and ψ of the column samples; the same object if these are the same samples.

    Examples
    --------
    >>> features = ArrayFeatures([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    >>> gram = LowRankGram(features, features)
    >>> gram.to_numpy()
    array([[1., 1., 0.],
           [1., 2., 2.],
           [0., 2., 4.]])
    >>> gram[1:].matmat([1.0, 1.0, 1.0])
    array([5., 6.])
    """

    def __init__(self, rows: Features, cols: Features) -> None:
        self._rows, self._cols = rows, cols

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""
        return len(self._rows), len(self._cols)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""
        return self._rows.equals(self._cols)

    @property
    def row_samples(self) -> SampleNames:
        """Names and positions of the row samples."""
        return self._rows.samples

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        return self._rows.ids

    @property
    def col_ids(self) -> tuple[str, ...]:
        """Names of the column samples."""
        return self._cols.ids

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if not isinstance(part, SliceGram):
            return part
        rows = self._rows.take(part._rows)
        same = self.is_symmetric and np.array_equal(part._rows, part._cols)
        return LowRankGram(rows, rows if same else self._cols.take(part._cols))

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        if len(rows) > len(cols):
            return _products(self._cols.take(cols), self._rows.take(rows)).T
        if self.is_symmetric and np.array_equal(rows, cols):
            values = self._rows.take(rows).read()
            return values @ values.T
        return _products(self._rows.take(rows), self._cols.take(cols))

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Yield the whole matrix, tile by tile, computed from features; products do not need it."""
        for start in range(0, self.shape[0], TILE_SIDE):
            rows = np.arange(start, min(start + TILE_SIDE, self.shape[0]))
            left = self._rows.take(rows).read()
            if self.is_symmetric:
                yield rows, rows, left @ left.T
            for first in range(rows[-1] + 1 if self.is_symmetric else 0, self.shape[1], TILE_SIDE):
                cols = np.arange(first, min(first + TILE_SIDE, self.shape[1]))
                values = left @ self._cols.take(cols).read().T
                yield rows, cols, values
                if self.is_symmetric:
                    yield cols, rows, values.T

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        """Φ (Ψᵀ V) for some rows and columns, all by default."""
        left = self._rows if rows is None else self._rows.take(rows)
        right = self._cols if cols is None else self._cols.take(cols)
        return left.times(right.adjoint(V))

    def row_diag(self) -> Floats:
        """‖φ(x)‖² of the row samples."""
        return self._rows.squares

    def col_diag(self) -> Floats:
        """‖ψ(y)‖² of the column samples."""
        return self._cols.squares

    def bytes_read(self) -> int:
        """Bytes read so far from the store of the columns' features."""
        return self._cols.about.bytes_read()

    @property
    def rank(self) -> int:
        """r, the number of features; the rank of the matrix is at most r."""
        return self._rows.basis.shape[1]

    def embedding(self, max_bytes: int | str = ASARRAY_LIMIT) -> Floats:
        """Φ, (samples, r), of the row samples: a linear learner on Φ is a kernel learner on this matrix.

        Raises
        ------
        MemoryLimitError
            If the array would take more than ``max_bytes``.
        """
        needed = 8 * len(self) * self.rank
        if needed > (allowed := parse_bytes(max_bytes)):
            raise MemoryLimitError(
                "the embedding {samples} × {rank} takes {needed:,} bytes in memory, more than the {allowed:,} allowed: "
                "raise {max_bytes}{blocks}",
                samples=len(self),
                rank=self.rank,
                needed=needed,
                allowed=allowed,
                max_bytes=Argument("max_bytes"),
                blocks=OptionalPart(", or pass over {blocks}()", blocks=Call("embedding_blocks")),
            )
        return self._rows.read()

    def embedding_blocks(self) -> Iterator[tuple[Indices, Floats]]:
        """Yield the row samples once: (positions, their rows of Φ), in a fixed order."""
        return self._rows.transformed()

    # The samples behind the columns ------------------------------------------------------------------------------

    def cross(self, X: Any) -> LowRankGram:
        """⟨φ(x), ψ(y)⟩ between new raw samples (rows) and the column samples, lazily; φ(x) is in memory."""
        return LowRankGram(self._cols.of(X), self._cols)

    @property
    def kernel(self) -> Any:
        """The kernel that the features approximate or represent."""
        return self._cols.about.kernel

    def prepared_columns(self) -> Any:
        """Always an error: the exact kernel of the prepared samples is not the kernel of this matrix."""
        raise InputError(
            "the values of this matrix come from features of low rank, which a model file cannot hold: predict with "
            "CohortPredictor(model, gram), or fit a linear model on gram.embedding()"
        )

    @property
    def features(self) -> tuple[str, ...] | None:
        """Names of the features of a sample that the kernel compared; None where they are not known."""
        return self._cols.about.features

    @property
    def n_features(self) -> int | None:
        """Number of the features of a sample that the kernel compared; None where it is not known."""
        return self._cols.about.n_features

    @property
    def dropped(self) -> tuple[int, ...]:
        """Positions of the features of a sample that were left out before the kernel compared the samples."""
        return self._cols.about.dropped

    @property
    def identity(self) -> Identity | None:
        """Identity of the column samples, and of the kernel that the features represent; None where unknown."""
        return self._cols.identity


def _products(few: Features, many: Features) -> Floats:
    """⟨φ(x), ψ(y)⟩ between few samples, which are read into memory, and many, which are read by blocks."""
    left = few.read()
    out = np.empty((len(few), len(many)))
    for positions, values in many.transformed():
        out[:, positions] = left @ values.T
    return out
