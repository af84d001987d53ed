"""Newton's method for convex losses on a Gram matrix: min L(f) + λ/2 tr(αᵀKα) with scores f = Kα + 1bᵀ.

With g and H the gradient and second derivative of L, the optimum satisfies g + λα = 0 and 1ᵀg = 0; the intercept b is
not penalised, so that Σ_i α_i = 0. A Newton step (δ, β) solves

    H(Kδ + 1βᵀ) + λδ = −(g + λα),    1ᵀδ = 0.

Elimination of β leaves (H̃K + λI) δ = −(g̃ + λα), with H̃v = H(v − 1xᵀ), where x is such that 1ᵀH̃v = 0, and g̃ likewise.
H̃K + λI is self-adjoint and positive in the inner product tr(aᵀKb), in which conjugate gradients solve the system. Each
of their steps needs one product K r, and so does the first residual of a Newton step. Many problems (values of λ,
folds, classes) share one matrix: a pass multiplies the vectors of all problems that are not solved yet.

A matrix K = ΦΦᵀ of low rank, such as a Nyström approximation, is never multiplied out. With S = ΦᵀH̃Φ + λI, which has a
row for each feature and column of scores, Kδ = Φ S⁻¹ Φᵀ r and δ = (r − H̃Kδ) / λ solve the system for the residual r.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from distkern.core.allowance import allowing
from distkern.core.blas import one_blas_thread
from distkern.core.errors import InputError, MemoryLimitError
from distkern.core.sentences import OptionalPart, Parameter
from distkern.core.typing import Floats
from distkern.engine.executors import usable_cores
from distkern.gram.batches import BATCH, SPARSE
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite, require_symmetric
from distkern.operators.lowrank import LowRankGram
from distkern.solvers.conjugate import BLOCK_BYTES, BLOCKS, read_scaled
from distkern.solvers.definite import (
    EIGEN,
    largest_diagonal,
    names,
    refuse_indefinite,
    refuse_negative,
    refuse_negative_diagonal,
)
from distkern.solvers.losses import Loss, Product, power_of_two
from distkern.solvers.working_set import Stalls

INNER = 100
"""Maximum number of steps of conjugate gradients for one Newton step."""

FORCING = 0.1
"""Conjugate gradients stop when the norm of the residual has fallen to this fraction."""

HALVINGS = 60
"""Maximum number of halvings of a Newton step."""

DECREASE = 1e-4
"""A step is taken if the objective decreases by this fraction of what its slope promises."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative change of the objective that may be rounding; the slope then decides about a step."""

SINGULAR = 1e-13
"""Eigenvalues of the curvature of the intercepts below this fraction of the largest are 0 up to rounding."""

VECTORS = 22
"""Maximum number of arrays of the size of the scores that a problem holds."""

FILLED = BATCH // SPARSE + 1
"""Columns of ones in a batch, so that `distkern.gram.batches` multiplies each as dense, whatever the other columns."""

STRIP = 1024
"""Rows of an array that are multiplied at a time; constant, so that results do not depend on the threads."""

Multiply = Callable[[Floats], Floats]
Steps = Generator[Floats, Floats, "Found"]


@dataclass(frozen=True, eq=False)
class Problem:
    """min L(Kα + 1bᵀ) + λ/2 tr(αᵀKα).

    Parameters
    ----------
    loss
        L, of the scores of all samples of the matrix; see `distkern.solvers.losses`. Samples outside a fold have weight
        0. With weights 1/m, scikit-learn's C of a logistic regression is 1/(λm).
    lam
        λ > 0.
    intercept
        Whether there is a b, which is not penalised; 0 otherwise. With it, results are those of the kernel centred on
        the samples of positive weight.
    """

    loss: Loss
    lam: float
    intercept: bool = True


