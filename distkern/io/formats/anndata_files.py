"""AnnData: objects in memory or backed by a file, ``.h5ad`` files, and Zarr folders."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.sentences import Argument
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Array, Indices
from distkern.io.blocks import PartReader, Reader, ReopenedReader, Rows, refuse_damage
from distkern.io.format import Columns, Container, Format, Opened, ReadOptions
from distkern.io.formats.zarr_arrays import ZarrReader, attributes, open_node, refuse_missing_chunks
from distkern.io.hdf5 import holds

if TYPE_CHECKING:
    from anndata import AnnData

H5AD, ZARR = "an .h5ad file", "AnnData in a Zarr folder"
"""Names of the formats in messages."""

OPTIONS = ("layer", "use_rep")
"""Options that choose the values of AnnData."""

RAW = {"raw/X": "raw/var", "raw.X": "raw.var"}
"""Where the values that ``layer`` calls raw lie, and the table of their features; the second before AnnData 0.7."""


class H5ADReader(ReopenedReader):
    """Rows of ``X``, or of another matrix, in an ``.h5ad`` file: dense, or sparse by rows (CSR).

    CSC is converted and cached in memory.
    """

    kind = "backed AnnData"
    file_kind = H5AD
    """Name of the format in messages."""

    def __init__(self, path: str, key: str = "X") -> None:
        super().__init__()
        self.path, self.key = os.path.abspath(path), key
        file = self.handle()
        if key not in file:
            raise InputError(f"{self.path!r} holds no X: store the expression values in adata.X")
        X = file[key]
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
        if self.layout != "dense":
            return self.take_sparse(rows).toarray()
        with refuse_damage(self.path, self.file_kind):
            return take_h5(self.handle()[self.key], rows)

    def take_sparse(self, rows: Rows) -> Any:
        """Read sparse rows."""
        if self.layout == "dense":
            return super().take_sparse(rows)
        with refuse_damage(self.path, self.file_kind):
            return self._take_sparse(self.handle()[self.key], rows)

    def _take_sparse(self, X: Any, rows: Rows) -> Any:
        from scipy import sparse

        if self.layout == "csc":
            return self._in_memory(X)[rows]
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        if len(positions) == 0:
            return sparse.csr_matrix((0, self.shape[1]), dtype=self.dtypes[0])
        unique, back = np.unique(positions, return_inverse=True)
        matrix = self._ascending(X, unique)
        return matrix if np.array_equal(unique, positions) else matrix[back]

    def _ascending(self, X: Any, rows: Indices) -> Any:
        """Read different rows in their order; neighbours are read together."""
        from scipy import sparse

        first = int(rows[0])
        indptr = X["indptr"][first : int(rows[-1]) + 2]
        begins, ends = indptr[rows - first], indptr[rows - first + 1]
        borders = np.flatnonzero(np.diff(rows) > 1) + 1
        runs = [slice(int(begins[run[0]]), int(ends[run[-1]])) for run in np.split(np.arange(len(rows)), borders)]
        data, indices = (np.concatenate([X[name][run] for run in runs]) for name in ("data", "indices"))
        counts = np.concatenate([[0], np.cumsum(ends - begins)])
        matrix = sparse.csr_matrix((data, indices, counts), shape=(len(rows), self.shape[1]))
        matrix.check_format(full_check=True)  # an index outside the matrix would be written outside its memory
        return matrix

    def _in_memory(self, X: Any) -> Any:
        from scipy import sparse

        with self._lock:
            if getattr(self, "_rows", None) is None:
                parts = (X["data"][:], X["indices"][:], X["indptr"][:])
                columns = sparse.csc_matrix(parts, shape=self.shape)
                columns.check_format(full_check=True)
                self._rows = columns.tocsr()
            return self._rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_rows"}


def take_h5(dataset: Any, rows: Rows) -> Array:
    """Read rows of an HDF5 dataset; h5py itself accepts increasing positions only, and reads them slowly."""
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
        """Read sparse rows."""
        return self.adata.X[rows] if self.sparse else super().take_sparse(rows)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


# Formats -----------------------------------------------------------------------------------------------------------


def _open_h5ad(path: Path, options: ReadOptions) -> Opened:
    try:
        import h5py
        from anndata.io import read_elem
    except ImportError as error:
        raise MissingExtraError.of("reading .h5ad files", "io") from error
    with refuse_damage(path.name, H5AD), _without_warnings(), h5py.File(path, "r") as file:
        key = _key(path, file, options)
        ids, features = (_index_of(read_elem(file[axis])) for axis in ("obs", _var_of(key)))
        reader = H5ADReader(str(path), key)
    return Opened(reader, ids, None if key.startswith("obsm") else features)


def _key(path: Path, file: Any, options: ReadOptions) -> str:
    """Name of the matrix in a file of AnnData: X, or the layer, representation or ``raw`` that was asked for.

    Raises
    ------
    InputError
        If the file does not hold it, or both were asked for.
    """
    asked = {"layers": options.layer, "obsm": options.use_rep}
    given = {group: name for group, name in asked.items() if name is not None}
    if len(given) > 1:
        raise InputError(
            "{layer} and {use_rep} exclude each other: choose one",
            layer=Argument("layer", options.layer),
            use_rep=Argument("use_rep", options.use_rep),
        )
    for group, name in given.items():
        known = sorted(file[group]) if group in file else []
        raw = next((key for key in RAW if key in file), None) if group == "layers" else None
        if raw is not None and "raw" not in known:
            if name == "raw":
                return raw
            known.append("raw")
        if name not in known:
            listed = ", ".join(map(repr, known)) or "nothing"
            raise InputError(f"{path.name!r} holds no {name!r} in {group}: it has {listed}{did_you_mean(name, known)}")
        return f"{group}/{name}"
    return "X"


def _var_of(key: str) -> str:
    """Name of the table of the features of a matrix: ``raw`` has its own."""
    return RAW.get(key, "var")


def _index_of(frame: Any) -> Any:
    """Names in a table of samples or features; files of AnnData before 0.7 have them in the first field of records."""
    if isinstance(frame, np.ndarray):
        import pandas as pd

        return pd.Index([_text(name) for name in frame[frame.dtype.names[0]].tolist()])
    return frame.index


def _open_zarr(path: Path, options: ReadOptions) -> Opened:
    import zarr

    try:
        from anndata.io import read_elem
    except ImportError as error:
        raise MissingExtraError.of("reading an AnnData Zarr store", "io") from error
    node = open_node(path)
    with refuse_damage(path.name, ZARR):
        key = _key(path, node, options)
    if key not in node:
        raise InputError(f"{path.name!r} holds no X: store the expression values in adata.X")
    with refuse_damage(path.name, ZARR):
        _refuse_missing_parts(node, path, key)
        ids, features, X = read_elem(node["obs"]).index, read_elem(node[_var_of(key)]).index, node[key]
        values = ZarrReader(str(path / key), X.shape, X.dtype) if isinstance(X, zarr.Array) else read_elem(X)
    return Opened(values, ids, None if key.startswith("obsm") else features)


def _load_h5ad(path: Path) -> AnnData:
    anndata = _import_anndata()
    with refuse_damage(path.name, H5AD), _without_warnings():
        return anndata.read_h5ad(path)


def _load_zarr(path: Path) -> AnnData:
    anndata = _import_anndata()
    with refuse_damage(path.name, ZARR), _without_warnings():
        _refuse_missing_parts(open_node(path), path)
        return anndata.read_zarr(path)


def _columns_of_h5ad(path: Path, options: ReadOptions) -> Columns:
    anndata = _import_anndata()
    import h5py
    from anndata.io import read_elem

    with refuse_damage(path.name, H5AD), _without_warnings(), h5py.File(path, "r") as file:
        obs = read_elem(file["obs"])
    if isinstance(obs, np.ndarray):  # of AnnData before 0.7, whose categories lie elsewhere in the file
        with refuse_damage(path.name, H5AD), _without_warnings():
            obs = anndata.read_h5ad(path).obs
    return _texts(obs)


def _columns_of_zarr(path: Path, options: ReadOptions) -> Columns:
    _import_anndata()
    from anndata.io import read_elem

    with refuse_damage(path.name, ZARR):
        obs = open_node(path)["obs"]
        own = list(obs.attrs["column-order"]) if options.label is None else [options.label]
        names = [obs.attrs["_index"], *(name for name in own if len(own) == 1 and name in obs)]
        for name in names:
            _refuse_missing_of(obs[name], path / "obs" / name)
        return _texts(read_elem(obs))


def _refuse_missing_parts(node: Any, path: Path, key: str = "X") -> None:
    """Refuse a folder in which chunks of the names, or of the values where they are sparse, are not stored."""
    if hasattr(node.get(key), "members"):
        _refuse_missing_of(node[key], path / key)
    for axis in ("obs", _var_of(key)):
        name = node[axis].attrs["_index"]
        _refuse_missing_of(node[axis][name], path / axis / name)


def _refuse_missing_of(node: Any, path: Path) -> None:
    """Refuse an array, or a group of arrays, of which chunks are not stored."""
    members = dict(node.members()) if hasattr(node, "members") else {"": node}
    for name, array in members.items():
        refuse_missing_chunks(array, str(path / name))


def _texts(obs: Any) -> Columns:
    """Return the columns of a DataFrame as texts by name; missing values are empty texts."""
    texts = obs.astype(object).where(obs.notna(), "").map(str)
    return {str(name): dict(zip(map(str, obs.index), texts[name], strict=True)) for name in obs.columns}


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(Observation|Variable) names are not unique", category=UserWarning)
        for message in ("Moving element from", ".*without encoding metadata", ".*very old version of AnnData"):
            warnings.filterwarnings("ignore", message=message)
        yield


def _import_anndata() -> Any:
    try:
        import anndata
    except ImportError as error:
        raise MissingExtraError.of("reading expression cohorts", "io") from error
    return anndata


def _is_h5ad(path: Path, head: bytes) -> bool:
    return holds(path, head, lambda file: "obs" in file and "var" in file)


def _is_zarr(path: Path, head: bytes) -> bool:
    return attributes(path).get("encoding-type") == "anndata"


# Containers --------------------------------------------------------------------------------------------------------


def _open_anndata(adata: Any) -> Opened:
    if not adata.isbacked:
        if adata.X is None:
            raise InputError("the AnnData object has no X: put the values there, for example from adata.layers")
        about = adata.uns.get("distkern")  # written by `distkern.read_expression`
        file = about.get("source") if isinstance(about, Mapping) else None
        named = file if isinstance(file, str) else None
        return Opened(adata.X, adata.obs_names, adata.var_names, kind="AnnData", file=named)
    return Opened(_backed_reader(adata), adata.obs_names, adata.var_names)


def _backed_reader(adata: Any) -> Reader:
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
    whole = _open_h5ad(Path(adata.filename), ReadOptions())
    positions = []
    for names, every in ((adata.obs_names, whole.ids), (adata.var_names, whole.features)):
        if not every.is_unique:
            raise InputError(f"names repeat in {adata.filename.name!r}, so its parts are ambiguous: write .to_memory()")
        positions.append(np.asarray(every.get_indexer(names), dtype=np.intp))
    if any((found < 0).any() for found in positions):
        raise InputError(f"this part of {adata.filename.name!r} was renamed: write .to_memory() first")
    return PartReader(whole.values, *positions)


FORMATS = (
    Format("AnnData", (".h5ad",), _open_h5ad, _is_h5ad, load=_load_h5ad, columns=_columns_of_h5ad, options=OPTIONS),
    Format(
        "AnnData in Zarr",
        (".zarr",),
        _open_zarr,
        _is_zarr,
        folder=True,
        load=_load_zarr,
        columns=_columns_of_zarr,
        options=OPTIONS,
    ),
)
CONTAINERS = (Container("anndata", ("AnnData",), _open_anndata),)
