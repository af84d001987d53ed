"""Base class of the estimators that choose pairs of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import flag, one_of
from distkern.core.sentences import Argument
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import counted
from distkern.engine.progress import progress_listener
from distkern.io.source import Source
from distkern.learners.base import SampleEstimator, delete_attribute
from distkern.learners.pair_selection import (
    HeldOut,
    PairOptions,
    Ranked,
    Training,
    candidates,
    cv_path,
    first_maximum,
    fold_of_samples,
    held_out,
    labelled,
    possible,
    ranked_pairs,
    refuse_too_few,
    variance_paths,
)
from distkern.learners.pair_votes import SHOWN
from distkern.learners.validation import fraction, labels_and_weights, samples_of
from distkern.pairs.codes import refuse_same_names, refuse_without_pairs


def compared_samples(estimator: SampleEstimator, X: Any) -> Source:
    """View training samples that have two features or more, each with its own name if they have names."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:  # scikit-learn would refuse them in other words
        refuse_same_names(tuple(map(str, X.columns)))
    source = estimator._samples(X, reset=True)
    refuse_without_pairs(source)
    return source


class PairEstimator(SampleEstimator):
    """An estimator that chooses pairs of features that tell classes apart.

    A subclass has the parameters of `KTopScoringPairs` that choose pairs.
    """

    k: Any
    classes_: Array
    pairs_: Indices
    scores_: Floats
    problem_: Indices
    n_pairs_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing == "skip"
        return tags

    def _options(self) -> PairOptions:
        names = PairOptions.__dataclass_fields__
        return PairOptions(**{name: getattr(self, name) for name in names if hasattr(self, name)})

    def _check(self) -> None:
        """Validate the parameters that the engine does not."""
        given: dict[str, Any] = self.get_params(deep=False)
        for name, words in {
            "missing": ("error", "skip"),
            "absent": ("error", "abstain"),
            "multi_class": ("ovr", "ovo"),
            "rest": ("pooled", "mean"),
            "group_agg": ("mean", "min"),
            "weights": ("none", "score"),
        }.items():
            if name in given:
                one_of(given[name], name, words)
        for name in ("disjoint", "calibrate"):
            if name in given:
                flag(given[name], name)
        for name in ("min_observed", "min_pairs"):
            if name in given:
                fraction(given[name], name)

    def _train(self, X: Any, y: Any, groups: Any) -> Training:
        """Validate samples, labels and groups, and set the attributes that describe features and classes."""
        self._check()
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give a label for each sample"
            )
        source = compared_samples(self, X)
        samples = samples_of(X)
        labels, _, _ = labels_and_weights(y, None, samples)
        training = labelled(source, samples, labels, groups, getattr(self, "multi_class", "ovr"))
        self.classes_, self.class_count_ = training.classes, training.sizes
        return training

    def _choose(self, training: Training) -> HeldOut | None:
        """Choose the pairs; return the decisions for held-out samples for the chosen k, if they are calibrated."""
        options, numbers = self._options(), candidates(self.k, getattr(self, "k_range", None))
        varied = isinstance(self.k, str) and self.k == "variance"
        folded = len(numbers) > 1 and not varied
        calibrated = getattr(self, "calibrate", False)
        folds = self._folds(training, folded) if folded or calibrated else None
        listener = progress_listener(getattr(self, "progress", False))
        left_out = [[], *([fold] for fold in range(0 if folds is None else int(folds.max()) + 1))]
        whole, *without = ranked_pairs(training, options, int(numbers[-1]), listener, folds, left_out)
        refuse_too_few(training, whole, 1 if isinstance(self.k, str) else int(numbers[0]), options.disjoint)
        fitting = possible(numbers, [whole, *without] if folded else [whole])
        chosen = np.full(len(whole), fitting[0])
        weighted = getattr(self, "weights", "none") == "score"
        delete_attribute(self, "k_path_")
        if varied:
            paths = variance_paths(training, whole, numbers, options)
            chosen = np.array([int(path[first_maximum(path[:, 1]), 0]) for path in paths])
            self.k_path_: Any = paths[0] if len(paths) == 1 else paths
        elif folded:
            assert folds is not None
            found = held_out(training, without, folds, fitting, options, weighted)
            self.k_path_ = cv_path(training, found, folds, fitting, self.scoring)
            chosen[:] = fitting[first_maximum(self.k_path_[:, 1])]
        self._set_pairs(training, whole, chosen)
        if not calibrated:
            return None
        assert folds is not None
        return held_out_chosen(training, without, folds, chosen, options, weighted)

    def _folds(self, training: Training, folded: bool) -> Indices:
        """Folds that choose k, or calibrate; as few for calibration as the smallest class allows."""
        cv: Any = self.cv
        if not folded and isinstance(cv, (int, np.integer)) and cv > 2:
            cv = max(2, min(int(cv), int(training.sizes.min())))
        return fold_of_samples(cv, training, self.random_state)

    def _set_pairs(self, training: Training, ranked: Ranked, chosen: Indices) -> None:
        """Set the attributes of the chosen pairs, problem after problem, the best first."""
        parts = [(pairs, slice(min(int(k), len(pairs)))) for pairs, k in zip(ranked, chosen, strict=True)]
        first, second, scores, secondary = (
            np.concatenate([getattr(pairs, name)[part] for pairs, part in parts])
            for name in ("first", "second", "score", "secondary")
        )
        sizes = np.array([part.stop for _, part in parts], dtype=np.intp)
        self.pairs_ = np.column_stack([first, second])
        self.scores_, self.secondary_ = scores, secondary
        self.problem_ = np.repeat(np.arange(len(sizes)), sizes)
        self.n_pairs_ = int(sizes[0]) if len(sizes) == 1 else sizes
        names = training.source.features
        known = np.array([str(k) for k in range(self.n_features_in_)] if names is None else names, dtype=object)
        self.pair_names_ = known[self.pairs_]

    # Prediction --------------------------------------------------------------------------------------------------

    def _placed(self, X: Any) -> tuple[Source, Indices]:
        """View new samples, and find the features of the training samples among theirs: positions, −1 where absent.

        Raises
        ------
        InputError
            If a feature of a pair is absent, unless its pairs may abstain.
        """
        source, places = self._found_by_name(X)
        columns = places[self.pairs_]
        if (columns < 0).any() and self.absent == "error":
            lacking = dict.fromkeys(self.pair_names_[columns < 0].tolist())
            named = ", ".join(map(repr, list(lacking)[:SHOWN])) + (", …" if len(lacking) > SHOWN else "")
            cost = int((columns < 0).any(axis=1).sum())
            raise InputError(
                "X lacks {features} that {cost} of {pairs} pairs compare ({named}): add them, or give {absent}, "
                "so that these pairs do not vote",
                features=counted(len(lacking), "feature"),
                cost=cost,
                pairs=len(columns),
                named=named,
                absent=Argument("absent", "abstain"),
            )
        return source, places


def held_out_chosen(
    training: Training, ranked: list[Ranked], folds: Indices, chosen: Indices, options: PairOptions, weighted: bool
) -> HeldOut:
    """Decide held-out samples by as many pairs for each problem as were chosen for it, (samples, 1, problems)."""
    most = int(possible(chosen.max(keepdims=True), ranked)[0])
    numbers = np.unique(np.minimum(chosen, most))
    found = held_out(training, ranked, folds, numbers, options, weighted)
    places = np.searchsorted(numbers, np.minimum(chosen, most))[None, None, :]
    f, support = (np.take_along_axis(part, places, axis=1) for part in (found.f, found.support))
    return HeldOut(f, support)
