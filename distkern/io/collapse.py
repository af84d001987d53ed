"""One feature for each gene, from several probes, transcripts or rows of one name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.files import as_path
from distkern.core.names import is_missing
from distkern.core.parameters import one_of
from distkern.core.sentences import Argument
from distkern.core.typing import Floats, Indices
from distkern.io.sheets import file_and_sheet
from distkern.io.source import Source, as_source
from distkern.io.tables import read_texts

if TYPE_CHECKING:
    from anndata import AnnData

Collapse = Literal["most-variable", "mean", "max"]

ROUNDING = 1e-12
"""Variances that differ by less than this part of them are equal up to rounding."""

WAYS = ("most-variable", "mean", "max")
"""How the features of one gene become one."""

_OF_GENES = ("gene", "symbol", "gene symbol")
"""What the column of the genes may be called."""

BLOCK_BYTES = 2**26
"""Bytes of samples that are read at a time, as float64."""


def collapse_features(cohort: Any, genes: Any = None, how: Collapse = "most-variable") -> AnnData:
    """Turn the features of each gene into one: x_g = x_p* with p* = argmax_{p of g} Var x_p, or the mean or maximum.

    Parameters
    ----------
    cohort
        Samples in rows (m, n), in any container that `compute_gram` takes, or the path of a file. NaN = missing.
    genes
        The gene of each feature: a mapping or a pandas Series from the name of a feature to its gene; a text table with
        the features in its first column, and the genes in its second or in that called ``gene`` or ``symbol``; or the
        name of a column of ``var``. By default the features are called by their genes, several by the same. A feature
        without a gene is left out.
    how
        ``"most-variable"``: the feature with the largest variance over the samples, the first of equal ones. It depends
        on the cohort: for a new cohort select the same probes, by their names. ``"mean"``, ``"max"``: over the features
        of the gene that have a value, sample by sample, which is the same for one sample alone.

    Returns
    -------
    AnnData
        Samples × genes in the order in which the genes first appear. ``var["features"]`` has the number of features of
        each gene, and with ``"most-variable"`` ``var["feature"]`` the one that was taken. ``obs`` is kept.

    Raises
    ------
    InputError
        If no feature has a gene, the features have no names, a feature has two genes, or ``"most-variable"`` has fewer
        than two samples.
    MissingExtraError
        If anndata is not installed.

    See Also
    --------
    read_expression : Does the same while it reads (``collapse=``).

    Examples
    --------
    >>> import pandas as pd
    >>> probes = pd.DataFrame({"p1": [1.0, 2.0], "p2": [5.0, 9.0], "p3": [3.0, 3.0]}, index=["a", "b"])
    >>> cohort = collapse_features(probes, {"p1": "TP53", "p2": "TP53", "p3": "MYC"})
    >>> cohort.to_df()
       TP53  MYC
    a   5.0  3.0
    b   9.0  3.0
    >>> cohort.var["feature"].tolist()
    ['p2', 'p3']
    """
    try:
        import anndata
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("collapsing features", "io") from error
    one_of(how, "how", WAYS)
    source = as_source(cohort)
    named = gene_of_each(source, genes, cohort.var if hasattr(cohort, "var_names") else {})
    names: dict[str, int] = {}
    groups = np.array([-1 if gene is None else names.setdefault(gene, len(names)) for gene in named], dtype=np.intp)
    if not names:
        raise InputError(
            "no feature has a gene: check that the table names the features as the cohort does, such as "
            f"{named_features(source)[0]!r}"
        )
    about = pd.DataFrame({"features": np.bincount(groups[groups >= 0])}, index=np.array(list(names), dtype=object))
    if how == "most-variable":
        taken = _most_variable(source, groups, len(names))
        values: Any = source.with_features(taken).read(slice(0, None))
        about["feature"] = np.array(source.features, dtype=object)[taken]
    else:
        values = _summed_up(source, groups, len(names), how)
    ids = np.array([*(source.ids or map(str, range(len(source))))], dtype=object)
    obs = cohort.obs.copy() if hasattr(cohort, "obs_names") else pd.DataFrame(index=ids)
    collapsed = anndata.AnnData(values, obs=obs, var=about)
    collapsed.uns["distkern"] = {**dict(getattr(cohort, "uns", {}).get("distkern", {})), "collapsed": how}
    return collapsed


def named_features(source: Source) -> tuple[str, ...]:
    """Names of the features, which must have some."""
    if source.features is None:
        raise InputError("the features have no names, so that nothing tells their genes: give a table with names")
    return source.features


def gene_of_each(source: Source, genes: Any, var: Any) -> list[str | None]:
    """Return the gene of each feature; None for a feature without one."""
    features = named_features(source)
    if genes is None:
        return [*features]
    if isinstance(genes, str) and genes in var:
        found: list[Any] = var[genes].tolist()
    else:
        if isinstance(genes, (str, os.PathLike)):
            if not file_and_sheet(as_path(genes))[0].exists():
                has = ", ".join(map(repr, var)) or "none"
                raise InputError(
                    f"there is no table of genes {str(genes)!r}, and the features have no such column: they have {has}"
                )
            genes = read_genes(as_path(genes))
        if hasattr(genes, "items") and not isinstance(genes, Mapping):  # a pandas Series
            if not genes.index.is_unique:
                raise InputError(
                    f"feature {genes.index[genes.index.duplicated()][0]!r} has two genes: give each feature one"
                )
            genes = dict(genes.items())
        if not isinstance(genes, Mapping):
            raise InputError(
                "{genes} must be a mapping from features to genes, a table, or a column of var; got {kind}",
                genes=Argument("genes"),
                kind=type(genes).__name__,
            )
        known = {str(name): gene for name, gene in genes.items()}
        found = [known.get(name) for name in features]
    return [None if is_missing(gene) or not str(gene).strip() else str(gene).strip() for gene in found]


def read_genes(path: Path) -> dict[str, str]:
    r"""Read the gene of each feature from a text table: features in the first column, genes in another.

    The genes are in the column called gene, symbol or gene_symbol, in any case; otherwise in the only other one.

    Raises
    ------
    InputError
        If the column of the genes is not clear, or a feature has two lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "genes.csv").write_text("probe,chromosome,symbol\n1007_s_at,6,DDR1\n1053_at,7,RFC2\n")
    ...     read_genes(Path(folder, "genes.csv"))
    {'1007_s_at': 'DDR1', '1053_at': 'RFC2'}
    """
    columns, rows = read_texts(path)
    called = [k for k, name in enumerate(columns) if name.casefold().replace("_", " ") in _OF_GENES]
    if len(called) != 1 and len(columns) != 1:
        raise InputError(
            f"{path.name!r} has the columns {', '.join(map(repr, columns[:6]))} beside the features: call the one with "
            "the genes 'gene', and no other"
        )
    place = called[0] if called else 0
    return {feature: cells[place] for feature, cells in rows.items()}


def _most_variable(source: Source, groups: Indices, count: int) -> Indices:
    """Position of the feature with the largest variance of each group; of equal ones the first."""
    if len(source) < 2:
        raise InputError(
            f"the most variable feature of a gene shows only in several samples, and there is {len(source)}: take the "
            "mean or the maximum, or the features of the training samples by name"
        )
    variances = _variances(source)
    best = np.full(count, -1, dtype=np.intp)
    for feature in np.flatnonzero(groups >= 0).tolist():
        held = best[groups[feature]]
        if held < 0 or variances[feature] > variances[held] * (1 + ROUNDING):
            best[groups[feature]] = feature
    return best


def _variances(source: Source) -> Floats:
    """Variance of each feature over the samples that have it, in two passes; −1 where none has."""
    n = source.shape[1]
    total, seen = np.zeros(n), np.zeros(n)
    for block in _blocks(source):
        total += np.nansum(block, axis=0)
        seen += np.count_nonzero(~np.isnan(block), axis=0)
    mean = total / np.maximum(seen, 1)
    squares = np.zeros(n)
    for block in _blocks(source):
        squares += np.nansum((block - mean) ** 2, axis=0)
    return np.where(seen > 0, squares / np.maximum(seen, 1), -1.0)


def _summed_up(source: Source, groups: Indices, count: int, how: str) -> Floats:
    """Mean or maximum of the features of each group that have a value, (m, groups)."""
    order = np.flatnonzero(groups >= 0)
    order = order[np.argsort(groups[order], kind="stable")]
    starts = np.searchsorted(groups[order], np.arange(count))
    parts = []
    for block in _blocks(source):
        values = block[:, order]
        if how == "max":
            parts.append(np.fmax.reduceat(values, starts, axis=1))
            continue
        seen = ~np.isnan(values)
        counts = np.add.reduceat(seen.astype(np.float64), starts, axis=1)
        totals = np.add.reduceat(np.where(seen, values, 0.0), starts, axis=1)
        with np.errstate(invalid="ignore"):
            parts.append(totals / counts)  # NaN where no feature of the gene has a value
    return np.concatenate(parts)


def _blocks(source: Source) -> Any:
    height = max(1, BLOCK_BYTES // (8 * source.shape[1]))
    for start in range(0, len(source), height):
        yield source.read(slice(start, min(start + height, len(source))))
