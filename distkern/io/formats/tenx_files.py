"""10x Genomics: folders with a sparse matrix in text, and ``.h5`` files of Cell Ranger 2 and 3. Cells are columns.

Features are called by their ids, which are distinct; their symbols stay in ``var["gene_symbols"]``. Where a file holds
other measurements beside gene expression, such as antibodies, gene expression alone is read, with a warning.

Format: https://www.10xgenomics.com/support/software/cell-ranger/latest/analysis/outputs/cr-outputs-mex-matrices and
.../cr-outputs-h5-matrices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.warning import warn
from distkern.io.annotated import lines_of
from distkern.io.blocks import PartReader, Reader, ReopenedReader, refuse_damage
from distkern.io.compression import ENDINGS, beginning_of, opened
from distkern.io.format import Format, Opened, ReadOptions
from distkern.io.formats.anndata_files import H5ADReader
from distkern.io.formats.scipy_sparse import SparseReader
from distkern.io.hdf5 import holds, open_hdf5, read_column

H5, MTX = "a 10x .h5 file", "a Matrix Market file"
"""Names of the formats in messages."""

EXPRESSION = "Gene Expression"
"""Type of the features that are read where a file holds several."""

_MATRIX = "matrix.mtx"


class TenXReader(H5ADReader):
    """Rows of cells in a 10x ``.h5`` file, whose columns of cells (CSC) are rows of cells (CSR)."""

    kind = "10x HDF5 file"
    file_kind = H5

    def __init__(self, path: str, key: str) -> None:
        ReopenedReader.__init__(self)
        self.path, self.key = path, key
        X = self.handle()[key]
        self.sparse, self.layout, self.dtypes = True, "csr", (X["data"].dtype,)
        features, cells = (int(size) for size in X["shape"][()])
        self.shape = (cells, features)


def _opened(path: Path, reader: Reader, cells: Sequence[str], ids: Sequence[str], about: dict[str, Any]) -> Opened:
    """Check the numbers of names, and leave out what is not gene expression."""
    for what, names, count in zip(("cells", "features"), (cells, ids), reader.shape, strict=True):
        if len(names) != count:
            raise InputError(
                f"{path.name!r} has {count:,} {what}, and {len(names):,} names of {what} come with it: get the files "
                "of one matrix"
            )
    types = Counter(map(str, about.get("feature_types", ())))
    if len(types) > 1 and EXPRESSION in types:
        kept = np.flatnonzero(np.asarray(about["feature_types"], dtype=object) == EXPRESSION)
        others = ", ".join(f"{count:,} of {name}" for name, count in types.items() if name != EXPRESSION)
        warn(f"{path.name!r} also measures other features ({others}): the {len(kept):,} of {EXPRESSION} are read")
        reader = PartReader(reader, np.arange(reader.shape[0], dtype=np.intp), kept)
        ids = [ids[k] for k in kept.tolist()]
        about = {name: [texts[k] for k in kept.tolist()] for name, texts in about.items()}
    return Opened(reader, list(cells), list(ids), about=about)


# Text --------------------------------------------------------------------------------------------------------------


def _open_folder(path: Path, options: ReadOptions) -> Opened:
    return _open_mtx(_beside(path, "", _MATRIX) or path / _MATRIX, options)


def _open_mtx(path: Path, options: ReadOptions) -> Opened:
    from scipy.io import mmread

    before = path.name[: path.name.lower().index(_MATRIX)] if _MATRIX in path.name.lower() else ""
    barcodes = _beside(path.parent, before, "barcodes.tsv")
    features = _beside(path.parent, before, "features.tsv") or _beside(path.parent, before, "genes.tsv")
    if barcodes is None or features is None:
        raise InputError(
            f"{path.name!r} is a sparse matrix of text without names: put the files {before}barcodes.tsv and "
            f"{before}features.tsv (or {before}genes.tsv) of 10x Genomics beside it, or, if every row is a sample, "
            "convert it with scipy.io.mmread and scipy.sparse.save_npz"
        )
    cells = [line[0] for line in _cells(barcodes, "a list of barcodes", 1)]
    rows = list(_cells(features, "a list of features", None))
    with refuse_damage(path.name, MTX), opened(path) as file:
        matrix = mmread(file)
    if not hasattr(matrix, "tocsr"):
        raise InputError(f"{path.name!r} is a dense matrix of text, and those of 10x Genomics are sparse")
    columns = ("gene_symbols", "feature_types")
    about = {name: [row[k] for row in rows] for k, name in enumerate(columns, start=1) if k < min(map(len, rows))}
    reader = SparseReader(matrix.T.tocsr())
    reader.kind = "10x matrix"
    return _opened(path, reader, cells, [row[0] for row in rows], about)


def _cells(path: Path, kind: str, width: int | None) -> list[list[str]]:
    """Read the lines of a list of names, which have one number of cells."""
    found: list[list[str]] = []
    with lines_of(path, kind) as lines:
        for cells in lines:
            if len(cells) < (width or (len(found[0]) if found else 1)):
                raise lines.wrong(f"has {len(cells)} cells, and others have {len(found[0])}: get the file again")
            found.append(cells)
    if not found:
        raise InputError(f"{path.name!r} is {kind}, and is empty: get it again")
    return found


def _beside(folder: Path, before: str, name: str) -> Path | None:
    """Find a file of this name, compressed or not."""
    paths = (folder / f"{before}{name}{end}" for end in ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def _is_folder(path: Path, head: bytes) -> bool:
    return _beside(path, "", _MATRIX) is not None


def _is_mtx(path: Path, head: bytes) -> bool:
    return beginning_of(head).startswith(b"%%MatrixMarket")


# HDF5 --------------------------------------------------------------------------------------------------------------


def _open_h5(path: Path, options: ReadOptions) -> Opened:
    with open_hdf5(path, H5) as file:
        keys = _keys(file)
        if not keys:
            raise InputError(
                f"{path.name!r} is an HDF5 file, but not of 10x Genomics: if it is AnnData, let its name end in .h5ad"
            )
        if len(keys) > 1:
            raise InputError(
                f"{path.name!r} holds {len(keys)} genomes ({', '.join(keys)}): keep one with "
                f"scanpy.read_10x_h5(..., genome={keys[0]!r}).write_h5ad(...)"
            )
        group = file[keys[0]]
        cells = read_column(group["barcodes"]).tolist()
        if "features" in group:
            ids, about = (
                group["features/id"],
                {"gene_symbols": "features/name", "feature_types": "features/feature_type"},
            )
        else:
            ids, about = group["genes"], {"gene_symbols": "gene_names"}
        texts = {name: read_column(group[key]).tolist() for name, key in about.items() if key in group}
        names = read_column(ids).tolist()
        reader = TenXReader(str(path.absolute()), keys[0])
    return _opened(path, reader, cells, names, texts)


def _keys(file: Any) -> list[str]:
    """Names of the matrices: one of Cell Ranger 3, or one for each genome of Cell Ranger 2."""
    names = [name for name in file if hasattr(file[name], "keys")]
    return [name for name in names if {"barcodes", "data", "indices", "indptr", "shape"} <= set(file[name])]


def _is_h5(path: Path, head: bytes) -> bool:
    return holds(path, head, lambda file: bool(_keys(file)))


FORMATS = (
    Format("10x Genomics folder", (), _open_folder, _is_folder, folder=True, samples="columns"),
    Format("10x Genomics matrix", tuple(f".mtx{end}" for end in ENDINGS), _open_mtx, _is_mtx, samples="columns"),
    Format("10x Genomics HDF5", (".h5",), _open_h5, _is_h5, samples="columns"),
)
