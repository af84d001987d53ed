"""How rows are taken out of each kind of container: one small reader a kind, which knows nothing of names."""

from __future__ import annotations

import mmap
import os
import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.typing import Array, Indices

Rows = slice | Indices
"""A slice of step 1 within the cohort, or an array of valid positions."""


class Reader(ABC):
    """Takes rows out of one container, as a dense array of the container's own dtype."""

    dtypes: tuple[Any, ...]
    """One for the whole container, or one per column."""
    shape: Any
    portable = False
    """Whether a pickle of the reader is cheap and reads the samples by path elsewhere."""
    sparse = False
    """Whether the container leaves zeros out, so that ``take_sparse`` never writes them down."""
    ragged = False
    """Whether the samples are bags, whose rows are as long as the largest of them asks for."""
    kind: str
    """What the container is called in messages."""

    @abstractmethod
    def take(self, rows: Rows) -> Array:
        """Read rows."""

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows as a SciPy sparse matrix of the container's dtype."""
        from scipy import sparse

        return sparse.csr_matrix(self.take(rows))


class ArrayReader(Reader):
    """Rows of an array in memory."""

    def __init__(self, values: Array, kind: str = "NumPy array") -> None:
        self.values, self.kind = values, kind
        self.shape = values.shape
        self.dtypes = (values.dtype,)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.values[rows]


class FrameReader(Reader):
    """Rows of a pandas DataFrame whose columns may have different numeric types."""

    kind = "DataFrame"

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.shape = frame.shape
        self.dtypes = tuple(frame.dtypes)

    def take(self, rows: Rows) -> Array:
        """Read rows; missing values of nullable columns become NaN."""
        block = self.frame.iloc[rows]
        if any(not isinstance(dtype, np.dtype) for dtype in self.dtypes):
            return block.to_numpy(dtype=np.float64, na_value=np.nan)
        return block.to_numpy()


