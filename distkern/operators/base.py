"""The Gram matrix as a linear operator, and its lazy views: slices, centred and unit-norm matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from distkern.core.alignment import SampleNames, aligned
from distkern.core.allowance import allowed_bytes
from distkern.core.containers import as_floats
from distkern.core.deprecation import warn_renamed
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.core.typing import Array, Floats, Indices, Spec
from distkern.core.units import parse_bytes
from distkern.operators.identity import Identity
from distkern.operators.indexing import as_indices, split_key
from distkern.operators.pairwise import PairWork, SampleArrays, State, Transformed, arrays_at, strips

ASARRAY_LIMIT = 2**30
"""``np.asarray(gram)`` refuses a matrix of more bytes than this; ``to_numpy(max_bytes=...)`` states another limit."""

PASS_BYTES = 2**26
"""Most bytes of a block in a pass over a matrix that has no stored tiles."""

COPIES = 4
"""Blocks of a pass that are in memory at once, at most: as read, as transformed by views, as compared or multiplied."""

ROUNDING = 1e-10
"""Fraction of the largest k(x, x): a smaller squared distance from the centre has lost six digits to rounding, or is a
rounded zero."""


class BaseGram(ABC):
    """A matrix of kernel values k(x, y) between row samples x and column samples y, as a linear operator.

    A concrete matrix provides its shape, diagonals and names, and ``_block``. ``block``, ``matmat``, ``tiles`` and
    ``map_reduce`` read kernel values. Indexing (``gram[rows][:, cols]``, scikit-learn's ``gram[np.ix_(rows, cols)]``),
    ``centered()`` and ``unit_norm()`` return lazy views.
    """

    dtype = np.dtype(np.float64)

    # Provided by each concrete matrix -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""

    @abstractmethod
    def _block(self, rows: Indices, cols: Indices) -> Floats:
        """Read the entries at row and column positions that are known to be valid."""

    @abstractmethod
    def row_diag(self) -> Floats:
        """k(x, x) of the row samples, also where the matrix is rectangular."""

    @abstractmethod
    def col_diag(self) -> Floats:
        """k(x, x) of the column samples, also where the matrix is rectangular."""

    @property
    @abstractmethod
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""

    @property
    @abstractmethod
    def row_ids(self) -> tuple[str, ...]:
        """Names of the row samples."""

    @property
    @abstractmethod
    def col_ids(self) -> tuple[str, ...]:
        """Names of the column samples."""

    @abstractmethod
    def bytes_read(self) -> int:
        """Bytes read from storage so far through this matrix and all its views."""

    def cross(self, X: Any) -> BaseGram:
        """Kernel between new raw samples (rows) and the column samples of this matrix.

        Raises
        ------
        InputError
            If this matrix holds kernel values only.
        """
        raise _without_samples()

    @property
    def kernel(self) -> Any:
        """The kernel of the values; an error where the matrix holds values only."""
        raise _without_samples()

    def prepared_columns(self) -> Any:
        """Column samples as the kernel prepared them; an error where the matrix holds values only."""
        raise _without_samples()

    @property
    def features(self) -> tuple[str, ...] | None:
        """Names of the features that the kernel compared; None where they are not known."""
        return None

    @property
    def n_features(self) -> int | None:
        """Number of the features that the kernel compared; None where it is not known."""
        return None

    @property
    def dropped(self) -> tuple[int, ...]:
        """Positions of the features that were left out before the kernel compared the samples."""
        return ()

    @property
    def identity(self) -> Identity | None:
        """Data of the column samples, kernel and views, which a fitted model keeps and compares; None if unknown."""
        return None

    def norm_floor(self) -> float:
        """Largest squared norm in feature space that counts as zero, because of rounding."""
        return 0.0

    # Derived from them --------------------------------------------------------------------------------------------

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        return self.row_ids

    @property
    def row_samples(self) -> SampleNames:
        """Names and positions of the row samples, with which labels and weights are aligned."""
        return SampleNames(self.shape[0], self.row_ids, np.arange(self.shape[0]))

    @property
    def col_samples(self) -> SampleNames:
        """Names of the column samples, with which the factor of a product is aligned."""
        if self.is_symmetric:
            return self.row_samples
        return SampleNames(self.shape[1], self.col_ids, whose="the columns", listed="list(gram.col_ids)")

    @property
    def ndim(self) -> int:
        """Number of axes: 2."""
        return 2

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix as a float64 array."""
        return self.shape[0] * self.shape[1] * 8

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Floats]:
        """Yield the rows as arrays, one at a time; also tells pandas that this is a table."""
        return (self[row] for row in range(len(self)))

    def diag(self) -> Floats:
        """k(x, x) of the samples of a symmetric matrix.

        Raises
        ------
        InputError
            If rows and columns are not the same samples.
        """
        if not self.is_symmetric:
            raise InputError("rows and columns are not the same samples: use row_diag() or col_diag()")
        return self.row_diag()

    def block(self, rows: Any, cols: Any) -> Floats:
        """Read the entries of some rows and columns (slices, positions or masks) into an array."""
        return self._block(*self._selected(rows, cols))

    def _selected(self, rows: Any, cols: Any) -> tuple[Indices, Indices]:
        """Positions of the selected rows and columns."""
        return (
            as_indices(rows, self.shape[0], "rows", lambda: self.row_samples),
            as_indices(cols, self.shape[1], "columns", lambda: self.col_samples),
        )

    def __getitem__(self, key: Any) -> Any:
        rows, cols = split_key(key)
        if isinstance(rows, (int, np.integer)) or isinstance(cols, (int, np.integer)):
            values = self.block(
                [rows] if isinstance(rows, (int, np.integer)) else rows,
                [cols] if isinstance(cols, (int, np.integer)) else cols,
            )
            row = 0 if isinstance(rows, (int, np.integer)) else slice(None)
            col = 0 if isinstance(cols, (int, np.integer)) else slice(None)
            return values[row, col]
        return SliceGram(self, *self._selected(rows, cols))

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Yield the matrix once, tile by tile: (row positions, column positions, entries), in a fixed order."""
        rows, cols = self.shape
        height = max(1, pass_bytes() // max(1, 8 * cols))
        every = np.arange(cols, dtype=np.intp)
        for start in range(0, rows, height):
            part = np.arange(start, min(start + height, rows), dtype=np.intp)
            yield part, every, self._block(part, every)

    def reading_bytes(self) -> int:
        """Bytes of the smallest part that can be read, here a row, with its copies; a pass takes that at least."""
        return 8 * self.shape[1]

    def matmat(self, V: Array) -> Floats:
        """K V: product with a vector (n,) or with vectors in columns (n, k), in one pass over the tiles."""
        return self._product(self._operand(V))

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        """K[rows][:, cols] V, for all rows and columns by default; positions may repeat."""
        if rows is None or cols is None:
            out = np.zeros((self.shape[0], *V.shape[1:]))
            for top, left, values in self.tiles():
                out[top] += values @ V[left]
            return out
        if 4 * len(rows) * len(cols) >= self.shape[0] * self.shape[1]:  # a pass over the whole costs as little
            operand = np.zeros((self.shape[1], *V.shape[1:]))
            np.add.at(operand, cols, V)
            return self._product(operand)[rows]
        height = max(1, pass_bytes() // max(1, 8 * len(cols)))
        strips = [self._block(rows[start : start + height], cols) @ V for start in range(0, len(rows), height)]
        return np.concatenate(strips or [np.zeros((0, *V.shape[1:]))])

    def _operand(self, V: Array) -> Floats:
        if type(V) is not np.ndarray:
            V = as_floats(aligned(V, self.col_samples, "V"), "V")
        V = np.asarray(V, dtype=np.float64)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            raise InputError(f"the matrix has {self.shape[1]} columns; it cannot multiply an array of shape {V.shape}")
        return V

    def map_reduce(self, work: PairWork, arrays: SampleArrays, additive: SampleArrays | None = None) -> State:
        """Do some work on all pairs of samples in one pass over the tiles: map it to tile groups, merge their states.

        Parameters
        ----------
        work
            The work; see `PairWork`.
        arrays
            Arrays (m, ...) that it needs of each sample; equal samples must have equal rows.
        additive
            Arrays whose rows are added over equal samples, such as weights.

        Raises
        ------
        InputError
            If rows and columns are not the same samples.
        """
        self.diag()  # refuses a matrix between different samples
        return self._map_reduce(work, arrays, additive or {}, None)

    def fold(self, work: PairWork, numbers: SampleArrays, masses: SampleArrays | None = None) -> State:
        """Old name of `map_reduce`."""
        warn_renamed("fold", "map_reduce")
        return self.map_reduce(work, numbers, masses)

    def _map_reduce(self, work: PairWork, arrays: SampleArrays, additive: SampleArrays, part: Indices | None) -> State:
        """Work on the samples at the positions ``part``, all by default, which the arrays describe; in this process."""
        gram: BaseGram = self if part is None else SliceGram(self, part, part)
        state = work.initial(len(gram))
        known = {**arrays, **additive, "position": np.arange(len(gram))}
        for rows, cols, values in gram.tiles():
            other = arrays_at(known, cols)
            for where, strip in strips(values):
                own = rows[where]
                of_strip = tuple(array[own] for array in state)
                work.add(of_strip, None, strip, arrays_at(known, own), other)
                for array, updated in zip(state, of_strip, strict=True):
                    array[own] = updated
        return state

    def centered(self, on: Any = None) -> CenteredGram:
        """Centre in feature space on the mean of the samples ``on`` (all by default), lazily but for one pass.

        k_c(x, y) = k(x, y) − mean_t k(x, t) − mean_t k(t, y) + mean_{t, u} k(t, u), t and u over ``on``.
        """
        return center(self, on)

    def unit_norm(self) -> UnitNormGram:
        """Scale every sample to norm 1 in feature space: k(x, y) / sqrt(k(x, x) k(y, y)), lazily."""
        return UnitNormGram(self)

    def to_numpy(self, max_bytes: int | str = ASARRAY_LIMIT) -> Floats:
        """Read the whole matrix into memory.

        Raises
        ------
        MemoryLimitError
            If the array would take more than ``max_bytes``.
        """
        if self.nbytes > (allowed := parse_bytes(max_bytes)):
            raise MemoryLimitError(
                "the matrix {rows} × {cols} takes {needed:,} bytes in memory, more than the {allowed:,} allowed: raise "
                "{max_bytes}{block}",
                rows=self.shape[0],
                cols=self.shape[1],
                needed=self.nbytes,
                allowed=allowed,
                max_bytes=Argument("max_bytes"),
                block=OptionalPart(" of to_numpy(), or read it by {block}()", block=Call("block")),
            )
        return self.block(slice(None), slice(None))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise InputError("a stored Gram matrix cannot become an array without a copy")
        return self.to_numpy().astype(dtype or np.float64, copy=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]} × {self.shape[1]}>"


def _matches(wanted: Indices, given: Indices) -> tuple[Indices, Indices]:
    """Find the elements of ``wanted`` that are in ``given``: their indices in ``wanted`` and in ``given``."""
    order = np.argsort(given, kind="stable")
    slot = np.minimum(np.searchsorted(given, wanted, sorter=order), len(given) - 1)
    where = np.flatnonzero(given[order[slot]] == wanted)
    return where, order[slot[where]]


def _without_samples() -> InputError:
    return InputError(
        "this Gram matrix holds kernel values only, not the samples they came from: compute the kernel between the new "
        "samples and the training samples, or use a Gram matrix from {call}",
        call=Call("compute_gram"),
    )


def pass_bytes() -> int:
    """Bytes of a block in a pass over a matrix that has no stored tiles, by what the present work may take."""
    allowed = allowed_bytes()
    return PASS_BYTES if allowed is None else max(1, min(PASS_BYTES, allowed // (2 * COPIES)))


def _only_these_samples() -> InputError:
    return InputError(
        "a centred or scaled view of a Gram matrix cannot take new samples: fit a pipeline of a KernelStandardizer and "
        "the model on the matrix itself, which treats new samples as it treats the training samples"
    )


class SliceGram(BaseGram):
    """Some rows and columns of another Gram matrix; nothing is read, and a slice of a slice is one slice."""

    def __init__(self, parent: BaseGram, rows: Indices, cols: Indices) -> None:
        self._parent: BaseGram = parent
        self._rows, self._cols = rows, cols
        if isinstance(parent, SliceGram):
            self._parent, self._rows, self._cols = parent._parent, parent._rows[rows], parent._cols[cols]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""
        return len(self._rows), len(self._cols)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether rows and columns are the same samples in the same order."""
        return self._parent.is_symmetric and np.array_equal(self._rows, self._cols)

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        ids = self._parent.row_ids
        return tuple(ids[i] for i in self._rows)

    @property
    def col_ids(self) -> tuple[str, ...]:
        """Names of the column samples."""
        ids = self._parent.col_ids
        return tuple(ids[j] for j in self._cols)

    @property
    def row_samples(self) -> SampleNames:
        """Names of the row samples, and their positions in the parent."""
        return self._parent.row_samples.take(self._rows)

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self._parent._block(self._rows[rows], self._cols[cols])

    def reading_bytes(self) -> int:
        """Bytes that a pass over the parent takes at least, and this part of it."""
        return self._parent.reading_bytes() + super().reading_bytes()

    def _is_large(self) -> bool:
        """Whether a pass over the whole parent reads no more than the rows of this part do."""
        return 4 * self.shape[0] * self.shape[1] >= self._parent.shape[0] * self._parent.shape[1]

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Yield the part once, tile by tile; a large part is read by the tiles of its parent."""
        if not self._is_large():
            yield from super().tiles()
            return
        for rows, cols, values in self._parent.tiles():
            (where, which), (there, other) = _matches(self._rows, rows), _matches(self._cols, cols)
            if len(where) and len(there):
                yield where, there, values[np.ix_(which, other)]

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        return self._parent._product(V, _at(self._rows, rows), _at(self._cols, cols))

    def _map_reduce(self, work: PairWork, arrays: SampleArrays, additive: SampleArrays, part: Indices | None) -> State:
        return self._parent._map_reduce(work, arrays, additive, _at(self._rows, part))

    def row_diag(self) -> Floats:
        """k(x, x) of the row samples, from the parent's diagonal."""
        return self._parent.row_diag()[self._rows]

    def col_diag(self) -> Floats:
        """k(x, x) of the column samples, from the parent's diagonal."""
        return self._parent.col_diag()[self._cols]

    def bytes_read(self) -> int:
        """Bytes read from storage through the parent so far."""
        return self._parent.bytes_read()

    def cross(self, X: Any) -> BaseGram:
        """Kernel between new raw samples (rows) and the column samples of this part."""
        return self._parent.cross(X)[:, self._cols]

    @property
    def kernel(self) -> Any:
        """The kernel of the values."""
        return self._parent.kernel

    def prepared_columns(self) -> Any:
        """Column samples of this part as the kernel prepared them."""
        return self._parent.prepared_columns().take(self._cols)

    @property
    def features(self) -> tuple[str, ...] | None:
        """Names of the features that the kernel compared; None where they are not known."""
        return self._parent.features

    @property
    def n_features(self) -> int | None:
        """Number of the features that the kernel compared; None where it is not known."""
        return self._parent.n_features

    @property
    def dropped(self) -> tuple[int, ...]:
        """Positions of the features that were left out before the kernel compared the samples."""
        return self._parent.dropped

    @property
    def identity(self) -> Identity | None:
        """Identity of these columns of the parent."""
        whole = self._parent.identity
        return None if whole is None else whole.take(self._cols)


