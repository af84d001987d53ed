"""Markers of groups of samples: Wilcoxon's rank-sum test and the area under the ROC curve of every feature."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr
from scipy.stats import false_discovery_control

from distkern.build.look import Looking
from distkern.compiled.rank_sums import Cells, GroupCounts, against_groups, against_rest
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.files import as_path
from distkern.core.frames import pandas_for
from distkern.core.labels import encoded_labels
from distkern.core.names import is_missing
from distkern.core.parameters import flag, one_of
from distkern.core.sentences import Argument
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import parse_bytes, readable_bytes
from distkern.core.validation import name_of
from distkern.core.warning import warn
from distkern.engine.memory import share_of
from distkern.engine.progress import progress_listener
from distkern.engine.resolve import resolve_executor
from distkern.engine.run import await_workers
from distkern.io.labels import read_labels
from distkern.io.source import Source, as_source
from distkern.learners.validation import cohort_names
from distkern.pairs.columns import Columns, work_on_columns

FoldChange = Literal["difference", "log1p", "ratio"]
FOLD_CHANGES = ("difference", "log1p", "ratio")

RESULT = "a table of markers"
"""Name of the result in messages."""

PSEUDOCOUNT = 1e-9
"""Added to both means of a ratio, as scanpy does."""

TABLE_BYTES = 160
"""Bytes of the table, and of the arithmetic that makes it, for each feature and comparison."""

COUNT_BYTES = 24
"""Bytes of the counts for each feature and comparison."""


@dataclass(frozen=True)
class Comparisons:
    """Which groups are compared, and the sizes of both sides.

    Parameters
    ----------
    cells
        Group and stratum of each sample.
    opponents
        Numbers of the groups that each group is compared with; None for all other samples.
    """

    cells: Cells
    opponents: Indices | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the comparisons of a feature: groups, or groups × opponents."""
        groups = self.cells.sizes.shape[1]
        return (groups,) if self.opponents is None else (groups, len(self.opponents))

    @property
    def pairs(self) -> Floats:
        """Number of pairs of samples that are compared: Σ n₁ n₀ over the strata."""
        sizes = self.cells.sizes.astype(np.float64)
        if self.opponents is None:
            return (sizes * (sizes.sum(axis=1, keepdims=True) - sizes)).sum(axis=0)
        return sizes.T @ sizes[:, self.opponents]


