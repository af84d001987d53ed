"""Multi-class classification by binary classifiers: one for each pair of classes, or one-vs-rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from distkern.core.typing import Array, Floats, Indices
from distkern.solvers.dual import Problem, Solution


@dataclass(frozen=True)
class BinaryProblems:
    """The binary problems of a problem with ``classes`` classes.

    Parameters
    ----------
    classes
        Number of classes.
    one_vs_rest
        Whether each class is separated from the rest; by default each pair of classes is separated (one-vs-one).

    Examples
    --------
    >>> BinaryProblems(3).pairs
    [(0, 1), (0, 2), (1, 2)]
    >>> BinaryProblems(2).pairs
    [(1, 0)]
    >>> BinaryProblems(3, one_vs_rest=True).pairs
    [(0, None), (1, None), (2, None)]
    """

    classes: int
    one_vs_rest: bool = False

    @cached_property
    def pairs(self) -> list[tuple[int, int | None]]:
        """Positive and negative class of each problem; None stands for all other classes."""
        if self.classes == 2:
            return [(1, 0)]  # scikit-learn's convention: a positive score means the second class
        if self.one_vs_rest:
            return [(positive, None) for positive in range(self.classes)]
        return list(combinations(range(self.classes), 2))

    def members(self, problem: int, codes: Indices) -> Indices:
        """Positions of the training samples of a problem; ``codes`` are the class numbers of all samples."""
        positive, negative = self.pairs[problem]
        return np.arange(len(codes)) if negative is None else np.flatnonzero((codes == positive) | (codes == negative))

    def dual(self, problem: int, codes: Indices, bounds: Floats, samples: Indices) -> tuple[Indices, Problem]:
        """Positions of the training samples of a problem, and its dual problem.

        Parameters
        ----------
        codes, bounds, samples
            Class number, C and position in the Gram matrix of each training sample.
        """
        own = self.members(problem, codes)
        signs = np.where(codes[own] == self.pairs[problem][0], 1.0, -1.0)
        return own, Problem(samples[own], signs, bounds[own], np.full(len(own), -1.0))

    def coefficients(self, codes: Indices, owns: Sequence[Indices], found: Sequence[Solution]) -> Floats:
        """Coefficients y α of all training samples in all problems, (samples, problems)."""
        out = np.zeros((len(codes), len(self.pairs)))
        for problem, (own, solution) in enumerate(zip(owns, found, strict=True)):
            out[own, problem] = np.where(codes[own] == self.pairs[problem][0], solution.alpha, -solution.alpha)
        return out

    # Decisions -------------------------------------------------------------------------------------------------------

    def decide(self, scores: Floats) -> Indices:
        """Class number of each sample, from the scores (samples, problems).

        Two classes: the sign. One-vs-rest: the largest score. One-vs-one: the most votes; ties go to the first class.
        """
        if self.classes == 2:
            return (scores[:, 0] >= 0).astype(np.intp)
        if self.one_vs_rest:
            return scores.argmax(axis=1)
        votes = np.zeros((len(scores), self.classes), dtype=np.intp)
        for pair, (first, second) in enumerate(self.pairs):
            votes[:, first] += scores[:, pair] > 0
            votes[:, second] += scores[:, pair] <= 0
        return votes.argmax(axis=1)

    def by_class(self, scores: Floats) -> Floats:
        """Decision values: (samples,) for two classes, else (samples, classes).

        One-vs-one: the votes of each class plus c / (3 (|c| + 1)), where c is the sum of the scores of its pairs.
        """
        if self.classes == 2:
            return scores[:, 0]
        if self.one_vs_rest:
            return scores
        votes, confidence = np.zeros((2, len(scores), self.classes))
        for pair, (first, second) in enumerate(self.pairs):
            votes[:, first] += scores[:, pair] >= 0
            votes[:, second] += scores[:, pair] < 0
            confidence[:, first] += scores[:, pair]
            confidence[:, second] -= scores[:, pair]
        return votes + confidence / (3 * (np.abs(confidence) + 1))

    # Probabilities ---------------------------------------------------------------------------------------------------

    def probabilities(self, scores: Floats, slopes: Floats, offsets: Floats) -> Floats:
        """Class probabilities (samples, classes), from the scores and the `sigmoid` parameters of each problem."""
        positive = expit(-(slopes * scores + offsets))
        if self.classes == 2:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        if self.one_vs_rest:
            return positive / positive.sum(axis=1, keepdims=True)
        return self._coupled(np.clip(positive, 1e-7, 1 - 1e-7))

    def _coupled(self, of_first: Floats) -> Floats:
        """Pairwise coupling: min Σ_{i≠j} (r_ji p_i − r_ij p_j)² subject to Σ p = 1.

        Here r_ij is the probability of class i among the classes i and j. Wu, Lin and Weng, "Probability estimates for
        multi-class classification by pairwise coupling", JMLR 5 (2004), second method.
        """
        r = np.zeros((len(of_first), self.classes, self.classes))
        for pair, (first, second) in enumerate(self.pairs):
            assert second is not None
            r[:, first, second], r[:, second, first] = of_first[:, pair], 1 - of_first[:, pair]
        system = np.ones((len(r), self.classes + 1, self.classes + 1))
        inner = -r * r.transpose(0, 2, 1)
        inner[:, np.arange(self.classes), np.arange(self.classes)] = (r**2).sum(axis=1)
        system[:, :-1, :-1] = inner
        system[:, -1, -1] = 0.0
        right = np.zeros((len(r), self.classes + 1, 1))
        right[:, -1] = 1.0
        out = np.clip(np.linalg.solve(system, right)[:, :-1, 0], 0.0, 1.0)
        return out / out.sum(axis=1, keepdims=True)


def sigmoid(scores: Floats, positive: Array, weights: Floats) -> tuple[float, float]:
    """A and B of P(positive | f) = 1 / (1 + exp(A f + B)), fitted by maximum likelihood with Platt's targets.

    With n₊ and n₋ the weighted numbers of positive and negative samples, the targets are (n₊ + 1) / (n₊ + 2) and
    1 / (n₋ + 2), which keeps A finite for separable scores. Platt, "Probabilistic outputs for support vector machines",
    Advances in Large Margin Classifiers (1999).

    Examples
    --------
    >>> A, B = sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4))
    >>> A < 0, abs(B) < 1e-6
    (True, True)
    """
    n_positive, n_negative = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    unit = float(np.abs(scores).max()) or 1.0  # makes the optimiser's steps independent of the scale of the scores

    def loss(params: Floats) -> tuple[float, Floats]:
        z = -(params[0] * scores / unit + params[1])
        value = -(weights * (target * log_expit(z) + (1 - target) * log_expit(-z))).sum()
        gradient = weights * (target - expit(z))
        return float(value), np.array([(gradient * scores / unit).sum(), gradient.sum()])

    found = minimize(loss, np.array([0.0, np.log((n_negative + 1) / (n_positive + 1))]), jac=True, method="BFGS")
    return float(found.x[0] / unit), float(found.x[1])
