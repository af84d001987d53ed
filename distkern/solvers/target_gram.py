"""Linear models at a fixed target on the Gram matrix of the normalised samples, where that is cheaper than passes.

With Φ_f(x_i) the normalised samples and K_ij = ⟨Φ_f(x_i), Φ_f(x_j)⟩ (the kernel `QuantileLinear`),

    min over W, b   Σ_i s_i l(Wᵀ Φ_f(x_i) + b, y_i) + λ ‖W‖²

has W = Σ_i α_i Φ_f(x_i), and α and b minimise Σ_i s_i l((Kα)_i + b, y_i) + λ αᵀ K α: `newton_cg` with 2λ. All λ, folds
and classes with the same target share K.

K takes m² p / 2 multiplications, at the speed of matrix products; each pass of a model over the ranks 2 m p gathers,
which are slower, and a fit takes some dozens of passes. So K is cheaper where there are few samples for each output
that is fitted: `WORTH`.

Source: the representer theorem, Kimeldorf and Wahba, "Some results on Tchebycheffian spline functions" (1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from distkern.compiled.products import SIDE, inner_products
from distkern.core.typing import Floats
from distkern.engine.executors import usable_cores
from distkern.operators.array import ArrayGram
from distkern.solvers import losses
from distkern.solvers.newton_cg import Problem, Solution, solve, vector_bytes
from distkern.solvers.rank_requests import MOST_COLUMNS, Algorithm
from distkern.solvers.target_learning import Fitted, Task, WeightStep, fit_weights
from distkern.solvers.target_losses import Logistic, Softmax, Squared, SquaredHinge
from distkern.solvers.target_sets import at_radius
from distkern.store.ranks import RankStore

WORTH = 1000
"""Samples, for each output that is fitted, up to which the Gram matrix is cheaper."""

BLOCK_BYTES = 2**25
"""Bytes of a block of normalised samples."""


def gram_is_cheaper(m: int, p: int, outputs: int, memory: int) -> bool:
    """Whether the Gram matrix is cheaper for so many outputs at one target, (λ, folds, classes), and fits in memory.

    It is for m ≤ p and m ≤ 1000 · outputs.

    Examples
    --------
    >>> gram_is_cheaper(150, 20_000, 1, 2**30), gram_is_cheaper(11_000, 20_000, 1, 2**30)
    (True, False)
    """
    needed = 10 * m * m + vector_bytes(m, outputs) + 2 * (usable_cores() + 1) * max(BLOCK_BYTES, 8 * SIDE * p)
    return m <= p and m <= WORTH * outputs and needed <= memory


def fit_on_gram(store: RankStore, tasks: Sequence[Task], f: Floats, memory: int) -> list[Fitted]:
    """Fit the tasks at one target, as `fit_weights` does, within so many bytes of memory.

    Raises
    ------
    MemoryLimitError
        If it does not fit.

    Examples
    --------
    >>> store = RankStore.of([[1.0, 5.0, 3.0], [7.0, 2.0, 9.0]])
    >>> task = Task(Squared(), np.array([[1.0], [-1.0]]), np.full(2, 0.5), 0.1)
    >>> [found] = fit_on_gram(store, [task], np.array([-1.0, 0.0, 1.0]), 2**30)
    >>> found.W[:, 0].round(3), found.b.round(3)
    (array([-0.312,  0.625, -0.312]), array([0.]))
    """
    unit, shift = at_radius(f), float(f.mean())
    if not unit.any():  # no sample differs from another
        return [_constant(task, f) for task in tasks]
    scale = float(np.linalg.norm(f - shift)) / math.sqrt(len(f))
    problems = [problem for task in tasks for problem in _problems(task, scale)]
    found = solve(
        ArrayGram(gram_of(store, unit)),
        problems,
        tol=min(task.tol for task in tasks),
        max_iter=max(task.most for task in tasks),
        memory=memory,
    )
    alphas = np.hstack([one.coefficients for one in found])
    weights = [_weights(store, unit, alphas[:, k : k + MOST_COLUMNS]) for k in range(0, alphas.shape[1], MOST_COLUMNS)]
    W, solutions = np.hstack(weights) / scale, iter(found)
    fitted, first = [], 0
    for task in tasks:
        last = first + task.Y.shape[1]
        own = [next(solutions) for _ in _problems(task, scale)]
        fitted.append(_fitted(own, W[:, first:last], f, shift))
        first = last
    return fitted


def weight_step(store: RankStore, outputs: int, memory: int) -> WeightStep:
    """The cheaper step in W for one model at a time: on the Gram matrix, or `fit_weights`."""
    if not gram_is_cheaper(*store.shape, outputs, memory):
        return fit_weights

    def step(task: Task, f: Floats, start: Any = None) -> Algorithm[Fitted]:
        yield from ()  # no pass that others could share
        return fit_on_gram(store, [task], f, memory)[0]

    return step


def gram_of(store: RankStore, f: Floats) -> Floats:
    """⟨Φ_f(x_i), Φ_f(x_j)⟩ of all samples, (m, m), by blocks in threads; the bits do not depend on the blocks.

    Examples
    --------
    >>> gram_of(RankStore.of([[1.0, 5.0, 3.0], [7.0, 2.0, 9.0]]), np.array([-1.0, 0.0, 1.0]))
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    m, p = store.shape
    height = max(1, BLOCK_BYTES // (8 * SIDE * p)) * SIDE
    blocks = [slice(start, min(start + height, m)) for start in range(0, m, height)]
    out = np.empty((m, m))

    def strip(number: int) -> None:
        rows = blocks[number]
        own = store.normalised_rows(f, rows)
        for cols in blocks[number:]:
            other = own if cols == rows else store.normalised_rows(f, cols)
            out[rows, cols] = inner_products(own, other, rows.start, cols.start)
            out[cols, rows] = out[rows, cols].T

    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="distkern") as pool:
        list(pool.map(strip, range(len(blocks))))
    for rows in blocks:  # a product and its transpose differ in the last bit
        square = out[rows, rows]
        out[rows, rows] = np.triu(square) + np.triu(square, 1).T
    return out