def rank_markers(
    X: Any,
    groups: Any,
    *,
    versus: Any = "rest",
    strata: Any = None,
    fold_change: FoldChange = "difference",
    continuity: bool = True,
    executor: Any = None,
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    r"""(U − n₁n₀/2 ∓ ½) / sd(U): z of Wilcoxon's rank-sum test, of every feature between groups of samples.

    U is the number of pairs of a sample of the group and one of its opponents in which the first has the larger value,
    ties counted half, and

    .. math::

        \mathrm{auroc} = \frac{U}{n_1 n_0},\qquad
        \mathrm{Var}\, U = \frac{n_1 n_0}{12}\Bigl(n + 1 - \frac{\sum t^3 - t}{n (n - 1)}\Bigr),\qquad
        \tau = \frac{2 U - n_1 n_0}{\sqrt{t_x\, n_1 n_0}}

    with n = n₁ + n₀ samples, tie groups of t samples, and t_x pairs of samples that the feature does not tie. The
    two-sided p is that of ``scipy.stats.mannwhitneyu(method="asymptotic")``: with the correction for ties, and with the
    correction for continuity, the ½ towards 0. q is the false discovery rate of Benjamini and Hochberg among the
    features of one comparison: of one group with one opponent. tau is Kendall's tau-b with the 0/1 variable of the
    group.

    Source: Mann and Whitney (1947); the form of ``scipy.stats.mannwhitneyu``. Ranks of sparse features are shifted by
    that of zero, so that only non-zeros cost.

    Parameters
    ----------
    X
        Samples in rows, features in columns: an array, `pandas.DataFrame`, sparse matrix, `anndata.AnnData`, or the
        path of a file, as for `compute_gram`. A file larger than memory is read once, and once more for each band of
        features that fits.
    groups
        Group of each sample, (m,); or the name of a column of ``obs``, or of a file with labels.
    versus
        ``"rest"``: each group against all other samples. ``"each"``: each group against each other group, on the
        samples of the two. Else the group that all others are compared with.
    strata
        Stratum of each sample, such as its donor or batch, (m,) or a name as for ``groups``. Samples are then compared
        within their strata only: U, its mean and its variance, and n₁ n₀ and t_x of tau, are sums over the strata. All
        strata have the same weight for each pair of samples. Fold changes ignore the strata.
    fold_change
        ``"difference"``: difference of the means, which is the log fold change where the values are logarithms, in
        their base. ``"log1p"``: log₂ (e^a − 1 + 1e-9) − log₂ (e^b − 1 + 1e-9) of the means a and b, as scanpy does for
        values log (1 + count). ``"ratio"``: log₂ (a + 1e-9) − log₂ (b + 1e-9).
    continuity
        Whether to correct for continuity, as SciPy does by default; scanpy does not.
    executor, progress, memory_limit
        As for `compute_gram`. The result must fit ``memory_limit`` too.

    Returns
    -------
    DataFrame
        A row for each comparison and feature: feature, group, versus, auroc, log_fold_change, tau, z, p, q. Sorted by
        group and opponent, then by descending z. A constant feature has auroc ½, z = 0, p = 1, and tau is NaN.

    Raises
    ------
    SampleError
        If a value is NaN; the sample and the feature are named. ±infinity is a value like another for ranks.
    InputError
        If there are fewer than two groups, a label is missing, ``versus`` is no group, or a mean is negative where the
        fold change takes a logarithm of it.
    MemoryLimitError
        If the table does not fit in memory.

    Warns
    -----
    UserWarning
        If a group has one sample, whose normal approximation is poor, or is never in one stratum with an opponent:
        then auroc, tau, z, p and q of that comparison are NaN.

    See Also
    --------
    score_sets : Scores of gene sets in each sample.
    distkern.plot.plot_markers : The figure.
    scipy.stats.mannwhitneyu : The test of one feature.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"CD3D": [0, 0, 3, 2, 4], "ACTB": [5, 4, 5, 6, 4]})
    >>> rank_markers(cells, ["B", "B", "T", "T", "T"]).round(3)
      feature group versus  auroc  log_fold_change    tau      z      p      q
    0    ACTB     B   rest  0.333             -0.5 -0.289 -0.304  0.761  0.761
    1    CD3D     B   rest  0.000             -3.0 -0.816 -1.481  0.139  0.277
    2    CD3D     T   rest  1.000              3.0  0.816  1.481  0.139  0.277
    3    ACTB     T   rest  0.667              0.5  0.289  0.304  0.761  0.761
    """
    one_of(fold_change, "fold_change", FOLD_CHANGES)
    flag(continuity, "continuity")
    pandas_for(RESULT)
    limit = None if memory_limit is None else parse_bytes(memory_limit)
    source = as_source(X)
    levels, codes = labels_of(X, source, groups, "groups")
    if len(levels) < 2:
        raise InputError(f"all samples are in the group {levels.tolist()[0]!r}: markers need two groups or more")
    blocks = None if strata is None else labels_of(X, source, strata, "strata")[1]
    compared = Comparisons(Cells.of(codes, blocks), opponents_of(versus, levels))
    _warn_of_small_groups(levels, compared)
    held = _require_memory(source, compared, limit)
    pool, listener = resolve_executor(executor), progress_listener(progress)
    await_workers(pool, listener)
    counts = _count(source, compared, Looking(pool, listener, limit), held)
    folds = fold_changes(counts.sums, compared, fold_change, source.features, levels)
    return table_of(counts, folds, compared, source.features, levels, continuity)


def labels_of(X: Any, source: Source, labels: Any, what: str) -> tuple[Array, Indices]:
    """Distinct labels, sorted, and the number of the label of each sample; a text is the name of a column of labels.

    Raises
    ------
    InputError
        If there is no such column, a label is missing, or they have the names of other samples.
    """
    ids = source.ids or tuple(map(str, range(len(source))))
    if isinstance(labels, str):
        if hasattr(X, "obs"):
            if labels not in X.obs:
                listed = ", ".join(map(repr, X.obs.columns[:10])) or "no columns"
                raise InputError(f"obs has no column {labels!r}: it has {listed}{did_you_mean(labels, X.obs)}")
            labels = X.obs[labels].to_numpy()
        elif isinstance(X, (str, os.PathLike)):
            labels = read_labels(as_path(X), ids, label=labels)[1]
        else:
            raise InputError(
                f"{what} must hold a label for each sample, not {labels!r}: a name is looked up in the obs of AnnData "
                "or in the file of the samples"
            )
    return encoded_labels(labels, cohort_names(source.ids, len(source)), what)


def opponents_of(versus: Any, levels: Array) -> Indices | None:
    """Numbers of the groups that each group is compared with; None for the rest.

    Raises
    ------
    InputError
        If there is no such group.
    """
    if isinstance(versus, str) and versus in ("rest", "each"):
        return None if versus == "rest" else np.arange(len(levels))
    known = levels.tolist()
    if isinstance(versus, (list, tuple, np.ndarray)) or is_missing(versus) or versus not in known:
        listed = ", ".join(map(repr, known[:10])) + (", …" if len(known) > 10 else "")
        raise InputError(
            "{versus} is neither 'rest' nor 'each' nor a group: the groups are {listed}{meant}",
            versus=Argument("versus", versus),
            listed=listed,
            meant=did_you_mean(versus, map(str, known)) if isinstance(known[0], str) else "",
        )
    return np.array([known.index(versus)])


def _warn_of_small_groups(levels: Array, compared: Comparisons) -> None:
    single = levels[compared.cells.sizes.sum(axis=0) == 1].tolist()
    if single:
        warn(
            f"{_listed('group', single)} {'has' if len(single) == 1 else 'have'} one sample, for which the normal "
            "approximation of p is poor: use its auroc, or add samples"
        )
    alone = compared.pairs == 0
    if compared.opponents is not None:
        alone[compared.opponents, np.arange(len(compared.opponents))] = False  # a group with itself
        alone = alone.any(axis=1)
    if alone.any():
        warn(
            f"no stratum holds {_listed('group', levels[alone].tolist())} together with an opponent: the values of "
            "these comparisons are NaN"
        )


def _listed(noun: str, names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{noun}{'s' * (len(names) > 1)} {shown}"


def _require_memory(source: Source, compared: Comparisons, limit: int | None) -> int:
    """Bytes of the counts and of the table; refused if they do not fit."""
    features, comparisons = source.shape[1], int(np.prod(compared.shape))
    needed = (TABLE_BYTES + COUNT_BYTES) * features * comparisons + 8 * features * compared.shape[0] + 16 * len(source)
    allowed = share_of(limit, 1)
    if needed > allowed:
        raise MemoryLimitError(
            "the table of {features:,} features and {comparisons:,} comparisons takes {needed} and may take {allowed}: "
            "choose features or groups, or compare each group with the rest",
            features=features,
            comparisons=comparisons,
            needed=readable_bytes(needed),
            allowed=readable_bytes(allowed),
        )
    return needed


# Counts --------------------------------------------------------------------------------------------------------------


def _count(source: Source, compared: Comparisons, looking: Looking, held: int) -> GroupCounts:
    """Count U, its variance, the untied pairs and the sums of the groups for every feature."""
    features, shape = source.shape[1], compared.shape
    untied = shape if compared.opponents is not None else ()
    found = GroupCounts(
        np.empty((features, *shape), np.int64),
        np.empty((features, *shape)),
        np.empty((features, *untied), np.int64),
        np.empty((features, shape[0])),
    )

    def done(start: int, stop: int, counts: GroupCounts) -> None:
        for whole, part in zip(found, counts, strict=True):
            whole[start:stop] = part

    work_on_columns(
        source,
        count_block,
        compared,
        done,
        looking=looking,
        bytes_held=held,
        bytes_per_feature=2 * COUNT_BYTES * int(np.prod(shape)) + 8 * shape[0],
        phase="rank features",
    )
    return found


def count_block(columns: Columns, start: int, compared: Comparisons) -> GroupCounts:
    """Count the comparisons of some features."""
    if compared.opponents is None:
        return against_rest(*columns, compared.cells)
    return against_groups(*columns, compared.cells, compared.opponents)


# The table -----------------------------------------------------------------------------------------------------------


def fold_changes(sums: Floats, compared: Comparisons, fold_change: FoldChange, features: Any, levels: Array) -> Floats:
    """Log fold changes of the means, (features, groups) or (features, groups, opponents).

    Raises
    ------
    InputError
        If a mean is negative and its logarithm is taken; the feature and the group are named.
    """
    sizes = compared.cells.sizes.sum(axis=0)
    means = sums / sizes
    if fold_change != "difference" and (means < 0).any():
        feature, group = np.argwhere(means < 0)[0].tolist()
        raise InputError(
            "feature {feature} has a negative mean in group {group!r}, so its values are no {kind}: choose {other}",
            feature=name_of(feature, features),
            group=levels.tolist()[group],
            kind="logarithms of 1 + count" if fold_change == "log1p" else "counts",
            other=Argument("fold_change", "difference"),
        )
    with np.errstate(invalid="ignore", over="ignore"):  # of infinite values
        if compared.opponents is not None:
            return _fold(means[:, :, None], means[:, None, compared.opponents], fold_change)
        others = np.zeros_like(sums)  # sums over all other groups; a subtraction would lose digits
        others[:, 1:] += np.cumsum(sums, axis=1)[:, :-1]
        others[:, :-1] += np.cumsum(sums[:, ::-1], axis=1)[:, ::-1][:, 1:]
        return _fold(means, others / (sizes.sum() - sizes), fold_change)


def _fold(means: Floats, others: Floats, fold_change: FoldChange) -> Floats:
    if fold_change == "difference":
        return means - others
    if fold_change == "log1p":
        means, others = np.expm1(means), np.expm1(others)
    return np.log2(means + PSEUDOCOUNT) - np.log2(others + PSEUDOCOUNT)


def table_of(
    counts: GroupCounts, folds: Floats, compared: Comparisons, features: Any, levels: Array, continuity: bool
) -> Any:
    """Make the table of all comparisons."""
    pd = pandas_for(RESULT)
    count = len(counts.twice_U)
    names = np.array(list(map(str, range(count))) if features is None else features, dtype=object)
    pairs, opponents = compared.pairs, compared.opponents
    if opponents is None:
        rows: list[tuple[int, ...]] = [(group,) for group in range(len(levels))]
    else:
        rows = [(group, k) for group in range(len(levels)) for k, other in enumerate(opponents) if other != group]
    columns: dict[str, list[Array]] = {name: [] for name in ("feature", "auroc", "log_fold_change", *MEASURES)}
    for row in rows:
        at: Any = (slice(None), *row)
        untied = counts.untied if opponents is None else counts.untied[at]
        found = statistics(counts.twice_U[at], counts.variance[at], untied, float(pairs[row]), continuity)
        order = np.argsort(-found["z"], kind="stable")
        columns["feature"].append(names[order])
        columns["log_fold_change"].append(folds[at][order])
        for name, values in found.items():
            columns[name].append(values[order])
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    names_of_groups = pd.Index(levels.tolist())
    against = [0 if opponents is None else int(opponents[row[1]]) for row in rows]
    table = {
        "feature": joined.pop("feature"),
        "group": pd.Categorical.from_codes(np.repeat([row[0] for row in rows], count), names_of_groups),
        "versus": pd.Categorical.from_codes(
            np.repeat(against, count), pd.Index(["rest"]) if opponents is None else names_of_groups
        ),
    }
    return pd.DataFrame(table | joined, copy=False)


MEASURES = ("tau", "z", "p", "q")
"""Columns of the table after the fold change."""


def statistics(twice_U: Array, variance: Floats, untied: Array, pairs: float, continuity: bool) -> dict[str, Floats]:
    """Area, tau, z, p and q of one comparison for all features, (features,); all NaN if there are no pairs.

    Examples
    --------
    >>> found = statistics(np.array([4]), np.array([2 / 3]), np.array([3]), 2.0, True)
    >>> {name: float(values[0].round(4)) for name, values in found.items()}
    {'auroc': 1.0, 'tau': 0.8165, 'z': 0.6124, 'p': 0.5403, 'q': 0.5403}
    """
    if pairs == 0:
        return {name: np.full(len(twice_U), np.nan) for name in ("auroc", *MEASURES)}
    S = twice_U - pairs
    departure = np.maximum(np.abs(S) / 2 - (0.5 if continuity else 0.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(variance > 0, np.sign(S) * departure / np.sqrt(variance), 0.0) + 0.0  # no −0
        tau = S / np.sqrt(untied * pairs)
    p = np.minimum(2 * ndtr(-np.abs(z)), 1.0)
    return {"auroc": twice_U / (2 * pairs), "tau": tau, "z": z, "p": p, "q": false_discovery_control(p)}
