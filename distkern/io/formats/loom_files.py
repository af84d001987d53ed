"""Loom: HDF5 files with features in rows and cells in columns. Format: https://linnarssonlab.org/loompy/format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Array
from distkern.io.blocks import ReopenedReader, Rows, refuse_damage
from distkern.io.format import Format, Opened, ReadOptions
from distkern.io.hdf5 import holds, open_hdf5, read_column

LOOM = "a loom file"
"""Name of the format in messages."""

CELLS, FEATURES = ("CellID", "cell_id", "obs_names", "cell_names"), ("Accession", "Gene", "var_names", "gene_names")
"""Attributes with the names of the cells and of the features: the first one of these that a file has."""

PIECE_BYTES = 2**26
"""Bytes of cells that are dense at a time where sparse ones are asked for."""


class LoomReader(ReopenedReader):
    """Rows of cells in a loom file; the file stores zeros, compressed, and sparse rows are made piece by piece."""

    kind = "loom file"
    sparse = True

    def __init__(self, path: str, key: str = "matrix") -> None:
        super().__init__()
        self.path, self.key = os.path.abspath(path), key
        matrix = self.handle()[key]
        self.shape, self.dtypes = matrix.shape[::-1], (matrix.dtype,)

    def _open(self) -> Any:
        import h5py

        return h5py.File(self.path, "r")

    def take(self, rows: Rows) -> Array:
        """Read rows."""
        matrix = self.handle()[self.key]
        with refuse_damage(self.path, LOOM):
            if isinstance(rows, slice):
                return np.ascontiguousarray(matrix[:, rows].T)
            if len(rows) == 0:
                return np.empty((0, self.shape[1]), dtype=self.dtypes[0])
            unique, back = np.unique(rows, return_inverse=True)  # h5py accepts increasing positions only
            first, last = int(unique[0]), int(unique[-1])
            near = last - first < 4 * len(unique)
            values = matrix[:, first : last + 1][:, rows - first] if near else matrix[:, unique][:, back]
            return np.ascontiguousarray(values.T)

    def take_sparse(self, rows: Rows) -> Any:
        """Read sparse rows."""
        from scipy import sparse

        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        height = max(1, PIECE_BYTES // (self.dtypes[0].itemsize * max(1, self.shape[1])))
        pieces = [
            sparse.csr_matrix(self.take(positions[start : start + height]))
            for start in range(0, len(positions), height)
        ]
        return sparse.vstack(pieces, format="csr") if pieces else sparse.csr_matrix((0, self.shape[1]))


def _open(path: Path, options: ReadOptions) -> Opened:
    with open_hdf5(path, LOOM) as file:
        if not _is_complete(file):
            raise InputError(f"{path.name!r} is no loom file, which holds matrix, row_attrs and col_attrs")
        key = _key(file, path, options.layer)
        features, cells = file["matrix"].shape
        if file[key].shape != (features, cells):
            raise InputError(
                f"the layer {options.layer!r} of {path.name!r} has another shape than its matrix: write it again"
            )
        about, columns = (
            {name: read_column(file[group][name]) for name in file[group] if file[group][name].shape == (count,)}
            for group, count in (("row_attrs", features), ("col_attrs", cells))
        )
    ids, names = (
        next((columns.pop(key).tolist() for key in keys if key in columns), None)
        for keys, columns in ((CELLS, columns), (FEATURES, about))
    )
    return Opened(LoomReader(str(path), key), ids, names, columns, about=about)


def _key(file: Any, path: Path, layer: str | None) -> str:
    """Name of the matrix in the file: the main one, or the layer that was asked for."""
    if layer is None:
        return "matrix"
    known = sorted(file["layers"]) if "layers" in file else []
    if layer not in known:
        listed = ", ".join(map(repr, known)) or "nothing"
        raise InputError(f"{path.name!r} holds no {layer!r} in layers: it has {listed}{did_you_mean(layer, known)}")
    return f"layers/{layer}"


def _is_complete(file: Any) -> bool:
    return {"matrix", "row_attrs", "col_attrs"} <= set(file)


def _is_loom(path: Path, head: bytes) -> bool:
    return holds(path, head, _is_complete)


FORMATS = (Format("loom", (".loom",), _open, _is_loom, samples="columns", options=("layer",)),)
