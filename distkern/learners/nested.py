"""Nested cross-validation of support vector classifiers: all folds and values of C in joint passes over one matrix.

Each fold is a lazy view of the matrix, centred and scaled on its own training samples. One matrix product, with a
column for each fold, gives the means of all folds. All dual problems share the matrix in memory, or each pass over it,
with warm starts along C. One more product gives the scores of all test samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from distkern.core.errors import MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Array, Floats, Indices
from distkern.learners.folds import Split
from distkern.learners.memory import memory_allowed
from distkern.learners.multiclass import BinaryProblems
from distkern.learners.standardizer import KernelStandardizer
from distkern.learners.svm import KernelSVC, warn_unless_converged
from distkern.learners.validation import class_weights
from distkern.operators.base import BaseGram, CenteredGram
from distkern.solvers.dual import Problem, Solution
from distkern.solvers.smo import solve
from distkern.solvers.working_set import vector_bytes

VECTORS_SHARE = 4
"""The vectors of the folds that are solved together take at most 1/4 of the memory."""


def standardizer_and_classifier(model: Any) -> tuple[KernelStandardizer | None, KernelSVC] | None:
    """Parts of a model that `JointEvaluation` can evaluate; None for any other model."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    if not 1 <= len(steps) <= 2 or type(steps[-1]) is not KernelSVC or steps[-1].probability:
        return None
    head = steps[0] if len(steps) == 2 else None
    if head is not None and type(head) is not KernelStandardizer:
        return None
    kernels = [step.kernel for step in steps]
    return (head, steps[-1]) if all(isinstance(kernel, str) and kernel == "precomputed" for kernel in kernels) else None


@dataclass(frozen=True, eq=False)
class Fold:
    """A split with the statistics of its training samples.

    Parameters
    ----------
    train, test
        Positions of the training and test samples.
    means
        Mean kernel value of each sample, training samples first, with the training samples.
    grand
        Mean kernel value between the training samples.
    norms
        Norm of each sample after centring, training samples first.
    """

    train: Indices
    test: Indices
    means: Floats
    grand: float
    norms: Floats

    def problems(
        self, binary: BinaryProblems, codes: Indices, weights: Floats, C: Sequence[float]
    ) -> list[list[Problem]]:
        """Dual problems: a chain with ascending C for each binary problem."""
        count = len(self.train)
        chains = []
        for problem in range(len(binary.pairs)):
            own, unit = binary.dual(problem, codes[self.train], weights, self.train)
            view = (self.means[:count][own], self.grand, self.norms[:count][own])
            chains.append(
                [Problem(unit.samples, unit.signs, value * unit.bounds, unit.linear, None, *view) for value in C]
            )
        return chains

    def scores(self, product: Floats, coefficients: Floats, offsets: Floats) -> Floats:
        """Scores of the test samples, from the product of their kernel values with the scaled coefficients."""
        count = len(self.train)
        total, shift = coefficients.sum(axis=0), self.means[:count] @ coefficients
        centered = product - np.multiply.outer(self.means[count:], total) - shift + self.grand * total
        return centered / self.norms[count:, None] - offsets


