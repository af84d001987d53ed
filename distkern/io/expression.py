"""Reading expression cohorts from files into AnnData: observations are samples, variables are features."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import as_path
from distkern.core.sentences import Argument, Sentence
from distkern.io.files import read_npy, read_npz
from distkern.io.labels import beginning, check_labels, read_labels
from distkern.io.tables import Orientation, infinite_value, read_names, read_numbers

if TYPE_CHECKING:
    from anndata import AnnData

TEXT = (".csv", ".tsv", ".txt", ".tab")

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec"
_MANGLED = re.compile(rf"\d{{1,2}}-({_MONTHS})|({_MONTHS})-\d{{1,2}}|\d\.\d+e\+\d+", re.IGNORECASE)
"""Gene symbols after a spreadsheet: SEPT2 as 2-Sep or Sep-02, 2310009E13 as 2.31E+19."""


def read_expression(
    path: str | os.PathLike[str],
    *,
    samples: Orientation | None = None,
    labels: str | os.PathLike[str] | None = None,
    label: str | None = None,
    sep: str | None = None,
) -> AnnData:
    r"""Read an expression cohort: samples × features, with labels if asked for.

    Parameters
    ----------
    path
        A text table (``.csv``, ``.tsv``, ``.txt``, compressed with gzip or not) with names in its first line and first
        column, an ``.h5ad`` file, a ``.npy`` or ``.npz`` file (``X``, with ``samples``, ``features`` and ``y`` if they
        are there), or a Zarr store (of AnnData or one array). In all but text tables the samples are the rows.
    samples
        Whether the samples are the ``"rows"`` or the ``"columns"`` of a text table, which cannot be guessed safely.
    labels
        A second text table, whose first column holds the samples' ids.
    label
        What to use as labels: a column of ``labels`` if that is given, else the column (or row, where samples are
        columns) of the text table, the column of ``obs``, or the array of the ``.npz`` file.
    sep
        Separator of the text table's columns; by default tab, comma or semicolon, whichever its header holds.

    Returns
    -------
    An AnnData object with ``X`` in float64 (sparse where the file is) and NaN where a value is missing. The labels are
    in ``obs`` under their name, which is also in ``uns["distkern"]["label"]``.

    Raises
    ------
    InputError
        If the file cannot be used as it is: the message names the sample and feature and says what to do.
    MissingExtraError
        If anndata is not installed.

    Warns
    -----
    UserWarning
        If features look like gene symbols that a spreadsheet turned into dates or numbers. They are not repaired.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "cohort.csv")
    ...     _ = file.write_text("gene,p1,p2,p3\nTP53,1,2,3\nMYC,4,,6\nrelapse,yes,no,no\n")
    ...     adata = read_expression(file, samples="columns", label="relapse")
    >>> adata.X
    array([[ 1.,  4.],
           [ 2., nan],
           [ 3.,  6.]])
    >>> list(adata.obs_names), list(adata.var_names), list(adata.obs["relapse"])
    (['p1', 'p2', 'p3'], ['TP53', 'MYC'], ['yes', 'no', 'no'])
    """
    file = as_path(path)
    own_label = label if labels is None else None
    if not file.exists():
        raise InputError(f"there is no file {str(file)!r}: check the path")
    adata = _read(file, samples, own_label, sep)
    _check_names(file, "samples", list(adata.obs_names))
    _warn_of_spreadsheets(file, list(adata.var_names))
    _check_finite(file, adata)
    column = own_label
    if labels is not None:
        turn = Sentence("transpose it")
        if samples is not None:
            other = "rows" if samples == "columns" else "columns"
            turn = Sentence("write {samples}", samples=Argument("samples", other))
        names = list(adata.obs_names), list(adata.var_names)
        column, texts = read_labels(as_path(labels), names[0], label=label, features=names[1], turn=turn)
        adata.obs[column] = _categories(texts, adata.obs_names)
    elif column is None and file.suffix == ".npz" and "label" in adata.obs:
        column = "label"
    adata.uns["distkern"] = {"source": file.name} | ({} if column is None else {"label": column})
    return adata


def _read(file: Path, samples: Orientation | None, label: str | None, sep: str | None) -> AnnData:
    name = file.name.lower().removesuffix(".gz")
    if samples not in (None, "rows", "columns"):
        raise InputError(
            "{samples} must be 'rows' or 'columns': which of them are the samples of the table",
            samples=Argument("samples", samples),
        )
    if file.is_file() and name.endswith(TEXT):
        return _read_text(file, samples, label, sep)
    if samples == "columns":
        raise InputError(
            "in {file!r} every row is a sample: save it transposed, or leave out {samples}",
            file=file.name,
            samples=Argument("samples", samples),
        )
    if file.is_dir():
        return _labelled(file, _read_zarr(file), label)
    if name.endswith(".h5ad"):
        return _labelled(file, _read_h5ad(file), label)
    if name.endswith(".npy"):
        if label is not None:
            raise InputError(
                "{file!r} holds no labels: give the file that does as {labels}",
                file=file.name,
                labels=Argument("labels"),
            )
        return _anndata(read_npy(file), None, None)
    if name.endswith(".npz"):
        return _read_npz(file, label)
    raise InputError(
        f"{file.name!r} is of no kind that is read here: text tables ({', '.join(TEXT)}, also .gz), .h5ad, .npy, "
        ".npz and .zarr"
    )


# Formats -----------------------------------------------------------------------------------------------------------


def _read_text(file: Path, samples: Orientation | None, label: str | None, sep: str | None) -> AnnData:
    if samples is None:
        rows, columns = read_names(file, sep)
        raise InputError(
            "{file!r} has {rows:,} rows ({first_rows}) and {columns:,} columns ({first_columns}): say which are the "
            "samples with {in_rows} or {in_columns}",
            file=file.name,
            rows=len(rows),
            first_rows=beginning(rows),
            columns=len(columns),
            first_columns=beginning(columns),
            in_rows=Argument("samples", "rows"),
            in_columns=Argument("samples", "columns"),
        )
    table = read_numbers(file, samples=samples, sep=sep, label=label)
    values, ids, features = table.values, table.rows, table.columns
    if samples == "columns":
        values, ids, features = np.ascontiguousarray(values.T), features, ids
    # before AnnData sees the names, because it warns of repeated ones
    _check_names(file, "samples", ids)
    _check_names(file, "features", features)
    adata = _anndata(values, ids, features)
    if label is not None and table.labels is not None:
        check_labels(table.labels, ids, file.name)
        adata.obs[label] = _categories(table.labels, adata.obs_names)
    return adata


def _read_npz(file: Path, label: str | None) -> AnnData:
    archive = read_npz(file)
    for what, names in (("samples", archive.ids), ("features", archive.features)):
        if names is not None:
            _check_names(file, what, list(map(str, names)))
    adata = _anndata(archive.X, archive.ids, archive.features)
    source = "y" if label is None and "y" in archive.others else label
    if source is None:
        return adata
    values = archive.others.get(source)
    if values is None or values.shape != (adata.n_obs,):
        able = [name for name, array in archive.others.items() if array.shape == (adata.n_obs,)]
        raise InputError(
            f"{file.name!r} holds no array {source!r} with one label for each of its {adata.n_obs} samples; "
            f"those that have one: {', '.join(able) or 'none'}"
        )
    column = "label" if label is None else label
    adata.obs[column] = _categories(values, adata.obs_names) if values.dtype.kind == "U" else values
    return adata


def _read_h5ad(file: Path) -> AnnData:
    anndata = _import_anndata()
    try:
        with _names_checked_by_us():
            return _as_float(file, anndata.read_h5ad(file))
    except (OSError, KeyError) as error:
        raise InputError(f"{file.name!r} cannot be read as an .h5ad file: {error}") from error


def _read_zarr(file: Path) -> AnnData:
    import zarr

    try:
        node = zarr.open(str(file), mode="r")
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the folder {file.name!r} is no Zarr store: {error}") from error
    if isinstance(node, zarr.Array):
        return _anndata(np.asarray(node[...]), None, None)
    if node.attrs.get("encoding-type") != "anndata":
        raise InputError(f"{file.name!r} is a Zarr group but not one of AnnData: give the path of the array inside it")
    anndata = _import_anndata()
    with _names_checked_by_us():
        return _as_float(file, anndata.read_zarr(file))


def _as_float(file: Path, adata: AnnData) -> AnnData:
    if adata.X is None:
        raise InputError(f"{file.name!r} holds no X: store the expression values in adata.X")
    adata.X = _floats(adata.X)
    return adata


def _labelled(file: Path, adata: AnnData, label: str | None) -> AnnData:
    if label is None:
        return adata
    if label not in adata.obs:
        listed = ", ".join(map(repr, adata.obs.columns[:10])) or "no columns"
        raise InputError(f"the obs of {file.name!r} has no column {label!r}: it has {listed}")
    missing = np.flatnonzero(adata.obs[label].isna())
    if len(missing):
        raise InputError(
            f"sample {adata.obs_names[missing[0]]!r} of {file.name!r} has no {label!r}: give it a label or leave it out"
        )
    return adata


# Parts -------------------------------------------------------------------------------------------------------------


def _anndata(X: Any, ids: Any, features: Any) -> AnnData:
    anndata = _import_anndata()
    import pandas as pd

    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"the array of the cohort has shape {X.shape}; it must be (samples, features), none empty")
    names = []
    for given, count, what in ((ids, X.shape[0], "samples"), (features, X.shape[1], "features")):
        listed = list(map(str, range(count) if given is None else given))
        if len(listed) != count:
            raise InputError(f"the file gives {len(listed)} names for {count} {what}: give one for each")
        names.append(pd.DataFrame(index=pd.Index(listed, dtype=object)))
    return anndata.AnnData(_floats(X), obs=names[0], var=names[1])


def _floats(X: Any) -> Any:
    if X.dtype.kind not in "biuf":
        raise InputError(f"the values of the cohort are {X.dtype}, not real numbers: store numbers only in X")
    return X if X.dtype == np.float64 else X.astype(np.float64)


def _categories(values: Sequence[str] | Any, index: Any) -> Any:
    import pandas as pd

    return pd.Series(pd.Categorical([str(value) for value in values]), index=index)


def _import_anndata() -> Any:
    try:
        import anndata
    except ImportError as error:
        raise MissingExtraError.of("reading expression cohorts", "io") from error
    return anndata


@contextmanager
def _names_checked_by_us() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(Observation|Variable) names are not unique", category=UserWarning)
        yield


# Checks ------------------------------------------------------------------------------------------------------------


def _check_names(file: Path, what: str, names: list[str]) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        first = names.index(repeated[0])
        second = names.index(repeated[0], first + 1)
        raise InputError(
            f"two {what} of {file.name!r} are called {repeated[0]!r}, number {first + 1} and {second + 1}: make the "
            "names unique, spaces around them aside"
        )
    if "" in names:
        raise InputError(f"number {names.index('') + 1} of the {what} of {file.name!r} has no name: give it one")


def _warn_of_spreadsheets(file: Path, features: list[str]) -> None:
    mangled = [name for name in features if _MANGLED.fullmatch(name)]
    if mangled:
        warnings.warn(
            f"{len(mangled)} of {len(features):,} features of {file.name!r}, such as {mangled[0]!r}, look like gene "
            "symbols that a spreadsheet turned into dates or numbers: restore them from the original annotation",
            UserWarning,
            stacklevel=3,
        )


def _check_finite(file: Path, adata: AnnData) -> None:
    infinite = np.isinf(adata.X if isinstance(adata.X, np.ndarray) else adata.X.data)
    if not infinite.any():
        return
    if isinstance(adata.X, np.ndarray):
        row, column = np.argwhere(infinite)[0]
    else:
        entries = adata.X.tocoo()
        first = np.flatnonzero(np.isinf(entries.data))[0]
        row, column = entries.row[first], entries.col[first]
    raise infinite_value(file, repr(adata.obs_names[row]), repr(adata.var_names[column]))
