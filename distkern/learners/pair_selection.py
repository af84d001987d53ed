"""Choosing pairs of features for classification: binary problems, their ranked pairs in all folds, and the number k."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import check_cv

from distkern.core.errors import InputError
from distkern.core.events import Listener
from distkern.core.labels import encoded_labels
from distkern.core.parameters import entries, one_of
from distkern.core.sentences import Argument, Sentence
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import counted
from distkern.core.validation import Names, name_of
from distkern.core.warning import warn
from distkern.io.source import Source
from distkern.kernels.pair_agreement import checked_pairs
from distkern.learners.folds import Folds
from distkern.learners.multiclass import BinaryProblems
from distkern.learners.pair_votes import Decider, prefix_decisions, votes_of
from distkern.learners.validation import with_own_errors
from distkern.pairs.codes import SignCodes, positions_of, sign_codes, wilcoxon_features
from distkern.pairs.contrasts import Cells, Contrast
from distkern.pairs.scores import ScoredPairs, best_pairs

Scoring = Callable[[Array, Array], float]

SCORINGS: dict[str, Scoring] = {"balanced_accuracy": balanced_accuracy_score, "accuracy": accuracy_score}
"""Functions of true and predicted labels to maximise, by name."""

WILCOXON = "wilcoxon:"
"""Prefix of a number of features that the rank sum test chooses."""

SHOWN = 5
"""Most names of groups or samples that a message lists."""

TIE = 1e-12
"""Scores that differ by less than this are equal up to rounding."""

Ranked = list[ScoredPairs]
"""The ranked pairs of each binary problem of one training set."""


@dataclass(frozen=True)
class Training:
    """Labelled samples, and the binary problems on them.

    Parameters
    ----------
    source
        The samples.
    classes, codes
        The labels, sorted, and the number of the label of each sample; negative for a sample that takes no part.
    group_names, groups
        The groups, sorted, and the number of the group of each sample; None without groups.
    binary
        The binary problems.
    """

    source: Source
    classes: Array
    codes: Indices
    group_names: Array | None
    groups: Indices | None
    binary: BinaryProblems

    @property
    def sizes(self) -> Indices:
        """Number of samples of each class."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))

    @property
    def decider(self) -> Decider:
        """What turns decisions into classes."""
        return Decider(self.binary, self.sizes)

    def side(self, problem: int) -> str:
        """Describe a binary problem for messages."""
        positive, negative = self.binary.pairs[problem]
        other = "the rest" if negative is None else f"class {self.label(negative)!r}"
        return f"class {self.label(positive)!r} against {other}"

    def label(self, number: Any) -> Any:
        """Label of a class as a Python value."""
        return self.classes[number : number + 1].tolist()[0]


@dataclass(frozen=True)
class PairOptions:
    """What may be a pair, and how pairs are scored; see `KTopScoringPairs`."""

    disjoint: bool = True
    features: Any = None
    pairs: Any = None
    pivot: Any = None
    missing: Any = "error"
    min_observed: float = 0.5
    rest: Any = "pooled"
    group_agg: Any = "mean"
    executor: Any = None
    min_score: float = 0.0
    store: Any = None

    def wanted_features(self) -> int | None:
        """Number of features that the rank sum test chooses; None if it chooses none."""
        given = self.features
        if isinstance(given, str):
            count = given.removeprefix(WILCOXON)
            if not given.startswith(WILCOXON) or not count.isdecimal():
                raise InputError(f'features must be a number, names, or such as "wilcoxon:2000", not {given!r}')
            given = int(count)
        if given is None or np.ndim(given) > 0:
            return None
        if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 2:
            raise InputError(f"features must be 2 or more, names of features, or None, not {given!r}")
        return int(given)


