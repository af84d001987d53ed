"""Which columns are compared, on which samples: one table or two, matched by the names of their samples, in strata."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.compiled.sparse_columns import count_nonzeros
from distkern.core.alignment import SampleNames
from distkern.core.errors import InputError, SampleError
from distkern.core.files import as_path
from distkern.core.labels import encoded_labels
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import name_of
from distkern.core.warning import warn
from distkern.io.format import ReadOptions
from distkern.io.labels import choose_column, matched, read_columns
from distkern.io.source import Source, as_source

Missing = Literal["raise", "drop-samples", "pairwise"]
MISSING = ("raise", "drop-samples", "pairwise")

STRIP_BYTES = 2**23
"""Bytes of samples that are read at a time."""

SPARSE_STRIPS = 4
"""Times as many samples are read at a time where zeros are not stored."""

FILLED = 0.5
"""Largest share of nonzeros up to which the columns of a sparse container are compared without their zeros."""


@dataclass(frozen=True)
class Table:
    """A table whose columns are compared.

    Parameters
    ----------
    source
        The samples.
    slots
        Position of each sample among those that are compared, in the order of their strata; −1 where it is left out.
    compared
        Number of samples that are compared.
    nonzeros
        Nonzeros of each column in each stratum, where they are known.
    """

    source: Source
    slots: Indices
    compared: int
    nonzeros: Array | None = None

    @property
    def count(self) -> int:
        """Number of columns."""
        return self.source.shape[1]

    def dense(self, start: int, stop: int) -> Floats:
        """Read columns ``start`` to ``stop`` − 1 as rows: (columns, compared samples)."""
        values = np.empty((stop - start, self.compared))
        for rows in strips(self.source):
            slots = self.slots[rows]
            kept = slots >= 0
            values[:, slots[kept]] = self.source.read(rows)[kept, start:stop].T
        return values


@dataclass(frozen=True)
class Cohort:
    """The columns of X that are compared with one another, or with those of Y.

    Parameters
    ----------
    X, Y
        The tables, on the same samples; Y is None where X is compared with itself.
    bounds
        First sample of each stratum among those compared, and their number: one stratum unless there are several.
    gaps
        Whether values are missing, so that each pair of columns is compared on the samples that observe both.
    sparse
        Whether zeros are not stored and not compared one by one.
    """

    X: Table
    Y: Table | None
    bounds: tuple[int, ...]
    gaps: bool
    sparse: bool

    @property
    def strata(self) -> int:
        """Number of strata."""
        return len(self.bounds) - 1

    @property
    def samples(self) -> int:
        """Number of samples that are compared."""
        return self.bounds[-1]


def open_cohort(X: Source, Y: Source | None, strata: Any, missing: Missing) -> Cohort:
    """Match the samples of Y with those of X, divide them into strata, and treat missing values as the user asks.

    Parameters
    ----------
    X, Y
        The tables.
    strata
        Label of each sample of X, as from `read_strata`; None for one stratum.
    missing
        ``"raise"``, ``"drop-samples"`` or ``"pairwise"``.

    Raises
    ------
    SampleError
        If a value is missing and ``missing="raise"``; the sample and the feature are named.
    InputError
        If the samples of Y are not those of X, or fewer than two samples remain in every stratum.

    Warns
    -----
    UserWarning
        If samples are left out: those that lack a value, those that only Y has, and those alone in their stratum.
    """
    m = X.shape[0]
    of_y = np.arange(m, dtype=np.intp) if Y is None else match_samples(X, Y)
    codes = np.zeros(m, dtype=np.intp) if strata is None else _codes(strata, X)
    sources = [(X, codes)] if Y is None else [(X, codes), (Y, _of_rows(codes, of_y, Y.shape[0]))]
    looks = [_look(source, group) for source, group in sources]
    lacking = looks[0].lacking if Y is None else looks[0].lacking | looks[1].lacking[of_y]
    if missing == "raise" and lacking.any():
        _refuse_missing(X, Y, of_y, lacking, looks)
    kept = ~lacking if missing == "drop-samples" else np.ones(m, dtype=bool)
    if kept.sum() < 2:
        raise InputError(
            f"tau compares pairs of samples, and {kept.sum()} of {m:,} can be compared: give more samples, or fill in "
            "the missing values"
        )
    if not kept.all():
        warn(f"{m - kept.sum():,} of {m:,} samples lack a value and were left out")
    kept &= _in_company(codes, kept, m)
    order = np.flatnonzero(kept)[np.argsort(codes[kept], kind="stable")]
    sizes = np.bincount(codes[kept])
    bounds = (0, *np.cumsum(sizes[sizes > 0]).tolist())
    whole = bool(kept.all())
    return Cohort(
        _table(X, order, looks[0].counts if whole else None),
        None if Y is None else _table(Y, of_y[order], looks[1].counts if whole else None),
        bounds,
        gaps=bool(lacking[kept].any()),
        sparse=any(
            look.counts is not None and look.counts.sum() <= FILLED * source.shape[0] * source.shape[1]
            for (source, _), look in zip(sources, looks, strict=True)
        ),
    )


def view(X: Any) -> Source:
    """View a table; names of samples may repeat, since no row or column of the result has the name of a sample."""
    if getattr(X, "ndim", None) == 1 and not hasattr(X, "obs_names"):
        X = X.to_frame() if hasattr(X, "to_frame") else np.asarray(X)[:, None]
    names = getattr(X, "index" if hasattr(X, "columns") else "obs_names", None)
    repeat = names is not None and not getattr(names, "is_unique", True)
    return as_source(X, ids=range(len(names)) if repeat and names is not None else None)


def strips(source: Source) -> Iterator[slice]:
    """Rows of a table, a bounded number of bytes at a time; more of them where zeros are not read."""
    m, n = source.shape
    height = max(1, STRIP_BYTES // (8 * n)) * (SPARSE_STRIPS if source.sparse else 1)
    for start in range(0, m, height):
        yield slice(start, min(start + height, m))


def _table(source: Source, order: Indices, nonzeros: Array | None) -> Table:
    return Table(source, _of_rows(np.arange(len(order)), order, source.shape[0]), len(order), nonzeros)


def _of_rows(values: Indices, rows: Indices, count: int) -> Indices:
    """Values of all rows of a table, of which some have one and the others −1."""
    every = np.full(count, -1, dtype=np.intp)
    every[rows] = values
    return every


# Samples of two tables ----------------------------------------------------------------------------------------------


def match_samples(X: Source, Y: Source) -> Indices:
    """Row of Y of each sample of X: by name where both tables name their samples, else by position.

    Raises
    ------
    InputError
        If Y lacks a sample of X, or without names the numbers of samples differ.

    Warns
    -----
    UserWarning
        If Y has more samples, which are left out.

    Examples
    --------
    >>> X, Y = as_source(np.eye(2), ids=["p", "q"]), as_source(np.eye(2), ids=["q", "p"])
    >>> match_samples(X, Y)
    array([1, 0])
    """
    m = X.shape[0]
    if _unnamed(X) or _unnamed(Y):
        if Y.shape[0] != m:
            raise InputError(
                f"the tables have {m:,} and {Y.shape[0]:,} samples, and not both name them: give the same samples in "
                "the same order, or name the samples of both"
            )
        return np.arange(m, dtype=np.intp)
    assert X.ids is not None
    assert Y.ids is not None
    if X.ids == Y.ids:
        return np.arange(m, dtype=np.intp)
    row_of = {name: row for row, name in enumerate(Y.ids)}
    absent = [name for name in X.ids if name not in row_of]
    if absent:
        raise InputError(
            f"the second table lacks {len(absent):,} of {m:,} samples of the first one, such as {absent[0]!r} (its own "
            f"begin with {Y.ids[0]!r}): give both tables the same samples, in any order"
        )
    if len(Y.ids) > m:
        warn(f"{len(Y.ids) - m:,} of {len(Y.ids):,} samples of the second table are not in the first and were left out")
    return np.array([row_of[name] for name in X.ids], dtype=np.intp)


def _unnamed(source: Source) -> bool:
    return source.ids is None or SampleNames(len(source.ids), source.ids).numbered


# Strata -------------------------------------------------------------------------------------------------------------


def read_strata(X: Any, source: Source, strata: Any) -> Any:
    """Labels of the strata: as they are, or a column of ``obs`` if a name is given for AnnData or the path of a file.

    Raises
    ------
    InputError
        If there is no such column.
    """
    if not isinstance(strata, str):
        return strata
    if hasattr(X, "obs") and strata in X.obs:
        return np.asarray(X.obs[strata].astype(object))
    if isinstance(X, (str, os.PathLike)) and source.ids is not None:
        path = as_path(X)
        columns = read_columns(path, ReadOptions(label=strata))
        return matched(columns[choose_column(path, columns, strata)], source.ids, path.name)
    listed = ", ".join(map(repr, list(getattr(X, "obs", {}))[:10])) or "no columns that distkern reads"
    raise InputError(f"the cohort has no column {strata!r} for the strata: give a label for each sample ({listed})")


def _codes(strata: Any, X: Source) -> Indices:
    known = SampleNames(X.shape[0], None if _unnamed(X) else X.ids, whose="the first table", listed="its names")
    return encoded_labels(strata, known, "strata")[1].astype(np.intp)


def _in_company(codes: Indices, kept: Array, m: int) -> Array:
    """Whether the stratum of each sample has another sample; warn of those alone, which are compared with none."""
    sizes = np.bincount(codes[kept], minlength=int(codes.max()) + 1)
    alone = kept & (sizes[codes] == 1)
    if (kept & ~alone).sum() == 0:
        raise InputError(
            f"every stratum has one sample of the {kept.sum():,}, and tau compares samples of one stratum: give fewer, "
            "larger strata"
        )
    if alone.any():
        warn(f"{alone.sum():,} of {m:,} samples are alone in their stratum and were left out")
    return ~alone


# Missing values -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Look:
    """What a pass over a table found: the samples that lack a value, and the nonzeros if the table is sparse."""

    lacking: Array
    counts: Array | None


def _look(source: Source, group: Indices) -> _Look:
    """Find samples without a value, and count the nonzeros of each column and group of samples of a sparse table."""
    lacking = np.zeros(source.shape[0], dtype=bool)
    counts = np.zeros((source.shape[1], int(group.max()) + 1), dtype=np.int64) if source.sparse else None
    for rows in strips(source):
        if counts is not None:
            block = source.read_sparse(rows)
            wrong = np.flatnonzero(np.isnan(block.data))
            lacking[rows.start + np.searchsorted(block.indptr, wrong, "right") - 1] = True
            count_nonzeros(block.indices, block.indptr, group[rows], counts)
        else:
            lacking[rows] = np.isnan(source.read(rows)).any(axis=1)
    return _Look(lacking, counts)


def _refuse_missing(X: Source, Y: Source | None, of_y: Indices, lacking: Array, looks: list[_Look]) -> None:
    row = int(np.flatnonzero(lacking)[0])
    source, where, which = X, row, ""
    if Y is not None and not looks[0].lacking[row]:
        source, where, which = Y, int(of_y[row]), " of the second table"
    col = int(np.flatnonzero(np.isnan(source.read(slice(where, where + 1))[0]))[0])
    raise SampleError(
        "sample {sample}{which} has no value (NaN) for feature {feature}: fill it in, or choose {drop} or {pairwise}",
        where,
        sample=name_of(where, source.ids),
        which=which,
        feature=name_of(col, source.features),
        drop=Argument("missing", "drop-samples"),
        pairwise=Argument("missing", "pairwise"),
    )
