"""Kendall's tau-b between the features of a cohort, with p-values and a choice of what to do about missing values."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from distkern.build.compute import compute_gram
from distkern.compiled.significance import (
    ALTERNATIVES,
    METHODS,
    Alternative,
    Method,
    p_values,
    tau_from_counts,
    tie_sums,
    variance_tile,
)
from distkern.core.errors import InputError, MemoryLimitError, MissingExtraError, SampleError
from distkern.core.parameters import one_of
from distkern.core.sentences import Call
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import parse_bytes, readable_bytes
from distkern.core.validation import name_of
from distkern.engine.memory import share_of
from distkern.engine.progress import progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.io.source import Source, as_source
from distkern.kernels.kendall import Concordance, Kendall
from distkern.operators.base import BaseGram
from distkern.pairs.pairwise import PValueRule, compute_pairwise

Missing = Literal["raise", "drop-samples", "pairwise"]
MISSING = ("raise", "drop-samples", "pairwise")

STRIP_ENTRIES = 2**15
"""Entries that the arithmetic on counts takes at a time: 256 KiB for each intermediate array."""


@dataclass(frozen=True)
class _Cohort:
    """A transposed cohort: features in rows."""

    source: Source
    features: Floats
    incomplete: bool


def kendalltau_matrix(
    frame: Any,
    pvalue: bool = False,
    missing: Missing = "raise",
    *,
    executor: Any = None,
    store: str | os.PathLike[str] | None = None,
    alternative: Alternative = "two-sided",
    method: Method = "auto",
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """tau_ij = (n_c − n_d) / sqrt(t_i t_j), Kendall's tau-b between all features: ``DataFrame.corr(method="kendall")``.

    n_c and n_d are the numbers of pairs of samples that features i and j order the same way and the opposite way, t_i
    is the number of pairs that i does not tie. Tiles are computed by the engine of `compute_gram`, on threads or a
    cluster.

    Source: Kendall, *Rank Correlation Methods*; p-values by the rules of ``scipy.stats.kendalltau``.

    Parameters
    ----------
    frame
        Samples in rows, features in columns: a DataFrame, AnnData (var × var), array, or whatever `compute_gram` takes.
    pvalue
        Whether to return the p-values too.
    missing
        Treatment of NaN. ``"raise"``: an error that names it. ``"drop-samples"``: samples that lack a value are left
        out, and a warning says how many. ``"pairwise"``: each pair of features uses the samples that observe both, as
        pandas does; the matrix need not be positive semidefinite, and a warning says so.
    executor
        ``None``: the Dask client that exists in this process, else threads; otherwise as for `compute_gram`.
    store
        Folder in which to keep the concordance matrix, to go on from after an interruption; by default a temporary
        one. Workers on other machines need one that they can reach.
    alternative
        ``"two-sided"``, ``"less"`` or ``"greater"``: which tau departs from independence.
    method
        Of the p-values. ``"exact"``: count permutations; needs features without ties. ``"asymptotic"``: S is normal,
        with its variance corrected for ties. ``"auto"``: exact where there are no ties and either n ≤ 33 or at most
        one pair of samples departs from a perfect order.
    progress, memory_limit
        As for `compute_gram`. The matrix itself, the p-values and the features must fit ``memory_limit`` too.

    Returns
    -------
    DataFrame or ndarray
        (p, p) tau; or a pair of tau and p-values. A DataFrame where the features have names. The diagonal of tau is 1,
        and NaN for a feature without values, as in pandas; off it, tau and p of a constant feature are NaN.

    Raises
    ------
    SampleError
        If a value is missing and ``missing="raise"``; the sample and the feature are named.
    InputError
        If a parameter is unknown, fewer than two samples remain, or ``method="exact"`` meets ties.
    MemoryLimitError
        If the result does not fit in memory.

    Notes
    -----
    O(n log n) a pair of features and once a feature, n samples. ±infinity is a value like another here; pandas takes it
    as missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"TP53": [1, 2, 3, 4], "MYC": [1, 3, 2, 4], "KRAS": [9, 7, 5, 5]})
    >>> kendalltau_matrix(frame).round(3)
           TP53    MYC   KRAS
    TP53  1.000  0.667 -0.913
    MYC   0.667  1.000 -0.548
    KRAS -0.913 -0.548  1.000
    """
    one_of(missing, "missing", MISSING)
    one_of(alternative, "alternative", ALTERNATIVES)
    one_of(method, "method", METHODS)
    rule = PValueRule(alternative, method) if pvalue else None
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    cohort = _turned(frame, missing, pvalue, limit)
    if limit is not None:  # the rest is for the work
        limit -= _bytes_held(*cohort.source.shape, pvalue)
    if cohort.incomplete:
        if store is not None:
            raise InputError(
                "missing='pairwise' gives no kernel matrix, and a store holds kernel matrices: leave store= out, or "
                "choose missing='drop-samples'"
            )
        tau, p = compute_pairwise(
            cohort.features,
            resolve_executor(executor),
            progress_listener(progress),
            limit,
            rule=rule,
            names=cohort.source.features,
        )
    else:
        tau, p = _complete(cohort, rule, store, executor, progress, limit)
    result = _named(tau, frame, cohort.source)
    return (result, _named(p, frame, cohort.source)) if pvalue else result


# The transposed cohort --------------------------------------------------------------------------------------------


def _turned(frame: Any, missing: str, pvalue: bool, limit: int | None) -> _Cohort:
    """Read the features as rows; missing values are refused, left out or kept, as the user asks."""
    source = _source(frame)
    m, n = source.shape
    needed, may = _bytes_held(m, n, pvalue), share_of(limit, 1)
    if needed > may:
        raise MemoryLimitError(
            "the matrix of {features:,} features takes {needed} with the cohort and may take {allowed}: choose "
            "features, or store the matrix of the transposed cohort with {call} and read parts of it",
            features=n,
            needed=readable_bytes(needed),
            allowed=readable_bytes(may),
            call=Call("compute_gram"),
        )
    features = np.empty((n, m))
    height = max(1, STRIP_ENTRIES // n)
    for start in range(0, m, height):
        features[:, start : start + height] = source.read(slice(start, start + height)).T
    lacking = np.isnan(features)
    if lacking.any() and missing == "raise":
        _refuse(source, lacking)
    kept = ~lacking.any(axis=0) if missing == "drop-samples" else np.ones(m, dtype=bool)
    if kept.sum() < 2:
        raise InputError(
            f"tau compares pairs of samples, and {kept.sum()} of {m:,} can be compared: give more samples, or fill in "
            "the missing values"
        )
    if not kept.all():
        warnings.warn(f"{m - kept.sum():,} of {m:,} samples lack a value and were left out", UserWarning, stacklevel=3)
        features, lacking = np.ascontiguousarray(features[:, kept]), lacking[:, kept]
    if lacking.any():
        warnings.warn(
            "missing='pairwise' compares each two features on other samples, so the matrix need not be positive "
            "semidefinite: do not use it as a kernel or a covariance",
            UserWarning,
            stacklevel=3,
        )
    return _Cohort(source, features, bool(lacking.any()))


def _bytes_held(m: int, n: int, pvalue: bool) -> int:
    """Bytes of the result, of the cohort, and of its ranks, for m samples of n features."""
    return 8 * n * n * (1 + pvalue) + 18 * m * n


def _source(frame: Any) -> Source:
    """View the cohort; names of samples may repeat here, since no row of the result has the name of a sample."""
    names = getattr(frame, "index" if hasattr(frame, "columns") else "obs_names", None)
    repeat = names is not None and not getattr(names, "is_unique", True)
    return as_source(frame, ids=range(len(names)) if repeat and names is not None else None)


def _refuse(source: Source, lacking: Array) -> None:
    row, col = (int(position) for position in np.argwhere(lacking.T)[0])
    raise SampleError(
        f"sample {name_of(row, source.ids)} has no value (NaN) for feature {name_of(col, source.features)}: fill it "
        "in, or choose missing='drop-samples' or missing='pairwise'",
        row,
    )


def _named(values: Any, frame: Any, source: Source) -> Any:
    """Give the matrix the names of the features where they have any."""
    if source.features is None:
        return values
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("a matrix with the features' names", "io") from error
    labels = frame.columns if isinstance(frame, pd.DataFrame) else pd.Index(source.features)
    return pd.DataFrame(values, index=labels.copy(), columns=labels.copy(), copy=False)


# Without missing values --------------------------------------------------------------------------------------------


def _complete(
    cohort: _Cohort,
    rule: PValueRule | None,
    store: Any,
    executor: Any,
    progress: Any,
    limit: int | None,
) -> tuple[Floats, Floats | None]:
    """Compute the integer concordance of all features in a store, and tau and p from it."""
    names = cohort.source.features
    ids = names if names is not None and len(set(names)) == len(names) else None
    with tempfile.TemporaryDirectory(prefix="distkern-", ignore_cleanup_errors=True) as folder:
        gram = compute_gram(
            Kendall(ties="zero"),
            cohort.features,
            store=os.path.join(folder, "concordance.zarr") if store is None else store,
            executor=executor,
            memory_limit=limit,
            ids=ids,
            progress=progress,
        )
        return _from_counts(gram.with_kernel(Concordance()), cohort, rule)


def _from_counts(gram: BaseGram, cohort: _Cohort, rule: PValueRule | None) -> tuple[Floats, Floats | None]:
    """Pass over the counts once and turn them into tau and p-values."""
    n = cohort.features.shape[1]
    untied = gram.diag()  # S of a feature with itself
    tau = np.empty(gram.shape)
    p = None if rule is None else np.empty(gram.shape)
    tied, third, fifth = tie_sums(cohort.features) if rule is not None else (untied, untied, untied)
    if rule is not None and rule.method == "exact":
        _refuse_ties(tied, untied, cohort.source)
    for rows, cols, concordance in _strips(gram):
        tau[np.ix_(rows, cols)] = tau_from_counts(concordance, untied[rows], untied[cols])
        if p is None or rule is None:
            continue
        variance = np.empty(concordance.shape)
        variance_tile(n, tied[rows], third[rows], fifth[rows], tied[cols], third[cols], fifth[cols], variance)
        no_ties = np.logical_and.outer(tied[rows] == 0, tied[cols] == 0)
        values = p_values(concordance, n, no_ties, variance, alternative=rule.alternative, method=rule.method)
        values[np.logical_or.outer(untied[rows] == 0, untied[cols] == 0)] = np.nan
        p[np.ix_(rows, cols)] = values
    np.fill_diagonal(tau, 1.0)
    return tau, p


def _strips(gram: BaseGram) -> Iterator[tuple[Indices, Indices, Array]]:
    """Pass over the matrix once: (row positions, column positions, S as int64), in strips of bounded size."""
    for rows, cols, values in gram.tiles():
        height = max(1, STRIP_ENTRIES // len(cols))
        for start in range(0, len(rows), height):
            part = slice(start, start + height)
            yield rows[part], cols, values[part].astype(np.int64)


def _refuse_ties(tied: Floats, untied: Array, source: Source) -> None:
    """Refuse features with ties, for which permutations cannot be counted; a constant one has no p-value anyway."""
    some = np.flatnonzero((tied > 0) & (untied > 0))
    if some.size:
        raise InputError(
            f"feature {name_of(int(some[0]), source.features)} has ties, so its p-values cannot be exact: choose "
            "method='auto' or method='asymptotic'"
        )