def labelled(source: Source, samples: Any, y: Array, groups: Any, multi_class: str) -> Training:
    """Make the binary problems of labels that were validated.

    Raises
    ------
    InputError
        If a group is missing or has the name of another sample.

    Warns
    -----
    UserWarning
        If a class has one sample, so that the score of nearly all pairs is as large as the other class allows.
    """
    classes, codes = np.unique(y, return_inverse=True)
    names, of_sample = (None, None) if groups is None else encoded_labels(groups, samples, "groups")
    training = Training(source, classes, codes, names, of_sample, BinaryProblems(len(classes), multi_class == "ovr"))
    lonely = classes[training.sizes == 1].tolist()
    if lonely:
        named = ", ".join(map(repr, lonely[:SHOWN])) + (", …" if len(lonely) > SHOWN else "")
        if len(lonely) == 1:
            warn(f"class {named} has 1 sample, which every one of its scores rests on: give more")
        else:
            warn(f"{len(lonely):,} classes have 1 sample, which every one of their scores rests on: {named}; give more")
    return training


# The ranked pairs of all training sets --------------------------------------------------------------------------------


def ranked_pairs(
    training: Training,
    options: PairOptions,
    k: int | None,
    listener: Listener,
    folds: Indices | None = None,
    left_out: Sequence[Sequence[int]] = ((),),
) -> list[Ranked]:
    """Rank the pairs of each binary problem on several training sets, in one pass over all pairs.

    Parameters
    ----------
    k
        Number of pairs; None for all of at least ``options.min_score``.
    folds, left_out
        Number of the fold of each sample, (m,), and the folds that each training set leaves out; by default one
        training set, which leaves out none.

    Returns
    -------
    The ranked pairs of each training set.

    Raises
    ------
    InputError
        If all samples are constant, no group holds both sides of a problem, or a name is unknown.
    SampleError
        If a value is missing.

    Warns
    -----
    UserWarning
        If some samples are constant, or some groups lack a class.
    """
    codes, contrasts = coded(training, options, folds, left_out)
    found = best_pairs(
        codes,
        contrasts,
        k,
        disjoint=options.disjoint,
        min_score=options.min_score,
        min_observed=options.min_observed,
        store=options.store,
        executor=options.executor,
        listener=listener,
        **_competing(codes, contrasts, options),
    )
    count = len(training.binary.pairs)
    return [found[start : start + count] for start in range(0, len(found), count)]


def coded(
    training: Training,
    options: PairOptions,
    folds: Indices | None = None,
    left_out: Sequence[Sequence[int]] = ((),),
) -> tuple[SignCodes, list[Contrast]]:
    """Code the samples, and make the contrasts of all problems on each training set.

    Raises and warns as `ranked_pairs`, which explains the parameters.
    """
    cells = Cells.of(training.codes, groups=training.groups, folds=folds)
    _look_at_groups(training, cells)
    problems = range(len(training.binary.pairs))
    contrasts = [_contrast(training, cells, problem, part, options) for part in left_out for problem in problems]
    codes = sign_codes(training.source, cells, missing=options.missing)
    _look_at_constant(codes)
    return codes, contrasts


def _contrast(
    training: Training, cells: Cells, problem: int, left_out: Sequence[int], options: PairOptions
) -> Contrast:
    """Contrast the two sides of a problem on all folds but some.

    Raises
    ------
    InputError
        If no group holds both sides.
    """
    positive, negative = training.binary.pairs[problem]
    others = None if negative is None else [negative]
    try:
        return cells.contrast(positive, others, leave_out=left_out, rest=options.rest, aggregate=options.group_agg)
    except InputError as error:
        without = f"without fold {left_out[0]}, " if left_out else ""
        raise InputError(
            f"{without}no group holds both sides of {training.side(problem)}, so that no pair has a score: use other "
            "folds, or leave the groups out"
        ) from error


def _competing(codes: SignCodes, contrasts: Sequence[Contrast], options: PairOptions) -> dict[str, Any]:
    """Positions of the features and pairs that compete; the rank sum test looks at training samples only."""
    names, count = codes.features, len(codes.codes)
    out: dict[str, Any] = {}
    wanted = options.wanted_features()
    if wanted is not None:
        out["features"] = wilcoxon_features(codes, contrasts, wanted)
    elif options.features is not None:
        out["features"] = positions_of(entries(options.features, "features"), names, count, "features")
        if len(np.unique(out["features"])) < 2:
            raise InputError("a pair takes two features, and features has fewer: give more of them")
    if options.pivot is not None:
        given = [options.pivot] if isinstance(options.pivot, str) else entries(options.pivot, "pivot")
        out["pivot"] = positions_of(given, names, count, "pivot")
        if not len(out["pivot"]):
            raise InputError("pivot is empty: give a feature or more, or leave it out")
    if options.pairs is not None:
        given = [feature for pair in checked_pairs(options.pairs) for feature in pair]
        flat = positions_of(given, names, count, "pairs")
        out["pairs"] = flat.reshape(-1, 2)
    _refuse_contradiction(**out)
    return out


