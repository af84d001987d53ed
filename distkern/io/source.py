"""One row-block view of any cohort: what the Gram engine reads, whatever container the samples came in.

A kind of container is recognised by what is already imported or by what the object can do, so that ``import distkern``
on a worker pulls in neither pandas nor anndata nor zarr.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.bags import Bags, widen_rows
from distkern.core.errors import InputError, InputTypeError
from distkern.core.rankings import Rankings
from distkern.core.sentences import Argument, OptionalPart
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names, refuse_other_features
from distkern.io.bags import BagsReader, WidenedReader
from distkern.io.blocks import (
    ArrayReader,
    BackedReader,
    DaskReader,
    FrameReader,
    H5ADReader,
    MappedReader,
    PartReader,
    Reader,
    SparseReader,
    ZarrObjectReader,
    ZarrReader,
)
from distkern.io.files import open_path

EXACT_INTEGER = 2**53
"""Integers up to this size are told apart by float64."""


class Source:
    """One row-block view of a cohort of ``m`` samples and ``n`` features; made by `as_source`.

    Parameters
    ----------
    reader
        Takes rows out of the container.
    ids
        Names of the samples, if they have any.
    features
        Names of the features, if they have any.

    Raises
    ------
    InputError
        If the values are not numbers in two dimensions, there are none, or the names do not fit them.

    Examples
    --------
    >>> source = as_source(np.array([[1, 2, 3], [4, 5, 6]]), ids=["a", "b"])
    >>> source.shape, source.ids, source.portable
    ((2, 3), ('a', 'b'), False)
    >>> source.read(slice(1, 2))
    array([[4., 5., 6.]])
    >>> source.describe()
    'NumPy array 2 × 3'
    """

    kinds: tuple[str, ...] | None = None
    """Kind of each sample, where the container is a `Rankings`."""

    def __init__(self, reader: Reader, ids: Any = None, features: Any = None) -> None:
        self._reader = reader
        _check_numbers(reader)
        self.shape: tuple[int, int] = (int(reader.shape[0]), int(reader.shape[1]))
        self.ids: tuple[str, ...] | None = None if ids is None else _names(ids, self.shape[0])
        self.features: tuple[str, ...] | None = None if features is None else tuple(map(str, features))
        if self.features is not None and len(self.features) != self.shape[1]:
            raise InputError(f"{len(self.features)} feature names for {self.shape[1]} features: give one per column")

    @property
    def portable(self) -> bool:
        """Whether a worker can read the samples itself, by path, from a cheap pickle of this source."""
        return self._reader.portable

    @property
    def ragged(self) -> bool:
        """Whether the samples are `Bags`, whose rows are as long as the largest of them asks for."""
        return self._reader.ragged

    def read(self, rows: slice | Indices | Iterable[int]) -> Floats:
        """Read the samples at these positions: (k, n) float64, C-contiguous, perhaps a view; do not write to it."""
        m, n = self.shape
        block = self._reader.take(_positions(rows, m))
        if block.dtype.kind in "iu" and block.dtype.itemsize == 8:
            _check_exact(block)
        values = np.ascontiguousarray(block, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != n:
            raise InputError(f"the cohort gave a block of shape {values.shape} where (rows, {n}) was expected")
        return values

    @property
    def sparse(self) -> bool:
        """Whether the container leaves zeros out, so that `read_sparse` never writes them down."""
        return self._reader.sparse

    def read_sparse(self, rows: slice | Indices | Iterable[int]) -> Any:
        """Read the samples at these positions as a SciPy CSR array (k, n) of float64 of one's own.

        It is canonical: the entries of a row go by ascending feature, none twice, and none is zero. A NaN stays.
        """
        from scipy import sparse

        block = sparse.csr_array(self._reader.take_sparse(_positions(rows, self.shape[0])), copy=True)
        block.sum_duplicates()
        if block.dtype.kind in "iu" and block.dtype.itemsize == 8:
            _check_exact(block.data)
        block = block.astype(np.float64, copy=False)
        block.eliminate_zeros()
        return block

    def nameless(self) -> Source:
        """Return the same samples without names: what a task carries, so that names do not travel with each one."""
        bare = copy.copy(self)
        bare.ids = bare.features = bare.kinds = None
        return bare

    def part(self, rows: Indices) -> Source:
        """Return some of the samples, without their names."""
        bare = self.nameless()
        bare._reader = PartReader(self._reader, rows, np.arange(self.shape[1], dtype=np.intp))
        bare.shape = (len(rows), self.shape[1])
        return bare

    def without_features(self, dropped: Indices) -> Source:
        """Return the same samples without some features."""
        kept = np.delete(np.arange(self.shape[1], dtype=np.intp), dropped)
        other = copy.copy(self)
        other._reader = PartReader(self._reader, np.arange(self.shape[0], dtype=np.intp), kept)
        other.shape = (self.shape[0], len(kept))
        other.features = None if self.features is None else tuple(self.features[k] for k in kept)
        return other

    def widened(self, width: int) -> Source:
        """Return the same bags as rows of another width, which has room for larger ones."""
        if not self.ragged or self.shape[1] == width:
            return self
        widen_rows(self.read(slice(0, 1)), width)  # refuses what does not go
        return Source(WidenedReader(self._reader, width), self.ids)

    def like(self, width: int, dropped: Sequence[int], features: Names, whose: str) -> Source:
        """Return the same samples with the features of others, of which some were left out.

        Parameters
        ----------
        width, dropped, features
            Number of the features that the others have, positions of those that they came with and left out, and names.
        whose
            What these samples are called in messages.

        Raises
        ------
        InputError
            If they have other features, or the same in another order.
        """
        source = self
        if len(dropped) and self.shape[1] == width + len(dropped):
            source = self.without_features(np.array(dropped, dtype=np.intp))
        if source.shape[1] != width and not source.ragged:
            raise InputError(
                f"{whose} has {self.shape[1]} features, and the samples that it meets have {width}: give the same in "
                "the same order"
            )
        refuse_other_features(features, source.features, whose)
        return source

    def renamed(self, ids: Iterable[Any]) -> Source:
        """Return the same samples under other names."""
        other = copy.copy(self)
        other.ids = _names(ids, self.shape[0])
        return other

    def describe(self) -> str:
        """Return the kind of container and its size, for messages and plans."""
        return f"{self._reader.kind} {self.shape[0]:,} × {self.shape[1]:,}"

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<Source: {self.describe()}>"


def as_source(X: Any, *, ids: Iterable[Any] | None = None) -> Source:
    """View any cohort as blocks of rows; every row is a sample.

    Parameters
    ----------
    X
        A NumPy array or memory map, lists of numbers, pandas DataFrame, SciPy sparse matrix, AnnData (in memory or
        backed), Zarr array, dask array, `Rankings`, `Bags`, or the path of a ``.npy``, ``.npz`` or ``.h5ad`` file, of a
        Zarr array or of what `save_bags` has written. A `Source` is returned as it is.
    ids
        Names of the samples; they replace those that the container brings.

    Raises
    ------
    InputTypeError
        If X is none of these.
    InputError
        If the values are not numbers in two dimensions, there are no samples or no features, or two samples have the
        same name.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"TP53": [1.5, 0.5], "MYC": [2, 7]}, index=["patient 1", "patient 2"])
    >>> source = as_source(frame)
    >>> source.ids, source.features
    (('patient 1', 'patient 2'), ('TP53', 'MYC'))
    >>> source.read(np.array([1]))
    array([[0.5, 7. ]])
    """
    if isinstance(X, Source):
        return X if ids is None else X.renamed(ids)
    if isinstance(X, (str, os.PathLike)):
        opened = open_path(Path(X))
        return Source(
            opened.values if opened.is_reader else _reader(opened.values),
            ids=opened.ids if ids is None else ids,
            features=opened.features,
        )
    own_ids, features = _own_names(X)
    source = Source(_reader(X), ids=own_ids if ids is None else ids, features=features)
    source.kinds = X.kind if isinstance(X, Rankings) else None
    return source


# Which container ---------------------------------------------------------------------------------------------------


def _is(X: Any, module: str, *names: str) -> bool:
    """Whether X is of a class of a module, asked only if someone has imported that module already."""
    loaded = sys.modules.get(module)
    return loaded is not None and any(isinstance(X, getattr(loaded, name)) for name in names if hasattr(loaded, name))


def _own_names(X: Any) -> tuple[Any, Any]:
    if isinstance(X, Rankings):
        return None, X.items
    if isinstance(X, Bags):
        return X.ids, None
    if _is(X, "pandas", "DataFrame"):
        return X.index, X.columns
    if _is(X, "anndata", "AnnData"):
        return X.obs_names, X.var_names
    return None, None


def _reader(X: Any) -> Reader:
    if isinstance(X, Rankings):
        return ArrayReader(X.scores, "Rankings")
    if isinstance(X, Bags):
        return BagsReader(X)
    if isinstance(X, np.ma.MaskedArray):
        raise InputError("the array is masked: write X.filled(numpy.nan) to say that masked values are unobserved")
    if isinstance(X, np.memmap):
        return MappedReader.of(X) or ArrayReader(np.asarray(X), "memory-mapped array")
    if isinstance(X, np.ndarray):
        return ArrayReader(np.asarray(X))
    if _is(X, "pandas", "DataFrame"):
        return FrameReader(X)
    if _is(X, "pandas", "Series"):
        raise InputError("a Series is one sample or one feature: give a DataFrame with a row per sample")
    if _is(X, "anndata", "AnnData"):
        return _anndata_reader(X)
    if _is(X, "scipy.sparse", "sparray", "spmatrix"):
        return SparseReader(X)
    if _is(X, "zarr", "Array"):
        return _zarr_reader(X)
    if isinstance(X, (list, tuple)):
        return ArrayReader(_from_lists(X))
    if hasattr(X, "compute") and hasattr(X, "dask"):
        if hasattr(X, "columns"):
            raise InputTypeError("a dask DataFrame has no known length: give X.to_dask_array(lengths=True)")
        return DaskReader(X)
    hint = "give X.to_numpy()" if hasattr(X, "to_numpy") else "give numpy.asarray(X) if every row is a sample"
    raise InputTypeError(f"a cohort cannot be read from a {type(X).__module__}.{type(X).__qualname__}: {hint}")


def _from_lists(X: Any) -> Array:
    try:
        return np.asarray(X)
    except ValueError as error:
        raise InputError("the lists of the cohort have unlike lengths: give every sample as many values") from error


def _anndata_reader(adata: Any) -> Reader:
    if not adata.isbacked:
        if adata.X is None:
            raise InputError("the AnnData object has no X: put the values there, for example from adata.layers")
        reader = _reader(adata.X)
        if not reader.portable:  # an X that lies in a file by itself is described as that
            reader.kind = "AnnData"
        return reader
    if getattr(adata.file, "_filemode", None) != "r":
        if adata.is_view:
            raise InputError(
                "this is a part of an AnnData object that is backed for writing: open the file with backed='r', or "
                "write adata[...].to_memory()"
            )
        return BackedReader(adata)
    return _part_of_file(adata) if adata.is_view else H5ADReader(str(adata.filename))


def _part_of_file(adata: Any) -> Reader:
    """Find the rows and columns of a view of a backed AnnData object in its file, by their names."""
    whole = open_path(Path(adata.filename))
    places = []
    for names, every in ((adata.obs_names, whole.ids), (adata.var_names, whole.features)):
        if not every.is_unique:
            raise InputError(f"names repeat in {adata.filename.name!r}, so its parts are ambiguous: write .to_memory()")
        places.append(np.asarray(every.get_indexer(names), dtype=np.intp))
    if any((place < 0).any() for place in places):
        raise InputError(f"this part of {adata.filename.name!r} was renamed: write .to_memory() first")
    return PartReader(whole.values, *places)


def _zarr_reader(array: Any) -> Reader:
    root = getattr(array.store, "root", None)
    if type(array.store).__name__ != "LocalStore" or root is None:
        return ZarrObjectReader(array)
    return ZarrReader(os.path.join(str(root), array.path), array.shape, array.dtype)


# Checks ------------------------------------------------------------------------------------------------------------


def _check_numbers(reader: Reader) -> None:
    if len(reader.shape) != 2:
        raise InputError(
            f"the cohort has {len(reader.shape)} dimension{'s' * (len(reader.shape) != 1)}; it must have two, a row "
            "per sample: for one sample write X.reshape(1, -1)"
        )
    for size, what in zip(reader.shape, ("samples", "features"), strict=True):
        if size == 0:
            raise InputError(f"the cohort has no {what} (its shape is {tuple(reader.shape)})")
    for position, dtype in enumerate(reader.dtypes):
        if dtype.kind not in "biuf":
            column = f"column {position} of the cohort" if len(reader.dtypes) > 1 else "the cohort"
            raise InputError(
                f"{column} holds {dtype} values, not real numbers: convert it with astype(float), and take out "
                "columns of names or labels first"
            )


def _check_exact(block: Array) -> None:
    large = (block > EXACT_INTEGER) | ((block < -EXACT_INTEGER) if block.dtype.kind == "i" else False)
    if large.any():
        value = block[large].flat[0]
        raise InputError(
            f"the integer {value} is too large to be told from its neighbours as float64: rescale the data"
        )


def _names(ids: Any, count: int) -> tuple[str, ...]:
    if isinstance(ids, (str, bytes)):
        raise InputError("ids must be one name per sample, not a single text")
    given = list(ids)
    if len(given) != count:
        raise InputError(f"{len(given)} ids for {count} samples: give one per row")
    first: dict[str, int] = {}
    for position, value in enumerate(given):
        if value is None or value != value:
            raise InputError(f"the id of sample {position} is missing: give every sample a name")
        name = str(value)
        if name in first:
            raise InputError(
                "two samples have the id {sample!r}, at positions {first} and {second}: make the ids unique{ids}",
                sample=name,
                first=first[name],
                second=position,
                ids=OptionalPart(", or give others with {ids}", ids=Argument("ids")),
            )
        first[name] = position
    return tuple(first)


def _positions(rows: Any, count: int) -> slice | Indices:
    if isinstance(rows, slice):
        start, stop, step = rows.indices(count)
        return slice(start, max(start, stop)) if step == 1 else np.arange(start, stop, step, dtype=np.intp)
    positions = np.asarray(rows)
    if positions.dtype == bool and positions.shape == (count,):
        return np.flatnonzero(positions)
    if positions.size == 0:
        return np.empty(0, dtype=np.intp)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise InputError("rows must be a slice or a list of positions")
    if positions.min() < -count or positions.max() >= count:
        raise InputError(f"the rows reach from {positions.min()} to {positions.max()}; the cohort has {count} samples")
    positions = positions.astype(np.intp)
    return np.where(positions < 0, positions + count, positions)
