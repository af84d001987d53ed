"""Slides on SUQUAN, "Experiments: simulations": labels that depend on values whose distribution has been corrupted.

f* holds the quantiles of a distribution, each sample is a random permutation of f*, and P(y = 1 | x) = 1/(1 + e^{−wᵀx})
with w ~ N(0, I). A model sees only the ranks, and starts from the quantiles of another distribution. It keeps these
(``fixed``), or learns a target from them (``bnd``, ``spav``), or from labels alone (``svd``); ``known`` is the model
that is told f*. In the slides f* is normal. Quantiles of the uniform and the normal distribution correlate with 0.98,
so that a normal f* is nearly found by a straight line; here f* is exponential and bimodal too.

All quantiles are centred and scaled to a variance of 1, so that λ means the same for all of them. λ (and γ of ``spav``)
is the best on a validation set as large as the training set; the test samples choose nothing. Targets are learned in
one iteration, as in the slides.

    distkern reproduce suquan-simulation --out docs/figures/suquan-simulation.csv
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from distkern.core.typing import Floats, Indices
from distkern.kernels.quantile_targets import target_by_formula
from distkern.learners.suquan import SUQUANClassifier
from distkern.reproduce.tables import REPEATED, Row, read_rows
from distkern.store.ranks import RankStore

TRUTHS = ("normal", "exponential", "bimodal")
"""Distributions of f*; the first is that of the slides."""

STARTS = ("cauchy", "exponential", "uniform", "bimodal", "normal")
"""Distributions to start from; that of f* is ``known``, and no corruption."""

APART = 3.0
"""The bimodal distribution is ½ N(−3, 1) + ½ N(3, 1); the slides do not give theirs."""

LAMBDAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Values of λ."""

GAMMAS = (1.0, 0.1, 0.01)
"""Values of γ."""

TOL = 1e-4
"""Tolerance of the models: a smaller one does not change the third digit of an accuracy."""

REPEATS = 10
"""Draws of w and of the samples."""

REFERENCE = {
    ("known", ""): 0.882,
    ("svd", ""): 0.694,
    ("fixed", "cauchy"): 0.635,
    ("bnd", "cauchy"): 0.800,
    ("spav", "cauchy"): 0.872,
    ("fixed", "exponential"): 0.802,
    ("bnd", "exponential"): 0.858,
    ("spav", "exponential"): 0.862,
    ("fixed", "uniform"): 0.855,
    ("bnd", "uniform"): 0.875,
    ("spav", "uniform"): 0.867,
    ("fixed", "bimodal"): 0.795,
    ("bnd", "bimodal"): 0.865,
    ("spav", "bimodal"): 0.855,
}
"""Accuracies of an experiment from outside for a normal f*: one draw, and the best λ on the test samples. The slides
show theirs as a picture, without numbers."""


@dataclass(frozen=True)
class Size:
    """Numbers of features, of training and of test samples; validation samples are as many as training samples."""

    p: int = 300
    train: int = 1_000
    test: int = 3_000


QUICK = Size(100, 500, 2_000)
"""Size of the quick mode, which has the Cauchy start only."""


