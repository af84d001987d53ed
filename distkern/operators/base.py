"""What every Gram matrix offers, and its lazy views: a part, centred in feature space, scaled to unit norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import Argument, Call, OptionalPart
from distkern.core.typing import Array, Floats, Indices
from distkern.operators.indexing import as_indices, split_key
from distkern.operators.pairwise import Numbers, PairWork, Seen, State, numbers_at, strips

ASARRAY_LIMIT = 2**30
"""``np.asarray(gram)`` refuses a matrix of more bytes than this; ``to_numpy(max_bytes=...)`` states another limit."""

PASS_BYTES = 2**26
"""Bytes of one block when a pass over the matrix is not given by stored tiles."""


ROUNDING = 1e-10
"""A squared distance from the centre below this fraction of the largest k(x, x) has lost six digits to rounding, or is
what rounding leaves of zero."""


class BaseGram(ABC):
    """A matrix of kernel values between two lists of samples, read only by blocks and by products with vectors.

    ``block`` and ``matmat`` read; everything else composes lazily: ``gram[rows][:, cols]`` and scikit-learn's
    ``gram[np.ix_(rows, cols)]``, ``centered()`` and ``unit_norm()`` return views that read nothing until asked.
    """

    dtype = np.dtype(np.float64)

    # What a concrete matrix provides -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of row samples and of column samples."""

    @abstractmethod
    def _block(self, rows: Indices, cols: Indices) -> Floats:
        """Read the entries of valid row and column positions."""

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
        """Bytes read from storage through this matrix so far, all its views included."""

    def cross(self, X: Any) -> BaseGram:
        """Kernel between new raw samples (rows) and the column samples of this matrix.

        Raises
        ------
        InputError
            If this matrix does not know the samples it was computed from.
        """
        raise _without_samples()

    @property
    def kernel(self) -> Any:
        """The kernel that the values are of; an error where the matrix does not know it."""
        raise _without_samples()

    def prepared_columns(self) -> Any:
        """What the kernel prepared of the column samples; an error where the matrix does not know them."""
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
        """Positions of the features that the samples came with and the kernel did not compare."""
        return ()

    def norm_floor(self) -> float:
        """Squared norms up to this are zero or what rounding has left of it, not a direction in feature space."""
        return 0.0

    # What all share --------------------------------------------------------------------------------------------

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the row samples."""
        return self.row_ids

    @property
    def ndim(self) -> int:
        """Two, always."""
        return 2

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix as a float64 array."""
        return self.shape[0] * self.shape[1] * 8

    def __len__(self) -> int:
        return self.shape[0]

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
        return self._block(as_indices(rows, self.shape[0], "rows"), as_indices(cols, self.shape[1], "columns"))

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
        return SliceGram(self, as_indices(rows, self.shape[0], "rows"), as_indices(cols, self.shape[1], "columns"))

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Pass over the matrix once: (row positions, column positions, entries), in a fixed order."""
        rows, cols = self.shape
        height = max(1, PASS_BYTES // max(1, 8 * cols))
        every = np.arange(cols, dtype=np.intp)
        for start in range(0, rows, height):
            part = np.arange(start, min(start + height, rows), dtype=np.intp)
            yield part, every, self._block(part, every)

    def matmat(self, V: Array) -> Floats:
        """Product with a vector (n,) or with the columns of a matrix (n, k), in one pass over the tiles."""
        return self._product(self._operand(V))

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        """Product of some rows and columns, all by default, with V; positions may repeat."""
        if rows is None or cols is None:
            out = np.zeros((self.shape[0], *V.shape[1:]))
            for top, left, values in self.tiles():
                out[top] += values @ V[left]
            return out
        if 4 * len(rows) * len(cols) >= self.shape[0] * self.shape[1]:  # no more reading than to gather the part
            spread = np.zeros((self.shape[1], *V.shape[1:]))
            np.add.at(spread, cols, V)
            return self._product(spread)[rows]
        height = max(1, PASS_BYTES // max(1, 8 * len(cols)))
        strips = [self._block(rows[start : start + height], cols) @ V for start in range(0, len(rows), height)]
        return np.concatenate(strips or [np.zeros((0, *V.shape[1:]))])

    def _operand(self, V: Array) -> Floats:
        V = np.asarray(V, dtype=np.float64)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            raise InputError(f"the matrix has {self.shape[1]} columns; it cannot multiply an array of shape {V.shape}")
        return V

    def fold(self, work: PairWork, numbers: Numbers, masses: Numbers | None = None) -> State:
        """Do some work on all pairs of samples in one pass over the tiles, where they lie, and merge what it finds.

        Parameters
        ----------
        work
            What is done; see `PairWork`.
        numbers
            Numbers of each sample that it takes, (m, ...) each, which are the same for equal samples.
        masses
            Numbers that add up over equal samples.
        """
        self.diag()  # refuses a matrix between unlike samples
        return self._fold(work, numbers, masses or {}, None)

    def _fold(self, work: PairWork, numbers: Numbers, masses: Numbers, part: Indices | None) -> State:
        """Work on some of the samples, all by default, whose numbers these are; here, in this process."""
        gram: BaseGram = self if part is None else SliceGram(self, part, part)
        state = work.begin(len(gram))
        known = {**numbers, **masses, "position": np.arange(len(gram))}
        for rows, cols, values in gram.tiles():
            other = numbers_at(known, cols)
            for where, strip in strips(values):
                own = rows[where]
                found = tuple(array[own] for array in state)
                work.add(found, None, strip, numbers_at(known, own), other)
                for array, added in zip(state, found, strict=True):
                    array[own] = added
        return state

    def centered(self, on: Any = None) -> CenteredGram:
        """Centre in feature space on the mean of the samples ``on`` (all by default), lazily but for one pass.

        k_c(x, y) = k(x, y) − mean_t k(x, t) − mean_t k(t, y) + mean_{t, u} k(t, u), t and u over ``on``.
        """
        return center(self, on)

    def unit_norm(self) -> UnitNormGram:
        """Scale every sample to norm 1 in feature space: k(x, y) / sqrt(k(x, x) k(y, y)), lazily."""
        return UnitNormGram(self)

    def to_numpy(self, max_bytes: int = ASARRAY_LIMIT) -> Floats:
        """Read the whole matrix into memory.

        Raises
        ------
        MemoryLimitError
            If the array would take more than ``max_bytes``.
        """
        if self.nbytes > max_bytes:
            raise MemoryLimitError(
                "the matrix {rows} × {cols} takes {needed:,} bytes in memory, more than the {allowed:,} allowed: raise "
                "{max_bytes}{block}",
                rows=self.shape[0],
                cols=self.shape[1],
                needed=self.nbytes,
                allowed=max_bytes,
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


def _found(wanted: Indices, given: Indices) -> tuple[Indices, Indices]:
    """Places in ``wanted`` whose positions are among ``given``, and where in ``given`` each is."""
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


class SliceGram(BaseGram):
    """Some rows and some columns of another Gram matrix; indices compose and nothing is read."""

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

    def _block(self, rows: Indices, cols: Indices) -> Floats:
        return self._parent._block(self._rows[rows], self._cols[cols])

    def _is_large(self) -> bool:
        """Whether it takes no more reading to pass over the whole parent than to gather this part from it."""
        return 4 * self.shape[0] * self.shape[1] >= self._parent.shape[0] * self._parent.shape[1]

    def tiles(self) -> Iterator[tuple[Indices, Indices, Floats]]:
        """Pass over the part once; a large part passes over the parent's tiles."""
        if not self._is_large():
            yield from super().tiles()
            return
        for rows, cols, values in self._parent.tiles():
            (where, which), (there, other) = _found(self._rows, rows), _found(self._cols, cols)
            if len(where) and len(there):
                yield where, there, values[np.ix_(which, other)]

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        top, left = self._rows if rows is None else self._rows[rows], self._cols if cols is None else self._cols[cols]
        return self._parent._product(V, top, left)

    def _fold(self, work: PairWork, numbers: Numbers, masses: Numbers, part: Indices | None) -> State:
        return self._parent._fold(work, numbers, masses, self._rows if part is None else self._rows[part])

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
        """The kernel that the values are of."""
        return self._parent.kernel

    def prepared_columns(self) -> Any:
        """What the kernel prepared of the column samples of this part."""
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
        """Positions of the features that the samples came with and the kernel did not compare."""
        return self._parent.dropped


# Lazy views --------------------------------------------------------------------------------------------------------


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
