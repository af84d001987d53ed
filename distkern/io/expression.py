"""Expression cohorts from files of any format into AnnData: observations are samples, variables are features."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.feature_names import converted, warn_of_spreadsheets
from distkern.core.files import as_path
from distkern.core.labels import stripped
from distkern.core.sentences import Argument, Call, Sentence
from distkern.io.collapse import Collapse, collapse_features
from distkern.io.format import Opened, ReadOptions
from distkern.io.labels import read_labels
from distkern.io.registry import check_orientation, find_format
from distkern.io.source import source_of
from distkern.io.tables import Orientation, check_labels, infinite_value

if TYPE_CHECKING:
    from anndata import AnnData


def read_expression(
    path: str | os.PathLike[str],
    *,
    samples: Orientation | None = None,
    labels: str | os.PathLike[str] | None = None,
    label: str | None = None,
    sep: str | None = None,
    layer: str | None = None,
    use_rep: str | None = None,
    collapse: Collapse | None = None,
    genes: Any = None,
) -> AnnData:
    r"""Read an expression cohort into AnnData: samples × features, with labels if they are named.

    Parameters
    ----------
    path
        A table with names in its first line and first column: text (``.csv``, ``.tsv``, ``.txt``, compressed or not),
        Excel (``"book.xlsx#sheet"`` if several sheets have cells), Parquet, Feather, or a matrix or data.frame of R
        (``.rds``, ``.RData``). Or a file that says itself which are the samples: an ExpressionSet or
        SummarizedExperiment of R, GCT, GCTX, a GEO series matrix or SOFT file, a folder or ``.h5`` file of 10x
        Genomics, loom, a table of cBioPortal or UCSC Xena; an ``.h5ad`` file, a ``.npy`` or ``.npz`` file (``X``,
        optionally with ``samples``, ``features`` and ``y``), or a Zarr folder (of AnnData or of one array).
    samples
        Whether the samples are the ``"rows"`` or the ``"columns"`` of a table. It is never guessed.
    labels
        A second file with labels, for example a text table whose first column holds the ids of the samples.
    label
        Name of the labels: a column of ``labels`` if that is given, else a column (or row, if samples are columns) of
        the text table, a column of ``obs``, or an array of the ``.npz`` file.
    sep
        Separator of the columns of a text table; by default tab, comma or semicolon, as detected in the header.
    layer, use_rep
        Key of ``layers`` or of ``obsm`` of AnnData whose values become ``X``; those of ``obsm`` have no feature names.
        The layer ``"raw"`` is ``adata.raw``, with its own features. ``layer`` also names a layer of a loom file, or an
        assay of a SummarizedExperiment.
    collapse, genes
        How the features of one gene become one, and the gene of each feature, as ``how`` and ``genes`` of
        `collapse_features`; ``genes`` may name a column of the file, such as ``"gene_symbols"`` for 10x Genomics.
        Without it all features must have names of their own.

    Returns
    -------
    An AnnData object with ``X`` in float64 (sparse if the file is) and NaN for missing values. What the file says of
    samples and features is in ``obs`` and ``var``. The labels are in ``obs`` under their name, which is also in
    ``uns["distkern"]["label"]``.

    Raises
    ------
    InputError
        If the file cannot be used as it is; the message names the sample and the feature, and the remedy.
    MissingExtraError
        If anndata, or what the kind of file needs, is not installed; the message names the extra.

    Warns
    -----
    UserWarning
        If features look like gene symbols that a spreadsheet converted to dates or numbers. They are not repaired.

    See Also
    --------
    read_rankings : Ballots instead of cohorts.
    collapse_features : One feature for each gene.
    anndata.io.read_h5ad : A file that AnnData wrote.

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
    if genes is not None and collapse is None:
        raise InputError(
            "{genes} without {collapse}: say how the features of one gene become one, most-variable, mean or max",
            genes=Argument("genes"),
            collapse=Argument("collapse"),
        )
    if labels is None and label is not None and (layer is not None or use_rep is not None):
        labels = file  # the labels are in obs, which is read apart from the values
    options = ReadOptions(samples, label if labels is None else None, sep, layer, use_rep)
    found = find_format(file)
    if not found.matrix:
        raise InputError(
            "{file!r} holds {format}, not a matrix of samples × features: give its path to {call} as it is",
            file=file.name,
            format=found.name,
            call=Call("compute_gram"),
        )
    check_orientation(file, found, options)
    if found.load is not None and layer is None and use_rep is None:
        if options.label is not None and found.columns is not None:
            found.columns(file, options)  # refuses a column of which a part is lost
        adata, column = _loaded(file, found.load(file), options.label), options.label
    else:
        adata, column = _built(file, found.open(file, options), options.label, collapse)
    warn_of_spreadsheets(tuple(adata.var_names), repr(file.name))
    _check_finite(file, adata)
    if labels is not None:
        if_transposed = Sentence("transpose it")
        if samples is not None:
            other = "rows" if samples == "columns" else "columns"
            if_transposed = Sentence("write {samples}", samples=Argument("samples", other))
        ids, features = list(adata.obs_names), list(adata.var_names)
        column, texts = read_labels(as_path(labels), ids, label=label, features=features, if_transposed=if_transposed)
        adata.obs[column] = _categories(texts, adata.obs_names)
    adata.uns["distkern"] = {"source": file.name} | ({} if column is None else {"label": column})
    return adata if collapse is None else collapse_features(adata, genes, collapse)


