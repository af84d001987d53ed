"""GCTX: HDF5 files of the Connectivity Map. Format: https://clue.io/connectopedia/gctx_format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distkern.core.errors import InputError
from distkern.io.format import Format, Opened, ReadOptions
from distkern.io.formats.anndata_files import H5ADReader
from distkern.io.hdf5 import holds, open_hdf5, read_column

GCTX = "a GCTX file"
"""Name of the format in messages."""

MATRIX, ROWS, SAMPLES = "0/DATA/0/matrix", "0/META/ROW", "0/META/COL"
"""Places of the values, a row for each sample, and of the texts of the features and of the samples."""


class GCTXReader(H5ADReader):
    """Rows of samples in a GCTX file, which stores its columns as rows."""

    kind = "GCTX file"
    file_kind = GCTX


def _open(path: Path, options: ReadOptions) -> Opened:
    with open_hdf5(path, GCTX) as file:
        if not _is_complete(file):
            raise InputError(f"{path.name!r} is no GCTX file, which holds {MATRIX}, {ROWS}/id and {SAMPLES}/id")
        about, columns = ({name: read_column(file[group][name]) for name in file[group]} for group in (ROWS, SAMPLES))
        features, ids = (list(map(str, texts.pop("id").tolist())) for texts in (about, columns))
        if file[MATRIX].shape != (len(ids), len(features)):
            rows, columns_found = file[MATRIX].shape
            raise InputError(
                f"{path.name!r} is {GCTX} with {len(ids):,} samples and {len(features):,} features, and with values of "
                f"{rows:,} samples and {columns_found:,} features: it is damaged, get it again"
            )
    return Opened(GCTXReader(str(path), MATRIX), ids, features, columns, about=about)


def _is_complete(file: Any) -> bool:
    return MATRIX in file and f"{ROWS}/id" in file and f"{SAMPLES}/id" in file


def _is_gctx(path: Path, head: bytes) -> bool:
    return holds(path, head, _is_complete)


FORMATS = (Format("GCTX", (".gctx",), _open, _is_gctx, samples="columns"),)