class SparseReader(Reader):
    """Rows of a SciPy sparse matrix, dense only one block at a time."""

    kind = "sparse matrix"
    sparse = True

    def __init__(self, matrix: Any) -> None:
        self.shape = matrix.shape
        self.dtypes = (matrix.dtype,)
        self.matrix = matrix.tocsr() if len(matrix.shape) == 2 else matrix

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.matrix[rows].toarray()

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows as they are."""
        return self.matrix[rows]


class DaskReader(Reader):
    """Rows of a dask array, known only by what it can do: this file never imports dask."""

    kind = "dask array"

    def __init__(self, lazy: Any) -> None:
        if any(size != size for size in lazy.shape):
            raise InputError("the dask array does not know its own shape: call X.compute_chunk_sizes() first")
        self.lazy = lazy
        self.shape = tuple(int(size) for size in lazy.shape)
        self.dtypes = (lazy.dtype,)
        self.sparse = hasattr(getattr(lazy, "_meta", None), "tocsr")

    def take(self, rows: Rows) -> Array:
        """Compute rows."""
        block = self.lazy[rows].compute()
        return block.toarray() if hasattr(block, "toarray") else np.asarray(block)

    def take_sparse(self, rows: Rows) -> Any:
        """Compute rows, and keep them as they are where the chunks are sparse."""
        block = self.lazy[rows].compute()
        return block if hasattr(block, "tocsr") else super().take_sparse(rows)


class ReopenedReader(Reader):
    """A reader that carries a path when pickled and opens its file again where it is used."""

    portable = True
    path: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: Any = None

    @abstractmethod
    def _open(self) -> Any:
        """Open the file, which is there."""

    def opened(self) -> Any:
        """Open the file.

        Raises
        ------
        InputError
            If it is not there.
        """
        if not os.path.exists(self.path):
            raise InputError(
                f"the cohort's file {self.path!r} does not exist on this machine: put it where every worker can read "
                "it under the same path"
            )
        return self._open()

    def handle(self) -> Any:
        """Return the open file, opened once a process."""
        with self._lock:
            if self._opened is None:
                self._opened = self.opened()
            return self._opened

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_opened")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._opened = threading.Lock(), None


class MappedReader(ReopenedReader):
    """Rows of an array that lies in a file, at ``offset`` bytes and with these strides."""

    kind = "memory-mapped array"

    def __init__(
        self, path: str, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, strides: tuple[int, ...]
    ) -> None:
        super().__init__()
        self.path = os.path.abspath(path)
        self.shape = shape
        self.dtypes = (dtype,)
        self.offset, self.strides = offset, strides

    @classmethod
    def of(cls, mapped: np.memmap[Any, Any]) -> MappedReader | None:
        """Find where in its file a memory-mapped array lies; None if that cannot be said for sure."""
        memory = getattr(mapped, "_mmap", None)
        if memory is None or mapped.filename is None or mapped.mode == "c" or min(mapped.strides, default=-1) < 0:
            return None
        if not os.path.isfile(mapped.filename):
            return None
        if mapped.mode != "r":
            mapped.flush()
        origin = np.frombuffer(memory, dtype=np.uint8)
        inside = mapped.__array_interface__["data"][0] - origin.__array_interface__["data"][0]
        start = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
        return cls(str(mapped.filename), mapped.dtype, mapped.shape, start + inside, mapped.strides)

    def _open(self) -> Array:
        raw = np.memmap(self.path, dtype=np.uint8, mode="r")
        try:
            return np.ndarray(self.shape, self.dtypes[0], buffer=raw, offset=self.offset, strides=self.strides)
        except (TypeError, ValueError) as error:
            raise InputError(f"the file {self.path!r} is shorter than the cohort that was opened from it") from error

    def take(self, rows: Rows) -> Array:
        """Read rows; the file is mapped no longer than that, for what is mapped counts as memory of the process."""
        return np.array(self.opened()[rows])


class ZarrReader(ReopenedReader):
    """Rows of a Zarr array in a local folder."""

    kind = "Zarr array"

    def __init__(self, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.path = os.path.abspath(path)
        self.shape = shape
        self.dtypes = (dtype,)

    def _open(self) -> Any:
        import zarr

        array = zarr.open_array(self.path, mode="r")
        if array.shape != self.shape:
            raise InputError(f"the Zarr array {self.path!r} had shape {self.shape} and now has {array.shape}")
        return array

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return take_zarr(self.handle(), rows)


class ZarrObjectReader(Reader):
    """Rows of a Zarr array that lies in memory, in an archive or far away."""

    kind = "Zarr array"

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape
        self.dtypes = (array.dtype,)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return take_zarr(self.array, rows)


def take_zarr(array: Any, rows: Rows) -> Array:
    """Read rows of an open Zarr array."""
    if isinstance(rows, slice):
        return np.asarray(array[rows])
    if len(rows) == 0:
        return np.empty((0, array.shape[1]), dtype=array.dtype)
    return np.asarray(array.oindex[rows, slice(None)])


class H5ADReader(ReopenedReader):
    """Rows of ``X`` in an ``.h5ad`` file: dense, or sparse by rows (CSR); CSC is held sparse in memory."""

    kind = "backed AnnData"

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = os.path.abspath(path)
        file = self.handle()
        if "X" not in file:
            raise InputError(f"{self.path!r} holds no X: store the expression values in adata.X")
        X = file["X"]
        if hasattr(X, "shape"):
            self.layout, self.shape, self.dtypes = "dense", X.shape, (X.dtype,)
            return
        self.sparse = True
        encoding = _text(X.attrs.get("encoding-type", X.attrs.get("h5sparse_format", "")))
        shape = X.attrs["shape"] if "shape" in X.attrs else X.attrs["h5sparse_shape"]
        self.layout = "csc" if encoding.startswith("csc") else "csr"
        self.shape, self.dtypes = tuple(int(size) for size in shape), (X["data"].dtype,)

    def _open(self) -> Any:
        import h5py

        return h5py.File(self.path, "r")

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        if self.layout == "dense":
            return take_h5(self.handle()["X"], rows)
        return self.take_sparse(rows).toarray()

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows as they are."""
        if self.layout == "dense":
            return super().take_sparse(rows)
        from scipy import sparse

        X = self.handle()["X"]
        if self.layout == "csc":
            return self._in_memory(X)[rows]
        if isinstance(rows, slice):
            return self._stretch(X, rows.start, rows.stop)
        parts = [self._stretch(X, int(row), int(row) + 1) for row in rows]
        return sparse.vstack(parts, format="csr") if parts else self._stretch(X, 0, 0)

    def _stretch(self, X: Any, start: int, stop: int) -> Any:
        from scipy import sparse

        if stop <= start:
            return sparse.csr_matrix((0, self.shape[1]), dtype=self.dtypes[0])
        indptr = X["indptr"][start : stop + 1]
        part = slice(int(indptr[0]), int(indptr[-1]))
        entries = (X["data"][part], X["indices"][part], indptr - indptr[0])
        return sparse.csr_matrix(entries, shape=(stop - start, self.shape[1]))

    def _in_memory(self, X: Any) -> Any:
        from scipy import sparse

        with self._lock:
            if getattr(self, "_rows", None) is None:
                parts = (X["data"][:], X["indices"][:], X["indptr"][:])
                self._rows = sparse.csc_matrix(parts, shape=self.shape).tocsr()
            return self._rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_rows"}


def take_h5(dataset: Any, rows: Rows) -> Array:
    """Read rows of an HDF5 dataset, which itself takes only increasing positions, and those slowly."""
    if isinstance(rows, slice):
        return dataset[rows]
    if len(rows) == 0:
        return np.empty((0, dataset.shape[1]), dtype=dataset.dtype)
    unique, back = np.unique(rows, return_inverse=True)
    first, last = int(unique[0]), int(unique[-1])
    if last - first < 4 * len(unique):
        return dataset[first : last + 1][rows - first]
    return dataset[unique][back]


class BackedReader(Reader):
    """Rows of a backed AnnData object that may still be written to: read through the object itself."""

    kind = "backed AnnData"

    def __init__(self, adata: Any) -> None:
        self.adata = adata
        self.shape = adata.shape
        self.dtypes = (np.dtype(adata.X.dtype),)
        self.sparse = hasattr(adata.X, "to_memory")

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.adata.X[rows].toarray() if self.sparse else take_h5(self.adata.X, rows)

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows as they are."""
        return self.adata.X[rows] if self.sparse else super().take_sparse(rows)


class PartReader(Reader):
    """Some rows and columns of what another reader reads."""

    def __init__(self, whole: Reader, rows: Indices, columns: Indices) -> None:
        self.whole, self.rows, self.columns = whole, rows, columns
        self.kind, self.portable, self.dtypes = whole.kind, whole.portable, whole.dtypes
        self.sparse, self.ragged = whole.sparse, whole.ragged
        self.shape = len(rows), len(columns)

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        return self.whole.take(self.rows[rows])[:, self.columns]

    def take_sparse(self, rows: Rows) -> Any:
        """Read rows, and select the columns."""
        return self.whole.take_sparse(self.rows[rows])[:, self.columns]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