# Lazy views --------------------------------------------------------------------------------------------------------


class View(BaseGram):
    """A view of the same samples with other values, which follow from the parent's values elementwise."""

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

    @property
    def row_samples(self) -> SampleNames:
        """Names and positions of the row samples."""
        return self._parent.row_samples

    def bytes_read(self) -> int:
        """Bytes read from storage through the parent so far."""
        return self._parent.bytes_read()

    def cross(self, X: Any) -> BaseGram:
        """Always an error: the view of new samples depends on how the view of these was fitted."""
        raise _only_these_samples()

    def prepared_columns(self) -> Any:
        """Always an error: the kernel of the prepared samples is not the kernel of this view."""
        raise _only_these_samples()

    @abstractmethod
    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Values of the view from the parent's values at some rows and columns."""

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self.transformed(self._parent._block(rows, cols), rows, cols)

    def reading_bytes(self) -> int:
        """Bytes that a pass over the parent takes at least, and the values of this view."""
        return 2 * self._parent.reading_bytes()

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Yield the matrix once, by the tiles of the parent."""
        for rows, cols, values in self._parent.tiles():
            yield rows, cols, self.transformed(values, rows, cols)

    def _map_reduce_transformed(
        self,
        work: PairWork,
        transform: Callable[..., Floats],
        name: str,
        own: Floats,
        arrays: SampleArrays,
        additive: SampleArrays,
        part: Indices | None,
    ) -> State:
        """Work on values that are a function of the parent's values and of one array of this view."""
        unique = f"{name} of view {len(arrays)}"  # the parent may be a view of the same kind
        transformed = Transformed(work, transform, (unique, "position"))
        return self._parent._map_reduce(transformed, {**arrays, unique: _at(own, part)}, additive, part)