def _problems(task: Task, scale: float) -> Iterator[Problem]:
    lam = 2 * task.lam / scale**2
    if isinstance(task.loss, Softmax):
        yield Problem(losses.Multinomial(task.Y.argmax(axis=1), task.Y.shape[1], task.shares), lam)
        return
    kinds: dict[type, Callable[[Floats, Floats], losses.Loss]] = {
        Logistic: losses.Logistic,
        SquaredHinge: losses.SquaredHinge,
        Squared: losses.Squared,
    }
    for column in task.Y.T:
        yield Problem(kinds[type(task.loss)](column, task.shares), lam)


def _weights(store: RankStore, unit: Floats, alphas: Floats) -> Floats:
    """Σ_i α_i Φ(x_i) for each column, (p, columns)."""
    columns = np.repeat(unit[:, None], alphas.shape[1], axis=1)
    found = store.pass_over(None, columns, lambda rows, _: alphas[rows], by_feature=True)[0]
    assert found is not None
    return found


def _fitted(own: list[Solution], W: Floats, f: Floats, shift: float) -> Fitted:
    b = np.concatenate([one.intercept for one in own])
    value = sum(one.objective for one in own)
    return Fitted(W, b - shift * W.sum(axis=0), f, (value,), all(one.converged for one in own))


def _constant(task: Task, f: Floats) -> Fitted:
    """The model without weights."""
    problems = list(_problems(task, 1.0))
    b = np.concatenate([problem.loss.intercept() for problem in problems])
    Z = np.tile(b, (len(task.Y), 1))
    used = task.shares > 0
    value = float(task.shares[used] @ task.loss.values(Z, task.Y)[used])
    return Fitted(np.zeros((len(f), len(b))), b, f, (value,))