def _loaded(file: Path, adata: AnnData, label: str | None) -> AnnData:
    """Check an AnnData object from a file, and convert its values to float64."""
    if adata.X is None:
        raise InputError(f"{file.name!r} holds no X: store the expression values in adata.X")
    if adata.X.dtype.kind not in "biuf":
        raise InputError(f"the values of {file.name!r} are {adata.X.dtype}, not real numbers: store numbers only in X")
    adata.X = adata.X.astype(np.float64, copy=False)
    _check_names(file, "samples", list(adata.obs_names))
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
    texts = adata.obs[label].tolist()
    if any(isinstance(text, str) and text != stripped(text) for text in texts):
        adata.obs[label] = _categories(texts, adata.obs_names)
    return adata


def _built(file: Path, opened: Opened, label: str | None, collapse: str | None) -> tuple[AnnData, str | None]:
    """Make an AnnData object of an open file; return it and the name of the column of labels."""
    try:
        import anndata
        import pandas as pd
        from scipy import sparse
    except ImportError as error:
        raise MissingExtraError.of("reading expression cohorts", "io") from error
    for what, names in (("samples", opened.ids), ("features", opened.features)):
        if names is not None and (what == "samples" or collapse is None):
            _check_names(file, what, list(map(str, names)))
    source = source_of(opened)
    ids, features = (
        pd.DataFrame(index=np.array(list(map(str, range(count)) if names is None else names), dtype=object))
        for names, count in zip((source.ids, source.features), source.shape, strict=True)
    )
    every = slice(None)
    values = sparse.csr_matrix(source.read_sparse(every)) if source.sparse else source.read(every)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Variable names are not unique")  # they are collapsed next
        adata = anndata.AnnData(values, obs=ids, var=features)
    _annotate(adata, opened)
    wanted = opened.label if label is None else label
    if wanted is None:
        return adata, None
    column = "label" if label is None else label
    adata.obs[column] = _labels(file, opened.columns, wanted, adata)
    return adata, column


def _annotate(adata: AnnData, opened: Opened) -> None:
    """Keep what the file says of the samples and of the features."""
    for frame, columns in ((adata.obs, opened.columns), (adata.var, opened.about)):
        for name, values in columns.items():
            if np.shape(values) == (len(frame),) and name != opened.label:
                frame[name] = np.asarray(values)


def _labels(file: Path, columns: Mapping[str, Any], wanted: str, adata: AnnData) -> Any:
    values = np.asarray(columns.get(wanted))
    if values.shape == (adata.n_obs,):
        if values.dtype.kind in "OU":
            check_labels(list(map(str, values)), list(adata.obs_names), file.name)
            values = values.astype(str)
        return _categories(values, adata.obs_names) if values.dtype.kind == "U" else values
    able = ", ".join(repr(name) for name, others in columns.items() if np.shape(others) == (adata.n_obs,))
    if not able:
        raise InputError(
            "{file!r} holds no labels: give the file that does as {labels}", file=file.name, labels=Argument("labels")
        )
    raise InputError(
        "{file!r} holds no {column!r} with one label for each of its {samples} samples: name one of {able} with "
        "{label}",
        file=file.name,
        column=wanted,
        samples=adata.n_obs,
        able=able,
        label=Argument("label"),
    )


def _categories(values: Sequence[str] | Any, index: Any) -> Any:
    import pandas as pd

    return pd.Series(pd.Categorical([stripped(str(value)) for value in values]), index=index)


# Checks ------------------------------------------------------------------------------------------------------------


def _check_names(file: Path, what: str, names: list[str]) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        first = names.index(repeated[0])
        second = names.index(repeated[0], first + 1)
        remedy = Sentence(" or collapse them with {collapse}", collapse=Argument("collapse"))
        if converted(repeated[:1]):  # two genes, not two probes of one
            remedy = Sentence(", as a spreadsheet converted symbols: restore them from the original annotation")
        raise InputError(
            "two {what} of {file!r} are called {name!r}, number {first} and {second}: make the names unique{remedy}; "
            "spaces around them are ignored",
            **{"what": what, "file": file.name, "name": repeated[0], "first": first + 1, "second": second + 1},
            remedy=remedy if what == "features" else "",
        )
    if "" in names:
        raise InputError(f"number {names.index('') + 1} of the {what} of {file.name!r} has no name: give it one")


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