class JointEvaluation:
    """Fits a model on many splits of one matrix in joint passes, and scores the test samples.

    Parameters
    ----------
    head, classifier
        Parts of the model, see `standardizer_and_classifier`.
    gram
        Symmetric Gram matrix (m, m).
    codes, classes
        Class number of each sample, and the labels of the classes.
    """

    def __init__(
        self, head: KernelStandardizer | None, classifier: KernelSVC, gram: BaseGram, codes: Indices, classes: Array
    ) -> None:
        classifier._check()
        self._head, self._classifier, self._gram, self._codes, self._classes = head, classifier, gram, codes, classes
        self.binary = BinaryProblems(len(classes), classifier.multi_class == "ovr")
        self._memory = memory_allowed(classifier.memory_limit)

    def folds_at_once(self, models: int) -> int:
        """Number of folds, with ``models`` values of C each, whose vectors fit in memory together.

        Raises
        ------
        MemoryLimitError
            If a single fold does not fit.
        """
        m = len(self._gram)
        of_fold = vector_bytes(m, m, models * len(self.binary.pairs))
        if of_fold > self._memory:
            raise MemoryLimitError(
                "evaluating {values} values of C on {samples:,} samples needs {needed:,} bytes of memory at least and "
                "{allowed:,} are allowed: choose from fewer values{limit}",
                values=models,
                samples=m,
                needed=of_fold,
                allowed=self._memory,
                limit=OptionalPart(", or raise {memory_limit}", memory_limit=Parameter("memory_limit")),
            )
        return max(1, self._memory // (VECTORS_SHARE * of_fold))

    def scores(self, splits: Sequence[Split], C: Sequence[Sequence[float]]) -> list[Floats]:
        """Scores of the test samples of each split, (values of C, test samples, binary problems).

        Parameters
        ----------
        splits
            Training and test positions.
        C
            Values for each split, ascending.
        """
        folds = self._folds(splits)
        chains, counts = [], []
        for fold, values in zip(folds, C, strict=True):
            labels = self._classes[self._codes[fold.train]]
            by_class = class_weights(self._classifier.class_weight, self._classes, labels)
            chains += fold.problems(self.binary, self._codes, by_class[self._codes[fold.train]], values)
            counts.append(len(values))
        return self._test_scores(folds, self._solve(chains), counts)

    def _folds(self, splits: Sequence[Split]) -> list[Fold]:
        """Statistics of the training samples of all splits, by one matrix product."""
        head, gram = self._head, self._gram
        center, unit_norm = (False, False) if head is None else (head.center, head.unit_norm)
        means, grand = np.zeros((len(gram), len(splits))), np.zeros(len(splits))
        if center:
            shares = np.zeros((len(gram), len(splits)))
            for column, (train, _) in enumerate(splits):
                shares[train, column] = 1 / len(train)
            means = gram.matmat(shares)
            grand = np.einsum("if,if->f", shares, means)
        folds = []
        for column, (train, test) in enumerate(splits):
            both = np.concatenate([train, test])
            of_both, norms = means[both, column], np.ones(len(both))
            if unit_norm:
                part: BaseGram = gram[np.ix_(both, both)]
                part = CenteredGram(part, of_both, of_both, float(grand[column])) if center else part
                norms = part.unit_norm().row_norms
            folds.append(Fold(train, test, of_both, float(grand[column]), norms))
        return folds

    def _solve(self, chains: list[list[Problem]]) -> list[list[Solution]]:
        model = self._classifier
        found = solve(
            self._gram,
            chains,
            memory=self._memory,
            tol=model.tol,
            max_iter=model.max_iter,
            max_passes=model.max_passes,
        )
        warn_unless_converged([solution for chain in found for solution in chain], model.tol)
        return found

    def _test_scores(self, folds: Sequence[Fold], found: list[list[Solution]], values: Sequence[int]) -> list[Floats]:
        """Scores of the test samples, by one product with a column for each binary problem of each model."""
        count = len(self.binary.pairs)
        blocks, offsets = [], []
        for number, (fold, models) in enumerate(zip(folds, values, strict=True)):
            chains = found[number * count : (number + 1) * count]
            codes = self._codes[fold.train]
            owns = [self.binary.members(problem, codes) for problem in range(count)]
            of_models = [[chain[model] for chain in chains] for model in range(models)]
            parts = [self.binary.coefficients(codes, owns, solutions) for solutions in of_models]
            blocks.append(np.concatenate(parts, axis=1) / fold.norms[: len(codes), None])
            offsets.append(np.array([solution.offset for solutions in of_models for solution in solutions]))
        operand = np.zeros((len(self._gram), sum(block.shape[1] for block in blocks)))
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        for fold, block, start, stop in zip(folds, blocks, ends, ends[1:], strict=False):
            operand[fold.train, start:stop] = block
        product = self._gram.matmat(operand)
        out = []
        for number, fold in enumerate(folds):
            part = product[fold.test, ends[number] : ends[number + 1]]
            scores = fold.scores(part, blocks[number], offsets[number])
            out.append(scores.reshape(len(fold.test), values[number], count).transpose(1, 0, 2))
        return out


def nested_scores(
    joint: JointEvaluation,
    codes: Indices,
    splits: Sequence[tuple[Indices, Indices, list[Split]]],
    grid: Sequence[float],
    choose: Callable[[Floats], int],
) -> Iterator[tuple[Floats, float, tuple[Indices, Floats] | None]]:
    """Scores of the test samples of each outer split, the C chosen by its inner splits, and what these held out.

    The latter are the positions and the scores, at the chosen C, of the test samples of the inner splits; None if there
    are no inner splits.

    Parameters
    ----------
    codes
        Class number of each sample.
    splits
        Training and test positions of the outer splits, and their inner splits as positions within the training part.
    grid
        Values of C, ascending.
    choose
        Function that returns the best row of the accuracies (values of C, inner splits).
    """
    inner = max(1, len(splits[0][2]))
    at_once = max(1, joint.folds_at_once(len(grid)) // inner)
    for start in range(0, len(splits), at_once):
        part = splits[start : start + at_once]
        within = [(train[a], train[b]) for train, _, folds in part for a, b in folds]
        chosen = [grid[0]] * len(part)
        inside: list[tuple[Indices, Floats] | None] = [None] * len(part)
        if within:
            found = joint.scores(within, [grid] * len(within))
            accuracies = [
                [np.mean(joint.binary.decide(scores) == codes[test]) for scores in of_fold]
                for (_, test), of_fold in zip(within, found, strict=True)
            ]
            by_outer = np.reshape(accuracies, (len(part), inner, len(grid)))
            places = [choose(accuracy.T) for accuracy in by_outer]
            chosen = [grid[place] for place in places]
            for number, place in enumerate(places):
                own = slice(number * inner, (number + 1) * inner)
                samples = np.concatenate([test for _, test in within[own]])
                inside[number] = samples, np.concatenate([of_fold[place] for of_fold in found[own]])
        outer = [(train, test) for train, test, _ in part]
        of_outer = joint.scores(outer, [[value] for value in chosen])
        for scores, value, held_out in zip(of_outer, chosen, inside, strict=True):
            yield scores[0], value, held_out
