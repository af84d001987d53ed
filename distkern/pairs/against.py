"""Kendall's tau-b of all features of a cohort with a few variables; of sparse features, only non-zeros cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, rankdata

from distkern.build.look import Looking
from distkern.compiled.significance import ALTERNATIVES, Alternative, p_values, tie_sums
from distkern.compiled.sparse_tau import PairCounts, Variables, sparse_concordance
from distkern.core.alignment import SampleNames, aligned, refuse_other_names
from distkern.core.containers import as_floats
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.frames import pandas_for
from distkern.core.parameters import entries, one_of
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Floats, Indices
from distkern.core.units import parse_bytes, readable_bytes
from distkern.core.validation import Names, refuse_nan
from distkern.engine.memory import share_of
from distkern.engine.progress import progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import await_workers
from distkern.io.source import Source, as_source
from distkern.pairs.columns import Columns, work_on_columns

RESULT = "a table of tau"
"""Name of the result in messages."""

PAIR_BYTES = 120
"""Bytes of the counts, of the table and of the arithmetic that makes it, for each pair."""

VALUE_BYTES = 40
"""Bytes of a value of the variables: itself, ρ, its code, and what makes them."""


@dataclass(frozen=True)
class ChosenPairs:
    """The pairs of a feature and a variable that are compared.

    Parameters
    ----------
    variables
        Ranks of the variables.
    first_pair, chosen
        For each feature, the position in ``chosen`` of the first of its variables, and the end, (features + 1,).
    """

    variables: Variables
    first_pair: Indices
    chosen: Indices


def kendalltau_against(
    X: Any,
    y: Any,
    *,
    pairs: Any = None,
    alternative: Alternative = "two-sided",
    executor: Any = None,
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """S / sqrt(t_x t_y), Kendall's tau-b of every feature with a variable, such as of enhancers with a gene.

    S = n_c − n_d is the number of pairs of samples that feature and variable order the same way minus the number that
    they order the opposite way, t_x and t_y are the numbers of pairs that each does not tie. For a feature with values
    0 and 1, such as an open or closed enhancer, S is the sum of the ranks of the variable over its ones.

    Source: Kendall, *Rank Correlation Methods*; p-values by the rules of ``scipy.stats.kendalltau``.

    Parameters
    ----------
    X
        Samples in rows, features in columns: an array, DataFrame, sparse matrix, AnnData, or the path of a file, as for
        `compute_gram`. Sparse features cost their non-zeros. See `rank_markers` for files larger than memory.
    y
        A value for each sample, (m,); or several variables, (m, q): an array, DataFrame, AnnData or path. They are held
        in memory.
    pairs
        Pairs (feature, variable) by name, such as enhancers within 1 Mb of a gene; names are positions where there are
        none. By default every feature with every variable.
    alternative
        ``"two-sided"``, ``"less"`` or ``"greater"``: which tau departs from independence.
    executor, progress, memory_limit
        As for `compute_gram`. The variables and the result must fit ``memory_limit`` too.

    Returns
    -------
    DataFrame
        A row for each pair, in the order of ``pairs`` or of the features: feature, variable, tau, p, q. q is the false
        discovery rate of Benjamini and Hochberg among all pairs of the call. All three are NaN if the feature or the
        variable is constant.

    Raises
    ------
    SampleError
        If a value of X or of y is NaN; it is named. ±infinity is a value like another.
    InputError
        If y has other samples, there are fewer than two, or a pair has an unknown or ambiguous name.
    MemoryLimitError
        If the variables or the result do not fit in memory.

    Notes
    -----
    O(k) for each pair whose feature has k non-zeros, all equal, else O(k log k). `rank_markers` compares groups with
    Wilcoxon's test, whose tau is that of the 0/1 variable of a group, within strata if asked to.

    Examples
    --------
    >>> import pandas as pd
    >>> open_ = pd.DataFrame({"e1": [0, 0, 1, 1, 1], "e2": [1, 0, 1, 0, 0]})
    >>> kendalltau_against(open_, pd.Series([0.0, 0.1, 0.5, 2.0, 1.5], name="MYC")).round(3)
      feature variable    tau      p      q
    0      e1      MYC  0.775  0.083  0.167
    1      e2      MYC -0.516  0.248  0.248
    """
    one_of(alternative, "alternative", ALTERNATIVES)
    pandas_for(RESULT)
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    source = as_source(X)
    if len(source) < 2:
        raise InputError("tau compares pairs of samples, and there is one: give more samples")
    values, variable_names = _variables(y, source, limit)
    features = _pairs_of(pairs, source, variable_names, values.shape[1])
    held = VALUE_BYTES * values.size + PAIR_BYTES * len(features[0])
    allowed = share_of(limit, 1)
    if held > allowed:
        raise MemoryLimitError(
            f"the table of {len(features[0]):,} pairs and the variables take {readable_bytes(held)} and may take "
            f"{readable_bytes(allowed)}: compare fewer at a time"
        )
    pool, listener = resolve_executor(executor), progress_listener(progress)
    await_workers(pool, listener)
    order = np.argsort(features[0], kind="stable")
    first_pair = np.concatenate([[0], np.cumsum(np.bincount(features[0], minlength=source.shape[1]))])
    compared = ChosenPairs(_ranked(values), first_pair, features[1][order])
    counts = _count(source, compared, Looking(pool, listener, limit), held)
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return _table(
        PairCounts(*(part[found] for part in counts)), features, compared, source, variable_names, alternative
    )


# Input ---------------------------------------------------------------------------------------------------------------


def _variables(y: Any, source: Source, limit: int | None) -> tuple[Floats, Names]:
    """Values of the variables, (m, q), and their names."""
    samples = SampleNames(len(source), source.ids, whose="X", listed="X.index")
    if (np.ndim(y) if isinstance(y, (list, tuple)) else getattr(y, "ndim", 0)) == 1:
        values = as_floats(aligned(y, samples, "y"), "y")[:, None]
        name = getattr(y, "name", None)
        names: Names = None if name is None else (str(name),)
    else:
        other = as_source(y)
        if VALUE_BYTES * other.shape[0] * other.shape[1] > share_of(limit, 1):
            raise MemoryLimitError(
                f"{other.shape[1]:,} variables of {other.shape[0]:,} samples take "
                f"{readable_bytes(VALUE_BYTES * other.shape[0] * other.shape[1])}: give fewer at a time"
            )
        refuse_other_names(other.ids, samples, "y")
        values, names = other.read(slice(None)), other.features
    if len(values) != len(source):
        raise InputError(
            f"y has {len(values):,} samples and X {len(source):,}: give the same samples in the same order"
        )
    refuse_nan(values, source.ids, names)
    return values, names


def _pairs_of(pairs: Any, source: Source, variables: Names, count: int) -> tuple[Indices, Indices]:
    """Positions of the features and of the variables of the pairs."""
    n = source.shape[1]
    if pairs is None:
        return np.repeat(np.arange(n), count), np.tile(np.arange(count), n)
    if hasattr(pairs, "itertuples"):
        pairs = pairs.itertuples(index=False, name=None)
    rows = [tuple(entries(pair, "a pair")) for pair in pairs]
    if not rows or any(len(row) != 2 for row in rows):
        raise InputError("pairs must be a list of (feature, variable), such as [('peak 7', 'MYC')]: give one or more")
    known = (_positions(source.features, n), _positions(variables, count))
    found = [
        [_found(str(name), names, what) for name in column]
        for names, what, column in zip(known, ("feature", "variable"), zip(*rows, strict=True), strict=True)
    ]
    return np.array(found[0], dtype=np.intp), np.array(found[1], dtype=np.intp)


def _positions(names: Names, count: int) -> dict[str, int]:
    """Position of each name; −1 of a name that several have."""
    listed = tuple(map(str, range(count))) if names is None else tuple(names)
    times = Counter(listed)
    return {name: position if times[name] == 1 else -1 for position, name in enumerate(listed)}


def _found(name: str, known: Mapping[str, int], what: str) -> int:
    if name not in known:
        raise InputError(f"a pair has the {what} {name!r}, and there is none of that name{did_you_mean(name, known)}")
    if known[name] < 0:
        raise InputError(f"a pair has the {what} {name!r}, and several have that name: give each its own name")
    return known[name]


def _ranked(values: Floats) -> Variables:
    """Rank the variables (m, q)."""
    scores = 2 * rankdata(values, axis=0) - len(values) - 1
    codes = rankdata(values, method="dense", axis=0)
    return Variables(
        np.ascontiguousarray(scores.T).astype(np.int64), np.ascontiguousarray(codes.T).astype(np.uint32),
        *tie_sums(values.T),
    )  # fmt: skip


# Counts --------------------------------------------------------------------------------------------------------------


def _count(source: Source, compared: ChosenPairs, looking: Looking, held: int) -> PairCounts:
    pairs = len(compared.chosen)
    found = PairCounts(np.empty(pairs, np.int64), np.empty(pairs), np.empty(pairs, np.int64))

    def done(start: int, stop: int, counts: PairCounts) -> None:
        part = slice(*compared.first_pair[[start, stop]])
        for whole, own in zip(found, counts, strict=True):
            whole[part] = own

    work_on_columns(
        source,
        count_pairs,
        compared,
        done,
        looking=looking,
        bytes_held=held,
        bytes_per_feature=48 * int(np.diff(compared.first_pair).max()),
        phase="compare features",
    )
    return found


def count_pairs(columns: Columns, start: int, compared: ChosenPairs) -> PairCounts:
    """Count the concordance of some features, the first of which is number ``start``, with their variables."""
    first_pair = compared.first_pair[start : start + len(columns.starts)]
    chosen = compared.chosen[first_pair[0] : first_pair[-1]]
    return sparse_concordance(*columns, first_pair - first_pair[0], chosen, compared.variables)


def _table(
    counts: PairCounts,
    pairs: tuple[Indices, Indices],
    compared: ChosenPairs,
    source: Source,
    variables: Names,
    alternative: Alternative,
) -> Any:
    pd = pandas_for(RESULT)
    m, (features, chosen) = len(source), pairs
    everything = m * (m - 1) // 2
    untied_y = everything - compared.variables.tied[chosen]
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = counts.concordance / np.sqrt(counts.untied * untied_y)
    no_ties = (counts.untied == everything) & (untied_y == everything)
    p = p_values(counts.concordance, m, no_ties, counts.variance, alternative=alternative)
    p[np.isnan(tau)] = np.nan
    q = np.full(len(p), np.nan)
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    names = (_labels(source.features, source.shape[1]), _labels(variables, len(compared.variables.tied)))
    return pd.DataFrame({"feature": names[0][features], "variable": names[1][chosen], "tau": tau, "p": p, "q": q})


def _labels(names: Names, count: int) -> Any:
    return np.array(list(map(str, range(count))) if names is None else list(names), dtype=object)
