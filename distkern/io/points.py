"""Bags from files with one row per point: text tables, Parquet and AnnData."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distkern.core.bags import Bags
from distkern.core.errors import InputError, MissingExtraError
from distkern.core.events import Listener, Progress, silent
from distkern.core.sentences import Argument
from distkern.io.tables import MISSING, header_line, open_text

TEXT = (".csv", ".tsv", ".txt", ".tab")
PARQUET = (".parquet", ".pq")

LINES = 2**16
"""Lines read at a time."""


def bags_from_file(
    path: Path,
    by: str,
    *,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    label: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    sep: str | None = None,
    on_event: Listener = silent,
) -> tuple[Bags, list[str] | None]:
    """Read points with the names of their bags, and group them into bags.

    Parameters
    ----------
    path
        A text table (``.csv``, ``.tsv``, ``.txt``, ``.tab``, also ``.gz``), a ``.parquet`` or an ``.h5ad`` file.
    by
        Column (of ``obs``) with the name of the bag of the point.
    columns
        Columns with the coordinates, or features of AnnData; by default all other numeric columns, or all features.
    weight, label
        Columns (of ``obs``) with the weight of the point, and with the label of the bag; labels of a text table are
        texts.
    use_rep, layer
        Key of ``obsm`` or of ``layers`` of AnnData with the coordinates.
    sep
        Separator of a text table; by default the one in its header.
    on_event
        A function of progress events.

    Returns
    -------
    The bags, and the names of the coordinates or None.

    Raises
    ------
    InputError
        If the file does not exist, is of another kind, or cannot be read as such bags.
    """
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: check the path")
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".h5ad"):
        return _from_h5ad(path, by, columns, weight, label, use_rep, layer)
    if not name.endswith((*TEXT, *PARQUET)):
        raise InputError(
            f"points cannot be read from {path.name!r}: its name must end in {', '.join((*TEXT, *PARQUET))} or .h5ad"
        )
    if use_rep is not None or layer is not None:
        raise InputError(
            "{file!r} is a table, which has neither obsm nor layers: name its columns with {columns}",
            file=path.name,
            columns=Argument("columns"),
        )
    frame = _parquet(path) if name.endswith(PARQUET) else _text(path, by, label, sep, on_event)
    if columns is None:
        _refuse_mixed(path, frame, {by, weight, label})
        columns = [name for name in frame.select_dtypes("number").columns if name not in (by, weight, label)]
    return Bags.from_table(frame, by, columns, weight, label), list(map(str, columns))


def _from_h5ad(
    path: Path,
    by: str,
    columns: Sequence[str] | None,
    weight: str | None,
    label: str | None,
    use_rep: str | None,
    layer: str | None,
) -> tuple[Bags, list[str] | None]:
    try:
        import anndata
    except ImportError as error:
        raise MissingExtraError.of("reading .h5ad files", "io") from error
    try:
        adata = anndata.read_h5ad(path, backed=None if use_rep is None else "r")
    except (OSError, KeyError) as error:
        raise InputError(f"{path.name!r} cannot be read as an .h5ad file: {error}") from error
    if columns is not None:
        if use_rep is not None:
            raise InputError(
                "an array in obsm has no features to choose from: leave out {columns}", columns=Argument("columns")
            )
        unknown = [column for column in columns if column not in adata.var_names]
        if unknown:
            raise InputError(f"{path.name!r} has no feature {unknown[0]!r}: check the names in var")
        adata = adata[:, list(columns)]
    try:
        bags = Bags.from_anndata(adata, by, use_rep=use_rep, layer=layer, weight=weight, label=label)
    finally:
        if adata.isbacked:
            adata.file.close()
    return bags, None if use_rep is not None else list(map(str, adata.var_names))


def _parquet(path: Path) -> Any:
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError as error:
        raise MissingExtraError.of("reading Parquet files", "parquet") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name!r} cannot be read as a Parquet file: {error}") from error


def _text(path: Path, by: str, label: str | None, sep: str | None, on_event: Listener) -> Any:
    """Read a text table; names and labels are texts, stripped of surrounding spaces."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("reading tables of points", "io") from error
    size, parts = path.stat().st_size, []
    with open_text(path) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        first, sep = header_line(path, file, sep)
        header = [name.strip() for name in next(csv.reader([first], delimiter=sep, strict=True))]
        repeated = [name for name in header if header.count(name) > 1]
        if repeated:
            raise InputError(f"{path.name!r} has several columns {repeated[0]!r}: make the names unique")
        texts = {by, label}
        try:
            for part in pd.read_csv(
                file,
                sep=sep,
                names=header,
                dtype={name: str for name in header if name in texts},
                keep_default_na=False,
                na_values={name: sorted(MISSING) for name in header if name not in texts},
                skipinitialspace=True,
                float_precision="round_trip",
                chunksize=LINES,
            ):
                parts.append(part)
                on_event(Progress("read points", os.lseek(file.fileno(), 0, os.SEEK_CUR), size))
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise InputError(f"{path.name!r} cannot be read as a table of points: {error}") from error
    if parts[0].index.nlevels > 1:
        raise InputError(f"the lines of {path.name!r} have more cells than its header has names: correct the table")
    if len(parts[0]) == 0:
        raise InputError(f"{path.name!r} holds no points: it has a header only")
    frame = pd.concat(parts).drop(columns="", errors="ignore")  # the column without a name has row names
    for column, nothing in ((by, {""}), (label, MISSING)):
        if column in frame.columns:
            bare = frame[column].str.strip()
            frame[column] = bare.mask(bare.isin(list(nothing)))
    return frame


def _refuse_mixed(path: Path, frame: Any, used: set[str | None]) -> None:
    """Refuse a column with numbers and texts: it may be a coordinate with errors."""
    import pandas as pd

    for name in frame.select_dtypes(["object", "string"]).columns:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        wrong = frame[name][numbers.isna() & frame[name].notna()]
        if name not in used and numbers.notna().any() and len(wrong):
            raise InputError(
                "column {column!r} of {file!r} holds numbers and also {text!r}: correct it, or name the columns with "
                "coordinates by {columns}",
                column=name,
                file=path.name,
                text=wrong.iloc[0],
                columns=Argument("columns"),
            )