@dataclass(frozen=True)
class Point:
    """What a method reaches.

    Parameters
    ----------
    truth
        Distribution of f*.
    method
        ``"known"``, ``"svd"``, ``"fixed"``, ``"bnd"`` or ``"spav"``.
    start
        Distribution of the first target; empty for ``"known"`` and ``"svd"``.
    repeats
        Accuracy on the test samples of each draw, with λ and γ from the validation samples, in per cent.
    optimistic
        The same with the λ and γ that are best on the test samples themselves.
    correlations
        Correlation of the target of the model with f*.

    Examples
    --------
    >>> point = Point("normal", "bnd", "cauchy", (80.0, 84.0), (81.0, 85.0), (0.9, 0.92))
    >>> point.accuracy, point.error, round(point.correlation, 2)
    (82.0, 2.0, 0.91)
    """

    truth: str
    method: str
    start: str
    repeats: tuple[float, ...]
    optimistic: tuple[float, ...]
    correlations: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Mean over the draws, in per cent."""
        return float(np.mean(self.repeats))

    @property
    def error(self) -> float:
        """Standard error of the mean; NaN for a single draw."""
        return _error(self.repeats)

    @property
    def correlation(self) -> float:
        """Mean correlation with f*."""
        return float(np.mean(self.correlations))

    def row(self) -> Row:
        """Return the point as a row of the table."""
        reference = REFERENCE.get((self.method, self.start)) if self.truth == TRUTHS[0] else None
        return {
            "truth": self.truth,
            "start": self.start,
            "method": self.method,
            "reference": None if reference is None else 100 * reference,
            "accuracy": self.accuracy,
            "error": self.error,
            "best_on_test": float(np.mean(self.optimistic)),
            "correlation": self.correlation,
            "correlation_error": _error(self.correlations),
            **{f"{REPEATED}{number}": value for number, value in enumerate(self.repeats, start=1)},
            **{f"{REPEATED}correlation_{number}": value for number, value in enumerate(self.correlations, start=1)},
            **{f"{REPEATED}best_on_test_{number}": value for number, value in enumerate(self.optimistic, start=1)},
        }


def _error(values: Sequence[float]) -> float:
    if len(values) < 2:
        return float("nan")
    if np.ptp(values) < 1e-12:
        return 0.0  # without rounding, where a target is kept
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


# The data -------------------------------------------------------------------------------------------------------------


def quantiles(name: str, p: int) -> Floats:
    """Quantiles of a distribution at (r + 1) / (p + 1), centred and scaled to a variance of 1.

    ``"bimodal"`` is ½ N(−3, 1) + ½ N(3, 1), by bisection; others are those of `QuantileNormalizer`.

    Examples
    --------
    >>> quantiles("uniform", 3).round(4)
    array([-1.2247,  0.    ,  1.2247])
    >>> quantiles("bimodal", 4).round(2)
    array([-1.18, -0.78,  0.78,  1.18])
    """
    values = _bimodal(p) if name == "bimodal" else target_by_formula(name, p)
    values = values - values.mean()
    return values / np.sqrt(np.mean(values**2))


def _bimodal(p: int) -> Floats:
    wanted = np.arange(1, p + 1) / (p + 1)
    low, high = np.full(p, -2.0 - 2 * APART), np.full(p, 2.0 + 2 * APART)
    for _ in range(60):
        middle = (low + high) / 2
        below = (ndtr(middle - APART) + ndtr(middle + APART)) / 2 < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class Draw:
    """Ranks and labels of training, validation and test samples, and the f* that they are made of."""

    truth: Floats
    train: tuple[RankStore, Indices]
    validation: tuple[RankStore, Indices]
    test: tuple[RankStore, Indices]


def draw(truth: str, size: Size, rng: np.random.Generator) -> Draw:
    """Draw w, samples and their labels.

    Examples
    --------
    >>> drawn = draw("normal", Size(10, 20, 30), np.random.default_rng(0))
    >>> drawn.train[0].shape, drawn.test[0].shape, sorted(set(drawn.test[1].tolist()))
    ((20, 10), (30, 10), [0, 1])
    """
    f, w = quantiles(truth, size.p), rng.normal(size=size.p)

    def samples(m: int) -> tuple[RankStore, Indices]:
        X = rng.permuted(np.tile(f, (m, 1)), axis=1)
        return RankStore.of(X), (rng.random(m) < expit(X @ w)).astype(np.intp)

    return Draw(f, samples(size.train), samples(size.train), samples(size.test))


# The accuracies -------------------------------------------------------------------------------------------------------


def models(method: str, first: Floats | None) -> Iterator[SUQUANClassifier]:
    """Yield the models of a method among which the validation samples choose.

    Examples
    --------
    >>> [len(list(models(method, quantiles("normal", 5)))) for method in ("fixed", "bnd", "spav")]
    [7, 7, 21]
    """
    constraint = "fixed" if method == "known" else method
    given: dict[str, Any] = {} if first is None else {"target": first}
    for lam in LAMBDAS:
        for gamma in GAMMAS if method == "spav" else (None,):
            yield SUQUANClassifier(constraint, lam=lam, gamma=gamma, tol=TOL, **given)


def evaluate(drawn: Draw, method: str, first: Floats | None) -> tuple[float, float, float]:
    """Return accuracy on the test samples with validated λ and γ, with those best on the test samples, and correlation.

    Examples
    --------
    >>> drawn = draw("normal", Size(20, 200, 200), np.random.default_rng(0))
    >>> accuracy, optimistic, correlation = evaluate(drawn, "known", drawn.truth)
    >>> accuracy <= optimistic, round(correlation, 6)
    (True, 1.0)
    """
    found = []
    for model in models(method, first):
        model.fit(*drawn.train)
        validated, tested = (100 * float(model.score(*part)) for part in (drawn.validation, drawn.test))
        found.append((validated, tested, float(np.corrcoef(model.target_, drawn.truth)[0, 1])))
    best = max(found, key=lambda each: each[0])
    return best[1], max(each[1] for each in found), best[2]


def methods(truth: str, starts: Sequence[str] = STARTS) -> list[tuple[str, str]]:
    """Return method and start of each row for an f*.

    Examples
    --------
    >>> methods("normal", ["cauchy", "normal"])
    [('known', ''), ('svd', ''), ('fixed', 'cauchy'), ('bnd', 'cauchy'), ('spav', 'cauchy')]
    """
    corrupted = [start for start in starts if start != truth]
    return [("known", ""), ("svd", ""), *((m, start) for start in corrupted for m in ("fixed", "bnd", "spav"))]


def points(
    truth: str, size: Size, starts: Sequence[str] = STARTS, *, repeats: int = REPEATS, seed: int = 0
) -> Iterator[Point]:
    """Compute all methods for an f*, on the same draws."""
    entropy = [seed, TRUTHS.index(truth)]
    draws = [draw(truth, size, np.random.default_rng([*entropy, number])) for number in range(repeats)]
    for method, start in methods(truth, starts):
        first = None if method == "svd" else quantiles(start or truth, size.p)
        found = [evaluate(drawn, method, first) for drawn in draws]
        accuracies, optimistic, correlations = zip(*found, strict=True)
        yield Point(truth, method, start, accuracies, optimistic, correlations)


# The table ------------------------------------------------------------------------------------------------------------


def rows(*, repeats: int = REPEATS, seed: int = 0, quick: bool = False) -> Iterator[Row]:
    """Yield a row for each f*, start and method; ``repeats`` is the number of draws."""
    size, starts = (QUICK, STARTS[:1]) if quick else (Size(), STARTS)
    for truth in TRUTHS:
        for point in points(truth, size, starts, repeats=repeats, seed=seed):
            yield point.row()


def read_points(path: str | Path) -> list[Point]:
    """Read the points from a file of ``distkern reproduce suquan-simulation --out``."""
    return [_from_row(row) for row in read_rows(Path(path))]


def _from_row(row: dict[str, str]) -> Point:
    def several(prefix: str) -> tuple[float, ...]:
        names = [name for name in row if name.startswith(prefix) and name.removeprefix(prefix).isdigit()]
        return tuple(float(row[name]) for name in names)

    return Point(
        row["truth"],
        row["method"],
        row["start"],
        several(REPEATED),
        several(f"{REPEATED}best_on_test_"),
        several(f"{REPEATED}correlation_"),
    )
