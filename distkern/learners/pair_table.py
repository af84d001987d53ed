"""Tables of the pairs of features whose order differs most between classes, and of all scores together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.errors import InputError, MissingExtraError
from distkern.core.parameters import flag, one_of, whole_number
from distkern.core.units import counted
from distkern.engine.progress import progress_listener
from distkern.io.source import as_source
from distkern.learners.memory import within_limit
from distkern.learners.pair_selection import PairOptions, Training, coded, labelled, ranked_pairs
from distkern.learners.validation import fraction, labels_and_weights, samples_of
from distkern.pairs.codes import MISSING
from distkern.pairs.contrasts import AGGREGATES, RESTS
from distkern.pairs.scores import ScoredPairs
from distkern.pairs.summaries import summarize_pairs


@within_limit
def pair_scores(
    X: Any,
    y: Any,
    k: int | None = 1000,
    *,
    groups: Any = None,
    features: Any = None,
    pairs: Any = None,
    pivot: Any = None,
    disjoint: bool = False,
    min_score: float = 0.0,
    missing: str = "error",
    min_observed: float = 0.5,
    rest: str = "pooled",
    group_agg: str = "mean",
    executor: Any = None,
    store: str | os.PathLike[str] | None = None,
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> Any:
    """Δ_ij = ½ abs((L_1 − G_1)/n_1 − (L_0 − G_0)/n_0): the pairs of features whose order differs most between classes.

    L_c and G_c are the numbers of samples of class c with x_i < x_j and with x_i > x_j, so that a tie counts half.
    Pairs are in a total order: Δ, then the secondary score abs(mean_1(R_i − R_j) − mean_0(R_i − R_j)) with R the
    mid-rank of a feature in a sample, then the order of the features. Each pair is written so that first < second
    speaks for class 1, the last label. Pairs with Δ = 0 are left out.

    Source: Geman, d'Avignon, Naiman and Winslow, "Classifying gene expression profiles from pairwise mRNA comparisons",
    Statistical Applications in Genetics and Molecular Biology 3 (2004), with ties counted alike in both directions.

    Parameters
    ----------
    X
        Samples (m, p), in any container or file that `compute_gram` takes. ±infinity is a value like another.
    y
        Labels, (m,).
    k
        Number of pairs; None for all of at least ``min_score``.
    groups
        Group of each sample, such as the platform that measured it, (m,): the score is aggregated over the groups that
        hold both classes.
    features
        Names or positions of the features that compete; or a number n, or ``"wilcoxon:n"``, for the n features that
        differ most by rank sum. All by default.
    pairs
        The pairs that compete, (q, 2) names or positions; all by default.
    pivot
        Names or positions of features. Each pair must contain one of them.
    disjoint
        Whether no feature may be in two pairs.
    min_score
        Least Δ.
    missing
        ``"error"`` refuses NaN. ``"skip"``: a pair counts the samples that observe both features.
    min_observed
        Least fraction of the samples of either class that must observe both features.
    rest
        Three or more classes: ``"pooled"`` compares a class with all other samples, ``"mean"`` with the mean of the
        other classes.
    group_agg
        ``"mean"`` over the groups, or ``"min"``: the group that is closest to 0, or 0 if two differ in sign.
    executor, progress, memory_limit
        As for `compute_gram`. The table does not depend on the number of workers.
    store
        Folder that keeps finished parts, so that the same call goes on from there after an interruption. Workers on
        other machines need one that they can reach.

    Returns
    -------
    DataFrame
        A row for each pair: ``first``, ``second`` (names, or positions as text), ``score``, ``secondary`` (in ranks),
        and for each label the counts L, G and n: ``less_<label>``, ``greater_<label>``, ``n_<label>``. Three or more
        classes: each is compared with the rest, a column ``class`` says which class first < second speaks for, and the
        counts are those of ``class`` and of ``rest``. Samples of groups that hold one class only are not counted.

    Raises
    ------
    InputError
        If there is one class, fewer than two features, or an unknown name or parameter.
    SampleError
        If a value is missing and ``missing="error"``; the sample and the feature are named.
    MemoryLimitError
        If the coded samples, the work on a tile, or the pairs do not fit in memory.
    StoreMismatchError
        If the store holds parts of other work.

    See Also
    --------
    pair_summary : Sums over all pairs.
    KTopScoringPairs : A classifier of the best pairs.

    Notes
    -----
    O(m p²) for m samples of p features: seconds for 100 samples of 20,000 features. Memory: 2 bytes for each value, and
    a few megabytes for each worker.

    Examples
    --------
    >>> import pandas as pd
    >>> cohort = pd.DataFrame({"ESR1": [9, 8, 2, 1], "GATA3": [5, 9, 4, 3], "ACTB": [7, 7, 3, 2]})
    >>> table = pair_scores(cohort, ["no", "no", "yes", "yes"], k=2)
    >>> print(table[["first", "second", "score", "less_yes", "greater_yes"]].to_string(index=False))
    first second  score  less_yes  greater_yes
     ESR1   ACTB    1.0         2            0
     ESR1  GATA3    0.5         2            0
    """
    flag(disjoint, "disjoint")
    number = None if k is None else whole_number(k, "k", 1)
    fraction(min_score, "min_score")
    _check(missing, min_observed, rest, group_agg)
    training = _training(X, y, groups)
    options = PairOptions(
        disjoint=disjoint,
        features=features,
        pairs=pairs,
        pivot=pivot,
        missing=missing,
        min_observed=min_observed,
        rest=rest,
        group_agg=group_agg,
        executor=executor,
        min_score=min_score,
        store=store,
    )
    (ranked,) = ranked_pairs(training, options, number, progress_listener(progress))
    return _table(training, ranked)


@dataclass(frozen=True, eq=False, repr=False)
class PairSummary:
    """All scores of a cohort.

    Parameters
    ----------
    features
        A row for each feature: ``feature``, ``mean_score`` (the mean Δ of its pairs) and ``mean_signed`` (the mean of
        s, positive where "feature < others" speaks for class 1).
    distribution
        A row for each bin: Δ from ``low`` up to below ``high`` (the last one up to 1), and the number of ``pairs``.

    See Also
    --------
    pair_summary : Makes it.
    """

    features: Any
    distribution: Any

    def __repr__(self) -> str:
        count, bins = self.features["feature"].nunique(), self.distribution["low"].nunique()
        pairs = counted(count * (count - 1) // 2, "pair")
        return f"<PairSummary: {counted(count, 'feature')}, and {pairs} by score in {counted(bins, 'bin')}>"


@within_limit
def pair_summary(
    X: Any,
    y: Any,
    *,
    bins: int = 50,
    groups: Any = None,
    missing: str = "error",
    min_observed: float = 0.5,
    rest: str = "pooled",
    group_agg: str = "mean",
    executor: Any = None,
    store: str | os.PathLike[str] | None = None,
    progress: Any = None,
    memory_limit: int | str | None = None,
) -> PairSummary:
    """Mean of Δ_ij over j for each feature i, and the number of pairs by Δ; Δ is the score of `pair_scores`.

    The distribution shows how exceptional the best pairs are, beside that of permuted labels. Both are sums of whole
    numbers, which do not depend on the number of workers.

    Parameters
    ----------
    X, y, groups, missing, min_observed, rest, group_agg, executor, store, progress, memory_limit
        As for `pair_scores`. A pair that too few samples observe counts as Δ = 0.
    bins
        Number of bins of equal width, from 1 to 10,000.

    Returns
    -------
    PairSummary
        Two DataFrames. Three or more classes: each is compared with the rest, and a column ``class`` says which.

    Raises
    ------
    InputError
        If there is one class, fewer than two features, or an unknown parameter.
    SampleError
        If a value is missing and ``missing="error"``; the sample and the feature are named.
    MemoryLimitError
        If the coded samples or the work on a tile do not fit in memory.
    StoreMismatchError
        If the store holds parts of other work.

    See Also
    --------
    pair_scores : The best pairs.

    Examples
    --------
    >>> import pandas as pd
    >>> cohort = pd.DataFrame({"ESR1": [9, 8, 2, 1], "GATA3": [5, 9, 4, 3], "ACTB": [7, 7, 3, 2]})
    >>> found = pair_summary(cohort, ["no", "no", "yes", "yes"], bins=2)
    >>> found
    <PairSummary: 3 features, and 3 pairs by score in 2 bins>
    >>> print(found.features.round(2).to_string(index=False))
    feature  mean_score  mean_signed
       ESR1        0.75         0.75
      GATA3        0.50        -0.50
       ACTB        0.75        -0.25
    >>> print(found.distribution.to_string(index=False))
     low  high  pairs
     0.0   0.5      0
     0.5   1.0      3
    """
    if whole_number(bins, "bins", 1) > 10_000:
        raise InputError(f"bins must be at most 10,000, not {bins:,}")
    _check(missing, min_observed, rest, group_agg)
    training = _training(X, y, groups)
    options = PairOptions(missing=missing, rest=rest, group_agg=group_agg)
    codes, contrasts = coded(training, options)
    found = summarize_pairs(
        codes,
        contrasts,
        bins,
        min_observed=min_observed,
        executor=executor,
        listener=progress_listener(progress),
        store=store,
    )
    edges = np.arange(bins + 1) / bins
    features = [{"feature": _names(training), "mean_score": one.absolute, "mean_signed": one.signed} for one in found]
    bars = [{"low": edges[:-1], "high": edges[1:], "pairs": one.counts} for one in found]
    return PairSummary(_stacked(training, features), _stacked(training, bars))


def _check(missing: Any, min_observed: Any, rest: Any, group_agg: Any) -> None:
    one_of(missing, "missing", MISSING)
    one_of(rest, "rest", RESTS)
    one_of(group_agg, "group_agg", AGGREGATES)
    fraction(min_observed, "min_observed")


def _training(X: Any, y: Any, groups: Any) -> Training:
    source, samples = as_source(X), samples_of(X)
    labels, _, _ = labels_and_weights(y, None, samples)
    return labelled(source, samples, labels, groups, "ovr")


def _names(training: Training) -> Sequence[str]:
    """Names of the features; their positions as text if they have none."""
    return training.source.features or tuple(map(str, range(training.source.shape[1])))


def _table(training: Training, ranked: list[ScoredPairs]) -> Any:
    names = _names(training)
    sides = ("rest", "class") if len(ranked) > 1 else tuple(map(str, training.classes.tolist()))
    parts = []
    for found in ranked:
        columns: dict[str, Any] = {
            "first": [names[k] for k in found.first],
            "second": [names[k] for k in found.second],
            "score": found.score,
            "secondary": found.secondary,
        }
        for number, side in enumerate(sides):
            for word, counts in (("less", found.less), ("greater", found.greater), ("n", found.observed)):
                columns[f"{word}_{side}"] = counts[:, number]
        parts.append(columns)
    return _stacked(training, parts)


def _stacked(training: Training, parts: list[dict[str, Any]]) -> Any:
    """Stack the columns of all problems; several have a column that names the class."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("a table of pairs", "io") from error
    frames = [pd.DataFrame(columns) for columns in parts]
    if len(frames) > 1:
        for problem, frame in enumerate(frames):
            frame.insert(0, "class", [training.label(problem)] * len(frame))
    return pd.concat(frames, ignore_index=True)
