"""The dual problems of support vector machines, many at once on one Gram matrix that may not fit in memory.

A matrix that fits is read once, and every problem is solved on it in memory (`distkern.compiled.smo`); one that does
not is never held (`distkern.solvers.working_set`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from distkern.core.blas import one_blas_thread
from distkern.core.typing import Array, Indices
from distkern.engine.executors import usable_cores
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite, require_symmetric
from distkern.solvers.dual import Problem, Solution, State
from distkern.solvers.working_set import SHARE, Held, Rounds, along, place, room_for_values

NO_LIMIT = 2**62
"""Pairs of coefficients that nobody changes in a lifetime."""

WORTH_THREADS = 2000
"""Variables in all that threads are worth starting for."""

AT_ONCE = 8
"""Chains that share the memory beside kernel values, at most: a constant, so that results do not depend on threads."""


def solve(
    gram: BaseGram,
    chains: Sequence[Sequence[Problem]],
    *,
    memory: int,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_passes: int = 1000,
    threads: int | None = None,
) -> list[list[Solution]]:
    """Solve chains of problems on one matrix, read once where it fits in memory and in few passes where it does not.

    Parameters
    ----------
    gram
        Symmetric Gram matrix.
    chains
        Chains are solved side by side. In a chain, a problem that differs from the one before by bounds that are larger
        by a factor starts from its solution.
    memory
        Bytes that may be taken; three quarters of what the vectors leave are for kernel values, the rest for tiles on
        their way. The matrix is held in double precision where that fits, in single precision where only that does. One
        that is an array already takes none.
    tol
        Largest violation of the optimality conditions to stop at.
    max_iter
        Most pairs of coefficients to change for each problem; −1 for no limit.
    max_passes
        Passes over a matrix that does not fit in memory, after which no further round begins.
    threads
        Threads that work on chains; the cores that this process may use by default.

    Returns
    -------
    list of list of Solution
        As the chains; ``converged`` says which problems were stopped early.

    Raises
    ------
    InputError
        If the matrix is not symmetric or holds values that are not finite.
    MemoryLimitError
        If not even the vectors and a small working set fit; raised before anything is read.

    Examples
    --------
    >>> samples = np.array([-1.0, 1.0])
    >>> problem = Problem(np.arange(2), samples, np.full(2, 10.0), -np.ones(2))
    >>> [[found]] = solve(ArrayGram(np.outer(samples, samples)), [[problem]], memory=2**20)
    >>> found.alpha.tolist(), found.offset, found.objective, found.gap
    ([0.5, 0.5], 0.0, -0.5, 0.0)
    """
    states = [[State(problem) for problem in chain] for chain in chains]
    everything = [state for chain in states for state in chain]
    limit = NO_LIMIT if max_iter < 0 else max_iter
    started = gram.bytes_read()
    room = room_for_values(gram, everything, memory)
    at, dtype = _plan(gram, everything, room)
    workers = threads or usable_cores() if sum(len(state.samples) for state in everything) >= WORTH_THREADS else 1
    workers = max(1, min(len(chains), workers))
    spare = int(room * (1 - SHARE) / SHARE) // min(len(chains), AT_ONCE)
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        each = pool.map if workers > 1 else map
        if dtype is None:
            Rounds(gram, states, room, spare, tol, limit, each).run(max_passes)
        else:
            K, shift = _read(gram, at, dtype)
            for state in everything:
                if not state.is_new:
                    v = state.vector(at, len(K))
                    state.receive((K @ v + shift * v.sum())[at[state.samples]])
            held = Held(K, at, shift, spare)
            list(each(lambda chain: along(chain, held, tol, limit), states))
            for state in everything:
                state.passes, state.bytes_read = 1, gram.bytes_read() - started
                state.note()
    return [[state.solution(tol) for state in chain] for chain in states]


def _plan(gram: BaseGram, states: list[State], room: int) -> tuple[Indices, np.dtype[Any] | None]:
    """Row of each sample in a matrix of those that are involved, −1 for others; and its type, if it fits in memory."""
    if isinstance(gram, ArrayGram):
        return np.arange(len(gram)), np.dtype(np.float64)
    at = np.full(len(gram), -1, dtype=np.int64)
    for state in states:
        at[state.samples] = 0
    used = np.flatnonzero(at == 0)
    at[used] = np.arange(len(used))
    fitting = (np.dtype(kind) for kind in (np.float64, np.float32) if np.dtype(kind).itemsize * len(used) ** 2 <= room)
    return at, next(fitting, None)


def _read(gram: BaseGram, at: Indices, dtype: np.dtype[Any]) -> tuple[Array, float]:
    """Kernel values of the samples involved: those of an array where they are, else read in one pass.

    In single precision they are less what they share, the second value, so that it takes none of their digits.
    """
    shift = 0.0
    if isinstance(gram, ArrayGram):
        values = gram.values
        K = values if values.flags.c_contiguous else values.T if values.flags.f_contiguous else values.copy()
    else:
        used = np.flatnonzero(at >= 0)
        K = np.empty((len(used), len(used)), dtype=dtype)
        part = gram if len(used) == len(gram) else gram[np.ix_(used, used)]
        for number, (rows, cols, block) in enumerate(part.tiles()):
            if number == 0 and dtype == np.float32:
                shift = float(block.mean())
            K[place(rows, cols)] = block - shift if shift else block
    finite(np.array(require_symmetric(K)))
    return K, shift
