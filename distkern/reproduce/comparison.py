"""One protocol for all methods: the same folds, and parameters that inner folds of the training samples choose.

A `Question` is labelled samples and their splits. A `Method` predicts the test samples of a split. `held_out` gathers
the predictions of all splits, and `scores` and `gain` measure them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.typing import Array, Floats, Indices
from distkern.kernels.base import Kernel
from distkern.learners.folds import Folds, Nested
from distkern.learners.held_out import LEVEL, HeldOut
from distkern.learners.nested import JointEvaluation
from distkern.learners.selection import GRID, TIE
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC
from distkern.learners.top_pairs import KTopScoringPairs
from distkern.operators.array import ArrayGram
from distkern.reproduce.tables import REPEATED, Row

FOLDS = 5
"""Outer folds, and inner folds that choose parameters."""

DRAWS = 1000
"""Bootstrap samples of an interval."""

CLASSES = np.array([0, 1])
"""The labels."""

GAIN = ("gain", "gain_low", "gain_high")
"""Columns of `gain`."""

# Questions -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """Samples with labels 0 and 1, and how they are split.

    Parameters
    ----------
    name
        Its name in the table.
    setting
        ``"within"`` a cohort, ``"across"`` platforms, or ``"changed"``: within a cohort, test samples changed.
    X, y
        Samples (m, n) and labels (m,).
    repeats
        Splits of each repetition: training and test positions, and inner folds as positions within the training part.
    """

    name: str
    setting: str
    X: Floats
    y: Indices
    repeats: Sequence[Sequence[Nested]]

    @property
    def tested(self) -> Indices:
        """Positions of the samples that are tested, each once in a repetition."""
        return np.sort(np.concatenate([test for _, test, _ in self.repeats[0]]))


def within(name: str, X: Floats, y: Indices, repeats: int, seed: int) -> Question:
    """Repeated stratified folds of one cohort.

    Examples
    --------
    >>> question = within("two groups", np.arange(60.0).reshape(20, 3), np.repeat([0, 1], 10), 2, 0)
    >>> len(question.repeats), [len(test) for _, test, _ in question.repeats[0]]
    (2, [4, 4, 4, 4, 4])
    """
    splits = list(Folds(y, None, FOLDS, seed).outer(FOLDS, repeats))
    return Question(name, "within", X, y, [splits[start : start + FOLDS] for start in range(0, len(splits), FOLDS)])


def changed(name: str, cohort: Question, change: Callable[[Floats], Floats]) -> Question:
    """The same folds, where the test samples are changed, as another platform might do, and training samples are not.

    Examples
    --------
    >>> cohort = within("two groups", np.arange(60.0).reshape(20, 3), np.repeat([0, 1], 10), 1, 0)
    >>> question = changed("doubled", cohort, lambda X: 2 * X)
    >>> train, test, _ = question.repeats[0][0]
    >>> bool(train.max() < 20), bool((question.X[test] == 2 * cohort.X[test - 20]).all())
    (True, True)
    """
    m = len(cohort.y)
    repeats = [[(train, test + m, inner) for train, test, inner in splits] for splits in cohort.repeats]
    both = np.concatenate([cohort.X, change(cohort.X)])
    return Question(name, "changed", both, np.tile(cohort.y, 2), repeats)


def across(name: str, known: tuple[Floats, Indices], new: tuple[Floats, Indices], seed: int) -> Question:
    """One cohort trains, and all samples of the other are tested; inner folds divide the first.

    Examples
    --------
    >>> X, y = np.arange(60.0).reshape(20, 3), np.repeat([0, 1], 10)
    >>> ((train, test, inner),) = across("there", (X, y), (X[5:], y[5:]), 0).repeats[0]
    >>> len(train), test.tolist() == list(range(20, 35)), len(inner)
    (20, True, 5)
    """
    X, y = (np.concatenate(parts) for parts in zip(known, new, strict=True))
    is_new = np.arange(len(y)) >= len(known[1])
    return Question(name, "across", X, y, [[list(Folds(y, None, FOLDS, seed).leaving_out(is_new))[1]]])


# Methods -------------------------------------------------------------------------------------------------------------

Call = tuple[Array, Floats]
"""Predicted labels and decision values of the test samples of a split."""

Caller = Callable[[Nested], Call]
"""Trains on the training samples of a split, and predicts its test samples."""

Matrices = Callable[[Indices, Indices], Sequence[Floats]]
"""Training and test positions → a matrix between all samples (m, m) for each setting to choose from."""


@dataclass(frozen=True)
class Method:
    """A way to predict.

    Parameters
    ----------
    name
        Its name in the table.
    start
        Takes all samples (m, n) and labels (m,). The caller that it returns uses the samples of a split.
    """

    name: str
    start: Callable[[Floats, Indices], Caller]


def on_samples(name: str, *kernels: Kernel, of: Callable[[Floats], Floats] = np.asarray) -> Method:
    """A support vector machine on one of several kernels whose values depend on two samples only, computed once.

    Parameters
    ----------
    of
        What the kernels see of the samples; each row depends on its sample only.
    """

    def start(X: Floats, y: Indices) -> Caller:
        seen = of(X)
        matrices = [kernel(seen) for kernel in kernels]
        return lambda split: machine(matrices, y, split)

    return Method(name, start)


def on_training(name: str, matrices: Callable[[Floats, Indices, Indices], Sequence[Floats]]) -> Method:
    """A support vector machine on one of several matrices that also depend on the training samples of a split.

    Parameters
    ----------
    matrices
        Takes all samples and the training and test positions.
    """

    def start(X: Floats, y: Indices) -> Caller:
        return lambda split: machine(matrices(X, *split[:2]), y, split)

    return Method(name, start)


def top_pairs(name: str) -> Method:
    """The vote of the top-scoring pairs of features, whose number the training samples choose by its own rule."""

    def start(X: Floats, y: Indices) -> Caller:
        def call(split: Nested) -> Call:
            train, test, _ = split
            model = KTopScoringPairs().fit(X[train], y[train])
            return model.predict(X[test]), model.decision_function(X[test])

        return call

    return Method(name, start)


def machine(matrices: Sequence[Floats], y: Indices, split: Nested) -> Call:
    """Choose a matrix and C by the mean balanced accuracy of inner folds, train, and predict the test samples.

    Kernel values are centred and scaled to unit norm on training samples, and classes count alike. Of equal means the
    first matrix is taken, then the smallest C.
    """
    train, test, folds = split
    inner = [(train[a], train[b]) for a, b in folds]
    best, chosen = -1.0, (0, GRID[0])
    joints = []
    for number, K in enumerate(matrices):
        parts = KernelStandardizer(), KernelSVC(class_weight="balanced")
        joints.append(JointEvaluation(*parts, ArrayGram(K), y, CLASSES))
        found = joints[-1].scores(inner, [GRID] * len(inner))
        right = [
            [balanced(y[held], scores[:, 0] >= 0) for scores in of_fold]
            for (_, held), of_fold in zip(inner, found, strict=True)
        ]
        means = np.mean(right, axis=0)
        if means.max() > best + TIE:
            best, chosen = means.max(), (number, GRID[int(np.argmax(means >= means.max() - TIE))])
    decisions = joints[chosen[0]].scores([(train, test)], [[chosen[1]]])[0][0][:, 0]
    return (decisions >= 0).astype(np.intp), decisions


def z_scores(X: Floats, of: Indices) -> Floats:
    """Centre and scale each feature by the mean and the standard deviation of some samples; constant ones become 0.

    Examples
    --------
    >>> z_scores(np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 6.0]]), np.array([0, 1]))
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 3.,  0.]])
    """
    mean, deviation = X[of].mean(axis=0), X[of].std(axis=0)
    return np.divide(X - mean, deviation, out=np.zeros(X.shape), where=deviation > 0)


def own_deviation(X: Floats) -> Floats:
    """Divide each sample by its own standard deviation, so that a window has the same meaning on any scale.

    Examples
    --------
    >>> own_deviation(np.array([[1.0, 3.0], [10.0, 30.0]]))
    array([[1., 3.],
           [1., 3.]])
    """
    return X / X.std(axis=1, keepdims=True)


# Scores --------------------------------------------------------------------------------------------------------------


def held_out(question: Question, call: Caller) -> HeldOut:
    """Predictions for all tested samples of a question."""
    shape = (len(question.repeats), len(question.y))
    predicted, folds = np.full(shape, -1, dtype=np.intp), np.zeros(shape, dtype=np.intp)
    decisions = np.full((*shape, 1), np.nan)
    for repeat, splits in enumerate(question.repeats):
        for fold, split in enumerate(splits):
            predicted[repeat, split[1]], decisions[repeat, split[1], 0] = call(split)
            folds[repeat, split[1]] = fold
    found = HeldOut(tuple(CLASSES.tolist()), question.y, predicted, decisions, None, folds)
    return found.of_samples(question.tested)


def scores(found: HeldOut, seed: int) -> Row:
    """Balanced accuracy and area under the curve, each with a 95 % interval, and the former of each repetition."""
    table = found.scores(draws=DRAWS, seed=seed).set_index("score")
    row: Row = {}
    for name, score in (("balanced", "balanced accuracy"), ("auc", "auc")):
        value, low, high = map(float, table.loc[score, ["value", "low", "high"]])
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    if len(found.predicted) > 1:
        row |= {f"{REPEATED}{n}": balanced(found.truth, own) for n, own in enumerate(found.predicted, start=1)}
    return row


def compared(found: HeldOut, base: HeldOut, seed: int) -> Row:
    """Return `scores` and `gain`; there is no gain over itself."""
    return scores(found, seed) | (dict.fromkeys(GAIN) if found is base else gain(found, base, seed))


def gain(found: HeldOut, base: HeldOut, seed: int) -> Row:
    """By how much the balanced accuracy is above that of another method on the same samples, with a 95 % interval.

    The samples are drawn again within each class, and both methods with them.

    Examples
    --------
    >>> truth = np.array([0, 0, 1, 1])
    >>> right, wrong = (HeldOut((0, 1), truth, called[None], np.zeros((1, 4, 1))) for called in (truth, 1 - truth))
    >>> gain(right, wrong, 0)
    {'gain': 1.0, 'gain_low': 1.0, 'gain_high': 1.0}
    """
    mine, theirs = ((one.predicted == one.truth).mean(axis=0) for one in (found, base))
    rng = np.random.default_rng(seed)
    drawn, mean = np.zeros(DRAWS), 0.0
    for label in CLASSES:
        own = (mine - theirs)[found.truth == label]
        mean += own.mean() / 2
        drawn += own[rng.integers(len(own), size=(DRAWS, len(own)))].mean(axis=1) / 2
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return dict(zip(GAIN, (float(mean), float(low), float(high)), strict=True))


def balanced(truth: Indices, predicted: Array) -> float:
    """Mean over both classes of the part of their samples that is predicted rightly.

    Examples
    --------
    >>> balanced(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])).__round__(3)
    0.833
    """
    return float(np.mean([(predicted == truth)[truth == label].mean() for label in CLASSES]))


def about(question: Question) -> Row:
    """Name and setting of a question, and the numbers of tested samples, of positive ones, and of features."""
    truth: Any = question.y[question.tested]
    counts = {"samples": len(truth), "positive": int(truth.sum()), "features": question.X.shape[1]}
    return {"question": question.name, "setting": question.setting, **counts}