@dataclass(frozen=True, eq=False)
class Found:
    """State of a problem at its last step.

    Parameters
    ----------
    coefficients
        α, (m, columns); 0 for samples of weight 0.
    intercept
        b, (columns,).
    scores
        Kα + 1bᵀ of all samples of the matrix, (m, columns): also of those of weight 0, which are held out.
    objective
        Value of the minimised objective.
    residual
        Norm of the gradient of the objective in function space, tr(rᵀKr)^½ with r = −(g̃ + λα), relative to its norm at
        α = 0; or |1ᵀg| relative to the sum of the weights, if that is larger.
    converged
        Whether the residual is within the tolerance.
    iterations
        Newton steps.
    history
        Objective at the start and after each step; it never increases.
    """

    coefficients: Floats
    intercept: Floats
    scores: Floats
    objective: float
    residual: float
    converged: bool
    iterations: int
    history: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Solution(Found):
    """Solution of a problem: `Found`, and the passes that it took.

    Parameters
    ----------
    passes
        Passes over the matrix until the problem was solved; all problems share these passes.
    """

    passes: int


def solve(
    gram: BaseGram,
    problems: Sequence[Problem],
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    memory: int,
) -> list[Solution]:
    """Solve problems on one matrix together, with one pass over it for a step of all of them.

    A matrix that fits in memory is read once, and of a matrix of low rank its features if they and the Hessian fit.
    Otherwise each pass reads it; solutions then differ within the tolerance.
    Either way, a problem has the same bits alone and together with others, and on every executor. If each pass reads a
    lazy view or a matrix of low rank, this holds for problems of up to 27 columns together.

    Parameters
    ----------
    gram
        K, symmetric and positive semidefinite, (m, m).
    problems
        Problems whose losses have m samples.
    tol
        Residual at which to stop.
    max_iter
        Maximum number of Newton steps of a problem.
    memory
        Bytes to use.

    Returns
    -------
    list of Solution
        In the order of the problems; ``converged`` is False for a problem that stopped at ``max_iter``, or because its
        numbers have no more digits.

    Raises
    ------
    InputError
        If the matrix is not symmetric or positive semidefinite, or has values that are not finite; or if λ relative to
        the weights and the kernel is beyond floating point.
    MemoryLimitError
        If the vectors do not fit in memory; raised before the matrix is read.

    Examples
    --------
    >>> from distkern.solvers.losses import Logistic
    >>> samples = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> problems = [Problem(Logistic(np.sign(samples)), lam) for lam in (0.1, 10.0)]
    >>> found = solve(ArrayGram(np.outer(samples, samples)), problems, memory=2**20)
    >>> [round(float(one.coefficients[:, 0] @ samples), 4) for one in found]
    [1.3901, 0.0801]
    """
    m, columns = gram.shape[0], sum(problem.loss.columns for problem in problems)
    vectors = vector_bytes(m, columns)
    reading = 0 if isinstance(gram, ArrayGram) else gram.reading_bytes()
    if vectors + reading > memory:
        raise MemoryLimitError(
            "{columns:,} columns of {samples:,} samples need {needed:,} bytes of memory and {allowed:,} are allowed: "
            "{limit}solve for fewer values of λ, folds or classes at a time{remedy}",
            columns=columns,
            samples=m,
            needed=vectors + reading,
            allowed=memory,
            limit=OptionalPart("raise {memory_limit}, ", memory_limit=Parameter("memory_limit")),
            remedy=", or compute the matrix with smaller tiles, of which one is in memory at a time" if reading else "",
        )
    largest = largest_diagonal(gram)
    refuse_negative_diagonal(gram.diag(), largest, names(gram))
    values = gram.values if isinstance(gram, ArrayGram) else None
    with one_blas_thread(), allowing(memory - vectors):
        if isinstance(gram, LowRankGram) and vectors + reading + factor_bytes(m, gram.rank, problems) <= memory:
            features = finite(gram.embedding(8 * m * gram.rank))
            multiply = partial(_in_batches, lambda V: features @ (features.T @ V))
            return minimize(multiply, problems, m, largest, tol=tol, max_iter=max_iter, features=features)
        if values is None and vectors + 8 * m**2 + max(reading, BLOCKS * min(8 * m**2, BLOCK_BYTES)) <= memory:
            values = read_scaled(gram)
        if values is None:
            return minimize(partial(_in_batches, gram.matmat), problems, m, largest, tol=tol, max_iter=max_iter)
        require_symmetric(values)
        if 4 * 8 * min(m, EIGEN) ** 2 <= memory:  # else the products tell
            refuse_indefinite(values, largest, named=names(gram))
        with _pool(m) as pool:
            multiply = partial(_multiply, values, map if pool is None else pool.map)
            return minimize(partial(_in_batches, multiply), problems, m, largest, tol=tol, max_iter=max_iter)