def _refuse_contradiction(
    features: Indices | None = None, pairs: Indices | None = None, pivot: Indices | None = None
) -> None:
    """Refuse features, pairs and pivots that leave no pair."""
    if pairs is None:
        left = features is None or pivot is None or bool(np.isin(pivot, features).any())
    else:
        kept = np.ones(len(pairs), dtype=bool) if features is None else np.isin(pairs, features).all(axis=1)
        left = bool((kept if pivot is None else kept & np.isin(pairs, pivot).any(axis=1)).any())
    if not left:
        given = {"features": features, "pairs": pairs, "pivot": pivot}
        named = [name for name, value in given.items() if value is not None]
        raise InputError(f"{' and '.join(named)} leave no pair: choose them so that they agree")


def _look_at_groups(training: Training, cells: Cells) -> None:
    """Warn of groups that lack one side of a problem, and refuse a problem that no group holds both sides of."""
    if training.group_names is None:
        return
    for problem, (positive, negative) in enumerate(training.binary.pairs):
        lonely = cells.lonely_groups(positive, None if negative is None else [negative])
        if not len(lonely):
            continue
        named = ", ".join(map(repr, training.group_names[lonely[:SHOWN]].tolist())) + (", …" * (len(lonely) > SHOWN))
        if len(lonely) == len(training.group_names):
            raise InputError(
                f"no group holds both sides of {training.side(problem)}, so that no pair has a score: the groups are "
                f"{named}; leave the groups out"
            )
        warn(
            f"{len(lonely)} of {len(training.group_names)} groups hold one side only of {training.side(problem)} and "
            f"do not count for its scores: {named}"
        )


def _look_at_constant(codes: SignCodes) -> None:
    """Warn of samples that tie all features, and refuse a cohort of such samples."""
    count = len(codes.constant)
    if not count:
        return
    if count == len(codes.rows):
        raise InputError("every sample is constant, so no pair of features has an order: give other samples")
    named = ", ".join(name_of(int(row), codes.ids) for row in codes.constant[:SHOWN]) + (", …" * (count > SHOWN))
    ties = "ties" if count == 1 else "tie"
    warn(f"{counted(count, 'sample')} {ties} all features, so that no pair votes there: {named}")


def refuse_too_few(training: Training, ranked: Ranked, k: int, disjoint: bool) -> None:
    """Refuse to choose more pairs than there are.

    Raises
    ------
    InputError
        If a problem has fewer than k pairs with a score, or none; it says how many.
    """
    for problem, pairs in enumerate(ranked):
        if not len(pairs):
            raise InputError(
                f"no pair of features separates {training.side(problem)} at all: each pair is ordered alike in both, "
                "or too few samples observe it"
            )
        if len(pairs) < k:
            raise InputError(
                "k is {k:,}, and {pairs} {tell} {side} apart: ask for fewer{overlapping}",
                k=k,
                pairs=counted(len(pairs), "disjoint pair" if disjoint else "pair"),
                tell="tells" if len(pairs) == 1 else "tell",
                side=training.side(problem),
                overlapping=Sentence(", or give {disjoint}", disjoint=Argument("disjoint", False)) if disjoint else "",
            )


# The number of pairs --------------------------------------------------------------------------------------------------


