"""Kendall's tau-b between features, with p-values: matrices, lists of pairs, and networks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from distkern.build.compute import compute_gram
from distkern.compiled.significance import (
    ALTERNATIVES,
    METHODS,
    Alternative,
    Method,
    tie_sums,
    variance_tile,
)
from distkern.core.errors import InputError, InputTypeError, MemoryLimitError
from distkern.core.files import as_path, refuse_existing
from distkern.core.frames import pandas_for
from distkern.core.parameters import flag, one_of
from distkern.core.sentences import Argument, Call
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import parse_bytes, readable_bytes
from distkern.core.validation import Names, name_of
from distkern.core.warning import warn
from distkern.engine.base import Executor
from distkern.engine.memory import share_of
from distkern.engine.progress import progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.io.source import Source
from distkern.kernels.kendall import Concordance, Kendall
from distkern.operators.base import BaseGram
from distkern.pairs.cohorts import MISSING, Cohort, Missing, open_cohort, read_strata, view
from distkern.pairs.counts import PValueRule, Tally, p_of, tau_of
from distkern.pairs.edges import SORTED_BYTES, Threshold, adjust, adjusted, checked_threshold, read_edges
from distkern.pairs.kept import Kept, digest_of
from distkern.pairs.lists import read_pairs
from distkern.pairs.networks import (
    EdgeFile,
    Ends,
    Links,
    as_table,
    check_suffix,
    refuse_key,
    symmetric_graph,
    write_links,
    write_varp,
)
from distkern.pairs.ranked import disk_bytes, rank_cohort, ranked_arrays
from distkern.pairs.tasks import Work, compute_list, compute_matrix, spill_edges

Output = Literal["matrix", "edges"]
OUTPUTS = ("matrix", "edges")

FDR = 0.05
"""Largest q of an edge, unless the user names another."""

STRIP_ENTRIES = 2**15
"""Entries that the arithmetic on counts takes at a time: 256 KiB for each intermediate array."""

EDGE_BYTES = 128
"""Bytes of an edge in a table, and while the table is made; names are shared."""


@dataclass(frozen=True)
class _Ask:
    """What the user asks for, and where it goes."""

    X: Any
    Y: Any
    rule: PValueRule | None
    threshold: Threshold | None
    path: Path | None
    store: Any
    key_added: str | None
    overwrite: bool
    executor: Any
    progress: Any
    limit: int | None


def kendalltau_matrix(
    X: Any,
    Y: Any = None,
    *,
    pvalue: bool = False,
    missing: Missing = "raise",
    pairs: Any = None,
    strata: Any = None,
    output: Output = "matrix",
    fdr: float | None = None,
    min_tau: float | None = None,
    path: str | os.PathLike[str] | None = None,
    key_added: str | None = None,
    overwrite: bool = False,
    executor: Any = None,
    store: str | os.PathLike[str] | None = None,
    alternative: Alternative = "two-sided",
    method: Method = "auto",
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """tau_ij = (n_c − n_d) / sqrt(t_i t_j), Kendall's tau-b between features, as ``DataFrame.corr(method="kendall")``.

    n_c and n_d are the numbers of pairs of samples that features i and j order the same way and the opposite way, t_i
    is the number of pairs that i does not tie. With strata, samples are compared within each stratum only: n_c, n_d,
    t_i and t_j are sums over the strata, and so is the variance of S = n_c − n_d, which gives the p-value.

    Source: Kendall, *Rank Correlation Methods*; p-values by the rules of ``scipy.stats.kendalltau``; q-values by
    Benjamini and Hochberg, "Controlling the false discovery rate" (1995).

    Parameters
    ----------
    X
        Samples in rows, features in columns: a `pandas.DataFrame`, `anndata.AnnData` (var × var), array, or whatever
        `compute_gram` takes. Columns of a sparse container that is at most half full are compared without their zeros.
    Y
        A second table of the same samples: its features are the columns of the result. Samples are matched by name
        where both tables name them, in any order, else by position.
    pvalue
        Whether to return the p-values too.
    missing
        Treatment of NaN. ``"raise"``: an error that names it. ``"drop-samples"``: samples that lack a value are left
        out, and a warning says how many. ``"pairwise"``: each pair of features uses the samples that observe both, as
        pandas does; the matrix need not be positive semidefinite, and a warning says so.
    pairs
        Only these pairs of features, (q, 2) names or positions: an array, a list, a table with the columns ``first``
        and ``second``, or the path of one (text, Parquet). With Y the second feature is one of Y.
    strata
        Label of each sample, such as its donor or batch; or, for AnnData or the path of a file, the name of a column of
        ``obs``.
    output
        ``"matrix"``: all that is compared. ``"edges"``: the pairs that stand a multiple test, as a table.
    fdr
        Of edges: largest q of the Benjamini–Hochberg procedure over all pairs that are compared, by default 0.05; 1
        keeps all.
    min_tau
        Of edges: smallest abs(tau). An edge meets both conditions; q counts all tests, also of a smaller abs(tau).
    path
        File of the edges, or of the pairs of a list: ``.csv``, ``.tsv``, ``.parquet`` or ``.graphml``. They are written
        some at a time, so that they need not fit in memory.
    key_added
        Of an AnnData object in memory: key of ``varp`` under which tau is written, a matrix or a sparse graph of the
        edges. P-values and q have the key with ``_p`` and ``_q``, and ``uns`` tells how they were computed.
    overwrite
        Whether an existing file, or an existing key, is replaced.
    executor
        ``None``: the Dask client that exists in this process, else threads; otherwise as for `compute_gram`.
    store
        Folder that keeps finished parts, so that the same call goes on from them after an interruption; by default a
        temporary one. Workers on other machines need one that they can reach. Of the matrix of one complete table it is
        a store of the concordance, as from `compute_gram`.
    alternative
        ``"two-sided"``, ``"less"`` or ``"greater"``: which tau departs from independence.
    method
        Of the p-values. ``"exact"``: count permutations; needs features without ties. ``"asymptotic"``: S is normal,
        with its variance corrected for ties. ``"auto"``: exact where there are no ties and either n ≤ 33 or at most
        one pair of samples departs from a perfect order; asymptotic where there are several strata.
    progress, memory_limit
        As for `compute_gram`. The matrix itself, the p-values and the features must fit ``memory_limit`` too.

    Returns
    -------
    DataFrame or ndarray
        Matrix: (p, p) tau, or (p, r) with Y; or a pair of tau and p-values. A DataFrame where the features have names.
        The diagonal of tau is 1, and NaN for a feature without values, as in pandas; off it, tau and p of a constant
        feature are NaN, because it orders no pair of samples; so is p where in each stratum one of both is constant.
    DataFrame
        List or edges: ``first``, ``second``, ``tau``, ``p`` (of a list with ``pvalue``) and ``q`` (of edges). A list
        keeps its order; edges are sorted by the positions of their features. ``attrs`` has the numbers of ``tests`` and
        of pairs without a p-value (``undefined``), and the ``disk_bytes`` of temporary files.
    EdgeFile
        With ``path``: the file and the same numbers. With ``key_added`` nothing is returned.

    Raises
    ------
    SampleError
        If a value is missing and ``missing="raise"``; the sample and the feature are named.
    InputError
        If a parameter is unknown, fewer than two samples remain, ``method="exact"`` meets ties or strata, a pair names
        an unknown feature, Y lacks a sample, or a file or key exists.
    StoreMismatchError
        If the store holds parts of another cohort or of other parameters, or other files.
    MemoryLimitError
        If the result does not fit in memory.

    See Also
    --------
    Kendall : Tau between samples instead of features.
    EdgeFile : The network that it writes.
    pandas.DataFrame.corr : The same matrix without p-values.
    scipy.stats.kendalltau : Tau and p of two features.

    Notes
    -----
    O(n log n) a pair of features and once a feature, n samples; for columns without their zeros, the number of nonzeros
    takes the place of n. ±infinity is a value like another here; pandas takes it as missing. Edges take temporary
    files: 5 bytes for each value (8 for each nonzero, or each value where some are missing), and 28 bytes for each pair
    with p ≤ fdr.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"TP53": [1, 2, 3, 4], "MYC": [1, 3, 2, 4], "KRAS": [9, 7, 5, 5]})
    >>> kendalltau_matrix(frame).round(3)
           TP53    MYC   KRAS
    TP53  1.000  0.667 -0.913
    MYC   0.667  1.000 -0.548
    KRAS -0.913 -0.548  1.000
    >>> kendalltau_matrix(frame, pairs=[("MYC", "KRAS")], strata=["a", "a", "b", "b"]).round(3)
      first second    tau
    0   MYC   KRAS -0.707
    """
    if isinstance(Y, (bool, np.bool_)):
        raise InputTypeError(f"the second argument is a second table of the samples: for p-values write pvalue={Y}")
    flag(pvalue, "pvalue")
    one_of(missing, "missing", MISSING)
    one_of(alternative, "alternative", ALTERNATIVES)
    one_of(method, "method", METHODS)
    one_of(output, "output", OUTPUTS)
    edges = output == "edges"
    ask = _Ask(
        X,
        Y,
        PValueRule(alternative, method) if pvalue or edges else None,
        checked_threshold(FDR if fdr is None else fdr, min_tau) if edges else None,
        None if path is None else as_path(path),
        store,
        key_added,
        overwrite,
        executor,
        progress,
        None if memory_limit is None else parse_bytes(memory_limit),
    )
    _refuse_contradictions(ask, pairs, fdr, min_tau)
    table, other = view(X), None if Y is None else view(Y)
    counts = table.shape[1], (table if other is None else other).shape[1]
    listed = None if pairs is None else read_pairs(pairs, table.features, (other or table).features, counts)
    if listed is None and not edges:
        whole = other is None and strata is None and (store is not None or not table.sparse)
        _refuse_large(_bytes_held(table.shape[0], counts, pvalue, whole), max(counts), ask.limit)
    cohort = open_cohort(table, other, read_strata(X, table, strata), missing)
    if cohort.strata > 1 and method == "exact":
        raise InputError("p-values of several strata are asymptotic: choose the method 'auto' or 'asymptotic'")
    if listed is not None:
        return _list(ask, cohort, listed)
    return _edges(ask, cohort) if edges else _matrix(ask, cohort)


def _refuse_contradictions(ask: _Ask, pairs: Any, fdr: Any, min_tau: Any) -> None:
    """Refuse arguments that do not go together, and a file or key that exists, before the work starts."""
    edges = ask.threshold is not None
    if fdr is not None and not edges:
        raise InputError("{fdr} chooses edges: add output='edges'", fdr=Argument("fdr"))
    if min_tau is not None and not edges:
        raise InputError("{min_tau} chooses edges: add output='edges'", min_tau=Argument("min_tau"))
    if ask.path is not None:
        if not edges and pairs is None:
            raise InputError("path= takes edges or a list of pairs: add output='edges', or write the matrix yourself")
        check_suffix(ask.path)
        refuse_existing(ask.path, ask.overwrite)
    if ask.key_added is not None:
        if ask.Y is not None or pairs is not None or ask.path is not None:
            raise InputError(
                "key_added= keeps all pairs of one table: leave out {Y}, pairs= and path=", Y=Argument("Y")
            )
        refuse_key(ask.X, ask.key_added, _varp_names(ask), ask.overwrite)


def _varp_names(ask: _Ask) -> tuple[str, ...]:
    if ask.threshold is not None:
        return ("tau", "p", "q")
    return ("tau",) if ask.rule is None else ("tau", "p")


# Matrices ----------------------------------------------------------------------------------------------------------


def _matrix(ask: _Ask, cohort: Cohort) -> Any:
    """All pairs of features: by the engine of Gram matrices where it is one, else tile by tile."""
    square = cohort.Y is None
    counts = cohort.X.count, (cohort.Y or cohort.X).count
    if cohort.gaps and square:
        warn(
            "each two features are compared on other samples, so the matrix need not be positive semidefinite: do not "
            "use it as a kernel or a covariance"
        )
    whole = square and cohort.strata == 1 and not cohort.gaps and (ask.store is not None or not cohort.sparse)
    held = _bytes_held(cohort.samples, counts, ask.rule is not None, whole)
    _refuse_large(held, max(counts), ask.limit)
    limit = None if ask.limit is None else ask.limit - held  # the rest is for the work
    if whole:
        tau, p = _complete(ask, cohort, limit)
    else:
        with _ranked(ask, cohort, limit, "matrix") as (work, pool, _):
            _warn_of_constants(work, cohort)
            tau, p = compute_matrix(work, pool, progress_listener(ask.progress), limit)
    if ask.key_added is not None:
        matrices = {"tau": tau} if p is None else {"tau": tau, "p": p}
        write_varp(ask.X, ask.key_added, matrices, _about(ask, cohort))
        return None
    result = _named(tau, ask, cohort)
    return result if p is None else (result, _named(p, ask, cohort))


def _bytes_held(m: int, counts: tuple[int, int], pvalue: bool, whole: bool) -> int:
    """Bytes of the result and, where the columns of m samples are in memory as a whole, of these and of their ranks."""
    return 8 * counts[0] * counts[1] * (1 + pvalue) + (18 * m * max(counts) if whole else 0)


def _refuse_large(needed: int, features: int, limit: int | None) -> None:
    may = share_of(limit, 1)
    if needed > may:
        raise MemoryLimitError(
            "the matrix of {features:,} features takes {needed} with the cohort and may take {allowed}: choose "
            "features, ask for output='edges', or store the matrix of the transposed cohort with {call} and read parts "
            "of it",
            features=features,
            needed=readable_bytes(needed),
            allowed=readable_bytes(may),
            call=Call("compute_gram"),
        )


def _named(values: Any, ask: _Ask, cohort: Cohort) -> Any:
    """Give the matrix the names of the features where they have any."""
    rows, cols = cohort.X.source, (cohort.Y or cohort.X).source
    if rows.features is None and cols.features is None:
        return values
    pd = pandas_for("a matrix with the features' names")

    def labels(frame: Any, source: Source) -> Any:
        if isinstance(frame, pd.DataFrame):
            return frame.columns.copy()
        return pd.RangeIndex(source.shape[1]) if source.features is None else pd.Index(source.features)

    index, columns = labels(ask.X, rows), labels(ask.X if cohort.Y is None else ask.Y, cols)
    return pd.DataFrame(values, index=index, columns=columns, copy=False)


# Lists and edges ---------------------------------------------------------------------------------------------------


@contextmanager
def _ranked(
    ask: _Ask, cohort: Cohort, limit: int | None, result: str, pairs: Sequence[Indices] = ()
) -> Iterator[tuple[Work, Executor, int]]:
    """Rank the columns in a temporary folder, within the store if there is one.

    Yields the work, the executor, and the folder's bytes.

    ``result`` describes what is made of the ``pairs``, or of all: a store keeps parts of one kind.
    """
    names: tuple[Names, Names] = cohort.X.source.features, (cohort.Y or cohort.X).source.features
    kept = None if ask.store is None else Kept(ask.store, "tau", "tau of pairs")
    within, pool = None if kept is None else kept.folder, resolve_executor(ask.executor)
    with tempfile.TemporaryDirectory(prefix=".distkern-", dir=within, ignore_cleanup_errors=True) as folder:
        rows, cols = rank_cohort(cohort, folder, limit, pool, progress_listener(ask.progress))
        if kept is not None:
            about = f"{result} {ask.rule} {rows.form} {rows.bounds}"
            kept.claim(digest_of((*ranked_arrays((rows, cols)), *pairs), about))
        needed = names if ask.rule is not None and ask.rule.method == "exact" else (None, None)
        yield Work(rows, cols, ask.rule, needed, kept), pool, disk_bytes((rows, cols))


def _warn_of_constants(work: Work, cohort: Cohort) -> None:
    """Say why features have no tau; with missing values, that differs from pair to pair."""
    sources = {work.rows: cohort.X.source, work.cols: (cohort.Y or cohort.X).source}
    for columns, source in sources.items() if not cohort.gaps else ():
        constant = np.flatnonzero(np.asarray(columns.array("untied")).sum(axis=1) == 0)
        if len(constant):
            warn(
                f"{len(constant):,} of {columns.count:,} features have no tau, the first of them "
                f"{name_of(int(constant[0]), source.features)}: they are constant, so they order no pair of samples"
            )


def _list(ask: _Ask, cohort: Cohort, pairs: tuple[Indices, Indices]) -> Any:
    """The pairs of a list in its order, or those that are edges."""
    with _ranked(ask, cohort, ask.limit, "list", pairs) as (work, pool, on_disk):
        _warn_of_constants(work, cohort)
        tau, p = compute_list(work, *pairs, pool, progress_listener(ask.progress), ask.limit)
    values = {"tau": tau} if p is None else {"tau": tau, "p": p}
    links = Links(*pairs, values)
    undefined = int(np.isnan(tau if p is None else p).sum())
    if ask.threshold is not None:
        assert p is not None
        q = adjusted(p)
        with np.errstate(invalid="ignore"):
            kept = np.flatnonzero((q <= ask.threshold.fdr) & (np.abs(tau) >= ask.threshold.min_tau))
        values = {"tau": tau[kept], "p": p[kept], "q": q[kept]}
        links = Links(pairs[0][kept], pairs[1][kept], values)
    return _delivered(ask, cohort, [links], len(links), (len(tau) - undefined, undefined, on_disk))


def _edges(ask: _Ask, cohort: Cohort) -> Any:
    """All pairs that are edges: compared once, and the candidates spilled to files."""
    assert ask.threshold is not None
    with _ranked(ask, cohort, ask.limit, f"edges {ask.threshold}") as (work, pool, on_disk):
        _warn_of_constants(work, cohort)
        grid, spilled = spill_edges(work, ask.threshold, pool, progress_listener(ask.progress), ask.limit)
        edges = adjust(spilled, ask.threshold.fdr, min(SORTED_BYTES, share_of(ask.limit, 2)))
        about = (
            sum(one.tests for one in spilled),
            sum(one.undefined for one in spilled),
            on_disk + sum(one.bytes for one in spilled),
        )
        parts = (
            Links(part.first, part.second, {"tau": part.tau, "p": part.p, "q": part.q})
            for part in read_edges(grid, spilled)
        )
        return _delivered(ask, cohort, parts, edges, about)


def _delivered(ask: _Ask, cohort: Cohort, parts: Iterable[Links], count: int, about: tuple[int, int, int]) -> Any:
    """Write pairs where the user asks, or return them as a table; ``about`` are tests, undefined pairs, and bytes."""
    columns = _varp_names(ask)
    ends = Ends(cohort.X.source.features, (cohort.Y or cohort.X).source.features, cohort.Y is not None)
    if ask.path is not None:
        written = write_links(ask.path, parts, ends, columns, overwrite=ask.overwrite)
        return EdgeFile(ask.path, written, *about)
    needed, may = EDGE_BYTES * count, share_of(ask.limit, 1)
    if needed > may:
        raise MemoryLimitError(
            "a table of {count:,} pairs takes {needed} and may take {allowed}: write them to a file, or choose fewer "
            "of them with a smaller {fdr} or a larger {min_tau}",
            count=count,
            needed=readable_bytes(needed),
            allowed=readable_bytes(may),
            fdr=Argument("fdr"),
            min_tau=Argument("min_tau"),
        )
    links = _joined(list(parts), columns)
    if ask.key_added is not None:
        graphs = {name: symmetric_graph(links, name, cohort.X.count) for name in columns}
        write_varp(ask.X, ask.key_added, graphs, _about(ask, cohort) | {"tests": about[0]})
        return None
    table = as_table(links, ends)
    table.attrs = dict(zip(("tests", "undefined", "disk_bytes"), about, strict=True))
    return table


def _joined(parts: list[Links], columns: tuple[str, ...]) -> Links:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.empty(0, dtype=np.intp)
        return Links(none, none, {name: np.empty(0) for name in columns})
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in columns}
    return Links(np.concatenate([one.first for one in parts]), np.concatenate([one.second for one in parts]), values)


def _about(ask: _Ask, cohort: Cohort) -> dict[str, Any]:
    """How the matrices in ``varp`` were computed, for ``uns``."""
    known: dict[str, Any] = {"method": "kendall", "samples": cohort.samples, "strata": cohort.strata}
    if ask.rule is not None:
        known |= {"alternative": ask.rule.alternative, "pvalues": ask.rule.method}
    return known | ({} if ask.threshold is None else ask.threshold._asdict())


# One table, complete and in one stratum ---------------------------------------------------------------------------


def _complete(ask: _Ask, cohort: Cohort, limit: int | None) -> tuple[Floats, Floats | None]:
    """Compute the integer concordance of all features in a store, and tau and p from it."""
    names = cohort.X.source.features
    ids = names if names is not None and len(set(names)) == len(names) else None
    features = cohort.X.dense(0, cohort.X.count)
    with tempfile.TemporaryDirectory(prefix="distkern-", ignore_cleanup_errors=True) as folder:
        gram = compute_gram(
            Kendall(ties="zero"),
            features,
            store=os.path.join(folder, "concordance.zarr") if ask.store is None else ask.store,
            executor=ask.executor,
            memory_limit=limit,
            ids=ids,
            progress=ask.progress,
        )
        return _from_counts(gram.with_kernel(Concordance()), features, ask.rule, names)


def _from_counts(
    gram: BaseGram, features: Floats, rule: PValueRule | None, names: Names
) -> tuple[Floats, Floats | None]:
    """Pass over the counts once and turn them into tau and p-values."""
    n = features.shape[1]
    untied = gram.diag().astype(np.int64)  # S of a feature with itself
    tau = np.empty(gram.shape)
    p = None if rule is None else np.empty(gram.shape)
    sums = np.zeros((3, len(untied))) if rule is None else np.stack(tie_sums(features))
    if rule is not None and rule.method == "exact":
        _refuse_ties(sums[0], untied, names)
    for rows, cols, S in _strips(gram):
        variance = np.empty(S.shape)
        if rule is not None:
            own, other = sums[:, rows], sums[:, cols]
            variance_tile(n, own[0], own[1], own[2], other[0], other[1], other[2], variance)
        no_ties = np.logical_and.outer(sums[0, rows] == 0, sums[0, cols] == 0)
        counted = Tally(S, untied[rows][:, None], untied[cols][None, :], variance, np.array(n), no_ties)
        tau[np.ix_(rows, cols)] = tau_of(counted)
        if p is not None and rule is not None:
            p[np.ix_(rows, cols)] = p_of(counted, rule)
    np.fill_diagonal(tau, 1.0)
    return tau, p


def _strips(gram: BaseGram) -> Iterator[tuple[Indices, Indices, Array]]:
    """Pass over the matrix once: (row positions, column positions, S as int64), in strips of bounded size."""
    for rows, cols, values in gram.tiles():
        height = max(1, STRIP_ENTRIES // len(cols))
        for start in range(0, len(rows), height):
            part = slice(start, start + height)
            yield rows[part], cols, values[part].astype(np.int64)


def _refuse_ties(tied: Floats, untied: Array, names: Names) -> None:
    """Refuse features with ties, for which permutations cannot be counted; a constant one has no p-value anyway."""
    some = np.flatnonzero((tied > 0) & (untied > 0))
    if some.size:
        raise InputError(
            f"feature {name_of(int(some[0]), names)} has ties, so its p-values cannot be exact: choose "
            "the method 'auto' or 'asymptotic'"
        )