def vector_bytes(samples: int, columns: int) -> int:
    """Bytes of the vectors of problems with so many columns together, and of their products in batches."""
    batched = BATCH * -(-columns // (BATCH - FILLED))
    return 8 * samples * (VECTORS * columns + 3 * batched)


def factor_bytes(samples: int, rank: int, problems: Sequence[Problem]) -> int:
    """Bytes of the features of a matrix of low rank, and of the Hessian of one problem at a time."""
    side = rank * max((problem.loss.columns for problem in problems), default=1)
    return 8 * (5 * samples * rank + 4 * side**2)


def minimize(
    multiply: Multiply,
    problems: Sequence[Problem],
    samples: int,
    largest: float,
    *,
    tol: float,
    max_iter: int,
    features: Floats | None = None,
) -> list[Solution]:
    """Solve problems with any function that multiplies K, (m, m), by vectors (m, columns).

    Parameters
    ----------
    multiply
        The function; each call is a pass over the matrix.
    problems, tol, max_iter
        See `solve`.
    samples
        m.
    largest
        Largest k(x, x), the measure of rounding.
    features
        Φ with K = ΦΦᵀ, (m, r), in memory: Newton steps are then exact. By default by conjugate gradients.
    """
    unit = power_of_two(largest)
    phi = None if features is None else features / np.sqrt(unit)
    running = {at: _newton(problem, samples, unit, tol, max_iter, phi) for at, problem in enumerate(problems)}
    with np.errstate(over="ignore", invalid="ignore"):
        vectors = {at: next(steps) for at, steps in running.items()}
        solutions: dict[int, Solution] = {}
        passes = 0
        while vectors:
            products = finite(multiply(np.concatenate(list(vectors.values()), axis=1)))
            passes, first = passes + 1, 0
            for at, vector in list(vectors.items()):
                last = first + vector.shape[1]
                product, first = np.divide(products[:, first:last], unit, order="C"), last
                _refuse_negative(vector, product, largest / unit)
                try:
                    vectors[at] = running[at].send(product)
                except StopIteration as end:
                    del vectors[at]
                    solutions[at] = Solution(**vars(end.value), passes=passes)
    return [solutions[at] for at in range(len(problems))]


def _refuse_negative(vector: Floats, product: Floats, largest: float) -> None:
    for r, image in zip(vector.T, product.T, strict=True):
        refuse_negative(float(r @ image), float(r @ r), len(r), largest)


# Products ----------------------------------------------------------------------------------------------------------


def _pool(samples: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    """Threads for the strips of an array; none where there is one strip or one core."""
    workers = min(usable_cores(), -(-samples // STRIP))
    return ThreadPoolExecutor(workers) if workers > 1 else nullcontext()


def _multiply(values: Floats, each: Callable[..., object], V: Floats) -> Floats:
    """Multiply an array by a batch of vectors, in strips of rows."""
    out = np.empty((len(values), V.shape[1]))
    strips = [slice(start, start + STRIP) for start in range(0, len(values), STRIP)]
    for first in range(0, V.shape[1], BATCH):
        batch = np.ascontiguousarray(V[:, first : first + BATCH])

        def strip(rows: slice, batch: Floats = batch, first: int = first) -> None:
            out[rows, first : first + BATCH] = values[rows] @ batch

        list(each(strip, strips))  # type: ignore[call-overload]
    return out


def _in_batches(multiply: Multiply, V: Floats) -> Floats:
    """Multiply vectors in batches of one size and kind, so that the bits do not depend on how many there are."""
    m, columns = V.shape
    own = BATCH - FILLED
    batches = -(-columns // own)
    filled = np.ones((m, batches * BATCH))
    kept = [first // own * BATCH + first % own for first in range(columns)]
    filled[:, kept] = V
    return multiply(filled)[:, kept]


# One problem -------------------------------------------------------------------------------------------------------


class _Derivatives:
    """Gradient and second derivative of a loss at some scores, after elimination of the intercept: g̃ and H̃."""

    def __init__(self, problem: Problem, scores: Floats, unit: float) -> None:
        self._loss, self._unit = problem.loss, unit
        self._product = problem.loss.curvature(scores)
        gradient = problem.loss.gradient(scores) / unit
        self.slope = gradient.sum(axis=0) if problem.intercept else np.zeros(problem.loss.columns)
        self._inverse = self._inverse_of_border(scores) if problem.intercept else None
        self.gradient = gradient - self._constants(self.slope, scores)

    def _inverse_of_border(self, scores: Floats) -> Floats:
        """Pseudo-inverse of 1ᵀH1: several classes may share a constant."""
        border = np.empty((scores.shape[1],) * 2)
        for column in range(len(border)):
            ones = np.zeros_like(scores)
            ones[:, column] = 1.0
            border[column] = self._curved(ones).sum(axis=0)
        inverse = np.linalg.pinv((border + border.T) / 2, rcond=SINGULAR, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    def _curved(self, V: Floats) -> Floats:
        return self._product(V) / self._unit

    def _constants(self, sums: Floats, like: Floats) -> Floats:
        """H 1xᵀ, with x such that its columns add up to ``sums``."""
        if self._inverse is None:
            return np.zeros_like(like)
        return self._curved(np.broadcast_to(self._inverse @ sums, like.shape))

    def __call__(self, V: Floats) -> Floats:
        """H̃ V."""
        curved = self._curved(V)
        return curved - self._constants(curved.sum(axis=0), V)

    def of_features(self, features: Floats) -> Floats:
        """ΦᵀH̃Φ, (columns r, columns r), column by column of the scores."""
        (m, r), columns = features.shape, len(self.slope)
        if columns == 1:
            curved = self._curved(features)
            out, sides = features.T @ curved, curved.sum(axis=0)[None, :]
        else:
            out, sides = np.empty((columns * r, columns * r)), np.empty((columns, columns * r))
            for column in range(columns):
                ones = np.zeros((m, columns))
                ones[:, column] = 1.0
                diagonals, own = self._curved(ones), slice(column * r, (column + 1) * r)
                for other in range(columns):
                    curved = diagonals[:, other, None] * features
                    out[other * r : (other + 1) * r, own] = features.T @ curved
                    sides[other, own] = curved.sum(axis=0)
        if self._inverse is not None:
            out -= sides.T @ self._inverse @ sides
        return out

    def intercept_step(self, image: Floats) -> Floats:
        """β of a Newton step with this Kδ."""
        if self._inverse is None:
            return np.zeros_like(self.slope)
        return -self._inverse @ (self._curved(image).sum(axis=0) + self.slope)


def _inner(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))


def _newton(
    problem: Problem, samples: int, kernel_unit: float, tol: float, max_iter: int, features: Floats | None
) -> Steps:
    """Yield the vectors to be multiplied by K, and return the solution.

    The kernel is divided by ``kernel_unit`` and the loss by a power of two as well, so that all numbers are of a size
    near 1. The bits of the solution do not depend on these sizes, nor on other problems.
    """
    loss = problem.loss
    unit = power_of_two(loss.total)
    lam = problem.lam / unit / kernel_unit
    if not 0 < lam < np.inf:
        raise InputError(
            f"lam={problem.lam:.3g}, with weights that add up to {loss.total:.3g} and k(x, x) up to "
            f"{kernel_unit:.1g}, is beyond what float64 holds: give lam or the kernel another scale"
        )
    state = _State(loss, unit, lam, samples, problem.intercept)
    stalls, history, first = Stalls(), [state.value], 0.0
    while True:
        derivatives = _Derivatives(problem, state.scores, unit)
        r = -(derivatives.gradient + lam * state.alpha)
        image = yield r
        square = max(_inner(r, image), 0.0)
        if len(history) == 1:
            first = np.sqrt(square) if square > np.finfo(np.float64).eps * _inner(r, r) else 0.0  # else all rounding
        size = float(np.sqrt(square) / first) if first else 0.0
        size = max(size, float(np.abs(derivatives.slope).max()))
        if size <= tol or len(history) > max_iter or stalls.too_many(state.value, size):
            break
        if features is None:
            step, step_image = yield from _conjugate_gradients(derivatives, lam, r, image, square)
        else:
            step, step_image = _exact_step(derivatives, lam, r, features)
        if not state.advance(step, step_image, derivatives.intercept_step(step_image)):
            break
        history.append(state.value)
    return Found(
        state.alpha / kernel_unit,
        state.intercept,
        state.scores,
        unit * state.value,
        size,
        size <= tol,
        len(history) - 1,
        tuple(unit * value for value in history),
    )


def _conjugate_gradients(
    derivatives: Product, lam: float, r: Floats, image: Floats, square: float
) -> Generator[Floats, Floats, tuple[Floats, Floats]]:
    """Solve (H̃K + λI) δ = r in the inner product of K; return δ and Kδ, given K r and rᵀKr."""
    d, d_image = np.zeros_like(r), np.zeros_like(r)
    p, p_image, goal = r, image, FORCING**2 * square
    for used in range(INNER):
        q = lam * p + derivatives(p_image)
        curvature = _inner(p_image, q)
        if not 0 < curvature < np.inf:  # K p is 0 up to rounding
            break
        length = square / curvature
        d, d_image, r = d + length * p, d_image + length * p_image, r - length * q
        if used == INNER - 1:
            break
        image = yield r
        fresh = max(_inner(r, image), 0.0)
        if fresh <= goal:
            break
        p, p_image, square = r + fresh / square * p, image + fresh / square * p_image, fresh
    return d, d_image


def _exact_step(derivatives: _Derivatives, lam: float, r: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Solve (H̃K + λI) δ = r with K = ΦΦᵀ; return δ and Kδ."""
    system = derivatives.of_features(features)
    system[np.diag_indices(len(system))] += lam
    right = (features.T @ r).T.ravel()
    try:
        solved = cho_solve(cho_factor(system, lower=True, overwrite_a=True, check_finite=False), right)
    except np.linalg.LinAlgError:  # λ is within the rounding of the curvature
        system = derivatives.of_features(features)
        system[np.diag_indices(len(system))] += lam
        solved = np.linalg.lstsq(system, right, rcond=None)[0]
    step_image = features @ solved.reshape(r.shape[1], -1).T
    return (r - derivatives(step_image)) / lam, step_image


class _State:
    """Coefficients, intercept, scores and objective, in the units of `_newton`."""

    def __init__(self, loss: Loss, unit: float, lam: float, samples: int, intercept: bool) -> None:
        self._loss, self._unit, self._lam = loss, unit, lam
        self.alpha, self.image = np.zeros((samples, loss.columns)), np.zeros((samples, loss.columns))
        self.intercept = loss.intercept() if intercept else np.zeros(loss.columns)
        self.scores = self.image + self.intercept
        self.value = self._loss_of(self.scores)

    def _loss_of(self, scores: Floats) -> float:
        return self._loss.value(scores) / self._unit

    def advance(self, step: Floats, step_image: Floats, shift: Floats) -> bool:
        """Go along a direction, by 1, 1/2, 1/4, …, until the objective decreases; return False if it does not."""
        move, lam = step_image + shift, self._lam
        linear, quadratic = lam * _inner(step, self.image), lam * _inner(step, step_image)
        penalty = 0.5 * lam * _inner(self.alpha, self.image)

        def slope(t: float, scores: Floats) -> float:
            return _inner(self._loss.gradient(scores) / self._unit, move) + linear + t * quadratic

        start = slope(0.0, self.scores)
        if not start < 0:
            return False
        for halvings in range(HALVINGS):
            t = 0.5**halvings
            scores = self.scores + t * move
            value = self._loss_of(scores) + penalty + t * linear + 0.5 * t**2 * quadratic
            falls = value <= self.value + DECREASE * t * start
            if not falls and value <= self.value * (1 + ROUNDING):
                falls = abs(slope(t, scores)) <= 0.5 * -start
            if falls:
                self.alpha, self.image = self.alpha + t * step, self.image + t * step_image
                self.intercept = self.intercept + t * shift
                self.scores, self.value = self.image + self.intercept, min(value, self.value)
                return True
        return False
