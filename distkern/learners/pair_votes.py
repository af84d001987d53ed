"""Votes of pairs of features, and the decisions, classes and probabilities that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from distkern.core.errors import InputError, SampleError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names, are_constant, name_of
from distkern.io.source import Source
from distkern.kernels.pair_agreement import pair_signs
from distkern.learners.memory import row_blocks
from distkern.learners.multiclass import BinaryProblems

SHOWN = 5
"""Most names of samples or features that a message lists."""


@dataclass(frozen=True)
class Votes:
    """Votes of pairs in some samples.

    Parameters
    ----------
    signs
        +1 where x_first < x_second, −1 where x_first > x_second, else 0; (samples, pairs) int8.
    observed
        Whether both values are there, (samples, pairs).
    constant
        Whether all values of a sample are equal, also of features in no pair, (samples,).
    """

    signs: Array
    observed: Array
    constant: Array | None = None


def votes_of(source: Source, columns: Indices, features: Names, *, skip: bool) -> Iterator[tuple[slice, Votes]]:
    """Votes of pairs in all samples, block by block.

    Parameters
    ----------
    source
        The samples.
    columns
        Positions in the source of the two features of each pair, (pairs, 2); −1 for a feature that it lacks.
    features
        Names of the features of the source, for messages.
    skip
        Whether a missing value makes a pair abstain. Otherwise it is refused.

    Raises
    ------
    SampleError
        At the first missing value of a feature in a pair, unless they are skipped.
    """
    used, places = np.unique(columns, return_inverse=True)
    first, second = places.reshape(columns.shape).T
    for rows in row_blocks(len(source), source.shape[1]):
        whole = source.read(rows)
        values = np.ascontiguousarray(whole[:, used])
        values[:, used < 0] = np.nan
        lacking = np.isnan(values)
        if not skip:
            refuse_missing(lacking[:, used >= 0], rows.start, source.ids, used[used >= 0], features)
        observed = ~(lacking[:, first] | lacking[:, second])
        yield rows, Votes(pair_signs(values, first, second), observed, are_constant(whole))


def refuse_missing(lacking: Array, start: int, ids: Names, used: Indices, features: Names) -> None:
    """Refuse the first missing value. The rows are the samples from ``start`` on, the columns the features ``used``."""
    found = np.argwhere(lacking)
    if len(found):
        row, column = found[0].tolist()
        raise SampleError(
            "sample {sample} has no value (NaN) for feature {feature}, which pairs compare: fill it in{skip}",
            start + row,
            sample=name_of(start + row, ids),
            feature=name_of(int(used[column]), features),
            skip=OptionalPart(", or set {missing}'skip', so that its pairs abstain", missing=Parameter("missing")),
        )


# Decisions -----------------------------------------------------------------------------------------------------------


def decisions(votes: Votes, weights: Floats, starts: Indices, min_pairs: float) -> Floats:
    """Decide by f = Σ w v / Σ w abs(v) over the pairs of each problem, (samples, problems); 0 where no pair votes.

    Parameters
    ----------
    weights
        w of each pair, (pairs,).
    starts
        Number of the first pair of each problem; the pairs of a problem are neighbours.
    min_pairs
        Least fraction of the pairs of a problem whose values must both be there; f is NaN below it.

    Examples
    --------
    >>> votes = Votes(np.array([[1, 1, -1], [1, 0, 0]], np.int8), np.array([[True] * 3, [True, False, False]]))
    >>> decisions(votes, np.ones(3), np.array([0]), 0.5)
    array([[0.33333333],
           [       nan]])
    """
    signed = votes.signs * weights
    total, cast = (np.add.reduceat(part, starts, axis=1) for part in (signed, np.abs(signed)))
    f = np.divide(total, cast, out=np.zeros_like(total), where=cast > 0)
    sizes = np.diff([*starts, len(weights)])
    there = np.add.reduceat(votes.observed, starts, axis=1, dtype=np.intp)
    f[there / sizes < min_pairs] = np.nan
    return f


def agreeing(votes: Votes, scores: Floats, starts: Indices) -> Floats:
    """Sum of the scores of the pairs that vote for the positive class of each problem, (samples, problems)."""
    return np.add.reduceat(np.where(votes.signs > 0, scores, 0.0), starts, axis=1)


def prefix_decisions(signs: Array, weights: Floats, numbers: Indices) -> Floats:
    """Decisions f of the best k pairs for several k, (samples, numbers), from the votes of pairs in rank order.

    Examples
    --------
    >>> prefix_decisions(np.array([[1, 1, -1]], np.int8), np.ones(3), np.array([1, 3]))
    array([[1.        , 0.33333333]])
    """
    signed = signs * weights
    total, cast = (np.cumsum(part, axis=1)[:, numbers - 1] for part in (signed, np.abs(signed)))
    return np.divide(total, cast, out=np.zeros_like(total), where=cast > 0)


@dataclass(frozen=True)
class Decider:
    """Turns decisions of binary problems into classes.

    Parameters
    ----------
    binary
        The problems.
    sizes
        Number of training samples of each class, which decide draws.
    """

    binary: BinaryProblems
    sizes: Indices

    @property
    def draw(self) -> int:
        """The class of two to which a draw goes: the larger one, the first if they are equal."""
        return int(self.sizes[1] > self.sizes[0])

    def decide(self, f: Floats, support: Floats) -> Indices:
        """Class number of each sample.

        Two classes: the sign of f; 0 is a draw. One-vs-rest: the largest f; where it is equal, the largest support,
        then the first class. One-vs-one: the most problems won, where a draw is half a win for both; then the largest
        sum of f.

        Parameters
        ----------
        f, support
            Decisions and sums of the scores of the agreeing pairs, (samples, problems).
        """
        if self.binary.classes == 2:
            return np.where(f[:, 0] == 0, self.draw, f[:, 0] > 0).astype(np.intp)
        if self.binary.one_vs_rest:
            best = f == f.max(axis=1, keepdims=True)
            return np.where(best, support, -1.0).argmax(axis=1)
        return self._tallied(f).argmax(axis=1)

    def by_class(self, f: Floats, support: Floats) -> Floats:
        """Decision values: f for two classes, (samples,), else a value for each class, (samples, classes).

        One-vs-rest: f, where the class that wins among equal ones is raised by the last bit. One-vs-one: the number of
        problems won, plus c / (3 (abs(c) + 1)) with c the sum of f.
        """
        if self.binary.classes == 2:
            return f[:, 0]
        return raised(f, self.decide(f, support)) if self.binary.one_vs_rest else self._tallied(f)

    def _tallied(self, f: Floats) -> Floats:
        won, sums = np.zeros((2, len(f), self.binary.classes))
        for problem, (first, second) in enumerate(combinations(range(self.binary.classes), 2)):
            own = f[:, problem]
            won[:, first] += np.where(own == 0, 0.5, own > 0)
            won[:, second] += np.where(own == 0, 0.5, own < 0)
            sums[:, first] += own
            sums[:, second] -= own
        return won + sums / (3 * (np.abs(sums) + 1))

    def probabilities(self, f: Floats, support: Floats) -> Floats:
        """Shares of the votes as probabilities, (samples, classes): (1 + f)/2, scaled to sum 1 over the classes.

        Where the largest is shared, that of the class that `decide` chooses is raised by the last bit.
        """
        if self.binary.classes == 2:
            p = np.column_stack([(1 - f[:, 0]) / 2, (1 + f[:, 0]) / 2])
        elif self.binary.one_vs_rest:
            p = (1 + f) / 2
        else:
            p = np.zeros((len(f), self.binary.classes))
            for problem, (first, second) in enumerate(combinations(range(self.binary.classes), 2)):
                p[:, first] += (1 + f[:, problem]) / 2
                p[:, second] += (1 - f[:, problem]) / 2
        total = p.sum(axis=1, keepdims=True)
        p = np.divide(p, total, out=np.full_like(p, 1 / self.binary.classes), where=total != 0)
        return raised(p, self.decide(f, support))


def raised(values: Floats, chosen: Indices) -> Floats:
    """Values (samples, classes) whose largest one is in the chosen column: equal ones are raised by the last bit.

    Examples
    --------
    >>> raised(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([1, 1])).argmax(axis=1).tolist()
    [1, 1]
    """
    out, rows = values.copy(), np.arange(len(values))
    tied = (values == values.max(axis=1, keepdims=True)).sum(axis=1) > 1
    own = values[rows, chosen]
    out[rows, chosen] = np.where(tied & (own == values.max(axis=1)), np.nextafter(own, np.inf), own)
    return out


def refuse_undecided(f: Floats, ids: Names, min_pairs: float) -> None:
    """Refuse samples for which too few pairs have both values.

    Raises
    ------
    InputError
        Names the first samples.
    """
    lacking = np.flatnonzero(np.isnan(f).any(axis=1))
    if len(lacking):
        named = ", ".join(name_of(int(row), ids) for row in lacking[:SHOWN]) + (", …" if len(lacking) > SHOWN else "")
        raise InputError(
            "{count:,} of {total:,} samples have values for too few pairs to be classified ({named}): give the missing "
            "features, or leave these samples out{lower}",
            count=len(lacking),
            total=len(f),
            named=named,
            lower=OptionalPart(", or lower {least}{value:g}", least=Parameter("min_pairs"), value=min_pairs),
        )
