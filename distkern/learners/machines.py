"""Classes decided by machines that tell two sides apart: all pairs of classes, or each class from the rest."""

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
class Machines:
    """The two-class problems that a problem of ``classes`` classes is made of.

    Parameters
    ----------
    classes
        Number of classes.
    against_rest
        Each class against the rest, and not all pairs of classes.

    Examples
    --------
    >>> Machines(3).sides
    [(0, 1), (0, 2), (1, 2)]
    >>> Machines(2).sides
    [(1, 0)]
    >>> Machines(3, against_rest=True).sides
    [(0, None), (1, None), (2, None)]
    """

    classes: int
    against_rest: bool = False

    @cached_property
    def sides(self) -> list[tuple[int, int | None]]:
        """Class of the positive side of each machine, and of its negative side: None for all others."""
        if self.classes == 2:
            return [(1, 0)]  # so that positive scores are those of the second class
        if self.against_rest:
            return [(positive, None) for positive in range(self.classes)]
        return list(combinations(range(self.classes), 2))

    def members(self, machine: int, codes: Indices) -> Indices:
        """Positions of the samples that a machine is trained on, given their classes by number."""
        positive, negative = self.sides[machine]
        return np.arange(len(codes)) if negative is None else np.flatnonzero((codes == positive) | (codes == negative))

    def problem(self, machine: int, codes: Indices, bounds: Floats, samples: Indices) -> tuple[Indices, Problem]:
        """Dual problem of a machine, and the positions of its variables among the samples given.

        Parameters
        ----------
        codes, bounds, samples
            Class, C and position in the Gram matrix of each training sample.
        """
        own = self.members(machine, codes)
        signs = np.where(codes[own] == self.sides[machine][0], 1.0, -1.0)
        return own, Problem(samples[own], signs, bounds[own], np.full(len(own), -1.0))

    def coefficients(self, codes: Indices, owns: Sequence[Indices], found: Sequence[Solution]) -> Floats:
        """Coefficients y α of all training samples in all machines, (samples, machines)."""
        out = np.zeros((len(codes), len(self.sides)))
        for machine, (own, solution) in enumerate(zip(owns, found, strict=True)):
            out[own, machine] = np.where(codes[own] == self.sides[machine][0], solution.alpha, -solution.alpha)
        return out

    # Decisions -------------------------------------------------------------------------------------------------------

    def decide(self, scores: Floats) -> Indices:
        """Class of each sample, from the scores of the machines, (samples, machines).

        The sign of two classes; the largest score against the rest; or the most votes of pairs, and among equal votes
        the class that comes first.
        """
        if self.classes == 2:
            return (scores[:, 0] >= 0).astype(np.intp)
        if self.against_rest:
            return scores.argmax(axis=1)
        votes = np.zeros((len(scores), self.classes), dtype=np.intp)
        for pair, (first, second) in enumerate(self.sides):
            votes[:, first] += scores[:, pair] > 0
            votes[:, second] += scores[:, pair] <= 0
        return votes.argmax(axis=1)

    def by_class(self, scores: Floats) -> Floats:
        """Scores of two classes, (samples,), or of each class, (samples, classes).

        Of pairs, the votes of each class plus c / (3 (|c| + 1)), where c sums the scores of the pairs the class is in.
        """
        if self.classes == 2:
            return scores[:, 0]
        if self.against_rest:
            return scores
        votes, confidence = np.zeros((2, len(scores), self.classes))
        for pair, (first, second) in enumerate(self.sides):
            votes[:, first] += scores[:, pair] >= 0
            votes[:, second] += scores[:, pair] < 0
            confidence[:, first] += scores[:, pair]
            confidence[:, second] -= scores[:, pair]
        return votes + confidence / (3 * (np.abs(confidence) + 1))

    # Probabilities ---------------------------------------------------------------------------------------------------

    def probabilities(self, scores: Floats, slopes: Floats, offsets: Floats) -> Floats:
        """Probability of each class, (samples, classes), from scores and each machine's `sigmoid`."""
        positive = expit(-(slopes * scores + offsets))
        if self.classes == 2:
            return np.column_stack([1 - positive[:, 0], positive[:, 0]])
        if self.against_rest:
            return positive / positive.sum(axis=1, keepdims=True)
        return self._coupled(np.clip(positive, 1e-7, 1 - 1e-7))

    def _coupled(self, of_first: Floats) -> Floats:
        """Probabilities p that fit those of all pairs best: min Σ_{i≠j} (r_ji p_i − r_ij p_j)², Σ p = 1.

        Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling", JMLR 5 (2004),
        the second method; r_ij is the probability of class i among i and j.
        """
        r = np.zeros((len(of_first), self.classes, self.classes))
        for pair, (first, second) in enumerate(self.sides):
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
    """A and B of P(positive | f) = 1 / (1 + exp(A f + B)), by maximum likelihood with Platt's targets.

    Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers (1999). With n₊ and
    n₋ samples, weights counted, the targets are (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2), so that no sample is certain.

    Examples
    --------
    >>> A, B = sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4))
    >>> A < 0, abs(B) < 1e-6
    (True, True)
    """
    many, few = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (many + 1) / (many + 2), 1 / (few + 2))
    unit = float(np.abs(scores).max()) or 1.0  # so that scores of any size take the same steps

    def loss(params: Floats) -> tuple[float, Floats]:
        z = -(params[0] * scores / unit + params[1])
        value = -(weights * (target * log_expit(z) + (1 - target) * log_expit(-z))).sum()
        pull = weights * (target - expit(z))
        return float(value), np.array([(pull * scores / unit).sum(), pull.sum()])

    found = minimize(loss, np.array([0.0, np.log((few + 1) / (many + 1))]), jac=True, method="BFGS")
    return float(found.x[0] / unit), float(found.x[1])
