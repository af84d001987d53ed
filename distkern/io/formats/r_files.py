"""R: ``.rds`` and ``.RData`` files with a matrix, a data.frame, a sparse dgCMatrix, or an object of Bioconductor.

The latter are an ExpressionSet, or a SummarizedExperiment and its kinds, such as SingleCellExperiment.

They are read by the package rdata, which runs no code of the file.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from distkern.core.containers import plain
from distkern.core.errors import InputError, MissingExtraError
from distkern.core.names import checked_names
from distkern.core.sentences import Argument
from distkern.core.suggest import did_you_mean
from distkern.io.blocks import refuse_damage
from distkern.io.compression import beginning_of
from distkern.io.format import Columns, Format, Opened, ReadOptions
from distkern.io.frames import columns_of_frame, names_of_frame, open_frame
from distkern.io.tables import unclear_orientation

R = "a file of R"
"""Name of the format in messages."""

_BEGINS = (b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n", *(b"%c\n\0\0\0%c" % (kind, v) for kind in b"XB" for v in (2, 3)))
_ASCII = (b"A\n2\n", b"A\n3\n")


def _read(path: Path) -> Any:
    """Read the only object of a file that can be a cohort."""
    try:
        import rdata
    except ImportError as error:
        raise MissingExtraError.of("reading files of R (.rds, .RData)", "files") from error
    with refuse_damage(path.name, R), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that are not read
        found = rdata.conversion.convert(rdata.parser.parse_file(path), default_encoding="utf-8")
    if not isinstance(found, dict):
        return _usable(path, found)
    able = {str(name): value for name, value in found.items() if _is_usable(value)}
    if len(able) != 1:
        listed = ", ".join(map(repr, able or map(str, found))) or "nothing"
        raise InputError(
            f"{path.name!r} is {R} that holds {listed}: save the one matrix, data.frame, ExpressionSet or "
            "SummarizedExperiment of the cohort in a file of its own, with saveRDS(x, 'cohort.rds')"
        )
    return next(iter(able.values()))


def _is_usable(value: Any) -> bool:
    return (
        np.ndim(value) == 2
        or _is_frame(value)
        or _is_sparse(value)
        or _is_expression_set(value)
        or _is_experiment(value)
    )


def _usable(path: Path, value: Any) -> Any:
    if _is_usable(value):
        return value
    kind = getattr(value, "class", None)
    called = str(np.ravel(kind)[0]) if kind is not None else type(value).__name__
    raise InputError(
        f"{path.name!r} is {R} with an object of class {called}: save its matrix of values, with names of rows and "
        "columns, with saveRDS(x, 'cohort.rds')"
    )


def _is_frame(value: Any) -> bool:
    return hasattr(value, "iloc") and hasattr(value, "columns")


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SimpleNamespace) and all(hasattr(value, slot) for slot in ("i", "p", "x", "Dim"))


def _is_expression_set(value: Any) -> bool:
    return isinstance(value, SimpleNamespace) and hasattr(value, "assayData") and "exprs" in value.assayData


def _is_experiment(value: Any) -> bool:
    return isinstance(value, SimpleNamespace) and hasattr(value, "assays") and hasattr(value, "colData")


def _matrix(value: Any) -> tuple[Any, Any, Any]:
    """Return the values of a matrix, which may be sparse, and the names of its rows and columns or None."""
    if not _is_sparse(value):
        values, names = plain(value, "the matrix")
        return values, *names
    from scipy import sparse

    matrix = sparse.csc_matrix((value.x, value.i, value.p), shape=tuple(int(size) for size in value.Dim))
    matrix.check_format(full_check=True)  # an index outside the matrix would be written outside its memory
    rows, columns = (None if names is None else list(map(str, names)) for names in value.Dimnames)
    return matrix, rows, columns


def _open(path: Path, options: ReadOptions) -> Opened:
    found = _read(path)
    if _is_frame(found) and options.layer is None:
        return open_frame(path, found, options)
    if _is_experiment(found):
        return _experiment(path, found, options)
    if options.layer is not None:
        raise InputError(
            "{file!r} is a file of R without assays: leave out {layer}",
            file=path.name,
            layer=Argument("layer", options.layer),
        )
    if _is_expression_set(found):
        return _expression_set(path, found, options)
    with refuse_damage(path.name, R):
        values, rows, columns = _matrix(found)
    for names, what in ((rows, "row"), (columns, "column")):
        checked_names(names or (), what, path.name)
    if options.samples is None:
        raise unclear_orientation(path, rows or range_names(values.shape[0]), columns or range_names(values.shape[1]))
    if options.samples == "columns":
        values, rows, columns = values.T, columns, rows
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
    return Opened(values, rows, columns)


def range_names(count: int) -> list[str]:
    """Names of rows or columns that have none."""
    return list(map(str, range(count)))


def _expression_set(path: Path, found: Any, options: ReadOptions) -> Opened:
    """Read an ExpressionSet, whose samples are columns, with what is known of samples and features."""
    if options.samples == "rows":
        raise InputError(f"{path.name!r} is {R} with an ExpressionSet, whose samples are columns: read it so")
    values, features, ids = _matrix(found.assayData["exprs"])
    samples, rows = (
        _columns_of(getattr(getattr(found, slot, None), "data", None), count)
        for slot, count in (("phenoData", values.shape[1]), ("featureData", values.shape[0]))
    )
    return Opened(np.ascontiguousarray(values.T), ids, features, samples, about=rows)


def _experiment(path: Path, found: Any, options: ReadOptions) -> Opened:
    """Read an assay of a SummarizedExperiment, whose samples are columns, with what is known of samples and features.

    Names of samples and features lie beside the assays: in ``colData``, and in ``NAMES`` or in ``rowRanges``.
    """
    if options.samples == "rows":
        raise InputError(f"{path.name!r} is {R} with a SummarizedExperiment, whose samples are columns: read it so")
    with refuse_damage(path.name, R):
        assay = _assay(path, found, options)
        if not (np.ndim(assay) == 2 or _is_sparse(assay)):
            kind = str(np.ravel(getattr(assay, "class", type(assay).__name__))[0])
            raise InputError(
                f"the assay of {path.name!r} is a {kind}, whose values lie elsewhere: save it as a matrix, with "
                "saveRDS(as.matrix(assay(x)), 'cohort.rds')"
            )
        values, features, ids = _matrix(assay)
        features, ids = _names_beside(found, features, ids)
        samples, rows = (
            _columns_of_list(getattr(getattr(found, slot, None), "listData", None), count)
            for slot, count in (("colData", values.shape[1]), ("elementMetadata", values.shape[0]))
        )
    values = values.T
    return Opened(
        np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values, ids, features, samples, about=rows
    )


def _assay(path: Path, found: Any, options: ReadOptions) -> Any:
    """Choose the assay that was asked for, or the only one."""
    assays = found.assays
    holder = getattr(assays, ".xData", None)  # a class of references keeps its fields in an environment
    data = holder["data"] if holder is not None else getattr(assays, "data", assays)
    listed = getattr(data, "listData", data)
    named = listed.items() if isinstance(listed, Mapping) else enumerate(listed, start=1)
    known = {str(name): one for name, one in named}
    if options.layer is None and len(known) == 1:
        return next(iter(known.values()))
    if options.layer in known:
        return known[str(options.layer)]
    names = ", ".join(map(repr, known)) or "none"
    if options.layer is not None:
        advice = did_you_mean(options.layer, list(known))
        raise InputError(f"{path.name!r} holds no assay {options.layer!r}: it has {names}{advice}")
    raise InputError(
        "{file!r} is a file of R with a SummarizedExperiment of the assays {names}: name one of them with {layer}",
        file=path.name,
        names=names,
        layer=Argument("layer"),
    )


def _names_beside(found: Any, features: Any, ids: Any) -> tuple[Any, Any]:
    """Return the names of features and samples that the object has or, without them, its matrix."""
    ranges = getattr(found, "rowRanges", None)
    beside = (
        getattr(found, "NAMES", None),
        getattr(getattr(ranges, "ranges", None), "NAMES", None),
        getattr(getattr(ranges, "partitioning", None), "NAMES", None),
        features,
    )
    samples = (getattr(found.colData, "rownames", None), ids)
    chosen = (next((names for names in known if names is not None and len(names)), None) for known in (beside, samples))
    rows, columns = (None if names is None else list(map(str, names)) for names in chosen)
    return rows, columns


def _columns_of_list(columns: Any, count: int) -> Mapping[str, Any]:
    """Return the columns of a DataFrame of Bioconductor that have one text or number for each row."""
    import pandas as pd

    if not isinstance(columns, Mapping):
        return {}
    plain_ones = {
        str(name): column
        for name, column in columns.items()
        if not isinstance(column, SimpleNamespace) and np.shape(column) == (count,)
    }
    return _columns_of(pd.DataFrame(plain_ones, index=range(count)), count)


def _columns_of(frame: Any, count: int) -> Mapping[str, Any]:
    if not _is_frame(frame) or len(frame) != count:
        return {}
    return {str(name): frame[name].astype(object).where(frame[name].notna(), "").to_numpy() for name in frame}


def _columns(path: Path, options: ReadOptions) -> Columns:
    found = _read(path)
    if _is_frame(found):
        return columns_of_frame(path, found if options.samples != "columns" else found.T)
    if _is_experiment(found):
        samples = getattr(found.colData, "rownames", None)
        ids = [] if samples is None else list(map(str, samples))
        told = _columns_of_list(getattr(found.colData, "listData", None), len(ids))
    elif _is_expression_set(found):
        opened = _expression_set(path, found, ReadOptions())
        ids, told = list(map(str, opened.ids)), opened.columns
    else:
        return {}
    return {name: dict(zip(ids, map(str, values), strict=True)) for name, values in told.items()}


def _names(path: Path, options: ReadOptions) -> tuple[list[str], list[str]]:
    found = _read(path)
    if _is_frame(found):
        return names_of_frame(path, found)
    if _is_experiment(found):
        opened = _experiment(path, found, options)
        return list(map(str, opened.features or ())), list(map(str, opened.ids or ()))
    values, *names = _matrix(found.assayData["exprs"] if _is_expression_set(found) else found)
    rows, columns = (
        range_names(count) if known is None else list(known) for known, count in zip(names, values.shape, strict=True)
    )
    return rows, columns


def _is_r(path: Path, head: bytes) -> bool:
    return beginning_of(head).startswith((*_BEGINS, *_ASCII))


FORMATS = (
    Format(
        "R",
        (".rds", ".rda", ".rdata"),
        _open,
        _is_r,
        samples=None,
        columns=_columns,
        names=_names,
        options=("layer",),
    ),
)