def candidates(k: Any, k_range: Any) -> Indices:
    """Numbers of pairs to choose from, ascending.

    Examples
    --------
    >>> candidates("variance", (2, 5)).tolist(), candidates([3, 1], (2, 5)).tolist(), candidates(7, None).tolist()
    ([2, 3, 4, 5], [1, 3], [7])
    """
    if isinstance(k, str):
        one_of(k, "k", ("variance", "cv"))
        bounds = entries(k_range, "k_range")
        if len(bounds) != 2:
            raise InputError(f"k_range must be the least and the largest k, such as (2, 10), not {k_range!r}")
        low, high = (_number(bound, "k_range") for bound in bounds)
        if low > high:
            raise InputError(f"k_range must be the least and the largest k, such as (2, 10), not {k_range!r}")
        return np.arange(low, high + 1)
    given = entries(k, "k") if np.ndim(k) else [k]
    if not given:
        raise InputError("k is empty: give a number of pairs or more")
    return np.unique([_number(one, "k") for one in given])


def _number(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f'{name} must be whole numbers of 1 or more; k may also be "variance" or "cv"; got {value!r}')
    return int(value)


def possible(numbers: Indices, ranked: Sequence[Ranked]) -> Indices:
    """The candidates for which there are enough pairs everywhere; else the largest possible number alone.

    Raises
    ------
    InputError
        If a training set has no pair.
    """
    most = min(len(pairs) for part in ranked for pairs in part)
    if not most:
        raise InputError("a fold has no pair of features that separates its classes: use fewer folds, or give k")
    fitting = numbers[numbers <= most]
    return fitting if len(fitting) else np.array([most])


def by_variance(kappas: Indices, positive: Array, numbers: Indices) -> Floats:
    """t_k = abs(mean_1 κ − mean_0 κ) / sqrt(var_1 κ + var_0 κ + 1e-9) for each k, (numbers,).

    κ(x) is the number of the best k pairs that vote for class 1, and var the sample variance (n − 1), 0 for one sample.
    Afsari, Braga-Neto and Geman, "Rank discriminants for predicting phenotypes from RNA expression", Annals of Applied
    Statistics 8 (2014).

    Parameters
    ----------
    kappas
        κ of each sample for each k, (samples, numbers).
    positive
        Whether a sample is of class 1, (samples,).

    Examples
    --------
    >>> by_variance(np.array([[2], [1], [0], [1]]), np.array([True, True, False, False]), np.array([2])).round(3)
    array([1.])
    """
    sides = [kappas[positive].astype(np.float64), kappas[~positive].astype(np.float64)]
    means = [side.mean(axis=0) for side in sides]
    spreads = [side.var(axis=0, ddof=1) if len(side) > 1 else np.zeros(len(numbers)) for side in sides]
    return np.abs(means[0] - means[1]) / np.sqrt(spreads[0] + spreads[1] + 1e-9)


def first_maximum(values: Floats) -> int:
    """Position of the first of the largest values, up to rounding.

    Examples
    --------
    >>> first_maximum(np.array([0.1, 0.5, 0.5 + 1e-15]))
    1
    """
    return int(np.argmax(values >= values.max() - TIE * max(1.0, abs(float(values.max())))))


def variance_paths(training: Training, ranked: Ranked, numbers: Indices, options: PairOptions) -> list[Floats]:
    """Candidates and their t for each binary problem, (candidates, 2) each."""
    fitting = [possible(numbers, [[pairs]]) for pairs in ranked]
    kappas = [np.empty((len(training.source), len(some)), dtype=np.intp) for some in fitting]
    best = [int(some[-1]) for some in fitting]
    for rows, signs in _signs_by_problem(training.source, training.source.features, ranked, best, options):
        for out, own, some in zip(kappas, signs, fitting, strict=True):
            out[rows] = np.cumsum(own > 0, axis=1, dtype=np.intp)[:, some - 1]
    paths = []
    for (positive, negative), some, kappa in zip(training.binary.pairs, fitting, kappas, strict=True):
        own = training.codes >= 0 if negative is None else np.isin(training.codes, (positive, negative))
        paths.append(np.column_stack([some, by_variance(kappa[own], training.codes[own] == positive, some)]))
    return paths


def _signs_by_problem(
    source: Source, names: Names, ranked: Ranked, best: Sequence[int], options: PairOptions
) -> Iterator[tuple[slice, list[Array]]]:
    """Votes of the best pairs of each binary problem, (samples, pairs) each, in one pass over the samples."""
    columns = [np.column_stack([pairs.first, pairs.second])[:k] for pairs, k in zip(ranked, best, strict=True)]
    ends = np.cumsum([len(part) for part in columns])[:-1]
    for rows, votes in votes_of(source, np.concatenate(columns), names, skip=options.missing == "skip"):
        yield rows, np.split(votes.signs, ends, axis=1)