class CenteredGram(View):
    """k(x, y) − r(x) − c(y) + g: centred in feature space on a set of samples.

    Parameters
    ----------
    parent
        The matrix to centre.
    row_means, col_means
        r(x) and c(y): mean kernel values between each sample and the centring samples, (rows,) and (cols,).
    grand_mean
        g: mean kernel value among the centring samples.
    on
        Mark of the centring samples, see `Identity.mark`, where they are known.
    """

    def __init__(
        self, parent: BaseGram, row_means: Floats, col_means: Floats, grand_mean: float, on: Spec | None = None
    ) -> None:
        super().__init__(parent)
        self.row_means, self.col_means, self.grand_mean, self.on = row_means, col_means, grand_mean, on

    @property
    def identity(self) -> Identity | None:
        """That of the parent, centred on these samples."""
        raw = self._parent.identity
        return None if raw is None else raw.on("centred", self.on)

    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Centred values."""
        return _centred(values, self.row_means[rows], rows, self.col_means[cols], cols, grand_mean=self.grand_mean)

    def _map_reduce(self, work: PairWork, arrays: SampleArrays, additive: SampleArrays, part: Indices | None) -> State:
        transform = partial(_centred, grand_mean=self.grand_mean)
        return self._map_reduce_transformed(work, transform, "means", self.row_means, arrays, additive, part)

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        row_means, col_means = _at(self.row_means, rows), _at(self.col_means, cols)
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
        """Largest squared distance from the centre that counts as zero, because of rounding."""
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
    samples = as_indices(slice(None) if on is None else on, gram.shape[0], "centring samples", lambda: gram.row_samples)
    if len(samples) == 0:
        raise InputError("no sample to centre on")
    weights = np.bincount(samples, minlength=gram.shape[0]) / len(samples)
    means, identity = gram.matmat(weights), gram.identity
    on = None if identity is None else identity.take(samples).mark()
    return CenteredGram(gram, means, means, float(weights @ means), on)


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

    @property
    def identity(self) -> Identity | None:
        """That of the parent, scaled to norm 1."""
        raw = self._parent.identity
        return None if raw is None else raw.unit_norm()

    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Values divided by the norms."""
        return _scaled(values, self.row_norms[rows], rows, self.col_norms[cols], cols, symmetric=self.is_symmetric)

    def _map_reduce(self, work: PairWork, arrays: SampleArrays, additive: SampleArrays, part: Indices | None) -> State:
        return self._map_reduce_transformed(work, _scaled, "norms", self.row_norms, arrays, additive, part)

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        scaled = (V.T / _at(self.col_norms, cols)).T
        return (self._parent._product(scaled, rows, cols).T / _at(self.row_norms, rows)).T

    def row_diag(self) -> Floats:
        """Ones."""
        return np.ones(self.shape[0])

    def col_diag(self) -> Floats:
        """Ones."""
        return np.ones(self.shape[1])


def _centred(
    values: Floats, row_means: Floats, rows: Indices, col_means: Floats, cols: Indices, *, grand_mean: float
) -> Floats:
    # r + c first: the sum of two terms commutes, so that a symmetric matrix stays symmetric to the bit
    return values - np.add.outer(row_means, col_means) + grand_mean


def _scaled(
    values: Floats, row_norms: Floats, rows: Indices, col_norms: Floats, cols: Indices, *, symmetric: bool = True
) -> Floats:
    values = values / np.multiply.outer(row_norms, col_norms)
    if symmetric:
        values[np.equal.outer(rows, cols)] = 1.0
    return values


def _at(values: Array, positions: Indices | None) -> Array:
    return values if positions is None else values[positions]


def _norms(diagonal: Floats, ids: tuple[str, ...], floor: float) -> Floats:
    null = np.flatnonzero(~(diagonal > floor))
    if len(null):
        raise InputError(
            f"sample {ids[null[0]]!r} has norm zero in feature space (one of {len(null)} such samples): it is "
            "constant or, after centring, equal to the mean up to rounding; leave it out, subtract a common offset "
            "from the values first, or do not scale to unit norm"
        )
    return np.sqrt(diagonal)
