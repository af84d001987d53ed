"""Writing of cohorts, block after block: text tables, ``.npy`` and ``.h5ad`` files."""

from __future__ import annotations

import gzip
import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import written_whole
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names

Write = Callable[[Floats], None]
"""Writes the values of the next samples, (k, n)."""

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}
"""Separator of the columns of a text table by its suffix, which ``.gz`` may follow."""

QUOTED = ('"', ",", "\t", "\n", "\r")
"""Characters for which a name is put into quotation marks."""


def refuse_unknown_suffix(path: Path) -> None:
    """Refuse a file whose name does not tell how to write it.

    Raises
    ------
    InputError
        Names the suffixes that do.
    """
    if _suffix(path) not in (*SEPARATORS, ".npy", ".h5ad"):
        raise InputError(
            f"{path.name!r} does not tell how to write it: its name must end in {', '.join(SEPARATORS)} (also .gz), "
            ".npy or .h5ad"
        )


@contextmanager
def cohort_written(
    path: Path,
    shape: tuple[int, int],
    ids: Names,
    features: Names,
    *,
    like: Path | None = None,
    overwrite: bool = False,
) -> Iterator[Write]:
    """Write a cohort with samples in rows; it appears at its path when the block succeeds.

    Parameters
    ----------
    path
        File, whose suffix decides on the format: ``.csv`` and ``.tsv``, ``.txt``, ``.tab`` (tabs), also with ``.gz``;
        ``.npy``, which has no names; ``.h5ad``. Missing values are empty cells of a text table, else NaN.
    shape
        Number of samples and of features.
    ids, features
        Their names; positions by default.
    like
        An ``.h5ad`` file of the same samples, whose annotations of samples, and of features if these are the same, an
        ``.h5ad`` file takes over.
    overwrite
        Replace an existing file.

    Raises
    ------
    InputError
        If the suffix is another one, or the file exists or cannot be written.
    MissingExtraError
        If anndata is not installed, for ``.h5ad``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cohort.csv")
    ...     with cohort_written(path, (2, 2), ["p1", "p2"], ["TP53", "MYC"]) as write:
    ...         write(np.array([[1.0, 2.5]]))
    ...         write(np.array([[np.nan, 0.1]]))
    ...     print(path.read_text(), end="")
    id,TP53,MYC
    p1,1.0,2.5
    p2,,0.1
    """
    refuse_unknown_suffix(path)
    rows, columns = (
        list(map(str, range(count))) if names is None else list(names)
        for count, names in zip(shape, (ids, features), strict=True)
    )
    with written_whole(path, overwrite=overwrite) as file:
        if _suffix(path) == ".npy":
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            yield lambda values: _write_bytes(file, values)
        elif _suffix(path) == ".h5ad":
            with _h5ad(Path(os.fsdecode(file.name)), shape, rows, columns, like) as write:
                yield write
        else:
            with _text(path, file) as text:
                yield _table_writer(text, SEPARATORS[_suffix(path)], rows, columns)


def _suffix(path: Path) -> str:
    """Suffix that decides on the format, in lower case, without that of a compressed text table."""
    name = path.name.lower()
    ends = Path(name.removesuffix(".gz")).suffix
    return ends if ends in SEPARATORS or not name.endswith(".gz") else ".gz"


def _write_bytes(file: BinaryIO, values: Floats) -> None:
    file.write(np.ascontiguousarray(values, dtype="<f8").data)


@contextmanager
def _text(path: Path, file: BinaryIO) -> Iterator[io.TextIOWrapper]:
    """Open a file for text in UTF-8, compressed if its name says so; the file itself stays open."""
    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.name.lower().endswith(".gz") else None
    text = io.TextIOWrapper(packed or file, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()
        if packed is not None:
            packed.close()


def _table_writer(text: io.TextIOWrapper, sep: str, rows: list[str], columns: Sequence[str]) -> Write:
    names = iter(rows)
    text.write(sep.join(["id", *map(_cell, columns)]) + "\n")

    def write(values: Floats) -> None:
        for line in values.tolist():
            text.write(
                sep.join([_cell(next(names)), *("" if math.isnan(value) else repr(value) for value in line)]) + "\n"
            )

    return write


def _cell(name: str) -> str:
    """Write a name as a cell, in quotation marks where it needs them."""
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in QUOTED) else name


@contextmanager
def _h5ad(
    path: Path, shape: tuple[int, int], rows: list[str], columns: list[str], like: Path | None
) -> Iterator[Write]:
    try:
        import anndata
        import h5py
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("writing .h5ad files", "io") from error
    obs, var = pd.DataFrame(index=pd.Index(rows, dtype=object)), pd.DataFrame(index=pd.Index(columns, dtype=object))
    if like is not None:
        known = anndata.read_h5ad(like, backed="r")
        obs = known.obs.copy() if list(known.obs_names) == rows else obs
        var = known.var.copy() if list(known.var_names) == columns else var
        known.file.close()
    anndata.AnnData(obs=obs, var=var).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        if "X" in file:
            del file["X"]
        X = file.create_dataset("X", shape, dtype="<f8")
        X.attrs["encoding-type"], X.attrs["encoding-version"] = "array", "0.2.0"
        yield _DatasetWriter(X)


class _DatasetWriter:
    """Writes the next rows of a dataset."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self._done = dataset, 0

    def __call__(self, values: Array) -> None:
        self._dataset[self._done : self._done + len(values)] = values
        self._done += len(values)