# Folds ----------------------------------------------------------------------------------------------------------------


def fold_of_samples(cv: Any, training: Training, seed: int) -> Indices:
    """Number of the fold that holds each sample out, (m,).

    Parameters
    ----------
    cv
        Number of stratified folds, a splitter of scikit-learn, or splits. Each sample is held out once.

    Raises
    ------
    InputError
        If a class has too few samples for the folds, or the test sets do not cover each sample once.
    """
    labels = training.classes[training.codes]
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        splits = [(train, test) for train, test, _ in Folds(labels, None, None, seed).outer(int(cv), 1)]
    else:
        splits = with_own_errors(lambda: list(check_cv(cv, labels, classifier=True).split(labels, labels)))
    fold = np.full(len(labels), -1, dtype=np.intp)
    for number, (train, test) in enumerate(splits):
        whole = len(train) + len(test) == len(np.union1d(train, test)) == len(labels)
        if not whole or (fold[test] >= 0).any():
            raise InputError("the test sets of cv must hold each sample out once, and train on all others")
        refuse_lacking(training, train, number)
        fold[test] = number
    if (fold < 0).any():
        raise InputError(f"cv never holds out sample number {int(np.flatnonzero(fold < 0)[0])}: each must be, once")
    return fold


def refuse_lacking(training: Training, train: Indices, number: int) -> None:
    """Refuse a split whose training samples lack a class."""
    absent = np.setdiff1d(training.codes, training.codes[train])
    if len(absent):
        raise InputError(
            f"the training samples of split number {number} have none of class {training.label(absent[0])!r}: give "
            "other splits, or leave the class out"
        )


@dataclass(frozen=True)
class HeldOut:
    """Decisions for held-out samples by the pairs of the other folds, for several k.

    Parameters
    ----------
    f, support
        Decisions, and sums of the scores of the agreeing pairs, (samples, numbers, problems).
    """

    f: Floats
    support: Floats


def held_out(
    training: Training, ranked: Sequence[Ranked], folds: Indices, numbers: Indices, options: PairOptions, weighted: bool
) -> HeldOut:
    """Decide each sample by the best k pairs of the folds that do not hold it, for several k at once."""
    f, support = np.empty((2, len(training.source), len(numbers), len(training.binary.pairs)))
    names = training.source.features
    for fold, of_fold in enumerate(ranked):
        test = np.flatnonzero(folds == fold)
        best, scores = [int(numbers[-1])] * len(of_fold), [pairs.score[: numbers[-1]] for pairs in of_fold]
        for rows, signs in _signs_by_problem(training.source.part(test), names, of_fold, best, options):
            for problem, (own, score) in enumerate(zip(signs, scores, strict=True)):
                f[test[rows], :, problem] = prefix_decisions(own, score if weighted else np.ones(len(score)), numbers)
                agreeing = np.cumsum(np.where(own > 0, score, 0.0), axis=1)
                support[test[rows], :, problem] = agreeing[:, numbers - 1]
    return HeldOut(f, support)


def cv_path(training: Training, found: HeldOut, folds: Indices, numbers: Indices, scoring: Any) -> Floats:
    """Candidates and their mean score over the folds, (candidates, 2)."""
    score = scoring if callable(scoring) else SCORINGS[one_of(scoring, "scoring", SCORINGS)]
    labels, parts = training.classes[training.codes], [folds == fold for fold in range(int(folds.max()) + 1)]
    means = np.empty(len(numbers))
    for place in range(len(numbers)):
        predicted = training.classes[training.decider.decide(found.f[:, place], found.support[:, place])]
        means[place] = np.mean([float(score(labels[part], predicted[part])) for part in parts])
    if not np.isfinite(means).all():
        k = int(numbers[~np.isfinite(means)][0])
        raise InputError(f"the mean score for k = {k} is not a finite number: give another scoring, or other folds")
    return np.column_stack([numbers, means])
